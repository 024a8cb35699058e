"""Names for methods: `push = stack.append`, then `push(x)`, is compiled as `stack.append(x)`.

A method that changes its object is compiled as an assignment to the object's name, so the call has to say that name.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.syntax.quoting import copied, replaced_in
from backends.acrobat.frontend.evaluator.syntax.reading import way_to
from backends.acrobat.frontend.syntax_nodes import all_parameters, every_node, names_in


def by_method(definition: ast.FunctionDef) -> list[ast.stmt]:
    """The body of a function with names for methods replaced by the methods themselves. A name stays as it is if it is bound
    more than once or used otherwise than in calls after its assignment, or if the object may be another one by then."""
    nodes = [x for s in definition.body for x in every_node(s)]
    candidates = [s for s in nodes if isinstance(s, ast.Assign) and _root(s.value) and isinstance(s.targets[0], ast.Name)]
    if not candidates:
        return list(definition.body)
    stores: dict[str, list[ast.Name]] = {}
    reads: dict[str, list[ast.Name]] = {}
    for x in nodes:
        if isinstance(x, ast.Name):
            (reads if isinstance(x.ctx, ast.Load) else stores).setdefault(x.id, []).append(x)
    attributes = {x.attr for x in nodes if isinstance(x, ast.Attribute) and isinstance(x.ctx, ast.Store)}
    inner = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
    in_other_scopes = {*names_in(s for s in nodes if isinstance(s, inner))}
    callees = {id(x.func) for x in nodes if isinstance(x, ast.Call)}
    elsewhere = set().union(*map(_bound, nodes))
    methods: dict[str, ast.expr] = {}
    for s in candidates:
        name, root = s.targets[0].id, _root(s.value)  # type: ignore[attr-defined]
        uses = reads.get(name, [])
        earlier = [x for x in stores.get(root, []) if _place(x) < _place(s)]
        behind = _behind(definition.body, s)
        if (
            len(s.targets) == len(stores[name]) == 1
            and name not in in_other_scopes | all_parameters(definition) | elsewhere
            and uses
            and all(id(x) in callees and id(x) in behind for x in uses)
            and len(stores.get(root, [])) == len(earlier) <= 1
            and root not in elsewhere
            and not attributes.intersection(x.attr for x in every_node(s.value) if isinstance(x, ast.Attribute))
            and not (isinstance(s.value.value, ast.Attribute) and _may_be_set(root, nodes))  # type: ignore[attr-defined]
        ):
            methods[name] = s.value
    if not methods:
        return list(definition.body)

    def written_out(node: ast.AST) -> ast.AST:
        match node:
            case ast.Assign([ast.Name(name), *_]) if name in methods:
                return ast.copy_location(ast.Pass(), node)
            case ast.Call(ast.Name(name)) if name in methods:
                node.func = copied(methods[name])
        return node

    return replaced_in(definition.body, written_out)


def _bound(node: ast.AST) -> set[str]:
    """The names that a node of a function binds as plain strings, not as name nodes: functions, classes and patterns."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return {name}
    return set()


def _behind(body: Sequence[ast.stmt], s: ast.stmt) -> set[int]:
    """The ids of all nodes in the statements that follow `s` in its list of statements, so that `s` has been executed before
    each of them."""
    way = way_to(body, s)
    return {id(x) for around, at, _ in way[-1:] for later in around[at + 1 :] for x in every_node(later)}


def _may_be_set(root: str, nodes: Sequence[ast.AST]) -> bool:
    """Whether a function or method is called that receives the object named `root`, and so may assign to its attributes."""

    def is_root(x: ast.expr) -> bool:
        return isinstance(x, ast.Name) and x.id == root

    for call in (x for x in nodes if isinstance(x, ast.Call)):
        arguments = [*call.args, *(k.value for k in call.keywords)]
        if (
            any(map(is_root, arguments))
            or isinstance(call.func, ast.Attribute)
            and is_root(call.func.value)
            or is_root(call.func)
        ):
            return True
    return False


def _root(path: ast.expr) -> str:
    """The name that `a` in `a.b.method` is; "" of other expressions."""
    is_path = isinstance(path, ast.Attribute) and not any(isinstance(x, ast.Subscript) for x in every_node(path))
    return (root_of(path) or "") if is_path else ""


def _place(node: ast.stmt | ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset
