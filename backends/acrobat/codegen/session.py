"""A session of the runtime: a model with memory of its own for recorded work. One thread at a time uses it."""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from backends.acrobat.codegen import blas
from backends.acrobat.codegen.device import Arrays, Device, Memory
from backends.acrobat.codegen.devices import DEVICES
from backends.acrobat.codegen.library import COUNTERS, library
from backends.acrobat.codegen.outside import is_dict
from backends.acrobat.codegen.policy import LearnedPolicy
from backends.acrobat.codegen.results import Results
from backends.acrobat.core.made_objects import is_made_by_attributes
from backends.acrobat.core.messages import Messages
from backends.acrobat.core.unwritten import Source, Unwritten
from backends.acrobat.errors import DeviceError, InstanceError, ModuleChanged, ResourceError, ScheduleError
from backends.acrobat.frontend.instances.boundary import Boundary
from backends.acrobat.frontend.reads import MISSING
from backends.acrobat.frozen import Frozen
from backends.acrobat.kernels.packing import packed
from backends.acrobat.memory import has_ordinary_memory
from backends.acrobat.settings import Settings

EXECUTORS = ("inline", "dataflow", "agenda", "learned")
"""What decides which operations run together (`Options.executor`), in the order of the runtime's `Executor`."""
SAMPLE = "; if instances may be so, add one to the sample"
"""The end of the message about an instance that does not fit, where the types of instances were read off a sample."""


class LoadedBuild:
    """What all sessions of an executable have in common."""

    def __init__(
        self,
        folder: Path,
        classes: Sequence[type | int],
        settings: Settings,
        boundary: Boundary | None,
        messages: Messages | None,
    ) -> None:
        """The arguments are those of `Executable`. Raises BuildError if kernels call a library and there is none."""
        self.folder = folder
        self.classes = classes
        self.settings = settings
        self.boundary = boundary
        self.messages = messages or Messages()
        self.manifest = json.loads((folder / "manifest.json").read_text())
        self.lib = library(folder / "model.so", self.manifest["prefix"])
        self.blas = blas.find() if self.manifest["library"] else None


class WatchedModule:
    """A module as it was when it was compiled or loaded. It is referenced weakly."""

    def __init__(self, frozen: Frozen, module: nn.Module) -> None:
        self.frozen = frozen
        self._module = weakref.ref(module)

    def unchanged(self) -> nn.Module | None:
        """The module, compared in full; None if it does not exist any more. Raises ModuleChanged unless all is equal."""
        module = self._module()
        if module is None:
            return None
        if change := self.frozen.difference(module):
            raise ModuleChanged(f"the model was changed after it was compiled: {change}; call compile(module) again")
        if change := self.frozen.changed_weight(module):
            raise ModuleChanged(f"{change} after it was compiled or loaded: call executable.load(module) to take it over")
        return module


