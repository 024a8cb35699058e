"""Ints, floats and strings in one place, as the cells of a table: each keeps its type in what is computed from it."""

# mypy: ignore-errors
from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

ROWS = [[1, 2.5, "a"], [3, "b", 7, 2], ["x"], [0.5, 4], [9, 9.0, "", 3, 1.25]]
WITH_NONE = [[3, "b", None, 1.5], ["", 2], [None], [7, 7.0, -6.5, "x", "bcd"]]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear, self.embed = nn.Linear(2, 3), nn.Embedding(30, 3)
        self.missing = nn.Parameter(torch.randn(3))

    def cell(self, c):
        if c is None or c == "":
            return self.missing
        if isinstance(c, (int, float)):
            value = torch.tensor([float(c)])
            return self.linear(torch.cat([torch.sign(value), value.abs()]))
        return self.embed(torch.tensor(len(str(c))))


def is_number(cell):
    return isinstance(cell, (int, float)) and not isinstance(cell, bool)


def tensors_of_few(self, row):
    pairs = [("word" if isinstance(c, str) else "number", c) for c in row]
    out = torch.zeros(3)
    for i, (kind, value) in enumerate(pairs):
        if kind == "number":
            out = out + self.linear(torch.tensor([1.0, value])) + torch.tensor([i, value, 0.5]).sum()
        else:
            out = out + self.embed(torch.tensor([len(value)]))[0]
    return out


def ranks(self, row):
    distinct = sorted({c for c in row if is_number(c)})
    rank = {v: i + 1 for i, v in enumerate(distinct)}
    return [rank[c] if is_number(c) else 0 for c in row]


def sums(self, row):
    numbers = [c for c in row if is_number(c)]
    return sum(c for c in row if is_number(c)), sum(numbers) / max(1, sum(map(is_number, row))), sum(numbers, 1)


def extremes(self, row):
    numbers = [c for c in row if is_number(c)]
    return min(numbers, default=None), max(numbers, default=-1), sorted(numbers, reverse=True)[:2]


def best_so_far(self, row):
    best, least = 0, 2.5
    for c in row:
        if isinstance(c, str):
            continue
        best, least = max(best, c), min(c, least, 9)
    return best, least


def computed(self, row):
    return [c if isinstance(c, str) else c * 2 + 1 for c in row], [-c for c in row if is_number(c)]


def of_math(self, row):
    numbers = [c for c in row if is_number(c)]
    return [(math.log1p(abs(c)), math.floor(c), math.pow(c, 2)) for c in numbers], [
        torch.tensor([math.expm1(c)]) for c in row if is_number(c)
    ]


def texts(self, row):
    return ", ".join(str(c) for c in row), [f"{c}" for c in row], str(row), " ".join(repr(c) for c in row)


def encoded(self, row):
    return torch.stack([self.cell(c) for c in row])


def answers(self, row):
    numbers = [c for c in row if is_number(c)]
    work = {"none": lambda xs: ", ".join(map(str, xs)), "count": len, "sum": lambda xs: float(sum(xs))}
    kind = ["none", "count", "sum"][len(row) % 3]
    return {"answer": work[kind](row if kind != "sum" else numbers), "kind": kind}


def counted(self, row):
    counts = Counter(c for c in row if c is not None)
    return sorted(counts.values()), counts[2], row.count(2), 7 in row, "b" in row


def moved(self, row):
    return tuple(row), row[::-1], [*row, 1], row[1:]


@dataclass
class Table:
    columns: dict


def columns(self, table):
    out = {}
    for name, column in table.columns.items():
        numbers = [c for c in column if not isinstance(c, str)]
        out[name] = sum(numbers) if numbers else 0
    return out, max(out, key=out.get)


TABLES = [Table({"a": [1, 2.5, "x"], "b": ["q"]}), Table({"c": [3, 4]}), Table({"d": [], "e": [1.5, "", 2]})]


def stack(self, program):
    values = []
    for op, given in program:
        if op == "push":
            values.append(given)
        elif op == "add":
            b, a = values.pop(), values.pop()
            values.append(a + b)
        else:
            values.append(-values.pop())
    return values[-1], len(values)


PROGRAMS = [
    [("push", 1), ("push", 2.5), ("add", "")],
    [("push", 3), ("push", 4), ("add", ""), ("neg", "")],
    [("push", "a"), ("push", "b"), ("add", "")],
]


def features(self, row):
    out = torch.zeros(3)
    for x in row:
        if isinstance(x, bool):
            out = out + (self.missing if x else -self.missing)
        elif isinstance(x, int):
            out = out + self.embed.weight[x]
        elif isinstance(x, float):
            out = out * x
        else:
            out = out + self.embed.weight[len(x)]
    return out


FEATURES = [[True, 3, 0.5, "ab"], [2, False], [1.5], ["x", True]]


def in_trees(self, node):
    if isinstance(node, str):
        return self.embed.weight[len(node)]
    if isinstance(node, (int, float)):
        return torch.tensor([float(node), 1.0 if node < 0 else 0.0, 0.5])
    kind, *parts = node
    if kind == "block":
        return sum([in_trees(self, p) for p in parts], self.missing)
    return torch.tanh(self.embed.weight[len(kind)] - in_trees(self, parts[-1]))


