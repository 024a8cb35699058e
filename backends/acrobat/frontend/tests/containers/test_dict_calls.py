"""`dict(name=value)` and `dict(d, name=value)`, and copies of records and of constant dictionaries by `dict(d)`."""

# mypy: ignore-errors
# ruff: noqa: C408
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.w = nn.Parameter(torch.randn(3))
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)
        self.sizes = {"small": 1, "large": 2}
        self.steps = {1: "one", 2: "two"}


def by_name(self, item):
    h = self.w * item["n"]
    weights = [h, h + 1] if item["n"] > 1 else None
    return dict(logits=h, label=int(h.argmax()), weights=weights, inner=dict(n=item["n"], name=item["word"]))


def with_more_entries(self, item):
    base = dict(item, n=item["n"] + 1, h=self.w)
    more = dict(base, **self.sizes, word="other")
    spread = dict(**item, last=None)
    return base, more, spread, item["n"], dict(dict(a=1), a=2), dict([("a", 1.0), ("b", 2.0)], b=3.0, c=item["x"])


def options(self, scale=1, shift=0, **others):
    return self.w * scale + shift, len(others), 1 if others else 2


def as_arguments(self, item):
    given = dict(scale=item["n"])
    return options(self, **dict(given, shift=item["x"])), options(self, **dict(other=1, **given))


def copied(self, item):
    copy = dict(item)
    copy["n"] = copy["n"] * 2
    made = {"n": 1, "xs": [1]}
    other = dict(made)
    made["n"] = item["n"]
    other["xs"] = [*made["xs"], item["n"]]
    sizes = dict(self.sizes)
    sizes["small"] = item["n"]
    steps = dict(self.steps)
    steps[3] = item["word"]
    return copy, item["n"], made, other, sizes, self.sizes["small"], steps, dict(steps)[1]


def functions_by_name(self, item):
    layers = dict(a=self.first, b=self.second)
    return layers[item["word"]](self.w)


def in_order(self, item):
    stack = [1, 2, item["n"]]
    return dict(a=stack.pop(), b=stack.pop(), rest=len(stack))


ITEMS = [{"n": 1, "x": 0.5, "word": "a"}, {"n": 2, "x": 1.5, "word": "b"}, {"n": 0, "x": -1.0, "word": "a"}]
FUNCTIONS = [by_name, with_more_entries, as_arguments, copied, functions_by_name, in_order]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_interpreter(function: Any) -> None:
    agrees(with_forward(Model(), function), ITEMS)


def everything(self, item):
    return by_name(self, item), with_more_entries(self, item), as_arguments(self, item), copied(self, item)


def test_generated_code(tmp_path: Path) -> None:
    agrees_natively(with_forward(Model(), everything), ITEMS, "vm", tmp_path)


def one_key_twice(self, item):
    return dict(**item, n=1)


def a_shared_part_is_changed(self, item):
    made = {"xs": [1]}
    other = dict(made)
    made["xs"].append(item["n"])
    return other


def a_part_of_the_copy_is_changed(self, item):
    made = {"xs": [1]}
    other = dict(made)
    other["xs"].append(item["n"])
    return made


@pytest.mark.parametrize("function", [a_shared_part_is_changed, a_part_of_the_copy_is_changed])
def test_a_part_that_two_dictionaries_have(function: Any) -> None:
    agrees(with_forward(Model(), function), ITEMS)


REFUSED = [(one_key_twice, "`dict` gets several values for the argument `n`")]


@pytest.mark.parametrize(("function", "message"), REFUSED, ids=lambda x: getattr(x, "__name__", ""))
def test_refused(function: Any, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        build(with_forward(Model(), function), sample=ITEMS)


def of_another_dict(self, item):
    def dict(**entries):
        return len(entries)

    return dict(a=1, b=item["n"])


def test_a_function_named_dict_is_called() -> None:
    agrees(with_forward(Model(), of_another_dict), ITEMS)
