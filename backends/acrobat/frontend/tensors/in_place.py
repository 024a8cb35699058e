"""Tensors that are changed in place, under all their names."""

from __future__ import annotations

import ast
from collections.abc import Callable

from backends.acrobat.frontend.evaluator.changes.assigned_items import is_int, put_item
from backends.acrobat.frontend.evaluator.changes.indices import changes_something
from backends.acrobat.frontend.evaluator.changes.putting import give
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.kinds import is_array, is_tensor, is_unknown, variable_of
from backends.acrobat.frontend.specials import Method
from backends.acrobat.frontend.tensors.new_tensors import note_new, of_varying_extent
from backends.acrobat.frontend.values import Dyn, Value, unknown
from backends.acrobat.ir import nodes as n

KEEPS_TYPE = "a tensor that is changed in place keeps its shape and type"


def in_place(f: Frame, x: Value, make: Callable[[Dyn], Value], node: ast.AST | None = None) -> Value:
    """Change `x` in place to what `make` gives, under all its names. `node` is the call that does so, if one does. Raises
    Refused where the names cannot all be known."""
    if is_unknown(x):
        return unknown()
    if not is_tensor(x) and not of_varying_extent(x):
        what = "this changes a tensor in place that may be seen under another name"
        raise Refused(what, "leave the `_` of the method out: the result is a new tensor then")
    builder = f.builder
    before, bound = f.atom(x), len(builder.bindings)
    is_fresh = isinstance(before, n.Var) and before.name in builder.fresh
    name = None if is_fresh else _only_name(f, node, before)
    part = changed_part(f, node) if not is_fresh and name is None else None
    if not is_fresh and name is None and part is None:
        raise Refused(
            "this changes a tensor in place that may be seen elsewhere: it was not made here, or is part of another value",
            "leave `inplace=True`, or the `_` of a method, out: the result is a new tensor then",
        )
    with f.broadcasting((1,)):
        after = make(Dyn(before))
    if is_unknown(after):  # an operand that a later round knows, such as what a recursion gives
        return after
    if not isinstance(after, Dyn) or not isinstance(after.atom, n.Var) or after.type != before.type:
        raise Refused(KEEPS_TYPE, "assign the result to a name instead")
    if name is not None:
        return given_to(f, name, bound, after)
    if part is not None:
        put_item(f, part, part, after)
        f.builder.fresh.discard(variable_of(after))
        return after
    note_new(f, bound, after)
    builder.change(before, after.atom)  # type: ignore[arg-type]
    f.new_lists.discard(after.atom.name)  # the names of the tensor have it
    return after


def changed_part(f: Frame, node: ast.AST | None) -> ast.Subscript | None:
    """The part that a call like `t[i].add_(x)` changes of a tensor to which its name alone refers; None for other calls. A part
    that is chosen by a mask, a list or a tensor is a copy."""
    match node:
        case ast.Call(ast.Attribute(owner)) if isinstance(f.callees.get(node), Method):
            part: ast.expr = owner
            while isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr.endswith("_"):
                part = part.func.value  # `t[i].add_(x).mul_(y)`
        case ast.Call(args=[first, *_]):
            part = first
        case _:
            return None
    match part:
        case ast.Subscript(ast.Name(name), index) if name in f.owned and is_array(f.env.get(name)):
            entries = index.elts if isinstance(index, ast.Tuple) else [index]
            if changes_something(f, index) or not all(isinstance(e, ast.Slice) or is_int(f, e) for e in entries):
                return None
            return ast.copy_location(ast.Subscript(part.value, index, ast.Store()), part)
    return None


def given_to(f: Frame, name: str, bound: int, after: Value) -> Value:
    """The value of a call that has changed the tensor of `name` in place, which alone had it, to `after`: the name has it.
    `bound` is as for `note_new`."""
    note_new(f, bound, after)
    give(f, name, after)
    f.new_lists.discard(variable_of(after))
    return after


def _only_name(f: Frame, node: ast.AST | None, tensor: n.Atom) -> str | None:
    """The name that alone refers to a tensor which a call changes, where the code around the call has made it and computes
    nothing of its result in the same expression; None if there is none."""
    variable = getattr(tensor, "name", "")
    if not isinstance(node, ast.Call) or node in f.users or not f.builder.has_made(variable):
        return None
    written = [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
    names = [x.id for x in written if isinstance(x, ast.Name) and x.id in f.owned]
    return next((x for x in names if variable_of(f.env.get(x)) == variable), None)
