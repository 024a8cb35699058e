"""Binding values to the targets of assignments, and which names a body may give other values."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import FunctionType

from backends.acrobat.core.types import INT, TupleT
from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.callables import nested
from backends.acrobat.frontend.evaluator.changes import state
from backends.acrobat.frontend.evaluator.changes.assigned_items import put_item
from backends.acrobat.frontend.evaluator.changes.indices import in_source_order
from backends.acrobat.frontend.evaluator.changes.mutation import place
from backends.acrobat.frontend.evaluator.changes.putting import put_attribute
from backends.acrobat.frontend.evaluator.choices.mixed import SEQUENCES
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.containers import containers
from backends.acrobat.frontend.evaluator.frame.claims import deep
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lists import list_of
from backends.acrobat.frontend.evaluator.lists.named_iterators import holds_iterator
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.objects.classes import item_setter_of, setter_of
from backends.acrobat.frontend.evaluator.ownership.ownership import classes_of_type
from backends.acrobat.frontend.evaluator.syntax.bodies import assigned, passed_to_calls
from backends.acrobat.frontend.evaluator.syntax.order import Moved, path_of
from backends.acrobat.frontend.evaluator.syntax.reading import live_after
from backends.acrobat.frontend.evaluator.tables import FIELDS_WRITTEN, ITERATION
from backends.acrobat.frontend.kinds import (
    is_container,
    is_iterator,
    is_list,
    is_never,
    is_object,
    is_unknown,
    kind,
    nothing_known,
    type_of,
    type_or_none,
    untupled,
)
from backends.acrobat.frontend.source import span_of
from backends.acrobat.frontend.specials import AttributesByName, Endless, OneOf
from backends.acrobat.frontend.syntax_nodes import every_node
from backends.acrobat.frontend.types import Mismatch
from backends.acrobat.frontend.values import END, HELD, Dyn, Special, Static, Value, unknown

ENDLESS = (
    "an iterator without an end has a name here if it is `itertools.count`, or a generator with one `yield` in a `while True`, "
    "and its function uses it by `next(...)` alone, where that is always computed: write an int, or a loop"
)


def assign(f: Frame, target: ast.expr, value: Value) -> None:
    """Bind `value` to a target: a name, an item, an attribute, or a tuple or list of targets. Raises Mismatch."""
    if isinstance(target, ast.Attribute):
        f.moves.append(Moved(path_of(target), "="))
    match target:
        case ast.Name(name):
            if is_iterator(value) or holds_iterator(value):
                raise Mismatch(ENDLESS if isinstance(getattr(value, "value", None), Endless) else HELD["iterator"])
            if isinstance(value, AttributesByName):
                raise Mismatch(value.refusal)
            f.rebind(name, value)
        case ast.Tuple(elts) | ast.List(elts):
            if is_iterator(value):
                value = value.value
            value = opened(f, target, value, types=SEQUENCES)
            if any(isinstance(e, ast.Starred) for e in elts):
                _starred(f, target, elts, value)
                return
            if is_never(value):  # what has no components has no others either: this is never reached
                parts: list[Value] | None = [value] * len(elts)
            elif nothing_known(value) and not isinstance(type_or_none(value), TupleT):
                parts = [unknown()] * len(elts)
            else:
                parted = kind(value) in ("tensor", "ragged", "dict", "set") or getattr(value, "unrolled", False)
                parted = parted or isinstance(value, Special) and not isinstance(value, OneOf) and kind(value) in ITERATION
                if kind(value) == "set" and len(elts) == 1:  # one element has no order
                    whole: Value = containers.items_of(value)  # type: ignore[arg-type]
                else:
                    whole = iterable(f, value) if parted else f.static_list(value)
                parts = f.components(whole, len(elts))
            if parts is None:
                advice = "index the list" if is_list(value) else ""
                f.problem(target, f"this takes {len(elts)} values apart, but gets {describe(type_or_none(value))}", advice)
                parts = [unknown()] * len(elts)
            for e, v in zip(elts, parts, strict=True):
                assign(f, e, v)
        case ast.Subscript(owner, index) if (method := _method_of_classes(f, owner, item_setter_of)) is not None:
            f.expression(
                ast.copy_location(ast.Call(CompiledNode(Static(method)), [owner, index, CompiledNode(value)], []), target)
            )
        case ast.Subscript():
            put_item(f, target, target, value)
        case ast.Attribute(owner, name) if (ordered := in_source_order(f, owner)) is not owner:
            assign(f, ast.copy_location(ast.Attribute(ordered, name, ast.Store()), target), value)
        case ast.Attribute(owner, name) if (method := _method_of_classes(f, owner, lambda c: setter_of(c, name))) is not None:
            f.expression(ast.copy_location(ast.Call(CompiledNode(Static(method)), [owner, CompiledNode(value)], []), target))
        case ast.Attribute(owner, name) if stored(f, target, owner, name, value):
            pass
        case ast.Attribute(owner, name) if not _owns(f, owner) and _writes_field(f, target, owner, name, value):
            pass
        case ast.Attribute(owner, name):
            place_and_value = place(f, target, owner, "an assignment to an attribute")
            if place_and_value is not None:
                put_attribute(f, target, *place_and_value, name, value)
        case _:
            f.problem(target, "only names and items can be assigned to", "build a new value")


def _method_of_classes(f: Frame, owner: ast.expr, of_class: Callable[[type], FunctionType | None]) -> FunctionType | None:
    """The function of the source that `of_class` finds in all classes of an object or a module; None elsewhere."""
    with f.trial():
        value = f.borrowed(owner)
    model = getattr(value, "python_object", None)
    classes = classes_of_type(f, type_or_none(value)) if model is None else [type(model)]
    methods = set(map(of_class, classes))
    return methods.pop() if len(methods) == 1 else None


def _owns(f: Frame, owner: ast.expr) -> bool:
    """Whether nothing but the name at the root of a path refers to what the path leads to."""
    root = root_of(owner)
    return root in f.owned and (isinstance(owner, ast.Name) or deep(str(root)) in f.owned)


def _writes_field(f: Frame, node: ast.AST, owner: ast.expr, name: str, value: Value) -> bool:
    """Whether `owner.name = value` writes a field of an object of the instance, which then is done."""
    whole = f.borrowed(owner)
    return any(rule(f, node, whole, name, value) for rule in FIELDS_WRITTEN)


def stored(f: Frame, node: ast.AST, owner: ast.expr, name: str, value: Value | None = None) -> bool:
    """Whether `owner.name`, which is assigned to, is an attribute of the model. One that is also read gets the `value`; others
    are noted in `program.stored`. Without a `value` it is changed by `+=` or the like: that reads what was assigned before, and
    for one that is also read elsewhere this gives False, since it is read and assigned to as attributes of objects are."""
    program = f.program
    model = getattr(f.borrowed(owner), "python_object", None)
    if model is None or setter_of(type(model), name) is not None:
        return False
    if value is not None and state.assign(f, model, name, value):
        return True
    if value is None and program.carried.state_of(model, name):
        return False
    what = type(model), name
    program.stored.setdefault(what, span_of(node, f.file))
    if value is None and what in program.given_values:
        program.reads.attribute(model, name)
    elif value is not None and what not in program.given_values:
        program.given_values.add(what)
        program.changed = True
    return True


def _starred(f: Frame, target: ast.expr, elts: Sequence[ast.expr], value: Value) -> None:
    """Bind `a, *rest, b = value`, where `value` is a tuple or a list of the program."""
    at = next(i for i, e in enumerate(elts) if isinstance(e, ast.Starred))
    star, after = elts[at], len(elts) - at - 1
    assert isinstance(star, ast.Starred)
    value = untupled(value)
    if isinstance(value, Dyn) and kind(value) == "dict" and not is_unknown(value):
        value = iterable(f, value)  # its keys
    whole = f.static_list(value)
    parts = f.components(whole)
    if parts is not None:
        if len(parts) < len(elts) - 1:
            f.problem(target, f"this takes at least {len(elts) - 1} values apart, but gets {len(parts)}")
            return
        middle = parts[at : len(parts) - after]
        values = [*parts[:at], list_of(f, target, list(middle)), *parts[len(parts) - after :]]
    elif is_list(value) and not after:
        values = [f.host("list.get", [value, Static(i)], type_of(value).item, "element") for i in range(at)]
        values.append(f.host("list.slice", [value, Static(at), Static(END)], type_of(value), "rest"))
    elif is_list(value):
        size = f.host("list.len", [value], INT, "size")
        f.host("list.get", [value, Static(at + after - 1)], type_of(value).item, "element")  # a shorter list is an error
        values = [f.host("list.get", [value, Static(i)], type_of(value).item, "element") for i in range(at)]
        end = f.host("sub", [size, Static(after)], INT, "end")
        values.append(f.host("list.slice", [value, Static(at), end], type_of(value), "rest"))
        values += [
            f.host("list.get", [value, f.host("sub", [size, Static(i)], INT)], type_of(value).item, "element")
            for i in range(after, 0, -1)
        ]
    elif nothing_known(value):
        values = [unknown()] * len(elts)
    else:
        f.problem(target, "a star takes the rest of a tuple, or the end of a list")
        return
    for e, v in zip(elts, values, strict=True):
        assign(f, e.value if isinstance(e, ast.Starred) else e, v)
    if isinstance(star.value, ast.Name):
        f.owned.add(star.value.id)


def lives(f: Frame, s: ast.AST, name: str) -> bool:
    """Whether a name may be read after the statement `s` before another value is assigned to it."""
    return f.definition is not None and _lives_in(f.definition, s, name)


@lru_cache(1 << 14)  # each trial of a loop, and each round of compiling, asks the same again
def _lives_in(definition: ast.FunctionDef, s: ast.AST, name: str) -> bool:
    return live_after(definition.body, s, name)


def changed_in(f: Frame, nodes: Sequence[ast.AST]) -> list[str]:
    """The names that a body may assign, and the names of lists and objects that a call or a lookup in it may change."""
    names, inside_of_all = assigned(nodes), [x for node in nodes for x in every_node(node)]
    if f.program.datatypes.has_references or any(isinstance(x, (ast.Attribute, ast.Call)) for x in inside_of_all):
        names += f.program.carried.changed_here()
    for name in {x.id: None for x in inside_of_all if isinstance(x, ast.Name) and x.id in f.env}:
        for inside in nested.nested_inside(f.env[name]):
            names += [x for x in nested.changed_captures(f, inside) if x not in names]
    entered = [containers.entered_by_lookup(f, x) for x in inside_of_all]
    names += [x for x in dict.fromkeys(entered) if x is not None and x not in names]
    handed = [x for x in passed_to_calls(nodes) if x in f.owned and x not in names]
    return names + [x for x in handed if is_container(f.env.get(x, unknown())) or is_object(f.env.get(x))]
