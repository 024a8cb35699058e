"""C++ names and types for the program's: one place decides how a value of the core IR looks in the generated code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from backends.acrobat.ir.types import DataT, DataType, ListT, ScalarT, TensorT, TupleT, Type

RESERVED = frozenset(
    """alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const constexpr continue default
    delete do double else enum explicit export extern false float for friend goto if inline int long mutable namespace new
    noexcept not not_eq nullptr operator or or_eq private protected public register return short signed sizeof static struct
    switch template this throw true try typedef union unsigned using virtual void volatile while xor xor_eq cx s depth std
    int64_t Tensor List Context Session Bucket""".split()  # noqa: SIM905
)


def identifier(name: str) -> str:
    """`name` as a C++ identifier: readable, not yet unique."""
    text = re.sub(r"\W+", "_", name).strip("_") or "v"
    text = re.sub(r"__+", "_", text)
    if text[0].isdigit():
        text = f"v{text}"
    return f"{text}_" if text in RESERVED else text


class Names:
    """Unique identifiers within one scope."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)

    def fresh(self, name: str) -> str:
        base = identifier(name)
        text, n = base, 2
        while text in self.taken:
            text, n = f"{base}_{n}", n + 1
        self.taken.add(text)
        return text


class Types:
    """The C++ types of a program: unions of dataclasses become a tagged base struct with one struct per case."""

    def __init__(self, datatypes: Mapping[str, DataType]) -> None:
        self.datatypes = datatypes
        self.names = {}
        names = Names()
        for name in datatypes:
            self.names[name] = names.fresh(name)

    def cpp(self, type: Type) -> str:
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
        """How a variable of the type that never changes is declared."""
        cpp = self.cpp(type)
        return f"{cpp} const" if cpp.endswith("*") else f"const {cpp}"

    def case(self, type: DataT, case: str) -> str:
        return f"{self.names[type.name]}_{identifier(case)}"

    def tag(self, type: DataT, case: str) -> str:
        return f"{self.names[type.name]}::k{identifier(case)}"

    def suffix(self, type: Type) -> str:
        """A part of a function name that tells types apart."""
        match type:
            case TensorT(shape, dtype):
                return "_".join([dtype, *map(str, shape)])
            case ScalarT(kind):
                return kind
            case TupleT(items):
                return "tuple_" + "_".join(map(self.suffix, items)) + "_end"
            case ListT(item):
                return f"list_{self.suffix(item)}"
            case DataT(name):
                return self.names[name]

    def has_tensor(self, type: Type, within: frozenset[str] = frozenset()) -> bool:
        match type:
            case TensorT():
                return True
            case ScalarT():
                return False
            case TupleT(items):
                return any(self.has_tensor(item, within) for item in items)
            case ListT(item):
                return self.has_tensor(item, within)
            case DataT(name):
                if name in within:
                    return False
                cases = self.datatypes[name].cases
                return any(self.has_tensor(t, within | {name}) for c in cases for _, t in c.fields)

    def declarations(self) -> str:
        """The structs of all unions."""
        out = [f"struct {self.names[name]};" for name in self.datatypes]
        for name, data in self.datatypes.items():
            cpp = self.names[name]
            tags = ", ".join(f"k{identifier(c.name)}" for c in data.cases)
            out += ["", f"struct {cpp} {{", f"    enum Tag : int32_t {{ {tags} }};", "    Tag tag;", "};"]
            for case in data.cases:
                fields = [f"    {self.cpp(t)} {field_name(f)};" for f, t in case.fields]
                out += [f"struct {self.case(DataT(name), case.name)} : {cpp} {{", *fields, "};"]
        return "\n".join(out)


def field_name(name: str) -> str:
    return identifier(name)


def c_string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
