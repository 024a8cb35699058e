"""Writes the C++ that plans a unit on a CUDA device: calls of a bucket become steps of the schedule that the device walks."""

from __future__ import annotations

from dataclasses import dataclass

from backends.acrobat.codegen.cpp import c_string
from backends.acrobat.codegen.unit_writer import UnitWriter, operand
from backends.acrobat.codegen.units import CallPart, KernelCall, UnitCode
from backends.acrobat.core.units import Block, Mode, Param, StepResult
from backends.acrobat.kernels.cuda.module import kernel_index
from backends.acrobat.kernels.cuda.text import members
from backends.acrobat.kernels.interface import CudaCode, Variant


@dataclass(frozen=True, slots=True)
class Rows:
    """Where the rows of an operand are, in C++: row i at `column[i] + start`, or at `start + i * stride` without a column."""

    column: str
    start: str
    stride: str = "0"

    def text(self) -> str:
        return f"cuda::Rows{{{self.column or 'nullptr'}, {self.start}, {self.stride}}}"


class CudaUnitWriter(UnitWriter[CudaCode]):
    """Prints `plan_<unit>`, which gives `cuda::Plan` (runtime/cuda/plan.h) one call after the other. Columns of the bucket stay
    in the host's memory until a call reads them on the device: `table`, `joined`, `spread` and `steps` copy them there."""

    runner, maker, includes = "plan", "cuda::cuda_device", ("cuda/plan.h",)

    def opening(self) -> list[str]:
        return ["// ---- kernels are in the device's own code"]

    def definitions(self) -> list[str]:
        """The struct of each kernel's arguments, with the same members as in the device's code."""
        out = ["// ---- arguments of kernels"]
        for requested, variants in self.emitted.items():
            for v in variants:
                arguments = members(requested.kernel, requested.out_mode)
                name = f"{v.emitted.symbol}_args"
                if any(name in line for line in out):
                    continue
                lines = "".join(f" {member};" for member in arguments)
                out += [f"struct {name} {{{lines} }};", f"static_assert(sizeof({name}) == {8 * len(arguments)});"]
        return out

    def run(self, code: UnitCode) -> str:
        """The function that plans all recorded calls of one bucket."""
        lines = [
            f"static void plan_{code.name}(Device& device, Bucket& bucket) {{",
            "    cuda::Plan& plan = cuda::plan_of(device);",
            "    [[maybe_unused]] const int64_t rows = bucket.rows;",
        ]
        for i, p in enumerate(code.gathered):
            column = f"bucket.operands[{i}]"
            lines += [f"    const int64_t* {operand(p.name)} = plan.operand({column}.data, rows, {p.type.width});"]
        for i, p in enumerate(code.lists):
            column = f"bucket.items[{i}]"
            lines += [f"    const int64_t* {operand(p.name)} = plan.operand({column}.data, {column}.size, {p.type.width});"]
        for g in range(len(code.groups)):
            lines += [f"    const int64_t* starts_{g} = bucket.starts[{g}].data;"]
        unit = _Unit(self, code)
        for call, chain in zip(code.calls, chains(code), strict=True):
            unit.call(call, chain)
        return "\n".join([*lines, *(f"    {line}" for line in unit.lines), "}"])

    def numbers(self) -> dict[str, int]:
        """The number of each kernel in the device's code, by symbol."""
        return {k.symbol: kernel_index(i) for i, k in enumerate(self.kernels())}


