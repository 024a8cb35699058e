"""Arithmetic of numbers gives Python's results for every pair of edge values, and comparisons of a tensor with a number give
torch's: in the interpreter, in compiled code and in the VM."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat import compile
from backends.acrobat.core.host import MATH, MATH_OF_TWO, order
from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.options import Options

RUNNERS = ("interpreter", "aot", "vm")

FLOATS = [0.0, 0.1, 0.3, 0.5, 1.0, 2.5, 3.0, 7.0, 5e-324, 1e-310, 2.0**53, 2.0**53 + 2, 1e16, 1e155, 1.7e308, math.inf]
FLOATS += [-x for x in FLOATS] + [math.nan]
INTS = [0, 1, 2, 3, 7, 10, 2**31, 2**53 - 1, 2**53, 2**53 + 1, 2**53 + 3, 3 * 2**52 + 1, 2**62 + 1, 2**63 - 1]
INTS += [-x for x in INTS if x] + [-(2**63)]


@dataclass(frozen=True)
class Pair:
    operation: int
    a: float
    b: float
    i: int
    j: int


def mathematics(op: int, a: float, b: float) -> float:
    """Function number `op` of `core.host.MATH` of `a`, or behind those of `MATH_OF_TWO` of `a` and `b`."""
    if op < 6:
        if op < 3:
            return math.exp(a) if op == 0 else math.expm1(a) if op == 1 else math.log(a)
        return math.log1p(a) if op == 3 else math.log2(a) if op == 4 else math.log10(a)
    if op < 13:
        if op < 9:
            return math.sqrt(a) if op == 6 else math.sin(a) if op == 7 else math.cos(a)
        return math.tan(a) if op == 9 else math.asin(a) if op == 10 else math.acos(a) if op == 11 else math.atan(a)
    if op < 16:
        return math.sinh(a) if op == 13 else math.cosh(a) if op == 14 else math.tanh(a)
    if op < 23:
        if op < 20:
            return math.erf(a) if op == 16 else math.erfc(a) if op == 17 else math.asinh(a) if op == 18 else math.acosh(a)
        return math.atanh(a) if op == 20 else math.cbrt(a) if op == 21 else math.exp2(a)
    if op < 25:
        return math.pow(a, b) if op == 23 else math.hypot(a, b)
    return math.atan2(a, b) if op == 25 else math.fmod(a, b) if op == 26 else math.remainder(a, b)


class Floats(nn.Module):
    """Operations whose result is a float."""

    def forward(self, s: Pair) -> float:
        op = s.operation
        if op >= 20:
            return mathematics(op - 20, s.a, s.b)
        if op < 4:
            return s.a // s.b if op == 0 else s.a % s.b if op == 1 else s.a / s.b if op == 2 else s.a**2
        if op < 8:
            return s.a // s.i if op == 4 else s.a % s.i if op == 5 else s.a / s.i if op == 6 else s.a * s.i
        if op < 12:
            return s.i // s.a if op == 8 else s.i % s.a if op == 9 else s.i / s.a if op == 10 else s.i - s.a
        return s.i / s.j if op == 12 else (s.a // 0.1) * 1.0 if op == 13 else 5.5 % s.a


class Ints(nn.Module):
    """Operations whose result is an int: `int` of a float, and the results of six comparisons as the bits of a number."""

    def forward(self, s: Pair) -> int:
        op = s.operation
        if op == 0:
            return int(s.a // s.b)
        if op == 1:
            return int(s.a % s.b)
        if op == 2:
            return (s.a == s.i) + 2 * (s.a != s.i) + 4 * (s.a < s.i) + 8 * (s.a <= s.i) + 16 * (s.a > s.i) + 32 * (s.a >= s.i)
        if op == 3:
            return (s.i == s.a) + 2 * (s.i != s.a) + 4 * (s.i < s.a) + 8 * (s.i <= s.a) + 16 * (s.i > s.a) + 32 * (s.i >= s.a)
        if op == 4:
            return (s.a == s.b) + 2 * (s.a != s.b) + 4 * (s.a < s.b) + 8 * (s.a <= s.b) + 16 * (s.a > s.b) + 32 * (s.a >= s.b)
        if op == 5:
            return s.i // s.j
        if op == 6:
            return s.i % s.j
        if op == 7:
            return int(s.i / s.j)
        return s.i << s.j if op == 8 else s.i >> s.j


@dataclass(frozen=True)
class Compared:
    t: Annotated[Tensor, 1]
    x: float
    i: int


class Comparisons(nn.Module):
    """Compares a tensor with numbers that are known at run time, and with literals."""

    def forward(self, s: Compared) -> list[bool]:
        t = s.t
        floats = [bool(t == s.x), bool(t != s.x), bool(t < s.x), bool(t <= s.x), bool(t > s.x), bool(t >= s.x)]
        turned = [bool(s.x == t), bool(s.x < t), bool(s.x <= t), bool(s.x > t), bool(s.x >= t)]
        ints = [bool(t == s.i), bool(t != s.i), bool(t < s.i), bool(t <= s.i), bool(t > s.i), bool(t >= s.i)]
        written = [bool(t == 0.1), bool(t > 0.1), bool(t <= 0.3), bool(t == 16777217), bool(t < 1e300), bool(t < 0.1)]
        read = [t.item() == s.x, t.item() > 0.1, float(t) == s.i, t.item() < s.i]
        return floats + turned + ints + written + read


@dataclass(frozen=True)
class Chosen:
    t: Annotated[Tensor, 3]
    x: float
    i: int


class Indices(nn.Module):
    """Compares an int64 tensor with numbers; torch compares it with a float in float32."""

    def forward(self, s: Chosen) -> list[bool]:
        k = s.t.argmax()
        return [
            bool(k == s.x),
            bool(k < s.x),
            bool(k >= s.x),
            bool(k == s.i),
            bool(k > s.i),
            bool(k == 1.00000001),
            bool(k == 1),
        ]


def runner(kind: str, model: nn.Module, cache: Path) -> Callable[[Any], Any]:
    """A function that runs one instance in the given way."""
    if kind == "interpreter":
        return Interpreter(build(model))._run  # without the larger stack of `run`, which takes a thread for each call
    executable = compile(model, cache_folder=cache, checked=True, options=Options(codegen="vm" if kind == "vm" else "aot"))
    return lambda instance: executable([instance])[0]


def outcome(run: Callable[[], Any]) -> Any:
    """The result in a form to compare: NaN equals NaN, zeros differ by sign, and any error is "error"."""
    try:
        value = run()
    except (ArithmeticError, ValueError, InstanceError):
        return "error"
    if isinstance(value, float):
        return "nan" if math.isnan(value) else (value, math.copysign(1.0, value))
    return value if not isinstance(value, int) or -(2**63) <= value < 2**63 else "error"


@pytest.mark.parametrize("kind", RUNNERS)
class TestPairs:
    def check(self, kind: str, model: nn.Module, cache: Path, pairs: list[Pair]) -> None:
        run = runner(kind, model, cache)
        wrong = []
        for pair in pairs:
            got, want = outcome(lambda: run(pair)), outcome(lambda: model(pair))  # noqa: B023 - called at once
            if got != want or type(got) is not type(want):
                wrong.append((pair, got, want))
        assert not wrong, f"{len(wrong)} of {len(pairs)}, such as {wrong[:5]}"

    def test_floats(self, kind: str, cache: Path) -> None:
        two = itertools.product((0, 1, 2, 3, 13, 14), FLOATS, FLOATS)
        mixed = itertools.product(range(4, 12), FLOATS, INTS)
        pairs = [Pair(op, a, b, 0, 0) for op, a, b in two] + [Pair(op, a, 0.0, i, 0) for op, a, i in mixed]
        pairs += [Pair(20 + i, a, 0.0, 0, 0) for i, a in itertools.product(range(len(MATH)), FLOATS)]
        two = itertools.product(range(len(MATH_OF_TWO)), FLOATS, FLOATS)
        pairs += [Pair(20 + len(MATH) + i, a, b, 0, 0) for i, a, b in two]
        pairs += [Pair(12, 0.0, 0.0, i, j) for i, j in itertools.product(INTS, INTS)]
        if kind == "interpreter":
            pairs = pairs[::17]
        self.check(kind, Floats(), cache, pairs)

    def test_lengths_are_those_of_hypot(self, kind: str, cache: Path) -> None:
        """The root of the sum of squares, and the C library's `hypot`, differ from Python's in the last bit of some."""
        generator = torch.Generator().manual_seed(0)
        values = torch.randn(6000, 2, generator=generator, dtype=torch.float64).tolist()
        op = 20 + len(MATH) + MATH_OF_TWO.index("hypot")
        pairs = [Pair(op, a * 10.0 ** (k % 600 - 300), b * 10.0 ** (k % 600 - 300), 0, 0) for k, (a, b) in enumerate(values)]
        assert any(math.sqrt(p.a**2 + p.b**2) != math.hypot(p.a, p.b) for p in pairs[3 * 250 : 3 * 350])
        self.check(kind, Floats(), cache, pairs if kind != "interpreter" else pairs[::50])

    def test_ints_and_comparisons(self, kind: str, cache: Path) -> None:
        two = [Pair(op, a, b, 0, 0) for op, a, b in itertools.product((0, 1, 4), FLOATS, FLOATS)]
        mixed = [Pair(op, a, 0.0, i, 0) for op, a, i in itertools.product((2, 3), FLOATS, INTS)]
        pairs = two + mixed + [Pair(op, 0.0, 0.0, i, j) for op, i, j in itertools.product((5, 6, 7), INTS, INTS)]
        if kind == "interpreter":
            pairs = pairs[::17]
        self.check(kind, Ints(), cache, pairs)

    def test_shifts(self, kind: str, cache: Path) -> None:
        """A result is an error only where it does not fit into 64 bits: -1 << 63 does."""
        counts = [-1, 0, 1, 2, 31, 32, 61, 62, 63, 64, 70]
        pairs = [Pair(op, 0.0, 0.0, i, j) for op, i, j in itertools.product((8, 9), [*INTS, -4, 5, 2**62], counts)]
        self.check(kind, Ints(), cache, pairs)

    def test_squares_are_those_of_pow(self, kind: str, cache: Path) -> None:
        """`x * x` differs from Python's `x**2` for one float in a thousand."""
        generator = torch.Generator().manual_seed(0)
        values = torch.rand(4000, generator=generator, dtype=torch.float64).tolist()
        pairs = [Pair(3, x * 10.0 ** (k % 300 - 150), 0.0, 0, 0) for k, x in enumerate(values)]
        assert any(p.a**2 != p.a * p.a for p in pairs)
        self.check(kind, Floats(), cache, pairs if kind != "interpreter" else pairs[::10])


