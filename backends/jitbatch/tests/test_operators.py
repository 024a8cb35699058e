"""Compares each operation, batched, with the same operation on every instance, with operands of instances and shared ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from backends.jitbatch.kinds import CannotDefer, Kinds
from backends.jitbatch.lazy import Lazy, Recording, Shared
from backends.jitbatch.model import Model

W = torch.randn(6, 4)
B = torch.randn(6)
V = torch.randn(4)
Function = Callable[..., Any]
OPERATIONS: dict[str, tuple[Function, list[tuple[int, ...]]]] = {
    "sigmoid": (torch.sigmoid, [(4,)]),
    "relu function": (F.relu, [(3, 4)]),
    "gelu": (F.gelu, [(4,)]),
    "add": (lambda a, b: a + b, [(4,), (4,)]),
    "add of other axes": (lambda a, b: a + b, [(3, 4), (4,)]),
    "add of one element": (lambda a, b: a * b, [(1,), (4,)]),
    "add shared": (lambda a, *, v: a + v, [(3, 4)]),
    "shared minus": (lambda a, *, v: v - a, [(4,)]),
    "shared with more axes": (lambda a, *, w: w * a, [(4,)]),
    "number minus": (lambda a: 1 - a, [(4,)]),
    "number over": (lambda a: 2.0 / a, [(4,)]),
    "power": (lambda a: a**2, [(4,)]),
    "comparison": (lambda a, b: a < b, [(4,), (4,)]),
    "the same twice": (lambda a: a * a, [(4,)]),
    "linear": (lambda a, *, w, b: F.linear(a, w, b), [(4,)]),
    "linear without bias, two axes": (lambda a, *, w: F.linear(a, w), [(3, 4)]),
    "linear with keyword": (lambda a, *, w, b: F.linear(a, w, bias=b), [(4,)]),
    "linear with a weight of its own": (lambda a, b: F.linear(a, b), [(4,), (3, 4)]),
    "matrix times vector": (lambda a, b: a @ b, [(3, 4), (4,)]),
    "vector times matrix": (lambda a, b: a @ b, [(3,), (3, 4)]),
    "vector times vector": (lambda a, b: a @ b, [(3,), (3,)]),
    "matrix times matrix": (lambda a, b: a @ b, [(2, 3), (3, 4)]),
    "matrices times matrix": (lambda a, b: a @ b, [(5, 2, 3), (3, 4)]),
    "vector times matrices": (lambda a, b: a @ b, [(3,), (5, 3, 4)]),
    "shared matrix times vector": (lambda a, *, w: w @ a, [(4,)]),
    "shared matrix times matrix": (lambda a, *, w: w @ a, [(4, 2)]),
    "vector times shared vector": (lambda a, *, v: a @ v, [(4,)]),
    "cat": (lambda a, b: torch.cat((a, b)), [(4,), (2,)]),
    "cat in another order": (lambda a, b: torch.cat((b, a, b), dim=-1), [(4,), (2,)]),
    "cat along the second axis": (lambda a, b: torch.cat([a, b], dim=1), [(2, 3), (2, 4)]),
    "cat with a shared one": (lambda a, *, v: torch.cat((v, a)), [(4,)]),
    "stack": (lambda a, b: torch.stack((a, b), 1), [(4,), (4,)]),
    "softmax": (lambda a: torch.softmax(a, dim=-1), [(4,)]),
    "softmax function": (lambda a: F.softmax(a, 0), [(3, 4)]),
    "argmax": (lambda a: torch.argmax(a, dim=-1), [(4,)]),
    "argmax of all": (torch.argmax, [(3, 4)]),
    "sum": (lambda a: a.sum(0), [(3, 4)]),
    "sum of all": (lambda a: a.sum(), [(3, 4)]),
    "mean, kept": (lambda a: a.mean(dim=1, keepdim=True), [(3, 4)]),
    "max": (lambda a: a.max(dim=-1).values, [(3, 4)]),
    "layer norm": (lambda a, *, v: F.layer_norm(a, (4,), v, v), [(3, 4)]),
    "view": (lambda a: a.view(2, 6), [(3, 4)]),
    "view with an open extent": (lambda a: a.view(-1, 2), [(3, 4)]),
    "view as another type": (lambda a: a.view(torch.int32), [(4,)]),
    "reshape": (lambda a: a.reshape((4, 3)), [(3, 4)]),
    "flatten": (lambda a: a.flatten(), [(3, 4)]),
    "transpose": (lambda a: a.transpose(0, -1), [(2, 3, 4)]),
    "mT": (lambda a: a.mT, [(3, 4)]),
    "T": (lambda a: a.T, [(3, 4)]),
    "permute": (lambda a: a.permute(2, 0, 1), [(2, 3, 4)]),
    "unsqueeze": (lambda a: a.unsqueeze(-1), [(4,)]),
    "squeeze": (lambda a: a.squeeze(), [(1, 4)]),
    "chunk": (lambda a: torch.cat(a.chunk(2)[::-1]), [(4,)]),
    "split": (lambda a: a.split(3, dim=1)[1], [(2, 4)]),
    "unpacked": (lambda a: (lambda x, y: x * y)(*a), [(2, 4)]),
    "element": (lambda a: a[1], [(3, 4)]),
    "slice": (lambda a: a[1:3], [(4,)]),
    "slices": (lambda a: a[..., None, 1:], [(3, 4)]),
    "zeros like": (torch.zeros_like, [(4,)]),
    "where": (lambda a, b: torch.where(a > 0, a, b), [(4,), (4,)]),
    "clamp": (lambda a: a.clamp(min=0.1), [(4,)]),
    "cumsum, by vmap": (lambda a: torch.cumsum(a, 0), [(4,)]),
    "to double, by vmap": (lambda a: a.to(torch.float64), [(4,)]),
    "shape": (lambda a: a.reshape(a.shape[0] * a.size(1)), [(3, 4)]),
}
SHARED = {"w": W, "b": B, "v": V}


def shared_names(function: Function) -> tuple[str, ...]:
    """The names of a function's keyword-only arguments, which get the shared tensors of these names."""
    code = getattr(function, "__code__", None)
    return code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount] if code is not None else ()