class Session:
    """A session of the runtime. `thread` is the number of the thread that is in a call, 0 if none is."""

    def __init__(self, build: LoadedBuild, weights: Mapping[str, Source], other: Session | None = None) -> None:
        """`weights` has all weights of the program (float32). Those that `other`, of the same build, has in memory are used
        if the device allows that; none need to be given then. Raises RuntimeError if the system has not as many threads."""
        self.thread = 0
        self._build = build
        self._lib = build.lib
        self._address: int | None = None
        self._watched: WatchedModule | None = None
        self._installed: LearnedPolicy | None = None
        device = DEVICES[build.manifest["device"]]
        shared = other if other is not None and other.memory.shared else None
        self.memory: Memory = shared.memory if shared else device.memory(build.manifest, build.folder)
        self.results = Results(build.manifest["outputs"], self.memory.outputs)
        self._address = self._create(device)
        self.memory.open(self._lib, self._address, build.settings.options.effective())
        self._raw: Arrays
        self._packed: Arrays
        self._raw, self._packed = (shared._raw, shared._packed) if shared is not None else self._arrays(weights)
        self._introduce()
        for maker in self.results.makers:
            if maker is not None and maker.work is not None:
                self._lib.acrobat_add_idle(self._address, maker.work, maker.address)
        self._arrange = self.results.arrange
        boundary = build.boundary
        source = [] if boundary is None else boundary.symbols.of_the_source()
        advice = SAMPLE if boundary is not None and boundary.observed else ""
        self._symbols: list[Any] = self._lib.acrobat_set_outside(self._address, source, Enum, self._arrange, advice.encode())

    def _create(self, device: Device) -> int:
        settings, manifest = self._build.settings, self._build.manifest
        options = settings.options.effective()
        address: int | None = self._lib.acrobat_create(
            self._lib.acrobat_model(),
            *(settings.threads, settings.memory_limit, int(settings.checked)),
            *(int(options.gather_fusion), int(options.defer), device.wave(options), EXECUTORS.index(options.executor)),
            *(int(options.memory_planning), manifest["second_level"], self.memory.base),
        )
        assert address is not None, "an error was raised"
        self._lib.acrobat_set_python(
            *(address, torch.Tensor, has_ordinary_memory), *(InstanceError, ResourceError, ScheduleError, DeviceError)
        )
        return address

    def _arrays(self, weights: Mapping[str, Source]) -> tuple[Arrays, Arrays]:
        """The weights in the device's memory: as they are, and packed."""
        as_they_are, packed = self._sources(weights)
        return self.memory.arrays(as_they_are), self.memory.arrays(packed)

    def _sources(self, weights: Mapping[str, Source]) -> tuple[list[Source], list[Source]]:
        """What the device's memory is filled from: the weights as they are, and packed."""
        names, packings = self._build.manifest["weights"], self._build.manifest["packed"]
        whole = {name: np.asarray(weights[name]) for name in dict.fromkeys(p["weight"] for p in packings)}
        found = [whole.get(name, weights[name]) for name in names]
        as_they_are = [w if isinstance(w, Unwritten) else np.asarray(w, np.float32) for w in found]
        return as_they_are, [packed(p["description"], whole[p["weight"]]) for p in packings]

    def _introduce(self) -> None:
        """Tell the session where the library of matrix products is, where weights lie, and the classes of instances."""
        manifest = self._build.manifest
        if self._build.blas is not None:
            b = self._build.blas
            self._lib.acrobat_set_gemm(self._address, b.sgemm, int(b.wide), b.get_threads, b.set_threads)
        for i in range(len(manifest["weights"])):
            self._lib.acrobat_add_weight(self._address, self._raw.address(i))
        for i in range(len(manifest["packed"])):
            self._lib.acrobat_add_packed(self._address, self._packed.address(i))
        for cls in self._build.classes:
            if isinstance(cls, int):
                self._lib.acrobat_add_class(self._address, torch.Tensor, cls, 0)
                continue
            keys = cls.keys_of_record if is_dict(cls) else None  # type: ignore[attr-defined]
            of_record = getattr(cls, "class_of_record", None)
            plain = is_made_by_attributes(cls) if of_record is None else not issubclass(of_record, tuple)  # else by a call
            self._lib.acrobat_add_class(self._address, of_record or cls, keys, int(plain))

    def address(self) -> int:
        """The address of the runtime's session. Raises RuntimeError after `close`."""
        if self._address is None:
            raise RuntimeError("this executable was closed; compile the model again")
        return self._address

    @property
    def is_closed(self) -> bool:
        return self._address is None

    def is_running(self) -> bool:
        """Whether the session is in a call."""
        return self._address is not None and bool(self._lib.acrobat_running(self._address))

    def run(self, instances: Sequence[Any]) -> list[Any]:
        """The results of a mini-batch. Raises what a call of the executable raises."""
        address = self.address()
        boundary = self._build.boundary
        completion = None if boundary is None else boundary.completion
        if completion is not None:
            instances = completion.whole(instances)
        self.memory.enter()
        try:
            allocate = self.results.allocate
            outputs: list[Any] | None = self._lib.acrobat_run(address, instances, allocate, 0)
            if outputs is None:
                if self._watched is not None:  # guard.h has found an object replaced, perhaps by one that is equal
                    self.watch_unchanged(self._watched)
                outputs = self._lib.acrobat_run(address, instances, allocate, 1)
                assert outputs is not None
        except InstanceError as error:
            text = self._build.messages.decoded(str(error), self._symbols.__getitem__)
            if (text := text if completion is None else completion.told(text)) != str(error):
                raise InstanceError(text) from None
            raise
        return outputs

    def install(self, learned: LearnedPolicy | None) -> None:
        """Makes `learned` the policy by which this session runs; without one it runs by the agenda."""
        if learned is not self._installed:
            self._lib.acrobat_set_policy(self.address(), *((learned.encoding, learned.table) if learned else (0, [])))
            self._installed = learned

    @contextmanager
    def kept_graphs(self) -> Iterator[int]:
        """A context in which the runtime keeps the graphs of mini-batches; gives the session's address."""
        address = self.address()
        self._lib.acrobat_keep_graphs(address, 1)
        try:
            yield address
        finally:
            self._lib.acrobat_keep_graphs(address, 0)

    @contextmanager
    def logged(self) -> Iterator[list[tuple[int, int, str, str, int]]]:
        """A context in which launches are logged, in order: (phase, depth, kernel, its symbol with the default schedule, rows).
        The list has them when the context has ended without an error."""
        address = self.address()
        launches: list[tuple[int, int, str, str, int]] = []
        self._lib.acrobat_set_logging(address, 1)
        try:
            yield launches
            launches += self._lib.acrobat_log(address)
        finally:
            self._lib.acrobat_set_logging(address, 0)

    def counters(self) -> dict[str, float]:
        """The counters of the last mini-batch, by the names in `COUNTERS`."""
        values = self._lib.acrobat_counters(self.address())
        return {name: values[i] for i, name in enumerate(COUNTERS)}

    def watch(self, watched: WatchedModule, module: nn.Module) -> None:
        """From here on each call checks whether `module`, which is the one that is watched, was changed."""
        self._watched = watched
        self._lib.acrobat_watch(self.address(), watched.frozen.watched(module), MISSING)

    def watch_unchanged(self, watched: WatchedModule) -> None:
        """As `watch`, of a module that was there before. Raises ModuleChanged unless it is as it was."""
        if (module := watched.unchanged()) is not None:
            self.watch(watched, module)

    def fill(self, weights: Mapping[str, Source]) -> None:
        """Overwrites the weights, between calls."""
        for arrays, sources in zip((self._raw, self._packed), self._sources(weights), strict=True):
            for i, source in enumerate(sources):
                arrays.fill(i, source)

    def close(self) -> None:
        """Frees the session's memory; a second call does nothing. Raises RuntimeError during a call."""
        if self._address is not None:
            if not self._lib.acrobat_destroy(self._address):
                raise RuntimeError("this executable is running: close it after the call")
            self._address = None
            self.results.clear()

    def __del__(self) -> None:
        if getattr(self, "_address", None) is not None:
            self.close()
