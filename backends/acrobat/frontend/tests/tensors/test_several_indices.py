"""Tensors that are indexed with several lists or tensors of ints, or masks: these choose by pairs, as in PyTorch."""

# mypy: ignore-errors
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import CompileError, InstanceError, ModuleChanged
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.options import Options
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.cube, self.table = nn.Parameter(torch.randn(5, 6, 4)), nn.Parameter(torch.randn(6, 7))


def of_varying(self, s):
    x, i, j = s["x"], torch.tensor(s["rows"]), torch.tensor(s["columns"])
    first, second, third = x[:, i, j]
    return x[0, i, j], x[len(i) % 3, i, j], x[..., i, j], x[1:, j, i], x[i % 3, :, j], x[i % 3, 0, j], first - second * third


def of_fixed(self, s):
    c, i, j = self.cube * 2, torch.tensor(s["rows"]), torch.tensor(s["columns"])
    return (
        c[:, i, j % 4],
        c[i % 5, j % 6],
        c[i % 5, j, 0],
        c[i % 5, j, 1:3],
        c[None, i % 5, j],
        c[i % 5, j, i % 4],
        c[i, 1:, j % 4],
    )


def of_lists(self, s):
    rows, columns, x = s["rows"], s["columns"], s["x"]
    constants = (
        self.cube[:, [0, 1], [2, 3]],
        self.cube[[0, 1], :, [2, 3]],
        self.cube[1, [0, 1], [2, 3]],
        self.cube[[0], [1, 2, 5]],
    )
    return x[0][rows, columns], x[:, rows, columns], self.table[rows, columns], self.table[rows, [0]], constants


def of_computed(self, s):
    x = s["x"]
    best = x.argmax(2)
    return x[0, torch.arange(x.size(1)), best[0]], self.cube[torch.arange(5), :, self.cube.argmax(2)[:, 0]]


def of_masks(self, s):
    x, v, i = s["x"], s["v"], torch.tensor(s["rows"])
    m = x > 0
    return x[0][v > 0, i[v > 0]].sum(), m[:, i, i].float(), self.table[:3][self.table[:3, 0] > -9, [0, 1, 2]]


def of_tuples(self, s):
    """A tuple under a name is several indices, too, and a list under a name is one."""
    x, pair, fixed, both = s["x"], (torch.tensor(s["rows"]), torch.tensor(s["columns"])), (0, 1), [0, 1]
    return x[0][pair], self.table[fixed], self.table[both], self.table[tuple(both)], x[0][s["rows"][0], s["columns"][0]]


def of_what_may_be_none(self, s):
    rows = [None if i > 8 else i for i in s["rows"]]
    return s["x"][0][rows].sum(0), s["x"][0, 0, rows], s["x"][:, rows, s["columns"]]


def assigned(self, s):
    x, i, j, v = s["x"], torch.tensor(s["rows"]), torch.tensor(s["columns"]), s["v"]
    a, b, c, d, e = torch.zeros(5, 6, 4), self.cube * 1, torch.zeros(3, 6, 6), torch.zeros(6, 6), x * 1
    a[:, i, j % 4] = v
    b[1:3, i, j % 4] = torch.stack([v, v * 2])
    b[0, i, j % 4] += 1.0
    c[:, i, j] += x[:, i, j]
    d[: len(v), : len(v)][v > -9, j] = 1.0
    e[:, i, j] = 0.0
    return a, b, c, d, e


def assigned_by_masks(self, s):
    v, i = s["v"], torch.tensor(s["rows"])
    a, b = torch.zeros(len(v), 6), torch.zeros(6, len(v))
    a[v > -9, i] = v
    b[i, v > -9] = 2.0
    return a, b


READ = [of_varying, of_fixed, of_lists, of_computed, of_masks, of_tuples, of_what_may_be_none, assigned_by_masks]


def instance(n: int, m: int) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(10 * n + m)
    rows, columns = (torch.randint(0, min(n, m), (n,), generator=generator).tolist() for _ in range(2))
    return {
        "x": torch.randn(3, n, m, generator=generator),
        "rows": rows,
        "columns": columns,
        "v": torch.randn(n, generator=generator),
    }


INSTANCES = [instance(3, 4), instance(2, 5), instance(4, 2), instance(1, 1), instance(5, 3)]


