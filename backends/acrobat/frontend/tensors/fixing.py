"""Tensors whose extent varies by their type, and has one value where the program goes on: the instance is checked for that."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from backends.acrobat.core.types import BOOL, ListT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.choices.choice import choose, fail
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import Array, at, is_length_of, item_type, length, length_inside
from backends.acrobat.frontend.evaluator.tables import RESULTS
from backends.acrobat.frontend.kinds import is_ragged, is_unknown, retyped, type_of
from backends.acrobat.frontend.tensors.lifting import as_rows, shape, stack_parts
from backends.acrobat.frontend.values import Static, Value


def with_check(f: Frame, what: str, x: Value, y: Value, text: str, then: Callable[[], Value] = lambda: Static(None)) -> Value:
    """`then()`, where the comparison `what` of two host numbers holds; elsewhere an error of the instance, in whose `text` {0}
    is `x`."""
    holds = f.host(what, [x, y], BOOL, "holds")
    return choose(f, ast.Pass(), holds, then, lambda: fail(f, text, [x]))


def with_extent(f: Frame, x: Array, dim: int, extent: int, why: str) -> Value:
    """The tensor `x` with the fixed extent that its varying dimension `dim` must have; `why` ends the text of the error."""
    rows = as_rows(f, x, dim)
    if is_unknown(rows):
        return rows
    plain = retyped(rows, ListT(item_type(rows)))
    text = f"RuntimeError: an extent is {{0}}, not {extent}, {why}"
    result = with_check(f, "eq", length(f, plain), Static(extent), text, lambda: plain)
    return stack_parts(f, [at(f, result, Static(i)) for i in range(extent)], dim)


def with_extents(f: Frame, x: Array, extents: Sequence[int | None], why: str) -> Value:
    """The tensor `x` with these extents in its last dimensions where its own vary, None for those that may go on varying. An
    extent that is not the one here is an error of the instance, also 1."""
    for dim, extent in enumerate(extents, len(shape(x)) - len(extents)):
        if dim >= 0 and extent and shape(x)[dim] is None:
            x = with_extent(f, x, dim, extent, why)
            if is_unknown(x):
                return x
    return x


def only_element(f: Frame, x: Array) -> Value:
    """The only element of a ragged tensor, as a fixed tensor or a host number. Any other count of elements is an error of the
    instance. Raises Refused if a fixed extent is not 1."""
    if any(e not in (None, 1) for e in shape(x)):
        raise Refused(f"only a tensor of one element has a value to read; this is {describe(type_of(x))}")
    text = "RuntimeError: only a tensor of one element has a value to read; one of its extents is {0}"
    while is_ragged(x) and not is_unknown(x):
        rows = retyped(x, ListT(item_type(x)))
        with_check(f, "eq", length(f, rows), Static(1), text)
        x = at(f, rows, Static(0))
    result: Value = x
    return result


def with_columns(f: Frame, x: Array) -> None:
    """Have a result without rows be an error of the instance where a further extent varies that is not 0, or not known: a list
    without items does not say it, and eager PyTorch gives a shape that does."""
    if not is_ragged(x) or is_unknown(x) or shape(x).count(None) < 2:
        return
    inside = length_inside(f, x) if shape(x).count(None) == 2 else None
    if inside is not None and is_length_of(f, inside, x):
        return
    advice = "return its rows as a list, `list(x)`"
    text = f"ValueError: a result has no rows, which does not say how many columns it has: {advice}"

    def without_rows() -> Value:
        return fail(f, text, []) if inside is None else with_check(f, "eq", inside, Static(0), text)

    choose(f, ast.Pass(), f.host("eq", [length(f, x), Static(0)], BOOL, "empty"), without_rows, lambda: Static(None))


def _as_result(f: Frame, value: Value) -> Value | None:
    with_columns(f, value)
    return None


RESULTS.append(_as_result)


def several(f: Frame, extent: Value) -> None:
    """Make an extent of 1 an error of the instance: `squeeze()` without a dimension would drop a dimension of that extent."""
    text = "ValueError: `squeeze()` where an extent that varies is {0}: give it the dimension"
    with_check(f, "ne", extent, Static(1), text)
