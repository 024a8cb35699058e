"""Vertical fusion (paper: kernel fusion): every tensor operation becomes part of exactly one kernel. Operations that use each
other's results share a kernel where that is fast, so that the results between them need not be stored.

    p = linear(x, @w)                 kernel cell(x: gathered f32[4], w: shared f32[4, 4], c: gathered f32[4])
    s = sigmoid(p)                      p = linear(x, w)
    m = mul(s, c)                       s = sigmoid(p)
                                        m = mul(s, c)
                                        return m
                                      m = launch cell(x, @w, c)

Element-wise work joins the product or reduction that computes its operand; a `cat` of operands becomes the product's left
operand, a sum over a list an operand of the product's epilogue. Addresses stay operations, and so do views that no kernel takes
itself: they cost nothing. Groups grow along dependences and not in source order, so bindings may change places.

Operations are put into one kernel under these conditions:
- The kernel is one product with all else as its operands and epilogue, or works by rows or by elements (`legal.fits`).
- No path of dependences leaves the kernel and comes back, and no work is delayed (`grouping.Groups`).
- All have a static depth, or none has; all are of one phase, if the model has `phase` markers.

Source: the paper's standard kernel fusion; the conditions are our own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from backends.acrobat.core.ops import Fusion
from backends.acrobat.core.types import TensorT
from backends.acrobat.core.units import displacements
from backends.acrobat.ir.nodes import Atom, Expr, Fold, Function, Loop, Op, Program, Var
from backends.acrobat.ir.visitor import Binding, free_vars, from_lets, lets, map_bodies, walk
from backends.acrobat.ir.work import is_operation, is_view
from backends.acrobat.passes.chains import Chain, FunctionScope, scopes
from backends.acrobat.passes.dead import remove_dead
from backends.acrobat.passes.kernel_builder import GroupKernel, KernelBuilder, fusion_of
from backends.acrobat.passes.legal import fits
from backends.acrobat.passes.units import UnitPool

FEW = 16
"""Every kernel may have so many operands."""


def run(program: Program, fuse: bool = True, hoist: bool = True) -> Program:
    """`program` with launches of kernels in place of operations; without `fuse`, a kernel for each operation. With `hoist`,
    operations that have a static depth share no kernel with others, which would give it a dynamic depth."""
    program = remove_dead(program)
    functions = {s.function.name: _VerticalFusion(s, fuse).function() for s in scopes(program, UnitPool(), hoist)}
    return replace(program, functions=functions)


class _VerticalFusion:
    """Fuses the let chains of one function, inner ones first."""

    def __init__(self, scope: FunctionScope, fuse: bool) -> None:
        self.scope = scope
        self.fuse = fuse
        loops = [node for node in walk(scope.function.body) if isinstance(node, Fold | Loop)]
        self.carried = frozenset(v.name for node in loops for v in node.vars)

    def function(self) -> Function:
        return replace(self.scope.function, body=self.fused_chain(self.scope.function.body))

    def fused_chain(self, expr: Expr) -> Expr:
        """The chain, and those inside it, with launches of kernels in place of operations."""
        bindings, tail = lets(expr)
        bindings = [(var, map_bodies(value, self.fused_chain)) for var, value in bindings]
        if isinstance(tail, Op):
            var = Var(self.scope.names.fresh("result"), tail.type, span=tail.span)
            bindings.append((var, tail))
            tail = var
        tail = map_bodies(tail, self.fused_chain)
        if not any(is_operation(value) for _, value in bindings):
            return from_lets(bindings, tail)
        return _OperationChain(self, bindings, tail).fuse()


class _OperationChain(Chain):
    """A let chain of operations, whose groups grow until each is as large a kernel as it may be."""

    def __init__(self, owner: _VerticalFusion, bindings: list[Binding], tail: Expr) -> None:
        super().__init__(owner.scope, _cat_for_each_product(bindings, tail, owner) if owner.fuse else bindings, tail)
        self.owner = owner
        self.kernels: dict[tuple[int, ...], GroupKernel | None] = {}  # by the bindings in the group, see `as_kernel`

    # ---- growing groups

    def fuse(self) -> Expr:
        """Grow the groups, products before other operations, and give the chain with a launch for each group."""
        if self.owner.fuse:
            order = range(len(self.bindings))
            for i in order:
                if fusion_of(self.values[i]) is Fusion.PRODUCT:
                    self.take_operands(i, lambda value: isinstance(value, Op) and value.op == "cat")
            for i in order:
                if fusion_of(self.values[i]) is Fusion.PRODUCT:
                    self.take_parts(i)
            for i in order:
                if self.is_operation[i] and fusion_of(self.values[i]) is not Fusion.PRODUCT and not self.is_taken(i):
                    self.join_producers(i)
            for i in order:
                if fusion_of(self.values[i]) is Fusion.PRODUCT:
                    self.take_operands(i, lambda value: fusion_of(value) is Fusion.MOVE and not is_view(value))
        return self.emit()

    def is_taken(self, i: int) -> bool:
        """Whether the binding is a move that a product's group has taken in."""
        return fusion_of(self.values[i]) is Fusion.MOVE and len(self.groups.members(self.groups.of[i])) > 1

    def take_operands(self, product: int, is_wanted: Callable[[Expr], bool]) -> None:
        """Merges into a product's group the moves (`cat`, `slice`, ...) that make its operands, down to the last that is
        wanted, if nothing else uses them and the product's kernel can read their sources in place."""
        value = self.values[product]
        assert isinstance(value, Op)
        for arg in value.args[:2]:
            path = self.moves(arg, is_wanted)
            if path:
                self.merge([self.groups.of[i] for i in path], product)

    def take_parts(self, product: int) -> None:
        """Merges into a product's group the parts that its result is cut into, with as many further moves of these parts as can
        be. All parts are merged at once: with one of them alone, the kernel would have to store the whole for the others."""
        steps: list[list[int]] = []  # the moves of the product's result, the moves of their results, and so on
        last = [product]
        while last := [j for i in last for j in self.users[i] if self.is_move(j)]:
            steps.append(last)
        if not steps or sum(not self.is_view[j] for j in steps[0]) < 2:
            return
        while steps and not self.merge([self.groups.of[j] for step in steps for j in step], product):
            steps.pop()

    def has_product(self, group: int) -> bool:
        return any(fusion_of(self.values[m]) is Fusion.PRODUCT for m in self.groups.members(group))

    def is_move(self, i: int) -> bool:
        """Whether the binding only moves or selects elements of one other value."""
        value = self.values[i]
        return isinstance(value, Op) and len(value.args) == 1 and fusion_of(value) is Fusion.MOVE

    def moves(self, atom: Atom, is_wanted: Callable[[Expr], bool]) -> list[int]:
        """The moves by which `atom` is made, back to the last that is wanted; [] if there is none. Each has this one use. A
        move that is part of a product's kernel is none of them."""
        i = self.index(atom)
        if i is None or fusion_of(self.values[i]) is not Fusion.MOVE or len(self.users[i]) > 1 or i in self.in_tail:
            return []
        if self.has_product(self.groups.of[i]):
            return []
        value = self.values[i]
        assert isinstance(value, Op)
        below = [j for arg in value.args for j in self.moves(arg, is_wanted)]
        return [i, *below] if below or is_wanted(value) else []

    def join_producers(self, i: int) -> None:
        """Merges binding `i`'s group with the groups that compute its operands, the latest first, wherever that gives one
        kernel."""
        while True:
            candidates = [g for g in self.producers(i) if g != self.groups.of[i]]
            if not any(self.merge([g], i) for g in candidates):
                return

    def producers(self, i: int) -> list[int]:
        """The groups that compute operands of binding `i`'s group, the one that can probably start last first."""
        groups: dict[int, None] = {}
        for member in self.groups.members(self.groups.of[i]):
            for j in self.groups.dependence.direct(member):
                base = self.base(j)
                if base is not None and self.is_operation[base]:
                    groups[self.groups.of[base]] = None

        carried = sum(1 << self.groups.numbers[name] for name in self.owner.carried if name in self.groups.numbers)

        def lateness(group: int) -> tuple[bool, bool, int, int]:
            ready = self.groups.ready(group)
            return self.has_product(group), bool(ready & carried), ready.bit_count(), self.groups.members(group)[-1]

        return sorted(groups, key=lateness, reverse=True)

    def merge(self, groups: Sequence[int], i: int) -> bool:
        """Makes one group of these, binding `i`'s and the views between them, if the conditions for a kernel hold; returns
        whether."""
        merging = self.with_views({*groups, self.groups.of[i]})
        if self.hoists_some(self.operation_names(merging)):
            return False
        if not self.groups.can_merge(merging) or self.groups.delays(merging):
            return False
        members = sorted(self.members(merging))
        if not self.surely_fits(members) and self.as_kernel(members) is None:
            return False
        self.groups.merge(merging)
        return True

    def surely_fits(self, members: list[int]) -> bool:
        """Whether all members are element-wise work on tensors of one type, and have few operands: that is always a kernel
        (`legal.fits`), so it need not be built to find out."""
        values = [self.values[m] for m in members]
        names = {name for value in values for name in free_vars(value)} - {self.bindings[m][0].name for m in members}
        if len(names) > FEW:
            return False
        return all(fusion_of(value) is Fusion.ELEMENTWISE and value.type == values[0].type for value in values)

    def operation_names(self, groups: Iterable[int]) -> list[str]:
        return [self.bindings[m][0].name for g in groups for m in self.groups.members(g) if self.is_operation[m]]

    # ---- from a group to a kernel

    def as_kernel(self, members: list[int]) -> GroupKernel | None:
        """The kernel that computes those values of the members that are used elsewhere; None if there is no fast one. The
        answer is kept, because the same merge may be tried again after others."""
        key = tuple(members)
        if key not in self.kernels:
            self.kernels[key] = self.kernel_that_fits(members)
        return self.kernels[key]

    def kernel_that_fits(self, members: list[int]) -> GroupKernel | None:
        """`as_kernel` without keeping: the kernel with views among its results if that fits, or else without."""
        for exposed in dict.fromkeys((self.results_of(members, views=self.owner.fuse), self.results_of(members, views=False))):
            group_kernel = KernelBuilder(self, exposed).build({i for i in members if not self.is_view[i]})
            if fits(group_kernel.kernel):
                return group_kernel
        return None

    def results_of(self, members: list[int], views: bool) -> tuple[int, ...]:
        """The bindings that are the results of the group's kernel. If `views`, these may be views of what the kernel computes:
        a view that another kernel needs (so that both kernels may be in one static block), and views that are all that is used
        of a value and together smaller than it."""
        inside = set(members)
        outside: dict[int, dict[int, bool]] = {}  # base -> its views with users outside -> whether those are kernels
        complete: set[int] = set()
        for base in members:
            if self.is_view[base]:
                continue
            pending = [base]
            while pending:
                i = pending.pop()
                users = [j for j in self.users[i] if j not in inside]
                pending += [j for j in self.users[i] if self.is_view[j]]
                users = [j for j in users if not self.is_view[j]]
                if not users and i not in self.in_tail:
                    continue
                if i == base:
                    complete.add(base)
                else:
                    outside.setdefault(base, {})[i] = any(self.is_operation[j] for j in users)
        results = set(complete)
        for base, views_outside in outside.items():
            needed = {i for i, kernels in views_outside.items() if kernels} if views else set()
            others = views_outside.keys() - needed
            if base not in complete and others:
                if views and self.words(views_outside) < self.words([base]):
                    needed |= others
                else:
                    results.add(base)
            results |= needed
        return tuple(sorted(results))

    def words(self, indices: Iterable[int]) -> int:
        """The size of a row that holds these values, in 4-byte elements."""
        types = [self.values[i].type for i in indices]
        return displacements(tuple(t for t in types if isinstance(t, TensorT)))[1]

    # ---- from groups to the new chain

    def emit(self) -> Expr:
        """The chain with a launch in place of each group. Views that are no results of a kernel stay bindings after it."""
        out: list[Binding] = []
        exposed: set[int] = set()
        for group in self.groups.order():
            members = self.groups.members(group)
            if not any(self.is_operation[i] for i in members):
                out += [self.bindings[i] for i in members if i not in exposed]
                continue
            group_kernel = self.as_kernel(members)
            if group_kernel is None:
                (alone,) = (i for i in members if self.is_operation[i])
                group_kernel = KernelBuilder(self, (alone,)).build({alone})
            exposed |= set(group_kernel.exposed)
            self.launch(group_kernel, out)
            out += [self.bindings[i] for i in members if self.is_view[i] and i not in group_kernel.exposed]
        return from_lets(self.without_idle_views(out), self.tail)

    def without_idle_views(self, bindings: list[Binding]) -> list[Binding]:
        """The bindings without the views that nothing uses any more, because kernels take them themselves."""
        used = set(free_vars(self.tail))
        needed = []
        for var, value in reversed(bindings):
            if var.name in used or not is_view(value):
                used |= free_vars(value)
                needed.append((var, value))
        return needed[::-1]

    def launch(self, group_kernel: GroupKernel, out: list[Binding]) -> None:
        kernel = self.scope.units.share(group_kernel.kernel)
        variables = [self.bindings[i][0] for i in group_kernel.exposed]
        span = variables[-1].span if variables[-1].span.line else self.values[group_kernel.exposed[-1]].span
        out += self.launches(kernel, group_kernel.atoms, variables, span)


def _cat_for_each_product(bindings: list[Binding], tail: Expr, owner: _VerticalFusion) -> list[Binding]:
    """The chain with a copy of a `cat` for each product that reads it. The product's kernel takes the copy in and reads the
    pieces in place, which costs nothing."""
    cats = {var.name: value for var, value in bindings if isinstance(value, Op) and value.op == "cat"}
    out: list[Binding] = []
    for var, value in bindings:
        if isinstance(value, Op) and fusion_of(value) is Fusion.PRODUCT:
            args = list(value.args)
            for k, arg in enumerate(args):
                if isinstance(arg, Var) and arg.name in cats:
                    own = Var(owner.scope.names.fresh(arg.name), arg.type, span=arg.span)
                    owner.scope.hoisted |= {own.name} if arg.name in owner.scope.hoisted else set()
                    out.append((own, cats[arg.name]))
                    args[k] = own
            value = replace(value, args=tuple(args))
        out.append((var, value))
    used = free_vars(tail).union(*(free_vars(value) for _, value in out))
    return [(var, value) for var, value in out if var.name not in cats or var.name in used]
