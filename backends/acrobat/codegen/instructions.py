"""What bytecode consists of: instructions, functions, and the tables that instructions refer to by position."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import count

from backends.acrobat.codegen.units import Units
from backends.acrobat.core.span import Span
from backends.acrobat.schedule import nodes as s

Opcode = Enum(
    "Opcode",
    "Const Weight Move Fresh Start Later Padded NextSegment View Component Field Tuple ListOf Table Construct Jump JumpUnless "
    "Switch Call Return Phase Wait Fork ForkMap Next ListLike Store Launch Row Lookup Scalar ReadInt ReadFloat ReadInts "
    "ReadFloats AddInt SubInt MulInt FloorDivInt ModInt NegInt AbsInt MinInt MaxInt AddFloat SubFloat MulFloat DivInt DivFloat "
    "FloorDivFloat ModFloat NegFloat SquareFloat AbsFloat MinFloat MaxFloat BitAnd BitOr BitXor ShiftLeft ShiftRight Not "
    "ToInt ToFloat Float32OfInt Float32 MathExp MathExpm1 MathLog MathLog1p MathLog2 MathLog10 MathSqrt MathSin MathCos "
    "MathTan MathAsin MathAcos MathAtan MathSinh MathCosh MathTanh MathErf MathErfc MathAsinh MathAcosh MathAtanh "
    "MathCbrt MathExp2 MathPow MathHypot MathAtan2 MathFmod MathRemainder FromStart EqInt NeInt "
    "LtInt LeInt EqFloat NeFloat LtFloat LeFloat EqMixed NeMixed LtMixed LeMixed GtMixed GeMixed Size "
    "Get Slice Reverse OrderInt OrderFloat TopInt TopFloat Concat Append Range Fail Zip Enumerate "
    "TextLetters TextJoined TextMethod TextInt TextFloat TextCode TextFromInt TextFromFloat TextFromText "
    "TextPart TextSpans TextReplaced",
)
"""The opcodes in the order of `runtime/vm/code.h`, which explains them."""


@dataclass(slots=True)
class Instruction:
    """One instruction. `runtime/vm/code.h` explains `to`, a, b, c, d and `tensors` for each opcode; `about` is a comment."""

    op: Opcode
    to: int = 0
    a: int = 0
    b: int = 0
    c: int = 0
    d: int = 0
    tensors: bool = False
    about: str = ""


@dataclass(slots=True)
class BytecodeFunction:
    """The code of one function. `order` has the IR numbers of its parameters by register; the first `tensors` hold tensors."""

    name: str
    span: Span
    order: list[int]
    tensors: int
    registers: int = 0
    instructions: list[Instruction] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ForkedChild:
    """A call of `function` as a forked child, on the parent's registers `operands`; its result goes to the register `to`."""

    function: int
    operands: tuple[int, ...]
    to: int


class Bytecode:
    """The tables of a schedule's bytecode. `functions` are those of the program, in its order, then those that forked children
    run; `bytecode.py` prints their instructions, which are missing at first."""

    def __init__(self, schedule: s.Schedule, units: Units) -> None:
        self.schedule = schedule
        self.units = units
        self.weights = defaultdict[str, int](count().__next__)
        """The weights that host code reads, and their numbers in `Context::weights`. Kernels read the others, packed."""
        self.numbers = {name: i for i, name in enumerate(schedule.functions)}
        self.operands: list[int] = []
        self.tables: list[int] = []  # the bits of constants that are elements of lists
        self.constants: dict[int, int] = {}  # the bits of a constant -> its position in the table of constants
        self.branches: list[ForkedChild] = []
        self.functions: list[BytecodeFunction] = []
        for f in schedule.functions.values():
            has_tensors = [schedule.holds(p.type) for p in f.params]
            order = sorted(range(len(has_tensors)), key=lambda i: not has_tensors[i])
            self.functions.append(BytecodeFunction(f.name, f.span, order, sum(has_tensors)))

    @property
    def entry(self) -> int:
        """The number of the entry function."""
        return self.numbers[self.schedule.program.entry]

    def pool(self, registers: Sequence[int]) -> int:
        """Appends registers to `operands` and returns the position of the first."""
        start = len(self.operands)
        self.operands += registers
        return start

    def table(self, values: Sequence[int]) -> int:
        """Appends constants to `tables` and returns the position of the first."""
        start = len(self.tables)
        self.tables += values
        return start

    def constant(self, bits: int) -> int:
        """The position of a constant in the table of constants, by its 64 bits."""
        return self.constants.setdefault(bits, len(self.constants))
