"""Dictionaries whose names differ from instance to instance and whose values are of several types, walked by names that are
known at run time only."""

# mypy: ignore-errors

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively

CITIES = {"city": ["oslo", "bergen", "turku"], "people": [700, 280, 195], "country": ["no", "no", "fi"]}
GAMES = {"year": [1996, 2000], "medals": [3, 8], "city": ["atlanta", "sydney"]}
TABLES = [CITIES, GAMES, {"n": []}, {"x": [1]}, {"name": ["a"], "size": [4]}]


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(8, 3)
        self.linear = nn.Linear(3, 3)

    def letters(self, text):
        return sum([self.embed.weight[ord(c) % 8] for c in text], torch.zeros(3))


class Rows(Base):
    """The columns of a table as rows; in each the value of a column that is chosen by a score."""

    def value(self, row, column):
        value = row[column]
        return value if isinstance(value, int) else len(value)

    def forward(self, table):
        size = max((len(v) for v in table.values()), default=0)
        rows = [{c: table[c][i] for c in table} for i in range(size)]
        columns = {c: torch.tanh(self.linear(self.letters(c))) for c in table}
        names = list(columns)
        best = names[torch.stack([columns[c].sum() for c in names]).argmax().item()]
        return best, [self.value(r, best) for r in rows], len(table), best in table, columns[best]


class Asked(Base):
    """Names that the instance gives are looked up in it."""

    def forward(self, question):
        table, found = question["table"], []
        for word in question["words"]:
            if word in table:
                found.append(len(table[word]))
            else:
                found.append(len(table.get(word, [])) - 1)
        return found, [name.upper() for name in sorted(table)], len(table)


ASKED = [{"words": ["city", "size", "x"], "table": t} for t in TABLES]


class Texts(Base):
    """What is in the columns, as text."""

    def forward(self, table):
        shown = []
        for name, column in table.items():
            shown.append(f"{name}: {', '.join(sorted({str(v) for v in column})) or 'none'}")
        return "; ".join(shown)


FEATURES = {"color": ["red", "blue"], "size": [1, 20, 300], "shape": ["round"], "weight": [5, 6]}


class OfTheModel(Base):
    """A dictionary of the model, with columns of several types."""

    def __init__(self):
        super().__init__()
        self.features = dict(FEATURES)

    def forward(self, names):
        rows = [{c: self.features[c][i % len(self.features[c])] for c in names} for i in range(3)]
        h = torch.zeros(3)
        for row in rows:
            for c in row:
                value = row[c]
                h = torch.tanh(h + (self.letters(value) if isinstance(value, str) else self.embed.weight[value % 8]))
        return h, [len(self.features[c]) for c in names], [row[names[0]] for row in rows]


ALL = [
    (Rows, TABLES),
    (Asked, ASKED),
    (Texts, TABLES),
    (OfTheModel, [["color", "size"], ["weight"], ["shape", "color", "weight"], ["size"]]),
]


@pytest.mark.parametrize(("cls", "sample"), ALL, ids=lambda x: getattr(x, "__name__", ""))
def test_as_eager(cls, sample) -> None:
    agrees(cls(), sample)


@pytest.mark.parametrize("codegen", ["aot", "vm"])
def test_natively(codegen, tmp_path: Path) -> None:
    agrees_natively(Rows().eval(), TABLES, codegen, tmp_path)
