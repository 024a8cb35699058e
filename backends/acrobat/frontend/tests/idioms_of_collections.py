"""Short functions as `idioms.py` has them: lists in order, `itertools`, classes of the user."""

import collections
import dataclasses
import itertools
import operator
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


def made_objects_have_an_identity(xs):
    bags = [Bag() for _ in xs]
    return [bags.index(bag) for bag in bags]


# ---- iterators


def iterators_without_an_end(xs):
    numbered = [i * x for i, x in zip(itertools.count(5, 2), xs)]
    pattern = [x for x, taken in zip(xs, itertools.cycle((True, False))) if taken]
    again = list(zip(xs, itertools.cycle(xs[:2]), itertools.repeat(7)))
    known = list(zip(range(3), itertools.count(), itertools.cycle([len(xs), 1])))
    return numbered, pattern, again, known, list(itertools.islice(itertools.count(1), len(xs)))


def loop_over_a_zip_with_count(xs):
    found = []
    for i, x in zip(itertools.count(1), xs):
        if x > 4:
            break
        found.append(i * x)
    return found


def endless_loop(xs):
    n = 0
    for i in itertools.count():
        n += i
        if n > len(xs):
            break
    return n


def dictionary_of_a_zip(xs):
    return dict(zip(xs, itertools.count())), dict(zip(xs, xs, strict=True))


def compress_and_permutations(xs):
    kept = list(itertools.compress(xs, [x > 2 for x in xs])), list(itertools.compress(xs, [1, 0, 1]))
    return kept, list(itertools.permutations(xs, 3))


def map_of_several_lists(xs):
    return list(map(lambda a, b: a * b, xs, xs[1:])), list(map(operator.add, xs, itertools.count()))


def highest_by_a_key(xs):
    far = lambda x: (x * 7) % 5  # noqa: E731
    return max(len(xs), 3, key=far), max(4, *xs, key=far), min(xs, [4, 2], key=len), max("abc", "de", key=len)


def highest_of_a_list_after_a_star(xs):
    return max(*xs, key=lambda x: -x)


def keys_of_operator(xs):
    pairs = [(x, -i) for i, x in enumerate(xs)]
    return sorted(pairs, key=operator.itemgetter(1)), sorted(pairs, key=operator.itemgetter(1, 0)), sorted(xs, key=operator.neg)


# ---- containers


class Seen:
    def __init__(self):
        self.seen = set()
        self.twice = set()
        self.counts = collections.Counter()

    def add(self, x):
        if x in self.seen:
            self.twice.add(x)
        else:
            self.seen.add(x)
        self.counts.update([x, 0])


def sets_that_only_a_method_fills(xs):
    all_of_them, some = Seen(), Seen()
    for x in xs:
        all_of_them.add(x)
    if len(xs) > 2:
        some.seen.add(xs[0])
        some.seen.discard(3)
    return len(all_of_them.seen), sorted(all_of_them.twice), all_of_them.counts[0], len(some.seen)


def deque_extended_at_its_left(xs):
    found = collections.deque()
    for i, x in enumerate(xs):
        found.extendleft(xs[:i])
        found.append(x)
    return list(found)


def keys_that_are_tuples(xs):
    pairs, counts = collections.defaultdict(list), collections.defaultdict(int)
    table = {(i, i + 1): [x] for i, x in enumerate(xs)}
    for i, x in enumerate(xs):
        pairs[i, i + 1].append(x)
        pairs[(i, i + 1)].append(x + 1)
        table[i, i + 1].append(x)
        table[(i, i + 1)] += [3]
        counts[i % 2, x] += 1
        counts[x % 2, i] -= x
    return pairs, table, counts


def sets_without_a_common_element(xs):
    seen = set(xs)
    some = seen.isdisjoint([1, 2]), seen.isdisjoint(range(2, 4))
    return some, seen.isdisjoint(set(xs[1:])), seen.isdisjoint([]), set().isdisjoint(xs)


def dictionaries_joined(xs):
    found = {}
    for x in xs:
        found = {**found, x: [x]}
        found = found | {x + 1: []}
    return found


def items_replaced_in_their_loop(xs):
    ys, rows = list(xs), [[x] for x in xs]
    for i, y in enumerate(ys):
        ys[i] = y + ys[i - 1] + len(ys)
        ys[i] += 2
    for i, row in enumerate(rows):
        rows[i] = sorted([*row, 1])[:2]
    return ys, rows


def later_items_replaced_in_their_loop(xs):
    ys = list(xs)
    for i, y in enumerate(ys):
        ys[i - 1] = y
    return ys


def later_rows_changed_in_their_loop(xs):
    rows = [[[x]] for x in xs]
    sizes = []
    for i, row in enumerate(rows):
        rows[i] = [[0]]
        rows[-1][0].append(4)
        sizes.append(len(row[0]))
    return sizes


def last_of_a_list_or_none(xs):
    found = []
    for x in xs:
        before = found[-1][1] if found else None
        found.append((x, 0 if before is None else before + 1))
    return found


def _counts_down(n):
    if n > 0:
        _counts_down(n - 1)


def result_that_is_always_none(xs):
    return _counts_down(len(xs))


IDIOMS = [
    value
    for name, value in list(globals().items())
    if isinstance(value, types.FunctionType) and value.__module__ == __name__ and not name.startswith("_")
]
"""All of the functions above whose names do not begin with a `_`."""


REFUSED = {
    "object_changed_by_its_operator": "changes an object under all of its names",
    "later_items_replaced_in_their_loop": "walks over",
    "later_rows_changed_in_their_loop": "walks over",
    "result_that_is_always_none": "`result_that_is_always_none` always gives None",
}
"""Name of an idiom that is outside the language -> a part of the error's message."""
