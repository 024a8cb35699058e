"""Exceptions of the model's own classes that leave loops, against eager PyTorch."""

from __future__ import annotations

import random

import pytest
import torch
from torch import nn

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


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(10, 4)
        self.cell = nn.Linear(4, 4)
        self.steps = 0

    def step(self, h, w):
        return torch.tanh(self.cell(h) + self.embed(torch.tensor(w)))

    def until(self, words, limit):
        h = torch.zeros(4)
        for i, w in enumerate(words):
            h = self.step(h, w)
            if w > limit:
                raise Found(h, i)
        return h

    def forever(self, trace, limit):
        h = torch.zeros(4)
        while True:
            if len(trace) >= limit:
                raise Stop
            h = self.step(h, len(trace) % 10)
            trace.append(h.sum())
            if h.sum() > 1.2:
                return h

    def nested(self, words, limit):
        total = 0
        for i, w in enumerate(words):
            for v in words[i:]:
                if w + v > limit:
                    raise Failed(total)
                total += w * v
        return total

    def twice(self, words, limit):
        total = 0
        for k in range(2):
            total = total + self.nested(words, limit - k)
        return total

    def check(self, w):
        if w == 7:
            raise Stop
        return w

    def forward(self, instance):
        raise NotImplementedError


def leaving_a_for(self, instance):
    words, limit, _ = instance
    depth = -1
    try:
        h = self.until(words, limit)
    except Found as e:
        h, depth = e.node * 2, e.depth
    return h, depth


def leaving_an_endless_loop(self, instance):
    _, limit, _ = instance
    trace: list[torch.Tensor] = []
    finished = True
    try:
        self.forever(trace, limit)
    except Stop:
        finished = False
    return sum(trace) if trace else torch.zeros(()), len(trace), finished


def leaving_two_loops(self, instance):
    words, limit, _ = instance
    try:
        return self.nested(words, limit + 3)
    except Failed as e:
        return -e.position - 1


def through_two_calls(self, instance):
    words, limit, _ = instance
    total = 0
    for start in range(3):
        try:
            total = total + self.twice(words[start:], limit + 4)
        except Failed as e:
            total = total * 2 - e.position
            continue
        total += 1
    return total


def raised_in_a_loop_of_the_try(self, instance):
    words, limit, _ = instance
    y, seen = 0, []
    try:
        for w in words:
            seen.append(w)
            if w > limit:
                raise Failed(w)
            y += w
        else:
            y += 100
    except Failed as e:
        y = -e.position
    else:
        y += 1000
    return y, seen


def raised_in_two_loops_of_the_try(self, instance):
    words, limit, _ = instance
    h = torch.zeros(4)
    try:
        for i, w in enumerate(words):
            k = 0
            while k < i:
                k += 1
                if words[k] + w > limit + 4:
                    raise Failed(k)
                h = self.step(h, w)
            if w == 8:
                break
    except Failed as e:
        h = h * e.position
    return h


def called_in_a_loop_of_the_try(self, instance):
    words, _, _ = instance
    total = 0
    try:
        for w in words:
            total += 2 * self.check(w)
            total = total + self.check(w)
    except Stop:
        total = -total
    return total


def handlers_that_go_on(self, instance):
    words, limit, _ = instance
    total = 0
    for w in words:
        try:
            total += self.check(w)
            if w > limit:
                raise Failed(w)
            if w == 1:
                continue
            total += 10
        except Stop:
            break
        except Failed as e:
            total -= e.position
            continue
        total += 100
    return total


def raised_again(self, instance):
    words, limit, _ = instance
    total = 0
    try:
        for w in words:
            try:
                if w > limit:
                    raise Failed(w) from None
                total += w
            except Failed as e:
                total += 50
                if w % 2:
                    raise
                if w == 8:
                    raise Stop from e
    except Failed as e:
        total = total * 10 + e.position
    except Stop:
        total = -total
    return total


def of_two_classes(self, instance):
    words, limit, _ = instance
    total = 0
    try:
        for w in words:
            if w > limit:
                raise Deeper(w)
            if w == 2:
                raise Stop
            total += w
    except (Stop, Failed):
        total = -total
    return total


