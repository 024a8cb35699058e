"""Calls: which function is called, its arguments, and to which lists of the caller its result may refer."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools
import operator
import types
from collections.abc import Callable, Hashable, Sequence
from enum import EnumType
from functools import partial
from typing import Any

from backends.acrobat.core.types import DataT, ListT, TupleT
from backends.acrobat.frontend.evaluator import constants, mutation, nested
from backends.acrobat.frontend.evaluator.arguments import CallArguments, Refused, constant
from backends.acrobat.frontend.evaluator.attributes import attribute
from backends.acrobat.frontend.evaluator.choice import among, fail, mapped_choice
from backends.acrobat.frontend.evaluator.classes import class_attribute, record_of, records_of
from backends.acrobat.frontend.evaluator.conditions import TESTED, truth
from backends.acrobat.frontend.evaluator.constants import chosen, method_of, of_constant
from backends.acrobat.frontend.evaluator.construction import construct, instantiate
from backends.acrobat.frontend.evaluator.fields import field
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.lending import taken_in
from backends.acrobat.frontend.evaluator.lists import iterable, mapped
from backends.acrobat.frontend.evaluator.mixed import COMPUTED, ITERABLE
from backends.acrobat.frontend.evaluator.nones import opened, opened_inside
from backends.acrobat.frontend.evaluator.order import read_too_early
from backends.acrobat.frontend.evaluator.ownership import LOOKING, calls_own_function, changeable, seen_inside
from backends.acrobat.frontend.evaluator.records import as_dict, has_key
from backends.acrobat.frontend.evaluator.strings import method_of_string
from backends.acrobat.frontend.evaluator.sums import total
from backends.acrobat.frontend.evaluator.syntax import CHANGING, claims, deep, root_of
from backends.acrobat.frontend.evaluator.tables import (
    AFTER_CALLS,
    ATTRIBUTES,
    CALLS,
    EXPRESSIONS,
    FUNCTIONS,
    ITERATION,
    LENGTHS,
    LIBRARIES,
    MEMBERSHIP,
    METHODS,
    NEED_VALUES,
    OWNERS,
    SUBSCRIPTS,
    handles,
    lookup,
)
from backends.acrobat.frontend.instances.observed import RecordOf
from backends.acrobat.frontend.specials import Absent, Closure, Keywords, Method, Narrowed, Nested, OneOf, Partial, Super
from backends.acrobat.frontend.types import UNKNOWN, contains_unknown
from backends.acrobat.frontend.values import (
    Dyn,
    Held,
    Special,
    Static,
    TupleV,
    Value,
    is_container,
    is_list,
    is_object,
    is_unknown,
    kind,
    known,
    nothing_known,
    type_or_none,
    unknown,
    variable_of,
)

WRITTEN: dict[Any, Callable[[Frame, ast.Call, Any], Value | None]] = {}
"""Functions that look at their arguments as written -> (frame, call, function) -> the result, or None for a plain call."""


@handles(WRITTEN, sum, functools.reduce)
def _sum(f: Frame, node: ast.Call, function: Any) -> Value | None:
    return total(f, node, function)


@handles(WRITTEN, isinstance)
def _isinstance(f: Frame, node: ast.Call, function: Any) -> Value | None:
    tested = node.args[0] if len(node.args) == 2 and not node.keywords else None
    return truth(f, node) if isinstance(tested, TESTED) and is_object(f.borrowed(tested)) else None


@handles(WRITTEN, super)
def _super(f: Frame, node: ast.Call, function: Any) -> Value | None:
    """`super()` in a method: its object, with attributes looked up in the classes after the one that defines the method."""
    definition, cls = f.definition, f.namespace.get("__class__")
    if node.args or definition is None or not definition.args.args or not isinstance(cls, type):
        return None
    return Super(f.env[definition.args.args[0].arg], cls)


@handles(ATTRIBUTES, Super)
def _of_super(f: Frame, node: ast.AST, value: Super, name: str) -> Value:
    """A method or property of `super()`, from the next class that has the name."""
    owner = value.owner
    kinds = [type(owner.python_object)] if isinstance(owner, Special) and owner.python_object is not None else []
    if isinstance(owner, Dyn) and isinstance(owner.type, DataT):
        kinds = list(f.program.datatypes.cases.get(owner.type.name, ()))
    found = []
    for one in kinds:
        later = one.__mro__[one.__mro__.index(value.cls) + 1 :]
        found.append(next((vars(c)[name] for c in later if name in vars(c)), None))
    if found and all(x is found[0] for x in found):
        if isinstance(found[0], types.FunctionType) and not found[0].__module__.startswith("torch."):
            return Partial(Static(found[0]), (owner,), ())
        if isinstance(found[0], property) and isinstance(found[0].fget, types.FunctionType):
            return f.program.call(f, node, found[0].fget, [owner], {})
    return f.problem(node, f"`super().{name}` is not in the language here", "write what it does")


@handles(WRITTEN, bool)
def _bool(f: Frame, node: ast.Call, function: Any) -> Value | None:
    return truth(f, node.args[0]) if len(node.args) == 1 and not node.keywords else None


@handles(EXPRESSIONS, ast.Call)
def _call(f: Frame, node: ast.Call, hint: str) -> Value:
    dropped = node is f.unused_expression
    callee = f.callees[node] = f.borrowed(node.func)
    if callee == Static(zip) and len(node.args) == 1 and isinstance(node.args[0], ast.Starred) and not node.keywords:
        return _unzipped(f, node, f.borrowed(node.args[0].value))
    match callee, node.func:
        case Method(Dyn(type=ListT(rows=None, kind="list")), "pop"), ast.Attribute(owner) if (
            len(node.args) <= 1 and not node.keywords
        ):
            return mutation.pop(f, node, owner, f.expression(node.args[0]) if node.args else Static(-1))
        case Method(Dyn(type=ListT(rows=None)), "popleft"), ast.Attribute(owner) if not node.args:
            return mutation.pop(f, node, owner, Static(0))
    if is_unknown(callee):
        return unknown()
    if isinstance(callee, Nested):
        node = nested.written_out(f, node, callee)
    if isinstance(callee, Static) and (written := lookup(WRITTEN, callee.value)) is not None:
        found: Value | None = written(f, node, callee.value)
        if found is not None:
            return found
    keeps = isinstance(callee, Static) and isinstance(callee.value, type) and dataclasses.is_dataclass(callee.value)
    read = f.expression if keeps else f.borrowed
    given = [*node.args, *(k.value for k in node.keywords)]
    receiver = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    names = {name for name in map(root_of, (*given, *receiver)) if name is not None}
    owned = f.owned & _displayed(given)
    lent = {x for name in names for x in claims(name) if x in f.owned}
    earlier, f.mutated = f.mutated, set()
    passed: list[tuple[ast.expr, Sequence[Value]]] = [
        (a.value, _spread(f, callee, a.value)) if isinstance(a, ast.Starred) else (a, [read(a)]) for a in node.args
    ]
    kwargs: dict[str, Value] = {}
    for k in node.keywords:
        kwargs |= {k.arg: read(k.value)} if k.arg is not None else _entries(f, read(k.value))
    if f.mutated and (early := read_too_early([*receiver, *given], f.changed_by)):  # `stack.push(g(stack.pop()))`
        stale = [x for i, x in enumerate([*receiver, *given]) if i in early]
        if not all(isinstance(x, ast.Name) for x in stale):
            what = "an argument of this call changes a list or object that is named before"
            raise Refused(what, "write it as a statement before")
        callee = f.callees[node] = f.borrowed(node.func)
        passed = [(a, [read(a)]) if a in stale else (a, parts) for a, parts in passed]
        kwargs |= {k.arg: read(k.value) for k in node.keywords if k.arg is not None and k.value in stale}
    args = [v for _, parts in passed for v in parts]
    f.mutated |= earlier
    before, f.owned_arguments = f.owned_arguments, lent
    values = {name: f.env[name] for name in (*names, *f.program.carried.attributes) if name in f.env}
    f.lists_kept = set()
    try:
        result = called(f, node, callee, args, kwargs, hint)
    finally:
        f.owned_arguments = before
    changed = [name for name, v in values.items() if f.env.get(name) is not v]
    if changed and calls_own_function(f, node):
        named = [(k.value, kwargs[k.arg]) for k in node.keywords if k.arg is not None]
        taken_in(f, changed, [*((written, v) for written, parts in passed for v in parts), *named])
    if isinstance(callee, Static) and getattr(callee.value, "__name__", "") in OWNERS and not calls_own_function(f, node):
        f.owned |= owned
    for rule in AFTER_CALLS:
        rule(f, node, callee, result)
    made = variable_of(result)
    if dropped or deep(made) in f.new_lists:
        return result
    if changeable(f, type_or_none(result)) and not _makes_lists(callee):  # tensors: `_forget_aliases` (`tensors/memory.py`)
        receiver = (
            [node.func.value] if isinstance(node.func, ast.Attribute) and is_object(f.env.get(root_of(node.func) or "")) else []
        )
        for a in (*receiver, *node.args, *(k.value for k in node.keywords)):
            if isinstance(a, ast.Name) and _may_hold(type_or_none(result), type_or_none(f.env.get(a.id, unknown()))):
                f.owned.discard(a.id)  # the result may be, or contain, the list of this name
    _look_inside(f, node, callee, result)
    return result


def _displayed(args: Sequence[ast.expr]) -> set[str]:
    """The names whose values, or parts of them, are written-out elements among the arguments: `x` of `cat([x, x[0]])`."""
    displays = [
        a for a in args if isinstance(a, (ast.List, ast.Tuple)) and not any(isinstance(x, ast.Call) for x in ast.walk(a))
    ]
    return {name for a in displays for e in a.elts if (name := root_of(e)) is not None}


def _look_inside(f: Frame, node: ast.Call, callee: Value, result: Value) -> None:
    """Note that something else may refer to parts of the arguments: the result of the call may contain such a part."""
    builtin = _makes_lists(callee) or isinstance(result, Held)
    if builtin and getattr(getattr(callee, "value", None), "__name__", "") in LOOKING:
        return
    if builtin or changeable(f, type_or_none(result)):
        owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        for a in (*owner, *node.args, *(k.value for k in node.keywords)):
            seen_inside(f, a)


def _spread(f: Frame, callee: Value, written: ast.expr) -> list[Value]:
    """The arguments that `*xs` gives to a call; a list of run-time length is one argument, marked as spread. Raises Refused."""
    value = f.expression(written)
    if nothing_known(value):
        return [unknown()]
    whole = iterable(f, value)
    parts = f.components(whole)
    if parts is not None:
        return list(parts)
    if callee in (Static(max), Static(min)):
        return [whole]
    return [Held("spread", whole)]


def _entries(f: Frame, value: Value) -> dict[str, Value]:
    """The arguments that `**xs` gives to a call. Raises Refused."""
    match value:
        case Keywords(entries):
            return dict(entries)
        case Static(dict() as entries):
            return {str(k): f.program.wrap(v) for k, v in entries.items()}
        case Dyn(type=DataT(name)):
            classes = f.program.datatypes.cases.get(name, ())
            if len(classes) == 1 and issubclass(classes[0], RecordOf):
                return {x: field(f, ast.Pass(), value, x) for x in f.program.datatypes.record_fields(classes[0])}
    raise Refused("`**` takes a dictionary whose keys are names written in the source")


def _unzipped(f: Frame, node: ast.AST, xs: Value) -> Value:
    """`zip(*xs)` of a list of tuples: a tuple of lists."""
    xs = opened_inside(f, node, xs.value if isinstance(xs, Held) and xs.kind == "iterator" else xs)
    t = type_or_none(xs)
    if nothing_known(xs) or isinstance(t, ListT) and contains_unknown(t):
        return unknown()
    if not isinstance(t, ListT) or not isinstance(t.item, TupleT):
        return f.problem(node, "`zip(*xs)` takes a list of tuples here")

    def component(i: int) -> Value:
        return mapped(f, [xs], lambda pair: (f.components(pair) or [])[i])  # type: ignore[list-item]

    return TupleV(tuple(component(i) for i in range(len(t.item.items))))


def _may_hold(whole: Any, part: Any) -> bool:
    """Whether a value of type `whole` may be, or have in it, a list, set or dictionary of type `part`."""
    if not isinstance(part, ListT) and (part is None or contains_unknown(part)) or whole is None or whole == UNKNOWN:
        return True
    match whole:
        case ListT(item, rows=None, kind=kind):
            return not isinstance(part, ListT) or part.kind == kind or _may_hold(item, part)
        case TupleT(items):
            return any(_may_hold(t, part) for t in items)
    return isinstance(whole, DataT)


def _makes_lists(callee: Value) -> bool:
    """Whether the callee is a function or class of Python's builtins: lists that these give are new."""
    return isinstance(callee, Static) and getattr(builtins, getattr(callee.value, "__name__", ""), None) is callee.value


