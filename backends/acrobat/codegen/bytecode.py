"""The program's functions as bytecode for a register machine: the same scheduled program that `functions.py` writes as C++,
for the interpreter in `runtime/vm/code.h` to walk over (paper: the Relay VM that AOT compilation is measured against).

A register holds a value and its depth, the first level at which its tensors can be used; what is no tensor has depth 0. A
variable has a register of its own while it is in scope. Everything that is recorded, its depth and its order are the same
as in compiled code: only how the machine gets from one record to the next differs.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum, auto
from pathlib import PurePath

from backends.acrobat.analyses.facts import Facts
from backends.acrobat.codegen.cpp import Types
from backends.acrobat.codegen.order import groups, may_wait, phase_of_each
from backends.acrobat.codegen.units import Units
from backends.acrobat.core.ops import is_view
from backends.acrobat.core.span import NOWHERE, Span
from backends.acrobat.core.types import FLOAT, INT, DataT, TensorT, TupleT, Type
from backends.acrobat.core.units import Mode
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.visitor import Binding, free_vars, lets


class Opcode(StrEnum):
    """The instructions, as `runtime/vm/code.h` has and explains them, in its order."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[str]) -> str:
        return name

    Const = auto()
    Weight = auto()
    Move = auto()
    Fresh = auto()
    Start = auto()
    Later = auto()
    Padded = auto()
    NextSegment = auto()
    View = auto()
    Component = auto()
    Field = auto()
    Tuple = auto()
    ListOf = auto()
    Construct = auto()
    Jump = auto()
    JumpUnless = auto()
    Switch = auto()
    Call = auto()
    Return = auto()
    Phase = auto()
    Wait = auto()
    Fork = auto()
    ForkMap = auto()
    Next = auto()
    ListLike = auto()
    Store = auto()
    Launch = auto()
    Row = auto()
    Lookup = auto()
    Scalar = auto()
    ReadInt = auto()
    ReadFloat = auto()
    AddInt = auto()
    SubInt = auto()
    MulInt = auto()
    FloorDivInt = auto()
    ModInt = auto()
    NegInt = auto()
    AbsInt = auto()
    MinInt = auto()
    MaxInt = auto()
    AddFloat = auto()
    SubFloat = auto()
    MulFloat = auto()
    DivInt = auto()
    DivFloat = auto()
    FloorDivFloat = auto()
    ModFloat = auto()
    NegFloat = auto()
    SquareFloat = auto()
    AbsFloat = auto()
    MinFloat = auto()
    MaxFloat = auto()
    BitAnd = auto()
    BitOr = auto()
    BitXor = auto()
    ShiftLeft = auto()
    ShiftRight = auto()
    Not = auto()
    ToInt = auto()
    ToFloat = auto()
    Float32OfInt = auto()
    Float32 = auto()
    FromStart = auto()
    EqInt = auto()
    NeInt = auto()
    LtInt = auto()
    LeInt = auto()
    EqFloat = auto()
    NeFloat = auto()
    LtFloat = auto()
    LeFloat = auto()
    EqMixed = auto()
    NeMixed = auto()
    LtMixed = auto()
    LeMixed = auto()
    GtMixed = auto()
    GeMixed = auto()
    Size = auto()
    Get = auto()
    Slice = auto()
    Reverse = auto()
    Concat = auto()
    Append = auto()
    Range = auto()
    Zip = auto()
    Enumerate = auto()


ARITHMETIC = {
    "add": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "div": "Div",
    "floordiv": "FloorDiv",
    "mod": "Mod",
    "neg": "Neg",
    "abs": "Abs",
    "min": "Min",
    "max": "Max",
    "eq": "Eq",
    "ne": "Ne",
    "lt": "Lt",
    "le": "Le",
}
"""Operations that have an instruction for integers (and bools) and one for floats."""
SWAPPED = {"gt": "lt", "ge": "le"}
MIXED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
"""Comparisons, with what they are when their operands change places: an int with a float has instructions of its own."""
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


