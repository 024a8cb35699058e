"""What is reached from a start by following edges."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

N = TypeVar("N", bound=Hashable)


def reached(start: Iterable[N], following: Callable[[N], Iterable[N]]) -> set[N]:
    """Every node of `start`, and every node to which a path leads from one of them. `following` gives the nodes that are one
    edge further."""
    pending = list(start)
    seen = set(pending)
    while pending:
        for new in following(pending.pop()):
            if new not in seen:
                seen.add(new)
                pending.append(new)
    return seen
