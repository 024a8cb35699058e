"""Names: what a statement assigns, binding values to targets, and which names own their list."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from backends.acrobat.core.types import TupleT
from backends.acrobat.frontend.frame import HIDDEN, Frame
from backends.acrobat.frontend.tensors import rows
from backends.acrobat.frontend.values import (
    END,
    HELD,
    Held,
    Mismatch,
    Static,
    Value,
    describe,
    is_container,
    is_list,
    is_ragged,
    is_tensor,
    nothing_known,
    type_of,
    type_or_none,
    unknown,
)


@dataclass(frozen=True, slots=True)
class Exits:
    """What leaving a body means, as functions giving the body's value. `returns` takes the statement and what it returns."""

    fall: Callable[[], Value]
    returns: Callable[[ast.AST, Value], Value]
    breaks: Callable[[], Value] | None = None
    continues: Callable[[], Value] | None = None


MAKERS = frozenset(("zeros", "ones", "full", "zeros_like", "ones_like", "new_zeros", "new_ones", "clone", "cat", "stack"))
"""Functions and methods that give a tensor of its own."""
RETURNED = HIDDEN + "returned"
"""The name that carries the value of a `return` out of a loop."""


def assign(f: Frame, target: ast.expr, value: Value) -> None:
    match target:
        case ast.Name(name):
            if isinstance(value, Held) and value.kind == "iterator":
                raise Mismatch(HELD["iterator"])
            f.rebind(name, value)
        case ast.Tuple(elts) | ast.List(elts):
            if isinstance(value, Held) and value.kind == "iterator":
                value = value.value
            if any(isinstance(e, ast.Starred) for e in elts):
                _starred(f, target, elts, value)
                return
            if nothing_known(value) and not isinstance(type_or_none(value), TupleT):
                parts: list[Value] | None = [unknown()] * len(elts)
            else:
                whole = rows(f, value) if is_tensor(value) else f.static_list(value)  # type: ignore[arg-type]
                parts = f.components(whole, len(elts))
            if parts is None:
                advice = "index the list" if is_list(value) else ""
                f.problem(target, f"this takes {len(elts)} values apart, but gets {describe(type_or_none(value))}", advice)
                parts = [unknown()] * len(elts)
            for e, v in zip(elts, parts, strict=True):
                assign(f, e, v)
        case ast.Subscript():
            from backends.acrobat.frontend.mutation import put_item

            put_item(f, target, target, value)
        case _:
            f.problem(target, "only names and items can be assigned to", "build a new value")


def _starred(f: Frame, target: ast.expr, elts: Sequence[ast.expr], value: Value) -> None:
    """`a, *rest = value`: of a tuple, or of a list where the star comes last."""
    at = next(i for i, e in enumerate(elts) if isinstance(e, ast.Starred))
    star, after = elts[at], len(elts) - at - 1
    assert isinstance(star, ast.Starred)
    whole = f.static_list(value)
    parts = f.components(whole)
    if parts is not None:
        if len(parts) < len(elts) - 1:
            f.problem(target, f"this takes at least {len(elts) - 1} values apart, but gets {len(parts)}")
            return
        middle = parts[at : len(parts) - after]
        values = [*parts[:at], f.written_out(middle), *parts[len(parts) - after :]]
    elif is_list(value) and not after:
        values = [f.host("list.get", [value, Static(i)], type_of(value).item, "element") for i in range(at)]
        values.append(f.host("list.slice", [value, Static(at), Static(END)], type_of(value), "rest"))
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
    """After `target = source`: a list that `source` has just made belongs to its name alone."""
    match target, source:
        case ast.Tuple(targets), ast.Tuple(sources) if len(targets) == len(sources):
            for t, s in zip(targets, sources, strict=True):
                own(f, t, s)
        case ast.Name(name), (ast.Dict() | ast.Set() | ast.DictComp() | ast.SetComp()):
            f.owned.add(name)
        case ast.Name(name), (ast.List() | ast.ListComp() | ast.BinOp() | ast.Subscript(slice=ast.Slice())):
            f.owned.add(name)
        case ast.Name(name), ast.Call() if getattr(getattr(f.env.get(name), "atom", None), "name", "") in f.new_lists:
            f.owned.add(name)
        case ast.Name(name), ast.Call(
            ast.Name("list" | "sorted" | "deque" | "set" | "dict") | ast.Attribute(ast.Name("collections"), "deque")
        ):
            f.owned.add(name)
        case ast.Name(name), ast.Call(ast.Attribute(attr=made) | ast.Name(made)) if made in MAKERS:
            if is_tensor(f.env.get(name)) or is_ragged(f.env.get(name)):
                f.owned.add(name)


