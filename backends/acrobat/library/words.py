"""Functions that the front end compiles by rules of its own (`tensors/library_words.py`); their bodies are for eager Python."""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import torch


def unrolled(items: Iterable[Any]) -> list[Any]:
    """The items as a list. The compiler unrolls loops over it: how many items there are is known at compile time."""
    return list(items)


def in_order(keys: Sequence[float], descending: bool) -> list[int]:
    """The indices of `keys`, numbers of one type, in sorted order; equal ones keep their order, and NaN is the highest."""
    return sorted(range(len(keys)), key=lambda i: (keys[i] != keys[i], keys[i]), reverse=descending)


def is_fixed(extent: int) -> bool:
    """Whether an extent is known at compile time, the same for all instances."""
    return True


def of_extent(row: Any, extent: int) -> Any:
    """A tensor of one dimension, which has this extent. Where that is known at compile time, so is the tensor's."""
    return row


def is_counts(value: Any) -> bool:
    """Whether a value is a tensor of ints of one dimension, rather than an int or a tensor of one."""
    return not isinstance(value, int) and value.dim() == 1


def less(a: Any, b: Any) -> Any:
    """The mask `a < b` of tensors of floats and numbers, also of one element, for which the instance would wait."""
    return torch.as_tensor(a < b)


def at_most(a: Any, b: Any) -> Any:
    """The mask `a <= b`, as `less`."""
    return torch.as_tensor(a <= b)


def same(a: Any, b: Any) -> Any:
    """The mask `a == b`, as `less`."""
    return torch.as_tensor(a == b)


def has_dimensions(value: Any) -> bool:
    """Whether a value is a tensor with a dimension, rather than a number or a tensor of rank 0."""
    return not isinstance(value, (int, float)) and value.dim() > 0


def letters(text: str) -> list[str]:
    """The letters of a string, each a string."""
    return list(text)


def joined(parts: Sequence[str]) -> str:
    return "".join(parts)


def fields_of(value: Any) -> tuple[Any, ...]:
    """The fields of a dataclass that its comparisons look at."""
    return tuple(getattr(value, x.name) for x in dataclasses.fields(value) if x.compare)


def equal_objects(one: Any, other: Any) -> bool:
    """Whether two objects of dataclasses are of one class and equal."""
    return bool(one == other)


class Packed:
    """What `pack_padded_sequence` gives: the steps of one sequence, of shape (steps, 1, features), or a list of several
    sequences, each of shape (steps, features)."""

    def __init__(self, steps: Any) -> None:
        self.steps = steps


def packed(steps: Any) -> Packed:
    return Packed(steps)


def is_packed(value: Any) -> bool:
    return isinstance(value, Packed)


def is_packed_list(value: Any) -> bool:
    """Whether a value is a packed sequence with a list of several sequences."""
    return isinstance(value, Packed) and isinstance(value.steps, (list, tuple))


def steps_of(sequence: Packed) -> Any:
    return sequence.steps


def highest(keys: Sequence[float], count: int) -> list[int]:
    """The first `count` indices of `in_order(keys, True)`, or all if there are fewer; the other keys are not sorted."""
    return in_order(keys, True)[: max(count, 0)]


def refuse(message: str, advice: str = "") -> NoReturn:
    """The call is outside the language: raises NotImplementedError, and when compiled is a problem at the user's call."""
    raise NotImplementedError(f"{message}; {advice}" if advice else message)


# ---- settings of PyTorch's functions, computed when the model is compiled


def only(setting: Any) -> Any:
    """A size, stride, padding or dilation over one dimension, which may be written `1` or `(1,)`."""
    return setting if isinstance(setting, (int, str)) else setting[0]


def pair(setting: Any) -> Any:
    """Such a setting over two dimensions, which may be written as one number for both."""
    return (setting, setting) if isinstance(setting, int) else (setting[0], setting[-1])


def sides(padding: Any, more: int, stride: int) -> tuple[int, int]:
    """How many elements are added before and behind the input, where a window takes `more` elements beside the first."""
    if not isinstance(padding, str):
        return padding, padding
    if padding == "valid":
        return 0, 0
    if padding != "same" or stride != 1:
        refuse("a convolution with padding in words other than `same`, with a stride of 1, and `valid`")
    return more // 2, more - more // 2


COMPUTED = (only, pair, sides)

# ---- strings


def part(text: str, start: int, stop: int) -> str:
    return text[start:stop]


def spans(pattern: str, how: str, text: str, start: int) -> list[int]:
    """Where a regular expression matches, as the operation `text.spans` says (`core/texts.py`)."""
    found = getattr(re.compile(pattern), how)(text, start)
    matches = [] if found is None else [found] if isinstance(found, re.Match) else found
    return [x for m in matches for x in (m.lastindex or 0, *(place for g in range(m.re.groups + 1) for place in m.span(g)))]


def replaced(pattern: str, template: str, text: str, count: int) -> str:
    return re.sub(pattern, template, text, count=count)


def whole(x: Any, steps: int) -> Any:
    """An object that the program has as a number, as a plain one (`evaluator/given_out.py`)."""
    return x


def fields_by_name(x: Any) -> dict[str, Any]:
    """What is in the fields of a named tuple, by their names."""
    result: dict[str, Any] = x._asdict()
    return result


def another(value: Any) -> Any:
    """Another list or object with what one has in it."""
    return copy.copy(value)
