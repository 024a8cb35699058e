"""The generated translation unit of a model: structs, units, functions, readers and writers, in the order a reader wants
them."""

from __future__ import annotations

from collections.abc import Mapping

from backends.acrobat.codegen.cpp import Names, Types, c_string
from backends.acrobat.codegen.functions import Facts, FunctionWriter
from backends.acrobat.codegen.readers import Readers
from backends.acrobat.codegen.units import Request, Units, UnitWriter
from backends.acrobat.codegen.writers import Writers
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.types import TensorT
from backends.acrobat.ir.visitor import walk
from backends.acrobat.kernels.emit import Emitted


def collect_units(program: n.Program) -> Units:
    """All units the program launches, in the order of the functions."""
    units = Units()
    for f in program.functions.values():
        for node in walk(f.body):
            if isinstance(node, n.Launch):
                units.of(node)
    return units


def classes_of(program: n.Program) -> list[tuple[str, str]]:
    """(type, case) of every dataclass, in the order the loader hands the Python classes over."""
    return [(d.name, c.name) for d in program.datatypes.values() if not d.optional for c in d.cases]


DOOR = "acrobat"
"""What the names of a shared object's functions begin with."""

INCLUDES = ("#include <cmath>", "#include <tuple>", "", '#include "boundary.h"', "")


class Module:
    """`source` is the C++ text, `body` what it has after the includes; `packed` lists the (kernel symbol, parameter, weight)
    whose packed forms the loader must supply, `weights` the names of the weights in the order of `Context::weights`,
    `outputs` the types of the result tensors."""

    def __init__(
        self, program: n.Program, facts: Facts, units: Units, emitted: Mapping[Request, Emitted], door: str = DOOR
    ) -> None:
        types = Types(program.datatypes)
        self.classes = classes_of(program)
        self.weights = list(program.weights)
        self.units = units
        writer = UnitWriter(emitted)
        readers, writers = Readers(types, self.classes), Writers(types, self.classes)
        names = Names()
        function_names = {f: names.fresh(f) for f in program.functions}
        functions = FunctionWriter(program, types, units, facts, {w: i for i, w in enumerate(self.weights)}, function_names)
        entry = program.functions[program.entry]
        bodies = [functions.write(f) for f in program.functions.values()]
        heads = [functions.signature(f) + ";" for f in program.functions.values()]
        read = readers.read(entry.params[0].type, "o")
        collect, build = writers.collect(entry.result, "r"), writers.build(entry.result, "r")
        declarations = {emitted[r].symbol: emitted[r].declaration for r in units.requests()}
        runs = "\n\n".join(f"{writer.record(code)}\n\n{writer.run(code)}" for code in units)
        waits = program.entry in facts.waits
        result, instance = types.cpp(entry.result), types.cpp(entry.params[0].type)
        self.outputs: list[TensorT] = writers.tensors
        self.packed = list(writer.packed)
        self.body = "\n".join(
            [
                "// ---- kernels",
                'extern "C" {',
                *declarations.values(),
                "}",
                "",
                "using namespace acrobat;",
                "",
                "namespace {",
                "",
                "// ---- structures",
                types.declarations(),
                "",
                "// ---- units of scheduling",
                runs,
                "",
                writer.table(units),
                "",
                "// ---- the program",
                "namespace model {",
                "",
                *heads,
                "",
                *bodies,
                "}  // namespace model",
                "",
                "// ---- instances from Python",
                readers.text,
                "",
                "// ---- results to Python",
                writers.text,
                "",
                "struct Model {",
                f"    using Instance = {instance};",
                f"    using Result = {result};",
                f"    static constexpr bool waits = {'true' if waits else 'false'};",
                "    static constexpr const Unit* units = kUnits;",
                f"    static constexpr int unit_count = {len(units)};",
                f"    static constexpr int phases = {facts.phases};",
                f"    static constexpr int64_t static_levels = {facts.static_levels};",
                "    static std::vector<const char*> fields(size_t cls) {",
                "        switch (cls) {",
                *(f"            case {i}: return {{{self._fields(program, c)}}};" for i, c in enumerate(self.classes)),
                "        }",
                "        return {};",
                "    }",
                f"    static Instance read([[maybe_unused]] Session& s, PyObject* o) {{ return {read}; }}",
                f"    static {f'Task<{result}>' if waits else result} forward(Session& s, const Instance& instance) {{",
                "        static int64_t depth;  // nobody asks for the depth of a whole instance",
                "        depth = 0;",
                f"        return model::{function_names[program.entry]}(s, instance, depth);",
                "    }",
                "    static std::vector<Outgoing> outgoing() {",
                f"        std::vector<Outgoing> out({len(writers.tensors)});",
                *(f"        out[{i}].elements = {width(t)};" for i, t in enumerate(writers.tensors)),
                "        return out;",
                "    }",
                "    static void collect([[maybe_unused]] std::vector<Outgoing>& out, const Result& r) {",
                f"        (void)r;  {collect}",
                "    }",
                "    static PyObject* build(Session& s, std::vector<Outgoing>& out, const Result& r) {",
                f"        (void)s, (void)out, (void)r;  return {build};",
                "    }",
                "};",
                "",
                "}  // namespace",
                "",
                f"ACROBAT_EXPORT(Model, {door})",
                "",
            ]
        )
        title = f"// The model {program.entry}, compiled ahead of time. Generated: do not edit."
        self.source = "\n".join([title, *INCLUDES, self.body])

    @staticmethod
    def _fields(program: n.Program, cls: tuple[str, str]) -> str:
        return ", ".join(c_string(name) for name, _ in program.datatypes[cls[0]].case(cls[1]).fields)


def width(type: TensorT) -> int:
    """4-byte elements of one tensor, unpadded."""
    return type.size * (2 if type.dtype == "int64" else 1)
