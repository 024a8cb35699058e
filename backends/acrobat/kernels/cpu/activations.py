"""Element-wise functions on vectors, as polynomials without calls.

All functions of exp are computed from 2**t. With AVX-512, `vreduceps` (t - floor(t)) and `vscalefps` (times 2**floor(t)) make
2**t right at both ends, infinities and NaN included, without clamping. Elsewhere t is clamped to +-126 and the exponent is
added as an integer. The polynomial is the minimax one of degree 5 for the relative error on the interval (7.5e-8).

Measured on Zen 5 (cycles for 16 TreeLSTM cells, each 2 sigmoids and 2 tanhs, in bundles of four; an FMA is half a cycle):
 20  this form: sigmoid(a) * tanh(b) as one quotient, vreduceps, vscalefps, division
 22  a quotient for each activation
 23  approximate reciprocal and a Newton step for the quotient (vdivps takes 2.3 cycles, but not on the FMA units)
 24  t clamped, exponent added as an integer
 17  2**(j/16) from a table of 16 (vpermps) and degree 2, clamped from one side; 19 clamped from both. Not taken: the error is
     three times as large, and it saves 0.5 % of a cell's time
 18  degree 4: error 2e-6
Largest errors against float64 over all floats, absolute: sigmoid 1.0e-7, tanh 2.0e-7, their product 1.7e-7, gelu 2.2e-7
(relative beyond 1); relative: exp 2.2e-7, log 7.5e-8 (absolute below 1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tvm import tirx

from backends.acrobat.kernels.cpu.code import Expr, i32
from backends.acrobat.kernels.cpu.vectors import Bundle, splat, typed

LOG2E = 1.4426950408889634
LOG2E_LOW = 1.9259629911266174e-8
"""log2(e) - float32(log2(e))."""
ROUNDER = 12582912.0  # 1.5 * 2**23: adding it rounds to an integer, which is then in the low bits
ROUNDER_BITS = 0x4B400000
LARGEST = 3.4028234663852886e38
"""The largest finite float32."""
SMALLEST = 1.1754943508222875e-38
"""The smallest normal float32 above 0."""

EXP2_FLOOR = (1.877576677e-03, 8.989340172e-03, 5.582631789e-02, 2.401536171e-01, 6.931530732e-01, 9.999999251e-01)
"""The polynomial for 2**f on [0, 1), highest power first."""
EXP2_ROUND = (1.327647200e-03, 9.675541395e-03, 5.550713274e-02, 2.402211972e-01, 6.931469671e-01, 1.000000072e00)
"""The polynomial for 2**f on [-1/2, 1/2], highest power first."""
ERFC = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
"""Abramowitz and Stegun 7.1.26: erfc(z) = exp(-z*z) * t * ERFC(t) with t = 1 / (1 + 0.3275911 z), error 1.5e-7."""
LOG = (
    *(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1),
    *(-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1),
)
"""log(1 + x) = x - x*x/2 + x**3 * LOG(x) on [sqrt(1/2) - 1, sqrt(2) - 1] (Cephes, logf)."""


def polynomial(x: Bundle, coefficients: Sequence[float]) -> Bundle:
    """The polynomial in x with these coefficients, that of the highest power first (Horner's rule)."""
    value = x.fma(coefficients[0], coefficients[1])
    for c in coefficients[2:]:
        value = value.fma(x, c)
    return value


def wide(x: Bundle) -> bool:
    """Whether the vectors are AVX-512 ones."""
    return x.lanes == 16


def floor_part(t: Bundle) -> Bundle:
    """t - floor(t), in [0, 1); 0 for infinities."""
    zero, all_lanes = splat(0.0, 16), tirx.IntImm("int16", -1)
    name, current = "llvm.x86.avx512.mask.reduce.ps.512", i32(4)
    return t.map(lambda v: tirx.call_llvm_pure_intrin("float32x16", name, v, i32(1), zero, all_lanes, current))


def scale(p: Bundle, t: Bundle) -> Bundle:
    """p * 2**floor(t)."""
    zero, all_lanes = splat(0.0, 16), tirx.IntImm("int16", -1)
    name, current = "llvm.x86.avx512.mask.scalef.ps.512", i32(4)
    return p.map(lambda a, b: tirx.call_llvm_pure_intrin("float32x16", name, a, b, zero, all_lanes, current), t)


def bits(x: Bundle) -> list[Expr]:
    """The floats' bits as int32."""
    return x.integers(lambda v: tirx.reinterpret(typed("int32", x.lanes), v))


def from_bits(like: Bundle, items: list[Expr]) -> Bundle:
    """The floats with these bits, in vectors like those of `like`."""
    return like.with_items([tirx.reinterpret(typed("float32", like.lanes), v) for v in items])


def number(value: int, lanes: int) -> Expr:
    """The int32 `value` in each lane."""
    return splat(value, lanes, "int32")


def exp2(t: Bundle) -> Bundle:
    """2**t. Without AVX-512, t is clamped to [-126, 126]."""
    if wide(t):
        return scale(polynomial(floor_part(t), EXP2_FLOOR), t)
    t = t.at_least(-126.0).at_most(126.0)
    rounded = t + ROUNDER
    p = polynomial(t - (rounded - ROUNDER), EXP2_ROUND)
    n = [tirx.shift_left(v, number(23, t.lanes)) for v in bits(rounded)]
    return from_bits(p, [a + b for a, b in zip(bits(p), n, strict=True)])


def exp2_share(t: Bundle) -> Bundle:
    """2**t for t <= 0, the share of a softmax. Below 2**-126 it is 0, or not a normal number."""
    if wide(t):
        return exp2(t)
    power = exp2(t)
    return t.map(lambda v, p: tirx.Select(v < splat(-126.0, t.lanes), splat(0.0, t.lanes), p), power)


def exp(x: Bundle) -> Bundle:
    """exp(x) to 2 ulp, with overflow to infinity and gradual underflow to zero."""
    x = x.at_least(-104.0).at_most(89.0)
    t = x * LOG2E
    error = x.fma(LOG2E_LOW, x.fma(LOG2E, t * -1.0))  # the rounding error of t
    if wide(x):
        return scale(polynomial(floor_part(t) + error, EXP2_FLOOR), t)
    rounded = t + ROUNDER
    p = polynomial(t - (rounded - ROUNDER) + error, EXP2_ROUND)
    n = [v - number(ROUNDER_BITS, x.lanes) for v in bits(rounded)]
    half = [tirx.shift_right(v, number(1, x.lanes)) for v in n]
    for part in (half, [a - b for a, b in zip(n, half, strict=True)]):
        p = p * from_bits(p, [tirx.shift_left(v + number(127, x.lanes), number(23, x.lanes)) for v in part])
    return p


def sigmoid(x: Bundle) -> Bundle:
    """1 / (1 + exp(-x))."""
    return scaled_sigmoid(x, 1.0)


def scaled_sigmoid(x: Bundle, y: Bundle | float) -> Bundle:
    """sigmoid(x) * y, with one division."""
    return y / (exp2(x * -LOG2E) + 1.0)


def tanh(x: Bundle) -> Bundle:
    """The hyperbolic tangent, 1 - 2 / (exp(2x) + 1)."""
    return 1.0 - 2.0 / (exp2(x * (2 * LOG2E)) + 1.0)


def sigmoid_tanh(a: Bundle, b: Bundle) -> Bundle:
    """sigmoid(a) * tanh(b) = (1 - q) / ((1 + p) (1 + q)) with p = exp(-a), q = exp(-2b). Both are limited to 2**60, so that
    their product is finite. The result is below 1e-18 where p is limited, and -sigmoid(a) where q is."""
    p = exp2((a * -LOG2E).at_most(60.0))
    q = exp2((b * (-2 * LOG2E)).at_most(60.0))
    d = p + 1.0
    return (1.0 - q) / d.fma(q, d)


def relu(x: Bundle) -> Bundle:
    """max(x, 0), where NaN stays NaN."""
    return x.at_least(0.0)


def gelu(x: Bundle) -> Bundle:
    """x * Phi(x) = relu(x) - |x| * Phi(-|x|). The last term is 0 where |x| is large, but NaN, infinity times 0, where it is
    infinite. So x, but not -x, is limited to 30: as in eager PyTorch, gelu is infinity at infinity and NaN at -infinity."""
    size = x.at_most(30.0).map(lambda least, v: tirx.Max(least, -v), x)
    t: Bundle = 1.0 / (size * (0.3275911 * 0.5**0.5) + 1.0)
    tail = polynomial(t, ERFC) * t * exp2(size * size * (-0.5 * LOG2E))
    return (size * tail).fma(-0.5, x.at_least(0.0))


def log(x: Bundle) -> Bundle:
    """log(x) to 2 ulp; -inf at 0, NaN below."""
    lanes = x.lanes
    tiny = x.where(lambda v: v < splat(SMALLEST, lanes), x * 8388608.0, x)
    shift = x.where(lambda v: v < splat(SMALLEST, lanes), -150.0, -127.0)
    raw = bits(tiny)
    # The exponent of a significand in [sqrt(1/2), sqrt(2)): 0x3504f3 is the significand of sqrt(2).
    exponents = [tirx.shift_right(v + number(0x800000 - 0x3504F3, lanes), number(23, lanes)) for v in raw]
    powers = [tirx.shift_left(u - number(127, lanes), number(23, lanes)) for u in exponents]
    m = from_bits(x, [v - power for v, power in zip(raw, powers, strict=True)]) - 1.0
    e = x.with_items([tirx.Cast(typed("float32", lanes), u) for u in exponents]) + shift
    square = m * m
    value = (polynomial(m, LOG) * m).fma(square, e * -2.12194440e-4)
    value = square.fma(-0.5, value) + m
    value = e.fma(0.693359375, value)
    value = x.where(lambda v: v <= splat(LARGEST, lanes), value, x)
    edge = x.where(lambda v: tirx.EQ(v, splat(0.0, lanes)), float("-inf"), float("nan"))
    return x.where(lambda v: v > splat(0.0, lanes), value, edge)


def intrinsic(name: str, x: Bundle) -> Bundle:
    """LLVM's function of this name, lane by lane."""
    return x.map(lambda v: tirx.call_llvm_pure_intrin(typed("float32", x.lanes), f"llvm.{name}", v))


def sqrt(x: Bundle) -> Bundle:
    """The square root; NaN below 0."""
    return intrinsic("sqrt", x)


def maximum(a: Bundle, b: Bundle) -> Bundle:
    """The larger of a and b. If either is NaN, no comparison holds and a + b is NaN too. (x == x would be folded to true.)"""
    return a.map(lambda x, y: tirx.Select(x > y, x, tirx.Select(y >= x, y, x + y)), b)


def minimum(a: Bundle, b: Bundle) -> Bundle:
    """The smaller of a and b; NaN if either is."""
    return a.map(lambda x, y: tirx.Select(x < y, x, tirx.Select(y <= x, y, x + y)), b)


FUNCTIONS: dict[str, Callable[..., Bundle]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "maximum": maximum,
    "minimum": minimum,
    "neg": lambda x: x * -1.0,
    "sigmoid": sigmoid,
    "tanh": tanh,
    "relu": relu,
    "gelu": gelu,
    "exp": exp,
    "log": log,
    "sqrt": sqrt,
    "floor": lambda x: intrinsic("floor", x),
    "sin": lambda x: intrinsic("sin", x),
    "cos": lambda x: intrinsic("cos", x),
    "less": lambda a, b: a.map(lambda x, y: tirx.Select(x < y, splat(1.0, a.lanes), splat(0.0, a.lanes)), b),
    "less_equal": lambda a, b: a.map(lambda x, y: tirx.Select(x <= y, splat(1.0, a.lanes), splat(0.0, a.lanes)), b),
    "equal": lambda a, b: a.map(lambda x, y: tirx.Select(tirx.EQ(x, y), splat(1.0, a.lanes), splat(0.0, a.lanes)), b),
    "where": lambda m, a, b: m.map(lambda k, x, y: tirx.Select(tirx.NE(k, splat(0.0, m.lanes)), x, y), a, b),
}
