"""The order in which the bindings of a body run, the same in compiled and in interpreted code: earlier phases first, and
bindings that may wait and do not need each other in one group, so that they reach their waits together (paper: fork-join).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.visitor import Binding, free_vars, walk


def phase_of_each(bindings: Sequence[Binding], phase: Mapping[str, int], outside: Mapping[str, int]) -> dict[str, int]:
    """The phase of each binding of the entry function; one that records nothing goes with the latest it uses. `outside` has
    the phases of what was bound before."""
    of: dict[str, int] = {}
    for var, value in bindings:
        needs = max((of.get(name, outside.get(name, 0)) for name in free_vars(value)), default=0)
        of[var.name] = max(needs, phase.get(var.name, 0))
    return of


def may_wait(expr: n.Expr, waits: Collection[str]) -> bool:
    """Whether `expr` may wait, given the functions that may."""
    return any(isinstance(node, n.Item) or (isinstance(node, n.Call) and node.function in waits) for node in walk(expr))


def groups(
    bindings: Sequence[Binding], waits: Collection[str], phase_of: Mapping[str, int] | None = None
) -> Iterator[list[Binding]]:
    """The bindings in the order in which they run; a group of several is forked and joined. `phase_of` has the phases of the
    bindings if they are the entry's: a group lies in one phase."""
    done: set[int] = set()
    for i, (_, value) in enumerate(bindings):
        if i in done:
            continue
        group = [i]
        if may_wait(value, waits):
            group = _fork_group(bindings, i, done, waits, phase_of or {})
            for j in _needed(bindings, group, done):
                done.add(j)
                yield [bindings[j]]
        done.update(group)
        yield [bindings[j] for j in group]


def _fork_group(
    bindings: Sequence[Binding], first: int, done: set[int], waits: Collection[str], phase_of: Mapping[str, int]
) -> list[int]:
    """The waiting bindings from `first` on that depend on no waiting binding from `first` on: they wait together."""
    group = [first]
    blocked = {bindings[first][0].name}
    phase = phase_of.get(bindings[first][0].name)
    for j in range(first + 1, len(bindings)):
        if j in done:
            continue
        var, value = bindings[j]
        if phase_of.get(var.name) != phase:
            break
        if free_vars(value) & blocked:
            blocked.add(var.name)
        elif may_wait(value, waits):
            group.append(j)
            blocked.add(var.name)
    return group


def _needed(bindings: Sequence[Binding], group: Sequence[int], done: set[int]) -> list[int]:
    """The bindings between the members of a group that members need: they wait for nothing and move before the fork."""
    needed: set[str] = set().union(*(free_vars(bindings[j][1]) for j in group))
    moved = []
    for j in reversed(range(group[0], group[-1])):
        var, value = bindings[j]
        if j not in group and j not in done and var.name in needed:
            moved.append(j)
            needed |= free_vars(value)
    return moved[::-1]
