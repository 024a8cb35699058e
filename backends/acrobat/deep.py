"""Runs work that recurses deeper than Python's stack allows: 2,000 `if`s in a row are as many levels of nested expressions."""

from __future__ import annotations

import resource
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

STACK_BYTES = 512 << 20
FRAMES = 200_000
"""The number of Python frames that fit into a stack of that size."""

MAIN_BYTES = 8 << 20
MAIN_FRAMES = 3_000
"""The usual size of the main thread's stack, and a number of frames that fit into it with as much to spare."""

X = TypeVar("X")


class _RaisedLimit:
    """Python's recursion limit, which all threads share: the highest of those that are needed at a time, and at last the one
    from before again."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.needed: list[int] = []
        self.ordinary = 0

    @contextmanager
    def to(self, frames: int) -> Iterator[None]:
        """While the limit is at least as high as that."""
        with self.lock:
            if not self.needed:
                self.ordinary = sys.getrecursionlimit()
            self.needed.append(frames)
            self._set()
        try:
            yield
        finally:
            with self.lock:
                self.needed.remove(frames)
                self._set()

    def _set(self) -> None:
        sys.setrecursionlimit(max(self.ordinary, *self.needed, 0))

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
    with _RAISED.to(FRAMES):
        _RAISED.start(thread)
        thread.join()
    if failure:
        raise failure[0]
    return result[0]


def as_deep_as_needed(work: Callable[[], X]) -> X:
    """`work()`. If it raises RecursionError it is called again by `deeply`, and raises as that does. Since that is work done
    twice, as many frames as are sure to fit are allowed at first."""
    try:
        with _RAISED.to(MAIN_FRAMES if _is_main() else 0):
            return work()
    except RecursionError:
        pass
    return deeply(work)


def _is_main() -> bool:
    """Whether this is the main thread, with a stack of the usual size at least."""
    size, _ = resource.getrlimit(resource.RLIMIT_STACK)
    return threading.current_thread() is threading.main_thread() and (size == resource.RLIM_INFINITY or size >= MAIN_BYTES)
