"""Sequences of one instance padded to one length, and one sequence packed, in the interpreter against eager PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees

SENTENCES = [[[1, 2], [3], [4, 5, 6]], [[7]], [[1], [2, 3]]]


class Padded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(9, 4)

    def forward(self, sentences: Any) -> Any:
        rows = [self.emb(torch.tensor(words)) for words in sentences]
        ids = pad_sequence([torch.tensor(words) for words in sentences], batch_first=True, padding_value=8)
        mask = pad_sequence([torch.ones(len(words)) for words in sentences], batch_first=True)
        whole = pad_sequence(rows, batch_first=True)
        return whole, pad_sequence(rows, padding_value=-1.0), self.emb(ids).sum(1), (whole * mask.unsqueeze(-1)).sum(1)


class Two(nn.Module):
    def forward(self, pair: Any) -> Any:
        a, b = pair
        return pad_sequence([torch.tensor(a), torch.tensor(b)]), pad_sequence([torch.tensor(a)])


class Packed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(9, 4)
        self.gru = nn.GRU(4, 3, batch_first=True, bidirectional=True)

    def forward(self, words: Any) -> Any:
        steps = self.emb(torch.tensor(words)).unsqueeze(0)
        out, h = self.gru(pack_padded_sequence(steps, torch.tensor([len(words)]), batch_first=True))
        back, _ = pad_packed_sequence(out, batch_first=True, total_length=7)
        return back, h


class PackedTogether(Padded):
    def forward(self, sentences: Any) -> Any:
        rows = pad_sequence([self.emb(torch.tensor(words)) for words in sentences])
        return pack_padded_sequence(rows, torch.tensor([len(words) for words in sentences]), enforce_sorted=False).data


def test_sequences_are_padded_to_the_longest() -> None:
    agrees(Padded(), SENTENCES)
    agrees(Two(), [([1, 2], [3]), ([4], [5, 6, 7])])


def test_one_sequence_is_packed() -> None:
    agrees(Packed(), [[1, 2], [3], [4, 5, 6]])


def test_several_sequences_are_not_packed() -> None:
    with pytest.raises(CompileError, match="packing several sequences"):
        build(PackedTogether(), sample=SENTENCES)
