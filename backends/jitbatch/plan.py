"""The analysis: which calls of a record are computed together, and where their operands and results lie.

Calls of one kind and one depth are a batch; the depth of a call is one more than the largest of its operands'. A result that
a later batch takes whole and in order is handed over as it is. All others lie as rows in a pool, one for each sort, and a batch
whose operands are scattered gathers them by an index vector (a slice, where they are consecutive).

A plan depends on the code alone, never on data, so it serves every mini-batch with the same code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from backends.jitbatch.kinds import Kind
from backends.jitbatch.lazy import Sort


@dataclass(frozen=True)
class Whole:
    """All results number `output` of batch `step` of the same plan."""

    step: int
    output: int


@dataclass(frozen=True)
class Rows:
    """Rows of the pool of `sort`."""

    sort: Sort
    rows: np.ndarray


@dataclass
class Step:
    """One batch. `ints`, `inputs`: the positions of its data, those of ints by position within a call, then by call."""

    kind: Kind
    n: int
    operands: list[Whole | Rows]
    ints: np.ndarray
    inputs: list[int]
    stored: list[int | None]
    """Of each output the row of the pool where its results begin; None: handed over only."""
    handed: bool = False
    """Whether a later batch takes results as a whole."""
    frees: list[int] = field(default_factory=list)
    """The steps whose results nobody takes as a whole after this one."""


@dataclass
class Plan:
    """`rows`: of each result the row of its pool, -1 if it has none. `tops`: the rows of each pool used when it has run."""

    number: int
    steps: list[Step]
    rows: np.ndarray
    tops: Mapping[Sort, int]
    calls: int


class Batch:
    """Calls that are computed together, in the order in which they were recorded."""

    __slots__ = ("calls", "kind", "number", "results")

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.number = -1
        self.calls: list[int] = []  # where in the code each stands
        self.results: list[int] = []  # the number of the first result of each


def analyse(
    number: int,
    code: Sequence[int],
    base: int,
    kinds: Sequence[Kind],
    earlier: np.ndarray,
    tops: Mapping[Sort, int],
    alive: np.ndarray,
) -> Plan:
    """The plan of `code`.

    `base` results with rows `earlier`, in pools filled up to `tops`, were computed before. `alive`: which of the code's results
    somebody may still ask for when it has run."""
    batches, data = _group(code, base, kinds)
    n = len(alive)
    step_of, place_of, output_of = (np.empty(n, np.int64) for _ in range(3))
    for batch in batches:
        first = np.asarray(batch.results)
        for output in range(len(batch.kind.sorts)):
            step_of[first + output - base] = batch.number
            place_of[first + output - base] = np.arange(len(first))
            output_of[first + output - base] = output
    flat = np.asarray(code)
    pooled = alive.copy()
    operands = []
    for batch in batches:
        found: list[np.ndarray | Whole] = []
        calls = np.asarray(batch.calls)
        for position in range(len(batch.kind.operands)):
            used = flat[calls + 1 + position]
            source = _whole(used - base, batches, step_of, place_of, output_of)
            if source is None:
                pooled[used[used >= base] - base] = True
            found.append(used if source is None else source)
        operands.append(found)
    rows = np.full(n, -1, np.int64)
    tops = dict(tops)
    steps = []
    last: dict[int, int] = {}
    for batch, found in zip(batches, operands, strict=True):
        stored: list[int | None] = []
        results = np.asarray(batch.results) - base
        for output, sort in enumerate(batch.kind.sorts):
            if not pooled[results + output].any():
                stored.append(None)
                continue
            start = tops.get(sort, 0)
            tops[sort] = start + len(results)
            rows[results + output] = start + np.arange(len(results))
            stored.append(start)
        sources: list[Whole | Rows] = []
        for sort, used in zip(batch.kind.operands, found, strict=True):
            if isinstance(used, Whole):
                last[used.step] = batch.number
                sources.append(used)
            else:
                at = np.where(
                    used >= base, rows[np.maximum(used - base, 0)], earlier[np.minimum(used, base - 1)] if base else -1
                )
                sources.append(Rows(sort, at))
        ints, inputs = data[batch.number]
        steps.append(Step(batch.kind, len(results), sources, ints, inputs, stored))
    for step, user in last.items():
        steps[step].handed = True
        steps[user].frees.append(step)
    return Plan(number, steps, rows, tops, sum(len(batch.calls) for batch in batches))


def _group(code: Sequence[int], base: int, kinds: Sequence[Kind]) -> tuple[list[Batch], list[tuple[np.ndarray, list[int]]]]:
    """The batches in an order in which they can run, and for each the positions of its data."""
    depths: list[int] = []  # of each result of this code
    batches: dict[tuple[int, int], Batch] = {}
    ints_at: list[int] = []  # of each call in the order of recording: where its data begins
    inputs_at: list[int] = []
    calls_of: dict[tuple[int, int], list[int]] = {}
    at = ints = inputs = call = 0
    end = len(code)
    while at < end:
        number = code[at]
        kind = kinds[number]
        after = at + 1 + len(kind.operands)
        depth = 0
        for operand in code[at + 1 : after]:
            if operand >= base and depths[operand - base] >= depth:
                depth = depths[operand - base] + 1
        key = (depth, number)
        batch = batches.get(key)
        if batch is None:
            batch = batches[key] = Batch(kind)
            calls_of[key] = []
        batch.calls.append(at)
        batch.results.append(base + len(depths))
        calls_of[key].append(call)
        depths.extend([depth] * len(kind.sorts))
        ints_at.append(ints)
        inputs_at.append(inputs)
        ints += kind.ints
        inputs += kind.inputs
        call += 1
        at = after
    ordered = sorted(batches, key=lambda key: key[0])
    data = []
    for step, key in enumerate(ordered):
        batch = batches[key]
        batch.number = step
        first = np.asarray(ints_at)[calls_of[key]] if batch.kind.ints else np.empty(0, np.int64)
        positions = (np.arange(batch.kind.ints)[:, None] + first[None, :]).reshape(-1)
        data.append((positions, [inputs_at[c] for c in calls_of[key]] if batch.kind.inputs else []))
    return [batches[key] for key in ordered], data


def _whole(
    used: np.ndarray, batches: Sequence[Batch], step_of: np.ndarray, place_of: np.ndarray, output_of: np.ndarray
) -> Whole | None:
    """The one output that these results are, all of them in order; None if they are anything else. `used` counts from the
    first result of this code."""
    if used[0] < 0 or used.min() < 0:
        return None
    step = int(step_of[used[0]])
    if len(batches[step].results) != len(used):
        return None
    output = int(output_of[used[0]])
    if (step_of[used] == step).all() and (output_of[used] == output).all() and (place_of[used] == np.arange(len(used))).all():
        return Whole(step, output)
    return None