def hint_of(target: ast.expr) -> str:
    return target.id if isinstance(target, ast.Name) else ""


def assigned(nodes: Sequence[ast.AST]) -> list[str]:
    """The names a body may assign, in order of first appearance."""
    out: dict[str, None] = {}

    def visit(node: ast.AST) -> None:
        match node:
            case ast.Name(name, ast.Store()) | ast.MatchAs(name=str(name)):
                out[name] = None
            case ast.Call(
                ast.Attribute(
                    ast.Name(name),
                    "append" | "extend" | "insert" | "reverse" | "clear" | "pop" | "popleft" | "add" | "discard" | "update",
                )
            ):
                out[name] = None
            case ast.Call(ast.Attribute(ast.IfExp(body=ast.Name(one), orelse=ast.Name(other)), "append")):
                out[one] = out[other] = None
            case ast.Subscript(ctx=ast.Store()):
                owner: ast.expr = node
                while isinstance(owner, ast.Subscript):
                    owner = owner.value
                if isinstance(owner, ast.Name):
                    out[owner.id] = None
            case ast.Return():
                out[RETURNED] = None
            case ast.ListComp() | ast.GeneratorExp() | ast.FunctionDef() | ast.ClassDef() | ast.Lambda():
                return  # a scope of its own
        for child in ast.iter_child_nodes(node):
            visit(child)

    for node in nodes:
        visit(node)
    return list(out)


def handed_on(nodes: Sequence[ast.AST]) -> list[str]:
    """The names that a body gives to calls, which may change the lists that these stand for."""
    out: dict[str, None] = {}
    for node in nodes:
        for sub in ast.walk(node):
            if isinstance(sub, ast.Call):
                out |= {a.id: None for a in (*sub.args, *(k.value for k in sub.keywords)) if isinstance(a, ast.Name)}
    return list(out)


def changed_in(f: Frame, nodes: Sequence[ast.AST]) -> list[str]:
    """The names that a body may assign, and those of lists that it may change by giving them to a call."""
    names = assigned(nodes)
    return names + [x for x in handed_on(nodes) if x in f.owned and x not in names and is_container(f.env.get(x, unknown()))]


def leaves(node: ast.AST, in_loop: bool = False) -> bool:
    """Whether a statement may leave the body it stands in."""
    match node:
        case ast.Return():
            return True
        case ast.Break() | ast.Continue():
            return not in_loop
        case ast.For() | ast.While():
            return any(leaves(s, True) for s in node.body)
        case ast.FunctionDef() | ast.ClassDef() | ast.Lambda():
            return False
    return any(leaves(child, in_loop) for child in ast.iter_child_nodes(node))


def ends(node: ast.AST) -> bool:
    """Whether a statement may end the loop it stands in, by `break` or `return`."""
    match node:
        case ast.Break() | ast.Return():
            return True
        case ast.For() | ast.While():
            return any(returns(s) for s in node.body)
    return any(ends(child) for child in ast.iter_child_nodes(node))


def returns(node: ast.AST) -> bool:
    """Whether a statement may leave its function."""
    return any(isinstance(sub, ast.Return) for sub in ast.walk(node))
