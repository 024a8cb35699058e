"""What the front end has taken from outside the source: the compiled program holds only as long as these stay as they are."""

from __future__ import annotations

import types
from typing import Any

from torch import nn


class Reads:
    """Filled while a program is compiled, read by `frozen.Frozen`."""

    def __init__(self) -> None:
        self.attributes: dict[tuple[type, str], None] = {}
        """Attributes and methods of modules, by the module's class: equal modules share one compiled function."""
        self.constants: dict[tuple[type, str], None] = {}
        """Parameters and buffers whose values are constants, likewise."""
        self.names: dict[tuple[types.FunctionType, str], Any] = {}
        """Globals and closure values of functions."""
        self.objects: list[tuple[Any, str, Any]] = []
        """Attributes of other objects: owner, name, value."""

    def attribute(self, module: nn.Module, name: str) -> None:
        self.attributes[type(module), name] = None

    def called(self, module: nn.Module) -> None:
        """Its `forward`, and what that of torch's own modules depends on."""
        self.attribute(module, "forward")
        if type(module).__module__.startswith("torch."):
            for name in getattr(module, "__constants__", ()):
                if name in vars(module):
                    self.attribute(module, name)
            if "p" in vars(module):  # dropout
                self.attribute(module, "p")
                self.attribute(module, "training")

    def constant(self, module: nn.Module, name: str) -> None:
        self.constants[type(module), name] = None

    def named(self, function: types.FunctionType | None, name: str, value: Any) -> None:
        if function is not None:
            self.names[function, name] = value

    def of_object(self, owner: Any, name: str, value: Any) -> None:
        """Libraries are taken to stay as they are."""
        module = getattr(owner, "__name__" if isinstance(owner, types.ModuleType) else "__module__", "") or ""
        if module.partition(".")[0] not in ("torch", "builtins", "math", "functools", "operator"):
            if not any(o is owner and n == name for o, n, _ in self.objects):
                self.objects.append((owner, name, value))
