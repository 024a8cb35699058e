"""Lists and tuples: displays, what can be iterated over, indexing and slicing, sums and extrema."""

from __future__ import annotations

import ast
import functools
import operator
from typing import Any

import torch
from torch import nn

from backends.acrobat.core.types import FLOAT, INT, ListT, ScalarT, TensorT, TupleT
from backends.acrobat.frontend import ragged, weights
from backends.acrobat.frontend.frame import Frame
from backends.acrobat.frontend.operators import binary
from backends.acrobat.frontend.tensors import Refused, constant, index_tensor, rows
from backends.acrobat.frontend.values import (
    END,
    Dyn,
    Held,
    HostTensor,
    Mismatch,
    Module,
    OneOf,
    Static,
    TupleV,
    Value,
    contains_unknown,
    describe,
    guess,
    is_list,
    is_ragged,
    is_tensor,
    is_unknown,
    known,
    nothing_known,
    plural,
    type_of,
    type_or_none,
    unknown,
)
from backends.acrobat.ir import nodes as n


def empty_list(f: Frame) -> Dyn:
    """A list whose item type is not known yet."""
    return Dyn(n.Var("[]", ListT(unknown().type), span=f.span))


def list_of(f: Frame, node: ast.AST, items: list[Value], hint: str = "") -> Value:
    if not items:
        return empty_list(f)
    try:
        t = f.common([type_of(v) for v in items])
    except Mismatch:
        if all(isinstance(v, (Module, Static)) for v in items) or all(is_tensor(v) or is_ragged(v) for v in items):
            return TupleV(tuple(items))
        return f.problem(node, f"the elements of this list differ in type: {f.places(items)}")
    if contains_unknown(t):
        return unknown()
    atoms = tuple(f.atom(f.coerce(v, t)) for v in items)
    result = f.bind(n.ListOf(atoms, ListT(t), span=f.span), hint or "list")
    assert isinstance(result.atom, n.Var)
    f.displays[result.atom.name] = tuple(items)
    return result


def iterable(f: Frame, value: Value) -> Value:
    """The value as a list of the program, or as a tuple to unroll over. Raises Refused."""
    match value:
        case Held("iterator", inner):
            return inner
        case TupleV() | Static(tuple() | list()):
            unrolled: Value = f.static_list(value)
            return unrolled
        case Static(range() as r):
            return f.host("range", [Static(r.start), Static(r.stop), Static(r.step)], ListT(INT))
        case Module(module=nn.ModuleList() | nn.Sequential() as children):
            return TupleV(tuple(value.child(str(i)) for i in range(len(children))))
        case Module(module=nn.ParameterList() as parameters):
            return TupleV(tuple(_parameter(f, value, i) for i in range(len(parameters))))
    match value:
        case Dyn(type=ListT(kind="dict")):
            from backends.acrobat.frontend.containers import column

            return unknown() if is_unknown(value) else column(f, value, 0)
        case Dyn(type=ListT(kind="set")):
            raise Refused("the order of a set is not known", "write `sorted(...)` around it")
    if is_list(value) or is_unknown(value):
        return value
    if is_ragged(value):
        return ragged.as_rows(f, value, 0)  # type: ignore[arg-type]
    if is_tensor(value):
        return rows(f, value)  # type: ignore[arg-type]
    raise Refused("only lists, ranges, tuples and module lists can be iterated over")


def _parameter(f: Frame, parameters: Module, i: int) -> Value:
    from backends.acrobat.frontend.modules import tensor_of

    tensor = tensor_of(f, parameters, str(i))
    assert tensor is not None
    return tensor


def append(f: Frame, s: ast.stmt, owner: ast.expr, item: ast.expr) -> None:
    """`owner.append(item)`: the name stands for a new list. Nothing else may see the old one, so `owner` must own it."""
    if not isinstance(owner, ast.Name):
        f.problem(s, "`append` is for a list with a name of its own", "append to a variable, and build the structure from it")
        return
    name = owner.id
    xs, v = f.env.get(name, unknown()), f.expression(item)
    t = type_or_none(xs)
    if nothing_known(xs):
        return
    if not isinstance(t, ListT) and name not in f.owned:
        f.problem(s, f"`append` is for lists, not {describe(t)}")
        return
    if name not in f.owned:
        advice = f"write `{name} = {name} + [...]`, or append before the list is used elsewhere"
        f.problem(s, f"`append` changes a list that may be seen under another name than `{name}`", advice)
        return
    if isinstance(xs, TupleV):
        f.env[name] = TupleV((*xs.items, v))
        return
    if nothing_known(v):
        return
    assert isinstance(t, ListT)
    try:
        joined = ListT(f.common([t.item, type_of(v)]))
    except Mismatch:
        f.problem(s, f"`{name}` holds {plural(t.item)}, this appends {describe(type_of(v))}", "a list has elements of one type")
        return
    if contains_unknown(joined):
        f.env[name] = Dyn(n.Var("[]", joined, span=f.span))
        return
    display = () if t == ListT(unknown().type) else f.displays.get(getattr(getattr(xs, "atom", None), "name", ""))
    result = f.host("list.append", [f.coerce(xs, joined), f.coerce(v, joined.item)], joined, name)
    if display is not None and isinstance(result.atom, n.Var):
        f.displays[result.atom.name] = (*display, v)
    f.env[name] = result


