"""Softmax and attention over lists: which forms become segment operations, and that programs keep their meaning."""

from __future__ import annotations

import pytest
import torch

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.nodes import Op, Var
from backends.acrobat.ir.visitor import walk
from backends.acrobat.options import Options
from backends.acrobat.passes.lengths import Lengths
from backends.acrobat.pipeline import optimise
from backends.acrobat.tests.zoo.check import as_tensors, assert_same

HEAD = """
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.q = nn.Linear(8, 8)
        self.w = nn.Parameter(torch.randn(8))

    def forward(self, s):
        x, y, h = s["x"], s["y"], s["h"]
        {body}
"""

ATTENTION = {"list_attention"}
CASES = [
    ("return torch.softmax(x @ self.q(h), 0) @ x", ATTENTION),
    ("return torch.softmax(self.q(x) @ y.t() / math.sqrt(8), -1) @ y", ATTENTION),
    ("return F.softmax((h * x).sum(-1), 0) @ x", ATTENTION),
    ("return torch.softmax(2.0 * (x @ self.w), 0) @ (x + 1.0)", ATTENTION),
    ("return F.scaled_dot_product_attention(x, y, y)", ATTENTION),
    ("return torch.softmax(torch.tanh(x + h) @ self.w, 0) @ x", {"list_softmax"}),
    # Shares of other shapes: a segment operation needs one share for each position in the leading dimensions of a row.
    ("return torch.softmax(x.view(-1, 2, 4) @ h[:4], 0).t() @ x", {"list_max", "list_sum"}),
    ("return (torch.softmax(x, 0).unsqueeze(1) * (x.unsqueeze(2) * h)).sum(0)", {"list_max", "list_sum"}),
    ("return (torch.softmax(x, 0).unsqueeze(2) * (x.unsqueeze(2) * h)).sum(0)", {"list_softmax"}),
    ("return (torch.softmax(x, 0) * (x + h)).sum(0)", {"list_softmax"}),
    ("return (torch.softmax(x @ h, 0).unsqueeze(1) * x).sum(0)", ATTENTION),
    # Heads, as transformers write them.
    (
        "k, q = y.view(-1, 2, 4).transpose(0, 1), x.view(-1, 2, 4).transpose(0, 1); "
        "return torch.softmax(q @ k.transpose(1, 2), -1) @ k",
        ATTENTION,
    ),
    # The scores, or the shares, have other uses, so they must not be computed a second time inside `list_attention`.
    ("e = x @ h; return torch.softmax(e, 0) @ x, e", {"list_softmax"}),
    ("e = torch.softmax(x @ h, 0); return e @ x, e", {"list_max", "list_sum"}),
    ("return x.amax(0) - x.amin(0)", {"list_max", "list_min"}),
    ("return torch.softmax(x, 0)", {"list_max", "list_sum"}),
]


@pytest.mark.parametrize(("body", "wanted"), CASES, ids=[body for body, _ in CASES])
def test_what_it_becomes_and_means(body: str, wanted: set[str], tmp_path) -> None:
    module = load(tmp_path, HEAD.replace("{body}", body)).Model()
    torch.manual_seed(1)
    instances = [{"x": torch.randn(n, 8), "y": torch.randn(m, 8), "h": torch.randn(8)} for n, m in [(3, 2), (1, 5), (4, 1)]]
    program = build(module, sample=instances)
    found: list[set[str]] = []
    optimised = optimise(program, Options(), lambda name, p: found.append(_list_operations(p)) if name == "segments" else None)
    assert found == [wanted]
    with torch.no_grad():
        for instance in instances:
            eager = module(instance)
            assert_same(as_tensors(Interpreter(optimised).run(instance)), eager, body)
            assert_same(as_tensors(Interpreter(program).run(instance)), eager, body)


def _list_operations(program) -> set[str]:
    nodes = (node for f in program.functions.values() for node in walk(f.body))
    return {node.op for node in nodes if isinstance(node, Op) and node.op.startswith("list_")}


def test_lists_of_unequal_lengths_stay_as_they_are(tmp_path) -> None:
    """A loop over `zip` ends with the shorter list, which a segment operation does not."""
    body = """e = torch.softmax(x @ h, 0)
        total = torch.zeros(8)
        for share, row in zip(e, y):
            total = total + share * row
        return total"""
    module = load(tmp_path, HEAD.replace("{body}", body)).Model()
    instances = [{"x": torch.randn(n, 8), "y": torch.randn(m, 8), "h": torch.randn(8)} for n, m in [(3, 2), (2, 3), (1, 1)]]
    optimised = optimise(build(module, sample=instances), Options())
    with torch.no_grad():
        for instance in instances:
            assert_same(as_tensors(Interpreter(optimised).run(instance)), module(instance), "zip")


def test_extents_that_differ_are_an_error_of_the_instance(tmp_path) -> None:
    module = load(tmp_path, HEAD.replace("{body}", "return torch.softmax(x @ h, 0) @ y")).Model()
    good = [{"x": torch.randn(n, 8), "y": torch.randn(n, 8), "h": torch.randn(8)} for n in (2, 3)]
    optimised = optimise(build(module, sample=good), Options())
    with pytest.raises(InstanceError):
        Interpreter(optimised).run({"x": torch.randn(2, 8), "y": torch.randn(3, 8), "h": torch.randn(8)})


def test_each_list_is_looked_at_once(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of sums of rows are zips of zips, from which many paths lead back to the first list."""
    body = "for _ in range(3): x = x + y * x\n        return torch.softmax(x @ h, 0) @ x"
    module = load(tmp_path, HEAD.replace("{body}", body)).Model()
    program = build(module, sample=[{"x": torch.randn(n, 8), "y": torch.randn(n, 8), "h": torch.randn(8)} for n in (2, 3)])
    asked: list[object] = []
    find = Lengths._search_root

    def found(self: Lengths, xs: Var) -> tuple[str, list[set[str]]]:
        asked.append((self, xs.name))
        return find(self, xs)

    monkeypatch.setattr(Lengths, "_search_root", found)
    optimise(program, Options())
    assert asked
    assert len(asked) == len(set(asked))
