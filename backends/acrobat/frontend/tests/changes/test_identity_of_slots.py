"""Objects of the instance with `__slots__`, or of a class with a `__new__` of its own, which are told apart by identity."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
import torch

from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_idioms import module
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import as_tensors, assert_same


class SlottedTerm:
    """Equal terms are one object."""

    _table: ClassVar[dict[Any, SlottedTerm]] = {}
    __slots__ = ("args", "head")

    def __new__(cls, head: str, *args: SlottedTerm) -> SlottedTerm:
        key = (head, *map(id, args))
        found = cls._table.get(key)
        if found is None:
            found = super().__new__(cls)
            found.head, found.args = head, args  # type: ignore[attr-defined]
            cls._table[key] = found
        return found


@dataclasses.dataclass(slots=True, eq=False)
class SlottedNode:
    head: str
    args: list[SlottedNode]


class CountedLeaf:
    def __new__(cls, size: int) -> CountedLeaf:
        made = super().__new__(cls)
        made.twice = 2 * size  # type: ignore[attr-defined]
        return made

    def __init__(self, size: int) -> None:
        self.size = size


def _terms(make: Callable[..., Any]) -> list[Any]:
    leaf = make("a")
    pair = make("b", leaf, leaf)
    return [leaf, pair, make("c", pair, leaf, make("a")), make("b", make("c", pair, pair), pair)]


def _embedded(term, memo):
    hit = memo.get(term)
    if hit is not None:
        return hit
    h = torch.ones(2) * len(term.head)
    for a in term.args:
        h = h + 2 * _embedded(a, memo)
    memo[term] = h
    return h


def embedded(term):
    memo: dict = {}
    h = _embedded(term, memo)
    return h, len(memo)


def asked(term):
    seen, stack, order = set(), [term], []
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        order.append(node.head)
        stack.extend(node.args)
    return order, [a is term.args[0] for a in term.args]


def counted(leaves):
    total: dict = {}
    for leaf in leaves:
        total[leaf] = total.get(leaf, 0) + leaf.twice + leaf.size
    return [total[leaf] for leaf in leaves]


LEAF = CountedLeaf(3)
CASES: list[tuple[Callable[[Any], Any], list[Any]]] = [
    (embedded, _terms(SlottedTerm)),
    (asked, _terms(SlottedTerm)),
    (embedded, _terms(lambda head, *args: SlottedNode(head, list(args)))),
    (counted, [[LEAF, CountedLeaf(3), LEAF], [CountedLeaf(1)]]),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_identity(case: int) -> None:
    function, instances = CASES[case]
    interpreter = Interpreter(build(module(function), sample=instances))
    for one in instances:
        assert_same(as_tensors(interpreter.run(one)), function(one), "")
