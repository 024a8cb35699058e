"""What the front end has read from outside the source. The compiled program is valid only while none of it changes."""

from __future__ import annotations

import types
from typing import Any

from torch import nn

MISSING = object()
"""The value of an attribute or name that does not exist."""


def looked_up(function: types.FunctionType, name: str) -> Any:
    """The value that a name has in `function` now, as a closure variable or a global; `MISSING` if it has none."""
    free = function.__code__.co_freevars
    if name in free and function.__closure__ is not None:
        try:
            return function.__closure__[free.index(name)].cell_contents
        except ValueError:
            return MISSING
    return function.__globals__.get(name, MISSING)


class Reads:
    """Records what is read while one program is compiled; `frozen.Frozen` notices later if any of it changes."""

    def __init__(self) -> None:
        self.attributes: dict[tuple[type, str], None] = {}
        """Attributes and methods of modules, as (class, name): modules of one class may share a compiled function."""
        self.tensors: dict[tuple[type, str], None] = {}
        """Parameters and buffers, as (class of the module, name)."""
        self.constants: dict[tuple[type, str], None] = {}
        """Parameters and buffers whose values are constants of the program, as (class of the module, name)."""
        self.names: dict[tuple[types.FunctionType, str], Any] = {}
        """Globals and closure variables, as (function, name) -> value."""
        self.objects: list[tuple[Any, str, Any]] = []
        """Attributes of objects that are not modules, as (owner, name, value)."""
        self.warnings: list[str] = []
        """What the user was warned of."""
        self._noted: set[tuple[int, str]] = set()  # those of `objects`, by the id of the owner

    def attribute(self, module: nn.Module, name: str) -> None:
        self.attributes[type(module), name] = None

    def note_call(self, module: nn.Module) -> None:
        """Note a call of a module: its `forward`, and for a module of torch the attributes that `forward` depends on."""
        self.attribute(module, "forward")
        if type(module).__module__.startswith("torch."):
            for name in getattr(module, "__constants__", ()):
                if name in vars(module):
                    self.attribute(module, name)
            if "p" in vars(module):  # the probability of dropout
                self.attribute(module, "p")
                self.attribute(module, "training")

    def note_part(self, module: nn.Module, name: str) -> None:
        """Note an attribute of a module, which may be a parameter or a buffer."""
        own = {**module._parameters, **module._buffers}
        (self.tensors if name in own else self.attributes)[type(module), name] = None

    def constant(self, module: nn.Module, name: str) -> None:
        self.constants[type(module), name] = None

    def note_global(self, function: types.FunctionType | None, name: str, value: Any) -> None:
        if function is not None:
            self.names[function, name] = value

    def note_object(self, owner: Any, name: str, value: Any) -> None:
        """Note an attribute of an object, unless a library defines it: libraries are assumed not to change."""
        module = getattr(owner, "__name__" if isinstance(owner, types.ModuleType) else "__module__", "") or ""
        if module.partition(".")[0] not in ("torch", "builtins", "math", "functools", "operator"):
            if (id(owner), name) not in self._noted:
                self._noted.add((id(owner), name))
                self.objects.append((owner, name, value))
