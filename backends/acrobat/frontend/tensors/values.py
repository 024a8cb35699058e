"""Values that only models of PyTorch have: modules, and tensors that kernels cannot read."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from backends.acrobat.core.types import Type
from backends.acrobat.frontend.reads import Reads
from backends.acrobat.frontend.tensors.parameters import constants_of, digest
from backends.acrobat.frontend.types import Mismatch
from backends.acrobat.frontend.values import HELD, VARIABLES, Dyn, Special, Static, Value
from backends.acrobat.ir import nodes as n


@dataclass(frozen=True, slots=True)
class ReadBool(Dyn):
    """A bool of the program that was read of a mask of one element, or of one element of a tensor of bools. `whole` compiles
    that mask, for what is done with it as a tensor; None where it has no dimensions."""

    whole: Callable[[], Value] | None = field(default=None, compare=False)


HELD["index"] = "a tensor of an int serves as an index, nothing else"
HELD["ids"] = "a tensor of ints serves as the index of an embedding, nothing else"
HELD["extreme"] = "where the highest or lowest are along an extent that varies is known of one score for each part only"
VARIABLES.add("extreme")
VARIABLES.add("index")
HELD["packed"] = "a packed sequence is given to a recurrent module or to `pad_packed_sequence`"
VARIABLES.add("packed")
HELD["row"] = "the rank of this tensor differs from round to round: reshape it first, as in `view(1, 1, -1)`"


def fingerprint(module: nn.Module) -> Any:
    """A key of all that the compiled methods of a module depend on, its weights aside: modules with equal keys share them."""
    own = {
        k: v if isinstance(v, Hashable) else id(v)
        for k, v in vars(module).items()
        if not k.startswith("_") and not isinstance(v, Tensor)
    }
    values = tuple((k, type(v), v) for k, v in sorted(own.items()))
    children = tuple((k, fingerprint(m)) for k, m in module.named_children())
    return type(module), values, constants_of(module), children


def of_torch(function: types.FunctionType) -> bool:
    """Whether torch defines the function. Its globals tell; its `__module__` may be copied from a function that it wraps."""
    return str(function.__globals__.get("__name__", "")).startswith("torch.")


@dataclass(frozen=True, slots=True)
class Module(Special):
    """A module of the model. `tensors` has the atoms of its parameters and buffers, by their names within the module. `root`
    marks the module that is compiled: its tensors are weights in every function, and are not passed as arguments."""

    module: nn.Module
    tensors: tuple[tuple[str, n.Atom], ...]
    root: bool = False
    unrolled: ClassVar[bool] = True
    chosen: ClassVar[bool] = True

    @property
    def refusal(self) -> str:
        return f"a module ({type(self.module).__name__}) cannot be chosen at run time"

    @property
    def python_object(self) -> nn.Module:
        return self.module

    def has_attribute(self, reads: Reads, name: str) -> bool:
        reads.attribute(self.module, name)
        return hasattr(self.module, name)

    def signature(self, of: Callable[[Value], Any]) -> Any:
        return "root" if self.root else (fingerprint(self.module), tuple((k, a.type) for k, a in self.tensors))

    def operands(self, of: Callable[[Value], list[n.Atom]]) -> list[n.Atom]:
        return [] if self.root else [a for _, a in self.tensors]

    def parameter(self, inner: Callable[[Value], Value], weight: Callable[[str, Type], n.Var]) -> Value:
        return self if self.root else Module(self.module, tuple((k, weight(k, a.type)) for k, a in self.tensors))

    def tensor(self, name: str) -> n.Atom | None:
        return dict(self.tensors).get(name)

    def child(self, name: str) -> Module:
        prefix = f"{name}."
        inner = tuple((k.removeprefix(prefix), a) for k, a in self.tensors if k.startswith(prefix))
        return Module(self.module.get_submodule(name), inner)


@dataclass(frozen=True, slots=True, eq=False)
class HostTensor(Special):
    """A parameter or buffer that kernels cannot read, since it is not float32, or a part of one. Its values are constants of
    the program: the source may read them with `.item()`. `name` is the expression for it in messages, from the model on."""

    tensor: Tensor
    name: str
    buffer: str = ""
    """The name in the model of the tensor of which this is a part."""
    parts: tuple[ast.expr, ...] = ()
    """The constant indices by which it is a part of that, one after the other."""

    @property
    def what(self) -> str:
        dtype = str(self.tensor.dtype).removeprefix("torch.")
        return f"{'an' if dtype[0] == 'i' else 'a'} {dtype} tensor"

    @property
    def refusal(self) -> str:
        """Why it cannot be an operand."""
        if self.tensor.is_floating_point():
            return f"`{self.name}` is {self.what}, and models are compiled in float32 only: call `.float()` on the model first"
        return (
            f"`{self.name}` is {self.what}, of which only values can be read, as in `int({self.name.partition('[')[0]}[0])`: "
            "make it float32 to compute with it"
        )

    def signature(self, of: Callable[[Value], Any]) -> Any:
        if self.tensor.is_floating_point():
            raise Mismatch(self.refusal)
        return "buffer", self.name, digest(self.tensor)

    def operands(self, of: Callable[[Value], list[n.Atom]]) -> list[n.Atom]:
        return []

    def parameter(self, inner: Callable[[Value], Value], weight: Callable[[str, Type], n.Var]) -> Value:
        return self

    def read(self) -> Static:
        """`.item()`: its value, exactly. Raises Mismatch."""
        if self.tensor.numel() != 1:
            shape = tuple(self.tensor.shape)
            raise Mismatch(f"only a tensor of one element has a value to read; `{self.name}` has shape {shape}")
        return Static(self.tensor.item())

    def index(self) -> Static:
        """The value of a tensor of one int, as an index; PyTorch takes no other dtype as an index. Raises Mismatch."""
        if self.tensor.numel() != 1 or self.tensor.dtype not in (torch.int64, torch.int32):
            raise Mismatch(f"`{self.name}`, {self.what} of shape {tuple(self.tensor.shape)}, is no index")
        return self.read()
