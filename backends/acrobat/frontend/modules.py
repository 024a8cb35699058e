"""Modules of the model: their attributes, and calls of those that torch defines."""

from __future__ import annotations

import ast
import types
from collections.abc import Hashable
from enum import Enum
from typing import Any

from torch import Tensor, nn

from backends.acrobat.core.types import INT
from backends.acrobat.frontend import ragged
from backends.acrobat.frontend.frame import Frame
from backends.acrobat.frontend.source import stripped
from backends.acrobat.frontend.tensors import Call
from backends.acrobat.frontend.values import Dyn, Held, HostTensor, Method, Module, Static, Value, is_ragged, known, unknown
from backends.acrobat.frontend.weights import constants_of, host_tensor
from backends.acrobat.ir.make import make_op
from backends.acrobat.library import MODULES

PLAIN = (int, float, bool, str, tuple, list, dict, set, frozenset, Enum)
"""Types of attributes that are constants of the program."""


def attribute(f: Frame, node: ast.AST, owner: Module, name: str) -> Value:
    tensor = tensor_of(f, owner, name)
    if tensor is not None:
        return tensor
    f.program.reads.attribute(owner.module, name)
    try:
        value = getattr(owner.module, name)
    except AttributeError:
        return f.problem(node, f"{type(owner.module).__name__} has no attribute `{name}`")
    if isinstance(value, nn.Module):
        return owner.child(name)
    if isinstance(value, types.MethodType):
        if value.__self__ is not owner.module:
            return f.problem(node, f"`{name}` belongs to another object", "write a method of the module, or a function")
        return Method(owner, name, value.__func__)
    if isinstance(value, Tensor):
        return f.problem(
            node, f"`{name}` is a tensor but no parameter or buffer", "make it an nn.Parameter, or register a buffer"
        )
    if value is None or isinstance(value, PLAIN) or callable(value):
        return Static(value)
    return f.problem(node, f"`{name}` is a {type(value).__name__}, which is not in the language")


def tensor_of(f: Frame, owner: Module, name: str) -> Dyn | HostTensor | None:
    """The module's own parameter or buffer of that name, if it has one. Raises Refused."""
    atom = owner.tensor(name)
    if atom is not None:
        return Dyn(atom)
    own: Tensor | None = owner.module._parameters.get(name)
    own = owner.module._buffers.get(name) if own is None else own
    if own is not None:
        f.program.reads.constant(owner.module, name)
    return None if own is None else host_tensor(f.program.tensor_name(own, name), own)


def fingerprint(module: nn.Module) -> Any:
    """What the compiled methods of a module depend on, but for its weights: two modules that agree share them."""
    own = {
        k: v if isinstance(v, Hashable) and not isinstance(v, Tensor) else id(v)
        for k, v in vars(module).items()
        if not k.startswith("_")
    }
    values = tuple((k, type(v), v) for k, v in sorted(own.items()))
    children = tuple((k, fingerprint(m)) for k, m in module.named_children())
    return type(module), values, constants_of(module), children


def hooked(module: nn.Module) -> bool:
    """Whether calling the module does more than its `forward`."""
    calls = type(module).__call__ is nn.Module.__call__ and type(module)._call_impl is nn.Module._call_impl
    return bool(module._forward_hooks or module._forward_pre_hooks) or not calls or "_call_impl" in vars(module)


def globally_hooked() -> bool:
    """Whether calling any module does more than its `forward`."""
    return any(getattr(nn.modules.module, name, None) for name in ("_global_forward_hooks", "_global_forward_pre_hooks"))


def forward_of(module: nn.Module) -> tuple[types.FunctionType | None, bool]:
    """What calling the module runs, which may have been set on the instance: the function, or None if it is none of Python's,
    and whether it takes the module as its first argument."""
    forward = module.forward
    if isinstance(forward, types.FunctionType):
        return forward, False
    if isinstance(forward, types.MethodType) and forward.__self__ is module:
        return (forward.__func__ if isinstance(forward.__func__, types.FunctionType) else None), True
    return None, False


def no_function(module: nn.Module) -> str:
    """What is wrong with a module of whose `forward` nothing is known."""
    forward: Any = module.forward
    what = "another object's method" if isinstance(forward, types.MethodType) else f"a {type(forward).__name__}"
    return f"`forward` of this {type(module).__name__} is {what}, which was set on it"


def of_torch(function: types.FunctionType) -> bool:
    """Whether torch defines the function. (Its `__module__` is what a wrapper has copied.)"""
    return str(function.__globals__.get("__name__", "")).startswith("torch.")


