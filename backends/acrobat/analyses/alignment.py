"""Ghosts and segments: the facts that bring instances which took different paths to one depth again. The work that follows is
then one batch. Neither changes what is computed, only the depths at which the schedule records it.

*Ghosts* (paper: ghost operators, a remedy for the eagerness of depth-based scheduling). The shorter arm of an `if` or `match`
begins some levels later, so that all arms end at one depth. Condition: the program alone tells how many levels each arm takes,
and the longest takes at most `LONGEST`; otherwise no arm of that branch is padded.

    if p: y = b(a(x))        level    instance 1 (then)    instance 2 (else), padded by one level
    else: y = b(x)             k      launch a             (nothing: the ghost)
    z = c(y)                   k + 1  launch b             launch b
                               k + 2  launch c             launch c        <- one batch

*Segments*, only in functions that may wait for a tensor. After a loop or call that repeats its work an instance's own number of
times without waiting, the next segment begins: its levels come after all levels of the segment before, in every instance. This
does between two waits what phases do for the whole program.

    segment 0    instance 1: round round         instance 2: round round round round
    segment 1    instance 1: work after loop     instance 2: work after loop             <- one batch

A loop that does wait has its rounds one segment after the counted work that stands before it in the same phase. Thus a first
round, before which that work is still to run, and a later round, which follows a wait, begin at one depth.

Source: ghost operators are the paper's; segments are our own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.depth import StaticDepths
from backends.acrobat.analyses.phases import kinds_of
from backends.acrobat.analyses.waits import Waits
from backends.acrobat.ir.nodes import Call, Expr, Fold, If, Item, Launch, Let, Lit, Loop, Map, Match, Op, Program, Weight
from backends.acrobat.ir.visitor import binders, bodies, containing, free_vars, lets, walk
from backends.acrobat.ir.work import is_work

LONGEST = 4
"""The most levels an arm may have for the others to be padded to it (the limit of ACRoBat's original code)."""


@dataclass(frozen=True, slots=True)
class Height:
    """A level as a function of the levels of variables: the largest of `least` and of `level(v) + above[v]` over all variables
    v in `above`. `least` is infinite if only a run tells the level, or if one of the numbers exceeds `LONGEST`."""

    least: float = 0.0
    above: Mapping[str, float] = field(default_factory=dict)

    @property
    def from_variables(self) -> float:
        """The height where all variables have the height 0."""
        return max(self.least, *self.above.values()) if self.above else self.least


ZERO, UNKNOWN = Height(), Height(inf)


@dataclass(frozen=True)
class Alignment:
    """Loops and calls are named by (function, variable that holds the result). `ends`: those after which the next segment
    begins. `later`: the waiting loops whose rounds begin one segment later. `levels`: None if no arm is padded."""

    ends: frozenset[tuple[str, str]] = frozenset()
    later: frozenset[tuple[str, str]] = frozenset()
    levels: ArmLevels | None = field(default=None, compare=False)

    def ghosts(self, function: str, branch: If | Match) -> tuple[int, ...]:
        """By how many levels each arm of a branch in this function begins later, in the order of `bodies`."""
        arms = bodies(branch)
        if self.levels is None:
            return (0,) * len(arms)
        levels = [self.levels.of(function, arm) for arm in arms]
        longest = max(levels)
        if longest > LONGEST:
            return (0,) * len(arms)
        return tuple(int(longest - n) for n in levels)


def alignment(program: Program, graph: CallGraph, static: StaticDepths, waits: Waits, phase: Mapping[str, int]) -> Alignment:
    """The facts about a finished program, whose tensor work is all in launches. `phase` gives the phases of the entry's
    bindings; one that is missing there is in phase 0."""
    kinds = kinds_of(program, graph)
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
    return Alignment(frozenset(ends), frozenset(later), ArmLevels(program, graph, static))


def chains(expr: Expr) -> Sequence[Expr]:
    """All let chains in an expression: the expression itself, and the bodies of all branches and loops inside."""
    return [expr, *(body for node in walk(expr) if not isinstance(node, Let) for body in bodies(node))]


class ArmLevels:
    """How many levels of counted work each arm of a program's branches takes on its longest path of dependences. Each
    expression is visited once: its levels are found as a `Height` above its free variables, whose own heights are inserted by
    the expression around it (`_substituted`)."""

    def __init__(self, program: Program, graph: CallGraph, static: StaticDepths) -> None:
        self._program = program
        self._graph = graph
        self._static = static
        self._functions: dict[str, float] = {}
        self._arms: dict[tuple[str, int], float] = {}
        self._working: frozenset[int] = frozenset()
        for name in program.functions:
            self._of_function(name)

    def of(self, function: str, arm: Expr) -> float:
        """The levels of an arm of a branch in this function, all variables from outside the arm being at level 0; infinite if
        only a run tells, or if they are more than `LONGEST`."""
        return self._arms[function, id(arm)]

    def _of_function(self, name: str) -> float:
        """The levels of a whole function, its arguments being at level 0; infinite for a recursive function."""
        if name not in self._functions:
            body = self._program.functions[name].body
            recursive = name in self._graph.recursive
            self._functions[name] = inf  # read by a recursive function's calls of itself, while its body is visited
            self._working |= containing(body, lambda e: is_work(e) or isinstance(e, Call | Item))
            most = self._chain_heights(name, body, {})[1].from_variables
            self._functions[name] = inf if recursive else most
        return self._functions[name]

    def _chain_heights(self, function: str, expr: Expr, own: Mapping[str, Height]) -> tuple[Height, Height]:
        """(level at which the result can be used, level after all work of the chain). `own` gives the heights of variables that
        are bound before the first let: a loop's, an arm's, a `Map`'s."""
        heights, ends = dict(own), []
        bindings, result = lets(expr)
        for var, value in bindings:
            heights[var.name], most = self._value_heights(function, var.name, value, heights)
            ends.append(most)
        level, most = self._value_heights(function, None, result, heights)
        return level, _largest([*ends, most])

    def _value_heights(
        self, function: str, name: str | None, value: Expr, heights: Mapping[str, Height]
    ) -> tuple[Height, Height]:
        """As `_chain_heights`, for one node, which is bound to the variable `name` if it is in a let."""
        start = _largest([_of(v, heights) for v in free_vars(value)])
        match value:
            case Lit() | Weight():
                return ZERO, ZERO
            case Item():
                return UNKNOWN, UNKNOWN
            case Op() | Launch() if is_work(value):
                start = ZERO if (function, name) in self._static.depths else _higher_by(start, 1)
            case Call(callee):
                start = _higher_by(start, self._of_function(callee))
            case If() | Match():
                arms = [self._chain_heights(function, arm, self._zero(value)) for arm in bodies(value)]
                for arm, (_, most) in zip(bodies(value), arms, strict=True):
                    self._arms[function, id(arm)] = most.from_variables
                levels, ends = zip(*arms, strict=True)
                return _substituted(levels, heights), _substituted(ends, heights)
            case Map(var, _, body):
                level, most = self._chain_heights(function, body, {var.name: start})
                return _substituted([level], heights), _substituted([most], heights)
            case Fold() | Loop():
                for body in bodies(value):  # only to find the levels of the branches inside
                    self._chain_heights(function, body, self._zero(value))
                if any(id(body) in self._working for body in bodies(value)):
                    return UNKNOWN, UNKNOWN
        return start, start

    @staticmethod
    def _zero(value: Expr) -> Mapping[str, Height]:
        """The variables that a node itself binds, all at level 0."""
        return {var.name: ZERO for var in binders(value)}


def _of(var: str, heights: Mapping[str, Height]) -> Height:
    """The height of a variable; one that is bound further out is its own height, plus 0."""
    return heights[var] if var in heights else Height(0.0, {var: 0.0})


def _largest(heights: Sequence[Height]) -> Height:
    least, above = 0.0, dict[str, float]()
    for height in heights:
        least = max(least, height.least)
        for name, levels in height.above.items():
            above[name] = max(levels, above.get(name, 0.0))
    return UNKNOWN if least == inf else Height(least, above)


def _higher_by(height: Height, levels: float) -> Height:
    later = Height(height.least + levels, {name: level + levels for name, level in height.above.items()})
    return UNKNOWN if later.from_variables > LONGEST else later


def _substituted(heights: Sequence[Height], outer: Mapping[str, Height]) -> Height:
    """The largest of `heights`, with the heights of variables in `outer` put in the place of these variables."""
    parts = [_higher_by(_of(name, outer), levels) for height in heights for name, levels in height.above.items()]
    return _largest([*parts, *(Height(height.least) for height in heights)])
