"""Calls with compiled arguments, by what is called: a function, a class, a method, a lambda, one of several."""

from __future__ import annotations

import ast
import dataclasses
import functools
import operator
import types
from collections.abc import Hashable, Sequence
from enum import EnumType
from functools import partial
from typing import Any, TypeGuard

from backends.acrobat.core.types import BOOL, FLOAT, INT, RANKS, DataT
from backends.acrobat.frontend.changing_methods import CHANGING
from backends.acrobat.frontend.evaluator.callables import nested
from backends.acrobat.frontend.evaluator.callables.effects import among_calls
from backends.acrobat.frontend.evaluator.choices.choice import fail, mapped_choice
from backends.acrobat.frontend.evaluator.choices.each_type import (
    for_each_type,
    is_one_of_several,
    take_several_types,
    with_one_type,
)
from backends.acrobat.frontend.evaluator.choices.mixed import COMPUTED, ITERABLE, mixed, of_type
from backends.acrobat.frontend.evaluator.choices.never import among_operands
from backends.acrobat.frontend.evaluator.choices.nones import opened, opened_inside
from backends.acrobat.frontend.evaluator.containers.containers import as_set
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused, Unbound
from backends.acrobat.frontend.evaluator.frame.claims import claims
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.given import Given
from backends.acrobat.frontend.evaluator.frame.spreading import NoRoom, is_spread, taken_apart
from backends.acrobat.frontend.evaluator.lists.named_iterators import as_parameter
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.objects.attributes import attribute
from backends.acrobat.frontend.evaluator.objects.constants import method_of, of_constant
from backends.acrobat.frontend.evaluator.objects.construction import construct
from backends.acrobat.frontend.evaluator.objects.enumerations import member
from backends.acrobat.frontend.evaluator.objects.initialisation import instantiate
from backends.acrobat.frontend.evaluator.ownership.ownership import refuse_earlier_owner
from backends.acrobat.frontend.evaluator.scalars import numbers
from backends.acrobat.frontend.evaluator.scalars.strings import method_of_string
from backends.acrobat.frontend.evaluator.tables import (
    ATTRIBUTES,
    CALLS,
    FUNCTIONS,
    LIBRARIES,
    METHODS,
    NEED_VALUES,
    handles,
    lookup,
)
from backends.acrobat.frontend.instances.annotations import computes_fields
from backends.acrobat.frontend.kinds import (
    is_container,
    is_list,
    is_number,
    is_string,
    kind,
    known,
    nothing_known,
    type_inside,
    type_of,
    type_or_none,
)
from backends.acrobat.frontend.refusals import home_of, of_home, of_numpy, refusal
from backends.acrobat.frontend.specials import Absent, Closure, Method, Narrowed, OneOf, Partial
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value, unknown


def called(f: Frame, node: ast.AST, callee: Value, args: Sequence[Value], kwargs: dict[str, Value], hint: str = "") -> Value:
    """Compile a call of `callee` with arguments that are compiled already. Problems are reported at `node`."""
    callee = opened(f, node, callee)
    if (never := among_operands(args)) is not None:
        return never
    if isinstance(callee, Method) and is_one_of_several(f, callee.owner):
        return for_each_type(
            f,
            node,
            [callee.owner],
            lambda owner: called(f, node, attribute(f, node, owner[0], callee.name), args, kwargs, hint),
        )
    if _needs_values(callee) and take_several_types(f, args, kwargs) and not _puts_in_order(f, callee, args):
        return with_one_type(f, node, args, kwargs, lambda one, named: called(f, node, callee, one, named, hint))
    if callee != Static(len) and _needs_values(callee):  # in a list of which the length is asked there may well be None
        whole = len(args) == 1 and isinstance(callee, Static) and callee.value in (sum, max, min)
        args = [opened_inside(f, node, a, ITERABLE if whole else COMPUTED) for a in args]
        args = [f.staged(a) if isinstance(a, OneOf) and a.constants else a for a in args]
    handler = CALLS.get(kind(callee))
    if handler is None:
        return f.problem(node, "this cannot be called")
    try:
        return handler(f, node, callee, list(args), dict(kwargs), hint)
    except NoRoom:
        if not is_spread(args[-1]):
            raise
    none = args[-1].value
    too_many = f.host("int", [f.host("ne", [f.host("list.len", [none], INT, "size"), Static(0)], BOOL)], INT, "more")
    text = "TypeError: a function is given more arguments, with `*`, than it takes"
    without = partial(handler, f, node, callee, list(args[:-1]), dict(kwargs), hint)
    return among_calls(f, node, too_many, [without, partial(fail, f, text)])