@pytest.mark.parametrize("name", OPERATIONS)
def test_batched_is_what_each_gives(name: str) -> None:
    function, shapes = OPERATIONS[name]
    names = shared_names(function) if function.__module__ == __name__ else ()
    parameters = {name: Shared(SHARED[name]) for name in names}
    torch.manual_seed(0)
    minibatch = [[torch.randn(shape) for shape in shapes] for _ in range(5)]

    def module(operands: list[Any]) -> Any:
        return function(*operands, **parameters)

    model = Model(module, Kinds(torch.device("cpu")), True, {})  # type: ignore[arg-type]
    for output, operands in zip(model.run(minibatch), minibatch, strict=True):
        torch.testing.assert_close(output, function(*operands, **{name: SHARED[name] for name in names}))
    assert model.counters()["unbatched"] == {}
    assert model.counters()["mean_batch_width"] >= 5


def run(function: Function, minibatch: list[Any]) -> tuple[list[Tensor], Any]:
    model = Model(function, Kinds(torch.device("cpu")), True, {})  # type: ignore[arg-type]
    return model.run(minibatch), model.counters()


def test_what_cannot_be_batched_is_computed_one_by_one_and_told() -> None:
    minibatch = [torch.randn(4) for _ in range(3)]
    outputs, counters = run(lambda a: torch.histc(a, 2, -3, 3), minibatch)
    for output, operand in zip(outputs, minibatch, strict=True):
        torch.testing.assert_close(output, torch.histc(operand, 2, -3, 3))
    assert list(counters["unbatched"]) == ["histc"]
    assert "vmap" in counters["unbatched"]["histc"]


@pytest.mark.parametrize(
    "function",
    [lambda a: a.add_(1), lambda a: F.relu(a, inplace=True), lambda a: a.__setitem__(0, 1.0), lambda a: torch.add(a, a, out=a)],
)
def test_changes_in_place_are_refused(function: Function) -> None:
    with pytest.raises(NotImplementedError, match="cannot be changed in place"):
        run(function, [torch.randn(4)])
    assert Recording.recorder is None


def test_shapes_that_depend_on_values_are_refused() -> None:
    with pytest.raises(CannotDefer, match="mask"):
        run(lambda a: a[a > 0], [torch.randn(4)])


def test_constants_of_other_types_are_other_signatures() -> None:
    outputs, counters = run(lambda a: a * (True if a.shape[0] == 2 else 1.0), [torch.ones(2), torch.ones(3)])
    assert counters["batches"] == counters["nodes"]
    assert [len(each) for each in outputs] == [2, 3]


def test_values_that_are_asked_for() -> None:
    def waits(a: Lazy) -> Any:
        b = a.sum()
        if b > 0:
            return a * float(b)
        c = int(b) + len(a) + bool(a[0] > 0)
        return a + c + b.item()

    minibatch = [torch.tensor([1.0, 2.0]), torch.tensor([-3.5, 1.0]), torch.tensor([2.0, -9.0])]
    outputs, counters = run(waits, minibatch)
    for output, operand in zip(outputs, minibatch, strict=True):
        torch.testing.assert_close(output, waits(operand))  # type: ignore[arg-type]
    assert counters["flushes"] > 2


def test_results_that_nobody_keeps_take_no_room() -> None:
    def long(a: Any) -> Any:
        for _ in range(50):
            a = torch.tanh(a)
        return a

    model = Model(long, Kinds(torch.device("cpu")), True, {})  # type: ignore[arg-type]
    model.run([torch.randn(8) for _ in range(4)])
    assert sum(len(pool) for pool in model.pools.tensors.values()) == 4
