"""The one DyNet of a process, whose settings hold for the whole process once it is started; its parameters, and its graph.

`import dynet` already starts it, so only modules that are imported after `start` may import it at their top.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import numpy as np

from bench.instructions import compiled_for

SCRATCH_MB = 16

# With autobatch=3 the agenda looks at the depth of only one ready node per signature. While that node waits for others of its
# depth, the nodes queued behind it wait too, and among them may be some that the others need.
DEADLOCK = "DyNet crashes: with autobatch=3 signatures can all wait for one another, and here they do"

Expression = Any

_started: dict[str, Any] = {}


def find(path: str | None) -> None:
    """Make DyNet importable without starting it: the installed one, or the one in the folder `path`. Raises ImportError with
    what is missing."""
    if path is None:
        import _dynet

        return
    folder = Path(path).resolve()
    for pattern in ("_dynet*.so", "dynet.py", "dynet_config.py"):
        if not any(folder.glob(pattern)):
            raise ImportError(f"there is no {pattern} in {path}")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    for shared in folder.glob("libdynet*.so*"):  # the module looks for it where it was built
        try:
            ctypes.CDLL(str(shared), mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            raise ImportError(str(error)) from error
    import _dynet

    if not Path(_dynet.__file__).resolve().is_relative_to(folder):
        raise ImportError(f"{_dynet.__file__} was imported before the one in {path}")


def environment(path: str | None) -> dict[str, str]:
    """The environment variables for a child process that is to import the same DyNet."""
    if path is None:
        return dict(os.environ)
    folders = os.pathsep.join(filter(None, [str(Path(path).resolve()), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": folders, "LD_LIBRARY_PATH": str(Path(path).resolve())}


def start(autobatch: int, pool_mb: int, parameters_mb: int, device: str, path: str | None = None) -> None:
    """Import and so start DyNet. A second call with other pool sizes has no effect; with another `autobatch` or `device` it
    raises RuntimeError."""
    find(path)
    settings = {"autobatch": autobatch, "device": device}
    if _started:
        if _started != settings:
            raise RuntimeError(f"DyNet runs with {_started} in this process and cannot be started again with {settings}")
        return
    import dynet_config

    # Forward values, derivatives (none here), parameters with their gradients, scratch. Start-up writes to every page of it.
    dynet_config.set(mem=f"{pool_mb},1,{parameters_mb},{SCRATCH_MB}", autobatch=autobatch, random_seed=1)
    if device == "cuda":
        dynet_config.set_gpu()
    arguments, sys.argv = sys.argv, sys.argv[:1]  # DyNet reads its options from the command line
    try:
        import dynet  # noqa: F401
    finally:
        sys.argv = arguments
    _started.update(settings)


@cache
def library() -> str:
    """The library that DyNet computes with and the build of DyNet, as in "Eigen in dyNET38 2.2"."""
    import _dynet

    products = "MKL" if _needs("libmkl") else "Eigen"
    owners = metadata.packages_distributions().get("_dynet", [])
    installed = any(Path(_dynet.__file__).is_relative_to(Path(str(metadata.distribution(o).locate_file("")))) for o in owners)
    if installed:
        return f"{products} in {owners[0]} {metadata.version(owners[0])}"
    import dynet

    commit = f" ({dynet.__gitversion__})" if dynet.__gitversion__ else ""  # sources from PyPI name no commit
    return f"{products} in a DyNet {dynet.__version__}{commit} of its own build"


@cache
def instruction_set() -> str:
    """The instruction set that DyNet's library was compiled for. Reading all of its instructions takes a third of a second."""
    return compiled_for(Path(loaded_library("libdynet")).read_bytes())


def threads(requested: int) -> int:
    """How many threads DyNet uses if `requested` are allowed: it has none, but a library it was built with may use several."""
    return requested if any(map(_needs, ("libgomp", "libomp", "libiomp", "libmkl"))) else 1


@cache
def _needs(name: str) -> bool:
    """Whether DyNet's library needs a library whose name begins so: the names of those stand in its table of strings."""
    return name.encode() in Path(loaded_library("libdynet")).read_bytes()


def loaded_library(name: str) -> str:
    """The path of a library that this process has loaded, by the beginning of its file name. Raises OSError."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line.split(maxsplit=5)[-1]
        if Path(path).name.startswith(name):
            return path
    raise OSError(f"{name} is not loaded")


@dataclass(frozen=True)
class Input:
    """A tensor of an instance that was copied into DyNet's memory, as row `row` of the lookup table number `table`."""

    array: np.ndarray
    table: int
    row: int


