"""A `deque(maxlen=n)` as a list that loses an element at one end when it gets too long at the other.

This is possible if the function that makes it uses it under one name only, so that each `append` can be seen. Others are
refused.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted, replaced_in
from backends.acrobat.frontend.syntax_nodes import children, every_node

OPPOSITE = {"append": "popleft", "appendleft": "pop"}
"""Methods by which a deque grows, and those that take an element from its other end."""
READING = frozenset(
    ("len", "list", "tuple", "sum", "min", "max", "sorted", "enumerate", "zip", "reversed", "any", "all", "bool")
)
"""Functions that only look at a deque which they are given."""
HARMLESS = frozenset(("popleft", "pop", "clear", "index", "count"))
"""Methods by which a deque does not grow."""


def without_limits(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The body of a function, with the limits of its deques written out."""
    nodes = [x for s in body for x in every_node(s)]
    limited = {name for s in nodes if (name := _limited(s)) and _is_seen(name, nodes)}
    if not limited:
        return list(body)
    return replaced_in(body, lambda node: _written_out(node, limited))


def taken_for_deques(definition: ast.FunctionDef) -> list[ast.expr]:
    """What a function calls of which the form alone says that it makes such deques."""
    nodes = [x for s in definition.body for x in every_node(s)]
    return [s.value.func for s in nodes if (name := _limited(s)) and _is_seen(name, nodes)]  # type: ignore[attr-defined]


def _limited(s: ast.AST) -> str:
    """The name to which a statement assigns a deque with a limit; "" of other statements."""
    match s:
        case ast.Assign([ast.Name(name)], ast.Call() as made) | ast.AnnAssign(ast.Name(name), value=ast.Call() as made) if (
            _limit(made) is not None
        ):
            return name
    return ""


def _limit(call: ast.Call) -> ast.expr | None:
    """The limit that a call which makes a deque gives it."""
    if (call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")) != "deque":
        return None
    named = next((k.value for k in call.keywords if k.arg == "maxlen"), None)
    limit = call.args[1] if len(call.args) == 2 else named
    return None if isinstance(limit, ast.Constant) and limit.value is None else limit


def _is_seen(name: str, nodes: Sequence[ast.AST]) -> bool:
    """Whether a name is assigned once, and each of its uses shows whether it makes the deque longer."""
    parents = {child: x for x in nodes for child in children(x)}
    uses = [x for x in nodes if isinstance(x, ast.Name) and x.id == name]
    if sum(not isinstance(x.ctx, ast.Load) for x in uses) != 1:
        return False
    for x in uses:
        around = parents.get(x)
        match around:
            case _ if not isinstance(x.ctx, ast.Load):
                continue
            case ast.Attribute(attr=method) if isinstance(call := parents.get(around), ast.Call) and call.func is around:
                if method in HARMLESS or method in OPPOSITE and isinstance(parents.get(call), ast.Expr):
                    continue
            case ast.Call(ast.Name(function), args) if x in args and function in READING:
                continue
            case ast.For(iter=whole) | ast.comprehension(iter=whole) if whole is x:
                continue
            case ast.Subscript(value=whole, ctx=ast.Load()) if whole is x:
                continue
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if test is x:
                continue
            case ast.UnaryOp(ast.Not()) | ast.BoolOp() | ast.Compare():
                continue
        return False
    return True


def _written_out(node: ast.AST, names: set[str]) -> ast.AST | list[ast.stmt]:
    """A statement followed by statements that keep these deques within their limits; other nodes unchanged."""
    match node:
        case ast.Assign(value=ast.Call() as made) | ast.AnnAssign(value=ast.Call() as made) if (
            name := _limited(node)
        ) in names:
            limit = _limit(made)
            assert limit is not None
            made.args, made.keywords = made.args[:1], []
            first = quoted(node, "name = limit", name=_limit_of(name), limit=limit)
            return [*first, node, *(_cut(node, "while", name, "popleft") if made.args else [])]
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), method))) if name in names and method in OPPOSITE:
            return [node, *_cut(node, "if", name, OPPOSITE[method])]
    return node


def _limit_of(name: str) -> str:
    return hidden(f"limit_of_{name}")


def _cut(where: ast.stmt, keyword: str, name: str, method: str) -> list[ast.stmt]:
    return quoted(where, f"{keyword} len(name) > limit: name.method()", name=name, limit=_limit_of(name), method=method)
