"""Sequences of one instance padded to one length, and packed, in the interpreter against eager PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence, pad_sequence

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively

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


class PackedList(Padded):
    """Several sequences through a network: sorted by hand, with initial states, and in the order that they are in."""

    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(4, 3, batch_first=True, bidirectional=True)
        self.lstm = nn.LSTM(4, 3, num_layers=2)

    def by_hand(self, rows: Any, lengths: Any) -> Any:
        lengths, order = lengths.sort(descending=True)
        out, _ = self.gru(pack_padded_sequence(rows[order], lengths, batch_first=True))
        out, sizes = pad_packed_sequence(out, batch_first=True, padding_value=2.0, total_length=7)
        return out[order.sort()[1]], sizes

    def forward(self, sentences: Any) -> Any:
        rows = [self.emb(torch.tensor(words)) for words in sentences]
        lengths = torch.tensor([len(words) for words in sentences])
        start = torch.ones(2, len(sentences), 3)
        out, (h, c) = self.lstm(pack_sequence(rows, enforce_sorted=False), (start, start))
        return self.by_hand(pad_sequence(rows, batch_first=True), lengths), pad_packed_sequence(out), h, c


class PackedUnsorted(Padded):
    """Lengths that PyTorch does not take where they are in another order."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.RNN(4, 3)

    def forward(self, sentences: Any) -> Any:
        rows = pad_sequence([self.emb(torch.tensor(words)) for words in sentences])
        return self.rnn(pack_padded_sequence(rows, [len(words) for words in sentences]))[1]


class PackedBatch(PackedList):
    """A mini-batch of a size that is known at compile time."""

    def forward(self, ids: Any) -> Any:
        out, h = self.gru(pack_padded_sequence(self.emb(ids), [3, 2], batch_first=True))
        return pad_packed_sequence(out, batch_first=True), h


def test_several_sequences_are_packed() -> None:
    agrees(PackedList(), SENTENCES)
    agrees(PackedBatch(), [torch.tensor([[1, 2, 3], [4, 5, 6]]), torch.tensor([[1, 2, 2], [4, 8, 6]])])


def test_several_sequences_are_packed_in_generated_code(tmp_path: Path) -> None:
    agrees_natively(PackedList(), SENTENCES, "vm", tmp_path)


def test_sequences_that_are_not_sorted() -> None:
    program = build(PackedUnsorted().eval(), sample=SENTENCES)
    with pytest.raises(InstanceError, match="the lengths of packed sequences are not in decreasing order"):
        Interpreter(program).run([[1], [2, 3]])
    assert Interpreter(program).run([[2, 3], [1]]).shape == (1, 2, 3)


def test_data_of_several_packed_sequences() -> None:
    with pytest.raises(CompileError, match="`data` of several packed sequences"):
        build(PackedTogether(), sample=SENTENCES)
