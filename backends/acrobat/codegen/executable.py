"""A compiled model in this process: loads the shared object, packs the weights, runs mini-batches."""

from __future__ import annotations

import ctypes
import json
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import nn

from backends.acrobat.codegen import blas, policy
from backends.acrobat.codegen.devices import DEVICES
from backends.acrobat.codegen.module import PREFIX
from backends.acrobat.core.messages import Messages
from backends.acrobat.errors import DeviceError, InstanceError, ModuleChanged, ResourceError, ScheduleError
from backends.acrobat.frontend.instances.boundary import Boundary
from backends.acrobat.frozen import MISSING, Frozen
from backends.acrobat.kernels.packing import pack
from backends.acrobat.memory import has_ordinary_memory
from backends.acrobat.options import Executor
from backends.acrobat.settings import Settings

EXECUTORS = ("inline", "dataflow", "agenda", "learned")
"""Where depths come from, in the order of the runtime's `Executor`."""
COUNTERS = (
    *("ingest_ms", "construct_ms", "schedule_ms", "kernel_ms", "copy_ms", "fetch_ms"),
    *(
        "nodes",
        "batches",
        "launches",
        "waits",
        "executions",
        "gathered_bytes",
        "product_flops",
        "host_bytes",
        "tensor_bytes",
        "library_calls",
        *("blocked_ms", "device_launches", "steps", "barriers", "uploaded_bytes"),
    ),
)
VIEWS = torch._C.DispatchKeySet(torch._C.DispatchKey.ADInplaceOrView)
"""Where PyTorch makes a slice a view that autograd knows of. What is cut off in other ways is none, but has a dimension."""


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
    ) -> None:
        """`folder` is a finished build, `weights` all weights of the program (float32), `classes` those of its manifest.
        Of the settings, those count that say how a build is run; of `executor` not `auto`, but what it stands
        for. `boundary` and `messages` are the program's.

        Raises RuntimeError if the system has not as many threads, BuildError if the kernels call a library and there is none.
        """
        self.boundary = boundary
        self.messages = messages or Messages()
        self._settings = settings
        self.policy: policy.Learned | None = None
        """What was learned, with `executor="learned"`."""
        self._session: int | None = None
        self._frozen: Frozen | None = None
        self._module: weakref.ref[nn.Module] | None = None
        options = settings.options.effective()
        self.folder = folder
        self.manifest = json.loads((folder / "manifest.json").read_text())
        self._lib = library(folder / "model.so", self.manifest["prefix"])
        names = self.manifest["weights"]
        self.blas = blas.find() if self.manifest["library"] else None
        device = DEVICES[self.manifest["device"]]
        self._memory = device.memory(self.manifest, folder)
        self._session = self._lib.acrobat_create(
            self._lib.acrobat_model(),
            *(settings.threads, settings.memory_limit, int(settings.checked)),
            *(int(options.gather_fusion), int(options.defer), device.wave(options), EXECUTORS.index(options.executor)),
            *(int(options.memory_planning), self.manifest["second_level"], self._memory.base),
        )
        assert self._session is not None, "an error was raised"
        self._lib.acrobat_set_python(
            *(self._session, torch.Tensor, has_ordinary_memory),
            *(InstanceError, ResourceError, ScheduleError, DeviceError),
        )
        self._memory.open(self._lib, self._session, options)
        self._raw = self._memory.arrays([np.ascontiguousarray(weights[name], np.float32) for name in names])
        self._packed = self._memory.arrays([pack(p["description"], weights[p["weight"]]) for p in self.manifest["packed"]])
        if self.blas is not None:
            b = self.blas
            self._lib.acrobat_set_gemm(self._session, b.sgemm, int(b.wide), b.get_threads, b.set_threads)
        for i in range(len(names)):
            self._lib.acrobat_add_weight(self._session, self._raw.address(i))
        for i in range(len(self.manifest["packed"])):
            self._lib.acrobat_add_packed(self._session, self._packed.address(i))
        for cls in classes:
            self._lib.acrobat_add_class(self._session, cls)
        self._outputs = [(tuple(t["shape"]), getattr(torch, t["dtype"])) for t in self.manifest["outputs"]]

    @property
    def executor(self) -> Executor:
        """What decides which operations run together, as `Options.executor` says; never `auto`."""
        return self._settings.options.executor

    @property
    def device(self) -> str:
        """PyTorch's name of the device that results lie on. Tensors of instances may lie there or on the CPU."""
        return self._memory.outputs

    def synchronize(self) -> None:
        """Waits until results of earlier calls are there. On a CUDA device a call returns before, as PyTorch's operations do,
        and what PyTorch does with results comes after them; on the processor there is nothing to wait for."""
        self._memory.synchronize()

    @property
    def source(self) -> Path:
        """The generated C++."""
        return self.folder / "model.cpp"

    def __call__(self, instances: Sequence[Any]) -> list[Any]:
        """Raises InstanceError for an instance that does not fit, ModuleChanged when the module that was compiled has other
        weights, attributes or modules than then, ResourceError when memory or the stack runs out, DeviceError when the device
        fails, RuntimeError when called during a call of its own or after `close`."""
        if self.policy is None and self._settings.options.executor == "learned":
            return self.learn([instances])[0]
        return self._run(instances)

    def _run(self, instances: Sequence[Any]) -> list[Any]:
        if self.boundary is not None:
            instances = self.boundary.all_inward(instances)
        session = self._open()
        self._memory.enter()
        try:
            outputs: list[Any] | None = self._lib.acrobat_run(session, instances, self._allocate, 0)
            if outputs is None:
                self._look_again()
                outputs = self._lib.acrobat_run(session, instances, self._allocate, 1)
                assert outputs is not None
        except InstanceError as error:
            if (told := self.messages.decoded(str(error))) != str(error):
                raise InstanceError(told) from None
            raise
        return outputs if self.boundary is None else [self.boundary.outward(value) for value in outputs]

    # ---- policies

    def learn(self, minibatches: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Learn from these mini-batches in which order what is ready runs, and go by that from here on; gives their results.
        They run as without a policy, as the agenda does. Where they have no tensor work, nothing is learned.

        Raises ValueError with any other executor than `learned`, and what a call raises.
        """
        if self._settings.options.executor != "learned":
            raise ValueError(f"executor={self._settings.options.executor} learns no policy: compile with executor=learned")
        self._lib.acrobat_set_policy(self._open(), 0, [])
        with self._kept_graphs() as session:
            results = [self._run(instances) for instances in minibatches]
            self.policy = policy.learned(self._lib, session, self.folder, self._settings)
        if self.policy is not None:
            self._lib.acrobat_set_policy(self._open(), self.policy.encoding, self.policy.table)
        return results

    def lower_bound(self, instances: Sequence[Any]) -> int:
        """Runs a mini-batch and gives the number of batches that no order of running its recorded work goes below, however it
        is chosen: for each unit the most calls of it that need each other, one after the other, added up (Chen et al., ICML
        2023). Work counts by phases, waves, and what was recorded between two waits.

        Raises ValueError with `executor="inline"`, which does not know what depends on what.
        """
        if self._settings.options.executor == "inline":
            raise ValueError("executor=inline does not note what depends on what: compile with another executor")
        with self._kept_graphs() as session:
            self._run(instances)
            return int(self._lib.acrobat_lower_bound(session))

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
        """Notice at each call whether `module`, which has just been compiled or loaded, was changed. It is held weakly."""
        self._frozen, self._module = frozen, weakref.ref(module)
        self._lib.acrobat_watch(self._open(), frozen.watched(module), MISSING)

    def _look_again(self) -> None:
        """Something of the module is not the same object as before. Raises ModuleChanged unless it is equal."""
        module = self._module() if self._module is not None else None
        if module is None or self._frozen is None:
            return
        if found := self._frozen.difference(module):
            raise ModuleChanged(f"the model was changed after it was compiled: {found}; call compile(module) again")
        if found := self._frozen.changed_weight(module):
            raise ModuleChanged(f"{found} after it was compiled or loaded: call executable.load(module) to take it over")
        self.watch(self._frozen, module)

    def load(self, module: nn.Module) -> None:
        """Take over the values that the weights of `module` have now, without building anything anew; from here on it is the
        module that is watched. It is the one that was compiled or another that has the same classes, attributes, names, shapes,
        dtypes and modes. Results of earlier calls stay as they are.

        Raises ModuleChanged, which says what differs, for a module that needs a compilation of its own; RuntimeError during a
        call and for an executable that was made from no module.
        """
        session = self._open()
        if self._lib.acrobat_running(session):
            raise RuntimeError("this executable is running: load weights after the call")
        if self._frozen is None:
            raise RuntimeError("this executable was made from a program, not from a module: compile the module")
        if found := self._frozen.difference(module):
            raise ModuleChanged(f"this module needs a compilation of its own, compile(module): {found}")
        weights = self._frozen.weights(module)
        for i, name in enumerate(self.manifest["weights"]):
            self._raw.fill(i, np.ascontiguousarray(weights[name], np.float32))
        for i, p in enumerate(self.manifest["packed"]):
            self._packed.fill(i, pack(p["description"], weights[p["weight"]]))
        self._frozen.note_weights(module)
        self.watch(self._frozen, module)

    def _open(self) -> int:
        if self._session is None:
            raise RuntimeError("this executable was closed; compile the model again")
        return self._session

    def _allocate(self, index: int, count: int) -> tuple[int, tuple[torch.Tensor, ...]]:
        """Memory for `count` results of one type, and the tensors in it.

        They are cut off one buffer, which is the cheapest way to a tensor (250 to 280 ns; 370 as a view that autograd knows
        of), and unlike views of it each has a version of its own: writing to one is no change of another.
        """
        shape, dtype = self._outputs[index]
        if not shape:
            buffer = torch.empty(count, dtype=dtype, device=self._memory.outputs)
            with torch._C._ExcludeDispatchKeyGuard(VIEWS):
                return buffer.data_ptr(), buffer.unbind(0)
        rows, *rest = shape
        buffer = torch.empty((count * rows, *rest), dtype=dtype, device=self._memory.outputs)
        return buffer.data_ptr(), torch.unsafe_split_with_sizes(buffer, [rows] * count)

    def counters(self) -> dict[str, float]:
        """About the last mini-batch: milliseconds, counts and bytes by the names in `COUNTERS`."""
        values = self._lib.acrobat_counters(self._open())
        return {name: values[i] for i, name in enumerate(COUNTERS)}

    def schedule(self, instances: Sequence[Any]) -> list[tuple[int, int, str, int]]:
        """Runs a mini-batch and gives its launches in order: (phase, depth, kernel, rows). Depths begin anew in each wave."""
        return [(phase, depth, kernel, rows) for phase, depth, kernel, _, rows in self._launches(instances)]

    def profile(self, instances: Sequence[Any]) -> dict[str, Counter[int]]:
        """Runs a mini-batch and gives for each kernel, named by its symbol with the default schedule, how many of its
        launches had how many rows."""
        found: dict[str, Counter[int]] = {}
        for _, _, _, symbol, rows in self._launches(instances):
            found.setdefault(symbol, Counter())[rows] += 1
        return found

    def _launches(self, instances: Sequence[Any]) -> list[tuple[int, int, str, str, int]]:
        self._lib.acrobat_set_logging(self._open(), 1)
        try:
            self(instances)
            launches: list[tuple[int, int, str, str, int]] = self._lib.acrobat_log(self._session)
            return launches
        finally:
            self._lib.acrobat_set_logging(self._session, 0)

    def close(self) -> None:
        """Give the memory back; a second time does nothing. Raises RuntimeError during a call."""
        if self._session is not None:
            if not self._lib.acrobat_destroy(self._session):
                raise RuntimeError("this executable is running: close it after the call")
            self._session = None

    def __del__(self) -> None:
        if getattr(self, "_session", None) is not None:
            self.close()

    def __reduce_ex__(self, protocol: Any) -> Any:
        """`copy.copy`, `copy.deepcopy` and `pickle` come here: memory of this process cannot be copied as an object is."""
        raise TypeError(
            "an executable cannot be copied or pickled: share this one, or call compile(module) again, "
            "which takes what is built from the cache"
        )


def library(path: Path, prefix: str = PREFIX) -> SimpleNamespace:
    """The shared object's functions with their types declared. `prefix` begins the name of the one that is its model's."""
    lib = ctypes.PyDLL(str(path))
    functions = SimpleNamespace()
    void, obj, integer = ctypes.c_void_p, ctypes.py_object, ctypes.c_int
    declare = {
        "acrobat_model": (void, []),
        "acrobat_create": (
            void,
            [void, integer, ctypes.c_uint64, *[integer] * 3, ctypes.c_int64, *[integer] * 2, ctypes.c_int64, void],
        ),
        "acrobat_destroy": (integer, [void]),
        "acrobat_set_gemm": (None, [void, void, integer, void, void]),
        "acrobat_add_weight": (None, [void, void]),
        "acrobat_add_packed": (None, [void, void]),
        "acrobat_add_class": (integer, [void, obj]),
        "acrobat_set_python": (integer, [void, obj, obj, obj, obj, obj, obj]),
        "acrobat_watch": (integer, [void, obj, obj]),
        "acrobat_holds": (integer, [void]),
        "acrobat_running": (integer, [void]),
        "acrobat_run": (obj, [void, obj, obj, integer]),
        "acrobat_counters": (ctypes.POINTER(ctypes.c_double), [void]),
        "acrobat_set_logging": (None, [void, integer]),
        "acrobat_log": (obj, [void]),
        "acrobat_keep_graphs": (None, [void, integer]),
        "acrobat_graphs": (obj, [void]),
        "acrobat_lower_bound": (ctypes.c_int64, [void]),
        "acrobat_learn": (obj, [void, ctypes.c_int64, ctypes.c_uint64]),
        "acrobat_set_policy": (integer, [void, integer, obj]),
        "acrobat_cuda_open": (integer, [void, integer, integer, void, integer, integer, void, void, integer]),
        "acrobat_cuda_hold": (ctypes.c_uint64, [void, void, ctypes.c_uint64]),
        "acrobat_cuda_refill": (integer, [void, ctypes.c_uint64, void, ctypes.c_uint64]),
        "acrobat_cuda_stream": (integer, [void, void]),
    }
    for name, (result, arguments) in declare.items():
        function = getattr(lib, f"{prefix}_model" if name == "acrobat_model" else name)
        function.restype, function.argtypes = result, arguments
        setattr(functions, name, function)
    return functions
