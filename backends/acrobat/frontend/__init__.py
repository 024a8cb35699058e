"""Python source to core IR: `build` compiles the `forward` of a module and everything it calls."""

from __future__ import annotations

from torch import nn

from backends.acrobat.frontend.program import ProgramBuilder
from backends.acrobat.ir.nodes import Program


def build(module: nn.Module) -> Program:
    """The program of `module.forward`, which takes one instance. Raises CompileError with all problems found."""
    return ProgramBuilder(module).build()
