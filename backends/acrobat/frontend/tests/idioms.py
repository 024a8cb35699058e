"""Short functions as users of Python write them, one for each idiom. Each takes a list of ints."""

import collections
import dataclasses
import functools
import itertools
import math
import operator
import types
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from itertools import (
    accumulate,
    chain,
    combinations,
    groupby,
    islice,
    pairwise,
    permutations,
    product,
    repeat,
    takewhile,
    zip_longest,
)
from typing import NamedTuple


def walrus(xs):
    if (n := len(xs)) > 3:
        return n
    return -n


def while_true_that_returns(xs):
    i = 0
    total = 0
    while True:
        if i >= len(xs) or total > 9:
            return total, i
        for x in xs[i:]:
            if x == 9:
                break
            total += 1
        total += xs[i]
        i += 1


def _first_above(xs, limit):
    i = 0
    while True:
        if xs[i] > limit:
            return i
        i += 1


def while_true_that_returns_or_raises(xs):
    return [_first_above(xs, x - 1) for x in xs] + [_first_above(xs, 2)]


def walrus_in_while(xs):
    i = 0
    while (i := i + 2) < len(xs):
        pass
    return i


def walrus_in_comprehension(xs):
    return [y for x in xs if (y := x * x) > 4]


def for_else(xs):
    for x in xs:
        if x == 3:
            found = "yes"
            break
    else:
        found = "no"
    return found


def while_else(xs):
    i = 0
    while i < len(xs):
        if xs[i] < 0:
            break
        i += 1
    else:
        i = -1
    return i


def while_true(xs):
    i, total = 0, 0
    while True:
        if i >= len(xs):
            break
        if xs[i] % 2:
            i += 1
            continue
        total += xs[i]
        i += 1
    return total


def enumerate_from_one(xs):
    return [i * x for i, x in enumerate(xs, start=1)], [i for i, _ in enumerate(xs, 5)]


def slices_with_steps(xs):
    return xs[::2], xs[1::3], xs[-1:0:-1], xs[::-2], xs[5:1:-2], xs[-2:]


def strict_zip(xs):
    return sum(a * b for a, b in zip(xs, [x + 1 for x in xs], strict=True))


def _added(first, *rest, scale=1):
    return first + scale * sum(rest)


def star_parameters(xs):
    return _added(len(xs), 1, 2, 3) + _added(4) + _added(1, 2, scale=3)


def star_arguments(xs):
    pair = (len(xs), 2)
    return _added(*pair) + _added(1, *pair, 3)


def _named(a, b=2, **others):
    return a + b + others.get("c", 10)


def keyword_arguments(xs):
    options = {"b": 5, "c": 7}
    return _named(len(xs), **options) + _named(1, b=3)


def nested_function(xs):
    scale = len(xs)

    def scaled(x, by=2):
        return x * scale + by

    return [scaled(x) for x in xs] + [scaled(1, by=5)]


def recursive_nested_function(xs):
    def total(i):
        if i >= len(xs):
            return 0
        return xs[i] + total(i + 1)

    return total(0)


def named_lambda(xs):
    double = lambda x: 2 * x  # noqa: E731
    return list(map(double, xs)) + [double(len(xs))]


def filtered(xs):
    return list(filter(lambda x: x > 2, xs)), list(filter(None, xs))


def generator_function(xs):
    def evens():
        for x in xs:
            if x % 2 == 0:
                yield x
                yield x + 1

    return list(evens()), sum(evens())


def _pairs(xs):
    for i in range(len(xs) - 1):
        yield xs[i], xs[i + 1]


def generator_in_loop(xs):
    total = 0
    for a, b in _pairs(xs):
        total += a * b
    return total


def next_of_generator(xs):
    return next((x for x in xs if x > 3), -1), next((i for i, x in enumerate(xs) if x == 2), None)


def counter(xs):
    counts = Counter(xs)
    return counts[3], counts[99], len(counts), max(counts.values(), default=0)


