"""Writes elements of a kernel's values as C++ expressions. Element-wise operations and moves are computed in registers where an
element is asked for, from operands and from values that are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.core.types import TensorT
from backends.acrobat.core.units import Instr, Kernel
from backends.acrobat.kernels.cuda.text import ELEMENTWISE, OVER_LISTS, Addresses
from backends.acrobat.kernels.literals import number

MOVES = ("reshape", "slice", "index", "permute", "cat", "stack")
"""The operations whose results are elements of their operands at other places."""


@dataclass(frozen=True, slots=True)
class Index:
    """The place of an element in a value of `shape`, as C++: its flat index, or one expression for each dimension."""

    shape: tuple[int, ...]
    flat: str = ""
    each: tuple[str, ...] = ()

    @property
    def position(self) -> str:
        """The flat index, as a name or an expression in brackets."""
        if self.flat:
            return self.flat
        text = ""
        for index, extent in zip(self.each, self.shape, strict=True):
            if extent == 1:
                continue
            text = f"({text} * {extent} + {index})" if text else index
        return text or "0"

    @property
    def indices(self) -> tuple[str, ...]:
        """An expression for the index along each dimension."""
        if not self.flat:
            return self.each
        out: list[str] = []
        below = 1
        for d in reversed(range(len(self.shape))):
            quotient = f"{self.flat} / {below}" if below > 1 else self.flat
            outermost = prod(self.shape[:d]) == 1
            out.append("0" if self.shape[d] == 1 else f"({quotient})" if outermost else f"({quotient} % {self.shape[d]})")
            below *= self.shape[d]
        return tuple(reversed(out))


def c_type(t: TensorT) -> str:
    """The C++ type of a tensor's elements."""
    return "int64_t" if t.dtype == "int64" else "float"


def is_pure(instr: Instr) -> bool:
    """Whether an element of the operation's result depends on one element of each operand only."""
    return OPS[instr.op].fusion in (Fusion.ELEMENTWISE, Fusion.MOVE, Fusion.CONSTANT) or instr.op in OVER_LISTS


