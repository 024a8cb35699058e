"""Nested functions that remember their results (`@functools.cache`, `@lru_cache(...)`), written as without the decorator:
with a dictionary that belongs to the function around them and is empty at each call of it."""

from __future__ import annotations

import ast
from copy import copy

CACHES = ("cache", "functools.cache", "lru_cache", "functools.lru_cache")


def with_memos(tree: ast.Module) -> bool:
    """Write each nested function in a tree that a cache of Python's decorates as three statements: the dictionary, the
    function that computes, and one of the same name that looks its arguments up first. Gives whether there was one. A
    function with other parameters than such by position keeps its decorator, and so does one at the top of a file or of a
    class, whose results Python remembers from one instance to the next."""
    rewriting = _Rewriting()
    rewriting.visit(tree)
    return rewriting.found


class _Rewriting(ast.NodeTransformer):
    def __init__(self) -> None:
        self.found = False
        self.inside_function = False

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        outer, self.inside_function = self.inside_function, False
        self.generic_visit(node)
        self.inside_function = outer
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef | list[ast.stmt]:
        outer, self.inside_function = self.inside_function, True
        self.generic_visit(node)
        self.inside_function = outer
        if not outer or not _is_remembered(node):
            return node
        self.found = True
        return _written_out(node)


def _is_remembered(node: ast.FunctionDef) -> bool:
    """Whether a cache of Python's is all that decorates a function, which takes its arguments by position."""
    if len(node.decorator_list) != 1 or node.args.kwonlyargs or node.args.vararg or node.args.kwarg:
        return False
    (decorator,) = node.decorator_list
    name = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
    return name in CACHES and bool(node.args.posonlyargs or node.args.args)


def _written_out(node: ast.FunctionDef) -> list[ast.stmt]:
    parameters = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    key, arguments = ", ".join(parameters), f"({', '.join(parameters)})"
    memo, computed = f"results_of_{node.name}", f"{node.name}_computed"
    looking_up = f"if {arguments} not in {memo}: {memo}[{key}] = {computed}({key})\nreturn {memo}[{key}]"
    assignment = ast.parse(f"{memo} = {{}}").body
    body = ast.parse(looking_up).body
    for statement in (*assignment, *body):
        for part in ast.walk(statement):
            if isinstance(part, (ast.expr, ast.stmt)):
                ast.copy_location(part, node)
    function, wrapper = copy(node), copy(node)
    function.name, function.decorator_list = computed, []
    function.args = copy(node.args)
    function.args.defaults = []
    wrapper.decorator_list, wrapper.body = [], body
    return [*assignment, function, wrapper]
