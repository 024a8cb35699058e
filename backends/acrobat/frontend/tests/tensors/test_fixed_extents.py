"""Extents that vary by their type and have one value where the program goes on, as `Linear` and slices of one part need it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees

HEAD = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(9, 3)
        self.cell = nn.GRUCell(3, 4)
        self.rnn, self.lstm = nn.RNNCell(3, 4), nn.LSTMCell(3, 4)
        self.gru = nn.GRU(3, 4, batch_first=True)
        self.join = nn.Linear(9, 2)
        self.pair = nn.Linear(2, 2)
        self.pad = nn.Parameter(torch.zeros(3))
        self.conv, self.norm, self.weight = nn.Conv2d(2, 3, 3, padding=1), nn.LayerNorm(9), nn.Parameter(torch.randn(9))

    def forward(self, x):
"""

ROWS = [torch.randn(k % 4 + 2, 3, generator=torch.Generator().manual_seed(k)) for k in range(6)]
BOARDS = [".........", "xo..x....", "xoxoxo..x"]
TOKENS = [torch.arange(k % 4 + 2).unsqueeze(0) for k in range(6)]

MODELS: dict[str, tuple[str, list[Any]]] = {
    "a number to which parts of the same varying extent are added": (
        """
        total = 0
        for part in torch.stack([x, x * 2]):
            total = total + part
        product = 1
        for part in torch.stack([x, x + 1]).permute(0, 2, 1):
            product = product * part if part.sum() > 1 else product - part
        return total, product
""",
        ROWS,
    ),
    "elements of a tensor of fixed shape in the shape of a slice": (
        """
        out = torch.zeros(len(x))
        for i in range(len(x) - 1):
            part = x[i : i + 2].t().unsqueeze(0)
            again = self.join.weight[:, :3].t().reshape(-1).view_as(part)
            out[i : i + 2] += (part * again)[0].sum(0) + self.weight[:6].reshape(len(part[0, 0]), 3).sum(1)
        return out
""",
        ROWS,
    ),
    "rows, one in each round": (
        """
        h = torch.zeros(1, 4)
        for t in range(x.size(0)):
            h = self.cell(x[t : t + 1], h)
        return h.squeeze()
""",
        ROWS,
    ),
    "steps of a batch of one": (
        """
        x, h, outs = x.unsqueeze(0), None, []
        for t in range(x.size(1)):
            out, h = self.gru(x[:, t : t + 1], h)
            outs.append(out)
        return torch.cat(outs, dim=1).squeeze(), h.squeeze()
""",
        ROWS,
    ),
    "tokens of a batch of one": (
        """
        h = torch.zeros(1, 1, 4)
        for t in range(x.size(1)):
            out, h = self.gru(self.embed(x[:, t : t + 1]), h)
        return h.squeeze(), self.embed(x.squeeze()).sum(0)
""",
        TOKENS,
    ),
    "tokens, one in each round": (
        """
        x = x[0]
        h = torch.zeros(1, 4)
        for t in range(len(x)):
            h = self.cell(self.embed(x[t : t + 1]), h)
        return h
""",
        TOKENS,
    ),
    "the last token, for cells": (
        """
        tokens, h, r, s = [1], torch.zeros(1, 4), torch.zeros(1, 4), (torch.zeros(1, 4), torch.ones(1, 4))
        for token in x[0].tolist():
            last = self.embed(torch.tensor(tokens[-1:]))
            h, r, s = self.cell(last, h), self.rnn(last, r), self.lstm(last, s)
            tokens.append(token)
        return h.squeeze(0), r[0], s, self.cell(self.embed(torch.tensor(tokens)), torch.zeros(len(tokens), 4))
""",
        TOKENS,
    ),
    "a list that is filled up": (
        """
        top = [self.embed(torch.tensor(word)) for word in x[-3:]]
        while len(top) < 3:
            top.insert(0, self.pad)
        return self.join(torch.cat(top)), self.join(torch.stack(top).view(-1))
""",
        [[1, 2, 3][:k] for k in range(4)],
    ),
    "the cells of a board, by shapes that are constants": (
        """
        mine, taken = torch.tensor([float(c == "x") for c in x]), torch.tensor([c != "." for c in x])
        codes = torch.tensor([".xo".index(c) for c in x])
        board = torch.stack([mine, 1 - mine]).view(1, 2, 3, 3)
        return (
            self.conv(board).flatten(1), mine.view(3, 3) @ mine.view(3, 3), mine.reshape((9, 1)),
            taken.view(3, 3), codes.view(3, 3), self.embed(codes.view(1, 9)),
        )
""",
        BOARDS,
    ),
    "the cells of a board, beside tensors of nine": (
        """
        mine, out = torch.tensor([float(c == "x") for c in x]), torch.zeros(3, 9)
        out[0] = mine
        out[1:] = torch.tensor([".xo".index(c) for c in x])
        logits = self.norm(mine * self.weight)
        rows = nn.functional.layer_norm(torch.stack([mine, mine]), (9,))
        return out, mine.expand(2, 9), mine[None].expand(3, 9), logits, rows
""",
        BOARDS,
    ),
    "numbers of a dictionary with keys of its own": (
        """
        return [self.pair(torch.tensor(numbers)) for name, numbers in x.items()]
""",
        [{"a": [1.0, 2.0], "b": [3.0 * k, 4.0]} for k in range(3)],
    ),
    "several extents that vary, of which the shape says how many elements there are": (
        """
        planes = torch.tensor([[float(c == p) for c in x] for p in "xo."])
        image = self.conv(planes.view(3, 3, 3)[:2])
        both = torch.stack([planes, planes + 1]), torch.stack([planes, planes * 2], 2)
        mask = torch.tensor([[c == p for c in x] for p in "xo."])
        views = both[0].view(2, 27), both[0].view(54), both[1].reshape(9, 6), planes.unsqueeze(0).view(1, 3, 9)
        return image, views, mask.view(27)
""",
        BOARDS,
    ),
}


