"""Calls with compiled arguments, by what is called: a function, a class, a method, a lambda, one of several."""

from __future__ import annotations

import ast
import types
from collections.abc import Hashable, Sequence
from functools import partial
from typing import TypeGuard

from backends.acrobat.core.types import BOOL, INT, DataT, is_tensor_word
from backends.acrobat.frontend.changing_methods import CHANGING
from backends.acrobat.frontend.evaluator.callables import nested
from backends.acrobat.frontend.evaluator.callables.effects import among_calls
from backends.acrobat.frontend.evaluator.choices.choice import fail, mapped_choice
from backends.acrobat.frontend.evaluator.choices.each_type import (
    for_each_type,
    for_types_that_take,
    is_one_of_several,
    take_several_types,
    with_one_type,
)
from backends.acrobat.frontend.evaluator.choices.mixed import COMPUTED, ITERABLE, NUMBERS, mixed, of_tensors, of_type
from backends.acrobat.frontend.evaluator.choices.never import among_operands
from backends.acrobat.frontend.evaluator.choices.nones import opened, opened_inside
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused, Unbound, WrongShapes
from backends.acrobat.frontend.evaluator.frame.claims import claims, deep
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.spreading import NoRoom, is_spread, taken_apart
from backends.acrobat.frontend.evaluator.lists.named_iterators import as_parameter
from backends.acrobat.frontend.evaluator.objects.attributes import attribute
from backends.acrobat.frontend.evaluator.ownership.fresh import fresh, fresh_inside
from backends.acrobat.frontend.evaluator.ownership.ownership import refuse_earlier_owner
from backends.acrobat.frontend.evaluator.tables import ATTRIBUTES, CALLS, METHODS, NEED_VALUES, handles
from backends.acrobat.frontend.kinds import (
    is_array,
    is_container,
    is_list,
    kind,
    known,
    nothing_known,
    type_inside,
    type_or_none,
    variable_of,
)
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
    if _needs_values(callee) and take_several_types(f, args, kwargs) and not _takes_each(f, callee, args):
        return with_one_type(f, node, args, kwargs, lambda one, named: called(f, node, callee, one, named, hint))
    if callee in (Static(int), Static(float)) and args and "str" in f.mixed(f.without_none(type_or_none(args[0]))):
        either = opened(f, node, args[0])  # a string may be there, which is read as a number
        assert isinstance(either, Dyn)
        return for_types_that_take(f, node, either, lambda one: called(f, node, callee, [one, *args[1:]], kwargs, hint))
    if callee != Static(len) and _needs_values(callee):  # in a list of which the length is asked there may well be None
        whole = len(args) == 1 and isinstance(callee, Static) and callee.value in (sum, max, min)
        args = [opened_inside(f, node, a, ITERABLE if whole else COMPUTED) for a in args]
        args = [f.staged(a) if isinstance(a, OneOf) and a.constants else a for a in args]
        args = [of_tensors(f, a) for a in args] if any(rule(callee) for rule in NEED_VALUES) else args
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


def _takes_each(f: Frame, callee: Value, args: Sequence[Value]) -> bool:
    """Whether a call of `max`, `min` or `sum` takes the elements of a list, each of which may be of another type."""
    if callee not in (Static(max), Static(min), Static(sum)) or not args or len(args) > 1 and callee != Static(sum):
        return False
    words = f.mixed(f.without_none(getattr(type_inside(args[0]), "item", None))).keys()
    return bool(words) and (not any(map(is_tensor_word, words)) or callee != Static(sum) and words <= {*NUMBERS, "tensor"})


NO_NONE = {int, float, sum, max, min, abs, round, divmod, range}
"""Functions and classes of Python's that take no None, nor a list with one."""


