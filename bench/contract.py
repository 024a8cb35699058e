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
    """A backend cannot run this cell by its nature; the message is the reason shown in the matrix."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a cell runs: `device` is "cpu" or "cuda", `threads` the number of CPU threads the backend may use."""

    device: str = "cpu"
    threads: int = 1


class Workload(Protocol):
    """A dynamic model with its instances. Everything it makes is a function of its arguments alone.

    The harness's own process imports and constructs it, so neither may load anything heavy. It may have a method `check()`,
    which reads what it was given (a data file) to the end and raises ValueError with the place of what is wrong; the harness
    calls it before any cell is made."""

    name: str
    sizes: Sequence[str]

    def model(self, size: str) -> Any:
        """The one-instance `torch.nn.Module` (float32, eval mode), its parameters not yet drawn."""
        ...

    def params(self, size: str, seed: int) -> dict[str, np.ndarray]:
        """The model's state dict as float32 arrays, drawn from `seed`."""
        ...

    def instances(self, size: str, seed: int, n: int) -> list[Instance]:
        """`n` instances drawn from `seed`, or the first `n` (cyclically) of the data file. Tensors in them are on the CPU.
        The first of them are the same for every `n`."""
        ...

    def scores(self, model: Any, instance: Instance) -> Outputs | None:
        """For a model that answers with indices: the scores they are the argmax of, one trailing axis more than the
        output. An index is right if its score is within tolerance of the best. None: outputs are compared as they are."""
        ...

    # Optional: def margins(self, model: Any, instance: Instance) -> Sequence[float]
    #     For a model that answers with a list of indices, each chosen after those before it: how much better each choice was
    #     than what it was preferred to, and last that of the end, relative to the largest number compared; fewer where the
    #     last one holds for all that follow. From a choice on that was too near to call in float32 any answer is right.


class Compiled(Protocol):
    """One model, ready to run mini-batches."""

    def place(self, instances: Sequence[Instance]) -> list[Instance]:
        """Not timed: the same instances with their tensors where the system wants its inputs (its device, its array type), and
        nothing else: much more time than copying the tensors takes is a flag (bench/placing.py). Instances without tensors are
        not given to it, they are run as they are; nor need those given be what is run next."""
        ...

    def run(self, minibatch: Sequence[Instance]) -> Outputs:
        """One output per instance, complete on the device when this returns. Must not change `minibatch`."""
        ...

    def fetch(self, outputs: Outputs) -> list[Any]:
        """Not timed: the outputs of the last `run` as nested lists and tuples of numpy arrays, one element per instance. May be
        called twice. It may cost a fifth of the run and what conversion needs (bench/judge.py): other work belongs into `run`.
        Floats are float32, or float64 where a library converts them so."""
        ...

    def counters(self) -> Mapping[str, Any]:
        """About the last `run`: milliseconds under `ingest_ms construct_ms schedule_ms copy_ms kernel_ms fetch_ms`, and counts
        under `nodes batches launches mean_batch_width gathered_bytes unbatched` (op name -> why), and `arena_bytes`, the most
        that its arenas for results have held. Only what it knows."""
        ...

    def close(self) -> None: ...

    # Optional: def facts(self) -> Mapping[str, Any]
    #     What ran, for the reader who compares: `library`, what computed, with its version, as in "Eigen in dyNET38 2.2";
    #     `threads`, how many it really uses; `load_time`, names of the work done while loading that other systems do inside the
    #     clock, as in "tables", or ""; `instruction_set`, "sse", "avx2" or "avx512", if it knows: what is seen while it runs
    #     counts more; `precision`, as in "tf32", if a user has asked for less than float32; `properties`, of a compiler, what
    #     it has found out about the model (names to numbers and truth values). Only what it knows; asked once, after the last
    #     timed run.
    # Optional: def identity(self) -> str
    #     A text that two compiled models of a backend have in common if and only if they are the same program with the same
    #     work to do: an option made no difference here. Such cells are measured once, and the rows of the others say so.


class Backend(Protocol):
    """A system under test, constructed as `cls(target, **options)` from `conf/backend/<name>.yaml`. Its options are the
    constructor's parameters, their types and defaults included. The harness's own process constructs it too, to ask for its
    variants: so importing and constructing it loads nothing heavy; `available` and `compile` may.

    It may have a method `emulated()`, which says whether its device is one that the processor plays, for tests. Rows of such
    cells are shown, with a remark, and never kept.

    It may have a method `load()`, which imports what `compile` and the first run need: that time is stored as the time to load,
    so that the time to compile is that of compiling alone. A workload may have one too.

    It may name in a class attribute `optional` the modules that need not be installed: where importing one of them fails in
    `available`, `load` or `compile` because it is missing, the cell is `unavailable`. Any other ImportError is a failure.

    It may name the installed packages that its numbers rest on in a class attribute `packages`, and the programs it compiles
    with in `programs`: rows are stale when the version of one changes. Packages and modules of the project that lie outside of
    its own folder and run in its cells are named in `uses`, as in `("backends.pytorch",)`: rows are stale when they change."""

    name: str

    def available(self) -> str | None:
        """None if it can run on its target here, else the reason why not (shown as `unavailable: <reason>`)."""
        ...

    def variants(self) -> Sequence[Mapping[str, Any]]:
        """The option overrides to measure as cells of their own, the fastest of which represents this backend.
        `[{}]` for a backend that is just itself."""
        ...

    def compile(self, workload: Workload, size: str, seed: int, batch_size: int) -> Compiled:
        """Ready the workload's model with the parameters of `seed`. Raises `Unsupported`."""
        ...
