"""Calls: of the model's functions, of dataclasses, of torch's operations and of Python's own functions."""

from __future__ import annotations

import ast
import builtins
import collections
import dataclasses
import functools
import operator
import types
from dataclasses import replace
from typing import Any

import torch

from backends.acrobat import library, markers
from backends.acrobat.core.types import BOOL, FLOAT, INT, DataT, ListT, ScalarT, TensorT, TupleT
from backends.acrobat.frontend import containers, dictionaries, modules, mutation, ragged, weights
from backends.acrobat.frontend.conditions import choose, truth
from backends.acrobat.frontend.frame import Frame
from backends.acrobat.frontend.lists import extremum, iterable, list_of, total
from backends.acrobat.frontend.observed import RecordOf
from backends.acrobat.frontend.operators import as_int
from backends.acrobat.frontend.source import span_of
from backends.acrobat.frontend.tensors import Call, Refused, constant, shape_of, torch_name
from backends.acrobat.frontend.values import (
    HELD,
    Closure,
    Dyn,
    Held,
    HostTensor,
    Method,
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
    is_number,
    is_ragged,
    is_tensor,
    is_unknown,
    known,
    nothing_known,
    type_of,
    type_or_none,
    unknown,
)
from backends.acrobat.ir import nodes as n
from backends.acrobat.library import FUNCTIONS, words

PURE = "write `x = phase(x)`, with what the phase before has made: work that uses the new `x` is of the next phase"


def call(f: Frame, node: ast.Call, hint: str) -> Value:
    callee = f.borrowed(node.func)
    if callee == Static(zip) and len(node.args) == 1 and isinstance(node.args[0], ast.Starred) and not node.keywords:
        return _unzipped(f, node, f.borrowed(node.args[0].value))
    match callee, node.func:
        case Method(Dyn(type=ListT(rows=None)), "pop"), ast.Attribute(owner) if len(node.args) <= 1 and not node.keywords:
            return mutation.pop(f, node, owner, f.expression(node.args[0]) if node.args else Static(-1))
        case Method(Dyn(type=ListT(rows=None)), "popleft"), ast.Attribute(owner) if not node.args:
            return mutation.pop(f, node, owner, Static(0))
    if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        return f.problem(node, "`*` and `**` arguments are not in the language", "write the arguments one by one")
    if is_unknown(callee):
        return unknown()
    match callee:
        case Static(value) if value is functools.reduce or value is sum:
            return total(f, node, value)
        case Static(value) if value is bool and len(node.args) == 1 and not node.keywords:
            return truth(f, node.args[0])
    keeps = isinstance(callee, Static) and isinstance(callee.value, type) and dataclasses.is_dataclass(callee.value)
    read = f.expression if keeps else f.borrowed
    given = [*node.args, *(k.value for k in node.keywords)]
    lent = {a.id for a in given if isinstance(a, ast.Name) and a.id in f.owned}
    args = [read(a) for a in node.args]
    kwargs = {k.arg: read(k.value) for k in node.keywords if k.arg}
    before, f.lent = f.lent, lent
    try:
        result = _called(f, node, callee, args, kwargs, hint)
    finally:
        f.lent = before
    if not _gives_new(callee):
        _forget_aliases(f, node, result)
    if _may_hold_lists(result) and not _makes_lists(callee):
        for a in (*node.args, *(k.value for k in node.keywords)):
            if isinstance(a, ast.Name):
                f.owned.discard(a.id)  # the result may be, or contain, the very list
    return result


VIEWS = frozenset(
    [
        "view",
        "reshape",
        "unsqueeze",
        "squeeze",
        "transpose",
        "t",
        "permute",
        "flatten",
        "contiguous",
        "detach",
        "narrow",
        "select",
        "chunk",
        "split",
        "unbind",
        "expand",
        "expand_as",
        "float",
        "to",
        "type",
        "view_as",
        "reshape_as",
        "movedim",
        "swapaxes",
    ]
)
"""Operations whose result may share memory with the operand."""