TREES = [
    "x",
    3,
    -2.5,
    ("block",),
    ("neg", "x"),
    ("block", ("neg", 4), ("not", ("neg", -1.5)), "acc"),
    ("not", ("block", 1, 2.0)),
]


def by_name(self, row):
    name = ["sum", "max", "min", "len"][len(row) % 4]
    numbers = [c for c in row if not isinstance(c, str)]
    rows = [numbers, numbers[1:], [2, 3]]
    if not numbers:
        return 0, [], []
    return {"max": max, "min": min, "sum": sum, "len": len}[name](numbers), list(map(sum, rows)), list(map(bool, rows))


CASES = [
    (in_trees, TREES),
    (by_name, ROWS),
    (ranks, ROWS),
    (sums, ROWS),
    (tensors_of_few, ROWS),
    (extremes, ROWS),
    (best_so_far, ROWS),
    (computed, ROWS),
    (of_math, ROWS),
    (texts, ROWS),
    (encoded, WITH_NONE),
    (answers, ROWS),
    (counted, WITH_NONE),
    (moved, ROWS),
    (columns, TABLES),
    (stack, PROGRAMS),
    (features, FEATURES),
]


@pytest.mark.parametrize(("forward", "sample"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_as_in_python(forward: Any, sample: list[Any]) -> None:
    agrees(with_forward(Model(), forward), sample)


def test_natively(codegen: str, tmp_path: Path) -> None:
    def forward(self, row):
        return ranks(self, row), sums(self, row), computed(self, row), texts(self, row)

    agrees_natively(with_forward(Model(), forward), ROWS, codegen, tmp_path)


def all_of_them(self, row):
    return sum(row)


def test_a_string_in_a_sum_is_an_error_of_the_instance() -> None:
    interpreter = Interpreter(build(with_forward(nn.Module(), all_of_them), sample=ROWS))
    assert repr(interpreter.run([1, 2])) == "3"
    assert repr(interpreter.run([1, 2.0])) == "3.0"
    assert repr(interpreter.run([])) == "0"
    with pytest.raises(InstanceError, match="TypeError: unsupported operand types"):
        interpreter.run([1, "a"])


def read(self, row):
    return [int(c) for c in row], float(row[0])


def test_numbers_and_strings_as_numbers() -> None:
    agrees(with_forward(Model(), read), [[1, "2"], ["-7", 3, "0"]])
    with pytest.raises(InstanceError, match="invalid literal for int"):
        Interpreter(build(with_forward(Model(), read), sample=[[1, "2"]])).run([1, "x"])


def signs(self, x):
    return torch.sign(torch.tensor([x])), torch.sign(torch.tensor([x, -x, 0.0]))


def test_the_sign_of_one_number() -> None:
    agrees(with_forward(nn.Module(), signs), [1.5, -2.0, 0.0])


def are_tensors(self, xs):
    total = 0
    for x in xs:
        if x > 3:
            total = total + self.embed.weight[x]
    known = isinstance(total, torch.Tensor)
    h = self.embed.weight[xs[0]]
    return (
        known,
        total.sum() if known and isinstance(total, torch.Tensor) else -1,
        [isinstance(v, torch.Tensor) for v in (h, xs, 3)],
    )


def test_isinstance_of_tensors_as_a_value() -> None:
    agrees(with_forward(Model(), are_tensors), [[1, 2], [4, 5, 1], [9]])


def loss_or_zero(self, xs):
    loss = None
    if len(xs) > 2:
        loss = self.linear(self.embed.weight[xs[0]][:2]).sum()
    return {"loss": 0.0 if loss is None else loss, "n": 0 if len(xs) > 1 else 1}, loss.exp() if loss is not None else 7


@pytest.mark.parametrize("codegen", ["", "aot", "vm"])
def test_a_number_stays_one_beside_a_tensor_in_a_result(codegen: str, tmp_path: Path) -> None:
    sample = [[1, 2], [3, 4, 5], [7]]
    if codegen:
        agrees_natively(with_forward(Model(), loss_or_zero), sample, codegen, tmp_path)
    else:
        agrees(with_forward(Model(), loss_or_zero), sample)


def words_of_the_strings(self, row):
    kinds = ["word" if isinstance(c, str) else "number" if c is not None else "" for c in row]
    lengths = [len(c.upper().split("B")) if k == "word" else 0 for c, k in zip(row, kinds, strict=True)]
    return self.embed.weight[sum(lengths)], [c.lower() + "!" for c, k in zip(row, kinds, strict=True) if k == "word"]


def test_a_method_of_strings_where_numbers_may_stand() -> None:
    """What tells the strings apart is not known: each value is asked for the method, and one without it is an error."""
    agrees(with_forward(Model(), words_of_the_strings), WITH_NONE)
    agrees(with_forward(Model(), words_of_the_strings), ROWS)
