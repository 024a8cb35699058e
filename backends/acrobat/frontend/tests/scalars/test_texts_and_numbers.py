"""Numbers that are read from strings, or are none, as `try` finds out; the texts of lists and tuples."""

# mypy: ignore-errors
from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.library import strings
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

WORDS = [["1", "x", " 12 "], ["1_000", "-3", "+4", "1.5"], ["", "inf", "nan x", "1e3"], ["9"]]
LISTS = [[1, 2], [3, 4, 9], [7], []]


def ints(self, words):
    out = []
    for w in words:
        try:
            n = int(w)
        except ValueError:
            n = -1
        out.append(n)
    return out


def floats_or_none(self, words):
    def number(text):
        try:
            return float(text)
        except ValueError:
            return None

    found = [number(w) for w in words]
    return [v for v in found if v is not None], [v is None for v in found]


def tried_only(self, words):
    def is_number(text):
        try:
            float(text)
            return True
        except (ValueError, TypeError):
            return False

    return [is_number(w) for w in words], is_number(f"{len(words)}"), is_number(words[0] if len(words) > 1 else None)


def ints_or_words(self, words):
    out = []
    for w in words:
        try:
            out.append(int(w.strip()))
        except ValueError:
            out.append(w)
        else:
            out.append("was an int")
    return out


def of_several_types(self, cells):
    out = []
    for c in cells:
        try:
            value = float(c)
        except ValueError:
            value = -1.0
        out.append(value)
    return out


CELLS = [["1.5", 2], ["x", 3, "4"], [7]]


@pytest.mark.parametrize(
    ("forward", "sample"),
    [*((work, WORDS) for work in (ints, floats_or_none, tried_only, ints_or_words)), (of_several_types, CELLS)],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_numbers_of_strings(forward: Any, sample: list[Any]) -> None:
    agrees(with_forward(nn.Module(), forward), sample)


LETTERS = "0019_+-.eE infnatyINF\u0130\u0131\u0663\u2003\x1c\x85\xa0\u200b\n\0"


def test_which_strings_are_numbers() -> None:
    rng = random.Random(0)
    texts = ["".join(rng.choice(LETTERS) for _ in range(rng.randint(0, 6))) for _ in range(3000)]
    written = ("+1_0", "1__0", "_1", ".5", "1._5", "1e5", "1e_5", "-Infinity", "nan")
    texts += [a + b + c for a in ("", " ", "\x1f") for b in written for c in ("", "\u2003", "\x1f", "x")]
    for work, reads in ((int, strings.reads_as_int), (float, strings.reads_as_float)):
        for text in texts:
            try:
                work(text)
                is_number = True
            except ValueError:
                is_number = False
            assert reads(text) == is_number, (work, text)


def texts_of_lists(self, xs):
    words = [f"w{x}" for x in xs]
    whole = [str(xs), str(words), f"{xs}", str(tuple(xs)), f"{[x / 2 for x in xs]!r:>30}", str([(x, str(x)) for x in xs])]
    return whole, str((len(xs), "a'b", None)), str([[x] for x in xs]), str((len(xs),)), repr(f"it's {len(xs)}"), str(())


def texts_of_trees(self, tree):
    return str(tree), f"{tree!r}", f"<{tree}>"


TREES = [("S", ("NP", "the", "dog's"), ("VP", "barks")), "word", ("S", ("A",))]


@pytest.mark.parametrize(("forward", "sample"), [(texts_of_lists, LISTS), (texts_of_trees, TREES)])
def test_texts(forward: Any, sample: list[Any]) -> None:
    agrees(with_forward(nn.Module(), forward), sample)


def test_natively(codegen: str, tmp_path: Path) -> None:
    def forward(self, words):
        return ints(self, words), floats_or_none(self, words), str(words), str([(w, len(w)) for w in words])

    agrees_natively(with_forward(nn.Module(), forward), WORDS, codegen, tmp_path)


def an_int_as_a_float(self, xs):
    return str(xs)


def test_the_text_of_a_list_in_which_an_int_became_a_float_is_refused() -> None:
    with pytest.raises(CompileError, match="an int is a float"):
        build(with_forward(nn.Module(), an_int_as_a_float), sample=[[1, 2.5], [3.0]])


def none_is_no_text(self, words):
    word = words[0] if words else None
    try:
        return int(word)
    except ValueError:
        return 0


def test_a_none_that_is_not_caught_is_an_error_of_the_instance() -> None:
    interpreter = Interpreter(build(with_forward(nn.Module(), none_is_no_text), sample=WORDS))
    assert interpreter.run(["12"]) == 12
    assert interpreter.run(["x"]) == 0
    with pytest.raises(InstanceError, match="None"):
        interpreter.run([])
