"""Lists in attributes and items that a loop walks over, `for x in stack.items:`, while its body may change them.

A loop of the program walks over the list that exists when the loop begins; Python's loop would reach what the body appends, and
miss what it removes. So at the end of each round after which another may follow, the list must be as long as at the beginning;
a different length is an error of the instance. Replacing or reordering elements at the same length is refused, as far as the
source shows it (`rearranging`). Changes of lists with names are found at compile time (`unrolling.walking_over`), and so are
those of dictionaries, except assignments to entries: these may only use existing keys, which the length shows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from backends.acrobat.core.types import BOOL
from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.changes.scope import changed_in
from backends.acrobat.frontend.evaluator.choices.choice import choose, fail
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import length
from backends.acrobat.frontend.evaluator.loops.rearranging import only_gets_entries, rearranges
from backends.acrobat.frontend.evaluator.objects.referenced import lists_reached
from backends.acrobat.frontend.evaluator.syntax.bodies import stored
from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.kinds import is_container, is_unknown, kind
from backends.acrobat.frontend.syntax_nodes import every_node
from backends.acrobat.frontend.values import Dyn, Static, Value

WALKS = ("items", "keys", "values")
"""Methods of dictionaries whose results a loop walks over."""


@dataclass(frozen=True)
class Watched:
    """A list that a loop walks over, with how many elements it has when the loop begins. Indices in `path` have names."""

    path: ast.expr
    shown: str
    size: Value


def watched(f: Frame, s: ast.For | ast.While) -> list[Watched]:
    """The lists over which a loop walks that its body may change."""
    if not isinstance(s, ast.For) or not (paths := [*_places(s.iter), *_given_entries(f, s, s.iter)]):
        return []
    changed, bound = set(changed_in(f, s.body)), stored(s.body)
    found = []
    for path in paths:
        root = root_of(path)
        if _is_assigned(s, path) or not changed & {root, *lists_reached(f, path)}:
            continue
        if root in bound and not isinstance(path, ast.Name):
            continue
        named = _with_named_indices(f, path)
        value = f.borrowed(named)
        of_keys = kind(value) == "dict" and not any(_walks_over_values(x, path) for x in every_node(s.iter))
        if rearranges(f, s, path, of_keys and root not in bound):
            what = f"`{ast.unparse(path)}` gets other elements in a loop that walks over it"
            f.problem(s, what, f"walk over a copy: `list({ast.unparse(path)})`")
        if root not in bound and is_container(value) and isinstance(value, Dyn) and not is_unknown(value):
            found.append(Watched(named, ast.unparse(path), length(f, value)))
    return found


def check(f: Frame, s: ast.AST, lists: Sequence[Watched]) -> None:
    """Have it be an error of the instance where one of the lists is not as long as it was when the loop began."""
    for each in lists:
        value = f.borrowed(each.path)
        if not isinstance(value, Dyn) or not is_container(value) or is_unknown(value):
            continue
        same = f.host("eq", [length(f, value), each.size], BOOL)
        text = (
            f"RuntimeError: a loop walks over `{each.shown}`, which changes in the loop: walk over a copy, `list({each.shown})`"
        )
        choose(f, s, same, lambda: Static(0), lambda text=text: fail(f, text))  # type: ignore[misc]


def _places(node: ast.expr) -> Iterator[ast.expr]:
    """The attributes, items and dictionaries that a loop over `node` walks over, of variables."""
    match node:
        case ast.Attribute() | ast.Subscript() if root_of(node) is not None and not any(
            isinstance(x, (ast.Slice, ast.Call)) for x in every_node(node)
        ):
            yield node
        case ast.Call(ast.Attribute(owner, method), [], []) if method in WALKS:
            yield from [owner] if isinstance(owner, ast.Name) else _places(owner)
        case ast.Call(ast.Name("zip" | "enumerate" | "reversed"), args):
            for a in args:
                yield from _places(a)


def _given_entries(f: Frame, s: ast.For, node: ast.expr) -> Iterator[ast.expr]:
    """The names of dictionaries over whose keys a loop over `node` walks, and to whose entries its body does no more than
    assign."""
    match node:
        case ast.Name(name) if only_gets_entries(f, s, name):
            yield node
        case ast.Call(ast.Name("zip" | "enumerate" | "reversed"), args):
            for a in args:
                yield from _given_entries(f, s, a)


def _walks_over_values(node: ast.AST, path: ast.expr) -> bool:
    match node:
        case ast.Call(ast.Attribute(owner, "items" | "values"), [], []):
            return owner is path
    return False


def _is_assigned(s: ast.For, path: ast.expr) -> bool:
    """Whether the body of a loop may replace an attribute or item on a path by another list, so that a change there is not one
    of the list that the loop walks over."""
    parts = [x for x in every_node(path) if isinstance(x, (ast.Attribute, ast.Subscript))]
    names = {x.attr for x in parts if isinstance(x, ast.Attribute)}
    owners = {ast.dump(x.value) for x in parts if isinstance(x, ast.Subscript)}
    inside = [x for b in s.body for x in every_node(b) if isinstance(getattr(x, "ctx", None), ast.Store)]
    return any(
        isinstance(x, ast.Attribute)
        and x.attr in names
        or isinstance(x, ast.Subscript)
        and ast.dump(x.value).replace("Store()", "Load()") in owners
        for x in inside
    )


def _with_named_indices(f: Frame, path: ast.expr) -> ast.expr:
    """The path with hidden names for the indices in it, which have their values from before the loop."""
    match path:
        case ast.Attribute(owner, attr, ctx):
            return ast.copy_location(ast.Attribute(_with_named_indices(f, owner), attr, ctx), path)
        case ast.Subscript(owner, index, ctx) if not isinstance(index, ast.Constant):
            depth = sum(isinstance(x, ast.Subscript) for x in every_node(owner))
            at = ast.copy_location(ast.Name(hidden("walked", path, depth), ast.Load()), index)
            f.env[at.id] = f.expression(index)
            return ast.copy_location(ast.Subscript(_with_named_indices(f, owner), at, ctx), path)
        case ast.Subscript(owner, index, ctx):
            return ast.copy_location(ast.Subscript(_with_named_indices(f, owner), index, ctx), path)
    return path
