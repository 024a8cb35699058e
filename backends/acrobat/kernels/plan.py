"""What the product templates need to know about a kernel, found without TVM: its operands, and its epilogue (`lanes.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np

from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.core.units import Instr, Kernel, Mode, Param
from backends.acrobat.kernels.elements import SOURCE_BITS, NotFused, origins
from backends.acrobat.kernels.lanes import Epilogue, find_epilogue
from backends.acrobat.kernels.walks import Walk, fit

MAX_SEGMENTS = 64
"""The most pieces that a product's input may consist of."""
MIN_SEGMENT = 4
"""The fewest elements of a piece of an input that has several."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a product's input: `count` stretches of `width` elements of `param`, each `step` elements after the one
    before. `rows` says where the first one starts in each row."""

    param: str
    rows: Walk
    width: int
    count: int = 1
    step: int = 0


@dataclass(frozen=True, slots=True)
class Gemm:
    """`linear` with a shared weight: for each instance `rows` rows of `depth` elements, which the segments make up."""

    rows: int
    depth: int
    segments: tuple[Segment, ...]
    weight: str
    bias: str
    epilogue: Epilogue


@dataclass(frozen=True, slots=True)
class Operand:
    """A product's operand: element k of row (or column) i of matrix h is at heads(h) + outer(i) + k * stride in `param`."""

    param: str
    heads: Walk
    outer: Walk
    stride: int


@dataclass(frozen=True, slots=True)
class Product:
    """`heads` products of two row operands for each instance, each of a [rows, depth] and a [depth, columns] matrix."""

    heads: int
    rows: int
    depth: int
    columns: int
    left: Operand
    right: Operand
    bias: str
    epilogue: Epilogue

    def along_columns(self, lanes: int) -> bool:
        """Whether each vector of `lanes` columns of the right operand lies contiguously in memory."""
        digits = self.right.outer.digits
        if self.columns == 1:
            return True
        return bool(digits) and (digits[0].divisor, digits[0].stride) == (1, 1) and digits[0].modulus % lanes == 0


def only_product(kernel: Kernel) -> Instr:
    """The only product of the kernel. Raises NotFused if it has none or several."""
    products = [i for i in kernel.body if OPS[i.op].fusion is Fusion.PRODUCT]
    if len(products) != 1:
        raise NotFused(f"{len(products)} products")
    return products[0]


@lru_cache(maxsize=4096)
def plan_gemm(kernel: Kernel, lanes: int) -> Gemm | None:
    """The plan for vectors of `lanes` elements, or None if the GEMM template does not take the kernel."""
    modes = {p.name: p.mode for p in kernel.params}
    try:
        product = only_product(kernel)
        if product.op != "linear" or any(modes.get(str(a)) is not Mode.SHARED for a in product.args[1:]):
            return None
        x = kernel.type_of(str(product.args[0]))
        depth, columns = x.shape[-1], product.type.shape[-1]
        rows = prod(x.shape[:-1])
        if not (rows and depth and columns):
            return None
        segments = find_segments(kernel, str(product.args[0]), rows, depth)
        epilogue = find_epilogue(kernel, product.name, rows, columns, lanes)
    except NotFused:
        return None
    bias = str(product.args[2]) if len(product.args) > 2 else ""
    return Gemm(rows, depth, segments, str(product.args[1]), bias, epilogue)


def find_segments(kernel: Kernel, x: str, rows: int, depth: int) -> tuple[Segment, ...]:
    """The input `x`, of shape [rows, depth], as stretches of consecutive addresses; neighbouring stretches of one form are one
    segment. Raises NotFused if the input is no view of row operands, or one of too many or too short stretches."""
    params, places = origins(kernel, x)
    places = places.reshape(rows, depth)
    breaks = np.flatnonzero(np.diff(places[0]) != 1) + 1
    starts = [0, *breaks.tolist()]
    widths = np.diff([*starts, depth]).tolist()
    if len(starts) > 1 and min(widths) < MIN_SEGMENT:
        raise NotFused("the input's columns lie apart")
    segments: list[Segment] = []
    for start, width in zip(starts, widths, strict=True):
        block = places[:, start : start + width]
        if np.any(block - block[:, :1] != np.arange(width)):
            raise NotFused("the input's rows differ in shape")
        source = int(block[0, 0]) >> SOURCE_BITS
        walk = fit(block[:, 0] - (source << SOURCE_BITS))
        if walk is None or np.any(block >> SOURCE_BITS != source) or params[source].mode is Mode.SHARED:
            raise NotFused("the input is no plain view of row operands")
        _append(segments, Segment(params[source].name, walk, width))
    if len(segments) > MAX_SEGMENTS:
        raise NotFused("the input has too many pieces")
    return tuple(segments)


