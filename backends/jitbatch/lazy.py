"""Deferred tensors: what the one-instance code of a model sees in place of tensors.

An operation on a deferred tensor computes nothing: the current recorder (`backends.jitbatch.recorder`) records it and returns
another deferred tensor. Any function of torch takes deferred tensors, because they have `__torch_function__`; the most frequent
operators and methods go to the recorder directly. Asking for a value (`item`, `bool`, `int`, `float`, `tolist`) makes the
instance wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor


class Sort:
    """A shape with a dtype. Equal sorts are the same object, so they are compared by identity."""

    __slots__ = ("dtype", "shape")
    by_key: dict[tuple[tuple[int, ...], torch.dtype], Sort] = {}  # noqa: RUF012

    def __init__(self, shape: tuple[int, ...], dtype: torch.dtype) -> None:
        self.shape = shape
        self.dtype = dtype

    @classmethod
    def of(cls, tensor: Tensor) -> Sort:
        key = (tuple(tensor.shape), tensor.dtype)
        sort = cls.by_key.get(key)
        if sort is None:
            sort = cls.by_key[key] = cls(*key)
        return sort

    @property
    def bytes(self) -> int:
        return torch.Size(self.shape).numel() * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"{str(self.dtype).removeprefix('torch.')}{list(self.shape)}"


class Recording:
    """The current recorder of the process, which records the operations on deferred tensors; one mini-batch at a time."""

    recorder: Any = None


def _operator(function: Any) -> Callable[[Deferred, Any], Any]:
    """The method of an operator: the call of a function of torch is deferred."""

    def method(self: Deferred, other: Any) -> Any:
        return Recording.recorder.call(function, (self, other), {})

    return method


class Deferred:
    """The common base of the tensors of instances (`Lazy`) and of shared tensors (`Shared`)."""

    __slots__ = ("sort",)
    sort: Sort

    @classmethod
    def __torch_function__(
        cls, function: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        recorder = Recording.recorder
        if len(args) == 1 and not kwargs and type(args[0]) is Lazy:  # a shorter way, since most functions take one tensor
            x = args[0]
            kind = recorder.kinds.by_key.get((function, x.sort))
            if kind is not None and kind.result is None:
                recorder.code += (kind.number, x.index)
                return recorder.result(kind.sorts[0])
        return recorder.call(function, args, kwargs or {})

    @property
    def shape(self) -> torch.Size:
        return torch.Size(self.sort.shape)

    @property
    def dtype(self) -> torch.dtype:
        return self.sort.dtype

    @property
    def device(self) -> torch.device:
        device: torch.device = Recording.recorder.device
        return device

    @property
    def ndim(self) -> int:
        return len(self.sort.shape)

    @property
    def requires_grad(self) -> bool:
        return False

    @property
    def T(self) -> Any:
        return Recording.recorder.call(torch.Tensor.t if self.ndim == 2 else _mirrored, (self,), {})

    @property
    def mT(self) -> Any:
        return Recording.recorder.call(torch.transpose, (self, -2, -1), {})

    def dim(self) -> int:
        return len(self.sort.shape)

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.sort.shape[dim]

    def numel(self) -> int:
        return self.shape.numel()

    def is_floating_point(self) -> bool:
        return self.sort.dtype.is_floating_point

    def __len__(self) -> int:
        if not self.sort.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.sort.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(Recording.recorder.call(torch.unbind, (self,), {}))

    def value(self) -> Tensor:
        """The tensor itself; for a `Lazy` the instance waits until it has been computed."""
        raise NotImplementedError

    def item(self) -> Any:
        return self.value().item()

    def tolist(self) -> Any:
        return self.value().tolist()

    def __bool__(self) -> bool:
        return bool(self.value())

    def __int__(self) -> int:
        return int(self.value())

    def __float__(self) -> float:
        return float(self.value())

    def __index__(self) -> int:
        return self.value().__index__()

    __add__ = _operator(torch.add)
    __sub__ = _operator(torch.sub)
    __rsub__ = _operator(torch.rsub)
    __mul__ = __rmul__ = _operator(torch.mul)
    __truediv__ = _operator(torch.div)
    __rtruediv__ = _operator(torch.Tensor.__rtruediv__)
    __matmul__ = _operator(torch.matmul)
    __pow__ = _operator(torch.pow)
    __lt__, __le__, __gt__, __ge__ = map(_operator, (torch.lt, torch.le, torch.gt, torch.ge))
    __eq__ = _operator(torch.eq)
    __ne__ = _operator(torch.ne)

    def __radd__(self, other: Any) -> Any:
        return Recording.recorder.call(torch.add, (other, self) if isinstance(other, Tensor) else (self, other), {})

    def __rmatmul__(self, other: Any) -> Any:
        return Recording.recorder.call(torch.matmul, (other, self), {})

    def __neg__(self) -> Any:
        return Recording.recorder.call(torch.neg, (self,), {})

    __hash__ = object.__hash__

    def __getitem__(self, index: Any) -> Any:
        return Recording.recorder.getitem(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise NotImplementedError("jitbatch defers tensors, which cannot be changed in place: make a new one")

    def __getattr__(self, name: str) -> Any:
        method = getattr(torch.Tensor, name, None)
        if name.startswith("__") or not callable(method):
            raise AttributeError(f"jitbatch's deferred tensors have no {name!r}")

        def deferred(*args: Any, **kwargs: Any) -> Any:
            return Recording.recorder.call(method, (self, *args), kwargs)

        return deferred


class Lazy(Deferred):
    """A tensor of one instance. `index`: its number among all results of the mini-batch."""

    __slots__ = ("index",)

    def __init__(self, index: int, sort: Sort) -> None:
        self.index = index
        self.sort = sort

    def value(self) -> Tensor:
        tensor: Tensor = Recording.recorder.wait(self)
        return tensor


class Shared(Deferred):
    """A parameter or buffer, or a tensor computed from these alone: the same for every instance and mini-batch."""

    __slots__ = ("key", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.key = object()  # stands for it in signatures: `==` on deferred tensors compares elements
        self.sort = Sort.of(tensor)

    def value(self) -> Tensor:
        return self.tensor


def _mirrored(tensor: Tensor) -> Tensor:
    return tensor.permute(*range(tensor.dim() - 1, -1, -1))
