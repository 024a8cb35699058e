"""Lists, sets and dictionaries that are changed while several names refer to them:

    row = []
    rows.append(row)     row and rows[0] are one list
    row.append(x)

A list of the program is a value, so a changed one is another list under each of its names (`ownership`). If an attempt was
refused for this reason, the next one has such lists as *shared* ones: objects with one attribute, `items`, that are referred to
by numbers (`referenced`). All expressions of the source that make lists of that type then make shared ones, if something may
keep them. Whatever reads a shared list reads its items: `nones.opened` gives these, and `mutation.place` treats them as the
place that gets new items. Nothing else ever refers to the items, so any change of them is right, except changes of lists inside
of them: these become shared lists themselves from the next attempt on.

Where a shared list is kept, in a variable, an attribute, a result or an argument, only its number is. No shared list is ever
made from a list that the source did not make at that place, so that lists of the instance are never copied by it.
"""

from __future__ import annotations

import ast
import builtins
from functools import lru_cache
from typing import Any

from backends.acrobat.core.types import INT, DataT, ListT
from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.choices.choice import open_optional
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.conditions.truths import condition
from backends.acrobat.frontend.evaluator.containers.containers import EMPTY
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.mapping import as_result, holds_itself, mapped
from backends.acrobat.frontend.evaluator.objects.field_values import field_value
from backends.acrobat.frontend.evaluator.objects.referenced import enter_object, read_attribute, shared_inside
from backends.acrobat.frontend.evaluator.ownership.fresh import calls_own_function
from backends.acrobat.frontend.evaluator.ownership.origins import makes
from backends.acrobat.frontend.evaluator.tables import (
    ATTRIBUTES,
    CALLS,
    COERCIONS,
    MADE,
    RESULTS,
    SHARED_READ,
    TEXTS,
    TRUTHS,
    handles,
)
from backends.acrobat.frontend.instances.shared import ITEMS, Site
from backends.acrobat.frontend.kinds import kind, type_or_none
from backends.acrobat.frontend.source import source_of, stripped
from backends.acrobat.frontend.specials import Method, SharedFactory
from backends.acrobat.frontend.syntax_nodes import Place, every_node, place_of
from backends.acrobat.frontend.types import UNKNOWN, container_of_shared, is_shared
from backends.acrobat.frontend.values import Dyn, Static, Value, is_empty
from backends.acrobat.library import results

KEEP_NO_ARGUMENTS = frozenset(
    {"torch", "F", "nn", "functional", "math", "itertools", "np", "numpy", "random", "functools", "operator"}
)
"""Names of modules whose functions keep none of their arguments."""


# ---- making


def _as_made(f: Frame, node: ast.expr, value: Value) -> Value:
    """The value of an expression that makes a list, set or dictionary: a shared one if an earlier attempt has found that it has
    to be."""
    if isinstance(node, ast.Call) and f.program.datatypes.has_shared:
        _refuse_kept_view(f, node)
    if kind(value) not in ("list", "set", "dict") or f.definition is None or not makes(node):
        return value
    if calls_own_function(f, node) if isinstance(node, ast.Call) else node in f.callees:
        return value  # a method of the source with such a name, or that an operator calls
    if f.namespace.get("__name__", "").startswith("backends.acrobat.library"):
        return value
    place = place_of(node)
    kept = f.makes_default[node] if node in f.makes_default else _kept_at(f, place)
    if kept is None:
        return value
    site: Site = (f.file, *place)
    f.program.datatypes.met.lists.in_attributes.setdefault(kept, set()).add(site)
    assert isinstance(value, Dyn) and isinstance(value.type, ListT)
    cls = f.program.datatypes.met.lists.shared_class(site, f.span, value.type)
    return value if cls is None else _shared(f, node, cls, value)


def _shared(f: Frame, node: ast.AST, cls: type, value: Value) -> Value:
    """A new shared list of a class, with the items of a list of the program."""
    t = DataT(f.program.datatypes.union_of_made(cls, (ITEMS,)))
    f.program.datatypes.has_field(cls, ITEMS)
    items = field_value(f, node, cls, ITEMS, value)
    return enter_object(f, cls, t, [items], "nothing")


MADE.append(_as_made)


def _beside_shared(f: Frame, value: Value, have: Any, wanted: Any) -> Value | None:
    """Note an empty list, as in `rows.get(key, [])`, that stands where shared lists do."""
    if is_shared(wanted) and isinstance(have, ListT) and is_empty(value) and have.container == container_of_shared(wanted):
        assert isinstance(value, Dyn)
        (cls,) = f.program.datatypes.cases[wanted.name]
        f.program.datatypes.met.lists.note_beside_shared(value.atom.span, have, cls)
    return None


COERCIONS.append(_beside_shared)


def _kept_at(f: Frame, place: Place) -> str | None:
    """The entry of `_kept_places` for a place of the function that is compiled, or of the one that is compiled in place in it;
    None if nothing keeps the value."""
    written = None if f.definition is None else _kept_places(f.definition).get(place)
    if written is None and f.function is not None:
        return _kept_places(source_of(stripped(f.function))[0]).get(place)
    return written


@lru_cache(1 << 10)
def _kept_places(definition: ast.FunctionDef) -> dict[Place, str]:
    """The places of expressions whose values something may keep a reference to, rather than only read their contents; with the
    attribute that keeps each, "" if none does."""
    return {place_of(x): _attribute(node) for node in every_node(definition) for x in _kept_by(node) if hasattr(x, "lineno")}


def _attribute(node: ast.AST) -> str:
    """The attribute to which a statement assigns; "" for others."""
    match node:
        case ast.Assign([ast.Attribute(attr=name)]) | ast.AnnAssign(target=ast.Attribute(attr=name)):
            return name
    return ""


