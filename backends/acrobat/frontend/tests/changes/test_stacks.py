"""Stacks of states in plain classes, as parsers have them, and what is kept and taken out of lists in attributes of objects to
which several names refer."""

# mypy: ignore-errors

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, agrees_unless_refused

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1, 2], [2, 2], [7, 7, 1, 0, 3, 3], [0]]


@dataclass
class Entity:
    start: int
    words: list[int]


class Stack:
    """A stack of states of a cell, in which the state before is found again by `pop`."""

    def __init__(self, cell, empty):
        self.cell = cell
        zeros = empty.new_zeros(1, cell.hidden_size)
        self.states = [cell(empty.unsqueeze(0), (zeros, zeros))]
        self.items = []

    def push(self, x, item=None):
        self.states.append(self.cell(x.unsqueeze(0), self.states[-1]))
        self.items.append(item)

    def pop(self):
        self.states.pop()
        return self.items.pop()

    def clear(self):
        items = self.items
        del self.states[1:]
        self.items = []
        return items

    def take(self):
        items, self.items = self.items, []
        return items

    @property
    def summary(self):
        return self.states[-1][0].squeeze(0)

    def __len__(self):
        return len(self.items)


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.emb = nn.Embedding(10, 4)
        self.first, self.second = nn.LSTMCell(4, 4), nn.LSTMCell(4, 4)
        self.empty = nn.Parameter(torch.randn(2, 4))

    def stacks(self):
        return Stack(self.first, self.empty[0]), Stack(self.second, self.empty[1])


class Chunks(Base):
    """Words go on a stack; those on it become an entity, which goes on the other one."""

    def forward(self, xs):
        stack, output = self.stacks()
        entities, total = [], torch.zeros(8)
        for i, x in enumerate(xs):
            h = self.emb.weight[x]
            if x < 3:
                stack.push(h, (i, h))
            elif len(stack):
                chunk = stack.clear()
                entities.append(Entity(chunk[0][0], [k for k, _ in chunk]))
                output.push(torch.stack([v for _, v in chunk]).sum(0), entities[-1])
            total = total + torch.cat([s.summary for s in (stack, output)])
        last = output.pop() if len(output) else None
        return total, -1 if last is None else last.start, [e.words for e in entities], len(stack)


class Taken(Base):
    """A list that is taken out of an attribute is changed further, and so is the new one there."""

    def forward(self, xs):
        stack, other = self.stacks()
        both = [stack, other]
        for x in xs:
            both[x % 2].push(self.emb.weight[x], x)
        taken = stack.take()
        taken.append(100)
        stack.push(self.emb.weight[0], 50)
        both[0].push(self.emb.weight[0], 60)
        return taken, stack.items[-1], len(both[0]), stack.summary, both[1].summary


class Tree:
    def __init__(self, label):
        self.label = label
        self.kids = []
        self.closed = False

    def flat(self):
        out = [self.label]
        for k in self.kids:
            if isinstance(k, Tree):
                out += k.flat()
            else:
                out.append(k)
        return [*out, ")"]


class Grammar(Base):
    """A tree that is built from the top down, with the nodes that are open on one stack and all parts on another."""

    def forward(self, xs):
        stack, _ = self.stacks()
        root = Tree("root")
        nodes = [root]
        stack.push(self.empty[0], root)
        for x in xs:
            if x < 2:
                node = Tree("node")
                nodes[-1].kids.append(node)
                nodes.append(node)
                stack.push(self.emb.weight[x], node)
            elif x < 6 or len(nodes) < 2:
                nodes[-1].kids.append("word")
                stack.push(self.emb.weight[x], "word")
            else:
                node = nodes.pop()
                count = 0
                while True:
                    item = stack.pop()
                    if item is node:
                        break
                    assert item is not root
                    count += 1
                node.closed = True
                stack.push(self.emb.weight[x] * count, node)
        return root.flat(), stack.summary, [n.closed for n in nodes]


MODELS = [Chunks, Taken, Grammar]


