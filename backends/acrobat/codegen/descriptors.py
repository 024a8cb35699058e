"""Types as data, for the readers and writers of `runtime/vm/descriptors.h`."""

from __future__ import annotations

from dataclasses import dataclass

from backends.acrobat.codegen.cpp import Types, c_string
from backends.acrobat.core.types import DataT, ListT, ScalarT, TensorT, TupleT, Type, holds_tensor


@dataclass(slots=True)
class TypeRow:
    """A `Type` of the runtime."""

    kind: str
    first: int = 0
    count: int = 0
    index: int = 0
    wanted: str = ""


class Descriptors:
    """`of(type)` is the number of a type's descriptor; `tensors` lists the tensor types of results in the order of the
    `Outgoing`s. `classes` lists the (type name, case) pairs in the order of `Session::classes`."""

    def __init__(self, types: Types, classes: list[tuple[str, str]]) -> None:
        self.types = types
        self.classes = classes
        self.tensors: list[TensorT] = []
        self.numbers: dict[Type, int] = {}
        self.rows: list[TypeRow] = []
        self.parts: list[tuple[int, str]] = []  # type, path
        self.cases: list[tuple[int, int, int]] = []  # class, first part, parts
        self.extents: list[int] = []

    def of(self, type: Type) -> int:
        if type not in self.numbers:
            number = self.numbers[type] = len(self.rows)  # recursive types meet themselves
            self.rows.append(row := TypeRow(""))
            self._fill(row, type)
            return number
        return self.numbers[type]

    def result(self, type: Type) -> int:
        """The number of the type of all results; it is then known which tensors leave."""
        self._outgoing(type, set())
        return self.of(type)

    def _outgoing(self, type: Type, seen: set[Type]) -> None:
        if type in seen:
            return
        seen.add(type)
        match type:
            case TensorT():
                self.tensors.append(type)
            case TupleT(items):
                for item in items:
                    self._outgoing(item, seen)
            case ListT(item):
                self._outgoing(item, seen)
            case DataT(name):
                for case in self.types.datatypes[name].cases:
                    for _, field in case.fields:
                        self._outgoing(field, seen)

    def _fill(self, row: TypeRow, type: Type) -> None:
        match type:
            case ScalarT(kind):
                row.kind = {"int": "Int", "bool": "Bool", "float": "Float"}[kind]
            case TensorT(shape):
                row.kind, row.first, row.count = "Tensor", len(self.extents), len(shape)
                row.index = self.tensors.index(type) if type in self.tensors else -1
                self.extents += shape
            case ListT(item):
                row.kind, row.first = "List", self.of(item)
            case TupleT(items):
                row.kind, row.count = "Tuple", len(items)
                row.first = self._add_parts([(item, "") for item in items])
            case DataT(name):
                data = self.types.datatypes[name]
                if data.optional:
                    full = data.case("Some")
                    row.kind, row.first, row.index = "Optional", self.of(full.fields[0][1]), data.cases.index(full)
                    return
                row.kind, row.first, row.count = "Union", len(self.cases), len(data.cases)
                row.index = int(data.shared)
                row.wanted = " or ".join(f"a {c.name}" for c in data.cases)
                self.cases += [(0, 0, 0)] * len(data.cases)
                for k, case in enumerate(data.cases):
                    parts = self._add_parts([(t, f".{f}") for f, t in case.fields])
                    self.cases[row.first + k] = (self.classes.index((name, case.name)), parts, len(case.fields))

    def _add_parts(self, parts: list[tuple[Type, str]]) -> int:
        """Where the parts stand: side by side, whatever theirs are."""
        start = len(self.parts)
        self.parts += [(0, path) for _, path in parts]
        for k, (type, path) in enumerate(parts):
            self.parts[start + k] = (self.of(type), path)
        return start

    def text(self) -> list[str]:
        """The tables, and `kTypes` that holds them."""
        rows = [
            f"    {{Kind::{r.kind}, {str(holds_tensor(t, self.types.datatypes)).lower()}, {r.first}, {r.count}, "
            f"{r.index}, {c_string(r.wanted)}}},  // {i}: {self.types.suffix(t)}"
            for i, (t, r) in enumerate(zip(self.numbers, self.rows, strict=True))
        ]
        parts = [f"    {{{number}, {c_string(path)}}}," for number, path in self.parts]
        cases = [f"    {{{cls}, {first}, {count}}}," for cls, first, count in self.cases]
        return [
            *("constexpr vm::Type kTypeRows[] = {", *rows, "};"),
            *("constexpr vm::Part kParts[] = {", *(parts or ['    {0, ""},']), "};"),
            *("constexpr vm::Case kCases[] = {", *(cases or ["    {0, 0, 0},"]), "};"),
            f"constexpr int64_t kExtents[] = {{{', '.join(map(str, self.extents)) or '0'}}};",
            "constexpr vm::Types kTypes = {kTypeRows, kParts, kCases, kExtents};",
        ]
