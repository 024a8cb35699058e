"""Outputs of mini-batches as flat arrays, which are quick to copy and to compare, and hashes of them and of the inputs."""

from __future__ import annotations

import dataclasses
import hashlib
import pickle
from typing import Any, NamedTuple

import numpy as np

NO_INTEGERS = np.empty(0, np.int64)


class Wrong(Exception):
    """The outputs are wrong, or a run has changed its inputs."""


class Flat(NamedTuple):
    """The outputs of a mini-batch, copied into one array of floats and one of integers, so that nothing the backend does later
    can change them. The numbers keep their type: the copy is made between timed runs, where converting would take longer."""

    shape: Any  # the nesting: a tuple for an array, a list for a list; a list of arrays of one shape counts as their stack
    floats: np.ndarray
    integers: np.ndarray
    types: tuple[str, ...] = ()  # the types of the float arrays before they were joined, as in "float32"


def flatten(outputs: Any) -> Flat:
    """The outputs of a mini-batch as one flat copy. Raises Wrong for an output that is no array of numbers."""
    if _uniform(outputs):  # a fast path for the commonest case, since this runs between any two samples
        types = (outputs[0].dtype.name,)
        return Flat((len(outputs), *outputs[0].shape), np.concatenate(outputs, axis=None), NO_INTEGERS, types)
    floats: list[np.ndarray] = []
    integers: list[np.ndarray] = []

    def walk(value: Any) -> Any:
        if isinstance(value, list | tuple):
            shapes = [walk(element) for element in value]
            stackable = shapes and isinstance(shapes[0], tuple) and all(shape == shapes[0] for shape in shapes)
            return (len(shapes), *shapes[0]) if stackable else shapes
        array = np.asarray(value)
        if array.dtype.kind == "f":
            floats.append(array.ravel())
        elif array.dtype.kind in "iub":
            integers.append(array.ravel())
        else:
            what = f"an array of {array.dtype.name}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
            raise Wrong(f"an output is {what}, not an array of floats or integers")
        return array.shape

    shape = walk(outputs)
    return Flat(
        shape,
        np.concatenate(floats) if floats else np.empty(0),
        np.concatenate(integers) if integers else NO_INTEGERS,
        tuple(sorted({each.dtype.name for each in floats})),
    )


def _uniform(outputs: Any) -> bool:
    """Whether the outputs are a list of float arrays of one shape and type."""
    if type(outputs) is not list or not outputs or type(outputs[0]) is not np.ndarray:
        return False
    shape, dtype = outputs[0].shape, outputs[0].dtype
    for each in outputs:
        if type(each) is not np.ndarray or each.dtype is not dtype or each.shape != shape:
            return False
    return bool(dtype.kind == "f")


def lengths(flat: Flat) -> list[int] | None:
    """The length of each output, where each output of the mini-batch is a list of indices; None for other outputs."""
    if flat.floats.size or isinstance(flat.shape, tuple) and len(flat.shape) != 2:
        return None
    if isinstance(flat.shape, tuple):
        return [int(flat.shape[1])] * int(flat.shape[0])
    if not all(shape == [] or isinstance(shape, tuple) and len(shape) == 1 for shape in flat.shape):
        return None
    return [int(shape[0]) if shape else 0 for shape in flat.shape]


def fingerprint(value: Any) -> str:
    """A hash of a list of instances, with all the numbers in its arrays and tensors."""
    digest = hashlib.sha256()

    def walk(item: Any) -> None:
        digest.update(type(item).__name__.encode())
        if item is None or isinstance(item, bool | int | float | str | bytes):
            digest.update(repr(item).encode())
        elif isinstance(item, list | tuple):
            digest.update(str(len(item)).encode())
            for element in item:
                walk(element)
        elif isinstance(item, dict):
            for key, element in item.items():
                walk(key)
                walk(element)
        elif isinstance(item, np.ndarray):
            digest.update(str((item.dtype, item.shape)).encode() + np.ascontiguousarray(item).tobytes())
        elif hasattr(item, "detach"):  # a torch tensor, which this package does not import
            walk(item.detach().cpu().numpy())
        elif dataclasses.is_dataclass(item):
            for each in dataclasses.fields(item):
                walk(getattr(item, each.name))
        else:
            digest.update(pickle.dumps(item))

    walk(value)
    return digest.hexdigest()


def digest(shape: Any) -> str:
    """A hash of a nesting (`Flat.shape`): equal for two nestings if and only if they are the same."""
    return hashlib.sha256(repr(shape).encode()).hexdigest()


def short(shape: Any) -> str:
    """A nesting as text, for messages: its first 80 characters."""
    text = str(shape)
    return text if len(text) <= 80 else text[:77] + "..."
