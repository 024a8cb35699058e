"""Idioms of models that are written for PyTorch alone: each small model in the interpreter against eager PyTorch."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from backends.acrobat import compile
from backends.acrobat.errors import CompileError, InstanceError, ModuleChanged
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, as_tensors, assert_same

LENGTHS = (3, 1, 5)


@dataclass
class Config:
    d: int = 4
    scale: float = 0.5
    act: str = "tanh"


class Pooling:
    """An object that is no module, but is called as one, and has methods that call each other."""

    def __init__(self, power, layer):
        self.power = power
        self.layer = layer

    @property
    def factor(self):
        return 2.0 * self.power

    def weighted(self, x):
        return self.layer(x) * self.factor

    def __call__(self, x):
        return self.weighted(x).sum(0)


class HeldObjects(nn.Module):
    """A configuration, a namespace, a helper object that refers to a layer of the model, and a tensor as plain attributes."""

    def __init__(self):
        super().__init__()
        self.config = Config()
        self.args = argparse.Namespace(bias=True, names=["a", "b"])
        self.layer = nn.Linear(4, 4)
        self.pool = Pooling(1.5, self.layer)
        self.signal = torch.linspace(0.0, 1.0, 4)
        self.stages: list[Any] = [self.layer, torch.tanh]

    def forward(self, x):
        y = self.pool(x * self.config.scale)
        if self.args.bias and self.config.act == "tanh":
            y = torch.tanh(y + self.signal)
        for stage in self.stages:
            y = stage(y)
        return y * len(self.args.names)


class SeveralArguments(nn.Module):
    """A `forward` of two arguments and a third that has a default, which also calls itself."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x, depth, mask=None, *, scale=2.0):
        if depth == 0:
            return x.sum(0) if mask is None else x.sum(0) * mask
        return self.forward(self.layer(x), depth - 1) * scale


class Defaults(nn.Module):
    """A `forward` whose other arguments have defaults."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x, targets=None, steps=2, *rest, **kwargs):
        for _ in range(steps):
            x = self.layer(x)
        if targets is not None:
            return x, nn.functional.mse_loss(x, targets)
        return x, None


class BatchOfOneSentence(nn.Module):
    """Ids of shape (1, n) with positions and a mask of padding, as models that are written for batches have them."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 4)
        self.positions = nn.Embedding(20, 4)

    def forward(self, idx):
        b, t = idx.size()
        pos = torch.arange(0, t, dtype=torch.long, device=idx.device).unsqueeze(0)
        x = self.words(idx) + self.positions(pos.expand(b, t))
        mask = (idx != 3).unsqueeze(1)
        scores = (x @ x.transpose(1, 2)).masked_fill(mask == 0, -1e9)
        kept = (idx > 2).float().sum()
        return torch.softmax(scores, -1) @ x, idx, idx.float(), kept, x[:, 0], idx[0], idx.view(-1), idx[:, 1:], idx.flatten(1)


class SentenceFirst(nn.Module):
    """Ids of shape (n, 1), and masks of two varying extents."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 4)

    def forward(self, src):
        i = torch.arange(src.size(0))
        later = i[None, :] >= i[:, None]
        x = self.words(src)
        ids = src.squeeze(1)
        return x.mean(0), self.words(src.t()), ids, self.words(ids[None, None]), src, later.float(), (ids[:, None] < 5).float()


class Rounds(nn.Module):
    """Loops over constant ranges whose rounds name attributes, or change the shape of a tensor; and one that does neither."""

    def __init__(self):
        super().__init__()
        self.sizes = (4, 3, 2)
        for g in range(2):
            setattr(self, f"layer{g}", nn.Linear(self.sizes[g], self.sizes[g + 1]))
            setattr(self, f"gate{g}", nn.Linear(self.sizes[g], 1))

    def forward(self, x):
        x, skipped = x[0], []
        for g in range(len(self.sizes) - 1):
            gate = getattr(self, f"gate{g}")(x)
            for i in range(2):
                if i == 0:
                    x = getattr(self, f"layer{g}")(x)
                    continue
                if torch.sigmoid(gate).item() > 0.5:
                    skipped.append(g)
        for _ in range(3):
            x = x * 2.0
        return x, skipped


class Heads(nn.Module):
    """Numbers known at compile time as arguments of functions and of nested functions that need them to be constants."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def split(self, x, batch, heads, width):
        return x.view(batch, -1, heads, width).transpose(1, 2)

    def forward(self, x):
        batch, n = x.unsqueeze(0).shape[:2]

        def join(t):
            return t.transpose(1, 2).contiguous().view(batch, -1, 4)

        return self.split(self.layer(x), batch, 2, 2), join(self.split(x, 1, 4, 1)), self.power(x, 3, n)

    def power(self, x, k, n):
        return x if k == 0 else self.power(x, k - 1, n) * x + n


