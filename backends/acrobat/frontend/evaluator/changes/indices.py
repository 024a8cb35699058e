"""Indices of places that are changed: those that change something themselves are computed once, before the place is looked
at; and what is computed with the change may move the items of the lists on the way to the place."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TypeVar

from backends.acrobat.core.types import BOOL, INT, DataT, ListT
from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.referenced import lists_reached, name_of_objects, shared_inside
from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.order import ListPath, Moved, path_of
from backends.acrobat.frontend.kinds import is_unknown, known, retyped, type_of, type_or_none
from backends.acrobat.frontend.syntax_nodes import every_node
from backends.acrobat.frontend.values import Static, Value

T = TypeVar("T")
LONGER_OR_SHORTER = frozenset({"append", "appendleft", "clear", "extend", "extendleft", "insert", "pop", "popleft", "remove"})
"""Methods of lists after which an index may mean another item."""


def in_source_order(f: Frame, node: ast.expr) -> ast.expr:
    """`node`, a chain of items and attributes that a statement changes. Indices of it that change something themselves, as
    `heads[stack.pop()]` does, are compiled here, once, and replaced by names in the chain that is returned. What is compiled
    from now on sees these changes."""
    match node:
        case ast.Attribute(owner, attr, ctx):
            inner = in_source_order(f, owner)
            return node if inner is owner else ast.copy_location(ast.Attribute(inner, attr, ctx), node)
        case ast.Subscript(owner, index, ctx):
            inner = in_source_order(f, owner)
            changes = changes_something(f, index)
            if changes and any(isinstance(x, ast.Slice) for x in (index, *getattr(index, "elts", ()))):
                raise Refused("a bound of this slice changes a list or an object", "give it a name first")
            named = index
            if changes:
                inner, named = found_before(f, inner, [index], lambda: named_index(f, node, index))
            return node if (inner, named) == (owner, index) else ast.copy_location(ast.Subscript(inner, named, ctx), node)
    return node


def changes_something(f: Frame, index: ast.expr) -> bool:
    """Whether computing an index changes a list or an object."""
    if not any(isinstance(x, ast.Call) for x in every_node(index)):
        return False
    entries = index.elts if isinstance(index, ast.Tuple) else [index]
    return bool(changed_by(f, [p for e in entries for p in (bounds_of(e) if isinstance(e, ast.Slice) else (e,))]))


def bounds_of(index: ast.Slice) -> list[ast.expr]:
    return [x for x in (index.lower, index.upper) if x is not None]


def changed_by(f: Frame, parts: Sequence[ast.expr]) -> set[str]:
    """The names whose lists or objects change where expressions are computed."""
    with f.changes(counted=False) as changed, f.trial():
        for part in parts:
            f.borrowed(part)
    return changed


def target_before(f: Frame, target: ast.Subscript | ast.Attribute, value: ast.expr) -> ast.Subscript | ast.Attribute:
    """The target of `target += value`, rewritten so that it can be compiled after the value, although Python looks up all but
    its last step first. Raises Refused as `found_before`."""
    if not any(isinstance(x, ast.Call) for x in every_node(value)):
        return target
    before = len(f.moves)
    if not (changed := changed_by(f, [value])):
        return target
    moves = {*f.moves[before:]}
    owner = _as_found(f, target.value, [value], changed, moves)
    _refuse_replaced(f, target.value, changed, moves)
    if isinstance(target, ast.Attribute):
        return ast.copy_location(ast.Attribute(owner, target.attr, target.ctx), target)
    index = target.slice
    if isinstance(index, ast.Tuple):
        index = ast.copy_location(
            ast.Tuple([_current_index(f, target, e, i) for i, e in enumerate(index.elts)], index.ctx), index
        )
    return ast.copy_location(ast.Subscript(owner, _current_index(f, target, index), target.ctx), target)


def _current_index(f: Frame, node: ast.Subscript, index: ast.expr, number: int = 0) -> ast.expr:
    """An index of `node`, or a tuple of several, with its present value, whatever happens later to the variables that it is
    computed from."""
    if isinstance(index, (ast.Slice, ast.Tuple)) or not any(isinstance(x, ast.Name) for x in every_node(index)):
        return index
    return named_index(f, node, index, number)


def named_index(f: Frame, node: ast.Subscript, index: ast.expr, number: int = 0) -> ast.expr:
    """A hidden name for the value of the index of `node`, or of one of several, which is computed here. Each one of a chain has
    its own."""
    depth = sum(isinstance(x, ast.Subscript) for x in every_node(node.value))
    at = ast.copy_location(ast.Name(hidden("index", node, depth, number), ast.Load()), index)
    f.env[at.id] = f.expression(index)
    return at


def found_before(f: Frame, node: ast.expr, computed: Sequence[ast.expr], compute: Callable[[], T]) -> tuple[ast.expr, T]:
    """Runs `compute`, which compiles the expressions `computed`, and returns its result after `node`, a chain of items and
    attributes that Python looks up first, as in `stack[-2].append(stack.pop())`. The chain is rewritten so that it still means
    the item that Python found. Raises Refused if the expressions change lists or attributes of the chain so that the source
    does not tell where the item is then."""
    calls = any(isinstance(x, ast.Call) for part in computed for x in every_node(part))
    if calls and any(isinstance(x, ast.Subscript) for x in _chain(node)):
        before = len(f.moves)
        changed = changed_by(f, computed)
        node = _as_found(f, node, computed, changed, {*f.moves[before:]})
    before = len(f.moves)
    with f.changes() as changed:
        values = compute()
    _refuse_replaced(f, node, changed, {*f.moves[before:]})
    return node, values


def _chain(node: ast.expr) -> list[ast.expr]:
    """The items and attributes of a chain, the last one first, and what it begins with."""
    return [node, *_chain(node.value)] if isinstance(node, (ast.Subscript, ast.Attribute)) else [node]


def _as_found(f: Frame, node: ast.expr, computed: Sequence[ast.expr], changed: set[str], moves: set[Moved]) -> ast.expr:
    """The chain `node` rewritten as `found_before` returns it. `changed` and `moves` say what computing the expressions
    changes."""
    match node:
        case ast.Attribute(owner, attr, ctx):
            inner = _as_found(f, owner, computed, changed, moves)
            return node if inner is owner else ast.copy_location(ast.Attribute(inner, attr, ctx), node)
        case ast.Subscript(owner, index, ctx) if not isinstance(index, ast.Slice):
            inner = _as_found(f, owner, computed, changed, moves)
            moved = _moved(f, node, owner, computed, changed, moves)
            if moved is index and changed:
                moved = _current_index(f, node, index)
            return node if (inner, moved) == (owner, index) else ast.copy_location(ast.Subscript(inner, moved, ctx), node)
    return node


def _moved(
    f: Frame, node: ast.Subscript, owner: ast.expr, computed: Sequence[ast.expr], changed: set[str], moves: set[Moved]
) -> ast.expr:
    """The index of an item of the list `owner` after the expressions have been computed."""
    index, path = node.slice, path_of(owner)
    with f.trial():
        whole = f.borrowed(owner)
        shared, of_items = shared_inside(f, type_or_none(whole)), type_or_none(opened(f, owner, whole))
    if _are_still(f, shared, changed) if shared else _is_apart(f, owner, changed):
        return index
    is_dict = isinstance(of_items, ListT) and of_items.container == "dict"
    if is_dict and not shared:  # a key stays the same
        moves = {m for m in moves if m.by_call}
    hows = {m.how for m in moves if m.how != "=" and (shared or m.path == path.item())}
    if not hows and not shared:
        return index
    if any(m.by_call for m in moves if shared or m.path == path.item()):
        direct = []
    else:
        direct = [x for part in computed for x in every_node(part) if _changes_list(x, path, bool(shared))]
    ends = [_end_taken(x) if ast.unparse(x.func.value) == ast.unparse(owner) else "" for x in direct]  # type: ignore[attr-defined]
    is_constant = isinstance(index, (ast.Constant, ast.UnaryOp))
    match index:
        case ast.Constant(int() as at) if ends and all(ends) and at >= (first := ends.count("first")):
            return ast.copy_location(ast.Constant(at - first), index)
        case ast.UnaryOp(ast.USub(), ast.Constant(int() as back)) if ends and all(ends) and back > (last := ends.count("last")):
            return ast.copy_location(ast.UnaryOp(ast.USub(), ast.Constant(back - last)), index)
        case _ if (not direct or not is_constant) and not is_dict and hows in ({"+"}, {"-"}):
            return _counted_from_start(f, node, owner)
    what = f"`{ast.unparse(owner)}` gets longer or shorter after `{ast.unparse(node)}` was found, or gets other items"
    raise Refused(what, "give what changes it a name before: then indices count in the list as it is after that")


def is_moved(f: Frame, node: ast.expr, changed: set[str], moves: Sequence[Moved]) -> bool:
    """Whether lists or attributes on a path may have got other items or values by the changes `moves`."""
    for part in _chain(node):
        with f.trial():
            shared = shared_inside(f, type_or_none(f.borrowed(part)))
        if not _are_still(f, shared, changed):
            return True
        if not _is_apart(f, part, changed) and {path_of(part), path_of(part).item()} & {m.path for m in moves}:
            return True
    return False


def _are_still(f: Frame, shared: Sequence[DataT], changed: set[str]) -> bool:
    """Whether no shared list (`shared_lists`) of these types is changed."""
    return not any(name_of_objects(f, c) in changed for t in shared for c in f.program.datatypes.cases[t.name])


def _is_apart(f: Frame, owner: ast.expr, changed: set[str]) -> bool:
    """Whether nothing that the variable at the root of a path contains is changed."""
    root = root_of(owner)
    return root in f.owned and root not in changed and not lists_reached(f, owner)


def _counted_from_start(f: Frame, node: ast.Subscript, owner: ast.expr) -> ast.expr:
    """A name for the index of `node` as it is now, counted from the start of the list. An index outside is an error."""
    whole, i = (opened(f, part, f.borrowed(part)) for part in (owner, node.slice))
    t = type_or_none(whole)
    if is_unknown(whole) or is_unknown(i) or not isinstance(t, ListT):
        return node.slice
    f.host("list.get", [whole, i], t.item, "before")
    return named_index(f, node, ast.copy_location(CompiledNode(from_end(f, whole, i)), node.slice))


def _refuse_replaced(f: Frame, node: ast.expr, changed: set[str], moves: set[Moved]) -> None:
    """Raises Refused where a variable or an attribute of a chain has got another value since Python has found it."""
    replaced = {m.path for m in moves if m.how == "=" and m.path.root}
    for part in _chain(node):
        if not isinstance(part, ast.Subscript) and path_of(part) in replaced and not _is_apart(f, part, changed):
            what = f"`{ast.unparse(part)}` gets another value after it was found to be changed here"
            raise Refused(what, "give what is computed for this change a name before")


def _changes_list(node: ast.AST, path: ListPath, shared: bool) -> bool:
    """Whether a node is a call of a method that makes a list at a path longer or shorter, or any `shared` one."""
    match node:
        case ast.Call(ast.Attribute(owner, method)):
            return method in LONGER_OR_SHORTER and (shared or path_of(owner) == path)
    return False


def _end_taken(node: ast.AST) -> str:
    """From which end of a list a call takes the item there, "first" or "last"; "" for others."""
    match node:
        case ast.Call(ast.Attribute(attr="pop"), []):
            return "last"
        case ast.Call(ast.Attribute(attr="popleft"), []) | ast.Call(ast.Attribute(attr="pop"), [ast.Constant(0)]):
            return "first"
    return ""


def from_end(f: Frame, xs: Value, i: Value) -> Value:
    """The index `i` of a list, counted from the start: a negative one has the list's length added."""
    is_known, at = known(i)
    if is_known and at >= 0:
        return i
    size = f.host("list.len", [retyped(xs, ListT(type_of(xs).item))], INT, "size")  # type: ignore[arg-type]
    if is_known:
        return f.host("add", [size, i], INT, "index")
    negative = f.host("int", [f.host("lt", [i, Static(0)], BOOL)], INT)
    return f.host("add", [i, f.host("mul", [size, negative], INT)], INT, "index")
