"""Values of several of Python's types in one place of what the model makes, which no annotation tells: a string or an object, a
number or a dictionary. And objects that are put into others, to which nothing else refers after that."""

# mypy: ignore-errors
from __future__ import annotations

import math
from dataclasses import dataclass, field

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

GIVEN = [(torch.linspace(-1.0, k, 4), k) for k in range(4)]


class Node:
    """An ordinary class with a text of its own."""

    def __init__(self, name):
        self.name = name
        self.children = []

    def __str__(self):
        return f"{self.name}({', '.join(str(c) for c in self.children)})"


@dataclass
class Branch:
    """A dataclass whose annotation names both types."""

    depth: int
    parts: list[str | Branch] = field(default_factory=list)

    def text(self) -> str:
        return "(" + " ".join([p.text() if isinstance(p, Branch) else p for p in self.parts]) + ")"


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.linear = nn.Linear(4, 3)

    def choice(self, x):
        return int(self.linear(x).argmax())

    def dictionary(self, x, depth):
        if depth == 0:
            return self.choice(x)
        node = {"op": self.choice(x), "args": []}
        for k in range(depth):
            node["args"].append(self.dictionary(x * 0.5 - k, depth - 1))
        return node

    def node(self, x, depth):
        if depth == 0:
            return f"t{self.choice(x)}"
        node = Node(str(self.choice(x)))
        for k in range(depth):
            node.children.append(self.node(x * 0.5 - k, depth - 1))
        return node

    def size(self, tree):
        return 1 if isinstance(tree, int) else 1 + sum(self.size(c) for c in tree["args"])

    def numbered(self, x, depth):
        node = {"op": self.choice(x), "args": [], "number": 0}
        for k in range(depth):
            child = self.numbered(x * 0.5 - k, depth - 1)
            child["number"] = k
            node["args"].append(child)
        return node

    def by_key(self, x, depth):
        node = {"op": self.choice(x), "children": {}, "size": 0}
        for k in range(depth):
            child = self.by_key(x * 0.5 - k, depth - 1)
            child["size"] = k
            node["children"][k] = child
            node["size"] += 1
        return node


def int_or_dictionary(self, given):
    return self.dictionary(*given)


def size_of_a_tree(self, given):
    x, _ = given
    size = self.size(self.dictionary(*given))
    return size, x * size


def text_of_a_tree(self, given):
    tree = self.node(*given)
    return str(tree), f"<{tree}>", f"{tree!s:>20}"


def string_or_dataclass(self, given):
    x, depth = given
    root = Branch(0)
    queue = [root]
    while queue:
        node = queue.pop(0)
        for _ in range(depth):
            i = int((self.linear(x) + node.depth).argmax())
            if i > 0 and node.depth < 2:
                child = Branch(node.depth + 1)
                node.parts.append(child)
                queue.append(child)
            else:
                node.parts.append("abc"[i])
    return root.text()


def strings_and_tensors_on_a_stack(self, given):
    x, depth = given
    stack = []
    for k in range(depth + 2):
        if k % 2:
            stack.append("word")
        else:
            stack.append(self.linear(x) * k)
    total, letters = torch.zeros(3), 0
    for item in stack:
        if isinstance(item, str):
            letters += len(item)
        else:
            total = total + item
    last = stack.pop()
    if not isinstance(last, str):
        total = total * last
    return total, letters


def tuple_string_or_none(self, given):
    x, depth = given
    best = None
    for k in range(depth):
        if k == 1:
            best = (k, x)
        elif k == 2:
            best = "done"
    if best is None:
        return "nothing"
    return best


def int_or_string(self, given):
    _, depth = given
    value = 0 if depth > 1 else "none"
    return value, f"{value}", isinstance(value, str)


def children_that_were_changed_before(self, given):
    return self.numbered(*given)


def children_by_key(self, given):
    return self.by_key(*given)


AGREE = [
    int_or_dictionary,
    size_of_a_tree,
    text_of_a_tree,
    string_or_dataclass,
    strings_and_tensors_on_a_stack,
    tuple_string_or_none,
    int_or_string,
    children_that_were_changed_before,
    children_by_key,
]


