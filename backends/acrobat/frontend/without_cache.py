"""Functions and methods written without the dictionary in which they keep what they compute: lookups and stores are left out
where the key has all parameters in it that the function reads."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

HARMLESS = ("torch.no_grad()", "torch.inference_mode()")
"""Decorators that such a method may have."""
OUTSIDE = (ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom)
"""Nodes of functions whose results depend on more than what they are given, or are used up."""


def attribute_uses(node: ast.AST, name: str) -> int:
    """How often attributes of a name are used, other than that of Python's module."""
    found = [x for x in ast.walk(node) if isinstance(x, ast.Attribute) and x.attr == name]
    return sum(ast.unparse(x.value) != "functools" for x in found)


def name_uses(node: ast.AST, name: str) -> int:
    """How often a name is used."""
    return sum(isinstance(x, ast.Name) and x.id == name for x in ast.walk(node))


@dataclass(frozen=True)
class OwnAttribute:
    """Tells of a node whether it is this attribute of the method's object."""

    me: str
    name: str

    def __call__(self, node: ast.AST) -> bool:
        return (
            isinstance(node, ast.Attribute)
            and node.attr == self.name
            and isinstance(node.value, ast.Name)
            and node.value.id == self.me
        )


@dataclass(frozen=True)
class GlobalName:
    """Tells of a node whether it is this name."""

    name: str

    def __call__(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == self.name


def leave_out(
    m: ast.FunctionDef, name: str, is_cache: OwnAttribute | GlobalName, first: dict[Any, Any], parameters: Sequence[ast.arg]
) -> bool:
    """Write a function without the dictionary, which has the entries `first` at first, in place; False where its form does not
    allow that."""
    if [d for d in m.decorator_list if ast.unparse(d) not in HARMLESS] or m.args.vararg or m.args.kwarg or m.args.kwonlyargs:
        return False
    if m.args.posonlyargs or not parameters or any(isinstance(x, OUTSIDE) for x in ast.walk(m)):
        return False
    leaving = _Leaving(m, is_cache, first)
    body = leaving.body()
    if body is None or not leaving.has_all([a.arg for a in parameters]):
        return False
    m.body = body
    m.without_cache = name  # type: ignore[attr-defined]
    return True


@dataclass
class _Leaving:
    """A function, and what has been left out of it."""

    method: ast.FunctionDef
    is_cache: OwnAttribute | GlobalName
    first: dict[Any, Any]
    keys: list[ast.expr] = field(default_factory=list)
    """The keys in what has been left out: one for each use of the dictionary."""

    def body(self) -> list[ast.stmt] | None:
        """What the function does without the dictionary; None where that is not known."""
        uses = sum(map(self.is_cache, ast.walk(self.method)))
        body = self._without_stores(self._without_lookups(self.method.body))
        if any(self.is_cache(x) for s in body for x in ast.walk(s)) or len(self.keys) != uses:
            return None
        return body if len({ast.dump(k) for k in self.keys}) == 1 else None

    def has_all(self, parameters: Sequence[str]) -> bool:
        """Whether the key consists of parameters that get no other value, and has all in it that the function reads."""
        m, key = self.method, self.keys[0]
        names = [x for s in m.body for x in ast.walk(s) if isinstance(x, ast.Name)]
        stored = [x.id for x in names if not isinstance(x.ctx, ast.Load)]
        made = [s for s in m.body if isinstance(s, ast.Assign) and ast.dump(s.targets[0]) == ast.dump(_as_stored(key))]
        if isinstance(key, ast.Name) and len(made) == 1 and stored.count(key.id) == 1 and len(made[0].targets) == 1:
            key = made[0].value  # `key = (a, b)`
        parts = key.elts if isinstance(key, ast.Tuple) else [key]
        inside = {x.id for x in parts if isinstance(x, ast.Name)}
        if len(inside) < len(parts) or not inside <= set(parameters) or set(stored) & set(parameters):
            return False
        read = {x.id for x in names} & set(parameters)
        of_itself = name_uses if isinstance(self.is_cache, GlobalName) else attribute_uses
        itself = any(of_itself(s, m.name) for s in m.body)
        return read <= inside and not itself

    def _test(self, test: ast.expr) -> str:
        """Whether a test asks if a key is "in" the dictionary, or "not in" it, and its key is noted then; "" for others."""
        match test:
            case ast.UnaryOp(ast.Not(), inner) if self._test(inner) == "in":
                return "not in"
            case ast.Compare(key, [ast.In() | ast.NotIn() as operator], [cache]) if self.is_cache(cache):
                self.keys.append(key)
                return "in" if isinstance(operator, ast.In) else "not in"
        return ""

    def _without_lookups(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements of the function without those that look results up."""
        out: list[ast.stmt] = []
        i = 0
        while i < len(body):
            match body[i : i + 3]:
                case [ast.If(test, [ast.Return(ast.Subscript() as kept)], orelse), *_] if (
                    self._is_item(kept) and self._test(test) == "in"
                ):
                    self.keys.append(kept.slice)
                    out += [*self._found_at_first(body[i]), *orelse]
                case [ast.If(test, [*inside, ast.Assign([target], value)], []), ast.Return(ast.Subscript() as kept), *_] if (
                    self._is_item(kept) and self._is_item(target) and self._test(test) == "not in"
                ):
                    self.keys += [target.slice, kept.slice]  # type: ignore[attr-defined]
                    out += [*self._found_at_first(body[i]), *inside, ast.copy_location(ast.Return(value), body[i + 1])]
                    i += 1
                case [
                    ast.If(test, [ast.Assign([ast.Name(name)], ast.Subscript() as kept)], orelse),
                    ast.Return(ast.Name(given)),
                ] if given == name and orelse and self._is_item(kept) and self._test(test) == "in":
                    self.keys.append(kept.slice)
                    out += self._without_stores([*self._found_at_first(body[i]), *orelse, body[i + 1]])
                    i += 1
                case [ast.Assign([ast.Name(name)], found), ast.If(test, [ast.Return(ast.Name(given))], []), *_] if (
                    given == name and _asks_for(test, name, body[i + 2 :]) and not self.first and self._got(found)
                ):
                    i += 1
                    if name_uses(self.method, name) > 3:
                        out.append(ast.copy_location(ast.Assign([body[i - 1].targets[0]], ast.Constant(None)), body[i - 1]))  # type: ignore[attr-defined]
                        ast.fix_missing_locations(out[-1])
                case [ast.Assign([ast.Name(name)], found), ast.If(test, inside, []), ast.Return(ast.Name(given))] if (
                    given == name and ast.unparse(test) == f"{name} is None" and not self.first and self._got(found)
                ):
                    out += self._without_stores([*inside, body[i + 2]])
                    i += 2
                case [
                    ast.Try([ast.Return(ast.Subscript() as kept)], [ast.ExceptHandler(ast.Name("KeyError"), None, handler)]),
                    *_,
                ] if (
                    self._is_item(kept) and not self.first and not body[i].orelse and not body[i].finalbody  # type: ignore[attr-defined]
                ):
                    self.keys.append(kept.slice)
                    out += [s for s in handler if not isinstance(s, ast.Pass)]
                case [s, *_]:
                    out.append(s)
            i += 1
        return out

    def _found_at_first(self, at: ast.stmt) -> list[ast.stmt]:
        """The statement that looks the key up among the entries that the dictionary has at first."""
        if not self.first:
            return []
        item = ast.Subscript(ast.Constant(self.first), self.keys[-1], ast.Load())  # type: ignore[arg-type]
        test = ast.Compare(self.keys[-1], [ast.In()], [ast.Constant(self.first)])  # type: ignore[arg-type]
        statement = ast.copy_location(ast.If(test, [ast.Return(item)], []), at)
        for node in ast.walk(statement):
            if isinstance(node, (ast.stmt, ast.expr)) and not hasattr(node, "lineno"):
                ast.copy_location(node, at)
        return [statement]

    def _got(self, node: ast.expr) -> bool:
        """Whether an expression gets an item of the dictionary or None, and its key is noted then."""
        match node:
            case ast.Call(ast.Attribute(cache, "get"), [key] | [key, ast.Constant(None)], []) if self.is_cache(cache):
                self.keys.append(key)
                return True
        return False

    def _without_stores(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements without the assignments to items that are returned next, also inside of branches and loops."""
        out: list[ast.stmt] = []
        for s in body:
            before = out[-1] if out else None
            if isinstance(s, ast.Return) and isinstance(before, ast.Assign) and any(map(self._is_item, before.targets)):
                out.pop()
                out += self._returned(before, s)
                continue
            if isinstance(s, (ast.If, ast.For, ast.While, ast.With)):
                s = copy(s)
                s.body = self._without_stores(s.body)
                if not isinstance(s, ast.With):
                    s.orelse = self._without_stores(s.orelse)
            out.append(s)
        return out

    def _is_item(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Subscript) and self.is_cache(node.value)

    def _returned(self, s: ast.Assign, at: ast.Return) -> list[ast.stmt]:
        """An assignment to an item of the dictionary, and the return of what was assigned, without the dictionary; as they are
        where something else is returned."""
        items = [t for t in s.targets if self._is_item(t)]
        others = [t for t in s.targets if not self._is_item(t)]
        names = [x.id for x in (*others, s.value) if isinstance(x, ast.Name)]
        gives_item = at.value is not None and self._is_item(at.value)
        if len(items) != 1 or not (gives_item or isinstance(at.value, ast.Name) and at.value.id in names):
            return [s, at]
        self.keys.append(items[0].slice)  # type: ignore[attr-defined]
        if gives_item:
            self.keys.append(at.value.slice)  # type: ignore[union-attr]
            at = ast.copy_location(ast.Return(copy(others[0]) if others else s.value), at)
            if others:
                at.value.ctx = ast.Load()  # type: ignore[union-attr]
        if not others:
            return [at]
        return [ast.copy_location(ast.Assign(others, s.value), s), at]


def _asks_for(test: ast.expr, name: str, rest: Sequence[ast.stmt]) -> bool:
    """Whether `test` asks if a cached value exists: `x is not None`, or plain `x` if `rest` assigns `x` before it reads it,
    since a cached value may be a zero."""
    if ast.unparse(test) != name:
        return ast.unparse(test) == f"{name} is not None"
    for s in (s for s in rest if name_uses(s, name)):
        return isinstance(s, ast.Assign) and not name_uses(s.value, name) and any(GlobalName(name)(t) for t in s.targets)
    return True


def _as_stored(key: ast.expr) -> ast.expr:
    return ast.Name(key.id, ast.Store()) if isinstance(key, ast.Name) else key
