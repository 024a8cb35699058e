"""What is refused says what it does and what to write instead, at the user's line, also where a library's source is not
compiled; and what follows from it is not told."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, Problem
from backends.acrobat.frontend import build
from backends.acrobat.frontend.evaluator import tables
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, as_tensors, assert_same, with_forward

TEXT = """
import asyncio
import logging
import os
import random
import threading
import time
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = nn.ModuleList([nn.Linear(4, 4)])
        self.scan = nn.LSTM(4, 3)

    async def later(self, x):
        return x

    def sent(self):
        x = yield 1

    def forward(self, x):
        {text}
"""
ROWS = [torch.ones(n, 4) for n in (2, 3)]


def problems(text: str, folder: Path) -> list[Problem]:
    module = load(folder, TEXT.replace("{text}", text), f"refused_{abs(hash(text))}").Model().eval()
    with pytest.raises(CompileError) as error:
        build(module, sample=ROWS)
    return error.value.problems


DRAWS = "draws random numbers.* draw them where the instances are made"
WRITES = "writes something.* leave it out"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("return x + torch.rand(4)", DRAWS),
        ("return torch.randn_like(x)", DRAWS),
        ("return F.gumbel_softmax(x, hard=True)", DRAWS),
        ("return torch.multinomial(x[0].softmax(0), 1)", DRAWS),
        ("return torch.zeros(4).normal_()", DRAWS),
        ("return x if random.random() < 0.5 else -x", DRAWS),
        ("return x * random.choice([1.0, 2.0])", DRAWS),
        ("return x * np.random.rand()", DRAWS),
        ("print(x)", WRITES),
        ("warnings.warn('long')", WRITES),
        ("logging.getLogger('model').debug('%s', x.shape)", WRITES),
        ("threading.Thread(target=len).start()", "does something beside computing the result"),
        ("return x * time.time()", "reads the clock.* measure around the call"),
        ("return x if os.environ.get('FAST') else -x", "asks the system.* ask in `__init__`"),
        ("return eval('x + 1')", "runs text as a program"),
        ("h = torch.tanh(x)\n        assert [h][-1] is h\n        return h", "`is` of tensors.*torch.equal"),
        (
            "setattr(self, 'h' + str(len(x)), x)",
            "assigns to an attribute by a name that is not written.* write `x.name = value`",
        ),
        ("x.sum().backward()", "is about gradients.* leave it out"),
        ("return x.cuda()", "is about devices.* leave it out"),
        ("return torch.fft.fft(x).abs()", "is for complex numbers"),
        ("return x.numpy()", "gives an array.* use torch's functions"),
        ("return torch.vmap(lambda row: row * 2.0)(x)", "write a comprehension over the parts"),
        ("return x.sofmax(-1)", "a tensor has no `sofmax`: is `softmax` meant"),
        ("return asyncio.run(x)", "`asyncio.run` is not in the language"),
        ("return self.later(x)", "`Model.later` is an `async` function.* leave `async` and `await` out"),
        ("return list(self.sent())", "a `yield` with a value is not in the language"),
        ("global COUNT", "`global` is not in the language.* give the value to the functions that change it"),
        ("class Inner: pass", "a class inside of a function.* define it at the top of the file"),
        ("return self.cells(x)", "a ModuleList is not called.* call the modules in it"),
        ("return torch.jit.script(nn.ReLU())(x)", "`torch.jit.script`"),
    ],
)
def test_what_is_refused(statement: str, message: str, tmp_path: Path) -> None:
    problem = problems(f"{statement}\n        return x", tmp_path)[0]
    assert re.search(message, f"{problem.message} {problem.advice}"), f"{problem.message} {problem.advice}"
    assert problem.span.file.startswith(str(tmp_path))


@pytest.mark.parametrize(
    "statement",
    [
        "try:\n            y = x + 1.0\n        except TypeError:\n            y = x\n        return y",
        "with open('text') as text:\n            size = len(text.read())\n        return x + size",
        "import not_there\n        return not_there.f(x)",
    ],
)
def test_names_that_a_refused_statement_assigns_are_no_problems(statement: str, tmp_path: Path) -> None:
    (problem,) = problems(statement, tmp_path)
    assert problem.span.line == 29


def test_the_source_of_libraries_is_told_of_at_the_call(tmp_path: Path) -> None:
    """Once, however much is found there: in a function of PyTorch's own text, and in a class of Python's."""
    found = problems("y = torch.utils.data.DataLoader(x)\n        return x + threading.local().y", tmp_path)
    assert {p.span.file.startswith(str(tmp_path)) for p in found} == {True}
    assert "`torch.utils.data.DataLoader` of an installed library cannot be compiled" in found[0].message
    assert len([p for p in found if p.span.line == 29]) == 1


def test_flatten_parameters_does_nothing(tmp_path: Path) -> None:
    text = TEXT.replace("{text}", "self.scan.flatten_parameters()\n        return self.scan(x)[0]")
    agrees(load(tmp_path, text, "flattened").Model().eval(), ROWS)


@pytest.mark.parametrize(
    ("instance", "message"),
    [
        ({"x": torch.eye(3).to_sparse()}, r"instance 0\['x'\] is a sparse tensor"),
        ({"x": nn.Linear(2, 2)}, r"instance 0\['x'\] is a module"),
    ],
)
def test_what_an_instance_cannot_have_in_it(instance: dict[str, object], message: str) -> None:
    def forward(self: nn.Module, given: dict[str, torch.Tensor]) -> object:
        return given["x"]

    with pytest.raises(CompileError, match=message):
        build(with_forward(nn.Module(), forward), sample=[instance])


DECORATED = """
import numpy as np
import torch


