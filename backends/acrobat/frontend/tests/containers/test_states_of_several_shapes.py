"""Whole models with lists of tensors of several shapes: layers of several sizes with their states, streams with buffers,
feature pyramids."""

# mypy: ignore-errors
# ruff: noqa: B905 - as users write `zip`
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively

GENERATOR = torch.Generator().manual_seed(0)


def vectors(*shape):
    return torch.randn(*shape, generator=GENERATOR)


SEQUENCES = [vectors(n, 6) for n in (1, 2, 5)]


class PyramidLSTM(nn.Module):
    """Layers of several sizes; the state is a list of pairs."""

    sample: ClassVar = SEQUENCES

    def __init__(self, sizes=(6, 8, 5)):
        super().__init__()
        self.cells = nn.ModuleList(nn.LSTMCell(a, b) for a, b in zip((6, *sizes), sizes))
        self.sizes = sizes
        self.out = nn.Linear(sizes[-1], 3)

    def forward(self, xs):
        states = [(torch.zeros(1, h), torch.zeros(1, h)) for h in self.sizes]
        outs = []
        for x in xs:
            h = x.unsqueeze(0)
            new_states = []
            for cell, (hx, cx) in zip(self.cells, states):
                hx, cx = cell(h, (hx, cx))
                new_states.append((hx, cx))
                h = hx
            states = new_states
            outs.append(self.out(h))
        return torch.cat(outs), states[-1][0]


class NoneAtFirst(PyramidLSTM):
    """The same, with no states before the first round."""

    def forward(self, xs):
        states = [None for _ in self.cells]
        for x in xs:
            x = x.unsqueeze(0)
            for i, cell in enumerate(self.cells):
                states[i] = cell(x, states[i])
                x = states[i][0]
        return x, [c for _, c in states]


class OwnState(nn.Module):
    """The states are an attribute of the model."""

    sample: ClassVar = SEQUENCES

    def __init__(self):
        super().__init__()
        self.cells = nn.ModuleList([nn.GRUCell(6, 8), nn.GRUCell(8, 5)])
        self.states = None

    def step(self, x):
        states = []
        for cell, h in zip(self.cells, self.states):
            x = cell(x, h)
            states.append(x)
        self.states = states
        return x

    def forward(self, xs):
        self.states = [torch.zeros(1, 8), torch.zeros(1, 5)]
        ys = []
        for x in xs:
            ys.append(self.step(x.unsqueeze(0)))
        return torch.cat(ys), self.states[0]


@dataclass
class Stream:
    buffers: list
    step: int
    last: Tensor | None = None


class StreamConvolutions(nn.Module):
    """Buffers that differ in two extents, in a field that is annotated as a list."""

    sample: ClassVar = ([vectors(n, 5) for n in (3,)], [vectors(n, 5) for n in (1, 6, 2)], [vectors(n, 5) for n in (2, 2)])

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv1d(5, 6, 3), nn.Conv1d(6, 4, 3, dilation=2), nn.Conv1d(4, 7, 2)])
        self.head = nn.Linear(7, 3)

    def fresh(self):
        buffers = []
        for layer in self.layers:
            buffers.append(torch.zeros(layer.in_channels, (layer.kernel_size[0] - 1) * layer.dilation[0]))
        return Stream(buffers, 0)

    def push(self, chunk, state):
        x = chunk.t()
        new = []
        for layer, buffer in zip(self.layers, state.buffers):
            x = torch.cat([buffer, x], dim=1)
            new.append(x[:, x.size(1) - buffer.size(1) :])
            x = torch.relu(layer(x.unsqueeze(0)).squeeze(0))
        y = self.head(x.t())
        return y, Stream(new, state.step + chunk.size(0), y[-1])

    def forward(self, chunks):
        state = self.fresh()
        out = []
        for chunk in chunks:
            y, state = self.push(chunk, state)
            out.append(y)
        return torch.cat(out), state.step, state.last


