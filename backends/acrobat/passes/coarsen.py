"""Static blocks (paper: grain-size coarsening): kernels that always run one after the other become one unit, which is recorded
and scheduled as one. The runtime then has fewer and larger units to handle; the kernels stay separate.

    total = launch add_up(hs)                               block cell(hs, w, cs, u)
    gated = map s in states                                   add_up(hs)
              h = s[0]; c = s[1]                              gate(hs, w, cs) over hs      a step for each item of hs
              g = launch gate(h, @w, c)                       compose(0.0, u, 1.0)         0.0: result 0 of step 0
              g                                               return 2.0
    out = launch compose(total, @u, gated)                  out = launch cell(hs, @w, cs, @u)      hs, cs: lists of h and of c

Kernels are put into one block, as many as possible, under these conditions:
- They stand in one let chain, and none needs another one by way of something outside the block: a call, a branch, a wait.
- The block delays no work. A block starts when the operands of all its kernels can be used, so work outside that needs an early
  kernel must not come to wait for the operands of a late one (`grouping.Groups.delays`).
- All have a static depth, or none has; all are of one phase, if the model has `phase` markers.
A `Map` of kernels joins a block if kernels of the block read its list, as one that sums it up, and nothing else uses the list.

Source: the paper's grain-size coarsening; the conditions are our own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import cast

from backends.acrobat.core.types import ListT, TensorT, TupleT
from backends.acrobat.core.units import Block, Instr, Kernel, Mode, Param, Step, StepArg, StepResult
from backends.acrobat.ir.nodes import (
    Atom,
    Expr,
    Field,
    Host,
    Launch,
    Map,
    Op,
    Program,
    Tuple,
    Var,
)
from backends.acrobat.ir.visitor import Binding, Names, free_vars, from_lets, lets, map_bodies, rename, walk
from backends.acrobat.passes.chains import Chain, FunctionScope, scopes
from backends.acrobat.passes.dead import remove_dead
from backends.acrobat.passes.legal import fits
from backends.acrobat.passes.simplify import same
from backends.acrobat.passes.units import UnitOperands, UnitPool, param_name, unit_name, value_names


def run(program: Program, hoist: bool = True) -> Program:
    """`program` with launches of blocks where several kernels may be one. Without `hoist` no depth counts as static."""
    program = remove_dead(program)
    units = UnitPool(n.unit for f in program.functions.values() for n in walk(f.body) if isinstance(n, Launch))
    functions = {}
    for scope in scopes(program, units, hoist):
        functions[scope.function.name] = replace(scope.function, body=_coarse(scope, scope.function.body))
    return remove_dead(replace(program, functions=functions))


@dataclass(frozen=True)
class _PerItem:
    """A `Map` whose body is some work on the host (`host_bindings`), then launches of kernels and fields of their results;
    `result` is the variable that the body gives for each item."""

    map: Map
    host_bindings: tuple[Binding, ...]
    launches: tuple[Binding, ...]
    fields: dict[str, tuple[str, int]]  # variable -> the launch's variable and which of its results
    result: Var


def _launches_kernel(expr: Expr) -> bool:
    return isinstance(expr, Launch) and isinstance(expr.unit, Kernel)


def _coarse(scope: FunctionScope, expr: Expr) -> Expr:
    bindings, tail = lets(expr)
    return _LaunchChain(scope, bindings, tail).coarse()


class _LaunchChain(Chain):
    def __init__(self, scope: FunctionScope, bindings: list[Binding], tail: Expr) -> None:
        super().__init__(scope, bindings, tail)
        self.kernels = [[var.name] if _launches_kernel(value) else [] for var, value in bindings]  # launched by each binding
        self.blocks: set[int] = set()  # the groups with kernels among the bindings visited so far
        self.per_item = {i: found for i, value in enumerate(self.values) if (found := self.as_per_item(i, value))}
        for i, found in self.per_item.items():
            self.kernels[i] = [var.name for var, _ in found.launches]

    # ---- growing blocks

    def coarse(self) -> Expr:
        for i, value in enumerate(self.values):
            below = self.index(value.value) if isinstance(value, Field) else None
            if below is not None and isinstance(self.values[below], Launch):
                self.groups.merge([self.groups.of[below], i])
        for i, value in enumerate(self.values):
            if _launches_kernel(value):
                self.join(i)
        return self.emit()

    def join(self, i: int) -> None:
        """Merge the launch with the maps that it sums up, then with every block so far that allows it, the latest first."""
        maps = {j for j in self.groups.dependence.direct(i) if j in self.per_item}
        for j in maps:
            self.merge({self.groups.of[j]}, i)
        for block in sorted(self.blocks, key=lambda g: self.groups.members(g)[-1], reverse=True):
            if self.groups.of[block] == block != self.groups.of[i]:  # it has not been merged in this loop
                self.merge({block}, i)
        self.blocks = {self.groups.of[block] for block in (*self.blocks, i)}

    def merge(self, groups: set[int], i: int) -> None:
        """Makes one block of the groups and that of binding `i`, if the conditions for a block hold."""
        wanted = self.with_views(groups | {self.groups.of[i]})
        members = self.members(wanted)
        maps = members & self.per_item.keys()
        if any(not members.issuperset(self.users[m]) or m in self.in_tail for m in maps):
            return
        if self.hoists_some([name for m in members for name in self.kernels[m]]):
            return
        if not all(self.reads(m, members) for m in members if self.views_read[m]):
            return
        if any(self.needed_by_host(m) & members for m in maps):
            return
        if self.groups.can_merge(wanted) and not self.groups.delays(wanted):
            self.groups.merge(wanted)

    def reads(self, i: int, members: set[int]) -> bool:
        """Whether the binding's kernel, if it launches one, may itself take the views of members' results that it reads."""
        value = self.values[i]
        return not isinstance(value, Launch) or fits(self.viewing(value, members)[0])

    def needed_by_host(self, i: int) -> set[int]:
        """The bindings that the host needs to make a map's items before it records the block, which must not contain them."""
        return {self.at[name] for _, value in self.per_item[i].host_bindings for name in free_vars(value) if name in self.at}

    def viewing(self, launch: Launch, members: Collection[int]) -> tuple[Kernel, list[Atom]]:
        """The launch's kernel and operands. In place of a view of a member's result, it gets the result and takes the view."""
        kernel, args = cast(Kernel, launch.unit), list(launch.args)
        for k in range(len(args)):
            views: list[Op] = []
            while (i := self.index(args[k])) in members and self.is_view[cast(int, i)]:
                views.insert(0, cast(Op, self.values[cast(int, i)]))
                args[k] = views[0].args[0]
            if views:
                kernel = _viewing(kernel, kernel.params[k], cast(Var, args[k]), views)
        return (kernel, args) if kernel == launch.unit else _each_once(kernel, args)

    def as_per_item(self, i: int, value: Expr) -> _PerItem | None:
        """The map if its body is host work on the item and launches of kernels, and only kernels use it; else None."""
        if not isinstance(value, Map) or not isinstance(value.type, ListT) or not isinstance(value.type.item, TensorT):
            return None
        if not self.users[i] or not all(_launches_kernel(self.values[j]) for j in self.users[i]):
            return None
        bindings, tail = lets(value.body)
        host_bindings: list[Binding] = []
        launches: list[Binding] = []
        fields: dict[str, tuple[str, int]] = {}
        for var, e in bindings:
            if isinstance(e, Launch):
                if not isinstance(e.unit, Kernel) or any(p.mode is Mode.LIST for p in e.unit.params):
                    return None
                launches.append((var, e))
                if not isinstance(e.type, TupleT):
                    fields[var.name] = (var.name, 0)
            elif isinstance(e, Field) and cast(Var, e.value).name in {v.name for v, _ in launches}:
                fields[var.name] = (cast(Var, e.value).name, e.index)
            elif isinstance(e, Field | Tuple | Host | Op) and not free_vars(e) & fields.keys():
                host_bindings.append((var, e))
            else:
                return None
        per_item = {value.var.name, *(var.name for var, _ in host_bindings)}
        uses = {a.name for _, e in launches for a in cast(Launch, e).args if isinstance(a, Var)}
        if not isinstance(tail, Var) or tail.name not in fields or not uses & per_item:
            return None
        return _PerItem(value, tuple(host_bindings), tuple(launches), fields, tail)

    # ---- from groups to the new chain

    def emit(self) -> Expr:
        out: list[Binding] = []
        for group in self.groups.order():
            members = self.groups.members(group)
            if len([m for m in members if self.kernels[m]]) > 1:
                _BlockWriter(self, members, out).write()
            else:
                out += [(self.bindings[m][0], map_bodies(self.values[m], self.coarse_body)) for m in members]
        return from_lets(out, map_bodies(self.tail, self.coarse_body))

    def coarse_body(self, body: Expr) -> Expr:
        return _coarse(self.scope, body)

    def root(self, xs: Var) -> str:
        """The list from which `xs` is made item by item, perhaps by several maps, and which therefore has the same length."""
        i = self.index(xs)
        while i is not None and isinstance(value := self.values[i], Map) and isinstance(value.iterable, Var):
            xs = value.iterable
            i = self.index(xs)
        return xs.name


