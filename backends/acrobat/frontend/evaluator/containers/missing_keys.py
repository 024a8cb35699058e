"""Looking up a missing key in a `defaultdict` that is a part of something else, `graph.near[k]` or `counts[a][b]`, or that
other names refer to as well, such as a function's argument.

Python enters the key. The program does not, and nobody can see the difference if such dictionaries are only used to look up and
assign entries. If something walks over one or asks for its length, a missing key is an error of the instance.
(`containers.entered_by_lookup` has dictionaries to which only one name refers: these get the key.)

A dictionary inside something else is judged by the place that keeps it: whether anything sees the dictionaries of that place as
wholes. One with several names, which may be names of any function, is judged by the uses of every dictionary that may be the
same: one with the same default and compatible types of keys and values (`same_dictionary`).

Each round of compiling uses what the one before has found. Notes about a type that was not known then are dropped once it is.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType
from typing import Any

from backends.acrobat.core.types import COUNTER, ListT, TupleT
from backends.acrobat.frontend.evaluator.containers.containers import enters_missing_keys, has_uses_beyond_lookup
from backends.acrobat.frontend.evaluator.containers.same_dictionary import may_be_one
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.constants import method_of
from backends.acrobat.frontend.evaluator.ownership.lending import types_inside
from backends.acrobat.frontend.evaluator.syntax.order import ListPath, path_of
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS, LIBRARY_RULES, lookup
from backends.acrobat.frontend.kinds import type_or_none
from backends.acrobat.frontend.specials import Method, OneOf, Partial
from backends.acrobat.frontend.syntax_nodes import before_brackets, every_node
from backends.acrobat.frontend.types import contains_unknown
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value


@dataclass(frozen=True, slots=True)
class OtherNames:
    """Says in `seen_whole` that the dictionaries at a place get other names."""

    place: ListPath


def note_seen_whole(f: Frame, node: ast.expr, value: Value) -> None:
    """Note that an expression with this value is used for more than looking up an entry, so that the program may notice whether
    a dictionary, or one inside of it, has a key."""
    if not isinstance(value, (Dyn, TupleV)):
        return
    dictionaries = _inside(type_or_none(value))
    if not dictionaries or node in f.looked_up or f.definition is not None and node in before_brackets(f.definition):
        return
    place = _kept_in(node)
    at = set[Any]() if place is None else {OtherNames(place) if node in f.handed_on else place}
    _note(f, at if node in f.handed_on else at | dictionaries)


def note_in_result(f: Frame, value: Value) -> None:
    """Note that all dictionaries in the model's result are seen whole."""
    _note(f, {d for t in types_inside(f, [type_or_none(value)]) for d in _inside(t)})


def _note(f: Frame, seen: set[Any]) -> None:
    """Note places, and types of dictionaries, for the next round of compiling. Types that are incomplete are left out: they are
    compiled again."""
    lacking = f.trials or f.program.incomplete
    f.program.seen_whole_now |= {
        x for x in seen if isinstance(x, (ListPath, OtherNames)) or not lacking or not contains_unknown(x)
    }


def hand_on(f: Frame, node: ast.expr | None) -> None:
    """Note that the value of an expression is only given a name or put somewhere. Whether it is seen whole is judged where it
    is used."""
    match node:
        case ast.Tuple(elts) | ast.List(elts):
            for e in elts:
                hand_on(f, e)
        case ast.IfExp(body=one, orelse=other):
            hand_on(f, one)
            hand_on(f, other)
    if node is not None:
        f.handed_on.add(node)


def hand_arguments_on(f: Frame, node: ast.Call, callee: Value) -> None:
    """`hand_on` of the arguments of a call of a function or module of the source."""
    match callee:
        case Method(function=function):
            own = function is not None
        case Static(FunctionType() as function):
            own = lookup(FUNCTIONS, function) is None and all(rule(function) is None for rule in LIBRARY_RULES)
        case Static(value):
            own = not isinstance(value, (type, BuiltinFunctionType)) and method_of(value, "__call__") is not None
        case _:
            own = not isinstance(callee, (OneOf, Partial))  # of which some may be functions of Python's
    if own:
        for argument in (*node.args, *(k.value for k in node.keywords)):
            hand_on(f, argument)


def would_show(f: Frame, node: ast.AST, whole: Value) -> bool:
    """Whether the program could notice that the look-up `node`, in the dictionary `whole`, has entered a missing key, which it
    does not do itself."""
    if not isinstance(node, ast.Subscript) or node in f.put_back or not enters_missing_keys(whole):
        return False
    if not _may_be_seen_whole(f, type_or_none(whole)):
        return False
    match node.value:
        case ast.Name(name):
            return name not in f.owned and (not _is_made_here(f, name) or has_uses_beyond_lookup(f, name))
        case ast.Attribute() | ast.Subscript():
            return _is_seen_whole(f, node.value)
    return False


def _may_be_seen_whole(f: Frame, t: Any) -> bool:
    """Whether something sees a dictionary as a whole that may be one of this type."""
    seen = (x for x in f.program.seen_whole if isinstance(x, ListT))
    return any(x.kind == t.kind and may_be_one(x, t) for x in seen)


def _is_made_here(f: Frame, name: str) -> bool:
    """Whether all values that a function binds to one of its names are dictionaries made by these assignments."""
    made = stored = 0
    for x in every_node(f.definition) if f.definition is not None else ():
        match x:
            case ast.Assign([ast.Name(target)], ast.Call(called)) | ast.AnnAssign(ast.Name(target), value=ast.Call(called)):
                made += target == name and "defaultdict" in (getattr(called, "id", ""), getattr(called, "attr", ""))
            case ast.Name(target, ast.Store()):
                stored += target == name
    return made == stored > 0


def _is_seen_whole(f: Frame, node: ast.expr) -> bool:
    """Whether the dictionary that an expression names, or one around it, is kept in a place whose dictionaries are seen whole
    or get other names, or has a name whose uses go beyond looking up entries."""
    place = _kept_in(node)
    if place is not None and f.program.seen_whole & {place, OtherNames(place)}:
        return True
    match node:
        case ast.Name(name):
            return name in f.env and has_uses_beyond_lookup(f, name)
        case ast.Subscript(owner):
            return _is_seen_whole(f, owner)
    return False


def _kept_in(node: ast.expr) -> ListPath | None:
    """The place that keeps a dictionary, equal for all expressions that may name one of the same place: an attribute of any
    object, or an item of a name or of such an attribute; None for other expressions."""
    match node:
        case ast.Attribute(CompiledNode()) | ast.Subscript(CompiledNode()):
            return None
        case ast.Attribute() | ast.Subscript(ast.Name()):
            return path_of(node)
        case ast.Subscript(owner) if around := _kept_in(owner):
            return around.item()
    return None


def _inside(t: Any) -> set[Any]:
    """The types of dictionaries that enter missing keys on look-up among a type and the types inside of it."""
    match t:
        case ListT(item):
            own = {t} if t.kind.missing not in (None, COUNTER.missing) else set()
            return own | _inside(item)
        case TupleT(items):
            return {d for item in items for d in _inside(item)}
    return set()
