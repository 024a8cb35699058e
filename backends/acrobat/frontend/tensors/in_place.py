"""Tensors that are changed in place, under all their names."""

from __future__ import annotations

from collections.abc import Callable

from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.kinds import is_tensor, is_unknown
from backends.acrobat.frontend.values import Dyn, Value, unknown
from backends.acrobat.ir import nodes as n

KEEPS_TYPE = "a tensor that is changed in place keeps its shape and type"


def in_place(f: Frame, x: Value, make: Callable[[Dyn], Value]) -> Value:
    """Change `x` in place to what `make` gives, under all its names. Raises Refused where these cannot all be known."""
    if is_unknown(x):
        return unknown()
    if not is_tensor(x):
        what = "this changes a tensor in place that may be seen under another name"
        raise Refused(what, "leave the `_` of the method out: the result is a new tensor then")
    builder = f.builder
    before = f.atom(x)
    if not isinstance(before, n.Var) or before.name not in builder.fresh:
        raise Refused(
            "this changes a tensor in place that may be seen elsewhere: it was not made here, or is part of another value",
            "leave `inplace=True`, or the `_` of a method, out: the result is a new tensor then",
        )
    after = make(Dyn(before))
    if is_unknown(after):  # an operand that a later round knows, such as what a recursion gives
        return after
    if not isinstance(after, Dyn) or not isinstance(after.atom, n.Var) or after.type != before.type:
        raise Refused(KEEPS_TYPE, "assign the result to a name instead")
    builder.change(before, after.atom)
    f.new_lists.discard(after.atom.name)  # the names of the tensor have it
    return after
