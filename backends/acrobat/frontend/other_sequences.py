"""What a round of compiling meets of sequences that are no lists in Python, but lists of the program: what `range`, a generator
or `x.split(2)` gives. Where the model asks `isinstance(xs, list)` of a list of the program, none of them may be kept."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from backends.acrobat.core.span import Span
from backends.acrobat.core.types import DataT, TupleT
from backends.acrobat.errors import Problem
from backends.acrobat.frontend.syntax_nodes import every_node
from backends.acrobat.frontend.types import word_of_type

WALKING = """
list tuple set frozenset sorted sum len any all zip enumerate map filter reversed range dict Counter min max join cat concat
concatenate stack hstack vstack tensor extend update
"""
LOOKS_THROUGH = frozenset(WALKING.split())
"""Functions and methods, by name, that keep nothing of what they walk over but its elements."""
OF_OTHERS = "range enumerate zip map filter reversed iter items values keys chain islice"
WALKED_THROUGH = frozenset(OF_OTHERS.split())
"""Functions and methods, by name, whose elements are those of other values, or tuples and numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class OtherSequence:
    """An expression that gives such a sequence, the function that it stands in, the types of the items of such in what it
    gives, on each level, and whether a call there is one of a function of the source's."""

    node: ast.expr | None
    within: ast.AST | None
    items: tuple[Any, ...]
    calls_own: Callable[[ast.Call], bool]

    @property
    def shown(self) -> str:
        """The expression, in a message."""
        return "`[...]`" if self.node is None else f"`{ast.unparse(self.node)}`"

    @property
    def is_kept(self) -> bool:
        """Whether anything but the elements of the sequence may be kept, as far as the source tells."""
        if self.within is None or self.node is None:
            return True
        apart = len(self.items) > 1 and _called(self.node) not in WALKED_THROUGH
        for x in every_node(self.within):
            match x:
                case ast.For(iter=walked) | ast.comprehension(iter=walked) | ast.YieldFrom(walked) | ast.Starred(walked):
                    if self._is_at(walked):
                        return apart
                case ast.Compare(_, [ast.In() | ast.NotIn()], [walked]) if self._is_at(walked):
                    return False
                case ast.Assign([ast.Tuple() | ast.List()], walked) if self._is_at(walked):
                    return apart
                case ast.Call(args=args) if any(map(self._is_at, args)):
                    name = _called(x)
                    if name not in LOOKS_THROUGH or self.calls_own(x):
                        return True
                    return apart and name != "len" or name in ("min", "max") and len(args) > 1
        return True

    def _is_at(self, node: ast.expr) -> bool:
        """Whether that is the expression, or what the source has in its place where a part of it is compiled as a copy."""
        if node is self.node or self.node is None or not hasattr(node, "lineno"):
            return node is self.node
        return _place(node) == _place(self.node) and ast.unparse(node) == ast.unparse(self.node)


def _place(node: ast.expr) -> Any:
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def _called(node: ast.AST) -> str:
    match node:
        case ast.Call(ast.Name(name) | ast.Attribute(attr=name)):
            return name
    return ""


@dataclass
class OtherSequences:
    """Those that a round has met, and where it was asked whether a list of the program is a list in Python. In the same way of
    tuples of the program: what may be no tuple is then a list that is written out and has elements of several types."""

    word: str
    """What the program takes them for: "list" or "tuple"."""
    met: list[OtherSequence] = field(default_factory=list)
    asked: dict[Span, set[Any]] = field(default_factory=dict)
    """By the place of the question the types of the items of such lists, or of the tuples."""

    def problems(self) -> list[Problem]:
        """A problem for each such question, if a sequence of another kind may have come there."""
        kept = [x for x in self.met if x.is_kept] if self.asked else []
        found = []
        for span, types in self.asked.items():
            other = next((x.shown for x in kept if any(_may_meet(a, b) for a in x.items for b in types)), None)
            if other is not None:
                what = f"here may be a {self.word} or what {other} gives, which `isinstance` does not tell apart"
                found.append(Problem(span, what, f"make a {self.word} of that first, or leave the question out"))
        return found


def _may_meet(one: Any, other: Any) -> bool:
    """Whether lists with items of two types may stand in one place: items may be put into unions, and ints are floats."""
    words = {"tuple" if isinstance(t, TupleT) else word_of_type(t) for t in (one, other)}
    of_unions = isinstance(one, DataT) or isinstance(other, DataT)
    return of_unions or "" in words or len(words) == 1 or words <= {"bool", "int", "float", "tensor"}
