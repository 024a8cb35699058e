"""Prints the values of a schedule as instructions: operands, and what is computed without a branch, a loop or a call."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from backends.acrobat.codegen.instructions import Bytecode, BytecodeFunction, Instruction, Opcode
from backends.acrobat.core.moves import view_displacement
from backends.acrobat.core.texts import TEXT, instruction
from backends.acrobat.core.types import BOOL, FLOAT, INT, DataT, ListT, TensorT, TupleT, Type
from backends.acrobat.core.units import Mode
from backends.acrobat.ir import nodes as n
from backends.acrobat.schedule import nodes as s

ARITHMETIC = frozenset(("add", "sub", "mul", "div", "floordiv", "mod", "neg", "abs", "min", "max", "eq", "ne", "lt", "le"))
"""Operations that have one instruction for ints and bools (`AddInt`) and one for floats (`AddFloat`)."""
SWAPPED = {"gt": "lt", "ge": "le"}
MIXED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
"""Comparisons, and what they become when their operands are swapped: instructions for mixed operands take the int first."""
ONE_KIND = {
    "bitand": Opcode.BitAnd,
    "bitor": Opcode.BitOr,
    "bitxor": Opcode.BitXor,
    "shl": Opcode.ShiftLeft,
    "shr": Opcode.ShiftRight,
    "not": Opcode.Not,
    "from_start": Opcode.FromStart,
    "list.len": Opcode.Size,
    "list.get": Opcode.Get,
    "list.slice": Opcode.Slice,
    "list.reverse": Opcode.Reverse,
    "list.concat": Opcode.Concat,
    "list.append": Opcode.Append,
    "range": Opcode.Range,
    "enumerate": Opcode.Enumerate,
}


def bits_of(a: n.Lit) -> int:
    """The 64 bits of a constant in a register, as an int."""
    return int(struct.unpack("<q", struct.pack("<d", a.value))[0]) if a.type == FLOAT else int(a.value)


class ValuePrinter:
    """Prints instructions into `into`. `registers` maps variables to registers. `parts` maps the variable of a launch with
    several results to their registers, which become a tuple only where one is needed. `register_of` has the registers of such
    tuples, constants and weights that have one already."""

    def __init__(self, code: Bytecode, into: BytecodeFunction, params: Sequence[n.Var]) -> None:
        self.code = code
        self.holds = code.schedule.holds
        self.into = into
        self.registers: dict[str, int] = {}
        self.parts: dict[str, tuple[int, ...]] = {}
        self.register_of: dict[object, int] = {}
        self.target_of: dict[str, int] = {}  # a variable that is the value of a body -> the register for that value
        self.next = 0
        self.about = ""
        for p in params:
            self.registers[p.name] = self.fresh()

    def emit(self, op: Opcode, to: int = 0, a: int = 0, b: int = 0, c: int = 0, d: int = 0, *, tensors: bool = False) -> int:
        """Appends an instruction and returns its index."""
        self.into.instructions.append(Instruction(op, to, a, b, c, d, tensors, self.about))
        return len(self.into.instructions) - 1

    @property
    def here(self) -> int:
        """The index of the next instruction."""
        return len(self.into.instructions)

    def fresh(self) -> int:
        """A register that is not in use."""
        self.next += 1
        self.into.registers = max(self.into.registers, self.next)
        return self.next - 1

    def register_for(self, var: n.Var) -> int:
        """The register of a variable that is being bound: the target of the body whose value it is, or a new register."""
        target = self.target_of.pop(var.name, None)
        self.registers[var.name] = self.fresh() if target is None else target
        return self.registers[var.name]

    def atom(self, a: n.Atom) -> int:
        """The register of an operand; emits the instruction that fills it if no register holds it yet."""
        match a:
            case n.Var(name) if name in self.parts:
                parts = self.parts[name]
                if name not in self.register_of:
                    self.register_of[name] = self.fresh()
                    self.emit(Opcode.Tuple, self.register_of[name], len(parts), c=self.code.pool(parts))
                return self.register_of[name]
            case n.Var(name):
                return self.registers[name]
            case n.Weight(name):
                return self.once(Opcode.Weight, self.code.weights[name])
            case n.Lit():
                return self.constant(bits_of(a))

    def constant(self, bits: int) -> int:
        """A register with the constant that has these 64 bits."""
        return self.once(Opcode.Const, self.code.constant(bits))

    def once(self, op: Opcode, a: int) -> int:
        """The register that the instruction `op` with the operand `a` fills. It is emitted where it is first needed."""
        if (op, a) not in self.register_of:
            self.register_of[op, a] = self.fresh()
            self.emit(op, self.register_of[op, a], a)
        return self.register_of[op, a]

    def as_float(self, a: n.Atom) -> int:
        """A register with the number `a` as a float."""
        register = self.atom(a)
        if a.type == FLOAT:
            return register
        self.emit(Opcode.ToFloat, converted := self.fresh(), register)
        return converted

    def start(self, depth: s.Depth) -> list[int]:
        """Emits the `Start` in `depth`, unless that is the ordinary one or missing; its register as a list of one, or []."""
        for part in depth.depths if isinstance(depth, s.Join) else (depth,):
            if isinstance(part, s.Start) and part != s.Start():
                self.emit(Opcode.Start, register := self.fresh(), part.segment, part.levels)
                return [register]
        return []

    def let(self, var: n.Var, value: s.Pure) -> None:
        """Binds a variable: a part of a launch with several results, or a view of displacement 0, needs no instruction."""
        match value:
            case n.Field(n.Var() as whole, index) if whole.name in self.parts:
                self.registers[var.name] = self.parts[whole.name][index]
            case n.Op(op, args, attrs) if (at := view_displacement(op, tuple(a.type for a in args), dict(attrs))) is not None:
                register = self.atom(args[0])
                if at == 0 and var.name not in self.target_of:
                    self.registers[var.name] = register
                else:
                    self.emit(Opcode.View, self.register_for(var), register, d=at)
            case _:
                self.compute(value, self.register_for(var))

    def compute(self, value: s.Pure, to: int) -> None:
        """Emits the instruction that computes a value into register `to`."""
        match value:
            case n.Op(op, args):
                self.op(op, args, to)
            case n.Item(tensor, ListT(kind)):
                assert isinstance(tensor.type, TensorT)
                self.emit(Opcode.ReadInts if kind == INT else Opcode.ReadFloats, to, self.atom(tensor), tensor.type.size)
            case n.Item(tensor, kind):
                self.emit(Opcode.ReadInt if kind == INT else Opcode.ReadFloat, to, self.atom(tensor))
            case n.Tuple(items):
                self.collect(Opcode.Tuple, to, items)
            case n.ListOf(items) if n.is_table(value):
                values = [bits_of(a) for a in items if isinstance(a, n.Lit)]
                self.emit(Opcode.Table, to, self.code.table(values), len(values))
            case n.ListOf(items):
                self.collect(Opcode.ListOf, to, items)
            case n.Construct(case, args, DataT(union)):
                cases = [c.name for c in self.code.schedule.program.datatypes[union].cases]
                self.collect(Opcode.Construct, to, args, cases.index(case))
            case n.Field(whole, index):
                self.emit(Opcode.Component, to, self.atom(whole), index, tensors=self.holds(value.type))
            case n.Host(op, args):
                self.host(op, args, value.type, to)

    def collect(self, op: Opcode, to: int, parts: Sequence[n.Atom], number: int = 0) -> None:
        """Emits an instruction that makes one value of any number of parts."""
        registers = [self.atom(a) for a in parts]
        self.emit(op, to, len(registers), number, self.code.pool(registers))

    def op(self, op: str, args: Sequence[n.Atom], to: int) -> None:
        """Emits the instruction for an operation that is an address."""
        if op == "scalar":
            self.emit(Opcode.Scalar, to, self.as_float(args[0]))
        elif op == "row":
            rows, *extents = args[0].type.shape  # type: ignore[union-attr]
            self.emit(Opcode.Row, to, self.atom(args[1]), self.atom(args[0]), rows, math.prod(extents))
        elif op == "lookup":
            tables = [(self.code.weights[a.name], TensorT(a.type.shape[1:]).size) for a in args if isinstance(a, n.Weight)]
            (table, size), other = tables
            self.emit(Opcode.Lookup, to, self.atom(args[0]), table, self.code.pool([size, *other]))
        else:
            raise AssertionError(f"{op} is neither in a kernel nor a view")

    def record(self, x: s.Record) -> None:
        """Emits the launch of a unit, and a view for each result that does not lie at the start of its row."""
        unit, params = self.code.units.of(x.launch), x.launch.unit.params
        values = {p.name: a for p, a in zip(params, x.launch.args, strict=True) if p.mode is not Mode.SHARED}
        registers = [self.atom(values[p.name]) for p in (*unit.gathered, *unit.lists)]
        registers += self.start(x.at)
        self.about += f" {unit.name}"
        several = isinstance(x.var.type, TupleT)
        row = self.fresh() if several else self.register_for(x.var)
        level = x.at.level if isinstance(x.at, s.StaticDepth) else -1
        self.emit(Opcode.Launch, row, len(registers), unit.index, self.code.pool(registers), level)
        parts = []
        for start in unit.result_displacements():
            parts.append(row if not several or not start else self.fresh())
            if start:
                self.emit(Opcode.View, parts[-1], row, d=start)
        if several:
            self.parts[x.var.name] = tuple(parts)

    def host(self, op: str, args: Sequence[n.Atom], type: Type, to: int) -> None:
        """Emits the instructions for an operation on host values into register `to`."""
        self.about += f" {op}"
        floats = any(a.type == FLOAT for a in args)
        if op in MIXED and floats and not all(a.type == FLOAT for a in args):
            if args[0].type == FLOAT:
                op, args = MIXED[op], args[::-1]
            self.emit(Opcode[op.capitalize() + "Mixed"], to, *map(self.atom, args))
            return
        if op in SWAPPED:
            op, args = SWAPPED[op], args[::-1]
        if op in ARITHMETIC:
            registers = [self.as_float(a) if floats else self.atom(a) for a in args]
            name = "FloorDiv" if op == "floordiv" else op.capitalize()
            self.emit(Opcode[name + ("Float" if floats else "Int")], to, *registers)
        elif op == "square":
            self.emit(Opcode.SquareFloat, to, self.as_float(args[0]))
        elif op == "float32":
            self.emit(Opcode.Float32 if floats else Opcode.Float32OfInt, to, self.atom(args[0]))
        elif op.startswith("math."):
            self.emit(Opcode["Math" + op.removeprefix("math.").capitalize()], to, *map(self.as_float, args))
        elif op in TEXT:
            self.emit(Opcode[instruction(op)], to, *map(self.atom, args))
        elif op == "bool":
            self.emit(Opcode.NeFloat if floats else Opcode.NeInt, to, self.atom(args[0]), self.constant(0))
        elif op == "int":
            self.emit(Opcode.ToInt if floats else Opcode.Move, to, self.atom(args[0]))
        elif op == "float":
            self.emit(Opcode.Move, to, self.as_float(args[0]))
        elif op == "phase":  # a marker: the value stays the same, and its uses are in a later phase
            self.emit(Opcode.Move, to, self.atom(args[0]))
        elif op == "fail":
            kinds = [1 if a.type == FLOAT else 2 if a.type == BOOL else 0 for a in args]
            pairs = [x for a, kind in zip(args, kinds, strict=True) for x in (self.atom(a), kind)]
            self.emit(Opcode.Fail, to, len(args), 0, self.code.pool(pairs))
        elif op == "list.order":
            self.emit(Opcode.OrderFloat if args[0].type == ListT(FLOAT) else Opcode.OrderInt, to, *map(self.atom, args))
        elif op == "list.top":
            self.emit(Opcode.TopFloat if args[0].type == ListT(FLOAT) else Opcode.TopInt, to, *map(self.atom, args))
        elif op == "zip":
            self.collect(Opcode.Zip, to, args)
        else:
            self.emit(ONE_KIND[op], to, *map(self.atom, args), tensors=self.holds(type))