@pytest.mark.parametrize("model", MODELS)
def test_as_in_python(model: Any) -> None:
    agrees(model(), LISTS)


def test_natively(codegen: str, tmp_path: Path) -> None:
    agrees_natively(Grammar(), LISTS, codegen, tmp_path)


class Box:
    def __init__(self):
        self.items = []
        self.count = 0

    def put(self, item):
        self.items.append(item)

    def put_all(self, items):
        self.items.extend(items)

    def put_new(self, words):
        self.items.append(Entity(0, words))

    def replace(self, items):
        self.items = items


class ChangedAfterPut(nn.Module):
    def forward(self, xs):
        box = Box()
        other = box
        other.count += 1
        entity = Entity(xs[0], [1])
        box.put(entity)
        entity.words.append(2)
        return len(other.items[0].words)


class ChangedAfterAppend(nn.Module):
    def forward(self, xs):
        box = Box()
        other = box
        other.count += 1
        entity = Entity(xs[0], [1])
        box.items.append(entity)
        entity.words.append(2)
        return len(other.items[0].words)


class ChangedAfterPop(nn.Module):
    def forward(self, xs):
        box = Box()
        other = box
        other.count += 1
        entity = Entity(xs[0], [1])
        box.put(entity)
        box.put(Entity(2, [3]))
        box.items.pop()
        popped = other.items.pop()
        popped.words.append(2)
        return len(entity.words)


class ChangedInside(nn.Module):
    def forward(self, xs):
        box = Box()
        other = box
        other.count += 1
        entity = Entity(xs[0], [1])
        box.put(entity)
        other.items[0].words.append(2)
        return len(entity.words)


class ChangedInExtended(nn.Module):
    def forward(self, xs):
        box = Box()
        other = box
        other.count += 1
        entities = [Entity(x, [1]) for x in xs]
        box.put_all(entities)
        entities[0].words.append(2)
        return len(other.items[0].words)


class ChangedListInNewObject(nn.Module):
    def forward(self, xs):
        box = Box()
        other = box
        other.count += 1
        numbers = [1]
        box.put_new(numbers)
        numbers.append(2)
        return len(other.items[0].words)


class ChangedListGiven(nn.Module):
    def forward(self, xs):
        box = Box()
        other = box
        other.count += 1
        numbers = [1]
        box.replace(numbers)
        numbers.append(2)
        return len(other.items)


class TakenButStillThere(nn.Module):
    def forward(self, xs):
        box = Box()
        other = box
        other.count += 1
        box.put(xs[0])
        items = box.items
        items.append(7)
        box.count = len(other.items)
        box.items = []
        return box.count


class TakenTwice(nn.Module):
    def forward(self, xs):
        box = Box()
        other = box
        other.count += 1
        box.put(xs[0])
        first = other.items
        items = box.items
        box.items = []
        items.append(7)
        return len(first)


class TakenWhileWalked(nn.Module):
    def forward(self, xs):
        box = Box()
        other = box
        other.count += 1
        for x in xs:
            box.put(x)
        for x in other.items:
            if box.count < 4:
                items = box.items
                box.items = []
                items.append(x)
                box.count += 1
        return box.count


SEEN_ELSEWHERE = [ChangedAfterPut, ChangedAfterAppend, ChangedAfterPop, ChangedInExtended]


@pytest.mark.parametrize("model", SEEN_ELSEWHERE)
def test_objects_in_attributes_are_changed_under_other_names(model: Any) -> None:
    agrees(model(), LISTS)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ChangedInside, "has lists or objects in it that may be seen elsewhere"),
        (ChangedListInNewObject, "changes a list that may be seen under another name than `numbers`"),
        (ChangedListGiven, "changes a list that may be seen under another name than `numbers`"),
        (TakenButStillThere, "changes a list that may be seen under another name than `items`"),
        (TakenTwice, "changes a list that may be seen under another name than `items`"),
        (TakenWhileWalked, "changes a list that may be seen under another name than `items`"),
    ],
)
def test_refused(model: Any, message: str) -> None:
    agrees_unless_refused(model(), LISTS, message)


