"""Strings that are known at run time only: letters, parts, methods, and strings that the model makes."""

# mypy: ignore-errors
from __future__ import annotations

import string
from collections import Counter
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_idioms import module
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


class Color(Enum):
    RED = 1
    BLUE = 2


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.w = nn.Parameter(torch.randn(4))
        self.emb = nn.Embedding(27, 4)
        self.cell = nn.LSTMCell(4, 4)
        self.letters = {c: i for i, c in enumerate("abcdefghijklmnopqrstuvwxyz")}
        self.known = {"cat": 0, "tree": 1}


def letters(self, words):
    rows = []
    for word in words:
        h = c = torch.zeros(1, 4)
        for letter in reversed(word.lower()):
            h, c = self.cell(self.emb(torch.tensor([self.letters.get(letter, 26)])), (h, c))
        rows.append(h[0] + len(word))
    return torch.stack(rows)


def vowels(self, words):
    places = [i for i, letter in enumerate(words[0]) if letter in "aeiou"]
    same = [a for a, b in zip(words[0], words[-1], strict=False) if a == b]
    return list(words[0]), places, same, "ea" in words[0], words[0] in "treecat", set(words[0]) == set(words[-1])


def parts(self, words):
    counts = {}
    for i, word in enumerate(words):
        suffix = word[-2:]
        counts[suffix] = counts.get(suffix, 0) + 1
        counts[f"{word[:1]}{i}"] = len(word[::-1][::2])
    return self.w * counts.get("at", 0), counts, words[0][0], words[0][-1]


def methods(self, words):
    first, all_of_them = words[0], "-".join(words)
    numbers = [all_of_them.count("e"), all_of_them.find("t"), first.find("q"), len(all_of_them.split("e"))]
    tests = [first.startswith("tr"), first.endswith(""), first.isupper(), first.isalpha(), "".isdigit()]
    texts = [first.title(), first.replace("e", "oo"), first.removeprefix("t"), first.removesuffix("e"), first.strip()]
    return numbers, tests, texts, all_of_them.split("-")


NAMES = ("Abe", "x y", "Z")


def methods_of_constants(self, words):
    asked = [(w[0].isupper(), w.islower(), w.isalnum(), w.istitle()) for w in NAMES]
    parts = NAMES[1].rsplit(" ", 1), NAMES[1].partition(" "), "ab\ncd".splitlines(), "abc".rindex("c")
    return asked, parts, [w.swapcase() for w in NAMES], NAMES[2].casefold(), "12".isnumeric(), len(words)


def columns(self, words):
    n = len(words)
    filled = [(w.zfill(n), w.ljust(n + 1, "*"), w.rjust(n), w.center(n + 2, "-"), w.center(n + 3)) for w in [*words, "-5", "+"]]
    digits = [int(digit) for digit in str(n).zfill(4)]
    return filled, digits, "-5".zfill(n + 1), "ab".rjust(n + 2), "ab".center(5), "ab".ljust(4)


PUNCTUATION = str.maketrans("", "", string.punctuation)


def without_letters(self, words):
    written = [f" {word}..,!" for word in words]
    ends = [w.strip("! ") for w in written], [w.rstrip("!.") for w in written], [w.lstrip(" ct") for w in written]
    tables = [w.translate(PUNCTUATION) for w in written], [w.translate(str.maketrans("ta", "xy", "e")) for w in written]
    return ends, tables, written[0].strip("".join(written)), written[0].strip(None), list(words[0].encode("ascii"))


def made(self, words):
    text = ""
    for word in words:
        text += word[:1].upper()
    return text, str(len(text)), "n=" + str(len(words)), "ab" * len(words), [f"{i}:{w}" for i, w in enumerate(words)]


def truth(self, words):
    total = self.w
    for word in words:
        if word[1:]:
            total = total + 1
        if not word:
            total = total * 2
        if word in self.known:
            total = total + self.emb.weight[self.known[word]]
    return total


def score(self, text, depth):
    if len(text) <= 1:
        return self.w * depth
    middle = len(text) // 2
    return score(self, text[:middle], depth + 1) + score(self, text[middle:], depth + 1)


def halves(self, words):
    return score(self, words[0], 0)


def codes(self, words):
    return [ord(letter) - ord("a") for letter in words[0]], int("1" + str(len(words))), float(str(len(words)) + ".5")


