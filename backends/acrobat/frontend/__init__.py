"""Python source to core IR: `build` compiles the `forward` of a module and everything it calls."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from torch import nn

from backends.acrobat.core.span import Span
from backends.acrobat.deep import as_deep_as_needed
from backends.acrobat.errors import CompileError, Problem
from backends.acrobat.frontend import language
from backends.acrobat.frontend.program import ProgramBuilder
from backends.acrobat.frontend.reads import Reads
from backends.acrobat.ir.nodes import Program

LANGUAGE = (*language.PYTHON, *language.TORCH)
"""The files whose handlers make up the language."""


def build(module: nn.Module, instance_type_hint: Any = None, sample: Sequence[Any] | None = None) -> Program:
    """The program of `module.forward`, which takes one instance, of the type its annotation says; `instance_type_hint` is one
    to take in its place, and without either the type is that of the instances in `sample`. The values are those of this moment,
    in float32. Raises CompileError with all problems found."""
    return build_with_reads(module, instance_type_hint, sample)[0]


def build_with_reads(
    module: nn.Module, instance_type_hint: Any = None, sample: Sequence[Any] | None = None
) -> tuple[Program, Reads]:
    """As `build`, and what the program depends on beside the source."""

    def work() -> tuple[Program, Reads]:
        builder = ProgramBuilder(module)
        program = builder.build(instance_type_hint, sample)
        builder.reads.called(module)
        return program, builder.reads

    try:
        return as_deep_as_needed(work)
    except RecursionError:
        raise too_deep(module) from None


def too_deep(module: nn.Module) -> CompileError:
    """The error of a model whose branches are nested beyond what any stack holds."""
    where = Span(inspect.getsourcefile(type(module)) or "<unknown>", 0)
    message = f"{type(module).__name__} or what it calls is nested too deeply to be compiled"
    return CompileError([Problem(where, message, "split long functions, or look values up in a list")])
