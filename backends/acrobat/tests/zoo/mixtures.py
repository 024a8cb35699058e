"""Models with memories, gates, experts and objects of their own classes, as their authors write them."""

import math
from collections import defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from typing import Optional

import torch
import torch.nn as nn
import torch.nn.functional as F

from backends.acrobat.tests.zoo.case import case, vector, words

VOCABULARY = 30


class GraphConv(nn.Module):
    """Message passing over an edge list with `index_add_` (in the style of PyTorch Geometric without it)."""

    def __init__(self, dim=6, layers=2, classes=3):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, dim)
        self.lins = nn.ModuleList([nn.Linear(dim, dim) for _ in range(layers)])
        self.roots = nn.ModuleList([nn.Linear(dim, dim, bias=False) for _ in range(layers)])
        self.head = nn.Linear(dim, classes)

    def forward(self, graph):
        x = self.embed(torch.tensor(graph["nodes"]))
        src = torch.tensor([e[0] for e in graph["edges"]], dtype=torch.long)
        dst = torch.tensor([e[1] for e in graph["edges"]], dtype=torch.long)
        deg = torch.zeros(x.size(0)).index_add(0, dst, torch.ones(len(graph["edges"]))).clamp(min=1)
        for lin, root in zip(self.lins, self.roots):
            messages = lin(x)[src]
            agg = torch.zeros_like(x).index_add_(0, dst, messages)
            x = F.relu(agg / deg.unsqueeze(-1) + root(x))
        return F.log_softmax(self.head(x.mean(dim=0)), dim=-1)


@case(GraphConv)
def graph_conv(rng):
    nodes = words(rng, 2, 7)
    edges = [(rng.randrange(len(nodes)), rng.randrange(len(nodes))) for _ in range(rng.randint(1, 10))]
    return {"nodes": nodes, "edges": edges}


class GAT(nn.Module):
    """Graph attention (Velickovic et al. 2018) with a dense adjacency mask and several heads."""

    def __init__(self, dim=6, heads=2):
        super().__init__()
        self.W = nn.ModuleList(nn.Linear(dim, dim, bias=False) for _ in range(heads))
        self.a_src = nn.ParameterList(nn.Parameter(torch.randn(dim)) for _ in range(heads))
        self.a_dst = nn.ParameterList(nn.Parameter(torch.randn(dim)) for _ in range(heads))
        self.out = nn.Linear(heads * dim, 3)

    def head(self, k, x, adj):
        h = self.W[k](x)
        e = F.leaky_relu((h @ self.a_src[k]).unsqueeze(1) + (h @ self.a_dst[k]).unsqueeze(0), 0.2)
        e = e.masked_fill(adj == 0, -1e9)
        return F.elu(torch.softmax(e, dim=1) @ h)

    def forward(self, batch):
        x, adj = batch
        adj = torch.maximum(adj, torch.eye(x.size(0)))
        heads = [self.head(k, x, adj) for k in range(len(self.W))]
        return self.out(torch.cat(heads, dim=-1))


@case(GAT)
def gat(rng):
    n = rng.randint(2, 7)
    return vector(rng, n, 6), (vector(rng, n, n) > 0.3).float()


@dataclass
class Item:
    vector: torch.Tensor
    index: int
    children: list = field(default_factory=list)


class Configuration:
    """Stack, buffer and arcs of a parser."""

    def __init__(self, buffer):
        self.stack = []
        self.buffer = buffer
        self.arcs = []

    @property
    def finished(self):
        return not self.buffer and len(self.stack) == 1

    def legal(self):
        actions = []
        if self.buffer:
            actions.append("shift")
        if len(self.stack) >= 2:
            actions.extend(["left", "right"])
        return actions

    def shift(self):
        self.stack.append(self.buffer.pop(0))

    def reduce(self, head, dependent, vector):
        self.arcs.append((head, dependent))
        self.stack = self.stack[:-2] + [(vector, head)]


