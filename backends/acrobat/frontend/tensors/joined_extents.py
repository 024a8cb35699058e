"""Views in which the extents that vary stay as they are or become one, while fixed ones beside them are split or joined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from backends.acrobat.core.types import ListT
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import Array, item_type, of_size, origin_of
from backends.acrobat.frontend.evaluator.lists.mapping import flattened, mapped
from backends.acrobat.frontend.kinds import is_ragged, is_unknown, known, retyped
from backends.acrobat.frontend.tensors.lifting import (
    as_rows,
    axis,
    check_extent,
    is_numbers,
    numbers,
    of_rows,
    op,
    over_rows,
    shape,
)
from backends.acrobat.frontend.values import Dyn, Value, guess

Extents = tuple[int | None, ...]
"""The extents of a tensor; those that vary are None."""


def kept_or_joined(f: Frame, x: Array, extents: Sequence[Any]) -> Value | None:
    """`x.view(...)` where each varying extent of `x` stays one by itself, or where all of them become one together with what
    lies between them: `x.view(1, 4, 8, h, w)` and `x.view(4, 8, h * w)` of (1, 32, h, w). An extent that is known at run time
    only must be that of the dimension, or the product of those that are joined, or it is an error of the instance. None for
    other shapes."""
    have = shape(x)
    wanted = [known(e)[1] if known(e)[0] else None for e in extents]
    if 0 in have or wanted.count(-1) > 1 or not all(e is None or isinstance(e, int) and (e > 0 or e == -1) for e in wanted):
        return None
    places = [i for i, e in enumerate(wanted) if e in (None, -1)]
    choices = [tuple(None if e == -1 else e for e in wanted)]
    if len(places) > 1 and -1 in wanted:  # -1 may be the extent of a fixed dimension, too
        total, others = _size(have), -_size(tuple(wanted))
        choices.append(tuple(total // others if e == -1 else e for e in wanted))
    for new in choices:
        if have.count(None) > 1 and _fixed_between(new) == _fixed_between(have):
            varying = [d for d, e in enumerate(have) if e is None]
            for d, i in zip(varying, [i for i, e in enumerate(new) if e is None], strict=True):
                if wanted[i] is None:
                    check_extent(f, x, d, extents[i])
            return _with_fixed(f, x, new)
        if new.count(None) == 1 and (span := _joined_dimensions(have, new)) is not None:
            rows = parts_between(f, x, *span)
            if is_unknown(rows):
                return rows
            i = new.index(None)
            if wanted[i] is None:
                rows = of_size(f, rows, extents[i])
            return _with_fixed(f, of_rows(rows, span[0]), new)
    return None


def parts_between(f: Frame, x: Array, first: int, last: int) -> Dyn:
    """The parts of a tensor along its dimensions from `first` to `last`, one after the other in one list."""
    rows = as_rows(f, x, first)
    if first == last or is_unknown(rows):
        return rows
    parts = flattened(f, mapped(f, [rows], lambda row: parts_between(f, row, first, last - 1)))
    if not is_unknown(parts) and sum(e != 1 for e in shape(x)[first : last + 1]) > 1:
        f.of_several_extents.add(origin_of(f, parts))
    return parts


def _size(extents: Extents) -> int:
    """How many elements the fixed extents give."""
    return math.prod(e for e in extents if e is not None)


def _fixed_between(extents: Extents) -> tuple[int, ...]:
    """How many elements the fixed extents give before, between and after those that vary."""
    products = [1]
    for e in extents:
        if e is None:
            products.append(1)
        else:
            products[-1] *= e
    return tuple(products)


def _joined_dimensions(have: Extents, new: Extents) -> tuple[int, int] | None:
    """The first and the last of the dimensions, several with all that vary, which become the one that varies in `new`. None if
    those before and after them do not give as many elements as in `new`."""
    before, after = _fixed_between(new)
    first, last = have.index(None), max(i for i, e in enumerate(have) if e is None)
    first = next((s for s in range(first, -1, -1) if _size(have[:s]) == before), -1)
    last = next((t for t in range(last, len(have)) if _size(have[t + 1 :]) == after), -1)
    return (first, last) if -1 < first < last else None


def _with_fixed(f: Frame, x: Array, new: Extents) -> Value:
    """A tensor with other fixed extents between those that vary, which give as many elements there."""
    if shape(x) == new:
        return x
    if not is_ragged(x):
        return op(f, "reshape", [x], {"shape": new})
    k = [i for i, e in enumerate(new) if e is None][shape(x)[: axis(x)].count(None)]
    if is_numbers(x):
        return numbers(x, k, len(new) - 1 - k)
    inside = new[:k] + new[k + 1 :]
    if shape(guess(item_type(x))) == inside:
        return retyped(x, ListT(item_type(x), k))
    return over_rows(f, x, k, lambda row: _with_fixed(f, row, inside))
