"""From which values each value of a program is computed: through the variables of a function, into the branches and around the
loops that they come from, and from a component of a call's result into the called function. Parameters and their fields depend
on nothing here.

Source: our own; `independence.py` checks the paper's annotation with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.phases import kinds_of
from backends.acrobat.analyses.quoting import covers, source
from backends.acrobat.core.span import Span
from backends.acrobat.core.types import TupleT
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.visitor import binders, bodies, lets, operands, walk


@dataclass(frozen=True, slots=True)
class Component:
    """Names component `index` of the tuple in the variable `whole`, if no variable of the function holds that component."""

    whole: str
    index: int


Name: TypeAlias = str | Component
"""The name of a value: the variable that holds it or, without one, the tuple variable and component that it is."""


class ProgramFlow:
    """The dependences in each function of the program, and between the components of each function's result."""

    def __init__(self, program: n.Program, graph: CallGraph) -> None:
        self._program = program
        self._kinds = kinds_of(program, graph)
        self._functions: dict[str, FunctionFlow] = {}
        self._chains: dict[tuple[str, int, int], list[str] | None] = {}

    def of(self, name: str) -> FunctionFlow:
        """The flow of values in the function of that name."""
        if name not in self._functions:
            self._functions[name] = FunctionFlow(self, self._program.functions[name])
        return self._functions[name]

    def works(self, expr: n.Expr) -> bool:
        """Whether the node is a tensor operation, a wait, or a call that leads to tensor work."""
        return isinstance(expr, n.Item) or isinstance(expr, n.Op | n.Launch | n.Call) and self._kinds.works(expr)

    def component_uses(self, name: str, i: int, j: int) -> list[str] | None:
        """The steps, as text of the source, by which component `i` of the function's result comes to use component `j` or a
        part of it, or is itself a part of it; None if neither."""
        key = name, i, j
        if key not in self._chains:
            self._chains[key] = None  # the answer for the function's calls of itself, while it is looked at
            f = self.of(name)
            targets = {t for v in f.component(f.result, j) for t in f.parts_of(v)}
            for start in f.component(f.result, i):
                if (chain := f.chain(start, targets, itself=True)) is not None:
                    self._chains[key] = chain
        return self._chains[key]


