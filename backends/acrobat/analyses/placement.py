"""Checks that `phase` markers stand only where an instance comes once, or never because it has ended in another branch: at the
top level of the entry function and of the functions called there, and in branches in which the entry ends.

Source: our own check of markers of the paper's program phases.
"""

from __future__ import annotations

from dataclasses import dataclass

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.phases import is_marker
from backends.acrobat.core.span import Span
from backends.acrobat.errors import Problem
from backends.acrobat.ir.nodes import Call, Expr, Fold, If, Loop, Map, Match, Program, Var
from backends.acrobat.ir.visitor import bodies, lets, walk


@dataclass(frozen=True, slots=True)
class _Wrong:
    """Why no marker may stand at some place. `calls`: the call there that leads to the marker; None if the marker is there."""

    what: str
    advice: str
    calls: Span | None = None


LOOP = _Wrong("in a loop, to which an instance comes any number of times", "put it after the loop, on what the loop has made")
COMPREHENSION = _Wrong("in a comprehension, which makes any number of elements", "put it on the list: `xs = phase(xs)`")
BRANCH = _Wrong(
    "in a branch after which the instance goes on, and others take another branch",
    "put it before or after the branches, or end each branch with `return`",
)


def misplaced_markers(program: Program, graph: CallGraph) -> list[Problem]:
    """A problem, with its place in the source and advice, for each marker that stands where it may not."""
    places = _MarkerPlaces(program, graph)
    places.function(program.entry, True, None)
    return list(places.problems.values())


class _MarkerPlaces:
    """Walks from the entry into all places. In the methods, `wrong` says why no marker may stand in the visited part, None if
    it may; `tail` says whether the visited part gives the entry's result."""

    def __init__(self, program: Program, graph: CallGraph) -> None:
        self._program = program
        self._graph = graph
        self._visited: set[tuple[str, bool, _Wrong | None]] = set()
        self._marked = {name for name, f in program.functions.items() if any(map(is_marker, walk(f.body)))}
        self.problems: dict[Span, Problem] = {}

    def function(self, name: str, tail: bool, wrong: _Wrong | None) -> None:
        """Visits a function that is called."""
        if wrong is None and name in self._graph.recursive:
            wrong = _Wrong(f"in `{name}`, which calls itself", "put it where the recursion's result is used")
        key = name, tail, wrong
        if key not in self._visited and self._graph.reachable(name) & self._marked:
            self._visited.add(key)
            self.chain(self._program.functions[name].body, tail, wrong)

    def chain(self, expr: Expr, tail: bool, wrong: _Wrong | None) -> None:
        bindings, end = lets(expr)
        for i, (var, value) in enumerate(bindings):
            last = i == len(bindings) - 1 and isinstance(end, Var) and end.name == var.name
            self.value(value, tail and last, wrong)
        self.value(end, tail, wrong)

    def value(self, expr: Expr, tail: bool, wrong: _Wrong | None) -> None:
        """Report the annotations in a node that have no effect where they stand; `wrong` says why, None where they have one.
        `tail`: nothing in the entry follows the node."""
        if is_marker(expr):
            if wrong is not None:
                self.report(expr.span, wrong)
            return
        if isinstance(expr, Call):
            if wrong is not None and wrong.calls is None:
                wrong = _Wrong(wrong.what, wrong.advice, expr.span)
            self.function(expr.function, tail, wrong)
            return
        match expr:
            case If() | Match():
                wrong = wrong or (None if tail else BRANCH)
            case Map():
                wrong = wrong or COMPREHENSION
            case Fold() | Loop():
                wrong = wrong or LOOP
        for body in bodies(expr):
            self.chain(body, tail, wrong)

    def report(self, span: Span, wrong: _Wrong) -> None:
        verb = "is executed" if wrong.calls else "stands"
        where = f" (by the call in line {wrong.calls.line})" if wrong.calls else ""
        self.problems.setdefault(span, Problem(span, f"`phase` {verb} {wrong.what}{where}", wrong.advice))
