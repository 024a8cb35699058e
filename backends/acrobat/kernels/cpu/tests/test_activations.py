from __future__ import annotations

import math

import numpy as np
import pytest

from backends.acrobat.core.ops import OPS
from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.cpu.tests.support import TARGETS, Builder, Run, execute, param

WIDTH = 4096
ABSOLUTE = {"sigmoid": 2.5e-7, "tanh": 2.5e-7, "gelu": 5e-7, "relu": 0.0, "floor": 0.0, "sin": 3e-7, "cos": 3e-7}
RELATIVE = {"exp": 3e-7, "log": 3e-7, "sqrt": 1e-7}


def unary(op: str) -> Kernel:
    b = Builder(param("x", Mode.GATHERED, WIDTH))
    return b.kernel(b(op, "x"))


def floats() -> np.ndarray:
    """Numbers from all over the range of float32: every exponent and sign, a dense stretch around zero, the ends."""
    rng = np.random.default_rng(1)
    exponents = rng.integers(0, 255, 12 * WIDTH).astype(np.uint32) << 23
    anywhere = (exponents | rng.integers(0, 1 << 23, 12 * WIDTH).astype(np.uint32)).view(np.float32)
    dense = np.linspace(-20, 20, 12 * WIDTH).astype(np.float32)
    edges = np.array([0.0, -0.0, 1e-45, 1.17e-38, 3.4e38, -3.4e38, 88.7, -87.4, -103.9, 88.72284, np.inf, -np.inf], np.float32)
    values = np.concatenate([anywhere, -anywhere, dense, edges, np.zeros(-len(edges) % WIDTH, np.float32)])
    return values[: len(values) // WIDTH * WIDTH]


def results(kernel: Kernel, target, *operands: np.ndarray) -> np.ndarray:
    rows = len(operands[0]) // WIDTH
    run = Run(kernel, rows, {}, {p.name: list(x.reshape(rows, WIDTH)) for p, x in zip(kernel.params, operands, strict=True)})
    return np.concatenate([row[0] for row in execute(run, target=target)])


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.mcpu)
@pytest.mark.parametrize("op", ABSOLUTE)
def test_absolute_error(op: str, target):
    x = floats()
    got = results(unary(op), target, x)
    with np.errstate(all="ignore"):
        want = OPS[op].evaluate([x.astype(np.float64)], {})
    finite = np.isfinite(want)
    with np.errstate(all="ignore"):
        # Beyond 1 the rounding of the result is added, so the error is relative there.
        error = (np.abs(got - want) / np.maximum(1.0, np.abs(want)))[finite]
    assert np.max(error) <= ABSOLUTE[op]
    np.testing.assert_array_equal(got[~finite], want[~finite])


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.mcpu)
@pytest.mark.parametrize("op", RELATIVE)
def test_relative_error(op: str, target):
    x = floats() if op == "exp" else np.abs(floats())
    got = results(unary(op), target, x)
    with np.errstate(all="ignore"):
        want = OPS[op].evaluate([x.astype(np.float64)], {})
        rounded = want.astype(np.float32)
        np.testing.assert_array_equal(got[np.isinf(rounded)], rounded[np.isinf(rounded)])
        ordinary = np.isfinite(rounded) & (np.abs(want) > 1.2e-38)
        error = np.abs(got - want)[ordinary] / np.abs(want)[ordinary]
        # Near log(1) = 0 the absolute error counts.
        if op == "log":
            error *= np.minimum(1.0, np.abs(want)[ordinary])
    assert np.max(error) <= RELATIVE[op]
    small = np.isfinite(rounded) & (np.abs(want) <= 1.2e-38)
    assert np.max(np.abs(got[small] - want[small]), initial=0.0) <= 3e-45


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.mcpu)
def test_sigmoid_times_tanh(target):
    b = Builder(param("x", Mode.GATHERED, WIDTH), param("y", Mode.GATHERED, WIDTH))
    kernel = b.kernel(b("mul", b("sigmoid", "x"), b("tanh", "y")))
    rng = np.random.default_rng(0)
    special = np.array([0.0, 1e-30, 1.0, 40.0, 90.0, 1e4, 3e38, np.inf], np.float32)
    special = np.concatenate([special, -special])
    x = np.concatenate([np.repeat(special, 16), rng.normal(0, 8, 8 * WIDTH - 256).astype(np.float32)])
    y = np.concatenate([np.tile(special, 16), rng.normal(0, 5, 8 * WIDTH - 256).astype(np.float32)])
    with np.errstate(all="ignore"):
        want = 1 / (1 + np.exp(-x.astype(np.float64))) * np.tanh(y.astype(np.float64))
    np.testing.assert_allclose(results(kernel, target, x, y), want, rtol=0, atol=2.5e-7)


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.mcpu)
@pytest.mark.parametrize("op", [*ABSOLUTE, *RELATIVE])
def test_nan_stays(op: str, target):
    x = np.zeros(WIDTH, np.float32)
    x[3] = math.nan
    got = results(unary(op), target, x)
    assert np.isnan(got[3])
    assert not np.isnan(got[4:]).any()


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.mcpu)
def test_log_outside_its_domain(target):
    x = np.zeros(WIDTH, np.float32)
    x[:3] = -1.0, -np.inf, np.inf
    got = results(unary("log"), target, x)
    assert np.isnan(got[:2]).all()
    assert got[2] == np.inf
    assert (got[3:] == -np.inf).all()


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.mcpu)
@pytest.mark.parametrize("op", ["maximum", "minimum"])
def test_the_larger_of_a_number_and_nan_is_nan(op: str, target):
    b = Builder(param("x", Mode.GATHERED, WIDTH), param("y", Mode.GATHERED, WIDTH))
    x, y = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)
    x[1] = y[2] = math.nan
    got = results(b.kernel(b(op, "x", "y")), target, x, y)
    assert np.isnan(got[1:3]).all()
    assert (got[3:] == (1.0 if op == "maximum" else 0.0)).all()


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.mcpu)
def test_comparisons_and_choices(target):
    b = Builder(param("x", Mode.GATHERED, WIDTH), param("y", Mode.GATHERED, WIDTH))
    less, same = b("less", "x", "y"), b("equal", "x", "y")
    kernel = b.kernel(less, b("less_equal", "x", "y"), same, b("where", less, "x", b("where", same, 7.0, "y")))
    values = np.array([0.0, -0.0, 1.0, -1.0, 1e-45, 3e38, np.inf, -np.inf, np.nan], np.float32)
    x, y = np.zeros(WIDTH, np.float32), np.zeros(WIDTH, np.float32)
    x[:81], y[:81] = np.repeat(values, 9), np.tile(values, 9)
    run = Run(kernel, 1, {}, {"x": [x], "y": [y]})
    for got, want in zip(execute(run, target=target)[0], run.expected()[0], strict=True):
        np.testing.assert_array_equal(got, want.astype(np.float32))
