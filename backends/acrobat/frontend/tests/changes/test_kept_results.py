"""Functions that keep what they compute in a dictionary from one instance to the next, and are compiled as if they did not."""

# mypy: ignore-errors
from __future__ import annotations

import functools
from functools import lru_cache
from itertools import pairwise
from textwrap import indent

import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, assert_same

RANKS = {("l", "o"): 0, ("lo", "w</w>"): 1, ("e", "r</w>"): 2, ("n", "e"): 3, ("lo", "w"): 4}
PIECES = ["<unk>", *"abcdefghijklmnopqrstuvwxyz", *("".join(pair) for pair in RANKS)]


def pairs_of(word):
    return set(pairwise(word))


class Tokenizer:
    """As GPT-2 has it."""

    def __init__(self):
        self.ranks = dict(RANKS)
        self.ids = {piece: i for i, piece in enumerate(PIECES)}
        self.kept = {}
        self.by_place: dict = {}
        self.found = dict()  # noqa: C408
        self.numbers = {}
        self.special = {"<s>": "start", "</s>": "end"}
        self.lowercase = {}
        self.ends = {}

    def bpe(self, token):
        if token in self.kept:
            return self.kept[token]
        word = (*token[:-1], token[-1] + "</w>")
        while len(word) > 1:
            pair = min(pairs_of(word), key=lambda p: self.ranks.get(p, float("inf")))
            if pair not in self.ranks:
                break
            first, second = pair
            new, i = [], 0
            while i < len(word):
                if i < len(word) - 1 and word[i] == first and word[i + 1] == second:
                    new.append(first + second)
                    i += 2
                else:
                    new.append(word[i])
                    i += 1
            word = tuple(new)
        self.kept[token] = word
        return word

    def number(self, word, place):
        """A test that fails first, a key with a name, and a result that is not kept."""
        key = (word, place)
        if key not in self.by_place:
            n = len(word) + 3 * place
            if n > 12:
                return 12
            self.by_place[key] = n % 7
        return self.by_place[key]

    def shape(self, word):
        found = self.found.get(word)
        if found is not None:
            return found
        if not word:
            return ""
        result = self.found[word] = "".join("x" if letter in "aeiou" else "." for letter in word)
        return result

    def total(self, word):
        n = self.numbers.get(word, None)
        if n is None:
            n = sum(ord(letter) for letter in word)
            self.numbers[word] = n
        return n

    def name(self, word):
        """With entries that are there at first."""
        if word in self.special:
            return self.special[word]
        short = word[:2] + word[-1]
        self.special[word] = short
        return short

    def last(self, word):
        try:
            return self.ends[word]
        except KeyError:
            pass
        end = word[-1]
        self.ends[word] = end
        return end

    def lowered(self, word):
        if word in self.lowercase:
            result = self.lowercase[word]
        else:
            result = word.lower()
            self.lowercase[word] = result
        return result


@lru_cache(maxsize=16)
def reversed_word(word):
    return word[::-1]


LENGTHS = {}


def half(n):
    """With a dictionary at the top of the file."""
    if n in LENGTHS:
        return LENGTHS[n]
    LENGTHS[n] = n // 2
    return LENGTHS[n]


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.tokenizer = Tokenizer()
        self.table = nn.Embedding(len(PIECES), 4)
        self.masks = {}
        self.places = {}

    @functools.cache  # noqa: B019
    def scale(self, n):
        return torch.sigmoid(self.table.weight[n % 3]).sum()

    def mask(self, n):
        if n not in self.masks:
            self.masks[n] = torch.triu(torch.ones(n, n), diagonal=1) * -1e4
        return self.masks[n]

    def place(self, i):
        if not i in self.places:  # noqa: E713
            x = torch.tensor([0.5, 1.0, 1.5, 2.0]) * i
            self.places[i] = torch.sin(x) + self.table.weight[i % 3]
        return self.places[i]

    def forward(self, text):
        words = text.split()
        pieces = [self.tokenizer.bpe(word) for word in words]
        ids = [self.tokenizer.ids.get(piece, 0) for word in pieces for piece in word]
        x = self.table(torch.tensor(ids)) + torch.stack([self.place(i) for i in range(len(ids))])
        x = torch.softmax(x @ x.t() + self.mask(len(ids)), dim=-1) @ x
        x = x * self.scale(len(ids))
        names = [reversed_word(w) + self.tokenizer.last(w) + self.tokenizer.name(w) + self.tokenizer.lowered(w) for w in words]
        numbers = [self.tokenizer.number(word, i) + half(i) for i, word in enumerate(words)]
        return x, pieces, numbers, names, [self.tokenizer.shape(w) for w in words], [self.tokenizer.total(w) for w in words]


TEXTS = ["low lower newest", "new", "slow slow lowlow", "a er nerd lone low", "low", "<s> Low </s>"]


@pytest.mark.parametrize("ran", [False, True])
def test_kept_results(ran):
    model = Reader().eval()
    if ran:
        model(TEXTS[0])
    agrees(model, TEXTS)