@dataclass(slots=True)
class Instruction:
    """`to`, a, b, c, d as in `runtime/vm/code.h`; `about` says in words what it is for."""

    op: Opcode
    to: int = 0
    a: int = 0
    b: int = 0
    c: int = 0
    d: int = 0
    tensors: bool = False
    about: str = ""


@dataclass(slots=True)
class Function:
    """`order` gives the parameters (by their number in the IR) in the order of their registers: those with tensors first."""

    name: str
    span: Span
    order: list[int]
    tensors: int
    registers: int = 0
    instructions: list[Instruction] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Branch:
    """What a forked child runs: `operands` are registers of the parent, `to` its register for the result."""

    function: int
    operands: tuple[int, ...]
    to: int


class Bytecode:
    """A program's code: functions of the program first, in its order, then those that forked children run."""

    def __init__(self, program: n.Program, types: Types, units: Units, facts: Facts) -> None:
        self.program = program
        self.types = types
        self.units = units
        self.facts = facts
        self.weights = {name: i for i, name in enumerate(program.weights)}
        self.numbers = {name: i for i, name in enumerate(program.functions)}
        self.operands: list[int] = []
        self.constants: list[int] = []
        self.branches: list[Branch] = []
        self.functions: list[Function] = []
        for f in program.functions.values():
            has = [types.has_tensor(p.type) for p in f.params]
            order = sorted(range(len(has)), key=lambda i: not has[i])
            self.functions.append(Function(f.name, f.span, order, sum(has)))
        for f, code in zip(program.functions.values(), tuple(self.functions), strict=True):
            _Body(self, f, code).write(f.body, [f.params[i] for i in code.order])

    @property
    def entry(self) -> int:
        return self.numbers[self.program.entry]

    def pool(self, registers: Sequence[int]) -> int:
        """Where these operands stand in `operands`."""
        start = len(self.operands)
        self.operands += registers
        return start

    def constant(self, bits: int) -> int:
        if bits not in self.constants:
            self.constants.append(bits)
        return self.constants.index(bits)


@dataclass(frozen=True, slots=True)
class Value:
    """The register of a variable, whether it holds tensors, and the phase that computes it. The results of a launch are in
    `parts` and only become a tuple where one is asked for."""

    register: int
    tensors: bool
    phase: int
    parts: tuple[int, ...] = ()


