"""Tuples of several lengths in one place: they stay tuples, with elements of one type or of several kinds, also as trees that a
recursion makes."""

# mypy: ignore-errors

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1], [9, 9], [6, 2, 2, 3, 3, 3, 7, 1], [2, 1], [0], [2]]
LABELS = ((), ("S",), ("NP", "VP"), ("A", "B", "C"))
EXPANSIONS = {"S": [("NP", "VP"), ("VP",)], "NP": [("d", "n"), ("n",)], "VP": [("v",), ("v", "NP")]}
MIXED_LABELS = [(1, "a"), ("b",), (2, 3, "c"), ()]


def chosen(self, xs):
    label = LABELS[xs[0] % 4]
    parts = label[::-1], label[:1], tuple(reversed(label)), label + ("x",), ("y",) + label, label * 2, list(label)  # noqa: RUF005
    tests = len(label), bool(label), "S" in label, label == ("S",), label != ("NP", "VP")
    return label, parts, tests, (*label, "x"), ("y", *label[1:], *label), [*label, "z"]


def of_kinds(self, xs):
    label = MIXED_LABELS[xs[0] % 4]
    return label, [x if isinstance(x, str) else "?" for x in label], label[:1]


def tuple_of_list(self, xs):
    t = tuple(xs)
    ys = list(t)
    ys.append(1)
    longer = (*t, 7)
    longer += (8,)
    tests = t < tuple(ys), tuple(ys) == t, t == xs
    return t, ys, longer, tuple(x + 1 for x in xs), t.index(xs[0]), t.count(1), sorted(t), max(t), sum(t), tests


def tree(self, xs):
    def build(i, j):
        if j - i == 1:
            return ("w", xs[i])
        k = i + 1 + xs[i] % (j - i - 1)
        return ("n", build(i, k), build(k, j))

    def depth(t):
        if len(t) == 2:
            return 1
        return 1 + max(depth(t[1]), depth(t[2]))

    t = build(0, len(xs))
    return t, depth(t)


def unary(self, xs):
    def build(i):
        if i >= len(xs) - 1:
            return ("leaf", "x")
        if xs[i] % 2:
            return ("un", build(i + 1))
        return ("bin", build(i + 1), ("leaf", "y"))

    return build(0)


def path(self, xs):
    p = ()
    for x in xs:
        p = (*p, x)
        if x > 4:
            p = (0, 0)
    return p


def dict_values(self, xs):
    chart = {}
    for i, x in enumerate(xs):
        chart[i] = ("word", x) if i == 0 else ("pair", i - 1, x)

    def show(i):
        e = chart[i]
        if e[0] == "word":
            return (e[0], e[1])
        return (e[0], show(e[1]), e[2])

    return [chart[i] for i in range(len(xs))], show(len(xs) - 1)


def in_lists(self, xs):
    out = []
    for x in xs:
        if x > 2:
            out.append((x, "big"))
        else:
            out.append((x,))
    total = 0
    for e in out:
        if len(e) == 2:
            n, _ = e
            total = total + n
    return out, total


def with_none(self, xs):
    t = (1, None) if xs[0] > 2 else (2,)
    return t, t[0], [x is None for x in t]


def numbers(self, xs):
    t = (1, 2.5) if xs[0] > 2 else (True,)
    return t, t[0]


def tensors(self, xs):
    h = self.weight[0] * xs[0]
    t = (h, h + 1) if xs[0] > 2 else (h,)
    u = ("a", h) if xs[0] > 2 else (h, "b", xs[0])
    return t, sum(t), u


def taken_by_torch(self, xs):
    h = self.weight[0] * xs[0]
    several = tuple(h + x for x in xs)
    return torch.stack(several), torch.cat(several), torch.tensor(tuple(xs)), torch.tensor(tuple(xs)[1:])


def matched(self, xs):
    t = ("a", xs[0]) if xs[0] > 2 else ("b",)
    match t:
        case ("a", int(n)):
            return n
        case (_, *rest):
            return len(rest)
    return -1


def expanded(self, xs):
    symbols, seen = ("S",), []
    for x in xs:
        longer = ()
        for s in symbols:
            longer += EXPANSIONS[s][x % 2] if s in EXPANSIONS else (s,)
        symbols = longer
        seen.append(symbols)
    return symbols, seen


def nested(self, xs):
    t = ((1, 2), (3,)) if xs[0] > 2 else ((4,), (5, 6), ())
    first, *others = t
    return t, first, others


def growing(self, xs):
    s = ()
    for i in range(3):
        s = (*s, i + 1)
    return self.weight.new_zeros(s) + xs[0]


def of_instance(self, x):
    """`x` is a pair of tuples of several lengths: one of ints, one a tree."""
    ints, tree = x
    return ints, ints[1:], tree, tree[1:], tree[0], tuple(tree), (ints, ints[:1]) if len(ints) > 1 else (ints,)


MODELS = [chosen, of_kinds, tuple_of_list, tree, unary, path, dict_values]
MODELS += [in_lists, with_none, numbers, tensors, taken_by_torch, matched, expanded, nested, growing]
INSTANCES = [((1, 2), ("S", ("NP", "dogs"), "bark")), ((3,), ("NP", "cats")), ((), ("S", ("S", ("NP", "a")), "b", "c"))]


@pytest.mark.parametrize("function", MODELS, ids=lambda f: f.__name__)
def test_as_in_python(function: Any) -> None:
    agrees(with_forward(nn.Linear(3, 1), function), LISTS)


def test_of_the_instance() -> None:
    agrees(with_forward(nn.Linear(3, 1), of_instance), INSTANCES)


def test_natively(codegen: str, tmp_path: Path) -> None:
    def all_of_them(self: nn.Module, both: Any) -> Any:
        xs, x = both
        return (
            tree(self, xs),
            chosen(self, xs),
            dict_values(self, xs),
            tensors(self, xs),
            with_none(self, xs),
            of_instance(self, x),
        )

    instances = [(xs, INSTANCES[i % 3]) for i, xs in enumerate(LISTS)]
    agrees_natively(with_forward(nn.Linear(3, 1), all_of_them), instances, codegen, tmp_path)


def test_a_list_is_no_tuple(tmp_path: Path) -> None:
    executable = compile(with_forward(nn.Linear(3, 1), of_instance), sample=INSTANCES, cache_folder=tmp_path)
    with pytest.raises(InstanceError, match="a tuple"):
        executable([([1, 2], ("NP", "cats"))])


def changed(self, xs):
    t = tuple(xs)
    t.append(1)
    return t


def put_into(self, xs):
    t = tuple(xs)
    t[0] = 1
    return t


def an_index(self, xs):
    return self.weight.expand(3, 3)[tuple(xs)]


def a_set_inside(self, xs):
    return ({1}, 2) if xs[0] > 2 else (3,)


@pytest.mark.parametrize(
    ("function", "message"),
    [(changed, "append"), (an_index, "not a tuple of ints"), (put_into, "t"), (a_set_inside, "the branches differ in type")],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_refused(function: Any, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        build(with_forward(nn.Linear(3, 1), function), sample=LISTS)
