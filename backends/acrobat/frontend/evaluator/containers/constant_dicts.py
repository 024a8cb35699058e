"""Dictionaries of the model that have dictionaries in them, of which a loop or a recursion walks from one to the next:

    node = self.tree
    while "leaf" not in node:
        node = node["left"] if goes_left else node["right"]

They are constant objects that are referred to by numbers (`constant_graphs`). What they have under a key that is known at
compile time is a table; for other keys the entries of the one that is meant are a dictionary of the program.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from backends.acrobat.core.types import DICT, IDENTITY, DataT, ListT
from backends.acrobat.frontend.evaluator.choices.choice import choose, fail
from backends.acrobat.frontend.evaluator.choices.mixed import by_type, is_tree, mixed
from backends.acrobat.frontend.evaluator.containers.containers import look_up
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.mapping import as_result
from backends.acrobat.frontend.evaluator.objects.constant_graphs import entry_at, list_at, scalar_at
from backends.acrobat.frontend.evaluator.objects.constants import by_none, may_equal, of_keys, strings_in
from backends.acrobat.frontend.evaluator.objects.fields import field_at_first
from backends.acrobat.frontend.evaluator.tables import (
    ATTRIBUTES,
    ITERATION,
    LENGTHS,
    MEMBERSHIP,
    METHODS,
    RESULTS,
    SUBSCRIPTS,
    TRUTHS,
    handles,
)
from backends.acrobat.frontend.kinds import is_plain, is_unknown, known, type_of
from backends.acrobat.frontend.specials import Method
from backends.acrobat.frontend.types import is_nested_dict
from backends.acrobat.frontend.values import Dyn, Static, Value, unknown
from backends.acrobat.library import searching

Nodes = Mapping[int, dict[Any, Any]]
"""The dictionaries of which a value is one, by their numbers."""
OF_ENTRIES = ("items", "keys", "values", "get", "copy")
"""The methods of dictionaries that change nothing."""


def _nodes(f: Frame, value: Dyn) -> Nodes:
    assert isinstance(value.type, DataT)
    datatypes = f.program.datatypes
    return {i: x for cls in datatypes.cases[value.type.name] for i, x in datatypes.graphs.of(cls).items()}


def _number(f: Frame, value: Dyn) -> Value:
    assert isinstance(value.type, DataT)
    return field_at_first(f, value, f.program.datatypes.cases[value.type.name], IDENTITY)


def _as_result(f: Frame, value: Value) -> Value | None:
    """A result that is one of these dictionaries for some instances, as a leaf that a loop has reached is none."""
    types = mixed(f, value)
    if not any(map(is_nested_dict, types.values())) or is_tree(f, type_of(value)):
        return None
    what = "TypeError: the result has a dictionary of the model in it"

    def arm(_: str, inner: Value) -> Value:
        return fail(f, what) if is_nested_dict(type_of(inner)) else as_result(f, inner)

    return by_type(f, ast.Pass(), value, arm)  # type: ignore[arg-type]


RESULTS.append(_as_result)


@handles(SUBSCRIPTS, "nested dict")
def _entry(f: Frame, node: ast.AST, value: Dyn, index: ast.expr) -> Value:
    if isinstance(index, ast.Slice):
        return f.problem(node, "a dictionary is not sliced")
    key = Static(index.value) if isinstance(index, ast.Constant) else f.borrowed(index)
    named = [key] if is_plain(key) else []
    text = "KeyError: {0!r}" if named else "KeyError"
    return _looked_up(f, node, value, key, lambda: fail(f, text, named, strings_in(named)))


def _looked_up(f: Frame, node: ast.AST, value: Dyn, key: Value, missing: Callable[[], Value]) -> Value:
    """What one of the dictionaries has under a key; `missing()` where it has no such key."""
    is_known, name = known(key)
    if is_known:
        nodes, number = _nodes(f, value), _number(f, value)
        there = {i: x[name] for i, x in nodes.items() if name in x}
        if not there:
            return missing()
        has = scalar_at(f, {i: i in there for i in nodes}, number)
        return choose(f, node, has, partial(entry_at, f, node, there, number), missing)
    if is_unknown(key):
        return unknown()
    if mixed(f, key):
        return by_type(f, node, key, lambda _, one: _looked_up(f, node, value, one, missing))  # type: ignore[arg-type]
    some = partial(_looked_up, f, node, value, missing=missing)
    if (result := by_none(f, key, [], some, missing)) is not None:
        return result
    if not any(may_equal(key, k) for x in _nodes(f, value).values() for k in x):
        return missing()
    entries = _as_dictionary(f, node, value, lambda k: may_equal(key, k))
    return choose(f, node, _contains(f, node, value, key), lambda: look_up(f, node, entries, key), missing)  # type: ignore[arg-type]


def _as_dictionary(f: Frame, node: ast.AST, value: Dyn, wanted: Callable[[Any], bool] = lambda _: True) -> Value:
    """The entries under the wanted keys as a dictionary of the program."""
    pairs = {i: [(k, v) for k, v in x.items() if wanted(k)] for i, x in _nodes(f, value).items()}
    return list_at(f, node, pairs, _number(f, value), partial(ListT, kind=DICT))


def _keys(f: Frame, node: ast.AST, value: Dyn, wanted: Callable[[Any], bool] = lambda _: True) -> Value:
    keys = {i: [k for k in x if wanted(k)] for i, x in _nodes(f, value).items()}
    return list_at(f, node, keys, _number(f, value), ListT)


@handles(MEMBERSHIP, "nested dict")
def _contains(f: Frame, node: ast.AST, value: Dyn, key: Value) -> Value:
    is_known, name = known(key)
    if is_known:
        return scalar_at(f, {i: name in x for i, x in _nodes(f, value).items()}, _number(f, value))
    if is_unknown(key):
        return unknown()
    if mixed(f, key):
        return by_type(f, node, key, lambda _, one: _contains(f, node, value, one))  # type: ignore[arg-type]
    if (result := by_none(f, key, [], lambda some: _contains(f, node, value, some), lambda: Static(False))) is not None:
        return result
    keys = [k for x in _nodes(f, value).values() for k in x if may_equal(key, k)]
    if not keys:
        return Static(False)
    key = of_keys(f, node, key, keys)
    return f.program.call(f, node, searching.contains, [_keys(f, node, value, lambda k: may_equal(key, k)), key], {})


@handles(ITERATION, "nested dict")
def _iterated(f: Frame, value: Dyn) -> Value:
    return _keys(f, ast.Pass(), value)


@handles(LENGTHS, "nested dict")
def _length(f: Frame, value: Dyn) -> Value:
    return scalar_at(f, {i: len(x) for i, x in _nodes(f, value).items()}, _number(f, value))


@handles(TRUTHS, "nested dict")
def _truth(f: Frame, value: Dyn, node: ast.AST) -> Value:
    return scalar_at(f, {i: bool(x) for i, x in _nodes(f, value).items()}, _number(f, value))


@handles(ATTRIBUTES, "nested dict")
def _attribute(f: Frame, node: ast.AST, value: Dyn, name: str) -> Value:
    if name in OF_ENTRIES:
        return Method(value, name)
    what = f"`{name}` of a dictionary that was made outside of `forward` is not in the language here"
    return f.problem(node, what, "keep what is computed in a dictionary that `forward` makes")


@handles(METHODS, "nested dict")
def _method(f: Frame, node: ast.AST, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    match method.name, args:
        case "get", [key, *default] if len(default) < 2 and not kwargs:
            return _looked_up(f, node, method.owner, key, lambda: default[0] if default else Static(None))
        case "keys", []:
            return _keys(f, node, method.owner)
        case _, []:
            whole = _as_dictionary(f, node, method.owner)
            return METHODS["dict"](f, node, Method(whole, method.name), args, kwargs)
    return None
