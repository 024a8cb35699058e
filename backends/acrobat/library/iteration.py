"""`itertools`, `functools.reduce` and Python's functions on iterators, implemented on lists. A list can replace an iterator
here, since the language has iterators used up where they are made. A parameter that is a function comes first."""

from backends.acrobat.library.searching import count
from backends.acrobat.library.sets import distinct


def pairwise(iterable):
    return [(iterable[i], iterable[i + 1]) for i in range(len(iterable) - 1)]


def transposed(rows):
    """`zip(*rows)` of lists: as long as the shortest of them, and empty if there is none."""
    size = min([len(row) for row in rows]) if rows else 0
    return [tuple([row[i] for row in rows]) for i in range(size)]


def pairs(items):
    """`itertools.combinations(items, 2)`."""
    return [(items[i], items[j]) for i in range(len(items)) for j in range(i + 1, len(items))]


def triples(items):
    """`itertools.combinations(items, 3)`."""
    size = range(len(items))
    return [(items[i], items[j], items[k]) for i in size for j in range(i + 1, len(items)) for k in range(j + 1, len(items))]


def pairs_with_themselves(items):
    return [(items[i], items[j]) for i in range(len(items)) for j in range(i, len(items))]


def ordered_pairs(items):
    """`itertools.permutations(items, 2)`."""
    return [(items[i], items[j]) for i in range(len(items)) for j in range(len(items)) if i != j]


def combinations(items, r):
    """`itertools.combinations(items, r)` of a number that is known at run time only: each row of indices is one of the rows
    before with a further index. The rows are in the order of the indices, as itertools gives them."""
    check_number(r)
    rows = [list(range(0))]
    for _ in range(r):
        rows = [row + [i] for row in rows for i in range(row[-1] + 1 if row else 0, len(items))]
    return chosen(items, rows)


def combinations_with_replacement(items, r):
    check_number(r)
    rows = [list(range(0))]
    for _ in range(r):
        rows = [row + [i] for row in rows for i in range(row[-1] if row else 0, len(items))]
    return chosen(items, rows)


def permutations(items, r):
    check_number(r)
    rows = [list(range(0))]
    for _ in range(r):
        rows = [row + [i] for row in rows for i in range(len(items)) if i not in row]
    return chosen(items, rows)


def check_number(r):
    if r < 0:
        raise ValueError("r must be non-negative")


def chosen(items, rows):
    return [tuple([items[i] for i in row]) for row in rows]


def not_before(stop, start):
    return max(stop, start)


def in_turn(modules, x):
    for module in modules:
        x = module(x)
    return x


def in_tuples(items):
    return [(x,) for x in items]


def with_each(rows, items):
    return [(*row, x) for row in rows for x in items]


def product_of_all(lists):
    chosen = [[]]
    for items in lists:
        chosen = [[*row, x] for row in chosen for x in items]
    return chosen


def accumulated(function, items):
    results = items[:0]
    for item in items:
        results = results + [function(results[-1], item) if results else item]
    return results


def accumulated_from(function, items, initial):
    total = initial
    totals = [total]
    for item in items:
        total = function(total, item)
        totals = totals + [total]
    return totals


def reduced(function, items, initial):
    total = initial
    for item in items:
        total = function(total, item)
    return total


def reduced_alone(function, items):
    if not items:
        raise TypeError("reduce() of empty iterable with no initial value")
    return reduced(function, items[1:], items[0])


def filtered(function, iterable):
    if function is None:
        return [item for item in iterable if item]
    return [item for item in iterable if function(item)]


def filtered_out(predicate, iterable):
    if predicate is None:
        return [item for item in iterable if not item]
    return [item for item in iterable if not predicate(item)]


def compressed(data, selectors):
    return [item for item, selected in zip(data, selectors) if selected]


def mapped_to_several(function, iterable):
    """`itertools.starmap`."""
    return [function(*items) for items in iterable]


def cycled(items, count):
    """The first `count` items of `itertools.cycle`: none of an empty list."""
    return [items[i % len(items)] for i in range(count)] if items else items


