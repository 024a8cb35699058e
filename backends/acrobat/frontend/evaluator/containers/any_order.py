"""Comprehensions over sets where the order does not matter: in a set, or as the argument of `sorted`, `any` and the like."""

from __future__ import annotations

import ast
from typing import Any, TypeVar

from backends.acrobat.core.types import INT, ListT, ScalarT, TupleT
from backends.acrobat.frontend.evaluator.containers import containers
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.walking import no_order
from backends.acrobat.frontend.evaluator.tables import EXPRESSIONS, handles
from backends.acrobat.frontend.kinds import is_unknown, type_or_none
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
    """A comprehension that may compute its elements in any order: the same one, or where it walks over a set one that walks
    over the list of its elements."""
    first, *rest = node.generators
    with f.trial():
        of_set = containers.kind_of(containers.as_set(f, node, f.borrowed(first.iter))) == "set"
    if not of_set:
        return node
    listed = ast.copy_location(AnyOrder(first.iter), first.iter)
    generators = [ast.comprehension(first.target, listed, first.ifs, first.is_async), *rest]
    return ast.copy_location(type(node)(node.elt, generators), node)


def over_set(f: Frame, node: ast.Call, callee: Value, hint: str) -> Value | None:
    """What a function of Python's gives whose result does not depend on the order in which a comprehension that is its argument
    walks over a set; None for all other calls. Raises Refused where the result may depend on it."""
    if not isinstance(callee, Static) or not any(callee.value is x for x in WITHOUT_ORDER) or len(node.args) != 1:
        return None
    written = node.args[0]
    if not isinstance(written, (ast.ListComp, ast.GeneratorExp)) or any(k.arg == "key" for k in node.keywords):
        return None
    listed: ast.expr = in_any_order(f, written)
    if listed is written:
        return None
    result = f.expression(ast.copy_location(ast.Call(node.func, [listed], node.keywords), node), hint)
    if is_unknown(result) or callee.value is not sum and _is_plain(type_or_none(result)) or type_or_none(result) == INT:
        return result
    raise no_order()  # a sum of floats, or the order of objects that are equal to each other


def _is_plain(t: Any) -> bool:
    """Whether a type is that of numbers and strings, or of tuples, lists and sets of these."""
    parts = t.items if isinstance(t, TupleT) else [t.item] if isinstance(t, ListT) and t.rows is None else None
    return isinstance(t, ScalarT) or t == SYMBOL if parts is None else all(map(_is_plain, parts))
