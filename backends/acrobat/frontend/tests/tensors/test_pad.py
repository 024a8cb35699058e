"""`F.pad` by amounts that are known at run time only, and the extrema of constant lists that it is often given."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

GIVEN = [torch.randn(n, 4) for n in (3, 1, 5, 2)]


class Widths(nn.Module):
    def __init__(self):
        super().__init__()
        self.widths = (2, 4)
        self.names = ["b", "a", "c"]
        self.convs = nn.ModuleList(nn.Conv1d(4, 3, w) for w in self.widths)

    def forward(self, x):
        if len(x) < max(self.widths):
            x = F.pad(x, (0, 0, 0, max(self.widths) - len(x)))
        pooled = [conv(x.t()[None]).amax(2) for conv in self.convs]
        return torch.cat(pooled, 1), min(self.names), x


def to_a_length(self, x):
    """Rows are added or removed, at the end and at the beginning."""
    k = 3 - len(x)
    return F.pad(x, (0, 0, 0, k)), F.pad(x, [0, 0, k, 1], value=2.0), F.pad(x, (1, -2, k, 0)), F.pad(x.t(), (0, k))


def of_fixed_extents(self, x):
    y = x[0]
    return F.pad(y, (len(x), 0)), F.pad(y[:, None], (0, 0, len(x) - 2, 1), "constant", 3.0), F.pad(y, (0, -len(x[:3])))


def two_extents(self, x):
    scores = x @ x.t()
    return F.pad(scores, (0, 6 - len(x), 0, 6 - len(x))), F.pad(x[1:], (0, 0, 2, 1)), F.pad(x, (0, 0, 1, -1))


def of_ints(self, x):
    ids = torch.arange(len(x))
    best = x.argmax(1)
    return F.pad(ids, (0, 6 - len(x)), value=9), F.pad(ids[None], (1, 0)), F.pad(best, (1, len(x))), F.pad(ids, (0, -1))


@pytest.mark.parametrize("forward", [to_a_length, of_fixed_extents, two_extents, of_ints])
def test_as_in_eager_pytorch(forward):
    agrees(with_forward(nn.Module(), forward), GIVEN)


def extrema(self, x):
    sizes, pairs = (len(x), 2), [(1, 2), (1, 3)]
    return (
        max(sizes),
        min((3, len(x))),
        max(("b", "ab")),
        max((1, 2.5, True)),
        max(pairs),
        min((len(x),)),
        max({2, 5}),
    )


def test_extrema_of_constants_and_tuples():
    agrees(with_forward(nn.Module(), extrema), GIVEN)


def test_models_pad_natively(tmp_path):
    agrees(Widths(), GIVEN)
    agrees_natively(Widths(), GIVEN, "vm", tmp_path)


def crops(self, x):
    return F.pad(x, (0, 0, -1, -1))


def test_more_than_there_is_is_not_removed():
    interpreter = Interpreter(build(with_forward(nn.Module(), crops), sample=GIVEN[::2]))
    with pytest.raises(InstanceError, match="a tensor of 1 parts is padded by -1 and -1"):
        interpreter.run(GIVEN[1])


def by_floats(self, x):
    return F.pad(x, (0, 0, 0, len(x) / 2))


def of_types(self, x):
    return max((1, "a"))


@pytest.mark.parametrize(
    ("forward", "message"), [(by_floats, "`pad` takes ints, not a float"), (of_types, "'>' not supported between")]
)
def test_refused(forward, message):
    with pytest.raises(CompileError, match=message):
        build(with_forward(nn.Module(), forward), sample=GIVEN)
