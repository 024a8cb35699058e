"""The order of values of several of Python's types: `("word", 3) < ("pair", ("a", 1))`.

Python puts numbers in order among each other, and so strings, tuples, lists, and objects whose classes say how. Values of two
of these have no order, which is a TypeError in Python and an error of the instance here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from backends.acrobat.core.types import LIST, TUPLE, ListT, ScalarT, TensorT, TupleT, is_tensor_word
from backends.acrobat.frontend.evaluator.choices.choice import fail, open_optional, optional
from backends.acrobat.frontend.evaluator.choices.mixed import NUMBERS, by_type, is_tree, mixed, word_of
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.kinds import is_number, type_or_none
from backends.acrobat.frontend.types import NEVER, SYMBOL, contains_unknown, is_unassigned
from backends.acrobat.frontend.values import Dyn, TupleV, Value
from backends.acrobat.library import comparing

Compared = Callable[[Value, Value], Value]
SIGNS: dict[type[ast.AST], tuple[str, Callable[..., Any]]] = {
    ast.Lt: ("<", comparing.tree_before),
    ast.LtE: ("<=", comparing.tree_not_after),
    ast.Gt: (">", comparing.tree_after),
    ast.GtE: (">=", comparing.tree_not_before),
}
"""A comparison -> how it is written, and the function of the library that compares trees so."""
NAMES = {"symbol": "str", "object": "object", "none": "NoneType", "": "set"}


def has_order(f: Frame, type: Any, around: frozenset[str] = frozenset()) -> bool:
    """Whether two values of the type can be compared by `<`: numbers, one-element tensors, strings, objects whose classes
    define it, and lists of such. Of a tuple only the first component, and of a union only one case, needs an order. Comparing
    two values that agree in all that can be compared is an error of the instance. `around`: the unions that contain the
    type."""
    match type:
        case TensorT():
            return type.size == 1
        case ScalarT():
            return True
        case TupleT(items):
            return not items or has_order(f, items[0], around)
        case ListT(item, rows=None, kind=kind) if kind in (LIST, TUPLE):
            return contains_unknown(item) or item is NEVER or has_order(f, item, around)
    if type == SYMBOL:
        return True
    name = getattr(type, "name", "")
    if name in around or not name or is_unassigned(type):
        return False
    around |= {name}
    datatypes = f.program.datatypes
    if name in datatypes.optionals:
        return has_order(f, datatypes.optionals[name], around)
    if name in datatypes.mixed:
        return any(has_order(f, t, around) for t in datatypes.mixed[name].values())
    classes = datatypes.cases.get(name, ())
    return bool(classes) and all("__lt__" in {x for k in c.__mro__[:-1] for x in vars(k)} for c in classes)


def of_several_in_order(f: Frame, node: ast.AST, op: ast.cmpop, a: Value, b: Value, compare: Compared) -> Value | None:
    """`a < b` and the like where an operand may be None or of several types other than numbers and tensors; None for other
    operands. `compare` makes the same comparison of two values of one type each."""
    if not any(_is_of_several(f, v) for v in (a, b)):
        return None
    for v, other, turned in ((a, b, False), (b, a, True)):
        if isinstance(v, Dyn) and optional(f, v) is not None and not is_unassigned(v.type):
            words = ["NoneType", _python_type_name(f, other)]
            failure = _without_order(op, *reversed(words) if turned else words)

            def some(inner: Value, other: Value = other, turned: bool = turned) -> Value:
                return compare(other, inner) if turned else compare(inner, other)

            return open_optional(f, node, v, some, lambda failure=failure: fail(f, failure))  # type: ignore[misc]
    _, of_trees = SIGNS[type(op)]
    trees = all(isinstance(v, Dyn) and is_tree(f, v.type) for v in (a, b))
    if trees and not (f.function is of_trees and (a, b) == (f.env.get("a"), f.env.get("b"))):
        return f.program.call(f, ast.copy_location(ast.Pass(), node), of_trees, [a, b], {})

    def with_one(one: Value) -> Value:
        return _of_each(f, node, b, lambda other: _of_one_type(f, op, one, other, compare))

    return _of_each(f, node, a, with_one)


def _is_of_several(f: Frame, value: Value) -> bool:
    """Whether a value is mixed, or None or mixed, and has an order that numbers and tensors do not tell."""
    if not isinstance(value, Dyn):
        return False
    words = f.mixed(f.without_none(value.type)).keys()
    return bool(words) and not any(map(is_tensor_word, words)) and not words <= {*NUMBERS}


def _of_each(f: Frame, node: ast.AST, value: Value, work: Callable[[Value], Value]) -> Value:
    """`work` of a value as one of the type that it has."""
    if not mixed(f, value):
        return work(value)
    assert isinstance(value, Dyn)
    return by_type(f, node, value, lambda _, inner: work(inner))


def _of_one_type(f: Frame, op: ast.cmpop, a: Value, b: Value, compare: Compared) -> Value:
    """The comparison of two values of one type each, or the error that Python raises for values without an order."""
    numbers = all(map(is_number, (a, b)))
    words = [_word(v) for v in (a, b)]
    if numbers or words[0] == words[1] and all(has_order(f, type_or_none(v)) for v in (a, b)):
        return compare(a, b)
    return fail(f, _without_order(op, *(_python_type_name(f, v) for v in (a, b))))


def _word(value: Value) -> str:
    if isinstance(value, TupleV):
        return "tuple"
    return word_of(value)


def _python_type_name(f: Frame, value: Value) -> str:
    """What Python calls the type of a value, as far as it is known."""
    if mixed(f, value) or isinstance(value, Dyn) and optional(f, value) is not None:
        return "object"
    word = _word(value)
    return NAMES.get(word, word)


def _without_order(op: ast.cmpop, one: str, other: str) -> str:
    return f"TypeError: '{SIGNS[type(op)][0]}' not supported between instances of '{one}' and '{other}'"
