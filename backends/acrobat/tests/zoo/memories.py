"""Networks over molecules, scenes, sets, memories and typed graphs, one of them an instance."""

import math
from collections import defaultdict, deque
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F

from backends.acrobat.tests.zoo.case import case, vector


class MoleculeMPNN(nn.Module):
    """Message passing over a molecule (Gilmer et al. 2017): atoms and bonds are dictionaries, kinds of bonds strings."""

    ATOMS = ["C", "N", "O", "F", "H"]
    BONDS = {"SINGLE": 0, "DOUBLE": 1, "TRIPLE": 2, "AROMATIC": 3}

    def __init__(self, hidden=16, steps=3):
        super().__init__()
        self.hidden = hidden
        self.steps = steps
        self.atom_emb = nn.Embedding(len(self.ATOMS), hidden - 2)
        self.bond_fc = nn.ModuleDict({name: nn.Linear(hidden, hidden, bias=False) for name in self.BONDS})
        self.update = nn.GRUCell(hidden, hidden)
        self.gate = nn.Linear(2 * hidden, hidden)
        self.proj = nn.Linear(hidden, hidden)
        self.readout = nn.Sequential(nn.Linear(hidden, 32), nn.ReLU(), nn.Linear(32, 1))

    def embed_atom(self, atom):
        idx = torch.tensor(self.ATOMS.index(atom["symbol"]))
        extra = torch.tensor([float(atom["charge"]), 1.0 if atom["aromatic"] else 0.0])
        return torch.cat([self.atom_emb(idx), extra])

    def forward(self, mol):
        h0 = [self.embed_atom(a) for a in mol["atoms"]]
        h = list(h0)
        for _ in range(self.steps):
            messages = [torch.zeros(self.hidden) for _ in h]
            for bond in mol["bonds"]:
                u, v = bond["begin"], bond["end"]
                fc = self.bond_fc[bond["type"]]
                messages[u] = messages[u] + fc(h[v])
                messages[v] = messages[v] + fc(h[u])
            h = [self.update(m.unsqueeze(0), s.unsqueeze(0)).squeeze(0) for m, s in zip(messages, h)]
        g = torch.zeros(self.hidden)
        for a, b in zip(h, h0):
            g = g + torch.sigmoid(self.gate(torch.cat((a, b)))) * torch.tanh(self.proj(a))
        return {"energy": self.readout(g).squeeze(-1), "embedding": g}


@case(MoleculeMPNN)
def molecule_message_passing(rng):
    n = rng.randint(2, 7)
    symbols, kinds = MoleculeMPNN.ATOMS, list(MoleculeMPNN.BONDS)
    atoms = [
        {"symbol": rng.choice(symbols), "charge": rng.choice([-1, 0, 1]), "aromatic": rng.random() < 0.3} for _ in range(n)
    ]
    bonds = [{"begin": rng.randrange(i), "end": i, "type": rng.choice(kinds)} for i in range(1, n)]
    return {"atoms": atoms, "bonds": bonds}


class MAB(nn.Module):
    def __init__(self, dim_Q, dim_K, dim_V, num_heads, ln=True):
        super().__init__()
        self.dim_V = dim_V
        self.num_heads = num_heads
        self.fc_q = nn.Linear(dim_Q, dim_V)
        self.fc_k = nn.Linear(dim_K, dim_V)
        self.fc_v = nn.Linear(dim_K, dim_V)
        if ln:
            self.ln0 = nn.LayerNorm(dim_V)
            self.ln1 = nn.LayerNorm(dim_V)
        self.fc_o = nn.Linear(dim_V, dim_V)

    def forward(self, Q, K):
        Q = self.fc_q(Q)
        K, V = self.fc_k(K), self.fc_v(K)
        dim_split = self.dim_V // self.num_heads
        Q_ = torch.cat(Q.split(dim_split, 2), 0)
        K_ = torch.cat(K.split(dim_split, 2), 0)
        V_ = torch.cat(V.split(dim_split, 2), 0)
        A = torch.softmax(Q_.bmm(K_.transpose(1, 2)) / math.sqrt(self.dim_V), 2)
        O = torch.cat((Q_ + A.bmm(V_)).split(Q.size(0), 0), 2)
        O = O if getattr(self, "ln0", None) is None else self.ln0(O)
        O = O + F.relu(self.fc_o(O))
        O = O if getattr(self, "ln1", None) is None else self.ln1(O)
        return O


