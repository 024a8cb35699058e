"""Lists that are changed while several names refer to them, in which ints stand at first and floats later: the ints become
floats there, as they do in attributes; and empty lists beside such lists. Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

import pytest
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively

INSTANCES = [[1.5, -2.0, 3.0], [0.5], [], [-1.0, -2.0], [2.5, 3.5, -1.0, 4.0]]


class Shop:
    """The time at which each machine is free, how often it was used, and what each has done."""

    def __init__(self, machines):
        self.free = [0] * machines
        self.uses = [0] * machines
        self.done = {}

    def gap(self, machine):
        at = 0
        for _, end in self.done.get(machine, []):
            at = max(at, end)
        return at

    def work(self, machine, time):
        start = max(self.gap(machine), self.free[machine])
        line = self.done.setdefault(machine, [])
        line.append((start, start + time))
        line.sort()
        self.free[machine] = start + time
        self.uses[machine] += 1


class OneOfTwoShops(nn.Module):
    def forward(self, xs):
        shops = [Shop(2), Shop(2)]
        for i, x in enumerate(xs):
            shops[i % 2].work(shops[i % 2].uses[0] % 2, abs(x))
        return [[float(x) for x in s.free] for s in shops], [s.uses for s in shops], [s.gap(1) + 0.5 for s in shops]


class TwoNames(nn.Module):
    def forward(self, xs):
        best, uses = [0] * len(xs), [0] * len(xs)
        kept = [best]
        counts = [uses]
        for i, x in enumerate(xs):
            if x > 0:
                best[i] = x
            else:
                kept[0][i] = 2
                counts[0][i] += 1
            uses[0] += 2
        return [x + 0.5 for x in best], sum(map(len, kept)), uses, [xs[k] for k in uses if k < len(xs)]


@pytest.mark.parametrize("model", [OneOfTwoShops, TwoNames])
def test_ints_of_shared_lists_become_floats(model) -> None:
    agrees(model(), INSTANCES)


def test_ints_of_shared_lists_become_floats_in_compiled_code(codegen, tmp_path) -> None:
    agrees_natively(OneOfTwoShops(), INSTANCES, codegen, tmp_path)