def call(f: Frame, node: ast.AST, m: Module, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if hooked(m.module):
        message = f"this {type(m.module).__name__} has forward hooks"
        return f.problem(node, message, "remove them: only `forward` is compiled")
    return run_forward(f, node, m, args, kwargs)


def run_forward(f: Frame, node: ast.AST, m: Module, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The module's `forward`, whatever hooks a call would run."""
    module = m.module
    f.program.reads.called(module)
    kind = type(module)
    function, bound = forward_of(module)
    if function is None:
        return f.problem(node, no_function(module), "set a function that `def` makes")
    if not of_torch(stripped(function)):
        return f.program.call(f, node, function, [m, *args] if bound else args, kwargs)
    if not bound or function.__qualname__ not in {f"{c.__name__}.forward" for c in kind.__mro__}:
        return f.problem(node, f"`forward` of this {kind.__name__} is that of another class", "use that class")

    def of(name: str) -> Value:
        tensor = tensor_of(f, m, name)
        return Static(None) if tensor is None else tensor

    written = next((MODULES[c] for c in kind.__mro__ if c in MODULES and c.forward is function), None)
    if written is not None:
        return f.program.call(f, node, written, [m, *args], kwargs)
    match module:
        case nn.Linear():
            (x,) = Call("Linear", args, kwargs).bind("input")
            return f.tensors.call("linear", Call("Linear", [x, of("weight"), of("bias")], {}))
        case nn.LayerNorm():
            (x,) = Call("LayerNorm", args, kwargs).bind("input")
            if len(module.normalized_shape) != 1 or module.weight is None or module.bias is None:
                return f.problem(node, "a LayerNorm has one dimension, a weight and a bias here")
            if is_ragged(x):
                return ragged.over_rows(f, x, x.type.rows, lambda row: run_forward(f, node, m, [row], {}))
            return f.tensors.op("layer_norm", [x, of("weight"), of("bias")], {"eps": module.eps})
        case nn.Embedding():
            return _embedding(f, node, module, of("weight"), *Call("Embedding", args, kwargs).bind("input"))
        case nn.Sequential():
            value: Value = Call("Sequential", args, kwargs).bind("input")[0]
            for name, _ in module.named_children():
                value = call(f, node, m.child(name), [value], {})
            return value
        case nn.Identity() | nn.Dropout():
            if isinstance(module, nn.Dropout) and module.training and module.p > 0:
                return f.problem(node, "dropout in training mode is not in the language", "call .eval() on the model first")
            same: Value = Call(kind.__name__, args, kwargs).bind("input")[0]
            return same
        case nn.ReLU(inplace=True):
            return f.tensors.in_place(Call("ReLU", args, kwargs).bind("input")[0], lambda x: f.tensors.op("relu", [x]))
        case nn.Sigmoid() | nn.Tanh() | nn.ReLU():
            return f.tensors.call(kind.__name__.lower(), Call(kind.__name__, args, kwargs))
        case nn.GELU():
            return f.tensors.call("gelu", Call("GELU", args, {**kwargs, "approximate": Static(module.approximate)}))
        case nn.Softmax() | nn.LogSoftmax():
            name = "softmax" if isinstance(module, nn.Softmax) else "log_softmax"
            return f.tensors.call(name, Call(kind.__name__, [*args, Static(module.dim)], kwargs))
    return f.problem(node, f"nn.{kind.__name__} is not in the language", "LANGUAGE.md lists the modules")


def looked_up(f: Frame, node: ast.AST, i: Value, table: Value) -> Value:
    """`torch.nn.functional.embedding`."""
    return _embedding(f, node, None, table, i)


def _embedding(f: Frame, node: ast.AST, module: nn.Embedding | None, table: Value, i: Value) -> Value:
    if module is not None and module.max_norm is not None:
        return f.problem(node, "an embedding with `max_norm` changes its weight", "leave max_norm out")
    if isinstance(i, Held) and i.kind == "batch":
        return ragged.move(f, _embedding(f, node, module, table, i.value), "unsqueeze", 0)
    if isinstance(i, Held) and i.kind == "ids":
        rows = [_embedding(f, node, module, table, Held("index", v)) for v in f.components(i.value) or ()]
        return f.tensors.op("stack", rows, {"dim": 0})
    if is_ragged(i) and i.type.item == INT:  # type: ignore[union-attr]
        return ragged.embedding(f, i, lambda id: _embedding(f, node, module, table, Held("index", id)))  # type: ignore[arg-type]
    if isinstance(i, Held) and i.kind == "index":
        i = i.value
    elif isinstance(i, HostTensor):
        i = i.index()
    elif isinstance(i, Dyn) and i.type == INT:
        return f.problem(node, "nn.Embedding is called with a tensor", "write `embedding.weight[i]` for an int")
    is_known, at = known(i)
    size = ragged.shape(table)[0]
    if is_known and isinstance(at, int) and size is not None and not 0 <= at < size:
        return f.problem(node, f"index {at} is out of range: the embedding has {size} rows")
    if isinstance(i, Dyn) and i.type == INT and not is_known:
        i = f.host("from_start", [i], INT, "index")
    row = f.atom(i) if isinstance(i, (Dyn, Static)) else None
    if row is not None and row.type == INT:
        return f.bind(make_op("row", [f.atom(table), row], {}, f.span), "row")
    if isinstance(i, Dyn) and i == unknown():
        return i
    return f.problem(node, "an embedding is called with one index here", "write `embedding.weight[i]`")
