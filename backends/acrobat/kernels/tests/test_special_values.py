"""What every element-wise and reducing operation makes of NaN, infinities and zeros with a sign: the kernels for the processor,
the plain ones and those for CUDA (on the emulated device) against the meaning of the operation."""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from backends.acrobat.core.operands import ShapeError
from backends.acrobat.core.ops import LISTS, OPS, Fusion
from backends.acrobat.core.types import TensorT
from backends.acrobat.core.units import Mode
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.kernels.cpu.tests import support as processor
from backends.acrobat.kernels.cpu.tests.support import HERE, NARROW, Builder, Run, param
from backends.acrobat.kernels.cuda.tests.support import Module, emitted_for, execute

SPECIAL = (0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan)
G, L = Mode.GATHERED, Mode.LIST
LONG = 1400
"""The length of a slice that a whole block of the device reduces."""


def elementwise(op: str) -> Run:
    """One row with all combinations of special values; the last result has literals for some of the operands."""
    arity = next(n for n in (1, 2, 3) if accepts(op, n))
    values = [(0.0, 1.0) if op == "where" and not i else SPECIAL for i in range(arity)]  # a mask is 0 or 1
    columns = np.array(list(product(*values)), np.float32).T
    b = Builder(*(param(f"x{i}", G, columns.shape[1]) for i in range(arity)))
    names = [p.name for p in b.params]
    results = [b(op, *names)]
    if arity == 2:
        results += [b(op, "x0", value) for value in SPECIAL] + [b(op, value, "x1") for value in SPECIAL]
    if arity == 3:
        results += [b(op, "x0", value, "x2") for value in SPECIAL]
    if arity == 1:
        results += [b(op, b("full", shape=(2,), value=value)) for value in SPECIAL]
    return Run(b.kernel(*results, name=op), 1, {}, {name: [column] for name, column in zip(names, columns, strict=True)})


def accepts(op: str, arity: int) -> bool:
    try:
        return bool(OPS[op].infer([TensorT((2,))] * arity, {}))
    except ShapeError:
        return False


def lines(length: int) -> list[np.ndarray]:
    """Lines of numbers with special values at the beginning, in the middle and at the end."""
    rng = np.random.default_rng(0)
    places = (0, length // 2, length - 1)
    found = [np.full(length, value) for value in SPECIAL]
    for values in product((0.5, math.inf, -math.inf, math.nan), repeat=len(places)):
        line = rng.uniform(-1, 1, length)
        line[list(places)] = values
        found.append(line)
    return [line.astype(np.float32) for line in found]


def reducing(op: str, length: int, inner: bool) -> Run:
    """A reduction of each of the lines, along the last dimension or along one before it."""
    shape = (length, 2) if inner else (length,)
    operands = {"x": [np.ascontiguousarray(np.broadcast_to(x.reshape(length, *[1] * inner), shape)) for x in lines(length)]}
    b = Builder(param("x", G, *shape), *(param(n, G, length) for n in ("w", "v") if op == "layer_norm"))
    if op == "layer_norm":
        result = b(op, "x", "w", "v", eps=1e-5)
        operands |= {n: [np.ones(length, np.float32)] * len(operands["x"]) for n in ("w", "v")}
    else:
        result = b(op, "x", dim=0)
    return Run(b.kernel(result, name=op), len(operands["x"]), {}, operands)


def over_lists(op: str) -> Run:
    """The same for a list of items, each of which is one element of a line for every index."""
    shape = (3,)
    lists = [[np.full(shape, v, np.float32) for v in line] for line in lines(5)] + [[]]
    ones = [[np.ones(shape, np.float32) for _ in items] for items in lists]
    b = Builder(*(param(n, G if n == "query" else L, *shape) for n in OPERANDS[op]))
    result = b(op, *OPERANDS[op], **({"scale": 0.5} if op == "list_attention" else {}))
    operands: dict[str, list[Any]] = dict.fromkeys(("values", "xs", "keys", "scores"), lists)
    operands["query"] = [np.ones(shape, np.float32)] * len(lists)
    if op == "list_softmax":  # special scores of ordinary values; the other operation has both
        operands["values"] = ones
    return Run(b.kernel(result, name=op), len(lists), {}, {n: operands[n] for n in OPERANDS[op]})


OPERANDS = {
    "list_sum": ("xs",),
    "list_max": ("xs",),
    "list_min": ("xs",),
    "list_softmax": ("scores", "values"),
    "list_attention": ("query", "keys", "values"),
}


@cache
def runs() -> dict[str, Run]:
    found = {}
    for op, definition in OPS.items():
        if definition.fusion is Fusion.ELEMENTWISE:
            found[op] = elementwise(op)
        elif op in LISTS:
            found[op] = over_lists(op)
        elif definition.fusion is Fusion.REDUCTION:
            found |= {f"{op} of {n}": reducing(op, n, False) for n in (5, LONG)}
            if op != "layer_norm":
                found[f"{op} of columns"] = reducing(op, 5, True)
    return found


def check(name: str, run: Run, results: list[list[np.ndarray]]) -> None:
    with np.errstate(all="ignore"):
        expected = run.expected()
    for row, (got, want) in enumerate(zip(results, expected, strict=True)):
        for k, (g, w) in enumerate(zip(got, want, strict=True)):
            np.testing.assert_allclose(g, w, 1e-4, 1e-5, err_msg=f"{name}: row {row}, result {k}")


@pytest.mark.parametrize(
    "target", [None, HERE, pytest.param(NARROW, marks=pytest.mark.exhaustive)], ids=lambda t: t.mcpu if t else "plain"
)
@pytest.mark.parametrize("name", runs())
def test_on_the_processor(name: str, target: CpuTarget | None) -> None:
    run = runs()[name]
    check(name, run, processor.execute(run, G, target))


@cache
def module() -> Module:
    return Module([emitted_for(run.kernel, G) for run in runs().values()], modes=("launches",))


@pytest.mark.parametrize("name", runs())
def test_on_the_emulated_device(name: str) -> None:
    run = runs()[name]
    check(name, run, execute(module(), run, emitted_for(run.kernel, G), G))


def test_every_form_of_kernel_is_tried() -> None:
    assert {emitted_for(run.kernel, G).schedule.template for run in runs().values()} == {"elements", "slices", "general"}
