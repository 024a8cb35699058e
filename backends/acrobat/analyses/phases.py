"""Program phases (paper: program phases, a remedy for the eagerness of depth-based scheduling): stages of the entry function,
each of which starts when all instances have recorded the stage before.

Instances finish a recursion or loop at different depths, so work on its results would run at as many different depths. A phase
therefore begins before work that uses a result of a dynamic depth of a recursion or loop: there all instances stand at one
depth again. Loops that do not use each other share a phase, and straight-line work stays in the phase of its operands.

    forwards  = call scan(@Wf, @start, xs)             phase 0   ends at a depth that depends on the sentence's length
    backwards = call scan(@Wb, @start, reversed)       phase 0   does not use `forwards`
    both      = host zip(forwards, backwards)          no work, so it has no phase
    out       = map linear(...) in both                phase 1   one batch for all words of all sentences

In a model with `phase` markers a phase begins at these and nowhere else.

Condition: the entry is run once by each instance. An entry that some function calls has a single phase; `passes.entry` gives
such a model another entry. `schedule.verifier` checks the schedule that phases lead to.

Source: the paper's program phases; the rule that finds them without markers is our own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.depth import StaticDepths
from backends.acrobat.analyses.once import once
from backends.acrobat.analyses.waits import waits_of
from backends.acrobat.ir.nodes import Call, Expr, Fold, Host, If, Let, Loop, Match, Program, Var
from backends.acrobat.ir.visitor import containing, free_vars, walk
from backends.acrobat.ir.work import is_work


@dataclass(frozen=True)
class Phases:
    """`of`: variable -> its phase, from 0, for each binding at the entry's top level, or in the branches in which it ends, that
    holds tensor work or (in a model with markers) waits. Other bindings have no phase. `count` is at least 1."""

    of: Mapping[str, int]

    @property
    def count(self) -> int:
        return 1 + max(self.of.values(), default=0)


def phases(program: Program, graph: CallGraph, static: StaticDepths) -> Phases:
    """The phases of a finished program, by its markers if it has any."""
    if is_marked(program):
        return Phases(marked_phases(program, graph))
    entry = program.functions[program.entry]
    if any(entry.name in callees for callees in graph.callees.values()):
        return Phases({})
    kinds = kinds_of(program, graph)
    of: dict[str, int] = {}
    placed: dict[str, int] = {}  # variable -> the phase in which it is bound
    # Variable -> the first phase for work that uses it: where it is bound, or later if its depth is dynamic.
    levels: dict[str, int] = {}

    def bind(var: Var, phase: int, dynamic_from: int) -> None:
        placed[var.name] = phase
        levels[var.name] = max(phase, dynamic_from) if static.dynamic(entry.name, var.name) else phase

    def latest(phase_of: Mapping[str, int], expr: Expr) -> int:
        return max((phase_of.get(name, 0) for name in free_vars(expr)), default=0)

    def chain(expr: Expr) -> None:
        """Give the bindings of a chain their phases, and those of the branches at its end."""
        while isinstance(expr, Let):
            dynamic_from = latest(levels, expr.value)
            phase = latest(placed, expr.value)
            if kinds.works(expr.value):
                phase = of[expr.var.name] = dynamic_from
            bind(expr.var, phase, dynamic_from + kinds.loops(expr.value))
            expr = expr.body
        match expr:
            case If(_, then, orelse):
                chain(then)
                chain(orelse)
            case Match(value, arms):
                for arm in arms:
                    for var in arm.vars:
                        bind(var, latest(placed, value), latest(levels, value))
                    chain(arm.body)

    chain(entry.body)
    return Phases(of)


def is_marker(expr: Expr) -> bool:
    """Whether the expression is a `phase` marker."""
    return isinstance(expr, Host) and expr.op == "phase"


def is_marked(program: Program) -> bool:
    """Whether the program has `phase` markers. Only the entry can: functions with markers are inlined into it."""
    return any(map(is_marker, walk(program.functions[program.entry].body)))


@once
def marked_phases(program: Program, graph: CallGraph) -> Mapping[str, int]:
    """`Phases.of` as the markers say. Work that uses a marker's result, as an operand or for a decision that leads to the work,
    is one phase later than what computed the marker's argument; other work is as early as its operands allow. Empty for a
    program without markers, whose phases are found when it is finished, so that they restrict no pass."""
    if not is_marked(program):
        return {}
    kinds, waits = kinds_of(program, graph), waits_of(program, graph)
    of: dict[str, int] = {}
    ready: dict[str, int] = {}

    def earliest(expr: Expr) -> int:
        return max((ready.get(name, 0) for name in free_vars(expr)), default=0)

    def chain(expr: Expr, decided: int) -> None:
        """`decided`: the phase in which the conditions of the branches around the chain are known."""
        while isinstance(expr, Let):
            phase = earliest(expr.value)
            if kinds.works(expr.value) or waits.may_wait(expr.value):
                phase = of[expr.var.name] = max(phase, decided)
            ready[expr.var.name] = phase + is_marker(expr.value)
            expr = expr.body
        match expr:
            case If(cond, then, orelse):
                chain(then, max(decided, earliest(cond)))
                chain(orelse, max(decided, earliest(cond)))
            case Match(value, arms):
                for arm in arms:
                    ready.update((var.name, earliest(value)) for var in arm.vars)
                    chain(arm.body, max(decided, earliest(value)))

    chain(program.functions[program.entry].body, 0)
    return of


class Kinds:
    """Which nodes of a program have tensor work in them or in what they call (`works`), and which of these repeat some of it,
    by a loop or recursion, an instance's own number of times (`loops`). Nodes of other programs must not be asked about."""

    def __init__(self, program: Program, graph: CallGraph) -> None:
        self._program = program  # keeps its nodes alive: facts are stored by their ids
        bodies = {name: f.body for name, f in program.functions.items()}
        own = {name for name, body in bodies.items() if any(map(is_work, walk(body)))}
        working = {name for name in bodies if graph.reachable(name) & own}
        self._works = self._containing(lambda e: is_work(e) or isinstance(e, Call) and e.function in working)
        repeats = self._containing(lambda e: isinstance(e, Fold | Loop) and self.works(e))
        own = {name for name, body in bodies.items() if id(body) in repeats or name in graph.recursive & working}
        looping = {name for name in bodies if graph.reachable(name) & own}
        self._loops = repeats | self._containing(lambda e: isinstance(e, Call) and e.function in looping)

    def _containing(self, test: Callable[[Expr], bool]) -> frozenset[int]:
        return frozenset[int]().union(*(containing(f.body, test) for f in self._program.functions.values()))

    def works(self, expr: Expr) -> bool:
        return id(expr) in self._works

    def loops(self, expr: Expr) -> bool:
        return id(expr) in self._loops


@once
def kinds_of(program: Program, graph: CallGraph) -> Kinds:
    return Kinds(program, graph)
