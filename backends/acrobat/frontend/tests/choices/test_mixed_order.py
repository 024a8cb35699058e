"""The order of tuples in tuples and of values of several types: keys of `sorted`, `max` and `heapq`, and comparisons."""

# mypy: ignore-errors
from __future__ import annotations

import bisect
import heapq
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

WORDS = [["b", "a", "abc", "A-1", "zz"], ["x-10", "x-9", "x-b", "y"], ["k"], ["mno", "lmn", "QQ", "a"]]
LISTS = [[3, 1, 2], [5], [2, 2, 9, 1], [4, 8, 6]]


def keys_in_keys(self, words):
    keys = {}
    for w in words:
        parts = sorted([x for x in keys if x < w], key=lambda x: keys[x])
        keys[w] = (w[:1],) + tuple(keys[x] for x in parts[:2])  # noqa: RUF005
    return sorted(words, key=lambda w: keys[w]), max(keys.values()) == keys[max(words, key=lambda w: keys[w])]


def one_key_or_the_other(self, words):
    return sorted(words, key=lambda w: (0, len(w)) if w.isalpha() else (1, w))


def keys_of_several_kinds(self, words):
    return sorted(words, key=lambda w: (w.isupper(), -len(w) if w < "m" else 0.5, w))


def numbers_in_words(self, words):
    return sorted(words, key=lambda w: [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in w.split("-")])


def versions(self, names):
    def key(name):
        head, _, tail = name.partition("rc")
        return tuple(int(p) for p in head.split(".") if p), (1,) if not tail else (0, int(tail))

    return sorted(names, key=key), max(names, key=key), min(names, key=key)


VERSIONS = [["1.2", "1.10", "1.10rc1", "1.10rc2"], ["2.0rc1", "2.0"], ["3"]]


def on_a_heap(self, words):
    heap, out = [], []
    for i, w in enumerate(words):
        heapq.heappush(heap, (-len(w), (i % 2 == 0, w), i))
    while heap:
        out.append(heapq.heappop(heap))
    return out


def pushed_in_branches(self, xs):
    heap = []
    for x in xs:
        heapq.heappush(heap, (x % 3, "leaf") if x < 4 else (x % 3, ("node", x)) if x % 2 else (-1, "other"))
    return heap[0], len(heap)


def compared(self, words):
    best = None
    for w in words:
        key = (len(w), ("a", w)) if len(w) > 2 else (len(w), ("b", (w, 1)))
        if best is None or key < best:
            best = key
    return best, best >= (1, ("a", "b")), best <= (9, ("a",)), best != (0, ("a",))


def where_none_may_be(self, xs):
    pairs = [(x if x > 2 else None, i) for i, x in enumerate(xs)]
    return sorted(pairs, key=lambda p: (p[0] is not None, p[0] or 0, p[1])), min((p[0] is None, p) for p in pairs if p[0])


def cells(self, row):
    return sorted(row, key=lambda c: (c is None, isinstance(c, str), c if c is not None else 0))


CELLS = [[3, "b", None, 1.5], ["a", 2], [None], [7, 7.0, 6.5, "x", "b"]]


def beams(self, xs):
    beam = [(0.0, 0, ("start",))]
    for x in xs:
        more = [(s - (x * (d + 1)) % 5 * 0.5, n + d, (*path, f"w{d}")) for s, n, path in beam for d in range(2)]
        beam = sorted(more, reverse=True)[:3]
    return beam


def lists_of_lists(self, xs):
    groups = [[x, x + 1] if x % 2 else [x] for x in xs]
    return sorted(groups), max(groups), groups[0] < groups[-1], groups[0] >= groups[-1]


def kept_in_order(self, xs):
    out = []
    for x in xs:
        bisect.insort(out, (x % 4, ("a", x)))
    return out, max((len(xs), "a"), (2, 7))


@dataclass(frozen=True)
class Item:
    name: str
    weight: float
    tags: tuple = ()


def items(self, given):
    return [i.name for i in sorted(given, key=lambda i: (-i.weight, len(i.tags), i.tags, i.name))]


ITEMS = [
    [Item("a", 1.0, ("x", "y")), Item("b", 1.0, ("x",)), Item("c", 2.5)],
    [Item("q", 0.0, ("b",)), Item("p", 0.0, ("a",)), Item("r", -0.0, ("a",))],
]


def of_trees(self, trees):
    first, last = trees[0], trees[-1]
    return first < last, first <= last, first > last, first >= last, len(sorted(trees)), max(trees) == first


TREES = [
    [("S", ("NP", "b", "a"), ("VP", "z")), ("S", ("NP", "b", "c"))],
    [("A", ("B", ("C", "x"))), ("A", ("B", ("C", "w", "q")), "z"), ("A", ("B", ("C", "x")))],
    [("S", "a")],
]

CASES = [
    (keys_in_keys, WORDS),
    (one_key_or_the_other, WORDS),
    (keys_of_several_kinds, WORDS),
    (numbers_in_words, WORDS),
    (versions, VERSIONS),
    (on_a_heap, WORDS),
    (pushed_in_branches, LISTS),
    (compared, WORDS),
    (where_none_may_be, LISTS),
    (cells, CELLS),
    (beams, LISTS),
    (lists_of_lists, LISTS),
    (kept_in_order, LISTS),
    (items, ITEMS),
    (of_trees, TREES),
]


@pytest.mark.parametrize(("forward", "sample"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_as_in_python(forward: Any, sample: list[Any]) -> None:
    agrees(with_forward(nn.Module(), forward), sample)


def test_natively(codegen: str, tmp_path: Path) -> None:
    def forward(self, words):
        return keys_in_keys(self, words), one_key_or_the_other(self, words), keys_of_several_kinds(self, words)

    agrees_natively(with_forward(nn.Module(), forward), WORDS, codegen, tmp_path)


def unordered(self, row):
    return sorted(row)


def test_types_without_an_order_are_an_error_of_the_instance() -> None:
    interpreter = Interpreter(build(with_forward(nn.Module(), unordered), sample=[["a", "b"], [2, 1]]))
    assert interpreter.run(["b", "a"]) == ["a", "b"]
    assert interpreter.run([2, 1]) == [1, 2]
    with pytest.raises(InstanceError, match=r"TypeError: '<' not supported between instances of '(str|int)' and '(int|str)'"):
        interpreter.run([1, "a"])


def an_int_beside_a_float(self, xs):
    return max((len(xs), "a"), (2.5, "b"))


def test_an_int_in_a_tuple_never_becomes_a_float() -> None:
    with pytest.raises(CompileError, match="`max` takes numbers"):
        build(with_forward(nn.Module(), an_int_beside_a_float), sample=LISTS)
