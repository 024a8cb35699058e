"""The keyword arguments of `compile`, declared once for all functions that pass them on."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, TypeAlias, TypeVar, get_args

from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.ir.nodes import Program
from backends.acrobat.kernels.interface import Schedules, Variant
from backends.acrobat.options import Device, Kernels, Options

MEMORY_LIMIT = min(16 << 30, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
"""The default limit of each arena in bytes. A mini-batch that needs more raises an error before all memory is in use."""

DEFAULT = Options()

Observe: TypeAlias = Callable[[str, Program], None]
"""A function that is called after each pass, with the name of the pass and its result."""
Emit: TypeAlias = Callable[[Kernel, Mode, Any, Schedules, Kernels], tuple[Variant, ...]]
"""A function that makes a kernel for a target, as `kernels.cpu.emit.variants` does; tests have some of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The keyword arguments of `compile`. Raises ValueError for invalid ones."""

    device: Device = "cpu"
    """What mini-batches run on: `cpu`, this machine's processor, or `cuda`, the first GPU that the CUDA driver lists."""
    threads: int = 1
    """The number of CPU threads that run a mini-batch."""
    options: Options = DEFAULT
    """The switches of the compiler."""
    checked: bool = False
    """Checked mode: every launch verifies that its operands have been computed."""
    tune: int = 0
    """How many schedules of kernels are tried beside the default ones, on this machine, at about half a second each (paper:
    auto-scheduling). Measurements are kept in the cache folder."""
    sample: Sequence[Any] | None = None
    """A typical mini-batch. With `Options(executor="learned")` the policy is learned from it, and with `tune` it may guide the
    trials. If `forward` has no annotation that says what an instance is, the types of fields and the shapes of tensors are read
    off these instances: give some that differ in everything that may differ, such as the lengths of lists and tensors."""
    guide: Literal["profile", "static", "even"] | None = None
    """How the trials of `tune` are shared out among kernels. `profile`: the sample is run first, and trials go to the kernels
    that take most of its time, at the numbers of rows that they had (paper: profile-guided optimization). `static`: by the
    loops and recursions around each kernel, at 64 rows (static priorities, as in the original ACRoBat). `even`: equally, at 64
    rows. The default is `profile` if there is a sample, else `even`."""
    untuned: bool = False
    """Kernels begin as the plain loops of their templates, so that only `tune` makes them faster, as in the paper; by default
    they begin with schedules that were found by measuring."""
    policy_trials: int = 1000
    """With `Options(executor="learned")`: how often learning runs through the graphs of the sample at most, for each way of
    encoding states. The policy is learned from `sample` when the model is compiled, or else from the mini-batch of the first
    call; `Executable.learn` learns a new one from several mini-batches. Policies are kept in the cache folder."""
    policy_seed: int = 0
    """The seed of the random choices in these trials: equal samples, trials and seeds give equal policies."""
    memory_limit: int = MEMORY_LIMIT
    """The largest size of each arena of a mini-batch, in bytes."""
    cache_folder: Path | None = None
    """The folder for builds and measurements; by default `$ACROBAT_CACHE`, or `acrobat` in the user's cache folder. Compiled
    kernels and the runtime, which models share, are always in the default folder."""
    observe: Observe | None = None
    """Is called as `observe(name, program)` after each pass."""
    flags: Sequence[str] = ()
    """Additional flags for the C++ compiler (for tests)."""
    emit: Emit | None = None
    """Makes the kernels, in place of the device's own emitter (for tests)."""

    def __post_init__(self) -> None:
        tune = self.tune
        if isinstance(tune, bool) or not isinstance(tune, int) or tune < 0:
            raise ValueError(f"tune={tune!r}: the number of schedules to try, 0 or more")
        if self.guide not in (None, "profile", "static", "even"):
            raise ValueError(f"guide={self.guide!r}: profile, static or even")
        if self.guide == "profile" and self.sample is None:
            raise ValueError(
                "guide='profile' needs a sample to profile: give one mini-batch as sample=, or take static or even"
            )
        if tune and self.guided_by == "profile" and self.sample is not None and len(self.sample) == 0:
            raise ValueError("the sample has no instance to profile: give one mini-batch, or take guide='static' or 'even'")
        if (tune or self.untuned) and self.options.kernels == "vendor":
            setting = f"tune={tune}" if tune else "untuned=True"
            raise ValueError(
                f"{setting} with kernels='vendor': a library's kernels have no schedules to try; leave one of them out"
            )
        if self.device not in get_args(Device):
            raise ValueError(f"device={self.device!r}: a model is compiled for one of {', '.join(get_args(Device))}")
        if self.policy_trials < 0 or self.policy_seed < 0:
            raise ValueError(f"policy_trials={self.policy_trials} and policy_seed={self.policy_seed} must be 0 or more")
        if self.threads < 1 or self.memory_limit < 1:
            raise ValueError(f"threads={self.threads} and memory_limit={self.memory_limit} must be at least 1")

    @property
    def guided_by(self) -> Literal["profile", "static", "even"]:
        """`guide`, or its default where none is given."""
        return self.guide or ("even" if self.sample is None else "profile")


A = TypeVar("A")
S = TypeVar("S")
R = TypeVar("R")
P = ParamSpec("P")


def keywords_of(record: Callable[P, S]) -> Callable[[Callable[[A, S], R]], Callable[Concatenate[A, P], R]]:
    """Decorates a function of one argument and a `record`, so that callers give the record's fields as keyword arguments."""

    def decorate(function: Callable[[A, S], R]) -> Callable[Concatenate[A, P], R]:
        @wraps(function)
        def call(first: A, /, *args: P.args, **kwargs: P.kwargs) -> R:
            return function(first, record(*args, **kwargs))

        signature = inspect.signature(function)
        first = next(iter(signature.parameters.values()))
        call.__signature__ = signature.replace(parameters=[first, *inspect.signature(record).parameters.values()])  # type: ignore[attr-defined]
        return call

    return decorate
