"""The values that a forward analysis computes with: lattice elements for the leaves of each value, and where these stand in it.

A value is a flat tuple of lattice elements, its leaves: one for a tensor or a scalar, one after the other for a tuple, those
of the element for a list, and for a union one set for each field of each case that can occur anywhere inside it.

Source: our own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias, TypeVar

from backends.acrobat.core.types import DataT, DataType, ListT, TupleT, Type
from backends.acrobat.ir.nodes import Host, Item, Launch, Lit, Op, Weight

V = TypeVar("V")
Value: TypeAlias = tuple[V, ...]
Place: TypeAlias = tuple[str, str]
"""A function, and the variable in it that an expression is bound to."""


class Lattice(Protocol[V]):
    """What an analysis supplies: its lattice of leaves, and what each kind of node computes on leaves. All functions are
    monotone. `bottom` is the value of what has not been reached."""

    bottom: V

    def join(self, a: V, b: V) -> V: ...

    def widen(self, value: V, rises: int) -> V:
        """What replaces `value`, which has risen `rises` times in a loop or recursion; itself if the lattice is bounded."""

    def instance(self) -> V:
        """A tensor or scalar of the instance."""

    def literal(self, lit: Lit) -> V: ...

    def weight(self, weight: Weight) -> V: ...

    def work(self, node: Op | Launch, args: Sequence[Value[V]], place: Place | None) -> V:
        """The leaf for each result of tensor work. `place`: the variable that the work is bound to, if any."""

    def host(self, node: Host, args: Sequence[V]) -> V:
        """The leaf of a scalar that the host computes from these leaves."""

    def item(self, node: Item, tensor: V) -> V: ...


class Layout:
    """The positions, in a value, of the leaves of its parts. All values of one type are laid out alike."""

    def __init__(self, datatypes: Mapping[str, DataType]) -> None:
        self._datatypes = datatypes
        self._tables: dict[str, dict[tuple[str, str, int], int]] = {}
        self._sizes: dict[str, int] = {}

    def size(self, t: Type) -> int:
        match t:
            case TupleT(items):
                return sum(map(self.size, items))
            case ListT(item):
                return self.size(item)
            case DataT(name):
                self._table(name)
                return self._sizes[name]
        return 1

    def split(self, value: Value[V], types: Sequence[Type]) -> list[Value[V]]:
        """The parts, of these types, that stand one after the other in a value."""
        parts, at = [], 0
        for t in types:
            parts.append(value[at : at + self.size(t)])
            at += self.size(t)
        return parts

    def field(self, value: Value[V], name: str, case: str, index: int) -> Value[V]:
        """Field `index` of case `case` in a value of the union `name`."""
        own = iter(value[self._table(name)[name, case, index] :])

        def build(t: Type) -> Iterator[V]:
            match t:
                case TupleT(items):
                    for item in items:
                        yield from build(item)
                case ListT(item):
                    yield from build(item)
                case DataT(inner):
                    for key in self._table(inner):
                        at = self._table(name)[key]
                        yield from value[at : at + self._leaves_outside_unions(self._field_type(key))]
                case _:
                    yield next(own)

        return tuple(build(self._field_type((name, case, index))))

    def construct(self, lattice: Lattice[V], name: str, case: str, args: Sequence[Value[V]]) -> Value[V]:
        """A value of the union `name` that is of case `case` with these fields."""
        table = self._table(name)
        out = [lattice.bottom] * self._sizes[name]

        def absorb(t: Type, leaves: Iterator[V], at: int) -> int:
            match t:
                case TupleT(items):
                    for item in items:
                        at = absorb(item, leaves, at)
                    return at
                case ListT(item):
                    return absorb(item, leaves, at)
                case DataT(inner):
                    for key in self._table(inner):
                        for i in range(table[key], table[key] + self._leaves_outside_unions(self._field_type(key))):
                            out[i] = lattice.join(out[i], next(leaves))
                    return at
            out[at] = lattice.join(out[at], next(leaves))
            return at + 1

        for index, arg in enumerate(args):
            absorb(self._field_type((name, case, index)), iter(arg), table[name, case, index])
        return tuple(out)

    def _field_type(self, key: tuple[str, str, int]) -> Type:
        name, case, index = key
        return self._datatypes[name].case(case).fields[index][1]

    def _leaves_outside_unions(self, t: Type) -> int:
        """How many leaves a field of this type has, without unions inside it: the outermost union's table holds theirs."""
        match t:
            case TupleT(items):
                return sum(map(self._leaves_outside_unions, items))
            case ListT(item):
                return self._leaves_outside_unions(item)
            case DataT():
                return 0
        return 1

    def _table(self, name: str) -> dict[tuple[str, str, int], int]:
        """(union, case, field) -> position of the first leaf, for the union `name` and all unions that its fields reach."""
        if name not in self._tables:
            names, at = [name], 0
            table: dict[tuple[str, str, int], int] = {}
            for union in names:
                for case in self._datatypes[union].cases:
                    for index, (_, t) in enumerate(case.fields):
                        table[union, case.name, index] = at
                        at += self._leaves_outside_unions(t)
                        names += sorted(_unions(t) - set(names))
            self._tables[name], self._sizes[name] = table, at
        return self._tables[name]


def _unions(t: Type) -> set[str]:
    match t:
        case TupleT(items):
            return set().union(*map(_unions, items))
        case ListT(item):
            return _unions(item)
        case DataT(name):
            return {name}
    return set()