def inside_of_another_try(self, instance):
    words, limit, _ = instance
    try:
        try:
            total = self.nested(words, limit + 3) + self.check(words[0] if words else 0)
        except Stop:
            total = 5
    except Failed as e:
        total = -e.position
    return total


def in_tests(self, instance):
    words, limit, _ = instance
    k = 0
    try:
        if words and self.check(words[0]) > limit:
            k += 1
        while k < len(words) and self.check(words[k]) != 3:
            k += 1
        k = k + (self.check(words[-1]) if words else 4)
        k += 10 if any(self.check(w) == 2 for w in words) else 0
        k += 100 if 1 < self.check(limit) < 6 else 0
    except Stop:
        k = -k - 1
    return k


def with_an_end(self, instance):
    words, limit, _ = instance
    total, opened, seen = 0, 0, []
    for w in words:
        opened += 1
        seen.append(w)
        try:
            total += self.check(w)
            if w > limit:
                break
            if w == 4:
                continue
            total += 10
        except Stop:
            total += 1000
        finally:
            opened -= 1
            seen.pop()
            total *= 2
    return total, opened, len(seen)


def an_end_that_an_exception_passes(self, instance):
    words, limit, _ = instance
    ended, total = 0, 0
    try:
        for w in words:
            try:
                total = total + self.check(w)
                if w > limit:
                    raise Failed(w) from None
            finally:
                ended += 1
    except Stop:
        total = -1
    except Failed as e:
        total = e.position * 100
    return total, ended


def an_end_that_only_raise_passes(self, instance):
    words, limit, _ = instance
    total = 0
    try:
        for w in words:
            try:
                if w > limit:
                    raise Failed(w)
            finally:
                total += 7
    except Failed as e:
        total = -total - e.position
    return total


def lookups_in_loops(self, instance):
    words, limit, _ = instance
    known, total, it = {1: 10, 2: 20}, 0, iter(words)
    for w in words:
        try:
            total += known[w]
        except KeyError:
            known[w] = w
            continue
        try:
            total += words.index(limit)
        except ValueError:
            total -= 1
        try:
            total += words[w + 1]
        except IndexError:
            break
        try:
            total += next(it)
        except StopIteration:
            total += 7
    return total


def lookups_and_own(self, instance):
    words, limit, _ = instance
    known, total = {1: 10, 2: 20, 3: 30}, 0
    try:
        for w in words:
            try:
                total += known[w]
            except KeyError:
                if w > limit:
                    raise Failed(w) from None
                total += 1
    except Failed as e:
        total = -total - e.position
    return total


def texts(self, instance):
    words, limit, _ = instance
    text = "none"
    try:
        for w in words:
            if w > limit:
                raise Stop(f"{w} is more than {limit}")
    except Stop as e:
        text = str(e)
    return text


LOOPS = [leaving_a_for, leaving_an_endless_loop, leaving_two_loops, through_two_calls, raised_in_a_loop_of_the_try]
LOOPS += [raised_in_two_loops_of_the_try, called_in_a_loop_of_the_try, handlers_that_go_on, raised_again]
LOOPS += [of_two_classes, inside_of_another_try, in_tests, with_an_end, an_end_that_an_exception_passes]
LOOPS += [an_end_that_only_raise_passes, lookups_in_loops, lookups_and_own, texts]


def instances(count, seed):
    rng = random.Random(seed)
    return [([rng.randrange(10) for _ in range(rng.randrange(7))], rng.randrange(9), random_tree(rng, 3)) for _ in range(count)]


@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
def test_what_leaves_a_loop(function):
    agrees(with_forward(Cells(), function), instances(12, seed=1), instances(30, seed=2))


@pytest.mark.parametrize("function", [leaving_an_endless_loop, raised_again, an_end_that_an_exception_passes])
def test_what_leaves_a_loop_natively(function, codegen, tmp_path):
    agrees_natively(with_forward(Cells(), function), instances(12, seed=3), codegen, tmp_path)
