"""Vertical fusion: every tensor operation becomes part of exactly one kernel, which computes a whole cell in one go.

Element-wise work joins the product or reduction that feeds it, a `cat` of operands becomes the product's left operand, a sum
over a list an operand of the epilogue. Addresses, and views that no kernel needs inside, stay operations: they cost nothing.
Groups grow on the dependence graph of a let chain, not in source order, so bindings may change places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.core.types import ListT, TensorT
from backends.acrobat.core.units import Instr, Kernel, Mode, displacements
from backends.acrobat.ir.nodes import Atom, Expr, Fold, Function, Lit, Loop, Op, Program, Var, Weight
from backends.acrobat.ir.visitor import Binding, free_vars, from_lets, lets, map_bodies, walk
from backends.acrobat.ir.work import is_operation, is_view
from backends.acrobat.passes.chains import Chain, FunctionScope, scopes
from backends.acrobat.passes.dead import remove_dead
from backends.acrobat.passes.legal import fits
from backends.acrobat.passes.units import UnitOperands, UnitPool, unit_name


def run(program: Program, fuse: bool = True, hoist: bool = True) -> Program:
    """`program` with Launches of kernels in place of operations; without `fuse`, one kernel for each. With `hoist`, operations
    that have a static depth share no kernel with others: the kernel would have a dynamic depth."""
    program = remove_dead(program)
    functions = {s.function.name: _VerticalFusion(s, fuse).function() for s in scopes(program, UnitPool(), hoist)}
    return replace(program, functions=functions)


def _kind(expr: Expr) -> Fusion | None:
    return OPS[expr.op].fusion if isinstance(expr, Op) else None


class _VerticalFusion:
    def __init__(self, scope: FunctionScope, fuse: bool) -> None:
        self.scope = scope
        self.fuse = fuse
        loops = [node for node in walk(scope.function.body) if isinstance(node, Fold | Loop)]
        self.carried = frozenset(v.name for node in loops for v in node.vars)

    def function(self) -> Function:
        return replace(self.scope.function, body=self.chain(self.scope.function.body))

    def chain(self, expr: Expr) -> Expr:
        bindings, tail = lets(expr)
        bindings = [(var, map_bodies(value, self.chain)) for var, value in bindings]
        if isinstance(tail, Op):
            var = Var(self.scope.names.fresh("result"), tail.type, span=tail.span)
            bindings.append((var, tail))
            tail = var
        tail = map_bodies(tail, self.chain)
        if not any(is_operation(value) for _, value in bindings):
            return from_lets(bindings, tail)
        return _OperationChain(self, bindings, tail).fuse()


@dataclass(frozen=True)
class _GroupKernel:
    """A group as a kernel: `atoms` follow its params, `exposed` are the bindings that its results are."""

    kernel: Kernel
    atoms: tuple[Atom, ...]
    exposed: tuple[int, ...]


class _OperationChain(Chain):
    def __init__(self, owner: _VerticalFusion, bindings: list[Binding], tail: Expr) -> None:
        super().__init__(owner.scope, _cat_for_each_product(bindings, tail, owner) if owner.fuse else bindings, tail)
        self.owner = owner
        self.kernels: dict[tuple[int, ...], _GroupKernel | None] = {}  # by their members, see `as_kernel`

    # ---- growing groups

    def fuse(self) -> Expr:
        if self.owner.fuse:
            order = range(len(self.bindings))
            for i in order:
                if _kind(self.values[i]) is Fusion.PRODUCT:
                    self.take_operands(i, lambda value: isinstance(value, Op) and value.op == "cat")
            for i in order:
                if _kind(self.values[i]) is Fusion.PRODUCT:
                    self.take_parts(i)
            for i in order:
                if self.is_operation[i] and _kind(self.values[i]) is not Fusion.PRODUCT and not self.is_taken(i):
                    self.join_producers(i)
            for i in order:
                if _kind(self.values[i]) is Fusion.PRODUCT:
                    self.take_operands(i, lambda value: _kind(value) is Fusion.MOVE and not is_view(value))
        return self.emit()

    def is_taken(self, i: int) -> bool:
        """Whether the binding is an operand of a product's group already."""
        return _kind(self.values[i]) is Fusion.MOVE and len(self.groups.members(self.groups.of[i])) > 1

    def take_operands(self, product: int, wanted: Callable[[Expr], bool]) -> None:
        """Moves of which the product's operands are made, if they have no other use and the product reads them in place."""
        value = self.values[product]
        assert isinstance(value, Op)
        for arg in value.args[:2]:
            path = self.moves(arg, wanted)
            if path:
                self.merge([self.groups.of[i] for i in path], product)

    def take_parts(self, product: int) -> None:
        """The parts that a product's result is cut into, and as many of their moves to other places as can be, all at once: one
        part alone would leave a kernel that also has to keep the whole for the others."""
        steps: list[list[int]] = []  # of the moves: the first ones, those of their results, and so on
        last = [product]
        while last := [j for i in last for j in self.users[i] if self.is_move(j)]:
            steps.append(last)
        if not steps or sum(not self.is_view[j] for j in steps[0]) < 2:
            return
        while steps and not self.merge([self.groups.of[j] for step in steps for j in step], product):
            steps.pop()

    def has_product(self, group: int) -> bool:
        return any(_kind(self.values[m]) is Fusion.PRODUCT for m in self.groups.members(group))

    def is_move(self, i: int) -> bool:
        """Whether the binding is one value with its elements in other places, or fewer of them."""
        value = self.values[i]
        return isinstance(value, Op) and len(value.args) == 1 and _kind(value) is Fusion.MOVE

    def moves(self, atom: Atom, wanted: Callable[[Expr], bool]) -> list[int]:
        """The moves between `atom` and what is computed, down to the last one wanted; [] if there is none. What is part of a
        product's kernel counts as computed."""
        i = self.index(atom)
        if i is None or _kind(self.values[i]) is not Fusion.MOVE or len(self.users[i]) > 1 or i in self.in_tail:
            return []
        if self.has_product(self.groups.of[i]):
            return []
        value = self.values[i]
        assert isinstance(value, Op)
        below = [j for arg in value.args for j in self.moves(arg, wanted)]
        return [i, *below] if below or wanted(value) else []

    def join_producers(self, i: int) -> None:
        """Merge with the groups that compute the operands, the latest first; with what cannot be one kernel, not at all."""
        while True:
            candidates = [g for g in self.producers(i) if g != self.groups.of[i]]
            if not any(self.merge([g], i) for g in candidates):
                return

    def producers(self, i: int) -> list[int]:
        found: dict[int, None] = {}
        for member in self.groups.members(self.groups.of[i]):
            for j in self.groups.dependence.direct(member):
                base = self.base(j)
                if base is not None and self.is_operation[base]:
                    found[self.groups.of[base]] = None

        carried = sum(1 << self.groups.numbers[name] for name in self.owner.carried if name in self.groups.numbers)

        def lateness(group: int) -> tuple[bool, bool, int, int]:
            ready = self.groups.ready(group)
            return self.has_product(group), bool(ready & carried), ready.bit_count(), self.groups.members(group)[-1]

        return sorted(found, key=lateness, reverse=True)

    def merge(self, groups: Sequence[int], i: int) -> bool:
        """Make one group of these and binding `i`'s, with the views between them, if that is one kernel and delays nothing."""
        wanted = self.with_views({*groups, self.groups.of[i]})
        if self.hoists_some(self.computed(wanted)):
            return False
        if not self.groups.can_merge(wanted) or self.groups.delays(wanted):
            return False
        members = sorted(self.members(wanted))
        if not self.surely_fits(members) and self.as_kernel(members) is None:
            return False
        self.groups.merge(wanted)
        return True

    def surely_fits(self, members: list[int]) -> bool:
        """Element-wise work on tensors of one type is a kernel (`legal.fits`), which need not be written to know that."""
        values = [self.values[m] for m in members]
        return all(_kind(value) is Fusion.ELEMENTWISE and value.type == values[0].type for value in values)

    def computed(self, groups: Iterable[int]) -> list[str]:
        return [self.bindings[m][0].name for g in groups for m in self.groups.members(g) if self.is_operation[m]]

    # ---- from a group to a kernel

    def as_kernel(self, members: list[int]) -> _GroupKernel | None:
        """The kernel that computes the members' values that are used elsewhere; None if it is not worth being one. It is kept
        for when the merge is tried again, after others have been made."""
        key = tuple(members)
        if key not in self.kernels:
            self.kernels[key] = self.written(members)
        return self.kernels[key]

    def written(self, members: list[int]) -> _GroupKernel | None:
        """As `as_kernel`, which keeps it."""
        for exposed in dict.fromkeys((self.exposed(members, views=self.owner.fuse), self.exposed(members, views=False))):
            group_kernel = _KernelBuilder(self, exposed).build({i for i in members if not self.is_view[i]})
            if fits(group_kernel.kernel):
                return group_kernel
        return None

    def exposed(self, members: list[int], views: bool) -> tuple[int, ...]:
        """What the group's kernel has as results. A view is one itself, if allowed, where another kernel needs it (so that both
        may be in one static block) or where it is all that is needed and smaller than the whole."""
        inside = set(members)
        outside: dict[int, dict[int, bool]] = {}  # base -> its views with users outside -> whether those are kernels
        whole: set[int] = set()
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
                    whole.add(base)
                else:
                    outside.setdefault(base, {})[i] = any(self.is_operation[j] for j in users)
        results = set(whole)
        for base, found in outside.items():
            needed = {i for i, kernels in found.items() if kernels} if views else set()
            others = found.keys() - needed
            if base not in whole and others:
                if views and self.words(found) < self.words([base]):
                    needed |= others
                else:
                    results.add(base)
            results |= needed
        return tuple(sorted(results))

    def words(self, indices: Iterable[int]) -> int:
        types = [self.values[i].type for i in indices]
        return displacements(tuple(t for t in types if isinstance(t, TensorT)))[1]

    # ---- the chain again

    def emit(self) -> Expr:
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
                group_kernel = _KernelBuilder(self, (alone,)).build({alone})
            exposed |= set(group_kernel.exposed)
            self.launch(group_kernel, out)
            out += [self.bindings[i] for i in members if self.is_view[i] and i not in group_kernel.exposed]
        return from_lets(self.without_idle_views(out), self.tail)

    def without_idle_views(self, bindings: list[Binding]) -> list[Binding]:
        """Kernels have taken in the views that nothing uses any more, perhaps with the value that they were views of."""
        used = set(free_vars(self.tail))
        kept = []
        for var, value in reversed(bindings):
            if var.name in used or not is_view(value):
                used |= free_vars(value)
                kept.append((var, value))
        return kept[::-1]

    def launch(self, group_kernel: _GroupKernel, out: list[Binding]) -> None:
        kernel = self.scope.units.share(group_kernel.kernel)
        variables = [self.bindings[i][0] for i in group_kernel.exposed]
        span = variables[-1].span if variables[-1].span.line else self.values[group_kernel.exposed[-1]].span
        out += self.launched(kernel, group_kernel.atoms, variables, span)


