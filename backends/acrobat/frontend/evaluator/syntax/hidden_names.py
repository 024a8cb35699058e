"""Names that no source can have: those of values that the compiler keeps beside the model's own, in the scope of a function.

There are three kinds. A variable that the compiler adds is hidden, as the number of a loop's round. A path such as `tree.left`
stands for an attribute of what a name of the source holds; it is forgotten when that name gets another value. And a path may
have facts: what is known of the value there, as its class.
"""

from __future__ import annotations

import ast

MARK = "·"
"""Begins each hidden name; a second one is between a path and a fact."""


def hidden(what: str, at: ast.expr | ast.stmt | None = None, *numbers: int) -> str:
    """A hidden name of which `what` is the visible part. Those for one expression or statement have its position behind that,
    and `numbers` where there are several for it."""
    position = (at.lineno, at.col_offset) if at is not None else ()
    return MARK + what + "_".join(map(str, (*position, *numbers)))


RETURNED = hidden("returned")
"""The name that carries the value of a `return` out of a loop."""


def is_hidden(name: str) -> bool:
    return name.startswith(MARK)


def visible(name: str) -> str:
    """A name without what hides it, for variables of the program."""
    return name.lstrip(MARK)


def passed_on(name: str, function: ast.FunctionDef) -> str:
    """The name that a variable of a function has in others that are given what captures it."""
    return f"{MARK}{name}{MARK}{function.name}{function.lineno}"


def as_written(name: str) -> str:
    """The name as the source has it, also of one that was passed on."""
    return visible(name).partition(MARK)[0]


def attribute_path(path: str, name: str) -> str:
    """The path of an attribute of what is at a path, or under a name of the source."""
    return f"{MARK}{path.removeprefix(MARK)}.{name}"


def fact_of(path: str, fact: str) -> str:
    """The key of a fact about what is at a path, or under a name of the source."""
    return attribute_path(path, MARK + fact)


def root_of_path(path: str) -> str:
    """The name of the source that a path begins with."""
    return path.removeprefix(MARK).partition(".")[0]


def is_below(path: str, name: str) -> bool:
    """Whether a path, or a fact, is of an attribute of what a name of the source holds."""
    return path.startswith(f"{MARK}{name}.")
