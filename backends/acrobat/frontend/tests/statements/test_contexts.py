"""The contexts of `with` statements: those that change nothing about what is computed compile, all others are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.tests.zoo.check import agrees, with_forward

TEXT = """
import contextlib
import torch




class Model(torch.nn.Module):
    def forward(self, x):
        about = contextlib.nullcontext() if self.training else torch.no_grad()
        with {written}:
            if x.size(0) > 2:
                return x + 1.0
            y = x * 2.0
        return y
"""
ROWS = [torch.ones(n, 2) for n in (3, 1, 0)]


class Scope:
    """Has a word on a stack while the statements in it run."""

    def __init__(self, stack, word):
        self.stack = stack
        self.word = word

    def __enter__(self):
        self.stack.append(self.word)
        return self

    def __exit__(self, kind, error, trace):
        self.stack.pop()
        return False


class Depth:
    def __init__(self, start):
        self.depth = start

    def __enter__(self):
        self.depth += 1
        return self.depth

    def __exit__(self, *about):
        self.depth -= 1


class Suppressing(Depth):
    def __exit__(self, kind, error, trace):
        return kind is not None


class Stop(Exception):
    pass


class Words(torch.nn.Module):
    def check(self, word):
        if word == 7:
            raise Stop
        return word

    def nested(self, words, stack):
        if not words:
            return len(stack)
        with Scope(stack, words[0]):
            return self.check(words[0]) + self.nested(words[1:], stack)

    def forward(self, instance):
        raise NotImplementedError


def left_in_loops(self, instance):
    stack: list[int] = []
    y = 0
    for w in instance:
        with Scope(stack, w) as scope:
            if w == 4:
                continue
            if w > 7:
                break
            y += scope.word + len(stack)
    return y, stack


def passed_by_exceptions(self, instance):
    stack = [5]
    try:
        y = self.nested(instance, stack)
    except Stop:
        y = -1
    return y, stack


def several_at_once(self, instance):
    stack: list[int] = []
    y = 0
    try:
        for w in instance:
            with Depth(w) as d, Scope(stack, d):
                y += self.check(w) * len(stack) + d
    except Stop:
        y = -y
    return y, stack


def suppressing(self, instance):
    y = 0
    for w in instance:
        with Suppressing(w) as d:
            y += self.check(w) + d
    return y


WORDS = [[1, 2, 3], [], [4, 7, 1], [9, 1], [7], [3, 4, 5, 8, 2], [2, 7]]


def model(written: str, folder: Path) -> torch.nn.Module:
    text = TEXT.replace("{written}", written)
    module: torch.nn.Module = load(folder, text, f"contexts_{abs(hash(written))}").Model().eval()
    return module


@pytest.mark.parametrize(
    "written",
    [
        "torch.enable_grad()",
        "torch.set_grad_enabled(self.training), torch.no_grad()",
        "torch.autocast('cpu', enabled=False)",
        "torch.profiler.record_function('name')",
        "contextlib.nullcontext()",
        "about",
    ],
)
def test_contexts_that_change_nothing(written: str, tmp_path: Path) -> None:
    agrees(model(written, tmp_path), ROWS)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("torch.autocast('cpu', dtype=torch.bfloat16)", "`autocast` has tensors of other types than float32"),
        ("torch.no_grad() as about", r"`with torch.no_grad\(\)` gives nothing to name"),
        ("self.training", "what it does before and after its statements is not compiled"),
        ("open('text') as text", "`open`"),
    ],
)
def test_others_are_refused_alone(written: str, message: str, tmp_path: Path) -> None:
    """Names that the statement would give values to are no further problems."""
    with pytest.raises(CompileError, match=message) as error:
        build(model(written, tmp_path), sample=ROWS)
    (problem,) = error.value.problems
    assert problem.span.line == 11


@pytest.mark.parametrize("function", [left_in_loops, passed_by_exceptions, several_at_once], ids=lambda f: f.__name__)
def test_contexts_of_own_classes(function) -> None:
    agrees(with_forward(Words(), function), WORDS)


def test_one_that_looks_at_exceptions_is_refused() -> None:
    with pytest.raises(CompileError, match="what it does before and after its statements is not compiled"):
        build(with_forward(Words(), suppressing), sample=WORDS)
