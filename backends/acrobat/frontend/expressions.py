"""Expressions of the source."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from backends.acrobat.frontend.annotations import AnnotationError
from backends.acrobat.frontend.frame import Frame
from backends.acrobat.frontend.tensors import Call, Refused, constant, is_tensor, shape_of, torch_name
from backends.acrobat.frontend.values import (
    Dyn,
    Method,
    Mismatch,
    Module,
    Static,
    TupleV,
    Value,
    contains_unknown,
    describe,
    is_unknown,
    type_of,
    unknown,
)
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.ops import make_op
from backends.acrobat.ir.types import BOOL, FLOAT, INT, DataT, ListT, ScalarT, TensorT, TupleT

OPERATORS: dict[type[ast.AST], tuple[str, Callable[..., Any]]] = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("sub", operator.sub),
    ast.Mult: ("mul", operator.mul),
    ast.Div: ("div", operator.truediv),
    ast.FloorDiv: ("floordiv", operator.floordiv),
    ast.Mod: ("mod", operator.mod),
    ast.BitAnd: ("bitand", operator.and_),
    ast.BitOr: ("bitor", operator.or_),
    ast.BitXor: ("bitxor", operator.xor),
    ast.LShift: ("shl", operator.lshift),
    ast.RShift: ("shr", operator.rshift),
    ast.Pow: ("pow", operator.pow),
    ast.MatMult: ("matmul", operator.matmul),
}
COMPARISONS: dict[type[ast.AST], tuple[str, Callable[..., Any]]] = {
    ast.Eq: ("eq", operator.eq),
    ast.NotEq: ("ne", operator.ne),
    ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le),
    ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge),
}


def expression(f: Frame, node: ast.expr, hint: str = "") -> Value:
    """The value of `node`; problems are noted and give an unknown value."""
    with f.at(node):
        try:
            value = _dispatch(f, node, hint)
        except Refused as refused:
            return f.problem(node, refused.message, refused.advice)
        except (Mismatch, AnnotationError) as error:
            return f.problem(node, str(error))
    return value


def _dispatch(f: Frame, node: ast.expr, hint: str) -> Value:
    match node:
        case ast.Constant(value):
            return Static(value)
        case ast.Name(name):
            return _name(f, node, name)
        case ast.Attribute(value, attribute):
            return _attribute(f, node, expression(f, value), attribute)
        case ast.Call():
            return _call(f, node, hint)
        case ast.BinOp(left, op, right):
            return _binary(f, node, op, expression(f, left), expression(f, right))
        case ast.UnaryOp(op, operand):
            return _unary(f, node, op, expression(f, operand))
        case ast.BoolOp(op, values):
            return _bool(f, node, op, values)
        case ast.Compare():
            return _compare(f, node)
        case ast.IfExp(test, body, orelse):
            return choose(
                f, node, f.condition(expression(f, test), test), lambda: expression(f, body), lambda: expression(f, orelse)
            )
        case ast.Tuple(elts):
            return TupleV(tuple(expression(f, e) for e in elts))
        case ast.List(elts):
            return _list(f, node, [expression(f, e) for e in elts], hint)
        case ast.ListComp():
            return _comprehension(f, node, hint)
        case ast.GeneratorExp():
            return _comprehension(f, ast.copy_location(ast.ListComp(node.elt, node.generators), node), hint)
        case ast.Subscript(value, index):
            return _subscript(f, node, expression(f, value), index)
        case (
            ast.NamedExpr()
            | ast.Lambda()
            | ast.Dict()
            | ast.Set()
            | ast.JoinedStr()
            | ast.Await()
            | ast.Yield()
            | ast.Starred()
        ):
            pass
    what = {ast.Lambda: "a lambda", ast.Dict: "a dict", ast.Set: "a set", ast.JoinedStr: "an f-string"}.get(
        type(node), "this expression"
    )
    return f.problem(node, f"{what} is not in the language", "LANGUAGE.md lists what is")


# ---- names and attributes


def _name(f: Frame, node: ast.AST, name: str) -> Value:
    if name in f.env:
        return f.env[name]
    if name in f.poisoned:
        return f.problem(node, f"`{name}` {f.poisoned[name]}", "assign it on every path, or before")
    if name in f.namespace:
        return f.program.wrap(f.namespace[name])
    if hasattr(builtins, name):
        return Static(getattr(builtins, name))
    return f.problem(node, f"`{name}` is not defined")


def _attribute(f: Frame, node: ast.AST, value: Value, name: str) -> Value:
    match value:
        case Module():
            return module_attribute(f, node, value, name)
        case Static(types.ModuleType() as module):
            if not hasattr(module, name):
                return f.problem(node, f"the module {module.__name__} has no `{name}`")
            return f.program.wrap(getattr(module, name))
        case Static(tuple() | torch.Size()) | TupleV():
            return Method(value, name)  # type: ignore[arg-type]
        case Static(v):
            return f.program.wrap(getattr(v, name))
        case Method():
            return f.problem(node, f"the method `{value.name}` has no attributes in the language")
    if is_unknown(value) and not isinstance(value.type, ListT):
        return unknown()
    match value.type:
        case TensorT(shape):
            if name == "shape":
                return Static(tuple(shape))
            if name in ("T", "mT"):
                rank = len(shape)
                dims = tuple(reversed(range(rank))) if name == "T" else (*range(rank - 2), rank - 1, rank - 2)
                return f.tensors.op("permute", [value], {"dims": dims})
            if name == "ndim":
                return Static(len(shape))
            return Method(value, name)
        case DataT():
            return _field(f, node, value, name)
        case ListT():
            return Method(value, name)
    return f.problem(node, f"{describe(value.type)} has no attribute `{name}`")


def module_attribute(f: Frame, node: ast.AST, owner: Module, name: str) -> Value:
    tensor = owner.tensor(name)
    if tensor is not None:
        return Dyn(tensor)
    if not hasattr(owner.module, name):
        return f.problem(node, f"{type(owner.module).__name__} has no attribute `{name}`")
    value = getattr(owner.module, name)
    if isinstance(value, nn.Module):
        return owner.child(name)
    if isinstance(value, types.MethodType):
        return Method(owner, name, value.__func__)
    if isinstance(value, types.FunctionType):
        return Static(value)
    if isinstance(value, Tensor):
        return f.problem(
            node, f"`{name}` is a tensor but neither a parameter nor a buffer", "make it an nn.Parameter or register a buffer"
        )
    if value is None or isinstance(value, (int, float, bool, str, tuple)):
        return Static(value)
    return f.problem(node, f"`{name}` is a {type(value).__name__}, which is not in the language")


def _field(f: Frame, node: ast.AST, value: Dyn, name: str) -> Value:
    assert isinstance(value.type, DataT)
    datatypes = f.program.datatypes
    if value.type.name in datatypes.optionals:
        return f.problem(
            node,
            f"this may be None, which has no attribute `{name}`",
            "take it apart with `match` or test it against None first",
        )
    classes = datatypes.cases[value.type.name]
    if len(classes) > 1:
        names = " | ".join(c.__name__ for c in classes)
        return f.problem(node, f"only some of {names} need have a field `{name}`", "take the value apart with `match`")
    fields = [x.name for x in dataclasses.fields(classes[0])]
    if name not in fields:
        return f.problem(node, f"{classes[0].__name__} has no field `{name}`")
    return open_case(f, value, classes[0])[fields.index(name)]


def open_case(f: Frame, value: Dyn, cls: type) -> list[Value]:
    """The fields of a value whose union has the one case `cls`."""
    assert isinstance(value.type, DataT)
    f.program.use(value.type)
    fields = dataclasses.fields(cls)
    types_ = [f.program.datatypes.field_type(cls, x.name) for x in fields]
    out: list[Value] = []
    for i, (x, t) in enumerate(zip(fields, types_, strict=True)):
        if contains_unknown(t):
            out.append(unknown())
            continue
        # One projection a field: dead ones are removed later, equal ones shared.
        variables = tuple(n.Var(f.names.fresh(y.name), s) for y, s in zip(fields, types_, strict=True))
        arm = n.Arm(cls.__name__, variables, variables[i])
        if any(contains_unknown(s) for s in types_):
            f.program.incomplete = True
            out.append(Dyn(n.Var("?", t)))
        else:
            out.append(f.bind(n.Match(value.atom, (arm,), t, span=f.span), x.name))
    return out


# ---- operators


def _is_number(v: Value) -> bool:
    return (isinstance(v, Dyn) and isinstance(v.type, ScalarT)) or (
        isinstance(v, Static) and isinstance(v.value, (bool, int, float))
    )


def _known(v: Value) -> tuple[bool, Any]:
    if isinstance(v, Static):
        return True, v.value
    if isinstance(v, Dyn) and isinstance(v.atom, n.Lit):
        return True, v.atom.value
    return False, None


def _binary(f: Frame, node: ast.AST, op: ast.operator, a: Value, b: Value) -> Value:
    name, python = OPERATORS[type(op)]
    (known_a, x), (known_b, y) = _known(a), _known(b)
    if known_a and known_b:
        try:
            return Static(python(x, y))
        except Exception as error:
            return f.problem(node, str(error))
    if is_tensor(a) or is_tensor(b):
        if name in ("add", "sub", "mul", "div", "matmul"):
            return f.tensors.binary(name, a, b)
        if name == "pow" and known_b and y == 2:
            return f.tensors.binary("mul", a, a)
        return f.problem(node, f"`{name}` of tensors is not an operation of the language")
    lists = isinstance(type_or_none(a), ListT), isinstance(type_or_none(b), ListT)
    if (is_unknown(a) or is_unknown(b)) and not any(lists):
        return unknown()
    if all(lists) and name == "add":
        t = f.common([type_of(a), type_of(b)])
        if contains_unknown(t):
            return a
        return f.host("list.concat", [f.coerce(a, t), f.coerce(b, t)], t)
    if _is_number(a) and _is_number(b) and name not in ("matmul", "pow"):
        kinds = [type_of(v) for v in (a, b)]
        floating = FLOAT in kinds or name == "div"
        if floating and name.startswith(("bit", "sh")):
            return f.problem(node, "bit operations need ints")
        return f.host(name, [_as_int(f, v) for v in (a, b)], FLOAT if floating else INT)
    return f.problem(node, f"this operator does not take {describe(type_of(a))} and {describe(type_of(b))}")


def _as_int(f: Frame, v: Value) -> Value:
    """Bools count as ints in arithmetic."""
    if isinstance(v, Static) and isinstance(v.value, bool):
        return Static(int(v.value))
    return f.host("int", [v], INT) if isinstance(v, Dyn) and v.type == BOOL else v


def type_or_none(v: Value) -> Any:
    try:
        return type_of(v)
    except Mismatch:
        return None


def _unary(f: Frame, node: ast.AST, op: ast.unaryop, a: Value) -> Value:
    if isinstance(op, ast.Not):
        truth = f.condition(a, node)
        return Static(not truth.value) if isinstance(truth, Static) else f.host("not", [truth], BOOL)
    known, x = _known(a)
    if known:
        fold: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.USub: operator.neg, ast.UAdd: operator.pos}
        return Static(fold.get(type(op), operator.invert)(x))
    if isinstance(op, ast.UAdd):
        return a
    if isinstance(op, ast.USub):
        if is_tensor(a):
            return f.tensors.op("neg", [a])
        if _is_number(a):
            return f.host("neg", [a], type_of(a))
        if is_unknown(a):
            return unknown()
    return f.problem(node, "this operator is not in the language")


def _bool(f: Frame, node: ast.BoolOp, op: ast.boolop, values: list[ast.expr]) -> Value:
    first = f.condition(expression(f, values[0]), values[0])
    if len(values) == 1:
        return first
    rest = ast.copy_location(ast.BoolOp(op, values[1:]), node)
    both = isinstance(op, ast.And)
    if isinstance(first, Static):
        return _bool(f, rest, op, values[1:]) if first.value == both else first
    if both:
        return choose(f, node, first, lambda: _bool(f, rest, op, values[1:]), lambda: Static(False))
    return choose(f, node, first, lambda: Static(True), lambda: _bool(f, rest, op, values[1:]))


def choose(f: Frame, node: ast.AST, cond: Value, then: Callable[[], Value], orelse: Callable[[], Value]) -> Value:
    """`then if cond else orelse`; a condition known at compile time compiles one arm only."""
    if isinstance(cond, Static):
        return then() if cond.value else orelse()
    branches = []
    for arm in (then, orelse):
        with f.branch() as b:
            branches.append((b, arm()))
    if is_unknown(cond):
        return unknown()
    values = [v for _, v in branches]
    if values[0] == values[1] and not isinstance(values[0], Dyn):
        return values[0]
    type, (a, b_) = f.merge(branches, node)
    if contains_unknown(type):
        return unknown()
    assert isinstance(cond, Dyn)
    return f.bind(n.If(cond.atom, a, b_, type, span=f.span), "choice")


def _compare(f: Frame, node: ast.Compare) -> Value:
    left = expression(f, node.left)
    result: Value | None = None
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        right = expression(f, right_node)
        one = _comparison(f, node, op, left, right)
        if result is None:
            result = one
        else:
            second = one
            result = choose(f, node, result, lambda second=second: second, lambda: Static(False))  # type: ignore[misc]
        left = right
    assert result is not None
    return result


def _comparison(f: Frame, node: ast.AST, op: ast.cmpop, a: Value, b: Value) -> Value:
    if isinstance(op, (ast.Is, ast.IsNot)) or b == Static(None):
        negate = isinstance(op, (ast.IsNot, ast.NotEq))
        if b != Static(None):
            return f.problem(node, "`is` only compares with None")
        if isinstance(a, Static):
            return Static((a.value is None) != negate)
        if isinstance(a, Dyn) and isinstance(a.type, DataT) and a.type.name in f.program.datatypes.optionals:
            f.program.use(a.type)
            return f.is_none(a, negate)
        return unknown() if is_unknown(a) else Static(negate)
    if type(op) not in COMPARISONS:
        return f.problem(node, "this comparison is not in the language")
    name, python = COMPARISONS[type(op)]
    (known_a, x), (known_b, y) = _known(a), _known(b)
    if known_a and known_b:
        return Static(python(x, y))
    if is_tensor(a):
        a = f.tensors.item(a, "value")  # type: ignore[arg-type]
    if is_tensor(b):
        b = f.tensors.item(b, "value")  # type: ignore[arg-type]
    if is_unknown(a) or is_unknown(b):
        return unknown()
    if _is_number(a) and _is_number(b):
        return f.host(name, [a, b], BOOL)
    return f.problem(node, f"{describe(type_of(a))} and {describe(type_of(b))} cannot be compared")


# ---- lists


def _list(f: Frame, node: ast.AST, items: list[Value], hint: str = "") -> Value:
    if not items:
        return Dyn(n.Var("[]", ListT(unknown().type)))
    try:
        t = f.common([type_of(v) for v in items])
    except Mismatch as error:
        if all(isinstance(v, (Module, Static)) for v in items):
            return TupleV(tuple(items))
        return f.problem(node, f"the elements of this list differ in type: {error}")
    if contains_unknown(t):
        return unknown()
    atoms = tuple(f.atom(f.coerce(v, t)) for v in items)
    result = f.bind(n.ListOf(atoms, ListT(t), span=f.span), hint or "list")
    assert isinstance(result.atom, n.Var)
    f.displays[result.atom.name] = tuple(items)
    return result


def iterable(f: Frame, value: Value, node: ast.AST) -> Value:
    """The value as a list of the program, or as a tuple to unroll over."""
    match value:
        case TupleV() | Static(tuple() | list()):
            unrolled: Value = f.static_list(value)
            return unrolled
        case Static(range() as r):
            return f.host("range", [Static(r.start), Static(r.stop), Static(r.step)], ListT(INT))
        case Module(module=nn.ModuleList() as children):
            return TupleV(tuple(value.child(str(i)) for i in range(len(children))))
    t = type_or_none(value)
    if isinstance(t, ListT) or is_unknown(value):
        return value
    raise Refused("only lists, ranges and tuples can be iterated over")


def _comprehension(f: Frame, node: ast.ListComp, hint: str = "") -> Value:
    from backends.acrobat.frontend.statements import assign

    first, *rest = node.generators
    if rest or first.is_async:
        return f.problem(node, "a comprehension has one `for` here", "nest two comprehensions, or write a loop")
    xs = iterable(f, expression(f, first.iter), first.iter)
    if isinstance(xs, TupleV):
        out: list[Value] = []
        for item in xs.items:
            with f.branch() as b:
                assign(f, first.target, item)
                value = expression(f, node.elt)
                bindings = b.bindings
            f.builder.bindings += bindings
            out.append(value)
        return _list(f, node, out, hint)
    if is_unknown(xs):
        if isinstance(xs, Dyn) and isinstance(xs.type, ListT):
            return xs
        return unknown()
    assert isinstance(xs, Dyn)
    assert isinstance(xs.type, ListT)
    if first.ifs:
        return _filter(f, node, xs, hint)
    var = n.Var(f.names.fresh(_target_name(first.target)), xs.type.item)
    with f.branch() as b:
        assign(f, first.target, Dyn(var))
        value = expression(f, node.elt)
        t = type_of(value)
        if contains_unknown(t):
            return unknown()
        body = b.finish(f.atom(value))
    return f.bind(n.Map(var, xs.atom, body, ListT(t), span=f.span), hint or "list")


def _filter(f: Frame, node: ast.ListComp, xs: Dyn, hint: str) -> Value:
    """With conditions: a loop that appends."""
    from backends.acrobat.frontend.statements import execute_loop

    gen = node.generators[0]
    test = gen.ifs[0] if len(gen.ifs) == 1 else ast.copy_location(ast.BoolOp(ast.And(), gen.ifs), gen.ifs[0])
    kept = ast.Name("·kept", ast.Load())
    append = ast.Expr(ast.Call(ast.Attribute(kept, "append", ast.Load()), [node.elt], []))
    body = ast.If(test, [append], [])
    for made in (kept, append, append.value, append.value.func, body):  # type: ignore[attr-defined]
        ast.copy_location(made, node)
        ast.fix_missing_locations(made)
    outer = dict(f.env)
    f.env["·kept"] = Dyn(n.Var("[]", ListT(unknown().type)))
    execute_loop(f, node, gen.target, xs, [body])
    value = f.env["·kept"]
    f.env = outer
    return value


def _target_name(target: ast.expr) -> str:
    return target.id if isinstance(target, ast.Name) and target.id != "_" else "item"


def _subscript(f: Frame, node: ast.AST, value: Value, index: ast.expr) -> Value:
    match value:
        case TupleV() | Static(tuple()) | Dyn(n.Var(type=TupleT())):
            items = f.components(value)
            assert items is not None
            if isinstance(index, ast.Slice):
                bounds = [constant(expression(f, e), "a bound") if e else None for e in (index.lower, index.upper, index.step)]
                return TupleV(tuple(items[slice(*bounds)]))
            i = constant(expression(f, index), "the index of a tuple")
            if not isinstance(i, int) or not -len(items) <= i < len(items):
                return f.problem(node, f"index {i} is out of range for a tuple of {len(items)}")
            return items[i]
        case Module(module=nn.ModuleList() | nn.Sequential() as children):
            i = constant(expression(f, index), "the index of a ModuleList")
            return value.child(str(i % len(children)))
        case Static(nn.ModuleList()):
            pass
    if is_unknown(value) and not isinstance(type_or_none(value), ListT):
        return unknown()
    if is_tensor(value):
        return _tensor_index(f, node, value, index)  # type: ignore[arg-type]
    if isinstance(value, Dyn) and isinstance(value.type, ListT):
        return _list_index(f, node, value, index)
    return f.problem(node, "this cannot be indexed")


def _list_index(f: Frame, node: ast.AST, value: Dyn, index: ast.expr) -> Value:
    assert isinstance(value.type, ListT)
    if isinstance(index, ast.Slice):
        step = constant(expression(f, index.step), "the step") if index.step else 1
        if step == -1 and index.lower is None and index.upper is None:
            return f.host("list.reverse", [value], value.type, "reversed")
        if step != 1:
            return f.problem(node, "a slice of a list has step 1 here, or is [::-1]")
        start = expression(f, index.lower) if index.lower else Static(0)
        stop = expression(f, index.upper) if index.upper else Static(2**62)
        return f.host("list.slice", [value, start, stop], value.type)
    i = expression(f, index)
    if is_tensor(i):
        i = f.host("int", [f.tensors.item(i, "index")], INT)  # type: ignore[arg-type]
    return f.host("list.get", [value, i], value.type.item, "element")


def _tensor_index(f: Frame, node: ast.AST, value: Dyn, index: ast.expr) -> Value:
    entries = index.elts if isinstance(index, ast.Tuple) else [index]
    dim = 0
    for k, e in enumerate(entries):
        shape = shape_of(value)
        if isinstance(e, ast.Constant) and e.value is Ellipsis:
            dim = len(shape) - (len(entries) - k - 1)
            continue
        if isinstance(e, ast.Constant) and e.value is None:
            value = f.tensors.op("reshape", [value], {"shape": (*shape[:dim], 1, *shape[dim:])})
            dim += 1
            continue
        if dim >= len(shape):
            return f.problem(node, f"too many indices for a tensor of shape {shape}")
        if isinstance(e, ast.Slice):
            bounds = [
                constant(expression(f, b), "a bound of a tensor slice") if b else None for b in (e.lower, e.upper, e.step)
            ]
            start, stop, step = slice(*bounds).indices(shape[dim])
            if step != 1:
                return f.problem(e, "a slice of a tensor has step 1 here")
            if (start, stop) != (0, shape[dim]):
                value = f.tensors.op("slice", [value], {"dim": dim, "start": start, "stop": max(start, stop)})
            dim += 1
            continue
        i = expression(f, e)
        if isinstance(i, Dyn) and not isinstance(i.atom, n.Lit):
            if isinstance(value.atom, n.Weight) and dim == 0 and i.type == INT:
                value = f.bind(make_op("row", [value.atom, i.atom], {}, f.span), "row")
                continue
            if is_unknown(i):
                return unknown()
            return f.problem(
                node,
                "only a row of a weight can be chosen at run time",
                "index an embedding's weight, or keep the tensors in a list",
            )
        at = constant(i, "the index")
        if not isinstance(at, int) or not -shape[dim] <= at < shape[dim]:
            return f.problem(node, f"index {at} is out of range for shape {shape}")
        value = f.tensors.op("index", [value], {"dim": dim, "i": at % shape[dim]})
    return value


# ---- calls


def _call(f: Frame, node: ast.Call, hint: str) -> Value:
    callee = expression(f, node.func)
    if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        return f.problem(node, "`*` and `**` arguments are not in the language")
    if is_unknown(callee):
        return unknown()
    if isinstance(callee, Static) and callee.value in (functools.reduce, sum):
        return _reduce(f, node, callee.value)
    args = [expression(f, a) for a in node.args]
    kwargs = {k.arg: expression(f, k.value) for k in node.keywords if k.arg}
    match callee:
        case Module():
            return call_module(f, node, callee, args, kwargs)
        case Method(Module() as owner, _, function):
            return f.program.call(f, node, function, [owner, *args], kwargs)
        case Method(owner, name):
            return _method(f, node, owner, name, args, kwargs)  # type: ignore[arg-type]
        case Static(value):
            return _call_static(f, node, value, args, kwargs, hint)
    return f.problem(node, "this cannot be called")


def call_module(f: Frame, node: ast.AST, m: Module, args: list[Value], kwargs: dict[str, Value]) -> Value:
    module = m.module

    def of(name: str) -> Value:
        tensor = m.tensor(name)
        return Static(None) if tensor is None else Dyn(tensor)

    match module:
        case nn.Linear():
            (x,) = Call("Linear", args, kwargs).bind("input")
            return f.tensors.call("linear", Call("linear", [x, of("weight"), of("bias")], {}))
        case nn.LayerNorm():
            (x,) = Call("LayerNorm", args, kwargs).bind("input")
            if len(module.normalized_shape) != 1 or module.weight is None or module.bias is None:
                return f.problem(node, "a LayerNorm has one dimension, a weight and a bias here")
            return f.tensors.op("layer_norm", [x, of("weight"), of("bias")], {"eps": module.eps})
        case nn.Embedding():
            (i,) = Call("Embedding", args, kwargs).bind("input")
            weight = m.tensor("weight")
            if isinstance(i, Dyn) and i.type == INT and isinstance(weight, n.Weight):
                return f.bind(make_op("row", [weight, i.atom], {}, f.span), "row")
            return f.problem(node, "an embedding is indexed with an int here", "write `embedding.weight[i]`")
        case nn.Sequential():
            (x,) = args
            for i in range(len(module)):
                x = call_module(f, node, m.child(str(i)), [x], {})
            return x
        case nn.Identity() | nn.Dropout():
            if isinstance(module, nn.Dropout) and module.training:
                return f.problem(node, "dropout in training mode is not in the language", "call .eval() on the module first")
            return args[0]
        case nn.Sigmoid() | nn.Tanh() | nn.ReLU() | nn.GELU():
            return f.tensors.call(type(module).__name__.lower(), Call(type(module).__name__, args, kwargs))
        case nn.Softmax():
            return f.tensors.call("softmax", Call("softmax", [*args, Static(module.dim)], kwargs))
    if type(module).__module__.startswith("torch.nn"):
        return f.problem(node, f"nn.{type(module).__name__} is not in the language", "LANGUAGE.md lists the modules")
    return f.program.call(f, node, type(module).forward, [m, *args], kwargs)


def _method(f: Frame, node: ast.AST, owner: Value, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if is_tensor(owner):
        return f.tensors.call(name, Call(name, [owner, *args], kwargs))
    if is_unknown(owner) and not isinstance(type_or_none(owner), ListT):
        return unknown()
    if name == "append":
        return f.problem(node, "`append` stands as a statement of its own, on a list made in the same function")
    return f.problem(node, f"`{name}` is not a method of the language here")


def _call_static(f: Frame, node: ast.AST, value: Any, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    if value in (torch.Tensor, torch.tensor):
        return f.problem(node, "tensors are made by operations, parameters or instances", "use torch.full or an nn.Parameter")
    if isinstance(value, type) and dataclasses.is_dataclass(value):
        return construct(f, node, value, args, kwargs)
    if (operation := torch_name(value)) is not None:
        return f.tensors.call(operation, Call(operation, args, kwargs))
    if isinstance(value, types.FunctionType):
        if value.__module__.startswith("torch."):
            return f.problem(
                node, f"`{value.__name__}` is not an operation of the language", "LANGUAGE.md lists the operations"
            )
        return f.program.call(f, node, value, args, kwargs)
    name = str(getattr(value, "__name__", ""))
    if callable(value) and getattr(builtins, name, None) is value:
        return _builtin(f, node, name, args, kwargs)
    return f.problem(node, f"`{getattr(value, '__name__', value)}` cannot be called here", "LANGUAGE.md lists the functions")


def construct(f: Frame, node: ast.AST, cls: type, args: list[Value], kwargs: dict[str, Value]) -> Value:
    datatypes = f.program.datatypes
    t = DataT(datatypes.union_of(cls))
    f.program.use(t)
    fields = [x for x in dataclasses.fields(cls) if x.init]
    defaults = {x.name: Static(x.default) for x in fields if x.default is not dataclasses.MISSING}
    values = Call(cls.__name__, args, kwargs).bind(*(x.name for x in fields), **defaults)
    atoms = []
    for x, v in zip(fields, values, strict=True):
        if is_unknown(v) and not isinstance(type_or_none(v), ListT):
            atoms.append(unknown().atom)
            continue
        wanted = datatypes.field_type(cls, x.name)
        try:
            optional = isinstance(wanted, DataT) and wanted.name in datatypes.optionals
            if not optional and not contains_unknown(have := type_of(v)):
                wanted = datatypes.refine(cls, x.name, FLOAT if (have, wanted) == (INT, FLOAT) else have)
            atoms.append(unknown().atom if contains_unknown(wanted) else f.atom(f.coerce(v, wanted)))
        except Mismatch as error:
            f.problem(node, f"the field `{x.name}` of {cls.__name__}: {error}")
            atoms.append(unknown().atom)
    if any(contains_unknown(a.type) for a in atoms):
        f.program.incomplete = True
        return Dyn(n.Var("?", t))
    return f.bind(n.Construct(cls.__name__, tuple(atoms), t, span=f.span), cls.__name__.lower())


def _builtin(f: Frame, node: ast.AST, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if kwargs and not (name == "zip" and set(kwargs) == {"strict"}):
        return f.problem(node, f"`{name}` takes no keyword arguments here")
    known = [_known(a) for a in args]
    match name, args:
        case "len", [TupleV(items)]:
            return Static(len(items))
        case "len", [Static(value)]:
            return Static(len(value))
        case "len", [Module(module=nn.ModuleList() as children)]:
            return Static(len(children))
        case "len", [xs]:
            if isinstance(type_or_none(xs), ListT):
                return Static(0) if is_unknown(xs) else f.host("list.len", [xs], INT, "size")
            if is_tensor(xs):
                return Static(shape_of(xs)[0])  # type: ignore[arg-type]
        case "range", _ if 1 <= len(args) <= 3:
            start, stop, step = ([Static(0), *args, Static(1)] if len(args) == 1 else [*args, Static(1)])[:3]
            if all(is_tensor(a) for a in args):
                return f.problem(node, "`range` takes ints", "read the tensor's value with int(...)")
            return f.host("range", [start, stop, step], ListT(INT))
        case "reversed", [xs]:
            whole = iterable(f, xs, node)
            if isinstance(whole, TupleV):
                return TupleV(whole.items[::-1])
            return whole if is_unknown(whole) else f.host("list.reverse", [whole], type_of(whole), "reversed")
        case "list", [xs]:
            whole = iterable(f, xs, node)
            return _list(f, node, list(whole.items)) if isinstance(whole, TupleV) else whole
        case "enumerate", [xs]:
            whole = iterable(f, xs, node)
            if isinstance(whole, TupleV):
                return TupleV(tuple(TupleV((Static(i), v)) for i, v in enumerate(whole.items)))
            if is_unknown(whole):
                return unknown()
            return f.host("enumerate", [whole], ListT(TupleT((INT, type_of(whole).item))))
        case "zip", _ if args:
            lists = [iterable(f, a, node) for a in args]
            if all(isinstance(xs, TupleV) for xs in lists):
                return TupleV(tuple(TupleV(t) for t in zip(*(xs.items for xs in lists), strict=False)))  # type: ignore[union-attr]
            if any(is_unknown(xs) for xs in lists):
                return unknown()
            lists = [_list(f, node, list(xs.items)) if isinstance(xs, TupleV) else xs for xs in lists]
            return f.host("zip", lists, ListT(TupleT(tuple(type_of(xs).item for xs in lists))))
        case (("min" | "max"), [a, b, *rest]):
            if all(k for k, _ in known):
                return Static({"min": min, "max": max}[name](v for _, v in known))
            if any(is_unknown(v) for v in args):
                return unknown()
            kind = FLOAT if any(type_of(v) == FLOAT for v in args) else INT
            result: Value = f.host(name, [f.coerce(a, kind), f.coerce(b, kind)], kind)
            for c in rest:
                result = f.host(name, [result, f.coerce(c, kind)], kind)
            return result
        case "abs", [a]:
            return Static(abs(known[0][1])) if known[0][0] else f.host("abs", [a], type_of(a))
        case (("int" | "float" | "bool"), [a]):
            if known[0][0]:
                return Static({"int": int, "float": float, "bool": bool}[name](known[0][1]))
            if name == "bool":
                return f.condition(a, node)
            if is_tensor(a):
                a = f.tensors.item(a, "value")  # type: ignore[arg-type]
            kind = INT if name == "int" else FLOAT
            return a if isinstance(a, Dyn) and a.type == kind else f.host(name, [a], kind)
        case "isinstance", _:
            return f.problem(node, "`isinstance` is not in the language", "take the value apart with `match`")
        case "tuple", [xs]:
            whole = iterable(f, xs, node)
            if isinstance(whole, TupleV):
                return whole
    if any(is_unknown(a) for a in args):
        return unknown()
    return f.problem(node, f"`{name}` cannot be used like this here", "LANGUAGE.md lists the functions")


def _reduce(f: Frame, node: ast.Call, function: Any) -> Value:
    """`sum(xs[, start])` and `functools.reduce(torch.add, xs[, start])`: a loop that adds."""
    name = "sum" if function is sum else "reduce"
    args = list(node.args)
    if function is functools.reduce:
        operation = expression(f, args.pop(0))
        if not (isinstance(operation, Static) and operation.value in (torch.add, operator.add)):
            return f.problem(node, "`reduce` only adds here", "write reduce(torch.add, xs), or a loop")
    if not 1 <= len(args) <= 2 or any(k.arg != "start" for k in node.keywords):
        return f.problem(node, f"`{name}` takes a list and a start here")
    xs = iterable(f, expression(f, args[0]), node)
    start: Value | None = expression(f, args[1]) if len(args) == 2 else None
    for k in node.keywords:
        start = expression(f, k.value)
    if isinstance(xs, TupleV):
        items = [*([start] if start is not None and start != Static(0) else []), *xs.items]
        if not items:
            return start if start is not None else Static(0)
        total = items[0]
        for item in items[1:]:
            total = _binary(f, node, ast.Add(), total, item)
        return total
    if is_unknown(xs) or (start is not None and is_unknown(start)):
        return unknown()
    t = type_of(xs).item
    if isinstance(t, ScalarT):
        init: Value = f.coerce(start or Static(0), t)
    elif isinstance(t, TensorT):
        if start is None or start == Static(0):
            init = f.host("list.get", [xs, Static(0)], t, "first")
            xs = f.host("list.slice", [xs, Static(1), Static(2**62)], type_of(xs), "others")
        else:
            init = start
    else:
        return f.problem(node, f"`{name}` adds tensors or numbers, not {describe(t)}")
    return _fold_add(f, xs, init, t)


def _fold_add(f: Frame, xs: Value, init: Value, t: Any) -> Value:
    item, total = n.Var(f.names.fresh("item"), t), n.Var(f.names.fresh("total"), t)
    with f.branch() as b:
        added = (
            f.tensors.op("add", [Dyn(total), Dyn(item)])
            if isinstance(t, TensorT)
            else f.host("add", [Dyn(total), Dyn(item)], t)
        )
        body = b.finish(f.bind(n.Tuple((added.atom,), TupleT((t,)), span=f.span), "next").atom)
    folded = f.bind(n.Fold(item, f.atom(xs), (total,), (f.atom(init),), body, TupleT((t,)), span=f.span), "sum")
    return f.bind(n.Field(folded.atom, 0, t, span=f.span), "total")


def evaluate_all(f: Frame, nodes: Sequence[ast.expr]) -> list[Value]:
    return [expression(f, e) for e in nodes]
