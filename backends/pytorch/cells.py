"""TorchScript and CUDA graphs for the straight-line parts of a model; its control flow stays Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn


class Traced:
    """A method through TorchScript, traced once for each submodule argument and length of a list, which a trace bakes in."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        self.traces: dict[tuple[int, ...], Callable[..., Any]] = {}

    def __call__(self, *args: Any) -> Any:
        key = tuple([id(a) if isinstance(a, nn.Module) else len(a) if isinstance(a, list) else 0 for a in args])
        trace = self.traces.get(key)
        if trace is None:
            trace = self.traces[key] = self.trace(args)
        return trace(*[a for a in args if not isinstance(a, nn.Module)])

    def trace(self, args: tuple[Any, ...]) -> Callable[..., Any]:
        def call(*tensors: Any) -> Any:
            remaining = iter(tensors)
            return self.method(*(a if isinstance(a, nn.Module) else next(remaining) for a in args))

        traced: Callable[..., Any] = torch.jit.trace(
            call, tuple(a for a in args if not isinstance(a, nn.Module)), check_trace=False
        )
        return traced


class Graphed:
    """A method through torch.compile with CUDA graphs: its launches are recorded once for each set of shapes and then launched
    as one. Each run of a graph overwrites the results of the run before, which a recursion may still need, so they are
    copied."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.compiled = torch.compile(method, mode="reduce-overhead", dynamic=False)

    def __call__(self, *args: Any) -> Any:
        torch.compiler.cudagraph_mark_step_begin()
        return copied(self.compiled(*args))


def copied(value: Any) -> Any:
    """The same structure of tuples and lists, with a copy of each tensor."""
    if isinstance(value, tuple | list):
        return type(value)(copied(item) for item in value)
    return value.clone() if isinstance(value, torch.Tensor) else value
