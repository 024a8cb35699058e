"""Modules of the model: their attributes and tensors, and calls of those that torch defines."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from backends.acrobat.frontend.evaluator.changes import state
from backends.acrobat.frontend.evaluator.choices.each_type import take_several_types, with_one_type
from backends.acrobat.frontend.evaluator.expressions.callees import called
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.spreading import is_spread, taken_apart
from backends.acrobat.frontend.evaluator.objects.properties import depends_on_instance, getter_of
from backends.acrobat.frontend.evaluator.tables import ATTRIBUTES, CALLS, LIBRARY_RULES, METHODS, handles
from backends.acrobat.frontend.kinds import is_ragged
from backends.acrobat.frontend.source import dispatching_method, stripped, uncached
from backends.acrobat.frontend.specials import Method
from backends.acrobat.frontend.tensors.fixing import with_extents
from backends.acrobat.frontend.tensors.forwards import OneCall, as_one_call, forward_of, hooked, no_function
from backends.acrobat.frontend.tensors.host_tensors import host_tensor
from backends.acrobat.frontend.tensors.lifting import op, over_rows, shape
from backends.acrobat.frontend.tensors.lookups import embedded
from backends.acrobat.frontend.tensors.new_tensors import makes_new, note_new
from backends.acrobat.frontend.tensors.operations import call_operation
from backends.acrobat.frontend.tensors.parameters import plain_tensors
from backends.acrobat.frontend.tensors.values import HostTensor, Module, of_torch
from backends.acrobat.frontend.values import Dyn, Held, Static, TupleV, Value, unknown
from backends.acrobat.library import MODULES, normalisation

OWN = (nn.Linear, nn.LayerNorm, nn.Embedding, nn.modules.dropout._DropoutNd)
"""Modules that are compiled by rules of their own, although each is a call of one function."""
MISSING = object()
"""Stands for an attribute that an object does not have."""


@handles(ATTRIBUTES, Module)
def attribute(f: Frame, node: ast.AST, owner: Module, name: str) -> Value:
    if (assigned := state.attribute(f, node, owner.module, name)) is not None:
        return assigned
    tensor = tensor_of(f, owner, name)
    if tensor is not None:
        f.program.reads.tensors[type(owner.module), name] = None
        return tensor
    if parametrize.is_parametrized(owner.module, name):
        return parametrized(f, node, owner, name)
    getter = getter_of(owner.module, name)
    depends = getter is not None and depends_on_instance(owner.module, getter, f.program.stored)
    value = None if depends else getattr(owner.module, name, MISSING)
    if getter is not None and (depends or isinstance(value, Tensor)):  # what it reads is noted where it is compiled
        f.program.reads.note_object(type(owner.module), name, getattr(type(owner.module), name))
        return f.program.call(f, node, getter, [owner], {})
    f.program.reads.attribute(owner.module, name)
    if (method := dispatching_method(owner.module, name)) is not None:
        return Method(owner, name, method)
    if value is MISSING:
        return f.problem(node, f"{type(owner.module).__name__} has no attribute `{name}`")
    if isinstance(value, nn.Module):
        return owner.child(name)
    value = uncached(value)
    if isinstance(value, types.MethodType) and isinstance(value.__self__, nn.Module):
        if value.__self__ is not owner.module:
            return f.problem(node, f"`{name}` belongs to another object", "write a method of the module, or a function")
        return Method(owner, name, value.__func__)
    if isinstance(value, Tensor):
        return f.problem(node, f"`{name}` is a tensor that a property computes", "register it as a buffer")
    return f.program.wrap(value)


def tensor_of(f: Frame, owner: Module, name: str) -> Dyn | HostTensor | None:
    """The module's own parameter or buffer of that name, if it has one. Raises Refused."""
    atom = owner.tensor(name)
    if atom is not None:
        return Dyn(atom)
    own: Tensor | None = owner.module._parameters.get(name)
    own = owner.module._buffers.get(name) if own is None else own
    own = plain_tensors(owner.module).get(name) if own is None else own
    if own is not None:
        f.program.reads.constant(owner.module, name)
    return None if own is None else host_tensor(f.program.tensor_name(own, name), own)


def parametrized(f: Frame, node: ast.AST, owner: Module, name: str) -> Value:
    """The tensor of that name which parametrizations make of the module's parameters (`torch.nn.utils.parametrize`)."""
    inside = owner.child(f"parametrizations.{name}")
    made_by = inside.module
    assert isinstance(made_by, parametrize.ParametrizationList)
    names = ["original"] if made_by.is_tensor else [f"original{i}" for i in range(made_by.ntensors)]
    values: list[Value] = [tensor_of(f, inside, x) or unknown() for x in names]
    for i in range(len(made_by)):
        values = [call(f, node, inside.child(str(i)), values, {})]
    return values[0]


