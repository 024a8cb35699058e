"""Lists and objects that are changed in place where another name may refer to them: as in eager Python, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend.tests.test_own_model import with_forward
from backends.acrobat.tests.zoo.check import agrees, agrees_unless_refused

HEAD = """
from collections import defaultdict
from typing import NamedTuple

import torch
import torch.nn as nn


class Word(NamedTuple):
    end: int
    id: int


class Item:
    def __init__(self, x):
        self.x = x


class Chart:
    def __init__(self):
        self.items = []
        self.rows = []

    def add(self, item):
        self.items.append(item)

    def add_row(self, row):
        self.rows.append(row)

    def take(self, other):
        self.rows = other.rows


class Box:
    def __init__(self, rows):
        self.rows = rows


class Parser:
    def __init__(self, items):
        self.buffer = list(items)
        self.stack = []

    def shift(self):
        self.stack.append(self.buffer.pop(0))

    def all(self):
        return self.stack


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.items = []

    def get(self):
        return self.items

    def set(self, items):
        self.items = items

    def push(self, x):
        self.items.append(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = Memory()
        self.chart = []

    def put(self, table, k, item):
        table[k].append(item)

    def keep(self, item):
        self.chart.append(item)

"""

RIGHT = {
    "objects in the lists of a dictionary, and then further ones": """
        ending = defaultdict(list)
        for k, x in enumerate(xs):
            word = Word(k % 2, k)
            ending[word.end].append(word)
        return [len(ending[0]), sum(w.id for w in ending[1])]
""",
    "a list that gets another name, and is not read under the first one any more": """
        self.chart = []
        for x in xs:
            new = []
            for y in reversed(self.chart):
                new.insert(0, y + 1)
            self.chart = new
            self.chart.append(x)
        return self.chart
""",
    "an object that keeps objects with names": """
        chart = Chart()
        for x in xs:
            item = Item(x)
            chart.add(item)
            chart.add(Item(2.0))
            chart.add_row([x])
            chart.rows[0].append(2.0)
        return len(chart.items), chart.items[0].x, len(chart.rows[0])
""",
    "a list of a submodule, read from outside between two changes": """
        self.memory.items = []
        self.memory.push(4.0)
        n = len(self.memory.items)
        self.memory.push(5.0)
        for x in self.memory.items:
            n += 1
        self.memory.push(5.0)
        return n, len(self.memory.items)
""",
    "a list that is taken apart, whose items are then replaced": """
        state, box = [0.0, 1.0], Box([2.0, 3.0])
        for x in xs:
            a, b = state
            state[0], state[1] = b, a + x
            c, *rest = box.rows
            box.rows[0] = c + rest[0] + b
            box.rows.append(x)
        return state, a, rest, box.rows
""",
    "a list of a function around that is taken apart in it": """
        state = [torch.zeros(2), torch.ones(2)]
        def step(x):
            a, b = state
            state[0], state[1] = b, a + x
            return a
        def steps(i):
            seen = step(xs[i])
            return seen + steps(i + 1) if i + 1 < len(xs) else seen
        return steps(0), state[0], state[1]
""",
    "a recursion that changes a list and gives objects with lists of others": """
        scores = []
        def expand(depth):
            scores.append(float(depth))
            boxes = [Box([])]
            for _ in range(2 if depth < 2 else 0):
                boxes.append(expand(depth + 1))
            return Box([box.rows for box in boxes][0])
        return len(expand(0).rows), scores
""",
    "objects that are not assigned to, moved between lists of an object": """
        items = [Item(x) for x in xs]
        parser, popped = Parser(items), []
        while parser.buffer:
            parser.stack.append(parser.buffer.pop(0))
            if len(parser.stack) > 1:
                child = parser.stack.pop(-2)
                popped.append(child.x)
        return [item.x for item in items], popped, parser.stack[-1].x
""",
    "objects that were assigned to, moved between lists of an object that are its own": """
        items = [Item(x) for x in xs]
        for item in items:
            item.x += 1.0
        parser, seen = Parser(items), []
        def next(of):
            of.shift()
            return of.stack[-1].x
        while parser.buffer:
            seen.append(next(parser))
        parser.buffer.append(parser.stack.pop())
        return seen, [item.x for item in items], len(parser.stack), parser.buffer[0].x
""",
    "objects of a comprehension, assigned to by their places": """
        items = [Item(x) for x in xs]
        for i in range(len(items)):
            items[i].x = items[i].x * 2.0 + i
        return [item.x for item in items]
""",
    "objects of a list, assigned to under the name of a loop": """
        items = [Item(0.0)]
        for x in xs:
            items.append(Item(x))
        for i, item in enumerate(items):
            item.x = item.x * 2.0 + i
            if i == 2:
                break
        for item in items:
            if item.x > 1.0:
                item.x += len(items)
        return [item.x for item in items]
""",
    "an attribute of a model that is taken apart": """
        self.chart = [0.0, 1.0]
        for x in xs:
            a, b = self.chart
            self.chart[0], self.chart[1] = b, a + x
        return self.chart[0], self.chart[1]
""",
}
"""What serves as the body of `forward`, which gets a list of floats."""


SHARED = {
    "a list that a submodule has, too": """
        ys = [x + 1 for x in xs]
        self.memory.items = ys
        self.memory.push(5.0)
        return len(ys), len(self.memory.items)
""",
    "a list that a submodule was given by a method": """
        ys = [x + 1 for x in xs]
        self.memory.set(ys)
        self.memory.push(5.0)
        return len(ys), len(self.memory.items)
""",
    "a list that was read from a submodule": """
        self.memory.items = []
        ys = self.memory.items
        self.memory.push(5.0)
        return len(ys), len(self.memory.items)
""",
    "a list that a method of a submodule gave": """
        self.memory.items = []
        ys = self.memory.get()
        self.memory.push(5.0)
        return len(ys), len(self.memory.items)
""",
    "an object that a function has put into a list": """
        table = [[], []]
        item = Item(1)
        self.put(table, 0, item)
        item.x = 7
        return table[0][0].x
""",
    "an object in a list into which a function has put it": """
        table = [[], []]
        item = Item(1)
        self.put(table, 0, item)
        table[0][0].x = 7
        return item.x
""",
    "an object that a method has put into a list of the module": """
        self.chart = []
        item = Item(1)
        self.keep(item)
        item.x = 5
        return self.chart[0].x
""",
    "an object that a method has put into another one": """
        chart = Chart()
        item = Item(1)
        chart.add(item)
        item.x = 5
        return chart.items[0].x
""",
    "a list that a method has put into an object": """
        chart = Chart()
        row = [1.0]
        chart.add_row(row)
        chart.rows[0].append(2.0)
        return len(row)
""",
    "an object in two lists": """
        table = [[], []]
        item = Item(1)
        table[0].append(item)
        table[1].append(item)
        table[0][0].x = 7
        return table[1][0].x
""",
    "a list in two places of another one": """
        table = [[], []]
        row = [[1.0]]
        table[0] = row
        table[1] = row
        table[0].append([3.0])
        return len(table[1])
""",
    "a list that a function inside sees under its first name": """
        a = [0.0]

        def size():
            return len(a)

        b = a
        b.append(2.0)
        return size()
""",
    "a list that is read under its first name in the next round": """
        new = [0.0]
        for x in xs:
            self.chart = new
            self.chart.append(x)
        return self.chart
""",
    "a list that an object was made with": """
        row = [1.0]
        box = Box(row)
        box.rows.append(2.0)
        return len(row)
""",
    "a list of an object that a method takes into another one": """
        chart, item = Chart(), Chart()
        item.add_row([1.0])
        chart.add(Box(item.rows))
        chart.take(item)
        chart.rows.append([2.0])
        return len(item.rows)
""",
    "a list in a dictionary that another one was updated with": """
        row, rows = [1.0], {}
        rows.update({0: row})
        rows[0].append(2.0)
        return len(row)
""",
    "a list in a list that is taken apart": """
        rows = [[1.0], [2.0]]
        a, b = rows
        rows[0].append(3.0)
        return len(a)
""",
    "a list out of a list that is taken apart": """
        rows = [[1.0], [2.0]]
        a, b = rows
        a.append(3.0)
        return len(rows[0])
""",
    "an object in a list that is taken apart": """
        items = [Item(1.0), Item(2.0)]
        a, b = items
        items[0].x = 3.0
        return a.x
""",
    "a list of ints among lists of floats that a method takes in": """
        chart, row = Chart(), [1]
        chart.add_row([1.5])
        chart.add_row(row)
        row.append(2)
        return chart.rows
""",
    "a list of ints among lists of floats, changed inside": """
        chart, row = Chart(), [1]
        chart.add_row([1.5])
        chart.add_row(row)
        chart.rows[1].append(2.5)
        return row
""",
    "a list of ints among lists of what may be None": """
        chart, row = Chart(), [1]
        chart.add_row([1, None])
        chart.add_row(row)
        row.append(2)
        return chart.rows
""",
    "an empty list that a method takes in": """
        chart, row = Chart(), []
        chart.add_row([1.5])
        chart.add_row(row)
        row.append(2.0)
        return chart.rows
""",
    "a dictionary of ints among dictionaries of floats": """
        tables, table = [{1: 1.5}], {1: 2}
        def put(t):
            tables.append(t)
        put(table)
        table[3] = 2
        return len(tables[1])
""",
    "objects that are assigned to, moved between lists of an object": """
        items = [Item(x) for x in xs]
        parser = Parser(items)
        parser.stack.append(parser.buffer.pop(0))
        parser.stack[-1].x = 7.0
        return items[0].x
""",
    "lists of objects that are not assigned to, moved between lists of an object": """
        rows = [Box([x]) for x in xs]
        parser = Parser(rows)
        parser.stack.append(parser.buffer.pop(0))
        parser.stack[-1].rows.append(7.0)
        return len(rows[0].rows)
""",
    "one object in each place of a comprehension": """
        item = Item(1.0)
        items = [item for x in xs]
        items[0].x = 2.0
        return items[-1].x
""",
    "one list in each object of a comprehension": """
        row = [1.0]
        boxes = [Box(row) for x in xs]
        boxes[0].rows.append(2.0)
        return len(boxes[-1].rows)
""",
    "a list that grows while its objects are assigned to": """
        items = [Item(x) for x in xs]
        for item in items:
            item.x = 1.0
            if len(items) < 5:
                items.append(Item(2.0))
        return len(items)
""",
    "a list that a function makes longer while its objects are assigned to": """
        items = [Item(x) for x in xs]
        def grow(ys):
            if len(ys) < 5:
                ys.append(Item(2.0))
        for item in items:
            item.x = 1.0
            grow(items)
        return len(items)
""",
    "an object in the lists of an object and in another list": """
        items = [Item(x) for x in xs]
        for item in items:
            item.x += 1.0
        parser = Parser(items)
        parser.buffer[0].x = 7.0
        return items[0].x
""",
    "a list of an object that a method gives": """
        items = [Item(x) for x in xs]
        for item in items:
            item.x += 1.0
        parser = Parser(items)
        stack = parser.all()
        parser.stack.append(Item(1.0))
        return len(stack)
""",
    "a list that an object is given": """
        items = [Item(x) for x in xs]
        for item in items:
            item.x += 1.0
        box = Box(items)
        box.rows.append(Item(1.0))
        return len(items)
""",
    "lists in a list of an object and in another list": """
        rows = [[x] for x in xs]
        parser = Parser(rows)
        parser.buffer[0].append(1.0)
        return len(rows[0])
""",
    "objects that a loop assigns to and keeps": """
        items, best = [Item(x) for x in xs], Item(0.0)
        for item in items:
            if item.x > best.x:
                best = item
            item.x = 0.5
        return best.x
""",
    "one object twice in a list that a loop assigns to": """
        one = Item(1.0)
        items = [one, one]
        for item in items:
            item.x += 1.0
        return one.x
""",
    "a list that gets two names": """
        a = [0.0]
        b, c = a, a
        b.append(2.0)
        return len(c)
""",
}


SAMPLE = [[1.0], [0.5, 2.0], [3.0, 1.0, 0.25]]


@pytest.mark.parametrize("what", RIGHT)
def test_changes_that_one_name_alone_sees(tmp_path: Path, what: str) -> None:
    agrees(with_forward(tmp_path, HEAD, RIGHT[what], f"alone{list(RIGHT).index(what)}"), SAMPLE)


OBJECTS = [
    "an object that a function has put into a list",
    "an object in a list into which a function has put it",
    "an object that a method has put into a list of the module",
    "an object that a method has put into another one",
    "an object in two lists",
    "an object in a list that is taken apart",
    "objects that are assigned to, moved between lists of an object",
    "one object in each place of a comprehension",
    "an object in the lists of an object and in another list",
    "objects that a loop assigns to and keeps",
    "one object twice in a list that a loop assigns to",
]
"""Those of `SHARED` in which objects are changed, which other names may refer to: the program has them as numbers."""
REFUSED = [what for what in SHARED if what not in OBJECTS]


@pytest.mark.parametrize("what", OBJECTS)
def test_objects_under_several_names(tmp_path: Path, what: str) -> None:
    agrees(with_forward(tmp_path, HEAD, SHARED[what], f"object{OBJECTS.index(what)}"), SAMPLE)


@pytest.mark.parametrize("what", REFUSED)
def test_changes_that_another_name_would_see(tmp_path: Path, what: str) -> None:
    model = with_forward(tmp_path, HEAD, SHARED[what], f"shared{REFUSED.index(what)}")
    agrees_unless_refused(model, SAMPLE, r"may be seen|walks over|walked over")


GROWING = {
    "by a function": """
        ys = list(xs)
        def grow(zs):
            if len(zs) < 8:
                zs.append(2.0)
        for y in ys:
            grow(ys)
        return len(ys)
""",
    "by a method": """
        ys = list(xs)
        for i, y in enumerate(ys):
            self.grow(ys)
        return len(ys)
""",
    "of the module": """
        self.kept = list(xs)
        for y in self.kept:
            self.keep_one()
        return len(self.kept)
""",
}
METHODS = """
    def grow(self, zs):
        if len(zs) < 8:
            zs.append(2.0)

    def keep_one(self):
        if len(self.kept) < 8:
            self.kept.append(2.0)

    def count(self):
        return len(self.kept)
"""


@pytest.mark.parametrize("what", GROWING)
def test_lists_that_grow_while_a_loop_walks_over_them(tmp_path: Path, what: str) -> None:
    """Python's loop takes what was appended, too; the program's had not."""
    module = with_forward(tmp_path, HEAD, GROWING[what] + METHODS, f"growing{list(GROWING).index(what)}")
    with pytest.raises(CompileError, match="which a loop around the call walks over"):
        agrees(module, SAMPLE)


def test_a_list_of_the_module_is_read_while_a_loop_walks_over_it(tmp_path: Path) -> None:
    body = """
        self.kept = list(xs)
        n = 0
        for y in self.kept:
            n += self.count()
        self.keep_one()
        return n, len(self.kept)
"""
    agrees(with_forward(tmp_path, HEAD, body + METHODS, "read_while_walked"), SAMPLE)
