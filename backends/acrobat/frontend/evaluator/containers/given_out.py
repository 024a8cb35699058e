"""Results that contain numbered objects (`referenced`) or shared lists. These are copied into plain objects, of versions of
their classes, with the values that attributes have when `forward` ends. An object that occurs twice in a result becomes two
equal ones. Shared lists that may contain others of their type, at any depth, become trees."""

from __future__ import annotations

import ast

from backends.acrobat.core.types import INT, LIST, DataT, TupleT
from backends.acrobat.frontend.evaluator.choices.choice import open_optional
from backends.acrobat.frontend.evaluator.choices.mixed import by_type, word_of
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.mapping import as_result, has_numbers, holds_itself, mapped
from backends.acrobat.frontend.evaluator.objects.classes import by_class
from backends.acrobat.frontend.evaluator.objects.construction import new_object
from backends.acrobat.frontend.evaluator.objects.fields import field_at_first
from backends.acrobat.frontend.evaluator.objects.referenced import attribute_of, is_referenced
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS, RESULTS, SHARED_READ, handles
from backends.acrobat.frontend.kinds import as_kind, is_unknown, kind, type_of, type_or_none
from backends.acrobat.frontend.types import is_shared
from backends.acrobat.frontend.values import Dyn, Static, Value, guess, unknown
from backends.acrobat.ir import nodes as n
from backends.acrobat.library import results, words


def _as_result(f: Frame, value: Value) -> Value | None:
    t = type_or_none(value)
    as_tree = holds_itself(f, t)
    if is_unknown(value) or is_shared(f.without_none(t)) and not as_tree or not has_numbers(f, t):
        return None
    if kind(value) in ("dict", "set"):
        parts = mapped(f, [as_kind(value, LIST)], lambda x: as_result(f, x))
        return parts if is_unknown(parts) else as_kind(parts, t.kind)
    if not isinstance(t, DataT) or f.mixed(f.without_none(t)) and not as_tree:
        return None
    if f.without_none(t) != t:
        return open_optional(f, ast.Pass(), value, lambda some: as_result(f, some), lambda: Static(None))  # type: ignore[arg-type]
    if not as_tree and not is_referenced(f, value) and not _leads_back(f, t):
        return _plain(f, ast.Pass(), value)  # type: ignore[arg-type]
    steps = f.env["steps"] if f.function is results.given_out else _how_many(f)
    if not as_tree and not is_referenced(f, value):
        # It was made after all that is in it, and cannot lead back but by a shared list.
        steps = f.host("add", [steps, Static(1)], INT, "steps")
    result = f.call_with(results.given_out, [value, steps])
    return guess(f.program.datatypes.tree_in_results(t)) if as_tree and is_unknown(result) else result


RESULTS.append(_as_result)


def _leads_back(f: Frame, t: DataT) -> bool:
    """Whether objects of a union may contain others of it, possibly through shared lists, but not through numbered objects."""
    datatypes = f.program.datatypes
    pending: list[object] = [datatypes.fields.get((c, x)) for c in datatypes.cases[t.name] for x in datatypes.field_names(c)]
    found = set[str]()
    while pending:
        match f.without_none(pending.pop()):
            case TupleT(items):
                pending += items
            case DataT(name) as inner if name not in found:
                found.add(name)
                pending += f.mixed(inner).values()
                if is_shared(inner) or not datatypes.is_referenced(name):
                    classes = datatypes.cases.get(name, ())
                    pending += [datatypes.fields.get((c, x)) for c in classes for x in datatypes.attribute_names(c)]
            case other if hasattr(other, "item"):
                pending.append(other.item)
    return t.name in found


def _how_many(f: Frame) -> Value:
    """The number of numbered objects that the instance has made."""
    total: Value = Static(0)
    for name in sorted(f.program.carried.objects & f.env.keys()):
        total = f.host("add", [total, f.host("list.len", [f.env[name]], INT, "made")], INT, "made")
    return total


@handles(FUNCTIONS, words.whole)
def _plain_object(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """The plain object for one that is a number, or has such in it."""
    value, _ = args
    if is_unknown(value):
        return unknown()
    return (_tree if holds_itself(f, type_or_none(value)) else _plain)(f, node, value)  # type: ignore[arg-type]


def _tree(f: Frame, node: ast.AST, value: Dyn) -> Value:
    """A tree of plain lists for a shared list that may have others of its type in it, or for a mixed value that may be one."""
    assert isinstance(value.type, DataT)
    tree = f.program.datatypes.tree_in_results(value.type)

    def of_type(word: str, one: Value) -> Value:
        made = as_result(f, SHARED_READ[0](f, node, one) if isinstance(one, Dyn) and is_shared(one.type) else one)
        if is_unknown(made):
            f.program.incomplete = True
            return guess(tree)
        f.program.datatypes.widen_tree(tree, word, type_of(made))
        return f.bind(n.Construct(f"of_{word}", (f.atom(made),), tree, span=f.span), "tree")

    return by_type(f, node, value, of_type) if f.mixed(value.type) else of_type(word_of(value), value)


def _plain(f: Frame, node: ast.AST, value: Dyn) -> Value:
    assert isinstance(value.type, DataT)
    datatypes = f.program.datatypes
    classes = datatypes.cases[value.type.name]
    read = attribute_of if is_referenced(f, value) else lambda f, value, _, cls, x: field_at_first(f, value, [cls], x)

    def of(cls: type) -> Value:
        names = datatypes.attribute_names(cls)
        version, union = datatypes.version_in_results(cls, names)
        return new_object(f, node, version, DataT(union), {x: as_result(f, read(f, value, classes, cls, x)) for x in names})

    return by_class(f, node, value, classes, of)
