"""Numbers in the text of C++ and CUDA C++."""

from __future__ import annotations

import math


def number(value: float) -> str:
    """A float32 literal, in brackets if it has a sign: `-` and `-0.0f` would make a decrement."""
    if math.isnan(value):
        return "(INFINITY - INFINITY)"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    text = repr(float(value))
    return f"{text}f" if math.copysign(1.0, value) > 0 else f"({text}f)"
