"""The generated translation unit of a model that is interpreted: its units, and its functions and types as tables."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from backends.acrobat.codegen.bytecode import bytecode
from backends.acrobat.codegen.cpp import Types, c_string
from backends.acrobat.codegen.descriptors import Descriptors
from backends.acrobat.codegen.instructions import Bytecode, BytecodeFunction, Instruction
from backends.acrobat.codegen.module import PREFIX, classes_of, model_table, opening, source, unit_section
from backends.acrobat.codegen.outside import Outside
from backends.acrobat.codegen.unit_writer import UnitWriter
from backends.acrobat.codegen.units import UnitCode, Units
from backends.acrobat.schedule.nodes import Schedule


class VmModule:
    """The translation unit of an interpreted model. Its attributes are those of `ModelSource` (module.py)."""

    def __init__(self, schedule: Schedule, units: Units, unit_writer: UnitWriter, prefix: str = PREFIX) -> None:
        program = schedule.program
        self.includes = ("model.h", *unit_writer.includes, "vm/interpreter.h")
        code = bytecode(schedule, units)
        outside = Outside.of(program)
        descriptors = Descriptors(Types(program.datatypes), outside, classes_of(program))
        result, instance = descriptors.result(outside.result), descriptors.of(outside.instance)
        self.weights = list(code.weights)
        self.outputs = descriptors.tensors
        records = [f"thunk_{unit.name}" for unit in units] or ["nullptr"]
        self.body = "\n".join(
            [
                *opening(unit_writer),
                *unit_section(units, unit_writer),
                "// ---- the same of registers",
                *map(thunk, units),
                f"constexpr vm::Record kRecord[] = {{{', '.join(records)}}};",
                "",
                "// ---- the program",
                "using vm::Kind, vm::Opcode;",
                "",
                *program_tables(code),
                "",
                "// ---- types of instances and results",
                *descriptors.text(),
                "",
                "constexpr vm::Code kCode = {",
                "    kInstructions, kOperands, kConstants, kTables, kFunctions, kBranches, kRecord, kTypes,",
                f"    {code.entry}, {instance}, {result},",
                "};",
                "",
                *model_table(schedule, units, self.outputs, unit_writer.maker, INTERPRETED, prefix),
            ]
        )
        self.packed = list(unit_writer.packed)
        self.source = source(f"The model {program.entry}, to be interpreted.", self.includes, self.body)


INTERPRETED = (
    ".instance_size = sizeof(vm::Slot)",
    ".result_size = sizeof(vm::Register)",
    ".read = vm::read_instance",
    ".forward = vm::run_instance",
    ".start = vm::start_instance",
    ".finish = vm::finish_instance",
    ".collect = vm::collect_result",
    ".build = vm::build_result",
    ".code = &kCode",
)
"""The last entries of the `Model` (runtime/session.h) of a program that is interpreted."""


def thunk(unit: UnitCode) -> str:
    """A wrapper of `record_<unit>` with the signature by which the interpreter calls it (`Record` in runtime/vm/code.h)."""
    args = [f"r[args[{i}]].value" for i in range(len(unit.gathered))]
    args += [f"vm::items(r[args[{len(unit.gathered) + i}]].value)" for i in range(len(unit.lists))]
    return (
        f"static Tensor thunk_{unit.name}(Context& cx, int64_t depth, [[maybe_unused]] const vm::Register* r, "
        f"[[maybe_unused]] const int32_t* args) {{\n    return record_{unit.name}({', '.join(['cx', 'depth', *args])});\n}}"
    )


def program_tables(code: Bytecode) -> list[str]:
    """The C++ tables of instructions, their operands, constants, functions and forked children (`vm::Branch`)."""
    instructions, functions, first = [], [], 0
    for i, f in enumerate(code.functions):
        line = f", {PurePath(f.span.file).name}:{f.span.line}" if f.span.line else ""
        branch = " (a branch)" if i >= len(code.numbers) else ""
        instructions += [f"    // function {i}: {f.name}{branch}{line}"]
        instructions += [f"    {entry(x)},  // {k} {x.about}" for k, x in enumerate(f.instructions)]
        functions.append(function(f, first))
        first += len(f.instructions)
    branches, operands = [], list(code.operands)
    for b in code.branches:
        branches.append(f"    {{{b.function}, {len(operands)}, {len(b.operands)}, {b.to}}},")
        operands += b.operands
    return [
        *("constexpr vm::Instruction kInstructions[] = {", *instructions, "};"),
        *("constexpr int32_t kOperands[] = {", *table_lines(operands or [0]), "};"),
        *("constexpr vm::Slot kConstants[] = {", *table_lines(code.constants or [0]), "};"),
        *("constexpr vm::Slot kTables[] = {", *table_lines(code.tables or [0]), "};"),
        *("constexpr vm::Function kFunctions[] = {", *functions, "};"),
        *("constexpr vm::Branch kBranches[] = {", *(branches or ["    {0, 0, 0, 0},"]), "};"),
    ]


def entry(x: Instruction) -> str:
    """An instruction as an entry of the table of instructions."""
    return f"{{Opcode::{x.op.name}, {int(x.tensors)}, {x.to}, {x.a}, {x.b}, {x.c}, {x.d}}}"


def function(f: BytecodeFunction, first: int) -> str:
    """A function as an entry of the table of functions; `first` is the number of its first instruction."""
    return f"    {{{c_string(f.name)}, {first}, {f.registers}, {len(f.order)}, {f.tensors}}},"


def table_lines(values: Iterable[int], width: int = 24) -> list[str]:
    """Numbers as lines of a C++ table, `width` in each."""
    numbers = [f"{v}" if v > -(2**63) else "INT64_MIN" for v in values]
    return [f"    {', '.join(numbers[k : k + width])}," for k in range(0, len(numbers), width)]
