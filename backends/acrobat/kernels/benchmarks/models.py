"""Kernels of the workloads, as the fusion passes make them."""

from __future__ import annotations

from typing import Any

from backends.acrobat.ir.types import TensorT
from backends.acrobat.kernels.spec import Instr, Kernel, Mode, Param


def param(name: str, mode: Mode, *shape: int) -> Param:
    return Param(name, TensorT(shape), mode)


def instr(name: str, op: str, args: tuple[str | float, ...], shape: tuple[int, ...], **attrs: Any) -> Instr:
    return Instr(name, op, args, tuple(sorted(attrs.items())), TensorT(shape))


def gates(names: str, value: str, width: int) -> list[Instr]:
    return [instr(n, "slice", (value,), (width,), dim=0, start=j * width, stop=(j + 1) * width) for j, n in enumerate(names)]


def unary(op: str, name: str, arg: str, *shape: int) -> Instr:
    return instr(name, op, (arg,), shape)


def leaf(h: int, mode: Mode = Mode.GATHERED) -> Kernel:
    """TreeLSTM's cell at a word."""
    params = (param("x", mode, h), param("W", Mode.SHARED, 3 * h, h), param("b", Mode.SHARED, 3 * h))
    body = [
        instr("p", "linear", ("x", "W", "b"), (3 * h,)),
        *gates("iou", "p", h),
        unary("sigmoid", "si", "i", h),
        unary("sigmoid", "so", "o", h),
        unary("tanh", "tu", "u", h),
        instr("c", "mul", ("si", "tu"), (h,)),
        unary("tanh", "tc", "c", h),
        instr("h", "mul", ("so", "tc"), (h,)),
    ]
    return Kernel("leaf", params, tuple(body), ("h", "c"))


def compose(h: int) -> Kernel:
    """TreeLSTM's cell at an inner node: its children's states are summed already, their forgotten cells are summed here."""
    params = (
        param("hs", Mode.CONTIGUOUS, h),
        param("fc", Mode.LIST, h),
        param("W", Mode.SHARED, 3 * h, h),
        param("b", Mode.SHARED, 3 * h),
    )
    body = [
        instr("p0", "linear", ("hs", "W"), (3 * h,)),
        instr("p", "add", ("p0", "b"), (3 * h,)),
        *gates("iou", "p", h),
        unary("sigmoid", "si", "i", h),
        unary("sigmoid", "so", "o", h),
        unary("tanh", "tu", "u", h),
        instr("n", "mul", ("si", "tu"), (h,)),
        instr("s", "list_sum", ("fc",), (h,)),
        instr("c", "add", ("n", "s"), (h,)),
        unary("tanh", "tc", "c", h),
        instr("h", "mul", ("so", "tc"), (h,)),
    ]
    return Kernel("compose", params, tuple(body), ("h", "c"))


def forget(h: int) -> Kernel:
    params = (
        param("h", Mode.GATHERED, h),
        param("c", Mode.GATHERED, h),
        param("U", Mode.SHARED, h, h),
        param("b", Mode.SHARED, h),
    )
    body = (
        instr("p", "linear", ("h", "U", "b"), (h,)),
        unary("sigmoid", "f", "p", h),
        instr("fc", "mul", ("f", "c"), (h,)),
    )
    return Kernel("forget", params, body, ("fc",))


def birnn(h: int) -> Kernel:
    params = (
        param("x", Mode.GATHERED, h),
        param("s", Mode.GATHERED, h),
        param("W", Mode.SHARED, h, 2 * h),
        param("b", Mode.SHARED, h),
    )
    body = (
        instr("xs", "cat", ("x", "s"), (2 * h,), dim=0),
        instr("p", "linear", ("xs", "W", "b"), (h,)),
        unary("sigmoid", "y", "p", h),
    )
    return Kernel("birnn", params, body, ("y",))


def classifier(h: int, classes: int) -> Kernel:
    params = (param("x", Mode.GATHERED, h), param("W", Mode.SHARED, classes, h), param("b", Mode.SHARED, classes))
    return Kernel("classifier", params, (instr("y", "linear", ("x", "W", "b"), (classes,)),), ("y",))
