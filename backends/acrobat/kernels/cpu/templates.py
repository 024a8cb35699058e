"""Writes kernels by the first template that takes them: GEMM, product of row operands, row-wise. Importing this imports TVM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tvm

from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.cpu import gemm
from backends.acrobat.kernels.cpu.code import Code, function, lower, object_bytes
from backends.acrobat.kernels.cpu.operands import Interface
from backends.acrobat.kernels.cpu.product import ProductWriter
from backends.acrobat.kernels.cpu.rowwise import RowWriter
from backends.acrobat.kernels.cpu.schedule import KernelSchedule
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.kernels.packing import Packing, layouts
from backends.acrobat.kernels.plan import plan_gemm, plan_product


@dataclass(frozen=True, slots=True)
class WrittenKernel:
    """A kernel in TensorIR. The other fields are those of `CpuCode` and `Emitted`."""

    function: Any
    parts: int
    scratch_size: int
    packs: dict[str, Packing]


def write_kernel(kernel: Kernel, out_mode: Mode, symbol: str, target: CpuTarget, schedule: KernelSchedule) -> WrittenKernel:
    """The kernel in TensorIR, by the first template that takes it."""
    code = Code()
    interface = Interface(code, kernel, out_mode)
    packed: dict[str, Packing] = {}
    gemm_plan = plan_gemm(kernel, target.lanes)
    product_plan = plan_product(kernel, target.lanes)
    if gemm_plan:
        writer = gemm.GemmWriter(code, interface, gemm_plan, target, schedule)
        writer.write()
        parts, scratch = writer.parts, 0
        packed = dict.fromkeys((gemm_plan.weight, gemm_plan.bias), gemm.packing(gemm_plan, target))
    elif product_plan:
        product = ProductWriter(code, interface, product_plan, target.lanes, schedule)
        product.write()
        parts, scratch = product.parts, product.scratch_size
    else:
        rows = RowWriter(code, interface, target.lanes)
        rows.write()
        parts, scratch = 1, rows.scratch_size
    return WrittenKernel(function(symbol, interface.params, code), parts, scratch, layouts(kernel, packed))


def llvm_version() -> str:
    """The major version of the LLVM within TVM; TVM does not tell the minor one."""
    return str(tvm.get_global_func("target.llvm_version_major")())


def compile_kernel(symbol: str, written: WrittenKernel, target: CpuTarget) -> bytes:
    """The object file's bytes."""
    return object_bytes(lower(symbol, written.function, target))
