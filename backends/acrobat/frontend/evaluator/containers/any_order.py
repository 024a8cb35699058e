"""Comprehensions over sets where the order does not matter: in a set, or as the argument of `sorted`, `any` and the like."""

from __future__ import annotations

import ast
import operator
from typing import Any, TypeVar

from backends.acrobat.core.types import INT, ListT, ScalarT, TupleT
from backends.acrobat.frontend.evaluator.containers import containers
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.walking import no_order
from backends.acrobat.frontend.evaluator.tables import EXPRESSIONS, handles
from backends.acrobat.frontend.kinds import is_unknown, type_or_none, variable_of
from backends.acrobat.frontend.syntax_nodes import names_in
from backends.acrobat.frontend.types import SYMBOL
from backends.acrobat.frontend.values import Static, Value

Comprehension = TypeVar("Comprehension", bound=ast.ListComp | ast.GeneratorExp)
WITHOUT_ORDER = (any, all, set, frozenset, sorted, min, max, sum)
"""Functions whose result does not depend on the order of the numbers, strings and tuples of these that they walk over; that of
`sum` depends on the order of floats."""


class AnyOrder(ast.expr):
    """A node of the syntax tree for a set that is walked over as a list, since the result does not depend on the order."""

    _fields = ("whole",)

    def __init__(self, whole: ast.expr) -> None:
        super().__init__()
        self.whole = whole


@handles(EXPRESSIONS, AnyOrder)
def _listed(f: Frame, node: AnyOrder, hint: str) -> Value:
    return containers.in_any_order(f, node, f.borrowed(node.whole))


def in_any_order(f: Frame, node: Comprehension) -> Comprehension:
    """A comprehension that may compute its elements in any order: the same one, or where it walks over sets, which are the same
    in each round or written out, one that walks over the lists of their elements. Raises Refused if computing these changes
    something."""
    generators, bound = [], set[str]()
    for g in node.generators:
        listed = _written_set(f, g.iter) if bound & set(names_in(g.iter)) else _listed_set(f, g.iter)
        generators.append(g if listed is None else ast.comprehension(g.target, listed, g.ifs, g.is_async))
        bound |= set(names_in(g.target))
    if all(map(operator.is_, generators, node.generators)):
        return node
    with f.attempt() as attempt:
        f.expression(ast.copy_location(ast.ListComp(node.elt, generators), node))
    if attempt.changed & set(f.env):
        raise no_order()  # each element may be computed from what the ones before it have changed
    return ast.copy_location(type(node)(node.elt, generators), node)


def _listed_set(f: Frame, walked: ast.expr) -> AnyOrder | None:
    """What gives the elements of a set as a list; None for what is no set."""
    with f.trial():
        of_set = containers.kind_of(containers.as_set(f, walked, f.borrowed(walked))) == "set"
    return ast.copy_location(AnyOrder(walked), walked) if of_set else None


def _written_set(f: Frame, walked: ast.expr) -> AnyOrder | None:
    """As `_listed_set`, for a set that is another one in each round, which only its own form tells."""
    match walked:
        case ast.Set() | ast.SetComp():
            return ast.copy_location(AnyOrder(walked), walked)
        case ast.Call(ast.Name("set" | "frozenset" as function)) if f.is_builtin(function):
            return ast.copy_location(AnyOrder(walked), walked)
    return None


def over_set(f: Frame, node: ast.Call, callee: Value, hint: str) -> Value | None:
    """What a function of Python's gives whose result does not depend on the order in which a comprehension that is its argument
    walks over a set; None for all other calls. Raises Refused where the result may depend on it."""
    if not isinstance(callee, Static) or not any(callee.value is x for x in WITHOUT_ORDER) or len(node.args) != 1:
        return None
    written = node.args[0]
    if not isinstance(written, (ast.ListComp, ast.GeneratorExp)):
        return None
    key = next((k.value for k in node.keywords if k.arg == "key"), None)
    if key is not None and not _has_element(key) and callee.value not in (min, max):
        return None
    listed: ast.expr = in_any_order(f, written)
    if listed is written:
        return None
    if key is not None and not _has_element(key):  # of a set is checked that only one element has the lowest or highest key
        listed = ast.copy_location(ast.SetComp(written.elt, written.generators), written)
    result = f.expression(ast.copy_location(ast.Call(node.func, [listed], node.keywords), node), hint)
    f.added.pop(variable_of(result), None)  # of a set that is made in any order
    if is_unknown(result) or callee.value is not sum and _is_plain(type_or_none(result)) or type_or_none(result) == INT:
        return result
    raise no_order()  # a sum of floats, or the order of objects that are equal to each other


def _has_element(key: ast.expr) -> bool:
    """Whether a function that gives the key of an element gives it with the element in it: other elements have other keys."""
    match key:
        case ast.Lambda(ast.arguments([], [ast.arg(name)], None, [], [], None, []), ast.Tuple(parts) | ast.List(parts)):
            return any(isinstance(x, ast.Name) and x.id == name for x in parts)
        case ast.Lambda(ast.arguments([], [ast.arg(name)], None, [], [], None, []), ast.Name(given)):
            return given == name
    return False


def _is_plain(t: Any) -> bool:
    """Whether a type is that of numbers and strings, or of tuples, lists and sets of these."""
    parts = t.items if isinstance(t, TupleT) else [t.item] if isinstance(t, ListT) and t.rows is None else None
    return isinstance(t, ScalarT) or t == SYMBOL if parts is None else all(map(_is_plain, parts))
