"""The order of items by their keys: the first, the last, all of them."""

from backends.acrobat.library.words import in_order


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


def only_one(keys, target):
    """Raises if two elements of a set have this key: which of them comes first is not known."""
    number = 0
    for key in keys:
        if key == target:
            number += 1
    if number > 1:
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


def one_least_but(items, keys, default):
    """As `one_least`; several may have a key of `default`."""
    if keys:
        lowest = least(keys, keys)
        if lowest != default:
            only_one(keys, lowest)
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
