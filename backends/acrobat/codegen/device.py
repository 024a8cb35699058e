"""What the compiler and an executable have to know of a device; `devices.py` lists them. All else is the same for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Protocol

import numpy as np

from backends.acrobat.codegen.unit_writer import UnitWriter
from backends.acrobat.kernels.interface import Emitted, Request, Schedules, Variant
from backends.acrobat.options import Options
from backends.acrobat.settings import Emit, Settings
from backends.acrobat.tuning.tune import Guide


class Target(Protocol):
    """A machine that kernels are made for: a frozen dataclass that has all they depend on, for it is part of a build's key."""

    device: ClassVar[str]


@dataclass(frozen=True, slots=True)
class Artefacts:
    """What a device adds to a build."""

    manifest: Mapping[str, Any]
    """Entries of the manifest; `library`, `second_level` (bytes of the cache that waves are measured by) and `kernels` are
    expected."""
    objects: Mapping[str, bytes] = field(default_factory=dict)
    """Object files that the host code is linked with, by the symbol that each has."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Further files of the build's folder, by name."""


class Arrays(Protocol):
    """Arrays side by side in the device's memory, each on a cache line."""

    def address(self, index: int) -> int: ...

    def fill(self, index: int, array: np.ndarray) -> None:
        """Put an array of the same size in place of one."""


class Memory(ABC):
    """The device's memory as one executable uses it."""

    outputs: str
    """PyTorch's name of the device that result tensors are made on."""
    base: int
    """What addresses count from; 0 if the runtime finds it."""
    shared: bool
    """Whether several sessions may use the same arrays."""

    @abstractmethod
    def open(self, lib: SimpleNamespace, session: int, options: Options) -> None:
        """The session has been created, by the functions of a model's shared object; arrays come next."""

    @abstractmethod
    def arrays(self, arrays: Sequence[np.ndarray]) -> Arrays:
        """A copy of each."""

    @abstractmethod
    def synchronize(self) -> None:
        """All that was given to the device is done when this returns."""

    @abstractmethod
    def enter(self) -> None:
        """A mini-batch comes next: where the device has streams, in the order of PyTorch's current one."""


class Device(ABC):
    """One entry of the table of devices."""

    name: ClassVar[str]
    emit: Emit
    writer: type[UnitWriter]

    @abstractmethod
    def check(self, settings: Settings) -> None:
        """Raises ValueError for settings that this device has no meaning for."""

    @abstractmethod
    def target(self, options: Options) -> Any:
        """This machine, as kernels are made for it. Raises what the device has for a machine that lacks it."""

    def wave(self, options: Options) -> int:
        """The least number of instances of a wave; 0: all of a mini-batch are one."""
        return options.wave

    @abstractmethod
    def code_generator(self) -> str:
        """The versions of what makes kernels, for the key of builds."""

    @abstractmethod
    def artefacts(self, kernels: Mapping[str, Emitted], target: Any, options: Options) -> Artefacts:
        """What a build has of these kernels, which are given by symbol."""

    @abstractmethod
    def symbol(self, request: Request, target: Any) -> str:
        """The C name of a kernel with its default schedule."""

    @abstractmethod
    def tuned(
        self, requests: Sequence[Request], target: Any, settings: Settings, guide: Guide, folder: Path
    ) -> Mapping[Request, Schedules]:
        """The schedules that are best of those tried; `folder` keeps measurements."""

    @abstractmethod
    def memory(self, manifest: Mapping[str, Any], folder: Path) -> Memory:
        """For the build in a folder, with this manifest."""


def by_symbol(variants: Sequence[Variant]) -> dict[str, Emitted]:
    """Kernels by their C names. Raises RuntimeError if two that differ have one name: the linker would take one for both."""
    kernels: dict[str, Emitted] = {}
    for v in variants:
        if kernels.setdefault(v.emitted.symbol, v.emitted) != v.emitted:
            raise RuntimeError(f"two kernels have the symbol {v.emitted.symbol}: this is a defect of the compiler")
    return kernels