@pytest.mark.parametrize("forward", AGREE)
def test_as_in_python(forward):
    agrees(with_forward(Model(), forward), GIVEN)


def test_in_generated_code(codegen, tmp_path):
    agrees_natively(with_forward(Model(), text_of_a_tree), GIVEN, codegen, tmp_path)


def changed_under_another_name(self, given):
    node = {"op": self.choice(given[0]), "args": []}
    for k in range(given[1]):
        child = {"op": k, "args": []}
        last = child
        node["args"].append(child)
        last["op"] = 7
    return node


def put_in_several_times(self, given):
    node = {"op": self.choice(given[0]), "args": []}
    child = {"op": 5, "args": []}
    for _ in range(given[1]):
        node["args"].append(child)
        node["args"][-1]["op"] += 1
    return node


def read_after_it_was_put_in(self, given):
    node = {"op": self.choice(given[0]), "args": [], "sum": 0}
    for k in range(given[1]):
        child = {"op": k, "args": [], "sum": 1}
        node["args"].append(child)
        node["args"][0]["sum"] += 1
        node["sum"] += child["sum"]
    return node


def test_a_dictionary_is_changed_under_another_name():
    agrees(with_forward(Model(), changed_under_another_name), GIVEN)


@pytest.mark.parametrize("forward", [put_in_several_times, read_after_it_was_put_in])
def test_what_two_names_refer_to_is_changed(forward):
    agrees(with_forward(Model(), forward), GIVEN)


def int_beside_float_and_string(self, given):
    values = [1, 2.5, "a"]
    values.append("b" if given[1] else 3)
    return values[given[1]]


def test_an_int_never_becomes_a_float_beside_a_string():
    agrees(with_forward(Model(), int_beside_float_and_string), GIVEN)


def number_that_may_be_none(self, given):
    prices = {"old": None if given[1] > 1 else 2.5, "new": given[1]}
    if prices.get("old") is not None:
        return given[0] * math.log1p(prices["old"])
    return given[0] * float(prices["new"])


def test_a_function_of_numbers_takes_what_may_be_none():
    agrees(with_forward(Model(), number_that_may_be_none), GIVEN)


class Box:
    """Holds a number."""

    def __init__(self, value):
        self.value = value


def string_at_first(self, given):
    _, depth = given
    state, letters = "start", 0
    for k in range(depth + 2):
        if isinstance(state, str):
            letters += len(state)
            state = Box(k)
        elif k % 3 == 0:
            state = "again"
        else:
            state.value = state.value + 1
    return letters, state if isinstance(state, str) else "object"


def tuple_or_string_after_none(self, given):
    x, depth = given
    best = None
    for k in range(depth):
        if best is None or isinstance(best, str):
            best = (k, x * k)
        else:
            best = f"t{best[0]}"
    return best


def whatever_is_given(self, given):
    x, depth = given

    def shown(value):
        if isinstance(value, str):
            return value.upper()
        if isinstance(value, (Box, int)):
            return "other"
        return " ".join([shown(v) for v in value])

    words = [f"w{k}" for k in range(depth)]
    return shown("a"), shown(words), shown((words[:1], Box(1), depth)), isinstance(x, str), isinstance({depth: 1}, dict)


@pytest.mark.parametrize("forward", [string_at_first, tuple_or_string_after_none, whatever_is_given])
def test_isinstance_of_what_is_of_one_type_so_far(forward):
    agrees(with_forward(Model(), forward), GIVEN)


def list_or_tuple(self, given):
    return isinstance(given[0].shape, torch.Size)


def either_class(self, given):
    return isinstance(range(given[1]), list)


UNKNOWN_CLASSES = {list_or_tuple: "`isinstance` is not in the language", either_class: "`isinstance` does not tell apart"}


@pytest.mark.parametrize(("forward", "message"), UNKNOWN_CLASSES.items())
def test_isinstance_is_refused_where_the_class_is_not_known(forward, message):
    with pytest.raises(CompileError, match=message):
        build(with_forward(Model(), forward), sample=GIVEN)
