"""Which sets of names dictionaries of one place may have as keys, where a sample shows some of these sets.

A sample seldom has every set of the names that an instance may lack, each by itself: with `audio`, `image` and `text` there are
eight. Two names are independent of each other if the sample has dictionaries with each of them alone and with both. Names that
are not, such as `op` and `args`, or `word` and `children`, are of one group, and have the sets that were seen in it; of several
groups each set of one may stand beside each of another. Where the sample has more sets than there are such names, by two at
least, all names are independent: it shows most pairs, and those that it does not show are rare rather than impossible.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce
from itertools import product

MOST = 32
"""The largest number of sets that are completed: each is a case of its own wherever an entry is read."""


def missing(key_sets: Sequence[Collection[str]]) -> list[frozenset[str]]:
    """The sets of keys that are not among `key_sets` but likely, since keys that occur independently of each other may be
    combined in all ways. None if there would be more than `MOST` sets in all."""
    sets = list(dict.fromkeys(map(frozenset, key_sets)))
    always = frozenset.intersection(*sets)
    names = sorted(frozenset[str]().union(*sets) - always)
    groups = [frozenset({name}) for name in names] if len(sets) > len(names) + 1 else _groups(sets, names)
    choices = [list(dict.fromkeys(s & group for s in sets)) for group in groups]
    if reduce(int.__mul__, map(len, choices), 1) > MOST:
        return []
    every = [always.union(*parts) for parts in product(*choices)]
    return [s for s in every if s not in sets]


def _groups(sets: Sequence[frozenset[str]], names: Sequence[str]) -> list[frozenset[str]]:
    """The names in groups: two are in one group if they are not independent, or if both are in one with a third."""
    groups: list[frozenset[str]] = []
    for name in names:
        near = [g for g in groups if not all(_independent(sets, name, other) for other in g)]
        groups = [g for g in groups if g not in near] + [frozenset({name}).union(*near)]
    return groups


def _independent(sets: Sequence[frozenset[str]], one: str, other: str) -> bool:
    """Whether there are sets with each of two names alone and with both."""
    return {(True, False), (False, True), (True, True)} <= {(one in s, other in s) for s in sets}
