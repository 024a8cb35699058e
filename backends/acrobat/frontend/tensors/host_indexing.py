"""Indexing of tensors that the host has: buffers whose values are known, ints that are written out, masks."""

from __future__ import annotations

import ast

import torch

from backends.acrobat.core.types import INT
from backends.acrobat.frontend.evaluator.expressions.indexing import subscript
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.tables import SUBSCRIPTS, handles
from backends.acrobat.frontend.kinds import is_unknown, known, type_or_none
from backends.acrobat.frontend.tensors.buffers import as_tensor
from backends.acrobat.frontend.tensors.host_tensors import element
from backends.acrobat.frontend.tensors.int_buffers import written_out
from backends.acrobat.frontend.tensors.ints import whole
from backends.acrobat.frontend.tensors.masks import is_mask, is_one_hot
from backends.acrobat.frontend.tensors.values import HostTensor
from backends.acrobat.frontend.values import Held, TupleV, Value


@handles(SUBSCRIPTS, HostTensor)
def _of_host_tensor(f: Frame, node: ast.AST, value: HostTensor, index: ast.expr) -> Value:
    if _constant_index_of(f, index):
        return element(f, value, index)
    whole = written_out(f, value) if value.tensor.dtype == torch.int32 and value.tensor.ndim else as_tensor(f, value)
    return element(f, value, index) if whole is value else subscript(f, node, whole, index)


def _constant_index_of(f: Frame, index: ast.expr) -> bool:
    """Whether all ints and bounds of an index are known at compile time."""
    entries = index.elts if isinstance(index, ast.Tuple) else [index]
    bounds = [b for e in entries for b in ((e.lower, e.upper, e.step) if isinstance(e, ast.Slice) else (e,)) if b is not None]
    with f.trial():
        return all(map(_is_one_constant, map(f.expression, bounds)))


def _is_one_constant(value: Value) -> bool:
    """Whether a value is one int that is known at compile time, or None, and no list, mask or tensor of several."""
    match value:
        case Held("index", inner):
            return _is_one_constant(inner)
        case HostTensor():
            return not value.tensor.ndim
    return known(value)[0] and not isinstance(known(value)[1], (list, tuple))


@handles(SUBSCRIPTS, Held)
def _of_ids(f: Frame, node: ast.AST, value: Held, index: ast.expr) -> Value:
    if is_mask(value) or is_one_hot(value):
        part = subscript(f, node, value.value, index)
        return part if is_unknown(part) else Held(value.kind, part)
    if value.kind != "ids" or not isinstance(value.value, TupleV):
        return f.problem(node, "this cannot be indexed")
    items = value.value.items
    if not isinstance(index, (ast.Slice, ast.Tuple)):
        with f.trial():
            at = known(f.borrowed(index))[1]
        if type(at) is int and -len(items) <= at < len(items):
            return Held("index", items[known(f.expression(index))[1]])
    part = subscript(f, node, whole(f, value), index)
    return Held("index", part) if type_or_none(part) == INT else part
