"""Several indices of a tensor that name several parts each, `x[:, rows, columns]`: elements are chosen by pairs of them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from backends.acrobat.core.types import INT
from backends.acrobat.frontend.evaluator.choices.nones import opened_inside
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import at, check_equal
from backends.acrobat.frontend.kinds import is_list, is_number, is_ragged, is_unknown
from backends.acrobat.frontend.tensors.buffers import as_tensor
from backends.acrobat.frontend.tensors.int_buffers import as_index
from backends.acrobat.frontend.tensors.ints import computed, is_ints, listed_ids, on_host_in_parts, whole
from backends.acrobat.frontend.tensors.lifting import each_row, extent_of, of_rows, select, shape
from backends.acrobat.frontend.tensors.mask_operations import true_places
from backends.acrobat.frontend.tensors.masks import as_mask, is_mask
from backends.acrobat.frontend.tensors.values import HostTensor
from backends.acrobat.frontend.values import Static, Value, unknown
from backends.acrobat.ir.make import make_op


def by_pairs(f: Frame, entries: Sequence[ast.expr]) -> list[int]:
    """Where the indices stand that name several parts each: lists and tensors of ints, masks. [] if there is one at most."""
    others = [k for k, e in enumerate(entries) if not isinstance(e, (ast.Slice, ast.Constant))]
    if len(others) < 2:
        return []
    with f.trial():
        several = [k for k in others if _names_several(f, index_value(f, entries[k]))]
    return several if len(several) > 1 else []


def index_value(f: Frame, e: ast.expr) -> Any:
    """The value of an index of a tensor: bools, also those of a buffer, as a mask, and a buffer of ints as a tensor of ints."""
    value = f.borrowed(e)
    value = as_index(f, value)
    return as_mask(f, as_tensor(f, value) if isinstance(value, HostTensor) else value)


def _names_several(f: Frame, value: Any) -> bool:
    v = listed_ids(f, value)
    if is_mask(v):
        return bool(shape(v.value))
    if is_number(v) or is_unknown(v):
        return False
    return is_list(v) or bool(computed(v) and shape(v)) or is_ints(v) and (is_ragged(v) or v.kind == "ids")


def ints_in(f: Frame, e: ast.AST, value: Any) -> Any:
    """A list that is an index, of ints that may be None, as one of ints: None is an error of the instance. Others unchanged."""
    return opened_inside(f, e, value, types=("int",)) if is_list(value) else value


def places_named(f: Frame, e: ast.expr, x: Any, dim: int) -> Any:
    """The ints that name parts of `x` along its dimension `dim`, as a list or a mask gives them too. Raises Refused."""
    v = listed_ids(f, ints_in(f, e, index_value(f, e)))
    if is_unknown(v):
        return unknown()
    if is_mask(v):
        return places_of_mask(f, e, x, dim, v)
    if is_list(v):
        if v.type.item != INT:
            raise Refused("a list that is an index of a tensor is one of ints here")
        return of_rows(v, 0)
    return on_host_in_parts(f, v) if computed(v) else whole(f, v)


def places_of_mask(f: Frame, node: ast.AST, x: Any, dim: int, chosen: Any) -> Any:
    """The ints at which a mask of one dimension, which stands for the dimension `dim` of `x`, is true. Raises Refused."""
    flags = chosen.value
    if is_unknown(flags):
        return unknown()
    if len(shape(flags)) != 1:
        raise Refused("a mask beside other indices that name several parts has one dimension here")
    parts, bools = shape(x)[dim], shape(flags)[0]
    if None not in (parts, bools) and parts != bools:
        raise Refused(f"a mask of {bools} elements chooses among {parts} parts of a tensor", "give it one for each part")
    if None in (parts, bools):
        check_equal(f, extent_of(f, x, dim), extent_of(f, flags, 0))
    (places,) = true_places(f, node, flags)
    return places


def chosen_by_several(f: Frame, x: Any, dims: Sequence[int], places: Sequence[Any]) -> Value:
    """The parts of `x` whose indices in the dimensions `dims` stand at one place of the tensors of ints `places`. As in PyTorch
    they lie along the first of these dimensions if no other one is between them, else along a new first one. Raises Refused."""
    if any(is_unknown(p) for p in (x, *places)):
        return unknown()
    if any(len(shape(p)) != 1 for p in places):
        raise Refused("several tensors of ints that are indices have one dimension each here")
    sizes = {shape(p)[0] for p in places} - {1} or {1}
    if len(sizes - {None}) > 1:
        raise Refused(f"indices of {' and '.join(str(e) for e in sizes - {None})} ints name parts together")
    same = [at(f, p, Static(0)) if shape(p)[0] == 1 and sizes != {1} else None for p in places]

    def part(*given: Value) -> Value:
        rest, chosen = iter(given), x
        for k, (dim, known) in enumerate(zip(dims, same, strict=True)):
            i = next(rest) if known is None else known
            if k == dim == 0 and f.is_weight(x.atom):
                chosen = f.bind(make_op("row", [x.atom, f.atom(i)], {}, f.span), "row")
            else:
                chosen = select(f, chosen, dim - k, i)
        return chosen

    lists = [p for p, i in zip(places, same, strict=True) if i is None]
    adjacent = list(dims) == list(range(dims[0], dims[0] + len(dims)))
    return each_row(f, lists, part, dims[0] if adjacent else 0, None if None in sizes else min(sizes))  # type: ignore[type-var]
