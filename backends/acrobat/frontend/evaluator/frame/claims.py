"""What may be claimed of a name: that nothing else refers to its value, or to what is inside of it (`ownership`). `Frame.owned`
has the claims that hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Claim:
    """An entry of `Frame.owned` about the inside of the value of `name`: what is claimed of it. An entry that is a name alone
    claims that nothing else refers to the value itself."""

    what: str
    name: str


Claims: TypeAlias = set[str | Claim]


def deep(name: str) -> Claim:
    """The entry of `Frame.owned` which says that nothing else refers to any part of the value of `name`."""
    return Claim("deep", name)


def spine(name: str) -> Claim:
    """The entry of `Frame.owned` which claims that no other name refers to the lists, sets and dictionaries inside the value of
    `name` or inside its attributes. Objects inside may be shared: `chart[k].append(item)` and `chart.items.append(item)` may
    follow, `chart[k][0].x = 1` may not."""
    return Claim("spine", name)


def each_claim(name: str) -> tuple[str | Claim, ...]:
    """All that `Frame.owned` can say of a name, in a fixed order."""
    return name, deep(name), spine(name)


def claims(name: str) -> Claims:
    """All that `Frame.owned` can say of a name."""
    return set(each_claim(name))


def walked(name: str) -> Claim:
    """The entry of `Frame.owned` which says that a loop walks over a list inside of the value of `name` (`referenced`)."""
    return Claim("walked", name)


def tracked(name: str) -> Claims:
    """All that `Frame.owned` can say of a value that functions take and give beside their parameters."""
    return {*claims(name), walked(name)}
