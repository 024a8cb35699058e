"""Each analysis of a program runs once: its result is stored with the program, which never changes.

Source: our own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar, cast

from backends.acrobat.ir.nodes import Program

P = ParamSpec("P")
T = TypeVar("T")


def once(analysis: Callable[Concatenate[Program, P], T]) -> Callable[Concatenate[Program, P], T]:
    """The analysis with a cache: the first call for a program object runs it, and later calls return the same result, whatever
    their further arguments are. These therefore have to follow from the program, as facts of other analyses do."""

    @wraps(analysis)
    def cached(program: Program, *args: P.args, **kwargs: P.kwargs) -> T:
        if analysis not in program.facts:
            program.facts[analysis] = analysis(program, *args, **kwargs)
        result: T = program.facts[analysis]
        return result

    return cast("Callable[Concatenate[Program, P], T]", cached)
