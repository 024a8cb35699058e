"""`setattr(node, "left", child)` is compiled as `node.left = child`. Where the name of the attribute is one of a few that the
function writes out, it is an `if` over these:

    for cell, side in ((self.left, "lchild"), (self.right, "rchild")):
        setattr(tree, side, cell(tree.state))         # if side == "lchild": tree.lchild = ...
                                                      # else: tree.rchild = ...
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import copy

from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.quoting import copied, quoted, replaced_in
from backends.acrobat.frontend.syntax_nodes import all_parameters, bound_names, every_node, mentions


def with_named_attributes(definition: ast.FunctionDef) -> ast.FunctionDef:
    """A function with assignments in place of such calls."""
    if not taken_for_setattr(definition):
        return definition
    result = copy(definition)
    result.body = replaced_in(definition.body, lambda node: _assigned(definition, node))
    return result


def taken_for_setattr(definition: ast.FunctionDef) -> list[ast.expr]:
    """What a function calls of which the form alone says that it is Python's `setattr`."""
    if "setattr" in bound_names(definition):
        return []
    return [x.value.func for s in definition.body for x in every_node(s) if _call(x)]  # type: ignore[attr-defined]


def _call(node: ast.AST) -> list[ast.expr]:
    """The arguments of a `setattr` that is a statement; none for other nodes."""
    match node:
        case ast.Expr(ast.Call(ast.Name("setattr"), [_, _, _] as args, [])):
            return args
    return []


def _assigned(definition: ast.FunctionDef, node: ast.AST) -> ast.AST | list[ast.stmt]:
    """The statements in place of a node; the node where it is no such call, or the names are not known."""
    if not (args := _call(node)):
        return node
    owner, name, value = args
    names = list(dict.fromkeys(_names(definition, name) or ()))
    if not names or not all(x.isidentifier() and not x.startswith("__") for x in names):
        return node
    where: list[ast.stmt] = []
    if not isinstance(owner, ast.Name):  # Python finds the object first, and then the value
        where = quoted(node, "owner = whose", owner=hidden("owner"), whose=owner)
        owner = ast.copy_location(ast.Name(hidden("owner"), ast.Load()), owner)
    last = quoted(node, "owner.attribute = value", owner=copied(owner), attribute=names[-1], value=copied(value))
    for x in reversed(names[:-1]):
        text = "if name == constant:\n    owner.attribute = value\nelse: last"
        parts = {"owner": copied(owner), "value": copied(value), "constant": ast.Constant(x), "name": copied(name)}
        last = quoted(node, text, attribute=x, last=last, **parts)
    return [*where, *last]


def _names(definition: ast.FunctionDef, name: ast.expr) -> list[str] | None:
    """The texts that an expression may give, in a function that writes them all out; None where that is not so."""
    match name:
        case ast.Constant(str() as text):
            return [text]
        case ast.IfExp(_, one, other):
            return _of_all(_names(definition, x) for x in (one, other))
        case ast.Name(variable) if variable not in all_parameters(definition):
            sources = [x for s in every_node(definition) for x in _sources(s, variable)]
            if len(sources) == len(mentions(definition, variable, ast.Store, ast.Del)):
                return _of_all(None if isinstance(x, ast.Name) else _names(definition, x) for x in _flat(sources))
    return None


def _of_all(several: Iterator[list[str] | None]) -> list[str] | None:
    found = list(several)
    return None if None in found else [x for names in found for x in names or ()]


def _flat(sources: Sequence[Sequence[ast.expr]]) -> list[ast.expr]:
    return [x for source in sources for x in source]


def _sources(s: ast.AST, variable: str) -> Iterator[Sequence[ast.expr]]:
    """For each place where a statement gives a variable values that are written out there, these values."""
    match s:
        case ast.Assign([ast.Name(target)], value) if target == variable:
            yield [value]
        case ast.For(target, walked):
            yield from _walked(target, walked, variable)


def _walked(target: ast.expr, walked: ast.expr, variable: str) -> Iterator[Sequence[ast.expr]]:
    """As `_sources`, for a loop over `walked`."""
    match target, walked:
        case ast.Name(name), ast.Tuple(items) | ast.List(items) if name == variable:
            yield items
        case ast.Tuple([_, inner]), ast.Call(ast.Name("enumerate"), [whole], []):
            yield from _walked(inner, whole, variable)
        case ast.Tuple(parts), ast.Call(ast.Name("zip"), whole, _) if len(parts) == len(whole):
            for part, xs in zip(parts, whole, strict=True):
                yield from _walked(part, xs, variable)
        case ast.Tuple(parts), ast.Tuple(rows) | ast.List(rows) if all(
            isinstance(row, (ast.Tuple, ast.List)) and len(row.elts) == len(parts) for row in rows
        ):
            for i, part in enumerate(parts):
                yield from _walked(part, ast.List([row.elts[i] for row in rows], ast.Load()), variable)  # type: ignore[attr-defined]