# ---- calls


@handles(CALLS, Module)
def call(f: Frame, node: ast.AST, m: Module, args: list[Value], kwargs: dict[str, Value], hint: str = "") -> Value:
    if hooked(m.module):
        message, advice = f"this {type(m.module).__name__} has forward hooks", "remove them: only `forward` is compiled"
        if old := [x for x in m.module._forward_pre_hooks.values() if type(x).__module__.startswith("torch.nn.utils")]:
            name = {"WeightNorm": "weight_norm", "SpectralNorm": "spectral_norm"}.get(type(old[0]).__name__, "")
            advice = f"use `torch.nn.utils.parametrizations.{name}`, or `torch.nn.utils.remove_{name}`" if name else advice
        return f.problem(node, message, advice)
    forward, _ = forward_of(m.module)
    if forward is not None and of_torch(forward) and any(map(is_spread, args)):
        parameters = list(inspect.signature(m.module.forward).parameters.values())
        optional = {p.name for p in parameters if p.default is not p.empty}
        args = taken_apart(f, args, [p.name for p in parameters], kwargs, optional)
    if forward is not None and of_torch(forward) and take_several_types(f, args, kwargs):
        return with_one_type(f, node, args, kwargs, lambda one, named: run_forward(f, node, m, one, named))
    return run_forward(f, node, m, args, kwargs)


