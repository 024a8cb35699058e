"""Subtrees: a call of a recursive method on a structure that occurs several times in the mini-batch is deferred as one call.

Structures are equal if they differ only in ints, as trees do in their words. The first call on a structure is traced with a
`Hole` in place of each int, which can only be the index of a row; so the record is right for every equal structure. A batch of
subtrees runs the plan of that record once, with all of them side by side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass
from operator import attrgetter
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from torch import Tensor, nn

from backends.jitbatch.cells import no_value, numbered
from backends.jitbatch.execute import Pools, Ready, execute
from backends.jitbatch.kinds import CannotDefer, Kind
from backends.jitbatch.lazy import Lazy, Recording
from backends.jitbatch.plan import analyse
from backends.jitbatch.recorder import Hole, Recorder

LEAST = 2
"""How often a structure has to occur in a mini-batch for a call on it to be deferred as one call."""
MOST_READY = 8
"""For how many batch widths the index vectors of a structure are kept."""
MOST_STRUCTURES = 1_000_000
"""After this many different structures the numbering starts again, so that an endless stream does not fill the memory."""
WAITS = frozenset({"item", "tolist"})
INT, OPAQUE = 0, -1


class Structures:
    """Numbers structures, those that differ only in ints alike. `begin` numbers and counts all structures of a mini-batch."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.parts: dict[type, Callable[[Any], Any]] = {}
        self.of: dict[int, int] = {}  # from the id of an object to its structure's number, while the mini-batch runs
        self.counts: Counter[int] = Counter()
        self.generation = 0  # how often the numbering has started again

    def begin(self, minibatch: Sequence[Any]) -> None:
        self.end()
        if len(self.numbers) > MOST_STRUCTURES:
            self.numbers.clear()
            self.generation += 1
        for instance in minibatch:
            self.number(instance)

    def end(self) -> None:
        self.of.clear()
        self.counts.clear()

    def number(self, value: Any) -> int:
        """The number of a structure; OPAQUE if it contains tensors or objects of unknown classes."""
        kind = type(value)
        if kind is int:
            return INT
        if kind is list or kind is tuple:
            return self.number_of((kind, *[self.number(item) for item in value]))
        if value is None or kind in (bool, float, str):
            return self.number_of((kind, value))
        if not is_dataclass(kind):
            return OPAQUE
        parts = self.parts.get(kind)
        if parts is None:
            names = [field.name for field in fields(kind)]
            get = attrgetter(*names) if names else lambda _: ()
            parts = self.parts[kind] = get if len(names) != 1 else lambda value: (get(value),)
        number = self.number_of((kind, *[self.number(part) for part in parts(value)]))
        self.of[id(value)] = number
        self.counts[number] += 1
        return number

    def number_of(self, key: tuple[Any, ...]) -> int:
        """The number of a structure by its class and the numbers of its parts."""
        if OPAQUE in key[1:] and key[0] not in (int, float, bool, str):
            return OPAQUE
        return self.numbers.setdefault(key, len(self.numbers) + 1)


def ints(value: Any, into: list[int]) -> None:
    """Adds the ints of a structure to `into`, in the order in which `holed` counts them."""
    kind = type(value)
    if kind is int:
        into.append(value)
    elif kind is list or kind is tuple:
        for item in value:
            ints(item, into)
    elif is_dataclass(kind):
        for field in fields(kind):
            ints(getattr(value, field.name), into)


def holed(value: Any, count: list[int]) -> Any:
    """The structure with a hole in place of each int. `count` is a list of one number, how many holes there are so far."""
    kind = type(value)
    if kind is int:
        count[0] += 1
        return Hole(count[0] - 1)
    if kind is list or kind is tuple:
        return kind([holed(item, count) for item in value])
    if is_dataclass(kind):
        return kind(*[holed(getattr(value, field.name), count) for field in fields(kind)])
    return value


