"""Instances and results as Python has them: the types that readers and writers go by.

A type of the front end says how a value looks outside, `plain_type` of it how the program has it. The two differ for strings
(numbers), dictionaries (lists of pairs, or classes where the keys are always the same), sets (lists), and tensors whose extents
vary (lists of their parts).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from backends.acrobat.core.types import DataT, DataType, ListT, ScalarT, TensorT, TupleT
from backends.acrobat.frontend.instances.boundary import plain_type
from backends.acrobat.frontend.instances.observed import RecordOf
from backends.acrobat.frontend.types import extents
from backends.acrobat.ir.nodes import Program


@dataclass(frozen=True, slots=True)
class Outside:
    """The types of Python's objects that stand for a program's instances and results, and the table of their classes."""

    instance: Any
    result: Any
    datatypes: Mapping[str, DataType]

    @staticmethod
    def of(program: Program) -> Outside:
        """Those that the front end has found, or else (a program that was written as text) the program's own."""
        entry, boundary = program.functions[program.entry], program.boundary
        instance, result = entry.params[0].type, entry.result
        if boundary is None:
            return Outside(instance, result, program.datatypes)
        assert plain_type(boundary.instance) == instance, "a pass has changed what an instance is"
        assert plain_type(boundary.result) == result, "a pass has changed what a result is"
        return Outside(boundary.instance, boundary.result, boundary.datatypes)

    def wanted(self, data: DataType) -> str:
        """What to say is expected where a value is none of the cases."""
        return " or ".join(f"a dict of {', '.join(c.cls.keys)}" if is_dict(c.cls) else f"a {c.name}" for c in data.cases)

    def holds_result(self, type: Any, within: frozenset[str] = frozenset()) -> bool:
        """Whether values of the type may have tensors in them, which leave together with others. `within`: as for
        `core.types.holds_tensor`."""
        match type:
            case TensorT() | ListT(rows=int()):
                return True
            case TupleT(items):
                return any(self.holds_result(item, within) for item in items)
            case ListT(item):
                return self.holds_result(item, within)
            case DataT(name) if name not in within:
                fields = [t for c in self.datatypes[name].cases for _, t in c.fields]
                return any(self.holds_result(t, within | {name}) for t in fields)
        return False

    def text(self) -> str:
        """All that generated code is made from here: a part of a build's key."""
        return repr(
            [
                (self.instance, self.result),
                [
                    (d, [getattr(c.cls, "keys", None) if is_dict(c.cls) else None for c in d.cases])
                    for d in self.datatypes.values()
                ],
            ]
        )


def is_dict(cls: Any) -> bool:
    """Whether a case of the program is a dictionary outside."""
    return isinstance(cls, type) and issubclass(cls, RecordOf) and cls.stands_for is None


def place(cls: Any, name: str) -> str:
    """How the path to what does not fit names a field."""
    return f"[{name!r}]" if is_dict(cls) else f".{name}"


@dataclass(frozen=True, slots=True)
class Varying:
    """A tensor of which extents vary, as the program has it: `lists` lists, one within the other, of parts. `extents` are the
    tensor's (None where they vary) and `order` its dimensions in the order in which the program has them: those of the lists
    from the outermost on, then those of a part."""

    part: TensorT | ScalarT
    lists: int
    extents: tuple[int | None, ...]
    order: tuple[int, ...]

    @staticmethod
    def of(type: Any) -> Varying:
        known = extents(type)
        assert known is not None
        left, order, part = list(range(len(known))), [], type
        while isinstance(part, ListT):
            assert part.rows is not None
            order.append(left.pop(part.rows))
            part = part.item
        return Varying(part, len(order), known, (*order, *left))

    @property
    def number(self) -> str:
        """The first letter of what parts are, if they are numbers of the host."""
        return self.part.kind[0] if isinstance(self.part, ScalarT) else ""

    def described(self) -> tuple[str, str, str]:
        """The extents and the order as lists of C++, and the shape for messages."""
        shape = ", ".join("n" if e is None else str(e) for e in self.extents)
        in_order = [self.extents[d] for d in self.order]
        return (
            ", ".join("-1" if e is None else str(e) for e in in_order),
            ", ".join(map(str, self.order)),
            f"({shape},)" if len(self.extents) == 1 else f"({shape})",
        )


@dataclass(frozen=True, slots=True)
class Leaving:
    """A type of the tensors that results hold: PyTorch's dtype, the shape of a tensor or of a part of one, and how parts make
    up a tensor whose extents vary (`lists` is 0 where none do)."""

    dtype: str
    shape: tuple[int, ...]
    number: str = ""
    lists: int = 0
    order: tuple[int, ...] = ()

    @staticmethod
    def of(type: Any) -> Leaving:
        if isinstance(type, TensorT):
            return Leaving(type.dtype, type.shape)
        v = Varying.of(type)
        if isinstance(v.part, TensorT):
            return Leaving(v.part.dtype, v.part.shape, "", v.lists, v.order)
        return Leaving({"int": "int64", "bool": "bool", "float": "float32"}[v.part.kind], (), v.number, v.lists, v.order)

    @property
    def arranged(self) -> bool:
        """Whether the parts one after the other are not yet the tensor."""
        return self.lists > 1 or self.order != tuple(range(len(self.order)))

    @property
    def cpp(self) -> str:
        """A `ResultType` of the runtime."""
        size = 1
        for extent in self.shape:
            size *= extent
        elements = size * (2 if self.dtype == "int64" else 1)
        number = f"'{self.number}'" if self.number else "0"
        return f"{{{elements}, {self.lists}, {number}, {str(self.arranged).lower()}}}"
