"""Sets of ints that are walked over in Python's own order. Against Python."""

# mypy: ignore-errors
# ruff: noqa: C401, C414, C416 (sets and lists of them are what is tested)

from __future__ import annotations

import itertools
import random

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.library import set_order
from backends.acrobat.tests.zoo.check import agrees, with_forward

DRAWN = random.Random(1)
SAMPLE = [[1, 2, 5, 3], [0], [], [4, 4, 7, 1, 5], [33, 1, 65, 97, 0, 32, 7, 8, 9]]
SAMPLE += [[DRAWN.randrange(high) for _ in range(60)] for high in (30, 300)]


def test_the_order_of_a_range() -> None:
    for start, n in itertools.product((0, 1, 7, 30, 33, 1000), range(400)):
        numbers = range(start, start + n)
        assert set_order.in_order(list(numbers)) == list(set(numbers))


def test_the_order_of_what_is_left_of_a_range() -> None:
    """Of all ranges up to 12 without each of their parts, and of larger ones without some."""
    for n in range(13):
        for chosen in itertools.product((False, True), repeat=n):
            taken = set(itertools.compress(range(n), chosen))
            assert set_order.in_order_without(list(range(n)), sorted(taken)) == list(set(range(n)) - taken)
    for n, kept in itertools.product((19, 40, 77, 130), range(0, 130, 3)):
        taken = {x for x in range(n) if x < n - kept}
        assert set_order.in_order_without(list(range(n)), sorted(taken)) == list(set(range(n)) - taken)


def test_the_order_of_ints_in_any_order() -> None:
    """Of ints that want the same slots of the table, in each order, and of drawn ones."""
    for numbers in itertools.permutations((0, 8, 1, 32, 9, 64), 6):
        assert set_order.in_order(list(numbers)) == list(set(numbers))
    for size, high in itertools.product((4, 5, 18, 19, 76, 77, 400), (7, 40, 500, 2**40, 2**61 - 2)):
        for _ in range(20):
            numbers = [DRAWN.randint(0, high) // 8 * DRAWN.choice((1, 8)) for _ in range(size)]
            different, whole = list(dict.fromkeys(numbers)), set(numbers)
            assert set_order.in_order(different) == list(whole)
            for part in (0.02, 0.2, 0.7):
                taken = {x for x in numbers if DRAWN.random() < part}
                assert set_order.in_order_without(different, sorted(taken)) == list(whole - taken)


def of_a_list(self, xs):
    return list(set(xs)), [x + 1 for x in frozenset(xs)], [*{x // 2 for x in xs}]


def left_of_a_range(self, xs):
    chosen = [i for i, x in enumerate(xs) if x % 2]
    left = list(set(range(len(xs))) - set(chosen))
    every = set(range(len(xs)))
    return left, [xs[i] for i in every - {0, 1}], list(every.difference({x for x in xs})), tuple(every - set(xs))


def in_a_loop(self, xs):
    out, number = [], 0
    for k in range(3):
        for x in set(range(len(xs) + 20)) - {i for i in range(len(xs) + 10) if i % (k + 2)}:
            out.append(x + k)
            number = (3 * number + x) % 1001
    for i, x in enumerate(set(xs)):
        number = (3 * number + i * x) % 1001
    return out, number


def as_dictionaries(self, xs):
    return list({x: i for i, x in enumerate(set(xs))}.items()), list({x % 3: x for x in set(xs)}.items())


def as_tensors(self, xs):
    rest = list(set(range(len(xs) + 80)) - set(xs))
    return torch.tensor(rest), self.rows.weight[rest].cumsum(0)


def lists_without_order(self, xs):
    """Lists of which nothing shows the order."""
    left, counts = set(xs) | {2}, []
    while left:
        odd = [i for i in left if i % 2 == 1]
        known = [i for i in left if i < 9]
        marks = torch.ones(400)
        marks[known] = 0.0
        counts.append(len(known) if odd and 3 in odd else int(marks.sum()))
        left.discard(max(left))
    return counts, sorted(known)


@pytest.mark.parametrize(
    "function",
    [lists_without_order, of_a_list, left_of_a_range, in_a_loop, as_dictionaries, as_tensors],
    ids=lambda f: f.__name__,
)
def test_as_in_python(function) -> None:
    model = nn.Module()
    model.rows = nn.Embedding(200, 3)
    agrees(with_forward(model, function), SAMPLE)


def with_another(self, xs):
    chosen = set(xs)
    chosen.add(3)
    return list(chosen)


def taken_in_place(self, xs):
    left = set(range(len(xs)))
    left -= set(xs)
    return list(left)


def updated(self, xs):
    left = set(range(len(xs)))
    left.difference_update(set(xs))
    return list(left)


def left_twice(self, xs):
    return list(set(range(len(xs))) - set(xs) - {0})


def without_a_list(self, xs):
    return list(set(range(len(xs))).difference(xs))


def without_keys(self, xs):
    table = dict.fromkeys(xs, 1)
    return list(set(range(len(xs))) - table.keys())


REFUSED = {
    "one more": with_another,
    "taken out in place": taken_in_place,
    "taken out by a method": updated,
    "taken out twice": left_twice,
    "without a list": without_a_list,
    "without keys": without_keys,
    "one of two": lambda self, xs: list(set(xs) if xs else set(range(3))),
    "a union": lambda self, xs: list(set(xs) | {1}),
    "of a set": lambda self, xs: list(set(set(xs))),
    "over a set": lambda self, xs: list(set(x for x in set(xs))),
    "strings": lambda self, xs: list(set(str(x) for x in xs)),
    "floats": lambda self, xs: list(set(x / 2 for x in xs)),
    "tuples": lambda self, xs: list(set((x, x + 1) for x in xs)),
    "written out": lambda self, xs: list({len(xs), 3}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_orders_are_not_known(name: str) -> None:
    with pytest.raises(CompileError, match="the order of a set is not known"):
        build(with_forward(nn.Module(), REFUSED[name]), sample=SAMPLE)


def test_a_loop_that_changes_its_set_is_refused() -> None:
    def without_the_next(self, xs):
        left, seen = set(xs), []
        for x in left:
            seen.append(x)
            left.discard(x + 1)
        return seen

    with pytest.raises(CompileError, match="`discard` changes `left`, which a loop around it walks over"):
        build(with_forward(nn.Module(), without_the_next), sample=SAMPLE)


@pytest.mark.parametrize("outside", [-1, 2**61 - 1])
def test_ints_that_are_not_their_own_hash_are_an_error_of_the_instance(outside: int) -> None:
    interpreter = Interpreter(build(with_forward(nn.Module(), lambda self, xs: list(set(xs))), sample=SAMPLE))
    assert interpreter.run([2**61 - 2, 8, 0]) == list({2**61 - 2, 8, 0})
    with pytest.raises(InstanceError, match="the order of a set of ints is known if none is below 0"):
        interpreter.run([1, outside])


def test_a_set_of_tensors_is_refused() -> None:
    with pytest.raises(CompileError, match="a set of the elements of a tensor has all of them in Python"):
        build(with_forward(nn.Module(), lambda self, x: len(set(x))), sample=[torch.tensor([1, 2, 1]), torch.tensor([3])])
