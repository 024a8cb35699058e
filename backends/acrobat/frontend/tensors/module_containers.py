"""Lists and dictionaries of modules and parameters: items, keys, lengths, what `for` takes from them."""

from __future__ import annotations

import ast

from torch import nn

from backends.acrobat.core.types import INT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.choices.choice import at_index, fails_always
from backends.acrobat.frontend.evaluator.expressions.indexing import NAMED, as_index
from backends.acrobat.frontend.evaluator.frame.arguments import Refused, constant
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lists import list_of
from backends.acrobat.frontend.evaluator.lists.module_parts import some_of
from backends.acrobat.frontend.evaluator.objects.constants import constant_by_key, contains, no_such_key, position
from backends.acrobat.frontend.evaluator.tables import ITERATION, LENGTHS, MEMBERSHIP, SUBSCRIPTS, TRUTHS, handles
from backends.acrobat.frontend.kinds import is_unknown, known, type_of
from backends.acrobat.frontend.specials import OneOf
from backends.acrobat.frontend.tensors.modules import attribute, tensor_of
from backends.acrobat.frontend.tensors.values import Module
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value, unknown
from backends.acrobat.ir import nodes as n

NAMED.add(Module)


@handles(SUBSCRIPTS, Module)
def _child(f: Frame, node: ast.AST, value: Module, index: ast.expr) -> Value:
    """`modules[index]`."""
    module = value.module
    if isinstance(module, (nn.ModuleDict, nn.ParameterDict)) and not isinstance(index, ast.Slice):
        return _by_key(f, node, value, f.borrowed(index))
    if not isinstance(module, (nn.ModuleList, nn.Sequential, nn.ParameterList)):
        what = " with a string" if isinstance(index, ast.Constant) and isinstance(index.value, str) else ""
        return f.problem(node, "this cannot be indexed" + what)
    if isinstance(index, ast.Slice):
        written = (index.lower, index.upper, index.step)
        given = [f.expression(e) if e else None for e in written]
        if not all(b is None or known(b)[0] for b in given) and not isinstance(module, nn.ParameterList):
            children = f.components(_children(f, value)) or ()
            return some_of(f, tuple(children), given, in_turn=type(module) is nn.Sequential)
        bounds = [None if b is None else constant(b, "a bound of a slice of modules") for b in given]
        if type(module) is nn.Sequential:
            part = module[slice(*bounds)]
            return Module(part, tuple((k, a) for k, a in value.tensors if k.partition(".")[0] in part._modules))
        return TupleV(tuple(f.components(_children(f, value)) or ())[slice(*bounds)])
    at = as_index(f, f.expression(index))
    if isinstance(at, Dyn) and not isinstance(at.atom, n.Lit):
        if is_unknown(at):
            return unknown()
        if type_of(at) != INT:
            return f.problem(node, f"the index of a {type(module).__name__} is an int, not {describe(type_of(at))}")
        if isinstance(module, nn.ParameterList):
            parameters = list_of(f, node, [_parameter(f, value, i) for i in range(len(module))])
            return f.host("list.get", [parameters, at], type_of(parameters).item, "parameter")
        return at_index(f, [value.child(name) for name in module._modules], at)
    i = constant(at, "the index of a ModuleList")
    if not isinstance(i, int) or not -len(module) <= i < len(module):
        return f.problem(node, f"index {i} is out of range for {len(module)} modules")
    if isinstance(module, nn.ParameterList):
        return _parameter(f, value, i % len(module))
    return value.child([*module._modules][i])


def _parameter(f: Frame, parameters: Module, i: int) -> Value:
    tensor = tensor_of(f, parameters, str(i))
    assert tensor is not None
    return tensor


def _by_key(f: Frame, node: ast.AST, owner: Module, key: Value) -> Value:
    """`modules[key]` of a ModuleDict or ParameterDict; the string may be known at run time only."""
    is_known, constant = known(key)
    if is_unknown(key):
        return unknown()
    container = owner.module
    assert isinstance(container, (nn.ModuleDict, nn.ParameterDict))
    if is_known:
        if constant not in container:
            return fails_always(f, node, KeyError(constant), f"this {type(container).__name__} has no key {constant!r}")
        return attribute(f, node, owner, constant)
    if not len(container):
        return no_such_key(f, key)
    if isinstance(container, nn.ParameterDict):
        return constant_by_key(f, node, list(container.keys()), key, lambda k: attribute(f, node, owner, k))
    keys = list(container.keys())
    at = position(f, node, key, keys)
    return OneOf(at, tuple(attribute(f, node, owner, k) for k in keys), key=key, keys=tuple(keys))


@handles(ITERATION, Module)
def _children(f: Frame, value: Module) -> Value:
    match value.module:
        case nn.ModuleList() | nn.Sequential() as children:
            return TupleV(tuple(map(value.child, children._modules)))
        case nn.ParameterList() as parameters:
            return TupleV(tuple(_parameter(f, value, i) for i in range(len(parameters))))
        case nn.ModuleDict() | nn.ParameterDict() as entries:
            return TupleV(tuple(map(Static, entries.keys())))
    raise Refused("only lists, ranges, tuples and module lists can be iterated over")


CONTAINERS = (nn.ModuleList, nn.Sequential, nn.ParameterList, nn.ModuleDict, nn.ParameterDict)


@handles(LENGTHS, Module)
def _count(f: Frame, value: Module) -> Value | None:
    return Static(len(value.module)) if isinstance(value.module, CONTAINERS) else None


@handles(TRUTHS, Module)
def _truth(f: Frame, value: Module, node: ast.AST) -> Value:
    return Static(bool(value.module))


@handles(MEMBERSHIP, Module)
def _has(f: Frame, node: ast.AST, owner: Module, key: Value) -> Value:
    container = owner.module
    if not isinstance(container, (nn.ModuleDict, nn.ParameterDict)):
        return f.problem(node, f"`in` a {type(container).__name__} is not in the language")
    is_known, x = known(key)
    return Static(x in container) if is_known else contains(f, key, list(container.keys()))
