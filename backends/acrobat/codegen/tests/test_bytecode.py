"""The bytecode: one list of opcodes in Python and C++, and what functions become."""

from __future__ import annotations

import re

from backends.acrobat.analyses.facts import ScheduleFacts
from backends.acrobat.codegen.build import RUNTIME
from backends.acrobat.codegen.bytecode import bytecode
from backends.acrobat.codegen.instructions import Bytecode, BytecodeFunction, Opcode
from backends.acrobat.codegen.units import Units
from backends.acrobat.ir.tests.reader import read_program
from backends.acrobat.ir.verifier import verify
from backends.acrobat.schedule.lower import lower


def bytecode_of(text: str, facts: ScheduleFacts | None = None) -> Bytecode:
    program = read_program(text)
    verify(program)
    return bytecode(lower(program, facts or ScheduleFacts()), Units())


def shown(f: BytecodeFunction) -> list[tuple[object, ...]]:
    """(opcode, to, a, b, c, d) without zeros at the end."""
    rows = []
    for x in f.instructions:
        row: list[object] = [x.op, x.to, x.a, x.b, x.c, x.d]
        while row[-1] == 0 and len(row) > 1:
            row.pop()
        rows.append(tuple(row))
    return rows


def ops(f: BytecodeFunction) -> list[Opcode]:
    return [x.op for x in f.instructions]


def targets(f: BytecodeFunction, op: Opcode) -> list[Opcode]:
    """The opcodes of the instructions to which the jumps with opcode `op` go."""
    return [f.instructions[k + x.d].op for k, x in enumerate(f.instructions) if x.op is op]


def test_opcodes_are_those_of_the_interpreter_in_its_order() -> None:
    text = (RUNTIME / "vm" / "code.h").read_text()
    table = text[text.index("#define ACROBAT_OPCODES") : text.index("enum class Opcode")]
    assert re.findall(r"X\((\w+)\)", table.split("\n", 1)[1]) == [op.name for op in Opcode]
    text = (RUNTIME / "vm" / "interpreter.cpp").read_text()
    bodies = re.findall(r"^ *(?:(?:GIVES|GIVES_LIST|GIVES_AT|BINARY|UNARY|MIXED)\((\w+),|(\w+):(?: \{)?$)", text, re.MULTILINE)
    assert sorted(a or b for a, b in bodies if (a or b) in Opcode.__members__) == sorted(Opcode.__members__)


def test_constants_stand_once_and_branches_return() -> None:
    (f,) = (
        code := bytecode_of(
            """
entry forward
def forward(n: int) -> int
  positive: bool = host gt(n, 3)
  more: int = host add(n, 3)
  chosen: int = if positive
    host mul(more, 3)
  else
    more
  host neg(chosen)
"""
        )
    ).functions
    assert list(code.constants) == [3]
    assert shown(f) == [
        (Opcode.Const, 2),
        (Opcode.LtInt, 1, 2),
        (Opcode.AddInt, 3, 0, 2),
        (Opcode.JumpUnless, 0, 1, 0, 0, 3),
        (Opcode.MulInt, 4, 3, 2),
        (Opcode.Jump, 0, 0, 0, 0, 2),
        (Opcode.Move, 4, 3),
        (Opcode.NegInt, 5, 4),
        (Opcode.Return, 0, 5),
    ]
    assert f.registers == 6


def test_arms_share_registers() -> None:
    code = bytecode_of(
        """
entry forward
type D = Empty() | Full(n: int, m: int)
def forward(d: D) -> int
  match d
    Empty()
      0
    Full(n: int, m: int)
      more: int = host add(m, m)
      host add(more, m)
"""
    )
    (f,) = code.functions
    assert code.operands == [1, 3]  # from the switch to the arms
    assert shown(f) == [
        (Opcode.Switch,),
        (Opcode.Const, 1),
        (Opcode.Return, 0, 1),
        (Opcode.Field, 1, 0, 1),
        (Opcode.AddInt, 2, 1, 1),
        (Opcode.AddInt, 3, 2, 1),
        (Opcode.Return, 0, 3),
    ]


def test_loop_variables_change_together() -> None:
    code = bytecode_of(
        """
entry forward
def forward(ns: list[int]) -> (int, int)
  fold n: int in ns with a: int = 0, b: int = 1
    c: int = host add(b, n)
    (b, c)
"""
    )
    (f,) = code.functions
    body = [row for row in shown(f) if row[0] in (Opcode.AddInt, Opcode.Move)][2:]
    (_, a, _), (_, b, c) = body[2], body[3]
    assert body == [
        (Opcode.AddInt, c, b, body[0][3]),
        (Opcode.Move, saved := body[1][1], b),
        (Opcode.Move, a, saved),
        (Opcode.Move, b, c),
    ]
    assert targets(f, Opcode.Next) == [Opcode.Tuple] and targets(f, Opcode.Jump) == [Opcode.Next]


