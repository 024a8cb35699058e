"""Compiles one model of the zoo unchanged and compares it with eager PyTorch: its program in the interpreter, or natively."""

from __future__ import annotations

import copy
import math
import re
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import date, timedelta
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.nodes import Program
from backends.acrobat.ir.verifier import verify
from backends.acrobat.options import Options
from backends.acrobat.tests.zoo.case import Case

BATCHES = (1, 3, 8)
TOLERANCE = 1e-4


SAMPLE = 12
"""The number of instances that types are read off."""


def check_program(case: Case) -> Program:
    """The program of `case`, whose results in the interpreter are those of eager PyTorch.

    Raises CompileError where the compiler refuses the model, AssertionError where a result differs."""
    return agrees(case.module(), case.instances(SAMPLE, seed=99), case.instances(8, seed=1))


def agrees(model: nn.Module, sample: Sequence[Any], instances: Sequence[Any] | None = None, spread: bool = False) -> Program:
    """The program of a model, whose results in the interpreter are those of eager PyTorch, for `instances` or else the sample.
    With `spread`, an instance that is a tuple has the arguments of `forward`.

    Raises CompileError where the compiler refuses the model, AssertionError where a result differs, or there is none."""
    model.eval()
    program = build(model, sample=sample)
    verify(program)
    interpreter = Interpreter(program)
    compared = sample if instances is None else instances
    assert compared, "no instance to compare"
    with torch.no_grad():
        for number, instance in enumerate(compared):
            mine, theirs = copy.deepcopy(instance), copy.deepcopy(instance)  # a model may change its instance
            expected = model(*theirs) if spread and isinstance(theirs, tuple) else model(theirs)
            assert_same(as_tensors(interpreter.run(mine)), expected, f"instance {number}")
    return program


def agrees_unless_refused(model: nn.Module, sample: Sequence[Any], message: str) -> None:
    """Compare as `agrees` does, where the compiler takes the model. It may refuse it with a message that matches a pattern."""
    try:
        build(model.eval(), sample=sample)
    except CompileError as error:
        assert re.search(message, str(error)), str(error)
        return
    agrees(model, sample)


def with_forward(model: nn.Module, function: Callable[..., Any]) -> nn.Module:
    """The model, in evaluation, with a function of `self` and an instance as its `forward`."""
    model.forward = types.MethodType(function, model)
    return model.eval()


def agrees_natively(model: nn.Module, instances: Sequence[Any], codegen: str, cache_folder: Path) -> None:
    """Compile a model with one of the generators of host code, `aot` or `vm`, and compare one mini-batch of all the instances,
    which are its sample too, with eager PyTorch.

    Raises CompileError where the compiler refuses the model, AssertionError where a result differs, or there is none."""
    assert instances, "no instance to compare"
    options = Options(codegen=codegen)  # type: ignore[arg-type]
    executable = compile(model, sample=instances, options=options, checked=True, cache_folder=cache_folder)
    with torch.no_grad():
        for number, (mine, instance) in enumerate(zip(executable(instances), instances, strict=True)):
            assert_same(mine, model(instance), f"instance {number}")


def as_tensors(value: Any) -> Any:
    """A result of the interpreter with tensors in place of its arrays."""
    match value:
        case np.ndarray():
            return torch.from_numpy(np.array(value))
        case list():
            return [as_tensors(v) for v in value]
        case tuple():
            parts = [as_tensors(v) for v in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        case dict():
            return {k: as_tensors(v) for k, v in value.items()}
        case _ if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{f.name: as_tensors(getattr(value, f.name)) for f in fields(value)})
    return value


def check(case: Case, cache_folder: Path) -> None:
    """Compile `case` as it is and run mini-batches of several sizes, each against eager PyTorch, instance by instance.

    Raises CompileError where the compiler refuses the model, AssertionError where a result differs."""
    executable = compile(case.module(), sample=case.instances(SAMPLE, seed=99), checked=True, cache_folder=cache_folder)
    with torch.no_grad():
        for seed, size in enumerate(BATCHES):
            eager = case.module()
            expected = [eager(instance) for instance in case.instances(size, seed)]
            got = executable(case.instances(size, seed))
            assert len(got) == size
            for number, (mine, theirs) in enumerate(zip(got, expected, strict=True)):
                assert_same(mine, theirs, f"instance {number} of {size}")


def _kind(x: torch.Tensor) -> str:
    """Whether a tensor has floats, bools or ints. Widths differ: the interpreter computes in float64, and ints are int64."""
    return "floats" if x.is_floating_point() else "bools" if x.dtype == torch.bool else "ints"


def assert_same(mine: Any, theirs: Any, where: str) -> None:
    """That two results have the same structure, the same host values, and tensors that agree within the tolerance."""
    match theirs:
        case torch.Tensor():
            assert isinstance(mine, torch.Tensor), f"{where}: {type(mine).__name__} where eager gives a tensor"
            assert mine.shape == theirs.shape, f"{where}: shape {tuple(mine.shape)}, eager {tuple(theirs.shape)}"
            assert not theirs.numel() or _kind(mine) == _kind(theirs), (
                f"{where}: a tensor of {mine.dtype}, eager {theirs.dtype}"
            )
            assert torch.allclose(mine.double(), theirs.double(), rtol=TOLERANCE, atol=TOLERANCE), where
        case float():
            assert isinstance(mine, float), f"{where}: {mine!r}, eager {theirs!r}"
            assert math.isclose(mine, theirs, rel_tol=TOLERANCE, abs_tol=TOLERANCE), f"{where}: {mine!r}, eager {theirs!r}"
        case str() | int() | Enum() | date() | timedelta() | None:
            assert type(mine) is type(theirs), f"{where}: {mine!r}, eager {theirs!r}"
            assert mine == theirs, f"{where}: {mine!r}, eager {theirs!r}"
        case Mapping():
            assert list(mine) == list(theirs), f"{where}: keys {list(mine)}, eager {list(theirs)}"
            for key in theirs:
                assert_same(mine[key], theirs[key], f"{where}[{key!r}]")
        case Sequence():
            assert type(mine) is type(theirs), f"{where}: {type(mine).__name__}, eager {type(theirs).__name__}"
            assert len(mine) == len(theirs), f"{where}: {len(mine)} elements, eager {len(theirs)}"
            for index, (a, b) in enumerate(zip(mine, theirs, strict=True)):
                assert_same(a, b, f"{where}[{index}]")
        case _ if is_dataclass(theirs):
            assert type(mine) is type(theirs), f"{where}: {type(mine).__name__}, eager {type(theirs).__name__}"
            assert_same(vars(mine), vars(theirs), where)
        case _:
            raise AssertionError(f"{where}: results of {type(theirs).__name__} are not compared")
