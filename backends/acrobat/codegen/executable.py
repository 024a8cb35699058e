"""A compiled model in this process: loads the shared object, packs the weights, runs mini-batches."""

from __future__ import annotations

import json
import threading
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from backends.acrobat.codegen import blas, policy
from backends.acrobat.codegen.device import Arrays, Device, Memory
from backends.acrobat.codegen.devices import DEVICES
from backends.acrobat.codegen.library import COUNTERS, library
from backends.acrobat.codegen.outside import is_dict
from backends.acrobat.codegen.results import Results
from backends.acrobat.core.messages import Messages
from backends.acrobat.errors import DeviceError, InstanceError, ModuleChanged, ResourceError, ScheduleError
from backends.acrobat.frontend.instances.boundary import Boundary
from backends.acrobat.frozen import MISSING, Frozen
from backends.acrobat.kernels.packing import pack
from backends.acrobat.memory import has_ordinary_memory
from backends.acrobat.options import Executor
from backends.acrobat.settings import Settings

EXECUTORS = ("inline", "dataflow", "agenda", "learned")
"""What decides which operations run together (`Options.executor`), in the order of the runtime's `Executor`."""
SAMPLE = "; if instances may be so, add one to the sample"
"""The end of the message about an instance that does not fit, where the types of instances were read off a sample."""


