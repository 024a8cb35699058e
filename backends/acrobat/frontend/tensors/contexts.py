"""PyTorch's contexts of `with` statements that change nothing about what is computed."""

from __future__ import annotations

import ast

import torch

from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.statements.contexts import CHANGES_NOTHING
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS, handles
from backends.acrobat.frontend.values import Static, Value

PLAIN = (
    torch.no_grad,
    torch.enable_grad,
    torch.inference_mode,
    torch.set_grad_enabled,
    torch.autograd.set_detect_anomaly,
    torch.autograd.profiler.record_function,
)
"""Classes of contexts about gradients, of which results have none, and about profiling."""


@handles(FUNCTIONS, *PLAIN)
def _plain(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return CHANGES_NOTHING


@handles(FUNCTIONS, torch.autocast)
def _autocast(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    names = ("device_type", "dtype", "enabled", "cache_enabled")
    others = {name: Static(None) for name in names[1:]}
    _, _, enabled, _ = CallArguments("autocast", args, kwargs).bind(*names, **others)
    if enabled != Static(False):
        raise Refused("`autocast` has tensors of other types than float32", "give it `enabled=False`, or leave it out")
    return CHANGES_NOTHING
