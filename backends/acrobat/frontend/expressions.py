"""Expressions of the source: names, attributes, and the way to what compiles the rest."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import types
from collections.abc import Sequence

import torch

from backends.acrobat.core.types import INT, DataT, ListT, ScalarT, TensorT, TupleT
from backends.acrobat.frontend import calls, containers, dictionaries, modules, ragged, weights
from backends.acrobat.frontend.annotations import AnnotationError
from backends.acrobat.frontend.comprehensions import comprehension
from backends.acrobat.frontend.conditions import (
    bool_value,
    class_key,
    compare,
    decide,
    negation,
    optional,
    path_of,
    truth,
)
from backends.acrobat.frontend.frame import Frame
from backends.acrobat.frontend.lists import iterable, list_of, subscript
from backends.acrobat.frontend.observed import record_class
from backends.acrobat.frontend.operators import binary, unary
from backends.acrobat.frontend.tensors import Refused, shape_of
from backends.acrobat.frontend.values import (
    Closure,
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
    is_object,
    is_ragged,
    known,
    nothing_known,
    unknown,
)
from backends.acrobat.ir import nodes as n

NAMED = {
    ast.Lambda: ("a lambda with defaults or `*` parameters", "write a method or a function"),
    ast.Dict: ("a dict with `**` in it", "write its entries"),
    ast.NamedExpr: ("`:=`", "assign the value in a statement of its own"),
    ast.Starred: ("`*`", "write the elements one by one, or join lists with `+`"),
}


def expression(f: Frame, node: ast.expr, hint: str = "") -> Value:
    """The value of `node`; problems are noted and give an unknown value."""
    with f.at(node):
        try:
            if not isinstance(node, (ast.IfExp, ast.BoolOp, ast.ListComp, ast.GeneratorExp, ast.Compare)):
                return _dispatch(f, node, hint)
            before, f.mutated = f.mutated, set()
            value = _dispatch(f, node, hint)
            changed, f.mutated = f.mutated & set(f.env), before | f.mutated
            if changed:
                what = "a list is changed in an expression of which parts are computed several times, or not at all"
                return f.problem(node, f"{what}: `{min(changed)}`", "write it as a statement: a loop, or an `if`")
            return value
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
            if opened is not None:
                return opened
            known_class = f.env.get(class_key(path_of(value) or ""))
            if isinstance(known_class, Static):
                return _of_known_class(f, node, f.borrowed(value), known_class.value, attribute)
            return _attribute(f, node, f.borrowed(value), attribute)
        case ast.Call(ast.Name("isinstance"), [ast.Name() | ast.Attribute() as tested, _], []) if is_object(f.borrowed(tested)):
            return truth(f, node)
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
        case ast.Tuple(elts) | ast.List(elts) if any(isinstance(e, ast.Starred) for e in elts):
            return _spread(f, node, elts, isinstance(node, ast.Tuple))
        case ast.Tuple(elts):
            return TupleV(tuple(f.expression(e) for e in elts))
        case ast.Lambda(arguments) if not (arguments.vararg or arguments.kwarg or arguments.defaults):
            return Closure(node, dict(f.env))
        case ast.List(elts):
            return list_of(f, node, [f.expression(e) for e in elts], hint)
        case ast.ListComp():
            return comprehension(f, node, hint)
        case ast.GeneratorExp():
            return Held("iterator", comprehension(f, node, hint))
        case ast.Subscript(value, ast.Constant(str() as key)):
            return _entry(f, node, f.borrowed(value), key)
        case ast.Dict([], []):
            return containers.empty(f, "dict")
        case ast.Dict(keys, values) if None not in keys and not all(
            isinstance(k, ast.Constant) and isinstance(k.value, str) for k in keys
        ):
            entries = [(f.expression(k), f.expression(v)) for k, v in zip(keys, values, strict=True) if k is not None]
            return containers.dict_of(f, node, entries)
        case ast.DictComp(key, value, generators):
            pair = ast.copy_location(ast.Tuple([key, value], ast.Load()), node)
            pairs = comprehension(f, ast.copy_location(ast.ListComp(pair, generators), node), hint)
            return containers.dict_of_pairs(f, node, pairs)
        case ast.Set(elts):
            return containers.set_of(f, node, TupleV(tuple(f.expression(e) for e in elts)))
        case ast.SetComp(elt, generators):
            return containers.set_of(f, node, comprehension(f, ast.copy_location(ast.ListComp(elt, generators), node), hint))
        case ast.Subscript(value, index):
            owner = f.borrowed(value)
            if containers.kind_of(owner) == "dict" and not isinstance(index, ast.Slice):
                return containers.look_up(f, node, owner, f.borrowed(index))  # type: ignore[arg-type]
            if isinstance(owner, Static) and isinstance(owner.value, dict) and not isinstance(index, ast.Slice):
                return dictionaries.entry(f, node, owner.value, f.borrowed(index))
            if isinstance(owner, Module) and isinstance(owner.module, (torch.nn.ModuleDict, torch.nn.ParameterDict)):
                return dictionaries.module(f, node, owner, f.borrowed(index))
            return subscript(f, node, owner, index)
        case ast.Dict(keys, values) if keys and all(isinstance(k, ast.Constant) and isinstance(k.value, str) for k in keys):
            names = [k.value for k in keys]  # type: ignore[union-attr]
            if not all(name.isidentifier() for name in names) or len(set(names)) < len(names):
                return f.problem(node, "the keys of a dict are names, each once, here")
            return calls.construct(
                f, node, record_class(names), [], {k: f.expression(v) for k, v in zip(names, values, strict=True)}
            )
        case ast.JoinedStr(values):
            return _text(f, node, values)
    what, advice = NAMED.get(type(node), ("this expression", "LANGUAGE.md lists what is"))  # type: ignore[call-overload]
    return f.problem(node, f"{what} is not in the language", advice)


def _spread(f: Frame, node: ast.AST, elts: Sequence[ast.expr], tuple_: bool) -> Value:
    """A display with `*xs` in it."""
    parts: list[Value] = []
    for e in elts:
        if not isinstance(e, ast.Starred):
            parts.append(TupleV((f.expression(e),)))
            continue
        xs = iterable(f, f.expression(e.value))
        components = f.components(xs)
        parts.append(TupleV(tuple(components)) if components is not None else xs)
    if all(isinstance(part, TupleV) for part in parts):
        items = [v for part in parts for v in part.items]  # type: ignore[union-attr]
        return TupleV(tuple(items)) if tuple_ else list_of(f, node, items)
    lists = [list_of(f, node, list(part.items)) if isinstance(part, TupleV) else part for part in parts]
    result = lists[0]
    for more in lists[1:]:
        result = binary(f, node, ast.Add(), result, more)
    return result


def _text(f: Frame, node: ast.AST, values: Sequence[ast.expr]) -> Value:
    """An f-string, all of whose parts are known at compile time."""
    parts = []
    for part in values:
        match part:
            case ast.Constant(str() as text):
                parts.append(text)
            case ast.FormattedValue(inner, -1, None):
                is_known, x = known(f.expression(inner))
                if not is_known:
                    return f.problem(node, "an f-string of what is known at run time only is not in the language")
                parts.append(f"{x}")
            case _:
                return f.problem(node, "an f-string has plain values in it here")
    return Static("".join(parts))


def _entry(f: Frame, node: ast.AST, value: Value, key: str) -> Value:
    """`value["key"]`: of a dictionary of the instance, of a ModuleDict, or of one known at compile time."""
    match value:
        case Static(dict() as known):
            if key not in known:
                return f.problem(node, f"this dict has no key {key!r}")
            return f.program.wrap(known[key])
        case Module(module=torch.nn.ModuleDict() | torch.nn.ParameterDict() as held):
            if key not in held:
                return f.problem(node, f"this {type(held).__name__} has no key {key!r}")
            return modules.attribute(f, node, value, key)
        case Dyn(type=DataT()):
            return field(f, node, value, key)
        case Dyn(type=ListT(kind="dict")):
            return containers.look_up(f, node, value, Static(key))
    return unknown() if nothing_known(value) else f.problem(node, "this cannot be indexed with a string")


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
        case TupleV((first, second)) if name in ("values", "indices"):  # what torch.max and topk give
            return first if name == "values" else second
        case Dyn(atom) if isinstance(atom.type, TupleT) and len(atom.type.items) == 2 and name in ("values", "indices"):
            return (f.components(value) or [])[0 if name == "values" else 1]
        case Static(tuple() as constant) if name in ("index", "count"):
            return Static(getattr(constant, name))
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
    if not isinstance(value, Dyn):
        return f.problem(node, f"this has no attribute `{name}` in the language")
    match value.type:
        case TensorT() | ListT(rows=int()):
            return _tensor_attribute(f, node, value, name)
        case DataT():
            return field(f, node, value, name)
        case ListT():
            return Method(value, name)
        case ScalarT() if name in ("item", "long", "int"):
            return Method(value, name)
    return f.problem(node, f"{describe(value.type)} has no attribute `{name}`")


def _tensor_attribute(f: Frame, node: ast.AST, value: Dyn, name: str) -> Value:
    rank = len(ragged.shape(value))
    match name:
        case "shape":
            return (
                TupleV(tuple(ragged.extent_of(f, value, d) for d in range(rank)))
                if is_ragged(value)
                else Static(shape_of(value))
            )
        case "ndim":
            return Static(rank)
        case "dtype":
            t = value.type.item if isinstance(value.type, ListT) else value.type
            return Static(torch.int64 if t == INT or getattr(t, "dtype", "") == "int64" else torch.float32)
        case "device":
            return Static(torch.device("cpu"))
        case "T":
            return ragged.permute(f, value, list(reversed(range(rank))))
        case "mT" if rank > 1:
            return ragged.permute(f, value, [*range(rank - 2), rank - 1, rank - 2])
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
    have = [c for c in classes if datatypes.has_field(c, name)]
    if not have and (found := class_attribute(f, node, value, classes, name)) is not None:
        return found
    if not have:
        return f.problem(node, f"{value.type.name} has no field `{name}`")
    if len(have) < len(classes):
        lack = next(c for c in classes if c not in have).__name__
        return f.problem(node, f"this may be a `{lack}`, which has no field `{name}`", "take it apart with `match`")
    t = f.common([datatypes.field_type(c, name) for c in classes])
    arms = []
    for c in classes:
        fields = datatypes.field_names(c)
        variables = tuple(f.var(x, datatypes.field_type(c, x)) for x in fields)
        at = fields.index(name)
        if variables[at].type != t and not contains_unknown(t):
            raise Mismatch(f"`{name}` is {describe(variables[at].type)} in {c.__name__}, {describe(t)} elsewhere")
        arms.append(n.Arm(c.__name__, variables, variables[at]))
    if any(contains_unknown(v.type) for arm in arms for v in arm.vars):
        f.program.incomplete = True
        return guess(t)
    return f.bind(n.Match(value.atom, tuple(arms), t, span=f.span), name)


def _of_known_class(f: Frame, node: ast.AST, value: Value, cls: type, name: str) -> Value:
    """An attribute of an object whose class is known: a field that nothing has read so far is read from the next round on."""
    if isinstance(value, Dyn) and f.program.datatypes.has_field(cls, name):
        f.program.incomplete = True
        return guess(f.program.datatypes.field_type(cls, name))
    if isinstance(value, Dyn) and (found := class_attribute(f, node, value, (cls,), name)) is not None:
        return found
    return f.problem(node, f"a `{cls.__name__}` has no `{name}`")


def class_attribute(f: Frame, node: ast.AST, value: Dyn, classes: Sequence[type], name: str) -> Value | None:
    """A method, property or constant of the class of an instance's object, the same in all classes of the union; None if they
    have none."""
    found = [inspect.getattr_static(c, name, None) for c in classes]
    if found[0] is None or any(x is not found[0] for x in found):
        return None
    match found[0]:
        case property(fget=types.FunctionType() as getter):
            return f.program.call(f, node, getter, [value], {})
        case functools.cached_property(func=types.FunctionType() as getter):
            return f.program.call(f, node, getter, [value], {})
        case types.FunctionType() as method:
            return Method(value, name, method)
        case staticmethod(__func__=types.FunctionType() as function):
            return Static(function)
        case int() | float() | str() | bool() | tuple():
            return Static(found[0])
    return None
