"""Changes in place: of lists, and of tensors that a function has made itself.

The program is pure: a change binds the name to a new value. That is right where nothing else can see the old one, which is what
`Frame.owned` says of a name; elsewhere the change is refused at its line.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from backends.acrobat.core.types import BOOL, INT, ListT, TensorT
from backends.acrobat.frontend import lists, ragged
from backends.acrobat.frontend.frame import Frame
from backends.acrobat.frontend.operators import binary
from backends.acrobat.frontend.tensors import Call, Refused, constant
from backends.acrobat.frontend.values import (
    END,
    Dyn,
    Static,
    TupleV,
    Value,
    describe,
    is_list,
    is_ragged,
    is_tensor,
    is_unknown,
    known,
    nothing_known,
    retyped,
    type_of,
    type_or_none,
    unknown,
)


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
    if name == "append" and len(args) == 1:
        lists.append(f, s, owner, args[0])
        return
    found = owned_list(f, s, owner, name)
    if found is None:
        return
    who, xs = found
    values = [f.expression(a) for a in args]
    if any(map(nothing_known, values)):
        return
    match name, values:
        case "extend", [more]:
            whole = lists.iterable(f, more)
            tail = lists.list_of(f, s, list(whole.items)) if isinstance(whole, TupleV) else whole
            give(f, who, binary(f, s, ast.Add(), xs, tail))
        case "insert", [at, item]:
            at = from_end(f, xs, at)
            left, right = part(f, xs, Static(0), at), part(f, xs, at, Static(END))
            one = lists.list_of(f, s, [item])
            give(f, who, binary(f, s, ast.Add(), binary(f, s, ast.Add(), left, one), right))
        case "reverse", []:
            give(f, who, f.host("list.reverse", [xs], type_of(xs), who))
        case "clear", []:
            give(f, who, lists.empty_list(f))
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
    if isinstance(xs, Dyn) and isinstance(xs.type, ListT) and xs.type.kind == "dict":
        from backends.acrobat.frontend.containers import put_entry

        if len(entries) != 1:
            f.problem(s, "an entry of an entry is not changed in place in the language", "build a new value")
            return
        put_entry(f, s, name, xs, f.expression(entries[0]), value)
        return
    if is_list(xs) or is_ragged(xs):
        if len(entries) != 1:
            f.problem(s, "an item of an item is not changed in place in the language", "build a new list")
            return
        i = f.expression(entries[0])
        if is_unknown(i) or is_unknown(xs):
            return
        t = type_of(xs)
        plain = retyped(xs, ListT(t.item))  # type: ignore[arg-type]
        item = f.coerce(value, t.item)
        at = from_end(f, plain, i)
        f.host("list.get", [plain, at], t.item, "before")
        one = lists.list_of(f, s, [item])
        after = f.host("add", [at, Static(1)], INT, "after")
        whole = binary(f, s, ast.Add(), part(f, plain, Static(0), at), one)
        whole = binary(f, s, ast.Add(), whole, part(f, plain, after, Static(END)))
        give(f, name, retyped(whole, t))  # type: ignore[arg-type]
        return
    if is_tensor(xs):
        give(f, name, _put(f, xs, entries, value))  # type: ignore[arg-type]
        return
    f.problem(s, f"an item of {describe(type_or_none(xs))} cannot be assigned to")


def _put(f: Frame, x: Any, entries: Sequence[ast.expr], value: Value) -> Value:
    """The tensor `x` with `value` at the place that constant indices and full slices name."""
    assert isinstance(x.type, TensorT)
    shape = x.type.shape
    if not entries:
        filled = value if is_tensor(value) else f.coerce(value, TensorT(()))
        if is_ragged(filled):
            raise Refused("a tensor whose extent varies cannot be put into one of fixed shape")
        return f.tensors.op("add", [f.tensors.op("full", [], {"shape": shape, "value": 0.0}), filled])
    first, *rest = entries
    if isinstance(first, ast.Slice):
        bounds = [None if b is None else constant(f.expression(b), "a bound") for b in (first.lower, first.upper, first.step)]
        places = list(range(shape[0]))[slice(*bounds)]
        whole = is_tensor(value) and len(ragged.shape(value)) == 1 + len(shape[1 + len(rest) :])

        def inner(i: int) -> Value:
            return ragged.select(f, value, 0, Static(places.index(i))) if whole else value  # type: ignore[arg-type]

        rows = [
            _put(f, ragged.select(f, x, 0, Static(i)), rest, inner(i)) if i in places else ragged.select(f, x, 0, Static(i))
            for i in range(shape[0])
        ]  # type: ignore[arg-type]
        return f.tensors.op("stack", rows, {"dim": 0})
    at = constant(f.expression(first), "an index that is assigned to")
    if isinstance(at, bool) or not isinstance(at, int) or not -shape[0] <= at < shape[0]:
        raise Refused(f"index {at} is out of range for shape {shape}")
    at %= shape[0]
    new = _put(f, ragged.select(f, x, 0, Static(at)), rest, value)  # type: ignore[arg-type]
    parts = [f.tensors.op("slice", [x], {"dim": 0, "start": 0, "stop": at})] if at else []
    parts.append(f.tensors.call("unsqueeze", Call("unsqueeze", [new, Static(0)], {})))  # type: ignore[arg-type]
    if at + 1 < shape[0]:
        parts.append(f.tensors.op("slice", [x], {"dim": 0, "start": at + 1, "stop": shape[0]}))
    return parts[0] if len(parts) == 1 else f.tensors.op("cat", parts, {"dim": 0})