class _Body:
    """Writes one function, or what a forked child of one runs. `target` arguments name the register that a value goes to;
    without one a body's value is returned."""

    def __init__(self, code: Bytecode, f: n.Function, into: Function, child: bool = False, phase: int = 0) -> None:
        self.code = code
        self.types = code.types
        self.facts = code.facts
        self.function = f
        self.into = into
        self.child = child
        self.current_phase = phase
        self.phase_of: dict[str, int] = {}
        self.env: dict[str, Value] = {}
        self.known: dict[object, int] = {}  # registers of constants, weights and refreshed variables
        self.next = 0
        self.about = ""
        self.segment = 0  # in which work begins here
        self.ghosts = 0  # levels by which it begins later

    def write(self, body: n.Expr, params: Sequence[n.Var]) -> None:
        for p in params:
            self.put(p, self.fresh())
        self.body(body, None)

    # ---- instructions and registers

    def emit(self, op: Opcode, to: int = 0, a: int = 0, b: int = 0, c: int = 0, d: int = 0, *, tensors: bool = False) -> int:
        """The instruction's index."""
        self.into.instructions.append(Instruction(op, to, a, b, c, d, tensors, self.about))
        return len(self.into.instructions) - 1

    @property
    def here(self) -> int:
        return len(self.into.instructions)

    def land(self, jump: int) -> None:
        """The next instruction is where `jump` goes."""
        self.into.instructions[jump].d = self.here - jump

    def back(self, to: int) -> None:
        self.emit(Opcode.Jump, d=to - self.here)

    def fresh(self) -> int:
        self.next += 1
        self.into.registers = max(self.into.registers, self.next)
        return self.next - 1

    def put(self, var: n.Var, register: int) -> None:
        self.env[var.name] = Value(register, self.types.has_tensor(var.type), self.current_phase)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is bound inside is forgotten and its registers are free again."""
        kept = dict(self.env), dict(self.known), self.current_phase, self.next, self.about, self.segment, self.ghosts
        yield
        self.env, self.known, self.current_phase, self.next, self.about, self.segment, self.ghosts = kept

    # ---- atoms

    def atom(self, a: n.Atom) -> int:
        return self.value_of(a).register

    def value_of(self, a: n.Atom) -> Value:
        match a:
            case n.Var(name):
                return self.variable(name)
            case n.Weight(name):
                index = self.code.weights[name]
                return Value(self.once(("weight", index), Opcode.Weight, index), True, 0)
            case n.Lit(value):
                bits = struct.unpack("<q", struct.pack("<d", value))[0] if a.type == FLOAT else int(value)
                return Value(self.constant(bits), False, 0)

    def variable(self, name: str) -> Value:
        v = self.env[name]
        if v.parts:
            if v.parts not in self.known:
                self.known[v.parts] = self.fresh()
                self.emit(Opcode.Tuple, self.known[v.parts], len(v.parts), c=self.code.pool(v.parts))
            v = Value(self.known[v.parts], True, v.phase)
        if v.tensors and v.phase < self.current_phase:
            # What an earlier phase computed is there from this one's start.
            return Value(self.once(("fresh", v.register), Opcode.Fresh, v.register), True, self.current_phase)
        return v

    def part(self, field: n.Field) -> Value | None:
        """The result of a launch that `field` takes, if it takes one."""
        v = self.env[field.value.name] if isinstance(field.value, n.Var) else None
        return Value(v.parts[field.index], True, v.phase) if v is not None and v.parts else None

    def constant(self, bits: int) -> int:
        return self.once(("constant", bits), Opcode.Const, self.code.constant(bits))

    def once(self, key: object, op: Opcode, a: int) -> int:
        if key not in self.known:
            self.known[key] = self.fresh()
            self.emit(op, self.known[key], a)
        return self.known[key]

    def as_float(self, a: n.Atom) -> int:
        register = self.atom(a)
        if a.type == FLOAT:
            return register
        self.emit(Opcode.ToFloat, converted := self.fresh(), register)
        return converted

    # ---- alignment (`analyses.alignment`)

    def start(self) -> list[int]:
        """The register whose depth is that at which work can begin here, if that is not the ordinary one."""
        if not (self.segment or self.ghosts):
            return []
        self.emit(Opcode.Start, register := self.fresh(), self.segment, self.ghosts)
        return [register]

    def ghosts_of(self, branch: n.If | n.Match, target: int | None) -> tuple[int, ...]:
        if self.function.name == self.code.program.entry and not self.child and target is None:
            return (0,) * (2 if isinstance(branch, n.If) else len(branch.arms))  # nothing follows
        return self.facts.alignment.ghosts(self.function.name, branch)

    def pad(self, arm: n.Expr, ghosts: int) -> None:
        """Ghost operators: an arm's work begins so many levels later."""
        if not ghosts:
            return
        self.ghosts += ghosts
        for name in sorted(free_vars(arm)):
            v = self.variable(name)
            if v.tensors and v.phase == self.current_phase:
                self.emit(Opcode.Padded, later := self.fresh(), v.register, d=ghosts)
                self.env[name] = Value(later, True, v.phase)

    # ---- bodies

    def body(self, expr: n.Expr, target: int | None) -> None:
        bindings, result = lets(expr)
        entry = self.function.name == self.code.program.entry and not self.child and target is None
        if entry:
            phase = phase_of_each(bindings, self.facts.phase, {name: v.phase for name, v in self.env.items()})
            self.phase_of |= phase
            bindings = sorted(bindings, key=lambda b: phase[b[0].name])
        ordered = list(groups(bindings, self.facts.waits, self.phase_of if entry else None))
        last = ordered.pop() if ordered and not entry and ends_with(ordered[-1], result) else None
        for group in ordered:
            if entry:
                self.enter_phase(self.phase_of[group[0][0].name])
            self.bind_all(group)
        if last is None:
            self.tail(result, target)
        else:
            self.end(last[0][0].name, last[0][1], target)

    def enter_phase(self, phase: int) -> None:
        if phase != self.current_phase:
            self.current_phase = phase
            self.emit(Opcode.Phase, a=phase)

    def bind_all(self, group: Sequence[Binding]) -> None:
        """A group of `order.groups`."""
        if len(group) > 1:
            self.fork(group)
            return
        ((var, value),) = group
        if isinstance(value, n.Var | n.Lit | n.Weight):
            self.env[var.name] = self.value_of(value)
        elif isinstance(value, n.Launch) and isinstance(value.type, TupleT):
            self.env[var.name] = Value(-1, True, self.current_phase, self.launch(var.name, value))
        elif isinstance(value, n.Field) and (part := self.part(value)):
            self.env[var.name] = part
        else:
            self.put(var, self.value(var.name, value))

    def tail(self, expr: n.Expr, target: int | None) -> None:
        """The value of a body to `target`, or returned."""
        match expr:
            case n.If(cond, then, orelse):
                self.about = describe("", "If", expr.span)
                ghosts = self.ghosts_of(expr, target)
                skip = self.emit(Opcode.JumpUnless, a=self.atom(cond))
                with self.scope():
                    self.pad(then, ghosts[0])
                    self.body(then, target)
                end = None if target is None else self.emit(Opcode.Jump)
                self.land(skip)
                with self.scope():
                    self.pad(orelse, ghosts[1])
                    self.body(orelse, target)
                if end is not None:
                    self.land(end)
            case n.Match():
                self.match(expr, target)
            case n.Let():
                self.body(expr, target)
            case n.Var() | n.Lit() | n.Weight():
                self.deliver(self.atom(expr), target)
            case _:
                self.end("result", expr, target)

    def end(self, name: str, expr: n.Expr, target: int | None) -> None:
        """The value of the binding that a body ends with, to `target` or returned."""
        if isinstance(expr, n.If | n.Match | n.Let | n.Var | n.Lit | n.Weight):
            self.tail(expr, target)
        elif target is None:
            self.deliver(self.value(name, expr), None)
        else:
            self.value(name, expr, target)

    def deliver(self, register: int, target: int | None) -> None:
        self.about = describe("", "result")
        if target is None:
            self.emit(Opcode.Return, a=register)
        else:
            self.emit(Opcode.Move, target, register)

    def match(self, expr: n.Match, target: int | None) -> None:
        self.about = describe("", "Match", expr.span)
        value, type = self.atom(expr.value), expr.value.type
        assert isinstance(type, DataT)
        cases = self.code.program.datatypes[type.name].cases
        ends = []
        if len(cases) > 1:
            table = self.code.pool([0] * len(cases))
            switch = self.emit(Opcode.Switch, a=value, c=table)
        ghosts = self.ghosts_of(expr, target)
        for arm, levels in zip(expr.arms, ghosts, strict=True):
            number = next(i for i, c in enumerate(cases) if c.name == arm.case)
            with self.scope():
                if len(cases) > 1:
                    self.code.operands[table + number] = self.here - switch
                used = free_vars(arm.body)
                for i, var in enumerate(arm.vars):
                    if var.name in used:
                        self.about = describe(var.name, arm.case, expr.span)
                        self.put(var, register := self.fresh())
                        self.emit(Opcode.Field, register, value, i, tensors=self.types.has_tensor(var.type))
                self.pad(arm.body, levels)
                self.body(arm.body, target)
                if target is not None and arm is not expr.arms[-1]:
                    ends.append(self.emit(Opcode.Jump))
        for end in ends:
            self.land(end)

    # ---- values

    def value(self, name: str, expr: n.Expr, target: int | None = None) -> int:
        """The register with the value of an expression that is no atom: `target`, if one is given."""
        self.about = describe(name, type(expr).__name__, expr.span if not isinstance(expr, n.Let) else NOWHERE)
        if isinstance(expr, n.Op):
            return self.op(expr, target)
        to = self.fresh() if target is None else target
        self.compute(name, expr, to)
        if (self.function.name, name) in self.facts.alignment.ends and self.types.has_tensor(expr.type):
            self.emit(Opcode.NextSegment, to, to)
        return to

    def compute(self, name: str, expr: n.Expr, to: int) -> None:
        """The value of an expression to a register."""
        match expr:
            case n.If() | n.Match() | n.Let():
                with self.scope():
                    self.tail(expr, to)
            case n.Map():
                with self.scope():
                    self.map(expr, to)
            case n.Fold() | n.Loop():
                with self.scope():
                    self.segment += (self.function.name, name) in self.facts.alignment.later
                    self.fold(expr, to) if isinstance(expr, n.Fold) else self.loop(expr, to)
            case n.Launch(type=TupleT()):
                parts = self.launch(name, expr)
                self.emit(Opcode.Tuple, to, len(parts), c=self.code.pool(parts))
            case n.Launch():
                self.launch(name, expr, to)
            case n.Call(function, args):
                order = self.code.functions[self.code.numbers[function]].order
                registers = [self.atom(args[i]) for i in order]
                if self.code.functions[self.code.numbers[function]].tensors and (start := self.start()):
                    self.emit(Opcode.Later, later := self.fresh(), registers[0], *start)
                    registers[0] = later
                self.about += f" {function}"
                self.emit(Opcode.Call, to, self.code.numbers[function], c=self.code.pool(registers))
            case n.Item(tensor, kind):
                register = self.atom(tensor)
                self.emit(Opcode.Wait, a=register)
                self.emit(Opcode.ReadInt if kind == INT else Opcode.ReadFloat, to, register)
            case n.Tuple(items):
                self.made_of(Opcode.Tuple, to, items)
            case n.ListOf(items):
                self.made_of(Opcode.ListOf, to, items)
            case n.Construct(case, args, DataT(union)):
                cases = [c.name for c in self.code.program.datatypes[union].cases]
                self.made_of(Opcode.Construct, to, args, cases.index(case))
            case n.Field(value, index):
                self.emit(Opcode.Component, to, self.atom(value), index, tensors=self.types.has_tensor(expr.type))
            case n.Host(op, args):
                self.host(op, args, expr.type, to)
            case _:
                raise AssertionError(f"no code for {expr}")

    def made_of(self, op: Opcode, to: int, parts: Sequence[n.Atom], number: int = 0) -> None:
        registers = [self.atom(a) for a in parts]
        self.emit(op, to, len(registers), number, self.code.pool(registers))

    def op(self, expr: n.Op, target: int | None) -> int:
        if expr.op in ("row", "scalar"):
            to = self.fresh() if target is None else target
            if expr.op == "scalar":
                self.emit(Opcode.Scalar, to, self.as_float(expr.args[0]))
                return to
            table, index = expr.args
            assert isinstance(table, n.Weight)
            rows, size = table.type.shape[0], TensorT(table.type.shape[1:]).size
            self.emit(Opcode.Row, to, self.atom(index), self.code.weights[table.name], rows, size)
            return to
        if expr.op == "lookup":
            to = self.fresh() if target is None else target
            _, table, other = expr.args
            assert isinstance(table, n.Weight) and isinstance(other, n.Weight)
            weights = [self.code.weights[w.name] for w in (table, other)]
            sizes = [TensorT(w.type.shape[1:]).size for w in (table, other)]
            self.emit(Opcode.Lookup, to, self.atom(expr.args[0]), weights[0], self.code.pool([sizes[0], weights[1], sizes[1]]))
            return to
        at = is_view(expr.op, tuple(a.type for a in expr.args), dict(expr.attrs))
        assert at is not None, f"{expr.op} is neither in a kernel nor a view"
        register = self.atom(expr.args[0])
        if at == 0 and target is None:
            return register
        to = self.fresh() if target is None else target
        self.emit(Opcode.View, to, register, d=at)
        return to

    def launch(self, name: str, expr: n.Launch, target: int | None = None) -> tuple[int, ...]:
        """The registers of its results: `target`, if there is one result."""
        self.about = describe(name, "Launch", expr.span)
        unit = self.code.units.of(expr)
        values = {p.name: a for p, a in zip(expr.unit.params, expr.args, strict=True) if p.mode is not Mode.SHARED}
        registers = [self.atom(values[p.name]) for p in (*unit.gathered, *unit.lists)]
        depth = self.facts.static_depth.get((self.function.name, name), -1)
        if depth < 0:
            registers += self.start()
        self.about += f" {unit.name}"
        row = self.fresh() if target is None else target
        self.emit(Opcode.Launch, row, len(registers), unit.index, self.code.pool(registers), depth)
        parts = []
        for start in unit.result_displacements():
            part = row
            if start:
                part = self.fresh() if target is None else target
                self.emit(Opcode.View, part, row, d=start)
            parts.append(part)
        return tuple(parts)

    def host(self, op: str, args: Sequence[n.Atom], type: Type, to: int) -> None:
        self.about += f" {op}"
        floats = any(a.type == FLOAT for a in args)
        if op in MIXED and floats and not all(a.type == FLOAT for a in args):
            if args[0].type == FLOAT:
                op, args = MIXED[op], args[::-1]
            self.emit(Opcode(op.capitalize() + "Mixed"), to, *map(self.atom, args))
            return
        if op in SWAPPED:
            op, args = SWAPPED[op], args[::-1]
        if op in ARITHMETIC:
            registers = [self.as_float(a) if floats else self.atom(a) for a in args]
            self.emit(Opcode(ARITHMETIC[op] + ("Float" if floats else "Int")), to, *registers)
        elif op == "square":
            self.emit(Opcode.SquareFloat, to, self.as_float(args[0]))
        elif op == "float32":
            self.emit(Opcode.Float32 if floats else Opcode.Float32OfInt, to, self.atom(args[0]))
        elif op == "bool":
            self.emit(Opcode.NeFloat if floats else Opcode.NeInt, to, self.atom(args[0]), self.constant(0))
        elif op == "int":
            self.emit(Opcode.ToInt if floats else Opcode.Move, to, self.atom(args[0]))
        elif op == "float":
            self.emit(Opcode.Move, to, self.as_float(args[0]))
        elif op == "phase":  # the marker itself does nothing: what uses it stands in a later phase
            self.emit(Opcode.Move, to, self.atom(args[0]))
        elif op == "zip":
            self.made_of(Opcode.Zip, to, args)
        else:
            registers = [self.atom(a) for a in args]
            self.emit(ONE_KIND[op], to, *registers, tensors=self.types.has_tensor(type))

    # ---- loops

    def element(self, var: n.Var, iterable: int) -> tuple[int, int]:
        """The start of a loop over a list: the `Next` to land at its end, and the register of the index."""
        index = self.fresh()
        self.emit(Opcode.Const, index, self.code.constant(-1))
        self.put(var, register := self.fresh())
        return self.emit(Opcode.Next, register, iterable, index, tensors=self.types.has_tensor(var.type)), index

    def map(self, expr: n.Map, to: int) -> None:
        source = self.atom(expr.iterable)
        if may_wait(expr.body, self.facts.waits):
            self.code.branches.append(self.branch(expr.body, to, expr.var))
            tensors = self.types.has_tensor(expr.var.type)
            self.emit(Opcode.ForkMap, to, source, c=len(self.code.branches) - 1, tensors=tensors)
            return
        self.emit(Opcode.ListLike, to, source)
        head, index = self.element(expr.var, source)
        item = self.fresh()
        self.body(expr.body, item)
        self.emit(Opcode.Store, to, item, index)
        self.back(head)
        self.land(head)

    def carried(self, variables: Sequence[n.Var], init: Sequence[n.Atom]) -> list[int]:
        """The registers of the variables that a loop rebinds."""
        registers = []
        for a in init:
            start = self.atom(a)
            registers.append(self.fresh())
            self.emit(Opcode.Move, registers[-1], start)
        for v, register in zip(variables, registers, strict=True):
            self.put(v, register)
        return registers

    def fold(self, expr: n.Fold, to: int) -> None:
        source = self.atom(expr.iterable)
        registers = self.carried(expr.vars, expr.init)
        head, _ = self.element(expr.var, source)
        with self.scope():
            self.rebind(expr.vars, registers, expr.body)
        self.back(head)
        self.land(head)
        self.emit(Opcode.Tuple, to, len(registers), c=self.code.pool(registers))

    def loop(self, expr: n.Loop, to: int) -> None:
        registers = self.carried(expr.vars, expr.init)
        head = self.here
        with self.scope():
            holds = self.fresh()
            self.body(expr.cond, holds)
            leave = self.emit(Opcode.JumpUnless, a=holds)
            self.rebind(expr.vars, registers, expr.body)
        self.back(head)
        self.land(leave)
        self.emit(Opcode.Tuple, to, len(registers), c=self.code.pool(registers))

    def rebind(self, variables: Sequence[n.Var], registers: Sequence[int], body: n.Expr) -> None:
        """The loop body: all new values are computed before any variable changes."""
        bindings, result = lets(body)
        items = None
        if isinstance(result, n.Tuple):
            items = result.items
        elif isinstance(result, n.Var) and bindings and bindings[-1][0].name == result.name:
            # The usual shape: the body ends by building the tuple of new values.
            last = bindings[-1][1]
            if isinstance(last, n.Tuple):
                items, bindings = last.items, bindings[:-1]
        if items is not None:
            for group in groups(bindings, self.facts.waits):
                self.bind_all(group)
            self.move_all(registers, [self.atom(a) for a in items])
            return
        new = self.fresh()
        self.body(body, new)
        for i, (v, register) in enumerate(zip(variables, registers, strict=True)):
            self.emit(Opcode.Component, register, new, i, tensors=self.types.has_tensor(v.type))

    def move_all(self, registers: Sequence[int], new: Sequence[int]) -> None:
        changing = [(to, a) for to, a in zip(registers, new, strict=True) if to != a]
        targets = {to for to, _ in changing}
        saved = {}
        for _, a in changing:
            # A value that is itself a loop variable must be read before it is overwritten.
            if len(changing) > 1 and a in targets and a not in saved:
                saved[a] = self.fresh()
                self.emit(Opcode.Move, saved[a], a)
        for to, a in changing:
            self.emit(Opcode.Move, to, saved.get(a, a))

    # ---- waiting

    def fork(self, group: Sequence[Binding]) -> None:
        registers = [self.fresh() for _ in group]
        branches = [self.branch(value, to) for (_, value), to in zip(group, registers, strict=True)]
        self.code.branches += branches
        self.about = describe(", ".join(var.name for var, _ in group), "Fork")
        self.emit(Opcode.Fork, c=len(self.code.branches) - len(branches), d=len(branches))
        for (var, _), register in zip(group, registers, strict=True):
            self.put(var, register)

    def branch(self, body: n.Expr, to: int, var: n.Var | None = None) -> Branch:
        """A function for a forked child, of the variables that `body` uses and, last, an element `var`."""
        names = sorted(free_vars(body) - ({var.name} if var else set()))
        operands = [self.variable(name) for name in names]
        made = Function(self.function.name, self.function.span, [], 0)
        self.code.functions.append(made)
        number = len(self.code.functions) - 1
        child = _Body(self.code, self.function, made, child=True, phase=self.current_phase)
        child.segment, child.ghosts = self.segment, self.ghosts
        for name, v in zip(names, operands, strict=True):
            child.env[name] = Value(child.fresh(), v.tensors, v.phase)
        if var:
            child.put(var, child.fresh())
        child.body(body, None)
        return Branch(number, tuple(v.register for v in operands), to)


def ends_with(group: Sequence[Binding], result: n.Expr) -> bool:
    """Whether the group is one binding, and that is what the body gives."""
    return len(group) == 1 and isinstance(result, n.Var) and group[0][0].name == result.name


def describe(name: str, what: str, span: Span = NOWHERE) -> str:
    where = f", {PurePath(span.file).name}:{span.line}" if span.line else ""
    return f"{name}: {what}{where}" if name else f"{what}{where}"
