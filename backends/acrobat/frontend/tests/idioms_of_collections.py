"""Short functions as `idioms.py` has them: lists in order, `itertools`, classes of the user."""

import dataclasses
import types
from typing import NamedTuple

# ---- order


def lists_in_order(xs):
    return xs < [2, 2], xs <= [3], xs < [2], xs >= [9, 9], [1.0, float("nan")] <= [1.0, float(len(xs))]


def sorted_lists(xs):
    tails = [xs[i:] for i in range(len(xs))]
    return sorted(tails), sorted(tails, key=lambda t: (len(t) % 2, t), reverse=True), max(tails, default=[]), min([*tails, [4]])


def sorted_nested_tuples(xs):
    return sorted([((x, str(x)), [i]) for i, x in enumerate(xs)])


def sorted_strings_keep_their_order(xs):
    return sorted(range(len(xs)), key=lambda i: str(xs[i])), sorted(range(len(xs)), key=lambda i: str(xs[i]), reverse=True)


# ---- objects


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, times):
        return Vector(self.x * times, self.y * times)

    def __rmul__(self, times):
        return self * times

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def __sub__(self, other):
        return self + (-other)

    def __eq__(self, other):
        return self.x == other.x and self.y == other.y

    def __hash__(self):
        return hash((self.x, self.y))

    def __lt__(self, other):
        return self.x < other.x


class Grown(Vector):
    def __radd__(self, other):
        return Vector(other.x - self.x, 0)


class Bag:
    def __init__(self):
        self.n = 0

    def __iadd__(self, n):
        self.n += n
        return self


@dataclasses.dataclass(order=True)
class Entry:
    cost: int
    name: str
    note: int = dataclasses.field(default=0, compare=False)


class Pair(NamedTuple):
    a: int
    b: int


def operators_of_objects(xs):
    v = Vector(len(xs), 2)
    for x in xs:
        v += 2 * Vector(x, 1) - v * 3
    return v.x, v.y, v == v * 1, -v != v * 2


def derived_class_is_asked_first(xs):
    return (Vector(len(xs), 1) + Grown(1, 1)).x, (Grown(len(xs), 1) + Vector(1, 1)).x


def sum_of_objects(xs):
    return sum([Vector(x, 1) for x in xs], Vector(0, 0)).x


def objects_in_order(xs):
    vectors = [Vector(x, i) for i, x in enumerate(xs)]
    in_order = sorted(vectors) + sorted(vectors, reverse=True)
    return [v.y for v in in_order], max([*vectors, Vector(2, 7)]).y, [v > Vector(2, 0) for v in vectors]


def objects_found_by_equality(xs):
    vectors = [Vector(x, 1) for x in xs]
    seen = {v: v.x for v in vectors}
    return Vector(3, 1) in vectors, vectors.index(Vector(xs[-1], 1)) if xs else -1, len(seen)


def object_changed_by_its_operator(xs):
    bag = Bag()
    bag += len(xs)
    return bag.n


def entries_of_a_dataclass(xs):
    entries = [Entry(x, str(i), note=-i) for i, x in enumerate(xs)]
    best = sorted(entries)
    pairs = [a <= b for a in entries for b in best]
    return [e.note for e in best], Entry(3, "0", 5) in entries, pairs, Entry(1, "a") > Entry(0, "b")


def named_tuples_in_order(xs):
    pairs = [Pair(x, -i) for i, x in enumerate(xs)]
    return [p.b for p in sorted(pairs)], (1, 0) in pairs, [p == (3, -1) for p in pairs], Pair(1, 2) < (1, 3)


def made_objects_have_no_identity(xs):
    bags = [Bag() for _ in xs]
    return [bags.index(bag) for bag in bags]


IDIOMS = [
    value
    for name, value in list(globals().items())
    if isinstance(value, types.FunctionType) and value.__module__ == __name__ and not name.startswith("_")
]
"""All of the functions above."""


REFUSED = {
    "object_changed_by_its_operator": "changes an object under all of its names",
    "made_objects_have_no_identity": "not told apart by identity",
}
"""Name of an idiom that is outside the language -> a part of the error's message."""