@handles(METHODS, Module)
def _method(f: Frame, node: ast.AST, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if method.name == "forward":
        return run_forward(f, node, method.owner, args, kwargs)
    if isinstance(method.owner.module, (nn.ModuleDict, nn.ParameterDict)) and not args and not kwargs:
        keys = list(method.owner.module.keys())
        entries = [(Static(k), attribute(f, node, method.owner, k)) for k in keys]
        match method.name:
            case "items":
                return TupleV(tuple(map(TupleV, entries)))
            case "keys":
                return TupleV(tuple(map(Static, keys)))
            case "values":
                return TupleV(tuple(v for _, v in entries))
    if method.function is nn.RNNBase.flatten_parameters:  # it only says where weights lie in memory, and gives nothing
        return unknown()
    if method.function in (nn.Module.parameters, nn.Module.named_parameters) and not args and not kwargs:
        return Held("iterator", TupleV(tuple(_parameters(f, method.owner, method.name.startswith("named")))))
    if method.function in (nn.Module.children, nn.Module.named_children) and not args and not kwargs:
        names = [name for name, _ in method.owner.module.named_children()]
        inside = [(Static(name), attribute(f, node, method.owner, name)) for name in names]
        return Held("iterator", TupleV(tuple(TupleV(x) if method.name == "named_children" else x[1] for x in inside)))
    if method.function in (nn.Module.modules, nn.Module.named_modules) and not args and not kwargs:
        paths = [path for path, _ in method.owner.module.named_modules()]
        for m in method.owner.module.modules():
            for name in m._modules:
                f.program.reads.attribute(m, name)
        own = [(Static(path), method.owner.child(path) if path else method.owner) for path in paths]
        return Held("iterator", TupleV(tuple(TupleV(x) if method.name == "named_modules" else x[1] for x in own)))
    return f.program.call(f, node, method.function, [method.owner, *args], kwargs)


def _parameters(f: Frame, owner: Module, named: bool) -> Iterator[Value]:
    """The parameters of a module and of those inside, with their names if they are asked for."""
    for path, _ in owner.module.named_parameters():
        inside, _, name = path.rpartition(".")
        tensor = tensor_of(f, owner.child(inside) if inside else owner, name)
        assert tensor is not None
        yield TupleV((Static(path), tensor)) if named else tensor


def _in_sequence(f: Frame, node: ast.AST, m: Module, value: Value) -> Value:
    """What the layers of an `nn.Sequential` make of a value, one after the other."""
    for name, _ in m.module.named_children():
        value = call(f, node, m.child(name), [value], {})
    return value


def _forward_of_base(function: Any) -> Callable[..., Value] | None:
    """What compiles `super().forward(...)` in a class derived from one of PyTorch's; None for other functions."""
    if not isinstance(function, types.FunctionType) or function.__name__ != "forward" or not of_torch(function):
        return None

    def work(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
        if not args or not isinstance(args[0], Module):
            return f.problem(node, "`forward` of one of PyTorch's classes is called for something else", "call a module")
        return run_forward(f, node, args[0], args[1:], kwargs, function)

    return work


LIBRARY_RULES.insert(0, _forward_of_base)  # before the rule for all of torch's functions


def _called_with_settings(
    f: Frame, node: ast.AST, m: Module, one: OneCall, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """The value of the one call that the module's `forward` consists of."""
    bound = CallArguments(type(m.module).__name__, args, kwargs).bind(*one.parameters, **one.defaults)
    given = dict(zip(one.parameters, bound, strict=True))

    def value(written: ast.expr) -> Value:
        match written:
            case ast.Name(name):
                return given[name]
            case ast.Attribute(_, name):
                return attribute(f, node, m, name)
        return Static(ast.literal_eval(written))

    named = {str(k.arg): value(k.value) for k in one.keywords}
    return called(f, node, Static(one.function), [value(x) for x in one.args], named)


def run_forward(
    f: Frame, node: ast.AST, m: Module, args: list[Value], kwargs: dict[str, Value], of_base: types.FunctionType | None = None
) -> Value:
    """The value of a call of the module's `forward`, or of that of a base of its class. Hooks are not considered."""
    bound = len(f.builder.bindings)
    result = _run(f, node, m, args, kwargs, of_base)
    return note_new(f, bound, result) if makes_new(m.module) else result


def _run(
    f: Frame, node: ast.AST, m: Module, args: list[Value], kwargs: dict[str, Value], of_base: types.FunctionType | None
) -> Value:
    """As `run_forward`, without a note of which tensors are new."""
    module = m.module
    f.program.reads.note_call(module)
    kind = type(module)
    function, bound = (of_base, True) if of_base is not None else forward_of(module)
    if isinstance(module, torch.jit.ScriptModule):
        return f.problem(node, "a module that TorchScript has compiled has no source", "use the module as it was before")
    if function is None:
        return f.problem(node, no_function(module), "set a function that `def` makes")
    if not of_torch(stripped(function)):
        return f.program.call(f, node, function, [m, *args] if bound else args, kwargs)
    if isinstance(module, (nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict)):
        return f.problem(node, f"a {kind.__name__} is not called", "call the modules in it, in a loop or by their keys")
    if not bound or function.__qualname__ not in {f"{c.__name__}.forward" for c in kind.__mro__}:
        return f.problem(node, f"`forward` of this {kind.__name__} is that of another class", "use that class")

    def of(name: str) -> Value:
        if parametrize.is_parametrized(module, name):
            return parametrized(f, node, m, name)
        tensor = tensor_of(f, m, name)
        return Static(None) if tensor is None else tensor

    result: Value | None = None
    written = next((MODULES[c] for c in kind.__mro__ if c in MODULES and c.forward is function), None)
    if written is not None:
        result = f.program.call(f, node, written, [m, *args], kwargs)
    elif not isinstance(module, OWN) and (one_call := as_one_call(function)) is not None:
        result = _called_with_settings(f, node, m, one_call, args, kwargs)
    if result is not None:
        return result
    match module:
        case nn.Linear():
            (x,) = CallArguments("Linear", args, kwargs).bind("input")
            return call_operation(f, "linear", CallArguments("Linear", [x, of("weight"), of("bias")], {}))
        case nn.LayerNorm():
            (x,) = CallArguments("LayerNorm", args, kwargs).bind("input")
            if len(module.normalized_shape) != 1 or module.weight is None or module.bias is None:
                return f.program.call(f, node, normalisation.layer_norm, [m, x], {})
            if is_ragged(x) and shape(x)[-1] is None:
                x = with_extents(f, x, module.normalized_shape, "as `LayerNorm` takes it")
            if is_ragged(x):
                return over_rows(f, x, x.type.rows, lambda row: run_forward(f, node, m, [row], {}, function))
            return op(f, "layer_norm", [x, of("weight"), of("bias")], {"eps": module.eps})
        case nn.Embedding():
            return embedded(f, node, module, of("weight"), *CallArguments("Embedding", args, kwargs).bind("input"))
        case nn.Sequential():
            return _in_sequence(f, node, m, CallArguments("Sequential", args, kwargs).bind("input")[0])
        case nn.Identity() | nn.modules.dropout._DropoutNd():
            if isinstance(module, nn.modules.dropout._DropoutNd) and module.training and module.p > 0:
                return f.problem(node, "dropout in training mode is not in the language", "call .eval() on the model first")
            same: Value = CallArguments(kind.__name__, args, kwargs).bind("input")[0]
            return same
    return f.problem(node, f"nn.{kind.__name__} is not in the language", "LANGUAGE.md lists the modules")
