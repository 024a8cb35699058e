"""Prints a lowered program as C++: `set_up`, which fills the session; a function for each body; the loop nest `run_loops`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from backends.acrobat.core.units import Mode
from backends.acrobat.kernels.interface import CpuCode, Emitted
from backends.cortex.lowered import Body, Call, Copy, Lowered, Place, Program, index
from backends.cortex.recursion import Chain, Grid, Tree

KINDS = {Tree: "tree", Chain: "chain", Grid: "grid"}


@dataclass(frozen=True)
class Shared:
    """A constant, packed as the kernel `symbol` needs it for its parameter `param`; plain, for a copy, if both are empty."""

    constant: int
    symbol: str
    param: str


@dataclass
class Tables:
    """The tables of addresses that the bodies of a recursion read; an entry's index is its number in the C++. `child`: the slot
    and the start of the state in its row; `each`: the start of the state; `word`: the number of the table of words."""

    child: list[tuple[int, int]] = field(default_factory=list)
    each: list[int] = field(default_factory=list)
    word: list[int] = field(default_factory=list)


class Generator:
    """`emitted`: the kernel of each call. `source()` gives the C++ and fills `shared`, the weights in `s.weights`' order."""

    def __init__(self, program: Program, emitted: Mapping[Call, Emitted[CpuCode]]) -> None:
        self.program = program
        self.emitted = emitted
        self.options = program.options
        self.shared: list[Shared] = []
        self.own: list[tuple[int, int, int]] = []
        self.tables = [Tables() for _ in program.recursions]
        self.sparse: list[str] = []
        """Without `dense`: for each intermediate its elements over all nodes, as a C++ expression."""
        self.reserve: dict[int, list[str]] = {}

    def source(self) -> str:
        """The C++ of the whole model. May be called once, since it fills `shared`."""
        functions = []
        for i, r in enumerate(self.program.recursions):
            for name, body in (("leaf", r.leaf), ("hoisted", r.hoisted), ("inner", r.inner)):
                if body.steps:
                    functions.append(self._body(f"{name}_{i}", body, i, r))
            if not self.options.specialise and r.leaf.steps:
                functions.append(EITHER.format(i=i))
        functions.append(self._body("output", self.program.output, -1, None))
        loops = self._loops()
        declarations = sorted({f'extern "C" {e.code.declaration}' for e in self.emitted.values()})
        return "\n".join(
            [
                '#include "interface.h"',
                "",
                *declarations,
                "",
                "namespace cortex {",
                "",
                f"const Kind kind = Kind::{KINDS[type(self.program.structure)]};",
                f"const bool per_element = {'false' if isinstance(self.program.structure, Tree) else 'true'};",
                "",
                *functions,
                loops,
                "",
                self._set_up(),
                "",
                "}  // namespace cortex",
                "",
            ]
        )

    # ---- bodies

    def _body(self, name: str, body: Body, number: int, recursion: Lowered | None) -> str:
        unused = "[[maybe_unused]]"
        lines = [f"static void {name}(Session& s, {unused} Worker& w, int64_t n0, int64_t n1, {unused} bool split) {{"]
        lines += ["    const int64_t n = n1 - n0;"]
        if recursion is not None:
            lines += [f"    [[maybe_unused]] const Linear& l = s.linear[{number}];"]
            lines += [f"    [[maybe_unused]] const int64_t states = s.at(s.states[{number}]->room(0));"]
            lines += [f"    [[maybe_unused]] const int64_t hoisted = s.at(s.hoisted[{number}]->room(0));"]
        per_child = any(isinstance(s, Call) and (s.per_child or self._lists(s)) for s in body.steps)
        if per_child:
            lines += ["    [[maybe_unused]] const int64_t e0 = l.starts[size_t(n0)], e = l.starts[size_t(n1)] - e0;"]
        lines += self._intermediates(body, number, recursion)
        listed: dict[tuple[int, int], int] = {}
        for step in body.steps:
            if isinstance(step, Copy):
                lines += self._copy(step, number, recursion)
            else:
                lines += self._call(step, body, number, recursion, listed)
        return "\n".join([*lines, "}", ""])

    def _lists(self, call: Call) -> bool:
        return any(p.mode is Mode.LIST for p in call.kernel.params)

    def _intermediates(self, body: Body, number: int, recursion: Lowered | None) -> list[str]:
        if not body.temporaries:
            return []
        if self.options.dense or recursion is None:
            sizes = [f"{'e' if per_child else 'n'} * {size}" for size, per_child in body.temporaries]
            lines = [f"    const int64_t t0 = s.at(w.intermediates({' + '.join(sizes)}));"]
            lines += [f"    const int64_t t{i} = t{i - 1} + {sizes[i - 1]};" for i in range(1, len(sizes))]
            return lines
        lines = []
        for i, (size, per_child) in enumerate(body.temporaries):
            slot = len(self.sparse)
            self.sparse.append(f"{'l.starts.back()' if per_child else 'l.nodes'} * {size}")
            self.reserve.setdefault(number, []).append(f"{{{slot}, {self.sparse[-1]}}}")
            lines += [f"    const int64_t t{i} = s.at(s.sparse[{slot}]->room(0)) + {'e0' if per_child else 'n0'} * {size};"]
        return lines

    def _operand(
        self, place: Place, recursion: Lowered | None, number: int, sizes: Sequence[tuple[int, bool]]
    ) -> tuple[str, str]:
        """C++ for the start and the stride of an operand's rows; or, if they are scattered, the table of addresses, and ""."""
        match place.kind:
            case "zero":
                return "s.at(s.zeros)", "int64_t{0}"
            case "word":
                return f"l.word[{index(self.tables[number].word, place.a)}].data() + n0", ""
            case "child":
                return f"l.child[{index(self.tables[number].child, (place.a, place.at))}].data() + n0", ""
            case "each":
                return f"l.each[{index(self.tables[number].each, place.at)}].data()", ""
            case "own":
                return f"s.own[{index(self.own, (place.a, place.at, place.root))}].data() + n0", ""
            case "state":
                assert recursion is not None
                return f"states + n0 * {recursion.row} + {place.at}", f"int64_t{{{recursion.row}}}"
            case "hoisted":
                assert recursion is not None
                return f"hoisted + n0 * {recursion.hoisted_row} + {place.at}", f"int64_t{{{recursion.hoisted_row}}}"
            case "temporary":
                return f"t{place.a} + {place.at}", f"int64_t{{{sizes[place.a][0]}}}"
            case "out":
                width = self.program.result.width
                return f"s.at(s.out) + n0 * {width}", f"int64_t{{{width}}}"
        raise AssertionError(place)

    def _call(
        self, call: Call, body: Body, number: int, recursion: Lowered | None, listed: dict[tuple[int, int], int]
    ) -> list[str]:
        emitted = self.emitted[call]
        lines: list[str] = []
        args: list[str] = []
        for param, place in zip(call.kernel.params, call.operands, strict=True):
            if param.mode is Mode.SHARED:
                args.append(f"s.weights[{len(self.shared)}]")
                self.shared.append(Shared(place.a, emitted.symbol, param.name))
                continue
            start, stride = self._operand(place, recursion, number, body.temporaries)
            if param.mode is Mode.LIST:
                if place.kind == "temporary":
                    key = (place.a, place.at)
                    if key not in listed:
                        listed[key] = len(listed)
                        slot = listed[key]
                        lines += [f"    const int64_t* const items{slot} = w.rows({slot}, e, {start}, {stride}) - e0;"]
                    start = f"items{listed[key]}"
                args += ["l.starts.data() + n0", start]
            elif param.mode is Mode.GATHERED:
                args.append(f"{start} + e0" if place.kind == "each" else start)
            else:
                args += [start, stride]
        args += self._operand(call.out, recursion, number, body.temporaries)
        rows = "e" if call.per_child else "n"
        return [
            *lines,
            f"    s.call(w, split, {rows}, {emitted.code.parts}, {emitted.code.scratch_size}, "
            "[&](int64_t begin, int64_t end, int32_t first, int32_t last, float* scratch) {",
            f"        {emitted.symbol}(s.base, begin, end, first, last, {', '.join(args)}, scratch);",
            "    });",
        ]

    def _copy(self, step: Copy, number: int, recursion: Lowered | None) -> list[str]:
        target, stride = self._operand(step.out, recursion, number, ())
        table, constant = "nullptr", "0"
        if step.source.kind == "shared":
            constant = f"s.at(s.weights[{len(self.shared)}])"
            self.shared.append(Shared(step.source.a, "", ""))
        elif step.source.kind == "zero":
            constant = "s.at(s.zeros)"
        else:
            table = self._operand(step.source, recursion, number, ())[0]
        return [f"    s.copy({table}, {constant}, {target}, {stride}, n, {step.elements});"]

    # ---- the loop nest

    def _cost(self, *bodies: Body) -> str:
        calls = [s for b in bodies for s in b.steps if isinstance(s, Call)]
        flops = sum(self.emitted[c].flops_per_row * (2 if c.per_child else 1) for c in calls)
        own = sum(self.emitted[c].flops_per_row for c in calls if not c.per_child)
        return f"Cost{{{len(calls)}, {max(1, sum(b.row_bytes for b in bodies))}.0, {flops}.0, {own}.0}}"

    def _range(self, function: str, begin: str, end: str, cost: str, indent: str = "    ") -> list[str]:
        bound = _bound(function)
        if self.options.batching:
            return [f"{indent}s.blocks({begin}, {end}, {cost}, {bound});"]
        return [f"{indent}for (int64_t n = {begin}; n < {end}; ++n) s.blocks(n, n + 1, {cost}, {bound});"]

    def _loops(self) -> str:
        lines = ["void run_loops(Session& s) {"]
        recursions = self.program.recursions
        for i, pieces in self.reserve.items():
            lines += ["    {", f"        const Linear& l = s.linear[{i}];"]
            listed = ", ".join(f"std::pair<size_t, int64_t>{piece}" for piece in pieces)
            lines += [f"        for (const auto& [at, size] : {{{listed}}}) {{"]
            lines += ["            s.sparse[at]->room(size);", "            s.sparse_elements += size;", "        }", "    }"]
        unrolled = self.options.unroll and self.options.batching and isinstance(self.program.structure, Tree)
        names = []
        for i, r in enumerate(recursions):
            lines += [f"    const Linear& l{i} = s.linear[{i}];"]
            if r.hoisted.steps:
                lines += self._range(f"hoisted_{i}", "0", f"l{i}.inner", self._cost(r.hoisted))
            name = f"inner_{i}"
            if r.leaf.steps:
                if not self.options.specialise:
                    name = f"either_{i}"
                function = f"leaf_{i}" if self.options.specialise else name
                lines += self._range(function, f"l{i}.inner", f"l{i}.nodes", self._cost(r.leaf))
            names.append(name)
            lines += [f"    const size_t waves{i} = l{i}.waves.size() - 1;"]
        most = "std::max({" + ", ".join(f"waves{i}" for i in range(len(recursions))) + "})"
        if unrolled:
            lines += [f"    for (size_t wave = 0; wave < {most}; wave += 2) {{"]
        else:
            lines += [f"    for (size_t wave = 0; wave < {most}; ++wave) {{"]
        for i, (r, name) in enumerate(zip(recursions, names, strict=True)):
            cost = self._cost(r.inner)
            bound = _bound(name)
            if unrolled:
                lines += [f"        if (wave + 1 < waves{i})", f"            s.pair(l{i}, wave, {cost}, {bound});"]
                lines += ["        else"]
            lines += [f"        if (wave < waves{i}) s.blocks(l{i}.waves[wave], l{i}.waves[wave + 1], {cost}, {bound});"]
        lines += ["    }"]
        for i, r in enumerate(recursions):
            each = sum(self.emitted[s].flops_per_row for s in r.inner.steps if isinstance(s, Call) and s.per_child)
            if each:
                lines += [f"    s.counters.product_flops += {each}.0 * double(l{i}.starts.back());"]
        lines += self._range("output", "0", "s.outputs", self._cost(self.program.output))
        return "\n".join([*lines, "}"])

    def _set_up(self) -> str:
        o = self.options
        lines = ["void set_up(Session& s) {"]
        for i, (r, tables) in enumerate(zip(self.program.recursions, self.tables, strict=True)):
            lines += ["    {", "        Recursion r;"]
            lines += [f"        r.slots = {self.program.structure.slots};", f"        r.reverse = {str(i > 0).lower()};"]
            lines += [
                f"        r.batching = {str(o.batching).lower()};",
                f"        r.unroll = {str(o.unroll and o.batching).lower()};",
            ]
            lines += [f"        r.row = {r.row};"]
            lines += [f"        r.child.push_back({{{slot}, {at}}});" for slot, at in tables.child]
            lines += [f"        r.each.push_back({at});" for at in tables.each]
            lines += [f"        r.word.push_back({{s.tables[{t}], s.widths[{t}], s.rows[{t}]}});" for t in tables.word]
            lines += ["        s.recursions.push_back(r);", f"        s.hoisted_row.push_back({r.hoisted_row});"]
            for name in ("states", "hoisted"):
                lines += [f"        s.{name}.push_back(std::make_unique<Buffer>());"]
            lines += ["    }"]
        lines += [f"    s.linear.resize({len(self.program.recursions)});"]
        lines += [f"    s.reader.slots = {self.program.structure.slots};"]
        lines += [f"    s.own_at.push_back({{{r}, {at}, {root}}});" for r, at, root in self.own]
        lines += [f"    s.own.resize({len(self.own)});"]
        lines += [f"    for (int i = 0; i < {len(self.sparse)}; ++i) s.sparse.push_back(std::make_unique<Buffer>());"]
        return "\n".join([*lines, "}"])


def _bound(function: str) -> str:
    """A C++ lambda that calls the function of a body in this session."""
    return f"[&](int64_t a, int64_t b, Worker& w, bool split) {{ {function}(s, w, a, b, split); }}"


EITHER = """static void either_{i}(Session& s, Worker& w, int64_t n0, int64_t n1, bool split) {{
    const int64_t leaves = s.linear[{i}].inner;
    for (int64_t n = n0, end; n < n1; n = end) {{
        const bool leaf = n >= leaves;
        for (end = n + 1; end < n1 && (end >= leaves) == leaf;) ++end;
        if (leaf)
            leaf_{i}(s, w, n, end, split);
        else
            inner_{i}(s, w, n, end, split);
    }}
}}
"""
