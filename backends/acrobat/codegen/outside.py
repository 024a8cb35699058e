"""Python-side types: what instances and results are in Python, for which readers and writers are generated.

A type of the front end says what a value is in Python, and `plain_type` of it what the value is in the program. The two differ
for strings (numbers in the program), dictionaries (lists of pairs, or classes where the keys are always the same), sets
(lists), and tensors whose extents vary (lists of their parts).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from backends.acrobat.core.types import DataT, DataType, ListT, ScalarT, TensorT, TupleT
from backends.acrobat.frontend.instances.plain_types import plain_type
from backends.acrobat.frontend.instances.record_classes import RecordOf
from backends.acrobat.frontend.tensor_types import extents
from backends.acrobat.ir.nodes import Program


@dataclass(frozen=True, slots=True)
class Outside:
    """The Python-side types of a program's instances and results, and the datatypes that these types name."""

    instance: Any
    result: Any
    datatypes: Mapping[str, DataType]

    @staticmethod
    def of(program: Program) -> Outside:
        """Those that the front end has found; for a program that was read from text, which has no boundary, its own types."""
        entry, boundary = program.functions[program.entry], program.boundary
        instance, result = entry.params[0].type, entry.result
        if boundary is None:
            return Outside(instance, result, program.datatypes)
        assert plain_type(boundary.instance) == instance, "a pass has changed what an instance is"
        assert plain_type(boundary.result) == result, "a pass has changed what a result is"
        return Outside(boundary.instance, boundary.result, boundary.datatypes)

    def expected_words(self, datatype: DataType) -> str:
        """The words for what was expected, in the error about a value that is none of the cases."""
        if datatype.mixed:
            words = (c.word if c.rank is None else f"tensor of rank {c.rank}" for c in datatype.cases)
            return " or ".join(f"{'an' if word[0] in 'io' else 'a'} {word}" for word in words)
        return " or ".join(
            f"a dict of {', '.join(sorted(c.cls.keys_of_record))}" if is_dict(c.cls) else f"a {c.name}" for c in datatype.cases
        )

    def holds_result(self, type: Any, within: frozenset[str] = frozenset()) -> bool:
        """Whether values of the type may contain result tensors. `within` has the unions that are being asked about already."""
        match type:
            case TensorT() | ListT(rows=int()):
                return True
            case TupleT(items):
                return any(self.holds_result(item, within) for item in items)
            case ListT(item):
                return self.holds_result(item, within)
            case DataT(name) if name not in within:
                fields = [t for c in self.datatypes[name].cases if not c.numbered for _, t in c.fields]
                return any(self.holds_result(t, within | {name}) for t in fields)
        return False

    def text(self) -> str:
        """A text of everything here that generated code depends on, for the key of builds."""
        return repr(
            [
                (self.instance, self.result),
                [
                    (d, [getattr(c.cls, "keys_of_record", None) if is_dict(c.cls) else None for c in d.cases])
                    for d in self.datatypes.values()
                ],
            ]
        )


def is_dict(cls: Any) -> bool:
    """Whether the class of a case stands for a dictionary in Python, one whose keys are always the same."""
    return isinstance(cls, type) and issubclass(cls, RecordOf) and cls.class_of_record is None


def path_part(cls: Any, name: str) -> str:
    """How the path in an error about an instance names a field: `.name`, or `['name']` of a dictionary."""
    return f"[{name!r}]" if is_dict(cls) else f".{name}"


@dataclass(frozen=True, slots=True)
class Varying:
    """The type of a tensor with extents that vary. The program has such a tensor as `lists` nested lists of parts. `extents`
    are the tensor's, None where they vary; `order` has its dimensions in the program's order: those of the lists, outermost
    first, then those of a part."""

    part: TensorT | ScalarT
    lists: int
    extents: tuple[int | None, ...]
    order: tuple[int, ...]

    @staticmethod
    def of(type: Any) -> Varying:
        """The description of a Python-side type of tensors with extents that vary."""
        all_extents = extents(type)
        assert all_extents is not None
        dimensions, order, part = list(range(len(all_extents))), [], type
        while isinstance(part, ListT):
            assert part.rows is not None
            if dimensions:  # one number as a tensor without dimensions is a list of it
                order.append(dimensions.pop(part.rows))
            part = part.item
        return Varying(part, max(len(order), 1), all_extents, (*order, *dimensions))

    @property
    def number(self) -> str:
        """The first letter of `int`, `bool` or `float` where parts are numbers of the host; empty where they are tensors."""
        return self.part.kind[0] if isinstance(self.part, ScalarT) else ""

    def described(self) -> tuple[str, str, str]:
        """Extents (-1 where they vary) and dimensions in the program's order, both as C++, and the shape for messages."""
        shape = ", ".join("n" if e is None else str(e) for e in self.extents)
        in_order = [self.extents[d] for d in self.order]
        return (
            ", ".join("-1" if e is None else str(e) for e in in_order),
            ", ".join(map(str, self.order)),
            f"({shape},)" if len(self.extents) == 1 else f"({shape})",
        )


@dataclass(frozen=True, slots=True)
class ResultTensor:
    """A type of result tensors: PyTorch's dtype and the shape. Where extents vary, `shape` is that of a part, `number`, `lists`
    and `order` are as in `Varying`, and `extents` has for each of the lists its length where all have one, else None; else
    `lists` is 0."""

    dtype: str
    shape: tuple[int, ...]
    number: str = ""
    lists: int = 0
    order: tuple[int, ...] = ()
    extents: tuple[int | None, ...] = ()

    @staticmethod
    def of(type: Any) -> ResultTensor:
        """The type of result tensors that a Python-side type of tensors is."""
        if isinstance(type, TensorT):
            return ResultTensor(type.dtype, type.shape)
        v = Varying.of(type)
        lists = tuple(v.extents[d] for d in v.order[: v.lists])
        if isinstance(v.part, TensorT):
            return ResultTensor(v.part.dtype, v.part.shape, "", v.lists, v.order, lists)
        units = (1,) * (len(v.order) - v.lists)  # none for one number without dimensions
        dtype = {"int": "int64", "bool": "bool", "float": "float32"}[v.part.kind]
        return ResultTensor(dtype, units, v.number, v.lists, v.order, lists)

    @property
    def needs_arranging(self) -> bool:
        """Whether the parts, concatenated, have to be reshaped or permuted to become the tensor."""
        return self.lists > min(len(self.order), 1) or self.order != tuple(range(len(self.order)))

    @property
    def cpp(self) -> str:
        """The C++ initialiser of a `ResultType` of the runtime."""
        size = 1
        for extent in self.shape:
            size *= extent
        elements = size * (2 if self.dtype == "int64" else 1)
        number = f"'{self.number}'" if self.number else "0"
        return f"{{{elements}, {self.lists}, {number}, {str(self.needs_arranging).lower()}}}"
