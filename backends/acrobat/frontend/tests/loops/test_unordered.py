"""Loops over sets: those whose order cannot show compile, all others are refused. Against eager PyTorch."""

# mypy: ignore-errors
# ruff: noqa: B007, C416, C420, PERF402, RET504, SIM110, SIM113 (loops are what is tested)

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, with_forward

SAMPLE = [[1, 2, 5, 3], [0], [], [4, 4, 7, 1, 5], [6, 2]]
SPECIAL = frozenset({0, 3, 5})


@dataclass
class Group:
    members: frozenset[int]


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e = nn.Embedding(10, 4)
        self.score = nn.Linear(4, 10)
        self.special = {1, 2, 9}
        self.names = {i: f"w{i}" for i in range(10)}


def forbidden_scores(self, xs):
    scores = self.score(self.e.weight[0])
    for x in set(xs):
        scores[x] = -math.inf
    rows = self.e.weight[:2] + 1.0
    for x in set(xs) | {9}:
        rows[:, x % 4] -= 0.5
    return scores, rows


def constant_sets(self, xs):
    scores = self.score(self.e.weight[len(xs)])
    for x in self.special:
        scores[x] = 0.0
    for x in SPECIAL:
        scores[x] -= 2.0
    return scores


def groups(self, xs):
    clusters = [Group(frozenset([x])) for x in xs] + [Group(frozenset(xs))]
    assignment = [-1] * 10
    for k, c in enumerate(clusters):
        for m in c.members:
            assignment[m] = k
    return assignment


def own_items(self, xs):
    doubled, rows = [0] * 10, torch.zeros(10, 4)
    for x in set(xs):
        doubled[x] = 2 * x + 1
        rows[x] = self.e.weight[x] * 2
    for x in list(set(xs)):
        doubled[x] += x
    return doubled, rows


def own_items_that_are_read(self, xs):
    scores, times = self.score(self.e.weight[0]), [1] * 10
    rows = self.e.weight * 2
    for x in set(xs):
        if scores[x] > 0:
            scores[x] /= 1.3
        else:
            scores[x] = scores[x] * 1.3
        times[x] = times[x] * x + 1
        times[x] += times[x]
        row = rows[x].tanh()
        rows[x] = row + row.sum()
    for x in self.special:
        scores[x] = scores[x] - 1.0 if scores[x] > 0 else scores[x]
    return scores, times, rows


def entries(self, xs):
    count, names = {}, dict.fromkeys(sorted(xs), 1)
    for x in set(xs):
        count[x] = x * x
    for x in {y for y in xs if y > 2}:
        del names[x]
    for x in {1, 2}:
        names.pop(x, None)
    return [count[x] for x in xs], sorted(names)


def numbers(self, xs):
    total = product = high = 0
    low, flags, seen, every, none = 100, 0, False, True, False
    for x in set(xs):
        total += x
        product = product + x * x
        flags |= 1 << x
        high = max(high, x)
        low = min(x - 1, low)
        seen = seen or x > 4
        if x % 2 and x != 3:
            every = False
        square = x * x
        if square > 100:
            continue
        none |= square > 30
    return total, product, flags, high, low, seen, every, none


def sets(self, xs):
    more, fewer, both = set(xs), {0, 1, 2, 3, 4, 5}, {1, 2, 3, 4}
    others, left = [5, 5, 4, 3, 2, 1, 0], set(xs)
    for x in set(xs):
        more.add(x + 10)
        more.update([x, x + 20])
        fewer.discard(x)
        both.intersection_update({x, 1})
        if x in (1, 5):
            others.remove(x)
        left -= {x + 1}
    return sorted(more), sorted(fewer), sorted(both), others, sorted(left)


def nested(self, xs):
    table = [[0] * 10 for _ in range(10)]
    pairs = 0
    for x in set(xs):
        near = []
        for y in {x + 1, x - 1, x}:
            if 0 <= y < 10:
                table[x][y] = 1
                pairs += x * y
        for z in xs:
            near.append(z)
            if z > x:
                break
        pairs += len(near)
    return table, pairs


def left_early(self, xs):
    found, where = False, "nowhere"
    for x in set(xs):
        if x > 4:
            found = True
            where = "above"
            break
    return found, where, self.any_odd(xs)


