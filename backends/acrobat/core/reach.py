"""Which nodes of a graph can be reached from some of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

N = TypeVar("N", bound=Hashable)


def reachable(start: Iterable[N], following: Callable[[N], Iterable[N]]) -> set[N]:
    """Every node of `start`, and every node to which a path leads from one of them. `following` gives the nodes that are one
    edge further."""
    pending = list(start)
    nodes = set(pending)
    while pending:
        for node in following(pending.pop()):
            if node not in nodes:
                nodes.add(node)
                pending.append(node)
    return nodes
