"""Functions of Python's module `math` on numbers that are known at run time only."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

from backends.acrobat import library
from backends.acrobat.core.host import MATH, MATH_OF_TWO
from backends.acrobat.core.types import FLOAT, INT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.builtins.builtins import builtin
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lists import as_list
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.scalars.operators import as_int
from backends.acrobat.frontend.evaluator.tables import LIBRARY_RULES, NEED_VALUES
from backends.acrobat.frontend.kinds import is_number, known, nothing_known, type_or_none
from backends.acrobat.frontend.values import Static, Value, unknown

NAMES = {getattr(math, name): name for name in (*MATH, *MATH_OF_TWO, *library.MATHEMATICS)}
OF_INTS = ("gcd", "lcm", "factorial", "comb", "perm", "isqrt")
"""Functions that take ints only."""
OF_VALUES = ("prod", "dist")
"""Functions that take lists."""


def _is_of_math(function: Any) -> bool:
    """Whether an object is one of the functions of `math` that are in the language."""
    return callable(function) and getattr(function, "__module__", "") == "math" and function in NAMES


NEED_VALUES.append(lambda callee: isinstance(callee, Static) and _is_of_math(callee.value))


def _of_math(function: Any) -> Callable[..., Value] | None:
    """The handler of a function of `math`; None for other objects."""
    if not _is_of_math(function):
        return None
    name = NAMES[function]

    def work(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
        if any(nothing_known(a) for a in (*args, *kwargs.values())):
            return unknown()
        if all(known(a)[0] for a in (*args, *kwargs.values())):
            try:
                return Static(function(*(known(a)[1] for a in args), **{k: known(a)[1] for k, a in kwargs.items()}))
            except (TypeError, ValueError, ArithmeticError) as error:
                return f.problem(node, f"{type(error).__name__}: {error}")
        if name in OF_VALUES:
            given = [as_list(f, node, iterable(f, a)) for a in args]
            return f.program.call(f, node, library.MATHEMATICS[name], given, kwargs)
        numbers = [a if is_number(a) else builtin(f, node, "float", [a], {}, "") for a in args]  # a tensor of one element
        if any(map(nothing_known, numbers)):
            return unknown()
        wrong = next((a for a in numbers if not is_number(a)), None)
        if wrong is not None:
            return f.problem(node, f"`math.{name}` takes numbers, not {describe(type_or_none(wrong))}")
        numbers = [as_int(f, a) for a in numbers]
        if name in OF_INTS and any(type_or_none(a) != INT for a in numbers):
            return f.problem(node, f"`math.{name}` takes ints")
        if name == "hypot" and len(numbers) == 1:
            return f.program.call(f, node, library.MATHEMATICS["fabs"], numbers, kwargs)
        if len(numbers) == (2 if name in MATH_OF_TWO else 1) and not kwargs and name not in library.MATHEMATICS:
            return f.host(f"math.{name}", numbers, FLOAT, hint or name)
        if name == "log" and len(numbers) == 2:
            return f.program.call(f, node, library.mathematics.log_to_base, numbers, {})
        if name not in library.MATHEMATICS:
            return f.problem(node, f"`math.{name}` does not take {len(numbers)} numbers")
        return f.program.call(f, node, library.MATHEMATICS[name], numbers, kwargs)

    return work


LIBRARY_RULES.append(_of_math)
