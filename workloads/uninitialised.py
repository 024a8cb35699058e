"""Creating modules without drawing the initial values of their parameters, which are overwritten anyway.

Drawing them costs a second and a half even on the meta device: there `normal_` is implemented in Python, by a part of torch
that imports its compiler and sympy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from torch.overrides import TorchFunctionMode


class Uninitialised(TorchFunctionMode):
    """A context in which the functions of `torch.nn.init` leave their tensor as it is."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        keywords = kwargs or {}
        if getattr(func, "__module__", None) == "torch.nn.init":
            return keywords["tensor"] if "tensor" in keywords else args[0]
        return func(*args, **keywords)
