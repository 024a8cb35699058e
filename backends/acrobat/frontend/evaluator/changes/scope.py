"""Binding values to the targets of assignments, and which names alone refer to their list or object afterwards."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import FunctionType

from backends.acrobat.core.types import INT, ScalarT, TupleT
from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.callables import nested
from backends.acrobat.frontend.evaluator.changes import state
from backends.acrobat.frontend.evaluator.changes.indices import in_source_order
from backends.acrobat.frontend.evaluator.changes.mutation import place, put_item
from backends.acrobat.frontend.evaluator.changes.putting import put_attribute
from backends.acrobat.frontend.evaluator.choices.mixed import SEQUENCES
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.containers import containers
from backends.acrobat.frontend.evaluator.frame.claims import Claims, claims, deep, each_claim, spine
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lists import list_of
from backends.acrobat.frontend.evaluator.lists.named_iterators import holds_iterator
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.objects.classes import item_setter_of, setter_of
from backends.acrobat.frontend.evaluator.ownership.fresh import (
    calls_own_function,
    fresh,
    fresh_inside,
    gives_new_memory,
    lists_alone,
)
from backends.acrobat.frontend.evaluator.ownership.ownership import classes_of_type, holds_parts, is_handed_over, is_unchanged
from backends.acrobat.frontend.evaluator.syntax.bodies import assigned, passed_to_calls
from backends.acrobat.frontend.evaluator.syntax.order import Moved, path_of
from backends.acrobat.frontend.evaluator.syntax.reading import is_last_use, live_after
from backends.acrobat.frontend.evaluator.tables import FIELDS_WRITTEN, OWNERS
from backends.acrobat.frontend.kinds import (
    is_array,
    is_container,
    is_held_tensor,
    is_iterator,
    is_list,
    is_never,
    is_number,
    is_object,
    kind,
    nothing_known,
    type_of,
    type_or_none,
    untupled,
    variable_of,
)
from backends.acrobat.frontend.source import span_of
from backends.acrobat.frontend.specials import AttributesByName, Endless
from backends.acrobat.frontend.syntax_nodes import every_node, names_in
from backends.acrobat.frontend.tensor_types import innermost
from backends.acrobat.frontend.types import Mismatch
from backends.acrobat.frontend.values import END, HELD, Static, Value, is_empty, unknown

ENDLESS = (
    "an iterator without an end has a name here if it is `itertools.count` and its function uses it by `next(...)` alone, "
    "where that is always computed: write an int"
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


def own(f: Frame, target: ast.expr, source: ast.expr) -> None:
    """Update `Frame.owned` after `target = source`: a name that was given a new list, object or tensor alone refers to it."""
    match source:
        case ast.Call(ast.Attribute(seen, "items" | "keys" | "values"), []) if not is_object(f.env.get(root_of(seen) or "")):
            f.owned -= claims(root_of(seen) or "")  # a name for what is in a dictionary shows what is put into it later
    match target, source:
        case ast.Tuple(targets), ast.Tuple(sources) if len(targets) == len(sources):
            for t, s in zip(targets, sources, strict=True):
                own(f, t, s)
        case ast.Tuple(targets) | ast.List(targets), ast.Call() if len(parts := f.new_parts.get(source, ())) == len(targets):
            names = names_in(target)
            for t, new in zip(targets, parts, strict=True):
                if isinstance(t, ast.Name) and new.whole and names.count(t.id) == 1:
                    f.owned |= {t.id} if holds_parts(f, f.env.get(t.id)) and not new.inside else claims(t.id)
        case ast.Name(name), _ if name in f.env and is_number(
            f.env[name]
        ):  # as a tensor in its place, it will be one of its own
            f.owned.add(name)
        case ast.Name(name), _ if fresh(f, source, f.env.get(name)):
            f.owned.add(name)
            owner_variable = variable_of(f.env.get(name))
            if (
                not holds_parts(f, f.env.get(name))
                or is_empty(f.env[name])
                or deep(owner_variable) in f.new_lists
                or fresh_inside(f, source, type_or_none(f.env[name]))
            ):
                f.owned |= {deep(name), spine(name)}
            elif source in f.made_with_own_lists or not is_object(f.env[name]) and lists_alone(f, source, f.env[name]):
                f.owned.add(spine(name))
        case ast.Attribute(), _ if variable := state.variable_assigned(f, target):
            own(f, ast.Name(variable, ast.Store()), source)
        case ast.Attribute() | ast.Subscript(), _:
            root = root_of(target) or ""
            if root in f.owned and not fresh_inside(f, source) and not _put_unchanged(f, target):
                f.owned.discard(deep(root))
                if spine(root) in f.owned and not _lets_lists_alone(f, source):
                    f.owned.discard(spine(root))
        case ast.Name(name), ast.Call() if (new := variable_of(f.env.get(name))) in f.new_lists:
            f.owned |= claims(name) if deep(new) in f.new_lists else {name}
        case ast.Name(name), ast.Call(ast.Attribute(ast.Call() as made, method)) if (
            method.endswith("_") and not method.endswith("__") and _is_memory(f.env.get(name))
        ):  # such as `torch.empty(3).fill_(1)`, which gives the tensor that it has changed
            own(f, target, made)
        case ast.Name(name), ast.Call(ast.Attribute(attr=callee) | ast.Name(callee)) if callee in OWNERS:
            if _is_memory(f.env.get(name)) and not calls_own_function(f, source):
                f.owned.add(name)
        case _, ast.Call() if gives_new_memory(f, source):
            targets = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
            f.owned |= {x.id for x in targets if isinstance(x, ast.Name) and _is_memory(f.env.get(x.id))}
        case ast.Name(name), ast.Subscript() | ast.Attribute() if is_array(f.env.get(name)) and gives_new_memory(f, source):
            f.owned.add(name)
        case ast.Name(name), ast.Call() | ast.Subscript() if _may_be_view(f.env.get(name)):
            f.owned -= {x.id for x in every_node(source) if isinstance(x, ast.Name) and is_held_tensor(f.env.get(x.id))}


def _may_be_view(value: Value | None) -> bool:
    """Whether a value may show the memory of a mask or of a tensor of ints."""
    return is_held_tensor(value) or is_array(value) and isinstance(innermost(type_or_none(value)), ScalarT)  # type: ignore[arg-type]


def _is_memory(value: Value | None) -> bool:
    """Whether a value is a tensor, in whatever form the program has it."""
    return is_array(value) or is_held_tensor(value)


def _put_unchanged(f: Frame, target: ast.expr) -> bool:
    """Whether a target is an attribute of an object through which the program changes nothing."""
    if not isinstance(target, ast.Attribute):
        return False
    with f.trial():
        whole = f.borrowed(target.value)
    return is_unchanged(f, type_or_none(whole), target.attr)


def hand_over(f: Frame, s: ast.Assign, owned: Claims, shown: str | None) -> None:
    """Update `Frame.owned` after `target = name`, where nothing reads `name` any more: the target has what the name had.

    `owned` is `Frame.owned` from before the statement, and `shown` the name of a tensor of which it assigns a view."""
    match s.targets:
        case [ast.Name(new)] if shown is not None and shown in owned and names_in(s.value).count(shown) == 1:
            if new == shown or is_last_use(f.definition, s, shown):
                f.owned.add(new)
    match s:
        case ast.Assign([ast.Tuple(targets)], ast.Tuple(sources)) if len(targets) == len(sources):
            pairs = list(zip(targets, sources, strict=True))
        case ast.Assign([target]):
            pairs = [(target, s.value)]
        case _:
            return
    names = names_in(s.value)
    for target, source in pairs:
        new = target.id if isinstance(target, ast.Name) else state.variable_assigned(f, target)
        if new and isinstance(source, ast.Name) and source.id in owned and names.count(source.id) == 1:
            if is_last_use(f.definition, s, source.id):
                f.owned |= {one for one, other in zip(each_claim(new), each_claim(source.id), strict=True) if other in owned}
        elif isinstance(target, (ast.Attribute, ast.Subscript)) and is_handed_over(f, s, source, owned):
            f.owned |= claims(root_of(target) or "") & owned


def _lets_lists_alone(f: Frame, source: ast.expr) -> bool:
    """Whether the value of an expression can become a part of another one without any list in it being seen elsewhere."""
    with f.trial():
        return lists_alone(f, source, f.expression(source))


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