NEAR = [0.1, 0.3, 0.5, 1.0, 16777216.0, 2.0**60, 2.0**60 + 2.0**37, 3.4e38, math.inf, 0.0, -0.0, 1e-45, math.nan]
NEAR_INTS = [0, 1, 16777216, 16777217, 16777218, 2**60 + 2**36, 2**60 + 2**36 + 1, 2**63 - 1, -16777217]


@pytest.mark.parametrize("kind", RUNNERS)
def test_a_tensor_compared_with_numbers(kind: str, cache: Path) -> None:
    """torch first rounds the number to float32. `.item()` gives a Python float, whose comparisons round nothing."""
    model = Comparisons()
    run = runner(kind, model, cache)
    numbers = [*NEAR, *(x + 1e-12 for x in NEAR), 1e300, -1e300, 3.5e38, 1e-50]
    instances = [
        Compared(torch.tensor([t], dtype=torch.float32), x, NEAR_INTS[k % len(NEAR_INTS)])
        for k, (t, x) in enumerate(itertools.product([*NEAR, *map(float, NEAR_INTS)], numbers))
    ]
    instances += [Compared(torch.tensor([t]), 0.5, i) for t, i in itertools.product([*NEAR, *map(float, NEAR_INTS)], NEAR_INTS)]
    for instance in instances:
        assert run(instance) == model(instance), instance


