"""Exceptions of the model's own classes that a called function raises, and the caller catches. Against eager PyTorch, in the
interpreter and by generated host code."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

WORDS = [([1, 2, 0], 1), ([3], 0), ([], 2), ([2, 2, 1, 0, 3], 2)]


class Exit(Exception):
    def __init__(self, state, layer):
        self.state = state
        self.layer = layer


class TooMany(Exception):
    pass


class Layers(nn.Module):
    """Layers of which the last ones are left out by an exception."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])
        self.h: Any = None

    def run(self, x, last):
        for i, layer in enumerate(self.layers):
            x = torch.tanh(layer(x))
            if i == last or x.sum().item() > 1.5:
                raise Exit((x, x.sum()), i + 1)
        return x, x.mean()

    def few(self, words, k):
        if len(words) > 2:
            raise TooMany(f"{k} and more")
        return k * 2

    def deep(self, words, k):
        return self.few(words, k) + 1

    def deepest(self, words, k):
        x = torch.ones(3) * k
        y = self.deep(words, k)
        if self.deep(words, k + 1) > 3:
            x = x * 2
        y += self.deep(words, 2)
        self.few(words[1:], k)
        return x, y

    def kept(self, words, k):
        x, s = self.run(torch.ones(3), k + len(words))
        return x * 2, s

    def caught_inside(self, words, k):
        try:
            y = self.deep(words, k)
        except TooMany:
            y = -3
        if k > 1:
            raise TooMany
        return y

    def otherwise(self, words, k):
        try:
            y = self.deep(words, k)
        except Exit:
            y = 5
        return y

    def down(self, words, k):
        if k > 2:
            raise TooMany
        return self.down(words[1:], k + 1) if words else k

    def some(self, words):
        for w in words:
            if w > 2:
                raise TooMany
        return 1

    def each(self, words):
        for w in words:
            if w > 2:
                raise TooMany
            yield w

    def no_key(self, words):
        if len(words) > 1:
            raise NoKey
        return 1

    def remembered(self, k):
        self.h = self.h + 1
        if k > 1:
            raise Exit(self.h, k)
        return self.h

    def forward(self, instance):
        words, kind = instance
        depth = 3
        try:
            x, s = self.run(torch.ones(3), kind + len(words) - 1)
        except Exit as e:
            x, s = e.state
            depth = e.layer
        return x, s, depth


def returned(self, instance):
    words, kind = instance
    try:
        return self.few(words, kind)
    except TooMany:
        return -1


def with_else(self, instance):
    words, kind = instance
    y = 0
    try:
        y = self.few(words, kind)
    except TooMany:
        y = y - 5
    else:
        y = y + 100
    return y


def in_a_loop(self, instance):
    words, _ = instance
    total = 0
    for w in words:
        try:
            y = self.few(words[w:], w)
        except TooMany:
            y = 7
        total = total + y
    return total


def leaving_a_loop(self, instance):
    words, _ = instance
    total = 0
    for w in words:
        try:
            y = self.few(words[w:], w)
        except TooMany:
            return total
        total = total + y
    return total


def raises_nothing(self, instance):
    words, kind = instance
    try:
        y = len(words) + kind
        y = max(y, 1)
    finally:
        y = y + 1
    return y


def deeper(self, instance):
    words, kind = instance
    try:
        y = self.deep(words, kind)
    except TooMany:
        y = 7
    return y


def from_a_loop(self, instance):
    words, _ = instance
    try:
        y = self.some(words)
    except TooMany:
        y = 7
    return y


def read_without_init(self, instance):
    words, kind = instance
    try:
        y = self.few(words, kind)
    except TooMany as e:
        y = len(str(e))
    return y


def in_an_argument(self, instance):
    words, kind = instance
    y = 3
    try:
        y = self.few(words, self.few(words, kind))
    except TooMany:
        y = y + 7
    return y


def changing(self, instance):
    _, kind = instance
    self.h = torch.ones(3)
    try:
        x = self.remembered(kind)
    except Exit as e:
        x = e.state * 2
    return x, self.h


def several_statements(self, instance):
    words, kind = instance
    y = 0
    try:
        y = y + 1
        y = y + self.few(words, kind)
    except TooMany:
        y = y + 7
    return y


def in_a_condition(self, instance):
    words, kind = instance
    y = 0
    try:
        if kind > 1:
            raise TooMany
        y = self.few(words, kind)
    except TooMany:
        y = 7
    return y


def behind_another_call(self, instance):
    words, kind = instance
    try:
        y = max(words, default=0) + self.few(words, kind)
    except TooMany:
        y = 7
    return y


def in_a_loop_of_the_try(self, instance):
    words, kind = instance
    y = 0
    try:
        for w in words:
            y = y + self.few(words[w:], kind)
    except TooMany:
        y = y + 7
    return y


def through_another_try(self, instance):
    words, kind = instance
    try:
        y = self.otherwise(words, kind)
    except TooMany:
        y = 7
    return y


def returned_behind(self, instance):
    words, kind = instance
    try:
        k = len(words)
        if k == 1:
            return 3
        y = self.few(words, kind)
    except TooMany:
        return 7
    return y + k


def recursive(self, instance):
    words, kind = instance
    try:
        y = self.down(words, kind)
    except TooMany:
        y = 7
    return y


def half_done(self, instance):
    words, kind = instance
    y, seen = 1, []
    try:
        y = y + kind
        seen.append(y)
        z = self.few(words[1:], kind)
        y = y * 10 + z
        seen.append(y)
        y = y + self.deep(words, kind)
        seen.append(y)
    except TooMany:
        y = y + 7
    else:
        y = y - 1
    return y, seen


