"""Texts that show values known at run time only: `%`, f-strings, `format` and `str`, as Python shows them."""

# mypy: ignore-errors
# ruff: noqa: UP031, UP032
from __future__ import annotations

import math
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

Pair = namedtuple("Pair", "n x")
WORDS = {"n": 3, "word": "tree"}


def by_percent(self, item):
    word, n, x, b = item["word"], item["n"], item["x"], item["n"] > 3
    numbers = [
        "%d" % n,
        "%5d|%-5d|%05d|%+d|% d|%i|%u" % (n, n, n, n, n, n, n),
        "%x %X %#x %o" % (n, n, n, n),
        "%d %d" % (n / 2, b),
    ]
    floats = ["%.2f" % x, "%8.3f|%-8.1f|%+.0f|%08.2f" % (x, x, x, x), "%e %E %g %G %#.3g" % (x, x, x, x, x), "%f %.1f" % (n, b)]
    texts = [
        "%s-%s" % (word, n),
        "%5s|%-5s|%.2s|%05s" % (word, word, word, word),
        "%s %6s %r" % (x, x, x),
        "%s %5s %r" % (b, b, b),
    ]
    pair = (word, n)
    named = "%(word)s: %(n)03d" % item, "%s/%s" % pair, "100%% of %s" % word, "%d, %.1f" % Pair(n, x), "%d%s" % (7, word)
    return numbers, floats, texts, named, "w%d" % n in ("w3", "w-7")


def by_format(self, item):
    word, n, x, b = item["word"], item["n"], item["x"], item["n"] > 3
    whole = [f"{word:>6}|{word:*^7}|{word!s:<5}|{word}", f"{n:04d}|{n:,}|{n:b}|{n:>+6}|{n}", f"{x:.3f}|{x:10.2e}|{x}|{x!r:>9}"]
    digits = len(WORDS)
    return whole, f"{b}|{b:d}|{b!s:>6}|{b:3}", f"{x:.{digits}f}", "{0:>4}/{x:.1f}/{0!r}".format(n, x=x), str(x), str(b), f"{n=}"


def seen_first(self, items):
    seen, out = {}, []
    for item in items:
        key = "%s%02d" % (item["word"], abs(item["n"]) % 3)
        if key not in seen:
            seen[key] = self.w[0] * item["n"]
        out.append(seen[key])
    return torch.stack(out), sorted(seen)


def of_what_may_be_none(self, items):
    kind, last, shown = None, None, []
    for item in items:
        shown += [f"I-{kind}", str(kind), "{}/{:>6}".format(last, f"{last}"), "%s %5s" % (kind, last)]
        if item["n"] > 0:
            kind = "B" if item["x"] > 1 else "C"
            last = item["n"]
    return shown, f"{last!r}"


TEMPLATES = ["{}", "<{}> and {}", "{1}{0}", "{{{}}}", "no field", "{2}", "{:d}", "{", "}", "{0}{}"]


def by_chosen_template(self, item):
    template = TEMPLATES[item["n"] % 5]
    rest = [item["word"]] * abs(item["n"] % 4)
    chosen = template.format(item["word"], item["n"]), template.format(item["x"], item["n"] > 3, *rest)
    return chosen, "{}-{}-{{}}".format(item["n"], item["x"], *rest), ("{0}{1}" + item["word"]).format(*[item["x"]] * 2)


NUMBERS = [(3, 0.5), (-7, -2.25), (123456789, 1e22), (0, -0.0), (5, math.inf), (4, math.nan), (-1, 1 / 3)]
ITEMS = [
    {"word": word, "n": n, "x": x}
    for (n, x), word in zip(NUMBERS, ["a", "tree", "", "été", "b", "cats", "xyzxyz"], strict=True)
]
LISTS = [ITEMS[:1], ITEMS, ITEMS[2:5] * 2]


def model(function: Any) -> nn.Module:
    made = nn.Module()
    made.w = nn.Parameter(torch.ones(1))
    return with_forward(made, function)


MODELS = [
    (by_percent, ITEMS),
    (by_format, ITEMS),
    (by_chosen_template, ITEMS),
    (seen_first, LISTS),
    (of_what_may_be_none, LISTS),
]


