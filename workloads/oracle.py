"""The right answers: a workload's own model, run eagerly in float64, one instance after the other."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Any

import numpy as np
import torch

from bench.answers import Answer, rms
from bench.contract import Workload
from bench.outputs import flatten
from workloads.spec import loaded
from workloads.structures import arrays, map_tensors


def answers(workload: Workload, size: str, seed: int, instances: Sequence[Any], within_s: float | None = None) -> list[Answer]:
    """One answer for each instance, from the model with the parameters of `seed`: the output in float64, the scores behind it
    if it is an index, the error of the same model in float32 (`bench.answers.rms`; None where there are no floats), and the
    margins of the choices if it is a list of choices. After `within_s` seconds the remaining instances are left out, but never
    the first."""
    exact, usual = loaded(workload, size, seed, torch.float64), loaded(workload, size, seed, torch.float32)
    answers: list[Answer] = []
    until = None if within_s is None else monotonic() + within_s
    with torch.inference_mode():
        for instance in instances:
            if answers and until is not None and monotonic() >= until:
                break
            wide = map_tensors(lambda t: t.double() if t.is_floating_point() else t, instance)
            scores = workload.scores(exact, wide)
            right = arrays(exact(wide))
            error = rms(right, arrays(usual(instance))) if flatten(right).floats.size else None
            margins = workload.margins(exact, wide) if hasattr(workload, "margins") else None
            near = None if margins is None else np.array(margins)
            answers.append(Answer(right, None if scores is None else arrays(scores), error, near))
    return answers
