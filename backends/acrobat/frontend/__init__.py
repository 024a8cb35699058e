"""Python source to core IR: `build` compiles the `forward` of a module and everything it calls."""

from __future__ import annotations

from typing import Any

from torch import nn

from backends.acrobat.frontend.program import ProgramBuilder
from backends.acrobat.ir.nodes import Program


def build(module: nn.Module, instance_type_hint: Any = None) -> Program:
    """The program of `module.forward`, which takes one instance, of the type its annotation says; `instance_type_hint` is one
    to take in its place. The values are those of this moment, in float32. Raises CompileError with all problems found."""
    return ProgramBuilder(module).build(instance_type_hint)
