"""The order in which the bindings of a body run. Bindings that may wait and do not need each other are forked together, so that
they reach their waits together (paper: fork-join)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from backends.acrobat.core.reach import reachable
from backends.acrobat.ir.visitor import Binding, free_vars


def ordered(bindings: Sequence[Binding], waits: Collection[int], phase: Mapping[str, int]) -> Iterator[list[Binding]]:
    """Yields groups of bindings in the order in which they run; the bindings of a group of several are forked and joined.

    `waits` has the `id` of every value that may wait. `phase` gives the phase of each binding of the entry, by which they are
    sorted, and is empty for other bodies. A group has one phase. It runs at its first binding, after all that it needs.
    """
    position = {var.name: i for i, (var, _) in enumerate(bindings)}
    needs = [[position[name] for name in free_vars(value) if name in position] for _, value in bindings]
    waiting = [id(value) in waits for _, value in bindings]
    # For each binding, the most waits on one path of dependences to it: bindings with equal numbers can wait together.
    before: list[int] = []
    groups: dict[tuple[int, int], list[int]] = {}
    for i, (var, _) in enumerate(bindings):
        before.append(max((before[j] + waiting[j] for j in needs[i]), default=0))
        if waiting[i]:
            groups.setdefault((phase.get(var.name, 0), before[i]), []).append(i)
    given_out = [False] * len(bindings)
    for i, (var, _) in enumerate(bindings):
        if given_out[i]:
            continue
        group = groups[phase.get(var.name, 0), before[i]] if waiting[i] else [i]
        run = reachable(group, lambda j: (k for k in needs[j] if not given_out[k]))
        for j in sorted(run - set(group)):
            yield [bindings[j]]
        for j in run:
            given_out[j] = True
        yield [bindings[j] for j in group]
