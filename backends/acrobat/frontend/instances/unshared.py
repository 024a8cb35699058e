"""Whether objects of an instance, and the lists in them, have one name each, so that `forward` may change a copy of its own in
their place."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

import torch

from backends.acrobat.frontend.instances.observed import attributes

CHANGEABLE = (list, dict, set, deque)
"""The containers whose contents may be changed in place."""
PLAIN = (str, bytes, int, float, type(None), type, Enum, torch.Tensor)
"""What does not count: it may stand in several places, and has nothing in it."""


def have_one_name(sample: Sequence[Any], classes: Collection[type]) -> bool:
    """Whether no instance of a sample has an object of these classes, or a container or an object in one, in two places."""
    return all(_has_one_name(instance, tuple(classes)) for instance in sample)


def _has_one_name(instance: Any, classes: tuple[type, ...]) -> bool:
    times, inside = Counter[int](), set[int]()
    pending = [(instance, False)]
    while pending:
        part, is_inside = pending.pop()
        is_inside = is_inside or isinstance(part, classes)
        times[id(part)] += 1
        if is_inside:
            inside.add(id(part))
        if times[id(part)] == 1 or is_inside and times[id(part)] == 2:  # a second time to note what is inside of it
            pending += [(x, is_inside) for x in _parts(part)]
    return all(times[x] == 1 for x in inside)


def _parts(whole: Any) -> Iterator[Any]:
    """What a container or an object refers to that may be changed, or may have such in it."""
    if isinstance(whole, Mapping):
        parts = [*whole.keys(), *whole.values()]
    elif isinstance(whole, (tuple, *CHANGEABLE)):
        parts = [*whole]
    else:
        parts = [*(attributes(whole) or {}).values()]
    for x in parts:
        if not isinstance(x, PLAIN) and x != ():
            yield x
