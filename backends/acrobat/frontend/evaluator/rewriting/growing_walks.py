"""Loops that append to the list over which they walk, `for path in paths: paths.append(...)`, as loops over an index.

Python's iterator over a list asks before each round whether its index is below the length that the list has by then. A `while`
loop does the same, for lists whose name the function gives to nothing but new lists of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.own_nodes import own_nodes, own_nodes_of
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted, replaced_in
from backends.acrobat.frontend.evaluator.syntax.reading import is_own
from backends.acrobat.frontend.syntax_nodes import is_variable, mentions

LENGTHENING = frozenset({"append", "extend", "insert"})
"""Methods of lists that make them longer."""


def growing_walks(definition: ast.FunctionDef, body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The body of a function with those of its loops over an index that lengthen the list which they walk over."""
    found = _found(definition)
    if not found:
        return list(body)
    places = {(s.lineno, s.col_offset) for s in found}

    def over_index(node: ast.AST) -> Any:
        return _over_index(node) if isinstance(node, ast.For) and (node.lineno, node.col_offset) in places else node

    return replaced_in(body, over_index)


def taken_for_lists(definition: ast.FunctionDef) -> list[ast.expr]:
    """What a function with such loops calls of which the form alone says that it makes lists, or numbers their elements."""
    loops = _found(definition)
    names = {_walked(s)[0] for s in loops}
    given = [value for x in own_nodes_of(definition) for t, value in _assigned(x) if isinstance(t, ast.Name) and t.id in names]
    return [x.func for x in (*given, *(s.iter for s in loops)) if isinstance(x, ast.Call)]


def _found(definition: ast.FunctionDef) -> list[ast.For]:
    loops = [s for s in own_nodes_of(definition) if isinstance(s, ast.For) and _lengthens(s, _walked(s)[0])]
    return [s for s in loops if _is_list_of_its_own(definition, s, _walked(s)[0])]


def _walked(s: ast.For) -> tuple[str, bool]:
    """The name of the list that a loop walks over, "" for others, and whether it numbers the elements with `enumerate`."""
    match s.iter:
        case ast.Name(name):
            return name, False
        case ast.Call(ast.Name("enumerate"), [ast.Name(name)], []) if isinstance(s.target, ast.Tuple):
            return name, len(s.target.elts) == 2
    return "", False


def _lengthens(s: ast.For, name: str) -> bool:
    """Whether the body of a loop puts something into a list, by its name, and gives the name no other one."""
    if not name or any(mentions([s.target, *s.body], name, context) for context in (ast.Store, ast.Del)):
        return False
    calls = (x.func for b in s.body for x in own_nodes(b) if isinstance(x, ast.Call))
    return any(isinstance(x, ast.Attribute) and x.attr in LENGTHENING and is_variable(x.value, name) for x in calls)


def _is_list_of_its_own(definition: ast.FunctionDef, s: ast.For, name: str) -> bool:
    """Whether all that a variable of a function is given is a new list, as one can see."""
    given = [value for x in own_nodes_of(definition) for target, value in _assigned(x) if is_variable(target, name)]
    return (
        is_own(definition, name)
        and all(map(_makes_list, given))
        and len(given) == len(mentions(definition.body, name, ast.Store, ast.Del))
    )


def _assigned(x: ast.AST) -> Sequence[tuple[ast.expr, ast.expr]]:
    match x:
        case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)) if len(targets) == len(values):
            return list(zip(targets, values, strict=True))
        case ast.Assign([target], value) | ast.AnnAssign(target, value=ast.expr() as value):
            return [(target, value)]
    return []


def _makes_list(node: ast.expr) -> bool:
    match node:
        case ast.Call(ast.Name(maker)):
            return maker in ("list", "sorted")
    return isinstance(node, (ast.List, ast.ListComp))


def _over_index(s: ast.For) -> list[ast.stmt]:
    name, is_numbered = _walked(s)
    numbered = "number = at; " if is_numbered else ""
    text = f"at = 0\nwhile at < len(whole):\n    {numbered}target = whole[at]; at += 1\n    body"
    number, target = s.target.elts if is_numbered else (s.target, s.target)  # type: ignore[attr-defined]
    start, loop = quoted(s, text, at=hidden("walked", s), whole=name, number=number, target=target, body=s.body)
    assert isinstance(loop, ast.While)
    loop.orelse = s.orelse
    return [start, loop]
