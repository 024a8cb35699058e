"""The types of instances and results as tables, which the readers and writers of `runtime/vm/descriptors.h` walk over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from backends.acrobat.codegen.cpp import Types, c_string
from backends.acrobat.codegen.outside import Outside, ResultTensor, Varying, path_part
from backends.acrobat.core.types import IDENTITY, DataT, ListT, ScalarT, TensorT, TupleT
from backends.acrobat.frontend.instances.default_dicts import read_as
from backends.acrobat.frontend.types import NoneT, SymbolT


@dataclass(frozen=True, slots=True)
class IdentityT:
    """The type of the field `IDENTITY` (the number of an object), which the program has and Python's object has not."""


@dataclass(slots=True)
class TypeRow:
    """One row of the table of types: a `Type` of `runtime/vm/code.h`, which explains the fields."""

    kind: str
    first: int = 0
    count: int = 0
    index: int = 0
    expected: str = ""


class Descriptors:
    """Makes the tables. `of(type)` enters a Python-side type (`outside.py`) and returns its number. `classes` lists the (type
    name, case) pairs in the order of the runtime's `Session::classes`; `tensors` becomes the list of the types of result
    tensors, in the order of the runtime's `Outgoing`s."""

    def __init__(self, types: Types, outside: Outside, classes: list[tuple[str, str]]) -> None:
        self.types = types
        self.outside = outside
        self.classes = classes
        self.tensors: list[ResultTensor] = []
        self.numbers: dict[Any, int] = {}
        self.varying: list[Varying] = []
        self.rows: list[TypeRow] = []
        self.parts: list[tuple[int, str]] = []  # type, path
        self.cases: list[tuple[int, int, int]] = []  # class, first part, parts
        self.extents: list[int] = []

    def of(self, type: Any) -> int:
        """The number of a Python-side type in the table, in which it is entered if it is new."""
        if type not in self.numbers:
            number = self.numbers[type] = len(self.rows)  # before it is filled: a recursive type asks for itself
            self.rows.append(row := TypeRow(""))
            self._fill(row, type)
            return number
        return self.numbers[type]

    def result(self, type: Any) -> int:
        """The number of the type of results. To be called first: it fills `tensors`, to which descriptors of tensors refer."""
        self._outgoing(type, set())
        return self.of(type)

    def _outgoing(self, type: Any, seen: set[Any]) -> None:
        """Enter the types of all tensors in a result's type in `tensors`."""
        if type in seen:
            return
        seen.add(type)
        match type:
            case TensorT() | ListT(rows=int()):
                if (tensor_type := ResultTensor.of(type)) not in self.tensors:
                    self.tensors.append(tensor_type)
            case TupleT(items):
                for item in items:
                    self._outgoing(item, seen)
            case ListT(item):
                self._outgoing(item, seen)
            case DataT(name):
                for case in self.outside.datatypes[name].cases:
                    for _, field in case.fields if not case.numbered else ():
                        self._outgoing(field, seen)

    def _tensor_index(self, type: Any) -> int:
        tensor_type = ResultTensor.of(type)
        return self.tensors.index(tensor_type) if tensor_type in self.tensors else -1

    def _fill(self, row: TypeRow, type: Any) -> None:
        match type:
            case SymbolT():
                row.kind = "Symbol"
            case NoneT():
                row.kind = "Nothing"
            case IdentityT():
                row.kind = "Identity"
            case ListT(rows=int()):
                v = Varying.of(type)
                row.kind = {"": "Rows", "i": "Ints", "b": "Bools", "f": "Floats"}[v.number]
                row.first, row.count, row.index = len(self.varying), v.lists, self._tensor_index(type)
                self.varying.append(v)
            case ListT(TupleT((key, value)), container="dict", kind=kind):
                row.kind, row.count, row.expected = "Dict", 2, read_as(kind)
                row.first = self._add_parts([(key, ""), (value, "")])
            case ListT(item, container="set" | "tuple" as container):
                row.kind, row.first = "Set" if container == "set" else "VaryingTuple", self.of(item)
            case ScalarT(kind):
                row.kind = {"int": "Int", "bool": "Bool", "float": "Float"}[kind]
            case TensorT(shape):
                row.kind, row.first, row.count = "Tensor", len(self.extents), len(shape)
                row.index = self._tensor_index(type)
                self.extents += shape
            case ListT(item):
                row.kind, row.first = "List", self.of(item)
            case TupleT(items):
                row.kind, row.count = "Tuple", len(items)
                row.first = self._add_parts([(item, "") for item in items])
            case DataT(name):
                datatype = self.outside.datatypes[name]
                if datatype.optional:
                    full = datatype.case("Some")
                    row.kind, row.first, row.index = "Optional", self.of(full.fields[0][1]), datatype.cases.index(full)
                    return
                row.kind, row.first, row.count = "Mixed" if datatype.mixed else "Union", len(self.cases), len(datatype.cases)
                row.index = int(datatype.shared)
                row.expected = self.outside.expected_words(datatype)
                self.cases += [(0, 0, 0)] * len(datatype.cases)
                for k, case in enumerate(datatype.cases):
                    parts = self._add_parts(
                        [
                            (IdentityT() if f == IDENTITY else t, "" if datatype.mixed else path_part(case.cls, f))
                            for f, t in case.fields
                        ]
                    )
                    self.cases[row.first + k] = (self.classes.index((name, case.name)), parts, len(case.fields))

    def _add_parts(self, parts: list[tuple[Any, str]]) -> int:
        """Enters (type, path) pairs next to each other, reserving the places first; returns the position of the first."""
        start = len(self.parts)
        self.parts += [(0, path) for _, path in parts]
        for k, (type, path) in enumerate(parts):
            self.parts[start + k] = (self.of(type), path)
        return start

    def text(self) -> list[str]:
        """The C++ definitions of the tables and of `kTypes`, which points to them."""
        rows = [
            f"    {{Kind::{r.kind}, {str(self.outside.holds_result(t)).lower()}, {r.first}, {r.count}, "
            f"{r.index}, {c_string(r.expected)}}},  // {i}: {'identity' if isinstance(t, IdentityT) else self.types.suffix(t)}"
            for i, (t, r) in enumerate(zip(self.numbers, self.rows, strict=True))
        ]
        parts = [f"    {{{number}, {c_string(path)}}}," for number, path in self.parts]
        cases = [f"    {{{cls}, {first}, {count}}}," for cls, first, count in self.cases]
        varying, tables = [], []
        for i, v in enumerate(self.varying):
            extents, order, shape = v.described()
            tables += [f"constexpr int64_t kVarying{i}Extents[] = {{{extents}}};"]
            tables += [f"constexpr int32_t kVarying{i}Order[] = {{{order}}};"]
            varying += [f"    {{kVarying{i}Extents, kVarying{i}Order, {len(v.order)}, {v.lists}, {c_string(shape)}}},"]
        return [
            *tables,
            *("constexpr Varying kVarying[] = {", *(varying or ['    {nullptr, nullptr, 0, 0, ""},']), "};"),
            *("constexpr vm::Type kTypeRows[] = {", *rows, "};"),
            *("constexpr vm::Part kParts[] = {", *(parts or ['    {0, ""},']), "};"),
            *("constexpr vm::Case kCases[] = {", *(cases or ["    {0, 0, 0},"]), "};"),
            f"constexpr int64_t kExtents[] = {{{', '.join(map(str, self.extents)) or '0'}}};",
            "constexpr vm::Types kTypes = {kTypeRows, kParts, kCases, kExtents, kVarying};",
        ]
