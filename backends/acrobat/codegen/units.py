"""Units of scheduling in C++: for each kernel or static block, how a call is recorded and how a bucket of calls is run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from backends.acrobat.codegen.cpp import Names, c_string, identifier
from backends.acrobat.core.units import Block, Kernel, Mode, Param, StepArg, StepResult
from backends.acrobat.ir.nodes import Launch, Weight
from backends.acrobat.kernels.interface import Emitted, Request, Variant

X = TypeVar("X")


@dataclass(frozen=True, slots=True)
class Part:
    """One step of a unit within a kernel call: `args` follow the kernel's params; each is a param of the unit or a result of an
    earlier step."""

    step: int
    args: tuple[StepArg, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """One kernel call of a unit. With several parts, each is a step that computes the same on operands of its own: the call
    takes the rows of the first, then those of the next."""

    request: Request
    parts: tuple[Part, ...]
    over: str  # the list group the call runs over, or ""
    leaves: bool  # whether its row lies in the unit's result row

    @property
    def args(self) -> tuple[StepArg, ...]:
        """Those of the first part. Weights are the same in all."""
        return self.parts[0].args


@dataclass(slots=True)
class UnitCode:
    """A unit with the weights its shared parameters are bound to."""

    index: int
    name: str
    unit: Kernel | Block
    shared: dict[str, Weight]  # unit param -> weight
    calls: list[Call]
    rows: dict[int, int] = field(default_factory=dict)  # call -> displacement of its row within the unit's row
    row_size: int = 0
    requires: set[str] = field(default_factory=set)  # list params that may not be empty

    @property
    def gathered(self) -> list[Param]:
        return [p for p in self.unit.params if p.mode is Mode.GATHERED]

    @property
    def lists(self) -> list[Param]:
        return [p for p in self.unit.params if p.mode is Mode.LIST]

    def group_of(self, param: str) -> str:
        groups = dict(self.unit.groups) if isinstance(self.unit, Block) else {}
        return groups.get(param, param)

    @property
    def groups(self) -> list[str]:
        return list(dict.fromkeys(self.group_of(p.name) for p in self.lists))

    def result_displacements(self) -> tuple[int, ...]:
        """Where each result of the unit starts within its row."""
        if isinstance(self.unit, Kernel):
            return self.unit.displacements
        steps = self.unit.steps
        return tuple(self.rows[r.step] + steps[r.step].kernel.displacements[r.index] for r in self.unit.results)


class Units:
    """All units of a program, each once: the same kernel or block with the same weights batches together wherever it is
    called."""

    def __init__(self, merge: bool = True) -> None:
        """With `merge`, equal steps of a block that do not wait for each other are one kernel call."""
        self.merge = merge
        self.by_key: dict[tuple[Kernel | Block, tuple[str, ...]], UnitCode] = {}
        self.names = Names(mark="")  # they stand behind a prefix everywhere

    def __iter__(self) -> Iterator[UnitCode]:
        return iter(self.by_key.values())

    def __len__(self) -> int:
        return len(self.by_key)

    def of(self, launch: Launch) -> UnitCode:
        unit = launch.unit
        shared = {p.name: a for p, a in zip(unit.params, launch.args, strict=True) if p.mode is Mode.SHARED}
        assert all(isinstance(w, Weight) for w in shared.values()), unit.name
        key = (unit, tuple(w.name for w in shared.values() if isinstance(w, Weight)))
        if key not in self.by_key:
            code = UnitCode(len(self.by_key), self.names.fresh(unit.name), unit, shared, calls=[])  # type: ignore[arg-type]
            plan(code, self.merge)
            self.by_key[key] = code
        return self.by_key[key]

    def requests(self) -> list[Request]:
        return list(dict.fromkeys(call.request for unit in self for call in unit.calls))


def plan(code: UnitCode, merge: bool = True) -> None:
    """Decide which steps of a unit are one kernel call, the operand modes of each call, and where results lie."""
    unit = code.unit
    if isinstance(unit, Kernel):
        code.calls = [Call(Request(unit, Mode.GATHERED), (Part(0, tuple(p.name for p in unit.params)),), "", True)]
        code.rows, code.row_size = {0: 0}, unit.row_size
        code.requires = required_lists(unit, {p.name: p.name for p in unit.params})
        return
    leaving = {r.step for r in unit.results}
    for k, step in enumerate(unit.steps):
        if k in leaving:
            code.rows[k] = code.row_size
            code.row_size += step.kernel.row_size
        over = code.group_of(step.over) if step.over else ""
        assert not (over and k in leaving), "a per-item result cannot leave a block"
        params = []
        for p, arg in zip(step.kernel.params, step.args, strict=True):
            mode = p.mode
            if mode is Mode.GATHERED and isinstance(arg, StepResult):
                same_rows = bool(unit.steps[arg.step].over) == bool(over)
                # An intermediate of the same rows lies contiguously; one of the block's rows used per item is spread.
                mode = Mode.CONTIGUOUS if same_rows and arg.step not in leaving else Mode.GATHERED
            params.append(replace(p, mode=mode))
        kernel = replace(step.kernel, params=tuple(params))
        out_mode = Mode.GATHERED if k in leaving else Mode.CONTIGUOUS
        code.calls.append(Call(Request(kernel, out_mode), (Part(k, step.args),), over, k in leaving))
        for arg in required_lists(step.kernel, dict(zip((p.name for p in step.kernel.params), step.args, strict=True))):
            # Per-item results are as many as the list they were made over.
            source = unit.steps[arg.step].over if isinstance(arg, StepResult) else arg
            assert source is not None, "what a kernel sums up is a list"
            code.requires.add(source)
    code.requires &= {p.name for p in unit.params}
    if merge:
        code.calls = merged(unit, code.calls)


def merged(block: Block, calls: Sequence[Call]) -> list[Call]:
    """The calls in an order in which equal ones meet, and those as one (paper: static horizontal batching, and scheduling
    within static blocks). `calls` has one for each step.

    A call's level is how many calls wait for each other before it. Calls of one level cannot need each other; those of one
    kernel with the same weights, whose operands are single rows, become one with tables for all its operands.
    """
    levels: list[int] = []
    for step in block.steps:
        levels.append(max((levels[arg.step] + 1 for arg in step.args if isinstance(arg, StepResult)), default=0))
    together: dict[object, list[Call]] = {}
    for k, (step, call) in enumerate(zip(block.steps, calls, strict=True)):
        weights = tuple(a for p, a in zip(step.kernel.params, step.args, strict=True) if p.mode is Mode.SHARED)
        alone = call.over or any(p.mode is Mode.LIST for p in step.kernel.params)
        key = (levels[k], k) if alone else (levels[k], step.kernel, weights, call.leaves)
        together.setdefault(key, []).append(call)
    if len(together) == len(calls):
        return list(calls)
    out = []
    for equal in sorted(together.values(), key=lambda equal: levels[equal[0].parts[0].step]):
        if len(equal) == 1:
            out.append(equal[0])
            continue
        kernel = equal[0].request.kernel
        params = tuple(p if p.mode is Mode.SHARED else replace(p, mode=Mode.GATHERED) for p in kernel.params)
        request = Request(replace(kernel, params=params), equal[0].request.out_mode)
        out.append(Call(request, tuple(part for call in equal for part in call.parts), "", equal[0].leaves))
    return out


def required_lists(kernel: Kernel, args: Mapping[str, X]) -> set[X]:
    """The arguments a kernel sums over that must not be empty (`reduce` without a start)."""
    return {
        args[str(i.args[0])]
        for i in kernel.body
        if i.op == "list_sum" and dict(i.attrs).get("nonempty") and str(i.args[0]) in args
    }


class UnitWriter:
    """C++ for recording and running units, given the emitted kernels."""

    def __init__(self, emitted: Mapping[Request, Sequence[Variant]]) -> None:
        self.emitted = emitted
        self.packed: dict[tuple[str, str], int] = {}  # (weight, JSON of its packing) -> index into Context::packed

    def record(self, code: UnitCode) -> str:
        """The function that records one call and gives the address of its result row."""
        params = [f"Tensor {operand(p.name)}" for p in code.gathered]
        params += [f"const List<Tensor>& {operand(p.name)}" for p in code.lists]
        lines = [f"static inline Tensor record_{code.name}({', '.join(['Context& cx', 'int64_t depth', *params])}) {{"]
        for p in code.lists:
            if p.name in code.requires:
                lines += [f"    if ({operand(p.name)}.size == 0) empty_sum();"]
        tensors = ", ".join(operand(p.name) for p in code.gathered)
        lists = ", ".join(f"&{operand(p.name)}" for p in code.lists)
        lines += [
            f"    if (cx.tracks()) [[unlikely]] depth = cx.track({code.index}, {{{tensors}}}, {{{lists}}});",
            f"    Bucket& bucket = cx.stage->bucket(depth, {code.index});",
            "    const int64_t row = bucket.open();",
        ]
        lines += [f"    bucket.operands[{i}].data[row] = {operand(p.name)};" for i, p in enumerate(code.gathered)]
        for i, p in enumerate(code.lists):
            lines += [f"    for (const Tensor t : {operand(p.name)}) bucket.items[{i}].push(t);"]
        for g, group in enumerate(code.groups):
            first = next(i for i, p in enumerate(code.lists) if code.group_of(p.name) == group)
            lines += [f"    bucket.starts[{g}].data[row + 1] = bucket.items[{first}].size;"]
        lines += [
            f"    const Tensor result = bucket.out.data[row] = cx.place({code.row_size});",
            f"    if (cx.tracks()) [[unlikely]] cx.tracked(result, {code.row_size}, row);",
            "    return result;",
            "}",
        ]
        return "\n".join(lines)

    def run(self, code: UnitCode) -> str:
        """The function that runs all recorded calls of one bucket, block of rows by block of rows."""
        lines = [f"static void run_{code.name}(Device& device, Bucket& bucket) {{", "    CpuExecutor& cpu = cpu_of(device);"]
        for i, p in enumerate(code.gathered):
            column = f"bucket.operands[{i}]"
            lines += [f"    const int64_t* all_{operand(p.name)} = cpu.operand({column}.data, bucket.rows, {elements(p)});"]
        for i, p in enumerate(code.lists):
            column = f"bucket.items[{i}]"
            lines += [f"    const int64_t* {operand(p.name)} = cpu.operand({column}.data, {column}.size, {elements(p)});"]
        flops, size = [], []
        for call in code.calls:
            kernel, emitted = call.request.kernel, self.emitted[call.request][0].emitted
            many = len(call.parts)
            rows = f"{many} * bucket.rows" if many > 1 else "bucket.rows"
            if call.over:
                rows = f"bucket.starts[{code.groups.index(call.over)}].data[bucket.rows]"
            lines += [
                f"    cpu.count({c_string(kernel.name)}, {c_string(emitted.kernel)}, {rows}, {float(emitted.flops_per_row)});"
            ]
            share = f"double({rows}) / double(bucket.rows)"
            flops.append(f"{float(emitted.flops_per_row)} * {share}" if call.over else f"{float(many * emitted.flops_per_row)}")
            size.append(f"{row_bytes(kernel)} * {share}" if call.over else f"{many * row_bytes(kernel)}")
        if self.emitted[code.calls[0].request][0].emitted.source:
            return "\n".join([*lines, *self._run_library(code, code.calls[0]), "}"])
        lines += [f"    const double row_bytes = {' + '.join(size)};", f"    const double row_flops = {' + '.join(flops)};"]
        lines += [
            "    cpu.blocks(bucket.rows, row_bytes, row_flops, [&](int64_t begin, int64_t end, Worker& worker, bool split) {",
            "        const int64_t rows = end - begin;",
        ]
        if len(code.calls) > 1:
            lines += ["        worker.begin_block();"]
        for p in code.gathered:
            lines += [f"        const int64_t* {operand(p.name)} = all_{operand(p.name)} + begin;"]
        for g in range(len(code.groups)):
            lines += [f"        const int64_t* starts_{g} = bucket.starts[{g}].data + begin;"]
        lines += ["        const int64_t* out = bucket.out.data + begin;"]
        for call in code.calls:
            lines += [f"        {line}" for line in self._call(code, call)]
        return "\n".join([*lines, "    });", "}"])

    def _run_library(self, code: UnitCode, call: Call) -> list[str]:
        """A kernel that calls a library runs once for all rows, which each thread takes a share of."""
        kernel, (variant,) = call.request.kernel, self.emitted[call.request]
        emitted = variant.emitted
        weights = self._weights(code, call)
        args = [
            self._packed(variant, p, weights) if p.mode is Mode.SHARED else f"all_{operand(str(arg))}"
            for p, arg in zip(kernel.params, call.args, strict=True)
        ]
        args.append("out")
        out = f"cpu.adjacent(bucket.out.data, bucket.rows, {kernel.row_size})" if emitted.adjacent else "bucket.out.data"
        args = ["cpu.gemm", "cpu.base", "row_begin", "row_end", "part_begin", "part_end", *args, "nullptr"]
        lines = [
            f"const int64_t* out = {out};",
            f"cpu.share(bucket.rows, {emitted.parts}, {float(emitted.flops_per_row)},",
            "    [&](int64_t row_begin, int64_t row_end, int part_begin, int part_end) {",
            f"        {emitted.symbol}({', '.join(args)});",
            "    });",
        ]
        if emitted.adjacent:
            lines += [f"cpu.scatter(out, bucket.out.data, bucket.rows, {kernel.row_size});"]
        return [f"    {line}" for line in lines]

    @staticmethod
    def _weights(code: UnitCode, call: Call) -> dict[str, str]:
        """The weights that a call's shared parameters are."""
        params = zip(call.request.kernel.params, call.args, strict=True)
        return {p.name: code.shared[str(arg)].name for p, arg in params if p.mode is Mode.SHARED}

    def _call(self, code: UnitCode, call: Call) -> list[str]:
        lines: list[str] = []
        args: list[str | Param]
        if len(call.parts) == 1:
            group = code.groups.index(call.over) if call.over else -1
            rows = f"starts_{group}[rows] - starts_{group}[0]" if call.over else "rows"
            args = self._operands(code, call, call.parts[0], lines)
        else:
            rows = f"{len(call.parts)} * rows"
            each = [self._operands(code, call, part, lines) for part in call.parts]
            args = [
                a if isinstance(a, Param) else f"worker.joined({{{', '.join(map(str, (a, *others)))}}}, rows)"
                for a, *others in zip(*each, strict=True)
            ]
        args += self._results(code, call, rows, lines)
        variants = self.emitted[call.request]
        weights = self._weights(code, call)
        for i, variant in enumerate(variants):
            step = self._step(variant.emitted, rows, [self._packed(variant, a, weights) for a in args])
            if len(variants) == 1:
                return [*lines, *step]
            condition = "" if i + 1 == len(variants) else f"if ({rows} < {variants[i + 1].rows}) "
            lines += [f"{'} else ' if i else ''}{condition}{{", *(f"    {line}" for line in step)]
        return [*lines, "}"]

    def _operands(self, code: UnitCode, call: Call, part: Part, lines: list[str]) -> list[str | Param]:
        """The kernel's arguments for the operands of one part. A shared one depends on the variant's packing."""
        lists = {p.name: i for i, p in enumerate(code.lists)}
        group = code.groups.index(call.over) if call.over else -1
        k = part.step
        args: list[str | Param] = []
        for p, arg in zip(call.request.kernel.params, part.args, strict=True):
            if p.mode is Mode.SHARED:
                args.append(p)
            elif isinstance(arg, StepResult):
                args += self._intermediate(code, k, call, p, arg, lines)
            elif arg in lists:
                own = code.groups.index(code.group_of(arg))
                args += [f"starts_{own}", operand(arg)] if p.mode is Mode.LIST else [f"{operand(arg)} + starts_{own}[0]"]
            elif call.over:
                name = f"{operand(arg)}_per_item_{k}"
                lines.append(f"const int64_t* {name} = worker.spread({operand(arg)}, starts_{group}, rows);")
                args.append(name)
            else:
                args.append(operand(arg))
        return args

    @staticmethod
    def _results(code: UnitCode, call: Call, rows: str, lines: list[str]) -> list[str]:
        """The kernel's arguments for where its results go."""
        size = call.request.kernel.row_size
        first, *others = (part.step for part in call.parts)
        if not call.leaves:
            lines.append(f"const int64_t rows_{first} = {rows};")
            lines.append(f"const Tensor row_{first} = cpu.address(worker.rows(rows_{first} * {size}));")
            lines += [f"const Tensor row_{k} = row_{first} + {i} * rows * {size};" for i, k in enumerate(others, 1)]
            return [f"row_{first}", f"int64_t{{{size}}}"]
        outs = []
        for k in (first, *others):
            outs.append(f"out_{k}" if code.rows[k] else "out")
            if code.rows[k]:
                lines.append(f"const int64_t* out_{k} = worker.shifted(out, {code.rows[k]}, rows);")
        return [f"worker.joined({{{', '.join(outs)}}}, rows)" if others else outs[0]]

    def _packed(self, variant: Variant, arg: str | Param, weights: Mapping[str, str]) -> str:
        """A kernel's argument; of a shared one the weight in the variant's packing. Equal packings are one."""
        if isinstance(arg, str):
            return arg
        key = (weights[arg.name], json.dumps(variant.emitted.packs[arg.name], sort_keys=True))
        return f"cpu.packed[{self.packed.setdefault(key, len(self.packed))}]"

    @staticmethod
    def _step(emitted: Emitted, rows: str, args: Sequence[str]) -> list[str]:
        return [
            f"cpu.step(worker, split, {rows}, {emitted.parts}, {emitted.scratch_size * 4},",
            "        [&](int64_t row_begin, int64_t row_end, int part_begin, int part_end, float* scratch) {",
            f"            {emitted.symbol}(cpu.base, row_begin, row_end, part_begin, part_end, {', '.join(args)}, scratch);",
            "        });",
        ]

    def _intermediate(self, code: UnitCode, k: int, call: Call, p: Param, arg: StepResult, lines: list[str]) -> list[str]:
        """The arguments that pass result `arg` of an earlier call on."""
        assert isinstance(code.unit, Block)
        source, step = arg.step, code.unit.steps[arg.step]
        at = step.kernel.displacements[arg.index]
        size = step.kernel.row_size
        name = f"from_{source}_{arg.index}_{k}"
        if p.mode is Mode.LIST:
            assert step.over is not None, "what a kernel sums up is a list"
            group = code.groups.index(code.group_of(step.over))
            # Items are numbered from the first of the whole batch, this block's intermediates from its own first.
            lines.append(
                f"const int64_t* {name} = worker.steps(row_{source} + {at}, {size}, rows_{source}) - starts_{group}[0];"
            )
            return [f"starts_{group}", name]
        if p.mode is Mode.CONTIGUOUS:
            return [f"row_{source} + {at}", f"int64_t{{{size}}}"]
        if source in code.rows:
            lines.append(f"const int64_t* {name} = worker.shifted(out, {code.rows[source] + at}, rows);")
        else:
            lines.append(f"const int64_t* {name} = worker.steps(row_{source} + {at}, {size}, rows);")
        if call.over:
            group = code.groups.index(call.over)
            lines.append(f"const int64_t* {name}_per_item = worker.spread({name}, starts_{group}, rows);")
            return [f"{name}_per_item"]
        return [name]

    def table(self, units: Units) -> str:
        """The `Unit` descriptions the scheduler works from."""
        lines = []
        for code in units:
            groups = {g: i for i, g in enumerate(code.groups)}
            of_list = ", ".join(str(groups[code.group_of(p.name)]) for p in code.lists) or "0"
            lines.append(f"static const int kGroups_{code.name}[] = {{{of_list}}};")
        lines.append("static const Unit kUnits[] = {")
        for code in units:
            lines.append(
                f"    {{{c_string(code.name)}, {len(code.gathered)}, {len(code.groups)}, {len(code.lists)}, "
                f"kGroups_{code.name}, {code.row_size}, run_{code.name}}},"
            )
        if not len(units):
            lines.append('    {"", 0, 0, 0, nullptr, 0, nullptr},')
        return "\n".join([*lines, "};"])


def row_bytes(kernel: Kernel) -> int:
    """Bytes of the operands and results of one row."""
    return 4 * (kernel.row_size + sum(elements(p) for p in kernel.params if p.mode is not Mode.SHARED))


def operand(param: str) -> str:
    """The C++ name of a unit's parameter, apart from all other names of the generated functions and from other parameters'."""
    text = identifier(param)
    return f"arg_{text}" if text == param else f"arg_{text}_{hashlib.sha256(param.encode()).hexdigest()[:8]}"


def elements(p: Param) -> int:
    """4-byte elements of the operand."""
    return p.type.size * (2 if p.type.dtype == "int64" else 1)