class ArcParser(nn.Module):
    """An arc-standard parser with a configuration object and a dictionary of actions."""

    ACTIONS = ["shift", "left", "right"]

    def __init__(self, dim=6):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, dim)
        self.compose = nn.ModuleDict({"left": nn.Linear(2 * dim, dim), "right": nn.Linear(2 * dim, dim)})
        self.score = nn.Linear(3 * dim, len(self.ACTIONS))
        self.pad = nn.Parameter(torch.zeros(dim))

    def features(self, config):
        s1 = config.stack[-1][0] if config.stack else self.pad
        s2 = config.stack[-2][0] if len(config.stack) > 1 else self.pad
        b = config.buffer[0][0] if config.buffer else self.pad
        return torch.cat([s1, s2, b])

    def forward(self, sentence):
        vectors = self.embed(torch.tensor(sentence))
        config = Configuration([(v, i) for i, v in enumerate(vectors)])
        while not config.finished:
            scores = self.score(self.features(config))
            action = max(config.legal(), key=lambda a: scores[self.ACTIONS.index(a)].item())
            if action == "shift":
                config.shift()
                continue
            (v1, i1), (v2, i2) = config.stack[-1], config.stack[-2]
            head, dep = (i1, i2) if action == "left" else (i2, i1)
            config.reduce(head, dep, torch.tanh(self.compose[action](torch.cat([v2, v1]))))
        return config.stack[0][0], config.arcs


@case(ArcParser)
def arc_parser(rng):
    return words(rng, 1, 7)


class PointerTour(nn.Module):
    """A pointer network (Vinyals et al. 2015) that visits each point once."""

    def __init__(self, dim=6):
        super().__init__()
        self.dim = dim
        self.encoder = nn.LSTM(2, dim, batch_first=True)
        self.decoder = nn.LSTMCell(dim, dim)
        self.W1 = nn.Linear(dim, dim, bias=False)
        self.W2 = nn.Linear(dim, dim, bias=False)
        self.v = nn.Linear(dim, 1, bias=False)
        self.start = nn.Parameter(torch.randn(dim))

    def forward(self, points):
        memory, (h, c) = self.encoder(points.unsqueeze(0))
        memory = memory.squeeze(0)
        h, c = h[0, 0], c[0, 0]
        n = memory.size(0)
        keys = self.W1(memory)
        visited = torch.zeros(n, dtype=torch.bool)
        x = self.start
        tour, log_prob = [], 0.0
        for _ in range(n):
            h, c = self.decoder(x, (h, c))
            scores = self.v(torch.tanh(keys + self.W2(h))).squeeze(-1)
            scores = scores.masked_fill(visited, float("-inf"))
            log_probs = F.log_softmax(scores, dim=0)
            choice = log_probs.argmax().item()
            log_prob = log_prob + log_probs[choice]
            visited[choice] = True
            tour.append(choice)
            x = memory[choice]
        return tour, log_prob


@case(PointerTour)
def pointer_tour(rng):
    return vector(rng, rng.randint(1, 6), 2)


class TopKExperts(nn.Module):
    """A mixture of experts with top-k routing for each token (Shazeer et al. 2017)."""

    def __init__(self, dim=6, experts=4, k=2):
        super().__init__()
        self.k = k
        self.embed = nn.Embedding(VOCABULARY, dim)
        self.gate = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim)) for _ in range(experts)
        )
        self.norm = nn.LayerNorm(dim)

    def forward(self, sentence):
        x = self.embed(torch.tensor(sentence))
        outputs = []
        load = defaultdict(int)
        for token in x:
            logits = self.gate(token)
            weights, chosen = torch.topk(logits, self.k)
            weights = torch.softmax(weights, dim=0)
            mixed = torch.zeros_like(token)
            for w, e in zip(weights, chosen):
                mixed = mixed + w * self.experts[e.item()](token)
                load[e.item()] += 1
            outputs.append(self.norm(token + mixed))
        return torch.stack(outputs), max(load.values())


@case(TopKExperts)
def top_k_experts(rng):
    return words(rng, 1, 6)


class StackMachine(nn.Module):
    """A network that runs a program of named instructions on a stack of vectors, with a handler for each."""

    def __init__(self, dim=5):
        super().__init__()
        self.constants = nn.Embedding(10, dim)
        self.binary = nn.ModuleDict({op: nn.Bilinear(dim, dim, dim) for op in ("add", "mul")})
        self.unary = nn.Linear(dim, dim)
        self.read = nn.Linear(dim, 1)

    def step(self, stack, op, argument):
        if op == "push":
            stack.append(self.constants.weight[argument])
        elif op == "dup":
            stack.append(stack[-1])
        elif op == "swap":
            stack[-1], stack[-2] = stack[-2], stack[-1]
        elif op == "neg":
            stack.append(torch.tanh(self.unary(stack.pop())))
        elif op in self.binary:
            b, a = stack.pop(), stack.pop()
            stack.append(torch.tanh(self.binary[op](a, b)))
        else:
            raise ValueError(f"unknown instruction {op!r}")

    def forward(self, program):
        stack = deque()
        for instruction in program:
            op, *rest = instruction
            self.step(stack, op, rest[0] if rest else 0)
        return self.read(stack[-1]), len(stack)


