"""What brings instances that took different ways to the same depth again, so that what they do next batches.

- Ghost operators (paper): the shorter arm of a branch is padded with levels in which nothing runs. An arm counts if its number
  of levels is known, at most `LONGEST`; `match` arms count as `if` arms do.
- Between two waits all instances run together. After a loop with a trip count of its own the next segment begins, in which
  all stand again: the phases of the program, but within a round of a loop that waits. The rounds of a loop that waits begin
  one segment later than what is computed before the loop in its phase: instances in their first round and in later ones meet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.depth import Static, is_work
from backends.acrobat.analyses.phases import Kinds
from backends.acrobat.analyses.waits import Waits
from backends.acrobat.ir.nodes import (
    Call,
    Expr,
    Fold,
    If,
    Item,
    Launch,
    Let,
    Lit,
    Loop,
    Map,
    Match,
    Op,
    Program,
    Weight,
)
from backends.acrobat.ir.visitor import bodies, free_vars, lets, walk

LONGEST = 4
"""Levels of the longest arm that others are padded to (the original's limit)."""


@dataclass(frozen=True)
class Alignment:
    """`ends`: (function, variable) of a loop or call after which the next segment begins; `later`: of a loop that waits whose
    rounds begin one segment later."""

    ends: frozenset[tuple[str, str]] = frozenset()
    later: frozenset[tuple[str, str]] = frozenset()
    levels: Levels | None = field(default=None, compare=False)

    def ghosts(self, function: str, branch: If | Match) -> tuple[int, ...]:
        """By how many levels each arm is padded."""
        arms = bodies(branch)
        if self.levels is None:
            return (0,) * len(arms)
        found = [self.levels.of(function, arm) for arm in arms]
        longest = max(found)
        if longest > LONGEST:
            return (0,) * len(arms)
        return tuple(int(longest - n) for n in found)


def alignment(program: Program, graph: CallGraph, static: Static, waits: Waits, phase: Mapping[str, int]) -> Alignment:
    """The facts about a program whose work is in launches. `phase` has the later phases of the entry's bindings."""
    kinds = Kinds(program, graph)
    ends, later = set(), set()
    for name in waits.functions:
        for body in chains(program.functions[name].body):
            computed = set()
            for var, value in lets(body)[0]:
                own = phase.get(var.name, 0) if name == program.entry else 0
                if waits.may_wait(value):
                    if isinstance(value, Fold | Loop) and own in computed:
                        later.add((name, var.name))
                elif kinds.works(value):
                    if (name, var.name) not in static.depths:
                        computed.add(own)
                    if kinds.loops(value):
                        ends.add((name, var.name))
    return Alignment(frozenset(ends), frozenset(later), Levels(program, graph, static))


def chains(expr: Expr) -> Sequence[Expr]:
    """All let chains in an expression: itself, and the bodies of its branches and loops."""
    return [expr, *(body for node in walk(expr) if not isinstance(node, Let) for body in bodies(node))]


class Levels:
    """How many levels of dynamic work an expression takes on its longest way; infinite if only a run tells."""

    def __init__(self, program: Program, graph: CallGraph, static: Static) -> None:
        self._program = program
        self._graph = graph
        self._static = static
        self._functions: dict[str, float] = {}

    def of(self, function: str, expr: Expr) -> float:
        return self._chain(function, expr, {})[1]

    def _chain(self, function: str, expr: Expr, above: Mapping[str, float]) -> tuple[float, float]:
        """The level of the result, counted from 0 for what comes from outside, and of all that is done."""
        known, most = dict(above), 0.0
        while isinstance(expr, Let):
            level, own = self._value(function, expr.var.name, expr.value, known)
            known[expr.var.name] = level
            most, expr = max(most, own), expr.body
        level, own = self._value(function, "", expr, known)
        return level, max(most, own)

    def _value(self, function: str, name: str, value: Expr, known: Mapping[str, float]) -> tuple[float, float]:
        start = max((known.get(v, 0.0) for v in free_vars(value)), default=0.0)
        match value:
            case Lit() | Weight():
                return 0.0, 0.0
            case Item():
                return inf, inf
            case Op() | Launch() if is_work(value):
                level = 0.0 if (function, name) in self._static.depths else start + 1
                return level, level
            case Call(callee):
                level = start + self._function(callee)
                return level, level
            case If() | Match():
                return self._joined(function, bodies(value), known)
            case Map(var, _, body):
                return self._chain(function, body, {**known, var.name: start})
            case Fold(_, _, _, _, body) | Loop(_, _, _, body):
                works = any(is_work(n) or isinstance(n, Call | Item) for n in walk(body))
                return (inf, inf) if works else (start, start)
        return start, start

    def _joined(self, function: str, arms: Sequence[Expr], known: Mapping[str, float]) -> tuple[float, float]:
        found = [self._chain(function, arm, known) for arm in arms]
        return max(level for level, _ in found), max(most for _, most in found)

    def _function(self, name: str) -> float:
        if name not in self._functions:
            recursive = name in self._graph.recursive
            self._functions[name] = inf if recursive else self.of(name, self._program.functions[name].body)
        return self._functions[name]
