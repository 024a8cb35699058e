"""Methods that keep what they compute in a dictionary of their object from one call to the next, written as without it:

    def bpe(self, token):
        if token in self.cache:              # left out
            return self.cache[token]
        ...
        self.cache[token] = word             # left out
        return word

They give what they would give without the dictionary where this depends on the key alone. Here the form tells that nothing but
the method uses the dictionary, and that the key has all parameters in it which the method reads; which types these have, and
what else the result may depend on, is found when a call is compiled (`functions/kept_results.py`). Dictionaries at the top of a
file that one function of it uses are treated alike, and so are functions that a cache of Python's decorates (`@lru_cache`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from backends.acrobat.frontend.memos import names_of_caches, size_of_cache

HARMLESS = ("torch.no_grad()", "torch.inference_mode()")
"""Decorators that such a method may have."""
FIRST = ("__init__", "__post_init__")
"""Methods that give attributes their first values."""
DATACLASS = ("dataclass", "dataclasses.dataclass")
"""Decorators that a class may have: what they add uses the fields of the class only."""
OUTSIDE = (ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom)
"""Nodes of functions whose results depend on more than what they are given, or are used up."""


def cache_of(definition: ast.FunctionDef) -> str:
    """The name of the dictionary, or the decorator, that has been left out of a function; "" for all others."""
    return str(getattr(definition, "without_cache", ""))


def with_remembered(tree: ast.Module) -> bool:
    """Write each such function in a tree without its dictionary. Gives whether there was one."""
    found = False
    classes = [s for s in tree.body if isinstance(s, ast.ClassDef)]
    for cls in classes:
        for name, first in _attributes_at_first(cls.body):
            methods = [m for m in cls.body if isinstance(m, ast.FunctionDef) and m.name not in FIRST and _uses(m, name)]
            if len(methods) == 1 and _private(classes, cls, name, methods[0]) and _all_private(tree, name):
                attribute = _Attribute(_me(methods[0]), name)
                found |= _leave_out(methods[0], name, attribute, first, methods[0].args.args[1:])
    for s in tree.body:
        entries, name = _entries(s), getattr(_target(s), "id", "")
        if entries is None or not name:
            continue
        functions = [m for m in tree.body if isinstance(m, ast.FunctionDef) and _names(m, name)]
        if len(functions) == 1 and _names(tree, name) == _names(functions[0], name) + 1:
            found |= _leave_out(functions[0], name, _Global(name), entries, functions[0].args.args)
    caches = names_of_caches(tree)
    bodies = [tree.body, *(cls.body for cls in classes)] if caches else []
    for m in (m for body in bodies for m in body if isinstance(m, ast.FunctionDef)):
        if size_of_cache(m, caches) is not None and depends_on_arguments(m):
            m.without_cache = ast.unparse(m.decorator_list[0])  # type: ignore[attr-defined]
            found = True
    return found


def depends_on_arguments(m: ast.FunctionDef) -> bool:
    """Whether the form of a function does not speak against leaving out a cache of Python's around it: it does not call itself
    by its name, gives nothing that is used up, and has parameters by position only."""
    calls_itself = _names(m, m.name) + _uses(m, m.name)
    others = m.args.kwonlyargs or m.args.vararg or m.args.kwarg
    return not calls_itself and not others and not any(isinstance(x, OUTSIDE) for x in ast.walk(m))


def cached(m: ast.FunctionDef, cache: str) -> ast.FunctionDef:
    """A function as one around which there was the cache with this name, which is left out."""
    result = copy(m)
    result.without_cache = cache  # type: ignore[attr-defined]
    return result


def _entries(s: ast.stmt) -> dict[Any, Any] | None:
    """The entries of the dictionary that a statement assigns, if they are constants; None for other statements."""
    match s:
        case ast.Assign([_], value) | ast.AnnAssign(value=ast.expr() as value):
            match value:
                case ast.Dict(keys, values) if all(isinstance(x, ast.Constant) for x in (*keys, *values)):
                    return dict(ast.literal_eval(value))
                case ast.Call(ast.Name("dict"), [], []):
                    return {}
    return None


def _target(s: ast.stmt) -> ast.expr | None:
    """What a statement assigns to; None for one that assigns nothing."""
    return s.targets[0] if isinstance(s, ast.Assign) else s.target if isinstance(s, ast.AnnAssign) else None


def _attributes_at_first(body: Sequence[ast.stmt]) -> Iterator[tuple[str, dict[Any, Any]]]:
    """The attributes that are a dictionary of constants at first, mostly an empty one, and to which nothing else in the class
    is assigned, with its entries."""
    for m in (m for m in body if isinstance(m, ast.FunctionDef) and m.name in FIRST):
        for s in m.body:
            match _target(s):
                case ast.Attribute(ast.Name(me), name) if me == _me(m) and (entries := _entries(s)) is not None:
                    if sum(_stores(x, name) for x in body) == 1:
                        yield name, entries


def _stores(node: ast.AST, name: str) -> int:
    """How often something is assigned to attributes of a name."""
    return sum(isinstance(x, ast.Attribute) and x.attr == name and not isinstance(x.ctx, ast.Load) for x in ast.walk(node))


def _me(method: ast.FunctionDef) -> str:
    return method.args.args[0].arg if method.args.args else ""


def _uses(node: ast.AST, name: str) -> int:
    """How often attributes of a name are used, other than that of Python's module."""
    found = [x for x in ast.walk(node) if isinstance(x, ast.Attribute) and x.attr == name]
    return sum(ast.unparse(x.value) != "functools" for x in found)


