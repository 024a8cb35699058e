"""Writes the C++ that runs a unit on the processor: all calls of a bucket, one block of rows after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from backends.acrobat.codegen.cpp import c_string
from backends.acrobat.codegen.unit_writer import UnitWriter, operand
from backends.acrobat.codegen.units import CallPart, KernelCall, UnitCode
from backends.acrobat.core.units import Block, Kernel, Mode, Param, StepResult
from backends.acrobat.kernels.interface import CpuCode, Emitted, Variant


class CpuUnitWriter(UnitWriter[CpuCode]):
    """Prints `run_<unit>`, which calls kernels through `CpuExecutor` (runtime/cpu/executor.h)."""

    runner, maker, includes = "run", "cpu_device", ("cpu/executor.h",)

    def opening(self) -> list[str]:
        declarations = [k.code.declaration for k in self.kernels() if not k.code.source]
        return ["// ---- kernels", 'extern "C" {', *declarations, "}"]

    def definitions(self) -> list[str]:
        return [f"{k.code.source}\n" for k in self.kernels() if k.code.source]

    def run(self, code: UnitCode) -> str:
        """The function that runs all recorded calls of one bucket, one block of rows after the other."""
        lines = [f"static void run_{code.name}(Device& device, Bucket& bucket) {{", "    CpuExecutor& cpu = cpu_of(device);"]
        for i, p in enumerate(code.gathered):
            column = f"bucket.operands[{i}]"
            lines += [f"    const int64_t* all_{operand(p.name)} = cpu.operand({column}.data, bucket.rows, {p.type.width});"]
        for i, p in enumerate(code.lists):
            column = f"bucket.items[{i}]"
            lines += [f"    const int64_t* {operand(p.name)} = cpu.operand({column}.data, {column}.size, {p.type.width});"]
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
        if self.emitted[code.calls[0].request][0].emitted.code.source:
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

    def _run_library(self, code: UnitCode, call: KernelCall) -> list[str]:
        """The statements for a kernel that calls a library: it is called once for all rows, which the threads share."""
        kernel, (variant,) = call.request.kernel, self.emitted[call.request]
        emitted = variant.emitted
        weights = self.weights(code, call)
        args = [
            self._argument(variant, p, weights) if p.mode is Mode.SHARED else f"all_{operand(str(arg))}"
            for p, arg in zip(kernel.params, call.args, strict=True)
        ]
        args.append("out")
        out = f"cpu.adjacent(bucket.out.data, bucket.rows, {kernel.row_size})" if emitted.code.adjacent else "bucket.out.data"
        args = ["cpu.gemm", "cpu.base", "row_begin", "row_end", "part_begin", "part_end", *args, "nullptr"]
        lines = [
            f"const int64_t* out = {out};",
            f"cpu.share(bucket.rows, {emitted.code.parts}, {float(emitted.flops_per_row)},",
            "    [&](int64_t row_begin, int64_t row_end, int part_begin, int part_end) {",
            f"        {emitted.symbol}({', '.join(args)});",
            "    });",
        ]
        if emitted.code.adjacent:
            lines += [f"cpu.scatter(out, bucket.out.data, bucket.rows, {kernel.row_size});"]
        return [f"    {line}" for line in lines]

    def _call(self, code: UnitCode, call: KernelCall) -> list[str]:
        lines: list[str] = []
        args: list[str | Param]
        if len(call.parts) == 1:
            group = code.groups.index(call.over) if call.over else -1
            rows = f"starts_{group}[rows] - starts_{group}[0]" if call.over else "rows"
            args = self._operands(code, call, call.parts[0], lines)
        else:
            rows = f"{len(call.parts)} * rows"
            operands = [self._operands(code, call, part, lines) for part in call.parts]
            args = []
            for i, (a, *others) in enumerate(zip(*operands, strict=True)):
                args.append(a if isinstance(a, Param) else f"together_{call.parts[0].step}_{i}")
                if not isinstance(a, Param):
                    lines.append(_join_tables(str(args[-1]), [a, *map(str, others)]))
        args += self._results(code, call, rows, lines)
        variants = self.emitted[call.request]
        weights = self.weights(code, call)
        for i, variant in enumerate(variants):
            step = self._step(variant.emitted, rows, [self._argument(variant, a, weights) for a in args])
            if len(variants) == 1:
                return [*lines, *step]
            condition = "" if i + 1 == len(variants) else f"if ({rows} < {variants[i + 1].rows}) "
            lines += [f"{'} else ' if i else ''}{condition}{{", *(f"    {line}" for line in step)]
        return [*lines, "}"]

    def _operands(self, code: UnitCode, call: KernelCall, part: CallPart, lines: list[str]) -> list[str | Param]:
        """The kernel's arguments for the operands of one part; statements that they need are added to `lines`. A shared operand
        stays a `Param`: its argument depends on the packing, which the variant decides."""
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
    def _results(code: UnitCode, call: KernelCall, rows: str, lines: list[str]) -> list[str]:
        """The kernel's arguments for where its results go; statements that they need are added to `lines`."""
        size = call.request.kernel.row_size
        first, *others = (part.step for part in call.parts)
        if not call.leaves:
            lines.append(f"const int64_t rows_{first} = {rows};")
            lines.append(f"const Tensor row_{first} = cpu.address(worker.rows(rows_{first} * {size}));")
            lines += [f"const Tensor row_{k} = row_{first} + {i} * rows * {size};" for i, k in enumerate(others, 1)]
            return [f"row_{first}", f"int64_t{{{size}}}"]
        outs = []
        for k in (first, *others):
            outs.append(f"out_{k}" if code.result_starts[k] else "out")
            if code.result_starts[k]:
                lines.append(f"const int64_t* out_{k} = worker.shifted(out, {code.result_starts[k]}, rows);")
        if not others:
            return outs
        lines.append(_join_tables(f"outs_{first}", outs))
        return [f"outs_{first}"]

    def _argument(self, variant: Variant[CpuCode], arg: str | Param, weights: Mapping[str, str]) -> str:
        """The C++ expression of an argument; a `Param` becomes the weight in the variant's packing."""
        return arg if isinstance(arg, str) else f"cpu.packed[{self.packed_index(variant, arg.name, weights[arg.name])}]"

    @staticmethod
    def _step(emitted: Emitted[CpuCode], rows: str, args: Sequence[str]) -> list[str]:
        return [
            f"cpu.step(worker, split, {rows}, {emitted.code.parts}, {emitted.code.scratch_size * 4},",
            "        [&](int64_t row_begin, int64_t row_end, int part_begin, int part_end, float* scratch) {",
            f"            {emitted.symbol}(cpu.base, row_begin, row_end, part_begin, part_end, {', '.join(args)}, scratch);",
            "        });",
        ]

    def _intermediate(self, code: UnitCode, k: int, call: KernelCall, p: Param, arg: StepResult, lines: list[str]) -> list[str]:
        """The arguments for an operand of step `k` that is the result `arg` of an earlier step."""
        assert isinstance(code.unit, Block)
        source, step = arg.step, code.unit.steps[arg.step]
        at = step.kernel.displacements[arg.index]
        size = step.kernel.row_size
        name = f"from_{source}_{arg.index}_{k}"
        if p.mode is Mode.LIST:
            assert step.over is not None, "what a kernel sums up is a list"
            group = code.groups.index(code.group_of(step.over))
            # `starts` counts items from the first of the whole bucket, but this table begins at the first item of the block.
            lines.append(
                f"const int64_t* {name} = worker.steps(row_{source} + {at}, {size}, rows_{source}) - starts_{group}[0];"
            )
            return [f"starts_{group}", name]
        if p.mode is Mode.CONTIGUOUS:
            return [f"row_{source} + {at}", f"int64_t{{{size}}}"]
        if source in code.result_starts:
            lines.append(f"const int64_t* {name} = worker.shifted(out, {code.result_starts[source] + at}, rows);")
        else:
            lines.append(f"const int64_t* {name} = worker.steps(row_{source} + {at}, {size}, rows);")
        if call.over:
            group = code.groups.index(call.over)
            lines.append(f"const int64_t* {name}_per_item = worker.spread({name}, starts_{group}, rows);")
            return [f"{name}_per_item"]
        return [name]


def _join_tables(name: str, tables: Sequence[str]) -> str:
    """The statement that makes one table of several, one after the other. It stands before the step, which may run on several
    threads: they would all take its room from the same worker."""
    return f"const int64_t* {name} = worker.joined({{{', '.join(tables)}}}, rows);"


def row_bytes(kernel: Kernel) -> int:
    """Bytes of the operands and results of one row, without weights."""
    return 4 * (kernel.row_size + sum(p.type.width for p in kernel.params if p.mode is not Mode.SHARED))
