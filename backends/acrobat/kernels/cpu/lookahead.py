"""Prefetches what attention reads next, while it computes: the same rows and items for the next head, and behind the last head
those of the next run of rows.

The lines of a head lie apart from each other by the size of a whole row, which the processor's own prefetching does not
foresee. They go to the second-level cache: in the first-level one, rows whose size is a multiple of a large power of two would
push each other out. (Prefetching lines of results to be written would bring them there too.) One line is prefetched at a time,
between the multiplications of the products: the processor has room for some twenty lines that are on their way from the
third-level cache, and prefetching more than that at once stops it. (Measured on Zen 4 with 64 sentences and 8 heads of 64, as
a fraction of a dense product, in turns beside other work: 0.40 without prefetching, 0.51 with 64 lines at once, 0.63 so.)
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from tvm import tirx

from backends.acrobat.kernels.cpu.code import Code, Expr, div, i64, load, mod, plus, times
from backends.acrobat.kernels.cpu.values import ListItems, Strided

LINE = 16
"""Elements of a cache line."""

Line = Callable[[Expr], tuple[Strided, Strided]]
"""Gives the query and the place of the result of a row, by its number in the run. The rows of the next run follow; beyond the
last row of all there is that row again."""
Lists = tuple[ListItems, ListItems]
"""The keys and the values of a row."""


class Lookahead:
    """Prefetches for the next head, or behind the last head for the next run's first."""

    def __init__(self, code: Code, own: Lists, after: Lists, line: Line, rows: Expr, head: Expr, heads: int) -> None:
        """`own`: the lists of this run, which has `rows` rows. `after`: those of the row after it, or if there is none, of any
        row."""
        last = code.let(tirx.EQ(i64(head), i64(heads - 1)), "bool")
        into_next_run = code.let(tirx.all(last, after[0].count > i64(0)), "bool")
        self.code = code
        self.line = line
        self.lines_lie_apart = heads > 1
        self.lists = [
            (items, code.let(tirx.Select(into_next_run, next_items.first, items.first)), prod(items.shape) // heads)
            for items, next_items in zip(own, after, strict=True)
        ]
        self.last_item = code.let(tirx.Select(into_next_run, after[0].count, own[0].count) - i64(1))
        self.first_row = code.let(tirx.Select(last, rows, i64(0)))
        self.head = code.let(tirx.Select(last, i64(0), i64(plus(head, 1))))

    def items(self, first: Expr, count: int, turn: Expr, turns: int) -> None:
        """Writes code that prefetches, in one of `turns` turns, its share of the lines of the keys and values number `first` to
        `first + count`; beyond the end of the list, the last ones. With one head there is nothing to write: its lines are whole
        rows, which mostly lie next to each other, and the processor fetches them by itself."""
        if not self.lines_lie_apart:
            return
        code = self.code
        (keys, first_key, width), (values, first_value, out) = self.lists
        ends = [count * lines_of(width), count * (lines_of(width) + lines_of(out))]
        each = -(-ends[-1] // turns)
        for i in range(each):
            line = code.let(tirx.Min(i64(plus(times(turn, each), i)), i64(ends[-1] - 1)))
            item = code.let(tirx.Min(plus(first, mod(line, count)), self.last_item))
            key, value = load(keys.items, plus(first_key, item)), load(values.items, plus(first_value, item))
            key = plus(plus(key, times(self.head, width)), times(div(line, count), LINE))
            value = plus(plus(value, times(self.head, out)), times(div(line, count), LINE) - i64(lines_of(width) * LINE))
            code.prefetch(keys.base, code.let(tirx.Select(line < i64(ends[0]), key, value)), level=2)

    def rows(self, number: Expr, most: int, turn: Expr, begin: Expr, size: int) -> None:
        """Writes code that prefetches one line of a query and one of a result: of the lines from element `begin` to
        `begin + size` of rows `number` to `number + most`, those whose turn it is."""
        code, lines = self.code, lines_of(size)
        row = code.let(plus(plus(self.first_row, number), tirx.Min(div(turn, lines), i64(most - 1))))
        element = code.let(plus(times(mod(turn, lines), LINE), begin))
        for start, (_, _, width) in zip(self.line(row), self.lists, strict=True):
            code.prefetch(start.buffer, plus(plus(start.start, times(self.head, width)), element), level=2)


def lines_of(elements: int) -> int:
    """How many cache lines so many elements fill."""
    return -(-elements // LINE)
