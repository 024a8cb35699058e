"""Names for methods: `push = stack.append`, then `push(x)`, is compiled as `stack.append(x)`.

A method that changes its object is compiled as an assignment to the object's name, so the call has to say that name.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from copy import deepcopy

from backends.acrobat.frontend.evaluator.syntax import root_of


def by_method(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The body of a function with the methods themselves in place of names for them. A name stays as it is if it is assigned
    more than once or used otherwise than in calls, or if the object may be another one by then."""
    nodes = [x for s in body for x in ast.walk(s)]
    candidates = [s for s in nodes if isinstance(s, ast.Assign) and _root(s.value) and isinstance(s.targets[0], ast.Name)]
    if not candidates:
        return list(body)
    stores: dict[str, list[ast.Name]] = {}
    reads: dict[str, list[ast.Name]] = {}
    for x in nodes:
        if isinstance(x, ast.Name):
            (reads if isinstance(x.ctx, ast.Load) else stores).setdefault(x.id, []).append(x)
    attributes = {x.attr for x in nodes if isinstance(x, ast.Attribute) and isinstance(x.ctx, ast.Store)}
    inner = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
    in_other_scopes = {x.id for s in nodes if isinstance(s, inner) for x in ast.walk(s) if isinstance(x, ast.Name)}
    callees = {id(x.func) for x in nodes if isinstance(x, ast.Call)}
    methods: dict[str, ast.expr] = {}
    for s in candidates:
        name = s.targets[0].id  # type: ignore[attr-defined]
        used = reads.get(name, [])
        earlier = [x for x in stores.get(_root(s.value), []) if _place(x) < _place(s)]
        if (
            len(s.targets) == len(stores[name]) == 1
            and name not in in_other_scopes
            and used
            and all(id(x) in callees and _place(x) > _place(s) for x in used)
            and len(stores.get(_root(s.value), [])) == len(earlier) <= 1
            and not attributes.intersection(x.attr for x in ast.walk(s.value) if isinstance(x, ast.Attribute))
        ):
            methods[name] = s.value
    if not methods:
        return list(body)
    return [_Replace(methods).visit(deepcopy(s)) for s in body]


def _root(path: ast.expr) -> str:
    """The name that `a` in `a.b.method` is; "" of other expressions."""
    is_path = isinstance(path, ast.Attribute) and not any(isinstance(x, ast.Subscript) for x in ast.walk(path))
    return (root_of(path) or "") if is_path else ""


def _place(node: ast.stmt | ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


class _Replace(ast.NodeTransformer):
    """Takes out the assignments of names for methods, and puts the methods in place of the names."""

    def __init__(self, methods: dict[str, ast.expr]) -> None:
        self.methods = methods

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        if isinstance(node.targets[0], ast.Name) and node.targets[0].id in self.methods:
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in self.methods:
            node.func = deepcopy(self.methods[node.func.id])
        return node
