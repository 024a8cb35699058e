"""ACRoBat: an auto-batching compiler for dynamic PyTorch models (Fegade et al., MLSys 2024). `compile` is what it does;
`phase` and `parallel` are annotations that a model may have."""

from __future__ import annotations

from typing import Any

from backends.acrobat.markers import parallel, phase

__all__ = ["compile", "parallel", "phase"]


def __getattr__(name: str) -> Any:
    # The harness imports this package to read option names; torch and the compiler load when they are used.
    if name == "compile":
        from backends.acrobat.compiler import compile

        return compile
    raise AttributeError(name)
