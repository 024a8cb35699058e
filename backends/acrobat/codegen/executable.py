"""A compiled model in this process, which runs mini-batches, in several threads if these call it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import nn

from backends.acrobat.codegen import policy
from backends.acrobat.codegen.session import LoadedBuild, Session, WatchedModule
from backends.acrobat.core.messages import Messages
from backends.acrobat.core.unwritten import Source
from backends.acrobat.errors import ModuleChanged
from backends.acrobat.frontend.instances.boundary import Boundary
from backends.acrobat.frozen import Frozen
from backends.acrobat.options import Executor
from backends.acrobat.settings import Settings


class Executable:
    """`executable(instances)` gives one result per instance, as `[module(x) for x in instances]` would."""

    def __init__(
        self,
        folder: Path,
        weights: Mapping[str, Source],
        classes: Sequence[type | int],
        settings: Settings,
        boundary: Boundary | None = None,
        messages: Messages | None = None,
    ) -> None:
        """Loads the finished build in `folder`. `weights` has all weights of the program (float32), `classes` its classes as in
        `module.classes_of`, for tensors of one rank this rank; `boundary` and `messages` are the program's. Only settings that
        say how a build is run are read; their `executor` must not be `auto`.

        Raises RuntimeError if the system has not as many threads, BuildError if kernels call a library and there is none."""
        self._build = LoadedBuild(folder, classes, settings, boundary, messages)
        self.folder = folder
        self.manifest = self._build.manifest
        self.blas = self._build.blas
        self.policy: policy.LearnedPolicy | None = None
        """The learned policy with `executor="learned"`; None before one is learned and with other executors."""
        self._watched: WatchedModule | None = None
        self._lock = threading.Lock()
        self._last = threading.local()  # its `session` is the one that the thread has used last
        self._first = Session(self._build, weights)
        self._others: list[Session] = []  # for threads that call while the first session is in a call
        self._weights = {} if self._first.memory.shared else weights  # what further sessions need

    @property
    def executor(self) -> Executor:
        """What decides which operations run together, as `Options.executor` says; never `auto`."""
        return self._build.settings.options.executor

    @property
    def device(self) -> str:
        """PyTorch's name of the device that results lie on. Tensors of instances may lie there or on the CPU."""
        return self._first.memory.outputs

    def synchronize(self) -> None:
        """Waits until the results of earlier calls are computed. On a CUDA device a call returns before that, as operations of
        PyTorch do, which may use the results without waiting here; on the processor there is nothing to wait for."""
        self._first.memory.synchronize()

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
        session = self._take()
        try:
            return self._run_or_learn(session, instances)
        finally:
            session.thread = 0

    def _run_or_learn(self, session: Session, instances: Sequence[Any]) -> list[Any]:
        if self.policy is None and self.executor == "learned":
            (results,), learned = self._run_and_learn(session, [instances])
            self.policy = self.policy or learned  # unless another thread has learned one meanwhile
            return results
        session.install(self.policy)
        return session.run(instances)

    # ---- threads

    def _take(self) -> Session:
        """A session that is in no call, reserved for the calling thread until its `thread` is 0 again.

        Raises RuntimeError if the thread is in a call."""
        thread = threading.get_ident()
        free = None
        with self._lock:
            for s in (self._first, *self._others):  # a loop: `any` and `next` of generators take 0.7 us more
                if s.thread == thread:
                    raise RuntimeError(
                        "this executable is running already: it was called from a signal handler or a property of an instance; "
                        "compile a second one for that"
                    )
                free = free or (None if s.thread else s)
            if free is None:
                self._others.append(free := self._further())
            free.thread = thread
        self._last.session = free
        return free

    @contextmanager
    def _reserved(self) -> Iterator[Session]:
        session = self._take()
        try:
            yield session
        finally:
            session.thread = 0

    def _further(self) -> Session:
        session = Session(self._build, self._weights, self._first)
        if self._watched is not None:
            session.watch_unchanged(self._watched)
        return session

    # ---- policies

    def learn(self, minibatches: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Learns a policy from these mini-batches (see `policy.py`), uses it from here on, in all threads, and returns the
        results of each mini-batch. They themselves run by the agenda. If they have no tensor work, no policy is learned.

        Raises ValueError with any other executor than `learned`, and what a call raises."""
        if self.executor != "learned":
            raise ValueError(f"executor={self.executor} learns no policy: compile with executor=learned")
        with self._reserved() as session:
            results, self.policy = self._run_and_learn(session, minibatches)
            return results

    def _run_and_learn(
        self, session: Session, minibatches: Sequence[Sequence[Any]]
    ) -> tuple[list[list[Any]], policy.LearnedPolicy | None]:
        """Runs mini-batches by the agenda: their results, and the policy that is learned from them."""
        session.install(None)
        with session.kept_graphs() as address:
            results = [session.run(instances) for instances in minibatches]
            return results, policy.learned_policy(self._build.lib, address, self.folder, self._build.settings)

    def lower_bound(self, instances: Sequence[Any]) -> int:
        """Runs a mini-batch and returns a lower bound on the number of batches, which no order of running the recorded work
        goes below: for each unit the most calls of it on one path of dependences, added up over the units (Chen et al., ICML
        2023). Each phase, each wave and the work between two waits has a bound of its own; these are added up too.

        Raises ValueError with `executor="inline"`, which does not track dependences."""
        if self.executor == "inline":
            raise ValueError("executor=inline does not note what depends on what: compile with another executor")
        with self._reserved() as session, session.kept_graphs() as address:
            session.install(self.policy)
            session.run(instances)
            return int(self._build.lib.acrobat_lower_bound(address))

    # ---- the module

    def watch(self, frozen: Frozen, module: nn.Module) -> None:
        """From here on each call checks whether `module`, just compiled or loaded, was changed. It is referenced weakly."""
        self._watched = WatchedModule(frozen, module)
        self._first.watch(self._watched, module)

    def load(self, module: nn.Module) -> None:
        """Copies the present values of the weights of `module`, without building anything, and watches this module from here
        on. It is the module that was compiled, or another one with the same classes, attributes, names, shapes, dtypes and
        modes. Results of earlier calls do not change.

        Raises ModuleChanged, which says what differs, for a module that needs a compilation of its own; RuntimeError during a
        call, and for an executable that was made from a program instead of a module."""
        self._first.address()
        if any(s.is_running() for s in (self._first, *self._others)):
            raise RuntimeError("this executable is running: load weights after the call")
        if self._watched is None:
            raise RuntimeError("this executable was made from a program, not from a module: compile the module")
        frozen = self._watched.frozen
        if change := frozen.difference(module):
            raise ModuleChanged(f"this module needs a compilation of its own, compile(module): {change}")
        weights = frozen.weights(module)
        self._first.fill(weights)
        frozen.note_weights(module)
        self._weights = self._weights and weights
        self.watch(frozen, module)
        self._close_others()  # where they are needed again, they are made anew with the new weights

    # ---- what ran

    def counters(self) -> dict[str, float]:
        """The counters of this thread's last mini-batch (milliseconds, counts and bytes), by the names in `COUNTERS`."""
        self._first.address()
        last: Session = getattr(self._last, "session", self._first)
        return (self._first if last.is_closed else last).counters()  # `load` closes further sessions

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
        with self._reserved() as session, session.logged() as launches:
            self._run_or_learn(session, instances)
        return launches

    def close(self) -> None:
        """Frees the memory of all sessions; a second call does nothing. Raises RuntimeError during a call."""
        if not self._first.is_closed:
            self._close_others()
            self._first.close()

    def _close_others(self) -> None:
        while self._others:
            self._others[-1].close()
            self._others.pop()

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuses `copy.copy`, `copy.deepcopy` and `pickle` by a TypeError: a session is memory of this process."""
        raise TypeError(
            "an executable cannot be copied or pickled: share this one, or call compile(module) again, "
            "which takes what is built from the cache"
        )