# ---- indexing


def subscript(f: Frame, node: ast.AST, value: Value, index: ast.expr) -> Value:
    match value:
        case TupleV() | Static(tuple()) | Dyn(n.Var(type=TupleT())):
            items = f.components(value)
            assert items is not None
            if isinstance(index, ast.Slice):
                bounds = [constant(f.expression(e), "a bound") if e else None for e in (index.lower, index.upper, index.step)]
                return TupleV(tuple(items[slice(*bounds)]))
            chosen = f.expression(index)
            if isinstance(chosen, Dyn) and not isinstance(chosen.atom, n.Lit) and len(items) > 0:
                as_list = list_of(f, node, list(items))
                return unknown() if is_unknown(chosen) or not is_list(as_list) else _element_at(f, node, as_list, chosen)  # type: ignore[arg-type]
            i = constant(chosen, "the index of a tuple")
            if not isinstance(i, int) or not -len(items) <= i < len(items):
                return f.problem(node, f"index {i} is out of range for a tuple of {len(items)}")
            return items[i]
        case Module(module=nn.ModuleList() | nn.Sequential() | nn.ParameterList() as children):
            at = f.expression(index)
            if isinstance(at, Held) and at.kind == "index":
                at = at.value
            if is_tensor(at) and not is_unknown(at):
                at = f.host("int", [f.tensors.item(at, "index")], INT)  # type: ignore[arg-type]
            if isinstance(at, Dyn) and not isinstance(at.atom, n.Lit):
                return unknown() if is_unknown(at) else _one_of(f, value, at, len(children))
            i = constant(at, "the index of a ModuleList")
            if not isinstance(i, int) or not -len(children) <= i < len(children):
                return f.problem(node, f"index {i} is out of range for {len(children)} modules")
            if isinstance(children, nn.ParameterList):
                return _parameter(f, value, i % len(children))
            return value.child(str(i % len(children)))
        case HostTensor():
            return weights.element(f, value, index)
        case Held("ids", TupleV(items)):
            is_known, at = known(f.expression(index))
            if not is_known or not isinstance(at, int) or not -len(items) <= at < len(items):
                return f.problem(node, "an int of this tensor is chosen by a constant index")
            return Held("index", items[at])
    if nothing_known(value):
        return unknown()
    if is_tensor(value) or is_ragged(value):
        return index_tensor(f, node, value, index)  # type: ignore[arg-type]
    if isinstance(value, Dyn) and isinstance(value.type, ListT):
        return _list_index(f, node, value, index)
    return f.problem(node, "this cannot be indexed")


def _one_of(f: Frame, owner: Module, index: Dyn, count: int) -> Value:
    """The module at a place known at run time only."""
    places = f.host("range", [Static(0), Static(count), Static(1)], ListT(INT))
    at = f.host("list.get", [places, index], INT, "which")
    return OneOf(at, tuple(owner.child(str(i)) for i in range(count)))


def _list_index(f: Frame, node: ast.AST, value: Dyn, index: ast.expr) -> Value:
    assert isinstance(value.type, ListT)
    if isinstance(index, ast.Slice):
        step = constant(f.expression(index.step), "the step") if index.step else 1
        if step == -1 and index.lower is None and index.upper is None:
            return f.host("list.reverse", [value], value.type, "reversed")
        if step != 1:
            return f.problem(node, "a slice of a list has step 1 here, or is [::-1]")
        start = f.expression(index.lower) if index.lower else Static(0)
        stop = f.expression(index.upper) if index.upper else Static(END)
        return f.host("list.slice", [value, start, stop], value.type)
    return _element_at(f, index, value, f.expression(index))


