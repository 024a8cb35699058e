"""Exceptions of the model's own classes that leave functions, recursions and methods of objects, against eager PyTorch."""

from __future__ import annotations

import random

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend.tests.statements.trees import random_tree
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


class Stop(Exception):
    pass


class Found(Exception):
    def __init__(self, node, depth):
        super().__init__(f"found at {depth}")
        self.node = node
        self.depth = depth


class Failed(Exception):
    def __init__(self, position):
        self.position = position


class Deeper(Failed):
    pass


class Carrying(Exception):
    def __init__(self, words):
        self.words = words


class Reader:
    """Reads words, and raises where there are none left."""

    def __init__(self, words):
        self.words = words
        self.at = 0
        self.taken = []

    def next(self):
        if self.at >= len(self.words):
            raise Stop
        w = self.words[self.at]
        self.at += 1
        return w

    def take(self, n):
        out = []
        for _ in range(n):
            out.append(self.next())
        self.taken.append(n)
        return out

    def fail(self, what):
        raise Failed(what + self.at)

    def expect(self, w):
        if self.next() != w:
            self.fail(w)
        return self.at


class Inner:
    def __init__(self, word, children):
        self.word = word
        self.children = children

    def total(self, limit):
        if self.word > limit:
            raise Failed(self.word)
        return self.word + sum(child.total(limit) for child in self.children)


class Leaf:
    def __init__(self, word):
        self.word = word

    def total(self, limit):
        if self.word == 5:
            raise Stop
        return self.word


class Sure:
    def __init__(self, word):
        self.word = word

    def total(self, limit):
        return -self.word


def made(tree):
    if tree.children:
        return Inner(tree.word, [made(child) for child in tree.children])
    return Leaf(tree.word) if tree.word % 2 else Sure(tree.word)


class Picky:
    def __init__(self, w):
        if w > 5:
            raise Stop
        self.w = w

    def __getitem__(self, i):
        if i > self.w:
            raise Failed(i)
        return i


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(10, 4)
        self.cell = nn.Linear(4, 4)
        self.steps = 0

    def step(self, h, w):
        return torch.tanh(self.cell(h) + self.embed(torch.tensor(w)))

    def find(self, tree, wanted, depth):
        h = self.embed(torch.tensor(tree.word))
        if tree.word == wanted:
            raise Found(h, depth)
        for child in tree.children:
            h = h + self.find(child, wanted, depth + 1)
        return torch.tanh(h)

    def sum_of(self, tree, limit):
        if tree.word > limit:
            raise Failed(tree.word)
        return self.embed(torch.tensor(tree.word)) + sum(self.sum_of(child, limit) for child in tree.children)

    def all_of(self, tree, limit):
        if tree.word > limit:
            raise Failed(tree.word)
        children = [self.all_of(child, limit) for child in tree.children]
        return torch.tanh(self.cell(torch.stack([self.embed(torch.tensor(tree.word)), *children]).mean(0)))

    def parse(self, words, at, depth):
        """`n` of the words that follow, where the first says how many; fails at a 9, or where there are no words left."""
        if at >= len(words):
            raise Deeper(at)
        if words[at] == 9:
            raise Failed(at)
        h = self.embed(torch.tensor(words[at]))
        end = at + 1
        for _ in range(words[at] % 3 if depth < 3 else 0):
            inner, end = self.parse(words, end, depth + 1)
            h = self.step(h, words[at]) + inner
        return h, end

    def either(self, words, at):
        for start in range(at, len(words)):
            try:
                return self.parse(words, start, 0)
            except Deeper:
                continue
            except Failed as e:
                if e.position > start + 2:
                    raise
        raise Failed(-1)

    def counted(self, words):
        self.steps = 0
        for w in words:
            self.steps = self.steps + 1
            if w == 7:
                raise Stop
        return self.steps

    def check(self, w):
        if w == 7:
            raise Stop
        return w

    def innermost(self, words, limit):
        for i, w in enumerate(words):
            for k in range(w):
                if k * i > limit:
                    raise Found(k, i)
        return len(words), 0

    def middle(self, words, limit):
        best = (0, 0)
        for j in range(3):
            best = self.innermost(words[j:], limit + j)
            if best[0] == 1:
                return best
        return best

    def outermost(self, words, limit):
        out = (0, 0)
        while limit > 0:
            out = self.middle(words, limit)
            limit -= 3
        return out

    def even(self, n, words):
        if n in words:
            raise Failed(n)
        return n <= 0 or self.odd(n - 1, words)

    def odd(self, n, words):
        if n == 5:
            raise Stop
        return n > 0 and self.even(n - 1, words)

    def down(self, words, k, opened):
        opened.append(k)
        if k >= len(words):
            return 0
        try:
            return self.check(words[k]) + self.down(words, k + 1, opened)
        finally:
            opened.pop()

    def carrying(self, words, out):
        for w in words:
            out.append(w)
            if w == 7:
                raise Carrying(out)
        return out

    def forward(self, instance):
        raise NotImplementedError


