"""Finding values in lists, sorted ones among them, and what Python does with the index."""


def contains(items, target):
    is_in = False
    for item in items:
        if item == target:
            is_in = True
    return is_in


def any_of(items):
    any_true = False
    for item in items:
        if item:
            any_true = True
    return any_true


def all_of(items):
    all_true = True
    for item in items:
        if not item:
            all_true = False
    return all_true


def index_of(items, target):
    """The index of the first item that equals `target`; the length of the list if there is none."""
    at = len(items)
    for i in range(len(items)):
        if at == len(items) and items[i] == target:
            at = i
    return at


def place(items, target):
    """`items.index(wanted)`; raises ValueError if no item equals `target`."""
    at = index_of(items, target)
    if at == len(items):
        raise ValueError(f"{target!r} is not in the list")
    return at


def without_first(items, target):
    at = place(items, target)
    return items[:at] + items[at + 1 :]


def count(items, target):
    number = 0
    for item in items:
        if item == target:
            number = number + 1
    return number


def bisect_left(items, target, first, last):
    while first < last:
        middle = (first + last) // 2
        if items[middle] < target:
            first = middle + 1
        else:
            last = middle
    return first


def bisect_right(items, target, first, last):
    while first < last:
        middle = (first + last) // 2
        if target < items[middle]:
            last = middle
        else:
            first = middle + 1
    return first


def inserted_left(items, item):
    at = bisect_left(items, item, 0, len(items))
    return items[:at] + [item] + items[at:]


def inserted_right(items, item):
    at = bisect_right(items, item, 0, len(items))
    return items[:at] + [item] + items[at:]


def place_in_order(items, target):
    """The index of `target` in the sorted `items`; their number if it is not among them."""
    first = bisect_left(items, target, 0, len(items))
    is_in = first < len(items) and items[min(first, len(items) - 1)] == target
    return first if is_in else len(items)


def place_from(items, target, start):
    """`items.index(target, start)`; a negative `start` counts from the end."""
    first = start if start >= 0 else max(start + len(items), 0)
    return first + place(items[first:], target)
