"""Python looks for garbage rarely while a model compiles, and as often as before afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Annotated

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat import compile
from backends.acrobat.garbage import RARE_COLLECTIONS, RARELY
from backends.acrobat.ir.nodes import Program

ORDINARY = (701, 11, 12)


class Small(nn.Module):
    def forward(self, x: Annotated[Tensor, 3]) -> Tensor:
        return torch.tanh(x)


class Stopped(Exception):
    pass


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*ORDINARY)
    yield
    gc.set_threshold(*before)


def test_compiling_changes_the_thresholds_and_puts_them_back() -> None:
    seen = []

    def stop(name: str, program: Program) -> None:
        seen.append(gc.get_threshold())
        raise Stopped

    with pytest.raises(Stopped):
        compile(Small(), observe=stop)
    assert seen == [RARELY]
    assert gc.get_threshold() == ORDINARY


def test_the_last_of_several_puts_them_back() -> None:
    with RARE_COLLECTIONS:
        with RARE_COLLECTIONS:
            pass
        assert gc.get_threshold() == RARELY
    assert gc.get_threshold() == ORDINARY


def test_thresholds_that_somebody_else_has_set_meanwhile_stay() -> None:
    with RARE_COLLECTIONS:
        gc.set_threshold(5)
    assert gc.get_threshold()[0] == 5
