"""Verifies outputs against those of the workload's own model in float64, and detects changed inputs.

Tolerance, the same for every backend of a precision: an element of an output may differ from the oracle's by at most
`RTOL * |oracle's element| + ATOL * (largest element of that instance's output)`. float32 rounds at 6e-8; the deepest workloads
(tree depth 30, 18 layers of hidden 1024) lose two to three digits of that, and a wrong operand or a dropped term moves
an output by far more than one part in a thousand. An output that is an index is right if the oracle's score for it is within
the same tolerance of its best score.

An output can be within tolerance without having been computed in float32. So the oracle also runs the model in eager float32,
and outputs are compared with its errors: errors many times as large come from fewer bits, whatever the type of the last step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bench.answers import Answer, largest_element
from bench.outputs import Flat, Wrong, digest, flatten, lengths, short

RTOL = 1e-3
ATOL = 1e-4
TOLERANCES: Mapping[str, tuple[float, float]] = {"fp32": (RTOL, ATOL), "tf32": (1e-2, 1e-2), "bf16": (5e-2, 5e-2)}
"""`RTOL` and `ATOL` for each value of a backend's option `precision`. Rounding the operands of a product adds errors of 2**-11
(TF32) or 2**-8 (bfloat16) of the terms of its sum, however small the sum is, so what counts is the largest element; some thirty
products follow each other on the way to an output. A wrong operand still moves an output by its own size."""
FEWER_BITS = 64.0
"""Errors so many times as large as those of eager float32 come from fewer bits. Rounding to float16 is 8192 times as coarse as
rounding to float32 (11 bits of significand against 24), to bfloat16 65536 times; orders of summation and approximations of
functions that differ between systems stay within a factor of ten. The bound lies between, at about equal distance."""
TIE = 2e-5
"""Choices with a smaller margin (`Workload.margins`) may differ from the oracle's. It is ten times the error of eager float32
in such scores, and grows with the tolerance of a precision."""
ROUNDING = 2.0**-24  # eager float32's error counts as at least this, relative to the largest element of an output
HIGH = 0.9  # the quantile of errors over instances that is compared, so that few which took another path do not matter
LOW_BITS = np.uint32(0x1FFF)  # the bits of a float32's fraction that float16, bfloat16 and TF32 do not have
FEWEST_TELLING = 8  # elements that are needed to judge by their low bits


class Difference(NamedTuple):
    """The largest differences seen so far; `relative` is relative to the largest element of the instance's output."""

    n: int = 0
    absolute: float = 0.0
    relative: float = 0.0
    times_float32: float = 0.0  # errors in units of eager float32's

    def widen(self, n: int, absolute: float, relative: float, times_float32: float) -> Difference:
        return Difference(n, max(self.absolute, absolute), max(self.relative, relative), max(self.times_float32, times_float32))


