"""The queues of Python's `queue`, of one thread: what is put into them is taken out in order of its size, or of its age; and
deques of limited length."""

import heapq


class Queue:
    def __init__(self, maxsize=0):
        self.queue = []

    def put(self, item):
        self.queue.append(item)

    def get(self):
        return self.queue.pop(0)

    def qsize(self):
        return len(self.queue)

    def empty(self):
        return len(self.queue) == 0


class LifoQueue(Queue):
    def get(self):
        return self.queue.pop()


class PriorityQueue(Queue):
    def put(self, item):
        heapq.heappush(self.queue, item)

    def get(self):
        return heapq.heappop(self.queue)


class BoundedDeque:
    """A `deque` with a `maxlen`: where it gets too long at one end it loses an element at the other."""

    def __init__(self, iterable, maxlen):
        self.items = []
        self.maxlen = maxlen
        self.extend(iterable)

    def append(self, x):
        self.items.append(x)
        if len(self.items) > self.maxlen:
            self.items.pop(0)

    def appendleft(self, x):
        self.items.insert(0, x)
        if len(self.items) > self.maxlen:
            self.items.pop()

    def extend(self, iterable):
        for x in iterable:
            self.append(x)

    def extendleft(self, iterable):
        for x in iterable:
            self.appendleft(x)

    def pop(self):
        return self.items.pop()

    def popleft(self):
        return self.items.pop(0)

    def clear(self):
        self.items = []

    def copy(self):
        return BoundedDeque(self.items, self.maxlen)

    def count(self, x):
        return self.items.count(x)

    def index(self, x):
        return self.items.index(x)

    def __len__(self):
        return len(self.items)

    def __iter__(self):
        return iter(self.items)

    def __reversed__(self):
        return reversed(self.items)

    def __getitem__(self, i):
        return self.items[i]

    def __setitem__(self, i, x):
        self.items[i] = x

    def __contains__(self, x):
        return x in self.items

    def rotate(self, n=1):
        if self.items:
            for _ in range(n % len(self.items)):
                self.items.insert(0, self.items.pop())