@{decorator}
def swish(x):
    return x * torch.sigmoid(x)


class Model(torch.nn.Module):
    def forward(self, x):
        return swish(x) * np.sqrt(2.0) + float(np.log(10))
"""


@pytest.mark.parametrize("decorator", ["torch.jit.script", "torch.compile", "torch.compiler.disable", "torch.no_grad()"])
def test_what_decorators_of_torch_make_is_compiled_as_the_function(decorator: str, tmp_path: Path) -> None:
    module = load(tmp_path, DECORATED.replace("{decorator}", decorator), f"decorated_{abs(hash(decorator))}").Model()
    program = build(module, sample=ROWS)
    x = torch.linspace(-1.0, 1.0, 8).reshape(2, 4)
    wanted = x * torch.sigmoid(x) * 2.0**0.5 + 2.302585093
    assert_same(as_tensors(Interpreter(program).run(x)), wanted, decorator)


def test_what_the_sample_shows_to_be_none_and_what_it_lacks() -> None:
    def asks_none(self: nn.Module, given: dict[str, torch.Tensor]) -> object:
        return given["x"] + 1.0

    def asks_more(self: nn.Module, given: dict[str, torch.Tensor]) -> object:
        return given["z"] + given["y"]

    sample = [{"x": None, "y": torch.ones(2)}]
    with pytest.raises(CompileError, match="'x' is None in all dictionaries of the sample"):
        build(with_forward(nn.Module(), asks_none), sample=sample)
    with pytest.raises(CompileError, match="this dictionary, of 'x', 'y', has no key 'z'"):
        build(with_forward(nn.Module(), asks_more), sample=sample)


def test_what_one_instance_would_leave_to_the_next(tmp_path: Path) -> None:
    (problem,) = problems("self.kept = self.kept + x\n        return self.kept", tmp_path)
    assert "its value would be that of the instance before" in problem.message


def test_a_model_without_forward() -> None:
    class Empty(nn.Module):
        pass

    with pytest.raises(CompileError, match="`Empty` has no `forward`"):
        build(Empty(), sample=ROWS)


def test_an_instance_that_would_be_given_by_name() -> None:
    class ByName(nn.Module):
        def forward(self, x: torch.Tensor, *, y: torch.Tensor) -> torch.Tensor:
            return x + y

    with pytest.raises(CompileError, match="`forward` takes `y` by name only, and an instance is given by position"):
        build(ByName(), sample=[(torch.ones(2), torch.ones(2))])


def depth(tree: tuple[str, list[object]]) -> int:
    return 1 + max((depth(child) for child in tree[1]), default=0)  # type: ignore[arg-type]


def test_lists_that_are_empty_in_the_whole_sample() -> None:
    def of_tree(self: nn.Module, tree: tuple[str, list[object]]) -> int:
        return depth(tree)

    def of_rows(self: nn.Module, given: dict[str, list[torch.Tensor]]) -> torch.Tensor:
        return torch.stack([row.sum() for row in given["rows"]]) if given["rows"] else torch.zeros(1)

    with pytest.raises(CompileError, match="an element of the instance is empty in all instances of the sample"):
        build(with_forward(nn.Module(), of_tree), sample=[("a", []), ("b", [])])
    with pytest.raises(CompileError, match=r"the instance\['rows'\] is empty in all instances of the sample"):
        build(with_forward(nn.Module(), of_rows), sample=[{"rows": []}])


def test_a_defect_of_the_compiler_is_told_at_the_line_that_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: object) -> None:
        raise KeyError("lost")

    def forward(self: nn.Module, x: torch.Tensor) -> torch.Tensor:
        y = x.sum()
        return y + 1

    monkeypatch.setitem(tables.EXPRESSIONS, ast.BinOp, fails)
    with pytest.raises(CompileError, match="the compiler fails here, which is a defect of its own: KeyError: 'lost'") as error:
        build(with_forward(nn.Module(), forward), sample=[torch.ones(2)])
    (problem,) = error.value.problems
    assert problem.span.line == forward.__code__.co_firstlineno + 2
    assert isinstance(error.value.__cause__, KeyError)
