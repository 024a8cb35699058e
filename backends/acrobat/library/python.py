"""Python's own functions on numbers, lists, sets and dictionaries, written with loops over lists."""

from backends.acrobat.library.words import fields_of, in_order, refuse


def contains(items, wanted):
    found = False
    for item in items:
        if item == wanted:
            found = True
    return found


def any_of(items):
    found = False
    for item in items:
        if item:
            found = True
    return found


def all_of(items):
    found = True
    for item in items:
        if not item:
            found = False
    return found


def rounded(number, ndigits=None):
    """`round(number)` and `round(number, ndigits)`."""
    if ndigits is None:
        return nearest_int(number)
    if ndigits < 0 or ndigits > 22:
        refuse("a number of digits that is negative or above 22")
    if isinstance(number, int):
        return number
    return nearest_decimal(number, 10.0**ndigits)


def nearest_decimal(number, scale):
    """The multiple of `1 / scale`, a power of ten, that is nearest to `number`, and of two that are equally near the even one.
    Where the product with `scale` is rounded to half a number, its error (Dekker 1971) tells which one is nearer."""
    scaled = number * scale
    if abs(scaled) >= 9007199254740992.0:  # 2**53: the numbers beside it are further away than half a digit
        return number
    low = scaled // 1.0
    above = scaled - low
    if above == 0.5:
        high = 134217729.0 * number - (134217729.0 * number - number)
        rest = number - high
        scale_high = 134217729.0 * scale - (134217729.0 * scale - scale)
        scale_rest = scale - scale_high
        error = ((high * scale_high - scaled) + high * scale_rest + rest * scale_high) + rest * scale_rest
        if error > 0.0 or (error == 0.0 and low % 2.0 == 1.0):
            low = low + 1.0
    elif above > 0.5:
        low = low + 1.0
    if low == 0.0 and number < 0.0:
        return -0.0
    return low / scale