def _gives_new(callee: Value) -> bool:
    """Whether the result of a call shares no memory with its operands."""
    match callee:
        case Method(owner, name, None) if is_tensor(owner) or is_ragged(owner):
            return name not in VIEWS and not name.endswith("_")
        case Static(value):
            known_as = torch_name(value)
            return known_as is not None and known_as not in VIEWS and not known_as.endswith("_")
        case Module(module=torch.nn.Linear() | torch.nn.Embedding() | torch.nn.LSTMCell() | torch.nn.GRUCell()):
            return True
    return False


def _forget_aliases(f: Frame, node: ast.Call, result: Value) -> None:
    """After a call that may give a tensor which shares memory with an operand: that operand is seen under two names."""
    if is_number(result) or isinstance(result, Dyn) and getattr(result.atom, "name", "") in f.builder.fresh:
        return
    owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    for a in (*owner, *node.args, *(k.value for k in node.keywords)):
        if isinstance(a, ast.Name) and (is_tensor(f.env.get(a.id)) or is_ragged(f.env.get(a.id))):
            f.owned.discard(a.id)


def _unzipped(f: Frame, node: ast.AST, xs: Value) -> Value:
    """`zip(*xs)` of a list of tuples: a tuple of lists."""
    t = type_or_none(xs)
    if nothing_known(xs) or isinstance(t, ListT) and contains_unknown(t):
        return unknown()
    if not isinstance(t, ListT) or not isinstance(t.item, TupleT):
        return f.problem(node, "`zip(*xs)` takes a list of tuples here")

    def component(i: int) -> Value:
        return ragged.mapped(f, [xs], lambda pair: (f.components(pair) or [])[i])  # type: ignore[list-item]

    return TupleV(tuple(component(i) for i in range(len(t.item.items))))


def _may_hold_lists(value: Value) -> bool:
    def holds(t: Any) -> bool:
        if isinstance(t, ListT) and t.rows is not None:
            return False  # a tensor: `_forget_aliases` sees to those
        return isinstance(t, (ListT, DataT)) or (isinstance(t, TupleT) and any(map(holds, t.items)))

    return holds(type_or_none(value))


def _makes_lists(callee: Value) -> bool:
    return isinstance(callee, Static) and getattr(builtins, getattr(callee.value, "__name__", ""), None) is callee.value


