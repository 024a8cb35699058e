"""Dictionaries whose names differ from instance to instance and whose values are of several types, walked by names that are
known at run time only."""

# mypy: ignore-errors

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import InstanceError
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


TRANSITIONS = {"start": {"a": "middle", "b": "start"}, "middle": {"a": "end", "b": "start"}, "end": {}}


class Runs(Base):
    """An automaton as a dictionary of dictionaries of the model."""

    def __init__(self):
        super().__init__()
        self.transitions, self.ids = TRANSITIONS, {name: i for i, name in enumerate(TRANSITIONS)}

    def forward(self, word):
        state, h, sizes = "start", torch.zeros(3), []
        for c in word:
            row = self.transitions[state]
            sizes.append((len(row), [k + "!" for k in self.transitions[state]], row.get("b", "none")))
            if c in row:
                state = row[c]
            h = torch.tanh(h + self.embed.weight[self.ids[state]])
        return h, state, sizes, bool(self.transitions[state])


class Suffixes(Base):
    """A list of dictionaries of the model, by letters, with links."""

    def __init__(self):
        super().__init__()
        self.next = [{"a": 1, "b": 2}, {"b": 2}, {"a": 3, "c": 0}, {}]
        self.link = [-1, 0, 0, 1]

    def forward(self, word):
        state, h = 0, torch.zeros(3)
        for c in word:
            while state > 0 and c not in self.next[state]:
                state = self.link[state]
            if c in self.next[state]:
                state = self.next[state][c]
            h = torch.tanh(h + self.embed.weight[state])
        return h, state, self.next[state].get("a", -1)


ALL = [
    (Runs, ["", "ab", "aab", "baaa", "xa"]),
    (Suffixes, ["", "ab", "abc", "baab", "zc"]),
    (Rows, TABLES),
    (Asked, ASKED),
    (Texts, TABLES),
    (OfTheModel, [["color", "size"], ["weight"], ["shape", "color", "weight"], ["size"]]),
]


@pytest.mark.parametrize(("cls", "sample"), ALL, ids=lambda x: getattr(x, "__name__", ""))
def test_as_eager(cls, sample) -> None:
    agrees(cls(), sample)


def test_natively(codegen, tmp_path: Path) -> None:
    agrees_natively(Rows().eval(), TABLES, codegen, tmp_path)


NUMBERS = {"x": {"a": 1}, "y": {"a": 2, "b": 3}}


class LooksUp(Base):
    def forward(self, names):
        row = NUMBERS[names[0]]
        return row["a"], TRANSITIONS[names[1]]["b"]


def test_a_key_that_one_of_them_lacks(tmp_path: Path) -> None:
    executable = compile(LooksUp().eval(), sample=[("x", "start"), ("y", "middle")], cache_folder=tmp_path)
    assert executable([("y", "start"), ("x", "middle")]) == [(2, "start"), (1, "start")]
    with pytest.raises(InstanceError, match="KeyError: 'b'"):
        executable([("x", "end")])
    with pytest.raises(InstanceError, match="KeyError"):
        executable([("x", "nowhere")])


SIGNATURES = {"works": ({"person"}, {"firm"}), "lives": ({"person"}, {"place", "firm"}), "in": ({"firm", "place"}, {"place"})}
KINDS = ["person", "firm", "place", "other"]


class Fitting(nn.Module):
    """Which entries of a constant dictionary have sets with two words in them."""

    def forward(self, given):
        kinds = [KINDS[i] for i in given]
        found = []
        for a in kinds:
            for b in kinds:
                possible = [r for r, (heads, tails) in SIGNATURES.items() if a in heads and b in tails]
                if possible:
                    found.append(possible)
        counted = {r: len(tails) for r, (heads, tails) in SIGNATURES.items() if kinds[0] in heads}
        return found, [r for r, (heads, _) in SIGNATURES.items() if kinds[-1] in heads], counted


class Orders(nn.Module):
    """A dictionary whose keys are strings, as are parts of the tuples in it, with other types beside them."""

    def forward(self, units):
        orders = {}
        for name, x in units:
            k = int(x.argmax())
            act = ("attack", "move", "wait")[k]
            if act == "attack":
                orders[name] = (act, units[0][0])
            elif act == "move":
                orders[name] = (act, torch.tanh(x))
            else:
                orders[name] = (act, None)
        return orders, len(orders)


def test_sets_of_a_constant_dictionary() -> None:
    agrees(Fitting(), [[0, 1], [3], [2, 0, 1], [1, 2, 3], [0]])


def test_tuples_of_several_types_under_names() -> None:
    generator = torch.Generator().manual_seed(2)
    agrees(Orders(), [[(f"unit{i}", torch.randn(3, generator=generator)) for i in range(n)] for n in (1, 4, 2, 6, 3)])