@handles(CALLS, OneOf)
def _one_called(f: Frame, node: ast.AST, callee: OneOf, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """A call of a module that is chosen by an index known at run time only: one arm for each alternative. Choosing one that
    takes other arguments, or tensors of other shapes, is an error of the instance, unless all do."""
    arms, others = [], set[int]()
    if all(is_method_of_text(each) for each in callee.alternatives) and not kwargs and all(known(a)[0] for a in args):
        return mapped_choice(f, node, callee, lambda each: called(f, node, each, args, kwargs))  # `type(x).__name__.lower()`
    if not args and not kwargs and all(map(_is_view_of_constant, callee.alternatives)):  # `TABLES[name].items()`
        return among_calls(f, node, callee.index, [partial(_as_list, f, each) for each in callee.alternatives])

    def one(i: int, each: Value, narrowed: bool) -> Value:
        operands: Sequence[Value] = args
        if narrowed:  # the object whose class decides is of that class there
            operands = [_narrowed(f, node, a, callee.classes[i]) if _is_the_object(a, callee) else a for a in args]
        try:
            return called(f, node, each, operands, kwargs)
        except (Unbound, WrongShapes) as error:
            others.add(i)
            if len(others) == len(callee.alternatives):
                raise
            text = f"{'TypeError' if isinstance(error, Unbound) else 'RuntimeError'}: {error.message}"
            return fail(f, text.replace("{", "{{").replace("}", "}}"))

    for i, each in enumerate(callee.alternatives):
        if each == Static(None):
            each = Absent("TypeError: 'NoneType' object is not callable")
        narrowed = callee.about is not None and _compiled(each)
        if narrowed and isinstance(each, Method) and _is_the_object(each.owner, callee) and not mixed(f, each.owner):
            refuse_earlier_owner(f, node, each.owner)
            each = Partial(Static(each.function), (Narrowed(each.owner, callee.classes[i]),), ())
        arms.append(partial(one, i, each, narrowed))
    return among_calls(f, node, callee.index, arms)


def _is_view_of_constant(callee: Value) -> bool:
    """Whether a value is one of the methods of a constant dictionary that give what is in it."""
    function = callee.value if isinstance(callee, Static) else None
    return (
        isinstance(function, types.BuiltinMethodType)
        and type(function.__self__) is dict
        and function.__name__ in ("items", "keys", "values")
    )


def _as_list(f: Frame, view: Value) -> Value:
    """What such a method gives, as a list of the program: others of other dictionaries have other lengths."""
    assert isinstance(view, Static)
    return f.staged(Static(list(view.value())))


def _is_the_object(value: Value, callee: OneOf) -> TypeGuard[Dyn]:
    """Whether a value is the object whose class selects the function that is called."""
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
    values = [
        nested.as_argument(f, as_parameter(f, f.function, written, x, v, None))
        for x, v in zip([*places, *named], values, strict=True)
    ]
    nested.up_to_date(f, callee)
    callee = nested.with_present_functions(f, callee)
    env = {**callee.env, **dict(zip([*places, *named], values, strict=True))}
    if written.args.vararg is not None:
        env[written.args.vararg.arg] = TupleV(tuple(rest))
    parameters = [*places, *named, *([written.args.vararg.arg] if written.args.vararg is not None else [])]
    if callee.function is not None and callee.function is not f.function:
        with f.changes() as inside, f.in_function(callee.function, callee.file, env):
            result = _new_or_not(f, written.body)
    else:
        before, owned, f.env = f.env, f.owned, env | f.kept_fields()
        inner = {x for name in parameters for x in claims(name)}
        f.owned = owned - inner
        try:
            with f.changes() as inside:
                result = _new_or_not(f, written.body)
        finally:
            f.env, f.owned = before | f.kept_fields(), owned & (f.owned | inner)
    if changed := sorted(name for name in inside & set(env) if name not in f.program.carried.types):
        raise Refused(f"a lambda changes {f.shown(changed[0])}", "write a function with `def`, and call it by its name")
    return result


def _new_or_not(f: Frame, body: ast.expr) -> Value:
    """What the expression of a lambda gives. Where that is a new list or object, nothing but the call has it."""
    result = f.expression(body)
    if (name := variable_of(result)) and not is_array(result) and fresh(f, body, result):
        f.new_lists |= {name, deep(name)} if fresh_inside(f, body, type_or_none(result)) else {name}
    return result


@handles(CALLS, Method)
def _method(f: Frame, node: ast.AST, callee: Method, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    owner, name = callee.owner, callee.name
    if isinstance(callee.function, types.FunctionType) and is_container(owner):  # of a class that is derived from its class
        refuse_earlier_owner(f, node, owner)
        return f.program.call(f, node, callee.function, [owner, *args], kwargs)
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


def is_method_of_text(callee: Value) -> bool:
    """Whether a value is a method of a string that is known at compile time."""
    function = callee.value if isinstance(callee, Static) else None
    return isinstance(function, types.BuiltinMethodType) and isinstance(function.__self__, str)
