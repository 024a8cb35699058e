"""Kernels of the workloads, as the fusion passes make them."""

from __future__ import annotations

from typing import Any

from backends.acrobat.core.types import TensorT
from backends.acrobat.core.units import Instr, Kernel, Mode, Param


def param(name: str, mode: Mode, *shape: int) -> Param:
    return Param(name, TensorT(shape), mode)


def instr(name: str, op: str, args: tuple[str | float, ...], result: tuple[int, ...], /, **attrs: Any) -> Instr:
    return Instr(name, op, args, tuple(sorted(attrs.items())), TensorT(result))


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
    """TreeLSTM's cell at an inner node, from the sum of its children's states and a list of their forgotten cells."""
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


def head(h: int) -> Kernel:
    """A decision: the sigmoid of one column."""
    params = (param("x", Mode.GATHERED, h), param("W", Mode.SHARED, 1, h), param("b", Mode.SHARED, 1))
    body = (instr("p", "linear", ("x", "W", "b"), (1,)), unary("sigmoid", "y", "p", 1))
    return Kernel("head", params, body, ("y",))


def matrix_vector(h: int) -> Kernel:
    """MV-RNN: a word's matrix times its sibling's vector."""
    params = (param("m", Mode.GATHERED, h, h), param("v", Mode.GATHERED, h))
    return Kernel("matrix_vector", params, (instr("y", "matmul", ("m", "v"), (h,)),), ("y",))


def matrices(h: int) -> Kernel:
    """MV-RNN: a node's matrix from both children's, side by side."""
    params = (
        param("l", Mode.GATHERED, h, h),
        param("r", Mode.GATHERED, h, h),
        param("W", Mode.SHARED, h, 2 * h),
        param("b", Mode.SHARED, h),
    )
    body = (instr("lr", "cat", ("l", "r"), (h, 2 * h), dim=1), instr("y", "linear", ("lr", "W", "b"), (h, h)))
    return Kernel("matrices", params, body, ("y",))


def queries_keys_values(t: int, heads: int, d: int) -> Kernel:
    h = heads * d
    params = (param("x", Mode.GATHERED, t, h), param("W", Mode.SHARED, 3 * h, h), param("b", Mode.SHARED, 3 * h))
    body = [
        instr("p", "linear", ("x", "W", "b"), (t, 3 * h)),
        instr("r", "reshape", ("p",), (t, 3 * heads, d), shape=(t, 3 * heads, d)),
        instr("s", "permute", ("r",), (3 * heads, t, d), dims=(1, 0, 2)),
        *(
            instr(n, "slice", ("s",), (heads, t, d), dim=0, start=j * heads, stop=(j + 1) * heads)
            for j, n in enumerate(("q0", "k", "v"))
        ),
        instr("q", "mul", ("q0", d**-0.5), (heads, t, d)),
    ]
    return Kernel("queries_keys_values", params, tuple(body), ("q", "k", "v"))


def scores(t: int, heads: int, d: int) -> Kernel:
    params = (param("q", Mode.GATHERED, heads, t, d), param("k", Mode.GATHERED, heads, t, d))
    body = (
        instr("kt", "permute", ("k",), (heads, d, t), dims=(0, 2, 1)),
        instr("y", "matmul", ("q", "kt"), (heads, t, t)),
    )
    return Kernel("scores", params, body, ("y",))


def softmax(t: int, heads: int) -> Kernel:
    params = (param("x", Mode.GATHERED, heads, t, t),)
    return Kernel("softmax", params, (instr("y", "softmax", ("x",), (heads, t, t), dim=2),), ("y",))


def context(t: int, heads: int, d: int) -> Kernel:
    params = (param("a", Mode.GATHERED, heads, t, t), param("v", Mode.GATHERED, heads, t, d))
    return Kernel("context", params, (instr("y", "matmul", ("a", "v"), (heads, t, d)),), ("y",))


def attended(t: int, heads: int, d: int) -> Kernel:
    h = heads * d
    params = (
        param("c", Mode.GATHERED, heads, t, d),
        param("x", Mode.GATHERED, t, h),
        param("W", Mode.SHARED, h, h),
        param("b", Mode.SHARED, h),
    )
    body = (
        instr("p", "permute", ("c",), (t, heads, d), dims=(1, 0, 2)),
        instr("r", "reshape", ("p",), (t, h), shape=(t, h)),
        instr("l", "linear", ("r", "W", "b"), (t, h)),
        instr("y", "add", ("l", "x"), (t, h)),
    )
    return Kernel("attended", params, body, ("y",))


def layer_norm(t: int, h: int) -> Kernel:
    params = (param("x", Mode.GATHERED, t, h), param("w", Mode.SHARED, h), param("b", Mode.SHARED, h))
    return Kernel("layer_norm", params, (instr("y", "layer_norm", ("x", "w", "b"), (t, h), eps=1e-5),), ("y",))


def sum_of_list(h: int) -> Kernel:
    return Kernel("sum_of_list", (param("xs", Mode.LIST, h),), (instr("y", "list_sum", ("xs",), (h,)),), ("y",))
