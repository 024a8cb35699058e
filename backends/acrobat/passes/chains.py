"""The common part of the passes that make units: `vertical` makes kernels of operations, `coarsen` makes blocks of kernels.

Both walk over the let chains of each function, merge bindings of a chain into groups, and put a Launch in the place of a group.

Source: our own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from backends.acrobat.analyses.callgraph import call_graph
from backends.acrobat.analyses.depth import static_depths
from backends.acrobat.analyses.phases import marked_phases
from backends.acrobat.core.span import Span
from backends.acrobat.core.types import TupleT, Type
from backends.acrobat.core.units import Block, Kernel
from backends.acrobat.ir.nodes import Atom, Expr, Field, Function, Launch, Op, Program, Var
from backends.acrobat.ir.renaming import Names
from backends.acrobat.ir.visitor import Binding, binders, free_vars, walk
from backends.acrobat.ir.work import is_operation, is_view
from backends.acrobat.passes.grouping import Groups
from backends.acrobat.passes.units import UnitPool


@dataclass
class FunctionScope:
    """A function whose chains are worked on. `hoisted`: its variables of a static depth. They share no unit with others,
    because a unit with work of a dynamic depth in it has no static depth. `phases`: variable -> phase, as markers say."""

    function: Function
    units: UnitPool
    hoisted: set[str]
    phases: Mapping[str, int]
    names: Names = field(init=False)
    types: Mapping[str, Type] = field(init=False)

    def __post_init__(self) -> None:
        variables = (*self.function.params, *(v for node in walk(self.function.body) for v in binders(node)))
        self.types = {v.name: v.type for v in variables}
        self.names = Names(self.types)


def scopes(program: Program, units: UnitPool, hoist: bool) -> Iterator[FunctionScope]:
    """Every function of the program. Without `hoist` none of its variables has a static depth."""
    graph = call_graph(program)
    static = static_depths(program, graph).depths if hoist else {}
    phases = marked_phases(program, graph)
    for name, function in program.functions.items():
        hoisted = {var for owner, var in static if owner == name}
        yield FunctionScope(function, units, hoisted, phases if name == program.entry else {})


class Chain:
    """A let chain and the groups of its bindings. A binding is named by its position in the chain, a group by one member."""

    def __init__(self, scope: FunctionScope, bindings: list[Binding], tail: Expr) -> None:
        self.scope = scope
        self.bindings = bindings
        self.tail = tail
        self.values = [value for _, value in bindings]
        self.at = {var.name: i for i, (var, _) in enumerate(bindings)}
        self.is_view = [is_view(value) for value in self.values]
        self.is_operation = [is_operation(value) for value in self.values]
        self.groups = Groups(bindings, scope.phases, scope.types)
        self.users = self.groups.users
        direct = self.groups.dependence.direct
        self.views_read = [[j for j in direct(i) if self.is_view[j]] for i in range(len(bindings))]
        self.in_tail = {self.at[name] for name in free_vars(tail) if name in self.at}

    def index(self, atom: Atom) -> int | None:
        """The binding of a variable; None for an atom that is not bound in the chain."""
        return self.at.get(atom.name) if isinstance(atom, Var) else None

    def viewed_binding(self, i: int) -> int | None:
        """The binding of the chain that binding `i` is a view of; None if there is none."""
        value = self.values[i]
        return self.index(value.args[0]) if isinstance(value, Op) and self.is_view[i] else None

    def base(self, i: int) -> int | None:
        """The binding in whose memory binding `i` lies: `i` itself unless it is a view; None if it is a view from outside."""
        while self.is_view[i]:
            below = self.viewed_binding(i)
            if below is None:
                return None
            i = below
        return i

    def members(self, groups: Iterable[int]) -> set[int]:
        return {m for g in groups for m in self.groups.members(g)}

    def with_views(self, groups: Iterable[int]) -> set[int]:
        """The groups, and the groups of all views by which a member reads another member's value."""
        wider = set(groups)
        members = self.members(wider)
        for m in list(members):
            for j in self.views_read[m]:
                wider |= self._views_between(j, members)
        return wider

    def _views_between(self, i: int, members: set[int]) -> set[int]:
        """The groups of the views from binding `i` down to a member; empty if `i` is no view of a member."""
        path: set[int] = set()
        while i not in members:
            below = self.viewed_binding(i)
            if below is None:
                return set()
            path.add(self.groups.of[i])
            i = below
        return path

    def hoists_some(self, names: Iterable[str]) -> bool:
        """Whether some of these variables have a static depth and others do not."""
        return len({name in self.scope.hoisted for name in names}) > 1

    def launches(self, unit: Kernel | Block, atoms: Sequence[Atom], variables: Sequence[Var], span: Span) -> list[Binding]:
        """The bindings that launch a unit whose results are these variables."""
        if len(variables) == 1:
            return [(variables[0], Launch(unit, tuple(atoms), variables[0].type, span=span))]
        together = TupleT(tuple(v.type for v in variables))
        var = Var(self.scope.names.fresh("_".join(v.name for v in variables[:3])), together, span=span)
        fields: list[Binding] = [(v, Field(var, k, v.type, span=span)) for k, v in enumerate(variables)]
        return [(var, Launch(unit, tuple(atoms), together, span=span)), *fields]
