"""The compiled code is what a call runs: with functions set on instances, wrappers, hooks, files changed after import."""

# mypy: disable-error-code="method-assign,assignment"
from __future__ import annotations

import functools
import types
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.modules import module as hooks

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.ir.interpreter import interpret

X = torch.tensor([1.0, -2.0, 0.5, 3.0])
Row = Annotated[Tensor, 4]


class Inner(nn.Module):
    def helped(self, x: Tensor) -> Tensor:
        return x + 1.0

    def forward(self, x: Tensor) -> Tensor:
        return self.helped(x)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Row) -> Tensor:
        return self.inner(x) * 10.0 + self.linear(x)


def bound(self: Any, x: Row) -> Tensor:
    return torch.tanh(x) * 3.0


def free(x: Row) -> Tensor:
    return x * 7.0


def on_inner(m: Model) -> None:
    m.inner.forward = types.MethodType(bound, m.inner)


def free_on_inner(m: Model) -> None:
    m.inner.forward = free


def on_linear(m: Model) -> None:
    m.linear.forward = types.MethodType(bound, m.linear)


def on_model(m: Model) -> None:
    m.forward = types.MethodType(bound, m)


def free_on_model(m: Model) -> None:
    m.forward = free


def on_helped(m: Model) -> None:
    m.inner.helped = types.MethodType(bound, m.inner)


def closure(m: Model) -> None:
    factor = 5.0

    def scaled(x: Row) -> Tensor:
        return x * factor

    m.inner.forward = scaled


def a_lambda(m: Model) -> None:
    m.inner.forward = lambda x: x * 9.0


def same_again(m: Model) -> None:
    m.inner.forward = m.inner.forward
    m.linear.forward = m.linear.forward


@pytest.mark.parametrize(
    "patch",
    [on_inner, free_on_inner, on_linear, on_model, free_on_model, on_helped, closure, a_lambda, same_again],
    ids=lambda p: p.__name__,
)
def test_functions_set_on_instances(patch: Callable[[Model], None]) -> None:
    torch.manual_seed(0)
    model = Model()
    before = model(X)
    patch(model)
    want = model(X).detach()
    assert torch.equal(before, want) == (patch is same_again)
    torch.testing.assert_close(torch.from_numpy(interpret(build(model), X)).float(), want)


def test_a_patched_class(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model()
    monkeypatch.setattr(nn.Linear, "forward", bound)
    torch.testing.assert_close(torch.from_numpy(interpret(build(model), X)).float(), model(X).detach())


def keeping(old: Any) -> Any:
    @functools.wraps(old)
    def wrapper(x: Row) -> Tensor:
        return old(x) * 2.0

    return wrapper


WRAPPED: dict[str, Callable[[Model], Any]] = {
    "method": lambda m: setattr(m.inner, "forward", keeping(m.inner.forward)),
    "model": lambda m: setattr(m, "forward", keeping(m.forward)),
    "torch": lambda m: setattr(m.linear, "forward", keeping(m.linear.forward)),
}


@pytest.mark.parametrize("what", WRAPPED)
def test_wrapped_functions(what: str) -> None:
    model = Model()
    before = model(X)
    WRAPPED[what](model)
    want = model(X).detach()
    assert not torch.equal(before, want)
    torch.testing.assert_close(torch.from_numpy(interpret(build(model), X)).float(), want)


class Callable_:
    def __call__(self, x: Tensor) -> Tensor:
        return x


REFUSED: dict[str, tuple[Callable[[Model], Any], str]] = {
    "partial": (lambda m: setattr(m.inner, "forward", functools.partial(bound, None)), "`forward` of this Inner is a partial"),
    "object": (lambda m: setattr(m.inner, "forward", Callable_()), "`forward` of this Inner is a Callable_"),
    "partial model": (lambda m: setattr(m, "forward", functools.partial(bound, None)), "`forward` of this Model is a partial"),
    "another's": (
        lambda m: setattr(m.inner, "forward", m.linear.forward),
        "`forward` of this Inner is another object's method",
    ),
    "call": (lambda m: setattr(m.inner, "_call_impl", lambda x: x), "this Inner has forward hooks"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_compiled_is_refused(case: str) -> None:
    model = Model()
    patch, message = REFUSED[case]
    patch(model)
    model(X)
    with pytest.raises(CompileError) as error:
        build(model)
    assert message in str(error.value)


@pytest.mark.parametrize("register", ["register_module_forward_hook", "register_module_forward_pre_hook"])
def test_hooks_for_all_modules(register: str) -> None:
    handle = getattr(hooks, register)(lambda module, *args: None)
    try:
        with pytest.raises(CompileError, match="hooks for all modules are registered"):
            build(Model())
    finally:
        handle.remove()
    build(Model())


SOURCE = """from __future__ import annotations
from typing import Annotated
import torch
from torch import Tensor, nn
class M(nn.Module):
    def twice(self, x: Tensor) -> Tensor:
        return x * 2.0

    @torch.no_grad()
    def forward(self, x: Annotated[Tensor, 4]) -> Tensor:
        return self.twice(x)
"""


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("x * 2.0", "x * 3.0", "M.twice"),  # one constant, in a function that forward calls
        ("self.twice(x)", "self.twice(x) + x", "M.forward"),
        ("import torch\n", "import torch\n\n\n", "M.forward"),  # other lines
        ("    def twice", "    def thrice", "M.twice"),
        (SOURCE, "x = 1\n", "M.forward"),
    ],
)
def test_a_file_changed_after_its_import(tmp_path: Path, old: str, new: str, named: str) -> None:
    model = load(tmp_path, SOURCE).M()
    (tmp_path / "someones_model.py").write_text(SOURCE.replace(old, new))
    with pytest.raises(CompileError) as error:
        build(model)
    assert f"`{named}` in memory is not the one in this file, which was changed after it was imported" in str(error.value)


def test_a_file_changed_where_it_does_not_matter(tmp_path: Path) -> None:
    model = load(tmp_path, SOURCE).M()
    (tmp_path / "someones_model.py").write_text(SOURCE + "\nextra = 1\n")
    torch.testing.assert_close(torch.from_numpy(interpret(build(model), X)).float(), X * 2)


class Asserting(nn.Module):
    """pytest rewrites this `assert` when the file is imported."""

    def forward(self, x: Row) -> Tensor:
        assert x.shape == (4,), "a row"
        return x + 2.0


def test_asserts_that_pytest_has_rewritten() -> None:
    torch.testing.assert_close(torch.from_numpy(interpret(build(Asserting()), X)).float(), X + 2.0)