def called(f: Frame, node: ast.AST, callee: Value, args: Sequence[Value], kwargs: dict[str, Value], hint: str = "") -> Value:
    """Compile a call of `callee` with arguments that are compiled already. Problems are reported at `node`."""
    callee = opened(f, node, callee)
    if callee == Static(len):  # what is inside may well be None
        args = [opened(f, node, a, types=ITERABLE) for a in args]
    elif _needs_values(callee):
        whole = len(args) == 1 and isinstance(callee, Static) and callee.value in (sum, max, min)
        args = [opened_inside(f, node, a, ITERABLE if whole else COMPUTED) for a in args]
    handler = CALLS.get(kind(callee))
    if handler is None:
        return f.problem(node, "this cannot be called")
    return handler(f, node, callee, list(args), dict(kwargs), hint)


def _needs_values(callee: Value) -> bool:
    """Whether None among the arguments of a call is an error: of PyTorch's functions, and of these of Python's."""
    if isinstance(callee, Static) and isinstance(callee.value, Hashable) and callee.value in NO_NONE:
        return True
    return any(rule(callee) for rule in NEED_VALUES)


NO_NONE = {int, float, sum, max, min, abs, round, divmod, range}
"""Functions and classes of Python's that take no None, nor a list with one."""


@handles(CALLS, OneOf)
def _one_called(f: Frame, node: ast.AST, callee: OneOf, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """A call of a module that is chosen by an index known at run time only: one arm for each alternative."""
    arms = []
    for i, each in enumerate(callee.alternatives):
        given = args
        if callee.about is not None and _compiled(each):  # the object whose class decides is of that class there
            cls = callee.classes[i]
            given = [Narrowed(a, cls) if isinstance(a, Dyn) and a.atom == callee.about.atom else a for a in args]
            if isinstance(each, Method) and isinstance(each.owner, Dyn) and each.owner.atom == callee.about.atom:
                each = Partial(Static(each.function), (Narrowed(each.owner, cls),), ())
        arms.append(partial(called, f, node, each, given, kwargs))
    return among(f, node, callee.index, arms)


def _compiled(callee: Value) -> bool:
    """Whether a call compiles a function of the source."""
    function = getattr(callee, "function" if isinstance(callee, Method) else "value", None)
    return isinstance(function, (types.FunctionType, types.MethodType))


@handles(CALLS, Absent)
def _missing(f: Frame, node: ast.AST, callee: Absent, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return fail(f, callee.text)


@handles(ATTRIBUTES, OneOf)
def _attribute_of_one(f: Frame, node: ast.AST, value: OneOf, name: str) -> Value:
    """An attribute of a module or class that is chosen at run time: one of the attributes."""
    return mapped_choice(f, node, value, lambda each: attribute(f, node, each, name))


@handles(CALLS, Closure)
def _lambda(f: Frame, node: ast.AST, callee: Closure, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """A call of a lambda: its expression is compiled here, with the values that its names had where it was written."""
    written = callee.node
    parameters = [a.arg for a in (*written.args.args, *written.args.kwonlyargs)]
    values = CallArguments("lambda", args, kwargs).bind(*parameters)
    env = {**callee.env, **dict(zip(parameters, values, strict=True))}
    nested.up_to_date(f, callee)
    earlier, f.mutated = f.mutated, set()
    if callee.function is not None and callee.function is not f.function:
        with f.in_function(callee.function, callee.file, env):
            found = f.expression(written.body)
    else:
        before, owned, f.env = f.env, f.owned, env | f.kept_fields()
        inner = {x for name in parameters for x in claims(name)}
        f.owned = owned - inner
        try:
            found = f.expression(written.body)
        finally:
            f.env, f.owned = before | f.kept_fields(), owned & (f.owned | inner)
    changed, f.mutated = sorted(f.mutated & set(env)), earlier | f.mutated
    if changed := [name for name in changed if name not in f.program.carried.types]:
        raise Refused(f"a lambda changes {f.shown(changed[0])}", "write a function with `def`, and call it by its name")
    return found


@handles(CALLS, Method)
def _method(f: Frame, node: ast.AST, callee: Method, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    owner, name = callee.owner, callee.name
    if name in CHANGING and is_container(owner) and not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return f.problem(node, f"`{name}` of a list, set or dictionary is called by that name", f"write `xs.{name}(...)`")
    if isinstance(owner, Dyn) and isinstance(owner.type, DataT) and isinstance(callee.function, types.FunctionType):
        return f.program.call(f, node, callee.function, [owner, *args], kwargs)
    handler = METHODS.get(kind(owner))
    found = None if handler is None else handler(f, node, callee, args, kwargs)
    if found is not None:
        return found
    if nothing_known(owner):
        return unknown()
    if name == "append":
        return f.problem(node, "`append` gives nothing", "it stands as a statement of its own")
    if is_list(owner):
        return f.problem(node, f"`{name}` of a list is not in the language", "build a new list, with a comprehension or a loop")
    return f.problem(node, f"`{name}` is not a method of the language here", "LANGUAGE.md lists what is")


@handles(CALLS, Static)
def _function(f: Frame, node: ast.Call, callee: Static, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    value = callee.value
    if isinstance(value, operator.attrgetter) and len(args) == 1 and not kwargs:
        return attribute(f, node, args[0], value.__reduce__()[1][0])
    if isinstance(value, type) and dataclasses.is_dataclass(value):
        return construct(f, node, value, args, kwargs)
    if (handler := lookup(FUNCTIONS, value)) is not None:
        result: Value = handler(f, node, args, kwargs, hint)
        return result
    for find in LIBRARIES:
        if (of_library := find(value)) is not None:
            return of_library(f, node, args, kwargs, hint)
    if isinstance(value, EnumType) and len(args) == 1 and not kwargs:
        return _member(f, node, value, args[0])
    if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
        return instantiate(f, node, value, args, kwargs)
    if isinstance(value, types.FunctionType):
        return f.program.call(f, node, value, args, kwargs)
    if isinstance(value, types.MethodType) and isinstance(value.__self__, type):
        return f.program.call(f, node, value.__func__, [Static(value.__self__), *args], kwargs)
    if isinstance(value, type) and isinstance(value.__init__, types.FunctionType):  # type: ignore[misc]
        return instantiate(f, node, value, args, kwargs)
    if isinstance(value, types.MethodType) and isinstance(value.__func__, types.FunctionType):
        return f.program.call(f, node, value.__func__, [f.program.wrap(value.__self__), *args], kwargs)
    if isinstance(value, functools.partial):
        given = {k: f.program.wrap(v) for k, v in value.keywords.items()} | kwargs
        return called(f, node, f.program.wrap(value.func), [*map(f.program.wrap, value.args), *args], given)
    if (call := method_of(value, "__call__")) is not None:  # an object that the model holds
        return f.program.call(f, node, call, [Static(value), *args], kwargs)
    if isinstance(value, types.BuiltinMethodType) and isinstance(value.__self__, str) and not all(known(a)[0] for a in args):
        made = method_of_string(f, node, Static(value.__self__), value.__name__, args, kwargs)
        if made is not None:
            return made
    if isinstance(value, types.BuiltinMethodType) and isinstance(value.__self__, (dict, tuple, list, str)) and not kwargs:
        return of_constant(f, node, value, args)
    facts = [known(a) for a in args]
    if getattr(value, "__module__", "") == "math" and args and not kwargs and all(k for k, _ in facts):
        return Static(value(*(v for _, v in facts)))
    written = ast.unparse(getattr(node, "func", node))
    return f.problem(node, f"`{written}` is not in the language", "LANGUAGE.md lists the functions and operations")


def _member(f: Frame, node: ast.AST, cls: EnumType, value: Value) -> Value:
    """`Action(value)`: the member of an Enum that has this value. Any other value is an error of the instance."""
    is_known, constant = known(value)
    members: dict[Any, Any] = {member.value: member for member in cls}  # type: ignore[var-annotated]
    if is_known:
        return Static(members[constant]) if constant in members else f.problem(node, f"{cls.__name__} has no {constant!r}")
    return chosen(f, node, list(members), value, lambda v: Static(members[v]))


@handles(ATTRIBUTES, "string")
def _of_member(f: Frame, node: ast.AST, value: Dyn, name: str) -> Value:
    """Methods of strings; `.value` and `.name` of a member of an Enum, of a class that the function's file names."""
    named = {x.id for x in ast.walk(f.definition or ast.Pass()) if isinstance(x, ast.Name)}
    classes = {key: c for key, c in f.namespace.items() if isinstance(c, EnumType) and name in ("value", "name")}
    if not classes and callable(getattr(str, name, None)):
        return Method(value, name)
    members: list[Any] = []
    for key, c in classes.items():
        if key in named or not named & classes.keys():
            members += c.__members__.values()
    if not members:
        return f.problem(node, f"a string that is known at run time only has no `{name}` in the language")
    return chosen(f, node, list(dict.fromkeys(members)), value, lambda m: Static(getattr(m, name)))


# ---- the dictionary of a parameter `**kwargs`


@handles(ATTRIBUTES, Keywords)
def _keywords_attribute(f: Frame, node: ast.AST, value: Keywords, name: str) -> Value:
    return Method(value, name)


@handles(SUBSCRIPTS, Keywords)
def _keyword(f: Frame, node: ast.AST, value: Keywords, index: ast.expr) -> Value:
    key = constant(f.expression(index), "the name of an argument")
    if key not in dict(value.entries):
        return f.problem(node, f"there is no argument `{key}` here")
    return dict(value.entries)[key]


@handles(MEMBERSHIP, Keywords)
def _given(f: Frame, node: ast.AST, value: Keywords, key: Value) -> Value:
    return Static(constant(key, "the name of an argument") in dict(value.entries))


@handles(METHODS, Keywords)
def _keywords_method(f: Frame, node: ast.AST, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    entries: dict[str, Value] = dict(method.owner.entries)
    match method.name, args:
        case "get", [key, *default]:
            return entries.get(constant(key, "the name of an argument"), default[0] if default else Static(None))
        case "items", []:
            return Held("iterator", TupleV(tuple(TupleV((Static(k), v)) for k, v in entries.items())))
        case "keys", []:
            return Held("iterator", TupleV(tuple(map(Static, entries))))
        case "values", []:
            return Held("iterator", TupleV(tuple(entries.values())))
    return None


# ---- special methods of objects


def special(f: Frame, node: ast.AST, value: Dyn, name: str, args: list[Value]) -> Value | None:
    """The result of an object's special method, such as `__len__`; None if its classes have no such method."""
    assert isinstance(value.type, DataT)
    classes = f.program.datatypes.cases.get(value.type.name, ())
    method = class_attribute(f, node, value, classes, name) if classes else None
    return called(f, node, method, args, {}) if isinstance(method, Method) else None


@handles(LENGTHS, "object")
def _length(f: Frame, value: Dyn) -> Value | None:
    if (record := record_of(f, value)) is not None:
        return Static(len(record.keys_of_record))  # type: ignore[attr-defined]
    return special(f, ast.Pass(), value, "__len__", [])


@handles(CALLS, "object")
def _called_object(f: Frame, node: ast.AST, callee: Dyn, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    found = special(f, node, callee, "__call__", args) if not kwargs else None
    return f.problem(node, "this object cannot be called") if found is None else found


@handles(ITERATION, "object")
def _iterated(f: Frame, value: Dyn) -> Value:
    if (record := record_of(f, value)) is not None:
        return as_dict(f, record)
    found = special(f, ast.Pass(), value, "__iter__", [])
    if found is None:
        raise Refused("only lists, ranges, tuples and module lists can be iterated over")
    return iterable(f, found)


@handles(MEMBERSHIP, "object")
def _contained(f: Frame, node: ast.AST, value: Dyn, item: Value) -> Value:
    if (record := record_of(f, value)) is not None:
        keys = list(record.keys_of_record)  # type: ignore[attr-defined]
        is_known, name = known(item)
        return Static(name in keys) if is_known else constants.contains(f, item, keys)
    if records_of(f, value) and known(item)[0]:
        return has_key(f, value, str(known(item)[1]))
    found = special(f, node, value, "__contains__", [item])
    return f.problem(node, "`in` of this object is not in the language") if found is None else found
