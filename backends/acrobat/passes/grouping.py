"""Groups of bindings of one let chain that become one unit: merged step by step, so that nothing is out of order or delayed.

Each merge keeps the chain's quotient acyclic: a group that is convex by itself may still wait for one that waits for it.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence

from backends.acrobat.analyses.dependence import Dependence
from backends.acrobat.analyses.depth import is_work
from backends.acrobat.core.types import ScalarT
from backends.acrobat.ir.nodes import Call, Expr, Item, Var
from backends.acrobat.ir.visitor import Binding, free_vars, walk


class Groups:
    """A partition of `bindings`, at first each alone. A group is named by one of its members: `of[i]` is that of binding `i`;
    `users[i]` are the bindings that use it. `phases` are those of the bindings that markers have given one."""

    def __init__(self, bindings: Sequence[Binding], phases: Mapping[str, int]) -> None:
        self.dependence = Dependence(bindings)
        self.of = list(range(len(bindings)))
        self._members = {i: [i] for i in range(len(bindings))}
        self._before = {i: set(self.dependence.direct(i)) for i in range(len(bindings))}
        self._after: dict[int, set[int]] = {i: set() for i in range(len(bindings))}
        for i, before in self._before.items():
            for j in before:
                self._after[j].add(i)
        self._works = [works(value) for _, value in bindings]
        self._names = [var.name for var, _ in bindings]
        self._phases = [phases.get(var.name) if work else None for (var, _), work in zip(bindings, self._works, strict=True)]
        self.users: list[list[int]] = [sorted(self._after[i]) for i in range(len(bindings))]
        self._sources, self._ready = _timing(bindings, self._works)

    def members(self, group: int) -> list[int]:
        """The members, in the chain's order."""
        return self._members[group]

    def after(self, group: int) -> set[int]:
        """The groups that use what this one computes."""
        return self._after[group]

    def ready(self, group: int) -> frozenset[str]:
        """All that is computed, or comes into the chain, before the group can start."""
        return frozenset().union(*(self._ready[i] for i in self._members[group]))

    def can_merge(self, groups: Collection[int]) -> bool:
        """Whether the groups are of one phase, and no path leaves them and comes back to them."""
        merged = set(groups)
        if len({self._phases[i] for g in merged for i in self._members[g]} - {None}) > 1:
            return False
        seen = set().union(*(self._after[g] for g in merged)) - merged
        pending = list(seen)
        while pending:
            new = self._after[pending.pop()] - seen
            if new & merged:
                return False
            seen |= new
            pending += new
        return True

    def delays(self, groups: Collection[int]) -> bool:
        """Whether something outside that needs one of the groups would wait longer, because another of them starts later."""
        needed = {g: self._inputs(g, groups) for g in groups}
        everything = frozenset().union(*needed.values())
        for g in groups:
            late = everything - self.ready(g)
            if not late:
                continue
            others = {h for h in groups if h != g and needed[h] & late}
            if any(not self._reaches(h, user) for user in self._workers(g) - set(groups) for h in others):
                return True
        return False

    def _workers(self, group: int) -> set[int]:
        """The groups that do work with what this one computes, or with fields, views or other names of it."""
        found: set[int] = set()
        seen, pending = {group}, [group]
        while pending:
            new = self._after[pending.pop()] - seen
            seen |= new
            found |= {g for g in new if any(self._works[i] for i in self._members[g])}
            pending += new - found
        return found

    def merge(self, groups: Collection[int]) -> int:
        """Make one group of several; gives its name."""
        merged = set(groups)
        name = min(merged)
        before = set().union(*(self._before[g] for g in merged)) - merged
        after = set().union(*(self._after[g] for g in merged)) - merged
        self._members[name] = sorted(i for g in merged for i in self._members[g])
        for g in merged - {name}:
            del self._members[g], self._before[g], self._after[g]
        self._before[name], self._after[name] = before, after
        for g in before:
            self._after[g] = self._after[g] - merged | {name}
        for g in after:
            self._before[g] = self._before[g] - merged | {name}
        for i in self._members[name]:
            self.of[i] = name
        return name

    def order(self) -> list[int]:
        """The groups so that each comes after what it needs, else where its last member stood."""
        waiting = {g: len(before) for g, before in self._before.items()}
        free = [(self._members[g][-1], g) for g, count in waiting.items() if not count]
        heapq.heapify(free)
        out = []
        while free:
            _, g = heapq.heappop(free)
            out.append(g)
            for h in self._after[g]:
                waiting[h] -= 1
                if not waiting[h]:
                    heapq.heappush(free, (self._members[h][-1], h))
        assert len(out) == len(waiting), "groups wait for each other"
        return out

    def _inputs(self, group: int, inside: Collection[int]) -> frozenset[str]:
        """The work, and what comes into the chain, that the group uses, apart from the groups `inside`."""
        own = {self._names[i] for g in inside for i in self._members[g]}
        return frozenset().union(*(self._sources[i] for i in self._members[group])) - own

    def _reaches(self, start: int, end: int) -> bool:
        seen, pending = {start}, [start]
        while pending:
            new = self._after[pending.pop()] - seen
            if end in new:
                return True
            seen |= new
            pending += new
        return False


def works(expr: Expr) -> bool:
    """Whether evaluating `expr` records tensor work or may wait, in whatever it calls too."""
    return any(is_work(node) or isinstance(node, Call | Item) for node in walk(expr))


def _timing(bindings: Sequence[Binding], working: Sequence[bool]) -> tuple[list[frozenset[str]], list[frozenset[str]]]:
    """For each binding the work and the chain's inputs that it uses, at first hand and all in all. What costs nothing is looked
    through (addresses, fields, host work); a scalar that comes into the chain is there already."""
    sources: list[frozenset[str]] = []
    ready: list[frozenset[str]] = []
    through: dict[str, frozenset[str]] = {}
    at = {var.name: i for i, (var, _) in enumerate(bindings)}
    for (var, value), work in zip(bindings, working, strict=True):
        types = {node.name: node.type for node in walk(value) if isinstance(node, Var)}
        used = frozenset[str]()
        for name in free_vars(value):
            if name in through:
                used |= through[name]
            elif not isinstance(types[name], ScalarT):
                used |= {name}
        if isinstance(var.type, ScalarT):
            used &= at.keys()  # how long a list is, is known before its items are computed
        sources.append(used)
        ready.append(used.union(*(ready[at[name]] for name in used if name in at)))
        through[var.name] = frozenset({var.name}) if work else used
    return sources, ready
