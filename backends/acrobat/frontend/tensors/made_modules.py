"""Modules that a function makes where it uses them: `nn.Softmax(dim=-1)(scores)`. They are made when the model is compiled."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any

from torch import nn

from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.tables import LIBRARY_RULES
from backends.acrobat.frontend.kinds import is_unknown, known
from backends.acrobat.frontend.tensors.values import Module
from backends.acrobat.frontend.values import Value, unknown

ADVICE = "make it in `__init__`, as an attribute of the model"


def _module_class(value: Any) -> Callable[..., Value] | None:
    """What compiles a call of a class of modules; None for other objects."""
    if not (isinstance(value, type) and issubclass(value, nn.Module)):
        return None

    def work(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
        return _new_module(value, args, kwargs)

    return work


LIBRARY_RULES.append(_module_class)


def _new_module(cls: type[nn.Module], args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A new module of PyTorch's without weights. Raises Refused for others: each call of the model would have other weights."""
    if not cls.__module__.startswith("torch."):
        raise Refused(f"a module ({cls.__name__}) is made while the model runs", ADVICE)
    if any(map(is_unknown, (*args, *kwargs.values()))):
        return unknown()
    named = tuple((k, _argument(v)) for k, v in kwargs.items())
    module = Module(_constructed(cls, tuple(map(_argument, args)), named), ())  # type: ignore[arg-type]  # classes are hashable
    if any(True for _ in module.module.parameters()) or any(True for _ in module.module.buffers()):
        raise Refused(f"a module with weights ({cls.__name__}) is made while the model runs", ADVICE)
    return module


def _argument(value: Value) -> Any:
    """An argument as Python has it. Raises Refused if it is known at run time only, or is a module with weights."""
    if isinstance(value, Module) and not value.tensors and not value.root:
        return value.module
    is_known, constant = known(value)
    if not is_known or not isinstance(constant, Hashable):
        raise Refused("a module is made here with an argument that is no constant", ADVICE)
    return constant


@lru_cache(1024)
def _constructed(cls: type[nn.Module], args: tuple[Any, ...], kwargs: tuple[tuple[str, Any], ...]) -> nn.Module:
    """The same module each time that it is asked for, in training mode as a new module is."""
    try:
        return cls(*args, **dict(kwargs))
    except (TypeError, ValueError) as error:
        raise Refused(f"{cls.__name__}: {error}") from None
