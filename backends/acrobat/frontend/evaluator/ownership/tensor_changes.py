"""Whether a name that shows a tensor is read after the tensor was changed under its own name."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.syntax.reading import first_use, live_after, reads, way_to
from backends.acrobat.frontend.syntax_nodes import every_node


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
