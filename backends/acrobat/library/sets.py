"""Sets, which are lists of distinct items."""

from backends.acrobat.library.searching import contains


def distinct(items):
    """The distinct items in the order of their first occurrence."""
    items_so_far = items[:0]
    for item in items:
        items_so_far = with_item(items_so_far, item)
    return items_so_far


def with_item(items, item):
    return items if contains(items, item) else items + [item]


def without_item(items, dropped):
    return [item for item in items if item != dropped]


def union(items, others):
    whole = items
    for item in others:
        whole = with_item(whole, item)
    return whole


def common(items, others):
    return [item for item in items if contains(others, item)]


def lacking(items, others):
    return [item for item in items if not contains(others, item)]


def in_one(items, others):
    return lacking(items, others) + lacking(others, items)


def within_set(items, others):
    is_subset = True
    for item in items:
        if not contains(others, item):
            is_subset = False
    return is_subset


def from_start(places):
    """Indices of a set, of which no two are the same place: they do not count from the end."""
    for place in places:
        if place < 0:
            raise ValueError(
                "a loop over a set changes the items at its elements, of which one is negative: write `sorted(...)`"
            )
    return places
