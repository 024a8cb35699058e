"""Types of the core IR. A shape is static, the same for all instances; lists are as long as each instance makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal, TypeAlias

DType: TypeAlias = Literal["float32", "int64"]


@dataclass(frozen=True, slots=True)
class TensorT:
    shape: tuple[int, ...]
    dtype: DType = "float32"

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class ScalarT:
    """A host scalar: 64-bit int or float, or bool. Never a device tensor."""

    kind: Literal["int", "bool", "float"]


@dataclass(frozen=True, slots=True)
class TupleT:
    items: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class ListT:
    """A list. While the front end works, `rows` says that it stands for a *ragged tensor*, whose extent along that dimension
    each instance has its own of: the items are the tensor's parts along it. A finished program has plain lists (None)."""

    item: Type
    rows: int | None = None
    kind: str = "list"
    """While the front end works: whether it stands for a "set", or for a dictionary, whose items are pairs: "dict", or "dict:"
    and what it has for keys that it has not ("int", "float", "list", "set", "dict", or "count" for a Counter)."""


@dataclass(frozen=True, slots=True)
class DataT:
    """A union of dataclasses, by name; its cases stand in `Program.datatypes`."""

    name: str


Type: TypeAlias = TensorT | ScalarT | TupleT | ListT | DataT

INT, BOOL, FLOAT = ScalarT("int"), ScalarT("bool"), ScalarT("float")
UNIT = TupleT(())


@dataclass(frozen=True, slots=True)
class Case:
    """One dataclass of a union. `cls` is the Python class instances are read from and results are built with (None: the
    value `None` itself, the empty case of an optional; `type(None)` is not used). It takes no part in comparison.

    The full case of `T | None` is named "Some" with the single field "value" and `cls` None as well: the Python value is the
    field's own, unwrapped.
    """

    name: str
    fields: tuple[tuple[str, Type], ...]
    cls: Any = field(default=None, compare=False)


IDENTITY = "number_of_object"
"""The field that stands for `id(x)`: two objects of one instance have the same number only if they are one object."""


@dataclass(frozen=True, slots=True)
class DataType:
    name: str
    cases: tuple[Case, ...]

    def case(self, name: str) -> Case:
        return next(c for c in self.cases if c.name == name)

    @property
    def optional(self) -> bool:
        return {c.name for c in self.cases} == {"Some", "None"}

    @property
    def shared(self) -> bool:
        """Whether the program tells its objects apart by `id`: an object that is reached by several ways is then read once."""
        return any(name == IDENTITY for c in self.cases for name, _ in c.fields)


def holds_tensor(type: Type, datatypes: Mapping[str, DataType], within: frozenset[str] = frozenset()) -> bool:
    """Whether values of the type may have tensors in them. `within`: the unions that are being asked about, for recursion."""
    match type:
        case TensorT():
            return True
        case TupleT(items):
            return any(holds_tensor(item, datatypes, within) for item in items)
        case ListT(item):
            return holds_tensor(item, datatypes, within)
        case DataT(name) if name not in within:
            fields = (t for c in datatypes[name].cases for _, t in c.fields)
            return any(holds_tensor(t, datatypes, within | {name}) for t in fields)
    return False