class _KernelBuilder:
    """Writes a kernel's instructions in the order in which its results need them, which makes equal kernels look equal."""

    def __init__(self, chain: _OperationChain, exposed: tuple[int, ...]) -> None:
        self.chain = chain
        self.exposed = exposed
        self.operands = UnitOperands()
        self.body: dict[int, Instr] = {}

    def build(self, computed: set[int]) -> _GroupKernel:
        for i in self.exposed:
            self.instr(i, computed)
        name = unit_name(self.chain.scope.function.name, self.chain.bindings, self.chain.users, self.exposed)
        results = tuple(self.body[i].name for i in self.exposed)
        kernel = Kernel(name, self.operands.params, tuple(self.body.values()), results)
        return _GroupKernel(kernel, tuple(self.operands.atoms), self.exposed)

    def instr(self, i: int, computed: set[int]) -> str:
        if i not in self.body:
            value = self.chain.values[i]
            assert isinstance(value, Op) and isinstance(value.type, TensorT)
            args = tuple(self.arg(value, k, computed) for k in range(len(value.args)))
            name = self.operands.names.fresh(self.chain.bindings[i][0].name)
            self.body[i] = Instr(name, value.op, args, value.attrs, value.type)
        return self.body[i].name

    def arg(self, value: Op, k: int, computed: set[int]) -> str | float:
        atom = value.args[k]
        if isinstance(atom, Lit):
            return float(atom.value)
        i = self.chain.index(atom)
        if i is not None and self.chain.base(i) in computed:
            return self.instr(i, computed)
        if isinstance(atom.type, ListT):
            return self.operands.param(atom, Mode.LIST)
        # A weight among the rows that a product reads is one of them, which happens to be the same for all.
        row = _kind(value) is Fusion.MOVE or (value.op == "linear" and k == 0)
        return self.operands.param(atom, Mode.SHARED if isinstance(atom, Weight) and not row else Mode.GATHERED)


def _cat_for_each_product(bindings: list[Binding], tail: Expr, owner: _VerticalFusion) -> list[Binding]:
    """The chain with a `cat` of its own for each product that reads one: to read the pieces in place costs it nothing."""
    cats = {var.name: value for var, value in bindings if isinstance(value, Op) and value.op == "cat"}
    out: list[Binding] = []
    for var, value in bindings:
        if isinstance(value, Op) and _kind(value) is Fusion.PRODUCT:
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
