"""Writes a static block: its steps, its operands and its results. `coarsen` decides which bindings of a chain are in it.

Source: our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from backends.acrobat.core.types import ListT, TupleT
from backends.acrobat.core.units import Block, Kernel, Mode, Step, StepArg, StepResult
from backends.acrobat.ir.nodes import Atom, Field, Launch, Map, Var
from backends.acrobat.ir.renaming import rename
from backends.acrobat.ir.visitor import Binding, free_vars, from_lets
from backends.acrobat.passes.launches import LaunchChain, PerItem
from backends.acrobat.passes.units import UnitOperands, unit_name
from backends.acrobat.passes.up_to_names import same


class BlockWriter:
    """Writes one block of the chain's `members`. `write` appends its launch, and the views of its results that are used
    elsewhere, to `out`, the bindings of the new chain."""

    def __init__(self, chain: LaunchChain, members: Sequence[int], out: list[Binding]) -> None:
        self.chain = chain
        self.members = members
        self.inside = set(members)
        self.out = out
        self.operands = UnitOperands()
        self.roots: dict[str, str] = {}  # list param -> the list that gives its length
        self.steps: list[Step] = []
        self.computed: dict[str, StepResult] = {}  # by the variable that holds it

    def write(self) -> None:
        """Write the block and its launch to `out`. Members that are needed outside and are no results of a kernel, such as
        views, are bound after it."""
        for m in self.members:
            var, value = self.chain.bindings[m]
            if isinstance(value, Launch):
                self.step(var, value)
            elif m in self.chain.per_item:
                self.steps_per_item(var, self.chain.per_item[m])
            elif isinstance(value, Field):
                self.computed[var.name] = replace(self.computed[cast(Var, value.value).name], index=value.index)
        leaving = [m for m in self.members if self.leaves(m)]
        results = [m for m in leaving if isinstance(self.chain.values[m], Launch | Field)]
        results = sorted({*results, *(cast(int, self.chain.base(m)) for m in leaving)})
        assert not any(isinstance(self.chain.values[m].type, TupleT) for m in results), "results are taken apart at once"
        unit = self.chain.scope.units.share(
            Block(
                unit_name(self.chain.scope.function.name, self.chain.bindings, self.chain.users, results),
                self.operands.params,
                tuple(self.steps),
                tuple(self.computed[self.chain.bindings[m][0].name] for m in results),
                self.list_groups(),
            )
        )
        variables = [self.chain.bindings[m][0] for m in results]
        span = next((v.span for v in variables if v.span.line), variables[0].span)
        self.out += self.chain.launches(unit, self.operands.atoms, variables, span)
        self.out += [self.chain.bindings[m] for m in leaving if m not in results]

    def leaves(self, m: int) -> bool:
        """Whether something outside the block uses the member's value, or a view of it. (Fields are members too.)"""
        return m in self.chain.in_tail or any(
            j not in self.inside or (self.chain.is_view[j] and self.leaves(j)) for j in self.chain.users[m]
        )

    def kernel(self, launch: Launch) -> tuple[Kernel, list[Atom]]:
        """A member's kernel and its operands, of which none is a view of another member's result (see `viewing`)."""
        kernel, atoms = self.chain.viewing(launch, self.inside)
        return kernel if kernel == launch.unit else self.chain.scope.units.share(kernel), atoms

    def step(self, var: Var, launch: Launch) -> None:
        kernel, atoms = self.kernel(launch)
        args = [self.arg(a, p.mode) for a, p in zip(atoms, kernel.params, strict=True)]
        self.computed[var.name] = StepResult(len(self.steps), 0)
        self.steps.append(Step(kernel, tuple(args)))

    def steps_per_item(self, var: Var, per_item: PerItem) -> None:
        """Add the steps of a map whose kernels run once for each item; `over` of a step names a list with as many items."""
        columns: dict[str, StepArg] = {}
        steps: list[Step] = []
        host_names = {v.name for v, _ in per_item.host_bindings} | {per_item.map.var.name}
        numbers: dict[str, int] = {}
        for bound, e in per_item.launches:
            kernel, atoms = self.kernel(cast(Launch, e))
            args: list[StepArg] = []
            for a, p in zip(atoms, kernel.params, strict=True):
                if isinstance(a, Var) and a.name in per_item.fields:
                    owner, j = per_item.fields[a.name]
                    args.append(StepResult(numbers[owner], j))
                elif isinstance(a, Var) and a.name in host_names:
                    if a.name not in columns:
                        columns[a.name] = self.arg(self.column(per_item, a), Mode.LIST)
                    args.append(columns[a.name])
                else:
                    args.append(self.arg(a, p.mode))
            numbers[bound.name] = len(self.steps) + len(steps)
            steps.append(Step(kernel, tuple(args)))
        over = cast(str, next(iter(columns.values())))
        self.steps += [replace(step, over=over) for step in steps]
        owner, j = per_item.fields[per_item.result.name]
        self.computed[var.name] = StepResult(numbers[owner], j)

    def column(self, per_item: PerItem, value: Var) -> Var:
        """The list of the tensors `value` that the host makes of a map's items, one of each. It is a LIST operand of the
        block; a map before the block that makes it already is used again."""
        old = per_item.map
        if value.name == old.var.name:
            return cast(Var, old.iterable)
        needed = {value.name}
        body: list[Binding] = []
        for var, e in reversed(per_item.host_bindings):
            if var.name in needed:
                needed |= free_vars(e)
                body.insert(0, (var, e))
        loop = Map(old.var, old.iterable, from_lets(body, value), ListT(value.type), span=old.span)
        for var, e in self.out:
            if isinstance(e, Map) and same(e, loop):
                return var
        new = Var(self.chain.scope.names.fresh(value.name), loop.type, span=old.span)
        self.out.append((new, rename(loop, self.chain.scope.names)))
        self.roots[new.name] = self.chain.root(cast(Var, old.iterable))
        return new

    def arg(self, atom: Atom, mode: Mode) -> StepArg:
        """A step's argument: the result of an earlier step, or a param for what comes from outside the block."""
        if isinstance(atom, Var) and atom.name in self.computed:
            return self.computed[atom.name]
        return self.operands.param(atom, mode)

    def list_groups(self) -> tuple[tuple[str, str], ...]:
        """`Block.groups`: with each LIST param the first LIST param that has the same length."""
        first: dict[str, str] = {}
        out = []
        for atom, param in zip(self.operands.atoms, self.operands.params, strict=True):
            if param.mode is Mode.LIST:
                xs = cast(Var, atom)
                root = self.roots.get(xs.name) or self.chain.root(xs)
                group = first.setdefault(root, param.name)
                out.append((param.name, group))
        return tuple(out)