KERNELS = """
entry forward
weight w: f32[4]
kernel one(x: gathered f32[4])
  y: f32[4] = tanh(x)
  return y
kernel two(x: gathered f32[4], w: shared f32[4])
  y: f32[4] = add(x, w)
  z: f32[4] = mul(x, w)
  return y, z
"""


def test_results_of_a_launch_become_a_tuple_where_one_is_needed() -> None:
    text = f"""{KERNELS}
def forward(x: f32[4]) -> f32[4]
  both: (f32[4], f32[4]) = launch two(x, @w)
  z: f32[4] = both[1]
  launch one(z)
"""
    (f,) = (code := bytecode_of(text, ScheduleFacts(static_depth={("forward", "both"): 3}, static_levels=4))).functions
    assert ops(f) == [Opcode.Launch, Opcode.View, Opcode.Launch, Opcode.Return]
    first, view, second, _ = f.instructions
    assert (first.b, first.d, second.b, second.d) == (0, 3, 1, -1)
    assert view.d == 16 and code.operands[second.c] == view.to
    (f,) = bytecode_of(
        text.replace("launch one(z)", "z")
        .replace("f32[4]\n  both", "(f32[4], f32[4])\n  both")
        .replace("  z: f32[4] = both[1]\n  z", "  both")
    ).functions
    assert ops(f) == [Opcode.Launch, Opcode.View, Opcode.Tuple, Opcode.Return]


def test_what_an_earlier_phase_computed_is_there() -> None:
    code = bytecode_of(
        f"""{KERNELS}
def forward(x: f32[4]) -> f32[4]
  a: f32[4] = launch one(x)
  b: f32[4] = launch one(a)
  c: f32[4] = launch one(a)
  launch one(c)
""",
        ScheduleFacts(phase={"a": 0, "b": 1, "c": 1}, phases=2),
    )
    (f,) = code.functions
    assert ops(f) == [Opcode.Launch, Opcode.Phase, Opcode.Fresh, *[Opcode.Launch] * 3, Opcode.Return]
    fresh = f.instructions[2]
    assert fresh.a == f.instructions[0].to
    assert [code.operands[x.c] for x in f.instructions[3:5]] == [fresh.to, fresh.to]


def test_parameters_with_tensors_come_first() -> None:
    code = bytecode_of(
        """
entry forward
def forward(x: f32[4]) -> f32[4]
  call f(7, x, 8, x)
def f(n: int, x: f32[4], m: int, y: f32[4]) -> f32[4]
  y
"""
    )
    forward, f = code.functions
    assert f.order == [1, 3, 0, 2] and f.tensors == 2
    call = forward.instructions[-2]
    assert call.op is Opcode.Call and code.operands[call.c : call.c + 4] == [0, 0, 2, 3]
    assert shown(f) == [(Opcode.Return, 0, 1)]


def test_branches_that_wait_are_forked() -> None:
    code = bytecode_of(
        f"""{KERNELS}
def forward(xs: list[f32[1]]) -> float
  a: f32[1] = host list.get(xs, 0)
  b: f32[1] = host list.get(xs, 1)
  left: float = call read(a, 2)
  right: float = call read(b, 3)
  all: list[float] = map x: f32[1] in xs
    call read(x, 4)
  size: int = host list.len(all)
  both: float = host add(left, right)
  host add(both, size)
def read(x: f32[1], n: int) -> float
  item x as float
""",
        ScheduleFacts(waits=frozenset({"forward", "read"})),
    )
    forward, read, *branches = code.functions
    assert [x.op for x in read.instructions] == [Opcode.Wait, Opcode.ReadFloat, Opcode.Return]
    # The map needs no result of the calls: it is the third of the group.
    fork = next(x for x in forward.instructions if x.op is Opcode.Fork)
    assert fork.d == 3 and len(branches) == 4
    assert Opcode.Call not in ops(forward)
    left, right, every = code.branches[fork.c : fork.c + 3]
    taken = [x.to for x in forward.instructions if x.op is Opcode.Get]
    assert [left.operands, right.operands] == [(taken[0],), (taken[1],)]
    assert [Opcode.Call in ops(code.functions[b.function]) for b in (left, right)] == [True, True]
    (inner,) = [x for x in code.functions[every.function].instructions if x.op is Opcode.ForkMap]
    assert code.branches[inner.c].operands == () and inner.tensors
    assert forward.instructions.index(fork) < ops(forward).index(Opcode.Size)
