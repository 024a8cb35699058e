# mypy: ignore-errors
"""Attributes of modules that a model assigns to and reads while it runs an instance."""

from __future__ import annotations

from collections import Counter, defaultdict, deque

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees

D = 5


def sentences():
    torch.manual_seed(0)
    return [[torch.randn(D) for _ in range(n)] for n in (1, 4, 2)]


class Cell(nn.Module):
    """A cell that keeps its own state, which its user resets."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2 * D, D)

    def reset(self):
        self.h = torch.zeros(D)
        self.count = 0

    def forward(self, x):
        self.h = torch.tanh(self.inner(torch.cat([x, self.h])))
        self.count += 1
        return self.h


class Layers(nn.Module):
    """Two cells of one class, with states of their own; the outer module reads them."""

    def __init__(self):
        super().__init__()
        self.cells = nn.ModuleList([Cell() for _ in range(2)])

    def forward(self, xs):
        for cell in self.cells:
            cell.reset()
        for x in xs:
            for cell in self.cells:
                x = cell(x)
        return x, self.cells[0].h, self.cells[0].count + self.cells[1].count


class NamedAlike(nn.Module):
    """Modules whose paths differ in a dot only, and one that is called `model`."""

    def __init__(self):
        super().__init__()
        self.outer_cell, self.model = Cell(), Cell()
        self.outer = nn.Module()
        self.outer.cell = Cell()

    def forward(self, xs):
        self.h = torch.zeros(D)
        for cell in (self.outer_cell, self.model, self.outer.cell):
            cell.reset()
        for x in xs:
            self.h = self.h - self.outer_cell(self.model(x)) + self.outer.cell(self.h)
        return self.h, self.outer_cell.h, self.model.h, self.outer.cell.h


class Tutorial(nn.Module):
    """As PyTorch's tutorials write it: the hidden state is an attribute that a method makes anew."""

    def __init__(self):
        super().__init__()
        self.hidden = None
        self.lstm = nn.LSTM(D, D)

    def init_hidden(self):
        self.hidden = (torch.zeros(1, 1, D), torch.zeros(1, 1, D))

    def forward(self, xs):
        self.init_hidden()
        for x in xs:
            out, self.hidden = self.lstm(x.view(1, 1, -1), self.hidden)
        return out.view(-1), self.hidden[1].view(-1)


class Stack(nn.Module):
    """A list that methods push to and pop from."""

    def __init__(self):
        super().__init__()
        self.join = nn.Linear(2 * D, D)

    def push(self, x):
        self.stack.append(x)

    def reduce(self):
        b = self.stack.pop()
        a = self.stack.pop()
        self.push(torch.tanh(self.join(torch.cat([a, b]))))

    def forward(self, xs):
        self.stack = []
        for x in xs:
            self.push(x)
            if len(self.stack) > 2:
                self.reduce()
        while len(self.stack) > 1:
            self.reduce()
        return self.stack[0]


class Sometimes(nn.Module):
    """Assigned on some paths only."""

    def forward(self, xs):
        if len(xs) > 1:
            self.found = xs[0] + xs[1]
        if len(xs) > 1:
            return self.found
        return xs[0]


class Depth(nn.Module):
    """State that a recursion changes."""

    def __init__(self):
        super().__init__()
        self.leaf = nn.Linear(D, D)

    def walk(self, xs):
        self.calls = self.calls + 1
        if len(xs) == 1:
            self.last = self.leaf(xs[0])
            return self.last
        return self.walk(xs[:1]) + self.walk(xs[1:])

    def forward(self, xs):
        self.calls = 0
        total = self.walk(xs)
        return total * self.calls + self.last


class Watched(nn.Module):
    """Properties that read what the instance has done so far, weights, and what the model is."""

    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(D, D)
        self.most = 3

    @property
    def done(self):
        return self.limit() <= self.count

    @property
    def left(self):
        return 0 if self.done else self.limit() - self.count

    @property
    def width(self):
        return self.cell.weight.shape[0]

    @property
    def device(self):
        return next(self.parameters()).device

    @property
    def doubled(self):
        return 2 * self.cell.bias

    def limit(self):
        return self.most

    def step(self):
        self.count += 1

    def forward(self, xs):
        self.count = 0
        h, lefts = torch.zeros(self.width, device=self.device), []
        while not self.done and self.count < len(xs):
            h = torch.tanh(self.cell(h + xs[self.count])) + self.doubled
            self.step()
            lefts.append(self.left)
        return h, lefts


