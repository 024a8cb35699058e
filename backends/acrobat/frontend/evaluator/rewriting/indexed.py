"""Loops that change the items of a list through the loop's variable: `for c in clusters: c.append(i)`, `for w in ws: w.x = h`.

A list or an object in a list has no name of its own in the program: it is changed at its place. So such a loop becomes one over
the indices, `for k in range(len(clusters)): clusters[k].append(i)`. This is done for lists that the function has made itself.
"""

from __future__ import annotations

import ast
import types
from typing import Any

from backends.acrobat.frontend.evaluator.rewriting.outputs import Changing, changed_roots
from backends.acrobat.frontend.evaluator.syntax.bodies import assigned
from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted, replaced, replaced_in
from backends.acrobat.frontend.syntax_nodes import every_node, mentions, names_in


def by_place(definition: ast.FunctionDef, function: types.FunctionType, owner: type | None, known: Changing) -> ast.FunctionDef:
    """A function with its loops that change items rewritten as loops over indices; other loops stay as they are. `owner` and
    `known` are as in `changed_parameters`."""
    made = {
        target.id
        for s in every_node(definition)
        if isinstance(s, ast.Assign) and isinstance(s.value, (ast.List, ast.ListComp, ast.BinOp))
        for target in s.targets
        if isinstance(target, ast.Name)
    }
    loops = [s for s in every_node(definition) if isinstance(s, ast.For) and _walked(s)[1] in made]
    loops = [s for s in loops if not _may_be_longer(definition, s)]
    loops_with_changes = [s for s in loops if _changes_items(s, function, owner, known) and not _read_elsewhere(definition, s)]
    if not loops_with_changes:
        return definition
    places = {(s.lineno, s.col_offset) for s in loops_with_changes}

    def over_places(node: ast.AST) -> Any:
        return _over_places(node) if isinstance(node, ast.For) and (node.lineno, node.col_offset) in places else node

    return replaced(definition, over_places)  # type: ignore[no-any-return]


def _walked(s: ast.For) -> tuple[str, str, str]:
    """The names of the item, of the list and of the index ("" without one) of `for c in xs` and `for i, c in enumerate(xs)`."""
    match s.target, s.iter:
        case (ast.Name(item), ast.Name(whole)) if not s.orelse:
            return item, whole, ""
        case ast.Tuple([ast.Name(at), ast.Name(item)]), ast.Call(ast.Name("enumerate"), [ast.Name(whole)], []) if not s.orelse:
            return item, whole, at
    return "", "", ""


def _may_be_longer(definition: ast.FunctionDef, s: ast.For) -> bool:
    """Whether a function inside of this one may change the walked list in the loop: it captures the list, or receives it
    there."""
    _, whole, _ = _walked(s)
    inner = [x for x in every_node(definition) if isinstance(x, (ast.FunctionDef, ast.Lambda)) and x is not definition]
    if mentions(inner, whole):
        return True
    names = {d.name for d in inner if isinstance(d, ast.FunctionDef)}
    calls = (x for b in s.body for x in every_node(b) if isinstance(x, ast.Call))
    return bool(mentions([x for x in calls if isinstance(x.func, ast.Name) and x.func.id in names], whole))


def _changes_items(s: ast.For, function: types.FunctionType, owner: type | None, known: Changing) -> bool:
    """Whether the body changes the list or object that the loop's variable refers to, and changes neither that name nor the
    walked list in another way."""
    item, whole, at = _walked(s)
    stored = {*names_in(s.body, ast.Store)}
    if {item, whole, at} & stored or whole in assigned(s.body):
        return False
    changed = changed_roots(function, owner, s.body, known)
    return item in changed and whole not in changed


def _read_elsewhere(definition: ast.FunctionDef, s: ast.For) -> bool:
    """Whether the loop's variable is read outside of loops and comprehensions that have a variable of that name."""
    item, _, _ = _walked(s)
    inside: set[int] = set()
    for x in every_node(definition):
        targets = [x.target] if isinstance(x, ast.For) else [g.target for g in getattr(x, "generators", [])]
        if mentions(targets, item):
            inside |= {id(y) for y in every_node(x)}
    return any(id(x) not in inside for x in mentions(definition, item))


def _over_places(s: ast.For) -> list[ast.stmt]:
    item, whole, at = _walked(s)
    at = at or hidden("at", s)

    def by_place(node: ast.AST) -> ast.AST:
        if not isinstance(node, ast.Name) or node.id != item:
            return node
        read = ast.Subscript(ast.Name(whole, ast.Load()), ast.Name(at, ast.Load()), node.ctx)
        return ast.copy_location(read, node)

    body = replaced_in(s.body, by_place)
    return quoted(s, "for at in range(len(whole)): body", at=at, whole=whole, body=body)
