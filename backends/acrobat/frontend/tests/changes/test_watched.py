"""Lists in attributes and items that change while a loop walks over them, which Python's loop would notice."""

# mypy: ignore-errors
from __future__ import annotations

from collections import Counter, defaultdict

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


def new_key(self, xs):
    found = {x: x for x in xs}
    for key in found:
        if key == 3:
            found[key + 10] = 1
    return len(found)


def new_key_by_lookup(self, xs):
    found = defaultdict(int)
    for x in xs:
        found[x] += 1
    for key in found:
        found[key] += 1
        if key == 3:
            found[key] += found[key + 10]
    return len(found)


def new_key_by_number(self, xs):
    found = {x: x for x in xs}
    for i, _ in enumerate(found):
        found[i] = 5
    return len(found)


def taken_out_and_put_in(self, xs):
    found, total = {x: x for x in xs}, 0
    for _, key in enumerate(found.keys()):
        total = total * 10 + key
        if key == 1:
            found.pop(xs[-1])
            found[9] = 1
    return total


def deleted_and_put_in(self, xs):
    s, total = Items(), 0
    s.found = {x: x for x in xs}
    for key in s.found:
        total = total * 10 + key
        if key == 1:
            del s.found[xs[-1]]
            s.found[9] = 1
    return total


def of_a_name_that_is_bound_anew(self, xs):
    found, total = {x: x for x in xs}, 0
    for value in found.values():
        total = total * 10 + value
        found[2] = 7
        if value > 100:
            found = {}
    return total


def of_a_key_that_is_bound_anew(self, xs):
    found, total = {x: x for x in xs}, 0
    for key, value in found.items():
        total = total * 10 + value
        key = 2
        found[key] = 7
    return total


def by_update(self, xs):
    found, total = {x: x for x in xs}, 0
    for value in found.values():
        total = total * 10 + value
        found.update({2: 7})
    return total


def by_a_function(self, xs):
    found, total = {x: x for x in xs}, 0
    for value in found.values():
        total = total * 10 + value
        put(found, 7)
    return total


def by_a_nested_function(self, xs):
    def put_one():
        found[2] = 7

    found, total = {x: x for x in xs}, 0
    for value in found.values():
        total = total * 10 + value
        put_one()
    return total


def put(found, value):
    found[2] = value


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


def values_of_keys(self, xs):
    """The keys stay, and the values are those of now."""
    found, total = {x: float(x) for x in xs}, 0.0
    for key in found:
        for other in found:
            if other != key and other in found:
                found[other] = found[other] + found[key] * 0.5
        found[key] += len(found)
        total = total * 2 + found[key] + found.get(2, 0.5)
    return found, total


def values_of_other_keys(self, xs):
    found = {x: x for x in xs}
    for i, key in enumerate(found):
        found[xs[0]] += i + key
        found.update({xs[-1]: key})
    return found


def new_key_at_the_end(self, xs):
    found = {x: x for x in xs}
    for key in found:
        if key == 2:
            found[100] = key
            break
    return found


def lists_of_keys(self, xs):
    found = {x: [x] for x in xs}
    for key in found:
        found[key] = [*found[key], key]
    return found


def keys_of_a_counter(self, xs):
    found = Counter(xs)
    for key in found:
        found[key] += found[7]
    return dict(found)


def of_an_argument(self, xs):
    def halve(found):
        for key in found:
            found[key] /= 2

    found = {x: float(x) for x in xs}
    halve(found)
    return found


KEPT = [other_attributes, left_at_once, other_items, changed_entries, new_list, values_of_keys, values_of_other_keys]
KEPT += [new_key_at_the_end, lists_of_keys, keys_of_a_counter, of_an_argument]


@pytest.mark.parametrize("forward", KEPT)
def test_as_in_python(forward):
    agrees(with_forward(nn.Module(), forward), GIVEN)


@pytest.mark.parametrize(
    "forward", [in_attribute, by_a_method, of_objects, in_an_item, new_key, new_key_by_lookup, new_key_by_number]
)
def test_a_change_is_an_error_of_the_instance(forward):
    run = Interpreter(build(with_forward(nn.Module(), forward), sample=GIVEN)).run
    assert run([1, 2, 0]) == forward(None, [1, 2, 0])
    with pytest.raises(InstanceError, match=r"a loop walks over `.*`, which changes in the loop: walk over a copy"):
        run([0, 3, 1])


REARRANGED = [last_item, last_item_by_a_method, turned, in_another_order, other_values, of_a_dictionary]
REARRANGED += [taken_out_and_put_in, deleted_and_put_in, of_a_name_that_is_bound_anew, of_a_key_that_is_bound_anew, by_update]
REARRANGED += [by_a_function, by_a_nested_function]


@pytest.mark.parametrize("forward", REARRANGED)
def test_other_elements_are_refused(forward):
    with pytest.raises(CompileError, match=r"gets other elements in a loop that walks over it"):
        build(with_forward(nn.Module(), forward), sample=GIVEN)


def keys_that_go(self, xs):
    found, total = {x: x for x in xs}, 0
    for key in found:
        total = total * 10 + key
        found[key] = 0
        if key == 1:
            found.pop(xs[-1])
            found[9] = 1
    return total


def keys_that_a_function_changes(self, xs):
    def turn():
        found[9] = found.pop(xs[-1])

    found, total = {x: x for x in xs}, 0
    for key in found:
        total = total * 10 + key
        found[key] = 0
        if key == 1:
            turn()
    return total


def items_that_a_function_adds(self, xs):
    def more():
        items.append(0)

    items, rounds = list(xs), 0
    for i, x in enumerate(items):
        items[i] = x * 2
        rounds += 1
        if len(items) < 4:
            more()
    return rounds


@pytest.mark.parametrize("forward", [keys_that_go, keys_that_a_function_changes, items_that_a_function_adds])
def test_what_a_name_has_is_not_rearranged(forward):
    with pytest.raises(CompileError, match=r"which a loop around (it|the call) walks over"):
        build(with_forward(nn.Module(), forward), sample=GIVEN)


@pytest.mark.parametrize("codegen", ["aot", "vm"])
def test_values_of_keys_in_generated_code(codegen, tmp_path):
    def forward(self, turns):
        states = {}
        for speaker, x in turns:
            if speaker not in states:
                states[speaker] = torch.zeros(2)
            before = states[speaker]
            for other in states:
                if other != speaker:
                    states[other] = states[other] * 0.5 + before
            states[speaker] = before + x
        return states

    turns = [[("a", 1.0), ("b", 2.0), ("a", 3.0), ("c", 1.0), ("b", 2.0)], [("c", 1.0)], []]
    agrees_natively(with_forward(nn.Module(), forward), turns, codegen, tmp_path)


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
