"""How an operation of one instance is computed for n of them at once.

An operation is a function of torch, some of whose arguments are deferred tensors. In a batch, each of these is one tensor with
one more axis in front, for the instances; shared tensors and constants are as they were. `batched` chooses a rule from the
table below, by the name of the function; else `torch.vmap`; else one instance after the other, with the reason.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from backends.jitbatch.lazy import Sort

Batched = Callable[[Sequence[Tensor]], Any]


@dataclass(frozen=True)
class Slot:
    """Marks, in a call's arguments, the place of the deferred operand number `position`, whose tensors are of `sort`."""

    position: int
    sort: Sort


@dataclass(frozen=True)
class Call:
    """A function with its arguments, which have slots in place of deferred tensors. `sorts` are the sorts of these."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    sorts: tuple[Sort, ...]
    result: Any
    """The sorts of its results for one instance: a sort, or a tuple or list of sorts."""

    @property
    def name(self) -> str:
        name = str(getattr(self.function, "__name__", self.function))
        return name.removeprefix("__").removesuffix("__")

    def __call__(self, operands: Sequence[Tensor]) -> Any:
        """The function's result on `operands` in place of the slots."""
        return self.function(*filled(self.args, operands), **filled(self.kwargs, operands))


def mapped(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """The arguments or results of a call with `leaf` applied to all in them that is no tuple, list or dictionary."""
    if isinstance(value, tuple | list) and not isinstance(value, torch.Size):
        return type(value)([mapped(item, leaf) for item in value])
    if isinstance(value, dict):
        return {key: mapped(item, leaf) for key, item in value.items()}
    return leaf(value)


def filled(template: Any, operands: Sequence[Any]) -> Any:
    """The arguments with operands in place of slots: `mapped` without a call for each leaf, since this runs for each batch."""
    if type(template) is Slot:
        return operands[template.position]
    if isinstance(template, tuple | list):
        return type(template)(filled(item, operands) for item in template)
    if isinstance(template, dict):
        return {key: filled(value, operands) for key, value in template.items()}
    return template


def batched(call: Call, device: torch.device) -> tuple[Batched, str | None]:
    """The function that computes the call for many instances at once, and None; or, if it has to compute them one by one, the
    reason. It takes the operands with the axis of instances first and gives results alike. `device` is where they lie."""
    rule = RULES.get(call.name)
    compute = rule(call) if rule is not None else None
    if compute is not None:
        return compute, None
    if not call.sorts:
        return one_by_one(call), "no operand of its own"
    mapped = torch.vmap(lambda *operands: call(operands))
    probe = [torch.zeros(2, *sort.shape, dtype=sort.dtype, device=device) for sort in call.sorts]
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            mapped(*probe)
        if any("performance drop" in str(warning.message) for warning in warned):
            return one_by_one(call), "torch.vmap has no rule for it"
    except Exception as error:  # vmap raises what its rule for the function raises
        return one_by_one(call), f"torch.vmap cannot batch it: {str(error).splitlines()[0][:100] if str(error) else error!r}"
    return lambda operands: mapped(*operands), None


def one_by_one(call: Call) -> Batched:
    """Computes the call for one instance after the other, and stacks the results."""

    def run(operands: Sequence[Tensor]) -> Any:
        results = [call(operands_of_one) for operands_of_one in zip(*operands, strict=True)]
        if isinstance(call.result, Sort):
            return torch.stack(results)
        return [torch.stack(output) for output in zip(*results, strict=True)]

    return run


def elementwise(call: Call) -> Batched | None:
    """Operands broadcast from their last axis on, so operands with fewer axes get axes of size 1 after that of instances."""
    if call.kwargs or not isinstance(call.result, Sort):
        return None
    axes = len(call.result.shape)
    function = call.function
    if all(type(arg) is Slot for arg in call.args) and all(len(sort.shape) == axes for sort in call.sorts):
        match [arg.position for arg in call.args]:
            case [0]:
                return lambda operands: function(operands[0])
            case [0, 1]:
                return lambda operands: function(operands[0], operands[1])
    if any(isinstance(arg, tuple | list) for arg in call.args):
        return None

    def run(operands: Sequence[Tensor]) -> Any:
        return call([_aligned(operand, axes) for operand in operands])

    return run


def _aligned(operand: Tensor, axes: int) -> Tensor:
    missing = axes + 1 - operand.dim()
    return operand if missing == 0 else operand.reshape(operand.shape[0], *[1] * missing, *operand.shape[1:])


def linear(call: Call) -> Batched | None:
    """`torch.nn.functional.linear` of a deferred input with a weight, and a bias or none, that are known now; None
    for other arguments."""
    match call.args:
        case (Slot(0, _), Tensor() as weight):
            bias = call.kwargs.get("bias")
        case (Slot(0, _), Tensor() as weight, bias):
            pass
        case _:
            return None
    if bias is not None and not isinstance(bias, Tensor):
        return None
    product = functional.linear
    return lambda operands: product(operands[0], weight, bias)


def matmul(call: Call) -> Batched | None:
    """`torch.matmul` of two deferred operands, or of a deferred one with a weight, where one product does the
    whole batch; None for other arguments."""
    match call.args:
        case (Slot(0, a), Slot(1, b)):
            rows, columns = len(a.shape) > 1, len(b.shape) > 1
            axes = max(len(a.shape), len(b.shape), 2)

            def product(operands: Sequence[Tensor]) -> Tensor:
                left, right = operands
                left = left if rows else left.unsqueeze(1)
                right = right if columns else right.unsqueeze(-1)
                result = torch.matmul(_aligned(left, axes), _aligned(right, axes))
                if not columns:
                    result = result.squeeze(-1)
                return result if rows else result.squeeze(-1 if not columns else -2)

            return product
        case (Slot(0, a), Tensor() as weight) if weight.dim() <= 2:
            return lambda operands: torch.matmul(operands[0], weight)
        case (Tensor() as weight, Slot(0, b)) if weight.dim() == 2 and len(b.shape) == 1:
            return lambda operands: functional.linear(operands[0], weight)
        case (Tensor() as weight, Slot(0, b)) if weight.dim() == 2 and len(b.shape) >= 2:
            return lambda operands: torch.matmul(weight, operands[0])
    return None


def batch_join(call: Call) -> Batched | None:
    """`cat` and `stack`."""
    parts, *dim_if_given = call.args
    dim = dim_if_given[0] if dim_if_given else call.kwargs.get("dim", 0)
    if set(call.kwargs) - {"dim"} or not all(isinstance(part, Slot | Tensor) for part in parts):
        return None
    axis = dim + 1 if dim >= 0 else dim
    join = torch.cat if call.name in ("cat", "concat") else torch.stack
    positions = [part.position if isinstance(part, Slot) else None for part in parts]
    if None not in positions:
        if positions == list(range(len(parts))):
            return lambda operands: join(list(operands), axis)
        return lambda operands: join([operands[p] for p in positions if p is not None], axis)

    def run(operands: Sequence[Tensor]) -> Tensor:
        n = len(operands[0])
        return join([operands[p.position] if isinstance(p, Slot) else p.expand(n, *p.shape) for p in parts], axis)

    return run


def along(call: Call) -> Batched | None:
    """Functions of one tensor along one axis, `f(x, dim, ...)`: softmax, argmax, chunk, unbind and others."""
    if not call.args or type(call.args[0]) is not Slot or any(type(a) is Slot for a in call.args[1:]):
        return None
    args, kwargs = list(call.args[1:]), dict(call.kwargs)
    dim_position = DIM_AT.get(call.name, 0)
    if "dim" in kwargs:
        dim = kwargs.pop("dim")
        other_args = args
    elif len(args) > dim_position and isinstance(args[dim_position], int) and not isinstance(args[dim_position], bool):
        dim = args[dim_position]
        other_args = args[:dim_position] + args[dim_position + 1 :]
    elif call.name in DIM_DEFAULT and len(args) <= dim_position:
        dim, other_args = DIM_DEFAULT[call.name], args
    else:
        return None
    if not isinstance(dim, int):
        return None
    axis = dim + 1 if dim >= 0 else dim
    kwargs["dim"] = axis
    function = call.function
    if call.name in ("softmax", "log_softmax"):
        kwargs.pop("_stacklevel", None)
        if kwargs.get("dtype") is not None or len(other_args) > 0:
            return None
        function, kwargs = getattr(torch, call.name), {"dim": axis}
    return lambda operands: function(operands[0], *other_args, **kwargs)


DIM_AT = {"chunk": 1, "split": 1}
DIM_DEFAULT = {"chunk": 0, "split": 0, "unbind": 0}


def reshaped(call: Call) -> Batched | None:
    """`view`, `reshape` and `flatten`: the shape of one result, with the axis of instances before it. None for other types."""
    if not isinstance(call.result, Sort) or type(call.args[0]) is not Slot or call.result.dtype != call.sorts[0].dtype:
        return None
    shape = call.result.shape
    return lambda operands: operands[0].reshape(operands[0].shape[0], *shape)


def transposed(call: Call) -> Batched | None:
    """`transpose`, or `t` of a vector or matrix; None if the dimensions are not numbers that are known now."""
    match call.args, call.kwargs:
        case (Slot(0, sort), int(a), int(b)), {}:
            axes = len(sort.shape)
            first, second = a % axes + 1, b % axes + 1
            return lambda operands: operands[0].transpose(first, second)
        case (Slot(0, sort),), {} if call.name == "t":
            return (lambda operands: operands[0].transpose(1, 2)) if len(sort.shape) == 2 else (lambda operands: operands[0])
    return None


def unsqueezed(call: Call) -> Batched | None:
    """`unsqueeze` at a dimension that is known now; None for other arguments."""
    match call.args, call.kwargs:
        case (Slot(0, sort), int(dim)), {}:
            axis = dim % (len(sort.shape) + 1) + 1
            return lambda operands: operands[0].unsqueeze(axis)
    return None


def indexed(call: Call) -> Batched | None:
    """An index of numbers, slices, None and Ellipsis; None for other indices."""
    match call.args:
        case (Slot(0, _), index):
            parts = index if isinstance(index, tuple) else (index,)
            if all(part is None or part is Ellipsis or isinstance(part, int | slice) for part in parts):
                batched_index = (slice(None), *parts)
                return lambda operands: operands[0][batched_index]
    return None


def normalised(call: Call) -> Batched | None:
    """Layer norm, which normalises the last axes, so the axis of instances makes no difference."""
    if type(call.args[0]) is Slot and not any(type(a) is Slot for a in (*call.args[1:], *call.kwargs.values())):
        return lambda operands: call(operands)
    return None


ELEMENTWISE = (
    "add sub rsub mul div rtruediv maximum minimum pow neg abs exp log sqrt rsqrt square sigmoid tanh relu gelu silu sin cos "
    "lt le gt ge eq ne clone detach zeros_like ones_like clamp where logical_not logical_and logical_or"
)
Rule = Callable[[Call], Batched | None]
RULES: dict[str, Rule] = {
    **dict.fromkeys(ELEMENTWISE.split(), elementwise),
    **dict.fromkeys(("cat", "concat", "stack"), batch_join),
    **dict.fromkeys(("matmul", "mm", "mv", "bmm"), matmul),
    **dict.fromkeys(("softmax", "log_softmax", "argmax", "chunk", "split", "unbind", "sum", "mean", "amax"), along),
    **dict.fromkeys(("view", "reshape", "flatten"), reshaped),
    **dict.fromkeys(("transpose", "t"), transposed),
    "linear": linear,
    "unsqueeze": unsqueezed,
    "getitem": indexed,
    "layer_norm": normalised,
}
