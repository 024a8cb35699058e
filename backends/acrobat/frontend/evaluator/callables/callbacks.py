"""Nested functions that change captured variables and are passed to other functions: `note` in `walk(tree, note)`, which
appends to a list of the function around it. `walk` is compiled once more, with the variables that `note` captures as further
parameters under hidden names, and returns their new values, as it does for parameters that it changes itself. Inside that
version `note` is compiled like a nested function of `walk`."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import replace
from types import FunctionType
from typing import Any

from backends.acrobat import library
from backends.acrobat.frontend.evaluator.callables.nested import (
    as_argument,
    captured,
    each_inside,
    lifted,
    names_seen_in,
    nested_inside,
)
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.rewriting.outputs import changed_parameters, given_back
from backends.acrobat.frontend.evaluator.syntax.hidden_names import PassedOn, passed_on, visible
from backends.acrobat.frontend.kinds import is_container, is_object
from backends.acrobat.frontend.made_names import RENAMED
from backends.acrobat.frontend.memos import Memo
from backends.acrobat.frontend.source import LIFTED, Lifted, source_of
from backends.acrobat.frontend.specials import Nested
from backends.acrobat.frontend.syntax_nodes import every_node
from backends.acrobat.frontend.values import Value

_renamed: dict[Any, ast.FunctionDef] = {}
_versions: dict[Any, FunctionType] = {}
NAMES = "names_of_captures"
"""The attribute of a call which says under which names the function that is called has what its arguments capture."""


def with_captures(f: Frame, node: ast.Call, callee: Value) -> tuple[ast.Call, list[str]]:
    """A call that passes nested functions which change captured variables, with these variables as further keyword arguments;
    and the names of these arguments. Raises Refused."""
    arguments = [f.env.get(x.id) for x in (*node.args, *(k.value for k in node.keywords)) if isinstance(x, ast.Name)]
    given = [inside for v in arguments if v is not None for inside in nested_inside(v)]
    if not any(_changed(f, value) for value in given):
        return node, []
    own = [name for value in nested_inside(callee) for name in captured(f, value)]
    names: dict[str, str] = {}
    for name in (name for value in given for name in captured(f, value)):
        new = name if isinstance(name, PassedOn) or name in own else _hidden(f, name)
        if names.setdefault(new, name) != name:
            what = f"functions that are given here see {f.shown(name)} of two calls of one function"
            raise Refused(what, "keep it in an object of a class, with methods that change it")
    result = copy(node)
    there = {k.arg for k in node.keywords}
    extra = [(new, ast.copy_location(ast.Name(name, ast.Load()), node)) for new, name in names.items() if new not in there]
    result.keywords = [*node.keywords, *(ast.keyword(new, written) for new, written in extra)]
    setattr(result, NAMES, names)
    return result, [new for new, _ in extra]


def _hidden(f: Frame, name: str) -> str:
    """The name under which a variable that a nested function captures from the present one is passed to the functions that
    receive the nested one."""
    assert f.definition is not None
    return passed_on(name, f.definition)


def _changed(f: Frame, value: Nested) -> set[str]:
    """The captured variables that a nested function may change in place or rebind."""
    names = captured(f, value)
    function = lifted(f, value, names)
    always = given_back(function)
    found = {x for x in changed_parameters(function, None, f.program.changing) if x in names and not isinstance(x, Memo)}
    return {x for x in found if x in always or is_container(f.env[x]) or is_object(f.env[x])}


def version_for(
    f: Frame, node: ast.AST, function: FunctionType, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> tuple[FunctionType, list[Value], dict[str, Value]]:
    """The function that a call calls, and its arguments. If the call passes nested functions that change captured variables,
    this is a version of the function that has these variables as further parameters. Raises Refused."""
    names: dict[str, str] = getattr(node, NAMES, {})
    if not names or not _has_versions(function):
        return function, list(args), dict(kwargs)
    olds = {old: new for new, old in names.items()}
    whole = (*args, *kwargs.values(), *(f.env[old] for old in olds))
    inside = [v for value in whole for v in nested_inside(value) if {*captured(f, v)} <= olds.keys()]
    changed = {x for v in inside for x in _changed(f, v)}
    to = _version(function, olds, changed, list(dict.fromkeys(_definition(f, v, olds) for v in inside)))

    def adapted(value: Value) -> Value:
        if isinstance(value, Nested) and value.env is None and {*captured(f, value)} <= olds.keys():
            return replace(value, node=_definition(f, value, olds), to=to)
        if stale := changed & names_seen_in(as_argument(f, value)):
            what = f"this call gives two functions that see {f.shown(min(stale))}, of which one changes it"
            raise Refused(what, "give both by their names, without a lambda or a `partial` around them")
        return value

    seen = {new: adapted(f.env[old]) for new, old in names.items()}
    return to, [each_inside(v, adapted) for v in args], {**{x: each_inside(v, adapted) for x, v in kwargs.items()}, **seen}


def _has_versions(function: FunctionType) -> bool:
    """Whether versions of this function with further parameters can be compiled."""
    plain = inspect.unwrap(function) is function and function.__name__ != "__init__"
    return plain and not (function.__module__ or "").startswith(library.__name__)


def _version(
    function: FunctionType, olds: Mapping[str, str], changed: set[str], others: Sequence[ast.FunctionDef]
) -> FunctionType:
    definition, file = source_of(function)
    own = {a.arg for a in definition.args.kwonlyargs}
    names = [new for new in olds.values() if new not in own]
    key = function, tuple(names), tuple(sorted(olds[x] for x in changed)), tuple(others)
    if key not in _versions:
        code, space = function.__code__, function.__globals__
        result = FunctionType(code, space, function.__name__, function.__defaults__, function.__closure__)
        result.__kwdefaults__, result.__annotations__ = function.__kwdefaults__, function.__annotations__
        result.__qualname__, result.__module__ = function.__qualname__, function.__module__
        whole = copy(definition)
        whole.args = copy(definition.args)
        whole.args.kwonlyargs = [*whole.args.kwonlyargs, *(ast.copy_location(ast.arg(x), definition) for x in names)]
        whole.args.kw_defaults = [*whole.args.kw_defaults, *(None for _ in names)]
        before = LIFTED.get(function, Lifted(definition, file, function, ()))
        LIFTED[result] = Lifted(
            whole,
            file,
            before.outer,
            (*before.others, *others),
            before.sees | {*names},
            before.changes | {olds[x] for x in changed},
        )
        _versions[key] = result
    return _versions[key]


def _definition(f: Frame, value: Nested, olds: Mapping[str, str]) -> ast.FunctionDef:
    """The definition of a nested function, with its captured variables renamed as they are called in the function that receives
    it. Raises Refused."""
    names = {x: olds[x] for x in captured(f, value) if olds[x] != x}
    key = value.file, value.node.lineno, value.node.col_offset, value.outer, tuple(names.items())
    if not names:
        return value.node
    if key not in _renamed:
        lifted(f, value, captured(f, value))  # refuses one with a variable of its own of such a name
        if twice := names.keys() & {*_bound_inside(value.node)}:
            what = f"`{visible(value.node.name)}` sees `{min(twice)}`, and has another variable of that name in it"
            raise Refused(what, "give one of the two another name")
        result = deepcopy(value.node)
        for x in every_node(result):
            if isinstance(x, ast.Name):
                x.id = names.get(x.id, x.id)
            elif isinstance(x, ast.Nonlocal):
                x.names = [names.get(name, name) for name in x.names]
            elif isinstance(x, ast.FunctionDef):
                setattr(x, RENAMED, {**getattr(x, RENAMED, {}), **names})
        _renamed[key] = result
    return _renamed[key]


def _bound_inside(node: ast.FunctionDef) -> Iterator[str]:
    """The names that functions inside of a function, patterns and `except` bind in it."""
    for x in every_node(node):
        match x:
            case (
                ast.arg(name) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.ExceptHandler(name=str(name))
            ):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) if x is not node:
                yield name
