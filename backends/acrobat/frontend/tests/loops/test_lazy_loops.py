"""Loops over functions with `yield` that are left early, that have no end, or that use what the function changes: each value is
computed when the loop takes it."""

# mypy: ignore-errors

from __future__ import annotations

import itertools
from itertools import count, islice, takewhile
from pathlib import Path

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1, 2, 6, 7, 8], [2, 2], [9, 0, 1]]


def doubled(x):
    while True:
        x = 2 * x + 1
        yield x


def counted_up(start, by=2):
    for i in count(start):
        yield i * by


def quotients(xs):
    for x in xs:
        yield 12 // x


def halves(x):
    """It ends in the middle, and in front of its last value."""
    if x < 0:
        return
    yield x
    while x > 1:
        if x == 7:
            return
        x //= 2
        yield x
    yield -1


def both(xs, x):
    yield from xs
    yield from doubled(x)


def pairs(xs):
    for i, x in enumerate(xs):
        for y in xs[i + 1 :]:
            if x == y:
                continue
            yield x, y


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.linear = nn.Linear(4, 4)

    def states(self, h, scale=1.0):
        while True:
            h = torch.tanh(self.linear(h)) * scale
            yield h


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.emb = nn.Embedding(16, 4)
        self.inner = Inner()
        self.score = nn.Linear(4, 1)

    def refined(self, tokens):
        while True:
            kept = [t for t in tokens if t % 3 != 1]
            new = [t + 1 for t in kept]
            yield new, len(tokens) - len(kept)
            tokens = new

    @classmethod
    def of_class(cls, x):
        while True:
            x += len(cls.__name__)
            yield x

    def until_sure(self, h):
        for step, state in enumerate(self.inner.states(h, scale=0.9)):
            if step > 6 or self.score(state) > 0.2:
                return state, step
        return h, -1


def left_by_break(self, xs):
    for y in doubled(xs[0]):
        if y > 100:
            break
    return y


def left_by_return(self, xs):
    for y in doubled(xs[0]):
        if y > 50:
            return y
    return 0


def with_else(self, xs):
    out = []
    for limit in (1, 5):
        for y in halves(xs[0]):
            if y == limit:
                break
            out.append(y)
        else:
            out.append(100)
    return out


def goes_on(self, xs):
    """Behind a `continue` the function goes on behind its `yield`."""
    total, seen = 0, []
    for new, gone in self.refined(xs):
        if gone:
            total += gone
            continue
        seen.append(len(new))
        if len(seen) > 3 or sum(new) > 60:
            break
    return total, seen


def goes_on_from_a_loop(self, xs):
    out = []
    for y in doubled(xs[0]):
        for x in xs:
            if x == 2:
                continue
            if x == 7:
                break
            out.append(x + y)
        match y % 3:
            case 0 if y > 5:
                continue
        if y > 30:
            break
    return out


def of_a_submodule(self, xs):
    h = self.emb.weight[xs[0]]
    total = torch.zeros(4)
    for state in self.inner.states(h):
        total = total + state
        if total.abs().sum() > 2.5:
            break
    return total, self.until_sure(h)


def an_error_that_is_not_reached(self, xs):
    out = []
    for q in quotients(xs):
        out.append(q)
        if len(out) == 1:
            break
    return out


def inside_of_each_other(self, xs):
    out = []
    for a, b in pairs(xs):
        for y in doubled(a):
            if y > b:
                break
            out.append(y)
        if len(out) > 6:
            break
    return out, a if len(xs) > 1 and xs[0] != xs[1] else -1


def given_on(self, xs):
    out = []
    for y in both(xs, 3):
        out.append(y)
        if len(out) == 10:
            return out
    return out


def of_its_own(self, xs):
    n = 0

    def numbered(x):
        nonlocal n
        while True:
            n += x
            yield n

    out = []
    for y in numbered(xs[0]):
        out.append(y + n)
        n += 1
        if n > 20:
            break
    return out, n


def under_a_name(self, xs):
    start = xs[0]
    values = doubled(start)
    start = 0
    for y in islice(values, len(xs)):
        start += y
    return start


def with_names_of_its_own(self, xs):
    x, kept, new = 1, 2, 3
    for tokens, _ in self.refined(xs):
        x += len(tokens)
        if x > 10 or not tokens:
            break
        kept += 1
    return x, kept, new


PLAIN = [
    left_by_break,
    left_by_return,
    with_else,
    goes_on,
    goes_on_from_a_loop,
    of_a_submodule,
    an_error_that_is_not_reached,
    inside_of_each_other,
    given_on,
    of_its_own,
    under_a_name,
    with_names_of_its_own,
]