@case(StackMachine)
def stack_machine(rng):
    program, depth = [], 0
    for _ in range(rng.randint(2, 12)):
        if depth < 2 or rng.random() < 0.35:
            program.append(("push", rng.randrange(10)))
            depth += 1
            continue
        op = rng.choice(["add", "mul", "dup", "swap", "neg"])
        program.append((op,))
        depth += {"add": -1, "mul": -1, "dup": 1}.get(op, 0)
    return program


class CachedDecoder(nn.Module):
    """A transformer decoder that keeps keys and values of what it has written, a list for each layer."""

    def __init__(self, dim=8, heads=2, layers=2, vocabulary=VOCABULARY, limit=6):
        super().__init__()
        self.heads, self.limit = heads, limit
        self.embed = nn.Embedding(vocabulary, dim)
        self.qkv = nn.ModuleList(nn.Linear(dim, 3 * dim) for _ in range(layers))
        self.proj = nn.ModuleList(nn.Linear(dim, dim) for _ in range(layers))
        self.ff = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim)) for _ in range(layers)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(2 * layers))
        self.out = nn.Linear(dim, vocabulary)

    def attend(self, layer, x, cache):
        q, k, v = self.qkv[layer](x).chunk(3, dim=-1)
        cache.append((k, v))
        keys = torch.stack([k for k, _ in cache])
        values = torch.stack([v for _, v in cache])
        d = x.size(-1) // self.heads
        outputs = []
        for h in range(self.heads):
            part = slice(h * d, (h + 1) * d)
            alpha = F.softmax(keys[:, part] @ q[part] / math.sqrt(d), dim=0)
            outputs.append(alpha @ values[:, part])
        return self.proj[layer](torch.cat(outputs))

    def forward(self, prompt):
        caches = [[] for _ in self.qkv]
        produced = list(prompt)
        position = 0
        while position < len(produced):
            x = self.embed.weight[produced[position]]
            for i, cache in enumerate(caches):
                x = x + self.attend(i, self.norms[2 * i](x), cache)
                x = x + self.ff[i](self.norms[2 * i + 1](x))
            position += 1
            if position == len(produced) and len(produced) < len(prompt) + self.limit:
                token = self.out(x).argmax().item()
                if token == 0:
                    break
                produced.append(token)
        return produced[len(prompt) :]


@case(CachedDecoder)
def cached_decoder(rng):
    return words(rng, 1, 5)


class CharCNN(nn.Module):
    """Words by a convolution over their letters (Kim et al. 2016) with highway layers, then an LSTM."""

    def __init__(self, dim=5, filters=(1, 2, 3), channels=4, classes=4):
        super().__init__()
        self.char = nn.Embedding(27, dim, padding_idx=0)
        self.convs = nn.ModuleList([nn.Conv1d(dim, channels, w, padding=w - 1) for w in filters])
        size = channels * len(filters)
        self.transform, self.carry = nn.Linear(size, size), nn.Linear(size, size)
        self.rnn = nn.LSTM(size, 6, bidirectional=True)
        self.tag = nn.Linear(12, classes)

    def word(self, letters):
        x = self.char(torch.tensor([ord(c) - ord("a") + 1 for c in letters])).t().unsqueeze(0)
        pooled = [F.max_pool1d(torch.tanh(conv(x)), conv(x).size(2)).squeeze(2) for conv in self.convs]
        y = torch.cat(pooled, dim=1).squeeze(0)
        t = torch.sigmoid(self.carry(y))
        return t * F.relu(self.transform(y)) + (1 - t) * y

    def forward(self, sentence):
        vectors = torch.stack([self.word(w) for w in sentence])
        hidden, _ = self.rnn(vectors.unsqueeze(1))
        return self.tag(hidden.squeeze(1)).argmax(dim=1).tolist()


@case(CharCNN)
def char_cnn(rng):
    letters = "abcdefghijklmnopqrstuvwxyz"
    return ["".join(rng.choice(letters) for _ in range(rng.randint(1, 6))) for _ in range(rng.randint(1, 5))]


Node = namedtuple("Node", ["left", "right"])