class Executable:
    """`executable(instances)` gives one result per instance, as `[module(x) for x in instances]` would."""

    def __init__(
        self,
        folder: Path,
        weights: Mapping[str, np.ndarray],
        classes: Sequence[type],
        settings: Settings,
        boundary: Boundary | None = None,
        messages: Messages | None = None,
        sibling: Executable | None = None,
    ) -> None:
        """Loads the finished build in `folder`. `weights` has all weights of the program (float32), `classes` its classes as in
        `module.classes_of`; `boundary` and `messages` are the program's. Only settings that say how a build is run are read;
        their `executor` must not be `auto`. The weights that `sibling` has in memory are shared if the device allows it.

        Raises RuntimeError if the system has not as many threads, BuildError if kernels call a library and there is none."""
        self.boundary = boundary
        self.messages = messages or Messages()
        self._settings = settings
        self.policy: policy.LearnedPolicy | None = None
        """The learned policy with `executor="learned"`; None before one is learned and with other executors."""
        self._arguments = (folder, weights, classes, settings, boundary, messages)
        self._lock = threading.Lock()
        self._installed: policy.LearnedPolicy | None = None  # the policy of the session, brought up to `policy` before it runs
        self._thread = 0  # the thread that is in a call, 0 if none is
        self._siblings: list[Executable] = []
        self._last = threading.local()  # its `executable` is the one, this or a sibling, that the thread has used last
        self._session: int | None = None
        self._frozen: Frozen | None = None
        self._module: weakref.ref[nn.Module] | None = None
        options = settings.options.effective()
        self.folder = folder
        self.manifest = json.loads((folder / "manifest.json").read_text())
        self._lib = library(folder / "model.so", self.manifest["prefix"])
        self.blas = blas.find() if self.manifest["library"] else None
        device = DEVICES[self.manifest["device"]]
        shared = sibling if sibling is not None and sibling._memory.shared else None
        self._memory: Memory = shared._memory if shared else device.memory(self.manifest, folder)
        self._session = self._create(device)
        self._memory.open(self._lib, self._session, options)
        self._raw: Arrays
        self._packed: Arrays
        self._raw, self._packed = (shared._raw, shared._packed) if shared is not None else self._arrays(weights)
        if self._memory.shared:  # siblings use the arrays that have just been made and need no weights
            self._arguments = (folder, {}, classes, settings, boundary, messages)
        self._introduce(classes)
        self._results = Results(self.manifest["outputs"], self._memory.outputs)
        self._arrange = self._results.arrange
        source = [] if boundary is None else boundary.symbols.of_the_source()
        advice = SAMPLE if boundary is not None and boundary.observed else ""
        self._symbols: list[Any] = self._lib.acrobat_set_outside(self._session, source, Enum, self._arrange, advice.encode())

    def _create(self, device: Device) -> int:
        """A session of the runtime for the model."""
        settings, options = self._settings, self._settings.options.effective()
        session: int | None = self._lib.acrobat_create(
            self._lib.acrobat_model(),
            *(settings.threads, settings.memory_limit, int(settings.checked)),
            *(int(options.gather_fusion), int(options.defer), device.wave(options), EXECUTORS.index(options.executor)),
            *(int(options.memory_planning), self.manifest["second_level"], self._memory.base),
        )
        assert session is not None, "an error was raised"
        self._lib.acrobat_set_python(
            *(session, torch.Tensor, has_ordinary_memory), *(InstanceError, ResourceError, ScheduleError, DeviceError)
        )
        return session

    def _arrays(self, weights: Mapping[str, np.ndarray]) -> tuple[Arrays, Arrays]:
        """The weights in the device's memory: as they are, and packed."""
        raw = [np.ascontiguousarray(weights[name], np.float32) for name in self.manifest["weights"]]
        packed = [pack(p["description"], weights[p["weight"]]) for p in self.manifest["packed"]]
        return self._memory.arrays(raw), self._memory.arrays(packed)

    def _introduce(self, classes: Sequence[type]) -> None:
        """Tell the session where the library of matrix products is, where weights lie, and the classes of instances."""
        if self.blas is not None:
            b = self.blas
            self._lib.acrobat_set_gemm(self._session, b.sgemm, int(b.wide), b.get_threads, b.set_threads)
        for i in range(len(self.manifest["weights"])):
            self._lib.acrobat_add_weight(self._session, self._raw.address(i))
        for i in range(len(self.manifest["packed"])):
            self._lib.acrobat_add_packed(self._session, self._packed.address(i))
        for cls in classes:
            keys = cls.keys_of_record if is_dict(cls) else None  # type: ignore[attr-defined]
            of_record = getattr(cls, "class_of_record", None)
            plain = of_record is not None and not issubclass(of_record, tuple)  # a named tuple is made by its constructor
            self._lib.acrobat_add_class(self._session, of_record or cls, keys, int(plain))

    @property
    def executor(self) -> Executor:
        """What decides which operations run together, as `Options.executor` says; never `auto`."""
        return self._settings.options.executor

    @property
    def device(self) -> str:
        """PyTorch's name of the device that results lie on. Tensors of instances may lie there or on the CPU."""
        return self._memory.outputs

    def synchronize(self) -> None:
        """Waits until the results of earlier calls are computed. On a CUDA device a call returns before that, as operations of
        PyTorch do, which may use the results without waiting here; on the processor there is nothing to wait for."""
        self._memory.synchronize()

    @property
    def source(self) -> Path:
        """The generated C++."""
        return self.folder / "model.cpp"

    def __call__(self, instances: Sequence[Any]) -> list[Any]:
        """Runs a mini-batch. Several threads may call at once; each then has a session of its own, with memory of its own for
        recorded work and, on a CUDA device, for weights. Python's lock is held during a call.

        Raises InstanceError for an instance that does not fit, ModuleChanged if the weights, attributes or submodules of the
        compiled module have changed since, ResourceError when memory or the stack runs out, DeviceError when the device fails,
        RuntimeError when called during a call of its own in the same thread or after `close`."""
        own = self._take()
        try:
            return self._run_or_learn(own, instances)
        finally:
            own._thread = 0

    def _run_or_learn(self, own: Executable, instances: Sequence[Any]) -> list[Any]:
        if self.policy is None and self.executor == "learned":
            (results,), learned = own._run_and_learn([instances])
            self.policy = self.policy or learned  # unless another thread has learned one meanwhile
            return results
        own._install(self.policy)
        return own._run(instances)

    # ---- threads

    def _take(self) -> Executable:
        """This executable or a sibling that is in no call, reserved for the calling thread until `_thread` is 0 again.

        Raises RuntimeError if the thread is in a call."""
        thread = threading.get_ident()
        with self._lock:
            executables = (self, *self._siblings)
            if any(e._thread == thread for e in executables):
                raise RuntimeError(
                    "this executable is running already: it was called from a signal handler or a property of an instance; "
                    "compile a second one for that"
                )
            free = next((e for e in executables if not e._thread), None)
            if free is None:
                self._siblings.append(free := self._sibling())
            free._thread = thread
        self._last.executable = free
        return free

    @contextmanager
    def _reserved(self) -> Iterator[Executable]:
        own = self._take()
        try:
            yield own
        finally:
            own._thread = 0

    def _sibling(self) -> Executable:
        sibling = Executable(*self._arguments, sibling=self)
        sibling._frozen, sibling._module = self._frozen, self._module
        sibling._look_again()
        return sibling

    def _run(self, instances: Sequence[Any]) -> list[Any]:
        session = self._open()
        self._memory.enter()
        try:
            allocate = self._results.allocate
            outputs: list[Any] | None = self._lib.acrobat_run(session, instances, allocate, 0)
            if outputs is None:
                self._look_again()
                outputs = self._lib.acrobat_run(session, instances, allocate, 1)
                assert outputs is not None
        except InstanceError as error:
            if (text := self.messages.decoded(str(error), self._symbols.__getitem__)) != str(error):
                raise InstanceError(text) from None
            raise
        return outputs

    # ---- policies

    def learn(self, minibatches: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Learns a policy from these mini-batches (see `policy.py`), uses it from here on, in all threads, and returns the
        results of each mini-batch. They themselves run by the agenda. If they have no tensor work, no policy is learned.

        Raises ValueError with any other executor than `learned`, and what a call raises."""
        if self.executor != "learned":
            raise ValueError(f"executor={self.executor} learns no policy: compile with executor=learned")
        with self._reserved() as own:
            results, self.policy = own._run_and_learn(minibatches)
            return results

    def _run_and_learn(self, minibatches: Sequence[Sequence[Any]]) -> tuple[list[list[Any]], policy.LearnedPolicy | None]:
        """Runs mini-batches by the agenda: their results, and the policy that is learned from them."""
        self._install(None)
        with self._kept_graphs() as session:
            results = [self._run(instances) for instances in minibatches]
            return results, policy.learned_policy(self._lib, session, self.folder, self._settings)

    def _install(self, learned: policy.LearnedPolicy | None) -> None:
        """Makes `learned` the policy by which this session runs; without one it runs by the agenda."""
        if learned is not self._installed:
            self._lib.acrobat_set_policy(self._open(), *((learned.encoding, learned.table) if learned else (0, [])))
            self._installed = learned

    def lower_bound(self, instances: Sequence[Any]) -> int:
        """Runs a mini-batch and returns a lower bound on the number of batches, which no order of running the recorded work
        goes below: for each unit the most calls of it on one path of dependences, added up over the units (Chen et al., ICML
        2023). Each phase, each wave and the work between two waits has a bound of its own; these are added up too.

        Raises ValueError with `executor="inline"`, which does not track dependences."""
        if self.executor == "inline":
            raise ValueError("executor=inline does not note what depends on what: compile with another executor")
        with self._reserved() as own, own._kept_graphs() as session:
            own._install(self.policy)
            own._run(instances)
            return int(own._lib.acrobat_lower_bound(session))

    @contextmanager
    def _kept_graphs(self) -> Iterator[int]:
        session = self._open()
        self._lib.acrobat_keep_graphs(session, 1)
        try:
            yield session
        finally:
            self._lib.acrobat_keep_graphs(session, 0)

    # ---- the module

    def watch(self, frozen: Frozen, module: nn.Module) -> None:
        """From here on each call checks whether `module`, just compiled or loaded, was changed. It is referenced weakly."""
        self._frozen, self._module = frozen, weakref.ref(module)
        self._lib.acrobat_watch(self._open(), frozen.watched(module), MISSING)

    def _look_again(self) -> None:
        """Compares the module in full after guard.h has found an object replaced. Raises ModuleChanged unless all is equal."""
        module = self._module() if self._module is not None else None
        if module is None or self._frozen is None:
            return
        if change := self._frozen.difference(module):
            raise ModuleChanged(f"the model was changed after it was compiled: {change}; call compile(module) again")
        if change := self._frozen.changed_weight(module):
            raise ModuleChanged(f"{change} after it was compiled or loaded: call executable.load(module) to take it over")
        self.watch(self._frozen, module)

    def load(self, module: nn.Module) -> None:
        """Copies the present values of the weights of `module`, without building anything, and watches this module from here
        on. It is the module that was compiled, or another one with the same classes, attributes, names, shapes, dtypes and
        modes. Results of earlier calls do not change.

        Raises ModuleChanged, which says what differs, for a module that needs a compilation of its own; RuntimeError during a
        call, and for an executable that was made from a program instead of a module."""
        self._open()
        if any(e._session is not None and e._lib.acrobat_running(e._session) for e in (self, *self._siblings)):
            raise RuntimeError("this executable is running: load weights after the call")
        if self._frozen is None:
            raise RuntimeError("this executable was made from a program, not from a module: compile the module")
        if change := self._frozen.difference(module):
            raise ModuleChanged(f"this module needs a compilation of its own, compile(module): {change}")
        weights = self._frozen.weights(module)
        for i, name in enumerate(self.manifest["weights"]):
            self._raw.fill(i, np.ascontiguousarray(weights[name], np.float32))
        for i, p in enumerate(self.manifest["packed"]):
            self._packed.fill(i, pack(p["description"], weights[p["weight"]]))
        self._frozen.note_weights(module)
        self._arguments = (self._arguments[0], self._arguments[1] and weights, *self._arguments[2:])
        self.watch(self._frozen, module)
        self._close_siblings()  # where they are needed again, they are made anew with the new weights

    def _open(self) -> int:
        if self._session is None:
            raise RuntimeError("this executable was closed; compile the model again")
        return self._session

    def counters(self) -> dict[str, float]:
        """The counters of this thread's last mini-batch (milliseconds, counts and bytes), by the names in `COUNTERS`."""
        self._open()
        own = getattr(self._last, "executable", self)
        own = own if own._session is not None else self  # `load` closes siblings
        values = own._lib.acrobat_counters(own._open())
        return {name: values[i] for i, name in enumerate(COUNTERS)}

    def schedule(self, instances: Sequence[Any]) -> list[tuple[int, int, str, int]]:
        """Runs a mini-batch and gives its launches in order: (phase, depth, kernel, rows). Depths begin anew in each wave."""
        return [(phase, depth, kernel, rows) for phase, depth, kernel, _, rows in self._launches(instances)]

    def profile(self, instances: Sequence[Any]) -> dict[str, Counter[int]]:
        """Runs a mini-batch and gives for each kernel, named by its symbol with the default schedule, how many of its
        launches had how many rows."""
        launches: dict[str, Counter[int]] = {}
        for _, _, _, symbol, rows in self._launches(instances):
            launches.setdefault(symbol, Counter())[rows] += 1
        return launches

    def _launches(self, instances: Sequence[Any]) -> list[tuple[int, int, str, str, int]]:
        with self._reserved() as own:
            session = own._open()
            own._lib.acrobat_set_logging(session, 1)
            try:
                self._run_or_learn(own, instances)
                launches: list[tuple[int, int, str, str, int]] = own._lib.acrobat_log(session)
                return launches
            finally:
                own._lib.acrobat_set_logging(session, 0)

    def close(self) -> None:
        """Frees the memory of all sessions; a second call does nothing. Raises RuntimeError during a call."""
        if self._session is not None:
            self._close_siblings()
            if not self._lib.acrobat_destroy(self._session):
                raise RuntimeError("this executable is running: close it after the call")
            self._session = None

    def _close_siblings(self) -> None:
        while self._siblings:
            self._siblings[-1].close()
            self._siblings.pop()

    def __del__(self) -> None:
        if getattr(self, "_session", None) is not None:
            self.close()

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuses `copy.copy`, `copy.deepcopy` and `pickle` by a TypeError: a session is memory of this process."""
        raise TypeError(
            "an executable cannot be copied or pickled: share this one, or call compile(module) again, "
            "which takes what is built from the cache"
        )
