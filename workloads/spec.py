"""What the workloads' specifications share: everything of `bench.contract.Workload` that follows from a table of sizes.

The harness's own process imports the specifications to check its arguments, and importing torch takes a second, so torch and
the models are imported inside the functions that use them.
"""

from __future__ import annotations

import copy
import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from bench.contract import Workload
from workloads.parameters import draw, stream
from workloads.text import Shuffled

if TYPE_CHECKING:
    import torch
    from torch import nn

Decisions = Literal["simulated", "real"]


class ModelSpec(ABC):
    """A workload whose sizes are sets of arguments (`shapes`) of the model's constructor. The size `tiny` is for tests. `gains`
    are the sizes of parameters that are not 1 (`workloads.parameters.draw`)."""

    name: str
    sizes: Sequence[str] = ("tiny", "small", "large")
    shapes: ClassVar[Mapping[str, Mapping[str, int]]]
    gains: ClassVar[Mapping[str, float]] = {}
    model_class: ClassVar[str]
    """The name of the model's class, in `model.py` beside the specification."""
    cells: ClassVar[Sequence[str]]
    """The model's methods that are straight-line tensor code: what TorchScript and torch.compile can take."""

    def model(self, size: str) -> nn.Module:
        return self.new_module(size, device="cpu").eval().requires_grad_(False)

    def params(self, size: str, seed: int) -> dict[str, np.ndarray]:
        return draw(self.new_module(size, device="meta"), seed, self.gains)

    def new_module(self, size: str, device: str) -> nn.Module:
        """The model on `device`, its parameters not initialised."""
        import torch

        from workloads.uninitialised import Uninitialised

        with torch.device(device), Uninitialised():
            module: nn.Module = getattr(self._model_file(), self.model_class)(**self.shape(size), **self.model_options())
            return module

    def model_options(self) -> Mapping[str, Any]:
        """The arguments of the model's constructor beside those in `shapes`."""
        return {}

    def load(self) -> None:
        """Import torch and the model's module, so that their import does not count as compile time."""
        self._model_file()

    def _model_file(self) -> ModuleType:
        return importlib.import_module(f"{type(self).__module__.rpartition('.')[0]}.model")

    def check(self, size: str) -> None:  # noqa: B027  most have nothing to check
        """Read the data file, where there is one, to its end. Raises `workloads.text.DataError` for what is no instance of the
        model of that size."""

    def instances(self, size: str, seed: int, n: int) -> list[Any]:
        return self.samples(self.shape(size), stream(seed, f"{self.name} instances"), n)

    def unseen(self, size: str, seed: int, n: int) -> list[Any]:
        """As `instances`; but the lines of a data file come in an order drawn from `seed`, and each word has another id."""
        shuffled: Any = copy.copy(self)
        data = getattr(self, "data", None)
        if data is not None:
            shuffled.data = Shuffled(data, seed)
        instances: list[Any] = shuffled.instances(size, seed, n)
        return instances

    def margins(self, model: Any, instance: Any) -> list[float] | None:
        """None: only workloads whose outputs are lists of choices override this (`bench.contract.Workload`)."""
        return None

    def scores(self, model: Any, instance: Any) -> Any:
        """None: outputs are compared as they are. Workloads whose outputs are indices override this."""
        return None

    def shape(self, size: str) -> Mapping[str, int]:
        if size not in self.shapes:
            raise ValueError(f"{self.name} has no size {size!r}; sizes are {', '.join(self.sizes)}")
        return self.shapes[size]

    @abstractmethod
    def samples(self, shape: Mapping[str, int], random: np.random.Generator, n: int) -> list[Any]:
        """`n` instances; the first of them are the same for every `n`."""


def loaded(workload: Workload, size: str, seed: int, dtype: torch.dtype | None = None) -> nn.Module:
    """The workload's model with the parameters of `seed`, on the CPU, in `dtype` (float32 by default)."""
    import torch

    module: nn.Module = workload.model(size)
    module.load_state_dict({name: torch.from_numpy(array) for name, array in workload.params(size, seed).items()})
    return module.to(dtype or torch.float32)


def draw_key(random: np.random.Generator) -> int:
    """The key that an instance's simulated decisions are hashed from."""
    return int(random.integers(2**32))
