"""Kinds of deferred calls: calls of one kind can be computed as one batch.

The signature of a call is the function, its constants, the identity of the shared tensors among its arguments, and the shapes
and dtypes of the instance's tensors among them. There is one `Kind` for each signature; `Kinds` is the table of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from backends.jitbatch.lazy import Lazy, Shared, Sort
from backends.jitbatch.meter import Meter
from backends.jitbatch.operators import Call, Slot, batched, mapped


class CannotDefer(Exception):
    """Code that was to be deferred as one call does something that needs values; the message says what."""


class NeedsNumber(CannotDefer):
    """Code that was to be deferred for all equal structures uses a number in which they differ."""

    def __init__(self) -> None:
        super().__init__("an int of the instance is used for more than the index of a row")


class Kind:
    """What a batch of deferred calls computes.

    `operands` and `sorts` are the sorts of a call's operands and results; in a batch they have the axis of instances first. A
    call also takes `ints` integers and `inputs` (0 or 1) tensors of its instance."""

    def __init__(
        self, number: int, name: str, operands: Sequence[Sort], sorts: Sequence[Sort], ints: int = 0, inputs: int = 0
    ) -> None:
        self.number = number
        self.name = name
        self.operands = tuple(operands)
        self.sorts = tuple(sorts)
        self.ints = ints
        self.inputs = inputs
        self.result: Any = None  # the structure of the results, numbers in place of tensors; None: one tensor
        self.launches = 1
        self.unbatched: str | None = None
        self.nested = False  # whether it runs a plan (a subtree does)

    def run(self, operands: Sequence[Tensor], ints: Tensor | None, n: int) -> Sequence[Tensor]:
        """The results for `n` calls, each with the axis of instances first. The ints of call j are at j, n + j, 2n + j, ..."""
        raise NotImplementedError


class Operation(Kind):
    """A function of torch."""

    def __init__(self, number: int, call: Call, sorts: Sequence[Sort], device: torch.device) -> None:
        super().__init__(number, call.name, call.sorts, sorts)
        self.compute, self.unbatched = batched(call, device)
        self.single = isinstance(call.result, Sort)

    def run(self, operands: Sequence[Tensor], ints: Tensor | None, n: int) -> Sequence[Tensor]:
        results: Any = self.compute(operands)
        return (results,) if self.single else results


class Row(Kind):
    """A row of a shared tensor, selected by an int of the instance: a word vector."""

    def __init__(self, number: int, table: Tensor) -> None:
        super().__init__(number, "row", [], [Sort.of(table[0])], ints=1)
        self.table = table

    def run(self, operands: Sequence[Tensor], ints: Tensor | None, n: int) -> Sequence[Tensor]:
        assert ints is not None
        return (self.table.index_select(0, ints),)


class Input(Kind):
    """A tensor of an instance, or one that the model's code computed without deferred tensors."""

    def __init__(self, number: int, sort: Sort) -> None:
        super().__init__(number, "input", [], [sort], inputs=1)

    def run(self, operands: Sequence[Tensor], ints: Tensor | None, n: int) -> Sequence[Tensor]:
        return (torch.stack(list(operands)),)


class Kinds:
    """All kinds, by number and by signature."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.meter = Meter()
        self.all: list[Kind] = []
        self.by_key: dict[Any, Kind] = {}
        self.rows: dict[Any, Kind] = {}
        self.inputs: dict[Sort, Kind] = {}

    def add(self, make: Callable[[int], Kind]) -> Kind:
        kind = make(len(self.all))
        self.all.append(kind)
        return kind

    def row(self, table: Shared) -> Kind:
        kind = self.rows.get(table.key)
        if kind is None:
            kind = self.rows[table.key] = self.add(lambda number: Row(number, table.tensor))
        return kind

    def input(self, sort: Sort) -> Kind:
        kind = self.inputs.get(sort)
        if kind is None:
            kind = self.inputs[sort] = self.add(lambda number: Input(number, sort))
        return kind

    def operation(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Kind:
        """A new kind for a call with a new signature. The function is called once on zeros, which gives the sorts of its
        results. Raises CannotDefer if it does not return tensors."""
        sorts: list[Sort] = []

        def slot(x: Lazy) -> Slot:
            sorts.append(x.sort)
            return Slot(len(sorts) - 1, x.sort)

        args, kwargs = template(args, slot), template(kwargs, slot)
        zeros = [torch.zeros(sort.shape, dtype=sort.dtype, device=self.device) for sort in sorts]
        call = Call(function, args, kwargs, tuple(sorts), None)
        output = call(zeros)
        name = call.name
        if isinstance(output, Tensor):
            results, result = [Sort.of(output)], None
            call = Call(function, args, kwargs, tuple(sorts), results[0])
        elif isinstance(output, tuple | list) and output and all(isinstance(each, Tensor) for each in output):
            results, result = [Sort.of(each) for each in output], type(output)(range(len(output)))
            call = Call(function, args, kwargs, tuple(sorts), tuple(results))
        else:
            raise CannotDefer(f"{name} gives a {type(output).__name__}, and deferred tensors have no values yet")
        kind = self.add(lambda number: Operation(number, call, results, self.device))
        kind.result = result
        return kind


def template(value: Any, slot: Callable[[Lazy], Slot]) -> Any:
    """Arguments with slots in place of deferred tensors, and with the tensors themselves in place of shared ones."""

    def leaf(value: Any) -> Any:
        if type(value) is Lazy:
            return slot(value)
        return tuple(value) if isinstance(value, torch.Size) else plain(value)

    return mapped(value, leaf)


def plain(value: Any) -> Any:
    """The tensor itself in place of a shared one; any other value as it is."""
    return value.tensor if type(value) is Shared else value