class GreedyAutoencoder(nn.Module):
    """Socher et al. 2011: the pair of neighbours with the smallest error of reconstruction is merged, until one is left."""

    def __init__(self, dim=5):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, dim)
        self.encode = nn.Linear(2 * dim, dim)
        self.decode = nn.Linear(dim, 2 * dim)
        self.label = nn.Linear(dim, 2)

    def merge(self, a, b):
        pair = torch.cat([a, b])
        parent = torch.tanh(self.encode(pair))
        error = ((self.decode(parent) - pair) ** 2).sum()
        return parent, error

    def forward(self, sentence):
        nodes = [self.embed.weight[w] for w in sentence]
        total = torch.zeros(())
        order = []
        while len(nodes) > 1:
            candidates = [self.merge(a, b) for a, b in zip(nodes, nodes[1:])]
            best = min(range(len(candidates)), key=lambda i: candidates[i][1].item())
            parent, error = candidates[best]
            total = total + error
            nodes[best : best + 2] = [parent]
            order.append(best)
        return F.softmax(self.label(nodes[0]), dim=-1), total, order


@case(GreedyAutoencoder)
def greedy_autoencoder(rng):
    return words(rng, 1, 6)


class TuringMemory(nn.Module):
    """A small neural Turing machine (Graves et al. 2014): content addressing, erase and add."""

    def __init__(self, dim=4, slots=5, width=4):
        super().__init__()
        self.register_buffer("initial", torch.full((slots, width), 1e-3))
        self.controller = nn.GRUCell(dim + width, 6)
        self.key, self.beta = nn.Linear(6, width), nn.Linear(6, 1)
        self.erase, self.add = nn.Linear(6, width), nn.Linear(6, width)
        self.out = nn.Linear(6 + width, dim)

    def address(self, memory, h):
        similarity = F.cosine_similarity(memory, self.key(h).unsqueeze(0).expand_as(memory), dim=-1)
        return F.softmax(F.softplus(self.beta(h)) * similarity, dim=0)

    def forward(self, sequence):
        memory = self.initial.clone()
        h = torch.zeros(self.controller.hidden_size)
        read = torch.zeros(memory.size(1))
        outputs = []
        for x in sequence:
            h = self.controller(torch.cat([x, read]), h)
            w = self.address(memory, h)
            memory = memory * (1 - torch.outer(w, torch.sigmoid(self.erase(h)))) + torch.outer(w, torch.tanh(self.add(h)))
            read = w @ memory
            outputs.append(self.out(torch.cat([h, read])))
        return torch.stack(outputs), memory


@case(TuringMemory)
def turing_memory(rng):
    return [vector(rng, 4) for _ in range(rng.randint(1, 6))]


class Hypothesis:
    """A partial translation."""

    __slots__ = ("tokens", "score", "state", "previous")

    def __init__(self, tokens, score, state, previous: Optional["Hypothesis"] = None):
        self.tokens, self.score, self.state = tokens, score, state
        self.previous = previous

    def extended(self, token, score, state):
        return Hypothesis(self.tokens + [token], self.score + score, state)

    def __len__(self):
        return len(self.tokens)

    def normalised(self, alpha):
        return self.score / ((5 + len(self)) / 6)


class HypothesisSearch(nn.Module):
    """Beam search with objects for the hypotheses and a length penalty."""

    def __init__(self, dim=6, vocabulary=9, beam=3, limit=4):
        super().__init__()
        self.beam, self.limit = beam, limit
        self.embed = nn.Embedding(vocabulary, dim)
        self.cell = nn.GRUCell(dim, dim)
        self.out = nn.Linear(dim, vocabulary)

    def forward(self, state):
        beams = [Hypothesis([1], 0.0, state)]
        finished = []
        for _ in range(self.limit):
            candidates = []
            for hyp in beams:
                h = self.cell(self.embed.weight[hyp.tokens[-1]], hyp.state)
                scores, ids = F.log_softmax(self.out(h), dim=-1).topk(self.beam)
                for s, i in zip(scores.tolist(), ids.tolist()):
                    candidates.append(hyp.extended(i, s, h))
            candidates.sort(key=lambda c: c.score, reverse=True)
            beams = []
            for c in candidates[: self.beam]:
                (finished if c.tokens[-1] == 0 else beams).append(c)
            if not beams:
                break
        best = max(finished or beams, key=lambda c: c.normalised(0.6))
        return best.tokens, best.score


@case(HypothesisSearch)
def hypothesis_search(rng):
    return vector(rng, 6)
