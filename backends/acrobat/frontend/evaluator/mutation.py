"""Changes in place of lists that a function has made itself, and the rule for all changes in place.

The program is pure: a change binds the name to a new value. That is right where nothing else refers to the old value, which
`Frame.owned` says of a name; elsewhere the change is refused at its line.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from backends.acrobat.core.types import BOOL, INT, DataT, ListT, TensorT
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.given import Given
from backends.acrobat.frontend.evaluator.lists import as_list, iterable, list_of
from backends.acrobat.frontend.evaluator.operators import binary
from backends.acrobat.frontend.evaluator.ownership import changeable, fresh_inside, seen_inside
from backends.acrobat.frontend.evaluator.state import settle
from backends.acrobat.frontend.evaluator.syntax import HIDDEN, claims, deep, placed, root_of, spine
from backends.acrobat.frontend.evaluator.tables import ATTRIBUTES_PUT, ITEMS_PUT, PARTS_PUT, handles
from backends.acrobat.frontend.types import Mismatch, contains_unknown, describe, plural
from backends.acrobat.frontend.values import (
    END,
    Dyn,
    Static,
    TupleV,
    Value,
    empty,
    is_array,
    is_unknown,
    kind,
    known,
    nothing_known,
    retyped,
    type_of,
    type_or_none,
    unknown,
)
from backends.acrobat.ir import nodes as n
from backends.acrobat.library import iteration


@dataclass(frozen=True)
class ChangedPlace:
    """A place that is changed: a name, or an item or attribute of one. `put` gives it a new value."""

    put: Callable[[Value], None]


def place(f: Frame, s: ast.AST, node: ast.expr, what: str) -> tuple[ChangedPlace, Value] | None:
    """The place that `node` names, and its present value. None if something else may refer to that value, for which a problem
    is noted, or if the value is not known yet. `what` names the change in messages."""
    match node:
        case ast.Name(name):
            settle(f, node)
            if name not in f.env and name not in f.poisoned and name in f.namespace:
                what = f"`{what}` changes `{name}`, which is outside of the function and a constant of the compiled program"
                f.problem(s, what, "keep it in a variable, and give it to the functions that change it")
                return None
            value = f.env.get(name, unknown())
            if nothing_known(value):
                return None
            if not _alone(f, s, name, value, what):
                return None
            return ChangedPlace(lambda v: give(f, name, v)), value
        case ast.Subscript(owner, index) if not isinstance(index, (ast.Slice, ast.Tuple)):
            around = place(f, s, owner, what)
            if around is None:
                return None
            outer, whole = around
            if kind(whole) not in ("list", "dict", "object"):
                f.problem(s, f"`{what}` of a part of {describe(type_or_none(whole))} is not in the language")
                return None
            at = ast.copy_location(ast.Name(f"{HIDDEN}at{node.lineno}:{node.col_offset}", ast.Load()), index)
            if not isinstance(index, ast.Constant):
                f.env[at.id] = f.expression(index)
                index = at
            inner = f.expression(ast.copy_location(ast.Subscript(Given(whole), index, ast.Load()), node))
            if not _deep(f, s, node, what, kind(whole) in ("list", "dict") and kind(inner) in ("list", "dict")):
                return None
            if nothing_known(inner) or refuse_tensor(f, s, inner):
                return None
            return ChangedPlace(lambda v: put_into(f, s, outer, whole, [index], v)), inner
        case ast.Attribute(owner, attr):
            around = place(f, s, owner, what)
            if around is None:
                return None
            outer, whole = around
            inner = f.expression(ast.copy_location(ast.Attribute(Given(whole), attr, ast.Load()), node))
            if not _deep(f, s, node, what, isinstance(owner, ast.Name) and kind(inner) in ("list", "dict")):
                return None
            if nothing_known(inner) or refuse_tensor(f, s, inner):
                return None
            return ChangedPlace(lambda v: put_attribute(f, s, outer, whole, attr, v)), inner
    f.problem(s, f"`{what}` is for a list with a name of its own", "change a variable, and build the structure from it")
    return None


def _alone(f: Frame, s: ast.AST, name: str, value: Value, what: str) -> bool:
    """Whether `name` alone refers to its value; a problem is noted if not."""
    if name in f.owned:
        return True
    if getattr(value, "python_object", None) is not None:
        f.problem(s, "an attribute of the model is not assigned to in the language", "keep it in a variable, and return it")
        return False
    if not isinstance(type_or_none(value), (ListT, TensorT, DataT)):
        f.problem(s, f"`{what}` is for lists, not {describe(type_or_none(value))}")
    elif isinstance(type_or_none(value), DataT):
        advice = "make a new object with the new value"
        f.problem(s, f"`{what}` changes an object that may be seen under another name than {f.shown(name)}", advice)
    elif is_array(value):
        advice = "make a tensor of its own first, with `.clone()`"
        f.problem(s, f"`{what}` changes a tensor that may be seen under another name than {f.shown(name)}", advice)
    elif f.program.carried.is_state(name):
        advice = "assign a copy to the attribute first, with `list(...)`"
        f.problem(s, f"`{what}` changes a list that may be seen under another name than {f.shown(name)}", advice)
    else:
        advice = f"make a list of its own first: `{name} = list({name})`"
        f.problem(s, f"`{what}` changes a list that may be seen under another name than `{name}`", advice)
    return False


def _deep(f: Frame, s: ast.AST, node: ast.expr, what: str, of_list: bool = False) -> bool:
    """Whether nothing but the name at the root of `node` refers to parts of its value, or to the lists among them if the part
    is one `of_list`; a problem is noted if something may."""
    name = root_of(node)
    if name is not None and (deep(name) in f.owned or of_list and spine(name) in f.owned):
        return True
    f.problem(s, f"`{what}` changes a part of `{name}` that may be seen elsewhere", "build a new value, or make copies first")
    return False


def refuse_tensor(f: Frame, s: ast.AST, part: Value, advice: str = "put a new tensor in its place") -> bool:
    """Whether a part of a list or object that is to be changed is a tensor. Then a problem is noted: it may be seen under other
    names."""
    if is_array(part):
        f.problem(s, "this changes a tensor in place that may be seen under other names", advice)
    return is_array(part)


def give(f: Frame, name: str | ChangedPlace, value: Value) -> None:
    """Bind a changed name or place to its new value, to which it alone refers."""
    if isinstance(name, ChangedPlace):
        name.put(value)
        return
    kept = claims(name) & f.owned
    f.rebind(name, value)
    f.owned |= {name} | kept
    f.mutated.add(name)


def put_into(f: Frame, s: ast.AST, where: ChangedPlace, whole: Value, entries: Sequence[ast.expr], value: Value) -> None:
    """Compile `whole[entries] = value`, where `whole` is the present value of the place `where`."""
    handler = ITEMS_PUT.get(kind(whole))
    if handler is None:
        f.problem(s, f"an item of {describe(type_or_none(whole))} cannot be assigned to")
        return
    handler(f, s, where, whole, entries, value)


def put_attribute(f: Frame, s: ast.AST, where: ChangedPlace, whole: Value, name: str, value: Value) -> None:
    """Compile `whole.name = value`, where `whole` is the present value of the place `where`."""
    if nothing_known(whole):
        return
    handler = ATTRIBUTES_PUT.get(kind(whole))
    if handler is None:
        f.problem(s, "an attribute of this is not assigned to in the language", "make a new object with the new value")
        return
    handler(f, s, where, whole, name, value)


def method(f: Frame, s: ast.stmt, owner: ast.expr, name: str, args: Sequence[ast.expr]) -> None:
    """Compile a method call that stands as a statement and changes a list: `xs.append(x)` and the like."""
    if isinstance(owner, ast.IfExp):  # (a if test else b).append(x)
        arms = [
            ast.Expr(ast.Call(ast.Attribute(side, name, ast.Load()), list(args), [])) for side in (owner.body, owner.orelse)
        ]
        f.straight([placed(s, ast.If(owner.test, [arms[0]], [arms[1]]))])
        return
    values = [f.expression(a) for a in args]  # first, as they may change the list, or make others refer to it
    found = place(f, s, owner, name)
    if found is None:
        return
    who, xs = found
    for v, a in zip(values, args, strict=True):
        if changeable(f, type_or_none(v)) and not fresh_inside(f, a):
            seen_inside(f, owner, type_or_none(v))
    if name == "append" and len(values) == 1 and isinstance(xs, TupleV):
        give(f, who, TupleV((*xs.items, values[0])))
        return
    if any(map(nothing_known, values)):
        return
    match name, values:
        case "append", [item]:
            _append(f, s, owner, who, xs, item)
        case "appendleft", [item]:
            give(f, who, binary(f, s, ast.Add(), list_of(f, s, [item]), xs) if not is_unknown(xs) else list_of(f, s, [item]))
        case "extend", [more]:
            give(f, who, binary(f, s, ast.Add(), xs, as_list(f, s, iterable(f, more))))
        case "insert", [at, item]:
            at = f.host("max", [from_end(f, xs, at), Static(0)], INT, "index")  # what is before the start goes there
            left, right = part(f, xs, Static(0), at), part(f, xs, at, Static(END))
            one = list_of(f, s, [item])
            give(f, who, binary(f, s, ast.Add(), binary(f, s, ast.Add(), left, one), right))
        case "reverse", []:
            give(f, who, f.host("list.reverse", [xs], type_of(xs), "reversed"))
        case "clear", []:
            give(f, who, xs if is_unknown(xs) else part(f, xs, Static(0), Static(0)))
        case _:
            f.problem(s, f"`{name}` of a list is not in the language like this", "build a new list")


def part(f: Frame, xs: Value, start: Value, stop: Value) -> Dyn:
    return f.host("list.slice", [xs, start, stop], type_of(xs))


def from_end(f: Frame, xs: Value, i: Value) -> Value:
    """The index `i` of a list, counted from the start: a negative one has the list's length added."""
    is_known, at = known(i)
    if is_known and at >= 0:
        return i
    size = f.host("list.len", [retyped(xs, ListT(type_of(xs).item))], INT, "size")  # type: ignore[arg-type]
    if is_known:
        return f.host("add", [size, i], INT, "index")
    negative = f.host("int", [f.host("lt", [i, Static(0)], BOOL)], INT)
    return f.host("add", [i, f.host("mul", [size, negative], INT)], INT, "index")


