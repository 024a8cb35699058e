"""Tensors that an operation has just made, which share no memory with anything else: these may be changed in place."""

from __future__ import annotations

from typing import TypeVar

from torch import nn

from backends.acrobat.core.types import TensorT
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.kinds import is_ragged, is_tensor, type_or_none, variable_of
from backends.acrobat.frontend.tensor_types import innermost
from backends.acrobat.frontend.values import Value

ValueT = TypeVar("ValueT", bound=Value)

ACTIVATIONS: tuple[type[nn.Module], ...] = (nn.Softmax, nn.LogSoftmax, nn.Softmin, nn.Softmax2d, nn.Tanh, nn.Sigmoid, nn.ReLU)
ACTIVATIONS += (nn.LeakyReLU, nn.PReLU, nn.RReLU, nn.ELU, nn.SELU, nn.CELU, nn.GELU, nn.SiLU, nn.Mish, nn.Softplus, nn.GLU)
ACTIVATIONS += (nn.Softsign, nn.Tanhshrink, nn.Softshrink, nn.Hardshrink, nn.LogSigmoid, nn.Hardsigmoid, nn.Hardswish)
ACTIVATIONS += (nn.Hardtanh, nn.ReLU6, nn.Threshold)
"""Some may be told to work in place: these give their operand then, which they have changed."""
MAKING: tuple[type[nn.Module], ...] = (nn.Linear, nn.Bilinear, nn.Embedding, nn.EmbeddingBag, nn.LSTMCell, nn.GRUCell)
MAKING += (nn.RNNCell, nn.Conv1d, nn.Conv2d, nn.ConvTranspose1d, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)
MAKING += (nn.BatchNorm1d, nn.BatchNorm2d, nn.InstanceNorm1d, nn.InstanceNorm2d, nn.LocalResponseNorm)
MAKING += (nn.MaxPool1d, nn.MaxPool2d, nn.AvgPool1d, nn.AvgPool2d, nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d)
MAKING += (nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, *ACTIVATIONS)
"""Modules whose `forward` gives new tensors, if they are not told to work in place."""


def is_own(module: nn.Module) -> bool:
    """Whether what a module computes is written in the source, and not in PyTorch."""
    return "forward" in vars(module) or not type(module).forward.__module__.startswith("torch.")


def makes_new(module: nn.Module) -> bool:
    """Whether the tensors that a module of PyTorch gives share no memory with anything else."""
    if is_own(module):
        return False
    if isinstance(module, nn.Sequential):
        making = [m for m in module if not isinstance(m, (nn.Identity, nn.Dropout, nn.Flatten, nn.Unflatten))]
        return bool(making) and makes_new(making[-1])
    return isinstance(module, MAKING) and not getattr(module, "inplace", False)


def changes_operand(module: nn.Module) -> bool:
    """Whether a module of PyTorch changes its operand in place, and gives it."""
    return isinstance(module, ACTIVATIONS) and not is_own(module) and bool(getattr(module, "inplace", False))


def of_varying_extent(x: Value) -> bool:
    """Whether a value is a tensor whose extent varies, and that the program has as rows of tensors: not as numbers."""
    return is_ragged(x) and isinstance(innermost(type_or_none(x)), TensorT)


def note_new(f: Frame, bound: int, value: ValueT) -> ValueT:
    """Note that a tensor, if `value` is one, was just made and shares no memory with anything else. `bound` is how many
    bindings there were before: what was bound earlier may be another value too. Gives `value`."""
    if (is_tensor(value) or of_varying_extent(value)) and f.builder.has_bound(variable_of(value), bound):
        f.builder.fresh.add(variable_of(value))
    return value
