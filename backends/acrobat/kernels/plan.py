"""What the product templates need to know about a kernel, found without TVM: its gates, operands and element-wise epilogue.

A product has `rows` rows for each instance, of `gates * units` columns. A *lane* is one row and one unit. It has one product
element for each gate, so a cell's gates meet in one lane and the epilogue is arithmetic within lanes. They are computed in
vectors along the units. One row with 3 gates of 4 units, of which lane 2 has i2, o2 and u2:

    i0 i1 i2 i3 | o0 o1 o2 o3 | u0 u1 u2 u3
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TypeAlias

import numpy as np

from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.core.units import Instr, Kernel, Mode
from backends.acrobat.kernels.elements import SOURCE_BITS, Apply, Constant, Elements, NotFused, Read, Tree, origins
from backends.acrobat.kernels.walks import Walk, fit

MAX_GATES = 8
MAX_SEGMENTS = 64
MIN_SEGMENT = 4


@dataclass(frozen=True, slots=True)
class Address:
    """Where a value's lanes lie: lane `j` of vector `v` in row `t` has the element offset rows(t) + vectors(v) + j * stride."""

    rows: Walk
    vectors: Walk
    stride: int


@dataclass(frozen=True, slots=True)
class Gate:
    """The product elements of gate number `index`."""

    index: int


@dataclass(frozen=True, slots=True)
class Load:
    """The elements of a param, one for each lane. If the param is a list: their sums over all items."""

    param: str
    address: Address


@dataclass(frozen=True, eq=False, slots=True)
class Compute:
    op: str
    args: tuple[Lane, ...]


Lane: TypeAlias = Gate | Load | Constant | Compute


@dataclass(frozen=True, slots=True)
class Output:
    """The kernel's result number `result`: its value in each lane, and where the lanes are stored."""

    result: int
    lane: Lane
    address: Address


@dataclass(frozen=True, slots=True)
class Epilogue:
    """All results of a kernel, computed lane by lane from a product of `gates * units` columns."""

    gates: int
    units: int
    outputs: tuple[Output, ...]


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
    """The input `x` ([rows, depth]) as stretches of consecutive addresses, equal ones folded. Raises NotFused if that fails."""
    params, found = origins(kernel, x)
    found = found.reshape(rows, depth)
    breaks = np.flatnonzero(np.diff(found[0]) != 1) + 1
    starts = [0, *breaks.tolist()]
    widths = np.diff([*starts, depth]).tolist()
    if len(starts) > 1 and min(widths) < MIN_SEGMENT:
        raise NotFused("the input's columns lie apart")
    segments: list[Segment] = []
    for start, width in zip(starts, widths, strict=True):
        block = found[:, start : start + width]
        if np.any(block - block[:, :1] != np.arange(width)):
            raise NotFused("the input's rows differ in shape")
        source = int(block[0, 0]) >> SOURCE_BITS
        walk = fit(block[:, 0] - (source << SOURCE_BITS))
        if walk is None or np.any(block >> SOURCE_BITS != source) or params[source].mode is Mode.SHARED:
            raise NotFused("the input is no plain view of row operands")
        segments.append(Segment(params[source].name, walk, width))
    folded: list[Segment] = []
    for s in segments:
        last = folded[-1] if folded else None
        if last and (last.param, last.width, last.rows.digits) == (s.param, s.width, s.rows.digits):
            step = s.rows.start - (last.rows.start + (last.count - 1) * last.step)
            if last.count == 1 or step == last.step:
                folded[-1] = Segment(last.param, last.rows, last.width, last.count + 1, step)
                continue
        folded.append(s)
    if len(folded) > MAX_SEGMENTS:
        raise NotFused("the input has too many pieces")
    return tuple(folded)


@lru_cache(maxsize=4096)
def plan_product(kernel: Kernel, lanes: int) -> Product | None:
    """The plan for vectors of `lanes` elements, or None if the product template does not take the kernel."""
    modes = {p.name: p.mode for p in kernel.params}
    try:
        product = only_product(kernel)
        left_name, right_name = str(product.args[0]), str(product.args[1])
        left_params, left = origins(kernel, left_name)
        right_params, right = origins(kernel, right_name)
        if product.op == "linear":
            left, right = left.reshape(1, -1, left.shape[-1]), right[None]
        else:
            left = left[None] if left.ndim == 1 else left
            right = right[:, None] if right.ndim == 1 else right
            batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
            left = np.broadcast_to(left, (*batch, *left.shape[-2:])).reshape(-1, *left.shape[-2:])
            right = np.broadcast_to(right, (*batch, *right.shape[-2:])).reshape(-1, *right.shape[-2:]).transpose(0, 2, 1)
        bias = str(product.args[2]) if len(product.args) > 2 else ""
        if right.shape[1] == 1 and left.shape[1] > 1 and not bias:  # matrix times vector: the matrix's rows are the columns
            left, right = right, left
        heads, rows, depth = left.shape
        columns = right.shape[1]
        if not (heads and rows and depth and columns) or (bias and bias not in modes):
            return None
        epilogue = find_epilogue(kernel, product.name, heads * rows, columns, lanes, gates=1)
        plan = Product(
            heads, rows, depth, columns, find_operand(left, left_params), find_operand(right, right_params), bias, epilogue
        )
    except NotFused:
        return None
    modes_used = {modes[plan.left.param], modes[plan.right.param]}
    return plan if Mode.LIST not in modes_used and (plan.right.stride == 1 or plan.along_columns(lanes)) else None