def pop(f: Frame, node: ast.Call, owner: ast.expr, at: Value) -> Value:
    """`xs.pop()` and `xs.pop(i)`: the item; the name stands for the rest of the list from here on."""
    found = place(f, node, owner, "pop")
    if found is None:
        return unknown()
    name, xs = found
    t = type_of(xs)
    if is_unknown(xs) or is_unknown(at) or not isinstance(t, ListT):
        return unknown()
    item = f.host("list.get", [xs, at], t.item, "popped")
    at = from_end(f, xs, at)
    after = f.host("add", [at, Static(1)], INT, "after")
    rest = binary(f, node, ast.Add(), part(f, xs, Static(0), at), part(f, xs, after, Static(END)))
    give(f, name, rest)
    return item


def _append(f: Frame, s: ast.stmt, owner: ast.expr, name: ChangedPlace, xs: Value, item: Value) -> None:
    """`xs.append(item)`, of a list that belongs to `name` alone."""
    t = type_or_none(xs)
    if not isinstance(t, ListT):
        f.problem(s, f"`append` is for lists, not {describe(t)}")
        return
    try:
        joined = ListT(f.common([t.item, type_of(item)]))
    except Mismatch:
        what = f"`{ast.unparse(owner)}` holds {plural(t.item)}, this appends {describe(type_of(item))}"
        shapes = isinstance(t.item, TensorT) and isinstance(type_of(item), TensorT)
        f.problem(s, what, "a list has elements of one type" + (": write the list in one, as in `[a, b]`" if shapes else ""))
        return
    if contains_unknown(joined):
        give(f, name, empty(joined, f.span))
        return
    display = () if t == ListT(unknown().type) else f.display(xs)
    result = f.host("list.append", [f.coerce(xs, joined), f.coerce(item, joined.item)], joined, root_of(owner) or "list")
    if display is not None and isinstance(result.atom, n.Var):
        f.displays[result.atom.name] = (*display, item)
    give(f, name, result)