@pytest.mark.parametrize("what", MODELS)
def test_extents_that_have_one_value(tmp_path: Path, what: str) -> None:
    body, sample = MODELS[what]
    agrees(load(tmp_path, HEAD + body, f"extents{list(MODELS).index(what)}").Model().eval(), sample)


WRONG: dict[str, tuple[str, list[Any], Any]] = {
    "a slice of one part begins at -1": (
        """
        n = len(x)
        i = n - 3
        return x[i : i + 1]
""",
        ROWS,
        torch.zeros(2, 3),
    ),
    "list index out of range": (
        """
        n = len(x)
        return x[n : n + 1]
""",
        ROWS,
        torch.zeros(2, 3),
    ),
    r"`squeeze\(\)` where an extent that varies is 1": ("        return x.squeeze()\n", ROWS, torch.zeros(1, 3)),
    "an extent is 6, not 9, as `Linear` takes it": (
        """
        return self.join(torch.cat([self.embed(torch.tensor(word)) for word in x]))
""",
        [[1, 2, 3], [1]],
        [1, 2],
    ),
    r"an extent is 2, not 4, as the shape \(2, 2\) takes it": (
        "        return torch.tensor([float(i) for i in x]).view(2, 2)\n",
        [[1, 2, 3, 4]],
        [1, 2],
    ),
    r"an extent is 2, not 4, as the shape \(4, 1\) takes it": (
        "        return torch.tensor([[float(i) for i in x] for _ in x[1:]]).view(4, 1)\n",
        [[1, 2], [1, 2, 3]],
        [1, 2],
    ),
    r"a tensor has 3 elements, not 4, as the shape \(1, 4\) takes them": (
        "        return torch.tensor(x).view(1, 4)\n",
        [[1, 2, 3, 4]],
        [1, 2, 3],
    ),
    "an extent of a shape is 2, not 3, for a tensor of 9 elements": (
        "        return self.weight.view_as(self.embed(torch.tensor(x)))\n",
        [[1, 2, 3], [1, 2]],
        [1, 2],
    ),
    "two extents must be equal here, and are 3 and 4": (
        "        return torch.tensor(x[:-1]).view(len(x))\n",
        [[1, 2, 3, 4]],
        [1, 2, 3, 4],
    ),
    "an extent is 3, not 4, as the part that is assigned to has it": (
        """
        y = torch.zeros(2, 4)
        y[0] = torch.tensor([float(i) for i in x])
        return y
""",
        [[1, 2, 3, 4]],
        [1, 2, 3],
    ),
    "`squeeze` of a dimension whose extent is 2, not 1": (
        """
        return self.cell(self.embed(torch.tensor(x)), torch.zeros(1, 4))
""",
        [[1], [1, 2, 3]],
        [1, 2],
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_other_extents_are_errors_of_the_instance(tmp_path: Path, message: str) -> None:
    body, sample, instance = WRONG[message]
    model = load(tmp_path, HEAD + body, f"extents_wrong{list(WRONG).index(message)}").Model().eval()
    interpreter = Interpreter(build(model, sample=sample))
    with pytest.raises(InstanceError, match=message):
        interpreter.run(instance)