def _viewing(kernel: Kernel, param: Param, whole: Var, views: Sequence[Op]) -> Kernel:
    """The kernel with a param for the tensor `whole` in place of `param`, which it now computes by these views in turn."""
    names = Names(value_names(kernel))
    base = Param(param_name(whole, names), cast(TensorT, whole.type), param.mode)
    instrs, below = [], base.name
    for view in views:
        name = param.name if view is views[-1] else names.fresh(param.name)
        instrs.append(Instr(name, view.op, (below,), view.attrs, cast(TensorT, view.type)))
        below = name
    params = tuple(base if p is param else p for p in kernel.params)
    return replace(kernel, params=params, body=(*instrs, *kernel.body))


def _each_once(kernel: Kernel, args: Sequence[Atom]) -> tuple[Kernel, list[Atom]]:
    """The kernel and its operands with one param for each operand and mode, where several were given the same operand."""
    first: dict[tuple[Atom, Mode], Param] = {}
    taken: dict[str | float, str] = {}
    for atom, p in zip(args, kernel.params, strict=True):
        taken[p.name] = first.setdefault((atom, p.mode), p).name
    body = tuple(replace(i, args=tuple(taken.get(a, a) for a in i.args)) for i in kernel.body)
    return replace(kernel, params=tuple(first.values()), body=body), [atom for atom, _ in first]


class _BlockWriter:
    """Writes one block of the chain's `members`. `write` appends its launch, and the views of its results that are used
    elsewhere, to `out`, the bindings of the new chain."""

    def __init__(self, chain: _LaunchChain, members: Sequence[int], out: list[Binding]) -> None:
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

    def steps_per_item(self, var: Var, per_item: _PerItem) -> None:
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

    def column(self, per_item: _PerItem, wanted: Var) -> Var:
        """The list of the tensors `wanted` that the host makes of a map's items, one of each. It is a LIST operand of the
        block; a map before the block that makes it already is used again."""
        old = per_item.map
        if wanted.name == old.var.name:
            return cast(Var, old.iterable)
        needed = {wanted.name}
        body: list[Binding] = []
        for var, e in reversed(per_item.host_bindings):
            if var.name in needed:
                needed |= free_vars(e)
                body.insert(0, (var, e))
        loop = Map(old.var, old.iterable, from_lets(body, wanted), ListT(wanted.type), span=old.span)
        for var, e in self.out:
            if isinstance(e, Map) and same(e, loop):
                return var
        new = Var(self.chain.scope.names.fresh(wanted.name), loop.type, span=old.span)
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