class Values:
    """Writes the lines of C++ that compute the elements that are asked for. `instance` is the C++ name of the row."""

    def __init__(self, kernel: Kernel, addresses: Addresses, instance: str = "row") -> None:
        self.kernel = kernel
        self.addresses = addresses
        self.instance = instance
        self.instrs = {i.name: i for i in kernel.body}
        self.stored: dict[str, str] = {}
        """The C++ name of a pointer to the elements of each value that is in memory."""
        self.lines: list[str] = []
        self.named: dict[tuple[str, str], str] = {}
        self.count = 0

    def begin(self, named: Mapping[tuple[str, str], str] | None = None) -> list[str]:
        """Begins a scope and returns the list of its lines, to be filled. `named`: elements that already have a name in it."""
        self.lines = []
        self.named = dict(named or {})
        return self.lines

    def fresh(self, mark: str = "v") -> str:
        """A new C++ name, which begins with `mark`."""
        self.count += 1
        return f"{mark}{self.count}"

    def element(self, name: str | float, index: Index) -> str:
        """The name (or literal) of one element of a value; its lines join the scope. `index` has the value's own shape."""
        if not isinstance(name, str):
            return number(float(name))
        index = self._with_names(index)
        key = (name, index.position)
        if key not in self.named:
            self.named[key] = self._element(name, index)
        return self.named[key]

    def _with_names(self, index: Index) -> Index:
        """The same index with names for its expressions, so that what is made of them stays short."""
        if index.flat:
            return Index(index.shape, self._name(index.flat))
        return Index(index.shape, "", tuple(self._name(i) for i in index.each))

    def _name(self, text: str) -> str:
        if text.isidentifier() or text.isdecimal():
            return text
        if ("", text) not in self.named:
            self.named["", text] = self.fresh("n")
            self.lines.append(f"const int {self.named['', text]} = {text};")
        return self.named["", text]

    def _declare(self, t: TensorT, text: str) -> str:
        name = self.fresh()
        self.lines.append(f"const {c_type(t)} {name} = {text};")
        return name

    def _element(self, name: str, index: Index) -> str:
        t = self.kernel.type_of(name)
        if name in self.stored:
            return self._declare(t, f"{self.stored[name]}[{index.position}]")
        if name in self.addresses.modes:
            start = self.addresses.operand(name, self.instance)
            if t.dtype == "int64":
                start = f"reinterpret_cast<const int64_t*>({start})"
            return self._declare(t, f"({start})[{index.position}]")
        instr = self.instrs[name]
        if instr.op in OVER_LISTS:
            start, join = OVER_LISTS[instr.op]
            total, item = self.fresh(), self.fresh("i")
            head, pointer = self.addresses.items(str(instr.args[0]), self.instance, item)
            self.lines += [
                f"float {total} = {start};",
                f"{head} {{",
                f"    const float each = ({pointer})[{index.position}];",
                f"    {total} = {join.format(total, 'each')};",
                "}",
            ]
            return total
        match OPS[instr.op].fusion:
            case Fusion.ELEMENTWISE:
                args = [self.element(a, self.broadcast(a, index)) for a in instr.args]
                return self._declare(t, ELEMENTWISE[instr.op].format(*args))
            case Fusion.CONSTANT:
                return number(float(dict(instr.attrs)["value"]))
            case Fusion.MOVE:
                return self._source(instr, index)
        raise AssertionError(instr)

    def broadcast(self, arg: str | float, index: Index) -> Index:
        """The index of an operand's element for that of an element-wise operation's result."""
        if not isinstance(arg, str):
            return index
        shape = self.kernel.type_of(arg).shape
        if shape == index.shape:
            return index
        if prod(shape) == 1:
            return Index(shape, "0")
        own = index.indices[len(index.shape) - len(shape) :]
        return Index(shape, "", tuple("0" if n == 1 else i for n, i in zip(shape, own, strict=True)))

    def _source(self, instr: Instr, index: Index) -> str:
        """The element of a move's operand that the move puts at `index` of its result."""
        attrs = dict(instr.attrs)
        sources = [self.kernel.type_of(str(a)).shape for a in instr.args]
        first, shape = str(instr.args[0]), sources[0]
        match instr.op:
            case "reshape":
                return self.element(first, Index(shape, index.position))
            case "slice":
                at = list(index.indices)
                if attrs["start"]:
                    at[attrs["dim"]] = f"({at[attrs['dim']]} + {attrs['start']})"
                return self.element(first, Index(shape, "", tuple(at)))
            case "index":
                d = attrs["dim"]
                return self.element(first, Index(shape, "", (*index.indices[:d], str(attrs["i"]), *index.indices[d:])))
            case "permute":
                dims = list(attrs["dims"])
                return self.element(first, Index(shape, "", tuple(index.indices[dims.index(d)] for d in range(len(dims)))))
            case "cat":
                return self._piece(instr, index, sources, attrs["dim"], [s[attrs["dim"]] for s in sources])
            case "stack":
                return self._piece(instr, index, sources, attrs["dim"], [1] * len(sources))
        raise AssertionError(instr)

    def _piece(self, instr: Instr, index: Index, shapes: Sequence[tuple[int, ...]], d: int, extents: Sequence[int]) -> str:
        """The element of a concatenation: of the operand into whose `extents` along dimension `d` the index falls."""
        out, at = self.fresh(), index.indices[d]
        outer, outer_named = self.lines, self.named
        outer.append(f"{c_type(instr.type)} {out};")
        begin = 0
        for k, (arg, shape, extent) in enumerate(zip(instr.args, shapes, extents, strict=True)):
            within = (f"({at} - {begin})" if begin else at,) if instr.op == "cat" else ()
            self.lines, self.named = [], dict(outer_named)
            value = self.element(str(arg), Index(shape, "", (*index.indices[:d], *within, *index.indices[d + 1 :])))
            begin += extent
            last = k + 1 == len(instr.args)
            head = "{" if not k and last else f"if ({at} < {begin}) {{" if not last else "{"
            outer.append(("} else " if k else "") + head)
            outer += [f"    {line}" for line in [*self.lines, f"{out} = {value};"]]
        outer.append("}")
        self.lines, self.named = outer, outer_named
        return out
