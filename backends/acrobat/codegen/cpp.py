"""C++ names for the names of a program and C++ types for its types: how a value of the core IR looks in generated code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from backends.acrobat.core.types import DataT, DataType, ListT, ScalarT, TensorT, TupleT, Type
from backends.acrobat.frontend.types import SymbolT

MARK = "_"
"""Every name of the program ends in this, and no C++ keyword, no macro of a header and no name of the runtime that generated
code uses does. So names of the program never collide with those."""

TYPES = "__"
"""Names of the program's types end in this, other names of it do not: a variable may have the name of a type."""


def identifier(name: str) -> str:
    """`name` with only the characters that C++ identifiers may have. By itself it is neither unique nor never a C++ keyword."""
    text = "".join(c if c.isascii() and (c.isalnum() or c == "_") else f"u{ord(c):x}" if c.isalnum() else "_" for c in name)
    text = re.sub(r"__+", "_", text).strip("_") or "v"
    return f"v{text}" if text[0].isdigit() else text


class CppFunction(NamedTuple):
    """A function of C++: its head, without a brace, and the lines of its body."""

    head: str
    lines: list[str]

    @property
    def declaration(self) -> str:
        return f"{self.head};"

    @property
    def text(self) -> str:
        return "\n".join([f"{self.head} {{", *(f"    {line}" if line else "" for line in self.lines), "}", ""])


class Identifiers:
    """Makes C++ identifiers for one scope: each ends in `mark` and differs from the others and from those in `taken`."""

    def __init__(self, taken: Iterable[str] = (), mark: str = MARK) -> None:
        self.taken = set(taken)
        self.mark = mark

    def fresh(self, name: str) -> str:
        """The identifier for `name`: with a number if others have the same."""
        base = identifier(name)
        text, n = base + self.mark, 2
        while text in self.taken:
            text, n = f"{base}_{n}{self.mark}", n + 1
        self.taken.add(text)
        return text


class Types:
    """The C++ types of a program: unions of dataclasses become a tagged base struct with one struct per case."""

    def __init__(self, datatypes: Mapping[str, DataType]) -> None:
        self.datatypes = datatypes
        self.names: dict[str, str] = {}
        self.cases: dict[tuple[str, str], str] = {}
        self.tags: dict[tuple[str, str], str] = {}
        self.fields: dict[tuple[str, str], dict[str, str]] = {}
        self.suffixes: dict[Any, str] = {}
        self._taken = Identifiers(mark="")
        names = Identifiers(mark=TYPES)
        for name in datatypes:
            self.names[name] = names.fresh(name)
        for name, datatype in datatypes.items():
            tags = Identifiers()
            for case in datatype.cases:
                self.cases[name, case.name] = names.fresh(f"{name}_{case.name}")
                self.tags[name, case.name] = tags.fresh(f"k{identifier(case.name)}")
                fields = Identifiers()
                self.fields[name, case.name] = {f: fields.fresh(f) for f, _ in case.fields}

    def cpp(self, type: Type) -> str:
        """The C++ type of values of a type of the program."""
        match type:
            case TensorT():
                return "Tensor"
            case ScalarT(kind):
                return {"int": "int64_t", "bool": "bool", "float": "double"}[kind]
            case TupleT(items):
                return f"std::tuple<{', '.join(map(self.cpp, items))}>"
            case ListT(item):
                return f"List<{self.cpp(item)}>"
            case DataT(name):
                return f"{self.names[name]}*"

    def constant(self, type: Type) -> str:
        """The C++ type of a constant of the type."""
        cpp = self.cpp(type)
        return f"{cpp} const" if cpp.endswith("*") else f"const {cpp}"

    def case(self, type: DataT, case: str) -> str:
        return self.cases[type.name, case]

    def tag(self, type: DataT, case: str) -> str:
        return f"{self.names[type.name]}::{self.tags[type.name, case]}"

    def field(self, type: DataT, case: str, field: str) -> str:
        return self.fields[type.name, case][field]

    def suffix(self, type: Any) -> str:
        """A part of function names by which the functions for different types differ, also for types that only Python's objects
        have. It does not end in `MARK`, so it is never a name of the program."""
        if type not in self.suffixes:
            self.suffixes[type] = self._taken.fresh(self._described(type))
        return self.suffixes[type]

    def _described(self, type: Any) -> str:
        match type:
            case TensorT(shape, dtype):
                return "_".join([dtype, *map(str, shape)])
            case ScalarT(kind):
                return kind
            case TupleT(items):
                return "tuple_" + "_".join(map(self._described, items)) + "_end"
            case ListT(item, rows, kind):
                return f"{'varying' if rows is not None else kind}_{self._described(item)}"
            case DataT(name):
                return identifier(name)
        return "symbol" if isinstance(type, SymbolT) else "none"

    def declarations(self) -> str:
        """The structs of all unions."""
        out = [f"struct {self.names[name]};" for name in self.datatypes]
        for name, datatype in self.datatypes.items():
            cpp = self.names[name]
            tags = ", ".join(self.tags[name, c.name] for c in datatype.cases)
            out += ["", f"struct {cpp} {{", f"    enum Tag : int32_t {{ {tags} }};", "    Tag tag;", "};"]
            for case in datatype.cases:
                type = DataT(name)
                fields = [f"    {self.cpp(t)} {self.field(type, case.name, f)};" for f, t in case.fields]
                out += [f"struct {self.case(type, case.name)} : {cpp} {{", *fields, "};"]
        return "\n".join(out)


def c_string(text: str) -> str:
    """`text` as a string literal of C++."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
