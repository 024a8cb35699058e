"""Lists put in order by tensors, and by tuples that begin with what has an order; methods and modules found by the names that
a table or the sample has; new lists of `tolist()`; and other idioms of a line. Against eager PyTorch, in the interpreter."""

# mypy: ignore-errors
from __future__ import annotations

from enum import Enum

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, with_forward

LISTS = [[3, 1, 2], [5, 6], [7, 8, 9, 10], [4]]


class Model(nn.Module):
    class Op(Enum):
        COPY = 0
        STOP = 1

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = {"a": "push", "b": "negate", "c": "negate"}
        self.embed = nn.Parameter(torch.randn(12, 3))
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])

    def push(self, stack):
        stack.append(1)

    def negate(self, stack):
        stack.append(-len(stack))

    def pop(self, stack):
        stack.pop()


def by_tensors(self, xs):
    scores = [self.embed[x].sum() for x in xs]
    pairs = [(s, i) for i, s in enumerate(scores)]
    in_order = sorted(xs, key=lambda x: self.embed[x].sum()), sorted(scores), max(pairs)[1]
    return in_order, max(xs, key=lambda x: self.embed[x].sum()), max(scores), min(scores, key=lambda s: -s)


def by_keys_alone(self, xs):
    table = {x: self.embed[x] for x in xs}
    pairs = [(-x, [self.embed[x]]) for x in xs]
    return [v for _, v in sorted(table.items())], [k for k, _ in sorted(table.items(), reverse=True)], max(pairs)[1]


def changed_numbers(self, xs):
    highest = (self.embed[xs] @ self.embed.t()).argmax(-1).tolist()
    highest[0] = -1
    given = torch.tensor(xs).tolist()
    given.append(4)
    rows = self.embed[xs].tolist()
    rows[0][0] = 5.0
    return highest, given, rows


def rounded_element(self, xs):
    u = torch.sigmoid(self.embed[xs[0]].sum())
    return (1 if u.round().item() == 1.0 else 0), u.round(), self.embed[xs].round()


def filled_at_an_index(self, xs):
    scores = self.embed[xs].sum(1)
    mask = torch.zeros(len(xs), dtype=torch.bool).index_fill(0, scores.argmax(), True)
    return scores.masked_fill(mask, -5.0), self.embed.index_fill(0, torch.tensor(xs[:2]), 0.0)


def sum_of_what_is_filled_later(self, xs):
    states = [None] * len(xs)
    for i, x in enumerate(xs):
        states[i] = self.embed[x] + sum((states[j] for j in range(i)), torch.zeros(3))
    return states[-1]


def names_of_members(self, xs):
    op_class, found = self.Op, []
    for x in xs:
        op = op_class(x % 2)
        found.append(op.name)
        if op is op_class.STOP:
            break
    return found


def children_by_name(self, xs):
    h, states = self.embed[xs[0]], {}
    for name, layer in self.layers.named_children():
        h = layer(h)
        states[name] = h
    for layer in self.layers.children():
        h = layer(h)
    return F.logsigmoid(h), states


FORWARDS = [
    by_tensors,
    by_keys_alone,
    changed_numbers,
    rounded_element,
    filled_at_an_index,
    sum_of_what_is_filled_later,
    names_of_members,
    children_by_name,
]


@pytest.mark.parametrize("forward", FORWARDS, ids=lambda f: f.__name__)
def test_idiom(forward) -> None:
    agrees(with_forward(Model(), forward), LISTS)


def test_tuples_that_agree_before_what_has_no_order_are_an_error_of_the_instance() -> None:
    model = with_forward(Model(), lambda self, xs: max([(x % 2, self.embed[x]) for x in xs])[1])
    interpreter = Interpreter(build(model, sample=LISTS))
    assert interpreter.run([5, 6]) is not None
    with pytest.raises(InstanceError):
        interpreter.run([3, 1])


def by_a_table(self, names):
    stack = []
    for name in names:
        getattr(self, self.table[name])(stack)
    return stack


def by_the_sample(self, names):
    stack = [5]
    for name in names:
        getattr(self, name)(stack)
    return stack


@pytest.mark.parametrize(
    ("forward", "sample"), [(by_a_table, [["a", "b"], ["b", "b", "c"]]), (by_the_sample, [["push", "pop"], ["negate", "push"]])]
)
def test_methods_found_by_names_of_run_time(forward, sample) -> None:
    agrees(with_forward(Model(), forward), sample)


def test_a_name_that_the_sample_does_not_have_is_an_error_of_the_instance() -> None:
    interpreter = Interpreter(build(with_forward(Model(), by_the_sample), sample=[["push"], ["pop", "push"]]))
    with pytest.raises(InstanceError, match="none of the names that the sample has"):
        interpreter.run(["negate"])
