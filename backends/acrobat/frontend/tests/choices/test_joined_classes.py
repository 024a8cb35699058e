# ruff: noqa: UP032 (models in this file use `format`)
"""Objects of several classes that the model makes in one place: leaves and inner nodes of a tree, say. Nothing says that their
classes are a union."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Optional

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1], [9, 9], [6, 2, 2, 3, 3, 3, 7, 1], [2, 1], [0], [2]]


class JoinedInner:
    def __init__(self, label, children):
        self.label = label
        self.children = children

    def written(self):
        return "({} {})".format(self.label, " ".join(c.written() for c in self.children))


class JoinedLeaf:
    def __init__(self, at, word):
        self.at = at
        self.word = word

    def written(self):
        return "({0}:{word})".format(self.at, word=self.word)


def spans(self, xs):
    """A variable, the elements of a list and a field have leaves or inner nodes."""

    def of_span(left, right):
        if right - left == 1:
            tree: Any = JoinedLeaf(left, xs[left])
            if xs[left] > 2:
                tree = JoinedInner("w", [tree])
            return [tree]
        middle = (left + right) // 2
        children = of_span(left, middle) + of_span(middle, right)
        if xs[left] > 1:
            children = [JoinedInner("s", children)]
        return children

    found = of_span(0, len(xs))
    return [t.written() for t in found], [isinstance(t, JoinedLeaf) for t in found], found[0].written()


@dataclass
class MadeWord:
    word: int
    score: torch.Tensor

    @property
    def size(self):
        return 1


@dataclass
class MadePhrase:
    label: str
    parts: list = field(default_factory=list)
    score: Optional[torch.Tensor] = None  # noqa: UP045 (as users write it)

    @property
    def size(self):
        return sum(p.size for p in self.parts)


class MadeGap(NamedTuple):
    at: int
    score: torch.Tensor

    @property
    def size(self):
        return 0


def reduced(self, xs):
    """Dataclasses and named tuples; a field is assigned to, and what another holds is changed in place."""
    stack, sizes = [], []
    for i, x in enumerate(xs):
        item: Any = MadeGap(i, torch.ones(2)) if x % 5 == 0 else MadeWord(x, torch.ones(2) * x)
        stack.append(item)
        if x % 3 == 0 and len(stack) > 1:
            right, left = stack.pop(), stack.pop()
            phrase = MadePhrase("a" if isinstance(left, MadeWord) else "b" if isinstance(left, MadePhrase) else "c")
            phrase.parts.append(left)
            phrase.parts.append(right)
            phrase.score = torch.tanh(left.score + right.score)
            stack.append(phrase)
            sizes.append(phrase.size)
    return sum(s.score.sum() for s in stack), sizes, stack[0].size, stack[0]


class GrowingLog:
    def __init__(self, n):
        self.n = n
        self.log = []

    def add(self, x):
        self.log.append(x)
        self.n += x
        return self.n

    def size(self):
        return len(self.log) + self.n


class ShrinkingLog:
    def __init__(self, m):
        self.m = m
        self.log = [m]

    def add(self, x):
        self.m = self.m - x
        self.log.append(x * 2)
        return self.m

    def size(self):
        return sum(self.log) * 100 + self.m


class LongerLog(GrowingLog):
    def size(self):
        return super().size() * 1000


def changed_by_methods(self, xs):
    """Methods of each class change the object: it is changed under its name, and nowhere else."""
    item: Any = GrowingLog(1)
    if xs[0] > 2:
        item = ShrinkingLog(2)
    first = item.size()
    for x in xs:
        item.add(x)
    last = item.add(4)
    item.log.append(9)
    item.log = [*item.log, 1]
    return first, last, item.size(), item.log


def changed_by_functions(self, xs):
    item: Any = GrowingLog(1) if xs[0] > 2 else ShrinkingLog(7)
    bump(item, xs)
    if isinstance(item, GrowingLog):
        item.n = item.n + 40
    else:
        item.m = 30
    return item.size(), item.log


def bump(item, xs):
    for x in xs:
        item.log.append(x)
    item.add(len(xs))


def derived(self, xs):
    """A class beside its base: `isinstance` takes both, `type` only one."""
    items = []
    for x in xs:
        items.append(GrowingLog(x) if x > 2 else LongerLog(x))
    items[0].add(5)
    items[-1].log.append(2)
    of_base = [isinstance(i, GrowingLog) for i in items]
    return [i.size() for i in items], of_base, [type(i) is GrowingLog for i in items]


@dataclass
class MadePair:
    x: int
    y: int = 0


@dataclass
class MadeTriple(MadePair):
    z: int = 5


def given_out(self, xs):
    """A result is an object of its own class, also beside a base of it; None is a further alternative."""
    best: Any = None
    for x in xs:
        if x > 3:
            best = MadePair(x)
        elif x < 2:
            best = MadeTriple(x, 7)
    pair: Any = (MadePair(1), 1)
    if xs[0] > 2:
        pair = (MadeTriple(2, 2), 2)
    made = pair[0]
    match made:
        case MadeTriple(a, b, c):
            total = a + b + c
        case MadePair(x=a):
            total = a * 10
    return (-1 if best is None else best.x + best.y), total, made


MODELS = [spans, reduced, changed_by_methods, changed_by_functions, derived, given_out]


@pytest.mark.parametrize("function", MODELS, ids=lambda f: f.__name__)
def test_as_in_python(function: Any) -> None:
    agrees(with_forward(nn.Linear(1, 1), function), LISTS)


def test_as_in_python_natively(codegen: str, tmp_path: Path) -> None:
    def all_of_them(self: nn.Module, xs: Any) -> Any:
        return (
            spans(self, xs),
            reduced(self, xs),
            changed_by_methods(self, xs),
            changed_by_functions(self, xs),
            derived(self, xs),
            given_out(self, xs),
        )

    agrees_natively(with_forward(nn.Linear(1, 1), all_of_them), LISTS, codegen, tmp_path)


def test_a_field_that_the_class_lacks() -> None:
    def lacking(self, xs):
        item: Any = GrowingLog(1) if xs[0] > 2 else ShrinkingLog(7)
        return item.m

    interpreter = Interpreter(build(with_forward(nn.Linear(1, 1), lacking), sample=LISTS))
    assert interpreter.run([1]) == 7
    with pytest.raises(InstanceError, match="AttributeError: a GrowingLog has no `m`"):
        interpreter.run([3])


def test_other_names_are_refused() -> None:
    def under_two_names(self, xs):
        item: Any = GrowingLog(1) if xs[0] > 2 else ShrinkingLog(7)
        items = [item]
        item.add(3)
        return items[0].size()

    with pytest.raises(CompileError, match="may be seen under another name than `item`"):
        build(with_forward(nn.Linear(1, 1), under_two_names), sample=LISTS)


FORMATS = """
import torch.nn as nn


class Model(nn.Module):
    def forward(self, xs):
        return TEXT
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"{} {}".format(xs[0])', "the field `1` is not among its arguments"),
        ('"{0} {}".format(xs[0], 1)', "some fields have numbers and some have none"),
        ('"{}".format(set(xs))', "`format` takes strings and numbers, not a set"),
        ('"{0.real}".format(xs[0])', "the field `0.real` is not among its arguments"),
    ],
)
def test_format_that_is_refused(text: str, message: str, tmp_path: Path) -> None:
    model = load(tmp_path, FORMATS.replace("TEXT", text), "formats").Model()
    with pytest.raises(CompileError, match=message):
        build(model, sample=LISTS)


def test_format() -> None:
    def texts(self, xs):
        n, word = xs[0], "w" if xs[-1] > 2 else "v"
        several = "{0} {x} {1} {0} {{}} {2}".format(n, "a", True, x=word)
        several += "{}|{!r:>9}".format(xs, word)
        return several, "{}-{!s}".format(word, n), "{k}|{:>4}".format(3, k="c"), "plain {}".format(None), "{}{}".format(n, word)

    agrees(with_forward(nn.Linear(1, 1), texts), LISTS)
