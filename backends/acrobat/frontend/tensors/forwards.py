"""What a call of a module runs: its `forward`, which may have been set on it, and what hooks add."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import nn

from backends.acrobat import library
from backends.acrobat.frontend.evaluator.frame.arguments import defaults_of
from backends.acrobat.frontend.syntax_nodes import parameter_names
from backends.acrobat.frontend.tensors.operations import OPERATIONS
from backends.acrobat.frontend.values import Value


def hooked(module: nn.Module) -> bool:
    """Whether calling the module does more than its `forward`."""
    calls = type(module).__call__ is nn.Module.__call__ and type(module)._call_impl is nn.Module._call_impl
    return bool(module._forward_hooks or module._forward_pre_hooks) or not calls or "_call_impl" in vars(module)


def globally_hooked() -> bool:
    """Whether calling any module does more than its `forward`."""
    return any(getattr(nn.modules.module, name, None) for name in ("_global_forward_hooks", "_global_forward_pre_hooks"))


def forward_of(module: nn.Module) -> tuple[types.FunctionType | None, bool]:
    """The function that a call of the module runs, which may have been set on the instance (None if it is not a Python
    function), and whether its first argument is the module."""
    forward = module.forward
    if isinstance(forward, types.FunctionType):
        return forward, False
    if isinstance(forward, types.MethodType) and forward.__self__ is module:
        return (forward.__func__ if isinstance(forward.__func__, types.FunctionType) else None), True
    return None, False


def no_function(module: nn.Module) -> str:
    """The message for a module whose `forward` is no function of Python's, or a method of another object."""
    forward: Any = module.forward
    what = "another object's method" if isinstance(forward, types.MethodType) else f"a {type(forward).__name__}"
    return f"`forward` of this {type(module).__name__} is {what}, which was set on it"


class OneCall(NamedTuple):
    """A `forward` that only hands its arguments and the module's settings on to a function, as that of `nn.ELU` does to
    `F.elu`. Each of `args` and `keywords` is a parameter, a setting such as `self.alpha`, or a constant."""

    parameters: list[str]
    defaults: dict[str, Value]
    function: Any
    args: list[ast.expr]
    keywords: list[ast.keyword]


@cache
def as_one_call(forward: types.FunctionType) -> OneCall | None:
    """What the `forward` of one of PyTorch's modules hands its arguments on to; None if it does more than that, or if the
    function is not in the language."""
    definition = ast.parse(textwrap.dedent(inspect.getsource(forward))).body[0]
    assert isinstance(definition, ast.FunctionDef)
    match [s for s in definition.body if not _is_check(s)]:
        case [ast.Return(ast.Call(ast.Attribute(ast.Name(owner), name), args, keywords))] if owner != "self":
            keywords = [k for k in keywords if k.arg is not None and not k.arg.startswith("_")]  # `_stacklevel` of warnings
            if owner in (a.arg for a in definition.args.args):  # a method of the first argument, which is also a function
                owner, args = "torch", [ast.Name(owner), *args]
            plain = all(
                isinstance(x, (ast.Name, ast.Attribute, ast.Constant, ast.UnaryOp))
                for x in (*args, *(k.value for k in keywords))
            )
            if plain and (name in library.FUNCTIONS or name in OPERATIONS):
                function = getattr(forward.__globals__.get(owner, torch), name)
                return OneCall(parameter_names(definition)[1:], defaults_of(definition, forward), function, args, keywords)
    return None


def _is_check(s: ast.stmt) -> bool:
    """Whether a statement is the docstring, or only raises errors for arguments that the function refuses, too."""
    match s:
        case ast.Expr(ast.Constant()) | ast.Expr(ast.Call(ast.Attribute(attr="_check_input_dim"))) | ast.If(body=[ast.Raise()]):
            return True
    return False
