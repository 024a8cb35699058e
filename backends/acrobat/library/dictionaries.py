"""Dictionaries, which are lists of (key, value) pairs with distinct keys. A `Counter` is a dictionary of numbers."""

from backends.acrobat.library.words import in_order


def place_of(pairs, target):
    """The index of the pair whose key equals `target`; the length of the list if there is none."""
    at = len(pairs)
    for i in range(len(pairs)):
        key, _ = pairs[i]
        if key == target:
            at = i
    return at


def has_key(pairs, target):
    return place_of(pairs, target) < len(pairs)


def same(pairs, others):
    """Whether two dictionaries have equal values at the same keys, in whatever order."""
    if len(pairs) != len(others):
        return False
    equal = True
    for key, value in pairs:
        at = place_of(others, key)
        if at == len(others) or others[at][1] != value:
            equal = False
    return equal


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


def number_of(pairs, target):
    """The value of a key; 0 if it is missing."""
    at = place_of(pairs, target)
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
