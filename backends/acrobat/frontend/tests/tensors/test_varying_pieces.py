"""`split`, `chunk` and `unbind` along an extent that varies give lists of tensors."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, as_tensors, assert_same, with_forward


def one_by_one(self, x):
    pairs = [tuple(e.chunk(2, 1)) for e in reversed(torch.split(x, 1, 0))]
    again = x.chunk(x.size(0))
    last = pairs.pop()[0]
    return pairs, torch.cat(again, 0), [e * 2 for e in torch.split(x.t(), 1, dim=1)], len(again), last


def by_size(self, x):
    k = x.size(0) // 2 + 1
    return [e.sum(0) for e in x.split(2)], list(x.split(k)), [e.size(1) for e in x.t().split(3, dim=-1)]


def by_count(self, x):
    return [e.sum(0) for e in x.chunk(3)], list(torch.chunk(x.t(), 2, dim=1)), [e.mean() for e in x.unbind(0)]


def by_sizes(self, x):
    n = x.size(0)
    first, rest = x.split([1, n - 1])
    sizes = [i % 2 for i in range(n)]
    sizes.append(n - sum(sizes))
    return first, rest, list(torch.split(x, sizes)), list(x.split((0, n), 0))


def of_ints(self, x):
    ids = torch.arange(x.size(0))
    return [e.sum().item() for e in ids.split(1)], [e + 1 for e in ids.split(2)], list(ids.chunk(2))


def in_sections(self, x):
    n, ids = x.size(0), torch.arange(x.size(0))
    first, second = x.tensor_split(2)
    three = torch.tensor_split(x, (1, n - 1))
    return first, second, three, list(x.tensor_split(n)), x.tensor_split([-1, 9]), [e + 1 for e in ids.tensor_split(n + 1)]


def at_places_of_run_time(self, x):
    places = torch.arange(x.size(0)) // 2
    return [e.sum(0) for e in x.tensor_split(places)], [e.sum(0) for e in torch.ones(5).tensor_split([x.size(0), 2])]


def of_fixed_extents(self, x):
    n, square = x.size(0), torch.eye(4) + x[0]
    columns = [e.sum() for e in x.split(n, dim=1)], [e.sum() for e in x.chunk(n, -1)], [e.sum() for e in x.tensor_split(n, 1)]
    rows = list(square.split(n)), list(square.chunk(n, dim=1)), list(square.tensor_split(n))
    return columns, rows, square.split([n - 1, 5 - n])


FORWARDS = [one_by_one, by_size, by_count, by_sizes, of_ints, in_sections, at_places_of_run_time, of_fixed_extents]


@pytest.mark.parametrize("forward", FORWARDS)
def test_as_in_eager_pytorch(forward):
    given = [torch.randn(n, 4) for n in (3, 1, 5, 2)]
    module = with_forward(nn.Module(), forward)
    agrees(module, given)


def empty_pieces(self, x):
    y = x[1:]
    sums = [e.sum(0) for e in y.split(2)], [e.sum(0) for e in y.chunk(3)], [e.sum(0) for e in y.tensor_split(len(x))]
    return sums, len(y.split(1)) if len(y) > 0 else 0


def test_generated_code_and_tensors_without_parts():
    given = [torch.randn(n, 4) for n in (3, 1, 5, 2)]
    module = with_forward(nn.Module(), empty_pieces)
    for got, x in zip(compile(module, sample=given)(given), given, strict=True):
        assert_same(as_tensors(got), module(x), "generated code")


def split_of_none(self, x):
    return len(x[1:].split(1))


def too_few(self, x):
    first, second = x.split([1, 2])
    return first, second


def no_size(self, x):
    return len(x.split(x.size(0) - 1))


def no_sections(self, x):
    return len(x.tensor_split(x.size(0) - 1))


@pytest.mark.parametrize(
    ("forward", "message"),
    [
        (split_of_none, "an empty tensor"),
        (too_few, "a tensor of 1 parts is split in 3"),
        (no_size, "split in parts of 0"),
        (no_sections, "split in 0 sections"),
    ],
)
def test_errors_of_the_instance(forward, message):
    interpreter = Interpreter(build(with_forward(nn.Module(), forward), sample=[torch.ones(n, 4) for n in (3, 2)]))
    with pytest.raises(InstanceError, match=message):
        interpreter.run(torch.ones(1, 4))


def by_a_float(self, x):
    return len(x.split(1.5))


def test_refused():
    with pytest.raises(CompileError, match="takes an int or a list of ints"):
        build(with_forward(nn.Module(), by_a_float), sample=[torch.ones(n, 4) for n in (3, 2)])


def in_constant_pieces(self, x):
    a, b = x.split([1, 3], 1)
    c, d = x.split((2, 2), -1)
    e, g = x.tensor_split([3], 1)
    return a, b, c, d, e, g, torch.split_with_sizes(x, [3, 1], dim=1)


def test_constant_sizes_need_no_rows():
    """Pieces of constant sizes are slices: the program has no function that goes over rows, as for sizes of run time."""
    program = agrees(with_forward(nn.Module(), in_constant_pieces), [torch.randn(2, 4), torch.ones(2, 4)])
    assert list(program.functions) == ["forward"]
    agrees(with_forward(nn.Module(), in_constant_pieces), [torch.randn(n, 4) for n in (1, 3, 2)])
