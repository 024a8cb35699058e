"""Cells: methods of a model that are straight-line code over tensors, each deferred as one call.

The first call of each signature is traced: the method runs once on new deferred tensors, and the record of its operations
becomes a kind. A batch of cells runs that record once, each operation on all instances; nothing is gathered between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn

from backends.jitbatch.kinds import CannotDefer, Input, Kind, NeedsNumber
from backends.jitbatch.lazy import Lazy, Recording, Shared, Sort
from backends.jitbatch.operators import mapped
from backends.jitbatch.recorder import Hole, Recorder, signature

MOST_SIGNATURES = 64
"""The most signatures of one cell: a method whose argument is a number that differs in each call would be traced each time."""


class Cell(Kind):
    """The record of a method: a batch of its calls runs one operation after the other. `trace` is the recorder that recorded
    the method on placeholders, `operands` are the sorts of these, `result` is what the method returned."""

    def __init__(self, number: int, name: str, trace: Recorder, operands: Sequence[Sort], result: Any) -> None:
        result_indices: list[int] = []
        structure = numbered(result, result_indices)
        super().__init__(number, name, operands, [trace.results[i].sort for i in result_indices], ints=len(trace.ints))
        self.result = None if type(result) is Lazy else structure
        self.result_indices = result_indices
        self.program: list[tuple[Kind, list[int], int, int]] = []
        self.launches = 0
        position, produced, ints = 0, len(operands), 0
        code = trace.code
        while position < len(code):
            kind = trace.kinds.all[code[position]]
            if isinstance(kind, Input):
                raise CannotDefer(f"{name} makes tensors of its own")
            after = position + 1 + len(kind.operands)
            self.program.append((kind, code[position + 1 : after], produced, ints))
            produced += len(kind.sorts)
            ints += kind.ints
            self.launches += kind.launches
            if kind.unbatched is not None:
                self.unbatched = f"{kind.name}: {kind.unbatched}"
            position = after
        self.results = produced
        self.dead = self._dead()

    def _dead(self) -> list[list[int]]:
        """For each operation the results that no later operation uses, so that their memory can be freed."""
        last: dict[int, int] = {}
        for call, (kind, operands, first, _) in enumerate(self.program):
            for i in (*operands, *range(first, first + len(kind.sorts))):
                last[i] = call
        dead: list[list[int]] = [[] for _ in self.program]
        for i, call in last.items():
            if i not in self.result_indices:
                dead[call].append(i)
        return dead

    def run(self, operands: Sequence[Tensor], ints: Tensor | None, n: int) -> Sequence[Tensor]:
        values: list[Any] = [*operands, *[None] * (self.results - len(operands))]
        for (kind, used, first, ints_at), dead in zip(self.program, self.dead, strict=True):
            own_ints = ints[ints_at * n : (ints_at + kind.ints) * n] if ints is not None and kind.ints else None
            results = kind.run([values[i] for i in used], own_ints, n)
            for i, value in enumerate(results):
                values[first + i] = value
            for i in dead:
                values[i] = None
        return [values[i] for i in self.result_indices]


class DeferredCell:
    """Takes the place of a method in a model and defers its calls as cells. If the method turns out not to be straight-line
    tensor code, its name is added to `refused` with the reason, and its calls then run operation by operation."""

    def __init__(self, name: str, method: Callable[..., Any], refused: dict[str, str]) -> None:
        self.name = name
        self.method = method
        self.refused = refused
        self.kinds: dict[Any, Kind] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        recorder: Recorder = Recording.recorder
        if not recorder.defers or self.name in self.refused:
            return self.method(*args, **kwargs)
        operands: list[int] = []
        try:
            key = _signature(args, operands) if not kwargs else (_signature(args, operands), _signature(kwargs, operands))
            kind = self.kinds.get(key)
            if kind is None:
                kind = self.trace(recorder, args, kwargs)
                self.kinds[key] = kind
        except NeedsNumber:
            raise
        except CannotDefer as error:
            self.refused[self.name] = str(error)
            return self.method(*args, **kwargs)
        return recorder.emit(kind, operands)

    def trace(self, recorder: Recorder, args: Any, kwargs: Any) -> Kind:
        if len(self.kinds) >= MOST_SIGNATURES:
            raise CannotDefer(f"{self.name} was called with more than {MOST_SIGNATURES} signatures")
        inner = Recorder(recorder.kinds, no_value)
        inner.defers = False
        inner.constants = recorder.constants
        args, kwargs = _placeholders(args, inner), _placeholders(kwargs, inner)
        operands = [lazy.sort for lazy in inner.results]
        Recording.recorder = inner
        try:
            result = self.method(*args, **kwargs)
        finally:
            Recording.recorder = recorder
        if not operands:
            raise CannotDefer(f"{self.name} was called without a tensor of the instance")
        return recorder.kinds.add(lambda number: Cell(number, self.name, inner, operands, result))


def no_value(lazy: Lazy) -> Tensor:
    """The `wait` of a recorder while code is traced, when no tensor has a value: raises CannotDefer."""
    raise CannotDefer("it waits for a tensor's value")


def _signature(value: Any, operands: list[int]) -> Any:
    kind = type(value)
    if kind is Lazy:
        operands.append(value.index)
        return value.sort
    if kind is tuple or kind is list:
        return (kind, *[_signature(item, operands) for item in value])
    if kind is dict:
        return tuple([(key, _signature(item, operands)) for key, item in value.items()])
    if isinstance(value, nn.Module):
        return value
    if isinstance(value, Tensor):
        raise CannotDefer("it was called with a tensor that is not deferred")
    if kind is Shared or value is None or isinstance(value, bool | int | float | str):
        return signature(value, operands)
    if kind is Hole:
        return signature(value, operands)
    raise CannotDefer(f"it was called with a {kind.__name__}")


def _placeholders(value: Any, inner: Recorder) -> Any:
    """The arguments with new deferred tensors, which belong to the trace, in place of deferred ones."""

    def leaf(value: Any) -> Any:
        return inner.result(value.sort) if type(value) is Lazy else value

    return mapped(value, leaf)


def numbered(result: Any, kept: list[int]) -> Any:
    """The structure of a result with positions in `kept` in place of tensors; adds their indices to it. Raises CannotDefer."""
    if type(result) is Lazy:
        if result.index not in kept:
            kept.append(result.index)
        return kept.index(result.index)
    if isinstance(result, tuple | list):
        return type(result)([numbered(item, kept) for item in result])
    raise CannotDefer(f"it gives a {type(result).__name__}, not tensors")
