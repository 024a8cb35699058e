"""`compile`: from a recursive model, written with the recursion API, to what runs its mini-batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.options import Isa
from backends.cortex.executable import Executable, build
from backends.cortex.lowering import lower
from backends.cortex.options import Options
from backends.cortex.recursion import Model, Weights, trace


def compile(
    program: Callable[[Weights], Model],
    parameters: Mapping[str, np.ndarray],
    threads: int = 1,
    options: Options | None = None,
    isa: Isa = "native",
) -> Executable:
    """The executable of a model: `executable.run(instances)` gives an output for each.

    `program` makes the model from its weights; `parameters` are their values by name. Its classes of nodes may be any.

    Raises ValueError and TypeError for models that are not written as the recursion API asks, `ShapeError` (a ValueError) for
    operands that do not fit, and `BuildError` where there is no C++ compiler."""
    weights = Weights({name: tuple(array.shape) for name, array in parameters.items()})
    lowered = lower(trace(program(weights), weights), options or Options())
    return Executable(lowered, build(lowered, CpuTarget.detect(isa)), parameters, threads)
