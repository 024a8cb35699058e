"""Prints a schedule as C++ functions: host code, compiled ahead of time, that runs one instance and records its tensor work.

The schedule (`schedule.nodes`) says what is done, in which order and at which depths. The depth of a variable `x` is in the C++
variable `x_depth`. Each function has a reference parameter `depth`, in which the caller passes the depth of the arguments and
the function returns that of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import PurePath

from backends.acrobat.codegen.cpp import Identifiers, Types, c_string, identifier
from backends.acrobat.codegen.units import Units
from backends.acrobat.core.ops import is_view
from backends.acrobat.core.texts import TEXT
from backends.acrobat.core.types import FLOAT, INT, DataT, ListT, TensorT, TupleT, Type
from backends.acrobat.core.units import Mode
from backends.acrobat.ir import nodes as n
from backends.acrobat.schedule import nodes as s

Finish = Callable[[s.Give | s.Next | s.NextOf], None]
"""A function that prints the end of a block: returns its value, assigns it to a variable, ..."""
INFIX = {"add": "+", "sub": "-", "mul": "*", "bitand": "&", "bitor": "|", "bitxor": "^"}
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
IN_ARENA = frozenset(("list.reverse", "list.order", "list.top", "list.concat", "list.append", "range", "zip", "enumerate"))
"""Operations that make a list, whose functions in the runtime take the arena for it first."""
PER_LINE = 12
"""Constants of a table in one line of C++."""


class FunctionWriter:
    """Writes functions, one after the other. `codes` maps variables of the schedule to C++ expressions for their values, and
    `depths` maps those that have a depth to C++ expressions for it."""

    def __init__(
        self, schedule: s.Schedule, types: Types, units: Units, weights: Mapping[str, int], names: Mapping[str, str]
    ) -> None:
        self.schedule = schedule
        self.types = types
        self.units = units
        self.weights = weights
        self.function_names = names
        self.codes: dict[str, str] = {}
        self.depths: dict[str, str] = {}
        self.lines: list[str] = []
        self.indent = 1
        self.local = Identifiers()
        self.waiting = False

    # ---- the function

    def signature(self, f: s.HostFunction, names: list[str] | None = None) -> str:
        params = [f"{self.types.cpp(p.type)}{'' if names is None else ' ' + names[i]}" for i, p in enumerate(f.params)]
        result = self.types.cpp(f.result)
        params += ["int64_t& depth"]
        if f.counted:
            params += ["int64_t calls = 0" if names is None else "int64_t calls"]
        result = f"Task<{result}>" if f.waits else result
        return f"static {result} {self.function_names[f.name]}({', '.join(['Session& s', *params])})"

    def write(self, f: s.HostFunction) -> str:
        self.waiting = f.waits
        self.codes, self.depths, self.lines, self.local = {}, {}, [], Identifiers(("cx", "s", "depth"))
        names = [self.local.fresh(p.name) for p in f.params]
        self.codes.update((p.name, name) for p, name in zip(f.params, names, strict=True))
        self.local.taken.add("depth_in")
        self.line("Context& cx = s.cx;")
        self.line("[[maybe_unused]] const int64_t depth_in = depth;")
        if f.counted:
            self.line(f"cx.guard({c_string(f.name)}, calls);")
        self.block(f.body, self.returns)
        where = f"// {f.name}, {PurePath(f.span.file).name}:{f.span.line}" if f.span.line else f"// {f.name}"
        return "\n".join([where, self.signature(f, names) + " {", *self.lines, "}", ""])

    def returns(self, end: s.Give | s.Next | s.NextOf) -> None:
        assert isinstance(end, s.Give)
        if end.depth is not None:
            self.line(f"depth = {self.depth(end.depth)};")
        self.line(f"{'co_return' if self.waiting else 'return'} {self.atom(end.value)};")

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    # ---- atoms and depths

    def atom(self, a: n.Atom) -> str:
        match a:
            case n.Var(name):
                return self.codes[name]
            case n.Weight(name):
                return f"cx.weights[{self.weights[name]}]"
            case n.Lit(value) if isinstance(value, bool):
                return "true" if value else "false"
            case n.Lit(value) if a.type == FLOAT:
                return repr(float(value)).replace("inf", "INFINITY").replace("nan", "NAN")
            case n.Lit(value):
                return f"int64_t{{{value}}}" if value > -(2**63) else f"(int64_t{{{value + 1}}} - 1)"

    def atoms(self, atoms: Sequence[n.Atom]) -> str:
        return ", ".join(map(self.atom, atoms))

    def depth(self, depth: s.Depth) -> str:
        match depth:
            case s.Of(var):
                return self.depths[var]
            case s.Arguments():
                return "depth_in"
            case s.StaticDepth(level):
                return f"cx.stage->at({level})"
            case s.Start(segment, levels):
                return f"cx.stage->start({segment or ''}){f' + {levels}' if levels else ''}"
            case s.Join(()):
                return "0"
            case s.Join((a,)):
                return self.depth(a)
            case s.Join((a, b)):
                return f"std::max({self.depth(a)}, {self.depth(b)})"
            case s.Join(depths):
                return f"std::max({{{', '.join(map(self.depth, depths))}}})"

    # ---- variables

    def declare(self, var: n.Var) -> tuple[str, str]:
        """Enters fresh C++ names for a variable and its depth, and returns both; the second is "" if it has no depth."""
        name = self.local.fresh(var.name)
        self.codes[var.name] = name
        if not self.schedule.holds(var.type):
            return name, ""
        self.depths[var.name] = self.local.fresh(f"{name}_depth")
        return name, self.depths[var.name]

    def define(self, var: n.Var, code: str, depth: str = "") -> None:
        """Declares a C++ constant for `var` with the value `code`, and one with the value `depth` if `var` has a depth."""
        name, own = self.declare(var)
        self.line(f"{self.types.constant(var.type)} {name} = {code};")
        if own and depth:
            self.line(f"const int64_t {own} = {depth};")

    def variable(self, var: n.Var) -> Finish:
        """Declares a C++ variable for `var` and returns the function that prints its assignment at the end of a block."""
        name, depth = self.declare(var)
        self.line(f"{self.types.cpp(var.type)} {name}{{}};")
        if depth:
            self.line(f"int64_t {depth} = 0;")

        def assign(end: s.Give | s.Next | s.NextOf) -> None:
            assert isinstance(end, s.Give)
            self.line(f"{name} = {self.atom(end.value)};")
            if end.depth not in (None, s.READY):
                self.line(f"{depth} = {self.depth(end.depth)};")

        return assign

    # ---- blocks

    def block(self, block: s.Body, finish: Finish) -> None:
        for statement in block.statements:
            self.statement(statement)
        if isinstance(block.end, s.IfBranch | s.MatchBranch):
            self.branch(block.end, finish)
        else:
            finish(block.end)

    def inside(self, block: s.Body, finish: Finish, after: str = "") -> None:
        """Prints a block, indented, and then the line `after`. Depths that the block changes are forgotten at its end."""
        depths = dict(self.depths)
        self.indent += 1
        self.block(block, finish)
        if after:
            self.line(after)
        self.indent -= 1
        self.depths = depths

    def branch(self, branch: s.IfBranch | s.MatchBranch, finish: Finish) -> None:
        if isinstance(branch, s.IfBranch):
            self.line(f"if ({self.atom(branch.cond)}) {{")
            self.inside(branch.then, finish)
            self.line("} else {")
            self.inside(branch.orelse, finish)
            self.line("}")
            return
        value, type = self.atom(branch.value), branch.value.type
        assert isinstance(type, DataT)
        if len(branch.arms) == 1:
            self.fields(value, type, branch.arms[0])
            self.block(branch.arms[0].body, finish)
            return
        self.line(f"switch ({value}->tag) {{")
        self.indent += 1
        for arm in branch.arms:
            self.line(f"case {self.types.tag(type, arm.case)}: {{")
            self.indent += 1
            self.fields(value, type, arm)
            self.indent -= 1
            self.inside(arm.body, finish, "" if finish == self.returns else "break;")
            self.line("}")
        self.indent -= 1
        self.line("}")
        if finish == self.returns:
            self.line("__builtin_unreachable();")

    def fields(self, value: str, type: DataT, arm: s.BranchArm) -> None:
        fields = self.schedule.program.datatypes[type.name].case(arm.case).fields
        for i, var in arm.fields:
            name = self.codes[var.name] = self.local.fresh(var.name)
            member = self.types.field(type, arm.case, fields[i][0])
            self.line(f"const auto {name} = static_cast<{self.types.case(type, arm.case)}*>({value})->{member};")

    def statement(self, x: s.Statement) -> None:
        match x:
            case s.Assign():
                self.let(x)
            case s.Record():
                self.record(x)
            case s.CallFunction():
                self.call(x)
            case s.Choose(var, branch):
                self.branch(branch, self.variable(var))
            case s.MapLoop():
                self.map(x)
            case s.FoldLoop() | s.WhileLoop():
                self.loop(x)
            case s.Fork():
                self.fork(x)
            case s.Wait(tensor, depth):
                assert isinstance(tensor.type, TensorT)
                self.line(f"co_await s.waiting.wait(cx, {self.depth(depth)}, {self.atom(tensor)}, {tensor.type.width});")
            case s.Enter(phase):
                self.line(f"cx.stage = &cx.stages[{phase}];")
            case s.Pad(name, depth, levels):
                later = self.local.fresh(f"{identifier(name)}_padded")
                self.line(f"const int64_t {later} = padded({self.depth(depth)}, {levels});")
                self.depths[name] = later
            case s.NextSegment(name):
                end = self.local.fresh(f"{identifier(name)}_end")
                self.line(f"const int64_t {end} = cx.stage->next({self.depths[name]});")
                self.depths[name] = end
            case s.Ready(var, of):
                self.codes[var.name] = self.codes[of.name]

    # ---- values

    def let(self, x: s.Assign) -> None:
        code = self.value(x.var, x.value)
        name, own = self.local.fresh(x.var.name), ""
        self.codes[x.var.name] = name
        if len(code) <= 24 and code.isidentifier():
            self.codes[x.var.name] = code
        else:
            self.line(f"{self.types.constant(x.var.type)} {name} = {code};")
        if isinstance(x.depth, s.Join) and x.depth != s.READY:
            own = self.depths[x.var.name] = self.local.fresh(f"{name}_depth")
            self.line(f"const int64_t {own} = {self.depth(x.depth)};")

    def value(self, var: n.Var, expr: s.Pure) -> str:
        """The C++ expression for a value; prints the statements that the expression needs first."""
        match expr:
            case n.Op(op, args, attrs):
                return self.op(op, args, dict(attrs))
            case n.Item(tensor, ListT(type)):
                assert isinstance(tensor.type, TensorT)
                function = "read_ints" if type == INT else "read_floats"
                return f"{function}(cx.host, cx.computed({self.atom(tensor)}), {tensor.type.size})"
            case n.Item(tensor, type):
                t = self.atom(tensor)
                return f"*reinterpret_cast<const int64_t*>(cx.computed({t}))" if type == INT else f"double(*cx.computed({t}))"
            case n.Tuple(items):
                return f"{self.types.cpp(expr.type)}({self.atoms(items)})"
            case n.Field(value, index):
                return f"std::get<{index}>({self.atom(value)})"
            case n.ListOf(items, ListT(item)):
                name = self.local.fresh(var.name + "_list")
                if n.is_table(expr):
                    table = self.local.fresh(var.name + "_table")
                    self.line(f"static constexpr {self.types.cpp(item)} {table}[] = {{")
                    for k in range(0, len(items), PER_LINE):
                        self.line(f"    {self.atoms(items[k : k + PER_LINE])},")
                    self.line("};")
                    self.line(f"const auto {name} = constant_list({table}, {len(items)});")
                    return name
                self.line(f"auto {name} = make_list<{self.types.cpp(item)}>(cx.host, {len(items)});")
                for i, a in enumerate(items):
                    self.line(f"{name}.data[{i}] = {self.atom(a)};")
                return name
            case n.Construct(case, args, DataT() as type):
                name = self.local.fresh(var.name + "_new")
                self.line(f"auto* {name} = cx.host.make<{self.types.case(type, case)}>(1);")
                self.line(f"{name}->tag = {self.types.tag(type, case)};")
                fields = self.schedule.program.datatypes[type.name].case(case).fields
                for (f, _), a in zip(fields, args, strict=True):
                    self.line(f"{name}->{self.types.field(type, case, f)} = {self.atom(a)};")
                return f"static_cast<{self.types.cpp(type)}>({name})"
            case n.Host(op, args, type):
                return self.host(op, args, type)
        raise AssertionError(f"no code for {expr}")

    def op(self, op: str, args: Sequence[n.Atom], attrs: dict) -> str:
        values = [self.atom(a) for a in args]
        tables = [(self.weights[a.name], TensorT(a.type.shape[1:]).size) for a in args if isinstance(a, n.Weight)]
        if op == "row":
            ((table, size),) = tables
            return f"cx.row({table}, {values[1]}, {args[0].type.shape[0]}, {size})"  # type: ignore[union-attr]
        if op == "lookup":
            (table, size), (other, other_size) = tables
            return f"cx.lookup({values[0]}, {table}, {size}, {other}, {other_size})"
        if op == "scalar":
            return f"cx.scalar({values[0]})"
        at = is_view(op, tuple(a.type for a in args), attrs)
        assert at is not None, f"{op} is neither in a kernel nor a view"
        return values[0] if at == 0 else f"{values[0]} + {at}"

    def host(self, op: str, args: Sequence[n.Atom], type: Type) -> str:
        c = [self.atom(a) for a in args]
        floats = [a.type == FLOAT for a in args]
        number = "double" if any(floats) else "int64_t"
        if op in COMPARISONS and len(set(floats)) > 1:
            return f"acrobat::{op}({', '.join(x if f else f'int64_t({x})' for x, f in zip(c, floats, strict=True))})"
        checked = op in ("add", "sub", "mul") and not any(floats)
        if op in COMPARISONS or op in INFIX and not checked:
            return f"({c[0]} {(COMPARISONS | INFIX)[op]} {c[1]})"
        match op:
            case "neg" if any(floats):
                return f"(-{c[0]})"
            case "not":
                return f"(!{c[0]})"
            case "bool":
                return f"({c[0]} != 0)"
            case "phase":  # a marker: the value stays the same, and its uses are in a later phase
                return c[0]
            case "list.len":
                return f"{c[0]}.size"
            case "square" | "float32" | "div" | "floordiv" | "mod":
                exact = "double" if op == "square" else number
                return f"acrobat::{'to_float32' if op == 'float32' else op}({', '.join(f'{exact}({x})' for x in c)})"
            case "min" | "max":
                return f"std::{op}({{{', '.join(f'{self.types.cpp(type)}({x})' for x in c)}}})"
            case "abs" if any(floats):
                return f"std::abs({c[0]})"
            case "int":
                return f"acrobat::to_int({c[0]})" if any(floats) else f"int64_t({c[0]})"
            case "float":
                return f"double({c[0]})"
        if op in TEXT:
            return f"acrobat::{op.replace('.', '_')}({', '.join(['s', *c])})"
        if op.startswith("math."):
            return f"acrobat::math::{op.removeprefix('math.')}({', '.join(f'double({x})' for x in c)})"
        return f"acrobat::{op.removeprefix('list.')}({', '.join(['cx.host', *c] if op in IN_ARENA else c)})"

    def record(self, x: s.Record) -> None:
        unit, var = self.units.of(x.launch), x.var
        params = zip(x.launch.unit.params, x.launch.args, strict=True)
        values = {p.name: self.atom(a) for p, a in params if p.mode is not Mode.SHARED}
        at = self.local.fresh(f"{identifier(var.name)}_at")
        self.line(f"const int64_t {at} = {self.depth(x.at)};")
        operands = [values[p.name] for p in (*unit.gathered, *unit.lists)]
        row, starts = f"record_{unit.name}({', '.join(['cx', at, *operands])})", unit.result_displacements()
        if isinstance(var.type, TupleT):
            base = self.local.fresh(f"{identifier(var.name)}_row")
            self.line(f"const Tensor {base} = {row};")
            row = f"{self.types.cpp(var.type)}({', '.join(f'{base} + {d}' if d else base for d in starts)})"
        elif starts[0]:
            row = f"{row} + {starts[0]}"
        self.define(var, row, f"{at} + 1")

    def call(self, x: s.CallFunction) -> None:
        depth = self.local.fresh(f"{identifier(x.var.name)}_depth")
        self.line(f"int64_t {depth} = {self.depth(x.depth)};")
        args = ["s", *map(self.atom, x.call.args), depth, *(["calls + 1"] if x.counted else [])]
        code = f"model::{self.function_names[x.call.function]}({', '.join(args)})"
        self.define(x.var, f"co_await {code}" if x.waits else code)
        self.depths[x.var.name] = depth

    # ---- loops

    def element(self, item: n.Var, source: str, index: str) -> None:
        name = self.codes[item.name] = self.local.fresh(item.name)
        self.line(f"    [[maybe_unused]] const auto {name} = {source}.data[{index}];")

    def map(self, x: s.MapLoop) -> None:
        assert isinstance(x.var.type, ListT)
        name, depth = self.declare(x.var)
        source = self.local.fresh(f"{name}_source")
        self.line(f"const auto {source} = {self.atom(x.iterable)};")
        self.line(f"auto {name} = make_list<{self.types.cpp(x.var.type.item)}>(cx.host, {source}.size);")
        if depth:
            self.line(f"int64_t {depth} = 0;")
        index = self.local.fresh("i")

        def store(end: s.Give | s.Next | s.NextOf) -> None:
            assert isinstance(end, s.Give)
            self.line(f"{name}.data[{index}] = {self.atom(end.value)};")
            if end.depth not in (None, s.READY):
                self.line(f"{depth} = std::max({depth}, {self.depth(end.depth)});")

        loop = f"for (int64_t {index} = 0; {index} < {source}.size; ++{index})"
        if not x.waits:
            self.line(f"{loop} {{")
            self.element(x.item, source, index)
            self.inside(x.body, store)
            self.line("}")
            return
        join, child = self.local.fresh(f"{name}_join"), self.local.fresh(f"{name}_child")
        self.line(f"Join {join}({source}.size);")
        self.line(f"auto {child} = [&](Join&, int64_t {index}) -> Child {{")
        self.element(x.item, source, index)
        self.inside(x.body, store, "co_return;")
        self.line("};")
        self.line(f"{loop} {join}.fork([&] {{ {child}({join}, {index}); }});")
        self.line(f"co_await {join};")

    def loop(self, x: s.FoldLoop | s.WhileLoop) -> None:
        names = []
        starts = [(self.atom(v.value), self.depth(v.depth) if v.depth else "") for v in x.init]
        for v, (code, start) in zip(x.vars, starts, strict=True):
            name, depth = self.declare(v)
            self.line(f"{self.types.cpp(v.type)} {name} = {code};")
            if depth:
                self.line(f"int64_t {depth} = {start};")
            names.append((name, depth))
        if isinstance(x, s.FoldLoop):
            source, index = self.local.fresh(f"{identifier(x.var.name)}_source"), self.local.fresh("i")
            self.line(f"const auto {source} = {self.atom(x.iterable)};")
            self.line(f"for (int64_t {index} = 0; {index} < {source}.size; ++{index}) {{")
            self.element(x.item, source, index)
        else:
            self.line("for (;;) {")
            self.line("    cx.tick();")
            self.inside(x.cond, lambda end: self.line(f"if (!({self.atom(end.value)})) break;"))  # type: ignore[union-attr]
        self.inside(x.body, partial(self.rebind, names))
        self.line("}")
        depths = s.Join(tuple(s.Of(v.name) for v in x.vars if self.schedule.holds(v.type)))
        self.define(x.var, f"{self.types.cpp(x.var.type)}({', '.join(code for code, _ in names)})", self.depth(depths))

    def rebind(self, names: Sequence[tuple[str, str]], end: s.Give | s.Next | s.NextOf) -> None:
        """Gives a loop's variables their next values. One that is another's next value is saved before it is overwritten."""
        if isinstance(end, s.NextOf):
            whole, depth = self.atom(end.whole.value), self.depth(end.whole.depth) if end.whole.depth else ""
            values = [(f"std::get<{i}>({whole})", depth if own else "") for i, (_, own) in enumerate(names)]
        else:
            assert isinstance(end, s.Next)
            values = [(self.atom(v.value), self.depth(v.depth) if v.depth is not None else "") for v in end.values]
        changing = [(to, new) for to, new in zip(names, values, strict=True) if new[0] != to[0]]
        targets = {part for to, _ in changing for part in to if part}
        saved = []
        for to, new in changing:
            parts = list(new)
            for k, type in enumerate(("auto", "int64_t")):
                if len(changing) > 1 and parts[k] in targets:
                    parts[k] = self.local.fresh(f"{to[k]}_next")
                    self.line(f"const {type} {parts[k]} = {new[k]};")
            saved.append((to, parts))
        for (name, depth), (code, value) in saved:
            self.line(f"{name} = {code};")
            if depth:
                self.line(f"{depth} = {value};")

    # ---- waiting

    def fork(self, x: s.Fork) -> None:
        join = self.local.fresh("join")
        self.line(f"Join {join}({len(x.branches)});")
        for branch in x.branches:
            assign = self.variable(branch.var)
            child = self.local.fresh(f"{identifier(branch.var.name)}_child")
            self.line(f"auto {child} = [&](Join&) -> Child {{")
            self.inside(branch.body, assign, "co_return;")
            self.line("};")
            self.line(f"{join}.fork([&] {{ {child}({join}); }});")
        self.line(f"co_await {join};")
