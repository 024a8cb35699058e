"""Crops: parts of an image of a size known at compile time, `image[:, y : y + 8, x : x + 8]`, at a place known later.

A slice whose bounds are known at run time has an extent that varies. Along one dimension it stays such, since at the end of a
sequence it may be shorter. A part along several dimensions is taken to be a crop, which lies inside of the image.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial

from backends.acrobat.core.types import BOOL, INT
from backends.acrobat.frontend.evaluator.choices.choice import choose, fail
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import Array, at
from backends.acrobat.frontend.kinds import variable_of
from backends.acrobat.frontend.tensors.lifting import as_rows, shape, stack_parts
from backends.acrobat.frontend.values import Dyn, Static, Value
from backends.acrobat.ir import nodes as n


def is_crop(f: Frame, x: Array, entries: Sequence[ast.expr]) -> bool:
    """Whether several of the entries of an index are slices of known sizes at places known at run time only."""
    slices = [e for e in entries if isinstance(e, ast.Slice) and e.lower is not None and e.upper is not None]
    if len(slices) < 2 or None in shape(x):
        return False
    with f.trial():
        return sum(size_of_window(f, f.expression(e.lower), f.expression(e.upper)) > 0 for e in slices) > 1  # type: ignore[arg-type]


def size_of_window(f: Frame, start: Value | None, stop: Value | None) -> int:
    """By how much `stop` is above `start`, if that is known and they are not; else 0."""
    if not isinstance(start, Dyn) or not isinstance(stop, Dyn) or isinstance(start.atom, n.Lit) or start.type != INT:
        return 0
    (first, a), (last, b) = (f.builder.offsets.get(variable_of(v), (variable_of(v), 0)) for v in (start, stop))
    return max(b - a, 0) if first == last else 0


def window(f: Frame, x: Array, dim: int, start: Value, size: int) -> Value:
    """The `size` parts of a tensor from `start` on, along a dimension of fixed extent. A window that is not all inside of the
    tensor is an error of the instance."""
    extent = shape(x)[dim]
    assert extent is not None
    first = f.host("ge", [start, Static(0)], BOOL, "inside")
    last = f.host("le", [start, Static(extent - size)], BOOL, "inside")
    inside = f.host("bool", [f.host("bitand", [first, last], INT)], BOOL, "inside")
    text = f"IndexError: a crop of {size} from {{0}} on is not inside of an extent of {extent}"
    rows = as_rows(f, x, dim)

    def parts() -> Value:
        return stack_parts(f, [at(f, rows, f.host("add", [start, Static(i)], INT, "at")) for i in range(size)], dim)

    return choose(f, ast.Pass(), inside, parts, partial(fail, f, text, [start]))
