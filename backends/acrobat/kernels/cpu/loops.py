"""Loops over the elements of values: filling memory, and reductions along one dimension."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tvm import tirx

from backends.acrobat.kernels.cpu.code import Code, Expr, i32, i64, plus, times
from backends.acrobat.kernels.cpu.values import Index, Strided, Value
from backends.acrobat.kernels.cpu.vectors import (
    BUNDLE,
    Bundle,
    accumulators,
    first_lanes,
    load_vector,
    load_vectors,
    splat,
    store_vector,
    typed,
)

Combine = Callable[[Bundle, Bundle], Bundle]
"""How a reduction puts two partial results together."""


@contextmanager
def nest(code: Code, shape: Sequence[int]) -> Iterator[list[Expr]]:
    """Nested loops over `shape`; yields their indices."""
    if not shape:
        yield []
        return
    with code.loop(shape[0]) as i, nest(code, shape[1:]) as inner:
        yield [i, *inner]


def sweep(code: Code, extent: int, lanes: int, body: Callable[[list[Expr], Expr | None], None]) -> None:
    """Calls body(starts, mask) so that the vectors from all starts cover 0..extent: bundles, single ones, then a masked one."""
    vectors, tail = divmod(extent, lanes)
    bundles, singles = divmod(vectors, BUNDLE)
    if bundles:
        with code.loop(bundles, "bundle") as b:
            body([plus(times(b, BUNDLE * lanes), v * lanes) for v in range(BUNDLE)], None)
    if singles:
        body([(bundles * BUNDLE + v) * lanes for v in range(singles)], None)
    if tail:
        body([vectors * lanes], first_lanes(tail, lanes) if lanes > 1 else None)


def vectorises(value: Value, axis: int) -> bool:
    """Whether neighbouring elements along `axis` lie next to each other, or are the same: vectors can be loaded and stored."""
    return axis >= 0 and value.steps(axis) <= {0, 1}


def fill(code: Code, target: Strided, value: Value, lanes: int) -> None:
    """target = value, element by element."""
    last = len(target.shape) - 1
    wide = vectorises(value, last) and vectorises(target, last) and target.shape[last] > 1
    with nest(code, target.shape[:last] if wide else target.shape) as index:
        if not wide:
            (item,) = value.scalar(code, index).items
            target.store(code, index, -1, 0, item, 1, None)
            return

        def body(starts: list[Expr], mask: Expr | None) -> None:
            for start, item in zip(starts, value.vectors(code, [*index, 0], last, starts, lanes, mask).items, strict=True):
                target.store(code, [*index, 0], last, start, item, lanes, mask)

        sweep(code, target.shape[last], lanes, body)


def reduce_line(code: Code, value: Value, index: Index, dim: int, combine: Combine, neutral: float, lanes: int) -> Expr:
    """All elements along `dim` combined into one number. `index` has the other indices, and 0 at `dim`."""
    if not vectorises(value, dim) or value.shape[dim] < 2:
        total = accumulators(code, 1, 1, neutral)
        with code.loop(value.shape[dim], "along") as e:
            item = value.scalar(code, [e if d == dim else i for d, i in enumerate(index)])
            store_vector(code, total, 0, combine(load_vectors(code, total, 1, 1), item).items[0], 1)
        return code.let(load_vector(total, 0, 1), "float32")
    width = min(BUNDLE, max(1, value.shape[dim] // lanes))
    total = accumulators(code, width, lanes, neutral)

    def body(starts: list[Expr], mask: Expr | None) -> None:
        items = value.vectors(code, index, dim, starts, lanes, mask)
        if mask is not None:
            items = items.map(lambda v: tirx.Select(mask, v, splat(neutral, lanes)))
        for v, item in enumerate(combine(load_vectors(code, total, len(starts), lanes), items).items):
            store_vector(code, total, v * lanes, item, lanes)

    sweep(code, value.shape[dim], lanes, body)
    parts = [Bundle(code, [part], lanes) for part in load_vectors(code, total, width, lanes).items]
    while len(parts) > 1:
        parts = [combine(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)] + ([parts[-1]] if len(parts) % 2 else [])
    return across(code, parts[0], combine)


def across(code: Code, vector: Bundle, combine: Combine) -> Expr:
    """The lanes of a vector combined into one number."""
    while vector.lanes > 1:
        half = vector.lanes // 2
        low, high = (pick(code, vector.items[0], range(s, s + half)) for s in (0, half))
        vector = combine(Bundle(code, [low], half), Bundle(code, [high], half))
    return vector.items[0]


def pick(code: Code, vector: Expr, lanes: Sequence[int]) -> Expr:
    """A vector of these lanes of another."""
    return code.let(tirx.Shuffle([vector], [i32(v) for v in lanes]), typed("float32", len(lanes)))


def reduce(
    code: Code, target: Strided, value: Value, dim: int, combine: Combine, neutral: float, lanes: int, finish: float = 1.0
) -> None:
    """target = finish * (value combined along `dim`); the target has dimension `dim` with extent 1."""
    last = len(value.shape) - 1
    if dim == last or not vectorises(value, last) or not vectorises(target, last) or value.shape[last] < 2:
        with nest(code, target.shape) as index:
            item = reduce_line(code, value, index, dim, combine, neutral, lanes)
            target.store(code, index, -1, 0, item * splat(finish, 1) if finish != 1.0 else item, 1, None)
        return
    with nest(code, target.shape[:last]) as index:

        def body(starts: list[Expr], mask: Expr | None) -> None:
            total = accumulators(code, len(starts), lanes, neutral)
            with code.loop(value.shape[dim], "along") as e:
                items = value.vectors(
                    code, [*(e if d == dim else i for d, i in enumerate(index)), 0], last, starts, lanes, mask
                )
                for v, item in enumerate(combine(load_vectors(code, total, len(starts), lanes), items).items):
                    store_vector(code, total, v * lanes, item, lanes)
            for v, start in enumerate(starts):
                item = load_vector(total, v * lanes, lanes)
                item = item * splat(finish, lanes) if finish != 1.0 else item
                target.store(code, [*index, 0], last, start, item, lanes, mask)

        sweep(code, value.shape[last], lanes, body)


def position(start: Expr, lanes: int) -> Expr:
    """The indices start, start + 1, ... as floats (exact below 2**24)."""
    first = tirx.Cast("float32", i64(start))
    if lanes == 1:
        return first
    return tirx.Broadcast(first, lanes) + tirx.Cast(typed("float32", lanes), tirx.Ramp(i32(0), i32(1), lanes))
