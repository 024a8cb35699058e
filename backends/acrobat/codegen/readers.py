"""Generates readers: C++ that turns a Python instance into values of the program, or names the path to what does not fit."""

from __future__ import annotations

from typing import Any

from backends.acrobat.codegen.cpp import CppFunction, Types, c_string
from backends.acrobat.codegen.outside import Outside, Varying, path_part
from backends.acrobat.core.types import IDENTITY, Case, Container, DataT, ListKind, ListT, ScalarT, TensorT, TupleT
from backends.acrobat.frontend.instances.default_dicts import read_as
from backends.acrobat.frontend.instances.plain_types import plain_type
from backends.acrobat.frontend.types import SymbolT


class Readers:
    """`read(type, o)` returns the C++ expression that reads the Python object `o`; `text` then has all functions that it calls.

    `classes` lists the (type name, case) pairs in the order of `Session::classes`. Types are Python-side (`outside.py`)."""

    def __init__(self, types: Types, outside: Outside, classes: list[tuple[str, str]]) -> None:
        self.types = types
        self.outside = outside
        self.classes = classes
        self.functions: dict[Any, CppFunction | None] = {}
        self.shapes: dict[tuple[int, ...], str] = {}
        self.varying: list[str] = []

    @property
    def text(self) -> str:
        shapes = [
            f"constexpr int64_t {name}[] = {{{', '.join(map(str, shape)) or '0'}}};" for shape, name in self.shapes.items()
        ]
        functions = [f for f in self.functions.values() if f is not None]
        heads, texts = [f.declaration for f in functions], [f.text for f in functions]
        return "\n".join([*shapes, *self.varying, "", *heads, "", *texts])

    def cpp(self, type: Any) -> str:
        """The C++ type of the values that objects of a Python-side type are read as."""
        return self.types.cpp(plain_type(type))

    def read(self, type: Any, o: str) -> str:
        """C++ that reads the Python object `o`, itself C++, as a value of a type. Writes the function for a type with parts."""
        match type:
            case ScalarT(kind):
                return f"read_{kind}({o})"
            case SymbolT():
                return f"read_symbol(s, {o})"
            case TensorT(shape, _):
                name = self.shapes.setdefault(shape, "kShape" + "".join(f"_{n}" for n in shape))
                return f"read_tensor(s, {o}, {name}, {len(shape)})"
            case _:
                if type not in self.functions:
                    self.functions[type] = None  # entered before it is written: a recursive type asks for itself
                    self.functions[type] = self._function(type)
                return f"read_value_{self.types.suffix(type)}(s, {o})"

    def _function(self, type: Any) -> CppFunction:
        """The C++ function that reads a value of a type with parts."""
        head = f"static {self.cpp(type)} read_value_{self.types.suffix(type)}(Session& s, PyObject* o)"
        match type:
            case ListT(rows=int()):
                body = self._varying(type)
            case ListT(TupleT((key, value)), container="dict", kind=kind):
                body = self._dict(type, key, value, kind)
            case ListT(item, container=container):
                body = self._list(item, container)
            case TupleT(items):
                body = self._tuple(type, items)
            case DataT():
                body = self._data(type)
            case _:
                raise AssertionError(type)
        return CppFunction(head, body)

    def _varying(self, type: Any) -> list[str]:
        v = Varying.of(type)
        extents, order, shape = v.described()
        name = f"kVarying_{len(self.varying)}"
        self.varying += [
            f"constexpr int64_t {name}_extents[] = {{{extents}}};\nconstexpr int32_t {name}_order[] = {{{order}}};\n"
            f"constexpr Varying {name} = {{{name}_extents, {name}_order, {len(v.order)}, {v.lists}, {c_string(shape)}}};"
        ]
        read = f"read_numbers(s, o, {name}, '{v.number}')" if v.number else f"read_rows(s, o, {name})"
        return [f"return parts_of<{self.cpp(type)}>(s, {read});"]

    def _dict(self, type: Any, key: Any, value: Any, kind: ListKind) -> list[str]:
        return [
            f"const auto [items, size] = read_dict(s, o, {c_string(read_as(kind))});",
            f"auto list = make_list<{self.cpp(type.item)}>(s.cx.host, size);",
            "int64_t i = 0;",
            "try {",
            "    for (; i < size; ++i) {",
            f"        std::get<0>(list.data[i]) = {self.read(key, 'key_of(items[i])')};",
            f"        std::get<1>(list.data[i]) = {self.read(value, 'value_of(items[i])')};",
            "    }",
            "} catch (ReadError& e) {",
            "    e.within(place_of(items[i]));",
            "    throw;",
            "}",
            "return list;",
        ]

    def _list(self, item: Any, container: Container) -> list[str]:
        is_set = container == "set"
        elements = {"set": "read_set(s, o)", "tuple": "read_varying_tuple(o)"}.get(container, "read_list(o)")
        return [
            f"const auto [items, size] = {elements};",
            f"auto list = make_list<{self.cpp(item)}>(s.cx.host, size);",
            "int64_t i = 0;",
            "try {",
            f"    for (; i < size; ++i) list.data[i] = {self.read(item, 'items[i]')};",
            "} catch (ReadError& e) {",
            f"    e.{'within(place_in_set(items[i]))' if is_set else 'within_item(i)'};",
            "    throw;",
            "}",
            "return list;",
        ]

    def _tuple(self, type: TupleT, items: tuple[Any, ...]) -> list[str]:
        n = len(items)
        reads = [f"    std::get<{i}>(value) = {self.read(t, f'elements[{i}]')};" for i, t in enumerate(items)]
        lines = [f"[[maybe_unused]] PyObject* const* elements = read_tuple(o, {n});"]
        lines += [f"{self.cpp(type)} value;", "int at = 0;", "try {"]
        for i, read in enumerate(reads):
            lines += [f"    at = {i};", read]
        return [
            *lines,
            "} catch (ReadError& e) {",
            "    e.within_item(at);",
            "    throw;",
            "}",
            "return value;",
        ]

    def _data(self, type: DataT) -> list[str]:
        datatype = self.outside.datatypes[type.name]
        if datatype.optional:
            some_case = datatype.case("Some")
            cpp = self.types.case(type, "Some")
            inner = some_case.fields[0][1]
            return [
                "if (is_none(o)) {",
                f"    auto* none = s.cx.host.make<{self.types.case(type, 'None')}>(1);",
                f"    none->tag = {self.types.tag(type, 'None')};",
                "    return none;",
                "}",
                f"auto* v = s.cx.host.make<{cpp}>(1);",
                f"v->tag = {self.types.tag(type, 'Some')};",
                f"v->{self.types.field(type, 'Some', 'value')} = {self.read(inner, 'o')};",
                "return v;",
            ]
        first = self.classes.index((type.name, datatype.cases[0].name))
        expected = c_string(self.outside.expected_words(datatype))
        lines = []
        if datatype.shared:
            cpp = self.types.cpp(type)
            lines += [f"if (void* const before = known(s, o, {first})) return static_cast<{cpp}>(before);"]
        if not datatype.mixed:
            lines += ["const Path::Level level(s.path, s.cx, o);"]
        lines += [f"switch (case_of(s, o, {first}, {len(datatype.cases)}, {expected})) {{"]
        for k, case in enumerate(datatype.cases):
            lines += [f"    case {k}: {{", *(f"        {line}" for line in self._case(type, case, first + k)), "    }"]
        return [*lines, "}", "__builtin_unreachable();"]

    def _case(self, type: DataT, case: Case, index: int) -> list[str]:
        """Statements that read an object of the class `index` of `Session::classes` as a case of a union."""
        lines = [f"auto* v = s.cx.host.make<{self.types.case(type, case.name)}>(1);"]
        lines += [f"v->tag = {self.types.tag(type, case.name)};"]
        datatype = self.outside.datatypes[type.name]
        if datatype.mixed:
            inner = case.fields[0][1]
            level = [] if isinstance(inner, DataT) else ["const Path::Level level(s.path, s.cx, o);"]
            value = f"v->{self.types.field(type, case.name, 'value')} = {self.read(inner, 'o')};"
            return [*level, *lines, value, "return v;"]
        if datatype.shared:  # before the fields are read, which may lead back to it
            lines += [f"remember(s, o, {self.classes.index((type.name, datatype.cases[0].name))}, v);"]
        fields = [(name, t) for name, t in case.fields if name != IDENTITY]
        if len(fields) < len(case.fields):
            lines += [f"v->{self.types.field(type, case.name, IDENTITY)} = next_object(s, o);"]
        if fields:
            lines += [f"const Class& cls = s.classes[{index}];", 'const char* at = "";', "try {"]
            for k, (name, t) in enumerate(fields):
                member, value = self.types.field(type, case.name, name), self.read(t, f"cls.field(o, {k}, s.kept)")
                lines += [f"    at = {c_string(path_part(case.cls, name))};", f"    v->{member} = {value};"]
            lines += ["} catch (ReadError& e) {", "    e.within(at);", "    throw;", "}"]
        return [*lines, "return v;"]
