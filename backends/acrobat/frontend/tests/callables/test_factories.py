"""Functions and methods that give functions, whose free variables are values of run time: nested functions, lambdas, partials.
Against eager PyTorch, in the interpreter and by generated host code."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, agrees_unless_refused, with_forward

WORDS = [([1, 2, 0], 1), ([3], 0), ([], 2), ([2, 2, 1, 0, 3], 2)]


class Spans(nn.Module):
    """A method that gives a scoring function of spans, which sees tensors that the method has computed."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(4, 3)
        self.up = nn.Linear(3, 3)
        self.left, self.right = nn.Linear(3, 3), nn.Linear(3, 3)
        self.h: Any = None

    def spans(self, words, layer):
        out = torch.cat([torch.zeros(1, 3), self.embed(torch.tensor([0, *words]))])
        if len(words) > 3:
            out = out * 2

        def span(i, j=1):
            return layer(out[j] - out[i])

        return span

    def forward(self, instance):
        words, _ = instance
        score = self.spans(words, self.left)
        other = self.spans(words[::-1], self.right)
        total = score(0)
        for i in range(len(words)):
            total = total + score(i, i + 1) * other(i)
        return total


def test_a_nested_function_that_a_method_gives():
    agrees(Spans(), WORDS)


def test_a_nested_function_natively(codegen, tmp_path):
    agrees_natively(Spans().eval(), WORDS, codegen, tmp_path)


def scaled(x, by):
    return lambda y: x * by + y


def two_of_them(self, instance):
    def both(words):
        x = self.embed(torch.tensor([*words, 0])).sum(0)

        def first(k):
            return x * k

        return first, lambda y: y + x, len(words)

    words, kind = instance
    first, second, size = both(words)
    return second(first(kind)), size


def a_lambda(self, instance):
    words, kind = instance
    add = scaled(self.embed(torch.tensor(kind)), len(words))
    return add(add(torch.ones(3)))


def a_partial(self, instance):
    def weighted(scale, x):
        return self.up(x) * scale

    def make(n):
        return partial(weighted, n + 0.5)

    words, kind = instance
    f = make(len(words))
    return f(self.embed(torch.tensor(kind)))


def by_two_functions(self, instance):
    """The function goes through a function that only hands it on, and is given to another one."""

    def outer(k):
        return scaled(self.embed(torch.tensor(k)), k)

    def apply(function, words):
        return [function(self.embed(torch.tensor(w))) for w in words]

    words, kind = instance
    return apply(outer(kind), words)


def chosen(self, instance):
    """Which function is given is decided at run time."""

    def pick(kind, n):
        if kind == 0:
            return None
        if kind == 1:
            return self.left
        return lambda x: self.right(x) * n

    words, kind = instance
    f = pick(kind, len(words))
    x = self.embed(torch.tensor(kind))
    return f(x) if f is not None else x


def in_a_loop(self, instance):
    """Each round makes its own function, of the values of that round."""
    words, kind = instance
    total = torch.zeros(3)
    for w in words:
        add = scaled(total, kind)
        total = torch.tanh(add(self.embed(torch.tensor(w))))
    return total


def calling_each_other(self, instance):
    def make(words):
        x = self.embed(torch.tensor([*words, 0])).sum(0)

        def step(k):
            return torch.tanh(self.up(x)) * k

        def twice(k):
            return step(k) + step(k + 1)

        return twice

    words, kind = instance
    return make(words)(kind)


def calling_itself_inside(self, instance):
    def make(words):
        def below(i):
            if i >= len(words):
                return self.embed.weight[0]
            return torch.tanh(self.up(below(i + 1)) + self.embed(torch.tensor(words[i])))

        return below

    words, kind = instance
    return make(words)(0), make([kind])(0)


def same_names(self, instance):
    """The names of the function that gives the other are its own, also where it changes what they stand for."""

    def make(words):
        found = []
        for w in words:
            found.append(w + 1)
        kind = len(found)
        return lambda i: found[i] * kind if i < kind else 0

    words, kind = instance
    found = [7]
    if kind > 0:
        get = make(words)
        found.append(get(kind))
    return found, kind


def assigned_later(self, instance):
    """A nested function sees the values that names have at the end of the function around it."""

    def make(x):
        def get():
            return x + y

        y = x * 2
        x = x + 1
        return get

    _, kind = instance
    return make(kind)()


@pytest.mark.parametrize(
    "function",
    [
        two_of_them,
        a_lambda,
        a_partial,
        by_two_functions,
        chosen,
        in_a_loop,
        calling_each_other,
        calling_itself_inside,
        same_names,
        assigned_later,
    ],
)
def test_functions_that_give_functions(function):
    agrees(with_forward(Spans(), function), WORDS)


