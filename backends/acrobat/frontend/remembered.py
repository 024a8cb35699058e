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
from typing import Any

from backends.acrobat.frontend.memos import FIRST, names_of_caches, size_of_cache
from backends.acrobat.frontend.without_cache import OUTSIDE, GlobalName, OwnAttribute, attribute_uses, leave_out, name_uses

DATACLASS = ("dataclass", "dataclasses.dataclass")
"""Decorators that a class may have: what they add uses the fields of the class only."""


def cache_of(definition: ast.FunctionDef) -> str:
    """The name of the dictionary, or the decorator, that has been left out of a function; "" for all others."""
    return str(getattr(definition, "without_cache", ""))


def with_remembered(tree: ast.Module) -> bool:
    """Write each such function in a tree without its dictionary. Gives whether there was one."""
    found = False
    classes = [s for s in tree.body if isinstance(s, ast.ClassDef)]
    for cls in (c for c in classes if not _made_by_methods(classes, c.name)):
        for name, first in _attributes_at_first(cls.body):
            methods = [
                m for m in cls.body if isinstance(m, ast.FunctionDef) and m.name not in FIRST and attribute_uses(m, name)
            ]
            if len(methods) == 1 and _private(classes, cls, name, methods[0]) and _all_private(tree, name):
                attribute = OwnAttribute(_me(methods[0]), name)
                found |= leave_out(methods[0], name, attribute, first, methods[0].args.args[1:])
    for s in tree.body:
        entries, name = _entries(s), getattr(_target(s), "id", "")
        if entries is None or not name:
            continue
        functions = [m for m in tree.body if isinstance(m, ast.FunctionDef) and name_uses(m, name)]
        if len(functions) == 1 and name_uses(tree, name) == name_uses(functions[0], name) + 1:
            found |= leave_out(functions[0], name, GlobalName(name), entries, functions[0].args.args)
    caches = names_of_caches(tree)
    bodies = [tree.body, *(cls.body for cls in classes)] if caches else []
    for m in (m for body in bodies for m in body if isinstance(m, ast.FunctionDef)):
        if size_of_cache(m, caches) is not None and depends_on_arguments(m):
            m.without_cache = ast.unparse(m.decorator_list[0])  # type: ignore[attr-defined]
            found = True
    return found


def _made_by_methods(classes: Sequence[ast.ClassDef], name: str) -> bool:
    """Whether methods other than `__init__` call the class: its objects, and the dictionaries in them, are new in each call."""
    methods = [m for c in classes for m in c.body if isinstance(m, ast.FunctionDef) and m.name not in FIRST]
    calls = [x.func for m in methods for x in ast.walk(m) if isinstance(x, ast.Call)]
    return any(isinstance(f, ast.Name) and f.id == name for f in calls)


def depends_on_arguments(m: ast.FunctionDef) -> bool:
    """Whether the form of a function does not speak against leaving out a cache of Python's around it: it does not call itself
    by its name, gives nothing that is used up, and has parameters by position only."""
    calls_itself = name_uses(m, m.name) + attribute_uses(m, m.name)
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
    return not any(attribute_uses(c, name) for c in related) and attribute_uses(cls, name) == attribute_uses(method, name) + 1


def _is_field(cls: ast.ClassDef, name: str) -> bool:
    """Whether the body of a class gives a name a value or a type: in a dataclass objects are compared and made by that."""
    return any(isinstance(t := _target(s), ast.Name) and t.id == name for s in cls.body)


def _all_private(tree: ast.Module, name: str) -> bool:
    """Whether all attributes of a name in a file are those of a method's own object, and none is read by a string."""
    of_own = 0
    for cls in (s for s in tree.body if isinstance(s, ast.ClassDef)):
        for m in (m for m in cls.body if isinstance(m, ast.FunctionDef)):
            of_own += sum(OwnAttribute(_me(m), name)(x) for x in ast.walk(m))
    texts = (x.value for x in ast.walk(tree) if isinstance(x, ast.Constant))
    return of_own == attribute_uses(tree, name) and name not in texts