class Steps(nn.Module):
    """Nothing here assigns to what `done` reads; the methods of what derives from it do."""

    def step(self):
        pass

    @property
    def done(self):
        return self.count > 2

    def forward(self, xs):
        total = xs[0]
        while not self.done:
            total = total + xs[-1] * self.count
            self.step()
        return total, self.done


class Counting(Steps):
    def step(self):
        super().step()
        self.count += 1

    def forward(self, xs):
        self.count = 0
        return super().forward(xs)


class Gathered(nn.Module):
    """What is gathered in lists becomes a tensor under the same name, in the function that no other calls."""

    def visit(self, x):
        self.seen.append(x * 2)

    def forward(self, xs):
        self.seen = []
        for x in xs:
            self.visit(x)
        self.seen = torch.stack(self.seen)
        both = self.seen
        self.seen = []
        self.visit(xs[0])
        self.seen = torch.cat(self.seen)
        return both, self.seen


class GatheredTooEarly(Gathered):
    def forward(self, xs):
        self.seen = []
        self.visit(xs[0])
        self.seen = torch.stack(self.seen)
        self.visit(xs[-1])
        return xs[0]


def test_an_attribute_has_one_type_where_functions_share_it():
    with pytest.raises(CompileError, match="where a list of tensors of shape"):
        build(GatheredTooEarly(), sample=sentences())


class Ticking(nn.Module):
    @property
    def tick(self):
        self.count += 1
        return self.count

    def forward(self, xs):
        self.count = 0
        return [x * self.tick for x in xs]


def test_properties_that_change_the_model_are_refused():
    with pytest.raises(CompileError, match=r"the property `tick` changes `self.count` each time it is read"):
        build(Ticking(), sample=sentences())


@pytest.mark.parametrize("cls", [Layers, NamedAlike, Tutorial, Stack, Sometimes, Depth, Watched, Counting, Gathered])
def test_state(cls):
    torch.manual_seed(1)
    agrees(cls(), sentences())


@pytest.mark.parametrize("cls", [Layers, NamedAlike, Tutorial, Stack])
def test_what_eager_pytorch_has_left_there_has_no_effect(cls):
    torch.manual_seed(1)
    model = cls()
    for xs in sentences():
        model(xs)
    agrees(model, sentences())


class Across(nn.Module):
    def __init__(self):
        super().__init__()
        self.before = None

    def forward(self, xs):
        if len(xs) > 3:
            self.before = xs[0]
        return self.before + xs[0]


def test_state_of_the_instance_before_is_an_error():
    model = Across()
    program = build(model, sample=sentences())
    long, short = sentences()[1], sentences()[0]
    assert Interpreter(program).run(long).shape == (D,)
    with pytest.raises(InstanceError, match="`before` is read before this instance assigns it"):
        Interpreter(program).run(short)


class Never(nn.Module):
    def forward(self, xs):
        total = self.total
        self.total = xs[0]
        return total + xs[0]


def test_state_that_is_read_first():
    with pytest.raises(CompileError, match="the attribute `total` is not assigned here"):
        build(Never(), sample=sentences())


class Changed(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.zeros(D))

    def forward(self, xs):
        self.b = self.b + xs[0]
        return self.b


def test_buffers_are_not_state():
    with pytest.raises(CompileError, match="it is a parameter, a buffer or a module"):
        build(Changed(), sample=sentences())


class WithLambda(nn.Module):
    """A lambda, which is a part of the key of the function that gets it, in a method whose attributes are variables."""

    def each(self, f, xs):
        return [f(x) for x in xs]

    def forward(self, xs):
        self.scale = 2.0
        self.seen = []
        for x in self.each(lambda x: x * self.scale, xs):
            self.seen.append(x)
        rows = [[x] for x in self.seen]
        for row in rows:
            row.append(row[0] + 1.0)
        return torch.stack([torch.cat(row) for row in rows]), max(self.seen, key=lambda x: x.sum().item())


def test_lambdas_in_methods_with_state():
    agrees(WithLambda(), sentences())


class Clock:
    def __init__(self):
        self.now = 0

    @property
    def tick(self):
        self.now += 1
        return self.now

    @property
    def twice(self):
        return 2 * self.now


class Clocked(nn.Module):
    """Properties of an object that the module holds."""

    def __init__(self, name):
        super().__init__()
        self.clock = Clock()
        self.name = name

    def forward(self, xs):
        return [x + getattr(self.clock, self.name) for x in xs]