class Parameters:
    """The workload's state dict, given to DyNet in the pieces that a program wants; and the tensors of the instances.

    `tables` tells programs to look up products of words with weights (`projection`); `has_tables` says that one was made."""

    def __init__(self, arrays: dict[str, np.ndarray], tables: bool = False) -> None:
        import dynet

        self.arrays = arrays
        self.tables = tables
        self.has_tables = False
        self.collection = dynet.ParameterCollection()
        self.inputs: list[Any] = []  # one table for each shape of tensors that was placed

    def __getitem__(self, name: str) -> np.ndarray:
        return self.arrays[name]

    def add(self, array: np.ndarray) -> Any:
        return self.collection.parameters_from_numpy(np.ascontiguousarray(array))

    def table(self, array: np.ndarray) -> Any:
        """A table whose rows can be looked up. A row that is a matrix comes out transposed, since DyNet stores by columns."""
        return self.collection.lookup_parameters_from_numpy(array)

    def projection(self, words: str, name: str, operands: int = 1, operand: int = 0) -> Any:
        """A table of what `linear(name, operands)` computes of every word as operand number `operand`, the bias included."""
        weight = np.split(self[f"{name}.weight"], operands, axis=1)[operand]
        bias = self.arrays.get(f"{name}.bias")
        self.has_tables = True
        return self.table(self[words] @ weight.T + (0 if bias is None else bias))

    def place(self, arrays: Sequence[np.ndarray]) -> list[Input]:
        """Copies the instances' tensors into DyNet's memory, one table for each shape. Not timed (`Compiled.place`)."""
        shapes: dict[tuple[int, ...], list[np.ndarray]] = {}
        placed = []
        for array in arrays:
            alike = shapes.setdefault(array.shape, [])
            placed.append(Input(array, len(self.inputs) + list(shapes).index(array.shape), len(alike)))
            alike.append(array)
        for shape, alike in shapes.items():
            # DyNet stores matrices by columns, so these numbers, read in their order, are the transposed matrix.
            stacked = np.stack(alike).astype(np.float32).reshape(len(alike), *shape[::-1])
            self.inputs.append(self.collection.lookup_parameters_from_numpy(stacked))
        return placed

    def input(self, placed: Any) -> Expression:
        """A node with a placed tensor (an `Input`). A matrix is transposed."""
        import dynet

        return dynet.lookup(self.inputs[placed.table], placed.row, False)

    def linear(self, name: str, operands: int = 1) -> list[Any]:
        """The bias and then, for each of the `operands` that are concatenated, its part of the weights, as `affine_transform`
        wants them. A missing bias becomes zeros, because one affine transform is cheaper than a sum of products."""
        weight = self[f"{name}.weight"]
        bias = self.arrays.get(f"{name}.bias")
        zeros = np.zeros(len(weight), np.float32)
        return [self.add(zeros if bias is None else bias), *(self.add(w) for w in np.split(weight, operands, axis=1))]


def expressions(*parameters: Any) -> list[Expression]:
    """A node for each parameter. Call this once per graph: DyNet batches only operations whose weights are the same node."""
    return [parameter.expr(True) for parameter in parameters]


class Graph:
    """DyNet's current graph, with the nanoseconds that its parts took in the last run."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.renew_ns = self.forward_ns = self.fetch_ns = 0
        self.evaluated: list[list[Expression]] = []

    def renew(self) -> None:
        """Begin a new graph. This frees the graph before, so its time belongs to the cost of a mini-batch."""
        import dynet

        self.forward_ns = self.fetch_ns = 0
        self.evaluated = []
        start = perf_counter_ns()
        dynet.renew_cg()
        self.renew_ns = perf_counter_ns() - start

    def forward(self, wanted: list[Expression]) -> None:
        """Evaluate these expressions, and with them all that was built before the last of them."""
        if not wanted:
            return
        import dynet

        self.evaluated.append(wanted)
        start = perf_counter_ns()
        dynet.forward(wanted)
        if self.device == "cuda":
            wanted[-1].value()  # `forward` returns before its kernels have ended; this waits for them
        self.forward_ns += perf_counter_ns() - start

    def values(self, wanted: list[Expression], also: Sequence[Expression] = ()) -> list[Any]:
        """Evaluate expressions and read `wanted`: a number for each, or a list for a vector. `also` is evaluated, not read."""
        if not wanted:
            return []
        import dynet

        if self.device == "cuda":  # one copy from the device instead of one for each
            block = dynet.concatenate_to_batch(wanted)
            self.forward([*also, block])
            start = perf_counter_ns()
            values: list[Any] = block.npvalue().reshape(-1, len(wanted)).T.squeeze(1).tolist()
        else:
            self.forward([*wanted, *also])
            start = perf_counter_ns()
            values = dynet.values(wanted)
        self.fetch_ns += perf_counter_ns() - start
        return values

    def columns(self, wanted: list[Expression]) -> np.ndarray:
        """Evaluate vectors of one length and read them at once, as the columns of a matrix."""
        import dynet

        block = dynet.concatenate_cols(wanted)
        self.forward([block])
        start = perf_counter_ns()
        read: np.ndarray = block.npvalue().reshape(-1, len(wanted))
        self.fetch_ns += perf_counter_ns() - start
        return read

    def nodes(self) -> int:
        """How many nodes have been evaluated. An expression prints as `expression <index>/<graph>`."""
        return max((int(str(e).split()[1].split("/")[0]) for wanted in self.evaluated for e in wanted), default=-1) + 1
