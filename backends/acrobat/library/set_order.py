"""The order in which Python walks over a set of ints: that of CPython's `Objects/setobject.c`, for sets whose elements were
added one after the other and of which none was taken out.

A set is a table of a power of two of slots, and is walked over slot by slot. The hash of an int from 0 to 2**61 - 2 is the int,
so that it stands in the slot of that number, modulo the size of the table, or in the next free one of those that are tried. The
table begins with 8 slots, and becomes four times as large as its elements as soon as three fifths of it are full."""

from backends.acrobat.library.sets import lacking


def in_order(items):
    """The elements of a set to which `items`, which differ, were added in this order."""
    return filled(table_of(items))


def in_order_without(items, others):
    """The elements of `a - b`, where `a` is a set to which `items` were added in this order, and `b` has the elements `others`.
    Python adds what is left to a new set, or where `b` is much smaller copies `a` and takes from it."""
    table = table_of(items)
    whole = filled(table)
    if len(whole) // 4 <= len(others):
        return in_order(lacking(whole, others))
    size = slots_for(2 * len(whole))
    if len(whole) > 4 and size != len(table):  # the copy of a table of another size is filled anew
        whole = filled(placed(whole, size))
    return lacking(whole, others)


def table_of(items):
    """The slots of the set to which `items` were added in this order, free ones as -1."""
    table = [-1] * 8
    for count, item in enumerate(items, 1):
        if item < 0 or item >= 2305843009213693951:
            raise ValueError("the order of a set of ints is known if none is below 0 or above 2**61 - 2: write `sorted(...)`")
        table[free_slot(table, item)] = item
        if 5 * count >= 3 * (len(table) - 1):
            table = placed(filled(table), slots_for(2 * count if count > 50000 else 4 * count))
    return table


def slots_for(least):
    """The size of a table that has more than so many slots."""
    size = 8
    while size <= least:
        size *= 2
    return size


def placed(items, size):
    table = [-1] * size
    for item in items:
        table[free_slot(table, item)] = item
    return table


def free_slot(table, item):
    """The slot of a table that a new item gets: tried are that of its number and, where the table goes on so long, the nine
    behind it, then others that its higher bits choose."""
    last = len(table) - 1
    bits = item
    first = item & last
    slot = first
    while table[slot] >= 0:
        if first + 9 <= last and slot < first + 9:
            slot += 1
        else:
            bits >>= 5
            first = (first * 5 + 1 + bits) & last
            slot = first
    return slot


def filled(table):
    return [item for item in table if item >= 0]
