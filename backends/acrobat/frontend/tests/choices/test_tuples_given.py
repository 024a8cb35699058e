"""What gives tuples whose length is known at run time only, and what takes them: `zip(*rows)`, `*args`, `unbind`, products with
a number, fields of the instance; comparisons, keys, classes, sums. They are tuples in results, as in eager PyTorch."""

# mypy: ignore-errors
# ruff: noqa: B905, RUF005 (tuples that are joined by `+`, and plain `zip(*rows)`, are what is tested)

from __future__ import annotations

import collections
import functools
import itertools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1], [9, 9], [6, 2, 2, 3], [0], [1, 2]]
TENSORS = [torch.arange(3.0 * n).reshape(n, 3) for n in (1, 2, 3, 5)]


@dataclass
class Node:
    tokens: tuple[int, ...]
    name: str


@dataclass
class Tree:
    label: str
    children: tuple[Tree, ...] = ()


NODES = [Node((1, 2), "a"), Node((), "b"), Node((3,), "c"), Node((1, 2, 3), "a"), Node((2, 1), "d")]
WORD = Tree("w")  # an object of a dataclass among the names of the module
TREES = [Tree("a", (Tree("b", (WORD,)), WORD)), WORD, Tree("d", (WORD,)), Tree("e", (WORD, WORD, WORD))]
VALUES = {(1, 2): 5, (3,): 6, (1,): 7}
RULES = [(1, 2), (3,)]


def fields(self, x):
    t = x.tokens
    longer = t + (1,), (0,) + t, t * 2, t + t, t[1:], t[::-1], (*t, 9), Node(t + (7,), x.name), replace(x, tokens=t[1:])
    return t, longer, {"t": t}, [t], list(t), sorted(t), tuple(sorted(t)), tuple(t)


def compared(self, x):
    t = x.tokens
    constants = t == (1, 2), t != (1, 2), t == (1, 2), t == (), t == ("a",), t == (1.0, 2.0), t < (2,), t in [(1, 2), (3,)]
    return constants, t == [1, 2], t != [1, 2], t == [1, 2], t == [], t == list(t), list(t) == [1, 2], t == [1, "a"]


def classes(self, x):
    t = x.tokens
    named = type(t).__name__, type(t) is tuple, type(t) == list, type(t) is not tuple  # noqa: E721
    return isinstance(t, tuple), isinstance(t, list), isinstance(t, (list, tuple)), not isinstance(t, tuple), named


def keys(self, x):
    t, d = x.tokens, {}
    d[t] = 1
    d[t + (1,)] = 2
    seen = {t}
    constants = (
        t in VALUES,
        t in RULES,
        VALUES.get(t, 0),
        RULES.index(t) if t in RULES else -1,
    )
    return d, d[t], (1, 2) in seen, len(seen), constants


def trees(self, tree):
    def words(tree):
        return (tree.label,) + tuple(words(child) for child in tree.children)

    def leaves(tree):
        return sum((leaves(child) for child in tree.children), ()) if tree.children else (tree.label,)

    return words(tree), leaves(tree)


def columns(self, xs):
    states, numbers = zip(*[(self.weight[0] * x, x) for x in xs])
    rows = list(zip(*[[x, x + 1] for x in xs]))
    taken = torch.stack(states), torch.tensor(rows), max(numbers), [sum(r) for r in rows], {r: i for i, r in enumerate(rows)}
    return states, numbers, rows, taken, [r[::-1] for r in rows], [list(r) for r in rows]


def given(*args):
    return args, args[1:], len(args)


def arguments(self, xs):
    return given(*xs), given(*(x + 1 for x in xs)), given(1, 2)


def parts(self, x):
    rows = x.unbind(0)
    sums = torch.stack(rows), torch.cat(rows[::-1]), sum(rows), functools.reduce(torch.add, rows)
    return rows, rows[1:], rows + (x[0],), x.split(2), torch.chunk(x, 2), list(rows), sums, tuple(x)


def repeated(self, xs):
    n = xs[0]
    return (n,) * len(xs), n * (1, 2), (1, 0.5) * n, (0, "a") * n, () * n, (0,) * (n - 3), (self.weight[0],) * n


def sums(self, xs):
    ts = [tuple(xs[:i]) for i in range(len(xs))]
    chained = list(itertools.chain(*ts)), list(itertools.chain.from_iterable(ts)), tuple(itertools.chain(*ts))
    pairs = [(x, x + 1) for x in xs]
    return sum(ts, ()), sum(ts, (1, 2)), sum(pairs, ()), functools.reduce(lambda a, b: a + b, ts, ()), chained


def counted(self, xs):
    counts = collections.Counter(tuple(xs[i : i + 2]) for i in range(len(xs)))
    return counts.most_common(2), dict(counts), max(counts)


def defaults(self, xs):
    d = {}
    for x in xs:
        d[x % 3] = d.get(x % 3, ()) + (x,)
    return d, d.get(1, ()), d.get(0, (0,)), [sum(v) for v in d.values()], sorted(d.items())


MODELS = [(f, NODES) for f in (fields, compared, classes, keys)] + [(trees, TREES), (parts, TENSORS)]
MODELS += [(f, LISTS) for f in (columns, arguments, repeated, sums, counted, defaults)]


@pytest.mark.parametrize(("function", "instances"), MODELS, ids=lambda x: getattr(x, "__name__", ""))
def test_as_in_python(function: Any, instances: Any) -> None:
    agrees(with_forward(nn.Linear(3, 1), function), instances)


class Annotated(nn.Module):
    def forward(self, node: Node) -> tuple[tuple[int, ...], int]:
        return node.tokens + (1,), len(node.tokens)


def test_annotations_alone() -> None:
    run = Interpreter(build(Annotated())).run
    assert [run(node) for node in NODES] == [Annotated()(node) for node in NODES]


def test_natively(codegen: str, tmp_path: Path) -> None:
    def all_of_them(self: nn.Module, x: Any) -> Any:
        node, tree, xs, rows = x
        return fields(self, node), keys(self, node), trees(self, tree), columns(self, xs), parts(self, rows)

    instances = list(zip(NODES, TREES, LISTS, TENSORS, strict=False))
    agrees_natively(with_forward(nn.Linear(3, 1), all_of_them), instances, codegen, tmp_path)


def a_list_or_a_tuple(self, xs):
    return tuple(xs) if xs[0] > 2 else xs


def a_written_list_or_a_tuple(self, xs):
    pair = [1, "a"] if xs[0] > 2 else (2, "b")
    return pair[1]


def a_written_list_or_a_tuple_itself(self, xs):
    pair = [1, "a"] if xs[0] > 2 else (2, "b")
    return pair, isinstance(pair, list)


def test_lists_beside_tuples() -> None:
    agrees(with_forward(nn.Linear(3, 1), a_list_or_a_tuple), LISTS)


@pytest.mark.parametrize("function", [a_written_list_or_a_tuple, a_written_list_or_a_tuple_itself])
def test_lists_of_several_types_beside_tuples(function: Any) -> None:
    agrees(with_forward(nn.Linear(3, 1), function), LISTS)
