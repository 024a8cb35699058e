"""Whether values of one type of the program are of a class in Python, as far as that is known at compile time."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from backends.acrobat.core.types import ScalarT
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.types import SYMBOL
from backends.acrobat.frontend.values import Static, Value, type_or_none
from backends.acrobat.library import __name__ as LIBRARY

NUMBERS: dict[str, type] = {"int": int, "float": float, "bool": bool}


def is_of_classes(f: Frame, node: ast.AST, value: Value, classes: Sequence[type], exactly: bool = False) -> Static | None:
    """Whether a number or a string is an instance of one of `classes`, or with `exactly` of one of these themselves; None for
    other values. A problem is noted where a float of the program may be an int in Python, which the classes tell apart; not in
    the library, which asks what a number is in the program."""

    def takes(cls: type) -> bool:
        return cls in classes if exactly else issubclass(cls, tuple(classes))

    match type_or_none(value):
        case ScalarT(kind):
            found = takes(NUMBERS[kind])
            asks_python = (
                kind == "float" and takes(int) != found and not getattr(f.function, "__module__", "").startswith(LIBRARY)
            )
            if asks_python and not f.program.datatypes.is_float_in_python():
                what = "an int is a float where floats are in its place, so that `isinstance` does not tell them apart here"
                f.problem(node, what, "keep numbers of the two types in fields or names of their own")
            return Static(found)
        case t if t is SYMBOL and not f.program.datatypes.has_enums:
            return Static(takes(str))
    return None