def deepest(self, instance):
    words, kind = instance
    try:
        n = len(words)
        x, y = self.deepest(words, kind)
    except TooMany:
        return torch.zeros(3), -1
    return x + n, y


def kept_by_the_exception(self, instance):
    words, kind = instance
    depth = 0
    try:
        x, s = self.kept(words, kind - 1)
    except Exit as e:
        x, s = e.state
        depth = e.layer
    return x, s, depth


def caught_inside(self, instance):
    words, kind = instance
    try:
        k = kind
        return self.caught_inside(words, k) + k
    except TooMany:
        return -1


def of_another_class(self, instance):
    words, kind = instance
    try:
        y = self.few(words, kind)
    except Exit:
        y = 1
    return y


def in_each_round(self, instance):
    words, kind = instance
    y, status = 0, "ok"
    for w in words:
        try:
            if w > 2:
                raise TooMany(f"{w} is too much")
            if w == 0:
                continue
            if w == 1:
                y += 10
                if kind > 1:
                    raise TooMany
            else:
                y += 1
            y += w
        except TooMany as e:
            status = f"error: {e}"
            if kind == 0:
                break
    return y, status


class Kept(TooMany):
    def __init__(self, n):
        self.n = n


def kept_by_its_own(self, instance):
    words, kind = instance
    seen = []
    try:
        seen.append(kind)
        if kind == 1:
            raise Kept(len(words))
        seen.append(5)
    except Kept as e:
        seen.append(e.n)
    else:
        seen.append(9)
    return seen


def of_derived_classes(self, instance):
    words, kind = instance
    try:
        match kind:
            case 0:
                raise TooMany("no kind", len(words))
            case 1:
                y = 2
            case _:
                raise Kept(kind)
    except TooMany:
        y = len(words) + 7
    return y


def until_it_breaks(self, instance):
    _, kind = instance
    y = 0
    while True:
        try:
            y += 1
            if y > kind + 3:
                break
            if y == 2:
                raise TooMany(str(y))
        except TooMany as e:
            y += len(str(e))
            continue
        y += 1
    return y


def inside_another_try(self, instance):
    words, kind = instance
    try:
        if kind > 1:
            raise TooMany("outside")
        try:
            if words:
                raise Kept(1)
            y = 1
        except Kept:
            y = 2
        y = y + self.few(words, kind)
    except TooMany:
        y = 3
    return y


def raised_in_a_loop_of_the_try(self, instance):
    words, _ = instance
    y = 0
    try:
        for w in words:
            if w > 2:
                raise TooMany
            y += w
    except TooMany:
        y = -1
    return y


def text_of_two(self, instance):
    words, kind = instance
    text = ""
    try:
        if kind:
            raise TooMany(kind, len(words))
    except TooMany as e:
        text = f"{e}"
    return text


def in_a_lambda(self, instance):
    words, kind = instance
    try:
        xs = sorted(words, key=lambda w: self.few(words, w))
    except TooMany:
        xs = [kind]
    return xs


def in_what_a_generator_gives(self, instance):
    words, _ = instance
    seen = []
    try:
        for w in self.each(words):
            seen.append(w * 2)
    except TooMany:
        seen.append(-1)
    return seen


class NoKey(KeyError):
    pass


def also_of_python(self, instance):
    words, kind = instance
    known = {1: 2}
    try:
        try:
            y = known[kind]
            y = y + self.no_key(words)
        except KeyError:
            y = 5
    except NoKey:
        y = 6
    return y


def test_an_early_exit_by_an_exception():
    agrees(Layers(), WORDS)


def test_an_early_exit_natively(codegen, tmp_path):
    agrees_natively(Layers().eval(), WORDS, codegen, tmp_path)


CAUGHT = [returned, with_else, in_a_loop, leaving_a_loop, raises_nothing, deeper, in_an_argument, several_statements, half_done]
CAUGHT += [deepest, kept_by_the_exception, caught_inside, in_a_condition, returned_behind, behind_another_call, recursive]
CAUGHT += [in_a_loop_of_the_try, through_another_try, from_a_loop, read_without_init, changing]
OWN = [in_each_round, kept_by_its_own, of_derived_classes, until_it_breaks, inside_another_try, raised_in_a_loop_of_the_try]


@pytest.mark.parametrize("function", [*CAUGHT, *OWN], ids=lambda f: f.__name__)
def test_what_is_caught(function):
    agrees(with_forward(Layers(), function), WORDS)


@pytest.mark.parametrize("codegen", ["aot", "vm"])
def test_what_the_try_itself_raises_natively(codegen, tmp_path):
    agrees_natively(with_forward(Layers(), in_each_round), WORDS, codegen, tmp_path)


REFUSED = {
    text_of_two: "of an exception without `__init__` the text is that of one argument",
    in_a_lambda: "in a part of a statement in which that is not followed",
    in_what_a_generator_gives: "the generator `each` raises an exception that is caught",
    also_of_python: "in a part of a statement in which that is not followed",
}


@pytest.mark.parametrize("function", REFUSED)
def test_what_is_not_followed_is_refused(function):
    with pytest.raises(CompileError, match=REFUSED[function]):
        agrees(with_forward(Layers(), function), WORDS)


def test_an_exception_of_another_class_is_an_error_of_the_instance():
    interpreter = Interpreter(build(with_forward(Layers(), of_another_class), sample=WORDS))
    interpreter.run(([1], 2))
    with pytest.raises(InstanceError, match="TooMany: 1 and more"):
        interpreter.run(([1, 1, 1], 1))