def _needs_values(callee: Value) -> bool:
    """Whether None among the arguments of a call is an error: of PyTorch's functions, and of these of Python's."""
    if isinstance(callee, Static) and isinstance(callee.value, Hashable) and callee.value in NO_NONE:
        return True
    return any(rule(callee) for rule in NEED_VALUES)


def _puts_in_order(f: Frame, callee: Value, args: Sequence[Value]) -> bool:
    """Whether a call of `max` or `min` compares the elements of a list, each of which may be of another type."""
    if callee not in (Static(max), Static(min)) or len(args) != 1:
        return False
    words = f.mixed(f.without_none(getattr(type_inside(args[0]), "item", None))).keys()
    return bool(words) and words.isdisjoint(("tensor", *RANKS))


NO_NONE = {int, float, sum, max, min, abs, round, divmod, range}
"""Functions and classes of Python's that take no None, nor a list with one."""


@handles(CALLS, OneOf)
def _one_called(f: Frame, node: ast.AST, callee: OneOf, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """A call of a module that is chosen by an index known at run time only: one arm for each alternative. Choosing one that
    takes other arguments is an error of the instance, unless all do."""
    arms, others = [], set[int]()
    if all(_of_text(each) for each in callee.alternatives) and not kwargs and all(known(a)[0] for a in args):
        return mapped_choice(f, node, callee, lambda each: called(f, node, each, args, kwargs))  # `type(x).__name__.lower()`

    def one(i: int, each: Value, narrowed: bool) -> Value:
        operands: Sequence[Value] = args
        if narrowed:  # the object whose class decides is of that class there
            operands = [_narrowed(f, node, a, callee.classes[i]) if _is_the_object(a, callee) else a for a in args]
        try:
            return called(f, node, each, operands, kwargs)
        except Unbound as unbound:
            others.add(i)
            if len(others) == len(callee.alternatives):
                raise
            return fail(f, f"TypeError: {unbound.message}")

    for i, each in enumerate(callee.alternatives):
        if each == Static(None):
            each = Absent("TypeError: 'NoneType' object is not callable")
        narrowed = callee.about is not None and _compiled(each)
        if narrowed and isinstance(each, Method) and _is_the_object(each.owner, callee) and not mixed(f, each.owner):
            refuse_earlier_owner(f, node, each.owner)
            each = Partial(Static(each.function), (Narrowed(each.owner, callee.classes[i]),), ())
        arms.append(partial(one, i, each, narrowed))
    return among_calls(f, node, callee.index, arms)


def _is_the_object(value: Value, callee: OneOf) -> TypeGuard[Dyn]:
    """Whether a value is the object whose class decides which function is called."""
    return isinstance(value, Dyn) and callee.about is not None and value.atom == callee.about.atom


def _narrowed(f: Frame, node: ast.AST, value: Dyn, cls: type) -> Value:
    """An argument that is known to be of a class: an object, or a value of one of Python's types."""
    types = mixed(f, value)
    if not types:
        return Narrowed(value, cls)
    of_python = (w for w in types if w != "object" and f.program.datatypes.class_in_mixed(value.type.name, w) is cls)  # type: ignore[union-attr]
    result = of_type(f, node, value, next(of_python, "object"))
    classes = f.program.datatypes.cases.get(getattr(type_or_none(result), "name", ""), ())
    return Narrowed(result, cls) if isinstance(result, Dyn) and len(classes) > 1 and cls in classes else result


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
    places = [a.arg for a in (*written.args.posonlyargs, *written.args.args)]
    named = [a.arg for a in written.args.kwonlyargs]
    args, rest = taken_apart(f, args, places, kwargs, dict(callee.defaults)), []
    if written.args.vararg is not None:
        args, rest = args[: len(places)], args[len(places) :]
    elif len(args) > len(places):  # `bind` takes the names of the others for places, too
        CallArguments("lambda", args, {}).bind(*places)
    values = CallArguments("lambda", args, kwargs).bind(*places, *named, **dict(callee.defaults))
    values = [as_parameter(f, written, x, v, None) for x, v in zip([*places, *named], values, strict=True)]
    env = {**callee.env, **dict(zip([*places, *named], values, strict=True))}
    if written.args.vararg is not None:
        env[written.args.vararg.arg] = TupleV(tuple(rest))
    parameters = [*places, *named, *([written.args.vararg.arg] if written.args.vararg is not None else [])]
    nested.up_to_date(f, callee)
    earlier, f.mutated = f.mutated, set()
    if callee.function is not None and callee.function is not f.function:
        with f.in_function(callee.function, callee.file, env):
            result = f.expression(written.body)
    else:
        before, owned, f.env = f.env, f.owned, env | f.kept_fields()
        inner = {x for name in parameters for x in claims(name)}
        f.owned = owned - inner
        try:
            result = f.expression(written.body)
        finally:
            f.env, f.owned = before | f.kept_fields(), owned & (f.owned | inner)
    changed, f.mutated = sorted(f.mutated & set(env)), earlier | f.mutated
    if changed := [name for name in changed if name not in f.program.carried.types]:
        raise Refused(f"a lambda changes {f.shown(changed[0])}", "write a function with `def`, and call it by its name")
    return result


@handles(CALLS, Method)
def _method(f: Frame, node: ast.AST, callee: Method, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    owner, name = callee.owner, callee.name
    if name in CHANGING and is_container(owner) and not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return f.problem(node, f"`{name}` of a list, set or dictionary is called by that name", f"write `xs.{name}(...)`")
    if isinstance(owner, Dyn) and isinstance(owner.type, DataT) and isinstance(callee.function, types.FunctionType):
        refuse_earlier_owner(f, node, owner)
        return f.program.call(f, node, callee.function, [owner, *args], kwargs)
    handler = METHODS.get(kind(owner))
    result = None if handler is None else handler(f, node, callee, args, kwargs)
    if result is not None:
        return result
    if nothing_known(owner):
        return unknown()
    if name == "append":
        return f.problem(node, "`append` gives nothing", "it stands as a statement of its own")
    if is_list(owner):
        return f.problem(node, f"`{name}` of a list is not in the language", "build a new list, with a comprehension or a loop")
    return f.problem(node, f"`{name}` is not a method of the language here", "LANGUAGE.md lists what is")


def _of_number(f: Frame, node: ast.AST, function: Any, args: list[Value]) -> Value | None:
    """The result of a method of ints or floats: of a number that is known, or called with the number as `float.is_integer(x)`;
    None for other functions."""
    if isinstance(function, types.BuiltinMethodType) and isinstance(function.__self__, (int, float)):
        return numbers.method(f, node, Static(function.__self__), function.__name__, args)
    if isinstance(function, types.MethodDescriptorType) and function.__objclass__ in (int, float) and args:
        owner = args[0]
        if is_number(owner) and function.__objclass__ is (float if type_of(owner) == FLOAT else int):
            return numbers.method(f, node, owner, function.__name__, args[1:])
    return None


def _of_text(callee: Value) -> bool:
    """Whether a value is a method of a string that is known at compile time."""
    function = callee.value if isinstance(callee, Static) else None
    return isinstance(function, types.BuiltinMethodType) and isinstance(function.__self__, str)


def _made_of(f: Frame, node: ast.Call, cls: Any, args: list[Value]) -> Value:
    """`cls._make(items)` of a named tuple. A list of another length is an error of the instance. Raises Refused."""
    (items,) = CallArguments("_make", args, {}).bind("iterable")
    whole = iterable(f, items)
    written = f.display(whole)
    parts = f.components(whole if written is None else TupleV(tuple(written)), len(cls._fields))
    if parts is None:
        raise Refused(f"`_make` of `{cls.__name__}` takes {len(cls._fields)} values", "give it as many as it has fields")
    return instantiate(f, node, cls, parts, {})


@handles(CALLS, Static)
def _function(f: Frame, node: ast.Call, callee: Static, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    value = callee.value
    if isinstance(value, operator.attrgetter) and len(args) == 1 and not kwargs:
        return attribute(f, node, args[0], value.__reduce__()[1][0])
    if isinstance(value, operator.itemgetter) and len(args) == 1 and not kwargs:
        keys = [ast.Constant(key) for key in value.__reduce__()[1]]
        parts = [f.borrowed(ast.copy_location(ast.Subscript(Given(args[0]), key, ast.Load()), node)) for key in keys]
        return parts[0] if len(parts) == 1 else TupleV(tuple(parts))
    if isinstance(value, type) and dataclasses.is_dataclass(value):
        return (instantiate if computes_fields(value) else construct)(f, node, value, args, kwargs)
    if (handler := lookup(FUNCTIONS, value)) is not None:
        result: Value = handler(f, node, args, kwargs, hint)
        return result
    if (outside := of_home(ast.unparse(getattr(node, "func", node)), value)) is not None:
        return f.problem(node, *outside)
    for find in LIBRARIES:
        if (of_library := find(value)) is not None:
            return of_library(f, node, args, kwargs, hint)
    if isinstance(value, EnumType) and len(args) == 1 and not kwargs:
        return member(f, node, value, args[0])
    if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
        return instantiate(f, node, value, args, kwargs)
    if isinstance(value, types.FunctionType):
        return f.program.call(f, node, value, args, kwargs)
    if isinstance(value, types.MethodType) and value.__name__ == "_make" and hasattr(value.__self__, "_fields"):
        return _made_of(f, node, value.__self__, args)
    if isinstance(value, types.MethodType) and isinstance(value.__self__, type):
        return f.program.call(f, node, value.__func__, [Static(value.__self__), *args], kwargs)
    if isinstance(value, type) and isinstance(value.__init__, types.FunctionType):  # type: ignore[misc]
        return instantiate(f, node, value, args, kwargs)
    if isinstance(value, types.MethodType) and isinstance(value.__func__, types.FunctionType):
        return f.program.call(f, node, value.__func__, [f.program.wrap(value.__self__), *args], kwargs)
    if isinstance(value, functools.partial):
        named = {k: f.program.wrap(v) for k, v in value.keywords.items()} | kwargs
        return called(f, node, f.program.wrap(value.func), [*map(f.program.wrap, value.args), *args], named)
    if (call := method_of(value, "__call__")) is not None:  # an object that the model holds
        return f.program.call(f, node, call, [Static(value), *args], kwargs)
    if isinstance(value, types.MethodDescriptorType) and value.__objclass__ is str and args:  # `key=str.lower`
        of_string = method_of_string(f, node, args[0], value.__name__, args[1:], kwargs) if is_string(args[0]) else None
        if of_string is not None:
            return of_string
    if _of_text(callee) and (kwargs or not all(known(a)[0] for a in args)):
        of_string = method_of_string(f, node, Static(value.__self__), value.__name__, args, kwargs)
        if of_string is not None:
            return of_string
    if isinstance(value, types.BuiltinMethodType) and isinstance(value.__self__, (set, frozenset)) and value.__self__:
        owner = as_set(f, node, Static(value.__self__))
        return _method(f, node, Method(owner, value.__name__, None), args, kwargs, hint)
    if isinstance(value, types.BuiltinMethodType) and isinstance(value.__self__, (dict, tuple, list, str)) and not kwargs:
        return of_constant(f, node, value, args)
    if (of_number := _of_number(f, node, value, args)) is not None and not kwargs:
        return of_number
    facts = [known(a) for a in args]
    if getattr(value, "__module__", "") == "math" and args and not kwargs and all(k for k, _ in facts):
        return Static(value(*(v for _, v in facts)))
    if home_of(value).partition(".")[0] == "numpy" and args and not kwargs and all(k for k, _ in facts):
        number = value(*(v for _, v in facts))
        if getattr(number, "ndim", None) == 0:  # `np.sqrt(2.0)`: a number of the source
            return Static(number.item())
    written = ast.unparse(getattr(node, "func", node))
    if home_of(value).partition(".")[0] == "numpy":
        return f.problem(node, *of_numpy(written, value.__name__))
    what = f"`{written}` is not in the language"
    return f.problem(node, *refusal(written, what, "LANGUAGE.md lists the functions and operations"))
