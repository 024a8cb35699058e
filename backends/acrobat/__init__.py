"""ACRoBat: an auto-batching compiler for dynamic PyTorch models (Fegade et al., MLSys 2024). `compile` is the only public
name."""

from __future__ import annotations

from typing import Any

__all__ = ["compile"]


def __getattr__(name: str) -> Any:
    # The harness imports this package to read option names; torch and the compiler load when they are used.
    if name == "compile":
        from backends.acrobat.compiler import compile

        return compile
    raise AttributeError(name)
