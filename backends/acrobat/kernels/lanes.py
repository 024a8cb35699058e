"""How a product and its element-wise epilogue are divided into lanes.

A product has `rows` rows for each instance, of `gates * units` columns. A *lane* is one row and one unit. It has one product
element for each gate, so a cell's gates meet in one lane and the epilogue is arithmetic within lanes. They are computed in
vectors along the units. One row with 3 gates of 4 units, of which lane 2 has i2, o2 and u2:

    i0 i1 i2 i3 | o0 o1 o2 o3 | u0 u1 u2 u3
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from backends.acrobat.core.units import Kernel
from backends.acrobat.kernels.elements import Apply, Constant, Elements, NotFused, Read, Tree
from backends.acrobat.kernels.walks import Walk, fit

MAX_GATES = 8
"""The most groups of columns that a product is divided into."""


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
    """The element-wise operation `op` on other values of the lane."""

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


def find_epilogue(kernel: Kernel, product: str, rows: int, columns: int, lanes: int, gates: int = 0) -> Epilogue:
    """All results of the kernel, computed in lanes from `product`, which has `rows` rows and `columns` columns: with as few
    gates as possible, or with `gates` if that is not 0. `lanes` is the length of vectors. Raises NotFused if no number of gates
    is possible."""
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
    """The outputs for columns in `gates` equal groups. `trees` has the expression of each result, `reads` its reads of the
    product, by their ids. Raises NotFused if an element needs product elements of several lanes."""
    units = columns // gates
    outputs = []
    first_gate = np.arange(rows)[:, None] * columns + np.arange(units)
    orders: dict[bytes, np.ndarray] = {}
    common: dict[tuple[int, int], Lane] = {}
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
                to_lanes(tree, order, first_gate, lanes, set(product_reads), common),
                address(order, rows, lanes),
            )
        )
        if outputs[-1].address.stride != 1 and units > 1:
            raise NotFused("a result's elements lie apart")
    return tuple(outputs)


def to_lanes(
    tree: Tree, order: np.ndarray, first_gate: np.ndarray, lanes: int, products: set[int], common: dict[tuple[int, int], Lane]
) -> Lane:
    """The tree with its elements in the order of lanes. `order` has the element that each lane computes, `first_gate` the
    product elements of gate 0, by row and unit; `products` are the ids of the reads of the product. Subtrees that expressions
    share become one value: `common` has the values so far, by tree and order. Raises NotFused."""
    if isinstance(tree, Constant):
        return tree
    key = (id(tree), id(order))
    if key not in common:
        if isinstance(tree, Read) and id(tree) in products:
            rows, units = first_gate.shape
            index = tree.index[order].reshape(rows, units)
            gate = int(index[0, 0]) // units
            if np.any(index != first_gate + gate * units):
                raise NotFused("a result's operands lie in different lanes")
            common[key] = Gate(gate)
        elif isinstance(tree, Read):
            common[key] = Load(tree.name, address(tree.index[order], len(first_gate), lanes))
        else:
            assert isinstance(tree, Apply)
            args = tuple(to_lanes(a, order, first_gate, lanes, products, common) for a in tree.args)
            common[key] = Compute(tree.op, args)
    return common[key]


def address(offsets: np.ndarray, rows: int, lanes: int) -> Address:
    """The Address of lanes with these element offsets (flat, row by row). Raises NotFused if they are not regular enough."""
    offsets = offsets.reshape(rows, -1)
    units = offsets.shape[1]
    starts = offsets[:, ::lanes]
    stride = 1 if units == 1 else int(offsets[0, 1] - offsets[0, 0])
    within = np.arange(units) % lanes
    if stride not in (0, 1) or np.any(offsets != np.repeat(starts, lanes, axis=1)[:, :units] + within * stride):
        raise NotFused("lanes that lie apart")
    down, along = fit(starts[:, 0]), fit(starts[0] - starts[0, 0])
    if down is None or along is None or np.any(starts - starts[:, :1] != starts[:1] - starts[0, 0]):
        raise NotFused("lanes without a regular address")
    return Address(down, along, stride)


def reads_of(tree: Tree) -> list[Read]:
    """The reads in an expression, each once."""
    nodes: dict[int, Tree] = {}
    pending = [tree]
    while pending:
        node = pending.pop()
        if id(node) not in nodes:
            nodes[id(node)] = node
            pending += node.args if isinstance(node, Apply) else ()
    return [node for node in nodes.values() if isinstance(node, Read)]
