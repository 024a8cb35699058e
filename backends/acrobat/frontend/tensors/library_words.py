"""The functions of `library/words.py`, which the library's text uses where the front end has a rule of its own."""

from __future__ import annotations

import ast
from functools import partial
from typing import Any

from backends.acrobat.core.types import INT, ListT
from backends.acrobat.frontend.evaluator.frame.arguments import Refused, constant
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS, handles
from backends.acrobat.frontend.kinds import is_array, is_ragged, is_unknown, known, nothing_known, retyped
from backends.acrobat.frontend.tensors.fixing import with_extent
from backends.acrobat.frontend.tensors.lifting import is_numbers, shape
from backends.acrobat.frontend.tensors.masks import mask_of
from backends.acrobat.frontend.tensors.slices import LARGEST
from backends.acrobat.frontend.tensors.values import HostTensor
from backends.acrobat.frontend.values import Held, Static, Value, is_placeholder, unknown
from backends.acrobat.library import words


@handles(FUNCTIONS, words.unrolled)
def _unrolled(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    whole = args[0]
    items: Value = f.static_list(Static(tuple(whole.value)) if isinstance(whole, Static) else iterable(f, whole))
    return items


@handles(FUNCTIONS, words.in_order)
def _in_order(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    keys, descending = args
    numbers: Value = f.host("list.order", [keys, descending], ListT(INT), "order")
    return numbers


@handles(FUNCTIONS, words.is_fixed)
def _is_fixed(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return unknown() if is_unknown(args[0]) or is_placeholder(args[0]) else Static(known(args[0])[0])


@handles(FUNCTIONS, words.of_extent)
def _of_extent(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    row: Any
    row, extent = args
    is_known, size = known(extent)
    if not is_known or not is_ragged(row) or size > LARGEST:
        return row
    return retyped(row, ListT(INT, 0, extent=size)) if is_numbers(row) else with_extent(f, row, 0, size, "as many are chosen")


@handles(FUNCTIONS, words.is_counts)
def _is_counts(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    (value,) = args
    if nothing_known(value):
        return unknown()
    return Static(isinstance(value, Held) and value.kind == "ids" or is_array(value) and len(shape(value)) == 1)


COMPARED: dict[object, ast.cmpop] = {words.less: ast.Lt(), words.at_most: ast.LtE(), words.same: ast.Eq()}


def _compared(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str, compare: ast.cmpop) -> Value:
    """The mask that a comparison of tensors gives, also of one element."""
    if any(map(nothing_known, args)):
        return unknown()
    result = mask_of(f, compare, *args)
    assert result is not None
    return result


for _word, _compare in COMPARED.items():
    handles(FUNCTIONS, _word)(partial(_compared, compare=_compare))


@handles(FUNCTIONS, words.has_dimensions)
def _has_dimensions(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    (value,) = args
    if nothing_known(value):
        return unknown()
    match value:
        case Held("ids"):
            return Static(True)
        case Held("mask" | "ones", inner):
            return Static(len(shape(inner)) > 0)
        case HostTensor():
            return Static(value.tensor.ndim > 0)
    return Static(is_array(value) and len(shape(value)) > 0)


@handles(FUNCTIONS, words.packed)
def _packed(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return unknown() if is_unknown(args[0]) else Held("packed", args[0])


@handles(FUNCTIONS, words.is_packed)
def _is_packed(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return Static(isinstance(args[0], Held) and args[0].kind == "packed")


@handles(FUNCTIONS, words.is_packed_list)
def _is_packed_list(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return Static(isinstance(args[0], Held) and args[0].kind == "packed" and not is_array(args[0].value))


@handles(FUNCTIONS, words.steps_of)
def _steps_of(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    (sequence,) = args
    if nothing_known(sequence):
        return unknown()
    if not isinstance(sequence, Held) or sequence.kind != "packed":
        raise Refused("`pad_packed_sequence` takes what `pack_padded_sequence` or a recurrent module of it gives")
    return sequence.value


@handles(FUNCTIONS, words.highest)
def _highest(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    numbers: Value = f.host("list.top", args, ListT(INT), "highest")
    return numbers


def _setting(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str, word: Any) -> Value:
    """A setting of one of PyTorch's functions, which is known at compile time. Raises Refused."""
    try:
        return Static(word(*(constant(a, "a size, stride, padding or dilation") for a in args)))
    except NotImplementedError as error:
        raise Refused(f"{error} is not in the language") from None


for _word in words.COMPUTED:
    handles(FUNCTIONS, _word)(partial(_setting, word=_word))


@handles(FUNCTIONS, words.refuse)
def _refuse(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    message, *advice = (constant(a, "the message") for a in args)
    raise Refused(f"{message} is not in the language", *advice)
