"""Every feature of the language: the program in the interpreter, compared with the model in eager PyTorch."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch

from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests import features
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.verifier import verify


def same(got: Any, want: Any) -> None:
    """Structures and host values are equal, tensors are close."""
    if isinstance(want, torch.Tensor):
        assert got.shape == tuple(want.shape)
        assert (got.dtype.kind == "i") == (not want.dtype.is_floating_point)
        np.testing.assert_allclose(got, want.detach().numpy(), rtol=1e-9, atol=1e-9)
    elif isinstance(want, (list, tuple)):
        assert type(got) is type(want)
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            same(g, w)
    elif hasattr(want, "__dataclass_fields__"):
        assert type(got) is type(want)
        for name in want.__dataclass_fields__:
            same(getattr(got, name), getattr(want, name))
    elif isinstance(want, float) or isinstance(got, float):
        assert not isinstance(got, bool)
        assert got == pytest.approx(want)
    else:
        assert type(got) is type(want)
        assert got == want


@pytest.fixture(autouse=True)
def _doubles() -> Any:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.mark.parametrize("model", features.MODELS, ids=lambda m: m.__name__)
def test_gives_what_eager_pytorch_gives(model: type[features.Base]) -> None:
    torch.manual_seed(1)
    module = model().eval()
    program = build(copy.deepcopy(module).float())
    verify(program)
    interpreter = Interpreter(program, {name: value for name, value in exact(module).items() if name in program.weights})
    for instance in model.instances:
        with torch.no_grad():
            same(interpreter.run(instance), module(instance))


def exact(module: torch.nn.Module) -> dict[str, Any]:
    """The parameters and buffers as they are: the program's own values are rounded to float32."""
    tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    return {name: t.detach().numpy() for name, t in tensors.items()}
