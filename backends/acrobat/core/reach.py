"""What is reached from a start by following edges."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

N = TypeVar("N", bound=Hashable)


def reached(start: Iterable[N], following: Callable[[N], Iterable[N]]) -> Iterator[N]:
    """Every node of `start`, and every node to which a path leads from one of them, each once and in no particular order.
    `following` gives the nodes that are one edge further."""
    pending = list(dict.fromkeys(start))
    seen = set(pending)
    while pending:
        node = pending.pop()
        yield node
        for new in following(node):
            if new not in seen:
                seen.add(new)
                pending.append(new)
