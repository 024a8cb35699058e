"""Whether a dictionary may have two types under two of its names."""

from __future__ import annotations

from typing import Any

import pytest

from backends.acrobat.core.types import BOOL, DICT, FLOAT, INT, SET, TUPLE, DataT, ListKind, ListT, MissingKeys, TensorT, TupleT
from backends.acrobat.frontend.evaluator.containers.same_dictionary import may_be_one
from backends.acrobat.frontend.types import NEVER, NONE, SYMBOL, UNKNOWN, HeldT

VECTOR, ROWS = TensorT((3,)), ListT(TensorT((3,)), rows=0)
PAIR = TupleT((INT, INT))


def of(item: Any) -> ListT:
    """A `defaultdict(list)` whose keys are ints."""
    return ListT(TupleT((INT, ListT(item))), kind=ListKind("dict", missing=MissingKeys("list")))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (INT, FLOAT),
        (INT, VECTOR),
        (BOOL, INT),
        (VECTOR, ROWS),
        (PAIR, TupleT((FLOAT, INT))),
        (PAIR, ListT(INT, kind=TUPLE)),
        (TupleT(()), ListT(INT, kind=TUPLE)),
        (PAIR, DataT("Optional_pair")),
        (DataT("Leaf"), DataT("Leaf_or_Node")),
        (DataT("Met"), SYMBOL),
        (UNKNOWN, PAIR),
        (NEVER, PAIR),
        (NONE, PAIR),
        (HeldT("mask", VECTOR), VECTOR),
        (ListT(INT, kind=SET), ListT(FLOAT, kind=SET)),
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
        (PAIR, ListT(SYMBOL, kind=TUPLE)),
        (ListT(INT), ListT(INT, kind=SET)),
        (ListT(PAIR, kind=DICT), ListT(PAIR, kind=SET)),
        (ListT(PAIR), ListT(VECTOR)),
    ],
)
def test_types_of_different_dictionaries(one: Any, other: Any) -> None:
    assert not may_be_one(of(one), of(other))
    assert not may_be_one(of(other), of(one))
