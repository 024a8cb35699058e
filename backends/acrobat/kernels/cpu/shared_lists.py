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
    """Writes the search for neighbouring rows with the same lists. `names` are the params that are lists; all lists of one row
    have the same length."""

    def __init__(self, code: Code, interface: Interface, names: Sequence[str]) -> None:
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
            limit = code.let(tirx.Min(interface.row_end - row, i64(most)))
            length = code.let(interface.items(self.names[0], row)[1])
            store(code, run, i64(1))
            with code.when(length > i64(0)):
                self._similar(row, limit, length, run)
                with code.when(load(run, 0) > i64(1)):
                    store(code, run, self._count_same(row, load(run, 0), length))
            count = code.let(load(run, 0))
            yield row, count
            store(code, begin, row + count)

    def _similar(self, row: Expr, limit: Expr, length: Expr, run: Expr) -> None:
        """Sets `run`, which is 1 before, to the number of rows from `row` on, at most `limit`, whose lists have `length` items.
        Of one row in ROWS the first address is compared with that of `row` too: the run ends where it differs."""
        code = self.code
        first, _, items = self.interface.items(self.names[0], row)
        address = code.let(load(items, first))
        end, next_check = code.local(1, "int64"), code.local(1, "int64")
        store(code, end, limit)
        store(code, next_check, i64(1))
        with code.loop_while(load(run, 0) < load(end, 0)):
            i = code.let(load(run, 0))
            start, count, _ = self.interface.items(self.names[0], code.let(row + i))
            same = code.let(tirx.EQ(count, length), "bool")
            store(code, run, i + tirx.Cast("int64", same))
            store(code, end, tirx.Select(same, limit, i))
            with code.when(tirx.all(same, tirx.EQ(load(next_check, 0), i))):
                store(code, next_check, i + i64(ROWS))
                with code.when(tirx.NE(load(items, start), address)):
                    store(code, run, i)
                    store(code, end, i)

    def _count_same(self, row: Expr, rows: Expr, length: Expr) -> Expr:
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
            difference = tirx.Broadcast(i64(0), VECTOR)
            for first, items in tables:
                for i in range(0, STEP, VECTOR):
                    address = code.let(plus(first + at, i))
                    bits = tirx.bitwise_xor(vector(items, address), vector(items, address + length))
                    difference = tirx.bitwise_or(difference, bits)
            differs = tirx.NE(difference, tirx.Broadcast(i64(0), VECTOR))
            any_differs = code.let(tirx.call_llvm_pure_intrin("bool", "llvm.vector.reduce.or", differs), "bool")
            store(code, equal, tirx.Select(any_differs, at, at + i64(STEP)))
            store(code, end, tirx.Select(any_differs, at, total))
        store(code, end, total)  # from the last step's difference on, or from the last whole step on, address by address
        with code.loop_while(load(equal, 0) < load(end, 0)):
            at = code.let(load(equal, 0))
            store(code, equal, at + i64(1))
            for first, items in tables:
                with code.when(tirx.NE(load(items, first + at), load(items, first + at + length))):
                    store(code, equal, at)
                    store(code, end, at)
        return tirx.truncdiv(load(equal, 0), length) + i64(1)


def vector(buffer: Expr, start: Expr) -> Expr:
    """VECTOR addresses of a table, from `start` on."""
    return tirx.BufferLoad(buffer, [tirx.Ramp(start, i64(1), VECTOR)])


def store(code: Code, buffer: Expr, value: Expr) -> None:
    """Sets a variable: a local buffer of one element."""
    code.add(tirx.BufferStore(buffer, value, [i64(0)]))
