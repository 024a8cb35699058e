"""Prints a schedule as bytecode for the interpreter in `runtime/vm` (paper: the Relay VM that AOT compilation is measured
against). `functions.py` prints the same schedule as C++.

The interpreter is a register machine. A register holds a value and its depth: the first level at which the value's tensors can
be used, or 0 if it has none. A variable has a register of its own while it is in scope. The depth of a result follows from the
operands'; bytecode names a depth only where the schedule has another: static depths, later starts, pads and segments.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePath

from backends.acrobat.codegen.instructions import Bytecode, BytecodeFunction, ForkedChild, Instruction, Opcode
from backends.acrobat.codegen.units import Units
from backends.acrobat.core.ops import is_view
from backends.acrobat.core.span import NOWHERE, Span
from backends.acrobat.core.texts import TEXT
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


def bytecode(schedule: s.Schedule, units: Units) -> Bytecode:
    """The bytecode of a schedule, whose launches are those of `units`."""
    code = Bytecode(schedule, units)
    for f, into in zip(schedule.functions.values(), tuple(code.functions), strict=True):
        _BodyPrinter(code, into, [f.params[i] for i in into.order]).block(f.body, None)
    return code


def bits_of(a: n.Lit) -> int:
    """The 64 bits of a constant in a register, as an int."""
    return int(struct.unpack("<q", struct.pack("<d", a.value))[0]) if a.type == FLOAT else int(a.value)


class _BodyPrinter:
    """Prints the body of a function of the program, or of one that a forked child runs, into `into`. `registers` maps variables
    to registers. `parts` maps the variable of a launch with several results to their registers, which become a tuple only where
    one is needed; `known` has the registers of such tuples, constants and weights. The parameter `target` of methods is the
    register for a block's value; where it is None, the function returns the value."""

    def __init__(self, code: Bytecode, into: BytecodeFunction, params: Sequence[n.Var]) -> None:
        self.code = code
        self.holds = code.schedule.holds
        self.into = into
        self.registers: dict[str, int] = {}
        self.parts: dict[str, tuple[int, ...]] = {}
        self.known: dict[object, int] = {}
        self.wanted: dict[str, int] = {}  # a variable that is the value of a block -> the register for that value
        self.next = 0
        self.about = ""
        for p in params:
            self.registers[p.name] = self.fresh()

    # ---- instructions and registers

    def emit(self, op: Opcode, to: int = 0, a: int = 0, b: int = 0, c: int = 0, d: int = 0, *, tensors: bool = False) -> int:
        """Appends an instruction and returns its index."""
        self.into.instructions.append(Instruction(op, to, a, b, c, d, tensors, self.about))
        return len(self.into.instructions) - 1

    @property
    def here(self) -> int:
        return len(self.into.instructions)

    def land(self, jump: int) -> None:
        """Makes the jump with this index go to the next instruction that is emitted."""
        self.into.instructions[jump].d = self.here - jump

    def fresh(self) -> int:
        self.next += 1
        self.into.registers = max(self.into.registers, self.next)
        return self.next - 1

    def place(self, var: n.Var) -> int:
        """The register of a variable that is being bound: the target of the block whose value it is, or a new register."""
        target = self.wanted.pop(var.name, None)
        self.registers[var.name] = self.fresh() if target is None else target
        return self.registers[var.name]

    @contextmanager
    def scope(self) -> Iterator[None]:
        """At the end of the scope, variables that were bound in it are forgotten and their registers can be used again."""
        outer = dict(self.registers), dict(self.parts), dict(self.known), self.next, self.about
        yield
        self.registers, self.parts, self.known, self.next, self.about = outer

    # ---- atoms

    def atom(self, a: n.Atom) -> int:
        match a:
            case n.Var(name) if name in self.parts:
                parts = self.parts[name]
                if name not in self.known:
                    self.known[name] = self.fresh()
                    self.emit(Opcode.Tuple, self.known[name], len(parts), c=self.code.pool(parts))
                return self.known[name]
            case n.Var(name):
                return self.registers[name]
            case n.Weight(name):
                return self.once(Opcode.Weight, self.code.weights[name])
            case n.Lit():
                return self.constant(bits_of(a))

    def constant(self, bits: int) -> int:
        return self.once(Opcode.Const, self.code.constant(bits))

    def once(self, op: Opcode, a: int) -> int:
        if (op, a) not in self.known:
            self.known[op, a] = self.fresh()
            self.emit(op, self.known[op, a], a)
        return self.known[op, a]

    def as_float(self, a: n.Atom) -> int:
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

    # ---- blocks

    def block(self, block: s.Body, target: int | None) -> None:
        end, statements = block.end, block.statements
        name = end.value.name if isinstance(end, s.Give) and isinstance(end.value, n.Var) else ""
        if name and isinstance(last := statements[-1] if statements else None, s.Choose) and last.var.name == name:
            end, statements = last.branch, statements[:-1]
        elif name and target is not None:
            self.wanted[name] = target
        for statement in statements:
            self.statement(statement)
        match end:
            case s.Give(value):
                self.wanted.pop(name, None)
                register = self.atom(value)
                self.about = "result"
                if target is None:
                    self.emit(Opcode.Return, a=register)
                elif register != target:
                    self.emit(Opcode.Move, target, register)
            case s.IfBranch() | s.MatchBranch():
                self.branch(end, target)

    def branch(self, branch: s.IfBranch | s.MatchBranch, target: int | None) -> None:
        self.about = describe("", "If" if isinstance(branch, s.IfBranch) else "Match", branch.span)
        if isinstance(branch, s.IfBranch):
            skip = self.emit(Opcode.JumpUnless, a=self.atom(branch.cond))
            with self.scope():
                self.block(branch.then, target)
            end = None if target is None else self.emit(Opcode.Jump)
            self.land(skip)
            with self.scope():
                self.block(branch.orelse, target)
            if end is not None:
                self.land(end)
            return
        value, union = self.atom(branch.value), branch.value.type
        assert isinstance(union, DataT)
        cases = [c.name for c in self.code.schedule.program.datatypes[union.name].cases]
        ends = []
        if len(cases) > 1:
            table = self.code.pool([0] * len(cases))
            switch = self.emit(Opcode.Switch, a=value, c=table)
        for arm in branch.arms:
            with self.scope():
                if len(cases) > 1:
                    self.code.operands[table + cases.index(arm.case)] = self.here - switch
                for i, var in arm.fields:
                    self.about = describe(var.name, arm.case, branch.span)
                    self.emit(Opcode.Field, self.place(var), value, i, tensors=self.holds(var.type))
                self.block(arm.body, target)
                if target is not None and arm is not branch.arms[-1]:
                    ends.append(self.emit(Opcode.Jump))
        for end in ends:
            self.land(end)

    def statement(self, x: s.Statement) -> None:
        match x:
            case s.Assign(var, value):
                self.about = describe(var.name, type(value).__name__, value.span)
                self.let(var, value)
            case s.Record(var, launch):
                self.about = describe(var.name, "Launch", launch.span)
                self.record(x)
            case s.CallFunction(var, call):
                self.about = f"{describe(var.name, 'Call', call.span)} {call.function}"
                number = self.code.numbers[call.function]
                callee = self.code.functions[number]
                to, registers = self.place(var), [self.atom(call.args[i]) for i in callee.order]
                if callee.tensors and (start := self.start(x.depth)):
                    self.emit(Opcode.Later, later := self.fresh(), registers[0], *start)
                    registers[0] = later
                self.emit(Opcode.Call, to, number, c=self.code.pool(registers))
            case s.Choose(var, branch):
                to = self.place(var)
                with self.scope():
                    self.branch(branch, to)
            case s.MapLoop():
                self.about = describe(x.var.name, "Map", x.span)
                self.map(x)
            case s.FoldLoop() | s.WhileLoop():
                self.about = describe(x.var.name, "Fold" if isinstance(x, s.FoldLoop) else "Loop", x.span)
                self.loop(x)
            case s.Fork():
                self.fork(x)
            case s.Wait(tensor, _, span):
                self.about = describe("", "Wait", span)
                assert isinstance(tensor.type, TensorT)
                self.emit(Opcode.Wait, a=self.atom(tensor), b=tensor.type.width)
            case s.Enter(phase):
                self.emit(Opcode.Phase, a=phase)
            case s.Ready(var, of):
                old = self.atom(of)
                self.emit(Opcode.Fresh, self.place(var), old)
            case s.Pad(name, _, levels):
                old = self.atom(n.Var(name, INT))
                self.parts.pop(name, None)
                self.registers[name] = self.fresh()
                self.emit(Opcode.Padded, self.registers[name], old, d=levels)
            case s.NextSegment(name):
                self.emit(Opcode.NextSegment, self.registers[name], self.registers[name])

    # ---- values

    def let(self, var: n.Var, value: s.Pure) -> None:
        match value:
            case n.Field(n.Var() as whole, index) if whole.name in self.parts:
                self.registers[var.name] = self.parts[whole.name][index]
            case n.Op(op, args, attrs) if (at := is_view(op, tuple(a.type for a in args), dict(attrs))) is not None:
                register = self.atom(args[0])
                if at == 0 and var.name not in self.wanted:
                    self.registers[var.name] = register
                else:
                    self.emit(Opcode.View, self.place(var), register, d=at)
            case _:
                self.compute(value, self.place(var))

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
        registers = [self.atom(a) for a in parts]
        self.emit(op, to, len(registers), number, self.code.pool(registers))

    def op(self, op: str, args: Sequence[n.Atom], to: int) -> None:
        tables = [(self.code.weights[a.name], TensorT(a.type.shape[1:]).size) for a in args if isinstance(a, n.Weight)]
        if op == "scalar":
            self.emit(Opcode.Scalar, to, self.as_float(args[0]))
        elif op == "row":
            ((table, size),) = tables
            self.emit(Opcode.Row, to, self.atom(args[1]), table, args[0].type.shape[0], size)  # type: ignore[union-attr]
        elif op == "lookup":
            (table, size), other = tables
            self.emit(Opcode.Lookup, to, self.atom(args[0]), table, self.code.pool([size, *other]))
        else:
            raise AssertionError(f"{op} is neither in a kernel nor a view")

    def record(self, x: s.Record) -> None:
        unit, params = self.code.units.of(x.launch), x.launch.unit.params
        values = {p.name: a for p, a in zip(params, x.launch.args, strict=True) if p.mode is not Mode.SHARED}
        registers = [self.atom(values[p.name]) for p in (*unit.gathered, *unit.lists)]
        registers += self.start(x.at)
        self.about += f" {unit.name}"
        several = isinstance(x.var.type, TupleT)
        row = self.fresh() if several else self.place(x.var)
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
            self.emit(Opcode["Text" + op.removeprefix("text.").capitalize()], to, *map(self.atom, args))
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

    # ---- loops

    def element(self, item: n.Var, source: int) -> tuple[int, int]:
        """Begins a loop over a list: the index of the `Next`, a jump that lands after the loop, and the counter's register."""
        index = self.fresh()
        self.emit(Opcode.Const, index, self.code.constant(-1))
        return self.emit(Opcode.Next, self.place(item), source, index, tensors=self.holds(item.type)), index

    def map(self, x: s.MapLoop) -> None:
        to = self.place(x.var)
        with self.scope():
            source = self.atom(x.iterable)
            if x.waits:
                branch = self.child(x.body, to, x.captures, x.item)
                self.code.branches.append(branch)
                self.emit(Opcode.ForkMap, to, source, c=len(self.code.branches) - 1, tensors=self.holds(x.item.type))
                return
            self.emit(Opcode.ListLike, to, source)
            head, index = self.element(x.item, source)
            item = self.fresh()
            self.block(x.body, item)
            self.emit(Opcode.Store, to, item, index)
            self.emit(Opcode.Jump, d=head - self.here)
            self.land(head)

    def loop(self, x: s.FoldLoop | s.WhileLoop) -> None:
        to = self.place(x.var)
        with self.scope():
            source = self.atom(x.iterable) if isinstance(x, s.FoldLoop) else 0
            registers = []
            for start in x.init:
                first = self.atom(start.value)
                registers.append(self.fresh())
                self.emit(Opcode.Move, registers[-1], first)
            self.registers.update((v.name, register) for v, register in zip(x.vars, registers, strict=True))
            head = leave = self.element(x.item, source)[0] if isinstance(x, s.FoldLoop) else self.here
            with self.scope():
                if isinstance(x, s.WhileLoop):
                    self.block(x.cond, condition := self.fresh())
                    leave = self.emit(Opcode.JumpUnless, a=condition)
                self.block(x.body, None)
                self.rebind(x.vars, registers, x.body.end)
            self.emit(Opcode.Jump, d=head - self.here)
            self.land(leave)
            self.emit(Opcode.Tuple, to, len(registers), c=self.code.pool(registers))

    def rebind(self, variables: Sequence[n.Var], registers: Sequence[int], end: object) -> None:
        """Gives a loop's variables their next values. One that is another's next value is saved before it is overwritten."""
        if isinstance(end, s.NextOf):
            whole = self.atom(end.whole.value)
            for i, (v, register) in enumerate(zip(variables, registers, strict=True)):
                self.emit(Opcode.Component, register, whole, i, tensors=self.holds(v.type))
            return
        assert isinstance(end, s.Next)
        values = [self.atom(v.value) for v in end.values]
        changing = [(to, a) for to, a in zip(registers, values, strict=True) if to != a]
        targets = {to for to, _ in changing}
        saved = {}
        for _, a in changing:
            if len(changing) > 1 and a in targets and a not in saved:
                saved[a] = self.fresh()
                self.emit(Opcode.Move, saved[a], a)
        for to, a in changing:
            self.emit(Opcode.Move, to, saved.get(a, a))

    # ---- waiting

    def fork(self, x: s.Fork) -> None:
        registers = [self.fresh() for _ in x.branches]
        branches = [self.child(b.body, to, b.captures) for b, to in zip(x.branches, registers, strict=True)]
        self.code.branches += branches
        self.about = describe(", ".join(b.var.name for b in x.branches), "Fork")
        self.emit(Opcode.Fork, c=len(self.code.branches) - len(branches), d=len(branches))
        self.registers.update((b.var.name, register) for b, register in zip(x.branches, registers, strict=True))

    def child(self, body: s.Body, to: int, captures: Sequence[n.Var], *item: n.Var) -> ForkedChild:
        """Adds the function that a forked child runs. Its parameters are `captures` and, for a map, the element of the list."""
        operands = tuple(self.atom(v) for v in captures)
        child = BytecodeFunction(self.into.name, self.into.span, [], 0)
        self.code.functions.append(child)
        number = len(self.code.functions) - 1
        _BodyPrinter(self.code, child, (*captures, *item)).block(body, None)
        return ForkedChild(number, operands, to)


def describe(name: str, what: str, span: Span = NOWHERE) -> str:
    """The comment of an instruction: the variable that it computes, the IR node, and the line of the source."""
    where = f", {PurePath(span.file).name}:{span.line}" if span.line else ""
    return f"{name}: {what}{where}" if name else f"{what}{where}"
