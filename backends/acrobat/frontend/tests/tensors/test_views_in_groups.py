"""Views of a tensor whose rows vary in number, by two extents of run time, and by extents that are another tensor's, against
eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


def neighbours(x: Any, most: int) -> Any:
    distances = ((x.unsqueeze(1) - x.unsqueeze(0)) ** 2).sum(-1)
    return (-distances).topk(min(most, x.size(0)), dim=-1)[1]


class Edges(nn.Module):
    """Each point with its nearest neighbours, of which there are fewer in small clouds."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.mlp = nn.Sequential(nn.Linear(6, 5), nn.ReLU())

    def forward(self, x: Any) -> Any:
        n, d = x.shape
        k = min(3, n)
        places = neighbours(x, 3)
        near = x.index_select(0, places.reshape(-1)).view(n, k, d)
        edges = torch.cat((near - x.unsqueeze(1).expand(n, k, d), near), dim=2)
        return self.mlp(edges).max(dim=1)[0], near


def in_brackets(self: Any, x: Any) -> Any:
    n, k = x.size(0), min(2, len(x))
    near = x[neighbours(x, 2).flatten()].reshape(n, k, -1)
    return near.mean(1), near.sum()


def number_left_open(self: Any, x: Any) -> Any:
    rows = x[neighbours(x, 3).reshape(-1)]
    by_points, by_size = rows.view(x.size(0), -1, 3), rows.view(-1, min(3, x.size(0)), 3)
    return by_points.max(1)[0], by_size.sum(1), by_points - by_size


def ints(self: Any, x: Any) -> Any:
    n, k = x.size(0), min(3, x.size(0))
    places = neighbours(x, 3)
    again = places.reshape(-1).view(n, k)
    return again, x[again[0]].sum(0), places.view(k, n)


def wider_rows(self: Any, x: Any) -> Any:
    n, k = x.size(0), min(3, x.size(0))
    rows = x[neighbours(x, 3).reshape(-1)]
    heads = torch.cat([rows, rows], -1).view(n, k, 2, 3)
    return heads.sum(1), torch.cat([rows.view(n, k, 3), rows.view(n, k, 3)], 1).sum(1)


MODELS: dict[str, Callable[..., Any]] = {
    f.__name__: f for f in (Edges.forward, in_brackets, number_left_open, ints, wider_rows)
}


def clouds(*sizes: int) -> list[Any]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(n, 3, generator=generator) for n in sizes]


@pytest.mark.parametrize("name", MODELS)
def test_rows_in_groups(name: str) -> None:
    agrees(with_forward(Edges(), MODELS[name]), clouds(1, 2, 3, 5, 4))


def test_rows_in_groups_in_generated_code(tmp_path: Path) -> None:
    agrees_natively(Edges().eval(), clouds(1, 2, 5), "vm", tmp_path)


class Viewed(nn.Module):
    def forward(self, pair: Any) -> Any:
        a, b = pair
        return a.view(b.size(0), -1)


def open_rest(self: Any, pair: Any) -> Any:
    return pair[0].reshape(pair[1].size(0), 2, -1)


def written_out(self: Any, pair: Any) -> Any:
    return pair[0].reshape(pair[1].size(0), 4)


def wider(self: Any, pair: Any) -> Any:
    return pair[0].view(len(pair[1]), 8)


def pairs(*sizes: tuple[int, int]) -> list[Any]:
    generator = torch.Generator().manual_seed(2)
    return [(torch.randn(n, 4, generator=generator), torch.randn(m, 2, generator=generator)) for n, m in sizes]


@pytest.mark.parametrize("forward", [Viewed.forward, open_rest, written_out])
def test_the_extent_of_another_tensor_is_checked(forward: Callable[..., Any]) -> None:
    """Where that extent is not the tensor's own, the result has another shape, or eager PyTorch an error."""
    model = with_forward(Viewed(), forward)
    program = agrees(model, pairs((2, 2), (3, 3), (1, 1)))
    for sizes in ((4, 2), (2, 3), (3, 1)):
        with pytest.raises(InstanceError):
            Interpreter(program).run(pairs(sizes)[0])


class Spelled(nn.Module):
    """The number of letters as an extent of the tensor that has a row for each letter."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.letters, self.lstm = nn.Embedding(26, 4), nn.LSTM(4, 3)

    def forward(self, word: str) -> Any:
        n = len(word)
        rows = self.letters(torch.tensor([ord(c) - ord("a") for c in word]))
        _, (h, _) = self.lstm(rows.view(len(word), 1, -1))
        for _ in range(2):
            rows = rows.view(n, 1, -1).view(n, -1) * 2
        return h, rows.view(1, n, -1), rows.view(n, 2, -1, 1), rows.view(n, -1, 2), rows.t().reshape(2, -1, n)


@pytest.mark.parametrize("codegen", ["aot", "vm"])
def test_the_length_of_a_string_is_the_extent_of_its_letters(codegen: str, tmp_path: Path) -> None:
    agrees_natively(Spelled().eval(), ["ab", "a", "word", "abcdefg"], codegen, tmp_path)


@pytest.mark.parametrize(("rows", "size"), [(4, 2), (2, 4), (3, 2), (0, 0)])
def test_another_number_than_the_extent_is_an_error(rows: int, size: int) -> None:
    """Eager PyTorch gives rows of another extent, or an error; where there are no rows, it does not tell what -1 is."""

    def forward(self: Any, pair: Any) -> Any:
        x, count = pair
        return x.view(count, 1, -1)

    program = agrees(with_forward(Viewed(), forward), [(torch.randn(n, 4), n) for n in (1, 2, 3)])
    with pytest.raises(InstanceError, match="extent"):
        Interpreter(program).run((torch.zeros(rows, 4), size))


def test_the_extent_of_another_tensor_that_is_shorter() -> None:
    model = with_forward(Viewed(), wider)
    program = agrees(model, pairs((2, 1), (6, 3)))
    with pytest.raises(InstanceError):
        Interpreter(program).run(pairs((3, 3))[0])


def test_groups_that_do_not_take_all_rows() -> None:
    def forward(self: Any, pair: Any) -> Any:
        return pair[0].view(pair[1].size(0), min(2, pair[0].size(0)), 4)

    program = build(with_forward(Viewed(), forward), sample=pairs((2, 1), (4, 2)))
    for sizes in ((3, 2), (5, 2), (2, 2)):
        with pytest.raises(InstanceError, match="is invalid for"):
            Interpreter(program).run(pairs(sizes)[0])
