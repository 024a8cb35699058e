"""Heaps in lists. Functions return new lists, by the steps of Python's `heapq`, so that the items are in the same places."""


def put_at(items, i, item):
    return items[:i] + [item] + items[i + 1 :]


def pushed(heap, item):
    """The heap with a further item."""
    return sifted_down(heap + [item], 0, len(heap))


def popped(heap):
    """The smallest item, and the heap without it."""
    last = heap[len(heap) - 1]
    rest = heap[: len(heap) - 1]
    if len(rest) == 0:
        return last, rest
    return rest[0], sifted_up(put_at(rest, 0, last), 0)


def pushed_and_popped(heap, item):
    """`heappushpop`: the smallest of all, and the heap with the others."""
    if len(heap) > 0 and heap[0] < item:
        return heap[0], sifted_up(put_at(heap, 0, item), 0)
    return item, heap


def replaced(heap, item):
    """`heapreplace`: the smallest item of the heap, and the heap with `item` in place of it."""
    return heap[0], sifted_up(put_at(heap, 0, item), 0)


def heapified(items):
    heap = items[:]
    for i in reversed(range(len(items) // 2)):
        heap = sifted_up(heap, i)
    return heap


def sifted_down(heap, start, at):
    """The heap after the item at index `at` has risen towards index `start` until its parent is not larger."""
    item = heap[at]
    while at > start and item < heap[(at - 1) // 2]:
        heap = put_at(heap, at, heap[(at - 1) // 2])
        at = (at - 1) // 2
    return put_at(heap, at, item)


def sifted_up(heap, at):
    """The heap after the item at index `at` has moved down to a leaf, past smaller children, and from there up again."""
    start = at
    item = heap[at]
    child = 2 * at + 1
    while child < len(heap):
        if child + 1 < len(heap) and not heap[child] < heap[child + 1]:
            child = child + 1
        heap = put_at(heap, at, heap[child])
        at = child
        child = 2 * at + 1
    return sifted_down(put_at(heap, at, item), start, at)
