"""Makes nodes of the core IR and infers their types."""

from __future__ import annotations

from collections.abc import Sequence

from backends.acrobat.core.operands import Attrs
from backends.acrobat.core.ops import infer
from backends.acrobat.core.span import NOWHERE, Span
from backends.acrobat.ir.nodes import Atom, Op


def make_op(op: str, args: Sequence[Atom], attrs: Attrs | None = None, span: Span = NOWHERE) -> Op:
    """The node, with its type inferred and its attributes in canonical order. Raises ShapeError."""
    attrs = attrs or {}
    canonical = tuple(sorted((k, tuple(v) if isinstance(v, list) else v) for k, v in attrs.items()))
    return Op(op, tuple(args), canonical, infer(op, [a.type for a in args], attrs), span=span)
