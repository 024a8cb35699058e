"""Iterators with a name that is given to a function, which takes from it by `next`, as a tree takes its leaf states; and what
is left of them afterwards."""

# mypy: ignore-errors
# ruff: noqa: B905, RUF007
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, agrees_unless_refused, with_forward

TREES = [3, (1, 2), ((1, 2), 3), (4, ((5, 1), (2, 2))), ((7, (7, 1)), (0, 3))]


class Join(nn.Module):
    """Another module that takes from the same iterator."""

    def forward(self, tree, leaves):
        if isinstance(tree, int):
            return next(leaves)
        return self(tree[0], leaves) - 2 * self(tree[1], leaves)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(10, 3)
        self.down = nn.Linear(3, 3)
        self.join = Join()

    def words(self, tree):
        return [tree] if isinstance(tree, int) else self.words(tree[0]) + self.words(tree[1])

    def states(self, tree, times=1):
        return self.embed(torch.tensor(self.words(tree) * times))

    def encode(self, tree, leaves, states):
        """Post order; `leaves` yields the states of the words."""
        if isinstance(tree, int):
            state = next(leaves)
        else:
            left, right = tree
            (a, x), (b, y) = self.encode(left, leaves, states), self.encode(right, leaves, states)
            state = torch.tanh(self.down(a - b)), x * y
        states.append(state[0])
        return state

    def numbers(self, tree, leaves):
        if isinstance(tree, int):
            return next(leaves, 100)
        return 2 * self.numbers(tree[0], leaves) - 3 * self.numbers(tree[1], leaves)

    def of_children(self, tree, leaves):
        if isinstance(tree, int):
            return next(leaves)
        return torch.tanh(self.down(sum(self.of_children(child, leaves) for child in tree)))

    def given_on(self, tree, leaves):
        return self.numbers(tree, leaves) + 1

    def up_to_five(self, leaves):
        out = 0
        for x in leaves:
            if x > 5:
                break
            out = out * 2 + x
        return out

    def first(self, leaves, n):
        return [next(leaves, 9) for _ in range(n)]


def pairs_of_states(self, tree):
    h = self.states(tree)
    leaves = iter(zip(h.unbind(0), torch.sigmoid(h).unbind(0)))
    states = []
    self.encode(tree, leaves, states)
    return torch.stack(states)


def rows(self, tree):
    leaves = iter(self.states(tree))
    return self.of_children(tree, leaves)


def of_a_generator_expression(self, tree):
    leaves = ((x, x * 2) for x in self.states(tree))
    return self.encode(tree, leaves, [])


def by_its_keyword(self, tree):
    words = self.words(tree)
    leaves = map(abs, words)
    return self.numbers(tree, leaves=leaves), words


def through_another_function(self, tree):
    leaves = iter(self.words(tree))
    return self.given_on(tree, leaves)


def through_another_function_twice(self, tree):
    leaves = iter(self.words(tree) * 2)
    a = self.given_on(tree, leaves)
    return a, self.given_on(tree, leaves), next(leaves, 77)


def anew_in_each_round(self, tree):
    out = []
    for word in self.words(tree):
        leaves = iter(range(word))
        out.append(self.numbers(tree, leaves))
    return out


def one_for_all_rounds(self, tree):
    leaves = iter(self.words(tree))
    return [self.numbers(tree, leaves) for _ in range(2)]


def under_one_name_again(self, tree):
    leaves = iter(self.states(tree))
    x = self.of_children(tree, leaves)
    leaves = iter(self.states(tree) * 2)
    return x, self.of_children(tree, leaves)


def by_a_module(self, tree):
    leaves = iter(self.states(tree))
    return self.join(tree, leaves)


def in_one_arm(self, tree):
    leaves = iter(self.words(tree))
    return self.numbers(tree, leaves) if len(self.words(tree)) > 2 else 0


def nothing_is_left(self, tree):
    leaves = iter(self.states(tree))
    x = self.of_children(tree, leaves)
    assert next(leaves, None) is None
    return x


def the_rest_as_a_list(self, tree):
    leaves = iter(self.states(tree, 2))
    x = self.of_children(tree, leaves)
    return x, torch.stack(list(leaves))


def the_rest_in_a_comprehension(self, tree):
    leaves = iter(self.words(tree) * 3)
    out = self.up_to_five(leaves), self.first(leaves, 1)
    return out, [x + 1 for x in leaves]


def the_rest_in_order(self, tree):
    words = self.words(tree) * 3
    leaves, pairs = iter(words), zip(words, words[1:])
    out = self.up_to_five(leaves), next(pairs)
    return out, sorted(leaves), max(pairs), len(words)


def the_best_of_the_rest(self, tree):
    words = self.words(tree) * 2
    leaves = iter([(self.embed.weight[w], w) for w in words])
    next(leaves)
    return min(leaves, key=lambda pair: pair[1])[0]


FORWARDS = [
    pairs_of_states,
    rows,
    of_a_generator_expression,
    by_its_keyword,
    through_another_function,
    through_another_function_twice,
    anew_in_each_round,
    one_for_all_rounds,
    under_one_name_again,
    by_a_module,
    in_one_arm,
    nothing_is_left,
    the_rest_as_a_list,
    the_rest_in_a_comprehension,
    the_rest_in_order,
    the_best_of_the_rest,
]