def find_operand(found: np.ndarray, params: list) -> Operand:
    """The Operand whose elements [head, i, k] have the origins `found`. Raises NotFused if they are no plain view."""
    source = int(found[0, 0, 0]) >> SOURCE_BITS
    if np.any(found >> SOURCE_BITS != source):
        raise NotFused("an operand is put together from several values")
    found = found - (source << SOURCE_BITS)
    stride = int(found[0, 0, 1] - found[0, 0, 0]) if found.shape[2] > 1 else 1
    heads, outer = fit(found[:, 0, 0]), fit(found[0, :, 0] - found[0, 0, 0])
    apart = found - found[:, :1, :1] - (found[:1, :, :1] - found[:1, :1, :1])
    if heads is None or outer is None or np.any(apart != np.arange(found.shape[2]) * stride):
        raise NotFused("an operand is no plain view")
    return Operand(params[source].name, heads, outer, stride)


def find_epilogue(kernel: Kernel, product: str, rows: int, columns: int, lanes: int, gates: int = 0) -> Epilogue:
    """All results computed in lanes, with as few gates as will do (or exactly `gates`). Raises NotFused if none will."""
    elements = Elements(kernel, product)
    trees: list[Tree] = []
    for name, t in zip(kernel.results, kernel.result_types, strict=True):
        if t.dtype != "float32" or name in elements.params:
            raise NotFused(f"result {name} does not come from the product")
        trees.append(elements.tree(name, np.arange(t.size)))
    reads = [{id(r): r for r in reads_of(t) if r.name == product} for t in trees]
    if not all(reads):
        raise NotFused("a result does not depend on the product")
    error = NotFused("no gates")
    for count in [gates] if gates else [g for g in range(1, MAX_GATES + 1) if columns % g == 0]:
        try:
            return Epilogue(count, columns // count, split(trees, reads, rows, columns, count, lanes))
        except NotFused as e:
            error = e
    raise error


def split(
    trees: list[Tree], reads: list[dict[int, Read]], rows: int, columns: int, gates: int, lanes: int
) -> tuple[Output, ...]:
    """The outputs for columns in `gates` equal groups. Raises NotFused if an element needs product elements of several
    lanes."""
    units = columns // gates
    outputs = []
    first_gate = np.arange(rows)[:, None] * columns + np.arange(units)
    orders: dict[bytes, np.ndarray] = {}
    shared: dict[tuple[int, int], Lane] = {}
    for result, (tree, product_reads) in enumerate(zip(trees, reads, strict=True)):
        first = next(iter(product_reads.values())).index
        if len(first) != rows * units:
            raise NotFused(f"{gates} gates: the result does not cover each lane once")
        order = np.full(rows * units, -1)
        order[first // columns * units + first % units] = np.arange(len(first))
        if np.any(order < 0):
            raise NotFused("the result covers a lane twice")
        order = orders.setdefault(order.tobytes(), order)  # the results share subtrees if they have one order
        outputs.append(
            Output(
                result,
                to_lanes(tree, order, first_gate, lanes, set(product_reads), shared),
                address(order, rows, lanes),
            )
        )
        if outputs[-1].address.stride != 1 and units > 1:
            raise NotFused("a result's elements lie apart")
    return tuple(outputs)


def to_lanes(
    tree: Tree,
    order: np.ndarray,
    first_gate: np.ndarray,
    lanes: int,
    products: set[int],
    shared: dict[tuple[int, int], Lane],
) -> Lane:
    """The tree with its elements in the order of lanes. `first_gate`: the product elements of gate 0, by row and unit.
    Common subtrees stay common (`shared`, by tree and order), also between results."""
    if isinstance(tree, Constant):
        return tree
    key = (id(tree), id(order))
    if key not in shared:
        if isinstance(tree, Read) and id(tree) in products:
            rows, units = first_gate.shape
            index = tree.index[order].reshape(rows, units)
            gate = int(index[0, 0]) // units
            if np.any(index != first_gate + gate * units):
                raise NotFused("a result's operands lie in different lanes")
            shared[key] = Gate(gate)
        elif isinstance(tree, Read):
            shared[key] = Load(tree.name, address(tree.index[order], len(first_gate), lanes))
        else:
            assert isinstance(tree, Apply)
            args = tuple(to_lanes(a, order, first_gate, lanes, products, shared) for a in tree.args)
            shared[key] = Compute(tree.op, args)
    return shared[key]


def address(offsets: np.ndarray, rows: int, lanes: int) -> Address:
    """The Address of lanes with these element offsets (flat, row by row). Raises NotFused if they are not regular enough."""
    offsets = offsets.reshape(rows, -1)
    units = offsets.shape[1]
    base = offsets[:, ::lanes]
    stride = 1 if units == 1 else int(offsets[0, 1] - offsets[0, 0])
    within = np.arange(units) % lanes
    if stride not in (0, 1) or np.any(offsets != np.repeat(base, lanes, axis=1)[:, :units] + within * stride):
        raise NotFused("lanes that lie apart")
    down, along = fit(base[:, 0]), fit(base[0] - base[0, 0])
    if down is None or along is None or np.any(base - base[:, :1] != base[:1] - base[0, 0]):
        raise NotFused("lanes without a regular address")
    return Address(down, along, stride)


def reads_of(tree: Tree) -> list[Read]:
    """The reads in an expression, each once."""
    seen: dict[int, Tree] = {}
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen[id(node)] = node
            waiting += node.args if isinstance(node, Apply) else ()
    return [node for node in seen.values() if isinstance(node, Read)]