def once(self, words):
    stack = list(words)
    label = f"{stack.pop()}-{Color.RED}-{len(stack)}"
    return label, stack, str(Color.BLUE)


WORDS = [["tree", "cat"], ["Cat", "dog", "tree"], ["b"], ["x", "ab", "x", ""]]
FUNCTIONS = [letters, vowels, parts, methods, methods_of_constants, columns, without_letters, made, truth, halves, codes, once]


def of(function: Any) -> nn.Module:
    return with_forward(Model(), function)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_interpreter(function: Any) -> None:
    agrees(of(function), WORDS)


def test_columns_are_filled_with_one_letter() -> None:
    interpreter = Interpreter(build(of(lambda self, word: "a".rjust(3, word)), sample=["t", "c"]))
    assert interpreter.run("c") == "cca"
    with pytest.raises(InstanceError, match="must be exactly one character long"):
        interpreter.run("cat")


def test_bytes_of_letters_that_ascii_has_not() -> None:
    interpreter = Interpreter(build(of(lambda self, word: sum(word.encode("ascii"))), sample=["tree", "cat"]))
    assert interpreter.run("cat") == sum(b"cat")
    with pytest.raises(InstanceError, match="UnicodeError"):
        interpreter.run("été")


def everything(self, words):
    return (
        letters(self, words),
        parts(self, words),
        methods(self, words),
        columns(self, words),
        made(self, words),
        codes(self, words),
    )


def test_generated_code(codegen: Any, tmp_path: Path) -> None:
    agrees_natively(of(everything), WORDS, codegen, tmp_path)


def calculator(self, text):
    stack = []
    for token in text.split():
        if token.isdigit():
            stack.append(self.w * int(token))
        else:
            b, a = stack.pop(), stack.pop()
            stack.append(a + b if token == "+" else a * b)
    return stack.pop()


def test_tokens_of_a_line() -> None:
    agrees(of(calculator), ["3 4 +", " 1 2 +  5 * ", "7"])


def lines_of(self, text):
    return [len(line.split()) for line in text.splitlines()], text.splitlines(), text.strip().splitlines()


def test_lines_of_a_text() -> None:
    ends = ["\n", "\r", "\r\n", "\n\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\u2028", "\u2029", "\n\n"]
    agrees(
        of(lines_of),
        ["".join(f"{i} x{end}" for end in ends) + last for i, last in enumerate(["", "y", "\n", "\r"])] + ["", "a"],
    )


def as_numbers(self, words):
    return self.w * int(words[0]), float(words[0]), ord(words[0])


def test_a_text_that_is_no_number_is_an_error_of_the_instance(tmp_path: Path) -> None:
    model = of(as_numbers)
    interpreter = Interpreter(build(model, sample=[["3"], ["4"]]))
    executable = compile(model, sample=[["3"], ["4"]], cache_folder=tmp_path)
    for words, message in ((["x"], "invalid literal for int"), (["12"], r"ord\(\) expected a character")):
        with pytest.raises(InstanceError, match=message):
            interpreter.run(words)
        with pytest.raises(InstanceError, match=message):
            executable([words])
    assert executable([["3"]])[0][1:] == (3.0, 51)


def letters_of_a_member(self, color):
    return list(color)


def test_a_member_of_an_enum_has_no_letters() -> None:
    interpreter = Interpreter(build(of(letters_of_a_member), sample=[Color.RED, Color.BLUE]))
    with pytest.raises(InstanceError, match="a string is needed here"):
        interpreter.run(Color.RED)


def in_order(self, words):
    by_end = sorted(words, key=lambda w: w[::-1])
    by_length = sorted(words, key=lambda w: (-len(w), w))
    ordered = list(words)
    ordered.sort(key=str.lower, reverse=True)
    return sorted(words), by_end, by_length, ordered, sorted(set(words), reverse=True)


def least_and_greatest(self, words):
    return min(words), max(words), min(words, key=lambda w: w[::-1]), max(words[0], "m"), min((w, len(w)) for w in words)


def compared(self, words):
    pairs = [(a, b) for a in words for b in [*words, "é"]]
    order = [(a < b, a <= b, a > b, a >= b) for a, b in pairs]
    return order, [("x", a) < ("x", b) for a, b in pairs], words[0] < "m" <= words[-1]


