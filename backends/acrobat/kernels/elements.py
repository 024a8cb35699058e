"""Where the elements of a kernel's values come from: each move is carried out on arrays of element indices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.core.units import Instr, Kernel, Mode, Param


class NotFused(Exception):
    """The kernel is not of the form that the template asks for."""


@dataclass(frozen=True, eq=False, slots=True)
class Read:
    """The elements with the flat indices `index` of the param or product `name`; of a list param their sums over all items."""

    name: str
    index: np.ndarray


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, the same for all elements."""

    value: float


@dataclass(frozen=True, eq=False, slots=True)
class Apply:
    """The element-wise operation `op` on other trees."""

    op: str
    args: tuple[Tree, ...]


Tree: TypeAlias = Read | Constant | Apply

SOURCE_BITS = 40
"""An element's origin is one number: the number of a value, times 2**SOURCE_BITS, plus the element's flat index in it."""


def origins(kernel: Kernel, name: str) -> tuple[list[Param], np.ndarray]:
    """For a value that is made of params by moves alone: the params that are no lists, and the value's array of origins among
    these. Raises NotFused for other values."""
    params = [p for p in kernel.params if p.mode is not Mode.LIST]

    def walk(name: str | float) -> np.ndarray:
        for number, p in enumerate(params):
            if p.name == name:
                return (number << SOURCE_BITS) + np.arange(p.type.size, dtype=np.int64).reshape(p.type.shape)
        instr = instruction(kernel, name)
        if instr is None or OPS[instr.op].fusion is not Fusion.MOVE:
            raise NotFused(f"{name} is computed")
        return OPS[instr.op].evaluate([walk(a) for a in instr.args], dict(instr.attrs))

    return params, walk(name)


def instruction(kernel: Kernel, name: str | float) -> Instr | None:
    """The instruction that computes the value of this name; None for a param or a number."""
    return next((i for i in kernel.body if i.name == name), None)


class Elements:
    """Writes elements of a kernel's values as expression trees over the elements of its params and of the value `product`."""

    def __init__(self, kernel: Kernel, product: str) -> None:
        self.kernel = kernel
        self.product = product
        self.params = {p.name: p for p in kernel.params}
        self.instrs = {i.name: i for i in kernel.body}
        self.memo: dict[tuple[str, bytes], Tree] = {}

    def tree(self, name: str | float, index: np.ndarray) -> Tree:
        """The expression for elements `index` (flat) of a value. Raises NotFused if they are not all computed alike."""
        if not isinstance(name, str):
            return Constant(float(name))
        key = (name, index.tobytes())
        if key not in self.memo:
            self.memo[key] = self._tree(name, index)
        return self.memo[key]

    def _tree(self, name: str, index: np.ndarray) -> Tree:
        if name == self.product:
            return Read(name, index)
        if name in self.params:
            if self.params[name].mode is Mode.LIST or self.params[name].type.dtype != "float32":
                raise NotFused(f"{name} cannot be read element by element")
            return Read(name, index)
        instr = self.instrs[name]
        if instr.op == "list_sum":
            if instr.args[0] not in self.params:
                raise NotFused("the sum is not over a list operand")
            return Read(str(instr.args[0]), index)
        match OPS[instr.op].fusion:
            case Fusion.ELEMENTWISE:
                return Apply(instr.op, tuple(self.tree(a, self._broadcast(a, instr, index)) for a in instr.args))
            case Fusion.MOVE:
                return self._source(instr, index)
            case Fusion.CONSTANT:
                return Constant(float(dict(instr.attrs)["value"]))
        raise NotFused(f"{instr.op} is not element-wise")

    def _broadcast(self, arg: str | float, instr: Instr, index: np.ndarray) -> np.ndarray:
        """The elements of an operand that elements `index` of an element-wise operation's result are computed from."""
        if not isinstance(arg, str):
            return index
        t = self.kernel.type_of(arg)
        if t.shape == instr.type.shape:
            return index
        spread: np.ndarray = np.broadcast_to(np.arange(t.size).reshape(t.shape), instr.type.shape).reshape(-1)[index]
        return spread

    def _source(self, instr: Instr, index: np.ndarray) -> Tree:
        """The expression for elements of a move's result, all of which must come from one operand."""
        if instr.op == "reshape":  # elements keep their flat indices
            return self.tree(instr.args[0], index)
        shapes = [self.kernel.type_of(str(a)) for a in instr.args]
        sources = [(k << SOURCE_BITS) + np.arange(t.size).reshape(t.shape) for k, t in enumerate(shapes)]
        places = OPS[instr.op].evaluate(sources, dict(instr.attrs)).reshape(-1)[index]
        source = int(places[0]) >> SOURCE_BITS
        if np.any(places >> SOURCE_BITS != source):
            raise NotFused(f"{instr.name} is put together from several values")
        return self.tree(instr.args[source], places - (source << SOURCE_BITS))
