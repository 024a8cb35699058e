"""The queues of Python's `queue`, of one thread: what is put into them is taken out in order of its size, or of its age."""

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
