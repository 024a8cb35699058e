"""Constant lists of the source, such as the right sides of a grammar's rules, among values that are known at run time only."""

from __future__ import annotations

from typing import Any

import pytest

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_idioms import module
from backends.acrobat.ir.interpreter import Interpreter

RULES = [("s", "pair", ["s", "n"]), ("s", "end", []), ("n", "name", []), ("n", "copy", ["n"])]
SIDES = ["s", "n"]
BOTH = [1, 2]


def options(x):  # type: ignore[no-untyped-def]
    return [i for i, (left, name, right) in enumerate(RULES) if left == SIDES[x] and (x < 1 or "n" not in right)]


def right_sides(x):  # type: ignore[no-untyped-def]
    return [right for left, name, right in RULES if left == SIDES[x]]


def lengths(x):  # type: ignore[no-untyped-def]
    return sum(len(right) for left, name, right in RULES if left == SIDES[x])


def one_rule(x):  # type: ignore[no-untyped-def]
    _, name, right = RULES[x]
    return name.upper() if right else name, right


def appended(x):  # type: ignore[no-untyped-def]
    out = []
    for i in range(x + 1):
        out.append((i, BOTH))
    out.insert(0, (7, BOTH))
    return out


def beside(x):  # type: ignore[no-untyped-def]
    return [(1, BOTH), (2, [x])], [BOTH for i in range(x)]


@pytest.mark.parametrize("function", [options, right_sides, lengths, one_rule, appended, beside])
def test_constant_lists_become_lists_of_the_program(function: Any) -> None:
    interpreter = Interpreter(build(module(function), sample=[0, 1]))
    assert [interpreter.run(x) for x in (0, 1)] == [function(x) for x in (0, 1)]


def changed(x):  # type: ignore[no-untyped-def]
    out = []
    for _ in range(x):
        out.append(BOTH)
    out[0].append(x)
    return out


def changed_in_tuple(x):  # type: ignore[no-untyped-def]
    out = [(1, BOTH), (2, [x])]
    out[0][1].append(x)
    return out


def changed_in_loop(x):  # type: ignore[no-untyped-def]
    rules = [(name, right) for left, name, right in RULES if left == SIDES[x]]
    for _, right in rules:
        right.append("s")
    return rules


@pytest.mark.parametrize("function", [changed, changed_in_tuple, changed_in_loop])
def test_a_constant_list_is_not_changed(function: Any) -> None:
    with pytest.raises(CompileError, match="may be seen"):
        build(module(function), sample=[0, 1])