def test_natively(codegen, tmp_path):
    agrees_natively(Reader().eval(), TEXTS, codegen, tmp_path)


def test_that_eager_pytorch_keeps_more_does_not_count_as_a_change(tmp_path):
    model = Reader().eval()
    executable = compile(model, sample=TEXTS, cache_folder=tmp_path)
    for text in TEXTS:
        expected = model(text)
        assert_same(executable([text])[0], expected, text)


SOURCE = """
import functools
import torch
from torch import nn

CACHE = {}

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)
        self.cache = {FIRST}
        self.scale = None

METHODS

    def forward(self, s):
        self.scale = len(s["xs"])
        return FORWARD
"""

NOT_KEPT = "an attribute of the model is not assigned to in the language"
KEPT = """
    def f(self, n):
        if n in self.cache:
            return self.cache[n]
        y = BODY
        self.cache[n] = y
        return y
"""

OF_AN_OBJECT = """
from torch import nn

class Words:
    def __init__(self):
        self.cache = {}

    def add(self, n):
        self.cache[n] = n
        return len(self.cache)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = Words()

    def forward(self, n):
        return self.words.add(n)
"""

DEPENDS = {
    "on the instance": (KEPT.replace("BODY", "n * self.scale"), "self.f(s['n'])", "what the instance has computed before"),
    "on more than its key": (
        KEPT.replace("self, n", "self, n, m").replace("BODY", "n + m"),
        "self.f(s['n'], 2)",
        NOT_KEPT,
    ),
    "on a key that is made of it": (KEPT.replace("[n]", "[n % 2]").replace("n in", "n % 2 in"), "self.f(s['n'])", NOT_KEPT),
    "on what was there": (
        "    def f(self, n):\n        self.cache[n] = self.cache.get(n, 0) + 1\n        return self.cache[n]\n",
        "self.f(s['n'])",
        NOT_KEPT,
    ),
    "on another method": (
        KEPT.replace("BODY", "n") + "\n    def g(self):\n        return len(self.cache)\n",
        "self.f(s['n']) + self.g()",
        NOT_KEPT,
    ),
    "with a dictionary": (
        KEPT.replace("BODY", "{k: k for k in range(n)}"),
        "len(self.f(s['n']))",
        "its result has a dict in it",
    ),
    "with floats": (KEPT.replace("BODY", "n * 2"), "self.f(s['xs'][0])", "its key has float in it"),
    "with ints and bools": (KEPT.replace("BODY", "n * 2"), "self.f(s['n']) + self.f(s['n'] > 1)", "its key has bool and int"),
    "with a key whose name changes": (
        KEPT.replace("y = BODY", "n = n + 1\n        y = n"),
        "self.f(s['n'])",
        NOT_KEPT,
    ),
    "on the instance, decorated": (
        "    @functools.cache\n    def f(self, n):\n        return n * self.scale\n",
        "self.f(s['n'])",
        "what the instance has computed before",
    ),
    "with a set, decorated": (
        "    @functools.lru_cache()\n    def f(self, n):\n        return {n, n + 1}\n",
        "len(self.f(s['n']))",
        "its result has a set in it",
    ),
    "on a zero that was kept": (
        "    def f(self, n):\n        y = self.cache.get(n)\n        if y:\n            return y\n"
        "        z = 0 if y is None else 1\n        self.cache[n] = z\n        return z\n",
        "self.f(s['n'])",
        NOT_KEPT,
    ),
    "of itself, decorated": (
        "    @functools.cache\n    def f(self, n):\n        return n if n < 2 else self.f(n - 1)\n",
        "self.f(s['n'])",
        "is decorated with",
    ),
    "of itself": (KEPT.replace("BODY", "n if n < 2 else self.f(n - 1) + self.f(n - 2)"), "self.f(s['n'])", NOT_KEPT),
    "that is given out": (KEPT.replace("BODY", "n + 1").replace("return y", "return n"), "self.f(s['n'])", NOT_KEPT),
}


def instance(n):
    return {"n": n, "xs": [0.5 * i for i in range(n)], "x": torch.ones(2)}


def model_of(methods, forward, folder, first=""):
    source = SOURCE.replace("METHODS", methods).replace("FORWARD", forward).replace("FIRST", first)
    return load(folder, source, "kept_results").Model()


@pytest.mark.parametrize(("methods", "forward", "message"), DEPENDS.values(), ids=DEPENDS)
def test_what_may_depend_on_other_instances_is_refused(methods, forward, message, tmp_path):
    with pytest.raises(CompileError, match=message):
        build(model_of(methods, forward, tmp_path), sample=[instance(1), instance(3)])


