"""The program's functions in C++: ahead-of-time compiled host code that runs one instance and records its tensor work.

Each tensor-valued variable `x` has its depth in `x_depth`: the first level at which it can be used. An operation is
recorded at the largest depth of its operands (never before the current segment's start), its result's depth is one more.
Functions take the depth of their arguments in `depth` and leave that of their result there. That is all the dependence
tracking there is at run time (paper: inline depth computation); siblings that do not use each other's results get the
same depth by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePath

from backends.acrobat.codegen.cpp import Names, Types, c_string, field_name, identifier
from backends.acrobat.codegen.units import Units
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.ops import is_view
from backends.acrobat.ir.types import DataT, ListT, ScalarT, TensorT, TupleT, Type
from backends.acrobat.ir.visitor import Binding, free_vars, lets
from backends.acrobat.kernels.spec import Mode


@dataclass(frozen=True, slots=True)
class Facts:
    """What the analyses found, as far as the code depends on it."""

    static_depth: Mapping[tuple[str, str], int] = field(default_factory=dict)  # (function, variable) -> depth
    static_levels: int = 0  # one more than the largest of them
    phase: Mapping[str, int] = field(default_factory=dict)  # variable of the entry function -> its phase
    phases: int = 1
    waits: frozenset[str] = frozenset()  # functions that may wait
    recursive: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Value:
    """A C++ expression and the C++ expression of its depth ("" if it holds no tensor, "0" if it is there from the start)."""

    code: str
    depth: str = ""
    phase: int = 0


Finish = Callable[[Value], None]
"""What to do with the value of a body: return it, store it, ..."""


class FunctionWriter:
    """Writes one function. `env` maps the IR's variables to their C++ values."""

    def __init__(
        self, program: n.Program, types: Types, units: Units, facts: Facts, weights: Mapping[str, int], names: Mapping[str, str]
    ) -> None:
        self.program = program
        self.types = types
        self.units = units
        self.facts = facts
        self.weights = weights
        self.function_names = names
        self.env: dict[str, Value] = {}
        self.lines: list[str] = []
        self.indent = 1
        self.local = Names()
        self.function: n.Function | None = None
        self.waiting = False
        self.current_phase = 0
        self.phase_of: dict[str, int] = {}

    # ---- the function

    def signature(self, f: n.Function, names: list[str] | None = None) -> str:
        params = [f"{self.types.cpp(p.type)}{'' if names is None else ' ' + names[i]}" for i, p in enumerate(f.params)]
        result = self.types.cpp(f.result)
        if f.name in self.facts.waits:
            result = f"Task<{result}>"
        return f"static {result} {self.function_names[f.name]}({', '.join(['Session& s', *params, 'int64_t& depth'])})"

    def write(self, f: n.Function) -> str:
        self.function = f
        self.waiting = f.name in self.facts.waits
        self.current_phase = 0
        self.phase_of = {}
        self.env, self.lines, self.local = {}, [], Names(("cx", "s", "depth"))
        names = [self.local.fresh(p.name) for p in f.params]
        for p, name in zip(f.params, names, strict=True):
            self.put(p.name, name, "depth_in" if self.types.has_tensor(p.type) else "")
        self.local.taken.add("depth_in")
        self.line("Context& cx = s.cx;")
        self.line("[[maybe_unused]] const int64_t depth_in = depth;")
        if f.name in self.facts.recursive and not self.waiting:
            self.line(f"cx.guard({c_string(f.name)});")
        self.body(f.body, self.returns)
        where = f"// {f.name}, {PurePath(f.span.file).name}:{f.span.line}" if f.span.line else f"// {f.name}"
        return "\n".join([where, self.signature(f, names) + " {", *self.lines, "}", ""])

    def returns(self, value: Value) -> None:
        if value.depth and value.depth != "depth":
            self.line(f"depth = {value.depth};")
        self.line(f"{'co_return' if self.waiting else 'return'} {value.code};")

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text if text else "")

    # ---- atoms and depths

    def atom(self, a: n.Atom) -> Value:
        match a:
            case n.Var(name):
                v = self.env[name]
                # What an earlier phase computed is there from this one's start.
                return Value(v.code, "0") if v.depth and v.phase < self.current_phase else v
            case n.Weight(name):
                return Value(f"cx.weights[{self.weights[name]}]", "0")
            case n.Lit(value, ScalarT("bool")):
                return Value("true" if value else "false")
            case n.Lit(value, ScalarT("float")):
                return Value(repr(float(value)).replace("inf", "INFINITY").replace("nan", "NAN"))
            case n.Lit(value):
                return Value(f"int64_t{{{value}}}")

    def join_depths(self, depths: list[str]) -> str:
        """The depth at which all of `depths` are there."""
        parts = list(dict.fromkeys(d for d in depths if d and d != "0"))
        if not parts:
            return "0"
        return parts[0] if len(parts) == 1 else f"std::max({{{', '.join(parts)}}})"

    # ---- bodies

    def body(self, expr: n.Expr, finish: Finish) -> None:
        """Statements for `expr`, ending with `finish(value)`."""
        bindings, result = lets(expr)
        done: set[int] = set()
        entry = self.function is not None and self.function.name == self.program.entry and finish == self.returns
        if entry:
            bindings = self.by_phase(bindings)
        for i, (var, value) in enumerate(bindings):
            if i in done:
                continue
            if entry:
                self.enter_phase(self.phase_of[var.name])
            if self.waiting and self.may_wait(value):
                group = self.fork_group(bindings, i, done, entry)
                if len(group) > 1:
                    self.fork(bindings, group, done)
                    continue
            self.bind(var, value)
        self.compound(result, finish) if not isinstance(result, (n.Var, n.Lit, n.Weight)) else finish(self.atom(result))

    def enter_phase(self, phase: int) -> None:
        if phase != self.current_phase:
            self.current_phase = phase
            self.line(f"cx.stage = &cx.stages[{phase}];")

    def by_phase(self, bindings: list[tuple[n.Var, n.Expr]]) -> list[tuple[n.Var, n.Expr]]:
        """The entry's bindings, earlier phases first; one that records nothing goes with the latest it uses."""
        phase: dict[str, int] = {}
        for var, value in bindings:
            needs = max((phase.get(name, 0) for name in free_vars(value)), default=0)
            phase[var.name] = max(needs, self.facts.phase.get(var.name, 0))
        self.phase_of |= phase
        return sorted(bindings, key=lambda b: phase[b[0].name])

    def put(self, var: str, code: str, depth: str = "") -> None:
        self.env[var] = Value(code, depth, self.current_phase)

    def declare(self, var: n.Var) -> tuple[str, str]:
        """Fresh C++ names for a variable and its depth."""
        name = self.local.fresh(var.name)
        return name, self.local.fresh(f"{name}_depth") if self.types.has_tensor(var.type) else ""

    def bind(self, var: n.Var, value: n.Expr) -> None:
        """Declare `var` as `value`."""
        if isinstance(value, (n.Var, n.Lit, n.Weight)):
            self.env[var.name] = self.atom(value)
            return
        if isinstance(value, (n.If, n.Match, n.Let)):
            name, depth = self.variable(var)
            self.compound(value, partial(self.assign, name, depth))
            self.put(var.name, name, depth)
            return
        if isinstance(value, (n.Map, n.Fold, n.Loop)):
            v = self.loop(var, value)
            self.put(var.name, v.code, v.depth)
            return
        v = self.simple(var, value)
        name, depth = self.declare(var)
        if isinstance(value, n.Launch | n.Call) or len(v.code) > 24 or not v.code.isidentifier():
            self.line(f"{self.types.constant(var.type)} {name} = {v.code};")
        else:
            name = v.code
        if depth and not v.depth.isidentifier() and not v.depth.isdigit():
            self.line(f"const int64_t {depth} = {v.depth};")
            self.put(var.name, name, depth)
        else:
            self.put(var.name, name, v.depth if depth else "")

    def variable(self, var: n.Var) -> tuple[str, str]:
        """Declare a C++ variable to be assigned in branches."""
        name, depth = self.declare(var)
        self.line(f"{self.types.cpp(var.type)} {name}{{}};")
        if depth:
            self.line(f"int64_t {depth} = 0;")
        return name, depth

    def assign(self, name: str, depth: str, value: Value) -> None:
        self.line(f"{name} = {value.code};")
        if depth and value.depth != "0":
            self.line(f"{depth} = {value.depth};")

    def compound(self, expr: n.Expr, finish: Finish) -> None:
        """Statements for a branching expression in tail position of `finish`."""
        match expr:
            case n.If(cond, then, orelse):
                self.line(f"if ({self.atom(cond).code}) {{")
                self.block(then, finish)
                self.line("} else {")
                self.block(orelse, finish)
                self.line("}")
            case n.Match(value, arms):
                self.match(value, arms, finish)
            case n.Let():
                self.body(expr, finish)
            case n.Var() | n.Lit() | n.Weight():
                finish(self.atom(expr))
            case _:
                var = n.Var("result", expr.type)
                self.bind(var, expr)
                finish(self.env["result"])

    def block(self, expr: n.Expr, finish: Finish) -> None:
        env, phase = dict(self.env), self.current_phase
        self.indent += 1
        self.body(expr, finish)
        self.indent -= 1
        self.env, self.current_phase = env, phase

    def match(self, value: n.Atom, arms: tuple[n.Arm, ...], finish: Finish) -> None:
        v = self.atom(value)
        type = value.type
        assert isinstance(type, DataT)
        if len(arms) == 1:
            env = dict(self.env)
            self.take_apart(v, type, arms[0])
            self.body(arms[0].body, finish)
            self.env = env
            return
        self.line(f"switch ({v.code}->tag) {{")
        self.indent += 1
        for arm in arms:
            self.line(f"case {self.types.tag(type, arm.case)}: {{")
            env, phase = dict(self.env), self.current_phase
            self.indent += 1
            self.take_apart(v, type, arm)
            self.body(arm.body, finish)
            if finish != self.returns:
                self.line("break;")
            self.indent -= 1
            self.env, self.current_phase = env, phase
            self.line("}")
        self.indent -= 1
        self.line("}")
        if finish == self.returns:
            self.line("__builtin_unreachable();")

    def take_apart(self, v: Value, type: DataT, arm: n.Arm) -> None:
        case = self.program.datatypes[type.name].case(arm.case)
        used = free_vars(arm.body)
        for var, (field_, _) in zip(arm.vars, case.fields, strict=True):
            if var.name in used:
                name = self.local.fresh(var.name)
                self.line(
                    f"const auto {name} = static_cast<{self.types.case(type, arm.case)}*>({v.code})->{field_name(field_)};"
                )
                self.put(var.name, name, v.depth if self.types.has_tensor(var.type) else "")

    # ---- values

    def simple(self, var: n.Var, expr: n.Expr) -> Value:
        """The value of an expression without control flow of its own; may write statements first."""
        match expr:
            case n.Op(op, args, attrs):
                return self.op(op, args, dict(attrs))
            case n.Launch():
                return self.launch(var, expr)
            case n.Call():
                return self.call(var, expr)
            case n.Item(tensor, type):
                t = self.atom(tensor)
                self.line("co_await s.waiting.wait(cx);")
                if type == ScalarT("int"):
                    return Value(f"*reinterpret_cast<const int64_t*>(cx.pointer({t.code}))")
                return Value(f"double(*cx.pointer({t.code}))")
            case n.Tuple(items):
                values = [self.atom(a) for a in items]
                cpp = self.types.cpp(expr.type)
                return Value(f"{cpp}({', '.join(v.code for v in values)})", self.join_depths([v.depth for v in values]))
            case n.Field(value, index):
                v = self.atom(value)
                return Value(f"std::get<{index}>({v.code})", v.depth if self.types.has_tensor(expr.type) else "")
            case n.ListOf(items, ListT(item)):
                name = self.local.fresh(var.name + "_list")
                self.line(f"auto {name} = make_list<{self.types.cpp(item)}>(cx.host, {len(items)});")
                values = [self.atom(a) for a in items]
                for i, v in enumerate(values):
                    self.line(f"{name}.data[{i}] = {v.code};")
                return Value(name, self.join_depths([v.depth for v in values]))
            case n.Construct(case, args, DataT() as type):
                name = self.local.fresh(var.name + "_new")
                values = [self.atom(a) for a in args]
                struct = self.types.case(type, case)
                self.line(f"auto* {name} = cx.host.make<{struct}>(1);")
                self.line(f"{name}->tag = {self.types.tag(type, case)};")
                fields = self.program.datatypes[type.name].case(case).fields
                for (f, _), v in zip(fields, values, strict=True):
                    self.line(f"{name}->{field_name(f)} = {v.code};")
                return Value(f"static_cast<{self.types.cpp(type)}>({name})", self.join_depths([v.depth for v in values]))
            case n.Host(op, args):
                return self.host(op, args, expr.type)
        raise AssertionError(f"no code for {expr}")

    def op(self, op: str, args: tuple[n.Atom, ...], attrs: dict) -> Value:
        values = [self.atom(a) for a in args]
        if op == "row":
            table = args[0]
            assert isinstance(table, n.Weight)
            rows, size = table.type.shape[0], TensorT(table.type.shape[1:]).size
            return Value(f"cx.row({self.weights[table.name]}, {values[1].code}, {rows}, {size})", "0")
        if op == "scalar":
            return Value(f"cx.scalar({values[0].code})", "0")
        at = is_view(op, tuple(a.type for a in args), attrs)
        assert at is not None, f"{op} is neither in a kernel nor a view"
        return Value(values[0].code if at == 0 else f"{values[0].code} + {at}", values[0].depth)

    def launch(self, var: n.Var, expr: n.Launch) -> Value:
        code = self.units.of(expr)
        values = {p.name: self.atom(a) for p, a in zip(expr.unit.params, expr.args, strict=True) if p.mode is not Mode.SHARED}
        static = self.facts.static_depth.get((self.function.name, var.name)) if self.function else None
        if static is not None:
            at = f"cx.stage->at({static})"
        else:
            depths = self.join_depths([v.depth for v in values.values()])
            at = "cx.stage->start()" if depths == "0" else f"std::max(cx.stage->start(), {depths})"
            if depths.startswith("std::max({"):
                at = f"std::max({{cx.stage->start(), {depths[len('std::max({') :]}"
        name = self.local.fresh(f"{identifier(var.name)}_at")
        self.line(f"const int64_t {name} = {at};")
        ordered = [*code.gathered, *code.lists]
        row = f"record_{code.name}({', '.join(['cx', name, *(values[p.name].code for p in ordered)])})"
        starts = code.result_displacements()
        after = f"{name} + 1"
        if not isinstance(expr.type, TupleT):
            return Value(row if starts[0] == 0 else f"{row} + {starts[0]}", after)
        base = self.local.fresh(f"{identifier(var.name)}_row")
        self.line(f"const Tensor {base} = {row};")
        parts = [base if d == 0 else f"{base} + {d}" for d in starts]
        return Value(f"{self.types.cpp(expr.type)}({', '.join(parts)})", after)

    def call(self, var: n.Var, expr: n.Call) -> Value:
        values = [self.atom(a) for a in expr.args]
        depth = self.local.fresh(f"{identifier(var.name)}_depth")
        self.line(f"int64_t {depth} = {self.join_depths([v.depth for v in values])};")
        target = self.function_names[expr.function]
        code = f"model::{target}({', '.join(['s', *(v.code for v in values), depth])})"
        if expr.function in self.facts.waits:
            code = f"co_await {code}"
        return Value(code, depth if self.types.has_tensor(expr.type) else "")

    def host(self, op: str, args: tuple[n.Atom, ...], type: Type) -> Value:
        values = [self.atom(a) for a in args]
        c = [v.code for v in values]
        depth = self.join_depths([v.depth for v in values]) if self.types.has_tensor(type) else ""
        infix = {"add": "+", "sub": "-", "mul": "*", "bitand": "&", "bitor": "|", "bitxor": "^", "shl": "<<", "shr": ">>"}
        compare = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
        floats = any(a.type == ScalarT("float") for a in args)
        if op in infix or op in compare:
            return Value(f"({c[0]} {(infix | compare)[op]} {c[1]})")
        match op:
            case "div":
                return Value(f"(double({c[0]}) / double({c[1]}))")
            case "floordiv" | "mod":
                if floats:
                    q = f"std::floor(double({c[0]}) / double({c[1]}))"
                    return Value(q if op == "floordiv" else f"(double({c[0]}) - {q} * double({c[1]}))")
                return Value(f"acrobat::{op}({c[0]}, {c[1]})")
            case "neg":
                return Value(f"(-{c[0]})")
            case "not":
                return Value(f"(!{c[0]})")
            case "min" | "max":
                cpp = self.types.cpp(type)
                return Value(f"std::{op}({{{', '.join(f'{cpp}({x})' for x in c)}}})")
            case "abs":
                return Value(f"std::abs({c[0]})")
            case "int":
                return Value(f"int64_t({c[0]})")
            case "float":
                return Value(f"double({c[0]})")
            case "bool":
                return Value(f"({c[0]} != 0)")
            case "list.len":
                return Value(f"{c[0]}.size")
            case "list.get":
                return Value(f"acrobat::get({c[0]}, {c[1]})", depth)
            case "list.slice":
                bounds = [*c[1:3]]
                return Value(f"acrobat::slice({c[0]}, {', '.join(bounds)})", depth)
            case "list.reverse":
                return Value(f"acrobat::reverse(cx.host, {c[0]})", depth)
            case "list.concat":
                return Value(f"acrobat::concat(cx.host, {c[0]}, {c[1]})", depth)
            case "list.append":
                return Value(f"acrobat::append(cx.host, {c[0]}, {c[1]})", depth)
            case "range":
                return Value(f"acrobat::range(cx.host, {', '.join(c)})")
            case "zip":
                return Value(f"acrobat::zip(cx.host, {', '.join(c)})", depth)
            case "enumerate":
                return Value(f"acrobat::enumerate(cx.host, {c[0]})", depth)
        raise AssertionError(f"no code for the host operation {op}")

    # ---- loops

    def loop(self, var: n.Var, expr: n.Map | n.Fold | n.Loop) -> Value:
        match expr:
            case n.Map():
                return self.map(var, expr)
            case n.Fold():
                return self.fold(var, expr)
            case n.Loop():
                return self.while_(var, expr)

    def element(self, var: n.Var, iterable: Value, index: str) -> None:
        name = self.local.fresh(var.name)
        self.line(f"[[maybe_unused]] const auto {name} = {iterable.code}.data[{index}];")
        self.put(var.name, name, iterable.depth if self.types.has_tensor(var.type) else "")

    def map(self, var: n.Var, expr: n.Map) -> Value:
        xs = self.atom(expr.iterable)
        assert isinstance(expr.type, ListT)
        name, depth = self.declare(var)
        # Elements see the list's depth where it is used, which may be a variable that changes later: fix the list itself.
        source = self.local.fresh(f"{name}_source")
        self.line(f"const auto {source} = {xs.code};")
        self.line(f"auto {name} = make_list<{self.types.cpp(expr.type.item)}>(cx.host, {source}.size);")
        if depth:
            self.line(f"int64_t {depth} = 0;")
        index = self.local.fresh("i")

        def store(v: Value) -> None:
            self.line(f"{name}.data[{index}] = {v.code};")
            if depth and v.depth != "0":
                self.line(f"{depth} = std::max({depth}, {v.depth});")

        env = dict(self.env)
        loop = f"for (int64_t {index} = 0; {index} < {source}.size; ++{index})"
        if self.waiting and self.may_wait(expr.body):
            join, child = self.local.fresh(f"{name}_join"), self.local.fresh(f"{name}_child")
            self.line(f"Join {join}({source}.size);")
            self.line(f"auto {child} = [&](Join&, int64_t {index}) -> Child {{")
            self.indent += 1
            self.element(expr.var, Value(source, xs.depth), index)
            self.body(expr.body, store)
            self.line("co_return;")
            self.indent -= 1
            self.line("};")
            self.line(f"{loop} {child}({join}, {index});")
            self.line(f"co_await {join};")
        else:
            self.line(loop + " {")
            self.indent += 1
            self.element(expr.var, Value(source, xs.depth), index)
            self.body(expr.body, store)
            self.indent -= 1
            self.line("}")
        self.env = env
        return Value(name, depth)

    def carried(self, variables: tuple[n.Var, ...], init: tuple[n.Atom, ...]) -> list[tuple[str, str]]:
        """Declare the variables a loop rebinds."""
        names = []
        for v, a in zip(variables, init, strict=True):
            start = self.atom(a)
            name, depth = self.declare(v)
            self.line(f"{self.types.cpp(v.type)} {name} = {start.code};")
            if depth:
                self.line(f"int64_t {depth} = {start.depth};")
            names.append((name, depth))
        for v, (name, depth) in zip(variables, names, strict=True):
            self.put(v.name, name, depth)
        return names

    def rebind(self, names: list[tuple[str, str]], body: n.Expr) -> None:
        """The loop body: all new values are computed before any variable changes."""
        bindings, result = lets(body)
        if (
            isinstance(result, n.Var)
            and bindings
            and bindings[-1][0].name == result.name
            and isinstance(bindings[-1][1], n.Tuple)
        ):
            # The usual shape: the body ends by building the tuple of new values.
            items = bindings[-1][1].items
            for var, value in self.in_order(bindings[:-1]):
                self.bind(var, value)
            self.assign_all(names, [self.atom(a) for a in items])
        elif isinstance(result, n.Tuple):
            for var, value in self.in_order(bindings):
                self.bind(var, value)
            self.assign_all(names, [self.atom(a) for a in result.items])
        else:
            temp, depth = self.variable(n.Var("next", body.type))
            self.body(body, partial(self.assign, temp, depth))
            self.assign_all(names, [Value(f"std::get<{i}>({temp})", depth if d else "") for i, (_, d) in enumerate(names)])

    def in_order(self, bindings: Sequence[Binding]) -> Iterator[Binding]:
        """Bindings of a loop body, with independent waiting calls forked."""
        done: set[int] = set()
        for i, binding in enumerate(bindings):
            if i in done:
                continue
            if self.waiting and self.may_wait(binding[1]):
                group = self.fork_group(bindings, i, done)
                if len(group) > 1:
                    self.fork(bindings, group, done)
                    continue
            yield binding

    def assign_all(self, names: list[tuple[str, str]], values: list[Value]) -> None:
        changing = [(name, depth, v) for (name, depth), v in zip(names, values, strict=True) if v.code != name]
        targets = {name for name, _, _ in changing} | {depth for _, depth, _ in changing if depth}
        if len(changing) > 1:
            # A value or depth that is itself a loop variable must be read before it is overwritten.
            saved = []
            for name, depth, v in changing:
                code, d = v.code, v.depth
                if code in targets:
                    code = self.local.fresh(f"{name}_next")
                    self.line(f"const auto {code} = {v.code};")
                if d in targets:
                    d = self.local.fresh(f"{depth}_next")
                    self.line(f"const int64_t {d} = {v.depth};")
                saved.append((name, depth, Value(code, d)))
            changing = saved
        for name, depth, v in changing:
            self.line(f"{name} = {v.code};")
            if depth:
                self.line(f"{depth} = {v.depth};")

    def results(self, var: n.Var, variables: tuple[n.Var, ...], names: list[tuple[str, str]], type: Type) -> Value:
        name, depth = self.declare(var)
        self.line(f"const auto {name} = {self.types.cpp(type)}({', '.join(x for x, _ in names)});")
        if depth:
            self.line(f"const int64_t {depth} = {self.join_depths([d for _, d in names])};")
        return Value(name, depth)

    def fold(self, var: n.Var, expr: n.Fold) -> Value:
        xs = self.atom(expr.iterable)
        env = dict(self.env)
        names = self.carried(expr.vars, expr.init)
        source, index = self.local.fresh(f"{identifier(var.name)}_source"), self.local.fresh("i")
        self.line(f"const auto {source} = {xs.code};")
        self.line(f"for (int64_t {index} = 0; {index} < {source}.size; ++{index}) {{")
        self.indent += 1
        self.element(expr.var, Value(source, xs.depth), index)
        self.rebind(names, expr.body)
        self.indent -= 1
        self.line("}")
        self.env = env
        return self.results(var, expr.vars, names, expr.type)

    def while_(self, var: n.Var, expr: n.Loop) -> Value:
        env = dict(self.env)
        names = self.carried(expr.vars, expr.init)
        self.line("for (;;) {")
        self.indent += 1
        self.body(expr.cond, lambda v: self.line(f"if (!({v.code})) break;"))
        self.rebind(names, expr.body)
        self.indent -= 1
        self.line("}")
        self.env = env
        return self.results(var, expr.vars, names, expr.type)

    # ---- waiting

    def may_wait(self, expr: n.Expr) -> bool:
        match expr:
            case n.Item():
                return True
            case n.Call(function):
                return function in self.facts.waits
            case n.Let():
                bindings, result = lets(expr)
                return any(self.may_wait(v) for _, v in bindings) or self.may_wait(result)
            case n.If(_, then, orelse):
                return self.may_wait(then) or self.may_wait(orelse)
            case n.Match(_, arms):
                return any(self.may_wait(a.body) for a in arms)
            case n.Map(_, _, body) | n.Fold(_, _, _, _, body):
                return self.may_wait(body)
            case n.Loop(_, _, cond, body):
                return self.may_wait(cond) or self.may_wait(body)
        return False

    def fork_group(self, bindings: Sequence[Binding], first: int, done: set[int], entry: bool = False) -> list[int]:
        """The waiting bindings from `first` on that depend on no waiting binding from `first` on: they wait together.

        Non-waiting bindings in between that members need are pure and move before the fork.
        """
        group = [first]
        blocked = {bindings[first][0].name}
        for j in range(first + 1, len(bindings)):
            if j in done:
                continue
            var, value = bindings[j]
            if entry and self.phase_of[var.name] != self.current_phase:
                break
            if free_vars(value) & blocked:
                blocked.add(var.name)
            elif self.may_wait(value):
                group.append(j)
                blocked.add(var.name)
        return group

    def fork(self, bindings: Sequence[Binding], group: list[int], done: set[int]) -> None:
        needed: set[str] = set().union(*(free_vars(bindings[j][1]) for j in group))
        moved = []
        for j in reversed(range(group[0], group[-1])):
            var, value = bindings[j]
            if j not in group and j not in done and var.name in needed:
                moved.append(j)
                needed |= free_vars(value)
        for j in reversed(moved):
            self.bind(*bindings[j])
            done.add(j)
        join = self.local.fresh("join")
        self.line(f"Join {join}({len(group)});")
        for j in group:
            var, value = bindings[j]
            name, depth = self.variable(var)
            child = self.local.fresh(f"{identifier(var.name)}_child")
            self.line(f"auto {child} = [&](Join&) -> Child {{")
            self.indent += 1
            env = dict(self.env)
            self.body(value, partial(self.assign, name, depth))
            self.line("co_return;")
            self.indent -= 1
            self.line("};")
            self.env = env
            self.put(var.name, name, depth)
            done.add(j)
            self.line(f"{child}({join});")
        self.line(f"co_await {join};")