class ISAB(nn.Module):
    def __init__(self, dim_in, dim_out, num_heads, num_inds):
        super().__init__()
        self.I = nn.Parameter(torch.empty(1, num_inds, dim_out))
        nn.init.xavier_uniform_(self.I)
        self.mab0 = MAB(dim_out, dim_in, dim_out, num_heads)
        self.mab1 = MAB(dim_in, dim_out, dim_out, num_heads)

    def forward(self, X):
        H = self.mab0(self.I.repeat(X.size(0), 1, 1), X)
        return self.mab1(X, H)


class PMA(nn.Module):
    def __init__(self, dim, num_heads, num_seeds):
        super().__init__()
        self.S = nn.Parameter(torch.empty(1, num_seeds, dim))
        nn.init.xavier_uniform_(self.S)
        self.mab = MAB(dim, dim, dim, num_heads)

    def forward(self, X):
        return self.mab(self.S.repeat(X.size(0), 1, 1), X)


class SetTransformer(nn.Module):
    """Set Transformer (Lee et al. 2019) with inducing points and pooling by attention."""

    def __init__(self, dim_input=3, dim_output=5, num_inds=4, dim_hidden=16, num_heads=4):
        super().__init__()
        self.enc = nn.Sequential(
            ISAB(dim_input, dim_hidden, num_heads, num_inds), ISAB(dim_hidden, dim_hidden, num_heads, num_inds)
        )
        self.dec = nn.Sequential(nn.Dropout(), PMA(dim_hidden, num_heads, 1), nn.Dropout(), nn.Linear(dim_hidden, dim_output))

    def forward(self, points):
        X = points.unsqueeze(0)
        return self.dec(self.enc(X)).squeeze()


@case(SetTransformer)
def induced_set_transformer(rng):
    return vector(rng, rng.randint(2, 12), 3)


@dataclass
class Dag:
    ops: List[str]
    preds: Dict[int, List[int]]


class DagRNN(nn.Module):
    """A recurrent network over a directed acyclic graph (Zhang et al. 2019), in the order of Kahn's algorithm."""

    def __init__(self, hidden=16):
        super().__init__()
        self.vocab = {op: i for i, op in enumerate(["input", "conv3x3", "conv1x1", "maxpool", "output"])}
        self.embed = nn.Embedding(len(self.vocab), hidden)
        self.cell = nn.GRUCell(hidden, hidden)
        self.init = nn.Parameter(torch.zeros(1, hidden))
        self.head = nn.Linear(hidden, 1)

    def topological_order(self, dag):
        indegree = {v: len(ps) for v, ps in dag.preds.items()}
        succs = defaultdict(list)
        for v, ps in dag.preds.items():
            for p in ps:
                succs[p].append(v)
        queue = deque(v for v in sorted(indegree) if indegree[v] == 0)
        order = []
        while queue:
            v = queue.popleft()
            order.append(v)
            for s in succs[v]:
                indegree[s] -= 1
                if indegree[s] == 0:
                    queue.append(s)
        if len(order) != len(dag.ops):
            raise ValueError("graph has a cycle")
        return order

    def forward(self, dag):
        states = {}
        for v in self.topological_order(dag):
            x = self.embed(torch.tensor([self.vocab[dag.ops[v]]]))
            if dag.preds[v]:
                h = torch.stack([states[p] for p in dag.preds[v]]).mean(0)
            else:
                h = self.init
            states[v] = self.cell(x, h)
        out = states[len(dag.ops) - 1]
        return torch.sigmoid(self.head(out)).squeeze()


