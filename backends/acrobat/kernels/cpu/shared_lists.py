"""Finds neighbouring rows of a batch that have the same lists, such as the words of one sentence in self-attention.

A kernel is given a table of addresses for each list of each row. The tables of neighbouring rows are compared: first their
first addresses, in which rows mostly differ already, then all of them, eight addresses at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tvm import tirx

from backends.acrobat.kernels.cpu.code import Code, Expr, div, i64, load, plus, times
from backends.acrobat.kernels.cpu.operands import Interface

ADDRESSES = 8
"""Addresses that are compared at once."""


class SharedLists:
    def __init__(self, code: Code, interface: Interface, names: Sequence[str]) -> None:
        """`names` are the params that are lists."""
        self.code = code
        self.interface = interface
        self.names = names

    def runs(self, most: int) -> Iterator[tuple[Expr, Expr]]:
        """Writes a loop over all rows of the call in runs of at most `most` rows that share all their lists. Yields the first
        row of a run and the number of its rows; what the caller writes then is the body of the loop."""
        code, interface = self.code, self.interface
        begin, run, going = (code.local(1, "int64") for _ in range(3))
        store(code, begin, interface.row_begin)
        with code.loop_while(load(begin, 0) < interface.row_end):
            row = code.let(load(begin, 0))
            left = code.let(tirx.Min(interface.row_end - row, i64(most)))
            store(code, run, i64(1))
            store(code, going, left)
            with code.loop_while(load(run, 0) < load(going, 0)):
                other = code.let(load(run, 0))
                same = tirx.Cast("int64", self._same(row, code.let(row + other)))
                store(code, going, left * same)
                store(code, run, other + same)
            count = code.let(load(run, 0))
            yield row, count
            store(code, begin, row + count)

    def _same(self, row: Expr, other: Expr) -> Expr:
        """Whether two rows have the same lists. All lists of one row have the same length."""
        code = self.code
        different = code.local(1, "int64")
        tables = [(*(code.let(self.interface.items(name, r)[0]) for r in (row, other)), name) for name in self.names]
        count, length = (code.let(self.interface.items(self.names[0], r)[1]) for r in (row, other))
        pairs = [(self.interface.items(name, row)[2], first, second) for first, second, name in tables]
        store(code, different, tirx.bitwise_xor(count, length))
        with code.when(tirx.all(tirx.EQ(load(different, 0), i64(0)), count > i64(0))):
            items, first, second = pairs[0]
            store(code, different, tirx.bitwise_xor(load(items, first), load(items, second)))
            with code.when(tirx.EQ(load(different, 0), i64(0))):
                self._compare(pairs, count, different)
        return tirx.EQ(load(different, 0), i64(0))

    def _compare(self, pairs: Sequence[tuple[Expr, Expr, Expr]], count: Expr, different: Expr) -> None:
        """Makes `different` other than 0 if one of the first `count` addresses (at least one) differs in any pair of tables."""
        code = self.code
        with code.when(count >= i64(ADDRESSES)):
            found = code.local(ADDRESSES, "int64")
            lanes = [tirx.Ramp(i64(0), i64(1), ADDRESSES)]
            code.add(tirx.BufferStore(found, tirx.Broadcast(i64(0), ADDRESSES), lanes))
            with code.loop(code.let(div(count + i64(ADDRESSES - 1), ADDRESSES)), "addresses") as v:
                at = code.let(tirx.Min(times(v, ADDRESSES), count - i64(ADDRESSES)))
                for items, *starts in pairs:
                    unequal = tirx.bitwise_xor(*(vector(items, plus(start, at)) for start in starts))
                    code.add(tirx.BufferStore(found, tirx.bitwise_or(tirx.BufferLoad(found, lanes), unequal), lanes))
            whole = tirx.call_llvm_pure_intrin("int64", "llvm.vector.reduce.or", tirx.BufferLoad(found, lanes))
            store(code, different, whole)
        with code.when(count < i64(ADDRESSES)), code.loop(count, "address") as i:
            for items, *starts in pairs:
                unequal = tirx.bitwise_xor(*(load(items, plus(start, i)) for start in starts))
                store(code, different, tirx.bitwise_or(load(different, 0), unequal))


def vector(buffer: Expr, start: Expr) -> Expr:
    return tirx.BufferLoad(buffer, [tirx.Ramp(start, i64(1), ADDRESSES)])


def store(code: Code, buffer: Expr, value: Expr) -> None:
    code.add(tirx.BufferStore(buffer, value, [i64(0)]))