def _append(segments: list[Segment], s: Segment) -> None:
    """Appends a stretch, or counts it as one more of the last segment if it continues that one's regular steps."""
    last = segments[-1] if segments else None
    if last and (last.param, last.width, last.rows.digits) == (s.param, s.width, s.rows.digits):
        step = s.rows.start - (last.rows.start + (last.count - 1) * last.step)
        if last.count == 1 or step == last.step:
            segments[-1] = Segment(last.param, last.rows, last.width, last.count + 1, step)
            return
    segments.append(s)


@lru_cache(maxsize=4096)
def plan_product(kernel: Kernel, lanes: int) -> Product | None:
    """The plan for vectors of `lanes` elements, or None if the product template does not take the kernel."""
    modes = {p.name: p.mode for p in kernel.params}
    try:
        product = only_product(kernel)
        left_params, left = origins(kernel, str(product.args[0]))
        right_params, right = origins(kernel, str(product.args[1]))
        if product.op == "linear":
            left, right = left.reshape(1, -1, left.shape[-1]), right[None]
        else:
            left, right = _stacks(left, right)
        bias = str(product.args[2]) if len(product.args) > 2 else ""
        if right.shape[1] == 1 and left.shape[1] > 1 and not bias:  # matrix times vector: the matrix's rows are the columns
            left, right = right, left
        heads, rows, depth = left.shape
        columns = right.shape[1]
        if not (heads and rows and depth and columns) or (bias and bias not in modes):
            return None
        epilogue = find_epilogue(kernel, product.name, heads * rows, columns, lanes, gates=1)
        operands = find_operand(left, left_params), find_operand(right, right_params)
        plan = Product(heads, rows, depth, columns, *operands, bias, epilogue)
    except NotFused:
        return None
    modes_used = {modes[plan.left.param], modes[plan.right.param]}
    return plan if Mode.LIST not in modes_used and (plan.right.stride == 1 or plan.along_columns(lanes)) else None


def _stacks(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The operands of `matmul` as arrays [head, row, k] and [head, column, k], by its rules for vectors and stacks."""
    left = left[None] if left.ndim == 1 else left
    right = right[:, None] if right.ndim == 1 else right
    batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    left, right = (np.broadcast_to(x, (*batch, *x.shape[-2:])).reshape(-1, *x.shape[-2:]) for x in (left, right))
    return left, right.transpose(0, 2, 1)


def find_operand(places: np.ndarray, params: Sequence[Param]) -> Operand:
    """The Operand whose elements [head, i, k] come from `places`, as `origins` numbers them. Raises NotFused if they are no
    plain view of one of `params`."""
    source = int(places[0, 0, 0]) >> SOURCE_BITS
    if np.any(places >> SOURCE_BITS != source):
        raise NotFused("an operand is put together from several values")
    places = places - (source << SOURCE_BITS)
    stride = int(places[0, 0, 1] - places[0, 0, 0]) if places.shape[2] > 1 else 1
    heads, outer = fit(places[:, 0, 0]), fit(places[0, :, 0] - places[0, 0, 0])
    along_k = places - places[:, :1, :1] - (places[:1, :, :1] - places[:1, :1, :1])
    if heads is None or outer is None or np.any(along_k != np.arange(places.shape[2]) * stride):
        raise NotFused("an operand is no plain view")
    return Operand(params[source].name, heads, outer, stride)
