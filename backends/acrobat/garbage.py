"""Has Python look for garbage less often while a model is compiled.

Programs and their nodes are some hundred thousand objects that live until the end. Python looks through all objects of the
process, PyTorch's too, each time that their number has grown by a quarter, and finds nothing: that took a fifth of the passes'
time for a large model. What refers to itself in circles is freed later; everything else is freed as ever.
"""

from __future__ import annotations

import gc
import threading

RARELY = (100_000, 20, 100)
"""How many new objects, and how many searches among the newest, and among the newer ones, until the next search (`gc`)."""


class RareCollections:
    """A context in which Python looks for garbage `RARELY`. All threads share the setting: the first of several such contexts
    at a time changes it, and the last puts it back, unless somebody else has changed it meanwhile."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._ordinary = gc.get_threshold()

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._ordinary = gc.get_threshold()
                gc.set_threshold(*RARELY)
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and gc.get_threshold() == RARELY:
                gc.set_threshold(*self._ordinary)


RARE_COLLECTIONS = RareCollections()
