"""Modules of the model: their attributes, and calls of those that torch defines."""

from __future__ import annotations

import ast
import types
from collections.abc import Hashable
from typing import Any

from torch import Tensor, nn

from backends.acrobat.frontend.frame import Frame
from backends.acrobat.frontend.tensors import Call
from backends.acrobat.frontend.values import Dyn, Held, HostTensor, Method, Module, Static, Value, unknown
from backends.acrobat.frontend.weights import constants_of, host_tensor
from backends.acrobat.ir.ops import make_op
from backends.acrobat.ir.types import INT

PLAIN = (int, float, bool, str, tuple, list)
"""Types of attributes that are constants of the program."""


def attribute(f: Frame, node: ast.AST, owner: Module, name: str) -> Value:
    tensor = tensor_of(f, owner, name)
    if tensor is not None:
        return tensor
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
    return bool(module._forward_hooks or module._forward_pre_hooks) or type(module).__call__ is not nn.Module.__call__


def call(f: Frame, node: ast.AST, m: Module, args: list[Value], kwargs: dict[str, Value]) -> Value:
    module = m.module
    kind = type(module)
    if hooked(module):
        return f.problem(node, f"this {kind.__name__} has forward hooks", "remove them: only `forward` is compiled")
    if not kind.forward.__module__.startswith("torch."):
        return f.program.call(f, node, kind.forward, [m, *args], kwargs)

    def of(name: str) -> Value:
        tensor = tensor_of(f, m, name)
        return Static(None) if tensor is None else tensor

    match module:
        case nn.Linear():
            (x,) = Call("Linear", args, kwargs).bind("input")
            return f.tensors.call("linear", Call("Linear", [x, of("weight"), of("bias")], {}))
        case nn.LayerNorm():
            (x,) = Call("LayerNorm", args, kwargs).bind("input")
            if len(module.normalized_shape) != 1 or module.weight is None or module.bias is None:
                return f.problem(node, "a LayerNorm has one dimension, a weight and a bias here")
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
        case nn.Sigmoid() | nn.Tanh() | nn.ReLU():
            return f.tensors.call(kind.__name__.lower(), Call(kind.__name__, args, kwargs))
        case nn.GELU():
            return f.tensors.call("gelu", Call("GELU", args, {**kwargs, "approximate": Static(module.approximate)}))
        case nn.Softmax() | nn.LogSoftmax():
            name = "softmax" if isinstance(module, nn.Softmax) else "log_softmax"
            return f.tensors.call(name, Call(kind.__name__, [*args, Static(module.dim)], kwargs))
    return f.problem(node, f"nn.{kind.__name__} is not in the language", "LANGUAGE.md lists the modules")


def _embedding(f: Frame, node: ast.AST, module: nn.Embedding, table: Value, i: Value) -> Value:
    if module.max_norm is not None:
        return f.problem(node, "an embedding with `max_norm` changes its weight", "leave max_norm out")
    if isinstance(i, Held) and i.kind == "index":
        i = i.value
    elif isinstance(i, HostTensor):
        i = i.index()
    elif isinstance(i, Dyn) and i.type == INT:
        return f.problem(node, "nn.Embedding is called with a tensor", "write `embedding.weight[i]` for an int")
    row = f.atom(i) if isinstance(i, (Dyn, Static)) else None
    if row is not None and row.type == INT:
        return f.bind(make_op("row", [f.atom(table), row], {}, f.span), "row")
    if isinstance(i, Dyn) and i == unknown():
        return i
    return f.problem(node, "an embedding is called with one index here", "write `embedding.weight[i]`")
