"""What `torch.nn.functional.one_hot` gives: a tensor of ints, zeros and ones, which models turn into floats or bools at once.

It is kept as the tensor of floats, in a `Held("ones")`, so that `.float()` and `.bool()` need no work, and moving its
elements leaves it one. Every other use takes its ints, for which the instance waits.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from backends.acrobat.core.types import INT
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused, is_constant
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS, RESULTS, handles
from backends.acrobat.frontend.kinds import is_number, is_unknown, known, nothing_known, type_or_none
from backends.acrobat.frontend.tensors.buffers import whole_tensor
from backends.acrobat.frontend.tensors.conversions import wanted_dtype
from backends.acrobat.frontend.tensors.dtypes import dtype_of
from backends.acrobat.frontend.tensors.ints import computed, on_host_in_parts
from backends.acrobat.frontend.tensors.lifting import op, select
from backends.acrobat.frontend.tensors.lookups import looked_up
from backends.acrobat.frontend.tensors.mask_operations import MASK_OPERATIONS, MOVES, as_ints
from backends.acrobat.frontend.tensors.masks import is_one_hot, mask, plain
from backends.acrobat.frontend.tensors.operations import call_operation
from backends.acrobat.frontend.values import HELD, VARIABLES, Held, Static, Value, unknown
from backends.acrobat.library import tables

HELD["ones"] = "what `one_hot` gives is used as floats, ints or bools here: write `.float()`, `.long()` or `.bool()`"
VARIABLES.add("ones")

AS_MASKS = ("float", "bool", "any", "all", "sum", "dim", "size", "numel", "nonzero", "argwhere")
"""Operations of which a mask with the same elements gives the same."""


def _one_hot_rows(value: Value) -> Value:
    return value if is_unknown(value) else Held("ones", value)


def ints_of(f: Frame, value: Any) -> Any:
    """What `one_hot` gave as a tensor of ints, for which the instance waits; any other value as it is."""
    return as_ints(f, mask(value.value)) if is_one_hot(value) else value


def of_one_hot(f: Frame, name: str, args: Sequence[Any], kwargs: Mapping[str, Value]) -> Value | None:
    """An operation whose first argument is what `one_hot` gave, where it needs no ints; None for others."""
    if not args or not is_one_hot(args[0]) or any(map(is_one_hot, args[1:])):
        return None
    x, inner = args[0], args[0].value
    if name in MOVES:
        return _one_hot_rows(call_operation(f, name, CallArguments(name, [inner, *args[1:]], dict(kwargs))))
    if name in AS_MASKS:
        return MASK_OPERATIONS[name](f, CallArguments(name, [mask(inner), *args[1:]], dict(kwargs)))
    if name == "where" and len(args) == 1:
        return call_operation(f, "where", CallArguments("where", [mask(inner)], {}))
    if name in ("long", "int"):
        return x
    if name in ("to", "type", "type_as"):
        wanted = {wanted_dtype(v) for v in (*args[1:], *kwargs.values())} - {None}
        as_it_is = not wanted or wanted <= {torch.int64, torch.int32}
        return x if as_it_is else MASK_OPERATIONS[name](f, CallArguments(name, [mask(inner), *args[1:]], dict(kwargs)))
    return None


def _as_result(f: Frame, value: Any) -> Value | None:
    if not is_one_hot(value):
        return None
    ints = ints_of(f, value)
    for rule in RESULTS:  # a single int, as a tensor without dimensions
        if rule is not _as_result and (result := rule(f, ints)) is not None:
            return result
    return ints


RESULTS.append(_as_result)


@handles(FUNCTIONS, torch.nn.functional.one_hot)
def _one_hot(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """`one_hot` by a number of classes that is known at compile time, or at run time only, or is the highest class and one."""
    i, count = CallArguments("one_hot", args, kwargs).bind("tensor", "num_classes", num_classes=Static(-1))
    if nothing_known(i) or nothing_known(count):
        return unknown()
    i = whole_tensor(f, i)
    if dtype_of(i) != torch.int64 and not (is_number(i) and type_or_none(i) == INT):
        raise Refused("`one_hot` takes a tensor of ints")
    if computed(i):
        i = on_host_in_parts(f, i)
    if not is_constant(count) or known(count)[1] == -1:
        single = is_number(i) or isinstance(i, Held) and i.kind == "index"
        find = tables.class_marked if single else tables.classes_marked
        given = [i.value if isinstance(i, Held) and single else i, Static(None) if is_constant(count) else count]
        return _one_hot_rows(plain(f.program.call(f, node, find, given, {})))
    number = known(count)[1]
    if not isinstance(number, int) or number < 1:
        raise Refused(f"`one_hot` takes a number of classes above 0, not {number!r}")
    table: Any = call_operation(f, "eye", CallArguments("eye", [Static(number)], {}))

    def row(at: Value) -> Value:
        is_known, place = known(at)
        if is_known and not 0 <= place < number:
            raise Refused(f"`one_hot` of the class {place}, where there are {number}")
        return select(f, table, 0, at if is_known else f.host("from_start", [at], INT, "class"))

    match i:
        case Held("index", inner):
            return _one_hot_rows(row(inner))
        case Held("ids", inner):
            return _one_hot_rows(op(f, "stack", [row(v) for v in f.components(inner) or ()], {"dim": 0}))
    return _one_hot_rows(row(i) if is_number(i) else looked_up(f, i, row))
