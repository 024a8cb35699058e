"""Lists whose first element is of another type than the others: an operator and its arguments, a label and its children."""

# mypy: ignore-errors
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

SIZE = 4
TEXTS = ["[MAX 1 2 ]", "5", "[SM [MIN 3 4 ] 7 [MAX [SM 1 ] 2 ] ]", "[MIN [MAX 0 9 ] ]"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.digits = nn.Embedding(10, SIZE)
        self.linear = nn.Linear(SIZE, SIZE)
        self.cell = nn.GRUCell(SIZE, SIZE)

    def reduce(self, op, args):
        if op == "MAX":
            return torch.stack(args).max(0).values
        if op == "MIN":
            return -torch.stack([self.linear(a) for a in args]).sum(0)
        h = torch.zeros(SIZE)
        for a in args:
            h = self.cell(a, h)
        return h

    def number(self, token):
        return self.digits(torch.tensor(int(token)))


def first_and_rest(self, text):
    stack, result = [], None
    for token in text.split():
        if token.startswith("["):
            stack.append([token[1:]])
            continue
        if token == "]":
            frame = stack.pop()
            value = self.reduce(frame[0], frame[1:])
        else:
            value = self.number(token)
        if stack:
            stack[-1].append(value)
        else:
            result = value
    return result


def taken_apart(self, text):
    stack = [["ROOT"]]
    for token in text.split():
        if token.startswith("["):
            stack.append([token[1:]])
        elif token == "]":
            op, *args = stack.pop()
            stack[-1].append(self.reduce(op, args))
        else:
            stack[-1].append(self.number(token))
    label, value = stack[-1]
    return label, value


def one_list(self, text):
    """A list of its own, without another one around it."""
    frame = ["MAX"]
    for token in text.split():
        if token.isdigit():
            frame.append(self.number(token))
    op, *args = frame
    return len(frame), op + "!", self.reduce(op, args)


def asked_for(self, text):
    """Each element is asked for its class."""
    frame = ["MIN"]
    for token in text.split():
        frame.append(self.number(token) if token.isdigit() else token)
    args = [x for x in frame if not isinstance(x, str)]
    return [x for x in frame if isinstance(x, str)], self.reduce(frame[0], args)


def by_a_function(self, text):
    def open_frame(token):
        return [token[1:]]

    def add(frame, value):
        frame.append(value)

    stack = [["ROOT"]]
    for token in text.split():
        if token.startswith("["):
            stack.append(open_frame(token))
        elif token == "]":
            frame = stack.pop()
            add(stack[-1], self.reduce(frame[0], frame[1:]))
        else:
            add(stack[-1], self.number(token))
    return stack[0][1]


def added_up(self, text):
    """Arguments are read by their indices, walked over, joined and added up."""
    stack = [["ROOT"]]
    for token in text.split():
        if token.startswith("["):
            stack.append([token[1:]])
        elif token == "]":
            frame = stack.pop()
            total = frame[1]
            for a in frame[2:]:
                total = total * 0.5 + self.linear(a)
            if frame[0] == "MAX":
                total = total + torch.cat(frame[1:]).view(-1, SIZE).max(0).values
            if frame[0] == "MIN":
                total = total + sum(frame[1:]) / len(frame[1:])
            stack[-1].append(torch.relu(total) - frame[-1])
        else:
            stack[-1].append(self.number(token))
    return stack[-1][-1], stack[-1][0]


def of_ints(self, text):
    stack = [["ROOT"]]
    for token in text.split():
        if token.startswith("["):
            stack.append([token[1:]])
        elif token == "]":
            op, *args = stack.pop()
            stack[-1].append(max(args) if op == "MAX" else min(args) if op == "MIN" else sum(args) % 10)
        else:
            stack[-1].append(int(token))
    return stack[0][1], len(stack[0])


class Value:
    """A tensor, and how deep it was nested."""

    def __init__(self, x, depth):
        self.x, self.depth = x, depth


def of_objects(self, text):
    stack = [["ROOT"]]
    for token in text.split():
        if token.startswith("["):
            stack.append([token[1:]])
        elif token == "]":
            op, *args = stack.pop()
            value = self.reduce(op, [a.x for a in args])
            stack[-1].append(Value(value, max(a.depth for a in args) + 1))
        else:
            stack[-1].append(Value(self.number(token), 0))
    return stack[0][1].x, stack[0][1].depth


FORWARDS = [first_and_rest, taken_apart, one_list, asked_for, by_a_function, added_up, of_ints, of_objects]


@pytest.mark.parametrize("forward", FORWARDS, ids=lambda f: f.__name__)
def test_as_in_python(forward: Any) -> None:
    agrees(with_forward(Model(), forward), TEXTS)


def test_natively(codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(Model(), first_and_rest), TEXTS, codegen, tmp_path)


def test_a_string_among_tensors_is_an_error_of_the_instance() -> None:
    def forward(self, tokens):
        frame = ["MAX"]
        for token in tokens:
            frame.append(self.number(token) if token.isdigit() else token)
        return torch.stack(frame[1:]).sum(0)

    run = Interpreter(build(with_forward(Model(), forward), sample=[["1", "2"]])).run
    run(["3", "1"])
    with pytest.raises(InstanceError, match="does not take a string"):
        run(["3", "x"])
