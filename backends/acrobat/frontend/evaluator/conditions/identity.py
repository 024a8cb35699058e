"""`a is b` and `a is not b`, also for `==` with None."""

from __future__ import annotations

import ast
from functools import partial

from backends.acrobat.core.types import BOOL, DataT, ListT, ScalarT, TupleT
from backends.acrobat.frontend.evaluator.choices.choice import among, is_none, negation, open_optional, optional
from backends.acrobat.frontend.evaluator.choices.mixed import by_type
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.fields import identity
from backends.acrobat.frontend.evaluator.ownership.ownership import note_list_seen_elsewhere
from backends.acrobat.frontend.kinds import is_array, is_list, is_object, is_unknown, type_or_none
from backends.acrobat.frontend.specials import OneOf
from backends.acrobat.frontend.types import NONE, SYMBOL
from backends.acrobat.frontend.values import Dyn, Static, Value, guess, unknown
from backends.acrobat.library import comparing


def is_same(f: Frame, node: ast.AST, a: Value, b: Value, negate: bool) -> Value:
    """`a is b`, or `a is not b` with `negate`: of None, and of objects of the instance."""
    same = type_or_none(a)
    if b != Static(None) and isinstance(same, DataT) and same == type_or_none(b) and optional(f, a) is None:
        return f.host("ne" if negate else "eq", [identity(f, node, a), identity(f, node, b)], BOOL)
    if all(isinstance(v, Static) and isinstance(v.value, type) for v in (a, b)):  # `type(x) is int`
        return Static((a == b) != negate)
    for one, other in ((a, b), (b, a)):
        if b != Static(None) and isinstance(one, Dyn) and f.mixed(one.type):
            return by_type(f, node, one, lambda _, inner, other=other: _same_of_types(f, node, inner, other, negate))  # type: ignore[misc]
    if b == Static(NotImplemented) and not is_unknown(a):  # as the methods of `functools.total_ordering` ask
        return Static((a == b) != negate)
    if isinstance(b, Static) and isinstance(b.value, bool):
        return _is_bool(f, node, a, b, negate)
    if b != Static(None):
        inside = [x if inner is None else guess(inner) for x in (a, b) for inner in [optional(f, x)]]
        if (optional(f, a) or optional(f, b)) is None or not all(map(is_object, inside)):
            for one in (a, b):
                note_list_seen_elsewhere(f, None, f.without_none(type_or_none(one)))
            if any(map(is_array, inside)):
                advice = "compare their values by `torch.equal(a, b)`, or note by an index or a name which one it is"
                return f.problem(node, "`is` of tensors, which the program does not tell apart but by their values", advice)
            return f.problem(node, "`is` only compares with None, bools, and objects of the instance", "write `==`")
        result = f.call_with(comparing.same_object, [a, b], node)
        return negation(f, result) if negate and not is_unknown(result) else result
    if isinstance(a, Static):
        return Static((a.value is None) != negate)
    if isinstance(a, OneOf):
        return among(f, node, a.index, [partial(is_same, f, node, v, b, negate) for v in a.alternatives])
    if isinstance(a, Dyn) and optional(f, a) is not None:
        return is_none(f, a, negate)
    if type_or_none(a) is NONE:  # an element of a list of None
        return Static(not negate)
    return unknown() if is_unknown(a) and not is_list(a) else Static(negate)


def _is_bool(f: Frame, node: ast.AST, a: Value, b: Static, negate: bool) -> Value:
    """`a is True` or `a is False` of what is no value of several types: only a bool is one of these."""
    if isinstance(a, Static):
        return Static((a.value is b.value) != negate)
    if isinstance(a, Dyn) and optional(f, a) is not None:
        return open_optional(f, node, a, lambda some: is_same(f, node, some, b, negate), lambda: Static(negate))
    if is_unknown(a):
        return unknown()
    if type(a) is Dyn and a.type == BOOL:
        return f.host("ne" if negate else "eq", [a, b], BOOL)
    return Static(negate)


def _same_of_types(f: Frame, node: ast.AST, a: Value, b: Value, negate: bool) -> Value:
    """As `is_same`, where one value is of one of the types of a mixed union: an object is no value of another type."""
    plain = [isinstance(t, (ScalarT, TupleT, ListT)) or t is SYMBOL for t in map(type_or_none, (a, b))]
    objects = [isinstance(v, Dyn) and not f.mixed(v.type) and optional(f, v) is None and is_object(v) for v in (a, b)]
    if plain[0] and objects[1] or plain[1] and objects[0]:
        return Static(negate)
    return is_same(f, node, a, b, negate)
