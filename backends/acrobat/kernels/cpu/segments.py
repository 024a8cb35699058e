"""Segment kernels: softmax-weighted sums over lists of rows, and attention over them, without padding (the idea is CoRa's,
Fegade et al., MLSys 2022).

Each row of the batch has a list of any length, which is gone through in chunks. The scores of a chunk are kept in scratch.
Where a list has several chunks, the sums so far are scaled down whenever a chunk has a higher score (Milakov and Gimelshein,
"Online normalizer calculation for softmax", 2018).

Rows that share their keys and values, such as the words of a sentence in self-attention, are computed together
(`shared_attention.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from tvm import tirx

from backends.acrobat.kernels.cpu.activations import LARGEST, exp
from backends.acrobat.kernels.cpu.code import Code, Expr, div, i32, i64, load, plus, times
from backends.acrobat.kernels.cpu.loops import fill
from backends.acrobat.kernels.cpu.shuffles import lane_sums
from backends.acrobat.kernels.cpu.values import Formula, ListItems, Strided
from backends.acrobat.kernels.cpu.vectors import (
    Bundle,
    accumulators,
    first_lanes,
    load_vector,
    load_vectors,
    splat,
    store_vector,
    typed,
)
from backends.acrobat.kernels.cpu.weighted_sums import ListChunk, ScaledLine, add_weighted, pieces

CHUNK = 64
"""The items of a list whose scores are in scratch at once."""
GROUP = 8
"""How many scores are computed side by side: so many independent chains of fused multiplications and additions keep the units
busy."""
LOWEST = -LARGEST
"""The first highest score, in place of minus infinity: a masked item (-inf) gets the share 0, a list of such items NaN."""

Scores = Callable[[Expr, Expr, Expr], Expr]
"""Called with (h, first, size), writes the scores of head `h` of `size` items from item `first` on to scratch. Returns a vector
whose largest lane is the highest score. NaN need not count: its share is NaN whatever is subtracted."""


class SegmentWriter:
    """Writes the sums of one row. Element k of the scratch is the score of item k of the chunk."""

    def __init__(self, code: Code, lanes: int, scratch: Strided) -> None:
        """`scratch` has CHUNK elements."""
        self.code = code
        self.lanes = lanes
        self.scratch = scratch

    def softmax(self, scores: ListItems, values: ListItems, target: Strided) -> None:
        """target = the sum of `values`, each with its score's share of a softmax."""
        code = self.code

        def chunk(h: Expr, first: Expr, size: Expr) -> Expr:
            highest = accumulators(code, 1, 1, LOWEST)
            with code.loop(size, "item") as k:
                score = code.let(load(scores.base, plus(scores.item(plus(first, k)), h)), "float32")
                store_vector(code, self.scratch.buffer, plus(k, self.scratch.start), score, 1)
                store_vector(code, highest, 0, tirx.Max(score, load(highest, 0)), 1)
            return splat(load(highest, 0), self.lanes)

        self._weighted_sums(prod(scores.shape), values, target, chunk)

    def attention(self, query: Strided, keys: ListItems, values: ListItems, target: Strided, scale: float) -> None:
        """target = the sum of `values`, each with its share of softmax(scale * query . key), head by head."""
        code, width = self.code, keys.shape[-1]

        def chunk(h: Expr, first: Expr, size: Expr) -> Expr:
            highest = accumulators(code, 1, GROUP, LOWEST)
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
            halves = [half] if self.lanes == GROUP else [half, half]
            return tirx.Shuffle(halves, [i32(lane) for lane in range(self.lanes)])

        self._weighted_sums(prod(keys.shape[:-1]), values, target, chunk)

    def _products(self, buffer: Expr, query: Expr, keys: Expr, starts: Sequence[Expr], width: int) -> Expr:
        """The dot products of a line of the query with the lines of a group of keys, one in each lane."""
        code, lanes = self.code, self.lanes
        totals = accumulators(code, GROUP, lanes)
        for vectors, start, mask in pieces(width, lanes):
            with code.loop(vectors, "along") as v:
                at = plus(times(v, lanes), start)
                q = Bundle.of(code, [load_vector(buffer, plus(query, at), lanes, mask)], lanes)
                for i, key in enumerate(starts):
                    before = Bundle(code, [load_vector(totals, i * lanes, lanes)], lanes)
                    after = q.fma(Bundle(code, [load_vector(keys, plus(key, at), lanes, mask)], lanes), before)
                    store_vector(code, totals, i * lanes, after.items[0], lanes)
        return lane_sums(code, [load_vector(totals, i * lanes, lanes) for i in range(GROUP)], lanes)

    def _weighted_sums(self, heads: int, values: ListItems, target: Strided, scores: Scores) -> None:
        """For each head the sum of the values' lines, weighted by the softmax of its scores; zero for an empty list."""
        code, lanes, count = self.code, self.lanes, values.count
        width = prod(values.shape) // heads
        chunks = code.let(div(count + i64(CHUNK - 1), CHUNK))
        state = code.local(4 * lanes)
        with code.loop(heads, "head") as h:
            line = Strided(target.buffer, code.let(plus(target.start, times(h, width))), (width,))
            with code.when(count < i64(1)):
                fill(code, line, Formula("identity", [0.0], (width,)), lanes)
            for i, item in enumerate((LOWEST, 0.0)):
                store_vector(code, state, i * lanes, splat(item, lanes), lanes)
            with code.loop(chunks, "chunk") as c:
                first = code.let(times(c, CHUNK))
                size = code.let(tirx.Min(count - first, i64(CHUNK)))
                highest = scores(h, first, size)
                self._add_chunk(highest, values, times(h, width), line, first, size, state)

    def _add_chunk(
        self, highest: Expr, values: ListItems, offset: Expr, line: Strided, first: Expr, size: Expr, state: Expr
    ) -> None:
        """Adds the chunk whose scores are in scratch to `line`; the largest lane of `highest` is the highest of them. `offset`
        is where the head's line lies within a value. After the last chunk the line is divided by the sum of all shares.
        `state` has a vector of the highest score so far, one of the sum of exp(score - highest), and room for two more."""
        code, lanes = self.code, self.lanes
        before = load_vectors(code, state, 1, lanes)
        chunk_highest = self._across(highest, tirx.Max)
        after = before.map(lambda b: tirx.Max(chunk_highest, b))
        down = exp(before - after).items[0]
        total = self._across(self._shares(size, after), lambda a, b: a + b)
        total = code.let(total + load_vector(state, lanes, lanes) * down, typed("float32", lanes))
        goes_on = code.let(tirx.Cast("int32", first + size < values.count), "int32")
        is_last = tirx.EQ(tirx.Broadcast(goes_on, lanes), splat(0, lanes, "int32"))
        factor = tirx.Select(is_last, splat(1.0, lanes) / total, splat(1.0, lanes))
        for i, item in enumerate((after.items[0], total, down, factor)):
            store_vector(code, state, i * lanes, item, lanes)
        chunk = ListChunk(
            first,
            size,
            values.base,
            lambda k: plus(values.item(plus(first, k)), offset),
            self.scratch.buffer,
            lambda k, _: plus(k, self.scratch.start),
        )
        add_weighted(code, lanes, chunk, [ScaledLine(line, state, 2 * lanes, 3 * lanes)])

    def _across(self, vector: Expr, combine: Callable[[Expr, Expr], Expr]) -> Expr:
        """A vector whose lanes all have the same number: the lanes of `vector`, combined."""
        code, lanes, dtype = self.code, self.lanes, typed("float32", self.lanes)
        step = 1
        while step < lanes:
            partners = code.let(tirx.Shuffle([vector], [i32(lane ^ step) for lane in range(lanes)]), dtype)
            vector = code.let(combine(vector, partners), dtype)
            step *= 2
        return vector

    def _shares(self, size: Expr, highest: Bundle) -> Expr:
        """Replaces each score of the chunk by exp(score - highest). Returns their sums, lane by lane."""
        code, lanes = self.code, self.lanes
        sums = accumulators(code, 1, lanes)
        count = code.let(tirx.Cast("int32", size), "int32")
        with code.loop(code.let(div(size + i64(lanes - 1), lanes)), "scores") as v:
            is_item = first_lanes(count - tirx.Cast("int32", i64(times(v, lanes))), lanes)
            at = code.let(plus(times(v, lanes), self.scratch.start))
            score = Bundle.of(code, [load_vector(self.scratch.buffer, at, lanes)], lanes)
            share = exp(score - highest).map(lambda s, zero: tirx.Select(is_item, s, zero), 0.0).items[0]
            store_vector(code, self.scratch.buffer, at, share, lanes)
            store_vector(code, sums, 0, load_vector(sums, 0, lanes) + share, lanes)
        return load_vector(sums, 0, lanes)
