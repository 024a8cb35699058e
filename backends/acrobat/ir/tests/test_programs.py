"""The generator of random programs keeps its promises and draws everything that it should. It draws no annotations, because
they are not allowed everywhere and may be false."""

from __future__ import annotations

from collections import Counter
from typing import Any, get_args

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings

from backends.acrobat.core.host import HOST, MATH, MATH_OF_TWO
from backends.acrobat.core.ops import OPS
from backends.acrobat.core.texts import TEXT
from backends.acrobat.core.types import FLOAT, DataT, ListT, TensorT, TupleT
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.nodes import Call, Expr, Host, Item, Launch, Op, Weight
from backends.acrobat.ir.tests.programs import Sample, samples
from backends.acrobat.ir.verifier import verify
from backends.acrobat.ir.visitor import walk

RANDOM = settings(deadline=None, max_examples=100, suppress_health_check=list(HealthCheck))


def leaves(value: Any) -> list[Any]:
    """Every tensor and number of a result."""
    if isinstance(value, (list, tuple)):
        return [leaf for v in value for leaf in leaves(v)]
    if hasattr(value, "__dataclass_fields__"):
        return [leaf for f in value.__dataclass_fields__ for leaf in leaves(getattr(value, f))]
    return [value]


@RANDOM
@given(samples(waits=True))
def test_programs_end_and_rounding_the_weights_changes_little(sample: Sample) -> None:
    """Rounds as float32 does, which keeps the values that it can represent: comparisons are drawn that depend on them.
    Structures and integers must stay the same, tensors change little, elements lie in [-1, 1]."""
    verify(sample.program)
    exact = Interpreter(sample.program)
    noise = np.random.default_rng(0)
    rounded = {
        name: np.where(v == np.float32(v), v, v * (1 + 1e-7 * noise.uniform(-1, 1, v.shape)))
        for name, v in sample.program.values.items()
    }
    near = Interpreter(sample.program, rounded)
    for instance in sample.instances:
        for a, b in zip(leaves(exact.run(instance)), leaves(near.run(instance)), strict=True):
            assert type(a) is type(b)
            if isinstance(a, np.ndarray):
                assert np.abs(a).max(initial=0) <= 1
                np.testing.assert_allclose(a, b, rtol=0, atol=1e-4)
            else:
                assert a == b or isinstance(a, float)


def test_everything_is_drawn() -> None:
    """Every node, operation and shape of recursion occurs, and most programs do tensor work on shared weights."""
    seen: Counter[Any] = Counter()

    @seed(0)
    @settings(RANDOM, max_examples=250, phases=[Phase.generate], database=None)
    @given(samples(waits=True, instances=1))
    def draw(sample: Sample) -> None:
        p = sample.program
        kinds: Counter[Any] = Counter()
        for f in p.functions.values():
            for node in walk(f.body):
                kinds[type(node)] += 1
                if isinstance(node, (Op, Host)):
                    kinds[type(node), node.op] += 1
                    if node.type == FLOAT and node.op in ("floordiv", "mod"):
                        kinds["floats"] += 1
                if isinstance(node, Call):
                    caller, callee = f.name.split("_")[0], node.function.split("_")[0]
                    if caller == callee:
                        kinds[caller, "itself" if f.name == node.function else "another"] += 1
                    if any(isinstance(a, Weight) for a in node.args):
                        kinds["weight as an argument"] += 1
            kinds[type(f.result)] += 1
        if kinds[Op, "linear"]:
            kinds["products"] += 1
        seen.update(kinds.keys())

    draw()
    assert set(get_args(Expr)) - {Launch} <= set(seen)
    # Passes make `lookup`, which needs a row of one table as its operand, and `list_softmax`. `tests.test_operators` tests the
    # operations that are not continuous, whose results depend on rounding.
    elsewhere = {"argmax", "lookup", "list_softmax", "floor", "less", "less_equal", "equal", "where"}
    assert set(OPS) - elsewhere <= {k[1] for k in seen if isinstance(k, tuple) and k[0] is Op}
    # `tests.test_numbers` and the front end's tests test rounding, squares, functions of `math` and indices of embeddings.
    elsewhere = {
        "float",
        "bool",
        "phase",
        "parallel",
        "float32",
        "square",
        "from_start",
        "fail",
        *(f"math.{name}" for name in MATH_OF_TWO),
        *(f"math.{name}" for name in MATH),
        *TEXT,  # needs what numbers stand for: random models draw strings
    }
    assert set(HOST) - elsewhere <= {k[1] for k in seen if isinstance(k, tuple) and k[0] is Host}
    assert {TensorT, TupleT, ListT, DataT} <= set(seen)
    for kind in (("walk", "another"), ("walk", "itself"), ("countdown", "itself"), "weight as an argument"):
        assert seen[kind] > 2, kind
    assert seen["products"] > 60 and seen[Item] > 30
    assert seen["forward", "itself"] > 10, "a `forward` that calls itself"
    assert seen["floats"] > 30, "arithmetic of host floats"


@settings(RANDOM, max_examples=30)
@given(samples())
def test_nothing_waits_unless_asked(sample: Sample) -> None:
    assert not any(isinstance(node, Item) for f in sample.program.functions.values() for node in walk(f.body))
