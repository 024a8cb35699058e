"""Types of trees that the model makes: numbers or strings beside tuples or lists of such, to any depth.

    bracket = (nodes[i], nodes[i + 1])                  a loop puts trees together: ints, and pairs of trees
    return (self.tree(i, k), self.tree(k, j))           a recursion does, and ends with `return i`
    children = [(label, children)]                      each round goes around what the round before has made

An attempt that ends with problems tells which leaf and which tuple or list were met in one place. Where parts of these are not
known, they are what the recursion itself gives: trees. Else trees stand wherever there are leaves of that type.

    return (label, word)                                a string, or a list of unknown elements, beside a number:
    return (label, [self.tree(part) for part in parts])

That the elements are trees is a guess. The attempt that begins with it meets a list of numbers beside such trees, which tells
the one after that what the elements are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from backends.acrobat.core.types import ListT, TupleT
from backends.acrobat.frontend.types import (
    NEVER,
    UNKNOWN,
    NeverT,
    UnknownT,
    contains_unknown,
    is_leaf,
    is_never_filled,
    is_node,
)

Pair = tuple[Any, Any]
"""The types of a leaf and of a node."""
Guess = tuple[Any, str]
"""The type of a leaf, and the word in `PYTHON_TYPES` for nodes of which no more is known."""
Optional = Callable[[Any], Any]
"""Gives the type of what is of another type or None."""


def leaf_and_node(types: Sequence[Any]) -> Pair | None:
    """The type of numbers or strings, and that of tuples or lists, where values are of these types; else None."""
    leaves = {t for t in types if is_leaf(t)}
    nodes = [t for t in types if is_node(t)]
    if len(leaves) != 1 or not nodes or any(contains_unknown(t) for t in types if t is not nodes[0]):
        return None
    return (*leaves, nodes[0])


def is_open(pair: Pair, optional: Optional) -> bool:
    """Whether there are leaves in a node, also where one may be None, or parts of which nothing is known and that may be such.
    `optional` gives the type of what may be None."""
    leaf, node = pair
    if contains_unknown(node) or is_never_filled(node):
        return True
    return any(has_leaf(node, t) for t in (leaf, optional(leaf), NEVER))


def with_trees_below(node: Any, leaf: Any, tree: Any, optional: Optional) -> Any:
    """The type of the tuples or lists of trees, given what is known of them, and the types of a leaf and of such a tree. Where
    a leaf may be None, a tree may be."""
    node = replace(node, item=UNKNOWN) if is_never_filled(node) else node
    return _filled(node, {} if contains_unknown(node) else {leaf: tree, optional(leaf): optional(tree)}, tree)


def _filled(type: Any, leaves: Mapping[Any, Any], tree: Any, inside: bool = False) -> Any:
    """A type with `tree` in place of what is unknown, and of leaves what `leaves` says; with `tree` also in place of tuples
    inside of tuples that have such leaves."""
    match type:
        case UnknownT() | NeverT():
            return tree
        case TupleT(items) if not inside or not leaves:
            return replace(type, items=tuple(_filled(t, leaves, tree, True) for t in items))
        case ListT(item):
            return replace(type, item=_filled(item, leaves, tree, isinstance(item, ListT)))
    if type in leaves:
        return leaves[type]
    return tree if any(has_leaf(type, leaf) for leaf in leaves) else type


def is_guess(node: Any) -> bool:
    """Whether the type of a tuple or a list says nothing of its elements, so that a tree takes them for trees."""
    return isinstance(node, ListT) and node.item in (UNKNOWN, NEVER)


def with_replaced(node: Any, others: Mapping[Any, Any]) -> Any:
    """The type of a node with others in place of some types inside of it, as `others` says."""
    match node:
        case TupleT(items):
            return replace(node, items=tuple(with_replaced(t, others) for t in items))
        case ListT(item):
            return replace(node, item=with_replaced(item, others))
    return others.get(node, node)


def form_of(node: Any) -> Any:
    """What tells nodes of several kinds apart: how long tuples are, if that does not vary, and what is around them."""
    match node:
        case TupleT(items):
            return len(items)
        case ListT(item):
            return node.kind, form_of(item)
    return None


def has_leaf(type: Any, leaf: Any) -> bool:
    """Whether a type is that of leaves, or of tuples or lists with leaves in them."""
    match type:
        case TupleT(items):
            return any(has_leaf(t, leaf) for t in items)
        case ListT(item, rows=None):
            return has_leaf(item, leaf)
    return bool(type == leaf)