def _element_at(f: Frame, index: ast.AST, value: Dyn, i: Value) -> Value:
    """`value[i]` of a list."""
    assert isinstance(value.type, ListT)
    if isinstance(i, HostTensor):
        i = i.index()
    if isinstance(i, Held) and i.kind == "index":
        i = i.value
    if is_tensor(i):
        i = f.host("int", [f.tensors.item(i, "index")], INT)  # type: ignore[arg-type]
    if not is_unknown(i) and type_of(i) != INT:
        return f.problem(index, f"the index of a list is an int, not {describe(type_of(i))}")
    return f.host("list.get", [value, i], value.type.item, "element")


# ---- sums and extrema


def total(f: Frame, node: ast.Call, function: Any) -> Value:
    """`sum(xs[, start])` and `functools.reduce(torch.add, xs[, start])`: a loop that adds."""
    name = "sum" if function is sum else "reduce"
    args = list(node.args)
    if function is functools.reduce:
        operation = f.expression(args.pop(0)) if args else Static(None)
        if not (isinstance(operation, Static) and operation.value in (torch.add, operator.add)):
            return f.problem(node, "`reduce` only adds here", "write reduce(torch.add, xs), or a loop")
    if not 1 <= len(args) + len(node.keywords) <= 2 or not args or any(k.arg != "start" for k in node.keywords):
        return f.problem(node, f"`{name}` takes a list and a start here")
    xs = iterable(f, f.borrowed(args[0]))
    start: Value | None = f.expression(args[1]) if len(args) == 2 else None
    for k in node.keywords:
        start = f.expression(k.value)
    if isinstance(xs, TupleV):
        items = [*([start] if start is not None and start != Static(0) else []), *xs.items]
        if not items:
            return start if start is not None else Static(0)
        result = items[0]
        for item in items[1:]:
            result = binary(f, node, ast.Add(), result, item)
        return result
    if start is not None and nothing_known(start):
        return unknown()
    if is_unknown(xs):
        return guess(type_of(start)) if start is not None else unknown()
    t = type_of(xs).item
    if isinstance(t, ScalarT):
        t = FLOAT if t == FLOAT or (start is not None and type_of(start) == FLOAT) else INT
        if t != type_of(xs).item:
            return f.problem(
                node, f"`{name}` of {plural(type_of(xs).item)} with a start of another type", "convert the elements"
            )
        return fold(f, xs, f.coerce(Static(0) if start is None else start, t), "add")
    if not isinstance(t, TensorT):
        return f.problem(node, f"`{name}` adds tensors or numbers, not {describe(t)}")
    if start is None or (start == Static(0) and name == "sum"):
        return fold(f, *head(f, xs), "add")
    if type_of(start) != t:
        return f.problem(
            node, f"`{name}` of {plural(t)} starts with {describe(type_of(start))}", "start with torch.zeros of that shape"
        )
    return fold(f, xs, start, "add")


def extremum(f: Frame, node: ast.AST, xs: Value, name: str) -> Value:
    """`max(xs)` and `min(xs)` of a list of numbers."""
    items = iterable(f, xs)
    if isinstance(items, TupleV) or is_unknown(items):
        return unknown() if is_unknown(items) else f.problem(node, f"`{name}` takes numbers or a list of them here")
    if type_of(items).item not in (INT, FLOAT):
        return f.problem(node, f"`{name}` takes numbers, not {describe(type_of(items).item)}")
    return fold(f, *head(f, items), name)


def head(f: Frame, xs: Value) -> tuple[Value, Value]:
    """The rest and the first of a list that must have one."""
    t = type_of(xs)
    first = f.host("list.get", [xs, Static(0)], t.item, "first")
    return f.host("list.slice", [xs, Static(1), Static(END)], t, "others"), first


def fold(f: Frame, xs: Value, init: Value, op: str) -> Value:
    t = type_of(init)
    item, so_far = f.var("item", t), f.var("total", t)
    with f.branch() as b:
        operands = [Dyn(so_far), Dyn(item)]
        step = f.tensors.op(op, operands) if isinstance(t, TensorT) else f.host(op, operands, t)
        body = b.finish(f.bind(n.Tuple((step.atom,), TupleT((t,)), span=f.span), "next").atom)
    folded = f.bind(n.Fold(item, f.atom(xs), (so_far,), (f.atom(init),), body, TupleT((t,)), span=f.span), "sum")
    return f.bind(n.Field(folded.atom, 0, t, span=f.span), "total")
