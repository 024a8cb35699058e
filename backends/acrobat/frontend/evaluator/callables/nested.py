"""Functions inside functions, by lambda lifting: each is compiled as a separate function. The names of the functions around it
that it uses become further arguments, and those that it changes further results (`outputs`)."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence, Set
from copy import copy
from dataclasses import replace
from types import FunctionType
from typing import Any

from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.rewriting.desugar import plainly
from backends.acrobat.frontend.evaluator.rewriting.outputs import (
    Changing,
    changed_parameters,
    changed_roots,
    changed_values,
    given_back,
    nonlocals,
)
from backends.acrobat.frontend.evaluator.syntax.bodies import stored
from backends.acrobat.frontend.evaluator.syntax.hidden_names import Path, is_hidden, visible
from backends.acrobat.frontend.evaluator.tables import ATTRIBUTES, CALLS, STATEMENTS, handles
from backends.acrobat.frontend.kinds import is_container, is_object
from backends.acrobat.frontend.made_names import RENAMED
from backends.acrobat.frontend.memos import Memo
from backends.acrobat.frontend.source import LIFTED, Lifted, parse, source_of, strange_decorator
from backends.acrobat.frontend.specials import Closure, Keywords, Nested, OneOf, Partial
from backends.acrobat.frontend.syntax_nodes import all_parameters, names_in
from backends.acrobat.frontend.values import TupleV, Value, unknown

_functions: dict[Any, FunctionType] = {}


@handles(STATEMENTS, ast.FunctionDef)
def _define(f: Frame, s: ast.FunctionDef) -> None:
    if strange := strange_decorator(s):
        f.problem(s, strange, "write what it does into the function")
        return
    f.rebind(s.name, Nested(s, f.file, f.function, defaults_here(f, s.args)))


def defaults_here(f: Frame, a: ast.arguments) -> tuple[tuple[str, Value], ...]:
    """The names of the parameters that have default values, which are computed here, in the order of the source."""
    places = [*a.posonlyargs, *a.args]
    plain = zip(places[len(places) - len(a.defaults) :], a.defaults, strict=True)
    written = [*plain, *((x, d) for x, d in zip(a.kwonlyargs, a.kw_defaults, strict=True) if d is not None)]
    return tuple((x.arg, f.expression(d)) for x, d in written)


def captured(f: Frame, value: Nested) -> list[str]:
    """The names of the functions around it that a nested function, or one that it calls, uses and that have a value in `f`."""
    names: dict[str, None] = {}
    pending: list[Nested] = [value]
    while pending:
        for name in _seen_names(pending.pop()):
            if name in f.env and name not in names:
                names[name] = None
                if isinstance(inner := f.env[name], Nested) and inner.env is None:
                    pending.append(inner)
    return list(names)


def _seen_names(value: Nested) -> list[str]:
    """The names of the functions around it that a nested function uses itself, and the variables that stand for attributes of
    an object whose `__init__` it is in."""
    _, codes, _ = parse(value.file)
    lines = (value.node.lineno, *(d.lineno for d in value.node.decorator_list))
    found = (c for line in lines for c in codes.get((value.node.name, line), []))
    renamed: dict[str, str] = getattr(value.node, RENAMED, {})
    written = [renamed.get(name, name) for code in found for name in code.co_freevars]
    return [*written, *dict.fromkeys(name for name in names_in(value.node) if isinstance(name, Path))]


def _refuse_two_meanings(value: Nested, names: Sequence[str]) -> None:
    """Raises Refused if a function has a local variable of the same name as one that a nested function which it calls
    captures."""
    own = {*all_parameters(value.node), *stored(value.node.body)} - nonlocals(value.node)
    if both := [name for name in names if name in own and name not in _seen_names(value)]:
        name, both_called = visible(value.node.name), both[0]
        what = f"`{name}` has a variable `{both_called}` of its own, and calls a function that sees another `{both_called}`"
        raise Refused(what, "give one of the two another name")


def changed_captures(f: Frame, value: Nested) -> list[str]:
    """The captured names whose values a nested function may change: lists, and what it declares `nonlocal`."""
    names = captured(f, value)
    function = lifted(f, value, names)
    always = given_back(function)
    changed = changed_values(function, None, Changing(()), lambda x: f.changes_by_reading(f.env.get(x, unknown())))
    return [
        x for x in changed if x in names and (x in always or x in f.owned and (is_container(f.env[x]) or is_object(f.env[x])))
    ]


def may_change(f: Frame, value: Nested, name: str) -> bool:
    """Whether a nested function changes, or binds anew, what a name from around it stands for."""
    names = captured(f, value)
    return name in names and name in changed_parameters(lifted(f, value, names), None, Changing(()))


def lifted(f: Frame, value: Nested, names: list[str]) -> FunctionType:
    """The function object as which a nested function is compiled: `names` are further keyword parameters of it."""
    key = value.file, value.node.lineno, value.node.col_offset, value.outer, tuple(names)
    if key not in _functions:
        _refuse_two_meanings(value, names)
        result = FunctionType((lambda: None).__code__, value.outer.__globals__ if value.outer else {}, value.node.name)
        result.__qualname__ = visible(value.node.name)
        result.__module__ = getattr(value.outer, "__module__", "")
        definition = copy(value.node)
        definition.decorator_list = []
        definition.args = copy(value.node.args)
        definition.args.defaults = []
        own = [*value.node.args.kwonlyargs, *(ast.copy_location(ast.arg(name), value.node) for name in names)]
        definition.args.kwonlyargs, definition.args.kw_defaults = own, [None] * len(own)
        inside = [v for name in names if isinstance(v := f.env[name], Nested)]
        others = tuple(v.node for v in inside)
        changes = frozenset(x for v in (value, *inside) if v.to is not None for x in LIFTED[v.to].changes)
        LIFTED[result] = Lifted(definition, value.file, value.outer, others, frozenset(names), changes.intersection(names))
        _functions[key] = result
    return _functions[key]


def nested_inside(value: Any) -> list[Nested]:
    """The nested functions among those that a value is, or is a choice of, which see the names of the present function."""
    found: list[Nested] = []

    def note(v: Value) -> Value:
        if isinstance(v, Nested) and v.env is None:
            found.append(v)
        return v

    each_inside(value, note)
    return found


def written_out(f: Frame, node: ast.Call, callee: Value) -> tuple[ast.Call, list[str]]:
    """A call of a nested function, or of one of several, with the captured names as keyword arguments, and these names."""
    names = list(dict.fromkeys(name for value in nested_inside(callee) for name in captured(f, value)))
    if not names or {k.arg for k in node.keywords} & {*names}:
        return node, []
    result = copy(node)
    extra = [ast.keyword(name, ast.copy_location(ast.Name(name, ast.Load()), node)) for name in names]
    result.keywords = [*node.keywords, *extra]
    return result, names


@handles(CALLS, Nested)
def _call(f: Frame, node: ast.AST, callee: Nested, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    names = captured(f, callee) if callee.env is None else list(callee.env)
    function = lifted(f, callee, names) if callee.lifted is None else callee.lifted
    keywords = node.keywords if isinstance(node, ast.Call) and callee.env is None else []
    written = {k.arg for k in keywords if isinstance(k.value, ast.Name) and k.value.id == k.arg}
    if not written.issuperset(names):  # called in such a way that the caller could not bind what it changes
        node = ast.copy_location(ast.Pass(), node)
    kwargs = {**kwargs, **{name: (callee.env or f.env)[name] for name in names}}
    parameters = [x.arg for x in (*callee.node.args.posonlyargs, *callee.node.args.args)]
    bound = {*parameters[: len(args)], *kwargs}
    kwargs = {**kwargs, **{name: v for name, v in callee.defaults if name not in bound}}
    return f.program.call(f, node, function, args, kwargs)


def up_to_date(f: Frame, value: Closure) -> None:
    """Raises Refused for a lambda that captures a name which was rebound since: Python would use the new value."""
    if value.function is not f.function or value.ended:
        return
    written = {*names_in(value.node.body)}  # among them paths, in place of attributes
    for name, outer in value.env.items():
        if (not is_hidden(name) or isinstance(name, Path) and name in written) and f.env.get(name, outer) is not outer:
            raise Refused(
                f"the lambda sees {f.shown(name)}, which has another value by now", "write the lambda where it is used"
            )


def each_inside(value: Value, by: Callable[[Value], Value]) -> Value:
    """A value with `by` applied to it, or to each value that it consists of: the alternatives of a choice of functions, the
    parts of a `partial`, a dictionary of functions or a tuple. The same object if nothing in it changes."""
    match value:
        case TupleV(items) if items:
            new = tuple(each_inside(v, by) for v in items)
            return value if _same(items, new) else replace(value, items=new)
        case Keywords(entries):
            new = tuple(each_inside(v, by) for _, v in entries)
            names = (name for name, _ in entries)
            return value if _same([v for _, v in entries], new) else replace(value, entries=tuple(zip(names, new, strict=True)))
        case OneOf(_, alternatives):
            new = tuple(each_inside(v, by) for v in alternatives)
            return value if _same(alternatives, new) else replace(value, alternatives=new)
        case Partial(function, args, kwargs):
            inside = TupleV((function, *args, *(v for _, v in kwargs)))
            if (others := each_inside(inside, by)) is inside:
                return value
            first, *rest = others.items  # type: ignore[union-attr]
            named = zip((name for name, _ in kwargs), rest[len(args) :], strict=True)
            return Partial(first, tuple(rest[: len(args)]), tuple(named))
    return by(value)


def _same(some: Sequence[Value], others: Sequence[Value]) -> bool:
    return all(a is b for a, b in zip(some, others, strict=True))


def as_argument(f: Frame, value: Value, to: FunctionType | None = None) -> Value:
    """A value as it is passed to other functions: nested functions in it, also those inside of a choice of functions or
    captured by a lambda, carry the present values of their captured variables, unless the function `to` gets these as
    parameters (`callbacks`). Raises Refused."""
    return each_inside(value, lambda v: v if to is not None and getattr(v, "to", None) is to else _function_as_argument(f, v))


def as_captured(f: Frame, value: Value, rebound: Set[str]) -> Value:
    """A captured value as a nested function receives it. Captured functions stay as they are, since the nested function also
    receives what these capture, except for those inside of a choice of functions and the like. `rebound` has the names that the
    nested function rebinds. Raises Refused if a captured function captures one of these."""
    if isinstance(value, Nested):
        return value
    result = with_present_functions(f, value) if isinstance(value, Closure) else as_argument(f, value)
    if result is not value and (seen := rebound & names_seen_in(result)):
        what = (
            f"a function that is called here sees {f.shown(min(seen))}, to which the function that calls it gives another value"
        )
        raise Refused(what, "call it by its name, without a lambda, a `partial` or a choice around it")
    return result


def names_seen_in(value: Value) -> set[str]:
    """The names captured by the functions that a value is or contains, as far as their values are fixed."""
    found: set[str] = set()

    def note(v: Value) -> Value:
        if isinstance(v, (Nested, Closure)) and v.env is not None:
            found.update(v.env)
            for inner in v.env.values():
                each_inside(inner, note)
        return v

    each_inside(value, note)
    return found


def _function_as_argument(f: Frame, value: Value) -> Value:
    if isinstance(value, Closure):
        up_to_date(f, value)
        return value if value.ended else with_present_functions(f, value)
    if not isinstance(value, Nested) or value.env is not None:
        return value
    _refuse_stale_results(f, value)
    return _with_present_names(f, value)


def with_present_functions(f: Frame, value: Closure) -> Closure:
    """A lambda of the present function, in which captured nested functions carry the present values of their captured
    variables: a parameter of the lambda, or of a function that calls it, may have the same name as one of these."""
    if value.function is not f.function:
        return value
    env = {name: as_argument(f, v) for name, v in value.env.items()}
    return value if _same([*value.env.values()], [*env.values()]) else replace(value, env=env)


def _refuse_stale_results(f: Frame, value: Nested) -> None:
    """Raises Refused for a function that caches its results and captures variables that change. If it is passed to another
    function, the cached results are lost, and would be computed again from the later values of these variables."""
    names = captured(f, value)
    if not any(isinstance(name, Memo) for name in names) or value.outer is None:
        return
    definition = plainly(source_of(value.outer)[0])
    loops = [x for x in ast.walk(definition) if isinstance(x, (ast.For, ast.While))]
    often = [x for loop in loops for x in ast.walk(loop)]
    stored = Counter(x.id for x in (*ast.walk(definition), *often) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store))
    stored.update(a.arg for a in (*definition.args.posonlyargs, *definition.args.args, *definition.args.kwonlyargs))
    several = {name for name, times in stored.items() if times > 1}
    inside = [x for x in ast.walk(definition) if isinstance(x, ast.FunctionDef) and x is not definition]
    several |= {name for one in inside for name in nonlocals(one)}
    changed = changed_roots(value.outer, None, [definition], Changing(()))
    for name in names:
        if not isinstance(name, Memo) and not isinstance(f.env[name], Nested) and name in several | changed:
            what = f"`{visible(value.node.name)}`, which remembers its results, is given to another function and sees "
            raise Refused(f"{what}{f.shown(name)}, which is changed", "leave out the cache, or call the function by its name")


def _with_present_names(f: Frame, value: Nested) -> Nested:
    """A nested function that carries the present values of its captured variables."""
    names = captured(f, value)
    inside = [f.env[name] for name in names]
    return replace(value, env=dict(zip(names, inside, strict=True)), lifted=lifted(f, value, names))


def for_good(f: Frame, value: Value) -> Value:
    """A nested function of the present function, as it is after that one has returned; other values unchanged. Raises
    Refused."""
    if isinstance(value, Nested) and value.env is None and (changed := changed_captures(f, value)):
        what = f"`{visible(value.node.name)}` changes {f.shown(changed[0])} of the function around it, which has ended by then"
        raise Refused(what, "keep that in an object of a class, and write a method that changes it")
    if isinstance(value, Closure):
        up_to_date(f, value)
        return replace(with_present_functions(f, value), ended=True)
    return _with_present_names(f, value) if isinstance(value, Nested) and value.env is None else value


@handles(ATTRIBUTES, Nested)
def _attribute(f: Frame, node: ast.AST, value: Nested, name: str) -> Value:
    return f.problem(node, f"the function `{visible(value.node.name)}` has no attributes in the language")