def any_odd(self, xs):
    for x in set(xs):
        if x % 2:
            return True
    return False


def of_strings(self, xs):
    lengths, used = {}, set()
    for name in {self.names[x] for x in xs}:
        lengths[name] = len(name) + int(name[1:])
        used.add(name.upper())
    return [lengths[self.names[x]] for x in xs], sorted(used)


def of_tuples(self, xs):
    grid, total = torch.zeros(10, 10), 0
    for i, j in {(x, y) for x in xs for y in xs if x < y}:
        grid[i, j] = 1.0
        total += i * j
    return grid, total


def of_comprehensions(self, xs):
    rows = {x: self.e(torch.tensor(x)) for x in set(xs)}
    sizes: dict = {name: len(name) for name in list({self.names[x] for x in xs}) if name != "w1"}
    pairs = {(x, y, k): x * y + k for x, y in {(x, y) for x in xs for y in xs} for k in [x, 1]}
    odd = {x % 2: False for x in self.special}
    if not rows:
        return [], [], [], len(odd), 1 in odd
    near = [sizes.get(self.names[x], -1) for x in sorted(xs, key=lambda x: pairs[x, x, 1])]
    return [rows[x] for x in xs], near, [pairs[x, xs[0], x] for x in xs], len(odd), 1 in odd


