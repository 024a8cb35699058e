"""Prints a schedule as C++ functions: host code, compiled ahead of time, that runs one instance and records its tensor work.

The schedule (`schedule.nodes`) says what is done, in which order and at which depths. The depth of a variable `x` is in the C++
variable `x_depth`. Each function has a reference parameter `depth`, in which the caller passes the depth of the arguments and
the function returns that of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import PurePath
from typing import cast

from backends.acrobat.codegen.copies import WrittenFunction
from backends.acrobat.codegen.cpp import Identifiers, c_string, identifier
from backends.acrobat.codegen.numbers import Stretch, mentioned, stretches
from backends.acrobat.codegen.parts import CallOf, Cpp, call_of, cpp, listed
from backends.acrobat.codegen.values import ValueWriter
from backends.acrobat.core.types import DataT, ListT, ScalarT, TensorT
from backends.acrobat.ir import nodes as n
from backends.acrobat.schedule import nodes as s

Finish = Callable[[s.Give | s.Next | s.NextOf], None]
"""A function that prints the end of a body: returns its value, assigns it to a variable, ..."""


class FunctionWriter(ValueWriter):
    """Writes functions, one after the other."""

    # ---- the function

    def write(self, f: s.HostFunction) -> WrittenFunction:
        """The function, with a comment that says where it stands in the source."""
        self.waiting = f.waits
        if f.waits:
            self.mentions = mentioned(f)
        self.codes, self.depths, self.lines, self.local = {}, {}, [], Identifiers(("cx", "s", "depth"))
        names = [self.local.fresh(p.name) for p in f.params]
        self.codes.update((p.name, name) for p, name in zip(f.params, names, strict=True))
        self.local.taken.add("depth_in")
        self.line("Context& cx = s.cx;")
        self.line("[[maybe_unused]] const int64_t depth_in = depth;")
        if f.counts_calls:
            self.line(f"cx.guard({c_string(f.name)}, calls);")
        self.body(f.body, self.returns)
        comment = f"// {f.name}, {PurePath(f.span.file).name}:{f.span.line}" if f.span.line else f"// {f.name}"
        result = f"Task<{self.types.cpp(f.result)}>" if f.waits else self.types.cpp(f.result)
        params = (*(f"{self.types.cpp(p.type)} {name}" for p, name in zip(f.params, names, strict=True)), "int64_t& depth")
        return WrittenFunction(comment, result, params, f.counts_calls, cpp(*(x for line in self.lines for x in (line, "\n"))))

    def returns(self, end: s.Give | s.Next | s.NextOf) -> None:
        """Prints the end of a function: its result is returned, with its depth in `depth`."""
        assert isinstance(end, s.Give)
        if end.depth is not None:
            self.line("depth = ", self.depth(end.depth), ";")
        self.line("co_return " if self.waiting else "return ", self.atom(end.value), ";")

    # ---- variables

    def variable(self, var: n.Var) -> Finish:
        """Declares a C++ variable for `var` and returns the function that prints its assignment at the end of a body."""
        name, depth = self.declare(var)
        self.line(f"{self.types.cpp(var.type)} {name}{{}};")
        if depth:
            self.line(f"int64_t {depth} = 0;")

        def assign(end: s.Give | s.Next | s.NextOf) -> None:
            assert isinstance(end, s.Give)
            self.line(f"{name} = ", self.atom(end.value), ";")
            if end.depth not in (None, s.READY):
                self.line(f"{depth} = ", self.depth(end.depth), ";")

        return assign

    # ---- bodies

    def body(self, body: s.Body, finish: Finish) -> None:
        for statement in stretches(body.statements, self.mentions) if self.waiting else body.statements:
            if isinstance(statement, Stretch):
                self.stretch(statement)
            else:
                self.statement(statement)
        if isinstance(body.end, s.IfBranch | s.MatchBranch):
            self.branch(body.end, finish)
        else:
            finish(body.end)

    def stretch(self, x: Stretch) -> None:
        """Prints a stretch as a lambda that is called at once; what is needed after it becomes variables outside."""
        names = {v.name: self.local.fresh(v.name) for v in x.kept}
        for v in x.kept:
            self.line(f"{self.types.cpp(v.type)} {names[v.name]}{{}};")
        self.line("[&] {")
        self.waiting = False
        self.inside(s.Body(x.statements, s.Next(())), lambda _: None)
        self.waiting = True
        for name, outside in names.items():
            self.line(f"    {outside} = ", self.codes[name], ";")
        self.line("}();")
        self.codes.update(names)

    def inside(self, body: s.Body, finish: Finish, after: str = "") -> None:
        """Prints a body, indented, and then the line `after`. Depths that the body changes are forgotten at its end."""
        depths = dict(self.depths)
        self.indent += 1
        self.body(body, finish)
        if after:
            self.line(after)
        self.indent -= 1
        self.depths = depths

    def branch(self, branch: s.IfBranch | s.MatchBranch, finish: Finish) -> None:
        """Prints a branch, of which each arm ends as `finish` says."""
        if isinstance(branch, s.IfBranch):
            self.line("if (", self.atom(branch.cond), ") {")
            self.inside(branch.then, finish)
            self.line("} else {")
            self.inside(branch.orelse, finish)
            self.line("}")
            return
        value, type = self.atom(branch.value), branch.value.type
        assert isinstance(type, DataT)
        if len(branch.arms) == 1:
            self.fields(value, type, branch.arms[0])
            self.body(branch.arms[0].body, finish)
            return
        self.line("switch (", value, "->tag) {")
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

    def fields(self, value: Cpp, type: DataT, arm: s.BranchArm) -> None:
        """Declares C++ constants for the fields that an arm uses; `value` is the C++ of the matched value."""
        fields = self.schedule.program.datatypes[type.name].case(arm.case).fields
        for i, var in arm.fields:
            name = self.codes[var.name] = self.local.fresh(var.name)
            member = self.types.field(type, arm.case, fields[i][0])
            self.line(f"const auto {name} = static_cast<{self.types.case(type, arm.case)}*>(", value, f")->{member};")

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
                at = self.before_wait(self.depth(depth))
                self.line("co_await s.waiting.wait(cx, ", at, ", ", self.atom(tensor), f", {tensor.type.width});")
            case s.Enter(phase):
                self.line(f"cx.stage = &cx.stages[{phase}];")
            case s.Pad(name, depth, levels):
                later = self.local.fresh(f"{identifier(name)}_padded")
                self.line(f"const int64_t {later} = padded(", self.depth(depth), f", {levels});")
                self.depths[name] = later
            case s.NextSegment(name):
                end = self.local.fresh(f"{identifier(name)}_end")
                self.line(f"const int64_t {end} = cx.stage->next(", self.depths[name], ");")
                self.depths[name] = end
            case s.Ready(var, of):
                self.codes[var.name] = self.codes[of.name]

    # ---- values

    def call(self, x: s.CallFunction) -> None:
        depth = self.local.fresh(f"{identifier(x.var.name)}_depth")
        self.line(f"int64_t {depth} = ", self.depth(x.depth), ";")
        args = [*map(self.atom, x.call.args), depth, *(["calls + 1"] if x.counts_calls else [])]
        self.define(x.var, cpp("co_await " if x.waits else "", CallOf(x.call.function), ", ", listed(args), ")"))
        self.depths[x.var.name] = depth

    # ---- loops

    def element(self, item: n.Var, source: str, index: str) -> None:
        """Declares the variable for the element number `index` of a list; both are C++."""
        name = self.codes[item.name] = self.local.fresh(item.name)
        self.line(f"    [[maybe_unused]] const auto {name} = {source}.data[{index}];")

    def map(self, x: s.MapLoop) -> None:
        assert isinstance(x.var.type, ListT)
        name, depth = self.declare(x.var)
        source = self.local.fresh(f"{name}_source")
        self.line(f"const auto {source} = ", self.atom(x.iterable), ";")
        self.line(f"auto {name} = make_list<{self.types.cpp(x.var.type.item)}>(cx.host, {source}.size);")
        if depth:
            self.line(f"int64_t {depth} = 0;")
        index = self.local.fresh("i")

        def store(end: s.Give | s.Next | s.NextOf) -> None:
            assert isinstance(end, s.Give)
            self.line(f"{name}.data[{index}] = ", self.atom(end.value), ";")
            if end.depth not in (None, s.READY):
                self.line(f"{depth} = ", call_of("std::max", (depth, self.depth(end.depth))), ";")

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
            self.line(f"{self.types.cpp(v.type)} {name} = ", code, ";")
            if depth:
                self.line(f"int64_t {depth} = ", start, ";")
            names.append((name, depth))
        if isinstance(x, s.FoldLoop):
            source, index = self.local.fresh(f"{identifier(x.var.name)}_source"), self.local.fresh("i")
            self.line(f"const auto {source} = ", self.atom(x.iterable), ";")
            self.line(f"for (int64_t {index} = 0; {index} < {source}.size; ++{index}) {{")
            self.element(x.item, source, index)
        else:
            self.line("for (;;) {")
            self.line("    cx.tick();")
            self.inside(x.cond, lambda end: self.line("if (!(", self.atom(end.value), ")) break;"))  # type: ignore[union-attr]
        self.inside(x.body, partial(self.rebind, names))
        self.line("}")
        depths = s.Join(tuple(s.Of(v.name) for v in x.vars if self.schedule.holds(v.type)))
        self.define(x.var, call_of(self.types.cpp(x.var.type), [code for code, _ in names]), self.depth(depths))

    def rebind(self, names: Sequence[tuple[str, str]], end: s.Give | s.Next | s.NextOf) -> None:
        """Gives a loop's variables their next values. One that is another's next value is saved before it is overwritten."""
        if isinstance(end, s.NextOf):
            next_values, depth = self.atom(end.whole.value), self.depth(end.whole.depth) if end.whole.depth else ""
            values = [(call_of(f"std::get<{i}>", [next_values]), depth if own else "") for i, (_, own) in enumerate(names)]
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
                    self.line(f"const {type} ", parts[k], " = ", new[k], ";")
            saved.append((to, parts))
        for (name, depth), (code, value) in saved:
            self.line(f"{name} = ", code, ";")
            if depth:
                self.line(f"{depth} = ", value, ";")

    # ---- waiting

    def fork(self, x: s.Fork) -> None:
        waits = [only_wait(branch.body) for branch in x.branches]
        if all(waits):
            self.wait_for_all(x, [wait for wait in waits if wait])
            return
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

    def wait_for_all(self, x: s.Fork, waits: Sequence[s.Wait]) -> None:
        """A fork whose branches do nothing but read a number each: the function itself waits for all of them."""
        numbers = listed(cpp("{", self.atom(w.tensor), f", {cast(TensorT, w.tensor.type).width}}}") for w in waits)
        depths = list(dict.fromkeys(self.depth(w.depth) for w in waits))
        read, depth = self.local.fresh("read"), self.before_wait(self.latest(depths))
        self.line(f"Waiting::Number {read}[] = {{", numbers, "};")
        self.line("co_await s.waiting.wait_for_all(cx, ", depth, f", {read});")
        for i, branch in enumerate(x.branches):
            assign = self.variable(branch.var)
            self.line(f"cx.awaited = {read}[{i}].values;")
            self.body(s.Body(branch.body.statements[1:], branch.body.end), assign)

    def before_wait(self, code: Cpp) -> Cpp:
        """The C++ expression for a depth, for use in one that waits. GCC 12 refuses a braced list in such an expression, as an
        "array used as initializer": the array behind the list would have to be kept in the coroutine's frame. So the depth of a
        list of depths gets a name first."""
        if "{" not in code:
            return code
        depth = self.local.fresh("awaited_depth")
        self.line(f"const int64_t {depth} = ", code, ";")
        return depth


def only_wait(body: s.Body) -> s.Wait | None:
    """The wait of a body that only reads one number; None for others."""
    match body:
        case s.Body((s.Wait() as wait, s.Assign(_, n.Item(_, ScalarT()))), s.Give()):
            return wait
    return None
