"""Finds neighbouring rows of a batch that have the same lists, such as the words of one sentence in self-attention.

A kernel is given a table of addresses for each list of each row, and the tables of neighbouring rows follow each other. So rows
with lists of n items are the same if their addresses repeat themselves after n places: one comparison of the tables with
themselves, n places on, goes over all rows with lists of one length without stopping between them, up to the first difference.
Only some of the rows are asked for their first address before, the second one among them: these mostly differ where the lists
do, but reading them for each row would take as long as comparing all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tvm import tirx

from backends.acrobat.kernels.cpu.code import Code, Expr, i64, load, plus
from backends.acrobat.kernels.cpu.operands import Interface

VECTOR = 8
"""Addresses that are compared by one instruction."""
STEP = 2 * VECTOR
"""Addresses that are compared between two decisions whether to go on."""
ROWS = 8
"""Rows from one whose first address is looked at to the next such one."""


class SharedLists:
    def __init__(self, code: Code, interface: Interface, names: Sequence[str]) -> None:
        """`names` are the params that are lists. All lists of one row have the same length."""
        self.code = code
        self.interface = interface
        self.names = names

    def runs(self, most: int) -> Iterator[tuple[Expr, Expr]]:
        """Writes a loop over all rows of the call in runs of at most `most` rows that share all their lists. Yields the first
        row of a run and the number of its rows; what the caller writes then is the body of the loop."""
        code, interface = self.code, self.interface
        begin, run = code.local(1, "int64"), code.local(1, "int64")
        store(code, begin, interface.row_begin)
        with code.loop_while(load(begin, 0) < interface.row_end):
            row = code.let(load(begin, 0))
            left = code.let(tirx.Min(interface.row_end - row, i64(most)))
            length = code.let(interface.items(self.names[0], row)[1])
            store(code, run, i64(1))
            with code.when(length > i64(0)):
                self._similar(row, left, length, run)
                with code.when(load(run, 0) > i64(1)):
                    store(code, run, self._same(row, load(run, 0), length))
            count = code.let(load(run, 0))
            yield row, count
            store(code, begin, row + count)

    def _similar(self, row: Expr, left: Expr, length: Expr, run: Expr) -> None:
        """Makes `run`, which is 1, the number of rows, at most `left`, whose lists are as long as those of `row`. It ends where
        the first address is another one, which is looked at now and then."""
        code = self.code
        first, _, items = self.interface.items(self.names[0], row)
        address = code.let(load(items, first))
        going, looked = code.local(1, "int64"), code.local(1, "int64")
        store(code, going, left)
        store(code, looked, i64(1))
        with code.loop_while(load(run, 0) < load(going, 0)):
            other = code.let(load(run, 0))
            there, count, _ = self.interface.items(self.names[0], code.let(row + other))
            same = code.let(tirx.EQ(count, length), "bool")
            store(code, run, other + tirx.Cast("int64", same))
            store(code, going, tirx.Select(same, left, other))
            with code.when(tirx.all(same, tirx.EQ(load(looked, 0), other))):
                store(code, looked, other + i64(ROWS))
                with code.when(tirx.NE(load(items, there), address)):
                    store(code, run, other)
                    store(code, going, other)

    def _same(self, row: Expr, rows: Expr, length: Expr) -> Expr:
        """How many of `rows` rows, which all have lists of `length` items, have the lists of the first, `row`."""
        code = self.code
        total = code.let((rows - i64(1)) * length)
        tables = [self.interface.items(name, row)[::2] for name in self.names]
        tables = [(code.let(first), items) for first, items in tables]
        equal, end = code.local(1, "int64"), code.local(1, "int64")
        store(code, equal, i64(0))
        store(code, end, total)
        with code.when(total >= i64(STEP)), code.loop_while(load(equal, 0) < load(end, 0)):
            at = code.let(tirx.Min(load(equal, 0), total - i64(STEP)))
            found = tirx.Broadcast(i64(0), VECTOR)
            for first, items in tables:
                for i in range(0, STEP, VECTOR):
                    place = code.let(plus(first + at, i))
                    found = tirx.bitwise_or(found, tirx.bitwise_xor(vector(items, place), vector(items, place + length)))
            differs = tirx.NE(found, tirx.Broadcast(i64(0), VECTOR))
            some = code.let(tirx.call_llvm_pure_intrin("bool", "llvm.vector.reduce.or", differs), "bool")
            store(code, equal, tirx.Select(some, at, at + i64(STEP)))
            store(code, end, tirx.Select(some, at, total))
        store(code, end, total)  # what is left, or from the difference in the last step on: one by one
        with code.loop_while(load(equal, 0) < load(end, 0)):
            at = code.let(load(equal, 0))
            store(code, equal, at + i64(1))
            for first, items in tables:
                with code.when(tirx.NE(load(items, first + at), load(items, first + at + length))):
                    store(code, equal, at)
                    store(code, end, at)
        return tirx.truncdiv(load(equal, 0), length) + i64(1)


def vector(buffer: Expr, start: Expr) -> Expr:
    return tirx.BufferLoad(buffer, [tirx.Ramp(start, i64(1), VECTOR)])


def store(code: Code, buffer: Expr, value: Expr) -> None:
    code.add(tirx.BufferStore(buffer, value, [i64(0)]))
