"""Calls that raise what is caught are taken out of their statements, so that each stands alone in one: `y = g(x) + self.f(x)`
becomes `before = g(x)`, `given = self.f(x)`, `y = before + given`. What Python computes before the call still is."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Set
from copy import copy
from functools import partial
from typing import Any

from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.own_nodes import own_nodes
from backends.acrobat.frontend.evaluator.syntax.quoting import copied, quoted, quoted_expression, replaced
from backends.acrobat.frontend.syntax_nodes import Place, names_in, place_of

EVALUATED: dict[type[ast.stmt], str] = {
    ast.Assign: "value",
    ast.AnnAssign: "value",
    ast.AugAssign: "value",
    ast.Expr: "value",
    ast.Return: "value",
    ast.If: "test",
    ast.Assert: "test",
    ast.For: "iter",
    ast.Match: "subject",
    ast.Raise: "exc",
}
"""The part of each statement that is evaluated before all else of it."""
TAKES_ALL = frozenset({"list", "max", "min", "set", "sorted", "sum", "tuple"})
"""Functions of Python's that first take all that an iterator gives."""
LOOKED_AT = (ast.Starred, ast.Slice, ast.FormattedValue)
"""Expressions that stand inside of others only."""


def raises_inside(node: ast.AST, places: Set[Place]) -> bool:
    """Whether one of the calls at `places` stands in a node."""
    return any(_raises(x, places) for x in own_nodes(node))


def _raises(x: ast.AST, places: Set[Place]) -> bool:
    return isinstance(x, ast.Call) and hasattr(x, "lineno") and place_of(x) in places


def alone(s: ast.stmt, places: Set[Place]) -> ast.Call | None:
    """The call at one of `places` that is all that a statement computes, if it is; its arguments are such calls no more."""
    match s:
        case ast.Expr(ast.Call() as call) | ast.Assign([ast.Name() | ast.Tuple()], ast.Call() as call):
            inside = (x for part in ast.iter_child_nodes(call) for x in own_nodes(part))
            return call if _raises(call, places) and not any(_raises(x, places) for x in inside) else None
    return None


def with_calls_alone(s: ast.stmt, places: Set[Place]) -> list[ast.stmt]:
    """The statements for one that computes something before the bodies in it, in which calls at `places` stand alone as far as
    that can be said in statements. `s` alone, the same, if nothing is taken out of it."""
    field = EVALUATED.get(type(s), "")
    whole = getattr(s, field, None)
    if whole is None or not raises_inside(whole, places):
        return [s]
    if isinstance(s, ast.AugAssign) and not isinstance(s.target, ast.Name):
        return [s]  # Python reads the target first
    if isinstance(s, ast.If) and (nested := _as_nested(s, places)) is not None:
        return [nested]
    apart = _Apart(places)
    rest = copy(s)
    setattr(rest, field, apart.visit(whole))
    return [*apart.before, rest] if apart.before else [s]


