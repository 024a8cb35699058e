"""Static methods that change what they are given, by the methods of its class. Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from backends.acrobat.frontend.evaluator.rewriting.outputs import Changing, changed_parameters
from backends.acrobat.tests.zoo.check import agrees

ROWS = ["first", "second", "out"]


class Pad:
    def __init__(self, width):
        self.width = width
        self.grid = {row: [0] * width for row in ROWS}
        self.pointers = dict.fromkeys(ROWS, width - 1)

    def read(self):
        return [self.grid[row][self.pointers[row]] for row in ROWS]

    def write(self, row, digit):
        self.grid[row][self.pointers[row]] = digit

    def move(self, row, step):
        self.pointers[row] = min(max(self.pointers[row] + step, 0), self.width - 1)


@dataclass
class Frame:
    program: int
    state: torch.Tensor


class Interpreter(nn.Module):
    """Frames on a stack keep states of their own; a static method writes on the pad that all of them share."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.core = nn.Linear(3, 3)

    def step(self, frame, pad, x):
        frame.state = torch.tanh(self.core(frame.state) + x + float(sum(pad.read())))
        return frame.state.argmax().item()

    @staticmethod
    def act(pad, args):
        row, is_write, digit = args
        if is_write:
            pad.write(ROWS[row], digit)
        else:
            pad.move(ROWS[row], -1)

    def forward(self, xs):
        pad, trace = Pad(3), []
        stack = [Frame(0, torch.zeros(3))]
        for x in xs:
            frame = stack[-1]
            k = self.step(frame, pad, x)
            trace.append((len(stack), k))
            self.act(pad, (k, len(trace) % 2, k + 1))
            if k == 1:
                stack.append(Frame(k, torch.ones(3)))
            elif k == 2:
                stack.pop()
                if not stack:
                    break
        return pad.read(), pad.grid["out"], trace


class Tally:
    def __init__(self):
        self.seen = []
        self.total = 0

    def record(self, n):
        self.seen.append(n)
        self.total += n


class Counting(nn.Module):
    @staticmethod
    def note(tally, n):
        tally.record(n)

    @staticmethod
    def note_twice(tally, n):
        Counting.note(tally, n)
        Counting.note(tally, -2 * n)

    def noted(self, tally, n):
        self.note(tally, n)

    def forward(self, xs):
        tally = Tally()
        same = tally
        for i in range(len(xs)):
            (self.note if i % 2 else self.note_twice)(tally, i)
        return same.seen, same.total


def instances():
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(n, 3, generator=generator) for n in (1, 2, 5, 3, 9, 1, 7)]


def test_a_shared_pad():
    agrees(Interpreter(), instances())


def test_an_object_of_two_names():
    agrees(Counting(), instances())


def test_the_first_parameter_is_no_object_of_the_class():
    assert set(changed_parameters(Counting.noted, Counting, Changing([Counting()]))) == {"tally"}
