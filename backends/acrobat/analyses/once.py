"""Each analysis of a program runs once: what it finds is kept with the program, which never changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar, cast

from backends.acrobat.ir.nodes import Program

P = ParamSpec("P")
T = TypeVar("T")


def once(analysis: Callable[Concatenate[Program, P], T]) -> Callable[Concatenate[Program, P], T]:
    """The analysis, which then runs for a program the first time only. Its further arguments are other facts about the same
    program, so they do not tell one result from another."""

    @wraps(analysis)
    def known(program: Program, *args: P.args, **kwargs: P.kwargs) -> T:
        if analysis not in program.known:
            program.known[analysis] = analysis(program, *args, **kwargs)
        found: T = program.known[analysis]
        return found

    return cast("Callable[Concatenate[Program, P], T]", known)
