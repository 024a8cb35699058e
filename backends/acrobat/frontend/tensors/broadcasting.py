"""Which operands of an operation are broadcast along an extent that varies (how is in `evaluator/lists/broadcasting.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from backends.acrobat import library
from backends.acrobat.frontend.evaluator.frame.frame import Frame


def broadcast_in(f: Frame, operands: Sequence[Any]) -> Sequence[int]:
    """The numbers of the operands of which an extent that varies is broadcast where it is 1: all, but for a tensor that is
    changed in place, and in the functions of the library that take no operands of two shapes."""
    if f.broadcast is not None:
        return f.broadcast
    inside = f.program.asked is not None and not library.broadcasts(f.function)
    return () if inside else range(len(operands))