# ---- items


def put_item(f: Frame, s: ast.AST, target: ast.Subscript, value: Value) -> None:
    """`xs[i] = value` of a list, `t[i, j] = value` of a tensor."""
    owner: ast.expr = target
    entries: list[ast.expr] = []
    while isinstance(owner, ast.Subscript):
        index = owner.slice
        entries = [*(index.elts if isinstance(index, ast.Tuple) else [index]), *entries]
        owner = owner.value
    if _of_tensor(f, owner):
        while len(entries) > 1 and _is_all(entries[-1]):  # `t[i, :] = value` is `t[i] = value`
            entries.pop()
    if len(entries) > 1 and isinstance(target.value, ast.Subscript) and not _of_tensor(f, owner):
        owner, entries = target.value, [target.slice]
    found = place(f, s, owner, "an assignment to an item")
    if found is None or nothing_known(value):
        return
    if owner is target.value and kind(found[1]) == "dict":
        entries = [target.slice]  # a tuple is one key
    put_into(f, s, *found, entries, value)


def _is_all(index: ast.expr) -> bool:
    """Whether an index is a `:` without bounds."""
    return isinstance(index, ast.Slice) and index.lower is None and index.upper is None and index.step is None


def _of_tensor(f: Frame, owner: ast.expr) -> bool:
    return isinstance(owner, ast.Name) and kind(f.env.get(owner.id, unknown())) in ("tensor", "ragged")


