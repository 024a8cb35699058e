"""The oracle's answers, and their bytes in a file."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bench.outputs import flatten


class Answer(NamedTuple):
    """The oracle's answer to one instance. `scores`: for an output of indices, what each index is the argmax of
    (`Workload.scores`). `float32_error`: the error of the same model in eager float32, as `rms` gives it, if it is known.
    `margins`: for an output that is a list of choices (`Workload.margins`)."""

    output: Any
    scores: Any = None
    float32_error: float | None = None
    margins: np.ndarray | None = None


def rms(expected: Any, output: Any) -> float | None:
    """The root of the mean squared difference of two outputs of an instance, relative to the largest element of the right one.
    None where there is nothing to compare: no floats, or another nesting because the model took another path."""
    a, b = flatten(expected), flatten(output)
    if a.shape != b.shape or not a.floats.size:
        return None
    return float(np.sqrt(np.mean(((b.floats - a.floats) / largest_element(a.floats)) ** 2)))


def save(answers: Sequence[Answer]) -> bytes:
    """Answers as the bytes of an .npz file: the arrays, and their nesting as JSON."""
    arrays: list[np.ndarray] = []

    def outline(value: Any) -> Any:
        if value is None or isinstance(value, list | tuple):
            return None if value is None else [outline(element) for element in value]
        arrays.append(np.asarray(value))
        return len(arrays) - 1

    nesting = json.dumps([outline(tuple(answer)) for answer in answers])
    named: dict[str, Any] = {str(i): array for i, array in enumerate(arrays)}
    file = io.BytesIO()
    np.savez(file, nesting=np.array(nesting), **named)
    return file.getvalue()


def load(content: bytes) -> list[Answer]:
    """The answers in the bytes that `save` returned."""
    with np.load(io.BytesIO(content)) as file:
        arrays = {name: file[name] for name in file.files}

    def build(outline: Any) -> Any:
        if outline is None or isinstance(outline, list):
            return None if outline is None else [build(element) for element in outline]
        return arrays[str(outline)]

    answers = (build(each) for each in json.loads(str(arrays["nesting"])))
    return [
        Answer(output, scores, None if error is None else float(error), *margins) for output, scores, error, *margins in answers
    ]


def largest_element(floats: np.ndarray) -> float:
    """The absolute value of the largest element, at least 1e-6; 1 if there is none."""
    return max(float(np.abs(floats).max()), 1e-6) if floats.size else 1.0
