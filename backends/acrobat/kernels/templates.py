"""The templates, in the order they are tried, and what compiling one gives. Importing this imports TVM."""

from __future__ import annotations

from dataclasses import dataclass

from backends.acrobat.kernels import gemm
from backends.acrobat.kernels.code import Code, lower, object_bytes
from backends.acrobat.kernels.interface import Interface
from backends.acrobat.kernels.packing import PLAIN, Packing
from backends.acrobat.kernels.plan import plan_gemm, plan_product
from backends.acrobat.kernels.product import ProductWriter
from backends.acrobat.kernels.rowwise import RowWriter
from backends.acrobat.kernels.spec import Kernel, Mode
from backends.acrobat.kernels.target import CpuTarget


@dataclass(frozen=True, slots=True)
class Compiled:
    object_bytes: bytes
    parts: int
    scratch_size: int
    packs: dict[str, Packing]


def compile_kernel(kernel: Kernel, out_mode: Mode, symbol: str, target: CpuTarget) -> Compiled:
    code = Code()
    interface = Interface(code, kernel, out_mode)
    plain = {p.name: PLAIN for p in kernel.params if p.mode is Mode.SHARED}
    gemm_plan = plan_gemm(kernel, target.lanes)
    product_plan = plan_product(kernel, target.lanes)
    if gemm_plan:
        writer = gemm.GemmWriter(code, interface, gemm_plan, target.lanes)
        writer.write()
        parts, scratch, packs = writer.tiling.parts, 0, gemm.packs(kernel, gemm_plan, target.lanes)
    elif product_plan:
        product = ProductWriter(code, interface, product_plan, target.lanes)
        product.write()
        parts, scratch, packs = product.parts, product.scratch_size, plain
    else:
        rows = RowWriter(code, interface, target.lanes)
        rows.write()
        parts, scratch, packs = 1, rows.scratch_size, plain
    return Compiled(object_bytes(lower(symbol, interface.params, code, target)), parts, scratch, packs)