class ListsOfLists(nn.Module):
    """A list of modules in a list of modules, taken apart by a loop, as x-transformers writes its layers."""

    def __init__(self):
        super().__init__()
        self.layers: Any = nn.ModuleList([nn.ModuleList([nn.Linear(4, 4), nn.Tanh()]) for _ in range(2)])

    def forward(self, x):
        for linear, act in self.layers:
            x = act(linear(x)) + x
        n = x.size(0)
        later = torch.ones(n, n, dtype=torch.bool).triu(1)
        return x, torch.softmax((x @ x.t()).masked_fill(later, -torch.finfo(x.dtype).max), -1) @ x


class SmallThings(nn.Module):
    """Buffers of positions, limits of dtypes, comparisons as methods, filling, partial functions."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 4)
        self.signal = torch.randn(1, 8, 4)
        self.position_ids: torch.Tensor
        self.order: torch.Tensor
        self.register_buffer("position_ids", torch.arange(8).expand((1, -1)))
        self.register_buffer("order", torch.tensor([3, 1, 4, 1, 5]))
        self.act = functools.partial(nn.functional.gelu, approximate="tanh")

    def forward(self, x):
        n = x.size(0)
        ids = self.position_ids[:, :n]
        kinds = torch.zeros((1, n), dtype=torch.long, device=x.device)
        y = self.act(x.data) + self.words(ids) + self.words(kinds) + self.words(self.order[:n])
        hidden = (1.0 - x.gt(0.0).float()) * torch.finfo(x.dtype).min
        same = torch.all(x[0].argmax().eq(x[-1].argmax()))
        start = torch.zeros(2).fill_(1.5).requires_grad_(False)
        best = nn.functional.one_hot(x.argmax(dim=-1), 4).float()
        return self.signal[:, n - 1, :], y[:, [-1], :], torch.softmax(hidden, -1), same.item(), start, best, x[:, [0, 2]]


class Stored(nn.Module):
    """Attributes of the model that `forward` assigns to, and that nothing reads."""

    def __init__(self):
        super().__init__()
        self.attention = None
        self.calls = 0

    def forward(self, x):
        self.attention = torch.softmax(x, -1)
        self.calls += 1
        return x + 1.0


class State(Stored):
    """A model that remembers a tensor from instance to instance."""

    def forward(self, x):
        self.attention = x
        return self.attention + 1.0


class PackedSequences(nn.Module):
    """One sequence packed by a length as a list or a tensor, for stacked, bidirectional, batch-first networks."""

    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(4, 3, num_layers=2)
        self.lstm = nn.LSTM(4, 3, bidirectional=True, batch_first=True)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x.unsqueeze(1), [x.size(0)])
        outputs, hidden = self.gru(packed)
        outputs, sizes = pad_packed_sequence(outputs)
        inner = nn.utils.rnn.pack_padded_sequence(x[None], lengths.cpu(), batch_first=True, enforce_sorted=False)
        both, (h, c) = self.lstm(inner)
        both, n = nn.utils.rnn.pad_packed_sequence(both, batch_first=True, total_length=6, padding_value=-1.0)
        return outputs.squeeze(1), hidden, sizes, both, h, c, n, packed.data, pad_sequence([x], batch_first=True)


class Bags(nn.Module):
    """Bags of words found in the instance; in the first round of compiling it is not known what is in these lists."""

    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(5, 4, mode="sum")
        self.ids, self.facts = {"a": 1, "b": 2, "c": 3}, [["a", "b"], ["b"], ["c"]]
        self.found = {"a": [0, 1], "b": [1, 2]}

    def embed(self, bags):
        flat: list[int] = []
        offsets = []
        for bag in bags:
            offsets.append(len(flat))
            flat.extend(self.ids.get(word, 0) for word in bag)
        return self.bag(torch.tensor(flat, dtype=torch.long), torch.tensor(offsets))

    def forward(self, words):
        memory = []
        for word in words:
            for i in self.found.get(word, ()):
                if i not in memory:
                    memory.append(i)
        query = self.embed([words])[0]
        return query + self.embed([self.facts[i] for i in memory]).sum(0) if memory else query


class OneStepAtATime(nn.Module):
    """A decoder whose network takes one step at a time: the extent of 1 is known, so that `squeeze` takes it away."""

    def __init__(self):
        super().__init__()
        self.embedding, self.out = nn.Embedding(6, 4), nn.Linear(3, 6)
        self.gru, self.lstm = nn.GRU(4, 3, batch_first=True), nn.LSTM(4, 3, bidirectional=True)

    def forward(self, x):
        y, h, chosen = torch.zeros(1, 1, dtype=torch.long), torch.tanh(x[0, :3]).view(1, 1, -1), []
        for _ in range(3):
            output, h = self.gru(self.embedding(y), h)
            best, y = self.out(output.squeeze(1)).max(dim=-1, keepdim=True)
            chosen.append(y.item())
        return chosen, best, self.lstm(x[:1].sum(0).view(1, 1, 4))[0].squeeze(0)


class RowsJoined(nn.Module):
    """Pyramids: a view joins two rows to one or parts a row in two; what does not come out even is an error."""

    def forward(self, x):
        if len(x) % 2 != 0:
            x = x[:-1]
        t = len(x)
        pairs = x.contiguous().view(1, t // 2, 8)
        return pairs, x.reshape(-1, 2, 4).sum(1), x.reshape(2 * t, 2), x.view(-1, 2).tanh(), x.view(-1)


class FilledInALoop(nn.Module):
    """Rows and elements of tensors of fixed shape and of one whose extent varies, assigned to at indices of the instance; rows
    are broadcast, from shape (1, 4) too. Lists that begin with None."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        outputs, weights, seen = torch.zeros(7, 4), torch.zeros(7, 7), torch.zeros(7)
        states = torch.zeros(len(x), 4)
        back, last = [None], [None] * len(x)
        for i in range(len(x)):
            outputs[i] += self.layer(x[i])
            weights[i] = torch.softmax(torch.cat([outputs[i], x[i, :3]]).unsqueeze(0), dim=1).data
            weights[:, i] -= 0.5
            seen[i] += x[i, 0]
            seen[-i - 1] = i
            states[i] = self.layer(x[i : i + 1])[0].unsqueeze(0)
            states[i] *= torch.ones(1)
            back.append((i, None if i % 2 else x[i]))  # type: ignore[arg-type]
            last[i] = x[i]
        outputs[x[0].argmax(), 1] = 3.0
        path = []
        at = len(x)
        while at > 0:
            step, _ = back[at]  # type: ignore[misc, has-type]
            path.append((step, at))  # type: ignore[has-type]
            at = step  # type: ignore[has-type]
        path.reverse()
        return outputs, weights[: len(x)], seen, states, path, last[0]


