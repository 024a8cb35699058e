"""Elements of tensors of ints, which are numbers in the program and views in PyTorch: `first = ids[0]` shows what `ids[0] = 7`
does later, and `first += 1` changes `ids`. A name for one counts as another name for the tensor, unless it is read no more when
the tensor is changed."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.ownership.fresh import calls_own_function
from backends.acrobat.frontend.evaluator.ownership.ownership import class_called, seen_through_view
from backends.acrobat.frontend.evaluator.syntax.reading import KEEPING_METHODS, first_use, live_after, reads, way_to
from backends.acrobat.frontend.kinds import is_array, is_held_tensor, is_number, variable_of
from backends.acrobat.frontend.syntax_nodes import children, every_node, mentions
from backends.acrobat.frontend.values import TupleV, Value, unknown

COLLECTING = frozenset(
    {"list", "tuple", "set", "deque", "sorted", "reversed", "max", "min", "next", "enumerate", "zip", "iter"}
)
"""Functions of Python's that give their argument, or its elements, further."""


def note_element(f: Frame, node: ast.expr, value: Value) -> None:
    """Note that `value`, a number, is an element of a tensor of ints, as `node` says: a later `+=` would change the tensor, and
    where the number is kept the tensor has another name from here on."""
    if variable := variable_of(value):
        f.elements.add(variable)
    if _is_kept(f, node):
        seen_through_view(f, node)


def note_walked(f: Frame, target: ast.expr, iterated: ast.expr, item: Value) -> None:
    """Note the elements of tensors among what a loop over `iterated` assigns to its target in a round: `item`."""
    match iterated, target, item:
        case ast.Call(ast.Name("enumerate"), [whole, *_]), ast.Tuple([_, inner]), TupleV((_, part)):
            note_walked(f, inner, whole, part)
        case ast.Call(ast.Name("zip"), wholes), ast.Tuple(targets), TupleV(parts) if len(wholes) == len(targets) == len(parts):
            for whole, inner, part in zip(wholes, targets, parts, strict=True):
                note_walked(f, inner, whole, part)
        case _, ast.Name(name), _ if is_tensor_of_numbers(f.env.get(root_of(iterated) or "")):
            if is_number(value := f.env.get(name, unknown())):
                f.elements.add(variable_of(value))


def is_tensor_of_numbers(value: Any) -> bool:
    """Whether the elements of a value are views of it in PyTorch: it is a tensor, in whatever form the program has it."""
    return is_array(value) or is_held_tensor(value)


@lru_cache(maxsize=64)
def parents_in(definition: ast.FunctionDef) -> dict[ast.AST, ast.AST]:
    """Each node of a function -> the one that it is a part of."""
    return {child: node for node in every_node(definition) for child in children(node)}


def _is_kept(f: Frame, node: ast.AST) -> bool:
    """Whether the value of an expression gets a name or becomes a part of something, so that it is read later on."""
    parents, inside = parents_in(f.definition) if f.definition is not None else {}, False
    while (around := parents.get(node)) is not None:
        match around:
            case ast.List() | ast.Tuple() | ast.Set() | ast.Dict() | ast.ListComp() | ast.SetComp() | ast.DictComp():
                inside = True
            case ast.GeneratorExp() | ast.Starred() | ast.BoolOp():
                pass
            case ast.IfExp(test) if test is not node:
                pass
            case ast.Call(function, _) if node is not function:
                if _keeps(f, around):
                    return True
                if not (isinstance(function, ast.Name) and function.id in COLLECTING):
                    return False
            case ast.Assign([ast.Name(name)], value) if value is node and not inside:
                root = root_of(node) if isinstance(node, ast.Subscript) else None
                return root is None or not dead_at_changes(f, around, name, root)
            case ast.Assign([ast.Subscript() as item], value) if value is node and not inside:
                return not is_tensor_of_numbers(f.env.get(root_of(item) or ""))
            case ast.Assign() | ast.AnnAssign() | ast.NamedExpr() | ast.Lambda() | ast.Yield():
                return True
            case ast.AugAssign():
                return inside
            case _:
                return False
        node = around
    return False