def of_counts(self, xs):
    near = Counter(y for x in xs for y in {self.names[x], self.names[x // 2]})
    odd = Counter([y for y in set(xs) if y % 2])
    rare = {x for x in xs if near[self.names[x]] < 2}
    counts = [near.get(name, 0) for name in self.names.values()], near.total(), max(near.values(), default=0)
    return counts, sorted(odd.items()), sorted(rare)


def of_sets_that_differ(self, xs):
    every = sorted(y for x in xs for y in {x, x + 1})
    last = {name: i for i, x in enumerate(xs) for name in {self.names[x], self.names[x // 2]}}
    return (
        every,
        sum(y for x in xs for y in set(xs[:x])),
        [last[self.names[x]] for x in xs],
        5 in {y for x in xs for y in {x, 3}},
    )


def asked_otherwise(self, xs):
    squares = {}
    for x in set(xs):
        squares[x] = x * x
    return [squares.get(x, -1) for x in range(10)], len(squares), 3 in squares


FUNCTIONS = [
    forbidden_scores, constant_sets, groups, own_items, own_items_that_are_read, entries, numbers, sets, nested, left_early,
    of_strings, of_tuples, of_comprehensions, asked_otherwise, of_counts, of_sets_that_differ,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_eager(function: Any) -> None:
    model = Words()
    model.any_odd = any_odd.__get__(model)
    agrees(with_forward(model, function), SAMPLE)


def appended(self, xs):
    out = []
    for x in set(xs) | {0}:
        out.append(x)
    return out


def last_one(self, xs):
    x = 0
    for x in set(xs) | {0}:
        pass
    return x


def last_kept(self, xs):
    kept = 0
    for x in set(xs) | {0}:
        kept = x
    return kept


def sum_of_floats(self, xs):
    total = 0.0
    for x in set(xs) | {0}:
        total += x / 3
    return total


def sum_of_tensors(self, xs):
    total = self.e.weight[0] + 0.0
    for x in set(xs) | {0}:
        total = total + self.e.weight[x]
    return total


def order_of_keys(self, xs):
    out = {}
    for x in set(xs) | {0}:
        out[x] = 0
    return list(out)


def order_of_counts(self, xs):
    out = Counter()
    for x in set(xs) | {0}:
        out[x] += 1
    return out.most_common(1)


def order_of_defaults(self, xs):
    out = defaultdict(int)
    for x in set(xs) | {0}:
        out[x] += x
    return list(out.items())


def order_of_a_counter(self, xs):
    counts = Counter(name for x in xs for name in {self.names[x], self.names[x // 2]})
    return counts.most_common(1)


def order_of_equal_counts(self, xs):
    counts = Counter(x for x in set(xs) | {0})
    return sorted(counts.items(), key=lambda pair: pair[1])


def numbered(self, xs):
    out = {}
    for x in set(xs) | {0}:
        out[x] = len(out)
    return [out[x] for x in xs]


def counted(self, xs):
    ids, n = [0] * 10, 0
    for x in set(xs) | {0}:
        ids[x] = n
        n += 1
    return ids


def two_values(self, xs):
    out = [0] * 10
    for x in set(xs) | {0}:
        out[x // 2] = 1
        if x > 3:
            out[x // 2] = 2
    return out


def same_place(self, xs):
    out = [0] * 10
    for x in set(xs) | {0}:
        out[x // 2] = x
    return out


def item_of_another_round(self, xs):
    out = [1] * 11
    for x in set(xs) | {0}:
        out[x] = out[x] + out[x + 1]
    return out


def own_item_beside_another(self, xs):
    out = [1] * 11
    for x in set(xs) | {0}:
        if x > 3:
            out[x] += x
        else:
            out[x // 2] *= 2
    return out


def index_of_a_comprehension(self, xs):
    out = [1] * 10
    for x in set(xs) | {0}:
        out[x] = sum([out[x] for x in range(3)]) + out[x]
    return out


def index_of_a_lambda(self, xs):
    out = [1] * 10
    for x in set(xs) | {0}:
        out[x] = (lambda x: out[x])(3) + out[x]
    return out


def put_and_taken(self, xs):
    out = set()
    for x in set(xs) | {0}:
        out.add(x + 1)
        out.discard(x)
    return sorted(out)


def first_found(self, xs):
    for x in set(xs) | {0}:
        if x > 2:
            return x
    return -1


def counted_until(self, xs):
    n = 0
    for x in set(xs) | {0}:
        n += 1
        if x > 2:
            break
    return n


def flags_until(self, xs):
    out = [0] * 10
    for x in set(xs) | {0}:
        out[x] = 1
        if x > 2:
            break
    return out


def from_round_to_round(self, xs):
    before, n = 0, 0
    for x in set(xs) | {0}:
        n += before * x
        before = x
    return n


def sliced(self, xs):
    out = [0] * 10
    for x in set(xs) | {0}:
        out[x:] = [1]
    return out


def through_an_alias(self, xs):
    out = [0] * 10
    rows, n = [out, out], 0
    for x in set(xs) | {0}:
        out[x] = 1
        n += rows[0][5 - x]
    return n


def through_a_view(self, xs):
    whole = torch.zeros(10)
    part, n = whole[2:], 0
    for x in set(xs) | {0}:
        whole[x] = 1.0
        n += int(part[x].item())
    return n


def through_a_closure(self, xs):
    out, n = [0] * 10, 0

    def at(k):
        return out[k]

    for x in set(xs) | {0}:
        out[x] = 1
        n += at(5 - x)
    return n


def of_an_iterator(self, xs):
    it, out = iter([*xs, *range(20)]), [0] * 10
    for x in set(xs) | {0}:
        out[x] = next(it)
    return out


def by_a_method(self, xs):
    self.visited = []
    n = 0
    for x in set(xs) | {0}:
        n += self.visit(x)
    return n, self.visited


def visit(self, x):
    self.visited.append(x)
    return len(self.visited)


def by_a_count(self, xs):
    self.count = 0
    n = 0
    for x in set(xs) | {0}:
        n += self.bump() * x
    return n


def bump(self):
    self.count += 1
    return self.count


def seen_by_a_method(self, xs):
    self.marks = [0] * 10
    n = 0
    for x in set(xs) | {0}:
        self.marks[x] = 1
        n += self.marked(5 - x)
    return n


def marked(self, x):
    return self.marks[x]


def changed_argument(self, xs):
    out, n = [], 0
    for x in set(xs) | {0}:
        n += self.grow(out, x)
    return n, out


def grow(self, out, x):
    out.append(x)
    return x


def changed_in_a_test(self, xs):
    queue, n = list(xs), 0
    for x in set(xs) | {0}:
        if queue.pop() > x:
            n += 1
    return n


def inside_an_alias(self, xs):
    rows = [[0], [1, 2]]
    n = 0
    for x in set(xs) | {0}:
        row = rows[x % 2]
        row += [x]
        n += 1
    return rows, n


def of_minus(self, xs):
    n = 1
    for x in set(xs) | {0}:
        n -= x
        n *= x
    return n


def walked_itself(self, xs):
    s = set(xs) | {0}
    for x in s:
        s.discard(x + 1)
    return sorted(s)


def comprehension_given_back(self, xs):
    table = {x: x + 1 for x in set(xs) | {0}}
    return table


def comprehension_without_name(self, xs):
    return str({x: x for x in set(xs) | {0}})


def comprehension_of_another_name(self, xs):
    table = {x: x + 1 for x in set(xs) | {0}}
    other = table
    return list(other.values())


def comprehension_with_equal_keys(self, xs):
    table = {x % 2: x for x in set(xs) | {0}}
    return [table[x % 2] for x in xs]


def comprehension_with_half_a_key(self, xs):
    table = {x: y for x, y in {(x % 2, x) for x in xs}}
    return [table[x % 2] for x in xs]


def comprehension_that_counts(self, xs):
    self.count = 0
    table = {x: self.bump() for x in set(xs) | {0}}
    return [table[x] for x in xs]


def set_that_counts(self, xs):
    self.count = 0
    pairs = {(x, self.bump()) for x in set(xs) | {0}}
    return sorted(pairs)


def sorted_that_counts(self, xs):
    self.count = 0
    return sorted((x, self.bump()) for x in set(xs) | {0})


def set_of_an_iterator(self, xs):
    it = iter(range(100))
    return sorted({(x, next(it)) for x in set(xs) | {0}})


def kept_in_the_model(self, xs):
    self.marks = {x: 0 for x in set(xs) | {0}}
    return self.marks_in_order()


def marks_in_order(self):
    return list(self.marks)


def of_the_function_around(self, xs):
    table = {}

    def fill():
        nonlocal table
        table = {x: 0 for x in set(xs) | {0}}

    fill()
    return list(table)


REFUSED = [
    comprehension_given_back, comprehension_without_name, comprehension_of_another_name, comprehension_with_equal_keys,
    comprehension_with_half_a_key, comprehension_that_counts, set_that_counts, sorted_that_counts, set_of_an_iterator,
    kept_in_the_model, of_the_function_around,
    appended, last_one, last_kept, sum_of_floats, sum_of_tensors, order_of_keys, order_of_counts, order_of_a_counter,
    order_of_equal_counts, order_of_defaults, numbered, counted,
    item_of_another_round, own_item_beside_another, index_of_a_comprehension, index_of_a_lambda,
    two_values, same_place, put_and_taken, first_found, counted_until, flags_until, from_round_to_round, sliced,
    through_an_alias, through_a_view, through_a_closure, of_an_iterator, by_a_method, by_a_count, seen_by_a_method,
    changed_argument, changed_in_a_test, of_minus, walked_itself,
]  # fmt: skip


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_an_order_that_may_show_is_refused(function: Any) -> None:
    model = Words()
    for method in (visit, grow, bump, marked, marks_in_order):
        setattr(model, method.__name__, method.__get__(model))
    with pytest.raises(CompileError, match="the order of a set is not known"):
        build(with_forward(model, function), sample=SAMPLE)


def test_another_name_for_a_list_is_refused() -> None:
    with pytest.raises(CompileError, match="changes a list that may be seen under another name than `row`"):
        build(with_forward(Words(), inside_an_alias), sample=SAMPLE)


def test_items_that_count_from_the_end_are_an_error_of_the_instance() -> None:
    def from_the_end(self, xs):
        out = [0] * 10
        for x in set(xs):
            out[x] = x
        return out

    interpreter = Interpreter(build(with_forward(Words(), from_the_end), sample=SAMPLE))
    assert interpreter.run([2, 1]) == [0, 1, 2, *[0] * 7]
    with pytest.raises(InstanceError, match="one is negative"):
        interpreter.run([9, -1])


def test_another_problem_in_the_loop_is_told() -> None:
    def unknown_name(self, xs):
        out = [0] * 10
        for x in set(xs):
            out[x] = self.missing
        return out

    with pytest.raises(CompileError, match="has no attribute `missing`") as error:
        build(with_forward(Words(), unknown_name), sample=SAMPLE)
    assert "order of a set" not in str(error.value)
