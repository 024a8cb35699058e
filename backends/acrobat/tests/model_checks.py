"""Runs a random model in eager PyTorch in float64: gives results, or the error that the model raises for an instance."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import torch

from backends.acrobat.tests.python_source import load_source
from backends.acrobat.tests.random_models import SHOWN, Written

INSTANCES = 6
RAISED = (AssertionError, KeyError, ValueError)


@dataclass(frozen=True, slots=True)
class Raised:
    """The right answer is this error, which the model raises for an instance."""

    text: str
    """A text that the error of the compiled model must contain."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model with its instances; `shown` has further ones, which the front end reads types off."""

    module: torch.nn.Module
    instances: Sequence[Any]
    shown: Sequence[Any]


def load(written: Written, seed: int, folder: Path, name: str) -> Loaded:
    """The model of a text with weights and instances that depend only on the text and on `seed`."""
    source = load_source(written.text, folder, name)
    rng = Random(seed)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = source.Model().eval()
    instances = [source.instance(rng) for _ in range(INSTANCES)]
    return Loaded(model, instances, [*instances, *(source.instance(rng) for _ in range(SHOWN))])


def eager(loaded: Loaded) -> list[Any]:
    """For each instance the result or `Raised`. Raises errors that PyTorch raises and not the model."""
    model = copy.deepcopy(loaded.module).double()
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            return [_result(model, doubled(instance, {})) for instance in loaded.instances]
    finally:
        torch.set_default_dtype(before)


def _result(model: torch.nn.Module, instance: Any) -> Any:
    try:
        return arrays(model(instance))
    except RAISED as error:
        if not raised_by_the_text(error):
            raise
        return Raised(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)


def raised_by_the_text(error: BaseException) -> bool:
    """Whether a statement of the model raised the error, and not a library that it called."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return last is not None and "Model" in last.tb_frame.f_globals


def doubled(value: Any, known: dict[int, tuple[Any, Any]]) -> Any:
    """A copy of an instance with tensors in float64. Objects that occur several times are copied once (`known`)."""
    if id(value) in known:
        return known[id(value)][0]
    new: Any = value
    match value:
        case torch.Tensor():
            new = value.double() if value.is_floating_point() else value
        case list() | tuple():
            new = type(value)(doubled(v, known) for v in value)
        case dict():
            new = {k: doubled(v, known) for k, v in value.items()}
        case _ if hasattr(value, "__dict__") and not isinstance(value, (type, ModuleType)):
            new = copy.copy(value)
            vars(new).update({k: doubled(v, known) for k, v in vars(value).items()})
    known[id(value)] = (new, value)  # keeps `value` alive, so that no other object gets its id
    return new


def arrays(value: Any) -> Any:
    """A copy of a result with numpy arrays in place of tensors."""
    match value:
        case torch.Tensor():
            return value.detach().numpy().copy()
        case list() | tuple():
            return type(value)(map(arrays, value))
        case dict():
            return {k: arrays(v) for k, v in value.items()}
    return value
