# mypy: ignore-errors
"""Arguments by `**options` of an instance, where the options are a dictionary with one of several sets of names, or None."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, with_forward


@dataclass
class Request:
    number: int
    options: dict | None = None


ONE_SET = [Request(1), Request(2, {"times": 3}), Request(3)]
SEVERAL_SETS = [Request(1), Request(2, {"times": 3}), Request(3, {"name": "x"}), Request(4, {"times": 2, "name": "yy"})]
SEVERAL_SETS += [Request(5, {})]

OF_INTS = [Request(1), Request(2, {"times": 3}), Request(3, {"shift": 2}), Request(4, {"times": 2, "shift": 7}), Request(5, {})]
OF_NUMBERS = [Request(1), Request(2, {"times": 3}), Request(3, {"shift": 2.5})]


def scaled(number, times=1, name="abc"):
    return torch.ones(2) * number * times + len(name)


def of_any(number, times=1, **options):
    return torch.ones(2) * number * times, len(options), options.get("name", "none"), "name" in options


def or_nothing(self, request):
    return scaled(request.number, **(request.options or {}))


def unless_none(self, request):
    return scaled(request.number, **({} if request.options is None else request.options))


def with_other_options(self, request):
    return of_any(request.number, **(request.options or {}))


def where_there_are_some(self, request):
    options = request.options
    return scaled(request.number, **options) if options is not None else torch.zeros(2)


@pytest.mark.parametrize("sample", [ONE_SET, SEVERAL_SETS], ids=["one set", "several sets"])
@pytest.mark.parametrize("forward", [or_nothing, unless_none, with_other_options, where_there_are_some])
def test_as_in_eager_pytorch(forward, sample):
    agrees(with_forward(nn.Module(), forward), sample)


def shifted(number, times=1, shift=0):
    assert isinstance(times, int)
    return torch.ones(2) * number * times + shift


def words_beside(self, request):
    counts = {}
    for word in ["a", "b", "a"][: request.number]:
        counts[word] = counts.get(word, 0) + 1
    return shifted(request.number, **(request.options or {})), sorted(counts.items())


@pytest.mark.parametrize("sample", [OF_INTS, OF_NUMBERS], ids=["ints", "numbers"])
def test_values_of_one_kind(sample):
    agrees(with_forward(nn.Module(), words_beside), sample)


def test_a_module_that_is_chosen_takes_them():
    class Scale(nn.Module):
        def forward(self, x, times=1, **options):
            return x * times

    class Shift(nn.Module):
        def forward(self, x, name="", **options):
            return x + len(name)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads = nn.ModuleDict({"odd": Scale(), "even": Shift()})

        def forward(self, request):
            kind = "odd" if request.number % 2 else "even"
            return self.heads[kind](torch.ones(2), **(request.options or {}))

    agrees(Model(), SEVERAL_SETS)


def taking_no_name(number, times=1):
    return number * times


def test_a_name_that_the_function_does_not_take_is_an_error_of_the_instance():
    model = with_forward(nn.Module(), lambda self, request: taking_no_name(request.number, **(request.options or {})))
    interpreter = Interpreter(build(model, sample=SEVERAL_SETS))
    assert interpreter.run(SEVERAL_SETS[1]) == 6
    with pytest.raises(InstanceError, match="TypeError: `taking_no_name` has no argument `name`"):
        interpreter.run(SEVERAL_SETS[2])


def test_none_is_an_error_of_the_instance():
    interpreter = Interpreter(build(with_forward(nn.Module(), lambda self, x: scaled(x.number, **x.options)), sample=ONE_SET))
    with pytest.raises(InstanceError, match="must be a mapping"):
        interpreter.run(ONE_SET[0])


def beside_a_change(self, request):
    numbers = [request.number]
    return scaled(numbers.pop(), **(request.options or {}))


def test_beside_a_change_it_is_refused():
    with pytest.raises(CompileError, match="and another argument changes something"):
        build(with_forward(nn.Module(), beside_a_change), sample=SEVERAL_SETS)
