"""Runs plans: gathers operands, computes batches, stores results in pools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter_ns

import numpy as np
import torch
from torch import Tensor

from backends.jitbatch.lazy import Sort
from backends.jitbatch.meter import Meter
from backends.jitbatch.plan import Plan, Rows, Step, Whole

Source = Whole | tuple[Sort, int, int] | tuple[Sort, Tensor]


class Ready:
    """A plan made ready to run on `device`, where its index vectors lie. It runs `copies` equal structures side by side: what
    has number p in the plan (a row, an int, an input) has number p * copies + j for copy j."""

    def __init__(self, plan: Plan, copies: int, device: torch.device) -> None:
        self.plan = plan
        self.copies = copies
        self.steps = [ReadyStep(step, copies, device) for step in plan.steps]
        self.tops: Mapping[Sort, int] = {sort: top * copies for sort, top in plan.tops.items()}


class ReadyStep:
    """A step with its index vectors. `sources`: where each operand lies; `combined`, in place of these: one gather for all."""

    __slots__ = ("combined", "frees", "handed", "inputs", "ints", "kind", "n", "sources", "stored")

    def __init__(self, step: Step, copies: int, device: torch.device) -> None:
        self.kind = step.kind
        self.n = step.n * copies
        self.ints = _indices(_spread(step.ints, copies), device) if step.kind.ints else None
        self.inputs = [int(i) for i in _spread(np.asarray(step.inputs, np.int64), copies)] if step.kind.inputs else []
        self.stored = [None if start is None else start * copies for start in step.stored]
        self.handed = step.handed
        self.frees = step.frees
        self.sources: list[Source] = []
        self.combined: tuple[Sort, Tensor, int] | None = None
        spread = [
            source if isinstance(source, Whole) else Rows(source.sort, _spread(source.rows, copies)) for source in step.operands
        ]
        scattered = [s for s in spread if isinstance(s, Rows) and not _consecutive(s.rows)]
        if len(scattered) > 1 and len(scattered) == len(spread) and len({s.sort for s in scattered}) == 1:
            rows = np.concatenate([s.rows for s in scattered])
            self.combined = (scattered[0].sort, _indices(rows, device), len(scattered))
            return
        for source in spread:
            if isinstance(source, Whole):
                self.sources.append(source)
            elif _consecutive(source.rows):
                self.sources.append((source.sort, int(source.rows[0]), int(source.rows[-1]) + 1))
            else:
                self.sources.append((source.sort, _indices(source.rows, device)))


def _spread(positions: np.ndarray, copies: int) -> np.ndarray:
    return positions if copies == 1 else (positions[:, None] * copies + np.arange(copies)).reshape(-1)


def _consecutive(rows: np.ndarray) -> bool:
    return bool(rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all())


def _indices(rows: np.ndarray, device: torch.device) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(rows)).to(device)


class Pools:
    """For each sort a tensor with a row for each stored result. The tensors are kept between mini-batches."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.tensors: dict[Sort, Tensor] = {}

    def reserve(self, tops: Mapping[Sort, int], used: Mapping[Sort, int]) -> None:
        """Makes room for `tops` rows of each sort; the first `used` rows keep their values."""
        for sort, top in tops.items():
            pool = self.tensors.get(sort)
            if pool is None or len(pool) < top:
                larger = torch.empty(
                    max(top, 2 * len(pool) if pool is not None else 0), *sort.shape, dtype=sort.dtype, device=self.device
                )
                rows_in_use = used.get(sort, 0)
                if pool is not None and rows_in_use:
                    larger[:rows_in_use] = pool[:rows_in_use]
                self.tensors[sort] = larger


def execute(ready: Ready, pools: Pools, ints: Tensor | None, inputs: Sequence[Tensor], meter: Meter) -> None:
    """Compute all batches of a plan. `ints` and `inputs`: the ints and the tensors of its record. `meter` counts and times."""
    results: dict[int, Sequence[Tensor]] = {}
    tensors = pools.tensors
    clock = perf_counter_ns
    for number, step in enumerate(ready.steps):
        kind = step.kind
        start = clock()
        operands: Sequence[Tensor]
        if step.combined is not None:
            sort, rows, parts = step.combined
            operands = tensors[sort].index_select(0, rows).chunk(parts)
            meter.gathered_bytes += rows.numel() * sort.bytes
            meter.launches += 1
        elif kind.inputs:
            operands = [inputs[i] for i in step.inputs]
        else:
            gathered_operands = []
            for source in step.sources:
                if isinstance(source, Whole):
                    gathered_operands.append(results[source.step][source.output])
                elif len(source) == 3:
                    sort, first, after = source
                    gathered_operands.append(tensors[sort][first:after])
                else:
                    sort, rows = source
                    gathered_operands.append(tensors[sort].index_select(0, rows))
                    meter.gathered_bytes += rows.numel() * sort.bytes
                    meter.launches += 1
            operands = gathered_operands
        step_ints = ints.index_select(0, step.ints) if step.ints is not None and ints is not None else None
        inside = meter.copy_ns + meter.kernel_ns
        gathered = clock()
        outputs = kind.run(operands, step_ints, step.n)
        computed = clock()
        inside = meter.copy_ns + meter.kernel_ns - inside  # the time of the plan that a subtree has run within this one
        for output, begin, sort in zip(outputs, step.stored, kind.sorts, strict=True):
            if begin is not None:
                tensors[sort][begin : begin + step.n] = output
        if step.handed:
            results[number] = outputs
        for freed in step.frees:
            results.pop(freed, None)
        stored = clock()
        meter.copy_ns += gathered - start + stored - computed
        meter.kernel_ns += computed - gathered - inside
        if not kind.nested:
            meter.nodes += step.n
            meter.batches += 1
        if kind.unbatched is not None:
            meter.unbatched[kind.name] = kind.unbatched
            meter.launches += step.n
        else:
            meter.launches += kind.launches
