"""Weighted sums of the lines of a list: the second product of attention, of shares with values, for several rows at once.

It is computed like a matrix product: a tile of rows by some vectors of the line stays in registers while the items of the list
go by, and the share of each row and item is broadcast to all lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from backends.acrobat.kernels.cpu.code import Code, Expr, div, i64, load, plus, times
from backends.acrobat.kernels.cpu.values import Strided
from backends.acrobat.kernels.cpu.vectors import Bundle, accumulators, first_lanes, load_vector, splat, store_vector

SUMS = 8
"""Accumulators that are independent of each other, so that the units do not wait for the latency of an addition."""


@dataclass(frozen=True, slots=True)
class ListChunk:
    """The items `first` to `first + size` of a list (at least one). The line of item `first + k` starts at place `line(k)` of
    `lines`, and the share that it has of a row is at place `share(k, row)` of `shares`."""

    first: Expr
    size: Expr
    lines: Expr
    line: Callable[[Expr], Expr]
    shares: Expr
    share: Callable[[Expr, int], Expr]


@dataclass(frozen=True, slots=True)
class ScaledLine:
    """A row of results: its line, and the places in `buffer` of the two numbers that it is scaled with."""

    line: Strided
    buffer: Expr
    down: Expr
    factor: Expr


Beside = Callable[[Expr, Expr, int], None]
"""Called with (k, begin, size), writes what is to be done beside adding elements `begin` to `begin + size` of item k's line."""


def add_weighted(
    code: Code, lanes: int, chunk: ListChunk, rows: Sequence[ScaledLine], beside: Beside = lambda *_: None
) -> None:
    """line = factor * (line * down + the sum of share * the item's line over the chunk), for each row; the first chunk of a
    list leaves out the line's old value. A row may be given several times."""
    (width,) = rows[0].line.shape
    for tiles, start, vectors, mask in line_tiles(width, lanes, SUMS if len(rows) == 1 else lanes // len(rows)):
        with code.loop(tiles, "tile") as t:
            at = code.let(plus(times(t, vectors * lanes), start))
            _tile(code, lanes, chunk, rows, at, vectors, mask, beside)


def _tile(
    code: Code,
    lanes: int,
    chunk: ListChunk,
    rows: Sequence[ScaledLine],
    element: Expr,
    vectors: int,
    mask: Expr | None,
    beside: Beside,
) -> None:
    """Does what `add_weighted` says for `vectors` vectors of the lines, from element `element` on. Tiles of few vectors have
    `partial` sums of each, to which the items are added in turn."""
    count = len(rows) * vectors
    partial = max(1, SUMS // count)
    sums = accumulators(code, partial * count, lanes)

    def add(k: Expr, copy: int) -> None:
        beside(k, element, vectors * lanes)
        start = code.let(plus(chunk.line(k), element))
        line = Bundle.of(code, [load_vector(chunk.lines, plus(start, v * lanes), lanes, mask) for v in range(vectors)], lanes)
        for r in range(len(rows)):
            share = Bundle.of(code, [splat(load(chunk.shares, chunk.share(k, r)), lanes)], lanes)
            for v, value in enumerate(line.items):
                place = (copy * count + r * vectors + v) * lanes
                before = Bundle(code, [load_vector(sums, place, lanes)], lanes)
                store_vector(code, sums, place, Bundle(code, [value], lanes).fma(share, before).items[0], lanes)

    rounds = code.let(div(chunk.size, partial))
    with code.loop(rounds, "items") as r:
        for copy in range(partial):
            add(code.let(plus(times(r, partial), copy)), copy)
    if partial > 1:
        first_left = code.let(times(rounds, partial))
        with code.loop(code.let(chunk.size - first_left), "rest") as r:
            add(code.let(plus(first_left, r)), 0)
    for s in range(count):
        total = load_vector(sums, s * lanes, lanes)
        for copy in range(1, partial):
            total = total + load_vector(sums, (copy * count + s) * lanes, lanes)
        store_vector(code, sums, s * lanes, total, lanes)
    places = [plus(plus(row.line.start, element), v * lanes) for row in rows for v in range(vectors)]
    lines = [row for row in rows for _ in range(vectors)]
    with code.when(chunk.first > i64(0)):
        for s, (row, place) in enumerate(zip(lines, places, strict=True)):
            old = load_vector(row.line.buffer, place, lanes, mask) * splat(load(row.buffer, row.down), lanes)
            store_vector(code, sums, s * lanes, load_vector(sums, s * lanes, lanes) + old, lanes)
    # All old values have been read by now, so a row may be given twice: its line is written twice with the same numbers.
    for s, (row, place) in enumerate(zip(lines, places, strict=True)):
        new = load_vector(sums, s * lanes, lanes) * splat(load(row.buffer, row.factor), lanes)
        store_vector(code, row.line.buffer, place, new, lanes, mask)


def pieces(width: int, lanes: int) -> list[tuple[int, int, Expr | None]]:
    """A line of `width` elements as vectors. Each piece is a number of vectors, the element at which the first begins, and the
    mask of each (None: all lanes)."""
    full, tail = divmod(width, lanes)
    return [
        *([(full, 0, None)] if full else []),
        *([(1, full * lanes, first_lanes(tail, lanes))] if tail else []),
    ]


def line_tiles(width: int, lanes: int, most: int) -> list[tuple[int, int, int, Expr | None]]:
    """A line of `width` elements as tiles of at most `most` vectors. Each entry is a number of tiles, the element at which the
    first begins, the vectors of each tile, and the mask of each vector (None: all lanes)."""
    out: list[tuple[int, int, int, Expr | None]] = []
    for vectors, start, mask in pieces(width, lanes):
        tiles, remainder = divmod(vectors, most)
        if tiles:
            out.append((tiles, start, most, mask))
        if remainder:
            out.append((1, start + tiles * most * lanes, remainder, mask))
    return out