def _put_slice(f: Frame, s: ast.AST, name: str | ChangedPlace, xs: Dyn, bounds: ast.Slice, value: Value) -> None:
    """`xs[start:stop] = values`."""
    if bounds.step is not None:
        f.problem(s, "a slice with a step is not assigned to in the language", "write a loop")
        return
    more = as_list(f, s, iterable(f, value))
    if nothing_known(more) or is_unknown(xs):
        return
    start, stop = (f.expression(e) if e is not None else Static(None) for e in (bounds.lower, bounds.upper))
    size = f.host("list.len", [xs], INT, "size")
    ends = f.program.call(f, ast.copy_location(ast.Pass(), s), iteration.bounds, [size, start, stop, Static(1)], {})
    parts = f.components(ends, 2)
    if parts is None:
        return
    first, last = parts
    last = f.host("max", [first, last], INT, "stop")
    whole = binary(f, s, ast.Add(), part(f, xs, Static(0), first), more)
    give(f, name, binary(f, s, ast.Add(), whole, part(f, xs, last, Static(END))))


@handles(ITEMS_PUT, "list", "ragged")
def _put_item(f: Frame, s: ast.AST, name: str | ChangedPlace, xs: Dyn, entries: Sequence[ast.expr], value: Value) -> None:
    if kind(xs) == "ragged" and type_of(xs).rows != 0:
        f.problem(s, "a part along an extent that is fixed beside one that varies is not assigned to", "make a new tensor")
        return
    if len(entries) > 1 and kind(xs) == "ragged" and not isinstance(entries[0], ast.Slice):
        row = f.expression(ast.copy_location(ast.Subscript(Given(xs), entries[0], ast.Load()), s))
        changed: list[Value] = []
        if not nothing_known(row):
            put_into(f, s, ChangedPlace(changed.append), row, entries[1:], value)
        if not changed:
            return
        entries, value = entries[:1], changed[0]
    if len(entries) != 1:
        f.problem(s, "an item of an item is not changed in place in the language", "build a new list")
        return
    if isinstance(entries[0], ast.Slice) and kind(xs) == "list":
        _put_slice(f, s, name, xs, entries[0], value)
        return
    i = f.expression(entries[0])
    for rule in PARTS_PUT:
        if (whole := rule(f, s, xs, i, value)) is not None:
            give(f, name, whole)
            return
    t = type_of(xs)
    if is_unknown(xs) and isinstance(t, ListT) and t.rows is None:  # what is put in tells the type of the items
        give(f, name, f.coerce(xs, ListT(f.common([t.item, type_of(value)]))))
        return
    if is_unknown(i) or is_unknown(xs):
        return
    if kind(xs) == "list" and not nothing_known(value):  # None may be there first, or come now
        t = ListT(f.common([t.item, type_of(value)]))
        xs = f.coerce(xs, t)  # type: ignore[assignment]
    plain = retyped(xs, ListT(t.item))
    item = f.coerce(value, t.item)
    f.host("list.get", [plain, i], t.item, "before")  # an index outside is an error of the instance
    at = from_end(f, plain, i)
    one = list_of(f, s, [item])
    after = f.host("add", [at, Static(1)], INT, "after")
    whole = binary(f, s, ast.Add(), part(f, plain, Static(0), at), one)
    whole = binary(f, s, ast.Add(), whole, part(f, plain, after, Static(END)))
    give(f, name, retyped(whole, t))  # type: ignore[arg-type]
