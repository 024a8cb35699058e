"""Networks over graphs, sets and directed acyclic graphs, one graph an instance."""

from dataclasses import dataclass, field

import torch
import torch.nn as nn
import torch.nn.functional as F

from backends.acrobat.tests.zoo.case import case, vector


@dataclass
class Graph:
    features: torch.Tensor
    neighbours: list = field(default_factory=list)


def graph(rng, dim=6, low=1, high=9):
    n = rng.randint(low, high)
    neighbours = [sorted({j for j in range(n) if j != i and rng.random() < 0.4}) for i in range(n)]
    return Graph(vector(rng, n, dim), neighbours)


class GraphConvolution(nn.Module):
    """A graph convolutional network (Kipf and Welling 2017) over lists of neighbours, read out by the mean."""

    def __init__(self, dim=6, layers=2, classes=3):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(dim, dim) for _ in range(layers)])
        self.readout = nn.Linear(dim, classes)

    def forward(self, g):
        h = [row for row in g.features]
        for layer in self.layers:
            messages = []
            for i, around in enumerate(g.neighbours):
                total = h[i]
                for j in around:
                    total = total + h[j]
                messages.append(total / (len(around) + 1))
            h = [F.relu(layer(m)) for m in messages]
        return self.readout(torch.stack(h).mean(0))


@case(GraphConvolution)
def graph_convolution(rng):
    return graph(rng)


