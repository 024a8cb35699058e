"""Which operations may share a kernel. Passes ask here and know nothing else of what the emitters of kernels do well.

Source: our own.
"""

from __future__ import annotations

from backends.acrobat.core import ops
from backends.acrobat.core.moves import view_displacement
from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.core.units import Instr, Kernel
from backends.acrobat.kernels.fusible import has_room, is_gemm, is_product


def fits(kernel: Kernel) -> bool:
    """Whether the operations of `kernel` should share it: one operation; or, with operands that every device has room for, a
    product, if a fast template takes the kernel as a whole; reductions of rows and element-wise work on these rows; or
    element-wise work that computes nothing twice."""
    if len(kernel.body) == 1:
        return True
    if not has_room(kernel):
        return False
    kinds = {OPS[i.op].fusion for i in kernel.body}
    if Fusion.PRODUCT in kinds:
        return is_gemm(kernel) or is_product(kernel)
    if any(i.op in ops.LISTS - ops.ITEMWISE.keys() for i in kernel.body):
        return False
    reductions = [i for i in kernel.body if OPS[i.op].fusion is Fusion.REDUCTION and i.op not in ops.ITEMWISE]
    return _rows(kernel, reductions) if reductions else _computed_once(kernel)


def _rows(kernel: Kernel, reductions: list[Instr]) -> bool:
    """Whether all reductions run along the last dimension of values with the same leading extents, which all other values have
    too. Operands may be views of what the kernel reads."""
    read = {p.name for p in kernel.params}
    leading = set()
    for i in reductions:
        shape = kernel.type_of(str(i.args[0])).shape
        if dict(i.attrs).get("dim", len(shape) - 1) != len(shape) - 1:
            return False
        leading.add(shape[:-1])
    if len(leading) != 1:
        return False
    lead = leading.pop()
    for i in kernel.body:
        first = [kernel.type_of(str(a)) for a in i.args[:1] if a in read]
        if first and view_displacement(i.op, first, dict(i.attrs)) is not None:
            read.add(i.name)
        elif OPS[i.op].fusion is Fusion.MOVE or (i.type.shape not in (lead, ()) and i.type.shape[:-1] != lead):
            return False
    return True


def _computed_once(kernel: Kernel) -> bool:
    """Whether no element-wise operation broadcasts what another one computes, which would then be computed several times."""
    sizes = {i.name: i.type.size for i in kernel.body if OPS[i.op].fusion is not Fusion.CONSTANT}
    return all(
        OPS[i.op].fusion is not Fusion.ELEMENTWISE or all(sizes.get(str(a), i.type.size) in (1, i.type.size) for a in i.args)
        for i in kernel.body
    )