class FeaturePyramid(nn.Module):
    """Maps that differ in three extents; items are assigned to from the last one on."""

    sample: ClassVar = [vectors(3, 16, 16) for _ in range(2)]

    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList([nn.Conv2d(3, 4, 3, 2, 1), nn.Conv2d(4, 6, 3, 2, 1), nn.Conv2d(6, 8, 3, 2, 1)])
        self.lateral = nn.ModuleList([nn.Conv2d(c, 5, 1) for c in (4, 6, 8)])
        self.classify = nn.Conv2d(5, 2, 1)

    def backbone(self, image):
        x = image.unsqueeze(0)
        maps = []
        for stage in self.stages:
            x = F.relu(stage(x))
            maps.append(x)
        return maps

    def forward(self, image):
        laterals = [layer(x) for layer, x in zip(self.lateral, self.backbone(image))]
        for i in range(len(laterals) - 1, 0, -1):
            size = laterals[i - 1].shape[-2:]
            laterals[i - 1] = laterals[i - 1] + F.interpolate(laterals[i], size=size, mode="nearest")
        scores = [self.classify(x) for x in laterals]
        return [s.squeeze(0) for s in scores], torch.cat([s.flatten(2) for s in scores], dim=2)


class UNet(nn.Module):
    """An encoder that gives its maps to a decoder."""

    sample: ClassVar = [vectors(1, 8) for _ in range(2)]

    def __init__(self):
        super().__init__()
        self.downs = nn.ModuleList([nn.Conv1d(1, 4, 3, padding=1), nn.Conv1d(4, 6, 3, padding=1)])
        self.ups = nn.ModuleList([nn.Conv1d(6 + 6, 4, 3, padding=1), nn.Conv1d(4 + 4, 2, 3, padding=1)])

    def encode(self, x):
        skips = []
        for layer in self.downs:
            x = F.relu(layer(x))
            skips.append(x)
            x = F.max_pool1d(x, 2)
        return x, skips

    def decode(self, x, skips):
        for layer in self.ups:
            x = F.interpolate(x, scale_factor=2, mode="nearest")
            x = layer(torch.cat([x, skips.pop()], dim=1))
        return x

    def forward(self, x):
        x, skips = self.encode(x.unsqueeze(0))
        means = [s.mean() for s in skips]
        return self.decode(x, skips), means


class Beams(nn.Module):
    """States in tuples that are sorted."""

    sample: ClassVar = ([3], [1, 2], [5, 0, 4])

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 4)
        self.cells = nn.ModuleList([nn.GRUCell(4, 6), nn.GRUCell(6, 5)])
        self.out = nn.Linear(5, 9)

    def step(self, token, states):
        x = self.embed(torch.tensor([token]))
        new = []
        for cell, h in zip(self.cells, states):
            x = cell(x, h)
            new.append(x)
        return self.out(x).log_softmax(-1)[0], new

    def forward(self, prefix):
        states = [torch.zeros(1, cell.hidden_size) for cell in self.cells]
        for token in prefix[:-1]:
            _, states = self.step(token, states)
        beams = [(0.0, [prefix[-1]], states)]
        for _ in range(2):
            candidates = []
            for score, tokens, states in beams:
                scores, new = self.step(tokens[-1], states)
                values, indices = scores.topk(2)
                for value, i in zip(values.tolist(), indices.tolist()):
                    candidates.append((score + value, [*tokens, i], new))
            candidates.sort(key=lambda b: b[0], reverse=True)
            beams = candidates[:2]
        return beams[0][1], beams[0][0]


MODELS = [PyramidLSTM, NoneAtFirst, OwnState, StreamConvolutions, FeaturePyramid, UNet, Beams]


def made(cls):
    torch.manual_seed(1)
    return cls().eval()


@pytest.mark.parametrize("cls", MODELS)
def test_models(cls):
    agrees(made(cls), list(cls.sample))


@pytest.mark.parametrize("codegen", ["aot", "vm"])
@pytest.mark.parametrize("cls", [PyramidLSTM, StreamConvolutions])
def test_generated_code(cls, codegen, tmp_path):
    agrees_natively(made(cls), list(cls.sample), codegen, tmp_path)
