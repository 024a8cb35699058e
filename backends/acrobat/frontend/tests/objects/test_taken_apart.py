"""`asdict`, `astuple` and `fields` of dataclasses, `_asdict` of named tuples, `replace` of classes with `__post_init__`,
`rotate`, `|` of dictionaries, `while` loops whose test has `:=` after `and`, and lists given with `*` to modules of PyTorch.
Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

from collections import deque
from dataclasses import asdict, astuple, dataclass, field, fields, replace
from pathlib import Path
from typing import NamedTuple, Optional

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

LISTS = [[3, 1, 2], [5, 6], [7, 0, 3, 1], [4], []]


class State(NamedTuple):
    h: torch.Tensor
    n: int = 0
    words: tuple[int, ...] = ()


@dataclass
class Hypothesis:
    words: list[int] = field(default_factory=list)
    score: float = 0.0
    mean: float = field(init=False)

    def __post_init__(self):
        self.mean = self.score / max(len(self.words), 1)
        self.last = self.words[-1] if self.words else -1


@dataclass
class Beam:
    best: Hypothesis
    others: list[Hypothesis]
    seen: Optional[Hypothesis]  # noqa: UP045
    at: tuple[int, Hypothesis]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(8, 4)
        self.work = nn.ModuleDict({"one": nn.Linear(4, 4), "two": nn.Bilinear(4, 4, 4)})


def named_tuples(self, xs):
    state = State(torch.ones(4), len(xs))
    for x in xs:
        state = state._replace(h=state.h + self.embed.weight[x], words=(*state.words, x))
    fields = state._asdict()
    fields["n"] = 7
    return state, state._asdict(), fields, State(**fields), list(fields), state._fields


def beam(xs):
    made = [Hypothesis(xs[:i], float(i)) for i in range(len(xs))]
    best = max(made, key=lambda h: h.mean) if made else Hypothesis()
    return Beam(best, made, best if len(xs) > 1 else None, (len(xs), Hypothesis(xs)))


def dictionaries(self, xs):
    whole = beam(xs)
    fields = asdict(whole)
    fields["others"].append({"words": [1], "score": 0.5, "mean": 1.0})
    return fields, asdict(whole), len(whole.others)


def tuples(self, xs):
    whole = beam(xs)
    return astuple(whole), [astuple(h)[1] for h in whole.others]


def replaced(self, xs):
    h = Hypothesis()
    for x in xs:
        h = replace(h, words=[*h.words, x], score=h.score + x)
    return h.mean, h.last, replace(h, score=100.0).mean, h == Hypothesis(xs, float(sum(xs)))


def rotated(self, xs):
    d, e = deque(xs), deque(xs)
    d.rotate()
    for i, x in enumerate(xs):
        e.rotate(x - 2 * i)
    d.rotate(-2)
    return list(d), list(e)


def joined(self, xs):
    lengths = {f"k{x}": x for x in xs} | {"k3": 100}
    return lengths, {"z": 1} | lengths


def popped(self, xs):
    stack, out = list(xs), []
    while stack and (x := stack.pop()) != 1 and len(out) < 3:
        out.append(x)
    else:
        out.append(-1)
    while stack and (x := stack.pop()) != 0:
        if x == 7:
            break
        out.append(x)
    else:
        out.append(-2)
    return out, stack


def spread(self, xs):
    args = [self.embed.weight[x] for x in xs[:2]]
    if not args:
        return torch.zeros(4)
    return self.work["one" if len(args) == 1 else "two"](*args)


class Triple(NamedTuple):
    first: int
    second: int
    third: int


class Score(NamedTuple):
    count: int
    score: float
    word: int


def made(self, xs):
    longest = Triple._make(xs[:3]) if len(xs) > 2 else Triple(0, 5, 0)
    mixed = Score._make([len(xs), 0.5, 7])
    return longest, longest.second, mixed.count, mixed, Triple._make(x + 1 for x in (1, 2, len(xs))).third


FUNCTIONS = [made, named_tuples, dictionaries, tuples, replaced, rotated, joined, popped, spread]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_in_python(function):
    agrees(with_forward(Model(), function), LISTS)


def spread_to_two(self, xs):
    return self.work["two"](*[self.embed.weight[x] for x in xs])


def test_a_list_of_another_length_is_an_error_of_the_instance():
    interpreter = Interpreter(build(with_forward(Model(), spread_to_two), sample=[[1, 2], [3, 4]]))
    interpreter.run([1, 2])
    with pytest.raises(InstanceError):
        interpreter.run([1, 2, 3])


def made_of_all(self, xs):
    return Triple._make(xs).third


def test_a_named_tuple_of_a_list_of_another_length_is_an_error_of_the_instance():
    interpreter = Interpreter(build(with_forward(Model(), made_of_all), sample=[[1, 2, 3]]))
    assert interpreter.run([4, 5, 6]) == 6
    with pytest.raises(InstanceError):
        interpreter.run([1, 2])


@dataclass
class Tree:
    word: int
    below: list[Tree]


def trees(self, xs):
    return asdict(Tree(1, [Tree(x, []) for x in xs]))


def test_refused():
    with pytest.raises(CompileError, match="objects with others of their class in them are taken apart"):
        build(with_forward(Model(), trees), sample=LISTS)


@dataclass
class Car:
    make: str
    age: int | None = None
    price: float = 1.0


@dataclass
class Injury:
    part: str
    severity: float


class Claims(nn.Module):
    """Records of two classes, encoded by their fields, whichever they have."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        names = [f.name for cls in (Car, Injury) for f in fields(cls)]
        self.missing = nn.ParameterDict({name: nn.Parameter(torch.randn(3)) for name in names})
        self.number = nn.ModuleDict({name: nn.Linear(1, 3) for name in ("age", "price", "severity")})
        self.word = nn.Embedding(5, 3)
        self.out = nn.ModuleDict({cls.__name__: nn.Linear(3, 2) for cls in (Car, Injury)})

    def field(self, name, value):
        if value is None:
            return self.missing[name]
        if isinstance(value, str):
            return self.word.weight[len(value)]
        return torch.tanh(self.number[name](torch.tensor([float(value)])))

    def forward(self, record):
        total = torch.zeros(3)
        for f in fields(record):
            total = total + self.field(f.name, getattr(record, f.name))
        return self.out[type(record).__name__](total), [f.name for f in fields(record)]


class FirstWord(Claims):
    def forward(self, records):
        return [self.first(r) for r in records]

    def first(self, record):
        for f in fields(record):
            value = getattr(record, f.name)
            if isinstance(value, str):
                continue
            if value is not None and value > 2:
                return f.name, float(value)
        return "none", len(fields(Car))


CLAIMS = [Car("vw", None), Injury("neck", 2.0), Car("kia", 3, 2.5), Injury("arm", 4.0), Car("fiat", 9)]


@pytest.mark.parametrize(("cls", "sample"), [(Claims, CLAIMS), (FirstWord, [CLAIMS, CLAIMS[:1], CLAIMS[3:]])])
def test_fields_of_objects_of_several_classes(cls, sample):
    agrees(cls(), sample)


def test_fields_in_generated_code(codegen: str, tmp_path: Path) -> None:
    agrees_natively(Claims().eval(), CLAIMS, codegen, tmp_path)
