"""Batches of sequences that begin as one sequence of one token and grow in both extents, as in a beam search that keeps its
hypotheses in one tensor. Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

import math
from pathlib import Path

import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively

VOCABULARY, DIM, HEADS = 9, 8, 2
BOS, EOS = 0, 1


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(DIM, DIM) for _ in range(4))

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], HEADS, DIM // HEADS).transpose(1, 2)

    def forward(self, x, memory, mask=None):
        q, k, v = self.split(self.q(x)), self.split(self.k(memory)), self.split(self.v(memory))
        scores = q @ k.transpose(-1, -2) / math.sqrt(DIM // HEADS)
        if mask is not None:
            scores = scores.masked_fill(mask, float("-inf"))
        y = scores.softmax(-1) @ v
        return self.o(y.transpose(1, 2).reshape(y.shape[0], -1, DIM))


class BeamSearch(nn.Module):
    def __init__(self, beam=3):
        super().__init__()
        self.beam = beam
        self.embed = nn.Embedding(VOCABULARY, DIM)
        self.own, self.cross = Attention(), Attention()
        self.out = nn.Linear(DIM, VOCABULARY)

    def step(self, tokens, memory):
        length = tokens.shape[1]
        x = self.embed(tokens)
        mask = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)
        x = x + self.own(x, x, mask)
        x = x + self.cross(x, memory.expand(tokens.shape[0], -1, -1))
        return torch.log_softmax(self.out(x[:, -1]), dim=-1)

    def forward(self, regions):
        tokens, scores = torch.full((1, 1), BOS, dtype=torch.long), torch.zeros(1)
        complete, totals = [], []
        left = self.beam
        for _ in range(5):
            logp = self.step(tokens, regions.unsqueeze(0))
            scores, best = (scores.unsqueeze(1) + logp).view(-1).topk(left)
            before = torch.div(best, VOCABULARY, rounding_mode="floor")
            token = best % VOCABULARY
            tokens = torch.cat([tokens[before], token.unsqueeze(1)], dim=1)
            done = token == EOS
            if done.any():
                complete.extend(tokens[done][:, 1:-1].tolist())
                totals.extend(scores[done].tolist())
                left -= int(done.sum())
                if left == 0:
                    break
                tokens, scores = tokens[~done], scores[~done]
        else:
            complete.extend(tokens[:, 1:].tolist())
            totals.extend(scores.tolist())
        best = max(range(len(complete)), key=lambda i: totals[i])
        return complete[best], totals[best]


def model():
    torch.manual_seed(5)
    search = BeamSearch().eval()
    nn.init.normal_(search.out.weight, std=0.6)
    search.out.bias.data[EOS] = 3.0
    return search


def instances():
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(n, DIM, generator=generator) for n in (3, 1, 6, 2, 4, 3, 5, 1)]


def test_agrees():
    with torch.no_grad():
        lengths = {len(model()(x)[0]) for x in instances()}
    assert len(lengths) > 1, "all hypotheses have one length"
    agrees(model(), instances())


def test_agrees_in_generated_code(codegen: str, tmp_path: Path) -> None:
    agrees_natively(model(), instances(), codegen, tmp_path)