@case(DagRNN)
def dag_by_topological_order(rng):
    n = rng.randint(3, 8)
    ops = ["input", *(rng.choice(["conv3x3", "conv1x1", "maxpool"]) for _ in range(n - 2)), "output"]
    preds = {0: []}
    for i in range(1, n):
        preds[i] = sorted(rng.sample(range(i), min(i, rng.randint(1, 3))))
    return Dag(ops, preds)


class NTM(nn.Module):
    """Neural Turing machine (Graves et al. 2014): addressing by content, interpolation, shift and sharpening."""

    def __init__(self, inp=6, out=6, N=8, M=10, hidden=16):
        super().__init__()
        self.N, self.M = N, M
        self.controller = nn.LSTMCell(inp + M, hidden)
        self.read_sizes = [M, 1, 1, 3, 1]
        self.fc_read = nn.Linear(hidden, sum(self.read_sizes))
        self.write_sizes = [M, 1, 1, 3, 1, M, M]
        self.fc_write = nn.Linear(hidden, sum(self.write_sizes))
        self.fc_out = nn.Linear(hidden + M, out)
        self.register_buffer("mem_bias", torch.randn(N, M) * 0.1)

    def address(self, memory, k, beta, g, s, gamma, w_prev):
        beta = F.softplus(beta)
        g = torch.sigmoid(g)
        s = F.softmax(s, dim=0)
        gamma = 1 + F.softplus(gamma)
        wc = F.softmax(beta * F.cosine_similarity(memory + 1e-16, torch.tanh(k).unsqueeze(0) + 1e-16, dim=-1), dim=0)
        wg = g * wc + (1 - g) * w_prev
        ws = s[0] * torch.roll(wg, 1) + s[1] * wg + s[2] * torch.roll(wg, -1)
        w = ws**gamma
        return w / (torch.sum(w) + 1e-16)

    def forward(self, xs):
        memory = self.mem_bias.clone()
        wr = torch.zeros(self.N)
        ww = torch.zeros(self.N)
        wr[0] = 1.0
        ww[0] = 1.0
        r = torch.zeros(self.M)
        h, c = torch.zeros(1, 16), torch.zeros(1, 16)
        outputs = []
        for t in range(xs.shape[0]):
            h, c = self.controller(torch.cat([xs[t], r]).unsqueeze(0), (h, c))
            hs = h.squeeze(0)
            k, beta, g, s, gamma = torch.split(self.fc_read(hs), self.read_sizes)
            wr = self.address(memory, k, beta, g, s, gamma, wr)
            r = torch.matmul(wr, memory)
            k, beta, g, s, gamma, e, a = torch.split(self.fc_write(hs), self.write_sizes)
            ww = self.address(memory, k, beta, g, s, gamma, ww)
            erase = torch.ger(ww, torch.sigmoid(e))
            add = torch.ger(ww, a)
            memory = memory * (1 - erase) + add
            outputs.append(torch.sigmoid(self.fc_out(torch.cat([hs, r]))))
        return torch.stack(outputs, dim=0)


@case(NTM)
def neural_turing_machine(rng):
    return vector(rng, rng.randint(2, 7), 6).sigmoid()


class SageLayer(nn.Module):
    def __init__(self, d_in, d_out, agg="max"):
        super().__init__()
        self.agg = agg
        self.pool = nn.Linear(d_in, d_in)
        self.W = nn.Linear(2 * d_in, d_out)
        self.d_in = d_in

    def forward(self, h, adj):
        n = len(adj)
        agg = torch.zeros(n, self.d_in)
        for v in range(n):
            if len(adj[v]) == 0:
                continue
            msgs = torch.stack([torch.relu(self.pool(h[u])) for u in adj[v]])
            if self.agg == "max":
                agg[v] = msgs.max(dim=0).values
            elif self.agg == "mean":
                agg[v] = msgs.mean(dim=0)
            else:
                raise NotImplementedError(self.agg)
        out = torch.relu(self.W(torch.cat([h, agg], dim=1)))
        return F.normalize(out, p=2, dim=1)


