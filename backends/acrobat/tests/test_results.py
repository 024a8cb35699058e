"""Masks, what `one_hot` gives and tensors of one int are the tensors of PyTorch where they are results, also in dictionaries
and objects of the result."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from backends.acrobat import compile
from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.options import Options
from backends.acrobat.tests.zoo.check import with_forward

ROWS = [torch.randn(n, 4, generator=torch.Generator().manual_seed(n)) for n in (3, 1, 6)]


@dataclass
class Answer:
    chosen: torch.Tensor
    kept: torch.Tensor


def in_dictionaries(self: nn.Module, x: torch.Tensor) -> Any:
    mask = x > 0.0
    kept = {"mask": mask, "x": x}
    return {
        "best": x.sum(0).argmax(),
        "mask": mask,
        "pair": (mask.any(1), x[:, 0] > 0.5),
        "rows": [{"row": row > 0.0} for row in x],
        "ones": functional.one_hot(x.argmax(-1), 4),
        "masked": kept["x"].masked_fill(kept["mask"], 0.0),
    }


def in_objects(self: nn.Module, x: torch.Tensor) -> Any:
    return Answer(x.sum(0).argmax(), x.sum(0) > 0.0), x > 0.0


def ones(self: nn.Module, x: torch.Tensor) -> Any:
    chosen = functional.one_hot(x.sum(0).argmax(), 4)
    return chosen, functional.one_hot(x.argmax(-1), 4)[:, 1:], functional.one_hot(torch.tensor([2, 0]), 3).t(), chosen.bool()


def same(mine: Any, theirs: Any) -> bool:
    """Equal in structure, classes, dtypes and values."""
    match theirs:
        case torch.Tensor():
            alike = isinstance(mine, torch.Tensor) and mine.dtype == theirs.dtype and mine.shape == theirs.shape
            return alike and torch.allclose(mine.double(), theirs.double(), atol=1e-5)
        case Answer():
            return isinstance(mine, Answer) and same(vars(mine), vars(theirs))
        case dict():
            return list(mine) == list(theirs) and all(same(mine[k], theirs[k]) for k in theirs)
    return type(mine) is type(theirs) and len(mine) == len(theirs) and all(map(same, mine, theirs))


@pytest.mark.parametrize("function", [in_dictionaries, in_objects, ones], ids=lambda function: function.__name__)
def test_results_have_the_types_of_pytorch(function: Any, cache: Path) -> None:
    model = with_forward(nn.Module(), function)
    executable = compile(model, sample=ROWS, cache_folder=cache)
    for mine, x in zip(executable(ROWS), ROWS, strict=True):
        assert same(mine, model(x)), f"{mine} where eager gives {model(x)}"


@pytest.mark.parametrize("product", [lambda x: x @ x, lambda x: x.dot(x), lambda x: torch.matmul(x, x.t())])
def test_products_of_ints_are_refused(product: Any) -> None:
    def forward(self: nn.Module, x: torch.Tensor) -> Any:
        return product(x)

    with pytest.raises(CompileError, match="of tensors of ints is not in the language"):
        build(with_forward(nn.Module(), forward), sample=[torch.ones(n, dtype=torch.int64) for n in (2, 3)])


class HandsOut(nn.Module):
    """Gives a tensor of the instance and one of its own as they are."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.arange(4.0))

    def forward(self, x: Annotated[Tensor, 4]) -> tuple[Tensor, Tensor]:
        return x, self.bias


def test_results_that_are_inputs_or_weights_are_copies(codegen: Any, cache: Path) -> None:
    model = HandsOut().eval()
    executable = compile(model, cache_folder=cache, options=Options(codegen=codegen))
    minibatch = [torch.ones(4), torch.zeros(4)]
    results = [tensor for result in executable(minibatch) for tensor in result]
    everything = [*results, *minibatch, model.bias]
    assert len({tensor.data_ptr() for tensor in everything}) == len(everything)
    for tensor in results:
        tensor.fill_(9.0)
    assert [x.tolist() for x in minibatch] == [[1.0] * 4, [0.0] * 4]
    (x, bias), _ = executable(minibatch)
    assert (x.tolist(), bias.tolist()) == ([1.0] * 4, [0.0, 1.0, 2.0, 3.0])
