"""Tells nodes that are tensor work, which a schedule has to run, from nodes that only say where a tensor lies in memory."""

from __future__ import annotations

from backends.acrobat.core.moves import view_displacement
from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.ir.nodes import Launch, Op


def is_view(node: object) -> bool:
    """Whether the node's value lies at a fixed place in its operand's memory, so that it is only an address and no work."""
    return isinstance(node, Op) and view_displacement(node.op, [a.type for a in node.args], dict(node.attrs)) is not None


def is_operation(node: object) -> bool:
    """Whether the node is an operation that computes something, so that it has to be in a kernel."""
    return isinstance(node, Op) and OPS[node.op].fusion is not Fusion.ADDRESS and not is_view(node)


def is_work(node: object) -> bool:
    """Whether evaluating the node, nested bodies aside, records tensor work. Addresses and views record none."""
    return isinstance(node, Launch) or is_operation(node)