@pytest.mark.parametrize("forward", FORWARDS, ids=lambda f: f.__name__)
def test_as_in_python(forward: Any) -> None:
    agrees(with_forward(Encoder(), forward), TREES)


def test_natively(codegen: str, tmp_path: Path) -> None:
    def forward(self, tree):
        return pairs_of_states(self, tree), through_another_function_twice(self, tree), the_rest_in_order(self, tree)

    agrees_natively(with_forward(Encoder(), forward), TREES, codegen, tmp_path)


def test_an_iterator_with_too_few_is_an_error_of_the_instance() -> None:
    def forward(self, tree):
        leaves = iter(self.words(tree)[:3])
        return next(leaves), [next(leaves) for _ in self.words(tree)[1:]]

    interpreter = Interpreter(build(with_forward(Encoder(), forward), sample=TREES))
    assert interpreter.run((1, 2)) == (1, [2])
    with pytest.raises(InstanceError):
        interpreter.run(((1, 2), (3, 4)))


def twice_up_to_five(self, leaves):
    return self.up_to_five(leaves) * 100 + self.up_to_five(leaves)


def a_list_after_all(self, tree):
    words = self.words(tree)
    leaves = iter(words)
    if len(words) > 2:
        leaves = words
    return twice_up_to_five(self, leaves)


def a_list_in_some_calls(self, tree):
    def given_on(leaves):
        return twice_up_to_five(self, leaves)

    words = self.words(tree)
    one, other = iter(words), iter(words) if len(words) > 2 else words
    return given_on(one), given_on(other)


def over_a_list_that_the_function_changes(self, tree):
    words = self.words(tree)
    leaves = iter(words)

    def go(leaves, into):
        into.append(4)
        return next(leaves) + sum(next(leaves, 0) for _ in range(9))

    return go(leaves, words)


def under_two_names(self, tree):
    leaves = iter(self.words(tree))
    other = leaves
    return self.numbers(tree, other), next(leaves, 0)


def one_of_two(self, tree):
    words = self.words(tree)
    a, b = iter(words), iter(words[1:])
    x = self.numbers(tree, a if len(words) > 2 else b)
    return x, next(a, 0), next(b, 0)


def before_the_function_takes_more(self, tree):
    leaves = iter(self.words(tree) * 2)
    return list(leaves), self.up_to_five(leaves)


def in_rounds(self, tree):
    leaves = iter(self.words(tree) * 3)
    out = []
    for _ in range(2):
        out.append(self.up_to_five(leaves))
        out += list(leaves)
    return out


@pytest.mark.parametrize(
    "forward",
    [
        a_list_after_all,
        a_list_in_some_calls,
        over_a_list_that_the_function_changes,
        under_two_names,
        one_of_two,
        before_the_function_takes_more,
        in_rounds,
    ],
    ids=lambda f: f.__name__,
)
def test_what_would_be_used_again_is_refused(forward: Any) -> None:
    with pytest.raises(CompileError, match=r"iterator|under another name"):
        build(with_forward(Encoder(), forward), sample=TREES)


class TwoOf:
    """Takes from an iterator where the object is made, which is compiled in another function."""

    def __init__(self, words):
        leaves = iter(words)
        self.one = next(leaves)
        self.other = next(leaves, 0)


class UpToFive:
    def __init__(self, words):
        leaves = iter(words)
        self.one = 0
        for x in leaves:
            if x > 5:
                break
            self.one += x
        self.other = next(leaves, -1)


class AtOnce:
    def __init__(self, words):
        pairs = zip(words, words)
        self.one = [x * y for x, y in pairs]
        self.other = 0


class OverAChangedAttribute:
    def __init__(self, words):
        self.words = list(words)
        leaves = iter(self.words)
        self.words.append(4)
        self.one = list(leaves)
        self.other = 0


class OverAChangedList:
    def __init__(self, words):
        more = list(words)
        leaves = iter(more)
        more.append(4)
        self.one = list(leaves)
        self.other = 0


class TheRest:
    def __init__(self, words):
        leaves = iter(words)
        self.one = next(leaves)
        self.other = list(leaves)


def of_two(self, tree):
    made = TwoOf(self.words(tree) * 2)
    return made.one, made.other


def of_some(self, tree):
    made = UpToFive(self.words(tree) * 2)
    return made.one, made.other


def of_all(self, tree):
    made = AtOnce(self.words(tree) * 2)
    return made.one, made.other


@pytest.mark.parametrize("forward", [of_two, of_some, of_all], ids=lambda f: f.__name__)
def test_iterators_in_an_init(forward: Any) -> None:
    agrees(with_forward(Encoder(), forward), TREES)


def of_a_changed_attribute(self, tree):
    return OverAChangedAttribute(self.words(tree)).one


def of_a_changed_list(self, tree):
    return OverAChangedList(self.words(tree)).one


def of_the_rest(self, tree):
    return TheRest(self.words(tree)).other


@pytest.mark.parametrize("forward", [of_a_changed_attribute, of_a_changed_list, of_the_rest], ids=lambda f: f.__name__)
def test_iterators_in_an_init_are_right_or_refused(forward: Any) -> None:
    agrees_unless_refused(with_forward(Encoder(), forward), TREES, "iterator")