def _keeps(f: Frame, call: ast.Call) -> bool:
    """Whether a call may keep its arguments, or give them back: it is one of the source's functions, of a class, or puts them
    into a list."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in KEEPING_METHODS | {"extend"}:
        return True
    return call in f.handed_on or class_called(f, call) is not None or calls_own_function(f, call)


def dead_at_changes(f: Frame, s: ast.stmt, name: str, tensor: str) -> bool:
    """Whether a name that the statement `s` gives a view of a tensor is certainly read no more once the tensor is changed
    under its own name, and gets no further names itself. False where that is not plain to see."""
    later = statements_behind(f, s)
    if later is None or f.definition is None:
        return False
    inner = [x for one in later for x in every_node(one)]
    indices = {x.slice for x in inner if isinstance(x, ast.Subscript)}
    if any(_gives_on(x, name) for x in inner if x not in indices):
        return False
    return read_before_changes(f.definition.body, s, later, name, tensor)


def statements_behind(f: Frame, s: ast.stmt) -> list[ast.stmt] | None:
    """The statements that follow the statement `s` in its body; None of one that is not in the function as it is written."""
    way = way_to(f.definition.body, s) if f.definition is not None else []
    return list(way[-1][0][way[-1][1] + 1 :]) if way else None


def read_before_changes(body: Sequence[ast.stmt], s: ast.stmt, later: Sequence[ast.stmt], name: str, tensor: str) -> bool:
    """Whether a name that the statement `s` of a function's `body` gives a value is read no more once the tensor may have been
    changed by the statements `later`, those behind `s`, nor behind these."""
    changed, dead = _read_before_changes(later, name, tensor, False)
    if changed is None:
        return False
    return dead or not live_after(body, later[-1] if later else s, name)


def _read_before_changes(body: Sequence[ast.stmt], name: str, tensor: str, changed: bool) -> tuple[bool | None, bool]:
    """Whether the statements change the tensor, if they read the name only before they do, or else None; and whether they give
    the name another value. `changed`: the tensor was changed before."""
    for one in body:
        use = first_use([one], name)
        if use and changed:
            return None, False
        match one:
            case ast.If(test, then, orelse):
                arms = [_read_before_changes(arm, name, tensor, may_change(test, tensor)) for arm in (then, orelse)]
                if any(arm is None for arm, _ in arms):
                    return None, False
                changed = changed or any(arm for arm, _ in arms)
            case _ if may_change(one, tensor):
                last = isinstance(one, (ast.Assign, ast.AugAssign)) and not may_change(one.value, tensor)
                if use and not last:
                    return None, False
                changed = True
        if use is False:
            return changed, True
    return changed, False


def _gives_on(node: ast.AST, name: str) -> bool:
    """Whether a node gives the value of a name to another name, a list, or a function inside."""
    match node:
        case ast.Assign(value=ast.Name(read)) | ast.NamedExpr(value=ast.Name(read)) | ast.AnnAssign(value=ast.Name(read)):
            return read == name
        case ast.List() | ast.Tuple() | ast.Set() | ast.Dict() | ast.IfExp():
            return any(isinstance(x, ast.Name) and x.id == name and isinstance(x.ctx, ast.Load) for x in children(node))
        case ast.Call(ast.Attribute(attr=method), arguments) if method in KEEPING_METHODS:
            return any(reads(a, name) for a in arguments)
        case ast.Lambda() | ast.FunctionDef():
            return bool(mentions(node, name))
    return False


def may_change(s: ast.stmt | ast.expr, tensor: str) -> bool:
    """Whether a statement, or an expression, may change a tensor in place, or give its name another value."""
    for x in every_node(s):
        match x:
            case ast.Subscript() | ast.Name() if not isinstance(x.ctx, ast.Load) and root_of(x) == tensor:
                return True
            case ast.Call(function, arguments, keywords):
                if any(reads(a, tensor) for a in (*arguments, *(k.value for k in keywords))):
                    return True
                if isinstance(function, ast.Attribute) and function.attr.endswith("_") and root_of(function) == tensor:
                    return True
    return False