class Expected:
    """The right outputs of a mini-batch. `check` is vectorised, because it runs on every timed sample."""

    def __init__(self, given: Sequence[tuple[Any, ...]], precision: str = "fp32") -> None:
        """`given`: the oracle's answers to the instances of the mini-batch, each an `Answer` or its first fields. `precision`:
        that in which products were asked for, a name in `TOLERANCES`."""
        self.precision = precision
        self.rtol, self.atol = TOLERANCES[precision]
        answers = [Answer(*each) for each in given]
        parts = [flatten(answer.output) for answer in answers]
        whole = flatten([answer.output for answer in answers])
        self.n = len(answers)
        self.shape = whole.shape
        self.digest = digest(whole.shape)
        self.floats = whole.floats.astype(np.float64)
        self.integers = whole.integers.astype(np.int64)
        self.scale = np.concatenate([np.full(p.floats.size, largest_element(p.floats)) for p in parts])
        self.tolerance = self.rtol * np.abs(self.floats) + self.atol * self.scale
        self.instance = np.concatenate([np.full(p.floats.size, i) for i, p in enumerate(parts)]).astype(int)
        self.integer_instance = np.concatenate([np.full(p.integers.size, i) for i, p in enumerate(parts)]).astype(int)
        exact = self.floats.astype(np.float32)
        self.telling = ((exact.view(np.uint32) & LOW_BITS) != 0) & (np.abs(exact) > np.finfo(np.float32).tiny)
        self.scores = self._scores([answer.scores for answer in answers])
        counts = np.array([part.floats.size for part in parts], np.int64)
        self.starts, self.counts = (np.cumsum(counts) - counts)[counts > 0], counts[counts > 0]
        errors = [answer.float32_error for answer in answers]
        known = [error for error in errors if error is not None]
        self.float32_error = max(_high(np.array(known)), ROUNDING) if known else None
        self.choices = self._choices(answers)
        if not np.isfinite(self.floats).all():
            raise Wrong("the oracle's own output is not finite")

    def _scores(self, scores: Sequence[Any]) -> np.ndarray | None:
        """The scores of all indices as an array [indices, classes], or None where indices must be equal to the oracle's."""
        if self.integers.size == 0 or any(s is None for s in scores):
            return None
        rows: list[np.ndarray] = []

        def walk(value: Any) -> None:
            if isinstance(value, list | tuple):
                for element in value:
                    walk(element)
            else:
                array = np.asarray(value, dtype=np.float64)
                rows.append(array.reshape(-1, array.shape[-1]))

        walk(list(scores))
        table = np.concatenate(rows)
        if len(table) != self.integers.size:
            raise Wrong(f"the oracle gave {len(table)} rows of scores for {self.integers.size} indices")
        return table

    @staticmethod
    def _choices(answers: Sequence[Answer]) -> list[tuple[np.ndarray, np.ndarray]] | None:
        """For each instance its indices and their margins, or None if not every answer has margins."""
        choices = []
        for answer in answers:
            if answer.margins is None:
                return None
            part = flatten(answer.output)
            if lengths(flatten([answer.output])) is None or not len(answer.margins):
                raise Wrong("the oracle gave margins for what is no list of indices")
            choices.append((part.integers.astype(np.int64), np.asarray(answer.margins, np.float64)))
        return choices

    def check(self, outputs: Flat, seen: Difference) -> Difference:
        """Compare the outputs of a run with the right ones. Returns `seen` widened by their differences. Raises Wrong with the
        first difference that is out of tolerance, or with what is wrong about structure or type."""
        if self.choices is not None:
            self._check_choices(self.choices, outputs)
            return seen._replace(n=self.n)
        if outputs.shape != self.shape:
            raise Wrong(f"outputs have the wrong structure: {short(outputs.shape)} instead of {short(self.shape)}")
        if outputs.floats.size != self.floats.size:
            raise Wrong("outputs are of the wrong kind (integer for float, or the reverse)")
        if self.floats.size:
            self._check_precision(outputs)
            difference = np.abs(outputs.floats.astype(np.float64) - self.floats)
            bad = ~(difference <= self.tolerance)  # written so that a NaN is bad
            if bad.any():
                at = int(np.argmax(bad))
                raise Wrong(
                    f"instance {self.instance[at]}: {outputs.floats[at]:.6g} instead of {self.floats[at]:.6g} "
                    f"({np.count_nonzero(bad)} of {bad.size} elements, {len(set(self.instance[bad]))} of {self.n} instances)"
                )
            relative = difference / self.scale
            seen = seen.widen(self.n, float(difference.max()), float(relative.max()), self._times_float32(relative))
        if self.integers.size:
            self._check_indices(outputs.integers.astype(np.int64))
        return seen._replace(n=self.n)

    def _times_float32(self, relative: np.ndarray) -> float:
        """How many times as large as eager float32's the errors of the outputs are; 0 where the latter are not known."""
        if self.float32_error is None:
            return 0.0
        errors = np.sqrt(np.add.reduceat(relative**2, self.starts) / self.counts)
        return _high(errors) / self.float32_error

    def _check_precision(self, outputs: Flat) -> None:
        """Raise Wrong if a cell in float32 gave numbers of fewer bits: arrays of a narrower type, or numbers whose lowest bits
        are all zero where the right ones are not. Wider arrays are fine, since a library may give Python's floats."""
        if self.precision != "fp32":
            return
        narrow = [name for name in outputs.types if name not in ("float32", "float64")]
        if narrow:
            raise Wrong(f"outputs are {narrow[0]}, where float32 is asked for")
        bits = outputs.floats.astype(np.float32).view(np.uint32)[self.telling]
        if len(bits) >= FEWEST_TELLING and not (bits & LOW_BITS).any():
            raise Wrong("outputs have at most 10 bits of fraction, as float16 has, where float32 is asked for")

    def _check_indices(self, outputs: np.ndarray) -> None:
        bad = outputs != self.integers
        if self.scores is not None and bad.any():
            inside = (outputs >= 0) & (outputs < self.scores.shape[1])
            best = self.scores.max(axis=1)
            chosen = self.scores[np.arange(len(outputs)), np.where(inside, outputs, 0)]
            slack = self.rtol * np.abs(best) + self.atol * np.abs(self.scores).max(axis=1)
            bad = ~(inside & (best - chosen <= slack))
        if bad.any():
            at = int(np.argmax(bad))
            raise Wrong(
                f"instance {self.integer_instance[at]}: index {outputs[at]} instead of {self.integers[at]} "
                f"({np.count_nonzero(bad)} of {bad.size} indices)"
            )

    def _check_choices(self, choices: Sequence[tuple[np.ndarray, np.ndarray]], outputs: Flat) -> None:
        counts = lengths(outputs)
        if counts is None or len(counts) != len(choices):
            raise Wrong(f"outputs have the wrong structure: {short(outputs.shape)} instead of {len(choices)} lists of indices")
        ends = np.cumsum(counts)
        for i, (right, margins) in enumerate(choices):
            chosen = outputs.integers[ends[i] - counts[i] : ends[i]].astype(np.int64)
            shared = min(len(chosen), len(right))
            different = np.flatnonzero(chosen[:shared] != right[:shared])
            at = int(different[0]) if different.size else shared
            if at == len(chosen) == len(right):
                continue
            if margins[min(at, len(margins) - 1)] > TIE * self.atol / ATOL:
                actual, wanted = (str(x[at]) if at < len(x) else "the end" for x in (chosen, right))
                raise Wrong(f"instance {i}: choice {at} is {actual} instead of {wanted}")


def _high(errors: np.ndarray) -> float:
    return float(np.quantile(errors, HIGH, method="lower"))
