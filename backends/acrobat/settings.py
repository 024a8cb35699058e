"""What `compile` is told beside the model: its keyword arguments, once, for all who hand them on."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.ir.nodes import Program
from backends.acrobat.kernels.cpu.emit import Schedules, variants
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.kernels.interface import Variant
from backends.acrobat.options import Kernels, Options

MEMORY_LIMIT = min(16 << 30, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
"""Bytes of each arena: where a mini-batch outgrows the machine it gets an error, not the machine."""

DEFAULT = Options()

Observe: TypeAlias = Callable[[str, Program], None]
"""Is called after each pass, with the pass's name and its result."""
Emit: TypeAlias = Callable[[Kernel, Mode, CpuTarget, Schedules, Kernels], tuple[Variant, ...]]
"""What makes a kernel with its schedules: `kernels.cpu.emit.variants`, or a test's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The keyword arguments of `compile`. Raises ValueError for those that cannot be."""

    threads: int = 1
    """CPU threads that a mini-batch is run by."""
    options: Options = DEFAULT
    """The switches of the compiler."""
    checked: bool = False
    """Every run verifies that operands are computed before they are used."""
    tune: int = 0
    """How many schedules of kernels are tried beside the default ones, on this machine, at about half a second each (paper:
    auto-scheduling); what is measured is kept in the cache folder."""
    sample: Sequence[Any] | None = None
    """A mini-batch like those to come. Where `forward` has no annotation that says what an instance is, the types of its fields
    and the shapes of its tensors are read off these: give instances that differ in all that may differ, such as the lengths
    of lists and tensors. With `tune`, it is run first, and its profile tells which kernels to spend the trials on and at which
    numbers of rows (paper: profile-guided optimization); without one, all kernels are tried at 64 rows."""
    memory_limit: int = MEMORY_LIMIT
    """Bytes that each arena of a mini-batch may have."""
    cache_folder: Path | None = None
    """Where builds and measurements are kept; by default `$ACROBAT_CACHE`, or `acrobat` in the user's cache folder. The
    runtime, which all models are linked to, is always kept in the default one."""
    observe: Observe | None = None
    """Is called as `observe(name, program)` after each pass."""
    flags: Sequence[str] = ()
    """Further ones for the C++ compiler (for tests)."""
    emit: Emit = variants
    """Makes the kernels (for tests)."""

    def __post_init__(self) -> None:
        tune = self.tune
        if isinstance(tune, bool) or not isinstance(tune, int) or tune < 0:
            raise ValueError(f"tune={tune!r}: the number of schedules to try, 0 or more")
        if tune and self.sample is not None and len(self.sample) == 0:
            raise ValueError("the sample has no instance to profile: give one mini-batch, or None to tune without a profile")
        if tune and self.options.kernels == "vendor":
            raise ValueError(
                f"tune={tune} with kernels='vendor': a library's kernels have no schedules to try; leave one of them out"
            )
        if self.threads < 1 or self.memory_limit < 1:
            raise ValueError(f"threads={self.threads} and memory_limit={self.memory_limit} must be at least 1")


A = TypeVar("A")
S = TypeVar("S")
R = TypeVar("R")
P = ParamSpec("P")


def keywords_of(record: Callable[P, S]) -> Callable[[Callable[[A, S], R]], Callable[Concatenate[A, P], R]]:
    """Has a function of one argument and a record take the record's fields as keyword arguments instead."""

    def decorate(function: Callable[[A, S], R]) -> Callable[Concatenate[A, P], R]:
        @wraps(function)
        def call(first: A, /, *args: P.args, **kwargs: P.kwargs) -> R:
            return function(first, record(*args, **kwargs))

        signature = inspect.signature(function)
        first = next(iter(signature.parameters.values()))
        call.__signature__ = signature.replace(parameters=[first, *inspect.signature(record).parameters.values()])  # type: ignore[attr-defined]
        return call

    return decorate
