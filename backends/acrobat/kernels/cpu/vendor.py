"""The mode without fusion (`kernels=vendor`): products as calls of a library's GEMM, in C++ that is compiled with the model.

A product by a shared weight is one GEMM over all rows of the call, which the scheduler has copied next to each other (explicit
gather); its result rows have to lie next to each other too. Any other product is a GEMM for each row, and for each matrix of a
stack. A bias is copied to the result, to which the GEMM adds. Everything but products is left to generated kernels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.core.units import ALIGN, Instr, Kernel, Mode, Param, displacements
from backends.acrobat.kernels.interface import parameters
from backends.acrobat.kernels.packing import Packing, layouts

COLUMNS = 16
"""The columns of a part. Threads share a product of few rows by its parts."""


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """The C++ of a product, the parts that threads share it by, and whether it reads and writes rows next to each other."""

    source: str
    parts: int
    adjacent: bool
    packs: Mapping[str, Packing]


def call(kernel: Kernel, out_mode: Mode, symbol: str) -> LibraryCall | None:
    """The kernel as calls of the library's GEMM, or None if it is not a single product of whole operands."""
    if len(kernel.body) != 1 or OPS[kernel.body[0].op].fusion is not Fusion.PRODUCT:
        return None
    if out_mode is not Mode.GATHERED or not {p.mode for p in kernel.params} <= {Mode.SHARED, Mode.GATHERED}:
        return None
    (instr,) = kernel.body
    writer = _Writer(kernel, instr)
    if writer.adjacent:
        parts, body = writer.column_parts, writer.all_rows()
    elif instr.op == "linear":
        parts, body = writer.column_parts, writer.each_row(writer.columns())
    else:
        parts, body = writer.stacked()
    head = f"static int32_t {symbol}({', '.join(['const Gemm& gemm', *parameters(kernel, out_mode)])}) {{"
    shapes = ", ".join(f"{a} {list(kernel.type_of(str(a)).shape)}" for a in instr.args)
    source = "\n".join(
        [f"// {instr.name} = {instr.op}({shapes})", head, *(f"    {line}" for line in body), "    return 0;", "}"]
    )
    return LibraryCall(source, parts, writer.adjacent, layouts(kernel))


class _Writer:
    """The C++ of one product. `left` and `right` are its operands' shapes as stacks of matrices."""

    def __init__(self, kernel: Kernel, instr: Instr) -> None:
        params = {p.name: (i, p) for i, p in enumerate(kernel.params)}
        self.operands: list[tuple[int, Param]] = [params[str(a)] for a in instr.args]
        self.transposed = instr.op == "linear"
        self.row_size = kernel.row_size
        left, right = (p.type.shape for _, p in self.operands[:2])
        self.left = left if len(left) > 1 else (1, *left)
        self.right = right if len(right) > 1 else (*right, 1)
        self.inner, self.k = prod(left[:-1]), left[-1]
        self.n = self.right[0] if self.transposed else self.right[-1]
        self.column_parts = -(-self.n // COLUMNS)
        self.adjacent = self._adjacent(instr)

    def _adjacent(self, instr: Instr) -> bool:
        """Whether the rows of the batch make up one matrix: the weight is shared, and there is no padding inside the matrix."""
        (_, x), *weights = self.operands
        if x.mode is not Mode.GATHERED or any(p.mode is not Mode.SHARED for _, p in weights):
            return False
        unpadded = x.type.size % ALIGN == 0 and instr.type.size % ALIGN == 0
        return len(weights[0][1].type.shape) <= 2 and (self.inner == 1 or unpadded)

    def all_rows(self) -> list[str]:
        """One GEMM of all rows of the call, for the columns of the parts."""
        (x, x_param), (w, _) = self.operands[:2]
        lda = displacements((x_param.type,))[1] if self.inner == 1 else self.k
        ldc = self.row_size if self.inner == 1 else self.n
        m = "row_end - row_begin" if self.inner == 1 else f"(row_end - row_begin) * {self.inner}"
        lines = [*self._span(), f"const int64_t m = {m};"]
        lines += [f"const float* x = base + p{x}[row_begin];", "float* y = base + out[row_begin] + first;"]
        return [*lines, *self._product(f"p{w}", lda, ldc, f"p{self.operands[2][0]}" if self.operands[2:] else "")]

    def columns(self) -> list[str]:
        """One GEMM of one row of the batch, for the columns of the parts."""
        lines = [*self._span(), f"const int64_t m = {self.inner};"]
        lines += [f"const float* x = {self._row(0)};", "float* y = base + out[row] + first;"]
        return [*lines, *self._product(self._row(1), self.k, self.n, self._row(2) if self.operands[2:] else "")]

    def stacked(self) -> tuple[int, list[str]]:
        """Parts and body for matrices or stacks that broadcast: a GEMM for each row and each matrix of the result (a part)."""
        stack = np.broadcast_shapes(self.left[:-2], self.right[:-2])
        m = self.left[-2]
        sizes = (m * self.k, self.k * self.n)
        tables = []
        for name, s, size in zip(("left", "right"), (self.left[:-2], self.right[:-2]), sizes, strict=True):
            starts = np.broadcast_to(np.arange(prod(s)).reshape(s) * size, stack).reshape(-1)
            tables.append(f"static const int64_t {name}[] = {{{', '.join(map(str, starts))}}};")
        a, b = self._row(0), self._row(1)
        body = [
            "for (int32_t i = part_begin; i < part_end; ++i)",
            f"    gemm(false, {m}, {self.n}, {self.k}, {a} + left[i], {self.k}, {b} + right[i], {self.n}, 0.0f,",
            f"         base + out[row] + i * int64_t{{{m * self.n}}}, {self.n});",
        ]
        return prod(stack), [*tables, *self.each_row(body)]

    @staticmethod
    def each_row(body: list[str]) -> list[str]:
        """A loop over the rows of the call around `body`."""
        return ["for (int64_t row = row_begin; row < row_end; ++row) {", *(f"    {line}" for line in body), "}"]

    def _row(self, operand: int) -> str:
        """A pointer to an operand of row `row`."""
        i, p = self.operands[operand]
        return f"p{i}" if p.mode is Mode.SHARED else f"base + p{i}[row]"

    def _span(self) -> list[str]:
        """Defines `first` and `columns`, the range of columns of the parts that were asked for."""
        return [
            f"const int64_t first = int64_t{{{COLUMNS}}} * part_begin;",
            f"const int64_t columns = std::min(int64_t{{{self.n}}}, int64_t{{{COLUMNS}}} * part_end) - first;",
        ]

    def _product(self, weight: str, lda: int, ldc: int, bias: str) -> list[str]:
        """y [m, columns] = bias + x [m, k] times the weight's columns from `first` on."""
        ldb = self.k if self.transposed else self.n
        at = f"{weight} + first * {self.k}" if self.transposed else f"{weight} + first"
        start = (
            [f"for (int64_t i = 0; i < m; ++i) std::memcpy(y + i * {ldc}, {bias} + first, size_t(columns) * 4);"]
            if bias
            else []
        )
        beta, turned = "1.0f" if bias else "0.0f", "true" if self.transposed else "false"
        return [*start, f"gemm({turned}, m, columns, {self.k}, x, {lda}, {at}, {ldb}, {beta}, y, {ldc});"]
