"""The nodes of a syntax tree, as `ast.walk` and `ast.iter_child_nodes` give them, in less time: the front end asks for them so
often that this is a good part of what it costs to compile a model that the cache has."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache

Place = tuple[int, int, int, int]
"""The lines and columns at which an expression begins and ends: first line, first column, last line, last column."""

NO_NODES = frozenset({"ctx", "id", "attr", "type_comment", "kind"})
"""Fields in which there is a context (`Load`, `Store`), which says nothing that its parent does not, or no node at all."""


_fields: dict[type[ast.AST], tuple[str, ...]] = {}
"""The fields of each class of nodes that may have nodes in them."""


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below one, in the order of the source, without the contexts of names, attributes and items."""
    found: list[ast.AST] = []
    kind = type(node)
    if kind not in _fields:
        _fields[kind] = tuple(name for name in kind._fields if name not in NO_NODES)
    for name in _fields[kind]:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            found.append(value)
        elif isinstance(value, list):
            found += [x for x in value if isinstance(x, ast.AST)]
    return found


def every_node(node: ast.AST) -> list[ast.AST]:
    """A node and all nodes below it, level by level, without the contexts of names, attributes and items."""
    found = [node]
    for x in found:  # gets longer while it is walked over
        found += children(x)
    return found


def mentions(inside: ast.AST | Iterable[ast.AST], name: str, *contexts: type[ast.expr_context]) -> list[ast.Name]:
    """Where a name stands inside of a node, or of several; with `contexts` only where it is read (`ast.Load`), assigned to
    (`ast.Store`) or deleted (`ast.Del`)."""
    return [x for x in _names(inside, contexts) if x.id == name]


def names_in(inside: ast.AST | Iterable[ast.AST], *contexts: type[ast.expr_context]) -> list[str]:
    """The names that stand inside of a node, or of several, one for each place; `contexts` as in `mentions`."""
    return [x.id for x in _names(inside, contexts)]


def _names(inside: ast.AST | Iterable[ast.AST], contexts: tuple[type[ast.expr_context], ...]) -> Iterator[ast.Name]:
    for node in [inside] if isinstance(inside, ast.AST) else inside:
        for x in every_node(node):
            if isinstance(x, ast.Name) and (not contexts or isinstance(x.ctx, contexts)):
                yield x


@lru_cache(1024)
def before_brackets(definition: ast.FunctionDef) -> frozenset[ast.expr]:
    """What stands before the brackets of an item, anywhere in a function: the `xs` of each `xs[i]`."""
    return frozenset(x.value for x in every_node(definition) if isinstance(x, ast.Subscript))


def is_variable(node: ast.AST, name: str) -> bool:
    """Whether an expression is that name alone."""
    return isinstance(node, ast.Name) and node.id == name


def parameter_names(function: ast.FunctionDef | ast.Lambda) -> list[str]:
    """The parameters of a function that take one value each and may be named in a call."""
    return [a.arg for a in (*function.args.args, *function.args.kwonlyargs)]


def all_parameters(function: ast.FunctionDef) -> set[str]:
    """The parameters of a function, `*args` and `**kwargs` among them."""
    return {x.arg for x in every_node(function.args) if isinstance(x, ast.arg)}


def bound_names(function: ast.FunctionDef) -> set[str]:
    """The names to which a function, or one inside of it, gives values: others are those of the file, or Python's own."""
    inside = {x.name for x in every_node(function) if isinstance(x, (ast.FunctionDef, ast.ClassDef))}
    parameters = {x.arg for x in every_node(function) if isinstance(x, ast.arg)}
    return inside | parameters | {*names_in(function, ast.Store, ast.Del)}


def place_of(node: ast.expr) -> Place:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0
