"""A function, method or module that is chosen at run time, or None in its place: `getattr(self, name, None)`, `cell = None`.
Against eager PyTorch, in the interpreter and by generated host code."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


class Calculator(nn.Module):
    """A visitor of nested tuples: the first item is a string, the others are ints, strings, tuples or a list of tuples."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(5, 4)
        self.unbound = nn.Parameter(torch.randn(4))
        self.outer = nn.Linear(4, 4)
        self.inner = nn.Linear(4, 4)

    def visit(self, tree):
        op = tree[0]
        method = getattr(self, "visit_" + op, None)
        if method is None:
            return self.unbound * len(tree)
        return torch.tanh(method(tree))

    def visit_lit(self, tree):
        return self.embed(torch.tensor(tree[1]))

    def visit_add(self, tree):
        _, left, right = tree
        return self.visit(left) + 2 * self.visit(right)

    def visit_sum(self, tree):
        total = torch.zeros(4)
        for item in tree[1]:
            total = self.outer(total + self.visit(item))
        return total

    def forward(self, tree):
        return self.visit(tree)


TREES = [
    ("lit", 3),
    ("add", ("lit", 1), ("var", "a")),
    ("sum", []),
    ("sum", [("lit", 0), ("sum", [("var", "b", "c")]), ("add", ("lit", 4), ("lit", 2))]),
    ("var",),
]


def test_a_method_by_the_first_item_of_a_tuple():
    agrees(Calculator(), TREES)


def test_a_method_by_the_first_item_natively(codegen, tmp_path):
    agrees_natively(Calculator(), TREES, codegen, tmp_path)


def test_a_first_item_of_another_type_is_an_error_of_the_instance(tmp_path):
    executable = compile(Calculator().eval(), sample=TREES, cache_folder=tmp_path)
    with pytest.raises(InstanceError, match="does not take an int"):
        executable([(1, 2)])


def forward_with(function):
    return with_forward(Calculator(), function)


NUMBERS = [(0, 1), (1, 3), (2, 0), (3, 4)]


def by_statement(self, pair):
    kind, i = pair
    cell = None
    if kind == 1:
        cell = self.outer
    elif kind > 1:
        cell = self.inner
    x = self.embed(torch.tensor(i))
    if cell is not None:
        x = cell(x)
    return x, cell is None


def by_expression(self, pair):
    kind, i = pair
    cell = self.outer if kind == 1 else None
    x = self.embed(torch.tensor(i))
    return (cell(x) if cell else x), (1 if not cell else 2), cell != None  # noqa: E711


def handed_on(self, pair):
    kind, i = pair

    def apply(function, x):
        return x if function is None else function(x)

    act = torch.tanh if kind % 2 else None
    return apply(act, self.embed(torch.tensor(i)))


def of_a_lambda(self, pair):
    kind, i = pair
    scale = (lambda x: x * kind) if kind else None
    x = self.embed(torch.tensor(i))
    return scale(x) if scale else x - 1


@pytest.mark.parametrize("function", [by_statement, by_expression, handed_on, of_a_lambda])
def test_a_function_or_none(function):
    agrees(forward_with(function), NUMBERS)


def called_as_it_is(self, pair):
    kind, i = pair
    cell = self.outer if kind == 1 else None
    return cell(self.embed(torch.tensor(i)))  # type: ignore[misc]


def test_a_call_of_none_is_an_error_of_the_instance():
    interpreter = Interpreter(build(forward_with(called_as_it_is), sample=NUMBERS))
    interpreter.run((1, 2))
    with pytest.raises(InstanceError, match="'NoneType' object is not callable"):
        interpreter.run((0, 2))


def strings_joined(self, pair):
    parts, i = pair
    text = "a" + parts[0] + "!"
    return self.embed(torch.tensor(i)) * len(text), text


def test_a_value_of_several_types_is_added_to_a_string():
    agrees(forward_with(strings_joined), [(("b", 1), 2), (("cd", ("e", 2)), 1), (("", "f"), 0)])
