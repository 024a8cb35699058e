"""Rows of a table that ints choose, as an embedding gives them."""

from __future__ import annotations

import ast
from collections.abc import Callable

import torch
from torch import nn

from backends.acrobat.core.types import INT, ListT, TensorT
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import Array
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS, handles
from backends.acrobat.frontend.kinds import is_list, is_ragged, known
from backends.acrobat.frontend.tensors.dtypes import dtype_of
from backends.acrobat.frontend.tensors.int_buffers import as_index
from backends.acrobat.frontend.tensors.ints import on_host
from backends.acrobat.frontend.tensors.lifting import axis, each_row, is_numbers, item, numbers, of_rows, op, shape
from backends.acrobat.frontend.tensors.shapes import move
from backends.acrobat.frontend.tensors.values import HostTensor
from backends.acrobat.frontend.values import Dyn, Held, Static, Value, unknown
from backends.acrobat.ir.make import make_op


@handles(FUNCTIONS, torch.nn.functional.embedding)
def _looked_up(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """`torch.nn.functional.embedding`."""
    i, table = CallArguments("embedding", args, kwargs).bind("input", "weight")
    return embedded(f, node, None, table, i)


def embedded(f: Frame, node: ast.AST, module: nn.Embedding | None, table: Value, i: Value) -> Value:
    """The rows of `table` that `i`, an int or a tensor of ints, chooses; `module` is the embedding that is called, if one
    is."""
    if module is not None and module.max_norm is not None:
        return f.problem(node, "an embedding with `max_norm` changes its weight", "leave max_norm out")
    if isinstance(i, Held) and i.kind == "loose":
        return Held("row", embedded(f, node, module, table, i.value))
    if isinstance(i, Dyn) and isinstance(i.type, TensorT) and i.type.dtype == "int64":
        i = on_host(f, i)  # computed, as by `topk`: the instance waits
    i = as_index(f, i)
    if isinstance(i, Held) and i.kind == "ids":
        rows = [embedded(f, node, module, table, Held("index", v)) for v in f.components(i.value) or ()]
        return op(f, "stack", rows, {"dim": 0})
    if is_ragged(i) and dtype_of(i) == torch.int64:
        return looked_up(f, i, lambda id: embedded(f, node, module, table, Held("index", id)))
    if isinstance(i, Held) and i.kind == "index":
        i = i.value
    elif isinstance(i, HostTensor):
        i = i.index()
    is_known, at = known(i)
    size = shape(table)[0]
    if is_known and isinstance(at, int) and size is not None and not 0 <= at < size:
        return f.problem(node, f"index {at} is out of range: the embedding has {size} rows")
    if isinstance(i, Dyn) and i.type == INT and not is_known:
        i = f.host("from_start", [i], INT, "index")
    row = f.atom(i) if isinstance(i, (Dyn, Static)) else None
    if row is not None and row.type == INT:
        return f.bind(make_op("row", [f.atom(table), row], {}, f.span), "row")
    if isinstance(i, Dyn) and i == unknown():
        return i
    return f.problem(node, "an embedding is called with one index here", "write `embedding.weight[i]`")


def looked_up(f: Frame, ids: Array, row: Callable[[Value], Value]) -> Value:
    """The tensor with the part `row(id)` for each id of a tensor of ints, as an embedding gives it."""
    if is_list(ids):
        ids = of_rows(ids, 0)
    if isinstance(ids, Dyn) and isinstance(ids.type, TensorT):  # computed, as by `argmax`: the instance waits
        return row(f.host("int", [item(f, ids, "index")], INT))
    if not is_numbers(ids):
        return each_row(f, [ids], lambda part: looked_up(f, part, row), axis(ids), shape(ids)[axis(ids)])
    assert isinstance(ids, Dyn)
    assert isinstance(ids.type, ListT)
    flat = numbers(ids, 0, 0)
    result: Value = each_row(f, [flat], row, 0, flat.type.extent)  # type: ignore[union-attr]
    for _ in range(ids.type.units):
        result = move(f, result, "unsqueeze", 1)
    for _ in range(axis(ids)):
        result = move(f, result, "unsqueeze", 0)
    return result
