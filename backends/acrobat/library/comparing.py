"""Comparisons of lists, trees and objects."""

from backends.acrobat.library.words import equal_objects, fields_of


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


def same_tree(a, b):
    """Whether two trees of tuples or lists are equal, on all levels."""
    return a == b


def tree_before(a, b):
    """Whether two trees of tuples or lists are in this order, and likewise the next three."""
    return a < b


def tree_not_after(a, b):
    return a <= b


def tree_after(a, b):
    return a > b


def tree_not_before(a, b):
    return a >= b


def same_object(one, other):
    """`one is other` where either may be None."""
    if one is None or other is None:
        return one is None and other is None
    return one is other


def equal(one, other):
    """`one == other` of objects of a dataclass."""
    return fields_of(one) == fields_of(other)


def equal_of_several(one, other):
    """`one == other` of objects of several dataclasses."""
    return equal_objects(one, other)


def less(one, other):
    return fields_of(one) < fields_of(other)


def not_greater(one, other):
    return fields_of(one) <= fields_of(other)