def rows() -> list[Any]:
    return [torch.randn(n, 4) for n in LENGTHS]


class Conversions(nn.Module):
    """Tensors of ints made by converting others, as decoders begin with them, and a tree of rows merged until one is left."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 4)
        self.form = nn.Parameter(torch.randn(3, 4, 4))

    def forward(self, ids):
        ys = torch.ones(1, 1).fill_(2).type(torch.long)
        for i in range(3):
            ys = torch.cat([ys, torch.ones(1, 1).type_as(ids).fill_(i + 3)], dim=0)
        x = self.embed(ids)
        while x.size(0) > 1:
            x = torch.cat([torch.tanh(x[:1] + x[1:2]), x[2:]], dim=0)
        h = x.squeeze(0)
        picked = (h * 10).to(torch.int64)
        every = self.embed(ids)[::2], self.form[:, 1::2], self.form[0, 0][::3]
        return ys.view(-1), h, torch.einsum("i,kij,j->k", h, self.form, h), picked, self.embed(ys).squeeze(1), every


class TakenApart(nn.Module):
    """Queries, keys and values as the first dimension of one tensor of varying extents, and `inplace=True` behind layers."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(4, 12)
        self.mlp = nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True), nn.LayerNorm(4), nn.ReLU(True))

    def forward(self, x):
        q, k, v = self.qkv(x).view(len(x), 3, 2, 2).permute(1, 2, 0, 3)
        mixed = torch.softmax(q @ k.transpose(-2, -1), dim=-1) @ v
        return mixed.transpose(0, 1).reshape(len(x), 4), self.mlp(x), x


class Weighed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x, *, return_weights=False):
        weights = torch.softmax(self.layer(x).sum(1), 0)
        if return_weights:
            return weights @ x, weights
        return weights @ x


class HandedOn(nn.Module):
    """A flag that decides what a module gives, handed on by `**kwargs` in one of two calls."""

    def __init__(self):
        super().__init__()
        self.pools = nn.ModuleList([Weighed(), Weighed()])

    def pool(self, i, x, **kwargs):
        return self.pools[i](x, **kwargs)

    def forward(self, x):
        first = self.pool(0, x)
        second, weights = self.pool(1, x, return_weights=True)
        return first + second, weights


