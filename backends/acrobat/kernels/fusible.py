"""Which kernels have a fast template: the fusion pass asks before it lets an operation join a product. No TVM is imported."""

from __future__ import annotations

from backends.acrobat.core.units import Kernel
from backends.acrobat.kernels.plan import plan_gemm, plan_product

LANES = 16
"""The lanes of the widest vectors. A kernel that has a plan for these has one for narrower vectors."""


def is_gemm(kernel: Kernel) -> bool:
    """Whether the GEMM template takes the whole kernel: one `linear` with a shared weight, its input views of row operands, and
    an element-wise epilogue in which each result element uses product elements of one row, at the same place of equal column
    groups."""
    return plan_gemm(kernel, LANES) is not None


def is_product(kernel: Kernel) -> bool:
    """Whether the product template takes the whole kernel: one product of two row operands (views of them) and its epilogue."""
    return plan_gemm(kernel, LANES) is None and plan_product(kernel, LANES) is not None
