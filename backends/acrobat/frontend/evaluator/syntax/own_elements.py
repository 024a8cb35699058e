"""Names for elements of a list that a function makes for itself, and whose elements it makes too, as `path` in `paths`.

Nothing refers to such an element once the function has ended: the list is gone, and neither it nor an element was put anywhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from backends.acrobat.frontend.evaluator.syntax.reading import is_own
from backends.acrobat.frontend.syntax_nodes import every_node, is_variable, mentions

READING = ("len", "list", "set", "sum")
"""Python's own functions of which the name alone says here that they keep no reference to a list."""


def is_own_element(definition: ast.FunctionDef | None, name: str) -> bool:
    """Whether all that a name of a function is ever given are elements of such a list, which are lists, and the function does
    nothing with the name but read it and give it back."""
    if definition is None or not is_own(definition, name):
        return False
    nodes = [x for s in definition.body for x in every_node(s)]
    wholes = {whole for x in nodes for whole in _given(x, name)}
    known = sum(is_variable(part, name) for x in nodes for part in (*_read(x), *_bound(x)))
    return (
        bool(wholes)
        and "" not in wholes
        and known == len(mentions(definition.body, name))
        and all(is_own(definition, whole) and _holds_own_elements(definition, nodes, whole, name) for whole in wholes)
    )


def _given(x: ast.AST, name: str) -> list[str]:
    """The name of the list of which a statement gives a name an element; "" where it gives something else."""
    match x:
        case ast.Assign([ast.Name(target)], ast.Subscript(ast.Name(whole), index)) if target == name:
            return ["" if isinstance(index, ast.Slice) else whole]
        case ast.For(ast.Name(target), ast.Name(whole)) if target == name:
            return [whole]
        case ast.Assign([ast.Name(target)]) | ast.For(ast.Name(target)) if target == name:
            return [""]
    return []


def _bound(x: ast.AST) -> list[ast.expr]:
    match x:
        case ast.Assign([target]) | ast.For(target):
            return [target]
    return []


def _read(x: ast.AST) -> Iterator[ast.expr]:
    """The expressions below a node that it reads only, and of which it keeps no reference if they are lists of plain values."""
    match x:
        case ast.Subscript(value, _, ast.Load()) | ast.Starred(value, ast.Load()) | ast.Return(ast.expr() as value):
            yield value
        case ast.BinOp(left, _, right):
            yield from (left, right)
        case ast.Compare(left, _, others):
            yield from (left, *others)
        case ast.Call(ast.Name(function), [value], []) if function in READING:
            yield value
        case ast.comprehension(iter=value):
            yield value


def _holds_own_elements(definition: ast.FunctionDef, nodes: list[ast.AST], whole: str, name: str) -> bool:
    """Whether all that is in a list is made where it is put in, and nothing but `name` is given an element."""
    known = 0
    for x in nodes:
        match x:
            case ast.Assign([ast.Name(target)], ast.List(elements)) if target == whole:
                known += all(map(_makes_list, elements))
            case ast.Call(ast.Attribute(ast.Name(owner), "append"), [element], []) if owner == whole:
                known += _makes_list(element)
            case ast.Assign([ast.Name(target)], ast.Subscript(ast.Name(owner))) if (target, owner) == (name, whole):
                known += 1
            case ast.For(ast.Name(target), ast.Name(owner)) if (target, owner) == (name, whole):
                known += 1
            case ast.Call(ast.Name("len"), [ast.Name(owner)], []) if owner == whole:
                known += 1
    return known == len(mentions(definition.body, whole))


def _makes_list(node: ast.expr) -> bool:
    return isinstance(node, (ast.List, ast.ListComp, ast.BinOp))
