"""Triangles of matrices, and the identity matrix, which is made of two."""

from __future__ import annotations

import ast
from typing import Any

import torch

from backends.acrobat.core.types import BOOL, INT, ListT, TupleT
from backends.acrobat.frontend.evaluator.choices.choice import choose
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused, constant
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import item_type, note_item, note_lengths
from backends.acrobat.frontend.evaluator.lists.mapping import mapped
from backends.acrobat.frontend.evaluator.tables import handles
from backends.acrobat.frontend.kinds import is_ragged
from backends.acrobat.frontend.tensors.lifting import (
    as_rows,
    axis,
    each_row,
    is_numbers,
    of_rows,
    op,
    over_rows,
    shape,
    shape_of,
)
from backends.acrobat.frontend.tensors.making import full_of, remove_placement
from backends.acrobat.frontend.tensors.mask_operations import MASK_OPERATIONS
from backends.acrobat.frontend.tensors.masks import as_mask, is_mask, mask, plain
from backends.acrobat.frontend.tensors.operations import either, operation
from backends.acrobat.frontend.values import Static, TupleV, Value, unknown


@operation("eye", of_tensor=False)
def _eye(f: Frame, call: CallArguments) -> Value:
    of_bools = call.kwargs.get("dtype") == Static(torch.bool)
    if of_bools:
        del call.kwargs["dtype"]
    remove_placement(call)
    rows, columns = call.bind("n", "m", m=Static(None))
    columns = rows if columns == Static(None) else columns
    ones = full_of(f, TupleV((rows, columns)), 1.0)
    diagonal = triangle(f, triangle(f, ones, 0, True), 0, False)
    return mask(diagonal) if of_bools else diagonal


def triangle(f: Frame, x: Any, diagonal: int, upper: bool) -> Any:
    """`torch.triu` (if `upper`) or `torch.tril` of a matrix or a batch of them. Raises Refused."""
    rank = len(shape(x))
    if rank < 2:
        raise Refused("a triangle is one of a matrix")
    if not is_ragged(x) or shape(x)[-1] is not None and shape(x)[-2] is not None:
        if is_ragged(x):
            return over_rows(f, x, axis(x), lambda part: triangle(f, part, diagonal, upper))
        rows, columns = shape_of(x)[-2:]
        lines = []
        for i in range(rows):
            line = op(f, "index", [x], {"dim": rank - 2, "i": i})
            at = min(max(i + diagonal + (not upper), 0), columns)
            columns_left = (at, columns) if upper else (0, at)
            parts = [
                op(f, "slice", [line], {"dim": rank - 2, "start": a, "stop": b})
                if (a, b) == columns_left
                else op(f, "full", [], {"shape": (*shape_of(line)[:-1], b - a), "value": 0.0})
                for a, b in ((0, at), (at, columns))
                if a < b
            ]
            lines.append(parts[0] if len(parts) == 1 else op(f, "cat", parts, {"dim": rank - 2}))
        return op(f, "stack", lines, {"dim": rank - 2})
    if rank > 2:
        return each_row(f, [as_rows(f, x, 0)], lambda part: triangle(f, part, diagonal, upper), 0, shape(x)[0])
    matrix = as_rows(f, x, 0)
    pairs = _counted(f, matrix)

    def line_of(pair: Any) -> Any:
        i, line = f.components(pair) or (unknown(), unknown())
        note_item(f, matrix, line)
        inner = _counted(f, as_rows(f, line, 0))

        def entry(other: Any) -> Value:
            j, value = f.components(other) or (unknown(), unknown())
            least = f.host("add", [i, Static(diagonal)], INT)
            columns_left = f.host("ge" if upper else "le", [j, least], BOOL)
            return choose(f, ast.Pass(), columns_left, lambda: value, lambda: full_of(f, Static(()), 0.0))

        return of_rows(mapped(f, [inner], entry, "entry"), 0)

    return of_rows(mapped(f, [pairs], line_of, "line"), 0)


def _counted(f: Frame, xs: Any) -> Any:
    """The pairs of an index and an item of a list."""
    pairs = f.host("enumerate", [xs], ListT(TupleT((INT, item_type(xs)))))
    note_lengths(f, pairs, xs, None)
    return pairs


@either("triu", "tril")
def _triangle(f: Frame, call: CallArguments) -> Value:
    x, diagonal = call.bind("input", "diagonal", diagonal=Static(0))
    at, chosen = constant(diagonal, "the diagonal"), as_mask(f, x)
    if is_mask(chosen):
        return mask(triangle(f, plain(chosen), at, call.name == "triu"))
    if is_ragged(x) and is_numbers(x):
        raise Refused(f"`{call.name}` of a tensor of ints is not in the language", "take that of a tensor of floats or bools")
    return triangle(f, x, at, call.name == "triu")  # type: ignore[no-any-return]


handles(MASK_OPERATIONS, "triu", "tril")(_triangle)