class Subtree(Kind):
    """The record of a call on one structure, with its plan: a batch computes all calls on equal structures."""

    def __init__(self, number: int, name: str, trace: Recorder, result: Any) -> None:
        result_indices: list[int] = []
        structure = numbered(result, result_indices)
        super().__init__(number, name, [], [trace.results[i].sort for i in result_indices], ints=len(trace.ints))
        self.result = None if type(result) is Lazy else structure
        self.kinds = trace.kinds
        self.launches = 0
        self.nested = True
        alive = np.zeros(trace.count, bool)
        alive[result_indices] = True
        self.plan = analyse(0, trace.code, 0, trace.kinds.all, np.empty(0, np.int64), {}, alive)
        self.rows = [int(self.plan.rows[i]) for i in result_indices]
        self.ready: dict[int, Ready] = {}

    def run(self, operands: Sequence[Tensor], ints: Tensor | None, n: int) -> Sequence[Tensor]:
        ready = self.ready.get(n)
        if ready is None:
            if len(self.ready) >= MOST_READY:
                self.ready.pop(next(iter(self.ready)))
            ready = self.ready[n] = Ready(self.plan, n, self.kinds.device)
        pools = Pools(self.kinds.device)
        pools.reserve(ready.tops, {})
        execute(ready, pools, ints, (), self.kinds.meter)
        return [pools.tensors[sort][row * n : (row + 1) * n] for row, sort in zip(self.rows, self.sorts, strict=True)]


class DeferredSubtree:
    """Takes the place of a recursive method in a model, and defers its calls on structures that occur several times."""

    def __init__(self, name: str, method: Callable[..., Any], structures: Structures, refused: dict[str, str]) -> None:
        self.name = name
        self.method = method
        self.structures = structures
        self.refused = refused
        self.kinds: dict[tuple[int, int], tuple[Kind, list[Any]]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        recorder: Recorder = Recording.recorder
        if not recorder.whole_subtrees or len(args) != 1 or kwargs or self.name in self.refused:
            return self.method(*args, **kwargs)
        number = self.structures.of.get(id(args[0]), OPAQUE)
        if number == OPAQUE or self.structures.counts[number] < LEAST:
            return self.method(*args)
        try:
            key = (self.structures.generation, number)
            traced = self.kinds.get(key)
            if traced is None:
                traced = self.kinds[key] = self.trace(recorder, args[0])
        except CannotDefer as error:
            self.refused[self.name] = str(error)
            return self.method(*args)
        kind, int_operands = traced
        own_ints: list[int] = []
        ints(args[0], own_ints)
        recorder.ints += [operand if type(operand) is int else operand.of(own_ints) for operand in int_operands]
        return recorder.emit(kind, [])

    def trace(self, recorder: Recorder, structure: Any) -> tuple[Kind, list[Any]]:
        inner = Recorder(recorder.kinds, no_value)
        inner.whole_subtrees = False
        inner.constants = recorder.constants
        Recording.recorder = inner
        try:
            result = self.method(holed(structure, [0]))
        finally:
            Recording.recorder = recorder
        if inner.inputs:
            raise CannotDefer(f"{self.name} makes tensors of its own")
        return recorder.kinds.add(lambda number: Subtree(number, self.name, inner, result)), inner.ints


def recursive_methods(model: nn.Module) -> tuple[list[str], list[str]]:
    """The model's methods that can call themselves: those that never wait for a tensor's value, and those that do."""
    classes = [cls for cls in type(model).__mro__ if issubclass(cls, nn.Module) and cls is not nn.Module]
    own = {name: value for cls in reversed(classes) for name, value in vars(cls).items()}
    methods = {name: f for name, f in own.items() if isinstance(f, FunctionType) and not name.startswith("__")}
    reached = {name: _reached(method, methods) for name, method in methods.items()}
    recursive = [name for name in methods if name in reached[name]]
    waiting = [name for name in recursive if WAITS & reached[name]]
    return [name for name in recursive if name not in waiting], waiting


def _reached(function: FunctionType, methods: dict[str, FunctionType]) -> set[str]:
    """The names of all attributes and functions in the code that a function can reach by calls."""
    names: set[str] = set()
    pending, visited = [function], {function}
    while pending:
        current = pending.pop()
        for name in _names(current.__code__):
            names.add(name)
            for called in (methods.get(name), current.__globals__.get(name)):
                if isinstance(called, FunctionType) and called not in visited:
                    visited.add(called)
                    pending.append(called)
    return names


def _names(code: CodeType) -> Iterable[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
