"""Shuffles of vectors that are taken as the rows of a matrix: transposing a square, and adding up each row into one lane."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import tirx

from backends.acrobat.kernels.cpu.code import Code, Expr, i32
from backends.acrobat.kernels.cpu.vectors import typed


def select(code: Code, a: Expr, b: Expr, lanes: Sequence[int]) -> Expr:
    """The vector of these lanes of `a` and `b`; the lanes of `b` are numbered after those of `a`."""
    return code.let(tirx.Shuffle([a, b], [i32(v) for v in lanes]), typed("float32", len(lanes)))


def transpose(code: Code, rows: Sequence[Expr]) -> list[Expr]:
    """The transpose of as many vectors as lanes: log2(lanes) times, rows that are half the square apart are interleaved."""
    lanes = len(rows)
    low = [v for i in range(lanes // 2) for v in (i, lanes + i)]
    high = [v + lanes // 2 for v in low]
    turn = 1
    while turn < lanes:
        rows = [select(code, rows[i // 2], rows[i // 2 + lanes // 2], high if i % 2 else low) for i in range(lanes)]
        turn *= 2
    return list(rows)


def lane_sums(code: Code, rows: Sequence[Expr], lanes: int) -> Expr:
    """The sums of vectors of `lanes` lanes, of which there are at most as many (both are powers of two). The result has one
    lane for each vector, and lane i is the sum of the lanes of vector i."""
    count = len(rows)
    even, odd = range(0, 2 * lanes, 2), range(1, 2 * lanes, 2)
    while len(rows) > 1:
        rows = [
            code.let(select(code, a, b, even) + select(code, a, b, odd), typed("float32", lanes))
            for a, b in zip(rows[::2], rows[1::2], strict=True)
        ]
    total = rows[0]
    while lanes > count:
        halves = [tirx.Shuffle([total], [i32(i) for i in range(first, lanes, 2)]) for first in (0, 1)]
        lanes //= 2
        a, b = (code.let(half, typed("float32", lanes)) for half in halves)
        total = code.let(a + b, typed("float32", lanes))
    return total
