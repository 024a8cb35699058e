"""What lowering makes of a model: bodies of kernels for the wavefronts, and the places where operands and results lie."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from backends.acrobat.core.types import TensorT
from backends.acrobat.core.units import ALIGN, Kernel, Mode
from backends.cortex.options import Options
from backends.cortex.recursion import Structure
from backends.cortex.transforms import text
from backends.cortex.values import Value


@dataclass(frozen=True)
class Place:
    """Where a tensor lies: from element `at` on in a row, which depends on `kind`, and for own states on `root`.

    shared: constant number `a`; zero: zeros; word: the row of table `a` that the node's word names; child: the states of the
    child in slot `a`; each: those of every child; own: those of the node in recursion `a` (for outputs), of an instance with
    several trees those of the root of number `root`; state, hoisted and out: the node's row of states, hoisted values and
    outputs; temporary: intermediate number `a` of the body."""

    kind: str
    a: int = 0
    at: int = 0
    root: int = 0


@dataclass(frozen=True)
class Call:
    """A kernel with the places of its params, in their order, and of its results."""

    kernel: Kernel
    operands: tuple[Place, ...]
    out: Place
    per_child: bool


@dataclass(frozen=True)
class Copy:
    """A copy of rows of `elements` 4-byte elements."""

    source: Place
    out: Place
    elements: int


@dataclass(frozen=True)
class Body:
    """What is computed for each node of a wavefront: kernels and copies, one after the other."""

    steps: tuple[Call | Copy, ...]
    temporaries: tuple[tuple[int, bool], ...]
    """For each intermediate the elements of a row, and whether it has a row for each child (else for each node)."""

    @property
    def row_bytes(self) -> int:
        """The bytes of operands, intermediates and results for one node."""
        kernels = [s.kernel for s in self.steps if isinstance(s, Call)]
        operands = [row_size(p.type) for k in kernels for p in k.params if p.mode is not Mode.SHARED]
        return 4 * (sum(operands) + sum(k.row_size for k in kernels))


@dataclass(frozen=True)
class Lowered:
    """One recursion. `row`, `hoisted_row`: the 4-byte elements of a node's row of states and of hoisted values. `outside`: the
    states of missing children, each as the number of its constant and its start in the row."""

    leaf: Body
    inner: Body
    hoisted: Body
    row: int
    hoisted_row: int
    outside: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Program:
    """`constants`: expressions of weights, computed at load; `tables`: names of the parameters whose rows words select."""

    structure: Structure
    recursions: tuple[Lowered, ...]
    output: Body
    result: TensorT
    constants: tuple[Value, ...]
    tables: tuple[str, ...]
    options: Options

    def tables_read(self) -> tuple[set[str], set[str]]:
        """The names of the tables from which leaf cases read a row, and of those from which inner cases do."""

        def read(bodies: Iterable[Body]) -> set[str]:
            steps = [step for body in bodies for step in body.steps]
            places = [place for s in steps for place in (s.operands if isinstance(s, Call) else (s.source,))]
            return {self.tables[place.a] for place in places if place.kind == "word"}

        return read(r.leaf for r in self.recursions), read(b for r in self.recursions for b in (r.inner, r.hoisted))

    def describe(self) -> str:
        """All of the program that decides what is built, as text."""
        constants = "\n".join(map(text, self.constants))
        structure = type(self.structure).__name__ + str(self.structure.slots) + str(getattr(self.structure, "node_word", ""))
        parts = (self.recursions, self.output, self.result, self.tables, self.options)
        return "\n".join([structure, *map(repr, parts), constants])


def row_size(t: TensorT) -> int:
    """The 4-byte elements that a tensor takes up in a row, a multiple of `ALIGN`."""
    return -(-t.width // ALIGN) * ALIGN


def index(entries: list[Any], entry: object) -> int:
    """The position of `entry` in the list, to whose end it is added if it is not there yet."""
    if entry not in entries:
        entries.append(entry)
    return entries.index(entry)