def _names(node: ast.AST, name: str) -> int:
    """How often a name is used."""
    return sum(isinstance(x, ast.Name) and x.id == name for x in ast.walk(node))


def _private(classes: Sequence[ast.ClassDef], cls: ast.ClassDef, name: str, method: ast.FunctionDef) -> bool:
    """Whether no other part of the class, and no class that is derived from it or that it is derived from, uses the attribute:
    the bases of the class are none, a module of PyTorch, or classes of the file."""
    inside = {c.name: c for c in classes}
    bases = {ast.unparse(b) for b in cls.bases}
    decorators = {ast.unparse(d.func if isinstance(d, ast.Call) else d) for d in cls.decorator_list}
    if not decorators <= {*DATACLASS} or decorators and _is_field(cls, name):
        return False
    if cls.keywords or not bases <= inside.keys() | {"object", "nn.Module", "torch.nn.Module", "Module"}:
        return False
    related = [c for c in classes if c is not cls and (c.name in bases or cls.name in map(ast.unparse, c.bases))]
    return not any(_uses(c, name) for c in related) and _uses(cls, name) == _uses(method, name) + 1


def _is_field(cls: ast.ClassDef, name: str) -> bool:
    """Whether the body of a class gives a name a value or a type: in a dataclass objects are compared and made by that."""
    return any(isinstance(t := _target(s), ast.Name) and t.id == name for s in cls.body)


def _all_private(tree: ast.Module, name: str) -> bool:
    """Whether all attributes of a name in a file are those of a method's own object, and none is read by a string."""
    of_own = 0
    for cls in (s for s in tree.body if isinstance(s, ast.ClassDef)):
        for m in (m for m in cls.body if isinstance(m, ast.FunctionDef)):
            of_own += sum(_Attribute(_me(m), name)(x) for x in ast.walk(m))
    texts = (x.value for x in ast.walk(tree) if isinstance(x, ast.Constant))
    return of_own == _uses(tree, name) and name not in texts


@dataclass(frozen=True)
class _Attribute:
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
class _Global:
    """Tells of a node whether it is this name."""

    name: str

    def __call__(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == self.name


def _leave_out(
    m: ast.FunctionDef, name: str, is_cache: _Attribute | _Global, first: dict[Any, Any], parameters: Sequence[ast.arg]
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
    is_cache: _Attribute | _Global
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
        of_itself = _names if isinstance(self.is_cache, _Global) else _uses
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
                    if _names(self.method, name) > 3:
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
    """Whether a test is that a name is not None, or that it is true, where what follows gives it another value before it reads
    it: what has been kept may be a zero."""
    if ast.unparse(test) != name:
        return ast.unparse(test) == f"{name} is not None"
    for s in (s for s in rest if _names(s, name)):
        return isinstance(s, ast.Assign) and not _names(s.value, name) and any(_Global(name)(t) for t in s.targets)
    return True


def _as_stored(key: ast.expr) -> ast.expr:
    return ast.Name(key.id, ast.Store()) if isinstance(key, ast.Name) else key