def _called(f: Frame, node: ast.Call, callee: Value, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    match callee:
        case OneOf(index, alternatives):
            return _one_called(f, node, index, alternatives, args, kwargs)
        case Closure(written, env):
            return _lambda(f, written, env, Call("lambda", args, kwargs))
        case Module():
            return modules.call(f, node, callee, args, kwargs)
        case Method(Module() as owner, "forward"):
            return modules.run_forward(f, node, owner, args, kwargs)
        case Method(Module() as owner, _, function):
            return f.program.call(f, node, function, [owner, *args], kwargs)
        case Method(Dyn(type=DataT()) as owner, _, types.FunctionType() as function):
            return f.program.call(f, node, function, [owner, *args], kwargs)
        case Method(owner, name):
            return _method(f, node, owner, name, args, kwargs)
        case Static(operator.attrgetter() as getter) if len(args) == 1 and not kwargs:
            return f.attribute(node, args[0], getter.__reduce__()[1][0])
        case Static(value):
            return _function(f, node, value, args, kwargs, hint)
    return f.problem(node, "this cannot be called")


def _one_called(
    f: Frame, node: ast.Call, index: Value, alternatives: tuple[Value, ...], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """A call of the module that stands at a place known at run time only: a branch for each."""

    def other(i: int) -> Value:
        if i == len(alternatives) - 1:
            return _called(f, node, alternatives[i], list(args), dict(kwargs), "")
        here = f.host("eq", [index, Static(i)], BOOL, "this")
        return choose(
            f, node, here, lambda: _called(f, node, alternatives[i], list(args), dict(kwargs), ""), lambda: other(i + 1)
        )

    return other(0)


def _lambda(f: Frame, node: ast.Lambda, env: dict[str, Value], call: Call) -> Value:
    """The expression of a lambda, compiled here, with the names that it saw where it was written."""
    parameters = [a.arg for a in (*node.args.args, *node.args.kwonlyargs)]
    values = call.bind(*parameters)
    before, f.env = f.env, {**env, **dict(zip(parameters, values, strict=True))}
    try:
        return f.expression(node.body)
    finally:
        f.env = before


def _method(f: Frame, node: ast.AST, owner: Value, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if (is_tensor(owner) or is_ragged(owner)) and name in FUNCTIONS:
        return f.program.call(f, node, FUNCTIONS[name], [owner, *args], kwargs)
    if is_tensor(owner) or is_ragged(owner):
        return f.tensors.call(name, Call(name, [owner, *args], kwargs))
    if isinstance(owner, Held) and owner.kind == "index" and name in ("item", "long", "int") and not args:
        return owner.value if name == "item" else owner
    if isinstance(owner, Held):
        raise Mismatch(HELD[owner.kind])
    if isinstance(owner, HostTensor):
        return weights.method(owner, name, [*args, *kwargs.values()])
    if is_number(owner) and name in ("item", "long", "int") and not args:
        return owner  # of a tensor of ints, whose values the program has
    if containers.kind_of(owner) and not kwargs:
        return containers.method(f, node, owner, name, args)  # type: ignore[arg-type]
    if nothing_known(owner):
        return unknown()
    if name == "append":
        return f.problem(node, "`append` gives nothing", "it stands as a statement of its own")
    if is_list(owner):
        return f.problem(node, f"`{name}` of a list is not in the language", "build a new list, with a comprehension or a loop")
    return f.problem(node, f"`{name}` is not a method of the language here", "LANGUAGE.md lists what is")


def _function(f: Frame, node: ast.Call, value: Any, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    written = ast.unparse(node.func)
    if isinstance(value, type) and dataclasses.is_dataclass(value):
        return construct(f, node, value, args, kwargs)
    if value is torch.tensor or value is torch.as_tensor or value is torch.LongTensor:
        return _made_tensor(f, node, args, kwargs)
    if value is torch.nn.functional.relu:
        return f.tensors.functional_relu(Call("relu", args, kwargs))
    if value is words.unrolled and len(args) == 1:
        items: Value = f.static_list(Static(tuple(args[0].value)) if isinstance(args[0], Static) else iterable(f, args[0]))
        return items
    if value is words.refuse:
        raise Refused(*(constant(a, "the message") for a in args))
    if value is torch.nn.functional.embedding:
        return modules.looked_up(f, node, *Call("embedding", args, kwargs).bind("input", "weight"))
    if (name := torch_name(value)) is not None:
        if name in FUNCTIONS:
            return f.program.call(f, node, FUNCTIONS[name], args, kwargs)
        if args and isinstance(args[0], Held):
            raise Mismatch(HELD[args[0].kind])
        return f.tensors.call(name, Call(name, args, kwargs))
    if value is markers.phase or value is markers.parallel:
        return _marked(f, node, value, args, kwargs)
    if isinstance(value, types.FunctionType):
        if modules.of_torch(value):
            return f.problem(node, f"`{written}` is not an operation of the language", "LANGUAGE.md lists the operations")
        return f.program.call(f, node, value, args, kwargs)
    if value is collections.deque and len(args) <= 1 and not kwargs:
        return _builtin(f, node, "list", args, {}, hint)
    if isinstance(value, types.BuiltinMethodType) and isinstance(value.__self__, (dict, tuple, list, str)) and not kwargs:
        return _of_constant(f, node, value, args)
    facts = [known(a) for a in args]
    if getattr(value, "__module__", "") == "math" and args and not kwargs and all(k for k, _ in facts):
        return Static(value(*(v for _, v in facts)))
    name = getattr(value, "__name__", str(value))
    if callable(value) and getattr(builtins, name, None) is value:
        return _builtin(f, node, name, args, kwargs, hint)
    return f.problem(node, f"`{written}` is not in the language", "LANGUAGE.md lists the functions and operations")


def _of_constant(f: Frame, node: ast.AST, method: types.BuiltinMethodType, args: list[Value]) -> Value:
    """A method of a dictionary, list, tuple or string known at compile time, which stays as it is."""
    owner: Any = method.__self__
    name = method.__name__
    facts = [known(a) for a in args]
    if name not in ("get", "index", "items", "keys", "values", "count", "lower", "upper", "split", "startswith", "endswith"):
        return f.problem(node, f"`{name}` of a constant {type(owner).__name__} is not in the language")
    if all(k for k, _ in facts):
        try:
            result = method(*(v for _, v in facts))
        except (ValueError, TypeError) as error:
            return f.problem(node, str(error))
        return Static(list(result) if name in ("items", "keys", "values") else result)
    if any(is_unknown(a) for a in args):
        return unknown()
    if name == "index" and len(args) == 1:
        return dictionaries.position(f, args[0], list(owner))
    return f.problem(node, f"`{name}` of a constant takes what is known at compile time")


def marker_of(f: Frame, node: ast.expr) -> Any:
    """`phase` or `parallel`, if the expression calls it; else None."""
    callee = f.borrowed(node.func) if isinstance(node, ast.Call) else None
    found = callee.value if isinstance(callee, Static) else None
    return found if found is markers.phase or found is markers.parallel else None


def _marked(f: Frame, node: ast.Call, marker: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`phase` and `parallel`. An operand has the span of its argument, by which messages name it."""
    name = marker.__name__
    if kwargs:
        return f.problem(node, f"`{name}` takes no keyword arguments")
    if marker is markers.phase and not args:
        return f.problem(node, "`phase()` without a value begins no phase", PURE)
    if any(nothing_known(a) for a in args):
        return unknown()
    if (
        marker is markers.phase
        and len(args) == 1
        and (known(args[0])[0] or isinstance(args[0], Dyn) and f.is_weight(args[0].atom))
    ):
        return f.problem(node, "this is the same for all instances, and there from the start: no phase makes it", PURE)
    if marker is markers.parallel and (not args or len(args) == 1 and not is_list(args[0])):
        return f.problem(node, "`parallel` takes several values, or one list", "write `parallel(a, b)` or `parallel(xs)`")
    types = [type_of(a) for a in args]
    if any(map(contains_unknown, types)):
        return guess(types[0]) if len(args) == 1 else TupleV(tuple(map(guess, types)))
    atoms = tuple(replace(f.atom(a), span=span_of(written, f.file)) for a, written in zip(args, node.args, strict=True))
    if marker is markers.phase and len(args) > 1:
        atoms = (f.atom(TupleV(tuple(args))),)
    result = f.bind(n.Host(name, atoms, types[0] if len(args) == 1 else TupleT(tuple(types)), span=f.span), name)
    if len(args) == 1:
        return _written_out(f, result, args[0])
    parts = f.components(result)
    assert parts is not None
    return TupleV(tuple(_written_out(f, part, a) for part, a in zip(parts, args, strict=True)))  # type: ignore[arg-type]


def _written_out(f: Frame, result: Dyn, value: Value) -> Dyn:
    """A marked list; if its elements are known one by one, so are those of the result."""
    items = f.display(value) if is_list(value) else None
    if items is not None and isinstance(result.atom, n.Var) and isinstance(result.type, ListT):
        t = result.type.item
        f.displays[result.atom.name] = tuple(f.host("list.get", [result, Static(i)], t, "element") for i in range(len(items)))
    return result


def _made_tensor(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`torch.tensor`: of an int an index, of a float a tensor without dimensions, of a list of numbers a ragged one."""
    kwargs = {k: v for k, v in kwargs.items() if k not in ("device", "dtype")}
    if args and nothing_known(args[0]):
        return unknown()
    if len(args) != 1 or kwargs:
        return f.problem(node, "`torch.tensor` takes a number or a list of numbers here")
    (x,) = args
    if is_number(x) and type_of(x) in (INT, FLOAT):
        if type_of(x) == INT:
            return Held("index", x)
        is_known, value = known(x)
        if is_known:
            return f.tensors.op("full", [], {"shape": (), "value": value}, "constant")
        return Dyn(f.tensors.operand(x))
    if is_ragged(x) or is_tensor(x):
        return x
    items = f.display(x)
    if items is not None and len(items) == 1 and is_list(items[0]) and type_of(items[0]).item == INT:
        return Held("batch", ragged.of_rows(items[0], 0))
    if items is not None and items and all(is_number(v) for v in items):
        if all(type_of(v) == INT for v in items):
            return Held("ids", TupleV(tuple(items)))
        numbers = [f.coerce(v, TensorT(())) for v in items]
        return f.tensors.op("stack", numbers, {"dim": 0})
    if is_list(x) and isinstance(type_of(x).item, ScalarT):
        t = type_of(x).item
        if t == FLOAT:
            return ragged.of_rows(ragged.mapped(f, [x], lambda v: Dyn(f.tensors.operand(v))), 0)  # type: ignore[list-item]
        return ragged.of_rows(x, 0)
    return f.problem(node, "`torch.tensor` takes a number or a list of numbers here", "make other tensors with torch.full")


def construct(f: Frame, node: ast.AST, cls: type, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A dataclass. The shapes of its tensor fields are learnt here."""
    datatypes = f.program.datatypes
    t = DataT(datatypes.union_of(cls))
    if issubclass(cls, RecordOf):
        names, defaults = datatypes.record_fields(cls), {}
    else:
        fields = [x for x in dataclasses.fields(cls) if x.init]  # type: ignore[arg-type]
        names = [x.name for x in fields]
        defaults = {x.name: Static(x.default) for x in fields if x.default is not dataclasses.MISSING}
    values = Call(cls.__name__, args, kwargs).bind(*names, **defaults)
    return made(f, node, cls, t, dict(zip(names, values, strict=True)))


def made(f: Frame, node: ast.AST, cls: type, t: DataT, held: dict[str, Value]) -> Value:
    """An object of `cls`, a case of `t`, with these values in its fields, whose types are learnt here."""
    datatypes = f.program.datatypes
    atoms = []
    for x, v in held.items():
        if nothing_known(v):
            atoms.append(unknown().atom)
            continue
        wanted = datatypes.field_type(cls, x)
        try:
            have = type_of(v)
            if contains_unknown(wanted) and not contains_unknown(have):
                wanted = datatypes.refine(cls, x, have)
            atoms.append(unknown().atom if contains_unknown(wanted) else f.atom(f.coerce(v, wanted)))
        except Mismatch as error:
            f.problem(node, f"the field `{x}` of {cls.__name__}: {error}", "a field has one type, and one shape, everywhere")
            atoms.append(unknown().atom)
    if any(contains_unknown(a.type) for a in atoms):
        f.program.incomplete = True
        return guess(t)
    return f.bind(n.Construct(cls.__name__, tuple(atoms), t, span=f.span), cls.__name__.lower())


# ---- Python's own functions

BUILTINS = (
    "dict",
    "frozenset",
    "set",
    "sorted",
    "abs",
    "bool",
    "enumerate",
    "float",
    "getattr",
    "int",
    "isinstance",
    "len",
    "list",
    "map",
    "max",
    "min",
    "range",
    "reversed",
    "sum",
    "tuple",
    "zip",
)


def _ordered(f: Frame, node: ast.Call, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`max`, `min` and `sorted` of a list with a key."""
    if args and containers.kind_of(args[0]):
        args = [containers.elements(f, node, args[0]), *args[1:]]  # type: ignore[arg-type]
    xs, key, reverse = Call(name, args, kwargs).bind("iterable", "key", "reverse", key=Static(None), reverse=Static(False))
    items = iterable(f, xs)
    if is_unknown(items) or nothing_known(items):
        return unknown()
    if isinstance(items, TupleV):
        items = list_of(f, node, list(items.items))
    keys = items if key == Static(None) else ragged.mapped(f, [items], lambda x: _called(f, node, key, [x], {}, ""))  # type: ignore[list-item]
    if is_unknown(keys) or is_unknown(items):
        return unknown()
    if not isinstance(type_of(keys).item, ScalarT):
        return f.problem(node, f"`{name}` compares numbers here, not {describe(type_of(keys).item)}")
    if name == "sorted":
        return f.program.call(f, node, library.python.sorted_list, [items, keys, reverse], {})
    return f.program.call(f, node, library.python.best if name == "max" else library.python.least, [items, keys], {})


def _builtin(f: Frame, node: ast.Call, name: str, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    if name == "sorted" or name in ("max", "min") and "key" in kwargs:
        return _ordered(f, node, name, args, kwargs)
    if name in library.BUILTINS and not kwargs and not all(known(a)[0] for a in args):
        given = [list_of(f, node, list(a.items)) if isinstance(a := iterable_or_self(f, x), TupleV) else a for x in args]
        return f.program.call(f, node, library.BUILTINS[name], given, {})
    if kwargs and not (name == "zip" and set(kwargs) == {"strict"}):
        return f.problem(node, f"`{name}` takes no keyword arguments here")
    if any(nothing_known(a) for a in args):
        return unknown()
    if name in ("int", "float"):
        args = [a.read() if isinstance(a, HostTensor) else a for a in args]
    facts = [known(a) for a in args]
    match name, args:
        case (("set" | "frozenset"), []):
            return containers.empty(f, "set")
        case (("set" | "frozenset"), [xs]):
            return containers.set_of(f, node, iterable(f, xs))
        case "dict", []:
            return containers.empty(f, "dict")
        case "dict", [xs] if is_list(xs):
            return containers.dict_of_pairs(f, node, xs)
        case "map", [function, xs]:
            return _mapped(f, node, function, xs)
        case "getattr", [owner, Static(str() as attribute)]:
            return f.attribute(node, owner, attribute)
        case "isinstance", [Static(value), Static(classes)]:
            return Static(isinstance(value, classes))
        case "isinstance", [Module(module=module), Static(classes)]:
            return Static(isinstance(module, classes))
        case "len", [a]:
            return _length(f, node, a)
        case "range", [_] | [_, _] | [_, _, _]:
            start, stop, step = ([Static(0), *args, Static(1)] if len(args) == 1 else [*args, Static(1)])[:3]
            if any(type_or_none(a) != INT for a in args):
                return f.problem(node, "`range` takes ints", "read a tensor's value with int(...)")
            if all(k for k, _ in facts):
                return Static(range(*(v for _, v in facts)))
            return f.host("range", [start, stop, step], ListT(INT))
        case "reversed", [xs]:
            if isinstance(xs, Held):
                return f.problem(node, "`reversed` takes a list", "write reversed(list(...))")
            whole = iterable(f, xs)
            if isinstance(whole, TupleV):
                return Held("iterator", TupleV(whole.items[::-1]))
            return whole if is_unknown(whole) else Held("iterator", f.host("list.reverse", [whole], type_of(whole), "reversed"))
        case "list", []:
            return list_of(f, node, [])
        case "list", [xs]:
            whole = iterable(f, xs)
            return list_of(f, node, list(whole.items), hint) if isinstance(whole, TupleV) else whole
        case "tuple", [xs] if isinstance(iterable(f, xs), TupleV):
            return iterable(f, xs)
        case "enumerate", [xs]:
            whole = iterable(f, xs)
            if isinstance(whole, TupleV):
                return Held("iterator", TupleV(tuple(TupleV((Static(i), v)) for i, v in enumerate(whole.items))))
            if is_unknown(whole):
                return unknown()
            return Held("iterator", f.host("enumerate", [whole], ListT(TupleT((INT, type_of(whole).item)))))
        case "zip", [_, *_]:
            return _zip(f, node, [iterable(f, a) for a in args])
        case (("min" | "max"), [xs]):
            return extremum(f, node, xs, name)
        case (("min" | "max"), [_, *_]):
            if all(k for k, _ in facts):
                return Static({"min": min, "max": max}[name](*(v for _, v in facts)))
            return _nary(f, node, name, args)
        case "abs", [a]:
            if facts[0][0]:
                return Static(abs(facts[0][1]))
            if is_tensor(a):
                return f.problem(node, "`abs` of tensors is not an operation of the language", "write relu(x) + relu(-x)")
            if is_number(a):
                return f.host("abs", [as_int(f, a)], type_of(as_int(f, a)))
        case (("int" | "float"), [Held("index", a)]):
            return a if name == "int" else f.host("float", [a], FLOAT)
        case (("int" | "float"), [a]):
            if facts[0][0]:
                return Static({"int": int, "float": float}[name](facts[0][1]))
            if is_tensor(a):
                a = f.tensors.item(a, "value")  # type: ignore[arg-type]
            if is_number(a):
                kind = INT if name == "int" else FLOAT
                return a if type_of(a) == kind else f.host(name, [a], kind)
        case "isinstance", _:
            return f.problem(node, "`isinstance` is not in the language", "take the value apart with `match`")
    how = "cannot be used like this here" if name in BUILTINS else "is not in the language"
    return f.problem(node, f"`{name}` {how}", "LANGUAGE.md lists the functions")


def iterable_or_self(f: Frame, value: Value) -> Value:
    return value if is_number(value) or is_tensor(value) else iterable(f, value)


def _mapped(f: Frame, node: ast.Call, function: Value, xs: Value) -> Value:
    """`map(function, xs)`."""
    whole = iterable(f, xs)
    if isinstance(whole, TupleV):
        return Held("iterator", TupleV(tuple(_called(f, node, function, [x], {}, "") for x in whole.items)))
    if is_unknown(whole):
        return unknown()
    return Held("iterator", ragged.mapped(f, [whole], lambda x: _called(f, node, function, [x], {}, "")))  # type: ignore[list-item]


def _length(f: Frame, node: ast.AST, a: Value) -> Value:
    match a:
        case HostTensor(tensor) if tensor.ndim:
            return Static(len(tensor))
        case TupleV(items):
            return Static(len(items))
        case Static(str() | tuple() | list() | range() as value):
            return Static(len(value))
        case Module(module=torch.nn.ModuleList() | torch.nn.Sequential() | torch.nn.ParameterList() as children):
            return Static(len(children))
    t = type_or_none(a)
    if is_ragged(a):
        return ragged.extent_of(f, a, 0)  # type: ignore[arg-type]
    match t:
        case ListT():
            empty = isinstance(a, Dyn) and isinstance(a.atom, n.Var) and a.atom.name == "[]"
            return Static(0) if empty else ragged.length(f, a)
        case TupleT():
            return Static(len(t.items))
    if is_tensor(a) and shape_of(a):  # type: ignore[arg-type]
        return Static(shape_of(a)[0])  # type: ignore[arg-type]
    return f.problem(node, "this has no length")


def _zip(f: Frame, node: ast.AST, lists: list[Value]) -> Value:
    tuples = [xs for xs in lists if isinstance(xs, TupleV)]
    if len(tuples) == len(lists):
        return Held("iterator", TupleV(tuple(TupleV(t) for t in zip(*(xs.items for xs in tuples), strict=False))))
    if any(is_unknown(xs) for xs in lists):
        return unknown()
    if any(isinstance(v, Module) for xs in tuples for v in xs.items):
        return Held("iterator", _zip_modules(f, lists, min(len(xs.items) for xs in tuples)))
    lists = [list_of(f, node, list(xs.items)) if isinstance(xs, TupleV) else xs for xs in lists]
    if not all(is_list(xs) for xs in lists):
        raise Refused("`zip` takes lists here")
    return Held("iterator", f.host("zip", lists, ListT(TupleT(tuple(type_of(xs).item for xs in lists)))))


def _zip_modules(f: Frame, lists: list[Value], count: int) -> TupleV:
    """Modules beside run-time lists, which must be at least as long: a tuple to unroll over."""

    def at(xs: Value, i: int) -> Value:
        return xs.items[i] if isinstance(xs, TupleV) else f.host("list.get", [xs, Static(i)], type_of(xs).item, "element")

    return TupleV(tuple(TupleV(tuple(at(xs, i) for xs in lists)) for i in range(count)))


def _nary(f: Frame, node: ast.AST, name: str, args: list[Value]) -> Value:
    """`min(a, b, ...)` and `max(a, b, ...)` of numbers of one kind: Python gives the operand as it is."""
    kinds = {type_or_none(a) for a in args} - {BOOL}
    if any(not isinstance(k, ScalarT) for k in kinds):
        wrong = next(a for a in args if not is_number(a))
        if is_tensor(wrong):
            return f.problem(node, f"`{name}` of tensors is not in the language", f"write torch.{name}imum(a, b)")
        return f.problem(node, f"`{name}` takes numbers, not {describe(type_or_none(wrong))}")
    if not kinds:  # of bools the result is one
        result: Value = args[0]
        for a in args[1:]:
            result = f.host("bool", [f.host(name, [as_int(f, result), as_int(f, a)], INT)], BOOL, name)
        return result
    kind = FLOAT if FLOAT in kinds else INT
    result = f.coerce(as_int(f, args[0]), kind)
    for a in args[1:]:
        result = f.host(name, [result, f.coerce(as_int(f, a), kind)], kind)
    return result
