"""Generates writers: C++ that builds results as Python objects. `collect` functions note all tensors of results; those of one
type are copied to one buffer, which Python splits into tensors. `build` functions then make the objects around them."""

from __future__ import annotations

from typing import Any

from backends.acrobat.codegen.cpp import CppFunction, Types
from backends.acrobat.codegen.outside import Outside, ResultTensor
from backends.acrobat.core.types import IDENTITY, DataT, ListT, ScalarT, TensorT, TupleT
from backends.acrobat.frontend.instances.plain_types import plain_type
from backends.acrobat.frontend.types import NoneT, SymbolT


class Writers:
    """`tensors` becomes the list of the types of result tensors, in the order of the runtime's `Outgoing`s; `text` has the
    functions. Types are Python-side types (`outside.py`)."""

    def __init__(self, types: Types, outside: Outside, classes: list[tuple[str, str]]) -> None:
        self.types = types
        self.outside = outside
        self.classes = classes
        self.tensors: list[ResultTensor] = []
        self.functions: dict[Any, list[CppFunction]] = {}

    @property
    def text(self) -> str:
        functions = [f for of_type in self.functions.values() for f in of_type]
        return "\n".join([*(f.declaration for f in functions), "", *(f.text for f in functions)])

    def collect(self, type: Any, value: str) -> str:
        """The C++ statement that notes the tensors of `value`, in the order in which `build` takes them; "" if it has none."""
        match type:
            case ScalarT() | SymbolT() | NoneT():
                return ""
            case TensorT():
                return f"out[{self._tensor(type)}].tensors.push_back({value});"
            case ListT(rows=int()):
                return f"collect_varying(out[{self._tensor(type)}], {value});"
            case _:
                self._write_type(type)
                return f"collect_value_{self.types.suffix(type)}(s, out, {value});"

    def build(self, type: Any, value: str) -> str:
        """The C++ expression that builds the Python object for `value`, a new reference."""
        match type:
            case ScalarT("int"):
                return f"build_int({value})"
            case ScalarT("bool"):
                return f"build_bool({value})"
            case ScalarT():
                return f"build_float({value})"
            case SymbolT():
                return f"build_symbol(s, {value})"
            case NoneT():
                return "build_none()"
            case TensorT():
                return f"out[{self._tensor(type)}].take()"
            case ListT(rows=int()):
                return f"take_varying(s, out[{self._tensor(type)}])"
            case _:
                self._write_type(type)
                return f"build_value_{self.types.suffix(type)}(s, out, {value})"

    def _tensor(self, type: Any) -> int:
        tensor_type = ResultTensor.of(type)
        if tensor_type not in self.tensors:
            self.tensors.append(tensor_type)
        return self.tensors.index(tensor_type)

    def _write_type(self, type: Any) -> None:
        if type not in self.functions:
            self.functions[type] = []
            self.functions[type] = [self._collect(type), self._build(type)]

    def _collect(self, type: Any) -> CppFunction:
        cpp, suffix = self.types.cpp(plain_type(type)), self.types.suffix(type)
        head = f"static void collect_value_{suffix}(Session& s, std::vector<Outgoing>& out, {cpp} const& v)"
        lines: list[str] = []
        match type:
            case ListT(item):
                inner = self.collect(item, "item")
                lines += [f"for (const auto& item : v) {{ {inner} }}"] if inner else ["(void)s, (void)out, (void)v;"]
            case TupleT(items):
                inner_lines = [self.collect(t, f"std::get<{i}>(v)") for i, t in enumerate(items)]
                lines += [line for line in inner_lines if line] or ["(void)s, (void)out, (void)v;"]
            case DataT(name):
                lines += ['s.cx.guard("the result");', "(void)out;", "switch (v->tag) {"]
                for case in self.outside.datatypes[name].cases:
                    lines += [f"    case {self.types.tag(type, case.name)}: {{"]
                    lines += [f"        [[maybe_unused]] auto* c = static_cast<{self.types.case(type, case.name)}*>(v);"]
                    for f, t in case.fields if not case.numbered else ():
                        if line := self.collect(t, f"c->{self.types.field(type, case.name, f)}"):
                            lines += [f"        {line}"]
                    lines += ["        break;", "    }"]
                lines += ["}"]
        return CppFunction(head, lines)

    def _build(self, type: Any) -> CppFunction:
        cpp, suffix = self.types.cpp(plain_type(type)), self.types.suffix(type)
        head = f"static PyObject* build_value_{suffix}(Session& s, std::vector<Outgoing>& out, {cpp} const& v)"
        lines = ["(void)s, (void)out;"]
        match type:
            case ListT(TupleT((key, value)), container="dict"):
                lines += [
                    "Ref dict(new_dict());",
                    "for (const auto& pair : v) {",
                    f"    Ref key({self.build(key, 'std::get<0>(pair)')});",
                    f"    put_in_dict(dict.get(), key.release(), {self.build(value, 'std::get<1>(pair)')});",
                    "}",
                    "return dict.release();",
                ]
            case ListT(item, container="set"):
                lines += [
                    "Ref set(new_set());",
                    f"for (const auto& item : v) put_in_set(set.get(), {self.build(item, 'item')});",
                    "return set.release();",
                ]
            case ListT(item, container=container):
                which = "tuple" if container == "tuple" else "list"
                lines += [
                    f"Ref {which}(new_{which}(v.size));",
                    "for (int64_t i = 0; i < v.size; ++i)",
                    f"    put_in_{which}({which}.get(), i, {self.build(item, 'v.data[i]')});",
                    f"return {which}.release();",
                ]
            case TupleT(items):
                lines += [f"Ref tuple(new_tuple({len(items)}));"]
                for i, t in enumerate(items):
                    lines += [f"put_in_tuple(tuple.get(), {i}, {self.build(t, f'std::get<{i}>(v)')});"]
                lines += ["return tuple.release();"]
            case DataT(name):
                lines += self._build_data(type, name)
        return CppFunction(head, lines)

    def _build_data(self, type: DataT, name: str) -> list[str]:
        datatype = self.outside.datatypes[name]
        lines = ['s.cx.guard("the result");', "switch (v->tag) {"]
        for case in datatype.cases:
            lines += [f"    case {self.types.tag(type, case.name)}: {{"]
            lines += [f"        [[maybe_unused]] auto* c = static_cast<{self.types.case(type, case.name)}*>(v);"]
            if datatype.optional or datatype.mixed:
                if case.name == "None":
                    lines += ["        return build_none();"]
                else:
                    held = f"c->{self.types.field(type, case.name, 'value')}"
                    lines += [f"        return {self.build(case.fields[0][1], held)};"]
            elif case.numbered:
                lines += [f"        return build_object(s, c->{self.types.field(type, case.name, IDENTITY)});"]
            else:
                index = self.classes.index((name, case.name))
                lines += [f"        Ref values[{max(len(case.fields), 1)}];"]
                for k, (f, t) in enumerate(case.fields):
                    value = self.build(t, "c->" + self.types.field(type, case.name, f))
                    lines += [f"        values[{k}] = Ref({value});"]
                lines += [f"        return s.classes[{index}].make(values);"]
            lines += ["    }"]
        return [*lines, "}", "return nullptr;"]
