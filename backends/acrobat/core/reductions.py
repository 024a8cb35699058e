"""Reductions, along a dimension of a tensor and over the tensors of a list: their shape rules and their meaning in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from backends.acrobat.core.operands import Attrs, ShapeError, expect_count, floating, text
from backends.acrobat.core.types import DType, ListT, TensorT, Type


def along(op: str, dtype: DType = "float32", drop: bool = True) -> Callable[[Sequence[Type], Attrs], TensorT]:
    """The shape rule of a reduction along one dimension, which the result lacks if `drop`. The result has the type `dtype`.
    The rule raises ShapeError where there is nothing to reduce."""

    def infer(types: Sequence[Type], attrs: Attrs) -> TensorT:
        expect_count(types, 1, op)
        shape, dim = floating(types, 0, op).shape, attrs["dim"]
        if not 0 <= dim < len(shape) or (shape[dim] == 0 and op != "sum"):
            raise ShapeError(f"{op}: there is nothing along dimension {dim} of shape {shape}")
        if not drop:
            return TensorT(shape, dtype)
        unit_extent = (1,) if attrs.get("keepdim") else ()
        return TensorT((*shape[:dim], *unit_extent, *shape[dim + 1 :]), dtype)

    return infer


def reduction(combine: Callable[..., Any]) -> Callable[[Sequence[Any], Attrs], np.ndarray]:
    """The meaning of a reduction along one dimension, which numpy's function `combine` computes."""
    return lambda args, attrs: np.asarray(combine(args[0], axis=attrs["dim"], keepdims=bool(attrs.get("keepdim"))))


def softmax(args: Sequence[Any], attrs: Attrs) -> np.ndarray:
    """The softmax along a dimension."""
    (x,) = args
    e = np.exp(x - x.max(axis=attrs["dim"], keepdims=True))
    return np.asarray(e / e.sum(axis=attrs["dim"], keepdims=True))


def layer_norm_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    """The shape rule of `layer_norm`: the result is like the first operand. Raises ShapeError."""
    expect_count(types, 3, "layer_norm")
    x = floating(types, 0, "layer_norm")
    if not x.shape or any(floating(types, i, "layer_norm").shape != x.shape[-1:] for i in (1, 2)):
        raise ShapeError(f"layer_norm: weight and bias must have the length of the last dimension, got {text(types)}")
    return TensorT(x.shape)


def layer_norm(args: Sequence[Any], attrs: Attrs) -> np.ndarray:
    """Layer norm over the last dimension (Ba et al. 2016), with weight and bias."""
    x, w, b = args
    centred = x - x.mean(axis=-1, keepdims=True)
    return np.asarray(centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + attrs["eps"]) * w + b)


def _items(types: Sequence[Type], i: int, op: str) -> TensorT:
    """The type of the tensors in a list operand."""
    t = types[i] if i < len(types) else None
    if not isinstance(t, ListT) or not isinstance(t.item, TensorT):
        raise ShapeError(f"{op} needs a list of tensors as operand {i + 1}, got ({text(types)})")
    return floating([t.item], 0, op)


def of_list(op: str) -> Callable[[Sequence[Type], Attrs], TensorT]:
    """The shape rule of an element-wise reduction of a list: the result is like an item."""

    def infer(types: Sequence[Type], attrs: Attrs) -> TensorT:
        expect_count(types, 1, op)
        return _items(types, 0, op)

    return infer


def list_reduction(word: str, combine: Callable[..., Any], of_none: float) -> Callable[[Sequence[Any], Attrs], np.ndarray]:
    """The meaning of an element-wise reduction of a list, whose result is called `word` in messages. That of an empty list is
    `of_none` as a tensor without dimensions: the items' shape is not known here. ValueError for one that is not allowed."""

    def evaluate(args: Sequence[Any], attrs: Attrs) -> np.ndarray:
        (items,) = args
        if not items and attrs.get("nonempty"):
            raise ValueError(f"the {word} of an empty list has no value")
        return np.asarray(combine(np.stack(items), axis=0) if items else of_none)

    return evaluate


def list_softmax_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    """The shape rule of `list_softmax`: the result is like a value. Raises ShapeError."""
    expect_count(types, 2, "list_softmax")
    scores, values = (_items(types, i, "list_softmax") for i in range(2))
    lead = without_trailing_ones(scores.shape)
    if lead != values.shape[: len(lead)]:
        raise ShapeError(
            f"list_softmax: scores of shape {scores.shape} are not one for each of the first dimensions of {values.shape}"
        )
    return values


def without_trailing_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape without the extents of 1 at its end."""
    while shape and shape[-1] == 1:
        shape = shape[:-1]
    return shape


def list_softmax(args: Sequence[Any], attrs: Attrs) -> np.ndarray:
    """The sum of the values, weighted by the softmax of the scores; of empty lists 0, as PyTorch's product of empty tensors.
    Raises ValueError for lists of two lengths."""
    scores, values = args
    if len(scores) != len(values):
        raise ValueError(f"list_softmax: there are {len(scores)} scores for {len(values)} values")
    if not values:
        return np.zeros(())
    with np.errstate(invalid="ignore"):
        shares = softmax([np.stack(scores)], {"dim": 0})
    lead = without_trailing_ones(np.shape(scores[0]))
    shares = shares.reshape(len(scores), *lead, *[1] * (np.ndim(values[0]) - len(lead)))
    return np.asarray((shares * np.stack(values)).sum(axis=0))


def list_attention_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    """The shape rule of `list_attention`: the result is like a value. Raises ShapeError."""
    expect_count(types, 3, "list_attention")
    query = floating(types, 0, "list_attention").shape
    keys, values = (_items(types, i, "list_attention").shape for i in (1, 2))
    if not query or query != keys or len(values) != len(keys) or values[:-1] != keys[:-1]:
        raise ShapeError(f"list_attention: a query of shape {query} does not fit keys of {keys} and values of {values}")
    if not isinstance(attrs["scale"], (int, float)):
        raise ShapeError("list_attention: the scale must be a number")
    return TensorT(values)


def list_attention(args: Sequence[Any], attrs: Attrs) -> np.ndarray:
    """Attention over a list, with one query for each index of the leading dimensions (heads): the sum of the values, weighted
    by softmax(scale * query . key) over the list (Vaswani et al. 2017, equation 1)."""
    query, keys, values = args
    return list_softmax([[(query * key).sum(axis=-1, keepdims=True) * attrs["scale"] for key in keys], values], {})


def argmax(x: np.ndarray, attrs: Attrs) -> np.ndarray:
    """The first index of the largest element along a dimension."""
    result = np.asarray(x.argmax(axis=attrs["dim"]), np.int64)
    return np.expand_dims(result, attrs["dim"]) if attrs.get("keepdim") else result
