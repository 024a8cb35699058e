"""Attention of several rows over keys and values that they share, as the words of a sentence do in self-attention.

The keys of a chunk are transposed into scratch once for all rows of a run. The scores of a tile of queries are then a small
dense product: the accumulators of TILE queries by a block of vectors of keys stay in registers, and each element of a query is
broadcast to all lanes. The weighted sums of the values are such a product too, of the shares with the values (`segments.py`).

The lower bound of the time is four operations for each query, key and element of the width at the processor's peak, as in a
dense product of as many operations. Where a run spends its time (lists of 28 rows of 64, keys and values in the first-level
cache, Cascade Lake):

    43 %  the two products, at 0.84 of the peak
    18 %  finding which rows share their lists, by comparing their tables of addresses
    14 %  between the shares and the second product: sums across lanes
     8 %  transposing the keys, a share that falls with the number of queries
     7 %  the highest score of each query, across lanes
     5 %  exp

After that measurement, comparing both tables in one loop and giving short blocks more accumulators took 8 % off. Computing each
query alone took 1.7 times the time. Tiles of queries without transposed keys would leave the products to be added up across
lanes, which took as long as the products themselves. With 64 sentences of 5 to 50 words the gain over single queries is a
quarter of the time instead of a third: each row has tables of its own, together a megabyte, which exceeds the second-level
cache. One table for each list would save that and the comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from tvm import tirx

from backends.acrobat.kernels.cpu.code import Code, Expr, div, i64, load, mod, plus, times
from backends.acrobat.kernels.cpu.segments import CHUNK, LOWEST, SegmentWriter, pieces
from backends.acrobat.kernels.cpu.shuffles import transpose
from backends.acrobat.kernels.cpu.values import ListItems, Strided
from backends.acrobat.kernels.cpu.vectors import Bundle, load_vector, splat, store_vector

TILE = 4
"""Queries that are computed together."""
FEWEST, MOST = 4, 64
"""The rows of a run. Fewer rows are computed one by one, since transposing the keys would cost more than it saves."""

Line = Callable[[Expr], tuple[Strided, Strided]]
"""Gives the query and the place of the result of a row, by its number in the run."""


class SharedAttentionWriter:
    def __init__(self, code: Code, lanes: int, keys: ListItems, scratch: Callable[[tuple[int, ...]], Strided]) -> None:
        """`keys`: the shared list of keys. `scratch(shape)` reserves scratch for a tensor of this shape."""
        self.code = code
        self.lanes = lanes
        self.keys = keys
        self.width = keys.shape[-1]
        self.transposed = scratch((CHUNK * self.width,))
        self.states = scratch((MOST // TILE, 2, lanes))
        self.scores = scratch((SegmentWriter.room(TILE),))
        self.writer = SegmentWriter(code, lanes, self.scores, TILE)

    def attention(self, rows: Expr, line: Line, values: ListItems, scale: float) -> None:
        """`SegmentWriter.attention` for a run of 1 to MOST rows, which `line` gives by number. The lists are not empty."""
        code, lanes = self.code, self.lanes
        heads = prod(self.keys.shape[:-1])
        out = prod(values.shape) // heads
        tiles = code.let(div(rows + i64(TILE - 1), TILE))
        chunks = code.let(div(values.count + i64(CHUNK - 1), CHUNK))

        def state(t: Expr) -> Strided:
            return Strided(self.states.buffer, code.let(plus(self.states.start, times(t, 2 * lanes))), (2 * lanes,))

        with code.loop(heads, "head") as h:
            with code.loop(tiles, "tile") as t:
                self.writer.begin(state(t))
            with code.loop(chunks, "chunk") as c:
                first = code.let(times(c, CHUNK))
                size = code.let(tirx.Min(values.count - first, i64(CHUNK)))
                self._transpose(times(h, self.width), first, size)
                with code.loop(tiles, "tile") as t:
                    queries, lines = [], []
                    for j in range(TILE):  # beyond the last row, the last row again
                        query, place = line(code.let(tirx.Min(plus(times(t, TILE), j), rows - i64(1))))
                        queries.append((query.buffer, code.let(plus(query.start, times(h, self.width)))))
                        lines.append(Strided(place.buffer, code.let(plus(place.start, times(h, out))), (out,)))
                    highest = self._scores(queries, size, scale)
                    self.writer.add_chunk(highest, values, times(h, out), lines, first, size, state(t), rows - times(t, TILE))

    def _transpose(self, offset: Expr, first: Expr, size: Expr) -> None:
        """Copies element d of key k of the chunk to place (k / lanes) * width * lanes + d * lanes + k % lanes of the scratch.
        Where the keys do not fill the last vector, the last key is repeated."""
        code, lanes = self.code, self.lanes
        last = code.let(first + size - i64(1))
        with code.loop(code.let(div(size + i64(lanes - 1), lanes)), "keys") as v:
            start = code.let(plus(first, times(v, lanes)))
            items = [code.let(tirx.Min(plus(start, i), last)) for i in range(lanes)]
            lines = [code.let(plus(self.keys.item(item), offset)) for item in items]
            place = code.let(plus(self.transposed.start, times(v, self.width * lanes)))
            for vectors, begin, mask in pieces(self.width, lanes):
                with code.loop(vectors, "along") as d:
                    at = code.let(plus(times(d, lanes), begin))
                    read = [load_vector(self.keys.base, plus(key, at), lanes, mask) for key in lines]
                    turned = transpose(code, Bundle(code, (), lanes).with_items(read).items)
                    for j, vector in enumerate(turned[: self.width - begin] if mask is not None else turned):
                        store_vector(
                            code, self.transposed.buffer, plus(plus(place, times(at, lanes)), j * lanes), vector, lanes
                        )

    def _scores(self, queries: Sequence[tuple[Expr, Expr]], size: Expr, scale: float) -> list[Expr]:
        """Writes the chunk's scores to scratch. Returns a vector for each query, whose largest lane is its highest score."""
        code, lanes = self.code, self.lanes
        highest = code.local(TILE * lanes)
        for q in range(TILE):
            store_vector(code, highest, q * lanes, splat(LOWEST, lanes), lanes)
        block = lanes // TILE  # vectors: the accumulators of all queries fill half of the registers
        vectors = code.let(div(size + i64(lanes - 1), lanes))
        whole, rest = code.let(div(vectors, block)), code.let(mod(vectors, block))
        with code.loop(whole, "block") as b:
            self._block(queries, code.let(times(b, block)), block, scale, highest)
        for left in range(1, block):
            with code.when(tirx.EQ(rest, i64(left))):
                self._block(queries, code.let(times(whole, block)), left, scale, highest)
        return [load_vector(highest, q * lanes, lanes) for q in range(TILE)]

    def _block(self, queries: Sequence[tuple[Expr, Expr]], first: Expr, count: int, scale: float, highest: Expr) -> None:
        """Writes the scores of all queries with `count` vectors of keys, from vector `first` on."""
        code, lanes, width = self.code, self.lanes, self.width
        many = block_copies(lanes, count, width)
        sums = code.local(many * TILE * count * lanes)
        for i in range(many * TILE * count):
            store_vector(code, sums, i * lanes, splat(0.0, lanes), lanes)
        start = code.let(plus(self.transposed.start, times(first, width * lanes)))
        with code.loop(width // many, "along") as turn:
            for own in range(many):
                d = plus(times(turn, many), own)
                at = plus(start, times(d, lanes))
                read = [load_vector(self.transposed.buffer, plus(at, v * width * lanes), lanes) for v in range(count)]
                keys = Bundle(code, (), lanes).with_items(read)
                for q, (buffer, line) in enumerate(queries):
                    query = Bundle(code, (), lanes).with_items([splat(load(buffer, plus(line, d)), lanes)])
                    for v, key in enumerate(keys.items):
                        place = ((own * TILE + q) * count + v) * lanes
                        before = Bundle(code, [load_vector(sums, place, lanes)], lanes)
                        store_vector(code, sums, place, query.fma(Bundle(code, [key], lanes), before).items[0], lanes)
        for q in range(TILE):
            for v in range(count):
                place = (q * count + v) * lanes
                whole = load_vector(sums, place, lanes)
                for own in range(1, many):
                    whole = whole + load_vector(sums, own * TILE * count * lanes + place, lanes)
                store_vector(code, sums, place, whole, lanes)
        for q in range(TILE):
            scores = Bundle(code, [load_vector(sums, (q * count + v) * lanes, lanes) for v in range(count)], lanes) * scale
            for v, score in enumerate(scores.items):
                at = plus(times(plus(first, v), lanes), plus(self.scores.start, q * CHUNK))
                store_vector(code, self.scores.buffer, at, score, lanes)
                best = tirx.Max(score, load_vector(highest, q * lanes, lanes))
                store_vector(code, highest, q * lanes, best, lanes)


def block_copies(lanes: int, vectors: int, width: int) -> int:
    """How many partial sums are kept of each score, so that a block of few vectors has as many accumulators as one of many."""
    many = max(1, lanes // TILE // vectors)
    while width % many:
        many //= 2
    return many