def ordered_triples(items):
    """`itertools.permutations(items, 3)`."""
    size = range(len(items))
    return [(items[i], items[j], items[k]) for i in size for j in size if i != j for k in size if k != i and k != j]


def at_least_two(items):
    """The arguments of `max` and `min` with a `*` among them, of which there must be several."""
    if len(items) < 2:
        raise TypeError("a number after * is not iterable")
    return items


def as_many(items, count):
    """The arguments for the rest of a text's fields, of which there must be as many."""
    if len(items) != count:
        raise TypeError("not as many arguments as the format string has fields")
    return items


def count_while(predicate, items):
    """How many items there are before the first one for which `predicate` does not hold."""
    count = 0
    while count < len(items) and predicate(items[count]):
        count = count + 1
    return count


def taken_while(predicate, iterable):
    return iterable[: count_while(predicate, iterable)]


def dropped_while(predicate, iterable):
    return iterable[count_while(predicate, iterable) :]


def zipped_longest(first, second, fillvalue=None):
    size = max(len(first), len(second))
    return [(first[i] if i < len(first) else fillvalue, second[i] if i < len(second) else fillvalue) for i in range(size)]


def grouped(iterable, key=None):
    """`itertools.groupby`: the key and the items of each run of consecutive items with equal keys."""
    items = iterable
    keys = items if key is None else [key(item) for item in items]
    starts = [i for i in range(len(items)) if i == 0 or keys[i] != keys[i - 1]]
    ends = starts[1:] + [len(items)]
    return [(keys[start], items[start:end]) for start, end in zip(starts, ends)]


def stepped(items, start, stop, step):
    """The items at the indices `range(start, stop, step)`, which `bounds` computes for a slice."""
    return [items[i] for i in range(start, stop, step)]


def bounds(size, start, stop, step):
    """The first two of `slice(start, stop, step).indices(size)`; `start` and `stop` may be None."""
    low = 0 if step > 0 else -1
    high = size if step > 0 else size - 1
    first = (low if step > 0 else high) if start is None else within(start, size, low, high)
    last = (high if step > 0 else low) if stop is None else within(stop, size, low, high)
    return first, last


def within(at, size, low, high):
    at = at + size if at < 0 else at
    return max(low, min(at, high))


def repeated(items, times):
    whole = items[:0]
    for _ in range(times):
        whole = whole + items
    return whole


def numbered(items, start):
    return list(zip(range(start, start + len(items)), items))


def same_length(first, second):
    if len(first) != len(second):
        raise ValueError(f"zip() of {len(first)} and {len(second)} elements with strict=True")
    return first


def counted(items):
    """A pair (item, number of occurrences) for each distinct item, in the order of first occurrence."""
    return [(item, count(items, item)) for item in distinct(items)]


def joined(lists, start):
    whole = start
    for items in lists:
        whole = whole + items
    return whole


def power(base, exponent):
    """`base ** exponent` of ints with an exponent that is not negative."""
    result = 1
    for _ in range(exponent):
        result = result * base
    return result


def power_by_squares(base, exponent):
    """`base ** exponent` of ints that are known at run time only. No square is computed that the result is not a multiple of,
    so that only a result that is too large is an error."""
    if exponent < 0:
        raise ValueError(f"{base} ** {exponent} is a float in Python: write `float(x) ** n` where n may be negative")
    result = 1
    while exponent > 0:
        if exponent % 2 == 1:
            result = result * base
        exponent = exponent // 2
        if exponent > 0:
            base = base * base
    return result


def rotated(items, steps):
    """The items with the last `steps` of them first; a negative number takes from the front."""
    if not items:
        return items
    at = len(items) - steps % len(items)
    return items[at:] + items[:at]


class Counter:
    """`itertools.count(value, step)` as an object, which may have several names."""

    def __init__(self, value, step):
        self.value = value
        self.step = step

    def __next__(self):
        value = self.value
        self.value = value + self.step
        return value
