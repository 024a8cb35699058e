"""Products, with operands of fixed shape or of which extents vary."""

from __future__ import annotations

from backends.acrobat.frontend.evaluator.arguments import Call, Refused
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.lists import Array, mapped
from backends.acrobat.frontend.tensors.lifting import as_rows, axis, elementwise, of_rows, op, over_rows, shape
from backends.acrobat.frontend.tensors.operations import call_operation, operation, ragged
from backends.acrobat.frontend.tensors.reductions import reduce
from backends.acrobat.frontend.tensors.shapes import move
from backends.acrobat.frontend.values import Dyn, Static, Value, is_ragged


def matmul(f: Frame, a: Array, b: Array) -> Value:
    """`a @ b` where an extent of one of them varies."""
    if not is_ragged(a) and not is_ragged(b):
        return op(f, "matmul", [a, b])
    sa, sb = shape(a), shape(b)
    if not sa or not sb:
        raise Refused("`matmul` takes tensors with dimensions")
    rank = max(len(sa), len(sb), 2)
    if is_ragged(a) and len(sa) > 1 and axis(a) != len(sa) - 1:
        k = axis(a)
        if k == len(sa) - 2 and len(sb) <= 2:
            return over_rows(f, a, k, lambda row: matmul(f, row, b))
        if k < len(sa) - 2 and len(sb) <= 2:
            return over_rows(f, a, k, lambda part: matmul(f, part, b))
        if k == len(sa) - 2:  # rows of batches of matrices: each row is a batch of vectors
            return over_rows(f, a, rank - 2, lambda row: _vectors(f, row, b))
        if len(sa) == len(sb) and sb[k] is None:
            return of_rows(mapped(f, [a, as_rows(f, b, k)], lambda x, y: matmul(f, x, y)), k)
        raise Refused("this product of tensors whose extents vary is not in the language")
    if is_ragged(b) and (len(sb) == 1 or axis(b) == len(sb) - 2):
        if is_ragged(a) or sa[-1] is not None:  # the sum over the varying dimension
            return _contracted(f, a, b)
    if is_ragged(b) and axis(b) == len(sb) - 1:
        k = len(sa) - 1 if len(sa) > 1 else 0
        k = max(k, len(sb) - 2) if len(sb) > 2 else k
        return over_rows(f, b, k, lambda column: _column(f, a, column))
    if is_ragged(b) and len(sb) > 2 and not is_ragged(a) and len(sa) <= 2:
        k = axis(b)
        return over_rows(f, b, k, lambda part: matmul(f, a, part))
    raise Refused("this product of tensors whose extents vary is not in the language")


def _vectors(f: Frame, x: Array, b: Array) -> Value:
    """[..., k] @ [..., k, m] for each of a batch of vectors."""
    rows = move(f, x, "unsqueeze", len(shape(x)) - 1)
    return move(f, matmul(f, rows, b), "squeeze", len(shape(b)) - 2)


def _column(f: Frame, a: Array, column: Value) -> Value:
    """[..., n, k] @ [..., k] for one column of the second operand."""
    if len(shape(column)) == 1:
        return matmul(f, a, column)
    wide = move(f, column, "unsqueeze", len(shape(column)))
    product = matmul(f, a, wide)
    return move(f, product, "squeeze", len(shape(product)) - 1)


def _contracted(f: Frame, a: Array, b: Array) -> Value:
    """The product along a dimension whose extent varies: the sum of what its parts give."""
    sa, sb = shape(a), shape(b)
    k, m = len(sa) - 1, max(len(sb) - 2, 0)

    def outer(x: Array, y: Value) -> Value:
        if len(sa) > 1 and len(sb) > 1:
            x, y = move(f, x, "unsqueeze", len(shape(x))), move(f, y, "unsqueeze", len(shape(y)) - 1)
        return elementwise(f, [x, y], lambda v: op(f, "mul", v))

    parts = mapped(f, [as_rows(f, a, k), as_rows(f, b, m)], outer)
    return reduce(f, "sum", parts)


# ---- the operations


@operation("matmul", "mm", "bmm", "mv", "dot")
def _matmul(f: Frame, call: Call) -> Dyn:
    return op(f, "matmul", call.bind("input", "other"))


@ragged("matmul", "mm", "bmm", "mv", "dot")
def _matmul_ragged(f: Frame, c: Call) -> Value | None:
    return matmul(f, *c.bind("input", "other"))


@operation("linear")
def _linear(f: Frame, call: Call) -> Dyn:
    x, w, b = call.bind("input", "weight", "bias", bias=Static(None))
    return op(f, "linear", [x, w] if b == Static(None) else [x, w, b])


@ragged("linear")
def _linear_ragged(f: Frame, c: Call) -> Value | None:
    v, w, bias = c.bind("input", "weight", "bias", bias=Static(None))
    if shape(v)[-1] is None:
        raise Refused("`Linear` along an extent that varies: its weight has a fixed one")
    return over_rows(f, v, axis(v), lambda row: call_operation(f, "linear", Call("linear", [row, w, bias], {})))