@pytest.mark.parametrize("function", PLAIN)
def test_each_value_is_computed_when_it_is_taken(function):
    agrees(with_forward(Model(), function), LISTS)


@pytest.mark.parametrize("function", [goes_on, of_a_submodule, with_else])
def test_natively(function, codegen: str, tmp_path: Path):
    agrees_natively(with_forward(Model(), function), LISTS, codegen, tmp_path)


def cut_off(self, xs):
    out = []
    for y in islice(doubled(xs[0]), len(xs)):
        out.append(y + 1)
    for y in islice(counted_up(xs[-1], by=3), 0):
        out.append(y + 1)
    for i, (new, gone) in enumerate(islice(self.refined(xs), 4), 1):
        if not new:
            break
        out += [i, gone, *new]
    return out


def zipped(self, xs):
    out = []
    for x, y in zip(xs, doubled(xs[0])):  # noqa: B905
        out.append((x, y))
    for y, x in zip(doubled(1), xs):  # noqa: B905
        out.append((x, y))
    for i, y, x in zip(count(5), doubled(2), xs[1:]):
        out.append((i * x, y))
    for i, row in enumerate(zip(range(3), doubled(xs[-1]))):  # noqa: B905
        out.append((i + row[0], row[1]))
    return out


def ends_before_the_list(self, xs):
    """A value that the list has no partner for is computed, and not assigned."""
    y, out = 0, []
    for y, x in zip(halves(xs[0]), xs):  # noqa: B905
        if x == 4:
            break
        out.append(x * y)
    return y, out


def taken_while(self, xs):
    limit, out = 5 * xs[0] + 3, []
    for y in takewhile(lambda y: y < limit, doubled(xs[0])):
        out.append(y + 1)
    for y in map(abs, itertools.islice(filter(lambda y: y % 3 == 0, counted_up(xs[0])), 3)):
        out.append(-y)
    return out


def of_an_expression(self, xs):
    out = []
    for y in (y * x for y in counted_up(xs[0]) for x in xs if (x + y) % 2):
        out.append(y)
        if len(out) > 5 or y > 100:
            break
        if y == 0:
            return out
    return out


def multiples(x):
    """It has no end, which cannot be seen."""
    n = 0
    while n >= 0:
        n += 1
        yield n * x


def jumps(x):
    """A `break` of a loop inside leaves it going on."""
    while True:
        for step in range(5):
            if step > x:
                break
            x += step
        yield x


def checked(xs):
    i = 0
    while True:
        if i >= len(xs):
            raise ValueError("too far")
        yield xs[i]
        i += 1


def without_a_visible_end(self, xs):
    out = []
    for y in islice(multiples(xs[0]), 4):
        out.append(y + 1)
    for y, x in zip(jumps(xs[0]), xs):  # noqa: B905
        out.append(y * x)
    for i, y in zip(range(len(xs)), checked(xs)):  # noqa: B905
        out.append(i * y)
    return out, list(islice(jumps(xs[0]), 3))


def in_expressions(self, xs):
    first, other = next(doubled(xs[0])), next(halves(xs[-1]), 5)
    names = dict(zip(xs, counted_up(3)))  # noqa: B905
    total = sum(x * y for x, y in zip(xs, doubled(2)))  # noqa: B905
    return first, other, list(islice(doubled(xs[0]), 3)), sorted(names.values()), total


WALKED = [cut_off, zipped, ends_before_the_list, taken_while, without_a_visible_end, in_expressions]


@pytest.mark.parametrize("function", WALKED)
def test_functions_of_python_take_what_they_need(function):
    agrees(with_forward(Model(), function), LISTS)


def test_an_expression_takes_what_it_needs():
    agrees(with_forward(Model(), of_an_expression), [[3, 2], [1, 2, 3], [5, 1, 4], [2, 3]])


def fibonacci():
    """The numbers of Fibonacci."""
    a, b = 0, 1
    while True:
        yield a
        a, b = b, a + b


def asked_twice(self, xs):
    values = doubled(xs[0])
    return next(values) - 3 * next(values, None)


def asked_in_a_loop(self, xs):
    numbers, out = fibonacci(), []
    if xs[0] > 2:
        out.append(next(numbers))
    for x in xs:
        out.append(x * next(numbers))
    for y in numbers:
        if y > 40:
            break
        out.append(y)
    return out, next(numbers)


def asked_for_tensors(self, xs):
    states = self.inner.states(self.emb.weight[xs[0]])
    first = next(states)
    total = first
    for x in xs:
        total = total + next(states) * x
    return first, total


