"""Changes in place of lists that a function has made itself, and the rule for all such changes.

The program is pure: a change binds the name to a new value. That is right where nothing else can see the old one, which is what
`Frame.owned` says of a name; elsewhere the change is refused at its line.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from backends.acrobat.core.types import BOOL, INT, ListT, TensorT
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.lists import as_list, empty_list, iterable, list_of
from backends.acrobat.frontend.evaluator.operators import binary
from backends.acrobat.frontend.evaluator.tables import ITEMS_PUT, handles
from backends.acrobat.frontend.types import Mismatch, contains_unknown, describe, plural
from backends.acrobat.frontend.values import (
    END,
    Dyn,
    Static,
    TupleV,
    Value,
    empty,
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


def owned_list(f: Frame, s: ast.AST, owner: ast.expr, what: str) -> tuple[str, Value] | None:
    """The name that alone has a list, and its value. None if the list is seen elsewhere, which is noted, or not known yet."""
    if not isinstance(owner, ast.Name):
        f.problem(s, f"`{what}` is for a list with a name of its own", "change a variable, and build the structure from it")
        return None
    name = owner.id
    xs = f.env.get(name, unknown())
    if nothing_known(xs):
        return None
    if name not in f.owned:
        if not isinstance(type_or_none(xs), (ListT, TensorT)):
            f.problem(s, f"`{what}` is for lists, not {describe(type_or_none(xs))}")
            return None
        advice = f"make a list of its own first: `{name} = list({name})`"
        f.problem(s, f"`{what}` changes a list that may be seen under another name than `{name}`", advice)
        return None
    return name, xs


def give(f: Frame, name: str, value: Value) -> None:
    """`name` is changed to `value`, which still belongs to it alone."""
    f.rebind(name, value)
    f.owned.add(name)
    f.mutated.add(name)


def method(f: Frame, s: ast.stmt, owner: ast.expr, name: str, args: Sequence[ast.expr]) -> None:
    """`xs.append(x)` and the like, as a statement."""
    if isinstance(owner, ast.IfExp):  # (a if test else b).append(x)
        arms = [
            ast.Expr(ast.Call(ast.Attribute(side, name, ast.Load()), list(args), [])) for side in (owner.body, owner.orelse)
        ]
        chosen = ast.If(owner.test, [arms[0]], [arms[1]])
        for made in ast.walk(chosen):
            if isinstance(made, (ast.expr, ast.stmt)) and not hasattr(made, "lineno"):
                ast.copy_location(made, s)
        f.straight([chosen])
        return
    values = [f.expression(a) for a in args]  # which may change the list, or show it to others
    found = owned_list(f, s, owner, name)
    if found is None:
        return
    who, xs = found
    if name == "append" and len(values) == 1 and isinstance(xs, TupleV):
        give(f, who, TupleV((*xs.items, values[0])))
        return
    if any(map(nothing_known, values)):
        return
    match name, values:
        case "append", [item]:
            _append(f, s, who, xs, item)
        case "extend", [more]:
            give(f, who, binary(f, s, ast.Add(), xs, as_list(f, s, iterable(f, more))))
        case "insert", [at, item]:
            at = from_end(f, xs, at)
            left, right = part(f, xs, Static(0), at), part(f, xs, at, Static(END))
            one = list_of(f, s, [item])
            give(f, who, binary(f, s, ast.Add(), binary(f, s, ast.Add(), left, one), right))
        case "reverse", []:
            give(f, who, f.host("list.reverse", [xs], type_of(xs), who))
        case "clear", []:
            give(f, who, empty_list(f))
        case _:
            f.problem(s, f"`{name}` of a list is not in the language like this", "build a new list")


def part(f: Frame, xs: Value, start: Value, stop: Value) -> Dyn:
    return f.host("list.slice", [xs, start, stop], type_of(xs))


def from_end(f: Frame, xs: Value, i: Value) -> Value:
    """An index that counts from the end if it is negative, as one from the start."""
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
    found = owned_list(f, node, owner, "pop")
    if found is None:
        return unknown()
    name, xs = found
    t = type_of(xs)
    if is_unknown(xs) or is_unknown(at) or not isinstance(t, ListT):
        return unknown()
    at = from_end(f, xs, at)
    item = f.host("list.get", [xs, at], t.item, "popped")
    after = f.host("add", [at, Static(1)], INT, "after")
    rest = binary(f, node, ast.Add(), part(f, xs, Static(0), at), part(f, xs, after, Static(END)))
    give(f, name, rest)
    return item


def _append(f: Frame, s: ast.stmt, name: str, xs: Value, item: Value) -> None:
    """`xs.append(item)`, of a list that belongs to `name` alone."""
    t = type_or_none(xs)
    if not isinstance(t, ListT):
        f.problem(s, f"`append` is for lists, not {describe(t)}")
        return
    try:
        joined = ListT(f.common([t.item, type_of(item)]))
    except Mismatch:
        what = f"`{name}` holds {plural(t.item)}, this appends {describe(type_of(item))}"
        f.problem(s, what, "a list has elements of one type")
        return
    if contains_unknown(joined):
        give(f, name, empty(joined, f.span))
        return
    display = () if t == ListT(unknown().type) else f.displays.get(getattr(getattr(xs, "atom", None), "name", ""))
    result = f.host("list.append", [f.coerce(xs, joined), f.coerce(item, joined.item)], joined, name)
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
    found = owned_list(f, s, owner, "an assignment to an item")
    if found is None or nothing_known(value):
        return
    name, xs = found
    handler = ITEMS_PUT.get(kind(xs))
    if handler is None:
        f.problem(s, f"an item of {describe(type_or_none(xs))} cannot be assigned to")
        return
    handler(f, s, name, xs, entries, value)


@handles(ITEMS_PUT, "list", "ragged")
def _put_item(f: Frame, s: ast.AST, name: str, xs: Dyn, entries: Sequence[ast.expr], value: Value) -> None:
    if len(entries) != 1:
        f.problem(s, "an item of an item is not changed in place in the language", "build a new list")
        return
    i = f.expression(entries[0])
    if is_unknown(i) or is_unknown(xs):
        return
    t = type_of(xs)
    plain = retyped(xs, ListT(t.item))
    item = f.coerce(value, t.item)
    at = from_end(f, plain, i)
    f.host("list.get", [plain, at], t.item, "before")
    one = list_of(f, s, [item])
    after = f.host("add", [at, Static(1)], INT, "after")
    whole = binary(f, s, ast.Add(), part(f, plain, Static(0), at), one)
    whole = binary(f, s, ast.Add(), whole, part(f, plain, after, Static(END)))
    give(f, name, retyped(whole, t))  # type: ignore[arg-type]