class _Apart:
    """Takes calls out of an expression; `before` are the statements that compute what was taken out."""

    def __init__(self, places: Set[Place]) -> None:
        self.places = places
        self.before: list[ast.stmt] = []

    def visit(self, node: ast.expr) -> ast.expr:
        if not raises_inside(node, self.places):
            return node
        match node:
            case ast.IfExp(test, one, other):
                name = hidden("either", node)
                text = "if test: name = one\nelse: name = other"
                self.before += quoted(node, text, test=self.visit(test), name=name, one=one, other=other)
                return _read(name, node)
            case ast.BoolOp(op, [first, *others]):
                name = hidden("operand", node)
                self.before += quoted(node, "name = value", name=name, value=self.visit(first))
                text = "if name: name = value" if isinstance(op, ast.And) else "if not name: name = value"
                for value in others:
                    self.before += quoted(node, text, name=name, value=value)
                return _read(name, node)
            case ast.ListComp():
                name = hidden("items", node)
                added = partial(quoted, node, "items.append(value)", items=name)
                self.before += [*quoted(node, "items = []", items=name), *_loops(node, lambda value: added(value=value))]
                return _read(name, node)
            case ast.Call(ast.Name(name), [ast.GeneratorExp() as given], []) if name in TAKES_ALL:
                whole = ast.copy_location(ast.ListComp(given.elt, given.generators), given)
                call = copy(node)
                call.args = [self.visit(whole)]
                return call
            case ast.Call(ast.Name("any" | "all" as which), [ast.GeneratorExp(elt, [_]) as given], []):
                name, is_any = hidden("whether", node), which == "any"
                text = f"if {'' if is_any else 'not '}value:\n    name = {is_any}\n    break"
                (loop,) = _loops(given, lambda value: quoted(elt, text, value=value, name=name))
                self.before += [*quoted(node, f"name = {not is_any}", name=name), loop]
                return _read(name, node)
            case ast.Compare(comparators=[_, *others]) if any(raises_inside(x, self.places) for x in others):
                return node  # these are not always computed
            case ast.Lambda() | ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
                return node
        result: ast.expr = self._with_parts(node)
        if not _raises(node, self.places):
            return result
        name = hidden("given", node)
        self.before += quoted(node, "given = call", given=name, call=result)
        return _read(name, node)

    def _with_parts(self, node: Any) -> Any:
        """A node of which the parts up to the last with such a call are computed before."""
        parts = list(_parts(node))
        last = max((i for i, (_, _, x) in enumerate(parts) if raises_inside(x, self.places)), default=-1)
        new: dict[str, Any] = {}
        for i, (field, at, part) in enumerate(parts):
            is_path = field == "func" and _is_path(part)
            instead = part if i > last or is_path else self.visit(part) if i == last else self._named(part)
            if at is None:
                new[field] = instead
            else:
                new.setdefault(field, list(getattr(node, field)))[at] = instead
        result = copy(node)
        for field, value in new.items():
            setattr(result, field, value)
        return result

    def _named(self, part: Any) -> Any:
        """What stands for a part that is computed before a call which is taken out: its name."""
        if isinstance(part, (ast.Name, ast.Constant, ast.Lambda)):
            return part
        if raises_inside(part, self.places):
            return self.visit(part)
        if isinstance(part, (*LOOKED_AT, ast.keyword)):
            result = copy(part)
            for field, at, inner in _parts(part):
                assert at is None
                setattr(result, field, self._named(inner))
            return result
        name = hidden("before", part)
        self.before += quoted(part, "name = value", name=name, value=part)
        return _read(name, part)


def _parts(node: ast.AST) -> Iterator[tuple[str, int | None, Any]]:
    """The expressions right inside of a node in the order in which Python computes them: (field, index in it, expression)."""
    if isinstance(node, ast.Dict):
        for i, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            yield from (("keys", i, key),) if key is not None else ()
            yield "values", i, value
        return
    for field, value in ast.iter_fields(node):
        for at, x in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(x, (ast.expr, ast.keyword)):
                yield field, at, x


def _is_path(node: ast.expr) -> bool:
    """Whether an expression is a name, or an attribute of one: what a call has before its brackets."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _read(name: str, at: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Name(name, ast.Load()), at)


def _loops(node: ast.ListComp | ast.GeneratorExp, use: Callable[[ast.expr], list[ast.stmt]]) -> list[ast.stmt]:
    """The loops of a comprehension, which `use` its elements. Its variables get names of their own."""
    own = {x: hidden(x, node) for g in node.generators for x in names_in(g.target, ast.Store)}

    def as_own(x: Any) -> Any:
        return ast.copy_location(ast.Name(own[x.id], x.ctx), x) if isinstance(x, ast.Name) and x.id in own else x

    def renamed(x: ast.AST) -> Any:
        return replaced(x, as_own)

    body = use(renamed(node.elt))
    for i, g in reversed([*enumerate(node.generators)]):
        for test in reversed(g.ifs):
            body = quoted(node, "if test: body", test=renamed(test), body=body)
        walked = g.iter if i == 0 else renamed(g.iter)
        body = [ast.copy_location(ast.For(renamed(g.target), walked, body, []), node)]
    return body


def with_test_inside(s: ast.While) -> ast.While:
    """`while test` as a loop without an end that is left where the test fails."""
    tests = s.test.values if isinstance(s.test, ast.BoolOp) and isinstance(s.test.op, ast.And) else [s.test]
    leave = [x for test in tests for x in quoted(test, "if not test: break", test=test)]
    return ast.copy_location(ast.While(quoted_expression(s.test, "True"), [*leave, *s.body], []), s)


def _as_nested(s: ast.If, places: Set[Place]) -> ast.If | None:
    """`if a and b` as two statements, where `b` has a call at one of `places` in it; None for other tests."""
    match s.test:
        case ast.BoolOp(op, [first, *others]) if not raises_inside(first, places):
            rest = others[0] if len(others) == 1 else ast.copy_location(ast.BoolOp(op, others), s.test)
            inner = ast.copy_location(ast.If(rest, s.body, s.orelse), s)
            arms = ([inner], [*map(copied, s.orelse)]) if isinstance(op, ast.And) else ([*map(copied, s.body)], [inner])
            return ast.copy_location(ast.If(first, *arms), s)
    return None
