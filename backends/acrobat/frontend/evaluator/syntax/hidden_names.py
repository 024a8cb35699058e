"""Names that no source can have, for values that the compiler keeps beside the model's own in the scope of a function.

There are two kinds. Hidden variables are those that the compiler adds, such as the number of a loop's round. A path such as
`tree.left` stands for an attribute of the value of a name; it is forgotten when that name is rebound. A path may end with a
fact in place of an attribute: something known of the value, such as its class.
"""

from __future__ import annotations

import ast

from backends.acrobat.frontend.made_names import MadeName


class HiddenName(MadeName):
    """A name whose text begins with a dot in the middle of the line."""


class PassedOn(HiddenName):
    """The name that a variable of a function has in others that are given what captures it."""


class CarriedName(HiddenName):
    """The name of a value that functions take and give beside their parameters: a `field` of an `owner`, that of a union's
    objects or that of a module."""

    field: str
    owner: str


class Path(HiddenName):
    """The name of an attribute, or of a fact, of what another name holds."""

    root: str
    """The name of the source, or the hidden one, that the path begins with."""


def hidden(what: str, at: ast.expr | ast.stmt | None = None, *numbers: int) -> HiddenName:
    """A hidden name which is shown as `what`. Those for one expression or statement have its position behind that, and
    `numbers` where there are several for it."""
    position = "_".join(map(str, (at.lineno, at.col_offset, *numbers))) if at is not None else ""
    return HiddenName(f"·{what}{position}", visible(what) + position)


def is_hidden(name: str) -> bool:
    return isinstance(name, HiddenName)


def visible(name: str) -> str:
    """A name as messages, and variables of the program, write it."""
    return name.shown if isinstance(name, MadeName) else name


def passed_on(name: str, function: ast.FunctionDef) -> PassedOn:
    """The name of a function's variable in other functions that receive a function which captures it."""
    return PassedOn(f"·{name}·{function.name}{function.lineno}", visible(name))


def carried_name(what: str, field: str, owner: str, shown: str) -> CarriedName:
    """The name of such a value, which is shown as `shown`; `what` says which of the kinds it is."""
    name = CarriedName(f"·{what} {field} of {owner}", shown)
    name.field, name.owner = field, owner
    return name


def attribute_path(path: str, name: str) -> Path:
    """The path of an attribute of what is at a path, or under a name."""
    whole = Path(f"·{path}.{name}", f"{visible(path)}.{visible(name)}")
    whole.root = root_of_path(path)
    return whole


def fact_of(path: str, fact: str) -> Path:
    """The key of a fact about what is at a path, or under a name."""
    return attribute_path(path, hidden(fact))


def root_of_path(path: str) -> str:
    """The name that a path begins with; a name itself for what is no path."""
    return path.root if isinstance(path, Path) else path


def is_below(path: str, name: str) -> bool:
    """Whether a path, or a fact, is of an attribute of what a name holds."""
    return isinstance(path, Path) and path.root == name


RETURNED = hidden("returned")
"""The name that carries the value of a `return` out of a loop."""