class GraphAttention(nn.Module):
    """Graph attention (Velickovic et al. 2018): each node attends over its neighbours and itself."""

    def __init__(self, dim=6, heads=2):
        super().__init__()
        self.W = nn.ModuleList(nn.Linear(dim, dim // heads, bias=False) for _ in range(heads))
        self.a = nn.ParameterList(nn.Parameter(torch.randn(2 * (dim // heads))) for _ in range(heads))

    def head(self, W, a, g):
        z = W(g.features)
        out = []
        for i, around in enumerate(g.neighbours):
            nodes = [i] + list(around)
            e = torch.stack([F.leaky_relu(a @ torch.cat([z[i], z[j]]), 0.2) for j in nodes])
            alpha = torch.softmax(e, dim=0)
            out.append(F.elu(sum(alpha[k] * z[j] for k, j in enumerate(nodes))))
        return torch.stack(out)

    def forward(self, g):
        return torch.cat([self.head(W, a, g) for W, a in zip(self.W, self.a)], dim=-1)


@case(GraphAttention)
def graph_attention(rng):
    return graph(rng)


class GatedGraph(nn.Module):
    """Gated graph network (Li et al. 2016): typed edges, messages summed, a GRU cell for a number of steps that the graph brings."""

    def __init__(self, dim=6, kinds=("call", "data", "next")):
        super().__init__()
        self.message = nn.ModuleDict({kind: nn.Linear(dim, dim) for kind in kinds})
        self.cell = nn.GRUCell(dim, dim)
        self.gate = nn.Linear(2 * dim, dim)
        self.value = nn.Linear(dim, dim)

    def forward(self, g):
        x = g["nodes"]
        h = x
        for _ in range(g["steps"]):
            incoming = [torch.zeros(x.size(1)) for _ in range(x.size(0))]
            for kind, source, target in g["edges"]:
                incoming[target] = incoming[target] + self.message[kind](h[source])
            h = self.cell(torch.stack(incoming), h)
        gated = torch.sigmoid(self.gate(torch.cat([h, x], dim=1))) * torch.tanh(self.value(h))
        return gated.sum(dim=0)


@case(GatedGraph)
def gated_graph(rng):
    n = rng.randint(1, 7)
    edges = [(rng.choice(["call", "data", "next"]), rng.randrange(n), rng.randrange(n)) for _ in range(rng.randint(0, 9))]
    return {"nodes": vector(rng, n, 6), "edges": edges, "steps": rng.randint(1, 3)}


class MoleculeFingerprint(nn.Module):
    """Neural fingerprints of molecules (Duvenaud et al. 2015): weights chosen by the degree of an atom."""

    ELEMENTS = ("C", "N", "O", "H")

    def __init__(self, dim=6, radius=2, length=5, max_degree=4):
        super().__init__()
        self.radius, self.length = radius, length
        self.atom = nn.Embedding(len(self.ELEMENTS), dim)
        self.hidden = nn.ModuleList(nn.Linear(dim, dim) for _ in range(max_degree + 1))
        self.fingerprint = nn.Linear(dim, length)

    def forward(self, molecule):
        atoms, bonds = molecule
        r = {i: self.atom.weight[self.ELEMENTS.index(element)] for i, element in enumerate(atoms)}
        f = torch.zeros(self.length)
        for _ in range(self.radius):
            updated = {}
            for i in r:
                around = [b if a == i else a for a, b in bonds if i in (a, b)]
                v = r[i] + sum((r[j] for j in around), torch.zeros_like(r[i]))
                updated[i] = torch.sigmoid(self.hidden[len(around)](v))
                f = f + torch.softmax(self.fingerprint(updated[i]), dim=-1)
            r = updated
        return f


@case(MoleculeFingerprint)
def molecule_fingerprint(rng):
    n = rng.randint(1, 6)
    chain = [(i, i + 1) for i in range(n - 1)]
    return [rng.choice("CNOH") for _ in range(n)], chain


class Node:
    def __init__(self, op, inputs):
        self.op = op
        self.inputs = inputs


class DirectedAcyclic(nn.Module):
    """A recursive network on a graph whose shared nodes are computed once, by a dictionary from node to state."""

    def __init__(self, operators=("conv", "pool", "add", "input"), dim=6):
        super().__init__()
        self.operators = nn.ParameterDict({name: nn.Parameter(torch.randn(dim)) for name in operators})
        self.cell = nn.LSTMCell(dim, dim)
        self.score = nn.Linear(dim, 1)

    def state(self, node, memo):
        if id(node) in memo:
            return memo[id(node)]
        states = [self.state(below, memo) for below in node.inputs]
        if states:
            h = torch.stack([s[0] for s in states]).sum(0)
            c = torch.stack([s[1] for s in states]).sum(0)
        else:
            h = c = torch.zeros(self.cell.hidden_size)
        result = self.cell(self.operators[node.op], (h, c))
        memo[id(node)] = result
        return result

    def forward(self, output):
        h, _ = self.state(output, {})
        return torch.sigmoid(self.score(h))


@case(DirectedAcyclic)
def directed_acyclic(rng):
    nodes = [Node("input", [])]
    for _ in range(rng.randint(0, 8)):
        nodes.append(Node(rng.choice(["conv", "pool", "add"]), rng.sample(nodes, min(len(nodes), rng.randint(1, 2)))))
    return nodes[-1]


class PointNet(nn.Module):
    """PointNet (Qi et al. 2017) without its transforms: a network for each point, the maximum over the points."""

    def __init__(self, classes=4):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 12), nn.LeakyReLU(0.1))
        self.head = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, classes))

    def forward(self, cloud):
        centred = cloud - cloud.mean(dim=0, keepdim=True)
        features = self.mlp(centred)
        return F.log_softmax(self.head(features.max(dim=0)[0]), dim=-1)


@case(PointNet)
def point_net(rng):
    return vector(rng, rng.randint(1, 20), 3)


class SetTransformer(nn.Module):
    """Pooling by attention of a seed over the elements of a set (Lee et al. 2019), with PyTorch's MultiheadAttention."""

    def __init__(self, dim=8, heads=2):
        super().__init__()
        self.inner = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.seed = nn.Parameter(torch.randn(1, 1, dim))
        self.pool = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.out = nn.Linear(dim, 1)

    def forward(self, elements):
        x = elements.unsqueeze(0)
        attended, _ = self.inner(x, x, x, need_weights=False)
        x = self.norm(x + attended)
        pooled, weights = self.pool(self.seed, x, x)
        return self.out(pooled).view(()), weights.view(-1)


@case(SetTransformer)
def set_transformer(rng):
    return vector(rng, rng.randint(1, 10), 8)


class Set2Set(nn.Module):
    """Order-invariant read-out by repeated attention (Vinyals et al. 2016)."""

    def __init__(self, dim=6, steps=3):
        super().__init__()
        self.dim, self.steps = dim, steps
        self.lstm = nn.LSTMCell(2 * dim, dim)

    def forward(self, x):
        q_star = x.new_zeros(2 * self.dim)
        h, c = x.new_zeros(self.dim), x.new_zeros(self.dim)
        for _ in range(self.steps):
            h, c = self.lstm(q_star, (h, c))
            e = (x * h).sum(dim=-1)
            a = torch.softmax(e, dim=0)
            q_star = torch.cat([h, (a.unsqueeze(-1) * x).sum(dim=0)], dim=-1)
        return q_star


@case(Set2Set)
def set_to_set(rng):
    return vector(rng, rng.randint(1, 8), 6)


class RelationNetwork(nn.Module):
    """Relation network (Santoro et al. 2017): all pairs of objects with a question."""

    def __init__(self, dim=5, question=4):
        super().__init__()
        self.g = nn.Sequential(nn.Linear(2 * dim + question, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU())
        self.f = nn.Linear(8, 3)

    def forward(self, scene):
        objects, question = scene["objects"], scene["question"]
        total = 0
        for a in objects:
            for b in objects:
                total = total + self.g(torch.cat([a, b, question]))
        return self.f(total)


@case(RelationNetwork)
def relation_network(rng):
    return {"objects": [vector(rng, 5) for _ in range(rng.randint(1, 5))], "question": vector(rng, 4)}
