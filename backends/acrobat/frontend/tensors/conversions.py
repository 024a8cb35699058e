"""Conversions to other dtypes that a call names: `to`, `type` and the like."""

from __future__ import annotations

from typing import Any

import torch

from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.kinds import known
from backends.acrobat.frontend.tensors.dtypes import dtype_of
from backends.acrobat.frontend.tensors.operations import call_operation, either
from backends.acrobat.frontend.values import Value


@either("to", "type", "type_as")
def _to(f: Frame, call: CallArguments) -> Value:
    """`x.to(...)`, `x.type(...)` and `x.type_as(y)`: a device is ignored, a tensor stands for its dtype. For ints made of
    computed floats the instance waits; conversions to other floats are refused."""
    x: Any = call.args[0]
    if call.name == "type" and not call.args[1:]:
        raise Refused("`type` of a tensor without an argument is not in the language", "ask for `x.dtype`")
    for v in (*call.args[1:], *call.kwargs.values()):
        wanted = wanted_dtype(v)
        if call.name == "type" and wanted is None:
            raise Refused(f"`type` takes a dtype here, not {known(v)[1]!r}", "write `x.to(dtype)`")
        if wanted is None or wanted == dtype_of(x):
            continue
        if wanted in (torch.int64, torch.int32):
            x = call_operation(f, "long", CallArguments("long", [x], {}))
            continue
        if wanted == torch.bool:
            x = call_operation(f, "bool", CallArguments("bool", [x], {}))
            continue
        if wanted != torch.float32:
            raise Refused(f"tensors are float32 here, not {str(wanted).removeprefix('torch.')}", "leave the conversion out")
        x = call_operation(f, "float", CallArguments("float", [x], {}))
    return x


def wanted_dtype(value: Value) -> torch.dtype | None:
    """The dtype that an argument of `x.to(...)` names, or that it has if it is a tensor; None for a device and the like."""
    is_known, wanted = known(value)
    wanted = TENSOR_TYPES.get(wanted, wanted) if is_known else dtype_of(value)
    return wanted if isinstance(wanted, torch.dtype) else None


TENSOR_TYPES: dict[Any, torch.dtype] = {torch.LongTensor: torch.int64, torch.FloatTensor: torch.float32}
TENSOR_TYPES |= {"torch.LongTensor": torch.int64, "torch.FloatTensor": torch.float32}
"""The types of tensors of older models, and their names, with the dtypes behind them."""


OTHER_FLOATS = {"half": "float16", "bfloat16": "bfloat16", "double": "float64"}


@either(*OTHER_FLOATS)
def _other_float(f: Frame, call: CallArguments) -> Value:
    raise Refused(f"tensors are float32 here, not {OTHER_FLOATS[call.name]}", "leave the conversion out")
