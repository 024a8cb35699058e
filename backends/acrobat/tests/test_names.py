"""Models may use any names, also keywords of C++, macros of its headers and names of the runtime."""

from __future__ import annotations

import builtins
import keyword
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch

from backends.acrobat import compile
from backends.acrobat.codegen.build import RUNTIME
from backends.acrobat.codegen.cpp import MARK, Identifiers, Types, identifier
from backends.acrobat.core.types import FLOAT, INT, Case, DataT, DataType, ListT, TupleT, Type
from backends.acrobat.options import Options
from backends.acrobat.tests.python_source import load_source

NAMES = """
    alignas alignof and_eq asm atomic_cancel auto bitand bitor case catch char char8_t char16_t char32_t compl concept
    const consteval constexpr constinit const_cast co_await co_return co_yield decltype default delete do double
    dynamic_cast enum explicit export extern false final friend goto inline int long mutable namespace new noexcept not_eq
    nullptr operator or_eq override private protected public register reinterpret_cast requires short signed sizeof static
    static_assert static_cast struct switch template this thread_local throw true typedef typeid typename union unsigned
    using virtual void volatile wchar_t xor xor_eq NULL INT_MAX INT64_MIN INFINITY NAN EOF BUFSIZ RAND_MAX SIGINT CHAR_BIT
    PATH_MAX M_PI PAGE_SIZE UINT64_C offsetof va_arg errno stdin stdout stderr linux unix i386 __linux__ __FILE__ __LINE__
    __x86_64__ _GNU_SOURCE major minor signbit isnan PyObject Py_None PyList_Check Py_RETURN_NONE ACROBAT_EXPORT
    ACROBAT_OPCODES std acrobat model detail vm Model Instance Result Task Child Join Session Context Tensor List Bucket
    Stage Unit Units Wait Waiting Frames Arena Worker Pool Outgoing Path Ref Class Counters InstanceError Value State Gemm
    Slot Register cx s depth depth_in kUnits tag Tag make_list get slice range zip enumerate read_int read_list_int
    build_int collect record run forward_ x_ x__ _x x_2 x_depth x_at result next join i o v r out main printf malloc exit
    abs floor div mod add eq size data storage int64_t double_t size_t tuple string vector make read build fields waits
    ünïcode 変数
""".split()  # noqa: SIM905 - a list of strings would fill pages
"""Some are keywords of Python, which cannot be used as names; `usable` leaves them out."""


SEEN_TO_FAIL = (
    "Task",
    "Instance",
    "co_await",
    "co_yield",
    "char8_t",
    "alignas",
    "asm",
    "NULL",
    "INT_MAX",
    "errno",
    "linux",
    "unix",
)


def usable(name: str, shadows: bool = True) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name) and (shadows or not hasattr(builtins, name))


def source(names: list[str]) -> str:
    """The text of a model that waits, and whose dataclasses, fields, methods, parameters and variables have these names."""
    lines = ["from __future__ import annotations", "from dataclasses import dataclass", "import torch"]
    lines += ["from torch import nn", "from torch import Tensor as TorchTensor", ""]
    classes = [n for k, n in enumerate(n for n in names if usable(n, shadows=False)) if k % 2 == 0 or n in SEEN_TO_FAIL]
    for n in classes:
        lines += ["@dataclass(frozen=True)", f"class {n}:", f"    {n}: int", f"    x_{n}: float", ""]
    groups = [names[k : k + 10] for k in range(0, len(names), 10)]
    for k, group in enumerate(groups):
        lines += ["@dataclass(frozen=True)", f"class Group{k}:", *(f"    {n}: int" for n in group)]
        lines += [f"    of_{n}: list[{n}]" for n in group if n in classes]
    lines += ["@dataclass(frozen=True)", "class Everything:", *(f"    g{k}: Group{k}" for k in range(len(groups)))]
    lines += ["", "class Named(nn.Module):", "    def __init__(self):", "        super().__init__()"]
    lines += ["        self.weight = nn.Parameter(torch.ones(4))", ""]
    methods = [n for n in names if not hasattr(torch.nn.Module, n) and not n.startswith("__")][::5]
    for n in methods:
        lines += [f"    def {n}(self, n: int) -> int:", f"        return n + self.{n}(n - 1) if n > 0 else 1", ""]
    for k, group in enumerate(groups):
        lines += [f"    def f_{k}(self, g: Group{k}) -> float:", "        part = 0.0"]
        lines += [f"        {n} = g.{n}" for n in group]  # a loop's variables keep their names
        lines += [f"        while {group[0]} < 90:", *(f"            {n} = {n} * 3 + 1" for n in group)]
        for n in group:
            if n in classes:
                lines += [f"        for one in g.of_{n}:", f"            part = part + one.{n} * one.x_{n}"]
        calls = [f"self.{n}({n} - {n} + 3)" for n in group if n in methods]
        lines += [f"        return part + {' + '.join(group + calls)}", ""]
    lines += ["    def forward(self, everything: Everything) -> tuple[float, TorchTensor]:"]
    lines += ["        total = 0.0", "        errno = torch.tanh(self.weight)", "        co_await = errno + 1.0"]
    lines += [f"        total = total + self.f_{k}(everything.g{k})" for k in range(len(groups))]
    lines += ["        if co_await.sum() > 0.5:", "            co_await = torch.tanh(co_await)"]
    return "\n".join([*lines, "        return total, co_await", ""])


