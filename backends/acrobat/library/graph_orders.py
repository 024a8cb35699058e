"""The order of the nodes of a graph without circles, as Python's `graphlib` gives it."""

from __future__ import annotations

GIVEN_OUT = -1
"""In place of the number of nodes that a node waits for: `get_ready` has given the node out."""
DONE = -2
"""Likewise: `done` was called for it."""


class TopologicalSorter:
    def __init__(self, graph=None):
        self.places = {}
        self.nodes = []
        self.waits_for = []
        self.edges = []
        self.followers = []
        self.ready = []
        self.given_out = 0
        self.finished = 0
        if graph is not None:
            for node, before in graph.items():
                self._enter(node, list(before))

    def add(self, node, *predecessors):
        self._enter(node, list(predecessors))

    def _enter(self, node, before):
        at = self._place(node)
        self.waits_for[at] += len(before)
        for other in before:
            self.edges.append((self._place(other), at))

    def _place(self, node):
        if node not in self.places:
            self.places[node] = len(self.nodes)
            self.nodes.append(node)
            self.waits_for.append(0)
        return self.places[node]

    def prepare(self):
        self.followers = [[end for start, end in self.edges if start == i] for i in range(len(self.nodes))]
        self._check_circles()
        self.ready = [i for i, count in enumerate(self.waits_for) if count == 0]

    def _check_circles(self):
        counts = list(self.waits_for)
        reached = [i for i, count in enumerate(counts) if count == 0]
        done = 0
        while done < len(reached):
            for i in list(self.followers[reached[done]]):
                counts[i] -= 1
                if counts[i] == 0:
                    reached.append(i)
            done += 1
        if done < len(counts):
            raise ValueError("nodes are in a cycle")

    def get_ready(self):
        group = list(self.ready)
        for i in group:
            self.waits_for[i] = GIVEN_OUT
        self.ready = []
        self.given_out += len(group)
        return tuple([self.nodes[i] for i in group])

    def done(self, *nodes):
        for node in nodes:
            self._finish(node)

    def _finish(self, node):
        if node not in self.places:
            raise ValueError(f"node {node!r} was not added using add()")
        at = self.places[node]
        if self.waits_for[at] != GIVEN_OUT:
            raise ValueError(f"node {node!r} was not passed out (still not ready)")
        self.waits_for[at] = DONE
        self.finished += 1
        for i in list(self.followers[at]):
            self.waits_for[i] -= 1
            if self.waits_for[i] == 0:
                self.ready.append(i)

    def is_active(self):
        return self.finished < self.given_out or len(self.ready) > 0

    def __bool__(self):
        return self.is_active()

    def static_order(self):
        self.prepare()
        order = []
        while self.is_active():
            group = self.get_ready()
            order.extend(group)
            self.done(*group)
        return iter(order)
