"""Entries at the ends of dictionaries, keys that are tuples, and sets that are walked over where the order does not matter."""

# mypy: ignore-errors
from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from typing import Any

import pytest
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, with_forward

FEW = frozenset([1, 2, 9])
LISTS = [[3], [1, 2, 3], [5, 1, 4, 1], [9, 9], [6, 2, 2, 3, 3, 3, 7, 1], []]


def least_recently_used(self, xs):
    memory, gone = OrderedDict(), []
    for x in xs:
        if x in memory:
            memory.move_to_end(x)
        elif len(memory) >= 3:
            key, value = memory.popitem(last=False)
            gone.append((key, value))
        memory[x] = x * 2
        if x == 3:
            memory.move_to_end(x, last=False)
    return list(memory.items()), gone


def emptied(self, xs):
    table, out = {x: i for i, x in enumerate(xs)}, []
    while table:
        key, value = table.popitem()
        out.append(key + value)
    return out


def under_tuples(self, xs):
    groups, others = defaultdict(list), {}
    for x in xs:
        groups[x % 2, x > 3].append(x)
        others.setdefault((x % 2, x % 3), []).append(x)
    for x in xs:
        others[(x % 2, x % 3)].append(-x)
    return sorted(groups.items()), sorted(others.items())


def over_sets(self, xs):
    s = set(xs)
    rests = {x % 3 for x in s if x > 1}
    more = frozenset(x + 1 for x in rests), frozenset([x // 2 for x in s])
    asked = any(x > 3 for x in s), all(x > 0 for x in s), sum(1 for x in s if x > 1), sum([x > 2 for x in s])
    ends = max((x % 3 for x in s), default=-1), min([-x for x in rests], default=7)
    return sorted(rests), *map(sorted, more), asked, ends, sorted((x % 2, x) for x in s), len({(x, y) for x in s for y in xs})


def over_sets_by_keys(self, xs):
    a, b = set(xs), {x % 3 for x in xs}
    costs = [0.5, 0.25, 0.5]
    best = min(((i, j) for i in a for j in b), key=lambda ij: (costs[ij[1]], ij), default=(0, 0))
    worst = max([(i, j) for i in xs for j in b], key=lambda ij: (costs[ij[1]], ij), default=(0, 0))
    order = sorted((2 * x for x in a), key=lambda x: (x % 4, x)), sorted((x % 4 for x in a), key=lambda x: x, reverse=True)
    return best, worst, order, min((x % 3 for x in a), key=lambda x: -x, default=1), any(x > y for x in xs for y in b)


def constant_sets(self, xs):
    s, more = set(xs), {7}
    joined = s | FEW, FEW | s, s & FEW, s - FEW, FEW - s, s ^ FEW, s.union(FEW), FEW.intersection(s), {x for x in FEW if x in s}
    asked = s <= FEW, s >= FEW, s == FEW, s.issubset(FEW), FEW.issuperset(s), s.isdisjoint(FEW), any(x > len(xs) for x in FEW)
    more |= FEW
    more.update(s)
    more.update(FEW)
    return [sorted(x) for x in joined], asked, sorted(more), sorted(FEW), max(FEW), sum(FEW), sorted(set(FEW))


def views(self, xs):
    one, other = {x: x + 1 for x in xs}, {x: x + 1 for x in sorted(xs)}
    third = {x + 1: 0 for x in xs}
    joined = one.keys() & third.keys(), one.keys() - third.keys(), set(one) | third.keys(), one.keys() | {7}
    same = one.keys() == other.keys(), one.items() == other.items(), list(one.keys()) == list(other), one.keys() <= set(xs)
    return [sorted(x) for x in joined], same, one.keys() != third.keys()


NUMBERS = {2: "two", 3: "three", 5: "five", 17: "more"}


def views_of_constants(self, xs):
    s, pairs = set(xs), {(x, "two") for x in xs}
    joined = s - NUMBERS.keys(), s & NUMBERS.keys(), NUMBERS.keys() - s, s | NUMBERS.keys(), s ^ NUMBERS.keys()
    asked = s <= NUMBERS.keys(), NUMBERS.keys() >= s, s == NUMBERS.keys(), s.isdisjoint(NUMBERS.keys())
    return [sorted(x) for x in joined], asked, sorted(pairs & NUMBERS.items()), sorted(pairs - NUMBERS.items())


def only_elements(self, xs):
    s, odd = set(xs), {x for x in xs if x % 2}
    one = next(iter(s)) if len(s) == 1 else -1
    return one, next(iter({len(xs)})), next(iter(odd), 0) if len(odd) < 2 else 0


def under_prefixes(self, xs):
    """The keys are `()` at first, and tuples that get longer; a nested function looks them up before they are."""
    cache, beam = {}, {(): 0}

    def score(prefix, x):
        if prefix not in cache:
            cache[prefix] = [len(prefix), 7]
        return cache[prefix][x % 2]

    for x in xs:
        longer = {prefix + (x,): total + score(prefix, x) for prefix, total in beam.items()}  # noqa: RUF005
        beam = {**longer, **{prefix: total - x for prefix, total in beam.items()}} if x < 5 else longer
    return sorted(beam.items()), sorted(cache.items())


def made_by_class(self, xs):
    named = OrderedDict(first=len(xs), rest=sum(xs))
    named["last"] = 3
    pairs = OrderedDict([("u", 1), ("v", len(xs))])
    return named, OrderedDict(pairs), OrderedDict({"w": xs}), [*OrderedDict((x, -x) for x in xs).items()]


@pytest.mark.parametrize(
    "function",
    [
        least_recently_used,
        emptied,
        under_tuples,
        over_sets,
        over_sets_by_keys,
        constant_sets,
        views,
        views_of_constants,
        only_elements,
        made_by_class,
        under_prefixes,
    ],
    ids=lambda f: f.__name__,
)
def test_as_in_python(function: Any) -> None:
    agrees(with_forward(nn.Module(), function), LISTS)


def test_the_element_of_a_set_with_several_is_an_error_of_the_instance() -> None:
    model = with_forward(nn.Module(), lambda self, xs: next(iter({x % 2 for x in xs})))
    interpreter = Interpreter(build(model, sample=[[1, 3]]))
    assert interpreter.run([2, 4]) == 0
    with pytest.raises(InstanceError, match=r"the order of a set is not known: `next\(iter\(s\)\)`"):
        interpreter.run([1, 2])


def test_only_one_element_of_a_set_has_the_lowest_key() -> None:
    def lowest(self, xs):
        return min((x for x in set(xs)), key=lambda x: x % 2)

    interpreter = Interpreter(build(with_forward(nn.Module(), lowest), sample=LISTS[:-1]))
    assert interpreter.run([1, 2, 3]) == 2
    with pytest.raises(InstanceError, match="two elements of a set have equal keys"):
        interpreter.run([1, 2, 4])


def of_nothing(self, xs):
    table = {x: i for i, x in enumerate(xs)}
    return table.popitem()


def of_no_key(self, xs):
    table = OrderedDict((x, i) for i, x in enumerate(xs))
    table.move_to_end(1)
    return list(table)


@pytest.mark.parametrize(("function", "raising"), [(of_nothing, []), (of_no_key, [3])], ids=["popitem", "move_to_end"])
def test_what_raises_in_python_is_an_error_of_the_instance(function: Any, raising: list[int]) -> None:
    interpreter = Interpreter(build(with_forward(nn.Module(), function), sample=LISTS))
    assert interpreter.run([1, 2]) == function(None, [1, 2])
    with pytest.raises(InstanceError, match="KeyError"):
        interpreter.run(raising)


class Ranked:
    def __init__(self, rank, name):
        self.rank = rank
        self.name = name

    def __lt__(self, other):
        return self.rank < other.rank


REFUSED = {
    "a sum of floats": lambda self, xs: sum(x / 3 for x in set(xs) | {0}),
    "a list": lambda self, xs: [x + 1 for x in set(xs) | {0}],
    "objects that are equal": lambda self, xs: sorted(Ranked(x % 2, x) for x in set(xs) | {0})[0].name,
    "elements with equal keys": lambda self, xs: sorted((x for x in set(xs) | {0}), key=lambda x: x % 2),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_may_depend_on_the_order_of_a_set(name: str) -> None:
    with pytest.raises(CompileError, match="the order of a set is not known"):
        build(with_forward(nn.Module(), REFUSED[name]), sample=LISTS)


NAMED = {
    "ordered": lambda self, xs: OrderedDict([("a", len(xs))], b=2),
    "counter": lambda self, xs: Counter(xs, b=2),
    "counter of names": lambda self, xs: Counter(a=1),
    "default": lambda self, xs: defaultdict(int, a=1),
}


@pytest.mark.parametrize("name", NAMED)
def test_values_by_name_are_not_left_out(name: str) -> None:
    with pytest.raises(CompileError, match=r"`(OrderedDict|Counter|defaultdict)`"):
        build(with_forward(nn.Module(), NAMED[name]), sample=LISTS)


def is_ordered(self, named):
    return isinstance(named, OrderedDict)


def test_whether_a_dictionary_with_names_is_of_a_derived_class() -> None:
    """The program has a `dict` and an `OrderedDict` with the same names as one type."""
    with pytest.raises(CompileError, match="class derived from it"):
        build(with_forward(nn.Module(), is_ordered), sample=[OrderedDict(a=1)])
    agrees(with_forward(nn.Module(), lambda self, named: isinstance(named, (dict, OrderedDict))), [{"a": 1}, {"a": 2}])
