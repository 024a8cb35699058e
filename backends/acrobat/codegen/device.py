"""The interface of devices: the compiler and executables reach all that differs between devices through it (`devices.py`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Protocol

from backends.acrobat.codegen.unit_writer import UnitWriter
from backends.acrobat.core.unwritten import Source
from backends.acrobat.kernels.interface import Emitted, Request, Schedules, Variant
from backends.acrobat.options import Options
from backends.acrobat.settings import Emit, Settings
from backends.acrobat.tuning.tune import Guide


class Target(Protocol):
    """The machine that kernels are made for. A frozen dataclass of all that they depend on, as it is part of a build's key."""

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
    """Arrays one after the other in the device's memory, each of which begins at a cache line. `address` is that of one."""

    def address(self, index: int) -> int: ...

    def fill(self, index: int, array: Source) -> None:
        """Overwrites the array number `index` with one of the same size."""


class Memory(ABC):
    """The device's memory as one executable uses it. The methods that do nothing here are for devices beside the processor."""

    outputs: str
    """PyTorch's name of the device on which result tensors are made."""
    base: int
    """The base pointer that tensor addresses are offsets from; 0 if the runtime finds it."""
    shared: bool
    """Whether several sessions may use the same arrays."""

    def open(self, lib: SimpleNamespace, session: int, options: Options) -> None:  # noqa: B027
        """Is called once, before arrays are made, with the functions of the model's shared object and the session's address."""

    @abstractmethod
    def arrays(self, arrays: Sequence[Source]) -> Arrays:
        """Writes arrays to the device's memory."""

    def synchronize(self) -> None:  # noqa: B027
        """Waits until the device has done all work that it was given."""

    def enter(self) -> None:  # noqa: B027
        """Is called before each mini-batch. A device that has streams then runs it in the order of PyTorch's current stream."""


class Device(ABC):
    """One entry of the table of devices."""

    name: ClassVar[str]
    emit: Emit
    writer: type[UnitWriter]

    @abstractmethod
    def check(self, settings: Settings) -> None:
        """Raises ValueError for settings that this device does not support."""

    @abstractmethod
    def target(self, options: Options) -> Any:
        """Describes this machine for the making of kernels. Raises the device's own error if the machine has no such device."""

    def wave(self, options: Options) -> int:
        """The least number of instances of a wave; 0 makes each mini-batch one wave."""
        return options.wave

    @abstractmethod
    def code_generator(self) -> str:
        """The versions of the software that makes kernels, as a part of the key of builds."""

    @abstractmethod
    def artefacts(self, kernels: Mapping[str, Emitted], target: Any, options: Options, flags: Sequence[str] = ()) -> Artefacts:
        """What these kernels, given by symbol, add to a build. `flags` are the additional ones for the C++ compiler."""

    @abstractmethod
    def symbol(self, request: Request, target: Any) -> str:
        """The C name of a kernel with its default schedule."""

    @abstractmethod
    def tuned(
        self, requests: Sequence[Request], target: Any, settings: Settings, guide: Guide, folder: Path
    ) -> Mapping[Request, Schedules]:
        """Tunes kernels: for each the fastest schedules of those that were tried. Measurements are kept in `folder`."""

    @abstractmethod
    def memory(self, manifest: Mapping[str, Any], folder: Path) -> Memory:
        """The device's memory for an executable of the build in `folder`, which has this manifest."""


def by_symbol(variants: Sequence[Variant]) -> dict[str, Emitted]:
    """Kernels by their C names. Raises RuntimeError if two that differ have one name: the linker would use one of them
    twice."""
    kernels: dict[str, Emitted] = {}
    for v in variants:
        if kernels.setdefault(v.emitted.symbol, v.emitted) != v.emitted:
            raise RuntimeError(f"two kernels have the symbol {v.emitted.symbol}: this is a defect of the compiler")
    return kernels
