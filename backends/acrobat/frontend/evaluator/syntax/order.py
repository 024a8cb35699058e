"""The order in which the parts of an expression are evaluated, if one part changes a list or object that another one names; and
which parts are always evaluated.

A name stands for a value of the program, which does not change when the list does: in `f(xs, xs.pop())` the program would pass
the longer list, and Python passes the shorter one.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.syntax_nodes import children, every_node


@dataclass(frozen=True, slots=True)
class ListPath:
    """What names a list: `rows` for that variable, with `attribute` every attribute of that name, and with `items` every item
    of one of these, or every item of an item. The `root` is empty for what no path leads to."""

    root: str
    attribute: bool = False
    items: int = 0

    def item(self, depth: int = 1) -> ListPath:
        """The path of every item; `depth` says of how many items one in another."""
        return replace(self, items=self.items + depth)


class Moved(NamedTuple):
    """A change of places: items of lists or dictionaries may have moved, or attributes or variables may have other values.
    `path` says which, as `path_of` does, and `how` what happened: "+" for items added at the end, "-" for items taken from the
    end, "=" for other values, "" for everything else. `by_call`: a called function has done it."""

    path: ListPath
    how: str
    by_call: bool = False


def path_of(node: ast.expr) -> ListPath:
    """The path by which `Moved` names a list. Its root is empty for expressions that have none."""
    match node:
        case ast.Name(name):
            return ListPath(name)
        case ast.Attribute(attr=name):
            return ListPath(name, attribute=True)
        case ast.Subscript(owner):
            around = path_of(owner)
            return around.item() if around.root else around
    return ListPath("")


def read_too_early(parts: Sequence[ast.expr], changed: Mapping[ast.expr, set[str]]) -> list[int]:
    """The numbers of those of `parts`, evaluated one after the other, that name a list or object before a later one changes it.
    `changed` has the names that calls and items in the source change."""

    def changed_in(part: ast.expr) -> set[str]:
        return {name for x in every_node(part) if isinstance(x, ast.expr) for name in changed.get(x, ())}

    late = [changed_in(part) for part in parts]
    return [
        i
        for i, part in enumerate(parts)
        if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript)) and any(root_of(part) in x for x in late[i + 1 :])
    ]


def parts_of(node: ast.expr) -> list[ast.expr]:
    """The parts of an expression whose values are in its value, or are used when all of them are there, in order."""
    match node:
        case ast.Tuple(elts) | ast.List(elts) | ast.Set(elts):
            return [e.value if isinstance(e, ast.Starred) else e for e in elts]
        case ast.Dict(keys, values):
            return [x for k, v in zip(keys, values, strict=True) for x in (k, v) if x is not None]
        case ast.BinOp(left, _, right) | ast.Compare(left, [_], [right]):
            return [left, right]
        case ast.Subscript(value, index):
            return [value, index]
    return []


def always_computed(node: ast.AST) -> list[ast.AST]:
    """The direct parts of a node that are computed whenever it is, in order."""
    match node:
        case ast.IfExp(test):
            return [test]
        case ast.BoolOp(values=[first, *_]):
            return [first]
        case ast.Compare(left, _, [second, *_]):
            return [left, second]
        case ast.Lambda() | ast.FunctionDef() | ast.ClassDef():
            return []
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return [node.generators[0].iter]
    return children(node)
