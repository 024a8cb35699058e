"""Which nodes of a program are tensor work, which some schedule has to run, and which only say where a tensor lies."""

from __future__ import annotations

from backends.acrobat.core import ops
from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.ir.nodes import Launch, Op


def is_view(node: object) -> bool:
    """Whether the node's value lies in its operand's memory, at a fixed place: an address, no work."""
    return isinstance(node, Op) and ops.is_view(node.op, [a.type for a in node.args], dict(node.attrs)) is not None


def is_operation(node: object) -> bool:
    """Whether the node is an operation that computes something, so that it has to be in a kernel."""
    return isinstance(node, Op) and OPS[node.op].fusion is not Fusion.ADDRESS and not is_view(node)


def is_work(node: object) -> bool:
    """Whether evaluating the node itself records tensor work: addresses and views of what is in memory cost none."""
    return isinstance(node, Launch) or is_operation(node)
