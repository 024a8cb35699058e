"""Kernels without a product that a template takes. There are three forms; each is for what the ones before do not take:

- elements: no reduction. One thread for each element of the results.
- slices: reductions along the last dimension, with element-wise work around them. One warp or block for each slice, whose
  elements are in registers.
- general: anything. One block for each row, with the intermediates in shared memory, or in the device's if they do not fit.
"""

from __future__ import annotations

from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.cuda.gemm import WrittenText
from backends.acrobat.kernels.cuda.schedule import THREADS, WARPS, CudaSchedule
from backends.acrobat.kernels.cuda.slices import Slices, plan_slices
from backends.acrobat.kernels.cuda.stages import write_general
from backends.acrobat.kernels.cuda.text import Addresses, indented
from backends.acrobat.kernels.cuda.values import Index, Values, is_pure
from backends.acrobat.kernels.packing import layouts

ELEMENTS_EACH = 2
"""How many elements each thread computes if a row has many."""


def schedule_of(kernel: Kernel) -> CudaSchedule:
    """How a row-wise kernel is computed: element by element, in slices along the last dimension, or row by row."""
    if all(is_pure(i) for i in kernel.body):
        return CudaSchedule("elements")
    return CudaSchedule("slices") if plan_slices(kernel) else CudaSchedule("general")


def write(kernel: Kernel, out_mode: Mode, symbol: str, schedule: CudaSchedule, shared: int, blocks: int) -> WrittenText:
    """The kernel's text. `shared` is the bytes of shared memory that a tile may take, `blocks` how many blocks run at once at
    most."""
    packs = layouts(kernel)
    match schedule.template:
        case "elements":
            ahead, body, rows, columns = write_elements(kernel, out_mode)
            return WrittenText([], body, rows, columns, 1, 0, packs, ahead=ahead)
        case "slices":
            slices = plan_slices(kernel)
            assert slices
            ahead, body = Slices(kernel, out_mode, slices).write()
            shared = 2 * WARPS * 4 if slices.at_once == 1 else 0
            return WrittenText([], body, slices.at_once, 1, slices.outer, shared, packs, ahead=ahead)
    definitions, body, bytes_wanted = write_general(kernel, out_mode, symbol, shared, blocks)
    return WrittenText(definitions, body, 1, 1, 1, bytes_wanted, packs, blocks if definitions else None)


def write_elements(kernel: Kernel, out_mode: Mode) -> tuple[tuple[str, ...], list[str], int, int]:
    """What the tile function does before and after the barrier, the rows of a tile, and the number of tiles that cover the
    elements of a row."""
    addresses = Addresses(kernel, out_mode, known="row")
    values = Values(kernel, addresses)
    most = max(t.size for t in kernel.result_types)
    lanes = next(n for n in (1, 2, 4, 8, 16, 32, 64, 128, 256) if n >= min(most, THREADS))
    columns = max(1, -(-most // (THREADS * ELEMENTS_EACH)))
    rows = THREADS // lanes
    row = f"tile / {columns}" if columns > 1 else "tile"
    first = f"thread % {lanes}" + (f" + tile % {columns} * {lanes}" if columns > 1 else "")
    ahead = (
        f"const int row = {row} * {rows} + thread / {lanes};" if rows > 1 else f"const int row = {row};",
        *addresses.read_tables("smaller(row, int(a.rows) - 1)" if rows > 1 else "row"),
    )
    body = [
        *(["if (row >= a.rows) return;"] if rows > 1 else []),
        f"float* const result = {addresses.result('row')};",
    ]
    sizes = list(dict.fromkeys(t.size for t in kernel.result_types))
    for size in sizes:
        lines = values.begin()
        stores = []
        for name, at, t in zip(kernel.results, kernel.displacements, kernel.result_types, strict=True):
            if t.size == size:
                value = values.element(name, Index(t.shape, "e"))
                to = f"result + {at}" if t.dtype == "float32" else f"reinterpret_cast<int64_t*>(result + {at})"
                stores.append(f"({to})[e] = {value};")
        body += [f"for (int e = {first}; e < {size}; e += {lanes * columns}) {{", *indented([*lines, *stores]), "}"]
    return ahead, body, rows, columns