@pytest.mark.parametrize("kind", RUNNERS)
def test_an_index_compared_with_numbers(kind: str, cache: Path) -> None:
    model = Indices()
    run = runner(kind, model, cache)
    for at, x, i in itertools.product(range(3), (0.0, 1.0, 1.00000001, 1.0001, 2.0, math.inf, math.nan), (0, 1, 2, -1)):
        instance = Chosen(torch.nn.functional.one_hot(torch.tensor(at), 3).float(), x, i)
        assert run(instance) == model(instance), instance


@dataclass(frozen=True)
class Flags:
    p: bool
    q: bool
    n: int
    x: float


class Extremes(nn.Module):
    """The smallest int as a literal, and results of `min` and `max`, whose types count."""

    def forward(self, s: Flags) -> tuple[bool, bool, int, int, float, int]:
        return min(s.p, s.q), max(s.p, s.q), min(s.p, s.n), max(s.n, 2), min(s.x, s.n, 1.5), s.n + (-9223372036854775808)


@pytest.mark.parametrize("kind", RUNNERS)
def test_the_least_int_and_extremes_of_bools(kind: str, cache: Path) -> None:
    model = Extremes()
    run = runner(kind, model, cache)
    for p, q, n in itertools.product((False, True), (False, True), (0, 1, 5)):
        got, want = run(Flags(p, q, n, 0.5)), model(Flags(p, q, n, 0.5))
        assert got == want
        assert [type(v) for v in got[:2]] == [bool, bool]