class GivenAndKept(Base):
    """Lists that calls only read, while they change objects, may be changed further."""

    def forward(self, xs):
        box = Box()
        other = box
        numbers = [1]
        for x in xs:
            self.count(other, numbers)
            numbers.append(x)
            box.put(x)
        return other.count, numbers, len(box.items)

    def count(self, box, numbers):
        box.count += len(numbers)


def test_lists_that_are_only_read() -> None:
    agrees(GivenAndKept(), LISTS)


class Frames(Base):
    """Lists in the frames of an explicit stack, in the place of a recursion, beside other lists that are empty at first."""

    def reduced(self, items):
        rows = torch.stack(items)
        return torch.tanh(rows.sum(0)), int(rows.argmax())

    def forward(self, tree):
        frames = [(tree, 0, [])]
        order, result = [], None
        while frames:
            node, i, done = frames[-1]
            if result is not None:
                done.append(result)
                result = None
            if i == len(node):
                frames.pop()
                result, best = self.reduced(done)
                order.append((len(frames), best))
                continue
            frames[-1] = (node, i + 1, done)
            if isinstance(node[i], list):
                frames.append((node[i], 0, []))
            else:
                result = self.emb.weight[node[i]]
        return result, order


class Brackets(nn.Module):
    """Nested lists that a stack puts together, also of what is taken from it in the same statement."""

    def forward(self, xs):
        stack, other = [[]], [[]]
        for x in xs:
            if x % 3 == 0:
                stack.append([])
                other.append([x])
            elif x % 3 == 1 and len(stack) > 1:
                done = stack.pop()
                stack[-1].append(done)
                other[-2].append(other.pop())
            stack[-1].append(x)
            other[-1].append(x)
        return stack, other


class Moved(nn.Module):
    """An item is found before what is put into it is taken out of the same list."""

    def forward(self, xs):
        rows = [[x, i] for i, x in enumerate(xs)] + [[1], [2], [3], [4], [5]]
        rows[-2].append(rows.pop()[0])
        rows[-2].extend(rows.pop(0))
        rows[-2][rows.pop()[0] - 4] = 9
        rows[2].append(rows.pop(0)[0])
        return rows


class MovedUnderTwoNames(Moved):
    def forward(self, xs):
        rows = [[x, i] for i, x in enumerate(xs)] + [[1], [2], [3], [4]]
        same = rows
        rows[-2].append(rows.pop()[0])
        rows[-2].append(same.pop(0)[0])
        return rows, same


class MovedSomewhere(Moved):
    def forward(self, xs):
        rows = [[x, i] for i, x in enumerate(xs)] + [[1], [2], [3], [4]]
        rows[-2].append(rows.pop(1)[0])
        return rows


class PoppedAndNamed(nn.Module):
    """What was taken out of a list has the names that it gets, and those that the list has it under."""

    def forward(self, xs):
        rows = [[x] for x in xs] + [[3]]
        kept = []
        for k in range(3):
            row = rows.pop()
            kept.append(row)
            rows.insert(0, row)
            rows[0].append(k)
        last = rows.pop()
        again = last
        rows.append(last)
        again.append(8)
        return rows, kept, last


@pytest.mark.parametrize("model", [Brackets, Moved, PoppedAndNamed])
def test_what_is_taken_out_of_lists_of_lists(model: Any) -> None:
    agrees(model(), LISTS)


MOVED = "`rows` gets longer or shorter after `rows[-2]` was found"


@pytest.mark.parametrize(
    ("model", "message"), [(MovedSomewhere, MOVED), (MovedUnderTwoNames, "may be seen under another name")]
)
def test_an_item_whose_place_the_source_does_not_tell_is_refused(model: Any, message: str) -> None:
    with pytest.raises(CompileError, match=re.escape(message)):
        build(model(), sample=LISTS)


def test_lists_in_tuples_are_found_where_they_are_made() -> None:
    agrees(Frames(), [[3], [1, 2], [[1, 2], 3], [[1, [2, 3]], [4, 5], 6], [[[1]]]])
