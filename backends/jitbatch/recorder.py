"""Records the operations of a mini-batch's instances: the kind of each, and which earlier results it uses.

The record is one flat list of ints, `code`: for each call the number of its kind, then the numbers of its operands, which are
numbers of earlier results. Data (word ids, tensors of instances) is recorded beside it, in `ints` and `inputs`. So two
mini-batches with the same calls have the same code, whatever their data, and the analysis depends on the code alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from backends.jitbatch.kinds import CannotDefer, Kind, Kinds, NeedsNumber, plain
from backends.jitbatch.lazy import Lazy, Shared, Sort
from backends.jitbatch.operators import mapped


class Hole:
    """Takes the place of an int of an instance in a record that serves every instance of the same structure. It can only be the
    index of a row, so that the record does not depend on its value; any other use raises NeedsNumber. `position`: which of the
    instance's ints it is."""

    __slots__ = ("position",)

    def __init__(self, position: int) -> None:
        self.position = position

    def refuse(self, *_: Any) -> Any:
        raise NeedsNumber

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __int__ = __index__ = __float__ = __hash__ = refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = refuse
    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = refuse
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __neg__ = __abs__ = __str__ = __format__ = refuse


class Taken(NamedTuple):
    """The index of a row of a table with `rows` rows, in a record for many equal structures: the int at `position` of each."""

    position: int
    rows: int

    def of(self, ints: Sequence[int]) -> int:
        return row_index(ints[self.position], self.rows)


def row_index(index: int, rows: int) -> int:
    """The row that an index, which may be negative, means. Raises IndexError as torch does."""
    if not -rows <= index < rows:
        raise IndexError(f"index {index} is out of bounds for dimension 0 with size {rows}")
    return index % rows


class Recorder:
    """`base`: the number of the first result of the current code; results before it were computed by earlier flushes of the
    same run. `wait` is called for the value of a deferred tensor."""

    def __init__(self, kinds: Kinds, wait: Callable[[Lazy], Tensor]) -> None:
        self.kinds = kinds
        self.device = kinds.device
        self.wait = wait
        self.base = 0
        self.count = 0
        self.code: list[int] = []
        self.ints: list[Any] = []
        self.inputs: list[Tensor] = []
        self.results: list[Lazy] = []
        self.constants: dict[Any, Any] = {}
        self.defers = True  # whether cells are deferred as one call: not while a cell is traced
        self.whole_subtrees = True  # whether subtrees are: not while a subtree is traced

    def begin(self) -> None:
        """Begin a new code, after the last one was executed."""
        self.base = self.count
        self.code, self.ints, self.inputs, self.results = [], [], [], []

    def emit(self, kind: Kind, operands: list[int]) -> Any:
        """Record a call. Returns its result, or its results in their structure."""
        self.code.append(kind.number)
        self.code += operands
        sorts = kind.sorts
        if kind.result is None:
            return self.result(sorts[0])
        lazies = [Lazy(self.count + i, sort) for i, sort in enumerate(sorts)]
        self.count += len(lazies)
        self.results += lazies
        return structured(kind.result, lazies)

    def result(self, sort: Sort) -> Lazy:
        """A new deferred tensor: the result of a call that is in the code already, or an operand of this record."""
        lazy = Lazy(self.count, sort)
        self.count += 1
        self.results.append(lazy)
        return lazy

    def input(self, tensor: Tensor) -> Any:
        self.inputs.append(tensor)
        return self.emit(self.kinds.input(Sort.of(tensor)), [])

    def call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The deferred result of `function` with these arguments, of which some may be deferred. If none is, the result is
        computed at once, and once only."""
        operands: list[int] = []
        if not kwargs:
            parts: list[Any] = [function]
            for arg in args:
                of = type(arg)
                if of is Lazy:
                    parts.append(arg.sort)
                    operands.append(arg.index)
                elif of is Shared:
                    parts.append(arg.key)
                else:
                    break
            else:
                if operands:
                    return self.emit(self.kind(tuple(parts), function, args, kwargs), operands)
            operands.clear()
        args, kwargs = self.ready(args), self.ready(kwargs)
        key = (function, signature(args, operands), signature(kwargs, operands))
        if not operands:
            return self.constant(function, args, kwargs, key)
        return self.emit(self.kind(key, function, args, kwargs), operands)

    def kind(self, key: Any, function: Callable[..., Any], args: Any, kwargs: Any) -> Kind:
        kind = self.kinds.by_key.get(key)
        if kind is None:
            kind = self.kinds.by_key[key] = self.operation(function, args, kwargs)
        return kind

    def getitem(self, x: Any, index: Any) -> Any:
        if type(x) is Shared and x.sort.shape and isinstance(index, int | Hole) and not isinstance(index, bool):
            rows = x.sort.shape[0]
            self.ints.append(Taken(index.position, rows) if isinstance(index, Hole) else row_index(index, rows))
            return self.emit(self.kinds.row(x), [])
        if (
            isinstance(index, Tensor)
            and index.dtype == torch.bool
            or isinstance(index, Lazy)
            and index.sort.dtype == torch.bool
        ):
            raise CannotDefer("indexing by a mask gives a shape that depends on values")
        return self.call(torch.Tensor.__getitem__, (x, index), {})

    def operation(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Kind:
        name = str(getattr(function, "__name__", function))
        if name.endswith("_") and not name.endswith("__") or kwargs.get("inplace") or kwargs.get("out") is not None:
            raise NotImplementedError(f"jitbatch defers tensors, which cannot be changed in place: write {name} without it")
        return self.kinds.operation(function, args, kwargs)

    def ready(self, value: Any) -> Any:
        """The arguments, in which each concrete tensor has become an input of the record."""
        if isinstance(value, Tensor):
            return self.input(value)
        if isinstance(value, tuple | list) and not isinstance(value, torch.Size):
            return type(value)(self.ready(item) for item in value)
        if isinstance(value, dict):
            return {key: self.ready(item) for key, item in value.items()}
        return value

    def constant(self, function: Callable[..., Any], args: Any, kwargs: Any, key: Any) -> Any:
        """The result of a call on shared tensors alone. It is shared too, and computed once."""
        if key not in self.constants:
            result = function(*mapped(args, plain), **mapped(kwargs, plain))
            self.constants[key] = mapped(result, lambda part: Shared(part) if isinstance(part, Tensor) else part)
        return self.constants[key]


def signature(value: Any, operands: list[int]) -> Any:
    """The part of the arguments that decides the kind, hashable. Adds the indices of deferred tensors to `operands`."""
    kind = type(value)
    if kind is Lazy:
        operands.append(value.index)
        return value.sort
    if kind is Shared:
        return value.key
    if kind is tuple or kind is list:
        return (kind, *[signature(item, operands) for item in value])
    if kind is dict:
        return tuple([(key, signature(item, operands)) for key, item in value.items()])
    if kind is slice:
        return (slice, value.start, value.stop, value.step)
    if kind is Hole:
        raise NeedsNumber
    return (kind, value)


def structured(structure: Any, lazies: list[Lazy]) -> Any:
    """The structure of a result, a number in it being replaced by the deferred tensor of that number in `lazies`."""
    if type(structure) is int:
        return lazies[structure]
    if isinstance(structure, tuple | list):
        return type(structure)([structured(item, lazies) for item in structure])
    return structure
