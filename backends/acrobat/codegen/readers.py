"""Generated readers: native code that turns a Python instance into the structs of the program, naming the path to what
does not fit."""

from __future__ import annotations

from backends.acrobat.codegen.cpp import Types, c_string
from backends.acrobat.core.types import Case, DataT, ListT, ScalarT, TensorT, TupleT, Type


class Readers:
    """`read(type)` gives the C++ expression that reads `o`; `text` then holds all functions that need to stand before it.

    `classes` lists the (type name, case) pairs in the order of `Session::classes`.
    """

    def __init__(self, types: Types, classes: list[tuple[str, str]]) -> None:
        self.types = types
        self.classes = classes
        self.functions: dict[Type, str] = {}
        self.shapes: dict[tuple[int, ...], str] = {}

    @property
    def text(self) -> str:
        shapes = [
            f"constexpr int64_t {name}[] = {{{', '.join(map(str, shape)) or '0'}}};" for shape, name in self.shapes.items()
        ]
        heads = [body.split(" {", 1)[0] + ";" for body in self.functions.values() if body]
        return "\n".join([*shapes, "", *heads, "", *(b for b in self.functions.values() if b)])

    def read(self, type: Type, o: str) -> str:
        match type:
            case ScalarT(kind):
                return f"read_{kind}({o})"
            case TensorT(shape, _):
                name = self.shapes.setdefault(shape, "kShape" + "".join(f"_{n}" for n in shape))
                return f"read_tensor(s, {o}, {name}, {len(shape)})"
            case _:
                if type not in self.functions:
                    self.functions[type] = ""  # recursive types meet themselves
                    self.functions[type] = self._function(type)
                return f"read_value_{self.types.suffix(type)}(s, {o})"

    def _function(self, type: Type) -> str:
        head = f"static {self.types.cpp(type)} read_value_{self.types.suffix(type)}(Session& s, PyObject* o) {{"
        match type:
            case ListT(item):
                body = self._list(type, item)
            case TupleT(items):
                body = self._tuple(type, items)
            case DataT():
                body = self._data(type)
            case _:
                raise AssertionError(type)
        return "\n".join([head, *(f"    {line}" if line else "" for line in body), "}", ""])

    def _list(self, type: ListT, item: Type) -> list[str]:
        return [
            "const auto [items, size] = read_list(o);",
            f"auto list = make_list<{self.types.cpp(item)}>(s.cx.host, size);",
            "int64_t i = 0;",
            "try {",
            f"    for (; i < size; ++i) list.data[i] = {self.read(item, 'items[i]')};",
            "} catch (ReadError& e) {",
            "    e.within_item(i);",
            "    throw;",
            "}",
            "return list;",
        ]

    def _tuple(self, type: TupleT, items: tuple[Type, ...]) -> list[str]:
        n = len(items)
        reads = [f"    std::get<{i}>(value) = {self.read(t, f'elements[{i}]')};" for i, t in enumerate(items)]
        lines = [f"[[maybe_unused]] PyObject* const* elements = read_tuple(o, {n});"]
        lines += [f"{self.types.cpp(type)} value;", "int at = 0;", "try {"]
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
        data = self.types.datatypes[type.name]
        if data.optional:
            some = data.case("Some")
            cpp = self.types.case(type, "Some")
            inner = some.fields[0][1]
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
        first = self.classes.index((type.name, data.cases[0].name))
        wanted = c_string(" or ".join(f"a {c.name}" for c in data.cases))
        lines = []
        if data.shared:
            cpp = self.types.cpp(type)
            lines += [f"if (void* const before = known(s, o, {first})) return static_cast<{cpp}>(before);"]
        lines += [
            "const Path::Level level(s.path, s.cx, o);",
            f"switch (case_of(s, o, {first}, {len(data.cases)}, {wanted})) {{",
        ]
        for k, case in enumerate(data.cases):
            lines += [f"    case {k}: {{", *(f"        {line}" for line in self._case(type, case, first + k)), "    }"]
        return [*lines, "}", "__builtin_unreachable();"]

    def _case(self, type: DataT, case: Case, index: int) -> list[str]:
        """Statements that read an object of class `index` as the case."""
        lines = [f"auto* v = s.cx.host.make<{self.types.case(type, case.name)}>(1);"]
        lines += [f"v->tag = {self.types.tag(type, case.name)};"]
        if case.fields:
            lines += [f"const Class& cls = s.classes[{index}];", 'const char* at = "";', "try {"]
            for k, (name, t) in enumerate(case.fields):
                member, value = self.types.field(type, case.name, name), self.read(t, f"cls.field(o, {k}, s.kept)")
                lines += [f"    at = {c_string('.' + name)};", f"    v->{member} = {value};"]
            lines += ["} catch (ReadError& e) {", "    e.within(at);", "    throw;", "}"]
        data = self.types.datatypes[type.name]
        if data.shared:
            lines += [f"remember(s, o, {self.classes.index((type.name, data.cases[0].name))}, v);"]
        return [*lines, "return v;"]
