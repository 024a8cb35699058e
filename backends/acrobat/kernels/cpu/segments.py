"""Softmax-weighted sums over lists of rows, and attention over them: segment kernels, without padding (the idea is CoRa's,
Fegade et al., MLSys 2022).

A row of the batch has a list of any length, which is gone through in chunks. The scores of a chunk stand in scratch; where a
list has several chunks, what has been summed is scaled down when a later one has a higher score (Milakov and Gimelshein,
"Online normalizer calculation for softmax", 2018).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

from tvm import tirx

from backends.acrobat.kernels.cpu.activations import exp, maximum
from backends.acrobat.kernels.cpu.code import Code, Expr, div, i64, load, plus, times
from backends.acrobat.kernels.cpu.loops import across, fill, position
from backends.acrobat.kernels.cpu.shuffles import lane_sums
from backends.acrobat.kernels.cpu.values import Formula, ListItems, Strided
from backends.acrobat.kernels.cpu.vectors import Bundle, first_lanes, load_vector, splat, store_vector

CHUNK = 64
"""Items whose scores are kept at once."""
GROUP = 8
"""Items whose scores are computed side by side, and accumulators of a weighted sum: so many independent chains of fused
multiplications and additions keep the units busy."""
LOWEST = -3.4028234663852886e38
"""Taken from scores in place of minus infinity, so that a masked item has the share 0, and a list of none but such NaN."""

Scores = Callable[[Expr, Expr, Expr], None]
"""Puts the scores of a chunk into scratch: those of head `h`, of `size` items from item `first` on."""


class SegmentWriter:
    def __init__(self, code: Code, lanes: int, scratch: Strided) -> None:
        """`scratch` has room for the scores of a chunk, and for a group more."""
        self.code = code
        self.lanes = lanes
        self.scratch = scratch

    def softmax(self, scores: ListItems, values: ListItems, place: Strided) -> None:
        """place = the sum of `values`, each with its score's share of a softmax."""

        def chunk(h: Expr, first: Expr, size: Expr) -> None:
            with self.code.loop(size, "item") as k:
                score = load(scores.base, plus(scores.item(plus(first, k)), h))
                store_vector(self.code, self.scratch.buffer, plus(k, self.scratch.start), score, 1)

        self._weighted(prod(scores.shape), values, place, chunk)

    def attention(self, query: Strided, keys: ListItems, values: ListItems, place: Strided, scale: float) -> None:
        """place = the sum of `values`, each with its share of softmax(scale * query . key), head by head."""
        code, width = self.code, keys.shape[-1]

        def chunk(h: Expr, first: Expr, size: Expr) -> None:
            last = code.let(first + size - i64(1))
            with code.loop(code.let(div(size + i64(GROUP - 1), GROUP)), "group") as g:
                group = code.let(plus(first, times(g, GROUP)))
                items = [code.let(tirx.Min(group + i64(i), last)) for i in range(GROUP)]
                starts = [code.let(plus(keys.item(item), times(h, width))) for item in items]
                products = self._products(query.buffer, plus(query.start, times(h, width)), keys.base, starts, width)
                at = plus(times(g, GROUP), self.scratch.start)
                store_vector(code, self.scratch.buffer, at, products * splat(scale, GROUP), GROUP)

        self._weighted(prod(keys.shape[:-1]), values, place, chunk)

    def _products(self, queries: Expr, query: Expr, keys: Expr, starts: Sequence[Expr], width: int) -> Expr:
        """The products of a line of the query with the lines of a group of keys, each in a lane of its own."""
        code, lanes = self.code, self.lanes
        totals = code.local(GROUP * lanes)
        for i in range(GROUP):
            store_vector(code, totals, i * lanes, splat(0.0, lanes), lanes)
        for vectors, start, mask in pieces(width, lanes):
            with code.loop(vectors, "along") as v:
                at = plus(times(v, lanes), start)
                q = Bundle(code, (), lanes).with_items([load_vector(queries, plus(query, at), lanes, mask)])
                for i, key in enumerate(starts):
                    before = Bundle(code, [load_vector(totals, i * lanes, lanes)], lanes)
                    after = q.fma(Bundle(code, [load_vector(keys, plus(key, at), lanes, mask)], lanes), before)
                    store_vector(code, totals, i * lanes, after.items[0], lanes)
        return lane_sums(code, [load_vector(totals, i * lanes, lanes) for i in range(GROUP)], lanes)

    def _weighted(self, heads: int, values: ListItems, place: Strided, scores: Scores) -> None:
        """For each head the sum of the values' lines, weighted by the softmax of its scores; zero for an empty list."""
        code, lanes, count = self.code, self.lanes, values.count
        width = prod(values.shape) // heads
        with code.loop(heads, "head") as h:
            line = Strided(place.buffer, plus(place.start, times(h, width)), (width,))
            fill(code, line, Formula("identity", [0.0], (width,)), lanes)
            highest, total = code.local(1), code.local(1)
            store_vector(code, highest, 0, splat(LOWEST, 1), 1)
            store_vector(code, total, 0, splat(0.0, 1), 1)
            with code.loop(code.let(div(count + i64(CHUNK - 1), CHUNK)), "chunk") as c:
                first = code.let(times(c, CHUNK))
                size = code.let(tirx.Min(count - first, i64(CHUNK)))
                scores(h, first, size)
                before = code.let(load(highest, 0), "float32")
                self._highest(size, highest)
                with code.when(c > i64(0)):
                    down = code.let(exp(Bundle(code, [before - load(highest, 0)], 1)).items[0], "float32")
                    store_vector(code, total, 0, load(total, 0) * down, 1)
                    self._scale(line, down)
                self._shares(size, highest, total)
                self._add(values, times(h, width), line, first, size)
            with code.when(count > i64(0)):
                self._scale(line, code.let(splat(1.0, 1) / load(total, 0), "float32"))

    def _scale(self, line: Strided, factor: Expr) -> None:
        held = self.code.local(1)
        store_vector(self.code, held, 0, factor, 1)
        fill(self.code, line, Formula("mul", (line, Strided(held, 0, ())), line.shape), self.lanes)

    def _vectors(self, size: Expr) -> Iterator[tuple[Expr, Bundle, Expr]]:
        """Within a loop over the vectors of a chunk's scores: where each starts, the scores, and which of them there are."""
        code, lanes = self.code, self.lanes
        last = code.let(tirx.Cast("float32", size), "float32")
        with code.loop(code.let(div(size + i64(lanes - 1), lanes)), "scores") as v:
            at = code.let(times(v, lanes))
            there = position(code, at, lanes) < splat(last, lanes)
            scores = load_vector(self.scratch.buffer, plus(at, self.scratch.start), lanes)
            yield at, Bundle(code, (), lanes).with_items([scores]), there

    def _highest(self, size: Expr, highest: Expr) -> None:
        """highest = the highest of itself and of the chunk's scores."""
        code, lanes = self.code, self.lanes
        best = code.local(lanes)
        store_vector(code, best, 0, splat(load(highest, 0), lanes), lanes)
        for _, scores, there in self._vectors(size):
            before = Bundle(code, [load_vector(best, 0, lanes)], lanes)
            here = scores.map(lambda s, low, there=there: tirx.Select(there, s, low), LOWEST)
            store_vector(code, best, 0, maximum(before, here).items[0], lanes)
        found = across(code, Bundle(code, (), lanes).with_items([load_vector(best, 0, lanes)]), maximum)
        store_vector(code, highest, 0, found, 1)

    def _shares(self, size: Expr, highest: Expr, total: Expr) -> None:
        """Each score of the chunk becomes exp(score - highest); total += their sum."""
        code, lanes = self.code, self.lanes
        sums = code.local(lanes)
        store_vector(code, sums, 0, splat(0.0, lanes), lanes)
        for at, scores, there in self._vectors(size):
            shares = exp(scores - Bundle(code, [splat(load(highest, 0), lanes)], lanes))
            shares = shares.map(lambda s, none, there=there: tirx.Select(there, s, none), 0.0)
            store_vector(code, self.scratch.buffer, plus(at, self.scratch.start), shares.items[0], lanes)
            store_vector(code, sums, 0, load_vector(sums, 0, lanes) + shares.items[0], lanes)
        vector = Bundle(code, (), lanes).with_items([load_vector(sums, 0, lanes)])
        store_vector(code, total, 0, load(total, 0) + across(code, vector, lambda a, b: a + b), 1)

    def _add(self, values: ListItems, offset: Expr, line: Strided, first: Expr, size: Expr) -> None:
        """line += the lines of the chunk's values, each with its share, a tile of the line after the other: a tile's sums stay
        in registers, several of each where the line is short."""
        code, lanes, (width,) = self.code, self.lanes, line.shape
        for tiles, start, vectors, mask in _tiles(width, lanes):
            many = max(1, GROUP // vectors)
            with code.loop(tiles, "tile") as t:
                at = code.let(plus(times(t, GROUP * lanes), start))
                sums = code.local(many * vectors * lanes)
                for s in range(many * vectors):
                    store_vector(code, sums, s * lanes, splat(0.0, lanes), lanes)

                def add(k: Expr, own: int, at: Expr = at, sums: Expr = sums, vectors: int = vectors, mask: Expr = mask) -> None:
                    share = code.let(load(self.scratch.buffer, plus(k, self.scratch.start)), "float32")
                    item = code.let(plus(plus(values.item(plus(first, k)), offset), at))
                    for v in range(vectors):
                        place = (own * vectors + v) * lanes
                        value = Bundle(code, [load_vector(values.base, plus(item, v * lanes), lanes, mask)], lanes)
                        before = Bundle(code, [load_vector(sums, place, lanes)], lanes)
                        after = value.fma(Bundle(code, [splat(share, lanes)], lanes), before)
                        store_vector(code, sums, place, after.items[0], lanes)

                rounds = code.let(div(size, many))
                with code.loop(rounds, "items") as r:
                    for own in range(many):
                        add(code.let(plus(times(r, many), own)), own)
                if many > 1:
                    done = code.let(times(rounds, many))
                    with code.loop(code.let(size - done), "rest") as r:
                        add(code.let(plus(done, r)), 0)
                for v in range(vectors):
                    whole = load_vector(sums, v * lanes, lanes)
                    for own in range(1, many):
                        whole = whole + load_vector(sums, (own * vectors + v) * lanes, lanes)
                    place = plus(plus(line.start, at), v * lanes)
                    whole = whole + load_vector(line.buffer, place, lanes, mask)
                    store_vector(code, line.buffer, place, whole, lanes, mask)


def pieces(width: int, lanes: int) -> list[tuple[int, int, Expr | None]]:
    """A line in vectors: how many, from where on, and the mask of each."""
    whole, tail = divmod(width, lanes)
    return [
        *([(whole, 0, None)] if whole else []),
        *([(1, whole * lanes, first_lanes(tail, lanes))] if tail else []),
    ]


def _tiles(width: int, lanes: int) -> list[tuple[int, int, int, Expr | None]]:
    """A line in tiles of GROUP vectors and what is left: how many, from where on, the vectors of each, and their mask."""
    out: list[tuple[int, int, int, Expr | None]] = []
    for vectors, start, mask in pieces(width, lanes):
        tiles, rest = divmod(vectors, GROUP)
        if tiles:
            out.append((tiles, start, GROUP, mask))
        if rest:
            out.append((1, start + tiles * GROUP * lanes, rest, mask))
    return out