@pytest.mark.parametrize("forward", READ, ids=[f.__name__ for f in READ])
def test_as_python(forward: Any) -> None:
    agrees(with_forward(Model(), forward), INSTANCES)


@pytest.mark.parametrize("codegen", ["aot", "vm"])
@pytest.mark.parametrize("forward", [of_varying, of_lists], ids=["tensors", "lists"])
def test_natively(forward: Any, codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(Model(), forward), INSTANCES, codegen, tmp_path)


def uneven(self, s):
    return s["x"][:, s["rows"], s["columns"]]


def none_among(self, s):
    return s["x"][0][[None if i == 9 else 0 for i in s["rows"]]].sum()


@pytest.mark.parametrize("forward", [uneven, none_among], ids=["lengths", "None"])
def test_indices_that_do_not_fit_are_an_error_of_the_instance(forward: Any) -> None:
    program = agrees(with_forward(Model(), forward), INSTANCES)
    with pytest.raises(InstanceError):
        Interpreter(program).run({**instance(2, 2), "rows": [0, 1, 9]})


def with_others_between(self, s):
    a = self.cube * 1
    a[torch.tensor(s["rows"]), :, torch.tensor(s["columns"])] = 0.0
    return a


def with_an_int_between(self, s):
    a = self.cube * 1
    a[torch.tensor(s["rows"]), 0, torch.tensor(s["columns"])] = 0.0
    return a


def of_two_lengths(self, s):
    return self.cube[[0, 1], [1, 2, 3]]


def a_tuple_inside(self, s):
    return self.cube[:, (0, 1)]


class Buffers(nn.Module):
    """Buffers of ints and bools that are indices, of one element too, which keep their dimension."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.cube, self.table = nn.Parameter(torch.randn(5, 6, 4)), nn.Embedding(6, 3)
        self.register_buffer("rows", torch.tensor([0, 2, 1, 3]))
        self.register_buffer("columns", torch.tensor([1, 1, 0, 3]))
        self.register_buffer("keep", torch.tensor([True, False, True, False, True]))
        self.register_buffer("one", torch.tensor([2]))
        self.register_buffer("number", torch.tensor(2))
        self.register_buffer("square", torch.tensor([[2]]))

    def forward(self, s):
        x, c, i = s["x"], self.cube * 2, s["rows"]
        changed = c * 1
        changed[:, self.rows, self.columns] = 0.0
        changed[self.keep, 5] = 1.0
        changed[self.one] += 1.0
        chosen = c[:, self.rows], c[:, self.rows, self.columns], c[self.keep], c[self.keep, :, 0], c[self.keep, [0, 1, 2]]
        single = c[self.one], c[self.number], c[:, self.one, self.one], self.table(self.one), self.table(self.number)
        return chosen, single, changed, c[i[0], self.rows[1:], self.columns[:3]], x[self.rows[:3]].sum(1), self.table(self.rows)


def test_buffers() -> None:
    agrees(Buffers(), INSTANCES)


def test_a_buffer_that_is_an_index_is_a_constant(tmp_path: Path) -> None:
    model = Buffers().eval()
    executable = compile(model, sample=INSTANCES, options=Options(codegen="vm"), cache_folder=tmp_path)
    executable(INSTANCES)
    model.columns[0] = 2
    with pytest.raises(ModuleChanged, match="columns"):
        executable(INSTANCES)


def of_a_square(self, s):
    return self.cube[self.square]


def embedded_square(self, s):
    return self.table(self.square)


def with_arithmetic(self, s):
    return self.cube[self.rows % 2]


@pytest.mark.parametrize("forward", [of_a_square, embedded_square, with_arithmetic])
def test_buffers_as_tensors_of_ints(forward: Any) -> None:
    agrees(with_forward(Buffers(), forward), INSTANCES)


REFUSED = {
    with_others_between: "beside each other",
    with_an_int_between: "beside each other",
    of_two_lengths: "indices of 2 and 3 ints|indices of 3 and 2 ints",
    a_tuple_inside: "not a tuple of 2",
}


@pytest.mark.parametrize("forward", REFUSED, ids=[f.__name__ for f in REFUSED])
def test_refused(forward: Any) -> None:
    with pytest.raises(CompileError, match=REFUSED[forward]):
        build(with_forward(Model(), forward), sample=INSTANCES)
