"""Changes in place of lists: methods such as `append`, items and slices."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from types import FunctionType
from typing import Any

from backends.acrobat.core.types import BOOL, INT, LIST, ListT, TupleT
from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.described import describe, plural
from backends.acrobat.frontend.evaluator.changes.indices import found_before, from_end, in_source_order
from backends.acrobat.frontend.evaluator.changes.mutation import place
from backends.acrobat.frontend.evaluator.changes.putting import ChangedPlace, give
from backends.acrobat.frontend.evaluator.choices.choice import choose
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.containers.containers import kind_of, only_element
from backends.acrobat.frontend.evaluator.frame.claims import deep
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.several_shapes import as_list_of_tensors, differ_in_shape, is_listed_tensors
from backends.acrobat.frontend.evaluator.lists.growing import grown
from backends.acrobat.frontend.evaluator.lists.lengths import length
from backends.acrobat.frontend.evaluator.lists.lists import as_list, list_of, with_item
from backends.acrobat.frontend.evaluator.lists.mapping import head
from backends.acrobat.frontend.evaluator.lists.sequences_met import note_written
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.ownership.fresh import fresh_inside
from backends.acrobat.frontend.evaluator.ownership.ownership import (
    changeable,
    classes_of_type,
    elements_of,
    is_handed_over,
    seen_inside,
)
from backends.acrobat.frontend.evaluator.scalars.operators import binary
from backends.acrobat.frontend.evaluator.syntax.hidden_names import is_hidden
from backends.acrobat.frontend.evaluator.tables import CHANGE_FIRST, INDICES, ITEMS_PUT, WRITTEN, handles
from backends.acrobat.frontend.kinds import (
    is_array,
    is_list,
    is_unknown,
    kind,
    known,
    nothing_known,
    retyped,
    type_inside,
    type_of,
    type_or_none,
    variable_of,
)
from backends.acrobat.frontend.types import Mismatch, contains_unknown
from backends.acrobat.frontend.values import END, Dyn, ListedV, Static, TupleV, Value, guess, unknown
from backends.acrobat.ir import nodes as n
from backends.acrobat.library import iteration

CHANGE_FIRST.add(next)


def method(f: Frame, s: ast.stmt, owner: ast.expr, name: str, args: Sequence[ast.expr]) -> None:
    """Compile a method call that stands as a statement and changes a list: `xs.append(x)` and the like."""
    owner = in_source_order(f, owner)
    owned = set(f.owned)
    # first, as they may change the list, or make others refer to it
    given = elements_of if name in ("extend", "extendleft") else Frame.expression
    owner, values = found_before(f, owner, args, lambda: [given(f, a) for a in args])
    place_and_value = place(f, s, owner, name, "+" if name in ("append", "extend") else "")
    if place_and_value is None:
        return
    who, xs = place_and_value
    if name != "append" or all(map(is_array, values)):
        xs = as_list_of_tensors(f, xs)
    if name in ("append", "appendleft", "insert") and not isinstance(xs, TupleV):
        values = [f.staged(v) for v in values]
    for v, a in zip(values, args, strict=True):
        t = type_inside(v)
        put_in = t.item if name in ("extend", "extendleft") and isinstance(t, ListT) and is_list(v) else t
        new = deep(variable_of(v)) in f.new_lists or is_handed_over(f, s, a, owned)
        if changeable(f, put_in) and not new and not fresh_inside(f, a):
            seen_inside(f, owner, put_in)
    if name == "append" and len(values) == 1 and isinstance(t := type_or_none(xs), TupleT) and t.listed:
        give(f, who, ListedV((*(f.components(xs) or []), values[0])))
        return
    if any(map(nothing_known, values)):
        return
    match name, values:
        case "append", [item]:
            _append(f, s, owner, who, xs, item)
        case "appendleft", [item]:
            xs = _with_room(f, xs, type_of(item))
            give(f, who, xs if is_unknown(xs) else binary(f, s, ast.Add(), list_of(f, s, [item]), xs))
        case "extendleft", [more]:
            turned = as_list(f, s, iterable(f, more))
            turned = turned if is_unknown(turned) else f.host("list.reverse", [turned], type_of(turned), "reversed")
            give(f, who, binary(f, s, ast.Add(), turned, xs))
        case "extend", [more]:
            give(f, who, binary(f, s, ast.Add(), xs, as_list(f, s, iterable(f, more))))
        case "insert", [_, item] if is_unknown(whole := _with_room(f, xs, type_of(item))):
            give(f, who, whole)
        case "insert", [at, item]:
            xs, at = _with_room(f, xs, type_of(item)), opened(f, args[0], at, types=("int", "bool"))
            at = f.host("max", [from_end(f, xs, at), Static(0)], INT, "index")  # what is before the start goes there
            left, right = part(f, xs, Static(0), at), part(f, xs, at, Static(END))
            one = list_of(f, s, [item])
            give(f, who, binary(f, s, ast.Add(), binary(f, s, ast.Add(), left, one), right))
        case "reverse", []:
            give(f, who, f.host("list.reverse", [xs], type_of(xs), "reversed"))
        case "rotate", steps if len(steps) < 2:
            at = steps[0] if steps else Static(1)
            give(f, who, xs if is_unknown(xs) else f.call_with(iteration.rotated, [xs, at], s))
        case "clear", []:
            give(f, who, xs if is_unknown(xs) else part(f, xs, Static(0), Static(0)))
        case _:
            f.problem(s, f"`{name}` of a list is not in the language like this", "build a new list")


def part(f: Frame, xs: Value, start: Value, stop: Value) -> Dyn:
    """`xs[start:stop]`, with bounds that are not negative."""
    return f.host("list.slice", [xs, start, stop], type_of(xs))


def pop(f: Frame, node: ast.Call, owner: ast.expr, at: Value) -> Value:
    """`xs.pop()` and `xs.pop(i)`: the item; the name stands for the rest of the list from here on."""
    place_and_value = place(f, node, owner, "pop", "-" if at == Static(-1) else "")
    if place_and_value is None:
        return unknown()
    name, xs = place_and_value
    xs = as_list_of_tensors(f, xs)
    t = type_of(xs)
    if is_unknown(xs) or is_unknown(at) or not isinstance(t, ListT):
        return unknown()
    at = opened(f, node.args[0], at) if node.args else at
    known_items, index = list(f.displays.get(variable_of(xs), ())), known(at)[1]
    item: Value = f.host("list.get", [xs, at], t.item, "popped")
    at = from_end(f, xs, at)
    after = f.host("add", [at, Static(1)], INT, "after")
    rest = binary(f, node, ast.Add(), part(f, xs, Static(0), at), part(f, xs, after, Static(END)))
    if isinstance(index, int) and -len(known_items) <= index < len(known_items):
        item = known_items.pop(index)  # which may be of a fixed shape where the items of the list have extents that vary
        f.displays[variable_of(rest)] = tuple(known_items)
    give(f, name, rest)
    if deep(root_of(owner) or "") in f.owned:  # nothing but the list referred to the item, and now the list does not either
        f.new_lists |= {variable_of(item), deep(variable_of(item))}
    return item


def _with_room(f: Frame, xs: Value, item: Any) -> Any:
    """A list whose element type is not known yet, as one with elements of the type `item`; other lists unchanged."""
    if not is_unknown(xs) or not is_list(xs):
        return xs
    t = grown(f, xs, item)
    return f.not_yet(t) if contains_unknown(t) else f.coerce(xs, t)


def _append(f: Frame, s: ast.stmt, owner: ast.expr, name: ChangedPlace, xs: Value, item: Value) -> None:
    """`xs.append(item)`, of a list that belongs to `name` alone."""
    t = type_or_none(xs)
    if not isinstance(t, ListT):
        f.problem(s, f"`append` is for lists, not {describe(t)}")
        return
    written_out = f.display(xs) if is_hidden(root_of(owner) or "") else None  # a comprehension over what is written out
    try:
        with f.program.datatypes.met.in_display() if written_out else nullcontext():
            joined = grown(f, xs, type_of(item))
    except Mismatch:
        known_items = written_out or f.displays.get(variable_of(xs), ())
        if written_out or known_items and differ_in_shape([type_of(v) for v in (*known_items, item)]):
            give(f, name, note_written(f, None, ListedV((*known_items, item))))
            return
        what = f"`{ast.unparse(owner)}` holds {plural(t.item)}, this appends {describe(type_of(item))}"
        f.problem(s, what, "a list has elements of one type")
        return
    if contains_unknown(joined):
        give(f, name, f.not_yet(joined))
        return
    display = () if t == ListT(unknown().type) else f.display(xs)
    result = f.host("list.append", [f.coerce(xs, joined), f.coerce(item, joined.item)], joined, root_of(owner) or "list")
    if display is not None and isinstance(result.atom, n.Var):
        f.displays[result.atom.name] = (*display, item)
    give(f, name, result)


def _put_slice(f: Frame, s: ast.AST, name: str | ChangedPlace, xs: Dyn, bounds: ast.Slice, value: Value) -> None:
    """`xs[start:stop] = values`."""
    if bounds.step is not None:
        f.problem(s, "a slice with a step is not assigned to in the language", "write a loop")
        return
    more = as_list(f, s, iterable(f, value))
    if nothing_known(more):
        return
    if is_unknown(xs) and is_list(more):
        xs = _with_room(f, xs, type_of(more).item)
    if is_unknown(xs):
        give(f, name, xs)
        return
    start, stop = (f.expression(e) if e is not None else Static(None) for e in (bounds.lower, bounds.upper))
    size = f.host("list.len", [xs], INT, "size")
    ends = f.call_with(iteration.bounds, [size, start, stop, Static(1)], s)
    parts = f.components(ends, 2)
    if parts is None:
        return
    first, last = parts
    last = f.host("max", [first, last], INT, "stop")
    whole = binary(f, s, ast.Add(), part(f, xs, Static(0), first), more)
    give(f, name, binary(f, s, ast.Add(), whole, part(f, xs, last, Static(END))))


@handles(ITEMS_PUT, TupleV, "tuple")
def _put_into_written(
    f: Frame, s: ast.AST, name: str | ChangedPlace, xs: Value, entries: Sequence[ast.expr], value: Value
) -> None:
    """`xs[i] = value` of a written list of tensors of several shapes."""
    items, t = f.components(xs) or [], type_or_none(xs)
    index = known(f.borrowed(entries[0]))[1] if len(entries) == 1 and not isinstance(entries[0], ast.Slice) else None
    if is_listed_tensors(t) and isinstance(index, int) and -len(items) <= index < len(items):
        items[index] = value
        if differ_in_shape([type_or_none(v) for v in items]):
            give(f, name, ListedV(tuple(items)))
            return
    whole = as_list_of_tensors(f, xs)
    if not isinstance(whole, Dyn) or not is_list(whole):
        f.problem(s, f"an item of {describe(type_or_none(xs))} cannot be assigned to")
        return
    _put_item(f, s, name, whole, entries, value)


@handles(ITEMS_PUT, "list")
def _put_item(f: Frame, s: ast.AST, name: str | ChangedPlace, xs: Dyn, entries: Sequence[ast.expr], value: Value) -> None:
    if len(entries) != 1:
        f.problem(s, "an item of an item is not changed in place in the language", "build a new list")
        return
    if isinstance(entries[0], ast.Slice):
        _put_slice(f, s, name, xs, entries[0], value)
        return
    i = opened(f, entries[0], f.borrowed(entries[0]), types=("int", "bool"))
    i = INDICES[kind(i)](f, i) if kind(i) in INDICES else i
    t = type_of(xs)
    if is_unknown(xs) and isinstance(t, ListT):  # what is put in tells the type of the items
        give(f, name, f.coerce(xs, ListT(f.common([t.item, type_of(value)]))))
        return
    if is_unknown(i) or is_unknown(xs):
        return
    if type_of(i) not in (INT, BOOL):
        f.problem(entries[0], f"the index of a list is an int, not {describe(type_of(i))}")
        return
    if not nothing_known(value):  # None may be there first, or come now
        both = [t.item, type_of(value)]
        t = ListT(f.common(both, numbers=all(is_array(guess(x)) for x in both)))
        xs = f.coerce(xs, t)  # type: ignore[assignment]
    items, index = list(f.displays.get(variable_of(xs), ())), known(i)[1]
    item = f.coerce(value, t.item)
    f.host("list.get", [xs, i], t.item, "before")  # an index outside is an error of the instance
    after = with_item(f, xs, from_end(f, xs, i), item)
    if isinstance(index, int) and -len(items) <= index < len(items):
        items[index] = value
        f.displays[variable_of(after)] = tuple(items)
    give(f, name, after)


# ---- iterators


def _of_set(f: Frame, node: ast.Call, walked: ast.expr, default: Sequence[ast.expr]) -> Value | None:
    """The element of the set `walked`; None for what is no set."""
    with f.trial():
        if kind_of(opened(f, walked, f.borrowed(walked))) != "set":
            return None
    whole: Any = opened(f, walked, f.borrowed(walked))
    return only_element(f, node, whole, f.expression(default[0]) if default else None)


def _steps_itself(f: Frame, node: ast.expr) -> bool:
    """Whether the value of an expression is an object whose class has a method `__next__`."""
    with f.trial():
        classes = classes_of_type(f, type_or_none(f.borrowed(node)))
    return bool(classes) and all(isinstance(getattr(c, "__next__", None), FunctionType) for c in classes)


@handles(WRITTEN, next)
def _next(f: Frame, node: ast.Call, function: Any) -> Value | None:
    """`next(words)` and `next(words, default)` of an iterator that has a name or is a part of something that has one, and
    `next(iter(s))` of a set; and `next(x)` of an object whose class has a method for it."""
    if len(node.args) == 1 and not node.keywords and _steps_itself(f, node.args[0]):
        method = ast.copy_location(ast.Attribute(node.args[0], "__next__", ast.Load()), node)
        return f.expression(ast.copy_location(ast.Call(method, [], []), node))
    match node:
        case ast.Call(args=[ast.Call(ast.Name("iter"), [walked], []), *more], keywords=[]) if f.is_builtin("iter"):
            return _of_set(f, node, walked, more)
    if node.keywords or not 1 <= len(node.args) <= 2 or not isinstance(node.args[0], (ast.Name, ast.Attribute, ast.Subscript)):
        return None
    with f.trial():
        whole = f.borrowed(node.args[0])
    if kind(whole) != "iterator":
        return None
    default = f.expression(node.args[1]) if len(node.args) == 2 else None
    place_and_value = place(f, node, node.args[0], "next")
    if place_and_value is None or is_unknown(place_and_value[1]):
        return unknown()
    who, rest = place_and_value
    t = type_of(rest)
    items: Any = retyped(rest, replace(t, kind=LIST))  # type: ignore[arg-type]
    if default is None:
        others, first = head(f, items)
    else:
        there = f.host("gt", [length(f, items), Static(0)], BOOL)
        first = choose(f, node, there, lambda: f.host("list.get", [items, Static(0)], t.item, "first"), lambda: default)
        others = f.host("list.slice", [items, Static(1), Static(END)], ListT(t.item), "others")
    assert isinstance(others, Dyn)
    give(f, who, retyped(others, t))
    return first
