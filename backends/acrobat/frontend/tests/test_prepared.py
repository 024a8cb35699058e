"""Texts that Python's own modules parse: what these give before the mini-batch is a part of the instance."""

# mypy: ignore-errors
from __future__ import annotations

import ast
import json
import shlex
import unicodedata
from ast import parse
from pathlib import Path

import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.verifier import verify
from backends.acrobat.options import Options
from backends.acrobat.tests.zoo.check import as_tensors, assert_same


class Formula(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.both = nn.Embedding(7, 4), nn.Linear(8, 4)

    def encode(self, node):
        if isinstance(node, ast.Constant):
            return self.words.weight[node.value % 7]
        if isinstance(node, ast.Name):
            return self.words.weight[ord(node.id[0]) % 7]
        h = torch.tanh(self.both(torch.cat([self.encode(node.left), self.encode(node.right)])))
        return -h if isinstance(node.op, ast.Sub) else h


class Parsed(Formula):
    """A tree of Python's own, with an argument that no instance gives."""

    def forward(self, source, scale=2.0):
        tree = ast.parse(source.strip(), mode="eval").body
        return self.encode(tree) * scale


class ImportedByName(Formula):
    """A static form: the parser is a name of the file, and the rest is in a `with`."""

    def forward(self, source: str):
        with torch.no_grad():
            return self.encode(parse(source, mode="eval").body)


class Documents(nn.Module):
    """Lines of which each is parsed, in a part that is read twice, beside an argument that may be left out."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 2)

    def forward(self, lines, weight=1.0, shift=0.0):
        rows = [json.loads(line)["xs"] for line in lines if line]
        return self.a(torch.tensor(rows)).sum(0) * weight + shift, len(rows)


class Fields(nn.Module):
    """A part of a dictionary, and a text that a second parser gets from the first."""

    def forward(self, request, at):
        words = shlex.split(json.loads(request["body"]))
        return words[at], len(request)


class Rebound(nn.Module):
    """A parser after its argument got another value is not that of the instance."""

    def forward(self, text):
        text = text + "x"
        return len(unicodedata.normalize("NFKC", text))


class Sometimes(nn.Module):
    """A parser that only some instances come to."""

    def forward(self, text):
        if text.startswith("["):
            return len(json.loads(text))
        return 0


class After(nn.Module):
    """A parser of a part of a list that was changed before."""

    def forward(self, lines):
        lines[0] = "[1]"
        return len(json.loads(lines[0]))


class Twice(nn.Module):
    """Two parsers in one statement, of which the second has a comprehension around it."""

    def forward(self, text):
        first, rest = json.loads(text), [2 * x for x in json.loads(text)[1:]] if text else []
        return first[0], rest[:1], text


class Changed(nn.Module):
    """What a parser gives is a part of the instance, which may not be changed."""

    def forward(self, text):
        first = json.loads(text)
        first.append(7)
        return len(first)


FORMULAS = ["1+2", " (a-b)+3", "x", "1+2-(c+d)"]
LINES = ['{"xs": [1.0, 2.0, 3.0]}', "", '{"xs": [0.5, 2.0, 1.0]}']
CASES = {
    "parsed": (Parsed, FORMULAS),
    "by_name": (ImportedByName, ["1+2", "(a-b)+3", "x"]),
    "documents": (Documents, [LINES, (LINES[:1], 3.0), (LINES[1:], 0.5, 0.25)]),
    "fields": (Fields, [({"body": "\"a 'b c' d\""}, 1), ({"body": '"word"'}, 0)]),
}


@pytest.fixture(autouse=True)
def _cache_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACROBAT_CACHE", str(tmp_path))


def of_eager(model, instance):
    taken = instance if type(instance) is tuple else (instance,)
    with torch.no_grad():
        return model(*taken)


@pytest.mark.parametrize("name", CASES)
def test_the_interpreter_gets_what_python_has_parsed(name: str) -> None:
    model, instances = CASES[name][0](), CASES[name][1]
    with pytest.warns(UserWarning, match="is computed by Python for each instance"):
        program = build(model, sample=instances)
    verify(program)
    run = Interpreter(program)
    for x in instances:
        assert_same(as_tensors(run.run(x)), of_eager(model, x), name)


@pytest.mark.filterwarnings("ignore:.*is computed by Python")
@pytest.mark.parametrize("name", CASES)
def test_mini_batches(name: str) -> None:
    model, instances = CASES[name][0](), CASES[name][1]
    executable = compile(model, sample=instances, options=Options(codegen="vm"))
    for batch in (instances, instances[::-1], instances[:1], []):
        for got, x in zip(executable(batch), batch, strict=True):
            assert_same(got, of_eager(model, x), name)


@pytest.mark.filterwarnings("ignore:.*is computed by Python")
def test_what_python_raises_names_the_instance_and_the_executable_stays_usable() -> None:
    model = Parsed()
    executable = compile(model, sample=FORMULAS, options=Options(codegen="vm"))
    with pytest.raises(InstanceError, match=r"instance 1: `ast.parse\(source.strip.*\).body` raises SyntaxError"):
        executable(["1+2", "1+"])
    with pytest.raises(InstanceError, match=r"instance 0: .* raises AttributeError: 'int' object has no attribute 'strip'"):
        executable([5])
    unseen = r"instance 1, in what `ast.parse.*` gives: expected a .*, got a value of type Call"
    with pytest.raises(InstanceError, match=unseen):
        executable(["1+2", "f(x)"])
    assert_same(executable(["1+2"])[0], of_eager(model, "1+2"), "after the errors")


@pytest.mark.filterwarnings("ignore:.*is computed by Python")
def test_arguments_are_named_as_the_instance_gives_them() -> None:
    model, instances = CASES["fields"][0](), CASES["fields"][1]
    executable = compile(model, sample=instances, options=Options(codegen="vm"))
    with pytest.raises(InstanceError, match=r"instance 0, at \[1\]: expected an int"):
        executable([({"body": '"word"'}, "0")])
    with pytest.raises(InstanceError, match="instance 1: `forward` takes 2 arguments, got 3"):
        executable([({"body": '"word"'}, 0), ({"body": '"word"'}, 0, 1)])


@pytest.mark.filterwarnings("ignore:.*is computed by Python")
def test_a_sample_that_cannot_be_parsed_is_told() -> None:
    with pytest.raises(CompileError, match=r"instance 1 of the sample: `ast.parse.* raises SyntaxError"):
        compile(Parsed(), sample=["1+2", "1+"])


@pytest.mark.parametrize(
    ("model", "sample"), [(Rebound, ["ab"]), (Sometimes, ["[1]", "a"]), (After, [["[1, 2]"]]), (Changed, ["[1]"])]
)
def test_other_calls_are_refused(model: type[nn.Module], sample: list) -> None:
    with pytest.raises(CompileError, match=r"cannot be compiled|is not in the language|changes"):
        compile(model(), sample=sample, options=Options(codegen="vm"))
