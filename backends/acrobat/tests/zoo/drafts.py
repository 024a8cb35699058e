"""Models whose work depends on what they have computed: neighbours' attention by heads, a draft that is checked, recursions
that a router chooses for each token."""

import math
from dataclasses import dataclass
from typing import List

import torch
import torch.nn.functional as F
from torch import nn

from backends.acrobat.tests.zoo.case import case, vector, words


@dataclass
class NeighbourGraph:
    features: torch.Tensor
    neighbours: List[List[int]]


class NeighbourConvolution(nn.Module):
    def __init__(self, n_in: int, n_out: int):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)

    def forward(self, xs: List[torch.Tensor], neighbours: List[List[int]]) -> List[torch.Tensor]:
        projected = [self.linear(x) for x in xs]
        out = []
        for i, adjacent in enumerate(neighbours):
            total = projected[i] / (len(adjacent) + 1)
            for j in adjacent:
                total = total + projected[j] / math.sqrt((len(adjacent) + 1) * (len(neighbours[j]) + 1))
            out.append(F.relu(total))
        return out


class NeighbourHeads(nn.Module):
    def __init__(self, n_in: int, n_out: int, heads: int = 2):
        super().__init__()
        self.heads = nn.ModuleList([nn.Linear(n_in, n_out, bias=False) for _ in range(heads)])
        self.attend = nn.ModuleList([nn.Linear(2 * n_out, 1, bias=False) for _ in range(heads)])

    def forward(self, xs, neighbours):
        per_head = []
        for project, attend in zip(self.heads, self.attend):
            zs = [project(x) for x in xs]
            updated = []
            for i, adjacent in enumerate(neighbours):
                group = [zs[i]] + [zs[j] for j in adjacent]
                scores = torch.cat([F.leaky_relu(attend(torch.cat([zs[i], z])), 0.2) for z in group])
                alpha = torch.softmax(scores, dim=0)
                updated.append(sum(a * z for a, z in zip(alpha, group)))
            per_head.append(updated)
        return [torch.cat(parts) for parts in zip(*per_head)]


class NeighbourNetwork(nn.Module):
    """GCN, GAT and GGNN layers over a graph given by adjacency lists, summed readout."""

    def __init__(self, n_in=6, hidden=10, classes=3, steps=2):
        super().__init__()
        self.gcn = NeighbourConvolution(n_in, hidden)
        self.gat = NeighbourHeads(hidden, hidden // 2)
        self.message = nn.Linear(hidden, hidden)
        self.update = nn.GRUCell(hidden, hidden)
        self.steps = steps
        self.readout = nn.Linear(hidden, classes)

    def forward(self, graph: NeighbourGraph):
        xs = self.gcn(graph.features.unbind(0), graph.neighbours)
        xs = self.gat(xs, graph.neighbours)
        for _ in range(self.steps):
            messages = [self.message(x) for x in xs]
            received = []
            for i in range(len(xs)):
                m = torch.zeros_like(xs[i])
                for j in graph.neighbours[i]:
                    m += messages[j]
                received.append(m)
            xs = [self.update(m, x) for m, x in zip(received, xs)]
        return self.readout(torch.stack(xs).mean(dim=0))


@case(NeighbourNetwork)
def neighbour_network(rng):
    size = rng.randint(2, 6)
    adjacency: list[list[int]] = [[] for _ in range(size)]
    for i in range(1, size):
        j = rng.randrange(i)
        adjacency[i].append(j)
        adjacency[j].append(i)
    return NeighbourGraph(vector(rng, size, 6), adjacency)


class DraftLanguageModel(nn.Module):
    def __init__(self, vocab, size, layers=1):
        super().__init__()
        self.embed = nn.Embedding(vocab, size)
        self.cells = nn.ModuleList([nn.GRUCell(size, size) for _ in range(layers)])
        self.head = nn.Linear(size, vocab)
        self.size = size

    def initial(self):
        return [torch.zeros(self.size) for _ in self.cells]

    def forward(self, token, state):
        x = self.embed(torch.tensor(token))
        new_state = []
        for cell, h in zip(self.cells, state):
            x = cell(x, h)
            new_state.append(x)
        return F.softmax(self.head(x), dim=-1), new_state


class SpeculativeDecoder(nn.Module):
    """Speculative decoding: a small draft model proposes k tokens, the large one verifies; repeat until the end token or the length limit."""

    def __init__(self, vocab=10, k=3, max_tokens=12, eos=1):
        super().__init__()
        self.draft = DraftLanguageModel(vocab, 6)
        self.target = DraftLanguageModel(vocab, 12, layers=2)
        self.k = k
        self.max_tokens = max_tokens
        self.eos = eos

    def propose(self, token, state):
        tokens, states = [], []
        for _ in range(self.k):
            probs, state = self.draft(token, state)
            token = probs.argmax().item()
            tokens.append(token)
            states.append(state)
        return tokens, states

    def forward(self, prompt):
        draft_state, target_state = self.draft.initial(), self.target.initial()
        for token in prompt[:-1]:
            _, draft_state = self.draft(token, draft_state)
            _, target_state = self.target(token, target_state)
        last = prompt[-1]
        generated = []
        log_probs = []
        rounds = 0
        accepted_total = 0
        while len(generated) < self.max_tokens and last != self.eos:
            rounds += 1
            proposals, draft_states = self.propose(last, draft_state)
            for proposal, state_after in zip(proposals, draft_states):
                probs, target_state = self.target(last, target_state)
                choice = int(probs.argmax())
                log_probs.append(probs[choice].log())
                generated.append(choice)
                draft_state = state_after
                last = choice
                if choice != proposal or choice == self.eos:
                    break
                accepted_total += 1
        total = torch.stack(log_probs).sum() if log_probs else torch.tensor(0.0)
        return generated, total, accepted_total / max(rounds, 1)


@case(SpeculativeDecoder)
def speculative_decoder(rng):
    return words(rng, 1, 5, 10)


class RecursionBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.q = nn.Linear(dim, dim)
        self.kv = nn.Linear(dim, 2 * dim)
        self.ffn = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.scale = dim**-0.5

    def forward(self, x):
        h = self.norm(x)
        k, v = self.kv(h).chunk(2, dim=-1)
        x = x + F.softmax(self.q(h) @ k.T * self.scale, dim=-1) @ v
        return x + self.ffn(x)


class RoutedRecursions(nn.Module):
    """Mixture of recursions: a router sends each token through the shared block a number of times; attention over the tokens still active."""

    def __init__(self, vocab=30, dim=12, max_recursions=4, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.position = nn.Embedding(16, dim)
        self.router = nn.Linear(dim, 1)
        self.block = RecursionBlock(dim)
        self.max_recursions = max_recursions
        self.head = nn.Linear(dim, classes)

    def forward(self, tokens):
        x = self.embed(tokens) + self.position(torch.arange(tokens.shape[0]))
        states = [row for row in x]
        depth = [0 for _ in states]
        active = list(range(len(states)))
        for recursion in range(self.max_recursions):
            if not active:
                break
            updated = self.block(torch.stack([states[i] for i in active]))
            still = []
            for row, i in enumerate(active):
                gate = torch.sigmoid(self.router(updated[row]))
                states[i] = gate * updated[row] + (1 - gate) * states[i]
                depth[i] += 1
                if gate.item() > 0.45:
                    still.append(i)
            active = still
        pooled = torch.stack(states).mean(dim=0)
        return self.head(pooled), depth


@case(RoutedRecursions)
def routed_recursions(rng):
    return torch.tensor(words(rng, 1, 7, 30))
