"""Each analysis of a program runs once: what it finds is kept with the program, which never changes.

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
    """Wraps an analysis so that it runs only when it is first asked about a program object. Its further arguments have to be
    facts that follow from the program: later calls give the first result, whatever theirs are."""

    @wraps(analysis)
    def known(program: Program, *args: P.args, **kwargs: P.kwargs) -> T:
        if analysis not in program.known:
            program.known[analysis] = analysis(program, *args, **kwargs)
        found: T = program.known[analysis]
        return found

    return cast("Callable[Concatenate[Program, P], T]", known)
