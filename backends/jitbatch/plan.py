"""The analysis: which calls of a record are computed together, and where their operands and results lie.

Calls of one kind and one depth are a batch; the depth of a call is one more than the largest depth of its operands. The results
of a batch that a later batch uses whole and in order are passed on without a copy. Other results are stored as rows of a pool,
one pool for each sort, and a batch gathers its operands from there by an index vector (a slice if they are consecutive).

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
    """An operand: output number `output` of all calls of batch `step` of the same plan."""

    step: int
    output: int


@dataclass(frozen=True)
class Rows:
    """An operand: these rows of the pool of `sort`."""

    sort: Sort
    rows: np.ndarray


@dataclass
class Step:
    """One batch of `n` calls. `ints`, `inputs`: positions of its data in the record, ints by place in a call, then by call."""

    kind: Kind
    n: int
    operands: list[Whole | Rows]
    ints: np.ndarray
    inputs: list[int]
    stored: list[int | None]
    """For each output the row of the pool where its results begin; None: it is not stored."""
    handed: bool = False
    """Whether a later batch uses results whole and in order."""
    frees: list[int] = field(default_factory=list)
    """The steps whose results this step is the last to use whole."""


@dataclass
class Plan:
    """`steps` in the order in which they run. `rows`: for each result its row in its pool, -1 if it is not stored. `tops`: how
    many rows of each pool are in use after the plan has run. `calls`: the number of recorded calls."""

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
        self.calls: list[int] = []  # the position of each call in the code
        self.results: list[int] = []  # the number of each call's first result


def analyse(
    number: int,
    code: Sequence[int],
    base: int,
    kinds: Sequence[Kind],
    earlier: np.ndarray,
    tops: Mapping[Sort, int],
    alive: np.ndarray,
) -> Plan:
    """The plan number `number`, for `code`.

    Earlier plans of the mini-batch have computed `base` results, whose rows are `earlier`, in pools that are in use up to
    `tops`. `alive` says for each result of the code whether it may be asked for after the plan has run."""
    batches, data = _group(code, base, kinds)
    operands, pooled = _operands(batches, np.asarray(code), base, alive)
    rows = np.full(len(alive), -1, np.int64)
    tops = dict(tops)
    steps = []
    last: dict[int, int] = {}
    for batch, operands_of_batch in zip(batches, operands, strict=True):
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
        for sort, used in zip(batch.kind.operands, operands_of_batch, strict=True):
            if isinstance(used, Whole):
                last[used.step] = batch.number
                sources.append(used)
            else:
                stored_rows = np.where(
                    used >= base, rows[np.maximum(used - base, 0)], earlier[np.minimum(used, base - 1)] if base else -1
                )
                sources.append(Rows(sort, stored_rows))
        ints, inputs = data[batch.number]
        steps.append(Step(batch.kind, len(results), sources, ints, inputs, stored))
    for step, user in last.items():
        steps[step].handed = True
        steps[user].frees.append(step)
    return Plan(number, steps, rows, tops, sum(len(batch.calls) for batch in batches))


def _operands(
    batches: Sequence[Batch], code: np.ndarray, base: int, alive: np.ndarray
) -> tuple[list[list[np.ndarray | Whole]], np.ndarray]:
    """The operands of each batch: a whole result of a batch before, or the numbers of the results it is gathered from. Also
    which results have to be in the pools: those that are `alive`, and those that are gathered from."""
    step_of, place_of, output_of = (np.empty(len(alive), np.int64) for _ in range(3))
    for batch in batches:
        first = np.asarray(batch.results)
        for output in range(len(batch.kind.sorts)):
            step_of[first + output - base] = batch.number
            place_of[first + output - base] = np.arange(len(first))
            output_of[first + output - base] = output
    pooled = alive.copy()
    operands = []
    for batch in batches:
        of_batch: list[np.ndarray | Whole] = []
        calls = np.asarray(batch.calls)
        for position in range(len(batch.kind.operands)):
            used = code[calls + 1 + position]
            source = _whole(used - base, batches, step_of, place_of, output_of)
            if source is None:
                pooled[used[used >= base] - base] = True
            of_batch.append(used if source is None else source)
        operands.append(of_batch)
    return operands, pooled


def _group(code: Sequence[int], base: int, kinds: Sequence[Kind]) -> tuple[list[Batch], list[tuple[np.ndarray, list[int]]]]:
    """The batches in an order in which they can run, and for each the positions of its ints and of its inputs."""
    depths: list[int] = []  # the depth of each result of this code
    batches: dict[tuple[int, int], Batch] = {}
    ints_at: list[int] = []  # for each call, in the order of recording, where its ints begin; likewise inputs_at
    inputs_at: list[int] = []
    calls_of: dict[tuple[int, int], list[int]] = {}
    position = ints = inputs = call = 0
    end = len(code)
    while position < end:
        number = code[position]
        kind = kinds[number]
        after = position + 1 + len(kind.operands)
        depth = 0
        for operand in code[position + 1 : after]:
            if operand >= base and depths[operand - base] >= depth:
                depth = depths[operand - base] + 1
        key = (depth, number)
        batch = batches.get(key)
        if batch is None:
            batch = batches[key] = Batch(kind)
            calls_of[key] = []
        batch.calls.append(position)
        batch.results.append(base + len(depths))
        calls_of[key].append(call)
        depths.extend([depth] * len(kind.sorts))
        ints_at.append(ints)
        inputs_at.append(inputs)
        ints += kind.ints
        inputs += kind.inputs
        call += 1
        position = after
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
    """The output of one batch that these results are, whole and in order; None if they are anything else. `used` has the
    numbers of the results, counted from the first result of this code."""
    if used[0] < 0 or used.min() < 0:
        return None
    step = int(step_of[used[0]])
    if len(batches[step].results) != len(used):
        return None
    output = int(output_of[used[0]])
    if (step_of[used] == step).all() and (output_of[used] == output).all() and (place_of[used] == np.arange(len(used))).all():
        return Whole(step, output)
    return None
