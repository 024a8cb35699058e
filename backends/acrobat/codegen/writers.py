"""Generated writers: results as Python objects. Tensors of one type are first gathered into one buffer, which Python allocates
and splits; then the structure is built around them."""

from __future__ import annotations

from backends.acrobat.codegen.cpp import Types
from backends.acrobat.core.types import DataT, ListT, ScalarT, TensorT, TupleT, Type


class Writers:
    """`tensors` lists the tensor types in the order of the `Outgoing`s."""

    def __init__(self, types: Types, classes: list[tuple[str, str]]) -> None:
        self.types = types
        self.classes = classes
        self.tensors: list[TensorT] = []
        self.functions: dict[Type, list[str]] = {}

    @property
    def text(self) -> str:
        heads = [body.split(" {", 1)[0] + ";" for bodies in self.functions.values() for body in bodies]
        return "\n".join([*heads, "", *(b for bodies in self.functions.values() for b in bodies)])

    def collect(self, type: Type, value: str) -> str:
        """A statement that notes the tensors of `value`, in the order `build` takes them."""
        match type:
            case ScalarT():
                return ""
            case TensorT():
                return f"out[{self._tensor(type)}].tensors.push_back({value});"
            case _:
                self._need(type)
                return f"collect_value_{self.types.suffix(type)}(s, out, {value});"

    def build(self, type: Type, value: str) -> str:
        """An expression for a new reference."""
        match type:
            case ScalarT("int"):
                return f"build_int({value})"
            case ScalarT("bool"):
                return f"build_bool({value})"
            case ScalarT():
                return f"build_float({value})"
            case TensorT():
                return f"out[{self._tensor(type)}].take()"
            case _:
                self._need(type)
                return f"build_value_{self.types.suffix(type)}(s, out, {value})"

    def _tensor(self, type: TensorT) -> int:
        if type not in self.tensors:
            self.tensors.append(type)
        return self.tensors.index(type)

    def _need(self, type: Type) -> None:
        if type not in self.functions:
            self.functions[type] = []
            self.functions[type] = [self._collect(type), self._build(type)]

    def _collect(self, type: Type) -> str:
        cpp, suffix = self.types.cpp(type), self.types.suffix(type)
        lines = [f"static void collect_value_{suffix}(Session& s, std::vector<Outgoing>& out, {cpp} const& v) {{"]
        match type:
            case ListT(item):
                inner = self.collect(item, "item")
                lines += [f"    for (const auto& item : v) {{ {inner} }}"] if inner else ["    (void)s, (void)out, (void)v;"]
            case TupleT(items):
                inner_lines = [self.collect(t, f"std::get<{i}>(v)") for i, t in enumerate(items)]
                lines += [f"    {line}" for line in inner_lines if line] or ["    (void)s, (void)out, (void)v;"]
            case DataT(name):
                lines += ['    s.cx.guard("the result");', "    (void)out;", "    switch (v->tag) {"]
                for case in self.types.datatypes[name].cases:
                    lines += [f"        case {self.types.tag(type, case.name)}: {{"]
                    lines += [f"            [[maybe_unused]] auto* c = static_cast<{self.types.case(type, case.name)}*>(v);"]
                    for f, t in case.fields:
                        if line := self.collect(t, f"c->{self.types.field(type, case.name, f)}"):
                            lines += [f"            {line}"]
                    lines += ["            break;", "        }"]
                lines += ["    }"]
        return "\n".join([*lines, "}", ""])

    def _build(self, type: Type) -> str:
        cpp, suffix = self.types.cpp(type), self.types.suffix(type)
        lines = [
            f"static PyObject* build_value_{suffix}(Session& s, std::vector<Outgoing>& out, {cpp} const& v) {{",
            "    (void)s, (void)out;",
        ]
        match type:
            case ListT(item):
                lines += [
                    "    Ref list(new_list(v.size));",
                    "    for (int64_t i = 0; i < v.size; ++i)",
                    f"        put_in_list(list.get(), i, {self.build(item, 'v.data[i]')});",
                    "    return list.release();",
                ]
            case TupleT(items):
                lines += [f"    Ref tuple(new_tuple({len(items)}));"]
                for i, t in enumerate(items):
                    lines += [f"    put_in_tuple(tuple.get(), {i}, {self.build(t, f'std::get<{i}>(v)')});"]
                lines += ["    return tuple.release();"]
            case DataT(name):
                lines += self._build_data(type, name)
        return "\n".join([*lines, "}", ""])

    def _build_data(self, type: DataT, name: str) -> list[str]:
        data = self.types.datatypes[name]
        lines = ['    s.cx.guard("the result");', "    switch (v->tag) {"]
        for case in data.cases:
            lines += [f"        case {self.types.tag(type, case.name)}: {{"]
            lines += [f"            [[maybe_unused]] auto* c = static_cast<{self.types.case(type, case.name)}*>(v);"]
            if data.optional:
                if case.name == "None":
                    lines += ["            return build_none();"]
                else:
                    held = f"c->{self.types.field(type, case.name, 'value')}"
                    lines += [f"            return {self.build(case.fields[0][1], held)};"]
            else:
                index = self.classes.index((name, case.name))
                lines += [f"            Ref values[{max(len(case.fields), 1)}];"]
                for k, (f, t) in enumerate(case.fields):
                    value = self.build(t, "c->" + self.types.field(type, case.name, f))
                    lines += [f"            values[{k}] = Ref({value});"]
                lines += [f"            return s.classes[{index}].make(values);"]
            lines += ["        }"]
        return [*lines, "    }", "    return nullptr;"]