def default_dict(xs):
    groups = defaultdict(list)
    for i, x in enumerate(xs):
        groups[x % 3].append(i)
    return groups[0], {k: len(v) for k, v in groups.items()}


def default_dict_of_ints(xs):
    counts = collections.defaultdict(int)
    for x in xs:
        counts[x] += 1
    return [counts[x] for x in xs]


def dict_methods(xs):
    d = {x: i for i, x in enumerate(xs)}
    d.setdefault(100, 7)
    last = d.pop(100)
    d.update({5: 50})
    gone = d.pop(77, -1)
    return sorted(d), last, gone, d.get(5), d.get(1000) is None, 5 in d


def del_of_entries(xs):
    d = {x: x for x in xs}
    d[1] = 1
    del d[1]
    ys = list(xs)
    ys.append(1)
    del ys[0]
    return d, ys


def deque_of_both_ends(xs):
    q = deque(xs)
    q.appendleft(7)
    q.append(8)
    a, b = q.popleft(), q.pop()
    q.extend([1, 2])
    return a, b, len(q), list(q)


def deque_with_limit(xs):
    q = deque(maxlen=2)
    for x in xs:
        q.append(x)
    return list(q)


def deques_with_limits(xs):
    last = collections.deque(xs, maxlen=3)
    first = deque([0], 2)
    window: deque[int] = deque(maxlen=len(xs) // 2)
    sums = []
    for x in xs:
        first.appendleft(x)
        window.append(x)
        if window and len(window) > 1:
            sums.append(sum(window) + window[0])
    last.append(7)
    return list(last), [x for x in first], sums, max(last)


def deque_with_a_limit_given_away(xs):
    q = deque(maxlen=2)
    _pushed(q, len(xs))
    return list(q)


def _pushed(q, x):
    q.append(x)


Edge = namedtuple("Edge", ["source", "target"])


class Span(NamedTuple):
    start: int
    end: int = 9

    @property
    def width(self):
        return self.end - self.start


def named_tuples(xs):
    edges = [Edge(i, x) for i, x in enumerate(xs)]
    span = Span(len(xs))
    start, end = span
    return (
        sum(e.target - e.source for e in edges),
        span.width,
        start + end,
        span._replace(end=3).end,
        edges[0].target if edges else 0,
    )


@dataclasses.dataclass
class State:
    total: int
    seen: list
    best: int = -1

    def grown(self, x):
        return dataclasses.replace(self, total=self.total + x, seen=self.seen + [x])


def dataclass_replace(xs):
    s = State(0, [0])
    for x in xs:
        s = s.grown(x)
    return s.total, len(s.seen), s.best


@dataclasses.dataclass
class Tally:
    count: int = 0
    items: list = dataclasses.field(default_factory=list)

    def add(self, x):
        self.count += 1
        self.items.append(x)


def changed_attributes(xs):
    t = Tally()
    for x in xs:
        if x % 2:
            t.add(x)
    t.count *= 2
    return t.count, t.items


class Stack:
    EMPTY = 0

    def __init__(self, first):
        self.items = [first]
        self.pushed = 0

    def push(self, x):
        self.items.append(x)
        self.pushed += 1
        return self

    def pop(self):
        return self.items.pop()

    @property
    def top(self):
        return self.items[-1]

    @staticmethod
    def twice(x):
        return 2 * x

    @classmethod
    def of(cls, xs):
        made = cls(cls.EMPTY)
        for x in xs:
            made.push(x)
        return made

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def stack_class(xs):
    s = Stack.of(xs)
    s.push(4)
    a = s.pop()
    return a, s.top, s.pushed, Stack.twice(3), len(s), s[0]


class Shape:
    def __init__(self, size):
        self.size = size

    def area(self):
        return 0

    def described(self):
        return self.area() + 1


class Square(Shape):
    def __init__(self, size):
        super().__init__(size)
        self.kind = "square"

    def area(self):
        return super().area() + self.size * self.size


def inheritance(xs):
    s = Square(len(xs))
    return s.described(), s.kind == "square", isinstance(s, Shape)


def itertools_chain(xs):
    return list(chain(xs, [1, 2])), list(chain.from_iterable([[x, x] for x in xs])), sum(itertools.chain(xs, xs))


def itertools_pairs(xs):
    return [a - b for a, b in pairwise(xs)], [a * b for a, b in combinations(xs, 2)]


def itertools_product(xs):
    return [a + b for a, b in product(xs, [0, 10])], [a for a, b in product(range(2), repeat=2)]


def itertools_accumulate(xs):
    return list(accumulate(xs)), list(accumulate(xs, max)), list(accumulate(xs, lambda a, b: a * 2 + b))


def itertools_islice(xs):
    return list(islice(xs, 2)), list(islice(xs, 1, 3)), list(takewhile(lambda x: x < 4, xs))


def itertools_longest(xs):
    return [a + b for a, b in zip_longest(xs, [1, 2, 3, 4], fillvalue=0)], list(repeat(5, 3))


def itertools_filters(xs):
    small = list(takewhile(lambda x: x < 4, xs)), list(itertools.dropwhile(lambda x: x < 4, xs))
    return list(itertools.filterfalse(None, xs)), list(itertools.filterfalse(lambda x: x > 2, xs)), small


def itertools_of_several(xs):
    chosen = list(itertools.compress(xs, [x > 1 for x in xs]))
    return chosen, list(itertools.starmap(lambda i, x: i - 2 * x, enumerate(xs))), list(itertools.starmap(max, pairwise(xs)))


def itertools_groupby_key(xs):
    return [(k, list(g)) for k, g in groupby(xs, key=lambda x: x % 2)]


def itertools_groupby(xs):
    return [(k, len(list(g))) for k, g in groupby(sorted(xs))]


def functools_reduce(xs):
    return functools.reduce(lambda a, b: a + 2 * b, xs, 0), functools.reduce(operator.add, xs, 1), functools.reduce(max, xs, 0)


def functools_partial(xs):
    add = functools.partial(_added, 10)
    return add(len(xs)) + add(1, scale=4)


def math_functions(xs):
    n = len(xs) + 1
    return (
        math.sqrt(n),
        math.log(n),
        math.floor(n / 2),
        math.ceil(n / 2),
        math.exp(-n),
        math.isqrt(n),
        math.copysign(n, -len(xs)),
        math.copysign(2, len(xs) - 1.0),
        math.copysign(1.5, -0.0 * n),
        math.pi * n,
        math.inf > n,
    )


def math_of_floats(xs):
    total, product = 0.0, 1.0
    for x in xs:
        total += math.log(x + 0.5) + math.tanh(x / 7) + math.log(x, 2) - math.log2(x) * math.sin(x) ** 2
        product *= 0.9**x + math.pow(x, 1.5)
    near = math.isclose(total, 0.0, abs_tol=1.0), math.isinf(product), math.isnan(total / product)
    return (
        total,
        math.ceil(product),
        math.floor(-product),
        math.trunc(total),
        near,
        math.sqrt(total),
        min(total, 3.0),
        round(product),
    )


def indices_before_the_start(xs):
    ys = list(xs)
    ys.insert(-3, 7)
    ys[-4] = 5
    popped = ys.pop(-3)
    return ys, popped


def rounding(xs):
    n = len(xs) / 3 + 0.05
    return round(n), int(n), divmod(len(xs), 3), pow(len(xs), 2), len(xs) ** 2, 2 ** len(xs), n**0.5


def min_max(xs):
    return min(xs, default=3), max(xs, default=-1), max(xs, key=lambda x: -x, default=0), sorted(xs, reverse=True)


def sort_by_tuples(xs):
    pairs = [(x % 3, x) for x in xs]
    pairs.sort(key=lambda p: (-p[0], p[1]))
    return pairs, sorted(pairs), max(pairs, default=(0, 0)), min(pairs, key=lambda p: (p[1], p[0]), default=(0, 0))


def argmax_by_range(xs):
    return max(range(len(xs)), key=lambda i: xs[i], default=-1), max(range(len(xs)), key=xs.__getitem__, default=-1)


def chained_comparison(xs):
    return [0 < x <= 4 for x in xs], any(0 < x < 3 for x in xs), all(x != 9 for x in xs), not xs


def match_statement(xs):
    match xs:
        case []:
            return 0
        case [x]:
            return x
        case [first, *rest]:
            return first + 10 * len(rest)
        case _:
            return -1


def match_on_values(xs):
    out = []
    for x in xs:
        match x:
            case 0 | 1:
                out.append("low")
            case n if n > 4:
                out.append("high")
            case _:
                out.append("middle")
    return out


def try_finally(xs):
    try:
        total = sum(xs)
    finally:
        pass
    return total


def list_methods(xs):
    ys = xs.copy()
    ys.extend(x + 1 for x in xs)
    ys += [1, 2]
    ys.insert(0, 9)
    ys.remove(9)
    ys.reverse()
    ys[0] = 5
    ys[-1] += 3
    del ys[-1]
    return ys, ys.index(5), ys.count(1), 5 in ys


def list_arithmetic(xs):
    return [0] * len(xs) + xs * 2, [[0, 1] for _ in xs], [1, 2] * 3, xs == [1], xs != xs, xs == xs[:]


def list_of_lists(xs):
    table = [[0] * 3 for _ in range(2)]
    for i, x in enumerate(xs):
        table[i % 2][x % 3] += x
    return table


def dict_of_lists(xs):
    children = {i: [] for i in range(4)}
    for i, x in enumerate(xs):
        children[i % 4].append(x)
    return [len(children[i]) for i in range(4)]


def string_work(xs):
    text = "-".join(str(x) for x in xs)
    label = f"n{len(xs)}"
    return text, label, "a" + label, label.upper(), label.startswith("n"), len(label), "n" in label


def string_keys(xs):
    d = {"low": 0, "high": 0}
    for x in xs:
        d["low" if x < 4 else "high"] += x
    return d, d["low"]


def conditional_expressions(xs):
    last = xs[-1] if xs else None
    return (last or 7), last is None, (last if last is not None else 0) + 1


def tuple_building(xs):
    t = tuple(xs)
    return len(t), t[:2], t + (1,), list(t)


def swap_and_unpack(xs):
    a, b = 1, 2
    a, b = b, a + b
    first, *rest = [0, *xs]
    *start, last = [*xs, 5]
    (c, d), e = (a, b), first
    return a, b, first, rest, start, last, c + d + e


def set_work(xs):
    s = set(xs)
    s.add(3)
    s.discard(1)
    t = {x for x in xs if x > 2}
    return len(s), sorted(s & t), sorted(s | t), sorted(s - t), s <= t, 3 in s, sorted(s ^ t)


def early_return_in_nested_loops(xs):
    for i, x in enumerate(xs):
        for j in range(i):
            if xs[j] == x:
                return i, j
    return None


def memo_by_key(xs):
    memo = {}

    def fib(n):
        if n < 2:
            return n
        if n not in memo:
            memo[n] = fib(n - 1) + fib(n - 2)
        return memo[n]

    return fib(min(len(xs), 6))


def ordered_dict(xs):
    d = OrderedDict()
    for x in xs:
        d[x] = x + 1
    return list(d.items())


def permutations_of_three(xs):
    return [a * 4 + b * 2 + c for a, b, c in permutations((0, 1, 2))]


def nonlocal_counter(xs):
    count = 0

    def bump(x):
        nonlocal count
        count += x

    for x in xs:
        bump(x)
    return count


def sum_of_lists(xs):
    return sum([[x, 1] for x in xs], [])


def print_and_del(xs):
    y = len(xs)
    z = y + 1
    del y
    return z


def global_constant_list(xs):
    return [LEVELS[x % 3] for x in xs], NAMES[len(xs) % 2]


LEVELS = [10, 20, 30]
NAMES = ("even", "odd")


def alias_of_a_row(xs):
    table = [[0] * 2 for _ in range(3)]
    row = table[1]
    for i, x in enumerate(xs):
        table[i % 3][x % 2] += x
    return row, table


def row_put_into_a_table(xs):
    row = [1]
    table = [row, [2]]
    table[0].append(len(xs))
    return row, table


def repeated_row(xs):
    table = [[0]] * 2
    table[0].append(len(xs))
    return table


def alias_by_a_loop(xs):
    table = [[x] for x in xs]
    for row in table:
        table[0].append(1)
        if len(row) > 5:
            break
    return table


def alias_by_a_method(xs):
    s = Stack(1)
    items = s.items
    s.push(len(xs))
    return items, s.items


def alias_of_an_object(xs):
    s = Stack(1)
    t = s
    t.push(len(xs))
    return s.items


def object_in_a_list(xs):
    s = Stack(1)
    both = [s, Stack(2)]
    both[0].push(len(xs))
    return s.items


def result_of_a_method(xs):
    s = Stack(1)
    t = s.push(5)
    t.push(len(xs))
    return s.items, s.pushed


def object_given_away(xs):
    s = Stack(1)
    _fill(s, xs)
    t = Stack(s.top)
    return s.items, t.items


def _fill(stack, xs):
    for x in xs:
        stack.push(x)


def defaults_that_are_looked_up(xs):
    d = defaultdict(list)
    seen = d[len(xs)]
    return len(d), len(seen)


def generator_that_is_fed(xs):
    todo = [3]

    def steps():
        while todo:
            yield todo.pop()

    found = []
    for step in steps():
        found.append(step)
        if step > 0:
            todo.append(step - 1)
    return found


def changed_while_walked(xs):
    ys = [1, 2]
    for y in ys:
        if len(ys) < 4:
            ys.append(y)
    return ys


def late_binding(xs):
    n = 1
    f = lambda x: x + n  # noqa: E731
    n = 10
    return [f(x) for x in xs]


def order_of_walrus(xs):
    n = 1
    return n + (n := 2) + n


def maybe_unassigned(xs):
    for i, x in enumerate(xs):
        last = x * i
    return last if xs else -1


def assigned_in_a_branch(xs):
    if len(xs) > 2:
        y = xs[0]
    if len(xs) > 1:
        return y
    return 0


def slice_put(xs):
    ys = list(xs)
    ys[1:3] = [7]
    ys[-1:] = [8, 9]
    del ys[:1]
    return ys


def _tens_and_ones(a, b):
    return a * 10 + b


def _of_three(a, b, c=7):
    return a + b * c


def spread_over_parameters(xs):
    return _tens_and_ones(*xs)


def spread_after_others(xs):
    return _tens_and_ones(len(xs), *xs[:1]), _of_three(*xs, c=2)


def spread_over_a_lambda(xs):
    difference = lambda a, b: a - b  # noqa: E731
    return difference(*xs)


def spread_over_a_nested_function(xs):
    def difference(a, b):
        return a - b

    return [difference(*pair) for pair in [xs[:2], xs[-2:]]]


def spread_over_defaults(xs):
    return _of_three(*xs)


def most_of_a_spread_list(xs):
    return max(*xs), min(*xs)


def most_of_numbers_and_a_list(xs):
    return max(3, 4, *xs), min(3, *xs), max(*xs, 4), max(0.5, *(x / 2 for x in xs)), min(2.5, *(float(x) for x in xs), 7.5)


def least_of_an_empty_spread(xs):
    return min(3, *xs[:0], 2.5), max(1, 2, *xs[:0])


def most_of_one_and_nothing(xs):
    return max(3, *xs[:0]) if xs else 0


GRAMMAR = [(0, [1, 0]), (1, [2]), (2, [])]
ALTERNATIVES = {0: [[1, 0], [2]], 1: [[], [0]]}
NAMES = "a.b".split(".")


def constant_lists_in_tuples(xs):
    return [symbol for x in xs for symbol in GRAMMAR[x % 3][1]], [GRAMMAR[x % 3] for x in xs]


def constant_lists_in_a_dictionary(xs):
    return [len(rule) for x in xs for rule in ALTERNATIVES[x % 2]], ALTERNATIVES[1]


def expanding_a_grammar(xs):
    agenda, leaves = [x % 3 for x in xs], []
    while agenda and len(leaves) < 9:
        symbol = agenda.pop()
        leaves.append(symbol)
        for each in GRAMMAR[symbol][1]:
            agenda.append(each)
    return leaves


def constant_list_or_a_new_one(xs):
    return (NAMES, ALTERNATIVES[0] if xs else [[3]])


def constant_list_that_is_changed(xs):
    rule = ALTERNATIVES[0][xs[0] % 2] if xs else []
    rule.append(3)
    return rule


def path_in_a_tuple(xs):
    def go(i, path):
        return path if i == len(xs) else go(i + 1, (*path, xs[i]))

    return go(0, ())


class Itself:
    def __init__(self, xs):
        self.xs, self.at = xs, 0

    def __iter__(self):
        return self

    def __next__(self):
        self.at += 1
        if self.at > len(self.xs):
            raise StopIteration
        return self.xs[self.at - 1]


def object_that_is_its_own_iterator(xs):
    return [x for x in Itself(xs)]


def table_of_functions(xs):
    def double(x):
        return 2 * x

    def negative(x):
        return -x

    table = {0: double, 1: negative, 2: abs}
    return [table[x % 3](x) for x in xs], [table.get(x, double)(x) for x in xs], 7 in table, len(table), list(table)


def table_of_lambdas(xs):
    table = {"small": lambda x: x + 1, "large": lambda x: x - len(xs)}
    return [table["small" if x < 3 else "large"](x) for x in xs], [f(3) for f in table.values()]


def list_of_functions(xs):
    functions = [lambda x: x + 1, lambda x: 2 * x]
    return [functions[x % 2](x) for x in xs], [functions[x - 3](x) for x in xs if x < 4]


def table_of_functions_that_change_a_list(xs):
    def put(ys, x):
        ys.append(x)

    def take(ys, x):
        if ys:
            ys.pop()

    table, ys = {0: put, 1: take}, [4]
    for x in xs:
        table[x % 2](ys, x)
    return ys


def table_without_the_key(xs):
    table = {1: lambda x: x, 2: lambda x: -x}
    return [table[x](x) for x in xs]


IDIOMS = [
    value
    for name, value in list(globals().items())
    if isinstance(value, types.FunctionType) and value.__module__ == __name__ and not name.startswith("_")
]
"""All of the functions above whose names do not begin with a `_`."""


REFUSED = {
    "spread_over_defaults": "have a default value",
    "rounding": "a power",
    "alias_of_a_row": "may be seen elsewhere",
    "row_put_into_a_table": "may be seen elsewhere",
    "repeated_row": "may be seen elsewhere",
    "alias_by_a_loop": "walks over",
    "alias_by_a_method": "may be seen under another name",
    "generator_that_is_fed": "is walked over",
    "changed_while_walked": "walks over",
    "late_binding": "has another value by now",
    "order_of_walrus": ":=",
    "constant_list_that_is_changed": "may be seen under another name",
    "object_that_is_its_own_iterator": "its own iterator",
}
"""Name of an idiom that is outside the language -> a part of the error's message."""