def a_search(self, instance):
    _, limit, tree = instance
    try:
        h = self.find(tree, limit, 0)
    except Found as found:
        return found.node, found.depth
    return h, -1


def in_a_generator_that_is_summed(self, instance):
    _, limit, tree = instance
    try:
        return self.sum_of(tree, limit)
    except Failed as e:
        return torch.full((4,), float(e.position))


def in_a_comprehension(self, instance):
    _, limit, tree = instance
    try:
        h = self.all_of(tree, limit)
    except Failed:
        h = torch.zeros(4)
    return h


def a_backtracking_parser(self, instance):
    words, _, _ = instance
    try:
        h, end = self.either(words, 0)
    except Failed as e:
        return torch.zeros(4), e.position
    return h, end


def what_was_changed_before(self, instance):
    words, _, _ = instance
    self.steps = 0
    try:
        n = self.counted(words)
    except Stop:
        n = -1
    return n, self.steps


def through_three_calls(self, instance):
    words, limit, _ = instance
    try:
        return self.outermost(words, limit)
    except Found as e:
        return e.node, e.depth


def of_functions_that_call_each_other(self, instance):
    words, limit, _ = instance
    y = 0
    for n in range(limit):
        try:
            y += 1 if self.even(n, words) else 10
        except Failed as e:
            y += 100 * e.position
        except Stop:
            y += 5000
    return y


def methods_of_an_object(self, instance):
    words, _, _ = instance
    reader, got = Reader(words), []
    try:
        while True:
            got += reader.take(reader.next() % 3)
    except Stop:
        pass
    return got, reader.at, reader.taken


def a_method_that_always_raises(self, instance):
    words, limit, _ = instance
    reader, y = Reader(words), 0
    try:
        y = reader.expect(limit)
        y = y + reader.expect(limit + 1)
    except Failed as e:
        y = e.position * 100 + y
    except Stop:
        y = -1 - y
    return y, reader.at


def methods_of_several_classes(self, instance):
    _, limit, tree = instance
    root = made(tree)
    try:
        y = root.total(limit)
    except Failed as e:
        y = e.position * 100
    except Stop:
        y = -7
    return y


def functions_inside(self, instance):
    _, limit, tree = instance
    seen = []

    def visit(t, depth):
        seen.append(t.word)
        if t.word == limit:
            raise Failed(depth)
        for child in t.children:
            visit(child, depth + 1)

    try:
        visit(tree, 0)
    except Failed as e:
        return e.position, seen
    return -1, seen


def an_end_in_a_recursion(self, instance):
    words, _, _ = instance
    opened: list[int] = []
    try:
        y = self.down(words, 0, opened)
    except Stop:
        y = -1
    return y, opened


def a_list_that_the_exception_keeps(self, instance):
    words, _, _ = instance
    out = [1]
    try:
        given = self.carrying(words, out)
    except Carrying as e:
        e.words.append(100)
        return out, e.words
    return out, given


def a_list_with_a_name_in_the_handler(self, instance):
    _, limit, _ = instance
    xs = [3]
    try:
        ys = xs
        ys.append(1)
        self.check(limit)
        xs = []
    except Stop:
        return xs
    return ys + xs


CALLS = [a_search, in_a_generator_that_is_summed, in_a_comprehension, a_backtracking_parser, what_was_changed_before]
CALLS += [through_three_calls, of_functions_that_call_each_other, methods_of_an_object, a_method_that_always_raises]
CALLS += [methods_of_several_classes, functions_inside, an_end_in_a_recursion, a_list_that_the_exception_keeps]
CALLS += [a_list_with_a_name_in_the_handler]


def instances(count, seed):
    rng = random.Random(seed)
    return [([rng.randrange(10) for _ in range(rng.randrange(7))], rng.randrange(9), random_tree(rng, 3)) for _ in range(count)]


@pytest.mark.parametrize("function", CALLS, ids=lambda f: f.__name__)
def test_what_leaves_functions(function):
    agrees(with_forward(Cells(), function), instances(12, seed=1), instances(30, seed=2))


def test_a_backtracking_parser_natively(codegen, tmp_path):
    agrees_natively(with_forward(Cells(), a_backtracking_parser), instances(12, seed=3), codegen, tmp_path)


def by_init(self, instance):
    words, _, _ = instance
    try:
        y = sum([Picky(w).w for w in words])
    except Stop:
        y = -1
    return y


def by_an_operator(self, instance):
    words, _, _ = instance
    picky, y = Picky(2), 0
    try:
        for w in words:
            y += picky[w]
    except Failed as e:
        y = -e.position
    return y


def by_map(self, instance):
    words, _, _ = instance
    try:
        xs = list(map(self.check, words))
    except Stop:
        xs = []
    return xs


@pytest.mark.parametrize("function", [by_init, by_an_operator, by_map])
def test_what_is_not_followed_is_refused(function):
    with pytest.raises(CompileError, match=r"in (a way that|which that) is not followed"):
        agrees(with_forward(Cells(), function), instances(12, seed=1))
