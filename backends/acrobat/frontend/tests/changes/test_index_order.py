# mypy: ignore-errors
"""Changes of a place whose indices change something themselves, or of a place two indices deep: each index is computed once, in
Python's order, and no change is lost."""

from __future__ import annotations

import pytest
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter


class Machine:
    def __init__(self, n):
        self.stack = list(range(n))
        self.heads = [0] * n
        self.rows = [[0] * 3 for _ in range(n)]
        self.table = {}
        self.time = 0

    def tick(self):
        self.time += 1
        return self.time

    def seen(self):
        return self.stack, self.heads, self.rows, sorted(self.table), self.time


def item(xs):
    m = Machine(len(xs))
    m.heads[m.stack.pop()] = 7
    return m.seen()


def item_and_value(xs):
    m = Machine(len(xs))
    m.heads[m.tick()] = m.tick()
    m.heads[m.stack.pop()] += 3
    return m.seen()


def key(xs):
    m = Machine(len(xs))
    m.table[m.stack.pop()] = m.stack.pop()
    return m.seen()


def method(xs):
    m = Machine(len(xs))
    m.rows[m.stack.pop()].append(m.stack.pop())
    popped = m.rows[m.tick()].pop()
    return popped, m.seen()


def several_targets(xs):
    m = Machine(len(xs) + 2)
    m.heads[m.stack.pop()], m.heads[m.stack.pop()] = m.stack.pop(), 9
    return m.seen()


def own_index(xs):
    ys = [*xs, 1, 2, 3]
    ys[ys.pop() - 3] = ys.pop()
    return ys


def two_deep(xs):
    table = [[[] for _ in xs] for _ in xs]
    for i, x in enumerate(xs):
        for j, y in enumerate(xs):
            table[i][j].append(10 * x + y)
    return table


def two_deep_in_an_object(xs):
    m = Machine(len(xs))
    chart = {i: [[] for _ in xs] for i in range(len(xs))}
    for i in range(len(xs)):
        for j in range(len(xs)):
            chart[i][j].append(m.tick())
    return [chart[i] for i in range(len(xs))], m.seen()


def given(xs):
    m = Machine(len(xs))
    _add(m.rows[m.stack.pop()], 3)
    return m.seen()


def added(xs):
    m = Machine(len(xs))
    m.rows[m.tick()] += [m.tick()]
    return m.seen()


def bound(xs):
    m = Machine(len(xs))
    m.heads[m.tick() : 3] = [4]
    return m.seen()


def of_a_constant(xs):
    """The index had been computed twice."""
    m = Machine(len(xs))
    found = [WORDS[m.tick()] for _ in xs]
    return found, (10, 20, 30, 40, 50, 60)[m.tick()], m.seen()


def _add(xs, x):
    xs.append(x)


WORDS = [5, 6, 7, 8, 9, 10]


REFUSED = {
    "added": "what is added here changes what it is added to",
    "given": "is changed later in the same expression",
    "bound": "a bound of this slice changes a list or an object",
}
CASES = [item, item_and_value, key, method, several_targets, own_index, two_deep, two_deep_in_an_object, given, added, bound]
CASES += [of_a_constant]
LISTS = [[4, 5, 6], [1, 2, 3, 4], [0, 7, 7]]


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_indices_in_order(function):
    module = nn.Module()
    module.forward = function
    if function.__name__ in REFUSED:
        with pytest.raises(CompileError, match=REFUSED[function.__name__]):
            build(module, sample=LISTS)
        return
    interpreter = Interpreter(build(module, sample=LISTS))
    for xs in LISTS:
        assert interpreter.run(list(xs)) == function(list(xs))
