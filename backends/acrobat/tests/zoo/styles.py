"""Models in six styles of Python: an abstract transition system, a chart of named tuples, methods of the tree's own classes, a
loop without an end, attention that takes one tensor apart, and flags handed on by `**kwargs`."""

import abc
from typing import Iterator, List, NamedTuple, Optional

import torch
import torch.nn as nn
import torch.nn.functional as F

from backends.acrobat.tests.zoo.case import case, vector, words


class TransitionSystem(abc.ABC):
    names: List[str] = []

    @abc.abstractmethod
    def valid(self, state) -> List[bool]: ...

    @abc.abstractmethod
    def act(self, state, name: str) -> None: ...


class EagerState:
    def __init__(self, n):
        self.n = n
        self.stack = [0]
        self.next = 1
        self.heads: List[Optional[int]] = [None] * (n + 1)

    @property
    def finished(self):
        return self.next > self.n

    def top(self):
        return self.stack[-1] if self.stack else None


class ArcEager(TransitionSystem):
    names = ["shift", "reduce", "left", "right"]

    def valid(self, state):
        s = state.top()
        headed = s is not None and s != 0 and state.heads[s] is not None
        return [True, headed, s is not None and s != 0 and state.heads[s] is None, s is not None]

    def act(self, state, name):
        if name == "shift":
            state.stack.append(state.next)
            state.next += 1
        elif name == "reduce":
            state.stack.pop()
        elif name == "left":
            state.heads[state.stack.pop()] = state.next
        else:
            state.heads[state.next] = state.stack[-1]
            state.stack.append(state.next)
            state.next += 1


class TopAndNext:
    missing: torch.Tensor

    def feature(self, rows, index):
        return self.missing if index is None else rows[index]

    def extract(self, rows, state):
        return torch.cat([self.feature(rows, state.top()), self.feature(rows, state.next)])


class SystemParser(TopAndNext, nn.Module):
    """A greedy parser for any transition system; what is read off a state comes from a mixin."""

    def __init__(self, system: TransitionSystem, vocabulary=30, dim=6):
        super().__init__()
        self.system = system
        self.embed = nn.Embedding(vocabulary, dim)
        self.missing = nn.Parameter(torch.zeros(dim))
        self.score = nn.Sequential(nn.Linear(2 * dim, dim), nn.Tanh(), nn.Linear(dim, len(system.names)))

    def forward(self, tokens):
        rows = self.embed(torch.tensor([0] + tokens))
        state = EagerState(len(tokens))
        total = torch.zeros(())
        while not state.finished:
            scores = self.score(self.extract(rows, state))
            best, highest = None, None
            for k, ok in enumerate(self.system.valid(state)):
                if ok and (best is None or scores[k].item() > highest):
                    best, highest = k, scores[k].item()
            total = total + scores[best]
            self.system.act(state, self.system.names[best])  # type: ignore[index]
        return total, [0 if h is None else h for h in state.heads[1:]]


@case(lambda: SystemParser(ArcEager()))
def arc_eager_system(rng):
    return words(rng, 1, 5)


class Bracket(NamedTuple):
    label: int
    left: int
    right: int
    split: int


class BracketChart(nn.Module):
    """CKY over differences of states; the tree is read off the chart as a list of named tuples."""

    def __init__(self, vocabulary=30, dim=6, labels=3):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, dim)
        self.rnn = nn.GRUCell(dim, dim)
        self.score = nn.Linear(dim, labels)

    def forward(self, sentence):
        h = torch.zeros(self.rnn.hidden_size)
        fences = [h]
        for word in sentence:
            h = self.rnn(self.embed.weight[word], h)
            fences.append(h)
        n = len(sentence)
        chart = {}
        for length in range(1, n + 1):
            for left in range(n + 1 - length):
                right = left + length
                score, label = self.score(fences[right] - fences[left]).max(0)
                if length == 1:
                    chart[left, right] = (score, Bracket(int(label), left, right, -1))
                    continue
                best = max(range(left + 1, right), key=lambda k: float(chart[left, k][0] + chart[k, right][0]))
                total = score + chart[left, best][0] + chart[best, right][0]
                chart[left, right] = (total, Bracket(int(label), left, right, best))

        def brackets(left, right):
            top = chart[left, right][1]
            if top.split < 0:
                return [top]
            return brackets(left, top.split) + [top] + brackets(top.split, right)

        return chart[0, n][0], brackets(0, n)


@case(BracketChart)
def chart_of_named_tuples(rng):
    return words(rng, 1, 4)


class Phrase(abc.ABC):
    @abc.abstractmethod
    def encode(self, model): ...

    @abc.abstractmethod
    def count(self): ...


class PhraseWord(Phrase):
    def __init__(self, word):
        self.word = word

    def encode(self, model):
        return model.table.weight[self.word]

    def count(self):
        return 1


class PhrasePair(Phrase):
    def __init__(self, left, right):
        self.left, self.right = left, right

    def encode(self, model):
        return model.merge(self.left.encode(model), self.right.encode(model))

    def count(self):
        return self.left.count() + self.right.count()


