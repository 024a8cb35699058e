"""Binding groups: disjoint groups of the bindings of one let chain, each of which becomes one unit. Passes merge groups step by
step. After each merge there must be an order in which the groups can run (`can_merge`), and no work may be delayed (`delays`).

An order exists if the graph with the groups as nodes has no cycle. It is not enough that each group by itself could be one
unit: of two groups, each may need a result of the other.

    a   b        {a, d} can be one unit, and so can {b, c}. Both cannot: then c needs a, which is in
    |   |        the first group, and d needs b, which is in the second.
    c   d

Source: our own.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from operator import or_

from backends.acrobat.analyses.dependence import Dependence
from backends.acrobat.core.reach import reachable
from backends.acrobat.core.types import ScalarT, Type
from backends.acrobat.ir.visitor import Binding, free_vars, works


class Groups:
    """A partition of `bindings` into groups, at first one for each binding. `of[i]` is the group of binding `i`, named by one
    of its members; `users[i]` are the bindings that use it. `phases`: the phases that markers give variables; `types`: the
    types of all. Sets of bindings and of the chain's inputs are bit masks, in which each has the bit that `numbers` says."""

    def __init__(self, bindings: Sequence[Binding], phases: Mapping[str, int], types: Mapping[str, Type]) -> None:
        self.dependence = Dependence(bindings)
        self.of = list(range(len(bindings)))
        self._members = {i: [i] for i in range(len(bindings))}
        self._before = {i: set(self.dependence.direct(i)) for i in range(len(bindings))}
        self._after: dict[int, set[int]] = {i: set() for i in range(len(bindings))}
        for i, before in self._before.items():
            for j in before:
                self._after[j].add(i)
        working = [works(value) for _, value in bindings]
        self._working = {i for i, work in enumerate(working) if work}  # groups
        marked = [phases.get(var.name) if work else None for (var, _), work in zip(bindings, working, strict=True)]
        self._phases = {i: {phase} for i, phase in enumerate(marked) if phase is not None}  # of groups
        self.users: list[list[int]] = [sorted(self._after[i]) for i in range(len(bindings))]
        self.numbers = {var.name: i for i, (var, _) in enumerate(bindings)}
        sources, ready = _timing(bindings, working, types, self.numbers)
        self._sources, self._ready = dict(enumerate(sources)), dict(enumerate(ready))  # of groups
        self._own = {i: 1 << i for i in range(len(bindings))}
        self._needed = {i: self.dependence.before(i) for i in range(len(bindings))}  # by any binding of a group
        self._needing = {i: self.dependence.after(i) for i in range(len(bindings))}  # any binding of a group

    def members(self, group: int) -> list[int]:
        """The bindings of a group, in the chain's order."""
        return self._members[group]

    def after(self, group: int) -> set[int]:
        """The groups that use what this one computes."""
        return self._after[group]

    def ready(self, group: int) -> int:
        """Bit mask of the work and the inputs of the chain that have to be computed before the group can start."""
        return self._ready[group]

    def can_merge(self, groups: Collection[int]) -> bool:
        """Whether the groups are of one phase, and no path of dependences leaves them and comes back to them."""
        merged = set(groups)
        if self._phases and len(set().union(*(self._phases.get(g, ()) for g in merged))) > 1:
            return False
        between = self._all(self._needed, merged) & self._all(self._needing, merged) & ~self._all(self._own, merged)
        if between:  # a path through single bindings; merged bindings can only add paths, which are searched below
            return False
        outside = set[int]().union(*(self._after[g] for g in merged)) - merged
        further = reachable(outside, self._after.__getitem__)
        return merged.isdisjoint(further)

    def delays(self, groups: Collection[int]) -> bool:
        """Whether merging the groups would delay work. A merged group starts when all groups in it could start, so work outside
        that needs the result of an early one would wait for the operands of a late one, although it does not need them."""
        own = self._all(self._own, groups)
        needed = {g: self._sources[g] & ~own for g in groups}
        everything = reduce(or_, needed.values())
        for g in groups:
            late = everything & ~self._ready[g]  # what the merged group needs and `g` by itself does not
            if not late:
                continue
            others = {h for h in groups if h != g and needed[h] & late}
            # Work that uses `g` now waits for `late`, unless it uses each of the `others` and so waits for that anyway.
            if any(not self._reaches(h, user) for user in self._workers(g) - set(groups) for h in others):
                return True
        return False

    @staticmethod
    def _all(masks: Mapping[int, int], groups: Collection[int]) -> int:
        """The union of several groups' bit masks."""
        return reduce(or_, (masks[g] for g in groups))

    def _workers(self, group: int) -> set[int]:
        """The groups with tensor work that uses this group, directly or through bindings that do no work (fields, views)."""
        workers: set[int] = set()
        visited, pending = {group}, [group]
        while pending:
            new = self._after[pending.pop()] - visited
            visited |= new
            workers |= {g for g in new if g in self._working}
            pending += new - workers
        return workers

    def merge(self, groups: Collection[int]) -> int:
        """Makes one group of several and returns its name."""
        merged = set(groups)
        name = min(merged)
        before = set().union(*(self._before[g] for g in merged)) - merged
        after = set().union(*(self._after[g] for g in merged)) - merged
        self._members[name] = sorted(i for g in merged for i in self._members[g])
        for masks in (self._sources, self._ready, self._own, self._needed, self._needing):
            masks[name] = self._all(masks, merged)
        if not self._working.isdisjoint(merged):
            self._working.add(name)
        if phases := set().union(*(self._phases.get(g, ()) for g in merged)):
            self._phases[name] = phases
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
        """The groups so that each comes after those that it needs, and else in the order of their last members."""
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

    def _reaches(self, start: int, end: int) -> bool:
        return end in reachable(self._after[start], self._after.__getitem__)


def _timing(
    bindings: Sequence[Binding], working: Sequence[bool], types: Mapping[str, Type], numbers: dict[str, int]
) -> tuple[list[int], list[int]]:
    """Two bit masks for each binding: the work and the inputs of the chain that it uses directly, and all that it depends on.
    What is no work (addresses, fields, host work) is replaced by what it uses itself. `numbers` gets a number for each input.
    Scalars that come into the chain are known already, so they are not inputs."""
    sources: list[int] = []
    ready: list[int] = []
    through: dict[str, int] = {}
    own = (1 << len(bindings)) - 1
    for i, ((var, value), work) in enumerate(zip(bindings, working, strict=True)):
        used = all_used = 0
        for name in free_vars(value):
            if name in through:
                used |= through[name]
            elif not isinstance(types[name], ScalarT):
                used |= 1 << numbers.setdefault(name, len(numbers))
        if isinstance(var.type, ScalarT):
            used &= own  # a number made of an input, such as a list's length, is known before the input's tensors are computed
        sources.append(used)
        all_used, bits = used, used & own
        while bits:
            all_used |= ready[(bits & -bits).bit_length() - 1]
            bits &= bits - 1
        ready.append(all_used)
        through[var.name] = 1 << i if work else used
    return sources, ready