def counted(self, words):
    counts = Counter(letter for word in words for letter in word)
    best = sorted(counts, key=lambda letter: (-counts[letter], letter))
    return best, sorted(counts.items()), max(counts, key=counts.get)


ORDER = [in_order, least_and_greatest, compared, counted]


@pytest.mark.parametrize("function", ORDER, ids=lambda f: f.__name__)
def test_order(function: Any) -> None:
    agrees(of(function), WORDS)


def every_order(self, words):
    return in_order(self, words), compared(self, words)


def test_order_in_generated_code(codegen: Any, tmp_path: Path) -> None:
    agrees_natively(of(every_order), WORDS, codegen, tmp_path)


def members_in_order(self, color):
    return color < Color.BLUE


def test_members_of_an_enum_have_no_order() -> None:
    interpreter = Interpreter(build(of(members_in_order), sample=[Color.RED, Color.BLUE]))
    with pytest.raises(InstanceError, match="a string is needed here"):
        interpreter.run(Color.RED)


def places(words):
    return [(w.index("a"), w.rindex("a"), "xyzx".index(w[0]), "xyzx".rindex(w[0])) for w in words]


def test_index_of_a_string_that_is_missing_is_an_error_of_the_instance() -> None:
    words = ["xax", "yabba", "za"]
    interpreter = Interpreter(build(module(places), sample=[words]))
    assert interpreter.run(words) == places(words)
    for wrong in (["xyz"], ["a"]):
        with pytest.raises(InstanceError, match="ValueError: substring not found"):
            interpreter.run(wrong)


def joined_if_several(words):
    return "-".join(words) if len(words) > 1 else ""


@pytest.mark.parametrize("other", [None, 3])
def test_what_is_no_string_is_not_joined(other: Any) -> None:
    words = [["a", "b", "c"], [other]]
    interpreter = Interpreter(build(module(joined_if_several), sample=words))
    assert [interpreter.run(x) for x in words] == [joined_if_several(x) for x in words]
    with pytest.raises(InstanceError, match="TypeError"):
        interpreter.run(["a", other])
    with pytest.raises(CompileError, match="`join` takes strings, not an int"):
        build(module(joined_if_several), sample=[[1, 2]])


def of_constant_strings(words):
    vowels = [len([c for c in w if c in "aeiou"]) for w in words]
    pairs = dict(zip("abc", words, strict=False))
    return pairs, [c * 2 for c in "xyz"], list("ab"), [i for i, c in enumerate("abc") if c in words], vowels


def bytes_of_words(words):
    h = 7
    for w in words:
        for byte in w.encode():
            h = (h * 31 + byte) % 1000003
    return h, [list(w.encode("utf-8")) for w in words], [sum(w.encode()) for w in words]


@pytest.mark.parametrize("function", [of_constant_strings, bytes_of_words])
def test_constant_strings_and_bytes_are_walked(function: Any) -> None:
    agrees(module(function), [["b", "aé"], [], ["", "日本 😀x", "abc", "d"]])


def test_letters_of_codes(tmp_path: Path) -> None:
    def named(self, numbers):
        return "".join(chr(97 + n) for n in numbers), [chr(ord("α") + n) for n in numbers], chr(64)

    agrees(with_forward(nn.Linear(1, 1), named), [[1, 2], [0], [25, 3, 3]])


def test_parts_from_the_right() -> None:
    def parted(self, text):
        parts = text.rsplit(".", 1), text.rsplit("."), text.rsplit(), text.rsplit("aa"), text.rsplit(".", maxsplit=1)[-1]
        return parts, text.replace("a", "x", 1), text.replace("a", "y", -1), text.replace(".", "", 2)

    agrees(with_forward(nn.Linear(1, 1), parted), ["a.b.c", "abc", "", "..x", "aaa.aa"])


def test_methods_of_dictionaries_as_keys() -> None:
    def keyed(self, numbers):
        d = {n: n * n % 5 for n in numbers}
        return min(d, key=d.__getitem__), sorted(numbers, key=d.__getitem__), list(filter(d.__contains__, [1, 2, 3]))

    agrees(with_forward(nn.Linear(1, 1), keyed), [[3, 1, 2], [5], [4, 4, 1, 0, 2]])