def filled(module: Any, group: Any) -> Any:
    """An instance of the dataclass `group`, with small numbers in int fields and two items in list fields."""
    values: dict[str, Any] = {}
    for k, field in enumerate(fields(group)):
        of = getattr(module, field.name.removeprefix("of_"), None) if str(field.type).startswith("list") else None
        values[field.name] = k if of is None else [of(k, 0.5), of(2, 0.25)]
    return group(**values)


def test_every_name_can_be_used(tmp_path: Path, cache: Path, codegen: Any) -> None:
    every = list(dict.fromkeys(n for n in NAMES if usable(n)))
    names = [n for k, n in enumerate(every) if k % 5 == (codegen == "vm") or n in SEEN_TO_FAIL]
    module = load_source(source(names), tmp_path, f"named_{codegen}")
    model = module.Named()
    groups = [getattr(module, f"Group{k}") for k in range((len(names) + 9) // 10)]
    instance = module.Everything(*(filled(module, group) for group in groups))
    (got,) = compile(model, cache_folder=cache, checked=True, options=Options(codegen=codegen, coarsen=False))([instance])
    want = model(instance)
    assert got[0] == want[0]
    torch.testing.assert_close(got[1], want[1].detach())


def test_names_are_unique_and_none_of_the_runtimes() -> None:
    text = "".join(p.read_text() for p in RUNTIME.rglob("*.h"))
    scope = Identifiers()
    made = [scope.fresh(n) for n in [*NAMES, *NAMES]]
    assert len(set(made)) == len(made)
    for name in made:
        assert name.endswith(MARK) and name.isascii() and name.isidentifier()
        assert f"#define {name}" not in text, name
    assert identifier("a.b-c") == "a_b_c" and identifier("3d") == "v3d" and identifier("__") == "v"


def test_fields_cases_and_types_that_look_alike() -> None:
    def data(name: str, *cases: tuple[str, tuple[str, ...]]) -> DataType:
        return DataType(name, tuple(Case(c, tuple((f, INT) for f in fields)) for c, fields in cases))

    unions = [data("A", ("B_C", ("x", "x_", "_x", "x__"))), data("A_B", ("C", ())), data("int", ("_C", ()), ("C", ()))]
    types = Types({d.name: d for d in unions})
    fields = types.fields["A", "B_C"]
    assert len(set(fields.values())) == 4
    structs = [*types.names.values(), *types.cases.values()]
    assert len(set(structs)) == len(structs)
    assert types.tag(DataT("int"), "_C") != types.tag(DataT("int"), "C")
    alike: list[Type] = [
        ListT(INT),
        ListT(DataT("int")),
        DataT("int"),
        INT,
        TupleT((INT, FLOAT)),
        TupleT((DataT("int"), FLOAT)),
    ]
    assert len({types.suffix(t) for t in alike}) == len(alike)