def nearest_int(number):
    """The nearest int, and of two that are equally near the even one."""
    low = int(number // 1)
    above = number - low
    if above > 0.5:
        return low + 1
    if above < 0.5:
        return low
    return low + low % 2


def best(items, keys):
    """The item whose key is the highest, the first one if several keys are equal."""
    at = 0
    for i in range(1, len(keys)):
        if keys[i] > keys[at]:
            at = i
    return items[at]


def least(items, keys):
    at = 0
    for i in range(1, len(keys)):
        if keys[i] < keys[at]:
            at = i
    return items[at]


def only_one(keys, wanted):
    """Raises if two elements of a set have this key: which of them comes first is not known."""
    found = 0
    for key in keys:
        if key == wanted:
            found += 1
    if found > 1:
        raise ValueError("two elements of a set have equal keys, and the order of a set is not known: give `sorted(...)` of it")


def all_differ(items, keys):
    """The elements of a set, of which no two have equal keys."""
    for key in keys:
        only_one(keys, key)
    return items


def one_best(items, keys):
    """The elements of a set, of which only one has the highest key."""
    if keys:
        only_one(keys, best(keys, keys))
    return items


def one_least(items, keys):
    if keys:
        only_one(keys, least(keys, keys))
    return items


def order_of(keys, reverse):
    """The indices of `keys`, which are no numbers, in sorted order (`reverse`: descending); equal keys keep their order. Each
    key is put in its place by bisection, with the one comparison `<` that Python's sorting makes."""
    places = []
    for i in range(len(keys)):
        low = 0
        high = len(places)
        while low < high:
            middle = (low + high) // 2
            if (keys[places[middle]] < keys[i]) if reverse else (keys[i] < keys[places[middle]]):
                high = middle
            else:
                low = middle + 1
        places = places[:low] + [i] + places[low:]
    return places


def sorted_list(items, keys, reverse):
    return [items[i] for i in in_order(keys, reverse)]


def sorted_by_comparing(items, keys, reverse):
    return [items[i] for i in order_of(keys, reverse)]


def distinct(items):
    """The distinct items in the order of their first occurrence."""
    kept = items[:0]
    for item in items:
        kept = with_item(kept, item)
    return kept


def same_tree(a, b):
    """Whether two trees of tuples or lists are equal, on all levels."""
    return a == b


def same_object(one, other):
    """`one is other` where either may be None."""
    if one is None or other is None:
        return one is None and other is None
    return one is other


def index_of(items, wanted):
    """The index of the first item that equals `wanted`; the length of the list if there is none."""
    at = len(items)
    for i in range(len(items)):
        if at == len(items) and items[i] == wanted:
            at = i
    return at


def place(items, wanted):
    """`items.index(wanted)`; raises ValueError if no item equals `wanted`."""
    at = index_of(items, wanted)
    if at == len(items):
        raise ValueError(f"{wanted!r} is not in the list")
    return at


def place_in_order(items, wanted):
    """The index of `wanted` in the sorted `items`; their number if it is not among them."""
    first = bisect_left(items, wanted, 0, len(items))
    there = first < len(items) and items[min(first, len(items) - 1)] == wanted
    return first if there else len(items)


def without_first(items, wanted):
    at = place(items, wanted)
    return items[:at] + items[at + 1 :]


def count(items, wanted):
    found = 0
    for item in items:
        if item == wanted:
            found = found + 1
    return found


# ---- sets are lists of distinct items; dictionaries are lists of (key, value) pairs with distinct keys


def with_item(items, wanted):
    return items if contains(items, wanted) else items + [wanted]


def without_item(items, wanted):
    return [item for item in items if item != wanted]


def union(items, others):
    whole = items
    for item in others:
        whole = with_item(whole, item)
    return whole


def place_of(pairs, wanted):
    """The index of the pair whose key equals `wanted`; the length of the list if there is none."""
    at = len(pairs)
    for i in range(len(pairs)):
        key, _ = pairs[i]
        if key == wanted:
            at = i
    return at


def has_key(pairs, wanted):
    return place_of(pairs, wanted) < len(pairs)


def put(pairs, key, value):
    at = place_of(pairs, key)
    return pairs[:at] + [(key, value)] + pairs[at + 1 :]


def from_pairs(pairs):
    whole = pairs[:0]
    for key, value in pairs:
        whole = put(whole, key, value)
    return whole


def without_key(pairs, key):
    at = place_of(pairs, key)
    return pairs[:at] + pairs[at + 1 :]


def popped_entry(pairs, last):
    """What `popitem` takes out of a dictionary, the last entry or the first one, and the entries that are left."""
    if not pairs:
        raise KeyError("dictionary is empty")
    if last:
        return pairs[-1], pairs[:-1]
    return pairs[0], pairs[1:]


def moved_to_end(pairs, key, last):
    at = place_of(pairs, key)
    if at == len(pairs):
        raise KeyError(f"{key!r}")
    others = pairs[:at] + pairs[at + 1 :]
    if last:
        return others + [pairs[at]]
    return [pairs[at]] + others


def merged(pairs, others):
    whole = pairs
    for key, value in others:
        whole = put(whole, key, value)
    return whole


def most_common(pairs):
    """`Counter.most_common()`: the pairs (item, count) from the highest count down. Equal counts keep their order."""
    return [pairs[i] for i in in_order([count for _, count in pairs], True)]


# ---- a `Counter` is a dictionary of numbers


def number_of(pairs, wanted):
    """The value of a key; 0 if it is missing."""
    at = place_of(pairs, wanted)
    return pairs[at][1] if at < len(pairs) else 0


def added(pairs, others):
    """`Counter.update`: the values of keys in both are added."""
    whole = pairs
    for key, value in others:
        whole = put(whole, key, value + number_of(whole, key))
    return whole


def negative(pairs):
    return [(key, -value) for key, value in pairs]


def positive(pairs):
    return [(key, value) for key, value in pairs if value > 0]


def counts_added(pairs, others):
    """`a + b` of Counters."""
    return positive(added(pairs, others))


def counts_subtracted(pairs, others):
    """`a - b` of Counters."""
    return positive(added(pairs, negative(others)))


def larger_counts(pairs, others):
    """`a | b` of Counters."""
    first = [(key, max(value, number_of(others, key))) for key, value in pairs]
    return positive(first + [(key, value) for key, value in others if not has_key(pairs, key)])


def smaller_counts(pairs, others):
    """`a & b` of Counters."""
    return positive([(key, min(value, number_of(others, key))) for key, value in pairs])


def total_count(pairs):
    return sum([value for _, value in pairs])


def repeated_keys(pairs):
    """`Counter.elements()`."""
    return [key for key, value in pairs for _ in range(value)]


# ---- places in sorted lists


def bisect_left(items, wanted, first, last):
    while first < last:
        middle = (first + last) // 2
        if items[middle] < wanted:
            first = middle + 1
        else:
            last = middle
    return first


def bisect_right(items, wanted, first, last):
    while first < last:
        middle = (first + last) // 2
        if wanted < items[middle]:
            last = middle
        else:
            first = middle + 1
    return first


def inserted(items, at, item):
    return items[:at] + [item] + items[at:]


def common(items, others):
    return [item for item in items if contains(others, item)]


def lacking(items, others):
    return [item for item in items if not contains(others, item)]


def in_one(items, others):
    return lacking(items, others) + lacking(others, items)


def within_set(items, others):
    found = True
    for item in items:
        if not contains(others, item):
            found = False
    return found


def same(items, others):
    if len(items) != len(others):
        return False
    equal = True
    for i in range(len(items)):
        if items[i] != others[i]:
            equal = False
    return equal


def before(items, others):
    """`items < others` of lists: the first items that differ decide, or else the lengths."""
    for i in range(min(len(items), len(others))):
        if items[i] != others[i]:
            return items[i] < others[i]
    return len(items) < len(others)


def not_after(items, others):
    """`items <= others` of lists."""
    for i in range(min(len(items), len(others))):
        if items[i] != others[i]:
            return items[i] <= others[i]
    return len(items) <= len(others)


def equal(one, other):
    """`one == other` of objects of a dataclass."""
    return fields_of(one) == fields_of(other)


def less(one, other):
    return fields_of(one) < fields_of(other)


def not_greater(one, other):
    return fields_of(one) <= fields_of(other)
