"""A model from a user's own file: a child-sum TreeGRU over trees of any arity, with a Linear for each gate."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from backends.acrobat import compile
from backends.acrobat.errors import ModuleChanged
from backends.acrobat.tests.python_source import load_source
from backends.acrobat.tests.support import assert_same, eager

SOURCE = """
from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Tree:
    x: Annotated[Tensor, "features"]
    children: list[Tree]


class TreeGRU(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.features = features
        self.W_z, self.U_z = nn.Linear(features, hidden), nn.Linear(hidden, hidden, bias=False)
        self.W_r, self.U_r = nn.Linear(features, hidden), nn.Linear(hidden, hidden, bias=False)
        self.W_h, self.U_h = nn.Linear(features, hidden), nn.Linear(hidden, hidden, bias=False)
        self.hidden = hidden

    def forward(self, tree: Tree) -> Tensor:
        return self.encode(tree)

    def encode(self, tree: Tree) -> Tensor:
        states = [self.encode(child) for child in tree.children]
        total = sum(states, torch.zeros(self.hidden))
        z = torch.sigmoid(self.W_z(tree.x) + self.U_z(total))
        kept = [torch.sigmoid(self.W_r(tree.x) + self.U_r(h)) * h for h in states]
        candidate = torch.tanh(self.W_h(tree.x) + self.U_h(sum(kept, torch.zeros(self.hidden))))
        return z * total + (1 - z) * candidate
"""


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield load_source(SOURCE, tmp_path_factory.mktemp("user"), "user_tree_gru")
    del sys.modules["user_tree_gru"]


@pytest.fixture
def model(user: Any) -> Any:
    torch.manual_seed(3)
    return user.TreeGRU(6, 10)


def trees(user: Any) -> list[Any]:
    random = torch.Generator().manual_seed(0)

    def tree(*children: Any) -> Any:
        return user.Tree(torch.randn(6, generator=random), list(children))

    def any_arity(depth: int) -> Any:
        count = int(torch.randint(0, 4, (), generator=random)) if depth else 0
        return tree(*(any_arity(depth - 1) for _ in range(count)))

    return [tree(), tree(tree()), tree(tree(), tree(tree(), tree(), tree()), tree()), *(any_arity(4) for _ in range(6))]


def right(model: Any, instances: list[Any], dtype: torch.dtype = torch.float64) -> list[Any]:
    was = torch.get_default_dtype()
    torch.set_default_dtype(dtype)  # the model makes zeros
    try:
        return eager(copy.deepcopy(model).to(dtype), instances)
    finally:
        torch.set_default_dtype(was)


def test_it_is_right(user: Any, model: Any, cache: Path) -> None:
    executable = compile(model, cache_folder=cache, checked=True)
    instances = trees(user)
    assert_same(executable(instances), right(model, instances))
    widths = executable.counters()["nodes"] / executable.counters()["batches"]
    assert widths > 2


def test_changed_parameters_are_noticed_and_loaded(user: Any, model: Any, cache: Path) -> None:
    instances = trees(user)
    executable = compile(model, cache_folder=cache, checked=True)
    executable(instances)
    with torch.no_grad():
        for p in model.parameters():
            p.fill_(7.0)
    with pytest.raises(ModuleChanged, match=r"was changed in place .*: call executable.load\(module\)"):
        executable(instances)
    copied = compile(copy.deepcopy(model), cache_folder=cache, checked=True)  # keeps the values of a copy that is deleted
    executable.load(model)
    assert_same(executable(instances), right(model, instances))
    assert_same(copied(instances), right(model, instances))
    changed = compile(model, cache_folder=cache, checked=True)
    assert changed.folder == executable.folder  # values are no part of the build
    assert_same(changed(instances), right(model, instances))


def test_inputs_need_not_be_contiguous(user: Any, model: Any, cache: Path) -> None:
    executable = compile(model, cache_folder=cache, checked=True)
    table = torch.randn(6, 12)
    column = user.Tree(table[:, 3], [user.Tree(table[:, 5], []), user.Tree(table[2, ::2], [])])
    whole = user.Tree(torch.ones(1).expand(6), [user.Tree(table[4].flip(0)[1:7], [])])
    assert not column.x.is_contiguous() and not whole.x.is_contiguous()
    assert_same(executable([column, whole]), right(model, [column, whole]))
