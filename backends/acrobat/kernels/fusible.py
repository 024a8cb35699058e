"""Which kernels can be made, and which have a fast template: the fusion pass asks before it lets an operation join. No TVM is
imported."""

from __future__ import annotations

from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.plan import plan_gemm, plan_product

LANES = 16
"""The lanes of the widest vectors. A kernel that has a plan for these has one for narrower vectors."""

MOST_ARGUMENTS = 58
"""The most words of arguments that a kernel for a CUDA device takes, since a step of a walk has room for so many."""


def has_room(kernel: Kernel) -> bool:
    """Whether every device has room for the arguments of the kernel: beside those of its operands, two words for its rows and
    two for its results."""
    return 4 + sum({Mode.SHARED: 1, Mode.LIST: 3}.get(p.mode, 2) for p in kernel.params) <= MOST_ARGUMENTS


def is_gemm(kernel: Kernel) -> bool:
    """Whether the GEMM template takes the whole kernel: one `linear` with a shared weight, its input views of row operands, and
    an element-wise epilogue in which each result element uses product elements of one row, at the same place of equal column
    groups."""
    return plan_gemm(kernel, LANES) is not None


def is_product(kernel: Kernel) -> bool:
    """Whether the product template takes the whole kernel: one product of two row operands (views of them) and its epilogue."""
    return plan_gemm(kernel, LANES) is None and plan_product(kernel, LANES) is not None
