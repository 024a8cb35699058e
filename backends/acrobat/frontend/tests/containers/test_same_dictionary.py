"""Whether a dictionary may have two types under two of its names."""

from __future__ import annotations

from typing import Any

import pytest

from backends.acrobat.core.types import BOOL, FLOAT, INT, DataT, ListT, TensorT, TupleT
from backends.acrobat.frontend.evaluator.containers.same_dictionary import may_be_one
from backends.acrobat.frontend.types import NEVER, NONE, SYMBOL, UNKNOWN, HeldT

VECTOR, ROWS = TensorT((3,)), ListT(TensorT((3,)), rows=0)
PAIR = TupleT((INT, INT))


def of(item: Any) -> ListT:
    """A `defaultdict(list)` whose keys are ints."""
    return ListT(TupleT((INT, ListT(item))), kind="dict:list")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (INT, FLOAT),
        (INT, VECTOR),
        (BOOL, INT),
        (VECTOR, ROWS),
        (PAIR, TupleT((FLOAT, INT))),
        (PAIR, ListT(INT, kind="tuple")),
        (TupleT(()), ListT(INT, kind="tuple")),
        (PAIR, DataT("Optional_pair")),
        (DataT("Leaf"), DataT("Leaf_or_Node")),
        (DataT("Met"), SYMBOL),
        (UNKNOWN, PAIR),
        (NEVER, PAIR),
        (NONE, PAIR),
        (HeldT("mask", VECTOR), VECTOR),
        (ListT(INT, kind="set"), ListT(FLOAT, kind="set")),
    ],
)
def test_types_that_may_become_each_other(one: Any, other: Any) -> None:
    assert may_be_one(of(one), of(other))
    assert may_be_one(of(other), of(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (PAIR, VECTOR),
        (PAIR, ROWS),
        (PAIR, INT),
        (SYMBOL, INT),
        (SYMBOL, PAIR),
        (PAIR, TupleT((INT, INT, INT))),
        (PAIR, TupleT((INT, SYMBOL))),
        (PAIR, ListT(SYMBOL, kind="tuple")),
        (ListT(INT), ListT(INT, kind="set")),
        (ListT(PAIR, kind="dict"), ListT(PAIR, kind="set")),
        (ListT(PAIR), ListT(VECTOR)),
    ],
)
def test_types_of_different_dictionaries(one: Any, other: Any) -> None:
    assert not may_be_one(of(one), of(other))
    assert not may_be_one(of(other), of(one))