def test_properties_of_objects_that_the_module_holds():
    agrees(Clocked("twice"), sentences())
    with pytest.raises(CompileError, match=r"the property `tick` changes `self.now`"):
        build(Clocked("tick"), sample=sentences())


class Tracker(nn.Module):
    """Keeps the state of a cell, which is None at first."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTMCell(D, D)
        self.state = None

    def reset(self):
        self.state = None

    def forward(self, x):
        self.state = self.rnn(x, self.state)
        return self.state[0]


class Tracked(nn.Module):
    def __init__(self):
        super().__init__()
        self.tracker = Tracker()

    def forward(self, xs):
        self.tracker.reset()
        return torch.stack([self.tracker(x) for x in xs]), self.tracker.state[1]


def test_a_state_that_is_none_at_first():
    agrees(Tracked(), sentences())


class Caching(nn.Module):
    """Keeps what it has computed, of each class of containers, until it is cleared."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(D, D)
        self.cache, self.calls, self.seen = {}, [], set()
        self.groups, self.queue, self.counts = defaultdict(list), deque(), Counter()

    def reset(self):
        self.calls.clear()
        self.seen.clear()
        self.groups.clear()
        self.queue.clear()
        self.counts.clear()

    def forward(self, x, k):
        self.calls.append(k)
        self.seen.add(k)
        self.groups[k].append(x)
        self.queue.append(k)
        self.counts[k] += 1
        if k in self.cache:
            return self.cache[k]
        y = torch.tanh(self.inner(x))
        self.cache[k] = y
        return y


class Cached(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = Caching()

    def forward(self, xs):
        self.words.cache.clear()
        self.words.reset()
        found = [self.words(x, i % 2) for i, x in enumerate(xs)]
        if len(xs) == 2:
            self.words.cache.clear()
        sizes = len(self.words.cache), len(self.words.seen), len(self.words.groups), len(self.words.queue), self.words.counts[1]
        if len(xs) > 2:
            self.words.reset()
        return found, sizes, len(self.words.calls), len(self.words.groups)


class GivenOut(Cached):
    """The result has the list too."""

    def forward(self, xs):
        self.words.calls.clear()
        self.words.calls.append(len(xs))
        return xs[0], self.words.calls


class Own(nn.Module):
    """As `GivenOut`, with an attribute of the model itself."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def forward(self, xs):
        self.calls.clear()
        self.calls.append(len(xs))
        return {"calls": self.calls}


class SeenTwice(Own):
    """A variable has the list too."""

    def forward(self, xs):
        self.calls.clear()
        self.calls.append(len(xs))
        calls = self.calls
        self.calls.clear()
        return len(calls), len(self.calls)


class Shared(Own):
    """Another attribute has the list too."""

    def __init__(self):
        super().__init__()
        self.others = {"calls": [self.calls]}

    def forward(self, xs):
        self.calls.clear()
        self.calls.append(len(xs))
        return len(self.others["calls"][0])


class Anew(Own):
    """The attribute has a list of its own each time, which is cleared once."""

    def forward(self, xs):
        self.calls = [len(xs)]
        n = len(self.calls)
        self.calls.clear()
        self.calls.append(n)
        return self.calls


class Copied(Own):
    def forward(self, xs):
        self.calls.clear()
        self.calls.append(len(xs))
        return {"calls": list(self.calls)}


class Kept(Cached):
    """Nothing is cleared."""

    def forward(self, xs):
        return self.words(xs[0], len(xs))


@pytest.mark.parametrize("cls", [Cached, Copied, Anew])
@pytest.mark.parametrize("ran", [False, True])
def test_containers_that_are_cleared(ran, cls):
    torch.manual_seed(1)
    model = cls()
    if ran:
        model(sentences()[1])
    agrees(model, sentences())


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (SeenTwice, "`clear` changes a list that may be seen under another name than the attribute `calls`"),
        (Shared, "an attribute of the model is not assigned to in the language"),
        (GivenOut, "the result may have the attribute `calls` in it, which the next instance clears"),
        (Own, "the result may have the attribute `calls` in it, which the next instance clears"),
        (Kept, "a list or dictionary may also be cleared or made anew first in each call"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_containers_that_something_else_sees_are_not_cleared(cls, message):
    with pytest.raises(CompileError, match=message):
        build(cls(), sample=sentences())