@dataclass(frozen=True)
class Several:
    floats: list[float]
    ints: list[int]


class Sorted(nn.Module):
    def forward(self, s: Several) -> tuple[list[float], list[float], list[int], list[int]]:
        places = list(range(len(s.floats)))
        return (
            sorted(s.floats),
            sorted(s.floats, reverse=True),
            sorted(s.ints, reverse=True),
            sorted(places, key=lambda i: s.floats[i]),
        )


@pytest.mark.parametrize("kind", RUNNERS)
def test_sorting(kind: str, cache: Path) -> None:
    """Sorting is stable, with NaN above all numbers, as in PyTorch; in Python NaN has no defined place."""
    run = runner(kind, Sorted(), cache)
    for count in (0, 1, 2, 5, 60):
        draw = random.Random(count)
        s = Several(draw.choices(FLOATS, k=count), draw.choices(INTS, k=count))
        up, down = order(s.floats, False), order(s.floats, True)
        rising, falling, ints, places = run(s)
        assert repr(rising) == repr([s.floats[i] for i in up])
        assert repr(falling) == repr([s.floats[i] for i in down])
        assert ints == sorted(s.ints, reverse=True)
        assert places == up
        known = [x for x in s.floats if x == x]
        assert [x for x in rising if x == x] == sorted(known)
        assert [x for x in falling if x == x] == sorted(known, reverse=True)


Read = tuple[list[float], list[float], list[float], list[int], list[int], list[int], list[int]]
"""What `Reading` gives: lists that it has read from tensors."""
LONG = 300


class Reading(nn.Module):
    """Reads whole tensors of floats and of ints, and chooses and sorts elements by their values."""

    def forward(self, x: Annotated[Tensor, LONG]) -> Read:
        x = x * 1.0
        numbers = x.tolist()
        values, places = x.topk(9)
        lowest, under = torch.topk(x, 3, largest=False)
        best = x.reshape(LONG // 3, 3).argmax(1).tolist()
        return [*numbers, 0.5], values.tolist(), lowest.tolist(), places.tolist(), under.tolist(), best, x.argsort().tolist()


def check_reading(run: Callable[[Any], Any]) -> None:
    """Answers are those of the definition of `core.ops.order`, and eager's where no elements are equal."""
    model = Reading()
    draw = random.Random(1)
    near = [
        x for x in (*NEAR, *(-x for x in NEAR)) if x == x and abs(x) >= 1e-30 or x == 0
    ]  # smaller ones may be flushed to zero
    distinct = torch.randperm(LONG, generator=torch.Generator().manual_seed(1)).float() - 100
    equal = torch.tensor(draw.choices([*near, math.nan], k=LONG))
    for x in (distinct, equal, torch.full((LONG,), -math.inf)):
        numbers, values, lowest, places, under, best, sorting = run(x)
        assert repr(numbers) == repr([*x.tolist(), 0.5])
        assert places == order(x.tolist(), True)[:9]
        assert repr(values) == repr([x.tolist()[i] for i in places])
        assert under == order((-x).tolist(), True)[:3]
        assert repr(lowest) == repr([x.tolist()[i] for i in under])
        assert sorting == order(x.tolist(), False)
        assert best == x.reshape(LONG // 3, 3).argmax(1).tolist()
    assert run(distinct) == model(distinct)


@pytest.mark.parametrize("kind", RUNNERS)
def test_reading_whole_tensors(kind: str, cache: Path) -> None:
    check_reading(runner(kind, Reading(), cache))


class Listed(nn.Module):
    def forward(self, x: Annotated[Tensor, LONG]) -> float:
        return sum((x * 2.0).tolist())


def test_a_whole_tensor_is_read_in_one_wait(codegen: Literal["aot", "vm"], cache: Path) -> None:
    executable = compile(Listed(), cache_folder=cache, options=Options(codegen=codegen))
    assert executable([torch.ones(LONG), torch.zeros(LONG)]) == [600.0, 0.0]
    assert executable.counters()["waits"] == 2