class SiameseGraphSage(nn.Module):
    """Two graphs compared by GraphSAGE (Hamilton et al. 2017), with pooling and mean aggregation."""

    def __init__(self, types=6, d=12):
        super().__init__()
        self.embed = nn.Embedding(types, d)
        self.layers = nn.ModuleList([SageLayer(d, d, "max"), SageLayer(d, d, "mean")])

    def encode(self, g):
        h = self.embed(torch.LongTensor(g["types"]))
        for layer in self.layers:
            h = layer(h, g["adj"])
        return h.mean(dim=0)

    def forward(self, pair):
        g1, g2 = pair
        a, b = self.encode(g1), self.encode(g2)
        return F.cosine_similarity(a, b, dim=0)


@case(SiameseGraphSage)
def siamese_graph_sage(rng):
    pair = []
    for _ in range(2):
        n = rng.randint(2, 7)
        adj = [rng.sample(range(n), rng.randint(0, min(n, 3))) for _ in range(n)]
        pair.append({"types": [rng.randrange(6) for _ in range(n)], "adj": adj})
    return pair


class GGNNSet2Set(nn.Module):
    """Gated graph network (Li et al. 2016) that halts by confidence, read out by Set2Set (Vinyals et al. 2016)."""

    def __init__(self, d=10, edge_types=("next", "parent", "uses"), max_steps=6, thresh=0.9):
        super().__init__()
        self.d, self.max_steps, self.thresh = d, max_steps, thresh
        self.edge_types = edge_types
        self.msg_in = nn.ModuleDict({t: nn.Linear(d, d) for t in edge_types})
        self.msg_out = nn.ModuleDict({t: nn.Linear(d, d) for t in edge_types})
        self.gru = nn.GRUCell(d, d)
        self.halt = nn.Linear(d, 1)
        self.lstm = nn.LSTMCell(2 * d, d)
        self.out = nn.Linear(2 * d, 3)

    def propagate(self, h, edges):
        incoming = {i: [] for i in range(len(h))}
        for kind, pairs in edges.items():
            for src, dst in pairs:
                incoming[dst].append(self.msg_in[kind](h[src]))
                incoming[src].append(self.msg_out[kind](h[dst]))
        new_h = []
        for i, state in enumerate(h):
            m = sum(incoming[i]) if incoming[i] else torch.zeros_like(state)
            new_h.append(self.gru(m[None], state[None])[0])
        return new_h

    def forward(self, sample):
        h = [row for row in sample["features"]]
        total, steps = 0.0, 0
        while steps < self.max_steps:
            h = self.propagate(h, sample["edges"])
            steps += 1
            p = torch.sigmoid(self.halt(sum(h) / len(h))).item()
            total += p
            if total > self.thresh:
                break
        H = torch.stack(h)
        hx, cx = torch.zeros(1, self.d), torch.zeros(1, self.d)
        q_star = torch.zeros(1, 2 * self.d)
        for _ in range(3):
            hx, cx = self.lstm(q_star, (hx, cx))
            e = (H * hx).sum(dim=-1, keepdim=True)
            a = torch.softmax(e, dim=0)
            r = (a * H).sum(dim=0, keepdim=True)
            q_star = torch.cat([hx, r], dim=-1)
        return self.out(q_star)[0], steps


@case(GGNNSet2Set)
def gated_graph_set2set(rng):
    n = rng.randint(2, 7)
    kinds = ("next", "parent", "uses")
    edges = {t: [(rng.randrange(n), rng.randrange(n)) for _ in range(rng.randint(0, n))] for t in kinds}
    return {"features": vector(rng, n, 10), "edges": edges}


