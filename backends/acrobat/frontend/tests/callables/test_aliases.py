"""Names for methods, which change the object that they belong to: `push = stack.append`."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat.frontend.evaluator.rewriting.aliases import by_method
from backends.acrobat.frontend.source import source_of
from backends.acrobat.tests.zoo.check import agrees, with_forward


class Pile:
    def __init__(self) -> None:
        self.items: list[Tensor] = []

    def push(me, x: Tensor) -> None:  # any name may stand for the object
        me.items.append(x)

    def __len__(self) -> int:
        return len(self.items)


def of_a_list(model: Model, xs: list[Tensor]) -> Tensor:
    found: list[Tensor] = []
    note = found.append
    for x in xs:
        note(model.lin(x))
    return torch.stack(found).sum(0)


def of_an_object(model: Model, xs: list[Tensor]) -> Tensor:
    pile = Pile()
    push = pile.push
    for x in xs:
        push(model.lin(x))
    return pile.items[-1] * len(pile)


def by_the_class(model: Model, xs: list[Tensor]) -> Tensor:
    pile = Pile()
    for x in xs:
        Pile.push(pile, x)
    return pile.items[0] * len(pile)


def of_a_module(model: Model, xs: list[Tensor]) -> Tensor:
    step = model.lin
    h = xs[0]
    for x in xs:
        h = torch.tanh(step(h) + x)
    return h


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)


@pytest.mark.parametrize("function", [of_a_list, of_an_object, by_the_class, of_a_module], ids=lambda f: f.__name__)
def test_as_in_eager_pytorch(function: Any) -> None:
    torch.manual_seed(0)
    agrees(with_forward(Model(), function), [[torch.randn(4) for _ in range(n)] for n in (1, 2, 5)])


def another_list(xs: list[int]) -> list[int]:
    found: list[int] = []
    note = found.append
    found = [1]
    note(2)
    return found


def another_method(xs: list[int]) -> list[int]:
    found: list[int] = []
    note = found.append
    if xs:
        note = xs.append
    note(2)
    return found


def given_away(xs: list[int]) -> list[Any]:
    note = xs.append
    return [note, note(1)]


def a_parameter(xs: list[int], note: Any = None) -> list[int]:
    if xs:
        note = xs.append
    note(2)
    return xs


def a_function_instead(xs: list[int]) -> list[int]:
    note = xs.append
    if xs:

        def note(x: int) -> None:
            xs.insert(0, x)

    note(2)
    return xs


def on_some_paths_only(xs: list[int]) -> list[int]:
    if xs:
        note = xs.append
    note(2)
    return xs


def of_an_object_with_another_list(holder: Any) -> None:
    note = holder.items.append
    holder.reset()
    note(2)


STAY = [
    another_list,
    another_method,
    given_away,
    a_parameter,
    a_function_instead,
    on_some_paths_only,
    of_an_object_with_another_list,
]


@pytest.mark.parametrize("function", STAY, ids=lambda f: f.__name__)
def test_names_that_stay(function: Any) -> None:
    """A call by such a name may change another object than its method would now, so the name is not replaced."""
    definition = source_of(function)[0]
    assert by_method(definition) == definition.body
