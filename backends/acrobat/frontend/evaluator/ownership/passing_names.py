"""Names for views of a tensor that are only computed with, and no more once the tensor changes: `row = t[i]`, then
`t[i] = self.cell(x, row)`. They do not count as other names for the tensor."""

from __future__ import annotations

import ast

from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.ownership.keeping import is_tensor_of_numbers, makes_new, parents_in
from backends.acrobat.frontend.evaluator.ownership.tensor_changes import may_change, read_before_changes, statements_behind
from backends.acrobat.frontend.evaluator.syntax.reading import is_own
from backends.acrobat.frontend.specials import Method
from backends.acrobat.frontend.syntax_nodes import every_node, is_variable, mentions

ASKING = frozenset({"shape", "ndim", "dtype", "device"})
"""Attributes of a tensor that show nothing of its memory."""


def is_passing(f: Frame, s: ast.stmt, name: str, tensor: str) -> bool:
    """Whether the name that the statement `s` gives a view of a tensor is only computed with behind it, and read no more once
    the tensor may have changed. False, too, where these statements read the tensor and do not change it: it may get another
    name."""
    later = statements_behind(f, s)
    if later is None or f.definition is None or not is_own(f.definition, name):
        return False
    late = [x for b in f.definition.body for x in every_node(b) if isinstance(x, ast.GeneratorExp)]  # computed later on
    if mentions(late, name) or mentions(later, tensor) and not any(may_change(one, tensor) for one in later):
        return False
    if not read_before_changes(f.definition.body, s, later, name, tensor):
        return False
    until = next((k for k, one in enumerate(later) if _gives(one, name)), len(later))
    reads = [x for one in later[: until + 1] for x in mentions(one, name, ast.Load)]
    return all(_only_computed_with(f, x) for x in reads)


def _gives(s: ast.stmt, name: str) -> bool:
    return isinstance(s, ast.Assign) and any(is_variable(t, name) for t in s.targets)


def _only_computed_with(f: Frame, read: ast.expr) -> bool:
    """Whether what reads a view computes a new value of it, or of a view of it."""
    parents = parents_in(f.definition) if f.definition is not None else {}
    node: ast.AST = read
    while (around := parents.get(node)) is not None:
        match around:
            case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.AugAssign() | ast.If() | ast.While() | ast.FormattedValue():
                return node is not getattr(around, "target", None)
            case ast.Subscript(_, index):
                if node is index:
                    return True
            case ast.Attribute(_, attribute):
                if attribute in ASKING:
                    return True
                call = parents.get(around)
                if isinstance(call, ast.Call) and call.func is around:
                    return makes_new(f, call, Method(f.env[_root(node)], attribute) if _root(node) in f.env else None)
                if attribute not in ("T", "mT"):
                    return False
            case ast.Call():
                return makes_new(f, around, None)
            case ast.List() | ast.Tuple() | ast.keyword():
                pass
            case ast.Assign([ast.Subscript() as item]):
                return is_tensor_of_numbers(f.env.get(root_of(item) or ""))
            case _:
                return False
        node = around
    return False


def _root(node: ast.AST) -> str:
    return (root_of(node) or "") if isinstance(node, ast.expr) else ""
