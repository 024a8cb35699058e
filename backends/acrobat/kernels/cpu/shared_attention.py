"""Attention of several rows over keys and values that they share, as the words of a sentence do in self-attention.

The queries of a block lie in the lanes of vectors. They are transposed into scratch once; the scores of a key are then its
elements, each in all lanes, times the vectors of that element of all queries, added up. So the keys are read where they lie,
and scores, maxima, shares and their sums need nothing across lanes. The weighted sums of the values are a product like that of
a dense layer (`weighted_sums.py`). Queries are scaled with log2(e) too, which makes a share one power of two.

The lower bound of the time is four operations for each query, key and element of the width at the processor's peak, as in a
dense product of as many operations. Beside it there are, for n queries and keys of width 64 in vectors of 16, on Zen 4 (n = 28:
6272 cycles of products):

    n * n / 16 vectors of exp, 11 operations each: less than a tenth of the products
    n * 64 / 16 vectors of queries, 5 shuffles each, two stores' time: a tenth, a share that falls with n
    n * (n - 1) addresses of two tables that are compared, 16 in an iteration: a twentieth with one head

Where the time goes (64 sentences of 5 to 50 rows of 64, in the third-level cache): 70 % products, of which a tenth are for
lanes beyond the last query, 12 % finding which rows share their lists, 6 % transposing the queries, 4 % shares. Blocks of 32
queries only, that is without the smaller ones, took 1.2 times the time, and so did transposed keys with the queries in tiles of
four, which needed sums and maxima across lanes. Each row has tables of addresses of its own, here together a megabyte, which is
compared as fast as the third-level cache gives it; one table for each list would save the comparison. With 8 heads the rows are
15 megabytes, which that cache gives in a tenth of the time of the products where they are prefetched evenly (`lookahead.py`);
the rest of the time is as with one head.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from tvm import tirx

from backends.acrobat.kernels.cpu.activations import LOG2E, exp2_share
from backends.acrobat.kernels.cpu.code import Code, Expr, div, i64, load, plus, times
from backends.acrobat.kernels.cpu.lookahead import Line, Lists, Lookahead
from backends.acrobat.kernels.cpu.segments import CHUNK, LOWEST
from backends.acrobat.kernels.cpu.shuffles import transpose
from backends.acrobat.kernels.cpu.values import Strided
from backends.acrobat.kernels.cpu.vectors import Bundle, accumulators, load_vector, splat, store_vector
from backends.acrobat.kernels.cpu.weighted_sums import SUMS, ListChunk, ScaledLine, add_weighted, pieces

TILE = 4
"""Queries whose weighted sums are computed together."""
KEYS = 8
"""Keys whose scores are computed together, if there are enough registers."""
SIDE = 4
"""Vectors of shares that are computed side by side."""
FEWEST, MOST = 4, 64
"""The rows of a run. Fewer rows are computed one by one, since transposing the queries would cost more than it saves."""
NARROW = 8
"""The lanes of the smallest block."""


@dataclass(frozen=True, slots=True)
class QueryBlock:
    """The size of a block of queries: `vectors` vectors of `lanes` lanes."""

    vectors: int
    lanes: int

    @property
    def queries(self) -> int:
        """How many queries the block has room for."""
        return self.vectors * self.lanes


class SharedAttentionWriter:
    """Writes attention for a run of 1 to MOST rows with the shared lists `own`, which are not empty. `after` is what
    `Lookahead` takes. `scratch(shape)` reserves scratch for a tensor of this shape."""

    def __init__(
        self,
        code: Code,
        lanes: int,
        own: Lists,
        after: Lists,
        line: Line,
        rows: Expr,
        scratch: Callable[[tuple[int, ...]], Strided],
    ) -> None:
        self.code = code
        self.lanes = lanes
        self.own, self.after = own, after
        self.keys, self.values = own
        self.line, self.rows = line, rows
        self.heads = prod(self.keys.shape[:-1])
        self.width, self.out = self.keys.shape[-1], prod(self.values.shape) // self.heads
        self.blocks = [QueryBlock(2, lanes), QueryBlock(1, lanes), *([QueryBlock(1, NARROW)] if lanes > NARROW else [])]
        self.most = self.blocks[0].queries
        self.queries = scratch((self.width, self.most))
        self.shares = scratch((CHUNK + SIDE, self.most))
        self.highest, self.totals, self.down, self.factors = (scratch((self.most,)) for _ in range(4))
        self.packed = scratch((CHUNK, self.out)) if self.heads > 1 else None

    def write(self, scale: float) -> None:
        """result = the sum of the values, each with its share of softmax(scale * query . key), head by head and row by row."""
        code, keys = self.code, self.keys
        chunks = code.let(div(keys.count + i64(CHUNK - 1), CHUNK))
        end = code.local(1, "int64")  # the row behind the last block
        with code.loop(self.heads, "head") as h:
            ahead = Lookahead(code, self.own, self.after, self.line, self.rows, h, self.heads)
            code.add(tirx.BufferStore(end, i64(0), [i64(0)]))
            with code.loop_while(load(end, 0) < self.rows):
                first = code.let(load(end, 0))
                choices = self._choices(code.let(self.rows - first))
                for fits, block in choices:
                    with code.when(fits):
                        self._begin(block, first, times(h, self.width), scale)
                        code.add(tirx.BufferStore(end, plus(first, block.queries), [i64(0)]))
                count = code.let(tirx.Min(self.rows, load(end, 0)) - first)
                with code.loop(chunks, "chunk") as c:
                    item = code.let(times(c, CHUNK))
                    size = code.let(tirx.Min(keys.count - item, i64(CHUNK)))
                    for fits, block in choices:
                        with code.when(fits):
                            self._scores(block, times(h, self.width), item, size, ahead)
                            self._shares(block, item, size)
                    self._add(first, count, h, item, size, ahead)

    def _choices(self, rows: Expr) -> list[tuple[Expr, QueryBlock]]:
        """Each size of block with the condition that it is the next one, where `rows` rows are left: it is the largest that has
        fewer than NARROW queries too many."""
        out, above = [], i64(MOST)
        for block in self.blocks:
            least = i64(block.queries - NARROW if block.queries > NARROW else 0)
            out.append((self.code.let(tirx.all(rows > least, rows <= above), "bool"), block))
            above = least
        return out

    def _begin(self, block: QueryBlock, first: Expr, offset: Expr, scale: float) -> None:
        """Copies element d of query q of the block to place d * most + q, scaled. Beyond the last row the last is repeated."""
        code, lanes, last = self.code, block.lanes, self.rows - i64(1)
        with code.loop(block.vectors, "vector") as v:
            start = code.let(plus(first, times(v, lanes)))
            queries = [self.line(code.let(tirx.Min(plus(start, i), last)))[0] for i in range(lanes)]
            starts = [code.let(plus(q.start, offset)) for q in queries]
            for vectors, begin, mask in pieces(self.width, lanes):
                with code.loop(vectors, "along") as d:
                    at = code.let(plus(times(d, lanes), begin))
                    items = [load_vector(q.buffer, plus(s, at), lanes, mask) for q, s in zip(queries, starts, strict=True)]
                    square = Bundle.of(code, items, lanes) * (scale * LOG2E)
                    address = code.let(plus(plus(times(at, self.most), times(v, lanes)), self.queries.start))
                    for j, vector in enumerate(transpose(code, square.items)[: min(lanes, self.width - begin)]):
                        store_vector(code, self.queries.buffer, plus(address, j * self.most), vector, lanes)
        self._store(self.highest, Bundle(code, [splat(LOWEST, lanes)] * block.vectors, lanes))
        self._store(self.totals, Bundle(code, [splat(0.0, lanes)] * block.vectors, lanes))

    def _store(self, target: Strided, vectors: Bundle) -> None:
        for v, item in enumerate(vectors.items):
            store_vector(self.code, target.buffer, plus(target.start, v * vectors.lanes), item, vectors.lanes)

    def _load(self, source: Strided, block: QueryBlock) -> Bundle:
        lanes = block.lanes
        items = [load_vector(source.buffer, plus(source.start, v * lanes), lanes) for v in range(block.vectors)]
        return Bundle.of(self.code, items, lanes)

    def _scores(self, block: QueryBlock, offset: Expr, first: Expr, size: Expr, ahead: Lookahead) -> None:
        """Writes the scores of the chunk's keys to scratch, a line for each key. Sets `highest` to the highest scores so far,
        and `down` to what sums over earlier chunks are multiplied with."""
        code, lanes = self.code, block.lanes
        before = self._load(self.highest, block)
        highest = Strided(code.local(block.queries), 0, (block.queries,))
        self._store(highest, before)
        tile = KEYS if self.lanes > NARROW else KEYS // block.vectors
        half = tile // 2
        tiles = code.let(div(size + i64(half - 1), tile))
        with code.loop(tiles, "keys") as t:
            self._tile(block, offset, first, code.let(times(t, tile)), size, tile, highest, ahead)
        with code.when(size > times(tiles, tile)):
            self._tile(block, offset, first, code.let(times(tiles, tile)), size, half, highest, ahead)
        now = self._load(highest, block)
        self._store(self.down, exp2_share(before - now))
        self._store(self.highest, now)
        for k in range(SIDE // block.vectors - 1):  # shares that are 0, up to whole bundles
            address = code.let(plus(times(plus(size, k), self.most), self.shares.start))
            nothing = Bundle(code, [splat(float("-inf"), lanes)] * block.vectors, lanes)
            self._store(Strided(self.shares.buffer, address, (self.most,)), nothing)

    def _tile(
        self,
        block: QueryBlock,
        offset: Expr,
        first: Expr,
        key: Expr,
        size: Expr,
        count: int,
        highest: Strided,
        ahead: Lookahead,
    ) -> None:
        """The scores of `count` keys of the chunk, from number `key` on; beyond the last key, of the last key again. Small
        tiles have `partial` sums of each score, to which the elements of the width are added in turn."""
        code, lanes, scores = self.code, block.lanes, count * block.vectors
        numbers = [code.let(tirx.Min(plus(key, i), size - i64(1))) for i in range(count)]
        starts = [code.let(plus(self.keys.item(plus(first, k)), offset)) for k in numbers]
        partial = max(1, SUMS // scores)
        while self.width % partial:
            partial //= 2
        sums = accumulators(code, partial * scores, lanes)
        turns = self.width // partial
        with code.loop(turns, "along") as turn:
            ahead.items(plus(first, key), count, turn, turns)
            for copy in range(partial):
                d = plus(times(turn, partial), copy)
                line = plus(times(d, self.most), self.queries.start)
                queries = self._load(Strided(self.queries.buffer, line, (self.most,)), block)
                for i, start in enumerate(starts):
                    element = Bundle.of(code, [splat(load(self.keys.base, plus(start, d)), lanes)], lanes)
                    for v, query in enumerate(queries.items):
                        address = (copy * scores + i * block.vectors + v) * lanes
                        before = Bundle(code, [load_vector(sums, address, lanes)], lanes)
                        store_vector(code, sums, address, Bundle(code, [query], lanes).fma(element, before).items[0], lanes)
        for i, number in enumerate(numbers):
            total = self._load(Strided(sums, i * block.queries, (block.queries,)), block)
            for copy in range(1, partial):
                total = total + self._load(Strided(sums, copy * scores * lanes + i * block.queries, (block.queries,)), block)
            address = code.let(plus(times(number, self.most), self.shares.start))
            self._store(Strided(self.shares.buffer, address, (self.most,)), total)
            self._store(highest, total.map(tirx.Max, self._load(highest, block)))

    def _shares(self, block: QueryBlock, first: Expr, size: Expr) -> None:
        """Replaces each score of the chunk by its share, adds the shares to `totals`, and sets `factors`: after the last chunk
        the lines are divided by the sums of all shares."""
        code, lanes, vectors = self.code, block.lanes, block.vectors
        side = SIDE // vectors
        highest = self._load(self.highest, block)
        sums = accumulators(code, side * vectors, lanes)
        with code.loop(code.let(div(size + i64(side - 1), side)), "shares") as k:
            line = code.let(plus(times(k, side * self.most), self.shares.start))
            places = [plus(line, i * self.most + v * lanes) for i in range(side) for v in range(vectors)]
            scores = Bundle.of(code, [load_vector(self.shares.buffer, at, lanes) for at in places], lanes)
            shares = exp2_share(scores - Bundle(code, highest.items * side, lanes))
            for s, (at, share) in enumerate(zip(places, shares.items, strict=True)):
                store_vector(code, self.shares.buffer, at, share, lanes)
                store_vector(code, sums, s * lanes, load_vector(sums, s * lanes, lanes) + share, lanes)
        totals = self._load(self.totals, block) * self._load(self.down, block)
        for i in range(side):
            totals = totals + self._load(Strided(sums, i * block.queries, (block.queries,)), block)
        self._store(self.totals, totals)
        self._store(self.factors, Bundle(code, [splat(1.0, lanes)] * vectors, lanes))
        with code.when(first + size >= self.keys.count):
            self._store(self.factors, 1.0 / totals)

    def _add(self, row: Expr, count: Expr, head: Expr, first: Expr, size: Expr, ahead: Lookahead) -> None:
        """Adds the values of the chunk, with their shares, to the lines of `count` rows from `row` on."""
        code = self.code
        offset = times(head, self.out)
        lines, line = self._lines(row, offset, first, size)
        with code.loop(code.let(div(count + i64(TILE - 1), TILE)), "tile") as t:
            query = code.let(times(t, TILE))
            shares = code.let(plus(query, self.shares.start))

            def share(k: Expr, r: int, shares: Expr = shares) -> Expr:
                return plus(plus(times(k, self.most), shares), r)

            chunk = ListChunk(first, size, lines, line, self.shares.buffer, share)
            rows = []
            for j in range(TILE):  # beyond the last row, the last row again
                own = code.let(tirx.Min(plus(query, j), count - i64(1)))
                place = self.line(code.let(plus(row, own)))[1]
                result = Strided(place.buffer, code.let(plus(place.start, offset)), (self.out,))
                scaling = [code.let(plus(own, numbers.start)) for numbers in (self.down, self.factors)]
                rows.append(ScaledLine(result, self.down.buffer, *scaling))

            def beside(k: Expr, begin: Expr, size: int, query: Expr = query) -> None:
                ahead.rows(plus(row, query), TILE, k, begin, size)

            add_weighted(code, self.lanes, chunk, rows, beside)

    def _lines(self, row: Expr, offset: Expr, first: Expr, size: Expr) -> tuple[Expr, Callable[[Expr], Expr]]:
        """Where the lines of the chunk's values lie: the buffer, and the place of a line by its number.

        With several heads they are packed into scratch first, once for all rows of the run if there is one chunk. (Lines as far
        apart as rows of 6 KiB share so few places of the first-level cache that each tile of queries would read them from the
        second one: twice the time for the product on Zen 4.)"""
        code, values, packed = self.code, self.values, self.packed
        if packed is None:
            return values.base, lambda k: plus(values.item(plus(first, k)), offset)

        def place(k: Expr) -> Expr:
            return plus(times(k, self.out), packed.start)

        with code.when(tirx.any(tirx.EQ(row, i64(0)), values.count > i64(CHUNK))), code.loop(size, "value") as k:
            start, target = code.let(plus(values.item(plus(first, k)), offset)), code.let(place(k))
            for vectors, begin, mask in pieces(self.out, self.lanes):
                with code.loop(vectors, "along") as v:
                    at = code.let(plus(times(v, self.lanes), begin))
                    line = load_vector(values.base, plus(start, at), self.lanes, mask)
                    store_vector(code, packed.buffer, plus(target, at), line, self.lanes, mask)
        return packed.buffer, place
