"""Prints a schedule as bytecode for the interpreter in `runtime/vm` (paper: the Relay VM that AOT compilation is measured
against). `functions.py` prints the same schedule as C++.

The interpreter is a register machine. A register holds a value and its depth: the first level at which the value's tensors can
be used, or 0 if it has none. A variable has a register of its own while it is in scope. The depth of a result follows from the
operands'; bytecode names a depth only where the schedule has another: static depths, later starts, pads and segments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePath

from backends.acrobat.codegen.bytecode_values import ValuePrinter
from backends.acrobat.codegen.instructions import Bytecode, BytecodeFunction, ForkedChild, Opcode
from backends.acrobat.codegen.units import Units
from backends.acrobat.core.span import NOWHERE, Span
from backends.acrobat.core.types import INT, DataT, TensorT
from backends.acrobat.ir import nodes as n
from backends.acrobat.schedule import nodes as s


def bytecode(schedule: s.Schedule, units: Units) -> Bytecode:
    """The bytecode of a schedule, whose launches are those of `units`."""
    code = Bytecode(schedule, units)
    for f, into in zip(schedule.functions.values(), tuple(code.functions), strict=True):
        _BodyPrinter(code, into, [f.params[i] for i in into.order]).body(f.body, None)
    return code


class _BodyPrinter(ValuePrinter):
    """Prints the body of a function of the program, or of one that a forked child runs. The parameter `target` of
    methods is the register for a body's value; where it is None, the function returns the value."""

    # ---- instructions and registers

    def land(self, jump: int) -> None:
        """Makes the jump with this index go to the next instruction that is emitted."""
        self.into.instructions[jump].d = self.here - jump

    @contextmanager
    def scope(self) -> Iterator[None]:
        """At the end of the scope, variables that were bound in it are forgotten and their registers can be used again."""
        outer = dict(self.registers), dict(self.parts), dict(self.register_of), self.next, self.about
        yield
        self.registers, self.parts, self.register_of, self.next, self.about = outer

    # ---- bodies

    def body(self, body: s.Body, target: int | None) -> None:
        """Prints a body, whose value goes to the register `target` or, where that is None, is returned."""
        end, statements = body.end, body.statements
        name = end.value.name if isinstance(end, s.Give) and isinstance(end.value, n.Var) else ""
        if name and isinstance(last := statements[-1] if statements else None, s.Choose) and last.var.name == name:
            end, statements = last.branch, statements[:-1]
        elif name and target is not None:
            self.target_of[name] = target
        for statement in statements:
            self.statement(statement)
        match end:
            case s.Give(value):
                self.target_of.pop(name, None)
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
                self.body(branch.then, target)
            end = None if target is None else self.emit(Opcode.Jump)
            self.land(skip)
            with self.scope():
                self.body(branch.orelse, target)
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
                    self.emit(Opcode.Field, self.register_for(var), value, i, tensors=self.holds(var.type))
                self.body(arm.body, target)
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
                to, registers = self.register_for(var), [self.atom(call.args[i]) for i in callee.order]
                if callee.tensors and (start := self.start(x.depth)):
                    self.emit(Opcode.Later, later := self.fresh(), registers[0], *start)
                    registers[0] = later
                self.emit(Opcode.Call, to, number, c=self.code.pool(registers))
            case s.Choose(var, branch):
                to = self.register_for(var)
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
                self.emit(Opcode.Fresh, self.register_for(var), old)
            case s.Pad(name, _, levels):
                old = self.atom(n.Var(name, INT))
                self.parts.pop(name, None)
                self.registers[name] = self.fresh()
                self.emit(Opcode.Padded, self.registers[name], old, d=levels)
            case s.NextSegment(name):
                self.emit(Opcode.NextSegment, self.registers[name], self.registers[name])

    # ---- loops

    def element(self, item: n.Var, source: int) -> tuple[int, int]:
        """Begins a loop over the list in the register `source`. Returns the index of the instruction `Next`, which jumps
        past the loop when there are no more elements, and the register of the counter."""
        index = self.fresh()
        self.emit(Opcode.Const, index, self.code.constant(-1))
        return self.emit(Opcode.Next, self.register_for(item), source, index, tensors=self.holds(item.type)), index

    def map(self, x: s.MapLoop) -> None:
        to = self.register_for(x.var)
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
            self.body(x.body, item)
            self.emit(Opcode.Store, to, item, index)
            self.emit(Opcode.Jump, d=head - self.here)
            self.land(head)

    def loop(self, x: s.FoldLoop | s.WhileLoop) -> None:
        to = self.register_for(x.var)
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
                    self.body(x.cond, condition := self.fresh())
                    leave = self.emit(Opcode.JumpUnless, a=condition)
                self.body(x.body, None)
                self.rebind(x.vars, registers, x.body.end)
            self.emit(Opcode.Jump, d=head - self.here)
            self.land(leave)
            self.emit(Opcode.Tuple, to, len(registers), c=self.code.pool(registers))

    def rebind(self, variables: Sequence[n.Var], registers: Sequence[int], end: object) -> None:
        """Gives a loop's variables their next values. One that is another's next value is saved before it is overwritten."""
        if isinstance(end, s.NextOf):
            next_values = self.atom(end.whole.value)
            for i, (v, register) in enumerate(zip(variables, registers, strict=True)):
                self.emit(Opcode.Component, register, next_values, i, tensors=self.holds(v.type))
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
        _BodyPrinter(self.code, child, (*captures, *item)).body(body, None)
        return ForkedChild(number, operands, to)


def describe(name: str, node: str, span: Span = NOWHERE) -> str:
    """The comment of an instruction: the variable that it computes, the IR node, and the line of the source."""
    line = f", {PurePath(span.file).name}:{span.line}" if span.line else ""
    return f"{name}: {node}{line}" if name else f"{node}{line}"
