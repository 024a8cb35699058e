"""Indexing of tensors that the host has: buffers whose values are known, ints that are written out, masks."""

from __future__ import annotations

import ast

import torch

from backends.acrobat.core.types import INT, ListT
from backends.acrobat.frontend.evaluator.expressions.indexing import subscript
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.tables import SUBSCRIPTS, handles
from backends.acrobat.frontend.kinds import is_unknown, known, type_or_none
from backends.acrobat.frontend.tensors.bool_buffers import as_flags
from backends.acrobat.frontend.tensors.host_tensors import element
from backends.acrobat.frontend.tensors.indexing import index_tensor
from backends.acrobat.frontend.tensors.ints import whole
from backends.acrobat.frontend.tensors.lifting import numbers
from backends.acrobat.frontend.tensors.masks import is_mask, is_one_hot
from backends.acrobat.frontend.tensors.values import HostTensor
from backends.acrobat.frontend.values import Dyn, Held, Static, TupleV, Value
from backends.acrobat.ir import nodes as n


@handles(SUBSCRIPTS, HostTensor)
def _of_host_tensor(f: Frame, node: ast.AST, value: HostTensor, index: ast.expr) -> Value:
    if _constant_index_of(f, index):
        return element(f, value, index)
    flags, listed = as_flags(f, value), _numbers_of(f, value)
    if flags is not value:
        return subscript(f, node, flags, index)
    return element(f, value, index) if listed is None else index_tensor(f, node, listed, index)


def _constant_index_of(f: Frame, index: ast.expr) -> bool:
    """Whether all ints and bounds of an index are known at compile time."""
    entries = index.elts if isinstance(index, ast.Tuple) else [index]
    bounds = [b for e in entries for b in ((e.lower, e.upper, e.step) if isinstance(e, ast.Slice) else (e,)) if b is not None]
    with f.trial():
        return all(not isinstance(v, Dyn) or isinstance(v.atom, n.Lit) for v in map(f.expression, bounds))


def _numbers_of(f: Frame, value: HostTensor) -> Dyn | None:
    """A buffer of ints with one dimension, and others of extent 1 around it, as a tensor of ints of the program; else None."""
    t = value.tensor
    wider = [d for d, e in enumerate(t.shape) if e != 1]
    if t.dtype not in (torch.int64, torch.int32) or len(wider) != 1:
        return None
    places = t.reshape(-1).tolist()
    step = places[1] - places[0]
    if step and places == list(range(places[0], places[-1] + step, step)):
        ends = [Static(x) for x in (places[0], places[-1] + step, step)]
        listed = f.host("range", ends, ListT(INT))
    else:
        listed = f.bind(n.ListOf(tuple(n.Lit(x, INT, span=f.span) for x in places), ListT(INT), span=f.span), "numbers")
    return numbers(listed, wider[0], t.ndim - 1 - wider[0])


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
