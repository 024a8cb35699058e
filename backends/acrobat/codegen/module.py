"""Puts the C++ translation unit of a model together: structs, units, functions, readers, writers and the model's table."""

from __future__ import annotations

from collections.abc import Sequence

from backends.acrobat.codegen.copies import Copies
from backends.acrobat.codegen.cpp import Identifiers, Types, c_string
from backends.acrobat.codegen.functions import FunctionWriter
from backends.acrobat.codegen.outside import Outside, ResultTensor
from backends.acrobat.codegen.readers import Readers
from backends.acrobat.codegen.unit_writer import UnitWriter
from backends.acrobat.codegen.units import Units
from backends.acrobat.codegen.writers import Writers
from backends.acrobat.core.types import IDENTITY
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.visitor import walk
from backends.acrobat.schedule.nodes import HostFunction, Schedule


def collect_units(program: n.Program, merge: bool = True) -> Units:
    """All units that the program launches, in the order of its functions; `merge` is the parameter of `Units`."""
    units = Units(merge)
    for f in program.functions.values():
        for node in walk(f.body):
            if isinstance(node, n.Launch):
                units.of(node)
    return units


def classes_of(program: n.Program) -> list[tuple[str, str]]:
    """(type name, case name) of every dataclass, in the order in which `Session::classes` has the Python classes."""
    return [(d.name, c.name) for d in program.datatypes.values() if not d.optional for c in d.cases]


PREFIX = "acrobat"
"""The function of a shared object that returns its model is called `<prefix>_model`; this is the usual prefix."""


class ModelSource:
    """The translation unit of a model that is compiled ahead of time. `source` is its C++ text and `body` what follows the
    `includes` in it; `packed` lists a (weight, JSON of its packing) for each packed weight that the loader must supply,
    `weights` names those that host code reads, in the order of `Context::weights`, `outputs` the types of result tensors."""

    def __init__(self, schedule: Schedule, units: Units, unit_writer: UnitWriter, prefix: str = PREFIX) -> None:
        program = schedule.program
        self.includes = ("model.h", *unit_writer.includes)
        types, classes, outside = Types(program.datatypes), classes_of(program), Outside.of(program)
        readers, writers = Readers(types, outside, classes), Writers(types, outside, classes)
        names = Identifiers()
        function_names = {f: names.fresh(f) for f in program.functions}
        functions = FunctionWriter(schedule, types, units)
        written = {name: functions.write(f) for name, f in schedule.functions.items()}
        self.weights = list(functions.weights)
        recorders = [unit_writer.recorder(code) for code in units]
        copies = Copies(written, function_names, [code.name for code in units], recorders, program.entry)
        entry = schedule.functions[program.entry]
        struct = program_struct(entry, function_names[program.entry], types, outside, readers, writers)
        self.outputs: list[ResultTensor] = writers.tensors
        self.body = "\n".join(
            [
                *opening(unit_writer),
                "// ---- structures",
                types.declarations(),
                "",
                *unit_section(units, unit_writer),
                "// ---- the program",
                "namespace model {",
                "",
                *copies.recorders,
                *copies.tables,
                *copies.heads,
                "",
                *copies.bodies,
                "}  // namespace model",
                "",
                "// ---- instances from Python",
                readers.text,
                "",
                "// ---- results to Python",
                writers.text,
                "",
                *struct,
                *model_table(schedule, units, self.outputs, unit_writer.maker, COMPILED, prefix),
            ]
        )
        self.packed = list(unit_writer.packed)
        self.source = source(f"The model {program.entry}, compiled ahead of time.", self.includes, self.body)


