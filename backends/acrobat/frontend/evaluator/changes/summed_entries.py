"""`target += ...` of a tensor in a list, dictionary or object, which changes it under all its names. It is refused but for
entries of a `defaultdict(int)` that are summed up before they are used: these may get new tensors."""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import Any

from backends.acrobat.core.types import TensorT
from backends.acrobat.frontend.evaluator.changes.mutation import refuse_tensor
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.syntax.summed_entries import made_of_numbers
from backends.acrobat.frontend.kinds import is_array, is_unknown, kind, type_or_none
from backends.acrobat.frontend.values import Static, Value, guess, unknown


def changes_part(f: Frame, s: ast.AugAssign, target: ast.expr, before: Value) -> bool:
    """Whether `target += ...` changes a tensor that is part of a list or object, for which a problem is noted."""
    tensor = before
    if isinstance(target, ast.Subscript):  # of a number or a tensor
        parts = f.mixed(f.without_none(type_or_none(before))).values()
        tensor = next((v for v in map(guess, parts) if is_array(v)), before)
    if _makes_new_tensor(f, s, target, before, type_or_none(tensor)):
        return False
    written = ast.unparse(target)
    return refuse_tensor(f, s, tensor, f"write `{written} = {written} + ...`, which makes a new tensor")


def _makes_new_tensor(f: Frame, s: ast.AugAssign, target: ast.expr, before: Value, tensor: Any) -> bool:
    """Whether nothing shows if `target += ...` makes a new tensor instead of changing one, of the type `tensor`: it is an entry
    of a dictionary whose entries are summed up before they are used."""
    match target:
        case ast.Subscript(ast.Name(name)) if kind(f.env.get(name, unknown())) == "dict" and isinstance(tensor, TensorT):
            made = made_of_numbers(f.definition, name)
        case _:
            return False
    if made is None or f.callees.get(made) != Static(defaultdict) or not f.is_builtin(made.args[0].id):  # type: ignore[attr-defined]
        return False
    with f.trial():
        after = f.expression(ast.copy_location(ast.BinOp(CompiledNode(before), s.op, s.value), s))
    return is_unknown(after) or type_or_none(after) in (tensor, type_or_none(before))
