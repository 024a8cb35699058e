"""A toy workload and an honest backend for it in numpy. The modules beside this one have backends that cheat or break."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bench.contract import Outputs, Target, Unsupported, Workload

WIDTH = {"tiny": 16, "small": 64}
WORK_S = 0.004  # processor time of a run of `Works`
KINDS = ("outputs", "late", "remembering", "patching", "processes", "rude")  # the modules with the backends that cheat


@dataclass(frozen=True)
class Vector:
    x: np.ndarray  # [width]
    times: int  # how often the layer is applied


class Toy:
    """A workload whose model applies `x = tanh(W x)` as many times as the instance says."""

    name = "toy"
    sizes: Sequence[str] = tuple(WIDTH)

    def __init__(self, data: str | None = None) -> None:
        self.data = data

    def model(self, size: str) -> Any:
        import torch  # only the oracle needs it

        class Model(torch.nn.Module):
            def __init__(self, width: int) -> None:
                super().__init__()
                self.layer = torch.nn.Linear(width, width, bias=False)

            def forward(self, instance: Vector) -> torch.Tensor:
                x = torch.from_numpy(instance.x).to(self.layer.weight.dtype)
                for _ in range(instance.times):
                    x = torch.tanh(self.layer(x))
                return x

        return Model(WIDTH[size])

    def params(self, size: str, seed: int) -> dict[str, np.ndarray]:
        random = np.random.default_rng(seed)
        return {"layer.weight": random.normal(0, 0.5, (WIDTH[size], WIDTH[size])).astype(np.float32)}

    def instances(self, size: str, seed: int, n: int) -> list[Any]:
        random = np.random.default_rng(seed + 1)
        return [Vector(random.normal(0, 1, WIDTH[size]).astype(np.float32), int(random.integers(1, 5))) for _ in range(n)]

    def scores(self, model: Any, instance: Any) -> Any:
        return None


@dataclass(frozen=True)
class Count:
    """An instance without a tensor."""

    times: int
    width: int

    @property
    def x(self) -> np.ndarray:
        return np.linspace(-1, 1, self.width, dtype=np.float32)


class Counts(Toy):
    """The toy workload with instances without tensors."""

    name = "counts"

    def instances(self, size: str, seed: int, n: int) -> list[Any]:
        return [Count(each.times, WIDTH[size]) for each in super().instances(size, seed, n)]


class FromFile(Toy):
    """A toy workload with a data file, which has a seed for each instance."""

    name = "fromfile"

    def instances(self, size: str, seed: int, n: int) -> list[Any]:
        lines = Path(str(self.data)).read_text().split()
        return [self._made(size, int(lines[i % len(lines)])) for i in range(n)]

    def unseen(self, size: str, seed: int, n: int) -> list[Any]:
        return [self._made(size, seed + i) for i in range(n)]

    def _made(self, size: str, seed: int) -> Vector:
        random = np.random.default_rng(seed)
        return Vector(random.normal(0, 1, WIDTH[size]).astype(np.float32), int(random.integers(1, 5)))


class Threaded(Toy):
    """A workload that loads a library which keeps a thread."""

    name = "threaded"

    def load(self) -> None:
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()


class Honest:
    """A correct backend. `label` only makes cells that differ; `pace`: "slow" sleeps in each run, "both" gives two variants."""

    name = "honest"

    def __init__(self, target: Target, label: int = 0, pace: Literal["own", "both", "slow"] = "own") -> None:
        self.pace = pace

    def available(self) -> str | None:
        return None

    def variants(self) -> Sequence[Mapping[str, Any]]:
        return [{"pace": "slow"}, {"pace": "own"}] if self.pace == "both" else [{}]

    def compile(self, workload: Workload, size: str, seed: int, batch_size: int) -> Any:
        model = Applied(workload.params(size, seed)["layer.weight"])
        model.sleep_s = 0.005 if self.pace == "slow" else 0.0
        return model


class Emulated(Honest):
    """An honest backend that says that its device is emulated."""

    name = "emulated"

    def emulated(self) -> bool:
        return True


class Applied:
    """The toy model, compiled correctly. `note`: a text that the test gives, mostly the path of a file to write to."""

    note = ""
    batch_size = 0
    sleep_s = 0.0

    def __init__(self, weight: np.ndarray) -> None:
        self.weight = weight

    def compiled_for(self, workload: Workload, size: str, seed: int) -> None:
        """Called at the end of `Cheat.compile`, with its arguments."""

    def place(self, instances: Sequence[Any]) -> list[Any]:
        return list(instances)

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        if self.sleep_s:
            time.sleep(self.sleep_s)
        return [self.apply(instance) for instance in minibatch]

    def apply(self, instance: Vector) -> np.ndarray:
        x = instance.x
        for _ in range(instance.times):
            x = np.tanh(self.weight @ x)
        return x

    def fetch(self, outputs: Outputs) -> list[Any]:
        return list(outputs)

    def counters(self) -> Mapping[str, Any]:
        return {"kernel_ms": 0.1, "batches": 3, "mean_batch_width": 2.5, "unbatched": {}}

    def close(self) -> None:
        pass


class Identified(Applied):
    def identity(self) -> str:
        return "the same"


class SameAnyhow(Honest):
    """A backend with two variants that are the same program, because the option makes no difference."""

    name = "same"

    def __init__(self, target: Target, tables: bool | Literal["both"] = "both") -> None:
        super().__init__(target)
        self.tables = tables

    def variants(self) -> Sequence[Mapping[str, Any]]:
        return [{"tables": True}, {"tables": False}] if self.tables == "both" else [{}]

    def compile(self, workload: Workload, size: str, seed: int, batch_size: int) -> Any:
        return Identified(workload.params(size, seed)["layer.weight"])


class Cheat(Honest):
    """A backend whose compiled model is of the class that `how` names, of this module or one of `KINDS`."""

    name = "cheat"
    optional = ("an_optional_module",)

    def __init__(self, target: Target, how: str = "Applied", note: str = "") -> None:
        super().__init__(target)
        self.how = how
        self.note = note

    def available(self) -> str | None:
        if self.how == "missing module":
            importlib.import_module("an_optional_module.inside")
        if self.how == "broken import":
            importlib.import_module("a_module_that_is_no_option")
        if self.how == "broken name":
            from bench.tests.fakes import nothing_of_this_name  # type: ignore[attr-defined]  # noqa: F401
        return "not installed" if self.how == "missing" else None

    def compile(self, workload: Workload, size: str, seed: int, batch_size: int) -> Any:
        if self.how == "refuses":
            raise Unsupported("only square things")
        model = _class(self.how)(workload.params(size, seed)["layer.weight"])
        model.note = self.note
        model.batch_size = batch_size
        model.compiled_for(workload, size, seed)
        return model


def _class(name: str) -> type[Applied]:
    modules = [importlib.import_module(each) for each in (__name__, *(f"{__name__}.{kind}" for kind in KINDS))]
    found: type[Applied] = next(vars(module)[name] for module in modules if name in vars(module))
    return found


class Named(Honest):
    """A backend that names what its numbers depend on."""

    packages = ("hydra-core",)
    programs = ("no-such-program",)


class Works(Applied):
    """Uses `WORK_S` of processor time in each run."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        burn(WORK_S)
        return super().run(minibatch)


def burn(seconds: float) -> None:
    """Use so many seconds of processor time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


class Multiplies(Applied):
    """Spends its time on products of two matrices, and says what computes them."""

    matrix = np.ones((256, 256), np.float32)

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        np.matmul(self.matrix, self.matrix)
        return super().run(minibatch)

    def facts(self) -> Mapping[str, Any]:
        return {"library": "numpy", "threads": 1}