def program_struct(
    entry: HostFunction, name: str, types: Types, outside: Outside, readers: Readers, writers: Writers
) -> list[str]:
    """The struct `Program` that the runtime is instantiated with: how an instance is read, run and fetched. `name` is the C++
    name of the function `entry`."""
    read = readers.read(outside.instance, "o")
    collect, build = writers.collect(outside.result, "r"), writers.build(outside.result, "r")
    result, instance = types.cpp(entry.result), types.cpp(entry.params[0].type)
    return [
        "struct Program {",
        f"    using Instance = {instance};",
        f"    using Result = {result};",
        f"    static constexpr bool waits = {str(entry.waits).lower()};",
        f"    static Instance read([[maybe_unused]] Session& s, PyObject* o) {{ return {read}; }}",
        f"    static {f'Task<{result}>' if entry.waits else result} forward(Session& s, const Instance& instance) {{",
        "        static int64_t depth;  // nobody asks for the depth of a whole instance",
        "        depth = 0;",
        f"        return model::{name}(s, instance, depth);",
        "    }",
        "    static void collect(Session& s, std::vector<Outgoing>& out, const Result& r) {",
        f"        (void)s, (void)out, (void)r;  {collect}",
        "    }",
        "    static PyObject* build(Session& s, std::vector<Outgoing>& out, const Result& r) {",
        f"        (void)s, (void)out, (void)r;  return {build};",
        "    }",
        "};",
        "",
    ]


def source(title: str, includes: Sequence[str], body: str) -> str:
    """The text of a translation unit: the title as a comment, the includes, and the body."""
    lines = [f"// {title} Generated: do not edit.", "#include <cmath>", "#include <tuple>", ""]
    return "\n".join([*lines, *(f'#include "{name}"' for name in includes), "", body])


def opening(writer: UnitWriter) -> list[str]:
    """The first lines of a body, up to the opening of the anonymous namespace that everything of the model is in."""
    return [*writer.opening(), "", "using namespace acrobat;", "", "namespace {", "", *writer.definitions()]


def unit_section(units: Units, writer: UnitWriter) -> list[str]:
    """The functions that record and run calls of the units, and the table of the units."""
    functions = "\n\n".join(f"{writer.record(code)}\n\n{writer.run(code)}" for code in units)
    return ["// ---- units of scheduling", functions, "", writer.table(units), ""]


def model_table(
    schedule: Schedule, units: Units, outputs: Sequence[ResultTensor], maker: str, functions: Sequence[str], prefix: str
) -> list[str]:
    """The end of a body: the model's `Model` (runtime/session.h), of which `functions` are the last entries and `maker` names
    the function that makes the device, and the exported function `<prefix>_model` that returns it."""
    program = schedule.program
    lines, fields = ["// ---- what the runtime must know"], []
    for i, (datatype, case) in enumerate(classes_of(program)):
        names = "".join(f"{c_string(name)}, " for name, _ in program.datatypes[datatype].case(case).fields if name != IDENTITY)
        lines.append(f"static const char* const kFields_{i}[] = {{{names}nullptr}};")
        fields.append(f"kFields_{i}")
    numbers = {"unit_count": len(units), "phases": schedule.phases, "static_levels": schedule.static_levels}
    return [
        *lines,
        f"static const char* const* const kFields[] = {{{', '.join(fields) or 'nullptr'}}};",
        f"static const ResultType kOutgoing[] = {{{', '.join(t.cpp for t in outputs) or '{0, 0, 0, false}'}}};",
        "static const Model kModel = {",
        f"    .waits = {str(schedule.functions[program.entry].waits).lower()},",
        f"    .device = {maker},",
        "    .units = kUnits,",
        *(f"    .{name} = {value}," for name, value in numbers.items()),
        "    .fields = kFields,",
        "    .outgoing = kOutgoing,",
        f"    .outgoing_count = {len(outputs)},",
        *(f"    {line}," for line in functions),
        "};",
        "",
        "}  // namespace",
        "",
        f"ACROBAT_EXPORT const acrobat::Model* {prefix}_model() {{ return &kModel; }}",
        "",
    ]


COMPILED = (
    ".instance_size = sizeof(Program::Instance)",
    ".result_size = sizeof(Program::Result)",
    *(f".{name} = Functions<Program>::{name}" for name in ("read", "forward", "start", "finish", "collect", "build")),
    ".code = nullptr",
)
"""The last entries of the `Model` (runtime/session.h) of a program that is compiled ahead of time."""
