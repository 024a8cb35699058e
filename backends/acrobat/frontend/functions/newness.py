"""Whether what a function gives is new: a list, an object or a tensor to which nothing but its caller refers, and so the caller
may change it in place. Of a tuple that is known part by part, as for `return states, scores`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from backends.acrobat.core.types import DataT, ListT, ScalarT, TupleT
from backends.acrobat.frontend.evaluator.frame.claims import deep
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.ownership.elements import shown
from backends.acrobat.frontend.evaluator.ownership.fresh import fresh, fresh_inside, gives_new_memory
from backends.acrobat.frontend.evaluator.ownership.lending import changeable_types
from backends.acrobat.frontend.evaluator.ownership.ownership import changeable
from backends.acrobat.frontend.evaluator.syntax.hidden_names import CarriedName
from backends.acrobat.frontend.evaluator.syntax.own_elements import READING, is_own_element
from backends.acrobat.frontend.kinds import (
    is_array,
    is_held_tensor,
    is_number,
    is_plain,
    type_or_none,
    variable_of,
    variables_in,
)
from backends.acrobat.frontend.syntax_nodes import children, names_in
from backends.acrobat.frontend.types import contains_unknown
from backends.acrobat.frontend.values import NOTHING, Static, TupleV, Value


@dataclass(frozen=True)
class Newness:
    """Of a value that a function gives: whether nothing else refers to it (`whole`), and to anything inside of it (`inside`);
    of a tuple the same of its `parts`. `given`: the parameter that has the value too, a tensor to which nothing else refers."""

    whole: bool = False
    inside: bool = False
    parts: tuple[Newness, ...] = ()
    given: str = ""

    def and_also(self, other: Newness) -> Newness:
        """What holds of either value, one that another `return` gives."""
        parts = zip(self.parts, other.parts, strict=True) if len(self.parts) == len(other.parts) else ()
        given = other.given if self.whole or self.given == other.given else self.given if other.whole else ""
        both = tuple(a.and_also(b) for a, b in parts)
        return Newness(self.whole and other.whole, self.inside and other.inside, both, given)


SHARED = Newness()
"""Of a value to which something else may refer."""
NEW = Newness(True, True)


def entirely_new(t: Any) -> Newness:
    """That of a value of type `t` as long as no `return` says anything against it."""
    return Newness(True, True, (NEW,) * len(t.items)) if isinstance(t, TupleT) else NEW


def newness(f: Frame, source: ast.expr, value: Value, given_back: Sequence[str]) -> Newness:
    """How new the value of a returned expression is. The parameters `given_back` are the caller's already."""
    if is_number(value):
        return SHARED if shown(f, source) else NEW
    if is_plain(value) or value == Static(None) or value is NOTHING:
        return NEW
    match source:
        case ast.Tuple(elts) if isinstance(value, TupleV) and len(elts) == len(value.items):
            return Newness(parts=tuple(_of_part(f, elts, value, i, given_back) for i in range(len(elts))))
        case ast.List() | ast.ListComp() | ast.BinOp() | ast.Subscript() | ast.Call() if fresh(f, source, value):
            return Newness(True, fresh_inside(f, source, type_or_none(value)))
        case ast.Call() if f.new_parts.get(source):
            return Newness(parts=tuple(replace(part, given="") for part in f.new_parts[source]))
        case ast.Call() if (result := variable_of(value)) in f.new_lists:
            return Newness(True, deep(result) in f.new_lists)
        case ast.Call() | ast.Subscript() | ast.Attribute() | ast.BinOp() | ast.UnaryOp() | ast.Compare() if (
            is_array(value) or is_held_tensor(value)
        ) and gives_new_memory(f, source):
            return NEW
        case ast.Name(name) if name in f.owned and name not in given_back:
            return Newness(True, deep(name) in f.owned)
        case ast.Name(name) if name in f.owned and (is_array(value) or is_held_tensor(value)):
            return Newness(given=name)
    return SHARED


def is_new_tensor(f: Frame, value: Value, given_back: Sequence[str]) -> bool:
    """Whether a returned value is a tensor of which the caller cannot have another name: it was made in this piece of code, as
    in `return self.relu(out)`, and neither an attribute of a module nor a parameter in `given_back` has it."""
    variable = variable_of(value)
    if not is_array(value) or variable not in f.builder.fresh:
        return False
    kept = [v for name, v in f.env.items() if isinstance(name, CarriedName) or name in given_back]
    return not any(variable in f.builder.all_current(variables_in(v)) for v in kept)


def newness_inside(f: Frame, s: ast.For | ast.While | ast.If, t: Any) -> Newness:
    """How new the value is with which a function is left inside of a statement; `t` is its type."""
    result, inner = NEW, f.without_none(t)
    pending: list[ast.AST] = [*s.body, *s.orelse]
    while pending:
        x = pending.pop()
        if isinstance(x, ast.Return) and x.value is not None and isinstance(inner, ScalarT):
            result = result.and_also(SHARED if shown(f, x.value) else NEW)
        elif isinstance(x, ast.Return) and not (x.value is None or isinstance(x.value, ast.Constant)):
            is_display = isinstance(x.value, (ast.List, ast.ListComp, ast.BinOp, ast.Subscript)) and fresh(f, x.value, None)
            is_new = is_display or isinstance(x.value, ast.Name) and is_own_element(f.definition, x.value.id)
            plain = isinstance(inner, ListT) and not contains_unknown(inner) and not changeable(f, inner.item)
            result = result.and_also(NEW if is_new and plain and all(map(f.is_builtin, READING)) else SHARED)
        if not isinstance(x, (ast.FunctionDef, ast.Lambda)):
            pending += children(x)
    return result


def _of_part(f: Frame, elts: list[ast.expr], value: TupleV, i: int, given_back: Sequence[str]) -> Newness:
    """How new one part of a returned tuple is: another part may refer to it only by a number or a string that is computed from
    it."""
    part = elts[i]
    others = [e for e, v in zip(elts, value.items, strict=True) if e is not part and not is_plain(v)]
    if isinstance(part, ast.Name) and part.id in {*names_in(others)}:
        return SHARED
    return newness(f, part, value.items[i], given_back)


def without_lent(f: Frame, newness: Newness, t: Any) -> Newness:
    """`newness` of a value of type `t` without what is lent (`lending`): something else may refer to that, so it is not new."""
    if isinstance(t, TupleT) and len(t.items) == len(newness.parts):
        return Newness(parts=tuple(without_lent(f, n, part) for n, part in zip(newness.parts, t.items, strict=True)))
    return replace(newness, inside=newness.inside and not _lends(f, t), parts=())


def _lends(f: Frame, t: Any) -> bool:
    """Whether something else may refer to what objects in a value of type `t` hold in attributes that are not changed."""
    inside = (x.name for x in changeable_types(f, [t]) if isinstance(x, DataT))
    lent = {cls for cls, _ in f.program.lending - f.program.changed_fields}
    return any(c in lent for name in inside for c in f.program.datatypes.cases.get(name, ()))
