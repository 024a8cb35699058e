"""Lists in attributes and items that change while a loop walks over them, which Python's loop would notice."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

GIVEN = [[1, 2], [0], [3, 3, 1], [2, 2, 3, 2]]


class Items:
    def __init__(self, xs=()):
        self.items = list(xs)
        self.total = 0
        self.found = {}

    def push(self, x):
        self.items.append(x)

    def add(self, x):
        self.total += x

    def bump(self):
        self.items[-1] += 10

    def turn(self):
        self.items.append(self.items.pop(0))


class Node:
    def __init__(self, value):
        self.value = value
        self.children = []


def other_attributes(self, xs):
    """What the loop walks over stays as it is."""
    s = Items(xs)
    for x in s.items:
        s.add(x)
        s.total += 1
    return s.total


def left_at_once(self, xs):
    s = Items(xs)
    for x in s.items:
        if x == 2:
            s.items.remove(x)
            break
    return s.items


def other_items(self, xs):
    given = {"in": list(xs), "out": [0]}
    for x in given["in"]:
        if x > 2:
            continue
        given["out"].append(x)
    return given["out"]


def changed_entries(self, xs):
    found = {x: [x] for x in xs}
    for key, values in found.items():
        found[key] = [*values, 1]
    return sorted(found.items())


def new_list(self, xs):
    s = Items(xs)
    for x in s.items:
        s.items = [*s.items, x]
    return s.items


def in_attribute(self, xs):
    s = Items(xs)
    for x in s.items:
        if x == 3 and len(s.items) < 8:
            s.items.append(1)
    return len(s.items)


def by_a_method(self, xs):
    s = Items(xs)
    for x in s.items:
        if x == 3 and len(s.items) < 8:
            s.push(1)
    return len(s.items)


def of_objects(self, xs):
    top = Node(0)
    for x in xs:
        top.children.append(Node(x))
    for child in top.children:
        if child.value == 3 and len(top.children) < 8:
            top.children.append(Node(1))
    return len(top.children)


def in_an_item(self, xs):
    rows = [list(xs), [1]]
    for k in range(2):
        for x in rows[k]:
            if x == 3 and len(rows[0]) < 8:
                rows[0].append(1)
    return len(rows[0])


def of_a_dictionary(self, xs):
    found = {x: x for x in xs}
    for key, value in found.items():
        if value == 3:
            found[key + 10] = 1
    return len(found)


def last_item(self, xs):
    s = Items(xs)
    for x in s.items:
        s.total += x
        s.items[-1] += 1
    return s.total


def last_item_by_a_method(self, xs):
    s = Items(xs)
    for x in s.items:
        s.add(x)
        s.bump()
    return s.total


def turned(self, xs):
    s = Items(xs)
    for x in s.items:
        s.add(x)
        s.turn()
    return s.total


def in_another_order(self, xs):
    rows, total = [list(xs)], 0
    for x in rows[0]:
        total = total * 2 + x
        rows[0].reverse()
    return total


def other_values(self, xs):
    s, total = Items(), 0
    s.found = {x: x for x in xs}
    for value in s.found.values():
        total = total * 2 + value
        for x in xs:
            s.found[x] += 1
    return total


KEPT = [other_attributes, left_at_once, other_items, changed_entries, new_list]


@pytest.mark.parametrize("forward", KEPT)
def test_as_in_python(forward):
    agrees(with_forward(nn.Module(), forward), GIVEN)


@pytest.mark.parametrize("forward", [in_attribute, by_a_method, of_objects, in_an_item])
def test_a_change_is_an_error_of_the_instance(forward):
    run = Interpreter(build(with_forward(nn.Module(), forward), sample=GIVEN)).run
    assert run([1, 2, 0]) == forward(None, [1, 2, 0])
    with pytest.raises(InstanceError, match=r"a loop walks over `.*`, which changes in the loop: walk over a copy"):
        run([0, 3, 1])


REARRANGED = [last_item, last_item_by_a_method, turned, in_another_order, other_values, of_a_dictionary]


@pytest.mark.parametrize("forward", REARRANGED)
def test_other_elements_are_refused(forward):
    with pytest.raises(CompileError, match=r"gets other elements in a loop that walks over it"):
        build(with_forward(nn.Module(), forward), sample=GIVEN)


def test_in_generated_code(tmp_path):
    def forward(self, xs):
        s = Items()
        for x in xs:
            s.push(torch.ones(2) * x)
        total = torch.zeros(2)
        for x in s.items:
            total = total + x
            s.add(1)
        return total, s.total

    agrees_natively(with_forward(nn.Module(), forward), GIVEN, "vm", tmp_path)
