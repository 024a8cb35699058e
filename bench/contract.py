"""The protocols between the harness, the workloads and the systems under test, and nothing else.

What is timed is the same for every backend: one call of `Compiled.run`, from a Python list of instances (parsed trees,
token ids, tensors already on the device) to outputs complete on the device.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

Instance = Any
Outputs = Any


class Unsupported(Exception):
    """Raised by a backend that cannot run a cell by its nature; the message is the reason shown in the matrix."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a cell runs: `device` is "cpu" or "cuda", `threads` the number of CPU threads the backend may use."""

    device: str = "cpu"
    threads: int = 1


class Workload(Protocol):
    """A dynamic model with its instances. What a method returns depends on its arguments and the options alone.

    The harness's own process imports and constructs it, so neither may load anything heavy, such as torch. It may have a method
    `check()`, which reads a data file that it was given to the end and raises ValueError with the place of a mistake; the
    harness calls it before it makes cells."""

    name: str
    sizes: Sequence[str]

    def model(self, size: str) -> Any:
        """The `torch.nn.Module` for one instance (float32, eval mode), into which `params` are not yet loaded."""
        ...

    def params(self, size: str, seed: int) -> dict[str, np.ndarray]:
        """The model's state dict as float32 arrays, drawn from `seed`."""
        ...

    def instances(self, size: str, seed: int, n: int) -> list[Instance]:
        """`n` instances drawn from `seed`, or the first `n` (cyclically) of the data file. Tensors in them are on the CPU.
        A smaller `n` gives the first instances of a larger one."""
        ...

    def scores(self, model: Any, instance: Instance) -> Outputs | None:
        """For an output of indices: the scores of which each index is the argmax, with one trailing axis more than the output.
        An index is right if its score is within tolerance of the best. None: outputs are compared as they are."""
        ...

    # Optional: def margins(self, model: Any, instance: Instance) -> Sequence[float]
    #     For an output that is a list of indices, each chosen after those before it: by how much each choice was better than
    #     the next best one, and last the decision to end, relative to the largest number compared. The last margin also holds
    #     for all further choices. From the first choice on whose margin is too small for float32, any output is right.


class Compiled(Protocol):
    """One model, ready to run mini-batches."""

    def place(self, instances: Sequence[Instance]) -> list[Instance]:
        """The same instances, with their tensors where the system wants its inputs (its device, its array type). Not timed, and
        for nothing else: taking much longer than copying the tensors is a flag (bench/placing.py). Instances without tensors
        are run as they are, without this call, and placed instances are not necessarily those that run next."""
        ...

    def run(self, minibatch: Sequence[Instance]) -> Outputs:
        """One output per instance, complete on the device when this returns. Must not change `minibatch`."""
        ...

    def fetch(self, outputs: Outputs) -> list[Any]:
        """The outputs of the last `run` as nested lists and tuples of numpy arrays, one element per instance. Not timed; may be
        called twice. It may cost a fifth of the run and what conversion needs (bench/judge.py); other work belongs into `run`.
        Floats are float32, or float64 where a library converts to it."""
        ...

    def counters(self) -> Mapping[str, Any]:
        """Counters of the last `run`, those that the system knows: milliseconds under `ingest_ms construct_ms schedule_ms
        copy_ms kernel_ms fetch_ms`; counts under `nodes batches launches mean_batch_width gathered_bytes`; `unbatched` (name of
        an operator to the reason); `arena_bytes`, the most that its arenas for results have held."""
        ...

    def close(self) -> None: ...

    # Optional: def facts(self) -> Mapping[str, Any]
    #     What ran, for the reader who compares; asked once, after the last timed run. All keys are optional, and texts are
    #     plain lines of at most 300 letters. `library`: what computed, with its version, as in "Eigen in dyNET38 2.2".
    #     `threads`: how many it really uses. `load_time`: names of the work done while loading that other systems do inside the
    #     clock, as in "tables", or "". `instruction_set`: "sse", "avx2" or "avx512"; what is observed while it runs has
    #     precedence. `precision`: as in "tf32", if the user asked for less than float32. `properties`: what a compiler has
    #     found out about the model (names to numbers and truth values).
    # Optional: def identity(self) -> str
    #     A text that is equal for two compiled models of a backend if and only if they are the same program with the same work
    #     to do, whatever options they differ in. Such cells are measured once, and the rows of the others say so.


class Backend(Protocol):
    """A system under test, constructed as `cls(target, **options)` from `conf/backend/<name>.yaml`. Its options are the
    constructor's parameters, with their types and defaults. It is constructed on every command, in a process of its own, to ask
    for its variants, so importing and constructing it must load nothing heavy; `available` and `compile` may.

    Optional methods: `emulated()` says whether the processor emulates its device, for tests; rows of such cells are never
    stored. `load()`, which a workload may have too, imports what `compile` and the first run need, and is timed apart.

    Optional class attributes: `optional` names the modules that need not be installed; where `available`, `load` or `compile`
    finds one of them missing, the cell is `unavailable`, while any other ImportError is a failure. `packages` names the
    installed packages that its numbers depend on, and `programs` the programs it compiles with; rows are stale when the version
    of one changes. `uses` names the packages and modules of the project outside of its own folder that run in its cells, as in
    `("backends.pytorch",)`; rows are stale when their sources change."""

    name: str

    def available(self) -> str | None:
        """None if the system can run on its target here, else the reason why not (shown as `unavailable: <reason>`)."""
        ...

    def variants(self) -> Sequence[Mapping[str, Any]]:
        """The settings of options to measure as cells of their own, of which the fastest represents this backend; `[{}]` for a
        backend with a single variant."""
        ...

    def compile(self, workload: Workload, size: str, seed: int, batch_size: int) -> Compiled:
        """The workload's model with the parameters of `seed`, ready to run. Raises `Unsupported`."""
        ...