class Expert(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, h), nn.GELU(), nn.Linear(h, d))

    def forward(self, x):
        return self.net(x)


class MoELayer(nn.Module):
    def __init__(self, d, num_experts, k):
        super().__init__()
        self.k = k
        self.gate = nn.Linear(d, num_experts, bias=False)
        self.experts = nn.ModuleList(Expert(d, 2 * d) for _ in range(num_experts))

    def forward(self, x):
        logits = self.gate(x)
        weights, selected = torch.topk(logits, self.k, dim=-1)
        weights = F.softmax(weights, dim=-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            token, nth = torch.where(selected == i)
            if token.numel() == 0:
                continue
            out[token] += weights[token, nth, None] * expert(x[token])
        return out


class MoEModel(nn.Module):
    """Mixture of experts as in Mixtral (Jiang et al. 2024): tokens are gathered for each expert."""

    def __init__(self, vocab=40, d=12, layers=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList([MoELayer(d, 4, 2) for _ in range(layers)])
        self.norms = nn.ModuleList([nn.LayerNorm(d) for _ in range(layers)])
        self.head = nn.Linear(d, 2)

    def forward(self, tokens: List[int]) -> torch.Tensor:
        x = self.emb(torch.as_tensor(tokens))
        for layer, norm in zip(self.layers, self.norms):
            x = x + layer(norm(x))
        return self.head(x.mean(0))


@case(MoEModel)
def gathered_experts(rng):
    return [rng.randrange(40) for _ in range(rng.randint(2, 9))]


@dataclass
class Question:
    program: List[Tuple[str, Optional[str]]]
    triples: List[Tuple[str, str, str]]
    entities: List[str]


class KBReasoner(nn.Module):
    """Programs over a knowledge base: relations are followed by soft masks over entities."""

    def __init__(self, relations=("born_in", "capital_of", "knows"), dim=12):
        super().__init__()
        self.rel2id = {r: i for i, r in enumerate(relations)}
        self.rel = nn.Embedding(len(relations), dim)
        self.char = nn.EmbeddingBag(26, dim, mode="mean")
        self.follow_gate = nn.Bilinear(dim, dim, 1)
        self.score = nn.Linear(dim, 1)

    def encode_entity(self, name):
        ids = [ord(c) - ord("a") for c in name]
        return self.char(torch.tensor(ids), torch.tensor([0])).squeeze(0)

    def forward(self, q):
        index = {}
        embs = []
        for name in q.entities:
            if name not in index:
                index[name] = len(index)
                embs.append(self.encode_entity(name))
        n = len(index)
        stack = []
        for op, arg in q.program:
            if op == "entity":
                v = torch.zeros(n)
                v[index[arg]] = 1.0
                stack.append(v)
            elif op == "follow":
                cur = stack.pop()
                nxt = torch.zeros(n)
                r = self.rel(torch.tensor(self.rel2id[arg]))
                for s, p, o in q.triples:
                    gate = torch.sigmoid(self.follow_gate(r, self.rel.weight[self.rel2id[p]]))[0]
                    nxt[index[o]] += cur[index[s]] * gate
                stack.append(nxt.clamp(max=1.0))
            elif op == "intersect":
                b, a = stack.pop(), stack.pop()
                stack.append(a * b)
            elif op == "union":
                b, a = stack.pop(), stack.pop()
                stack.append(a + b - a * b)
        att = stack[-1]
        E = torch.stack(embs)
        pooled = (att.unsqueeze(1) * E).sum(0)
        best = max(range(n), key=lambda i: att[i].item())
        return {"attention": att, "score": self.score(pooled), "answer": best}


@case(KBReasoner)
def knowledge_base_programs(rng):
    entities = rng.sample(["paris", "france", "ann", "bob", "rome", "italy", "carl"], rng.randint(3, 6))
    relations = ["born_in", "capital_of", "knows"]
    triples = [(rng.choice(entities), rng.choice(relations), rng.choice(entities)) for _ in range(6)]
    program = [("entity", rng.choice(entities)), ("follow", rng.choice(relations))]
    if rng.random() < 0.6:
        program += [("entity", rng.choice(entities)), ("follow", rng.choice(relations))]
        program.append((rng.choice(["intersect", "union"]), None))
    return Question(program, triples, entities)


class MLP(nn.Module):
    def __init__(self, i, h, o):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(i, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, o))

    def forward(self, x):
        return self.layers(x)


@dataclass
class Particle:
    position: List[float]
    velocity: List[float]
    mass: float


@dataclass
class Spring:
    a: int
    b: int
    stiffness: float


@dataclass
class System:
    particles: List[Particle]
    springs: List[Spring]


class InteractionNetwork(nn.Module):
    """Interaction network over particles and springs (Battaglia et al. 2016)."""

    def __init__(self, hidden=16, effect=8):
        super().__init__()
        self.relational_model = MLP(2 * 5 + 1, hidden, effect)
        self.object_model = MLP(5 + effect, hidden, 2)
        self.effect_dim = effect

    def state(self, p):
        return torch.tensor([*p.position, *p.velocity, p.mass])

    def forward(self, system):
        states = [self.state(p) for p in system.particles]
        effects = [torch.zeros(self.effect_dim) for _ in states]
        for s in system.springs:
            k = torch.tensor([s.stiffness])
            effects[s.b] = effects[s.b] + self.relational_model(torch.cat([states[s.a], states[s.b], k]))
            effects[s.a] = effects[s.a] + self.relational_model(torch.cat([states[s.b], states[s.a], k]))
        preds = [self.object_model(torch.cat([x, e])) for x, e in zip(states, effects)]
        return torch.stack(preds)


@case(InteractionNetwork)
def interaction_network(rng):
    n = rng.randint(2, 6)
    pair = lambda: [rng.random(), rng.random()]  # noqa: E731
    particles = [Particle(pair(), pair(), rng.random()) for _ in range(n)]
    springs = [Spring(rng.randrange(n), rng.randrange(n), rng.random()) for _ in range(rng.randint(1, 2 * n))]
    return System(particles, springs)


class KeyValueMemory(nn.Module):
    """Key-value memory network (Miller et al. 2016), with hops that end by confidence."""

    def __init__(self, vocab=25, d=10, hops=2, threshold=0.7):
        super().__init__()
        self.hops, self.threshold = hops, threshold
        self.emb = nn.Embedding(vocab, d)
        self.key_proj = nn.Linear(d, d)
        self.R = nn.ModuleList([nn.Linear(d, d, bias=False) for _ in range(hops)])
        self.out = nn.Linear(d, vocab)

    def lookup(self, q, keys, values):
        sims = F.cosine_similarity(q.unsqueeze(0), keys, dim=1)
        w = F.softmax(sims / math.sqrt(keys.size(1)), dim=0)
        return w @ values, sims.max()

    def forward(self, example):
        memory = {}
        for subject, relation, obj in example["facts"]:
            memory[(subject, relation)] = obj
        keys = torch.stack([self.key_proj(self.emb(torch.tensor(s)) + self.emb(torch.tensor(r))) for s, r in memory.keys()])
        values = torch.stack([self.emb(torch.tensor(o)) for o in memory.values()])
        q = self.emb(torch.tensor(example["question"])).mean(dim=0)
        used = 0
        for hop in range(self.hops):
            o, best = self.lookup(q, keys, values)
            q = self.R[hop](q + o)
            used += 1
            if best.item() > self.threshold:
                break
        return {"logits": self.out(q), "hops": used}


@case(KeyValueMemory)
def key_value_memory(rng):
    facts = [(rng.randrange(25), rng.randrange(25), rng.randrange(25)) for _ in range(rng.randint(1, 6))]
    return {"facts": facts, "question": [rng.randrange(25) for _ in range(rng.randint(1, 5))]}


class SceneGraphEncoder(nn.Module):
    """A scene graph, read breadth first from its first object."""

    RELATIONS = ["left_of", "on", "holding"]

    def __init__(self, num_classes=12, d=8):
        super().__init__()
        self.cls = nn.Embedding(num_classes, d)
        self.box = nn.Linear(4, d)
        self.rel = nn.ModuleDict({r: nn.Linear(2 * d, d) for r in self.RELATIONS})
        self.att = nn.Linear(d, 1)
        self.rnn = nn.GRUCell(d, d)

    def forward(self, scene):
        nodes = {}
        for obj in scene["objects"]:
            box = torch.tensor(obj["box"], dtype=torch.float32)
            nodes[obj["id"]] = torch.relu(self.cls(torch.tensor(obj["class"])) + self.box(box))
        adj = defaultdict(list)
        for rel in scene["relations"]:
            adj[rel["subject"]].append((rel["predicate"], rel["object"]))
        start = scene["objects"][0]["id"]
        visited = {start}
        queue = deque([start])
        h = torch.zeros(1, 8)
        order = []
        while len(queue) > 0:
            u = queue.popleft()
            order.append(u)
            message = nodes[u]
            for name, v in adj[u]:
                message = message + torch.tanh(self.rel[name](torch.cat([nodes[u], nodes[v]], dim=-1)))
                if v not in visited:
                    visited.add(v)
                    queue.append(v)
            h = self.rnn(message.unsqueeze(0), h)
        return h.squeeze(0), order


@case(SceneGraphEncoder)
def scene_graph(rng):
    ids = rng.sample(range(100), rng.randint(2, 5))
    objects = [{"id": i, "class": rng.randrange(12), "box": [rng.random() for _ in range(4)]} for i in ids]
    relations = [
        {"subject": rng.choice(ids), "predicate": rng.choice(SceneGraphEncoder.RELATIONS), "object": rng.choice(ids)}
        for _ in range(rng.randint(1, 2 * len(ids)))
    ]
    return {"objects": objects, "relations": relations}


class SlotAttention(nn.Module):
    """Slot attention (Locatello et al. 2020) with as many iterations as it takes."""

    def __init__(self, num_slots=3, dim=8, iters=4, eps=1e-8, tol=0.5):
        super().__init__()
        self.num_slots, self.iters, self.eps, self.tol = num_slots, iters, eps, tol
        self.scale = dim**-0.5
        self.slots_mu = nn.Parameter(torch.randn(num_slots, dim))
        self.to_q = nn.Linear(dim, dim)
        self.to_k = nn.Linear(dim, dim)
        self.to_v = nn.Linear(dim, dim)
        self.gru = nn.GRUCell(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 16), nn.ReLU(inplace=True), nn.Linear(16, dim))
        self.norm_input = nn.LayerNorm(dim)
        self.norm_slots = nn.LayerNorm(dim)

    def forward(self, inputs, num_iters=None):
        n, d = inputs.shape
        inputs = self.norm_input(inputs)
        k, v = self.to_k(inputs), self.to_v(inputs)
        slots = self.slots_mu
        for i in range(num_iters or self.iters):
            slots_prev = slots
            q = self.to_q(self.norm_slots(slots))
            dots = torch.einsum("id,jd->ij", q, k) * self.scale
            attn = dots.softmax(dim=0) + self.eps
            attn = attn / attn.sum(dim=-1, keepdim=True)
            updates = torch.einsum("jd,ij->id", v, attn)
            slots = self.gru(updates, slots_prev)
            slots = slots + self.mlp(slots)
            if (slots - slots_prev).norm() < self.tol:
                break
        return slots


@case(SlotAttention)
def slot_attention(rng):
    return vector(rng, rng.randint(2, 9), 8)
