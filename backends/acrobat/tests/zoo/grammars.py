"""Parsers with a grammar or a score for each span, as their papers' repositories write them."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from backends.acrobat.tests.zoo.case import case, words


@dataclass
class DerivationStep:
    kind: str
    index: int = 0


@dataclass
class StackItem:
    label: int
    vector: torch.Tensor
    hidden: torch.Tensor
    cell: torch.Tensor
    is_open: bool


class ConstituentComposer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.forward_rnn = nn.LSTMCell(size, size)
        self.backward_rnn = nn.LSTMCell(size, size)
        self.project = nn.Linear(2 * size, size)

    def run(self, cell, start, items):
        h, c = cell(start)
        for item in items:
            h, c = cell(item, (h, c))
        return h

    def forward(self, label, children):
        fwd = self.run(self.forward_rnn, label, children)
        bwd = self.run(self.backward_rnn, label, children[::-1])
        return torch.tanh(self.project(torch.cat([fwd, bwd])))


class NeuralGrammar(nn.Module):
    """A recurrent neural network grammar: stack LSTM of constituents, composition by a bidirectional LSTM, score of the given derivation."""

    def __init__(self, words=40, labels=6, size=12):
        super().__init__()
        self.nt = nn.Embedding(labels, size)
        self.open_nt = nn.Embedding(labels, size)
        self.word = nn.Embedding(words, size)
        self.stack_rnn = nn.LSTMCell(size, size)
        self.composer = ConstituentComposer(size)
        self.actions = nn.Linear(size, 3)
        self.labels = nn.Linear(size, labels)
        self.words = nn.Linear(size, words)
        self.initial = nn.Parameter(torch.zeros(2, size))

    def push(self, stack, vector, label, is_open):
        if stack:
            state = (stack[-1].hidden, stack[-1].cell)
        else:
            state = (self.initial[0], self.initial[1])
        h, c = self.stack_rnn(vector, state)
        stack.append(StackItem(label, vector, h, c, is_open))

    def forward(self, derivation):
        stack = []
        log_probability = 0.0
        for action in derivation:
            top = stack[-1].hidden if stack else self.initial[0]
            kinds = F.log_softmax(self.actions(top), dim=-1)
            if action.kind == "NT":
                log_probability = log_probability + kinds[0] + F.log_softmax(self.labels(top), dim=-1)[action.index]
                self.push(stack, self.open_nt.weight[action.index], action.index, True)
            elif action.kind == "GEN":
                log_probability = log_probability + kinds[1] + F.log_softmax(self.words(top), dim=-1)[action.index]
                self.push(stack, self.word.weight[action.index], -1, False)
            else:
                log_probability = log_probability + kinds[2]
                children = []
                while not stack[-1].is_open:
                    children.append(stack.pop().vector)
                children.reverse()
                opened = stack.pop()
                composed = self.composer(self.nt.weight[opened.label], children)
                self.push(stack, composed, opened.label, False)
        return log_probability


def derivation(rng, depth):
    steps = [DerivationStep("NT", rng.randrange(6))]
    for _ in range(rng.randint(1, 3)):
        if depth > 0 and rng.random() < 0.5:
            steps += derivation(rng, depth - 1)
        else:
            steps.append(DerivationStep("GEN", rng.randrange(40)))
    return [*steps, DerivationStep("REDUCE")]


@case(NeuralGrammar)
def neural_grammar(rng):
    return derivation(rng, 2)


class SpanChartParser(nn.Module):
    """Chart parser (CKY) over span scores from LSTM differences, best tree and inside score (Stern et al. minimal span parser)."""

    def __init__(self, vocab=40, emb=8, size=10, labels=5):
        super().__init__()
        self.embedding = nn.Embedding(vocab, emb)
        self.lstm = nn.LSTM(emb, size, bidirectional=True)
        self.boundary = nn.Parameter(torch.zeros(1, emb))
        self.label = nn.Sequential(nn.Linear(2 * size, 16), nn.ReLU(), nn.Linear(16, labels))
        self.size = size

    def span(self, states, i, j):
        forward = states[j, : self.size] - states[i, : self.size]
        backward = states[i + 1, self.size :] - states[j + 1, self.size :]
        return torch.cat([forward, backward])

    def forward(self, words):
        n = len(words)
        x = torch.cat([self.boundary, self.embedding(words), self.boundary])
        states, _ = self.lstm(x)
        chart = {}
        inside = {}
        for length in range(1, n + 1):
            for left in range(0, n - length + 1):
                right = left + length
                scores = self.label(self.span(states, left, right))
                best_score, best_label = scores.max(dim=-1)
                partition = torch.logsumexp(scores, dim=-1)
                if length == 1:
                    chart[left, right] = (best_score, best_label.item(), -1)
                    inside[left, right] = partition
                    continue
                best_split = max(range(left + 1, right), key=lambda k: (chart[left, k][0] + chart[k, right][0]).item())
                total = best_score + chart[left, best_split][0] + chart[best_split, right][0]
                chart[left, right] = (total, best_label.item(), best_split)
                splits = torch.stack([inside[left, k] + inside[k, right] for k in range(left + 1, right)])
                inside[left, right] = partition + splits.logsumexp(0)
        brackets = []
        self.collect(chart, 0, n, brackets)
        return chart[0, n][0], inside[0, n], brackets

    def collect(self, chart, left, right, brackets):
        _, label, split = chart[left, right]
        brackets.append((left, right, label))
        if split >= 0:
            self.collect(chart, left, split, brackets)
            self.collect(chart, split, right, brackets)


@case(SpanChartParser)
def span_chart_parser(rng):
    return torch.tensor(words(rng, 1, 5, 40))


@dataclass
class GoldSentence:
    words: list
    heads: list
    labels: list


class BiaffineScores(nn.Module):
    def __init__(self, n_in, n_out=1):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_out, n_in + 1, n_in) * 0.1)

    def forward(self, dep, head):
        ones = torch.ones(dep.size(0), 1)
        dep = torch.cat([dep, ones], dim=-1)
        return torch.einsum("xi,oij,yj->oxy", dep, self.weight, head)


class BiaffineProjection(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, n_out), nn.LeakyReLU(0.1), nn.Dropout(0.3))

    def forward(self, x):
        return self.net(x)


class LabelledBiaffineParser(nn.Module):
    """A biaffine dependency parser (Dozat and Manning): arc and label scores, greedy heads, the loss over gold heads."""

    def __init__(self, vocab=50, emb=8, size=8, arc=7, rel=5, labels=4):
        super().__init__()
        self.embedding = nn.Embedding(vocab, emb)
        self.lstm = nn.LSTM(emb, size, 1, bidirectional=True)
        self.arc_dep, self.arc_head = BiaffineProjection(2 * size, arc), BiaffineProjection(2 * size, arc)
        self.rel_dep, self.rel_head = BiaffineProjection(2 * size, rel), BiaffineProjection(2 * size, rel)
        self.arc = BiaffineScores(arc)
        self.rel = BiaffineScores(rel, labels)

    def forward(self, sentence):
        ids = torch.tensor([0] + sentence.words)
        states, _ = self.lstm(self.embedding(ids))
        arcs = self.arc(self.arc_dep(states), self.arc_head(states)).squeeze(0)
        rels = self.rel(self.rel_dep(states), self.rel_head(states)).permute(1, 2, 0)
        heads = torch.tensor(sentence.heads)
        positions = torch.arange(1, len(ids))
        arc_loss = F.cross_entropy(arcs[1:], heads)
        gold = rels[positions, heads]
        rel_loss = F.cross_entropy(gold, torch.tensor(sentence.labels))
        predicted = arcs[1:].argmax(dim=-1).tolist()
        correct = sum(p == h for p, h in zip(predicted, sentence.heads))
        return arc_loss + rel_loss, predicted, correct / len(predicted)


@case(LabelledBiaffineParser)
def labelled_biaffine_parser(rng):
    n = rng.randint(1, 6)
    heads = [rng.randrange(n + 1) for _ in range(n)]
    return GoldSentence([rng.randrange(1, 50) for _ in range(n)], heads, [rng.randrange(4) for _ in range(n)])