class _Unit:
    """The calls of one unit, as C++. A column that several calls read is copied to the device once."""

    def __init__(self, writer: CudaUnitWriter, code: UnitCode) -> None:
        self.writer = writer
        self.code = code
        self.lines: list[str] = []
        self.numbers = writer.numbers()
        self.tables: dict[str, str] = {}  # C++ that copies a table -> the variable with its address on the device

    def call(self, call: KernelCall, chain: int) -> None:
        code, kernel = self.code, call.request.kernel
        count = "rows"
        if call.over:
            count = f"starts_{code.groups.index(call.over)}[rows]"
        elif len(call.parts) > 1:
            count = f"{len(call.parts)} * rows"
        first = call.parts[0].step
        n = f"rows_{first}"
        emitted = self.writer.emitted[call.request][0].emitted
        self.lines += [
            f"const int64_t {n} = {count};",
            f"plan.count({c_string(kernel.name)}, {c_string(emitted.kernel)}, {n}, {float(emitted.flops_per_row)});",
        ]
        args: list[str | Param] = []
        for i, p in enumerate(kernel.params):
            args += [p] if p.mode is Mode.SHARED else self._operand(call, i, p, n)
        args += self._results(call, n)
        variants = self.writer.emitted[call.request]
        for i, variant in enumerate(variants):
            head = "else " if i else ""
            if i + 1 < len(variants):
                head += f"if ({n} < {variants[i + 1].rows}) "
            self.lines.append(head + self._step(call, variant, chain, n, args))

    def _step(self, call: KernelCall, variant: Variant[CudaCode], chain: int, n: str, args: list[str | Param]) -> str:
        e = variant.emitted
        weights = self.writer.weights(self.code, call)
        values = [
            a if isinstance(a, str) else f"device.packed[{self.writer.packed_index(variant, a.name, weights[a.name])}]"
            for a in args
        ]
        height = n if e.code.product_rows == 1 else f"{n} * {e.code.product_rows}"
        tiles = f"({height} + {e.code.tile_rows - 1}) / {e.code.tile_rows} * {e.code.tile_columns}"
        return (
            f"plan.call({self.numbers[e.symbol]}, {chain}, {tiles}, {e.symbol}_args{{{', '.join(['plan.base', n, *values])}}});"
        )

    def _table(self, text: str) -> str:
        if text not in self.tables:
            self.tables[text] = f"table_{len(self.tables)}"
            self.lines.append(f"const int64_t* {self.tables[text]} = {text};")
        return self.tables[text]

    def _operand(self, call: KernelCall, i: int, p: Param, n: str) -> list[str | Param]:
        """The kernel's arguments for operand number `i`; `n` is the C++ expression for the call's number of rows."""
        if len(call.parts) > 1:
            columns = [self._rows(part, i) for part in call.parts]
            return [self._table(f"plan.joined({{{', '.join(rows.text() for rows in columns)}}}, rows)"), "0"]
        part = call.parts[0]
        arg = part.args[i]
        if p.mode is Mode.LIST:
            return self._list(arg)
        rows = self._rows(part, i)
        if p.mode is Mode.CONTIGUOUS:
            return [rows.start, rows.stride]
        if call.over and not self._is_list(arg):
            starts = f"starts_{self.code.groups.index(call.over)}"
            if rows.column:  # the start is an argument of its own, so that all results in these rows share one table
                return [self._table(f"plan.spread({Rows(rows.column, '0').text()}, {starts}, rows)"), rows.start]
            return [self._table(f"plan.spread({rows.text()}, {starts}, rows)"), "0"]
        if rows.column:
            return [self._table(f"plan.table({rows.column}, {count_of(call, n)})"), rows.start]
        return [self._table(f"plan.steps({rows.start}, {rows.stride}, {n})"), "0"]

    def _is_list(self, arg: str | StepResult) -> bool:
        return not isinstance(arg, StepResult) and any(p.name == arg for p in self.code.lists)

    def _list(self, arg: str | StepResult) -> list[str | Param]:
        """The arguments for a list, of items that calls were recorded with or of rows that an earlier step made for items."""
        code = self.code
        if isinstance(arg, StepResult):
            assert isinstance(code.unit, Block)
            step = code.unit.steps[arg.step]
            assert step.over is not None
            group = code.groups.index(code.group_of(step.over))
            start, size = f"row_{arg.step} + {step.kernel.displacements[arg.index]}", step.kernel.row_size
            items = self._table(f"plan.steps({start}, {size}, starts_{group}[rows])")
        else:
            group = code.groups.index(code.group_of(arg))
            items = self._table(f"plan.table({operand(arg)}, starts_{group}[rows])")
        return [self._table(f"plan.table(starts_{group}, rows + 1)"), items, "0"]

    def _rows(self, part: CallPart, i: int) -> Rows:
        """Where the rows of an operand of one part are."""
        arg = part.args[i]
        if not isinstance(arg, StepResult):
            return Rows(operand(arg), "0")
        assert isinstance(self.code.unit, Block)
        kernel = self.code.unit.steps[arg.step].kernel
        at = kernel.displacements[arg.index]
        if arg.step in self.code.result_starts:
            return Rows("bucket.out.data", str(self.code.result_starts[arg.step] + at))
        return Rows("", f"row_{arg.step} + {at}", str(kernel.row_size))

    def _results(self, call: KernelCall, n: str) -> list[str | Param]:
        """The arguments for where results go."""
        size = call.request.kernel.row_size
        first, *others = (part.step for part in call.parts)
        if not call.leaves:
            self.lines.append(f"[[maybe_unused]] const Tensor row_{first} = plan.rows({n} * {size});")
            self.lines += [
                f"[[maybe_unused]] const Tensor row_{k} = row_{first} + {i} * rows * {size};" for i, k in enumerate(others, 1)
            ]
            return [f"row_{first}", str(size)]
        outs = [Rows("bucket.out.data", str(self.code.result_starts[k])) for k in (first, *others)]
        if others:
            return [self._table(f"plan.joined({{{', '.join(rows.text() for rows in outs)}}}, rows)"), "0"]
        return [self._table("plan.table(bucket.out.data, rows)"), outs[0].start]


def count_of(call: KernelCall, n: str) -> str:
    """The C++ expression for the number of rows of a call's tables. It is `rows` wherever that is the unit's number of rows, so
    that `_table` recognises equal tables by their text."""
    return n if call.over or len(call.parts) > 1 else "rows"


def chains(code: UnitCode) -> list[int]:
    """For each call of the unit the length of the longest chain of calls that it depends on, all of which come before it."""
    of_step: dict[int, int] = {}
    out = []
    for call in code.calls:
        sources = [arg.step for part in call.parts for arg in part.args if isinstance(arg, StepResult)]
        chain = max((of_step[step] + 1 for step in sources), default=0)
        out.append(chain)
        of_step |= {part.step: chain for part in call.parts}
    return out
