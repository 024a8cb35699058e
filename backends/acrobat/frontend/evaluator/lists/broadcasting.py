"""Lists of the parts of tensors that are broadcast to each other: one part stands for all, as PyTorch's extent of 1 does.

Where two lists are known to have one length nothing is added to the program. Else it compares the two lengths, and goes another
way only where these differ.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial

from backends.acrobat.core.types import BOOL, INT, ListT
from backends.acrobat.frontend.evaluator.choices.choice import choose, fail
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import Array, at, has_items, item_type, length, note_lengths, origin_of
from backends.acrobat.frontend.evaluator.lists.mapping import mapped
from backends.acrobat.frontend.kinds import is_unknown, retyped, variable_of
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value
from backends.acrobat.ir import nodes as n

UNEQUAL = "RuntimeError: two extents must be equal here, and are {0} and {1}"


def stretched(f: Frame, xs: Array, size: Value, other: Array | None = None) -> Dyn:
    """The list `xs`, whose length varies, with `size` items: where it has one, that stands for all of them, as PyTorch
    broadcasts an extent of 1. Another length is an error of the instance. `other` is a list known to have `size` items."""
    plain = retyped(xs, ListT(item_type(xs)))
    have = length(f, plain)

    def unequal() -> Value:
        one = f.host("eq", [have, Static(1)], BOOL, "one")
        return choose(f, ast.Pass(), one, lambda: _repeated(f, plain, size), lambda: fail(f, UNEQUAL, [have, size]))

    result = choose(f, ast.Pass(), f.host("eq", [have, size], BOOL, "equal"), lambda: plain, unequal)
    if isinstance(result, Dyn):
        note_lengths(f, result, other, f.lengths_inside.get(variable_of(plain)))
    return result  # type: ignore[return-value]


def _repeated(f: Frame, xs: Dyn, size: Value) -> Dyn:
    """The list of `size` items that are all the first one of `xs`."""
    first = at(f, xs, Static(0))
    if isinstance(size, Static):
        return f.bind(n.ListOf((f.atom(first),) * size.value, xs.type, span=f.span), "alike")
    rounds = f.host("range", [Static(0), size, Static(1)], ListT(INT))
    return mapped(f, [rounds], lambda _: first, "i")


def of_one_length(f: Frame, lists: Sequence[Array], sizes: Sequence[int | None], which: Sequence[int]) -> list[Array]:
    """The lists, of which those with the numbers `which` are broadcast to the others. `sizes` has the lengths that are fixed.
    What is not broadcast, and differs, is left to who maps over the lists."""
    lists = list(lists)
    if any(map(is_unknown, lists)):
        return lists
    fixed = next((i for i, size in enumerate(sizes) if size is not None), None)
    if fixed is not None:
        return [
            stretched(f, xs, Static(sizes[fixed]), lists[fixed]) if sizes[i] is None and i in which else xs
            for i, xs in enumerate(lists)
        ]
    groups = _groups(f, lists)
    while len(groups) > 1:
        first, second, *others = groups
        lists = _broadcast(f, lists, first, second, [all(i in which for i in group) for group in (first, second)])
        groups = [first + second, *others]
        if origin_of(f, lists[first[0]]) != origin_of(f, lists[second[0]]):
            break  # neither is broadcast
    return lists


def _groups(f: Frame, lists: Sequence[Array]) -> list[list[int]]:
    """The numbers of the lists in groups, of which each has lists of one length."""
    groups: dict[str, list[int]] = {}
    for i, xs in enumerate(lists):
        groups.setdefault(origin_of(f, xs), []).append(i)
    return list(groups.values())


def _broadcast(f: Frame, lists: list[Array], first: list[int], second: list[int], may: Sequence[bool]) -> list[Array]:
    """The lists, of which those of two groups have one length afterwards. `may` says of each group whether it is broadcast to
    the other one."""
    one, other = first[0], second[0]
    short = [origin_of(f, lists[i]) in f.at_most_one for i in (one, other)]
    for group, goal, allowed, is_short in ((first, other, may[0], short[0]), (second, one, may[1], short[1])):
        if allowed and (is_short or not all(may)):
            size = length(f, lists[goal])
            return [stretched(f, xs, size, lists[goal]) if i in group else xs for i, xs in enumerate(lists)]
    if not all(may):
        return lists
    chosen = [*first, *second]
    sizes = [length(f, lists[i]) for i in (one, other)]
    same = TupleV(tuple(lists[i] for i in chosen))

    def with_repeated(group: list[int], size: Value) -> Value:
        return TupleV(tuple(_repeated(f, lists[i], size) if i in group else lists[i] for i in chosen))

    def when_one(size: Value, then: Callable[[], Value], orelse: Callable[[], Value]) -> Value:
        return choose(f, ast.Pass(), f.host("eq", [size, Static(1)], BOOL, "one"), then, orelse)

    def unequal() -> Value:
        neither = partial(fail, f, UNEQUAL, sizes)
        return when_one(
            sizes[0],
            lambda: with_repeated(first, sizes[1]),
            lambda: when_one(sizes[1], lambda: with_repeated(second, sizes[0]), neither),
        )

    together = choose(f, ast.Pass(), f.host("eq", sizes, BOOL, "equal"), lambda: same, unequal)
    made = f.components(together) or [lists[i] for i in chosen]
    filled = all(has_items(f, lists[i]) for i in (one, other))
    several = any(origin_of(f, lists[i]) in f.of_several_extents for i in (one, other))
    result = list(lists)
    for i, xs in zip(chosen, made, strict=True):
        result[i] = xs
        if isinstance(xs, Dyn):
            note_lengths(f, xs, made[0] if xs is not made[0] else None, f.lengths_inside.get(variable_of(lists[i])))
            f.nonempty |= {variable_of(xs)} if filled else set()
            f.of_several_extents |= {origin_of(f, xs)} if several else set()
    return result
