"""Loops that are compiled on trial, to see whether they have to be unrolled: no problem that the trial meets is lost."""

from __future__ import annotations

import ast
from collections import Counter

import pytest
import torch
from torch import nn

from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.tests.zoo.check import agrees, with_forward


class Node:
    def __init__(self, p):
        self.p = p
        self.visits = 0
        self.children = {}


def visit(root):
    node = root
    node.visits += 1


def grow(root):
    node = root
    for i in range(node.p):
        node.children[i] = Node(node.p - 1)


def visits_in_rounds(self, n: int):
    root = Node(n)
    for _ in range(3):
        visit(root)
    return root.visits, torch.ones(2)


def grows_in_rounds(self, n: int):
    root = Node(n)
    for _ in range(3):
        grow(root)
    return len(root.children), torch.ones(2)


@pytest.mark.parametrize("forward", [visits_in_rounds, grows_in_rounds])
def test_changes_under_another_name_are_seen_in_a_function_that_a_trial_has_compiled(forward) -> None:
    """The change had been lost: the trial had dropped the problem, and kept the function."""
    agrees(with_forward(nn.Module(), forward), [1, 2, 3])


def in_three_loops(self, xs):
    found, last = [], []
    for x in xs:
        for y in xs:
            row = []
            for z in range(y):
                row.append(x + z)
            found.append(row)
        last = found[-1:]
    return found, last


def test_a_loop_that_is_entered_as_before_begins_with_the_types_that_were_found_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each loop would be compiled on trial twice for each time that the loop around it is compiled, and then for good."""
    compiled, statement = Counter[str](), Frame.statement

    def counted(self: Frame, s: ast.stmt) -> None:
        compiled[ast.unparse(s)] += 1
        statement(self, s)

    monkeypatch.setattr(Frame, "statement", counted)
    agrees(with_forward(nn.Module(), in_three_loops), [[1, 2, 3], [2], [1, 1]])
    assert compiled["row.append(x + z)"] < 18 * compiled["found = []"]


def after_either(self, x):
    step = 1
    if x > 2:
        step = 0.5  # type: ignore[assignment]
        if x > 5:
            return "many"
    elif x > 1:
        return "two"
    total = 0
    for _ in range(x):
        total += step
    return f"{total}"


def typed_by_what_is_given(self, x: int):
    return summed([1.5] * x), summed([2] * x)


def summed(values):
    total = 0
    for _ in range(len(values)):
        total += values[0]
    return total


@pytest.mark.parametrize("forward", [after_either, typed_by_what_is_given], ids=lambda f: f.__name__)
def test_a_loop_that_is_compiled_twice_has_the_types_of_each_time(forward) -> None:
    agrees(with_forward(nn.Module(), forward), [1, 2, 3, 4, 6])


def moved_on(self, xs):
    shared, ahead, name = [*xs], [*xs], [*xs]
    for x in xs:
        name.append(x)
        name = ahead
        ahead = shared
    return name, shared


def test_what_the_third_round_changes_under_another_name_is_changed_there_too() -> None:
    """In the first round `name` and `ahead` refer to lists of their own, in the second one only `name` does."""
    agrees(with_forward(nn.Module(), moved_on), [[1.0, 2.0, 3.0], [1.0], [1.0, 2.0, 3.0, 4.0]])