def stateful(self, instance):
    """The function that is given reads an attribute of the module as it is when it is called."""
    words, kind = instance
    self.h = self.embed(torch.tensor(kind))
    get = reading(self, len(words))
    before = get()
    self.h = self.up(self.h)
    return before, get()


def reading(model, n):
    def get():
        return model.h * n

    return get


def counting(self, instance):
    def counter():
        n = 0

        def step():
            nonlocal n
            n += 1
            return n

        return step

    words, _ = instance
    step = counter()
    return step() + step() + len(words)


def collecting(self, instance):
    def collector():
        found = []

        def put(x):
            found.append(x)
            return len(found)

        return put

    words, _ = instance
    put = collector()
    return put(1) + put(2) + len(words)


def list_changed_later(self, instance):
    def make(xs):
        return lambda: xs[-1] + len(xs)

    words, kind = instance
    own = [w + 1 for w in words] + [kind]
    get = make(own)
    own.append(3)
    return get()


def part_changed_later(self, instance):
    def make(xs):
        first = xs[0]
        return lambda: len(first)

    words, kind = instance
    own = [[w + 1 for w in words], [kind]]
    get = make(own)
    own[0].append(3)
    return get()


def tensor_changed_later(self, instance):
    def make(x):
        return lambda: x + 1

    _, kind = instance
    h = torch.zeros(3)
    get = make(h)
    h += kind
    return get()


def tensor_changed_by_method(self, instance):
    def make(x):
        def get():
            return x + 1

        return get

    h = self.up(torch.zeros(3))
    get = make(h)
    h.relu_()
    return get()


def both_given(self, instance):
    def make(kind):
        found = [kind]
        return (lambda: found[-1]), found

    words, kind = instance
    get, found = make(kind)
    found.append(len(words))
    return get()


def tensor_beside(self, instance):
    """The tensor that is given beside the function is the one that this sees."""

    def make(kind):
        h = self.up(torch.ones(3)) * kind
        return (lambda: h + 1), h

    _, kind = instance
    get, h = make(kind)
    h += 2
    return get(), h


def calling_itself(self, instance):
    def nested(k):
        if k == 0:
            return lambda x: x
        inner = nested(k - 1)
        return lambda x: inner(x) * 2

    _, kind = instance
    return nested(kind)(1)


def after_a_loop(self, instance):
    words, kind = instance
    get = scaled(kind, 1)
    for w in words:
        get = scaled(w, kind)
    return get(1)


def as_an_attribute(self, instance):
    words, kind = instance
    self.h = scaled(kind, len(words))
    return self.h(1)


def changing_in_a_branch(self, instance):
    def make(model, k):
        if k > 1:
            model.h = model.up(model.h)
            return lambda x: x + k
        return lambda x: x

    _, kind = instance
    self.h = torch.ones(3)
    return make(self, kind)(self.h), self.h


def from_a_loop(self, instance):
    def make(words):
        for w in words:
            if w > 1:
                return lambda x: x * w
        return lambda x: x

    words, kind = instance
    return make(words)(kind)


def in_a_comprehension(self, instance):
    words, kind = instance
    return [scaled(w, kind)(i) for i, w in enumerate(words)]


def changing_the_module(self, instance):
    """The function that gives another one assigns to an attribute of the module."""
    _, kind = instance
    self.h = torch.zeros(3)
    get = remembering(self, kind)
    first = get(self.h)
    self.h = self.h + 1
    return first, get(self.h), self.h


def remembering(model, k):
    model.h = model.up(model.h) + k
    kept = model.h
    return lambda x: kept + x


RIGHT = [
    stateful,
    tensor_changed_later,
    tensor_changed_by_method,
    tensor_beside,
    in_a_comprehension,
    changing_the_module,
    as_an_attribute,
]
REFUSED = {
    counting: "`step` changes `n` of the function around it, which has ended",
    collecting: "`put` changes `found` of the function around it, which has ended",
    list_changed_later: "may be seen under another name than `own`",
    part_changed_later: "may be seen under another name than `own`",
    both_given: "may be seen under another name than `found`",
    calling_itself: "`nested` gives a function, and calls itself",
    changing_in_a_branch: "`make` changes the attribute `h` in a branch in which it ends",
    from_a_loop: "is left here inside of a loop",
    after_a_loop: "get",
}


@pytest.mark.parametrize("function", RIGHT)
def test_what_changes_after_the_function_was_given(function):
    agrees(with_forward(Spans(), function), WORDS)


@pytest.mark.parametrize("function", REFUSED)
def test_what_is_refused(function):
    agrees_unless_refused(with_forward(Spans(), function), WORDS, REFUSED[function])