def asked_by_turns(self, xs):
    n = 0

    def numbered():
        nonlocal n
        while True:
            n += 1
            yield n * n
            n += 2

    numbers, out = numbered(), []
    for x in xs:
        out.append(next(numbers) + x)
        n += x
    return out, n


@pytest.mark.parametrize("function", [asked_twice, asked_in_a_loop, asked_for_tensors, asked_by_turns])
def test_next_of_a_name(function):
    agrees(with_forward(Model(), function), LISTS)


def negative(self, xs):
    out = []
    for y in islice(doubled(xs[0]), 2 - len(xs)):
        out.append(y + 1)
    return out


def test_a_number_below_zero_is_an_error():
    with pytest.raises(Exception, match="Stop argument for islice"):
        agrees(with_forward(Model(), negative), [[1], [1, 2, 3]])


class Item:
    def __init__(self, x):
        self.x = x


class ByTurns(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0

    def counted(self, xs):
        for x in xs:
            self.count += 1
            yield x * self.count
            self.count += 10

    def fresh(self, xs, seen):
        for x in xs:
            if x not in seen:
                seen.append(x)
                yield x

    def moved(self, items):
        for item in items:
            item.x += 1
            yield item.x

    def size(self):
        return self.count

    def add(self, x):
        self.count += x
        return self.count


def lengthens_the_list_beside_it(self, xs):
    todo, out = list(xs), []
    for x, y in zip(todo, doubled(1)):  # noqa: B905
        if y < 40:
            todo.append(x + 1)
        out.append(x * y)
    return out


def computes_items_by_turns(self, xs):
    self.count, out = 0, []
    for y, z in zip(map(self.add, xs), self.counted(xs)):  # noqa: B905
        out.append(y * z)
        if len(out) > 2:
            break
    return out


def reads_before_it_asks(self, xs):
    def steps():
        while True:
            self.count += 1
            yield self.count

    self.count = xs[0]
    values = steps()
    self.count += next(values)
    return self.count + next(values), self.count


@pytest.mark.parametrize("function", [lengthens_the_list_beside_it, computes_items_by_turns, reads_before_it_asks])
def test_what_would_be_computed_too_early_is_refused(function):
    with pytest.raises(CompileError):
        build(with_forward(ByTurns(), function), sample=LISTS)


class Derived(ByTurns):
    def counted(self, xs):
        for y in super().counted(xs):
            yield y
            if y > 14:
                return


def test_a_generator_of_a_base_class_is_called_with_the_object_itself():
    with pytest.raises(CompileError, match="`counted` changes the attribute `count` while"):
        build(with_forward(Derived(), left_early), sample=LISTS)


def left_early(self, xs):
    self.count = 0
    total = 0
    for y in self.counted(xs):
        if y > 4:
            break
        total += y + self.size()
    return total, self.count


def changes_a_list(self, xs):
    seen, out = [], []
    for x in self.fresh(xs, seen):
        out.append(len(seen))
        seen.append(x + 1)
    return out, seen


def changes_the_list_walked_over(self, xs):
    left, out = list(xs), []

    def taken():
        while left:
            yield left.pop()

    for x in taken():
        out.append(x)
        if x % 3 == 0 and len(out) < 12:
            left.append(x + 1)
    return out


def changes_objects(self, xs):
    items = [Item(x) for x in xs]
    last = items[-1]
    out = []
    for y in self.moved(items):
        out.append(y + last.x)
        last.x += 2
        if y > 8:
            return out
    return out


@pytest.mark.parametrize("function", [left_early, changes_a_list, changes_the_list_walked_over, changes_objects])
def test_the_function_and_the_loop_see_what_the_other_one_changes(function):
    agrees(with_forward(ByTurns(), function), LISTS)


def recursive(x):
    while True:
        yield x
        yield from recursive(x + 1)


def of_a_recursion(self, xs):
    for y in recursive(xs[0]):
        if y > 5:
            return y
    return 0


def asked_in_a_comprehension(self, xs):
    values = doubled(xs[0])
    return [x + next(values) for x in xs]


def of_a_class(self, xs):
    for y in self.of_class(xs[0]):
        if y > 20:
            return y
    return 0


def in_two_at_once(self, xs):
    return [a + b for a, b in zip(doubled(xs[0]), doubled(xs[1]))]  # noqa: B905


@pytest.mark.parametrize("function", [of_a_recursion, asked_in_a_comprehension, of_a_class, in_two_at_once])
def test_refused(function):
    with pytest.raises(CompileError, match=r"without an end|has none"):
        build(with_forward(Model(), function), sample=[[1, 2], [3, 4, 5]])
