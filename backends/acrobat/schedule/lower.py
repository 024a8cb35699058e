"""Makes the schedule of a finished program from the facts that the analyses found.

Work is recorded at the largest depth of its operands, but not before the depth at which counted work begins. The facts enter in
five places: work with a static depth is recorded at that depth; the entry's bindings are sorted by phase; arms of branches are
padded with ghosts; loops end, or begin, a segment; and bindings that may wait are forked together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

from backends.acrobat.analyses.facts import ScheduleFacts
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.renaming import Names, names_of
from backends.acrobat.ir.visitor import Binding, containing, free_vars, lets, operands, with_operands
from backends.acrobat.schedule import nodes as s
from backends.acrobat.schedule.order import ordered


def lower(program: n.Program, facts: ScheduleFacts) -> s.Schedule:
    """The schedule of a finished program; `facts` are what analyses have found out about it."""
    schedule = s.Schedule(program, functions := {}, facts.phases, facts.static_levels, bool(facts.recursive))
    for f in program.functions.values():
        functions[f.name] = _Lowering(schedule, facts, f).function()
    return schedule


@dataclass(frozen=True, slots=True)
class _Variable:
    """What is known of a variable: the atom to use for it (itself, or the atom that it is another name of), its depth (None if
    it holds no tensor), and the phase that computes it."""

    atom: n.Atom
    depth: s.Depth | None
    phase: int


class _Lowering:
    """Lowers one function. The fields below `waiting` describe the current place in the body that is being made."""

    def __init__(self, schedule: s.Schedule, facts: ScheduleFacts, f: n.Function) -> None:
        self.schedule = schedule
        self.facts = facts
        self.f = f
        self.fresh = Names(names_of(f)).fresh
        self.waiting = containing(f.body, facts.waits_itself)
        self.env: dict[str, _Variable] = {}
        self.ready: dict[str, n.Var] = {}  # variable of an earlier phase -> its `Ready` variable
        self.statements: list[s.Statement] = []
        self.phase = 0
        self.segment = 0  # in which counted work begins here
        self.ghosts = 0  # levels by which it begins later here

    def function(self) -> s.HostFunction:
        f = self.f
        for p in f.params:
            self.note_depth(p, s.Arguments())
        body = self.body(f.body, entry=f.name == self.schedule.program.entry)
        return s.HostFunction(f.name, f.params, f.result, body, f.name in self.facts.waits, self.counts_calls(f.name), f.span)

    def counts_calls(self, function: str) -> bool:
        """Whether the function is passed the number of calls around it (`HostFunction.counts_calls`)."""
        return function in self.facts.recursive and function not in self.facts.waits

    # ---- values and depths

    def note_depth(self, var: n.Var, depth: s.Depth | None) -> None:
        """Notes the depth from which on `var` can be used. Generated code has a variable for a join of several depths."""
        own_depth = s.Of(var.name) if isinstance(depth, s.Join) and len(depth.depths) > 1 else depth
        self.env[var.name] = _Variable(var, own_depth if self.schedule.holds(var.type) else None, self.phase)

    def own(self, var: n.Var) -> None:
        """Notes that generated code has a variable for the depth of `var`."""
        self.note_depth(var, s.Of(var.name))

    def change(self, statement: s.Pad | s.NextSegment) -> None:
        """Adds `statement`, which changes the depth of its variable from here on."""
        self.statements.append(statement)
        self.env[statement.var] = _Variable(self.env[statement.var].atom, s.Of(statement.var), self.phase)

    def use(self, a: n.Atom) -> n.Atom:
        """The atom to use for `a` here: for a tensor of an earlier phase, its `Ready` variable."""
        if not isinstance(a, n.Var):
            return a
        atom = self.env[a.name].atom
        value = self.env[atom.name] if isinstance(atom, n.Var) else None
        if not isinstance(atom, n.Var) or value is None or value.depth in (None, s.READY) or value.phase >= self.phase:
            return atom
        if atom.name not in self.ready:
            self.ready[atom.name] = var = n.Var(self.fresh(atom.name), atom.type)
            self.statements.append(s.Ready(var, atom))
            self.env[var.name] = _Variable(var, s.READY, value.phase)
        return self.ready[atom.name]

    def depth(self, a: n.Atom) -> s.Depth | None:
        """The depth of an atom that `use` returned; None if it holds no tensor."""
        if isinstance(a, n.Var):
            return self.env[a.name].depth
        return s.READY if isinstance(a, n.Weight) else None

    def join(self, atoms: Iterable[n.Atom], *others: s.Depth) -> s.Depth:
        """The largest of the depths of `atoms` and of `others`."""
        depths = dict.fromkeys((*others, *(d for a in atoms if (d := self.depth(a)) not in (None, s.READY))))
        return next(iter(depths)) if len(depths) == 1 else s.Join(tuple(cast("dict[s.Depth, None]", depths)))

    def give(self, a: n.Atom) -> s.Give:
        """The end of a body whose value is `a`."""
        atom = self.use(a)
        return s.Give(atom, self.depth(atom))

    # ---- bodies

    @contextmanager
    def scope(self) -> Iterator[list[s.Statement]]:
        """Yields the list of statements of a new body. After the body, all state is as it was before."""
        outer = self.env, self.ready, self.statements, self.phase, self.segment, self.ghosts
        self.env, self.ready, self.statements = dict(self.env), dict(self.ready), []
        yield self.statements
        self.env, self.ready, self.statements, self.phase, self.segment, self.ghosts = outer

    def body(self, expr: n.Expr, entry: bool = False) -> s.Body:
        """The body of `expr`. `entry`: its value is the instance's result: bindings have phases, and arms no ghosts."""
        with self.scope() as statements:
            end = self.write_body(expr, entry)
            return s.Body(tuple(statements), end)

    def write_body(self, expr: n.Expr, entry: bool = False) -> s.Give | s.IfBranch | s.MatchBranch:
        """Writes the statements of a body, and returns how it ends. `entry` as in `body`."""
        bindings, result = lets(expr)
        self.bind_all(bindings, entry)
        if isinstance(result, n.If | n.Match):
            if entry:
                self.reach([result.cond if isinstance(result, n.If) else result.value])
            return self.branch(result, entry)
        if entry:
            self.reach([self.env[name].atom for name in free_vars(result)])
        return self.give(self.as_atom(result, "result"))

    def as_atom(self, expr: n.Expr, name: str) -> n.Atom:
        """An atom for the value of `expr`: itself, or a new variable that is bound to it."""
        if isinstance(expr, n.Var | n.Lit | n.Weight):
            return expr
        self.bind(var := n.Var(self.fresh(name), expr.type), expr)
        return var

    def bind_all(self, bindings: list[Binding], entry: bool = False) -> None:
        """Writes the statements of the bindings in the order in which they run. `entry`: they are bindings of the entry, which
        have phases."""
        phase = self.phases(bindings) if entry else {}
        if entry:
            bindings = sorted(bindings, key=lambda b: phase[b[0].name])
        for group in ordered(bindings, self.waiting, phase):
            if entry and (own := phase[group[0][0].name]) != self.phase:
                self.phase = own
                self.statements.append(s.Enter(own))
            if len(group) == 1:
                self.bind(*group[0])
                continue
            self.statements.append(s.Fork(tuple([self.fork(var, value) for var, value in group])))
            for var, _ in group:
                self.own(var)

    def reach(self, atoms: Iterable[n.Atom]) -> None:
        """Enters the phase in which `atoms` can be used at the end of a body: an arm's bindings may be of an earlier phase than
        what is bound before the branch."""
        phase = max((self.env[a.name].phase for a in atoms if isinstance(a, n.Var)), default=0)
        if phase > self.phase:
            self.phase = phase
            self.statements.append(s.Enter(phase))

    def phases(self, bindings: list[Binding]) -> Mapping[str, int]:
        """The phase of each binding of the entry: that of the facts, but no earlier than its operands'. What has none there
        stays in the phase that the body begins in."""
        of: dict[str, int] = {}
        for var, value in bindings:
            uses = (of[name] if name in of else self.env[name].phase for name in free_vars(value))
            of[var.name] = max(self.facts.phase.get(var.name, self.phase), max(uses, default=0))
        return of

    def fork(self, var: n.Var, value: n.Expr) -> s.ForkBranch:
        """A binding that may wait, as one of the branches of a fork."""
        return s.ForkBranch(var, captures=self.captures(value), body=self.body(value))

    def captures(self, body: n.Expr, *own: n.Var) -> tuple[n.Var, ...]:
        """The variables from outside that `body` uses; `own` are variables that the node with that body binds."""
        names = sorted(free_vars(body) - {var.name for var in own})
        used = dict.fromkeys(self.use(self.env[name].atom) for name in names)
        return tuple(a for a in used if isinstance(a, n.Var))

    # ---- bindings

    def bind(self, var: n.Var, value: n.Expr) -> None:
        """Writes the statements that compute `value`, and note the depth from which on `var` can be used."""
        match value:
            case n.Var() | n.Lit() | n.Weight():
                atom = self.use(value)
                phase = self.env[atom.name].phase if isinstance(atom, n.Var) else 0
                self.env[var.name] = _Variable(atom, self.depth(atom), phase)
            case n.Let():
                bindings, result = lets(value)
                self.bind_all(bindings)
                self.bind(var, result)
            case n.If() | n.Match():
                self.statements.append(s.Choose(var, self.branch(value)))
                self.own(var)
            case n.Map() | n.Fold() | n.Loop() | n.Call():
                self.statements.append(self.call(var, value) if isinstance(value, n.Call) else self.loop(var, value))
                self.own(var)
                if (self.f.name, var.name) in self.facts.alignment.ends and self.schedule.holds(var.type):
                    self.change(s.NextSegment(var.name))
            case n.Launch():
                args = [self.use(a) for a in value.args]
                level = self.facts.static_depth.get((self.f.name, var.name))
                at = self.join(args, s.Start(self.segment, self.ghosts)) if level is None else s.StaticDepth(level)
                self.statements.append(s.Record(var, cast(n.Launch, with_operands(value, args)), at))
                self.own(var)
            case n.Item():
                atom = self.use(value.tensor)
                self.statements.append(s.Wait(atom, self.join([atom]), value.span))
                self.statements.append(s.Assign(var, cast(n.Item, with_operands(value, [atom])), None))
                self.note_depth(var, None)
            case _:
                args = [self.use(a) for a in operands(value)]
                depth = self.join(args) if self.schedule.holds(var.type) else None
                self.statements.append(s.Assign(var, cast(s.Pure, with_operands(value, args)), depth))
                self.note_depth(var, depth)

    def call(self, var: n.Var, value: n.Call) -> s.CallFunction:
        args = [self.use(a) for a in value.args]
        later = [s.Start(self.segment, self.ghosts)] if self.segment or self.ghosts else []
        target, counts = value.function, self.counts_calls(self.f.name) and self.counts_calls(value.function)
        call = cast(n.Call, with_operands(value, args))
        return s.CallFunction(var, call, self.join(args, *later), target in self.facts.waits, counts)

    # ---- branches

    def branch(self, expr: n.If | n.Match, entry: bool = False) -> s.IfBranch | s.MatchBranch:
        if isinstance(expr, n.If):
            cond = self.use(expr.cond)
            ghosts = self.facts.alignment.ghosts(self.f.name, expr) if not entry else (0, 0)
            then, orelse = (self.arm(a, g, entry) for a, g in zip((expr.then, expr.orelse), ghosts, strict=True))
            return s.IfBranch(cond, then, orelse, expr.span)
        value, arms = self.use(expr.value), []
        ghosts = self.facts.alignment.ghosts(self.f.name, expr) if not entry else (0,) * len(expr.arms)
        for arm, levels in zip(expr.arms, ghosts, strict=True):
            used = free_vars(arm.body)
            fields = tuple((i, var) for i, var in enumerate(arm.vars) if var.name in used)
            arms.append(s.BranchArm(arm.case, fields, self.arm(arm.body, levels, entry, fields, self.depth(value))))
        return s.MatchBranch(value, tuple(arms), expr.span)

    def arm(
        self, body: n.Expr, ghosts: int, entry: bool, fields: Iterable[tuple[int, n.Var]] = (), depth: s.Depth | None = None
    ) -> s.Body:
        """The body of an arm whose work begins `ghosts` levels later. `fields` are variables it binds, at depth `depth`."""
        with self.scope() as statements:
            for _, var in fields:
                self.note_depth(var, depth)
            if ghosts:
                self.ghosts += ghosts
                atoms = dict.fromkeys(self.env[name].atom for name in sorted(free_vars(body)))
                for own in [a.name for a in atoms if isinstance(a, n.Var)]:
                    depth = self.env[own].depth
                    if depth not in (None, s.READY) and self.env[own].phase == self.phase:
                        self.change(s.Pad(own, depth, ghosts))
            end = self.write_body(body, entry)
            return s.Body(tuple(statements), end)

    # ---- loops

    def loop(self, var: n.Var, expr: n.Map | n.Fold | n.Loop) -> s.MapLoop | s.FoldLoop | s.WhileLoop:
        later = (self.f.name, var.name) in self.facts.alignment.later
        if isinstance(expr, n.Map):
            return self.map(var, expr)
        iterable = self.use(expr.iterable) if isinstance(expr, n.Fold) else None
        init = tuple([self.give(a) for a in expr.init])
        with self.scope():
            self.segment += later
            for v in expr.vars:
                self.own(v)
            if isinstance(expr, n.Loop):
                cond = self.body(expr.cond)
                return s.WhileLoop(var, expr.vars, init, cond, self.round(expr.body), expr.span)
            assert iterable is not None
            self.note_depth(expr.var, self.depth(iterable))
            return s.FoldLoop(var, expr.var, iterable, expr.vars, init, self.round(expr.body), expr.span)

    def map(self, var: n.Var, expr: n.Map) -> s.MapLoop:
        iterable, waits = self.use(expr.iterable), id(expr.body) in self.waiting
        captures = self.captures(expr.body, expr.var) if waits else ()
        with self.scope():
            self.note_depth(expr.var, self.depth(iterable))
            return s.MapLoop(var, expr.var, iterable, self.body(expr.body), waits, captures, expr.span)

    def round(self, body: n.Expr) -> s.Body:
        """The body of a loop: all new values are computed before any variable changes."""
        bindings, result = lets(body)
        # A tuple that is bound last and only given is not made: its items are the new values.
        if bindings and isinstance(result, n.Var) and bindings[-1][0].name == result.name:
            result = bindings.pop()[1] if isinstance(bindings[-1][1], n.Tuple) else result
        with self.scope() as statements:
            self.bind_all(bindings)
            if isinstance(result, n.Tuple):
                end: s.Next | s.NextOf = s.Next(tuple([self.give(a) for a in result.items]))
            else:
                end = s.NextOf(self.give(self.as_atom(result, "next")))
            return s.Body(tuple(statements), end)
