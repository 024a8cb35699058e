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


class _RaisedLimit:
    """Python's recursion limit, which all threads share: the first of several calls of `deeply` at a time raises it, and the
    last puts it back."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.calls = 0
        self.ordinary = 0

    def __enter__(self) -> None:
        with self.lock:
            if not self.calls:
                self.ordinary = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self.ordinary, FRAMES))
            self.calls += 1

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.calls -= 1
            if not self.calls:
                sys.setrecursionlimit(self.ordinary)

    def start(self, thread: threading.Thread) -> None:
        """Starts the thread with a larger stack. The size of new stacks is one for all threads too."""
        with self.lock:
            size = threading.stack_size(STACK_BYTES)
            try:
                thread.start()
            finally:
                threading.stack_size(size)


_RAISED = _RaisedLimit()


def deeply(work: Callable[[], X]) -> X:
    """`work()` on a larger stack. Raises what `work` raises, and RecursionError if even that is too small."""
    result: list[X] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            result.append(work())
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=run)
    with _RAISED:
        _RAISED.start(thread)
        thread.join()
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