class FunctionFlow:
    """The flow of values between one function's variables. `original`: the variable that a variable is only another name of."""

    def __init__(self, program_flow: ProgramFlow, function: n.Function) -> None:
        self._program_flow = program_flow
        self.function = function
        self.result = function.body
        self.original: dict[str, str] = {}
        self.values: dict[Name, n.Expr] = {}
        self._sources: dict[str, tuple[str, ...]] = {}  # what the elements of a list, or the fields of a union, come from
        self.carried: dict[Name, tuple[n.Fold | n.Loop, int]] = {}
        self._loops: dict[Name, tuple[int, ...]] = {}  # the loops, from outside in, in whose bodies a variable is bound
        self.markers: list[tuple[n.Host, tuple[int, ...]]] = []
        self._spans: dict[str, Span] = {}
        numbers: dict[object, str] = {}
        for p in function.params:
            self._note_binding(p, ())
        self._scan(function.body, (), numbers)

    # ---- reading the function

    def _note_binding(self, var: n.Var, loops: tuple[int, ...]) -> None:
        self._loops[var.name] = loops
        self._spans.setdefault(var.name, var.span)

    def _scan(self, expr: n.Expr, loops: tuple[int, ...], numbers: dict[object, str]) -> None:
        bindings, tail = lets(expr)
        for var, value in bindings:
            self._spans[var.name] = value.span
            self._note_binding(var, loops)
            self.values[var.name] = value
            self._scan_node(value, loops, numbers)
            if isinstance(value, n.Var):
                self.original[var.name] = self.name(value)
            elif isinstance(value, n.Field | n.Host):
                equal = self._equal_variable(value)
                key = (type(value), getattr(value, "op", None) or value.index, tuple(map(self._key, operands(value))))  # type: ignore[union-attr]
                self.original[var.name] = equal or numbers.setdefault(key, var.name)
        self._scan_node(tail, loops, numbers)

    def _key(self, atom: n.Expr) -> object:
        return self.name(atom) if isinstance(atom, n.Var) else atom

    def _equal_variable(self, value: n.Field | n.Host) -> str | None:
        """The variable whose value a field or a marker always has, if there is one."""
        if isinstance(value, n.Field) and isinstance(value.value, n.Var):
            parent = self.values.get(self.name(value.value))
            arguments = parent.args if _is_parallel(parent) else ()  # type: ignore[union-attr]
            items = parent.items if isinstance(parent, n.Tuple) else arguments
            if items and isinstance(item := items[value.index], n.Var):
                return self.name(item)
        if (
            isinstance(value, n.Host)
            and value.op in ("phase", "parallel")
            and len(value.args) == 1
            and isinstance(value.args[0], n.Var)
        ):
            return self.name(value.args[0])
        return None

    def _scan_node(self, expr: n.Expr, loops: tuple[int, ...], numbers: dict[object, str]) -> None:
        match expr:
            case n.Host("parallel"):
                self.markers.append((expr, loops))
            case n.Map(var, iterable) | n.Fold(var, iterable):
                self._sources[var.name] = self.names([iterable])
                self._note_binding(var, loops if isinstance(expr, n.Map) else (*loops, id(expr)))
            case n.Match(value, arms):
                for var in (v for arm in arms for v in arm.vars):
                    self._sources[var.name] = self.names([value])
                    self._note_binding(var, loops)
        if isinstance(expr, n.Fold | n.Loop):
            loops = (*loops, id(expr))
            for i, var in enumerate(expr.vars):
                self.carried[var.name] = expr, i
                self._note_binding(var, loops)
        for body in bodies(expr):
            self._scan(body, loops, numbers)

    def name(self, var: n.Var) -> str:
        return self.original.get(var.name, var.name)

    def names(self, exprs: Sequence[n.Expr]) -> tuple[str, ...]:
        return tuple(self.name(e) for e in exprs if isinstance(e, n.Var))

    # ---- dependence

    def component(self, expr: n.Expr, i: int | None) -> list[Name]:
        """The variables that component `i` of a value may be, depending on branches; with None, those that the value may be."""
        _, tail = lets(expr)
        match tail:
            case n.Var() if i is None:
                return [self.name(tail)]
            case n.Tuple(items) if i is not None:
                return [*self.names([items[i]])]
            case n.If() | n.Match():
                return [name for body in bodies(tail) for name in self.component(body, i)]
            case n.Fold(vars=carried) | n.Loop(vars=carried) if i is not None:
                return [carried[i].name]
            case n.Host("parallel", values) if i is not None and len(values) > 1:
                return [*self.names([values[i]])]
            case n.Var():
                value = self.values.get(self.name(tail))
                if isinstance(value, n.Tuple | n.If | n.Match | n.Fold | n.Loop) or _is_parallel(value):
                    return self.component(value, i)  # type: ignore[arg-type]
                return [self.name(tail) if i is None else self.field(tail, i)]
        return [*self.names(operands(tail))]

    def field(self, parent: n.Var, i: int) -> Name:
        """The name of component `i` of a tuple variable: the variable that holds it, or else a new `Component`."""
        for name, value in self.values.items():
            if isinstance(value, n.Field) and value.index == i and self._key(value.value) == self.name(parent):
                return self.original.get(name, name) if isinstance(name, str) else name
        component = Component(self.name(parent), i)
        assert isinstance(parent.type, TupleT)
        self.values[component] = n.Field(n.Var(self.name(parent), parent.type), i, parent.type.items[i], span=parent.span)
        self._loops[component] = self._loops[component.whole]
        return component

    def uses(self, name: Name) -> list[tuple[Name, int | None]]:
        """The variables that `name` is computed from directly, each with the `id` of the loop whose earlier round gave it, if
        any."""
        if name in self.carried:
            loop, i = self.carried[name]
            back = self.component(loop.body, i)
            if isinstance(loop, n.Loop):
                back += self.component(loop.cond, None)
            return [*((each, None) for each in self.names([loop.init[i]])), *((each, id(loop)) for each in back)]
        if name in self._sources:
            return [(each, None) for each in self._sources[name]]
        value = self.values.get(name)
        if value is None:
            return []
        names: list[Name] = []
        if isinstance(value, n.Field) and isinstance(value.value, n.Var):
            parent = self.values.get(self.name(value.value))
            if isinstance(parent, n.If | n.Match):
                names = [*self.names(operands(parent))]
            names += self.component(value.value, value.index)
            names = [each for each in names if each != name] or [self.name(value.value)]
        elif isinstance(value, n.Fold | n.Loop):
            names = [v.name for v in value.vars]
        else:
            names = [*self.names(operands(value))]
            for body in bodies(value):
                names += (
                    self.component(body, None)
                    if not isinstance(lets(body)[1], n.Tuple)
                    else self.names(operands(lets(body)[1]))
                )
        return [(each, None) for each in names]

    def chain(self, start: Name, targets: set[Name], loops: tuple[int, ...] = (), itself: bool = False) -> list[str] | None:
        """The steps, as text of the source, the target's own first, by which `start` comes to use one of `targets`; None if it
        does not. `loops`: the `id`s of the loops around the marker, from outside in; what they bound in an earlier round is
        another value and does not count. `itself`: whether it counts that `start` is a target."""
        # The search is over (name, how many of `loops`, from outside in, are still in the marker's own round).
        previous: dict[tuple[Name, int], tuple[Name, int] | None] = {(start, len(loops)): None}
        pending = [(start, len(loops))]
        while pending:
            at = pending.pop(0)
            name, rounds = at
            if name in targets and (itself or name != start) and self._common(name, loops) <= rounds:
                return self.steps_in_source(at, previous)
            if (inner := self._in_call(name, targets)) is not None:
                return [*inner, *self.steps_in_source(at, previous)]
            for used, back in self.uses(name):
                outer_rounds = min(rounds, loops.index(back)) if back in loops else rounds
                if (used, outer_rounds) not in previous:
                    previous[used, outer_rounds] = at
                    pending.append((used, outer_rounds))
        return None

    def _common(self, name: Name, loops: tuple[int, ...]) -> int:
        """In how many of these loops a variable is bound."""
        return sum(loop in self._loops.get(name, ()) for loop in loops)

    def _in_call(self, name: Name, targets: set[Name]) -> list[str] | None:
        """If one call returns both `name` and a target, the steps inside the called function between these two components."""
        value = self.values.get(name)
        if not isinstance(value, n.Field) or not isinstance(value.value, n.Var):
            return None
        call = self.values.get(self.name(value.value))
        for other in (self.values.get(t) for t in targets):
            if isinstance(call, n.Call) and isinstance(other, n.Field) and self._key(other.value) == self.name(value.value):
                if other.index != value.index:
                    steps = self._program_flow.component_uses(call.function, value.index, other.index)
                    if steps is not None:
                        return steps
        return None

    def steps_in_source(self, at: tuple[Name, int], previous: dict[tuple[Name, int], tuple[Name, int] | None]) -> list[str]:
        """The steps of a search from `at` back to its start, as the source has them; `previous` has the step before each."""
        spans: list[Span] = []
        step: tuple[Name, int] | None = at
        while step is not None:
            value = self.values.get(step[0])
            if isinstance(value, n.Field):
                value = self.definition(value.value)
            if (
                value is not None
                and not isinstance(value, n.Field | n.Tuple | n.If | n.Match | n.Fold | n.Loop)
                and value.span.line
            ):
                if spans and covers(value.span, spans[-1]):
                    spans.pop()
                if value.span not in spans:
                    spans.append(value.span)
            step = previous[step]
        return [f"{source(s)} (line {s.line})" for s in spans]

    def parts_of(self, name: Name, other: Name | None = None) -> set[Name]:
        """The variables whose use is a use of the result `name`: itself, and parts of it that are not parts of `other` too."""
        parts: set[Name] = set()
        pending = [name]
        shared = set[Name]() if other is None else self.parts_of(other)
        while pending:
            name = pending.pop()
            if name in parts:
                continue
            parts.add(name)
            value = self.values.get(name)
            parent = self.definition(value.value) if isinstance(value, n.Field) else value
            components: list[Name] = []
            if isinstance(parent, n.If | n.Match | n.Fold | n.Loop):
                own = {v.name for node in walk(parent) for v in binders(node)}
                index = value.index if isinstance(value, n.Field) else None
                components = [each for each in self.component(parent, index) if each in own]
            elif (
                isinstance(value, n.Tuple | n.ListOf)
                or isinstance(value, n.Host)
                and value.op in ("list.append", "list.concat")
            ):
                components = [*self.names(operands(value))]
            pending += [each for each in components if self.computed(each) and each not in shared]
        return parts

    def definition(self, atom: n.Expr) -> n.Expr | None:
        return self.values.get(self.name(atom)) if isinstance(atom, n.Var) else None

    def computed(self, name: Name) -> bool:
        """Whether the function computes the value itself; it does not if the value is a parameter or is read out of one."""
        value = self.values.get(name)
        if isinstance(value, n.Field) and isinstance(value.value, n.Var):
            return self.computed(self.name(value.value))
        if isinstance(value, n.Host):
            return any(self.computed(each) for each in self.names(value.args))
        return value is not None or name in self.carried


def _is_parallel(value: n.Expr | None) -> bool:
    return isinstance(value, n.Host) and value.op == "parallel" and len(value.args) > 1