@pytest.mark.parametrize(("function", "instances"), MODELS)
def test_interpreter(function: Any, instances: Any) -> None:
    agrees(model(function), instances)


def everything(self, items):
    one_by_one = [(by_percent(self, item), by_format(self, item), by_chosen_template(self, item)) for item in items]
    return one_by_one, seen_first(self, items)


def test_generated_code(codegen: Any, tmp_path: Path) -> None:
    agrees_natively(model(everything), LISTS, codegen, tmp_path)


def told_in_an_error(self, item):
    if item["n"] < 0:
        raise ValueError("%s has %03d (%.1f), weight %s" % (item["word"], item["n"], item["x"], self.w))
    return self.w * item["n"]


def test_the_text_of_an_error() -> None:
    interpreter = Interpreter(build(model(told_in_an_error), sample=ITEMS))
    with pytest.raises(InstanceError, match=r"ValueError: tree has -07 \(-2\.2\), weight <a tensor of shape \(1,\)>"):
        interpreter.run(ITEMS[1])


@pytest.mark.parametrize("written", ["f'{last:03d}'", "'%03d' % last"])
def test_none_has_no_format(written: str, tmp_path: Path) -> None:
    lines = ["last = None", "for x in xs:", "    if x > 2:", "        last = x", f"return {written}"]
    text = "from torch import nn\nclass M(nn.Module):\n    def forward(self, xs):\n" + "".join(f"        {x}\n" for x in lines)
    interpreter = Interpreter(build(load(tmp_path, text, f"none_{len(written)}").M(), sample=[[3], [1, 5], [1]]))
    assert [interpreter.run(xs) for xs in ([3], [1, 5])] == ["003", "005"]
    with pytest.raises(InstanceError, match="TypeError"):
        interpreter.run([1])


def from_template(self, item):
    return TEMPLATES[item["n"]].format(item["word"], item["n"])


@pytest.mark.parametrize(
    ("n", "message"),
    [(5, "fewer arguments"), (6, "the field ':d'"), (7, "single brace"), (8, "single brace"), (9, "some fields have numbers")],
)
def test_templates_that_do_not_fit(n: int, message: str) -> None:
    interpreter = Interpreter(build(model(from_template), sample=ITEMS))
    with pytest.raises(InstanceError, match=message):
        interpreter.run({"word": "a", "n": n, "x": 0.5})


REFUSED = {
    "'%d %d' % item['n']": "not enough arguments for format string",
    "'%d' % (item['n'], 1)": "not all arguments converted",
    "'%d' % item['word']": "`%d` does not take a string",
    "'%x' % item['x']": "`%x` does not take a float",
    "'%.3d' % item['n']": "a precision of `%d`",
    "'%*d' % (4, item['n'])": "a width or precision that is an argument",
    "'%d%' % item['n']": "incomplete format",
    "'%s' % self.w": "`%` takes strings and numbers, not a tensor",
    "item['word'] % item['n']": "the text before `%` is a constant",
    "f\"{item['x']:d}\"": "Unknown format code 'd' for object of type 'float'",
    "f\"{item['word']:.2f}\"": "Unknown format code 'f' for object of type 'str'",
    "'{:{}}'.format(item['x'], item['n'])": "say how they are shown by constants",
    "'{:d}'.format(*[1] * item['n'])": "fields of `format` are `{}` or `{0}`",
    "('{n}' + item['word']).format(n=item['n'])": "takes no arguments by name",
    "f\"{item['x']:.{item['n']}f}\"": "how a value is shown in an f-string",
}


@pytest.mark.parametrize(("written", "message"), REFUSED.items())
def test_what_python_refuses_or_the_language_does(written: str, message: str, tmp_path: Path) -> None:
    text = f"from torch import nn\nclass M(nn.Module):\n    def forward(self, item):\n        return {written}\n"
    made = load(tmp_path, text, "refused").M()
    made.w = nn.Parameter(torch.ones(1))
    with pytest.raises(CompileError) as error:
        build(made, sample=ITEMS)
    assert message in error.value.problems[0].message
