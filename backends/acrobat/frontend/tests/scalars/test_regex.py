"""Regular expressions on strings of run time: what Python's `re` gives, by patterns that are constants."""

# mypy: ignore-errors
from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

TOKEN = re.compile(r"\s*(?:(?P<number>\d+)|(?P<name>[a-z_]\w*)|(?P<sign>[-+*/()]))")
PAIR = re.compile(r"(\w+)=(\w*)")
RULES = [("number", re.compile(r"\d+")), ("name", re.compile(r"[a-z]+", re.IGNORECASE)), ("space", re.compile(r"\s+"))]


class Model(nn.Module):
    WORD = re.compile(r"[A-Z]?[a-z]+")

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.emb = nn.Embedding(9, 4)
        self.ids = {w: i for i, w in enumerate(["a", "b", "c", "foo", "bar", "x", "1", "+"])}


def found(self, text):
    tokens = re.findall(r"[a-z]+|[!?]", text.lower()) or ["?"]
    ids = torch.tensor([self.ids.get(t, 8) for t in tokens])
    pairs = [f"{b}:{a}" for a, b in PAIR.findall(text)]
    optional = re.findall(r"x(\d)?", text)
    return self.emb(ids).sum(0), tokens, pairs, optional, self.WORD.findall(text, 1), re.findall("A", text, re.I)


def divided(self, text):
    words = [x.strip().lower() for x in re.split(r"(\W+)", text) if x.strip()]
    return (
        words,
        re.split(r"\s+", text),
        re.split(r"[,;]\s*", text, maxsplit=1),
        re.split(r"\b", text),
        re.split(r"(x)|y", text),
    )


def replaced(self, text):
    short = re.sub(r"(\w)\w*", r"\1.", text)
    loud = re.sub(r"[a-z]+", lambda m: m.group().upper() + m[0][0], text, count=2)
    return short, loud, re.sub(r"\s", "", text), PAIR.sub(r"\2=\1", text, 1), re.compile("a", re.I).sub("", text)


def matched(self, text):
    m = PAIR.search(text)
    if m is None:
        return "none", 0, [], bool(re.match(r"\w", text))
    key, value = m.groups()
    named = re.match(r"(?P<first>\w+)", text)
    first = named.group("first") if named else ""
    return (
        f"{key}->{value}|{m.group()}|{m.group(2, 1)[0]}|{first}",
        m.start() + m.end(2),
        [*m.span(1)],
        bool(re.fullmatch(r"\w+=\w+", text)),
    )


def tokenized(self, text):
    kinds, at = [], 0
    while at < len(text):
        m = TOKEN.match(text, at)
        if not m:
            at += 1
            continue
        kinds.append((m.lastgroup, m.group(m.lastgroup)))
        at = m.end()
    return kinds, [m.group("number") is None for m in TOKEN.finditer(text)], [m.groups("")[0] for m in TOKEN.finditer(text)]


def by_rules(self, text):
    out, at = [], 0
    while at < len(text):
        for kind, rule in RULES:
            if (m := rule.match(text, at)) is not None:
                out.append((kind, m.group(0)))
                at = m.end()
                break
        else:
            at += 1
    return out


def groups_of(self, text):
    parts = [m.groupdict()["name"] or "-" for m in TOKEN.finditer(text)]
    m = re.search(r"(?P<left>\w)(?P<right>\w)", text)
    both = m.groupdict() if m else {}
    return parts, both, m.lastindex if m else None, PAIR.pattern, PAIR.groups


CASES = [found, divided, replaced, matched, tokenized, by_rules, groups_of]
TEXTS = ["", "foo", "a=b, Foo=; c", "foo + 12*(x1 - bar)", "xyx Xx1", "Straße é=ü \n b", "  ...", "1+a=1 a=c!"]


@pytest.mark.parametrize("forward", CASES, ids=[f.__name__ for f in CASES])
def test_as_python(forward: Any) -> None:
    agrees(with_forward(Model(), forward), TEXTS)


@pytest.mark.parametrize("forward", CASES, ids=[f.__name__ for f in CASES])
def test_natively(forward: Any, codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(Model(), forward), TEXTS, codegen, tmp_path)


def kept(self, text):
    return re.match(r"\w+", text)


def computed(self, text):
    return re.findall(text, "abc")


def of_bytes(self, text):
    return re.findall(rb"a", text)


def of_a_number(self, text):
    return re.findall("a", len(text))


@pytest.mark.parametrize(
    ("forward", "message"),
    [
        (kept, "the result has a `TextMatch"),
        (computed, "must be known at compile time"),
        (of_bytes, "of bytes"),
        (of_a_number, "takes a string, not an int"),
    ],
)
def test_refused(forward: Any, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        build(with_forward(Model(), forward), sample=TEXTS)


def third_group(self, text):
    m = PAIR.search(text)
    return m.group(len(text)) if m else ""


def without_a_match(self, text):
    return re.match("a", text).group()


@pytest.mark.parametrize(
    ("forward", "message", "text"), [(third_group, "no such group", "a=b"), (without_a_match, "AttributeError|None", "b")]
)
def test_errors_of_python_are_errors_of_the_instance(forward: Any, message: str, text: str) -> None:
    program = build(with_forward(Model(), forward), sample=["a", "ab"])
    with pytest.raises(InstanceError, match=message):
        Interpreter(program).run(text)
