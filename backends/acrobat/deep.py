"""Runs work that recurses deeper than Python's stack allows: 2,000 `if`s in a row are as many levels of nested expressions."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

STACK_BYTES = 512 << 20
FRAMES = 200_000
"""The number of Python frames that fit into a stack of that size."""

X = TypeVar("X")


def deeply(work: Callable[[], X]) -> X:
    """`work()` on a larger stack. Raises what `work` raises, and RecursionError if even that is too small."""
    result: list[X] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            result.append(work())
        except BaseException as error:
            failure.append(error)

    limit, size = sys.getrecursionlimit(), threading.stack_size(STACK_BYTES)
    try:
        sys.setrecursionlimit(max(limit, FRAMES))
        thread = threading.Thread(target=run)
        thread.start()
    finally:
        threading.stack_size(size)
    thread.join()
    sys.setrecursionlimit(limit)
    if failure:
        raise failure[0]
    return result[0]


def as_deep_as_needed(work: Callable[[], X]) -> X:
    """`work()`. If it raises RecursionError it is called again by `deeply`, and raises as that does."""
    try:
        return work()
    except RecursionError:
        pass
    return deeply(work)
