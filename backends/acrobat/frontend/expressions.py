"""Expressions of the source: names, attributes, and the way to what compiles the rest."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import types

import torch

from backends.acrobat.core.types import DataT, ListT, TensorT
from backends.acrobat.frontend import calls, modules, weights
from backends.acrobat.frontend.annotations import AnnotationError
from backends.acrobat.frontend.comprehensions import comprehension
from backends.acrobat.frontend.conditions import bool_value, compare, decide, negation, optional, path_of, truth
from backends.acrobat.frontend.frame import Frame
from backends.acrobat.frontend.lists import list_of, subscript
from backends.acrobat.frontend.operators import binary, unary
from backends.acrobat.frontend.tensors import Refused
from backends.acrobat.frontend.values import (
    Dyn,
    Held,
    HostTensor,
    Method,
    Mismatch,
    Module,
    Static,
    TupleV,
    Value,
    contains_unknown,
    describe,
    guess,
    nothing_known,
    unknown,
)
from backends.acrobat.ir import nodes as n

NAMED = {
    ast.Lambda: ("a lambda", "write a method or a function"),
    ast.Dict: ("a dict", "use a dataclass"),
    ast.DictComp: ("a dict", "use a list"),
    ast.Set: ("a set", "use a list"),
    ast.SetComp: ("a set", "use a list"),
    ast.JoinedStr: ("an f-string", ""),
    ast.NamedExpr: ("`:=`", "assign the value in a statement of its own"),
    ast.Starred: ("`*`", "write the elements one by one, or join lists with `+`"),
}


def expression(f: Frame, node: ast.expr, hint: str = "") -> Value:
    """The value of `node`; problems are noted and give an unknown value."""
    with f.at(node):
        try:
            return _dispatch(f, node, hint)
        except Refused as refused:
            return f.problem(node, refused.message, refused.advice)
        except (Mismatch, AnnotationError) as error:
            return f.problem(node, str(error))


def _dispatch(f: Frame, node: ast.expr, hint: str) -> Value:
    match node:
        case ast.Constant(value):
            return Static(value)
        case ast.Name(name):
            return _name(f, node, name)
        case ast.Attribute(value, attribute):
            opened = f.env.get(path_of(node) or "")
            return opened if opened is not None else _attribute(f, node, f.borrowed(value), attribute)
        case ast.Call():
            return calls.call(f, node, hint)
        case ast.BinOp(left, op, right):
            return binary(f, node, op, f.borrowed(left), f.borrowed(right))
        case ast.UnaryOp(ast.Not(), operand):
            return negation(f, truth(f, operand))
        case ast.UnaryOp(op, operand):
            return unary(f, node, op, f.expression(operand))
        case ast.BoolOp(op, values):
            return bool_value(f, node, op, values)
        case ast.Compare():
            return compare(f, node)
        case ast.IfExp(test, body, orelse):
            return decide(f, node, test, lambda: f.expression(body), lambda: f.expression(orelse))
        case ast.Tuple(elts):
            return TupleV(tuple(f.expression(e) for e in elts))
        case ast.List(elts):
            return list_of(f, node, [f.expression(e) for e in elts], hint)
        case ast.ListComp():
            return comprehension(f, node, hint)
        case ast.GeneratorExp():
            return Held("iterator", comprehension(f, node, hint))
        case ast.Subscript(value, index):
            return subscript(f, node, f.borrowed(value), index)
    what, advice = NAMED.get(type(node), ("this expression", "LANGUAGE.md lists what is"))  # type: ignore[call-overload]
    return f.problem(node, f"{what} is not in the language", advice)


def _name(f: Frame, node: ast.AST, name: str) -> Value:
    if name in f.env:
        f.owned.discard(name)  # what reads the name may keep its list; see Frame.borrowed
        return f.env[name]
    if name in f.poisoned:
        why, advice = f.poisoned[name]
        told = (name, why) in f.told
        if not f.quiet:
            f.told.add((name, why))
        return unknown() if told else f.problem(node, f"`{name}` {why}", advice)
    if name in f.namespace:
        f.program.reads.named(f.function, name, f.namespace[name])
        return f.program.wrap(f.namespace[name])
    if hasattr(builtins, name):
        return Static(getattr(builtins, name))
    return f.problem(node, f"`{name}` is not defined")


def _attribute(f: Frame, node: ast.AST, value: Value, name: str) -> Value:
    match value:
        case Module():
            return modules.attribute(f, node, value, name)
        case Static(types.ModuleType() as module):
            if not hasattr(module, name):
                return f.problem(node, f"the module {module.__name__} has no `{name}`")
            f.program.reads.of_object(module, name, getattr(module, name))
            return f.program.wrap(getattr(module, name))
        case Static(tuple()) | TupleV():
            return f.problem(node, f"a tuple has no `{name}` in the language", "index it, or take it apart")
        case Static(v):
            if not hasattr(v, name):
                return f.problem(node, f"`{getattr(v, '__name__', v)}` has no attribute `{name}`")
            f.program.reads.of_object(v, name, getattr(v, name))
            return f.program.wrap(getattr(v, name))
        case Held():
            return Method(value, name)
        case HostTensor():
            return weights.attribute(value, name) or Method(value, name)
        case Method():
            return f.problem(node, f"the method `{value.name}` has no attributes in the language")
    if nothing_known(value):
        return unknown()
    match value.type:
        case TensorT():
            return _tensor_attribute(f, node, value, name)
        case DataT():
            return field(f, node, value, name)
        case ListT():
            return Method(value, name)
    return f.problem(node, f"{describe(value.type)} has no attribute `{name}`")


def _tensor_attribute(f: Frame, node: ast.AST, value: Dyn, name: str) -> Value:
    assert isinstance(value.type, TensorT)
    shape = value.type.shape
    rank = len(shape)
    match name:
        case "shape":
            return Static(tuple(shape))
        case "ndim":
            return Static(rank)
        case "dtype":
            return Static(torch.float32 if value.type.dtype == "float32" else torch.int64)
        case "device":
            return Static(torch.device("cpu"))
        case "T":
            return f.tensors.op("permute", [value], {"dims": tuple(reversed(range(rank)))})
        case "mT" if rank > 1:
            return f.tensors.op("permute", [value], {"dims": (*range(rank - 2), rank - 1, rank - 2)})
    if not callable(getattr(torch.Tensor, name, None)):
        return f.problem(node, f"`{name}` of a tensor is not in the language", "LANGUAGE.md lists the operations")
    return Method(value, name)


def field(f: Frame, node: ast.AST, value: Dyn, name: str) -> Value:
    assert isinstance(value.type, DataT)
    if optional(f, value) is not None:
        advice = "give it a name and test that first: `if x is not None:`; or take it apart with `match`"
        return f.problem(node, f"this may be None, which has no attribute `{name}`", advice)
    datatypes = f.program.datatypes
    classes = datatypes.cases[value.type.name]
    have = [c for c in classes if name in [x.name for x in dataclasses.fields(c)]]
    if not have:
        return f.problem(node, f"{value.type.name} has no field `{name}`")
    if len(have) < len(classes):
        lack = next(c for c in classes if c not in have).__name__
        return f.problem(node, f"this may be a `{lack}`, which has no field `{name}`", "take it apart with `match`")
    t = f.common([datatypes.field_type(c, name) for c in classes])
    arms = []
    for c in classes:
        variables = tuple(f.var(x.name, datatypes.field_type(c, x.name)) for x in dataclasses.fields(c))
        at = [x.name for x in dataclasses.fields(c)].index(name)
        if variables[at].type != t and not contains_unknown(t):
            raise Mismatch(f"`{name}` is {describe(variables[at].type)} in {c.__name__}, {describe(t)} elsewhere")
        arms.append(n.Arm(c.__name__, variables, variables[at]))
    if any(contains_unknown(v.type) for arm in arms for v in arm.vars):
        f.program.incomplete = True
        return guess(t)
    return f.bind(n.Match(value.atom, tuple(arms), t, span=f.span), name)
