"""How a cell ends: the status and the reason for an exception, and whether a backend is available."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from bench.contract import Backend, Unsupported
from bench.log import one_line, text_of
from bench.outputs import Wrong
from bench.status import Status

OUT_OF_MEMORY = re.compile(
    r"bad_alloc|out of memory|out_of_memory|OutOfMemory|(can't|cannot|failed to|unable to) allocate (memory|\S+ \S*bytes?\b|"
    r"[\d.]+ ?[KMGT]i?B)|memory allocation failed|DefaultCPUAllocator",
    re.IGNORECASE,
)


NO_ROOM = re.compile(r"No space left on device|Disk quota exceeded|\[Errno (28|122)\]")
"""A disk was full, which is nobody's fault among the cells: an outcome with such a reason may be another one the next time."""


class Unavailable(Exception):
    """The backend cannot run here; the message is the reason."""


@contextmanager
def optional_modules(backend: Backend) -> Iterator[None]:
    """A context that raises Unavailable where code in it finds that a module is missing which the backend names in `optional`.
    Any other ImportError is a fault of the backend and is raised as it is."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (missing := (error.name or "").partition(".")[0]) in getattr(backend, "optional", ()):
            raise Unavailable(f"the module {missing} is not installed") from error
        raise


def ensure_available(backend: Backend) -> None:
    """Raises Unavailable with the reason if the backend cannot run here."""
    with optional_modules(backend):
        reason = backend.available()
    if reason is not None:
        raise Unavailable(reason)


def ensure_variants(backend: Backend, made_with: Callable[[Mapping[str, Any]], Backend]) -> None:
    """Raises what kept the process that measures from making a cell for each variant of the backend. `made_with` makes the
    backend with some of its options changed."""
    variants = [made_with({**options}) for options in backend.variants()]
    if not variants:
        raise ValueError("variants() gave none; [{}] is a single one, with the options as they are")


def outcome(error: BaseException, opened: bool) -> tuple[Status, str]:
    """The status and the reason for an exception. `opened`: the backend has compiled the model and run it once; after that
    Unsupported and Unavailable are failures, because it should have raised them before."""
    match error:
        case Unsupported() | Unavailable() if opened:
            return Status.FAILED, explain(error)
        case Unsupported():
            return Status.UNSUPPORTED, one_line(error)
        case Unavailable():
            return Status.UNAVAILABLE, one_line(error)
        case Wrong():
            return Status.WRONG, one_line(error)
        case MemoryError():
            return Status.OOM, explain(error)
    if OUT_OF_MEMORY.search(f"{type(error).__name__}: {text_of(error)}"):
        return Status.OOM, explain(error)
    return Status.FAILED, explain(error)


def explain(error: BaseException) -> str:
    """An exception in one line: its class and its message."""
    text = one_line(error)
    return type(error).__name__ + (f": {text}" if text else "")