class WithoutAnEnd(nn.Module):
    """A loop that is left by `return` alone, and abstract classes as annotations."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def rounds(self, x: torch.Tensor, limits: Sequence[float]) -> tuple[torch.Tensor, int]:
        n = 0
        while True:
            x = torch.tanh(self.layer(x)) * 0.5
            n += 1
            if x.sum().item() < limits[0] or n == 4:
                return x, n

    def each(self, x: torch.Tensor) -> Iterator[torch.Tensor]:
        for row in x:
            yield row * 2

    def forward(self, x):
        return [self.rounds(row, [0.1, 0.2]) for row in self.each(x)]


class IndexedByTuples(nn.Module):
    """Tuples of ints that are known at run time only, as indices of a matrix."""

    def forward(self, x):
        scores = x @ x.t()
        pairs = [(i, j) for i in range(len(x)) for j in range(i + 1)]
        best = max(pairs, key=lambda pair: (scores[pair].item(), pair))
        return scores[best], [scores[pair] for pair in pairs], best


CASES: list[tuple[type[nn.Module], Any]] = [
    (IndexedByTuples, rows),
    (Conversions, lambda: [torch.randint(0, 20, (n,)) for n in LENGTHS]),
    (HeldObjects, rows),
    (SeveralArguments, lambda: [(x, i) for i, x in enumerate(rows())]),
    (Defaults, rows),
    (Rounds, rows),
    (Heads, rows),
    (ListsOfLists, rows),
    (SmallThings, rows),
    (PackedSequences, lambda: [(x, torch.tensor([max(len(x) - 1, 1)])) for x in rows()]),
    (OneStepAtATime, rows),
    (Bags, lambda: [["a"], ["c"], ["b", "d", "a"]]),
    (RowsJoined, rows),
    (TakenApart, rows),
    (HandedOn, rows),
    (WithoutAnEnd, rows),
    (FilledInALoop, rows),
    (BatchOfOneSentence, lambda: [torch.randint(0, 20, (1, n)) for n in LENGTHS]),
    (SentenceFirst, lambda: [torch.randint(0, 20, (n, 1)) for n in LENGTHS]),
]


@pytest.mark.parametrize(("cls", "instances"), CASES, ids=[c[0].__name__ for c in CASES])
def test_idiom(cls: type[nn.Module], instances: Any) -> None:
    torch.manual_seed(0)
    agrees(cls(), instances(), spread=True)


def test_attributes_that_forward_assigns_to() -> None:
    module, sample = Stored().eval(), rows()
    with pytest.warns(UserWarning, match=r"does not assign to `(attention|calls)`"):
        program = build(module, sample=sample)
    assert_same(as_tensors(Interpreter(program).run(sample[0])), sample[0] + 1.0, "Stored")
    assert_same(as_tensors(Interpreter(build(State(), sample=sample)).run(sample[0])), State()(sample[0]), "State")


def test_changes_of_held_objects_are_noticed() -> None:
    module, sample = HeldObjects().eval(), rows()
    executable = compile(module, sample=sample)
    before = executable(sample)
    module.config.scale = 0.25
    with pytest.raises(ModuleChanged, match=r"scale` was 0.5"):
        executable(sample)
    module.config.scale = 0.5
    module.signal += 1.0
    with pytest.raises(ModuleChanged, match="`signal` was changed in place"):
        executable(sample)
    executable.load(module)
    after = executable(sample)
    with torch.no_grad():
        assert_same(as_tensors(after), [module(x) for x in sample], "with the new tensor")
    assert not torch.allclose(before[0], after[0])


def halved(x):
    return x.view(len(x) // 2, 8)


def halved_by_rest(x):
    return x.view(-1, 8)


def parted(x):
    return x.view(len(x) + 1, 2)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (halved, "5 rows are viewed as 2 of 2 each"),
        (halved_by_rest, "5 rows are viewed as 2 of 2 each"),
        (parted, "5 rows are viewed as 6, each being 2 of these"),
    ],
)
def test_rows_that_are_not_there(function: Any, text: str) -> None:
    module, x = nn.Module(), torch.randn(5, 4)
    module.forward = function
    with pytest.raises(RuntimeError):
        function(x)
    program = build(module, sample=[torch.randn(n, 4) for n in (2, 4)])
    with pytest.raises(InstanceError, match=text):
        Interpreter(program).run(x)


def outside(x):
    y = torch.zeros(4, 4)
    y[len(x)] = 1.0
    return y


def too_many_rows(x):
    y = torch.zeros(65, 4)
    y[: len(x)] = 1.0
    return y


def wrong_row(x):
    y = torch.zeros(4, 4)
    y[len(x)] = x[0, :3]
    return y


def test_assignments_at_run_time_that_are_errors() -> None:
    module, sample = nn.Module(), [torch.randn(n, 4) for n in (2, 3)]
    module.forward = outside
    program = build(module, sample=sample)
    with pytest.raises(InstanceError, match="list index out of range"):
        Interpreter(program).run(torch.randn(4, 4))
    for function, text in ((too_many_rows, "at most 64 rows, not 65"), (wrong_row, "broadcast|does not fit")):
        module.forward = function
        with pytest.raises(CompileError, match=text):
            build(module, sample=sample)
