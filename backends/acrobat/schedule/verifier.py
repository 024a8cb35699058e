"""Checks the rules that every schedule must satisfy, on the schedule itself, however it was made.

- The depth rule: in each phase, the depth of every operand is at most that of its consumer. A stated depth must therefore have
  among its terms the depth of each operand that is not `READY`. Work with a static depth is recorded at that depth whatever
  its operands are: on every path through the program, each operand must be a weight, a part of the instance or static work of
  a smaller depth. All counted work begins above every static depth.
- The phase rule: all work of an earlier phase counts as done, whatever its depth. So only the entry enters phases, at its top
  level and in the branches in which it ends; nothing calls an entry that has several phases; a phase uses no value of a later
  one; and it uses a value of an earlier one through `Ready`, which is used for nothing else.
- Scope: a variable is bound once, and before it is used; a forked branch uses no variable from outside but its captures.
- Waiting: only functions with `waits` wait, fork, or call functions with `waits`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from backends.acrobat.analyses.levels import COUNTED, operand_levels
from backends.acrobat.ir.nodes import Atom, Var, Weight
from backends.acrobat.ir.verifier import VerifyError
from backends.acrobat.ir.visitor import operands
from backends.acrobat.schedule import nodes as s
from backends.acrobat.schedule.printer import depth_text


def verify_schedule(schedule: s.Schedule) -> None:
    """Raises VerifyError with each place where a rule does not hold, which is a defect of the compiler."""
    checks = [_ScheduleCheck(schedule, f) for f in schedule.functions.values()]
    static = {place: level for check in checks for place, level in check.static.items()}
    violations = [text for check in checks for text in check.violations]
    if static:
        violations += _static(schedule, static)
    if violations:
        raise VerifyError(violations)


def _static(schedule: s.Schedule, static: Mapping[tuple[str, str], int]) -> Iterable[str]:
    """Violations of the depth rule by work with a static depth, whose operands may come from other functions."""
    levels = operand_levels(schedule.program, static)
    for (function, var), depth in static.items():
        subject, available = f"{function}: {var} has the static depth {depth}", levels.get((function, var))
        if available is None:
            yield f"{subject}, but no work of this name is ever done"
        elif available == COUNTED:
            yield f"{subject}, but when its operands are there is only known at run time"
        elif available > depth:
            yield f"{subject}, but its operands are there from {available} on"
        if not 0 <= depth < schedule.static_levels:
            yield f"{subject}, but there are {schedule.static_levels} static levels"


class _ScheduleCheck:
    """Checks one function. `depths` has the depth of each variable in scope (None: it holds no tensor), `phases` the first
    phase in which each can be used, `static` the static depth of each (function, variable) that has one."""

    def __init__(self, schedule: s.Schedule, f: s.HostFunction) -> None:
        self.schedule = schedule
        self.f = f
        self.violations: list[str] = []
        self.static: dict[tuple[str, str], int] = {}
        self.depths: dict[str, s.Depth | None] = {}
        self.phases: dict[str, int] = {}
        self.phase = 0
        for p in f.params:
            self.bind(p, s.Arguments())
        self.body(f.body, f.name == schedule.program.entry)

    def wrong(self, text: str) -> None:
        """Notes a violation in this function."""
        self.violations.append(f"{self.f.name}: {text}")

    # ---- variables and depths

    def bind(self, var: Var, depth: s.Depth | None) -> None:
        """Notes that `var` is bound here. A join of several depths counts as a depth of the variable's own, as in `lower`."""
        if var.name in self.phases:
            self.wrong(f"{var.name} is bound twice")
        if depth is None and self.schedule.holds(var.type):
            self.wrong(f"{var.name} holds tensors, but has no depth")
        own = isinstance(depth, s.Join) and len(depth.depths) > 1
        depth = s.Of(var.name) if own else depth
        self.depths[var.name] = depth if self.schedule.holds(var.type) else None
        self.phases[var.name] = self.phase

    def own(self, var: Var) -> None:
        """Notes that `var` is bound here and has a depth of its own."""
        self.bind(var, s.Of(var.name) if self.schedule.holds(var.type) else None)

    def depth_of(self, a: Atom) -> s.Depth | None:
        """The depth of an atom where it is used, None if it holds no tensor. Checks that it is in scope, and the phase rule."""
        if not isinstance(a, Var):
            return s.READY if isinstance(a, Weight) else None
        if a.name not in self.depths:
            self.wrong(f"{a.name} is used where it is not bound")
            return None
        depth, phase = self.depths[a.name], self.phases[a.name]
        if phase > self.phase or phase < self.phase and depth not in (None, s.READY):
            self.wrong(f"{a.name} of phase {phase} is used with its depth there in phase {self.phase}")
        return depth

    def covers(self, consumer: str, stated: s.Depth | None, atoms: Iterable[Atom]) -> None:
        """Checks the depth rule for `consumer`, which uses `atoms` and has the depth `stated`."""
        terms = stated.depths if isinstance(stated, s.Join) else (stated,)
        for a in atoms:
            depth = self.depth_of(a)
            if depth not in (None, s.READY) and depth not in terms:
                text = "no depth" if stated is None else depth_text(stated)
                self.wrong(f"{consumer} has the depth {text}, which is not after its operand {a.name}")  # type: ignore[union-attr]

    def give(self, consumer: str, x: s.Give) -> None:
        self.covers(consumer, x.depth, [x.value])

    # ---- bodies

    @contextmanager
    def scope(self, captures: Iterable[Var] | None = None) -> Iterator[None]:
        """Variables bound inside go out of scope after it. `captures`: the only outer variables in scope; None: all of them."""
        outer = self.depths, self.phase
        self.depths = dict(self.depths) if captures is None else {v.name: self.depth_of(v) for v in captures}
        yield
        self.depths, self.phase = outer

    def body(self, body: s.Body, phased: bool = False) -> None:
        """Checks a body. `phased`: its value is the result of the instance, so it may enter phases."""
        for statement in body.statements:
            self.statement(statement, phased)
        match body.end:
            case s.Give():
                self.give("what a body gives", body.end)
            case s.Next(values):
                for value in values:
                    self.give("what a round ends with", value)
            case s.NextOf(whole):
                self.give("what a round ends with", whole)
            case s.IfBranch() | s.MatchBranch():
                self.branch(body.end, phased)

    def branch(self, branch: s.IfBranch | s.MatchBranch, phased: bool = False) -> None:
        depth = self.depth_of(branch.cond if isinstance(branch, s.IfBranch) else branch.value)
        arms = [s.BranchArm("", (), b) for b in (branch.then, branch.orelse)] if isinstance(branch, s.IfBranch) else branch.arms
        for arm in arms:
            with self.scope():
                for _, var in arm.fields:
                    self.bind(var, depth)
                self.body(arm.body, phased)

    def statement(self, x: s.Statement, phased: bool) -> None:
        match x:
            case s.Assign(var, value, depth):
                self.covers(var.name, depth, operands(value) if depth is not None else ())
                for a in operands(value):
                    self.depth_of(a)
                self.bind(var, depth)
            case s.Record(var, _, s.StaticDepth(level)):
                self.static[self.f.name, var.name] = level
                self.own(var)
            case s.Record(var, launch, at):
                self.covers(var.name, at, launch.args)
                if not any(isinstance(d, s.Start) for d in (at.depths if isinstance(at, s.Join) else (at,))):
                    self.wrong(f"{var.name} is counted, but may begin among static work")
                self.own(var)
            case s.CallFunction():
                self.call(x)
            case s.Wait(tensor, depth):
                self.waits(True)
                self.covers("a wait", depth, [tensor])
            case s.Enter(phase):
                if not phased or phase == self.phase or not 0 <= phase < self.schedule.phases:
                    where = "" if phased else " where the instance does not end"
                    self.wrong(f"enters phase {phase} of {self.schedule.phases} from phase {self.phase}{where}")
                self.phase = phase
            case s.Ready(var, of):
                if self.phases.get(of.name, self.phase) >= self.phase:
                    self.wrong(f"{of.name} is taken to be ready in phase {self.phase}, which computes it")
                self.bind(var, s.READY)
                self.phases[var.name] = self.phases.get(of.name, 0) + 1
            case s.Pad(var, depth, levels):
                if depth != self.depths.get(var) or levels < 1:
                    self.wrong(f"{var} is padded by {levels} from {depth_text(depth)}, which is not its depth")
                self.depths[var] = s.Of(var)
            case s.NextSegment(var):
                if self.depths.get(var) != s.Of(var):
                    self.wrong(f"{var} has no depth of its own to begin a segment after")
            case s.Choose(var, branch):
                self.branch(branch)
                self.own(var)
            case s.MapLoop():
                self.waits(x.waits)
                depth = self.depth_of(x.iterable)
                with self.scope(x.captures if x.waits else None):
                    self.bind(x.item, depth)
                    self.body(x.body)
                self.own(x.var)
            case s.FoldLoop() | s.WhileLoop():
                self.loop(x)
            case s.Fork(branches):
                self.waits(True)
                for b in branches:
                    with self.scope(b.captures):
                        self.body(b.body)
                for b in branches:
                    self.own(b.var)

    def call(self, x: s.CallFunction) -> None:
        entry, function = self.schedule.program.entry, x.call.function
        self.covers(f"the call of {function}", x.depth, x.call.args)
        self.waits(x.waits)
        if x.waits is not self.schedule.functions[function].waits:
            self.wrong(f"a call of {function} is said to wait, or not to, and the function otherwise")
        if function == entry and self.schedule.phases > 1:
            phases = f"which has {self.schedule.phases} phases: an instance would go through them twice"
            self.wrong(f"calls the entry {entry}, {phases}")
        self.own(x.var)

    def loop(self, x: s.FoldLoop | s.WhileLoop) -> None:
        for start in x.init:
            self.give("a variable of a loop", start)
        depth = self.depth_of(x.iterable) if isinstance(x, s.FoldLoop) else None
        with self.scope():
            for v in x.vars:
                self.own(v)
            if isinstance(x, s.FoldLoop):
                self.bind(x.item, depth)
            else:
                self.body(x.cond)
            self.body(x.body)
        self.own(x.var)

    def waits(self, waits: bool) -> None:
        """Checks that a function in which something may wait is said to wait."""
        if waits and not self.f.waits:
            self.wrong("waits, but is not said to")
