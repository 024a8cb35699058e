"""The program's functions in C++: ahead-of-time compiled host code that runs one instance and records its tensor work.

Each tensor-valued variable `x` has its depth in `x_depth`: the first level at which it can be used. An operation is
recorded at the largest depth of its operands (never before the current segment's start), its result's depth is one more.
Functions take the depth of their arguments in `depth` and leave that of their result there. That is all the dependence
tracking there is at run time (paper: inline depth computation); siblings that do not use each other's results get the
same depth by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath

from backends.acrobat.analyses.facts import Facts
from backends.acrobat.codegen.cpp import Names, Types, c_string, identifier
from backends.acrobat.codegen.order import groups, may_wait, phase_of_each
from backends.acrobat.codegen.units import Units
from backends.acrobat.core.ops import is_view
from backends.acrobat.core.types import UNIT, DataT, ListT, ScalarT, TensorT, TupleT, Type
from backends.acrobat.core.units import Mode
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.visitor import Binding, free_vars, lets


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
        self.segment = 0  # in which work begins here
        self.ghosts = 0  # levels by which it begins later

    # ---- the function

    def signature(self, f: n.Function, names: list[str] | None = None) -> str:
        params = [f"{self.types.cpp(p.type)}{'' if names is None else ' ' + names[i]}" for i, p in enumerate(f.params)]
        result = self.types.cpp(f.result)
        if f.name in self.facts.waits:
            result = f"Task<{result}>"
        params += ["int64_t& depth"]
        if self.counts_calls(f.name):
            params += ["int64_t calls = 0" if names is None else "int64_t calls"]
        return f"static {result} {self.function_names[f.name]}({', '.join(['Session& s', *params])})"

    def counts_calls(self, function: str) -> bool:
        """Whether a function is told how many calls it is below the first: so a recursion without an end is found that needs no
        stack, since the C++ compiler makes a loop of it. (Coroutines are counted where their frames are.)"""
        return function in self.facts.recursive and function not in self.facts.waits

    def write(self, f: n.Function) -> str:
        self.function = f
        self.waiting = f.name in self.facts.waits
        self.current_phase = 0
        self.phase_of = {}
        self.segment = self.ghosts = 0
        self.env, self.lines, self.local = {}, [], Names(("cx", "s", "depth"))
        names = [self.local.fresh(p.name) for p in f.params]
        for p, name in zip(f.params, names, strict=True):
            self.put(p.name, name, "depth_in" if self.types.has_tensor(p.type) else "")
        self.local.taken.add("depth_in")
        self.line("Context& cx = s.cx;")
        self.line("[[maybe_unused]] const int64_t depth_in = depth;")
        if self.counts_calls(f.name):
            self.line(f"cx.guard({c_string(f.name)}, calls);")
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
                return Value(f"int64_t{{{value}}}" if value > -(2**63) else f"(int64_t{{{value + 1}}} - 1)")

    def start(self) -> str:
        """The depth at which work can begin."""
        start = f"cx.stage->start({self.segment or ''})"
        return f"{start} + {self.ghosts}" if self.ghosts else start

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
        entry = self.function is not None and self.function.name == self.program.entry and finish == self.returns
        if entry:
            bindings = self.by_phase(bindings)
        for group in groups(bindings, self.facts.waits, self.phase_of if entry else None):
            if entry:
                self.enter_phase(self.phase_of[group[0][0].name])
            self.bind_all(group)
        self.compound(result, finish) if not isinstance(result, (n.Var, n.Lit, n.Weight)) else finish(self.atom(result))

    def enter_phase(self, phase: int) -> None:
        if phase != self.current_phase:
            self.current_phase = phase
            self.line(f"cx.stage = &cx.stages[{phase}];")

    def by_phase(self, bindings: list[tuple[n.Var, n.Expr]]) -> list[tuple[n.Var, n.Expr]]:
        """The entry's bindings, earlier phases first."""
        phase = phase_of_each(bindings, self.facts.phase, {name: v.phase for name, v in self.env.items()})
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
            v = self.aligned(var, self.loop(var, value))
            self.put(var.name, v.code, v.depth)
            return
        v = self.simple(var, value)
        if isinstance(value, n.Call):
            v = self.aligned(var, v)
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
                ghosts = self.ghosts_of(expr, finish)
                self.line(f"if ({self.atom(cond).code}) {{")
                self.block(then, finish, ghosts[0])
                self.line("} else {")
                self.block(orelse, finish, ghosts[1])
                self.line("}")
            case n.Match(value, arms):
                self.match(value, arms, finish, self.ghosts_of(expr, finish))
            case n.Let():
                self.body(expr, finish)
            case n.Var() | n.Lit() | n.Weight():
                finish(self.atom(expr))
            case _:
                var = n.Var("result", expr.type)
                self.bind(var, expr)
                finish(self.env["result"])

    def block(self, expr: n.Expr, finish: Finish, ghosts: int = 0) -> None:
        env, phase, before = dict(self.env), self.current_phase, self.ghosts
        self.indent += 1
        self.pad(expr, ghosts)
        self.body(expr, finish)
        self.indent -= 1
        self.env, self.current_phase, self.ghosts = env, phase, before

    def ghosts_of(self, branch: n.If | n.Match, finish: Finish) -> tuple[int, ...]:
        assert self.function is not None
        if self.function.name == self.program.entry and finish == self.returns:
            return (0,) * (2 if isinstance(branch, n.If) else len(branch.arms))  # nothing follows
        return self.facts.alignment.ghosts(self.function.name, branch)

    def pad(self, arm: n.Expr, ghosts: int) -> None:
        """Ghost operators: an arm's work begins so many levels later."""
        if not ghosts:
            return
        self.ghosts += ghosts
        for name in sorted(free_vars(arm)):
            v = self.env[name]
            if self.atom(n.Var(name, UNIT)).depth not in ("", "0"):
                later = self.local.fresh(f"{identifier(name)}_padded")
                self.line(f"const int64_t {later} = padded({v.depth}, {ghosts});")
                self.put(name, v.code, later)

    def aligned(self, var: n.Var, value: Value) -> Value:
        """The value of a loop or call, at the beginning of the next segment if what follows is to stand there."""
        assert self.function is not None
        if not value.depth or (self.function.name, var.name) not in self.facts.alignment.ends:
            return value
        depth = self.local.fresh(f"{identifier(var.name)}_end")
        if not value.code.isidentifier():
            name = self.local.fresh(f"{identifier(var.name)}_result")
            self.line(f"{self.types.constant(var.type)} {name} = {value.code};")
            value = Value(name, value.depth)
        self.line(f"const int64_t {depth} = cx.stage->next({value.depth});")
        return Value(value.code, depth)

    def match(self, value: n.Atom, arms: tuple[n.Arm, ...], finish: Finish, ghosts: tuple[int, ...]) -> None:
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
        for arm, levels in zip(arms, ghosts, strict=True):
            self.line(f"case {self.types.tag(type, arm.case)}: {{")
            env, phase, before = dict(self.env), self.current_phase, self.ghosts
            self.indent += 1
            self.take_apart(v, type, arm)
            self.pad(arm.body, levels)
            self.body(arm.body, finish)
            if finish != self.returns:
                self.line("break;")
            self.indent -= 1
            self.env, self.current_phase, self.ghosts = env, phase, before
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
                member = self.types.field(type, arm.case, field_)
                self.line(f"const auto {name} = static_cast<{self.types.case(type, arm.case)}*>({v.code})->{member};")
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
                self.line(f"co_await s.waiting.wait(cx, {t.depth});")
                if type == ScalarT("int"):
                    return Value(f"*reinterpret_cast<const int64_t*>(cx.computed({t.code}))")
                return Value(f"double(*cx.computed({t.code}))")
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
                    self.line(f"{name}->{self.types.field(type, case, f)} = {v.code};")
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
        if op == "lookup":
            _, table, other = args
            assert isinstance(table, n.Weight) and isinstance(other, n.Weight)
            sizes = [TensorT(t.type.shape[1:]).size for t in (table, other)]
            places = [self.weights[t.name] for t in (table, other)]
            return Value(f"cx.lookup({values[0].code}, {places[0]}, {sizes[0]}, {places[1]}, {sizes[1]})", values[0].depth)
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
            start = self.start()
            at = start if depths == "0" else f"std::max({start}, {depths})"
            if depths.startswith("std::max({"):
                at = f"std::max({{{start}, {depths[len('std::max({') :]}"
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
        depths = [v.depth for v in values]
        if self.segment or self.ghosts:
            depths.append(self.start())
        self.line(f"int64_t {depth} = {self.join_depths(depths)};")
        target = self.function_names[expr.function]
        assert self.function is not None
        below = ["calls + 1"] if self.counts_calls(expr.function) and self.counts_calls(self.function.name) else []
        code = f"model::{target}({', '.join(['s', *(v.code for v in values), depth, *below])})"
        if expr.function in self.facts.waits:
            code = f"co_await {code}"
        return Value(code, depth if self.types.has_tensor(expr.type) else "")

    def host(self, op: str, args: tuple[n.Atom, ...], type: Type) -> Value:
        values = [self.atom(a) for a in args]
        c = [v.code for v in values]
        depth = self.join_depths([v.depth for v in values]) if self.types.has_tensor(type) else ""
        infix = {"add": "+", "sub": "-", "mul": "*", "bitand": "&", "bitor": "|", "bitxor": "^"}
        compare = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
        floats = any(a.type == ScalarT("float") for a in args)
        if op in ("add", "sub", "mul", "neg", "shl", "shr") and not floats:
            return Value(f"acrobat::{op}({', '.join(c)})")  # checked
        if op in compare and len({a.type == ScalarT("float") for a in args}) > 1:
            exact = [x if a.type == ScalarT("float") else f"int64_t({x})" for x, a in zip(c, args, strict=True)]
            return Value(f"acrobat::{op}({', '.join(exact)})")
        if op in infix or op in compare:
            return Value(f"({c[0]} {(infix | compare)[op]} {c[1]})")
        match op:
            case "square":
                return Value(f"acrobat::square(double({c[0]}))")
            case "float32":
                number = "double" if floats else "int64_t"
                return Value(f"acrobat::to_float32({number}({c[0]}))")
            case "from_start":
                return Value(f"acrobat::from_start({c[0]})")
            case "div" | "floordiv" | "mod":
                number = "double" if floats else "int64_t"
                return Value(f"acrobat::{op}({number}({c[0]}), {number}({c[1]}))")
            case "neg":
                return Value(f"(-{c[0]})")
            case "not":
                return Value(f"(!{c[0]})")
            case "min" | "max":
                cpp = self.types.cpp(type)
                return Value(f"std::{op}({{{', '.join(f'{cpp}({x})' for x in c)}}})")
            case "abs":
                return Value(f"std::abs({c[0]})" if floats else f"acrobat::abs({c[0]})")
            case "int":
                return Value(f"acrobat::to_int({c[0]})" if floats else f"int64_t({c[0]})")
            case "float":
                return Value(f"double({c[0]})")
            case "bool":
                return Value(f"({c[0]} != 0)")
            case "phase":
                return Value(c[0], depth)
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
        assert self.function is not None
        segment = self.segment
        if (self.function.name, var.name) in self.facts.alignment.later:
            self.segment += 1
        match expr:
            case n.Map():
                value = self.map(var, expr)
            case n.Fold():
                value = self.fold(var, expr)
            case n.Loop():
                value = self.while_(var, expr)
        self.segment = segment
        return value

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
        if may_wait(expr.body, self.facts.waits):
            join, child = self.local.fresh(f"{name}_join"), self.local.fresh(f"{name}_child")
            self.line(f"Join {join}({source}.size);")
            self.line(f"auto {child} = [&](Join&, int64_t {index}) -> Child {{")
            self.indent += 1
            self.element(expr.var, Value(source, xs.depth), index)
            self.body(expr.body, store)
            self.line("co_return;")
            self.indent -= 1
            self.line("};")
            self.line(f"{loop} {join}.fork([&] {{ {child}({join}, {index}); }});")
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
            for group in groups(bindings[:-1], self.facts.waits):
                self.bind_all(group)
            self.assign_all(names, [self.atom(a) for a in items])
        elif isinstance(result, n.Tuple):
            for group in groups(bindings, self.facts.waits):
                self.bind_all(group)
            self.assign_all(names, [self.atom(a) for a in result.items])
        else:
            temp, depth = self.variable(n.Var("next", body.type))
            self.body(body, partial(self.assign, temp, depth))
            self.assign_all(names, [Value(f"std::get<{i}>({temp})", depth if d else "") for i, (_, d) in enumerate(names)])

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
        self.line("cx.tick();")
        self.body(expr.cond, lambda v: self.line(f"if (!({v.code})) break;"))
        self.rebind(names, expr.body)
        self.indent -= 1
        self.line("}")
        self.env = env
        return self.results(var, expr.vars, names, expr.type)

    # ---- waiting

    def bind_all(self, group: Sequence[Binding]) -> None:
        """A group of `order.groups`."""
        if len(group) == 1:
            self.bind(*group[0])
        else:
            self.fork(group)

    def fork(self, group: Sequence[Binding]) -> None:
        join = self.local.fresh("join")
        self.line(f"Join {join}({len(group)});")
        for var, value in group:
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
            self.line(f"{join}.fork([&] {{ {child}({join}); }});")
        self.line(f"co_await {join};")
