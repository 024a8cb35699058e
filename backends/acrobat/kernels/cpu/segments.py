"""Segment kernels: softmax-weighted sums over lists of rows, and attention over them, without padding (the idea is CoRa's,
Fegade et al., MLSys 2022).

Each row of the batch has a list of any length, which is gone through in chunks. The scores of a chunk are kept in scratch.
Where a list has several chunks, the sums so far are scaled down whenever a chunk has a higher score (Milakov and Gimelshein,
"Online normalizer calculation for softmax", 2018).

Rows that share their keys and values, such as the words of a sentence in self-attention, are computed in tiles of four: the
keys are transposed once for all of them (`shared_attention.py`), keys and values are loaded once for a tile, and the softmaxes
of four queries are four independent chains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from tvm import tirx

from backends.acrobat.kernels.cpu.activations import exp
from backends.acrobat.kernels.cpu.code import Code, Expr, div, i32, i64, load, plus, times
from backends.acrobat.kernels.cpu.loops import fill
from backends.acrobat.kernels.cpu.shuffles import lane_sums, select
from backends.acrobat.kernels.cpu.values import Formula, ListItems, Strided
from backends.acrobat.kernels.cpu.vectors import Bundle, first_lanes, load_vector, splat, store_vector, typed

CHUNK = 64
"""The items of a list whose scores are in scratch at once."""
GROUP = 8
"""How many scores of one query are computed side by side, and how many accumulators a weighted sum has: so many independent
chains of fused multiplications and additions keep the units busy."""
LOWEST = -3.4028234663852886e38
"""The first highest score, in place of minus infinity: a masked item (-inf) gets the share 0, a list of such items NaN."""

Scores = Callable[[Expr, Expr, Expr], Sequence[Expr]]
"""Called with (h, first, size), writes the scores of head `h` of `size` items from item `first` on to scratch. Returns a vector
for each query, whose largest lane is its highest score. NaN need not count: its share is NaN whatever is subtracted."""


class SegmentWriter:
    """Writes the sums of `queries` rows that share a list. Element CHUNK q + k of the scratch is the score of query q, item
    k."""

    def __init__(self, code: Code, lanes: int, scratch: Strided, queries: int = 1) -> None:
        """`scratch` has `room(queries)` elements."""
        self.code = code
        self.lanes = lanes
        self.scratch = scratch
        self.queries = queries

    @staticmethod
    def room(queries: int) -> int:
        return CHUNK * queries

    def softmax(self, scores: ListItems, values: ListItems, place: Strided) -> None:
        """place = the sum of `values`, each with its score's share of a softmax."""
        code = self.code

        def chunk(h: Expr, first: Expr, size: Expr) -> Sequence[Expr]:
            highest = code.local(1)
            store_vector(code, highest, 0, splat(LOWEST, 1), 1)
            with code.loop(size, "item") as k:
                score = code.let(load(scores.base, plus(scores.item(plus(first, k)), h)), "float32")
                store_vector(code, self.scratch.buffer, plus(k, self.scratch.start), score, 1)
                store_vector(code, highest, 0, tirx.Max(score, load(highest, 0)), 1)
            return [splat(load(highest, 0), self.lanes)]

        self._weighted(prod(scores.shape), values, place, chunk)

    def attention(self, query: Strided, keys: ListItems, values: ListItems, place: Strided, scale: float) -> None:
        """place = the sum of `values`, each with its share of softmax(scale * query . key), head by head."""
        code, width = self.code, keys.shape[-1]

        def chunk(h: Expr, first: Expr, size: Expr) -> Sequence[Expr]:
            highest = code.local(GROUP)
            store_vector(code, highest, 0, splat(LOWEST, GROUP), GROUP)
            last = code.let(first + size - i64(1))
            line = code.let(plus(query.start, times(h, width)))
            with code.loop(code.let(div(size + i64(GROUP - 1), GROUP)), "group") as g:
                start = code.let(plus(first, times(g, GROUP)))
                items = [code.let(tirx.Min(plus(start, i), last)) for i in range(GROUP)]
                starts = [code.let(plus(keys.item(item), times(h, width))) for item in items]
                products = self._products(query.buffer, line, keys.base, starts, width)
                scores = code.let(products * splat(scale, GROUP), typed("float32", GROUP))
                store_vector(code, self.scratch.buffer, plus(times(g, GROUP), self.scratch.start), scores, GROUP)
                store_vector(code, highest, 0, tirx.Max(scores, load_vector(highest, 0, GROUP)), GROUP)
            half = load_vector(highest, 0, GROUP)
            whole = [half] if self.lanes == GROUP else [half, half]
            return [tirx.Shuffle(whole, [i32(lane) for lane in range(self.lanes)])]

        self._weighted(prod(keys.shape[:-1]), values, place, chunk)

    def _products(self, buffer: Expr, query: Expr, keys: Expr, starts: Sequence[Expr], width: int) -> Expr:
        """The dot products of a line of the query with the lines of a group of keys, one in each lane."""
        code, lanes = self.code, self.lanes
        totals = code.local(GROUP * lanes)
        for i in range(GROUP):
            store_vector(code, totals, i * lanes, splat(0.0, lanes), lanes)
        for vectors, start, mask in pieces(width, lanes):
            with code.loop(vectors, "along") as v:
                at = plus(times(v, lanes), start)
                q = Bundle(code, (), lanes).with_items([load_vector(buffer, plus(query, at), lanes, mask)])
                for i, key in enumerate(starts):
                    before = Bundle(code, [load_vector(totals, i * lanes, lanes)], lanes)
                    after = q.fma(Bundle(code, [load_vector(keys, plus(key, at), lanes, mask)], lanes), before)
                    store_vector(code, totals, i * lanes, after.items[0], lanes)
        return lane_sums(code, [load_vector(totals, i * lanes, lanes) for i in range(GROUP)], lanes)

    def _weighted(self, heads: int, values: ListItems, place: Strided, scores: Scores) -> None:
        """For each head the sum of the values' lines, weighted by the softmax of its scores; zero for an empty list."""
        code, lanes, count = self.code, self.lanes, values.count
        width = prod(values.shape) // heads
        chunks = code.let(div(count + i64(CHUNK - 1), CHUNK))
        state = code.local(2 * lanes)
        with code.loop(heads, "head") as h:
            line = Strided(place.buffer, code.let(plus(place.start, times(h, width))), (width,))
            with code.when(count < i64(1)):
                fill(code, line, Formula("identity", [0.0], (width,)), lanes)
            self.begin(Strided(state, 0, (2 * lanes,)))
            with code.loop(chunks, "chunk") as c:
                first = code.let(times(c, CHUNK))
                size = code.let(tirx.Min(count - first, i64(CHUNK)))
                highest = scores(h, first, size)
                self.add_chunk(highest, values, times(h, width), [line], first, size, Strided(state, 0, (2 * lanes,)))

    def begin(self, state: Strided) -> None:
        """Stores the state before the first chunk: the highest score, and the sum of exp(score - highest). Each is a vector of
        which an equal part of the lanes belongs to each query; all lanes of a part are equal."""
        store_vector(self.code, state.buffer, state.start, splat(LOWEST, self.lanes), self.lanes)
        store_vector(self.code, state.buffer, plus(state.start, self.lanes), splat(0.0, self.lanes), self.lanes)

    def add_chunk(
        self,
        highest: Sequence[Expr],
        values: ListItems,
        offset: Expr,
        lines: Sequence[Strided],
        first: Expr,
        size: Expr,
        state: Strided,
        rows: Expr = 1,
    ) -> None:
        """Adds the chunk whose scores are in scratch to `lines`, one for each query. `offset` is where the head's line lies
        within a value. After the last chunk the lines are divided by the sum of all shares. Only the first `rows` lines are
        different ones; the others repeat the last of them, and are added to only once."""
        code, lanes = self.code, self.lanes
        down, factor, new = code.local(lanes), code.local(lanes), code.local(lanes)
        before = Bundle(code, (), lanes).with_items([load_vector(state.buffer, state.start, lanes)])
        found = self._across(highest, tirx.Max)
        after = before.map(lambda b: tirx.Max(found, b))
        store_vector(code, new, 0, after.items[0], lanes)
        store_vector(code, state.buffer, state.start, after.items[0], lanes)
        store_vector(code, down, 0, exp(before - after).items[0], lanes)
        total = self._across(self._shares(size, new), lambda a, b: a + b)
        at = plus(state.start, lanes)
        total = code.let(total + load_vector(state.buffer, at, lanes) * load_vector(down, 0, lanes), typed("float32", lanes))
        store_vector(code, state.buffer, at, total, lanes)
        goes_on = code.let(tirx.Cast("int32", first + size < values.count), "int32")
        ended = tirx.EQ(tirx.Broadcast(goes_on, lanes), splat(0, lanes, "int32"))
        store_vector(code, factor, 0, tirx.Select(ended, splat(1.0, lanes) / total, splat(1.0, lanes)), lanes)
        self._add(values, offset, lines, first, size, down, factor, rows)

    def _across(self, vectors: Sequence[Expr], combine: Callable[[Expr, Expr], Expr]) -> Expr:
        """Combines the lanes of each vector. The result of vector q is in all lanes of the q-th of as many equal parts."""
        code, lanes, dtype = self.code, self.lanes, typed("float32", self.lanes)
        vectors = [code.let(v, dtype) for v in vectors]
        even, odd = range(0, 2 * lanes, 2), range(1, 2 * lanes, 2)
        while len(vectors) > 1:
            pairs = zip(vectors[::2], vectors[1::2], strict=True)
            vectors = [code.let(combine(select(code, a, b, even), select(code, a, b, odd)), dtype) for a, b in pairs]
        step = 1
        while step < lanes // self.queries:
            turned = code.let(tirx.Shuffle([vectors[0]], [i32(lane ^ step) for lane in range(lanes)]), dtype)
            vectors = [code.let(combine(vectors[0], turned), dtype)]
            step *= 2
        return vectors[0]

    def of_query(self, buffer: Expr, q: int) -> Expr:
        """The number of query q in all lanes, from a vector in which each query has a part."""
        value = load(buffer, q * (self.lanes // self.queries))
        return self.code.let(splat(value, self.lanes), typed("float32", self.lanes))

    def _shares(self, size: Expr, highest: Expr) -> list[Expr]:
        """Replaces each score of the chunk by exp(score - highest). Returns for each query their sums, lane by lane."""
        code, lanes, queries = self.code, self.lanes, self.queries
        sums = code.local(queries * lanes)
        for q in range(queries):
            store_vector(code, sums, q * lanes, splat(0.0, lanes), lanes)
        lows = Bundle(code, [self.of_query(highest, q) for q in range(queries)], lanes)
        count = code.let(tirx.Cast("int32", size), "int32")
        with code.loop(code.let(div(size + i64(lanes - 1), lanes)), "scores") as v:
            there = first_lanes(count - tirx.Cast("int32", i64(times(v, lanes))), lanes)
            at = [code.let(plus(times(v, lanes), plus(self.scratch.start, q * CHUNK))) for q in range(queries)]
            scores = Bundle(code, (), lanes).with_items([load_vector(self.scratch.buffer, a, lanes) for a in at])
            shares = exp(scores - lows).map(lambda s, none: tirx.Select(there, s, none), 0.0)
            for q, share in enumerate(shares.items):
                store_vector(code, self.scratch.buffer, at[q], share, lanes)
                store_vector(code, sums, q * lanes, load_vector(sums, q * lanes, lanes) + share, lanes)
        return [load_vector(sums, q * lanes, lanes) for q in range(queries)]

    def _add(
        self,
        values: ListItems,
        offset: Expr,
        lines: Sequence[Strided],
        first: Expr,
        size: Expr,
        down: Expr,
        factor: Expr,
        rows: Expr,
    ) -> None:
        """line = factor * (line * down + the sum of share * value over the chunk); the first chunk leaves out the line's old
        value. The lines are computed tile by tile, with the sums of a tile in registers, and several partial sums of each where
        a tile is short."""
        code, lanes, queries, (width,) = self.code, self.lanes, self.queries, lines[0].shape
        for tiles, start, vectors, mask in _tiles(width, lanes, GROUP if queries == 1 else lanes // queries):
            many = max(1, GROUP // (vectors * queries))
            with code.loop(tiles, "tile") as t:
                at = code.let(plus(times(t, vectors * lanes), start))
                sums = code.local(many * queries * vectors * lanes)
                for s in range(many * queries * vectors):
                    store_vector(code, sums, s * lanes, splat(0.0, lanes), lanes)

                def add(
                    k: Expr, own: int, at: Expr = at, sums: Expr = sums, vectors: int = vectors, mask: Expr | None = mask
                ) -> None:
                    item = code.let(plus(plus(values.item(plus(first, k)), offset), at))
                    loaded = [load_vector(values.base, plus(item, v * lanes), lanes, mask) for v in range(vectors)]
                    line = Bundle(code, (), lanes).with_items(loaded)
                    for q in range(queries):
                        score = plus(plus(k, self.scratch.start), q * CHUNK)
                        share = Bundle(code, (), lanes).with_items([splat(load(self.scratch.buffer, score), lanes)])
                        for v, value in enumerate(line.items):
                            place = ((own * queries + q) * vectors + v) * lanes
                            before = Bundle(code, [load_vector(sums, place, lanes)], lanes)
                            store_vector(code, sums, place, Bundle(code, [value], lanes).fma(share, before).items[0], lanes)

                rounds = code.let(div(size, many))
                with code.loop(rounds, "items") as r:
                    for own in range(many):
                        add(code.let(plus(times(r, many), own)), own)
                if many > 1:
                    done = code.let(times(rounds, many))
                    with code.loop(code.let(size - done), "rest") as r:
                        add(code.let(plus(done, r)), 0)
                for q, line in enumerate(lines):
                    scaled, less = self.of_query(factor, q), self.of_query(down, q)
                    for v in range(vectors):
                        whole = load_vector(sums, (q * vectors + v) * lanes, lanes)
                        for own in range(1, many):
                            whole = whole + load_vector(sums, ((own * queries + q) * vectors + v) * lanes, lanes)
                        new = Bundle(code, (), lanes).with_items([whole])
                        place = plus(plus(line.start, at), v * lanes)
                        with code.when(first < i64(1)):
                            store_vector(code, line.buffer, place, new.items[0] * scaled, lanes, mask)
                        with code.when(first > i64(0) if q == 0 else tirx.all(first > i64(0), i64(rows) > i64(q))):
                            old = Bundle(code, (), lanes).with_items([load_vector(line.buffer, place, lanes, mask)])
                            after = old.fma(Bundle(code, [less], lanes), new).items[0]
                            store_vector(code, line.buffer, place, after * scaled, lanes, mask)


def pieces(width: int, lanes: int) -> list[tuple[int, int, Expr | None]]:
    """A line as vectors: pieces of so many vectors, the element at which they begin, and the mask of each vector."""
    whole, tail = divmod(width, lanes)
    return [
        *([(whole, 0, None)] if whole else []),
        *([(1, whole * lanes, first_lanes(tail, lanes))] if tail else []),
    ]


def _tiles(width: int, lanes: int, most: int) -> list[tuple[int, int, int, Expr | None]]:
    """A line as tiles of `most` vectors and the rest: how many, their first element, the vectors of each, and their mask."""
    out: list[tuple[int, int, int, Expr | None]] = []
    for vectors, start, mask in pieces(width, lanes):
        tiles, rest = divmod(vectors, most)
        if tiles:
            out.append((tiles, start, most, mask))
        if rest:
            out.append((1, start + tiles * most * lanes, rest, mask))
    return out
