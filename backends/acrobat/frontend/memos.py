"""Nested functions that remember their results (`@functools.cache`, `@lru_cache(...)`), written as without the decorator:
with a dictionary that belongs to the function around them and is empty at each call of it."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from copy import copy
from types import CodeType

from backends.acrobat.frontend.changing_methods import changes_owner, root_of
from backends.acrobat.frontend.made_names import RENAMED, MadeName

LIBRARIES = ("torch", "nn", "F", "math", "operator", "functools", "itertools", "np")
"""Names of modules whose functions change nothing."""
FIRST = ("__init__", "__post_init__")
"""Methods that give attributes their first values."""


class Memo(MadeName):
    """The name of such a dictionary."""


def with_memos(tree: ast.Module, file: str) -> list[CodeType]:
    """Write each nested function in a tree that a cache of Python's decorates as three statements: the dictionary, the
    function that computes, and one of the same name that looks its arguments up first. Gives the code of the tree as it is
    then, or none if there was no such function.

    A function keeps its decorator where that would not be the same: if it has other parameters than such by position, if it
    stands at the top of a file or of a class, where Python remembers results from one instance to the next, or if it may change
    something and Python may compute a result twice, because the cache forgets results or keeps one for each way in which the
    arguments are written."""
    if not (caches := names_of_caches(tree)):
        return []
    rewriting = _Rewriting(tree, caches)
    rewriting.visit(tree)
    if not rewriting.made:
        return []
    code = compile(tree, file, "exec", dont_inherit=True)
    for node, name in rewriting.made:  # Python compiles a tree with plain strings only
        setattr(node, "id" if isinstance(node, ast.Name) else "name", name)
    return [code]


class _Rewriting(ast.NodeTransformer):
    def __init__(self, tree: ast.Module, caches: set[str]) -> None:
        self.made: list[tuple[ast.AST, MadeName]] = []  # new names and functions, and what they are called
        self.around: list[ast.FunctionDef] = []
        self.caches = caches
        self.has_state = _changes_attributes(tree)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        outer, self.around = self.around, []
        self.generic_visit(node)
        self.around = outer
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef | list[ast.stmt]:
        size = size_of_cache(node, self.caches)
        alone = bool(self.around) and size is not None and self._computed_once(node, size)
        self.around.append(node)
        self.generic_visit(node)
        self.around.pop()
        if not alone:
            return node
        return self._written_out(node)

    def _computed_once(self, node: ast.FunctionDef, size: int) -> bool:
        """Whether it does not show how often a result is computed: Python does so once, or the function changes nothing."""
        once = size < 0 and len({*_ways(self.around[-1], node)}) <= 1
        return once or not any(_may_change(node, self.has_state))

    def _written_out(self, node: ast.FunctionDef) -> list[ast.stmt]:
        parameters = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        key, arguments = ", ".join(parameters), f"({', '.join(parameters)})"
        memo, computed = ("_".join([word, *parameters]) for word in ("memo", "computed"))  # longer than each parameter
        looking_up = f"if {arguments} not in {memo}: {memo}[{key}] = {computed}({key})\nreturn {memo}[{key}]"
        assignment, body = ast.parse(f"{memo} = {{}}").body, ast.parse(looking_up).body
        names = {
            memo: Memo(f"remembered results of {node.name}", f"remembered_results_of_{node.name}"),
            computed: MadeName(f"computed {node.name}", node.name),
        }
        for part in (part for statement in (*assignment, *body) for part in ast.walk(statement)):
            if isinstance(part, (ast.expr, ast.stmt)):
                ast.copy_location(part, node)
            if isinstance(part, ast.Name) and part.id in names:
                self._call(part, names[part.id])
        function, wrapper = copy(node), copy(node)
        function.decorator_list, function.args = [], copy(node.args)
        function.args.defaults = []
        self._call(function, names[computed])
        wrapper.decorator_list, wrapper.body = [], body
        setattr(wrapper, RENAMED, {name: name for name in names.values()})
        return [*assignment, function, wrapper]

    def _call(self, node: ast.Name | ast.FunctionDef, name: MadeName) -> None:
        setattr(node, "id" if isinstance(node, ast.Name) else "name", str.__str__(name))
        self.made.append((node, name))


def names_of_caches(tree: ast.Module) -> set[str]:
    """The ways to write Python's caches in a file, by its imports. A name that it also gives to something else is none."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom("functools", aliases):
                names |= {a.asname or a.name for a in aliases if a.name in ("cache", "lru_cache")}
            case ast.Import(aliases):
                modules = [a.asname or a.name for a in aliases if a.name == "functools"]
                names |= {f"{m}.{name}" for m in modules for name in ("cache", "lru_cache")}
    return {x for x in names if x.partition(".")[0] not in _bound(tree)}