CHANGES = {
    "under a name": "xs = self.f(n)\nxs.append(1)\nreturn xs",
    "of two names": "xs = self.f(n)\nys = xs\nys.append(1)\nreturn xs, ys",
    "by += ": "xs = self.f(n)\nxs += [1]\nreturn xs",
    "in a list": "rows = [self.f(i) for i in range(n)]\nrows[0].append(1)\nreturn rows",
    "in a list that grows": "rows = []\nrows.append(self.f(n))\nfor row in rows:\n    row.append(1)\nreturn rows",
    "in a dictionary": "d = {i: self.f(i) for i in range(n)}\nd[0].append(1)\nreturn d[0]",
    "in a function": "return self.grow(self.f(n)) + self.grow(self.f(n))",
    "of one that may be another": "xs = self.f(n) if n > 1 else [1]\nxs.append(1)\nreturn xs",
    "that empties it": "xs, k = self.f(n), 0\nwhile xs:\n    xs.pop()\n    k += 1\nreturn k",
}


@pytest.mark.parametrize("body", CHANGES.values(), ids=CHANGES)
def test_a_list_that_is_kept_is_not_changed_in_place(body, tmp_path):
    methods = (
        KEPT.replace("BODY", "[i for i in range(n)]")
        + "\n    def grow(self, xs):\n        xs.append(1)\n        return len(xs)\n"
    )
    methods += "\n    def g(self, n):\n" + indent(body, " " * 8) + "\n"
    with pytest.raises(CompileError):
        build(model_of(methods, "self.g(s['n'])", tmp_path), sample=[instance(1), instance(3)])


def test_a_list_that_is_kept_may_be_read(tmp_path):
    methods = KEPT.replace("BODY", "[i for i in range(n)]")
    model = model_of(methods, "[x for i in range(s['n']) for x in self.f(i)], self.f(s['n']) + [self.scale]", tmp_path)
    agrees(model, [instance(1), instance(3)])


@pytest.mark.parametrize("change", ["y += 1", "y[0] = 2.0", "y.add_(1.0)", "y = y.view(-1)\n        y += 1"])
def test_a_tensor_that_is_kept_is_not_changed_in_place(change, tmp_path):
    methods = KEPT.replace("BODY", "self.lin(torch.ones(2) * n)")
    methods += f"\n    def g(self, n):\n        y = self.f(n)\n        {change}\n        return y\n"
    with pytest.raises(CompileError, match=r"in place|another name"):
        build(model_of(methods, "self.g(s['n'])", tmp_path), sample=[instance(1), instance(3)])


def test_a_dictionary_of_an_object_of_the_model_that_something_else_reads(tmp_path):
    model = load(tmp_path, OF_AN_OBJECT, "kept_results").Model()
    with pytest.raises(CompileError, match="changes what was made outside of `forward`"):
        build(model, sample=[1, 2])


OF_A_DATACLASS = """
import dataclasses
from dataclasses import dataclass, field
from torch import nn

DECORATOR
class Words:
    ends: tuple = ("x", "y")
FIELD

    def __post_init__(self):
        self.cache = {}

    def parts(self, word):
        if word in self.cache:
            return self.cache[word]
        parts = [letter + self.ends[i % 2] for i, letter in enumerate(word)]
        self.cache[word] = parts
        return parts

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = Words()

    def forward(self, text):
        found = []
        for word in text.split():
            found.extend(self.words.parts(word))
        return found, len(found)
"""


@pytest.mark.parametrize("decorator", ["@dataclass", "@dataclasses.dataclass(eq=False)"])
def test_a_dictionary_that_a_dataclass_has_besides_its_fields(decorator, tmp_path):
    source = OF_A_DATACLASS.replace("DECORATOR", decorator).replace("FIELD", "")
    agrees(load(tmp_path, source, "kept_results").Model(), ["a b ab", "", "ab ab ab"])


@pytest.mark.parametrize("written", ["cache: dict = None", "cache: dict = field(default_factory=dict)"])
def test_a_dictionary_that_is_a_field_of_a_dataclass_is_refused(written, tmp_path):
    source = OF_A_DATACLASS.replace("DECORATOR", "@dataclass").replace("FIELD", f"    {written}")
    with pytest.raises(CompileError, match="changes what was made outside of `forward`"):
        build(load(tmp_path, source, "kept_results").Model(), sample=["a b", "ab"])


def test_a_global_dictionary_that_something_else_uses(tmp_path):
    methods = KEPT.replace("self.cache", "CACHE").replace("BODY", "n * 2")
    with pytest.raises(CompileError):
        build(model_of(methods, "self.f(s['n']) + len(CACHE)", tmp_path), sample=[instance(1), instance(3)])


@pytest.mark.parametrize(("first", "n"), [("2: 7", 2), ("2: 7", 3), ("", 2)])
def test_entries_that_are_there_at_first(first, n, tmp_path):
    model = model_of(KEPT.replace("BODY", "n + 1"), "self.f(s['n']) + 0 * self.scale", tmp_path, first)
    agrees(model, [instance(1), instance(3)], [instance(n)])


def test_entries_that_are_computed_at_first_are_refused(tmp_path):
    with pytest.raises(CompileError, match=NOT_KEPT):
        build(
            model_of(KEPT.replace("BODY", "n + 1"), "self.f(s['n'])", tmp_path, "2: 3 + 4"), sample=[instance(1), instance(3)]
        )
