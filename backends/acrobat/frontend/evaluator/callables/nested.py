"""Functions inside functions, by lambda lifting: each is compiled as a separate function. The names of the functions around it
that it uses become further arguments, and those that it changes further results (`outputs`)."""

from __future__ import annotations

import ast
from collections import Counter
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
    given_back,
    nonlocals,
)
from backends.acrobat.frontend.evaluator.syntax.bodies import HIDDEN
from backends.acrobat.frontend.evaluator.tables import ATTRIBUTES, CALLS, STATEMENTS, handles
from backends.acrobat.frontend.kinds import is_container
from backends.acrobat.frontend.memos import MEMO
from backends.acrobat.frontend.source import LIFTED, Lifted, parse, source_of, strange_decorator
from backends.acrobat.frontend.specials import Closure, Nested
from backends.acrobat.frontend.values import Value

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
    pending: list[Any] = [value]
    while pending:
        one = pending.pop()
        _, codes, _ = parse(one.file)
        lines = (one.node.lineno, *(d.lineno for d in one.node.decorator_list))
        for code in (c for line in lines for c in codes.get((one.node.name, line), [])):
            for name in code.co_freevars:
                if name in f.env and name not in names:
                    names[name] = None
                    if isinstance(f.env[name], Nested):
                        pending.append(f.env[name])
    return list(names)


def changed_captures(f: Frame, value: Nested) -> list[str]:
    """The captured names whose values a nested function may change: lists, and what it declares `nonlocal`."""
    names = captured(f, value)
    function = lifted(f, value, names)
    always = given_back(function)
    changed = changed_parameters(function, None, Changing(()))
    return [x for x in changed if x in names and (x in always or x in f.owned and is_container(f.env[x]))]


def may_change(f: Frame, value: Nested, name: str) -> bool:
    """Whether a nested function changes, or binds anew, what a name from around it stands for."""
    names = captured(f, value)
    return name in names and name in changed_parameters(lifted(f, value, names), None, Changing(()))


def lifted(f: Frame, value: Nested, names: list[str]) -> FunctionType:
    """The function object as which a nested function is compiled: `names` are further keyword parameters of it."""
    key = value.file, value.node.lineno, value.node.col_offset, value.outer, tuple(names)
    if key not in _functions:
        result = FunctionType((lambda: None).__code__, value.outer.__globals__ if value.outer else {}, value.node.name)
        result.__qualname__ = value.node.name
        result.__module__ = getattr(value.outer, "__module__", "")
        definition = copy(value.node)
        definition.decorator_list = []
        definition.args = copy(value.node.args)
        definition.args.defaults = []
        own = [*value.node.args.kwonlyargs, *(ast.copy_location(ast.arg(name), value.node) for name in names)]
        definition.args.kwonlyargs, definition.args.kw_defaults = own, [None] * len(own)
        others = [v.node for name in names if isinstance(v := f.env[name], Nested)]
        LIFTED[result] = Lifted(definition, value.file, value.outer, tuple(others))
        _functions[key] = result
    return _functions[key]


def written_out(f: Frame, node: ast.Call, value: Nested) -> ast.Call:
    """A call of a nested function by its name, with the captured names added as keyword arguments."""
    if value.env is not None:
        return node
    result = copy(node)
    names = captured(f, value)
    extra = [ast.keyword(name, ast.copy_location(ast.Name(name, ast.Load()), node)) for name in names]
    result.keywords = [*node.keywords, *extra]
    return result


@handles(CALLS, Nested)
def _call(f: Frame, node: ast.AST, callee: Nested, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    names = captured(f, callee) if callee.env is None else list(callee.env)
    function = lifted(f, callee, names) if callee.lifted is None else callee.lifted
    if any(name not in kwargs for name in names):  # not called by its name: the caller could not bind what it changes
        kwargs = {**kwargs, **{name: (callee.env or f.env)[name] for name in names}}
        node = ast.copy_location(ast.Pass(), node)
    parameters = [x.arg for x in (*callee.node.args.posonlyargs, *callee.node.args.args)]
    bound = {*parameters[: len(args)], *kwargs}
    kwargs = {**kwargs, **{name: v for name, v in callee.defaults if name not in bound}}
    return f.program.call(f, node, function, args, kwargs)


def up_to_date(f: Frame, value: Closure) -> None:
    """Raises Refused for a lambda that uses a name to which another value was assigned since: Python would use that one."""
    if value.function is not f.function or value.ended:
        return
    for name, outer in value.env.items():
        if not name.startswith(HIDDEN) and f.env.get(name, outer) is not outer:
            raise Refused(f"the lambda sees `{name}`, which has another value by now", "write the lambda where it is used")


def as_argument(f: Frame, value: Value) -> Value:
    """A nested function as it is passed to other functions, with the present values of its captured names. Raises Refused."""
    if isinstance(value, Closure):
        up_to_date(f, value)
    if not isinstance(value, Nested) or value.env is not None:
        return value
    _refuse_stale_results(f, value)
    return _with_present_names(f, value)


def _refuse_stale_results(f: Frame, value: Nested) -> None:
    """Raises Refused for a function that remembers its results and sees what changes. Given to another function, what it
    remembers there is lost, and would be computed again from what it sees by then."""
    names = captured(f, value)
    if not any(name.startswith(MEMO) for name in names) or value.outer is None:
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
        if not name.startswith(MEMO) and not isinstance(f.env[name], Nested) and name in several | changed:
            what = f"`{value.node.name}`, which remembers its results, is given to another function and sees {f.shown(name)}, "
            raise Refused(what + "which is changed", "leave out the cache, or call the function by its name")


def _with_present_names(f: Frame, value: Nested) -> Nested:
    """A nested function with the present values of its captured names."""
    names = captured(f, value)
    inside = [f.env[name] for name in names]
    return replace(value, env=dict(zip(names, inside, strict=True)), lifted=lifted(f, value, names))


def for_good(f: Frame, value: Value) -> Value:
    """A function inside of the present one, as it is when that has ended; other values unchanged. Raises Refused."""
    if isinstance(value, Nested) and value.env is None and (changed := changed_captures(f, value)):
        what = f"`{value.node.name}` changes {f.shown(changed[0])} of the function around it, which has ended by then"
        raise Refused(what, "keep that in an object of a class, and write a method that changes it")
    if isinstance(value, Closure):
        up_to_date(f, value)
        return replace(value, ended=True)
    return _with_present_names(f, value) if isinstance(value, Nested) and value.env is None else value


@handles(ATTRIBUTES, Nested)
def _attribute(f: Frame, node: ast.AST, value: Nested, name: str) -> Value:
    return f.problem(node, f"the function `{value.node.name}` has no attributes in the language")
