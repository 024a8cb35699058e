"""`zlib.crc32` and `zlib.adler32` of words, and named groups of a match by their names."""

# mypy: ignore-errors
from __future__ import annotations

import re
import zlib

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

WORDS = [["aé", "b"], ["c", "日本", "𝄞"], ["", "tree", "z" * 300]]
ENTRY = re.compile(r"(?P<name>[a-z]+)=(?P<number>\d+)")


class Hashed(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.emb = nn.Embedding(20, 4)


def numbers(self, words):
    begun = zlib.crc32(b"a")
    return [zlib.crc32(w.encode()) for w in words], [zlib.crc32(w.encode("utf-8"), begun) for w in words]


def other_sum(self, words):
    return [zlib.adler32(w.lower().encode("utf8")) for w in words], zlib.adler32(b"abc"), zlib.crc32(b"abc")


def buckets(self, words):
    return self.emb(torch.tensor([zlib.crc32(w.encode()) % 20 for w in words])).sum(0)


@pytest.mark.parametrize("function", [numbers, other_sum, buckets])
def test_as_python(function) -> None:
    agrees(with_forward(Hashed(), function), WORDS)


def test_natively(codegen, tmp_path) -> None:
    agrees_natively(with_forward(Hashed(), buckets), WORDS, codegen, tmp_path)


def test_groups_by_their_names() -> None:
    def read(self, text):
        match = ENTRY.match(text)
        return ("", 0) if match is None else (match["name"], int(match["number"]))

    agrees(with_forward(Hashed(), read), ["a=1", "bb=22", "ccc"])


class Row:
    def __init__(self, cells):
        self.cells = cells

    def __getitem__(self, name):
        return self.cells.get(name, 0.0)


def test_an_object_of_a_class_with_items_of_its_own() -> None:
    def looked_up(self, numbers):
        row = Row({"first": numbers[0], "last": numbers[-1]})
        return row["first"] + row["none"] + row["last"]

    agrees(with_forward(Hashed(), looked_up), [[1.0, 2.0], [0.5]])
