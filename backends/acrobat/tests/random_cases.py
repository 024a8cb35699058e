"""Random programs as cases: a program with its instances and options, all of it a function of one list of choices.

A seed makes the choices, so a case is told by its seed; a list of choices can be cut and lowered, so a case can be shrunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from random import Random
from typing import Any

from backends.acrobat.ir.tests.programs import Choose, Sample, sample
from backends.acrobat.options import Options
from backends.acrobat.passes.tests.random_programs import all_used

AXES: dict[str, tuple[Any, ...]] = {f.name: (True, False) for f in fields(Options) if isinstance(f.default, bool)}
"""What options are drawn from: the values of each, the default first."""
INSTANCES = 6


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    choices: tuple[int, ...]
    sample: Sample
    options: Options
    written: int
    """0: the program is compiled as it is; else it is written as Python first, in a way that this number decides."""


class Choices:
    """`choose(n)`: the next of a list of choices, as near as `n` allows; after its end what `more(n)` gives."""

    def __init__(self, given: Sequence[int], more: Choose) -> None:
        self.given, self.more = given, more
        self.made: list[int] = []

    def __call__(self, options: int) -> int:
        i = len(self.made)
        choice = min(self.given[i], options - 1) if i < len(self.given) else self.more(options)
        self.made.append(choice)
        return choice


def case_of(seed: int, fixed: Mapping[str, Any] | None = None) -> Case:
    """The case of a seed. `fixed` are options that are not drawn."""
    return _case(f"seed {seed}", Choices((), Random(seed).randrange), fixed or {})


def case_from(name: str, choices: Sequence[int], fixed: Mapping[str, Any] | None = None) -> Case:
    """The case of a list of choices; all that it does not say is the plainest."""
    return _case(name, Choices(choices, lambda options: 0), fixed or {})


def _case(name: str, choose: Choices, fixed: Mapping[str, Any]) -> Case:
    options = dict(fixed)
    for _ in range(choose(3)):
        axis = list(AXES)[choose(len(AXES))]
        options.setdefault(axis, AXES[axis][1 + choose(len(AXES[axis]) - 1)])
    written = choose(2**16) if choose(3) == 2 else 0
    waits, live, again = choose(3) > 0, choose(4) > 0, choose(2) > 0
    made = sample(choose, waits, 1 + choose(INSTANCES))
    if live:
        made = replace(made, program=all_used(made.program))
    if again:
        made = replace(made, instances=(*made.instances, made.instances[0]))
    return Case(name, tuple(choose.made), made, Options(**options), written)


def shrink(case: Case, fails: Callable[[Case], bool], attempts: int, fixed: Mapping[str, Any] | None = None) -> Case:
    """The plainest case met that still fails, after at most so many attempts: choices are left out in runs, then lowered."""
    best, seen = case, {case.choices}

    def better(choices: Sequence[int]) -> bool:
        nonlocal best, attempts
        if attempts <= 0:
            return False
        other = case_from(case.name, choices, fixed)
        if other.choices in seen or _size(other.choices) >= _size(best.choices):
            return False
        seen.add(other.choices)
        attempts -= 1
        if fails(other):
            best = other
            return True
        return False

    while attempts > 0:
        before = best.choices
        for width in (64, 32, 16, 8, 4, 2, 1):
            at = 0
            while at < len(best.choices) and attempts > 0:
                if not better(best.choices[:at] + best.choices[at + width :]):
                    at += width
        for at, lower in _lowered(best.choices):
            if at < len(best.choices) and lower < best.choices[at]:
                better((*best.choices[:at], lower, *best.choices[at + 1 :]))
        if best.choices == before:
            break
    return best


def _size(choices: Sequence[int]) -> tuple[int, int]:
    return len(choices), sum(choices)


def _lowered(choices: Sequence[int]) -> Iterator[tuple[int, int]]:
    for at, choice in enumerate(choices):
        for lower in dict.fromkeys((0, choice // 2, choice - 1)):
            if 0 <= lower < choice:
                yield at, lower
