"""Work on weights alone: which operations become derived weights, which stay, and the values of derived weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from backends.acrobat.analyses.tests.chain import TABLE, Chain, H, W, call, function, host, lit, op, program, weight
from backends.acrobat.core.ops import evaluate
from backends.acrobat.core.types import BOOL, FLOAT, INT, TensorT
from backends.acrobat.core.unwritten import Unwritten, write
from backends.acrobat.ir.make import make_op
from backends.acrobat.ir.nodes import Derived, Expr, If, Lit, Program, Var
from backends.acrobat.ir.visitor import lets
from backends.acrobat.passes import constants

X, N = Var("x", H), Var("n", INT)
A, B = weight("A"), weight("B")
HALF = Lit(0.5, FLOAT)


def values(**arrays: np.ndarray) -> dict[str, np.ndarray]:
    return {name: np.asarray(v, np.float32) for name, v in arrays.items()}


def forward(chain: Chain, out: Expr, **weights: TensorT) -> Program:
    return replace(program(function("forward", (X, N), chain.end(out))), weights=weights)


def test_chains_of_work_and_equal_work() -> None:
    chain = Chain()
    s = chain("s", make_op("add", (A, B)))
    t = chain("t", make_op("permute", (s,), {"dims": (1, 0)}))
    again = chain("again", make_op("add", (A, B)))
    y = chain("y", make_op("linear", (X, t)))
    out = chain("out", make_op("linear", (y, again)))
    p = constants.run(forward(chain, out, A=W, B=W))
    assert p.derived == {"s": Derived("add", ("A", "B"), ()), "t": Derived("permute", ("s",), (("dims", (1, 0)),))}
    assert lets(p.functions["forward"].body)[0] == [
        (Var("y", H), make_op("linear", (X, weight("t")))),
        (Var("out", H), make_op("linear", (Var("y", H), weight("s")))),
    ]
    assert set(p.weights) == {"A", "B", "s", "t"}


def test_literals_and_full() -> None:
    chain = Chain()
    zeros = chain("zeros", make_op("full", (), {"shape": (4,), "value": 0.0}))
    scaled = chain("scaled", make_op("mul", (A, HALF)))
    one = chain("one", make_op("scalar", (lit(1),)))
    y = chain("y", make_op("linear", (X, scaled, zeros)))
    out = chain("out", make_op("add", (y, one)))
    p = constants.run(forward(chain, out, A=W))
    assert p.derived == {
        "zeros": Derived("full", (), (("shape", (4,)), ("value", 0.0))),
        "literal": Derived("full", (), (("shape", ()), ("value", 0.5))),
        "scaled": Derived("mul", ("A", "literal"), ()),
        "literal_1": Derived("full", (), (("shape", ()), ("value", 1))),
    }
    p = replace(p, values=values(A=np.eye(4)))
    found = constants.evaluate_derived(p)
    assert {name: (v.dtype.name, v.shape) for name, v in found.items()} == {
        "zeros": ("float32", (4,)),
        "literal": ("float32", ()),
        "scaled": ("float32", (4, 4)),
        "literal_1": ("float32", ()),
    }
    assert np.array_equal(found["scaled"], np.eye(4) / 2) and found["literal_1"] == 1


def test_rows_of_tables_and_work_on_instances_stay() -> None:
    chain = Chain()
    constant = chain("constant", make_op("row", (weight("T", TABLE), lit(3))))
    own = chain("own", make_op("row", (weight("T", TABLE), N)))
    number = chain("number", make_op("scalar", (N,)))
    y = chain("y", make_op("add", (constant, own)))
    out = chain("out", make_op("mul", (y, number)))
    p = forward(chain, out, T=TABLE)
    assert constants.run(p) == p


def test_in_branches_and_recursive_functions() -> None:
    c, chain, top = Var("c", BOOL), Chain(), Chain()
    t = chain("t", make_op("permute", (A,), {"dims": (1, 0)}))
    y = chain("y", make_op("linear", (X, t)))
    other = Chain()
    u = other("u", make_op("permute", (A,), {"dims": (1, 0)}))
    f = function("f", (X, c), chain.end(If(c, y, other.end(call("f", H, other("z", make_op("linear", (y, u))), c)), H)))
    p = constants.run(program(function("forward", (X, c), top.end(call("f", H, X, c))), f, A=W))
    assert p.derived == {"t": Derived("permute", ("A",), (("dims", (1, 0)),))}
    assert list(p.weights) == ["A", "t"]


def test_names_avoid_those_of_parameters() -> None:
    chain = Chain()
    a = chain("A", make_op("neg", (A,)))
    p = constants.run(forward(chain, chain("out", make_op("linear", (X, a))), A=W))
    assert list(p.derived) == ["A_1"]


def test_weights_that_nothing_uses_any_more_go_with_their_values() -> None:
    chain = Chain()
    chain("unused", make_op("add", (A, B)))
    p = forward(chain, chain("out", make_op("linear", (X, A))), A=W, B=W)
    p = constants.run(replace(p, values=values(A=np.eye(4), B=np.eye(4))))
    assert list(p.weights) == list(p.values) == ["A"] and not p.derived


def test_values_are_rounded_once() -> None:
    """(A + B) - B in float32 arithmetic would lose A altogether."""
    chain = Chain()
    s = chain("s", make_op("add", (A, B)))
    t = chain("t", make_op("sub", (s, B)))
    p = constants.run(forward(chain, chain("out", make_op("linear", (X, t))), A=W, B=W))
    found = constants.evaluate_derived(replace(p, values=values(A=np.full((4, 4), 1e-9), B=np.ones((4, 4)))))
    assert found["t"].dtype == np.float32
    np.testing.assert_allclose(found["t"], 1e-9, rtol=1e-6)


def test_integers_keep_their_type() -> None:
    chain = Chain()
    best = chain("best", make_op("argmax", (A,), {"dim": 1}))
    p = constants.run(replace(forward(chain, best, A=W), values=values(A=np.eye(4)[::-1])))
    found = np.asarray(constants.evaluate_derived(p)["best"])
    assert found.dtype == np.int64 and found.tolist() == [3, 2, 1, 0]


def test_host_work_is_not_tensor_work() -> None:
    chain = Chain()
    number = chain("number", host("add", INT, lit(1), lit(2)))
    p = forward(chain, chain("out", op("mul", X, number)))
    assert constants.run(p) == p


def test_tables_are_float32_what_moves_stays_and_all_else_is_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a table of a weight that is derived itself, as a part of another one is. Tables are computed by who takes them, but
    for one that is an operand."""
    kinds: dict[str, set[str]] = {}

    def noting(op: str, args: Sequence[np.ndarray], attrs: dict[str, Any], result: TensorT) -> np.ndarray:
        kinds[op] = {str(a.dtype) for a in args}
        return evaluate(op, args, attrs, result)

    monkeypatch.setattr("backends.acrobat.passes.constants.evaluate", noting)
    rows = constants.LARGE // 4
    large = TensorT((rows, 4))
    part = Derived("slice", ("W",), (("dim", 0), ("start", 0), ("stop", 4)))
    p = Program(
        functions={},
        datatypes={},
        weights={
            "E": large,
            "W": TensorT((8, 4)),
            "b": H,
            "part": TensorT((4, 4)),
            "table": large,
            "used": large,
            "neg": large,
        },
        values=values(E=np.ones((rows, 4)), W=np.arange(32).reshape(8, 4), b=np.arange(4)),
        derived={
            "part": part,
            "table": Derived("linear", ("E", "part", "b"), ()),
            "used": Derived("linear", ("E", "part"), ()),
            "neg": Derived("neg", ("used",), ()),
        },
    )
    found = constants.evaluate_derived(p)
    assert kinds == {"slice": {"float32"}, "neg": {"float64"}}
    product = np.arange(16).reshape(4, 4).sum(1)
    for name, row in {"table": product + np.arange(4), "used": product, "neg": -product}.items():
        assert isinstance(found[name], Unwritten) == (name == "table")
        np.testing.assert_array_equal(np.asarray(found[name]), np.tile(row, (rows, 1)))
    given = np.full((rows, 4), np.nan, np.float32)
    write(found["table"], given)
    np.testing.assert_array_equal(given[-1], product + np.arange(4))
    whole = {name: value for name, value in found.items() if isinstance(value, np.ndarray)}
    assert whole.keys() == {"part", "used", "neg"}
    assert all(value.dtype == np.float32 and value.base is None for value in whole.values())