def _kept_by(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Assign(value=value) | ast.NamedExpr(value=value) | ast.Lambda(body=value):
            return [value]
        case ast.AnnAssign(value=ast.expr() as value) | ast.Return(value=ast.expr() as value):
            return [value]
        case ast.Yield(value=ast.expr() as value):
            return [value]
        case ast.List(items) | ast.Tuple(items) | ast.Set(items) | ast.Dict(values=items) | ast.BoolOp(values=items):
            return items
        case ast.IfExp(_, one, other):
            return [one, other]
        case ast.ListComp(item) | ast.SetComp(item) | ast.GeneratorExp(item) | ast.DictComp(value=item):
            return [item]
        case ast.Call(function, args, keywords) if not _keeps_nothing(function):
            return [*args, *(k.value for k in keywords)]
    return []


def _keeps_nothing(function: ast.expr) -> bool:
    """Whether a function, as its name tells, keeps none of its arguments."""
    match function:
        case ast.Name(name):
            return hasattr(builtins, name)
        case ast.Attribute(ast.Constant()):  # `", ".join(...)`
            return True
        case ast.Attribute():
            return root_of(function) in KEEP_NO_ARGUMENTS
    return False


def shared_factory(f: Frame, node: ast.AST, what: str) -> SharedFactory | None:
    """The factory of shared lists of a `defaultdict(list)`, or with `what` another class; None where it gives plain ones."""
    if not isinstance(node, ast.Call) or what not in ("list", "set", "dict"):
        return None
    cls = f.program.datatypes.met.lists.shared_class((f.file, *place_of(node.args[0])), f.span, EMPTY.get(what, ListT(UNKNOWN)))
    return None if cls is None else SharedFactory(cls, what)


@handles(CALLS, SharedFactory)
def _made_by_factory(f: Frame, node: ast.AST, factory: SharedFactory, args: object, kwargs: object, hint: str) -> Value:
    return _shared(f, node, factory.cls, f.empty(EMPTY.get(factory.what, ListT(UNKNOWN))))


def _refuse_kept_view(f: Frame, node: ast.Call) -> None:
    """Raises Refused where something keeps a view of a shared dictionary, or an iterator over a shared list: Python's show what
    is changed later."""
    match node:
        case ast.Call(ast.Attribute(owner, "keys" | "values" | "items"), []):
            what = "a view"
        case ast.Call(ast.Name("zip" | "enumerate" | "map" | "filter" | "reversed" | "iter") as owner):
            what = "an iterator"
        case _:
            return
    if _kept_at(f, place_of(node)) is None:
        return
    if what == "an iterator":
        refuse_kept_iterator(f, node)
        return
    with f.trial():
        value = f.borrowed(owner)
    if shared_inside(f, type_or_none(value)):
        raise Refused(f"a view of `{ast.unparse(owner)}`, which has several names, is kept", "write `list(...)` around it")


# ---- reading


def items_of(f: Frame, node: ast.AST, value: Dyn) -> Value:
    """What is in a shared list now; of a list of shared ones, the list of what is in each."""
    if is_shared(value.type):
        result = read_attribute(f, node, value, ITEMS)
        assert result is not None
        return result
    return mapped(f, [value], lambda x: opened(f, node, x))


SHARED_READ.append(items_of)


@handles(ATTRIBUTES, "shared")
def _method(f: Frame, node: ast.AST, value: Dyn, name: str) -> Value:
    return Method(items_of(f, node, value), name)


@handles(TRUTHS, "shared")
def _truth(f: Frame, value: Dyn, node: ast.AST) -> Value | None:
    return condition(f, items_of(f, node, value), node)


@handles(TEXTS, "shared")
def _no_text(f: Frame, value: Dyn, name: str) -> Value | None:
    return None


def without_sharing(f: Frame, node: ast.AST, value: Value) -> Value:
    """A shared list as the list of what is in it now; other values unchanged."""
    return items_of(f, node, value) if isinstance(value, Dyn) and is_shared(value.type) else value


def kind_inside(f: Frame, value: Value) -> str:
    """ "list", "set" or "dict" for a shared one, which may be None, else ""."""
    t = f.without_none(type_or_none(value))
    return container_of_shared(t) if is_shared(t) else ""


# ---- results


def _as_result(f: Frame, value: Value) -> Value | None:
    """The lists of the program that stand for shared lists in a result, with their items when `forward` ends."""
    t = type_or_none(value)
    if holds_itself(f, t):
        return None
    if is_shared(t):
        items = items_of(f, ast.Pass(), value)  # type: ignore[arg-type]
        if f.function is not results.given_out:
            return as_result(f, items)
        steps = f.env["steps"]
        f.env["steps"] = f.host("sub", [steps, Static(1)], INT, "steps")
        result = as_result(f, items)
        f.env["steps"] = steps
        return result
    if is_shared(f.without_none(t)):
        return open_optional(f, ast.Pass(), value, lambda some: as_result(f, some), lambda: Static(None))  # type: ignore[arg-type]
    return None


RESULTS.append(_as_result)


def refuse_kept_iterator(f: Frame, source: ast.expr) -> None:
    """Raises Refused where an iterator gets a name that runs over a shared list: Python's would notice later changes of it."""
    if not f.program.datatypes.has_shared:
        return
    for x in every_node(source):
        if isinstance(x, (ast.Name, ast.Attribute)) and isinstance(x.ctx, ast.Load):
            with f.trial():
                value = f.borrowed(x)
            if shared_inside(f, type_or_none(value)):
                raise Refused(
                    f"an iterator over `{ast.unparse(x)}` gets a name, and that list has several", "write `list(...)` around it"
                )