class PhraseNegated(PhrasePair):
    def encode(self, model):
        return -torch.tanh(model.flip(super().encode(model)))


class PhraseTensor(nn.Module):
    """A recursive tensor network whose recursion is in the classes of the tree; one of them calls its base's method."""

    def __init__(self, vocabulary=20, dim=4):
        super().__init__()
        self.table = nn.Embedding(vocabulary, dim)
        self.tensor = nn.Parameter(torch.randn(dim, dim, dim) * 0.3)
        self.flip = nn.Linear(dim, dim)

    def merge(self, a, b):
        return torch.tanh(torch.einsum("i,kij,j->k", a, self.tensor, b) + a + b)

    def forward(self, phrase: Phrase):
        return phrase.encode(self), phrase.count()


@case(PhraseTensor)
def phrases_that_encode_themselves(rng):
    def draw(depth):
        if depth == 0 or rng.random() < 0.25:
            return PhraseWord(rng.randrange(20))
        return rng.choice([PhrasePair, PhrasePair, PhraseNegated])(draw(depth - 1), draw(depth - 1))

    return draw(3)


class Pondering(nn.Module):
    """Adaptive computation (Graves 2016): each step of the cell is a loop that only `return` leaves."""

    def __init__(self, dim=5, epsilon=0.05, limit=5):
        super().__init__()
        self.epsilon, self.limit = epsilon, limit
        self.cell = nn.GRUCell(dim + 1, dim)
        self.halt = nn.Linear(dim, 1)

    def ponder(self, x, state):
        spent, output, n = 0.0, torch.zeros_like(state), 0
        while True:
            first = 1.0 if n == 0 else 0.0
            state = self.cell(torch.cat([x, x.new_tensor([first])]), state)
            p = torch.sigmoid(self.halt(state)).item()
            n += 1
            if spent + p >= 1 - self.epsilon or n >= self.limit:
                return output + (1.0 - spent) * state, n
            output = output + p * state
            spent += p

    def inputs(self, sequence) -> Iterator[torch.Tensor]:
        for x in sequence.unbind(0):
            yield torch.tanh(x)

    def forward(self, sequence):
        state, steps = torch.zeros(5), []
        for x in self.inputs(sequence):
            state, n = self.ponder(x, state)
            steps.append(n)
        return state, steps


@case(Pondering)
def pondering_without_an_end(rng):
    return vector(rng, rng.randint(1, 4), 5)


class PatientLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(inplace=True), nn.Linear(2 * dim, dim))

    def forward(self, x):
        n, d = x.shape
        q, k, v = self.qkv(x).view(n, 3, self.heads, d // self.heads).permute(1, 2, 0, 3)
        mixed = torch.softmax(q @ k.transpose(-2, -1) / 2.0, dim=-1) @ v
        x = x + mixed.transpose(0, 1).reshape(n, d)
        return x + self.ff(x)


class Patient(nn.Module):
    """A transformer that stops where two layers in succession give one answer."""

    def __init__(self, dim=8, layers=3):
        super().__init__()
        self.layers = nn.ModuleList(PatientLayer(dim, 2) for _ in range(layers))
        self.exits = nn.ModuleList(nn.Linear(dim, 3) for _ in range(layers))

    def forward(self, x):
        previous = None
        for depth, (layer, leave) in enumerate(zip(self.layers, self.exits), start=1):
            x = layer(x)
            confidence, label = F.softmax(leave(x[0]), dim=-1).max(dim=-1)
            if confidence > 0.9 or (previous is not None and label == previous):
                return confidence, depth
            previous = label
        return confidence, len(self.layers)


@case(Patient)
def patience_of_two_layers(rng):
    return vector(rng, rng.randint(1, 5), 8)


class WeighedRows(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.project = nn.Linear(dim, dim)
        self.context = nn.Parameter(torch.randn(dim))

    def forward(self, rows, *, return_weights=False):
        weights = torch.softmax(torch.tanh(self.project(rows)) @ self.context, dim=0)
        pooled = (weights[:, None] * rows).sum(dim=0)
        if return_weights:
            return pooled, weights
        return pooled


class DocumentLevel(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layer = nn.Linear(dim, dim)
        self.pool = WeighedRows(dim)

    def forward(self, rows, **kwargs):
        return self.pool(self.layer(rows), **kwargs)


class DocumentLevels(nn.Module):
    """Words, then sentences; the outer level alone is asked for its weights."""

    def __init__(self, vocabulary=30, dim=6):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, dim)
        self.word_level = DocumentLevel(dim)
        self.sentence_level = DocumentLevel(dim)

    def forward(self, document):
        sentences = torch.stack([self.word_level(self.embed(torch.tensor(s))) for s in document])
        pooled, weights = self.sentence_level(sentences, return_weights=True)
        return {"document": pooled, "attention": weights}


@case(DocumentLevels)
def levels_with_a_flag(rng):
    return [words(rng, 1, 4) for _ in range(rng.randint(1, 3))]
