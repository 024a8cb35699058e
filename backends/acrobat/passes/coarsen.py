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

from dataclasses import replace

from backends.acrobat.ir.nodes import Expr, Field, Launch, Program
from backends.acrobat.ir.visitor import Binding, from_lets, lets, map_bodies, walk
from backends.acrobat.passes.block_writer import BlockWriter
from backends.acrobat.passes.chains import FunctionScope, scopes
from backends.acrobat.passes.dead import remove_dead
from backends.acrobat.passes.launches import LaunchChain, launches_kernel
from backends.acrobat.passes.units import UnitPool


def run(program: Program, hoist: bool = True) -> Program:
    """`program` with launches of blocks where several kernels may be one. Without `hoist` no depth counts as static."""
    program = remove_dead(program)
    units = UnitPool(n.unit for f in program.functions.values() for n in walk(f.body) if isinstance(n, Launch))
    functions = {}
    for scope in scopes(program, units, hoist):
        functions[scope.function.name] = replace(scope.function, body=_coarse(scope, scope.function.body))
    return remove_dead(replace(program, functions=functions))


def _coarse(scope: FunctionScope, expr: Expr) -> Expr:
    bindings, tail = lets(expr)
    return _Coarsener(scope, bindings, tail).coarse()


class _Coarsener(LaunchChain):
    """Makes one group of bindings that can be one block, step by step, and then the chain with a launch for each block."""

    def __init__(self, scope: FunctionScope, bindings: list[Binding], tail: Expr) -> None:
        super().__init__(scope, bindings, tail)
        self.blocks: set[int] = set()  # the groups with kernels among the bindings visited so far

    # ---- growing blocks

    def coarse(self) -> Expr:
        for i, value in enumerate(self.values):
            below = self.index(value.value) if isinstance(value, Field) else None
            if below is not None and isinstance(self.values[below], Launch):
                self.groups.merge([self.groups.of[below], i])
        for i, value in enumerate(self.values):
            if launches_kernel(value):
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
        merging = self.with_views(groups | {self.groups.of[i]})
        members = self.members(merging)
        maps = members & self.per_item.keys()
        if any(not members.issuperset(self.users[m]) or m in self.in_tail for m in maps):
            return
        if self.hoists_some([name for m in members for name in self.kernels[m]]):
            return
        if not all(self.reads(m, members) for m in members if self.views_read[m]):
            return
        if any(self.needed_by_host(m) & members for m in maps):
            return
        if self.groups.can_merge(merging) and not self.groups.delays(merging):
            self.groups.merge(merging)

    # ---- from groups to the new chain

    def emit(self) -> Expr:
        out: list[Binding] = []
        for group in self.groups.order():
            members = self.groups.members(group)
            if len([m for m in members if self.kernels[m]]) > 1:
                BlockWriter(self, members, out).write()
            else:
                out += [(self.bindings[m][0], map_bodies(self.values[m], self.coarse_body)) for m in members]
        return from_lets(out, map_bodies(self.tail, self.coarse_body))

    def coarse_body(self, body: Expr) -> Expr:
        return _coarse(self.scope, body)
