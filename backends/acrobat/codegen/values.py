"""Prints the values of a schedule as C++: operands, depths, and what is computed without a branch, a loop or a call."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import count

from backends.acrobat.codegen.cpp import Identifiers, Types, identifier
from backends.acrobat.codegen.parts import CodeInParts, Cpp, Number, Part, RecordOfUnit, call_of, cpp, listed
from backends.acrobat.codegen.units import Units
from backends.acrobat.core.moves import view_displacement
from backends.acrobat.core.texts import TEXT
from backends.acrobat.core.types import FLOAT, INT, DataT, ListT, TensorT, TupleT, Type
from backends.acrobat.core.units import Mode
from backends.acrobat.ir import nodes as n
from backends.acrobat.schedule import nodes as s

INFIX = {"add": "+", "sub": "-", "mul": "*", "bitand": "&", "bitor": "|", "bitxor": "^"}
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
IN_ARENA = frozenset(("list.reverse", "list.order", "list.top", "list.concat", "list.append", "range", "zip", "enumerate"))
"""Operations that make a list, whose functions in the runtime take the arena for it first."""
PER_LINE = 12
"""Constants of a table in one line of C++."""


class ValueWriter:
    """Writes the values of one function after the other into `lines`. `codes` maps variables of the schedule to C++ expressions
    for their values, and `depths` maps those that have a depth to C++ expressions for it."""

    def __init__(self, schedule: s.Schedule, types: Types, units: Units) -> None:
        self.schedule = schedule
        self.types = types
        self.units = units
        self.weights = defaultdict[str, int](count().__next__)
        """The weights that host code reads, and their numbers in `Context::weights`. Kernels read the others, packed."""
        self.codes: dict[str, Cpp] = {}
        self.depths: dict[str, Cpp] = {}
        self.lines: list[Cpp] = []
        self.indent = 1
        self.local = Identifiers()
        self.waiting = False
        self.mentions: Counter[str] = Counter()

    def line(self, *pieces: CodeInParts | Part) -> None:
        """Appends a line of these pieces, indented as the place it stands in."""
        self.lines.append(cpp("    " * self.indent, *pieces))

    def atom(self, a: n.Atom) -> Cpp:
        """The C++ expression for an operand."""
        match a:
            case n.Var(name):
                return self.codes[name]
            case n.Weight(name):
                return cpp("cx.weights[", Number(self.weights[name]), "]")
            case n.Lit(value) if isinstance(value, bool):
                return "true" if value else "false"
            case n.Lit(value) if a.type == FLOAT:
                return repr(float(value)).replace("inf", "INFINITY").replace("nan", "NAN")
            case n.Lit(value):
                return f"int64_t{{{value}}}" if value > -(2**63) else f"(int64_t{{{value + 1}}} - 1)"

    def atoms(self, atoms: Sequence[n.Atom]) -> Cpp:
        return listed(map(self.atom, atoms))

    def depth(self, depth: s.Depth) -> Cpp:
        """The C++ expression for a depth."""
        match depth:
            case s.Of(var):
                return self.depths[var]
            case s.Arguments():
                return "depth_in"
            case s.StaticDepth(level):
                return cpp("cx.stage->at(", Number(level), ")")
            case s.Start(segment, levels):
                return f"cx.stage->start({segment or ''}){f' + {levels}' if levels else ''}"
            case s.Join(depths):
                return self.latest([*map(self.depth, depths)])

    @staticmethod
    def latest(depths: Sequence[Cpp]) -> Cpp:
        """The C++ expression for the largest of several depths. No depth is below 0, which is an `int` in C++ and so not of the
        others' type."""
        match [depth for depth in depths if depth != "0"]:
            case []:
                return "0"
            case [a]:
                return a
            case [a, b]:
                return call_of("std::max", (a, b))
            case several:
                return cpp("std::max({", listed(several), "})")

    def declare(self, var: n.Var) -> tuple[str, str]:
        """Enters fresh C++ names for a variable and its depth, and returns both; the second is "" if it has no depth."""
        name = self.codes[var.name] = self.local.fresh(var.name)
        if not self.schedule.holds(var.type):
            return name, ""
        depth = self.depths[var.name] = self.local.fresh(f"{name}_depth")
        return name, depth

    def define(self, var: n.Var, code: Cpp, depth: Cpp = "") -> None:
        """Declares a C++ constant for `var` with the value `code`, and one with the value `depth` if `var` has a depth."""
        name, own = self.declare(var)
        self.line(f"{self.types.constant(var.type)} {name} = ", code, ";")
        if own and depth:
            self.line(f"const int64_t {own} = ", depth, ";")

    def let(self, x: s.Assign) -> None:
        """Prints a constant for a value, unless it is a name already, and one for its depth if that is a maximum."""
        code = self.value(x.var, x.value)
        name, own = self.local.fresh(x.var.name), ""
        self.codes[x.var.name] = name
        if isinstance(code, str) and len(code) <= 24 and code.isidentifier():
            self.codes[x.var.name] = code
        else:
            self.line(f"{self.types.constant(x.var.type)} {name} = ", code, ";")
        if isinstance(x.depth, s.Join) and x.depth != s.READY:
            own = self.depths[x.var.name] = self.local.fresh(f"{name}_depth")
            self.line(f"const int64_t {own} = ", self.depth(x.depth), ";")

    def value(self, var: n.Var, expr: s.Pure) -> Cpp:
        """The C++ expression for a value; prints the statements that the expression needs first."""
        match expr:
            case n.Op(op, args, attrs):
                return self.op(op, args, dict(attrs))
            case n.Item(tensor, ListT(type)):
                assert isinstance(tensor.type, TensorT)
                function = "read_ints" if type == INT else "read_floats"
                return cpp(f"{function}(cx.host, cx.computed(", self.atom(tensor), f"), {tensor.type.size})")
            case n.Item(tensor, type):
                address = call_of("cx.computed", [self.atom(tensor)])
                return cpp("*reinterpret_cast<const int64_t*>(" if type == INT else "double(*", address, ")")
            case n.Tuple(items):
                return call_of(self.types.cpp(expr.type), map(self.atom, items))
            case n.Field(value, index):
                return call_of(f"std::get<{index}>", [self.atom(value)])
            case n.ListOf(items, ListT(item)):
                name = self.local.fresh(var.name + "_list")
                if n.is_table(expr):
                    table = self.local.fresh(var.name + "_table")
                    self.line(f"static constexpr {self.types.cpp(item)} {table}[] = {{")
                    for k in range(0, len(items), PER_LINE):
                        self.line("    ", self.atoms(items[k : k + PER_LINE]), ",")
                    self.line("};")
                    self.line(f"const auto {name} = constant_list({table}, {len(items)});")
                    return name
                self.line(f"auto {name} = make_list<{self.types.cpp(item)}>(cx.host, {len(items)});")
                for i, a in enumerate(items):
                    self.line(f"{name}.data[{i}] = ", self.atom(a), ";")
                return name
            case n.Construct(case, args, DataT() as type):
                name = self.local.fresh(var.name + "_new")
                self.line(f"auto* {name} = cx.host.make<{self.types.case(type, case)}>(1);")
                self.line(f"{name}->tag = {self.types.tag(type, case)};")
                fields = self.schedule.program.datatypes[type.name].case(case).fields
                for (f, _), a in zip(fields, args, strict=True):
                    self.line(f"{name}->{self.types.field(type, case, f)} = ", self.atom(a), ";")
                return f"static_cast<{self.types.cpp(type)}>({name})"
            case n.Host(op, args, type):
                return self.host(op, args, type)
        raise AssertionError(f"no code for {expr}")

    def op(self, op: str, args: Sequence[n.Atom], attrs: dict) -> Cpp:
        """The C++ expression for an operation that is an address or a view."""
        values = [self.atom(a) for a in args]
        if op == "row":
            rows, *extents = args[0].type.shape  # type: ignore[union-attr]
            return call_of("cx.row", (*values, str(rows), str(math.prod(extents))))
        if op == "lookup":
            tables = [(Number(self.weights[a.name]), TensorT(a.type.shape[1:]).size) for a in args if isinstance(a, n.Weight)]
            (table, size), (other, other_size) = tables
            return call_of("cx.lookup", (values[0], table, str(size), other, str(other_size)))
        if op == "scalar":
            return call_of("cx.scalar", values)
        at = view_displacement(op, tuple(a.type for a in args), attrs)
        assert at is not None, f"{op} is neither in a kernel nor a view"
        return values[0] if at == 0 else cpp(values[0], f" + {at}")

    def host(self, op: str, args: Sequence[n.Atom], type: Type) -> Cpp:
        """The C++ expression for an operation on host values."""
        c = [self.atom(a) for a in args]
        floats = [a.type == FLOAT for a in args]
        number = "double" if any(floats) else "int64_t"
        if op in COMPARISONS and len(set(floats)) > 1:
            return call_of(f"acrobat::{op}", [x if f else call_of("int64_t", [x]) for x, f in zip(c, floats, strict=True)])
        checked = op in ("add", "sub", "mul") and not any(floats)
        if op in COMPARISONS or op in INFIX and not checked:
            return cpp("(", c[0], f" {(COMPARISONS | INFIX)[op]} ", c[1], ")")
        match op:
            case "neg" if any(floats):
                return cpp("(-", c[0], ")")
            case "not":
                return cpp("(!", c[0], ")")
            case "bool":
                return cpp("(", c[0], " != 0)")
            case "phase":  # a marker: the value stays the same, and its uses are in a later phase
                return c[0]
            case "list.len":
                return cpp(c[0], ".size")
            case "square" | "float32" | "div" | "floordiv" | "mod":
                exact = "double" if op == "square" else number
                return call_of(f"acrobat::{'to_float32' if op == 'float32' else op}", [call_of(exact, [x]) for x in c])
            case "min" | "max":
                return cpp(f"std::{op}({{", listed(call_of(self.types.cpp(type), [x]) for x in c), "})")
            case "abs" if any(floats):
                return call_of("std::abs", c)
            case "int":
                return call_of("acrobat::to_int" if any(floats) else "int64_t", c)
            case "float":
                return call_of("double", c)
        if op in TEXT:
            return call_of(f"acrobat::{op.replace('.', '_')}", ("s", *c))
        if op.startswith("math."):
            return call_of(f"acrobat::math::{op.removeprefix('math.')}", [call_of("double", [x]) for x in c])
        return call_of(f"acrobat::{op.removeprefix('list.')}", ("cx.host", *c) if op in IN_ARENA else c)

    def record(self, x: s.Record) -> None:
        """Prints the call that records one call of a unit, and the constants for its results."""
        unit, var = self.units.of(x.launch), x.var
        params = zip(x.launch.unit.params, x.launch.args, strict=True)
        values = {p.name: self.atom(a) for p, a in params if p.mode is not Mode.SHARED}
        at = self.local.fresh(f"{identifier(var.name)}_at")
        self.line(f"const int64_t {at} = ", self.depth(x.at), ";")
        operands = [values[p.name] for p in (*unit.gathered, *unit.lists)]
        row, starts = cpp(RecordOfUnit(unit.index), listed((at, *operands)), ")"), unit.result_displacements()
        if isinstance(var.type, TupleT):
            base = self.local.fresh(f"{identifier(var.name)}_row")
            self.line(f"const Tensor {base} = ", row, ";")
            row = f"{self.types.cpp(var.type)}({', '.join(f'{base} + {d}' if d else base for d in starts)})"
        elif starts[0]:
            row = cpp(row, f" + {starts[0]}")
        self.define(var, row, f"{at} + 1")
