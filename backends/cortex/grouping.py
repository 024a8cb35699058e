"""Fusion: the operations of one loop body become kernels, each with at most one product.

A product opens a kernel. An element-wise operation joins, at its end, the last kernel that computes one of its operands. If
all its operands lie in memory, it is first left without a group: it is then computed inside each kernel that uses it element
by element, and becomes a kernel only where a product or a sum over children needs it in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from backends.acrobat.core.ops import OPS, Fusion
from backends.cortex.transforms import per_child
from backends.cortex.values import Value


@dataclass(eq=False)
class Group:
    """One kernel. `needs` are the groups whose results it reads; `per_child` says that it has a row for each child."""

    per_child: bool
    members: list[Value] = field(default_factory=list)
    needs: set[Group] = field(default_factory=set)

    def waits_for(self, other: Group) -> bool:
        return other in self.needs or any(g.waits_for(other) for g in self.needs)


class Grouping:
    """Groups the operations that `results` are made of. `in_memory(value)` says that a value lies in memory, where kernels read
    it. `groups` has the kernels in an order in which they can run. Without `fusion` each operation is a kernel."""

    def __init__(self, results: Sequence[Value], in_memory: Callable[[Value], bool], fusion: bool) -> None:
        self.in_memory = in_memory
        self.fusion = fusion
        self.wanted = set(results)
        self.made: list[Group] = []
        self.home: dict[Value, Group] = {}
        """The group that computes a value. A value without a group is computed inside every group that uses it."""
        for value in self._order(results):
            self._place(value)
        remaining = [v for v in dict.fromkeys(results) if not in_memory(v) and v not in self.home]
        for of_children in (False, True):
            if members := [v for v in remaining if per_child(v) is of_children]:
                self._open(members)
        self.groups: list[Group] = []
        for group in self.made:
            self._append(group)

    def _order(self, values: Sequence[Value]) -> list[Value]:
        """All that has to be computed for `values`, operands first; nothing that lies in memory, nor its operands."""
        ordered: dict[Value, None] = {}

        def visit(value: Value) -> None:
            if value in ordered or self.in_memory(value):
                return
            for a in value.args:
                if isinstance(a, Value):
                    visit(a)
            ordered[value] = None

        for value in values:
            visit(value)
        return list(ordered)

    def _place(self, value: Value) -> None:
        kind = OPS[value.op].fusion
        args = [a for a in value.args if isinstance(a, Value) and not self.in_memory(a)]
        if not self.fusion:
            self._open([value])
        elif kind is Fusion.PRODUCT or (kind is Fusion.REDUCTION and value.op != "list_sum"):
            for a in args:
                self._materialise(a)
            self._open([value])
        elif kind in (Fusion.MOVE, Fusion.ELEMENTWISE) or value.op == "list_sum":
            if value.op == "list_sum":
                for a in args:
                    if a not in self.home:
                        self._open([a])
            if value.op == "cat":
                for a in args:
                    self._materialise(a)
                return
            self._join(value)

    def _materialise(self, value: Value) -> None:
        """Makes a group compute `value`, because a product reads it from memory; for a `cat`, each of its parts."""
        if value in self.home or self.in_memory(value):
            return
        if value.op == "cat":
            for a in value.args:
                if isinstance(a, Value):
                    self._materialise(a)
            return
        wanted_below = [v for v in self._order([value]) if v in self.wanted and v not in self.home and v is not value]
        self._open([v for v in wanted_below if per_child(v) == per_child(value)] + [value])

    def _join(self, value: Value) -> None:
        sources = self._sources([value])
        ends = [g for g in sources if g.per_child == per_child(value)]
        for group in sorted(ends, key=self.made.index, reverse=True):
            if not any(other is not group and other.waits_for(group) for other in sources):
                group.members.append(value)
                group.needs |= set(sources) - {group}
                self.home[value] = group
                return

    def _open(self, members: list[Value]) -> None:
        group = Group(per_child(members[0]), list(members))
        group.needs = set(self._sources(members))
        self.made.append(group)
        for value in members:
            self.home[value] = group

    def _sources(self, values: Sequence[Value]) -> list[Group]:
        """The groups whose results these values read, directly or through values without a group."""
        sources: dict[Group, None] = {}

        def visit(value: Value) -> None:
            for a in value.args:
                if isinstance(a, Value) and not self.in_memory(a):
                    if a in self.home:
                        sources[self.home[a]] = None
                    else:
                        visit(a)

        for value in values:
            visit(value)
        return list(sources)

    def _append(self, group: Group) -> None:
        if group in self.groups:
            return
        for needed in sorted(group.needs, key=self.made.index):
            self._append(needed)
        self.groups.append(group)

    # ---- what a group looks like

    def _maker(self, value: Value, reader: Group) -> Group | None:
        """The other group whose result `reader` reads for `value`. A value that got its group only after `reader` was given the
        members that use it is still computed inside."""
        home = self.home.get(value)
        return home if home is not None and home is not reader and home in reader.needs else None

    def body(self, group: Group) -> list[Value]:
        """All operations that a group computes, operands first, including values without a group."""
        operations: dict[Value, None] = {}

        def visit(value: Value) -> None:
            if value in operations or self.in_memory(value) or self._maker(value, group):
                return
            if value.op != "list_sum":
                for a in value.args:
                    if isinstance(a, Value):
                        visit(a)
            operations[value] = None

        for value in group.members:
            visit(value)
        return list(operations)

    def results(self, group: Group, wanted: Sequence[Value]) -> list[Value]:
        """The members of a group that other groups read or that are in `wanted`."""
        read: set[Value] = {v for v in wanted if self.home.get(v) is group}
        for other in self.groups:
            if other is not group:
                for v in self.body(other):
                    read |= {a for a in v.args if isinstance(a, Value) and self._maker(a, other) is group}
        return [v for v in group.members if v in read]