def _bound(node: ast.AST) -> set[str]:
    """The names that a tree gives to anything but modules and what it imports."""
    found: set[str] = set()
    for x in ast.walk(node):
        match x:
            case ast.Name(name, ast.Store() | ast.Del()) | ast.arg(name) | ast.FunctionDef(name) | ast.ClassDef(name):
                found.add(name)
    return found


def size_of_cache(node: ast.FunctionDef, caches: set[str]) -> int | None:
    """How many results the cache keeps that is all that decorates a function with parameters by position: -1 for all of them,
    None if there is no such cache."""
    if len(node.decorator_list) != 1 or node.args.kwonlyargs or node.args.vararg or node.args.kwarg:
        return None
    (decorator,) = node.decorator_list
    name = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
    if name not in caches or not (node.args.posonlyargs or node.args.args):
        return None
    if name.rpartition(".")[2] == "cache":
        return None if isinstance(decorator, ast.Call) else -1
    given = [*decorator.args, *(k.value for k in decorator.keywords)] if isinstance(decorator, ast.Call) else []
    match given:
        case []:
            return 128
        case [ast.Constant(None)]:
            return -1
    return 0


def _ways(around: ast.FunctionDef, node: ast.FunctionDef) -> Iterator[tuple[int, tuple[str | None, ...]]]:
    """The ways in which the arguments of a nested function are written in the function around it."""
    called = set[ast.expr]()
    for x in ast.walk(around):
        match x:
            case ast.Call(ast.Name(node.name) as callee, args, keywords):
                called.add(callee)
                starred = any(isinstance(a, ast.Starred) for a in args)
                yield -1 if starred else len(args), tuple(k.arg for k in keywords)
            case ast.Name(node.name, ast.Load()) if x not in called:  # given to `map`, or to another function
                yield len(node.args.posonlyargs) + len(node.args.args) if not node.args.defaults else -1, ()


def _may_change(node: ast.FunctionDef, has_state: bool) -> Iterator[bool]:
    """True for each part of a function that may change something outside of it, as far as the source of the file tells."""
    own = {a.arg for a in (*node.args.posonlyargs, *node.args.args)} | {node.name}
    own |= {x for s in node.body for x in _bound(s)}
    for x in (x for s in node.body for x in ast.walk(s)):
        match x:
            case ast.Nonlocal() | ast.Global() | ast.Yield() | ast.YieldFrom():
                yield True
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                yield root_of(x) not in own
            case ast.Call(ast.Name(name)):
                yield name not in own and not hasattr(builtins, name)
            case ast.Call(ast.Attribute(owner, method)) if root_of(owner) in LIBRARIES:
                yield method.endswith("_")
            case ast.Call(ast.Attribute(owner, method)):
                yield changes_owner(method) and root_of(owner) not in own or has_state and root_of(owner) not in own


def _changes_attributes(tree: ast.Module) -> bool:
    """Whether some function in a file, one that gives attributes their first values aside, changes an attribute."""
    first = {x for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) and f.name in FIRST for x in ast.walk(f)}
    for x in (x for x in ast.walk(tree) if x not in first):
        match x:
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ast.Attribute(), ctx=ast.Store()):
                return True
            case ast.Call(ast.Attribute(ast.Attribute(), method)) if changes_owner(method):
                return True
    return False
