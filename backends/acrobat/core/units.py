"""Kernels and static blocks: what a batched kernel computes, independent of the device and of how its code is made.

A `Kernel` is a straight-line tensor program for *one row* of the batch (one recorded call); the batch extent is dynamic. A
`Block` (paper: static block, grain-size coarsening) is a straight line of kernels that is recorded and scheduled as one unit.

Memory contract, the same for every maker of kernels
- All addresses are int64 *element offsets* from one base pointer, in units of 4 bytes; int64 data is 8-byte aligned.
- Recording a call appends its operands' offsets to the unit's tables and takes the next row of the unit's output space. A row
  holds all results one after the other, each padded to 16 elements; `Kernel.displacements` and `Kernel.row_size` say where.
- Weights are packed once, at load, as the emitter describes it for the kernel (`kernels/packing.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from backends.acrobat.core.types import TensorT

ALIGN = 16
"""Results are padded to a multiple of so many 4-byte elements: one cache line, one AVX-512 vector."""


class Mode(Enum):
    """How a batched kernel finds an operand (paper: argument modes)."""

    SHARED = "shared"  # a weight: one tensor for the whole batch
    GATHERED = "gathered"  # row i at table[i]: read in place
    CONTIGUOUS = "contiguous"  # row i at start + i * stride: no table
    LIST = "list"  # row i has items[starts[i]:starts[i + 1]], any number of tensors of one type


@dataclass(frozen=True, slots=True)
class Param:
    """An operand of a kernel or block. `type` is that of one tensor: that of a row, the shared one, or an item of a list."""

    name: str
    type: TensorT
    mode: Mode


@dataclass(frozen=True, slots=True)
class Instr:
    """`name = op(args, **attrs)` over params and earlier instrs; `op` is in `core.ops.OPS`; a float argument is a literal."""

    name: str
    op: str
    args: tuple[str | float, ...]
    attrs: tuple[tuple[str, Any], ...]
    type: TensorT


@dataclass(frozen=True, slots=True)
class Kernel:
    """`body` computes the operators of one row in order; `results` names the instructions whose values leave the kernel."""

    name: str
    params: tuple[Param, ...]
    body: tuple[Instr, ...]
    results: tuple[str, ...]

    def type_of(self, name: str) -> TensorT:
        """The type of the param or instruction of this name, which there must be."""
        values: tuple[Param | Instr, ...] = (*self.params, *self.body)
        return next(x.type for x in values if x.name == name)

    @property
    def result_types(self) -> tuple[TensorT, ...]:
        return tuple(self.type_of(name) for name in self.results)

    @property
    def displacements(self) -> tuple[int, ...]:
        """Element offset of each result within the output row."""
        return displacements(self.result_types)[0]

    @property
    def row_size(self) -> int:
        """Elements of one output row, all results included."""
        return displacements(self.result_types)[1]


@dataclass(frozen=True, slots=True)
class StepResult:
    """A reference to a tensor that a block computes: result `index` of its step number `step`, printed as `step.index`."""

    step: int
    index: int

    def __str__(self) -> str:
        return f"{self.step}.{self.index}"


StepArg: TypeAlias = str | StepResult
"""What a step reads: a param of the block, by its name, or what an earlier step has computed."""


@dataclass(frozen=True, slots=True)
class Step:
    """One kernel of a block.

    `over` names a LIST param of the block, if any: the step then runs once for each *item* of that list (a row per child, say),
    and takes GATHERED arguments that are LIST params of the same list item by item. A later step that runs over no list may
    take its results as a LIST argument. Lists of one list group have the same length.
    """

    kernel: Kernel
    args: tuple[StepArg, ...]
    over: str | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A static block. `groups` pairs LIST params with list groups: params of one group come from one list of tuples."""

    name: str
    params: tuple[Param, ...]
    steps: tuple[Step, ...]
    results: tuple[StepResult, ...]
    """The results of steps that leave the block."""
    groups: tuple[tuple[str, str], ...] = ()

    @property
    def result_types(self) -> tuple[TensorT, ...]:
        return tuple(self.steps[r.step].kernel.result_types[r.index] for r in self.results)


def displacements(types: tuple[TensorT, ...]) -> tuple[tuple[int, ...], int]:
    """Where each of `types` starts in a row that holds them all, and the row's size, in 4-byte elements."""
    starts, size = [], 0
    for t in types:
        starts.append(size)
        size += -(-t.width // ALIGN) * ALIGN
    return tuple(starts), size
