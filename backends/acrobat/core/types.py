"""Types of the core IR. Shapes of tensors are static, the same for all instances; the length of a list may differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal, TypeAlias, get_args

DType: TypeAlias = Literal["float32", "int64"]
TensorKind: TypeAlias = Literal["tensor", "ints", "mask"]
"""Tensors of floats, of ints and of bools."""
Container: TypeAlias = Literal["list", "tuple", "set", "dict", "iterator"]
"""What a list of the program represents in Python: a list, a tuple whose length varies, a set, a dictionary as the list of its
pairs, or what is left of an iterator."""


@dataclass(frozen=True, slots=True)
class TensorT:
    """A tensor."""

    shape: tuple[int, ...]
    dtype: DType = "float32"

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def width(self) -> int:
        """The memory that one tensor takes, in units of 4 bytes, without padding."""
        return self.size * (2 if self.dtype == "int64" else 1)


@dataclass(frozen=True, slots=True)
class ScalarT:
    """A host scalar: 64-bit int or float, or bool. Never a device tensor."""

    kind: Literal["int", "bool", "float"]


@dataclass(frozen=True, slots=True)
class TupleT:
    """A tuple of a fixed length, which has a type for each item. In the front end one that is `listed` is written as a list,
    `[tokens, score, state]`; that makes a difference for results only."""

    items: tuple[Type, ...]
    listed: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class MissingKeys:
    """What a dictionary gives for a missing key, where that is not an error."""

    maker: str
    """What makes the value: a word of `frontend/instances/default_dicts.py`, or the place of a function."""
    given: bool = False
    """Whether it is a `defaultdict` of an instance: those that the model makes are of other kinds."""


@dataclass(frozen=True, slots=True, repr=False)
class ListKind:
    """In the front end, what a list of the program represents in Python."""

    container: Container = "list"
    cls: str = ""
    """The name of the class of the source that is derived from that container (`frontend/derived_containers.py`)."""
    missing: MissingKeys | None = None

    def __str__(self) -> str:
        word = "" if self.missing is None else "given " * self.missing.given + self.missing.maker
        inside = f"of {self.cls}|{word}" if self.cls else word
        return f"{self.container}:{inside}" if inside else self.container

    def __repr__(self) -> str:
        return repr(str(self))

    def __hash__(self) -> int:
        return hash(self.container)  # types are hashed often, and there are few kinds of one container


LIST, TUPLE, SET, DICT, ITERATOR = (ListKind(container) for container in get_args(Container))
"""Containers of Python's own, without values for missing keys."""
COUNTER = ListKind("dict", missing=MissingKeys("count"))
"""A `Counter`, which is the dictionary of its numbers."""


@dataclass(frozen=True, slots=True)
class ListT:
    """A list. In the front end, one with `rows` represents a *ragged tensor*, whose extent along dimension `rows` differs from
    instance to instance: the items are the tensor's parts along that dimension. In a finished program `rows` is None."""

    item: Type
    rows: int | None = None
    kind: ListKind = LIST
    """In a finished program LIST."""
    extent: int | None = None
    """Of a tensor of ints that the host has: its extent along `rows`, where that is known at compile time."""
    units: int = 0
    """Of a ragged tensor of numbers: how many dimensions of extent 1 follow the varying one; `rows` such ones precede it. In
    the type of a result -1 stands for a tensor of one number that has no dimensions."""

    @property
    def container(self) -> Container:
        """What the list represents, whatever its class and its value for missing keys are."""
        return self.kind.container


@dataclass(frozen=True, slots=True)
class DataT:
    """A union of dataclasses, by name; its cases stand in `Program.datatypes`."""

    name: str


Type: TypeAlias = TensorT | ScalarT | TupleT | ListT | DataT

INT, BOOL, FLOAT = ScalarT("int"), ScalarT("bool"), ScalarT("float")
UNIT = TupleT(())


class TensorWord(str):
    """The word for tensors of one kind and rank in a mixed union, such as `ints1`. Where tensors of several shapes are told
    apart it has a shape, which stands behind the rank: `tensor2_1xn`."""

    kind: TensorKind
    rank: int
    shape: tuple[int | None, ...] | None
    """The extents, of which None is one that varies."""

    @property
    def without_shape(self) -> TensorWord:
        return tensor_word(self.kind, self.rank)


def tensor_word(kind: TensorKind, rank: int, shape: tuple[int | None, ...] | None = None) -> TensorWord:
    extents = "" if shape is None else "_" + "x".join("n" if e is None else str(e) for e in shape)
    word = TensorWord(f"{kind}{rank}{extents}")
    word.kind, word.rank, word.shape = kind, rank, shape
    return word


RANKS = tuple(tensor_word(kind, rank) for kind in get_args(TensorKind) for rank in range(7))
"""Tensors of floats, of ints and of bools by their rank, in a mixed union with tensors of several kinds or ranks."""
PYTHON_TYPES = ("bool", "int", "float", "str", "tensor", *RANKS, "tuple", "list", "dict", "object")
"""The Python types among which the values of a *mixed* union are told apart, as in trees `("S", ("NP", "dogs"), "bark")`. The
case of each is named `of_` with the type behind it, and has the single field "value"."""


def is_tensor_word(word: str) -> bool:
    """Whether a word for one of the types in a mixed union is that of tensors."""
    return word == "tensor" or isinstance(word, TensorWord)


def without_shape(words: Iterable[str]) -> frozenset[str]:
    """Words for types in a mixed union, with those for tensors of one shape as those for all of their rank."""
    return frozenset(word.without_shape if isinstance(word, TensorWord) else word for word in words)


@dataclass(frozen=True, slots=True)
class Case:
    """One dataclass of a union. `cls`, which is not compared, is the Python class that instances are read from and results are
    built with. It is None, never `type(None)`, for the empty case of `T | None`, which is the Python value `None`.

    The full case of `T | None` is named "Some" and has the single field "value". Its `cls` is None too: its Python value is
    the value of the field, unwrapped.
    """

    name: str
    fields: tuple[tuple[str, Type], ...]
    cls: Any = field(default=None, compare=False)
    word: str = field(default="", compare=False)
    """Of a case of a mixed union, the type of Python's own of its values: one of `PYTHON_TYPES`, or that with a shape."""

    @property
    def rank(self) -> int | None:
        """The rank of the tensors that a case of a mixed union stands for; None where that does not tell it from others."""
        return self.word.rank if isinstance(self.word, TensorWord) else None

    @property
    def numbered(self) -> bool:
        """Whether its values have numbers that tell them apart (`IDENTITY`). In results they are the instance's own objects."""
        return any(name == IDENTITY for name, _ in self.fields)


IDENTITY = "number of object"
"""The name of the field that represents `id(x)`: two values in an instance have equal numbers only if they are one object. No
attribute of a class of the source has such a name."""


@dataclass(frozen=True, slots=True)
class DataType:
    """A union of dataclasses, which are its cases; or an optional, or a mixed union."""

    name: str
    cases: tuple[Case, ...]

    def case(self, name: str) -> Case:
        """The case of this name, which there must be."""
        return next(c for c in self.cases if c.name == name)

    @property
    def optional(self) -> bool:
        """Whether it stands for `T | None`."""
        return {c.name for c in self.cases} == {"Some", "None"}

    @property
    def mixed(self) -> bool:
        """Whether the cases stand for types of Python's own (`PYTHON_TYPES`), whose values they hold."""
        return any(c.word for c in self.cases)

    @property
    def shared(self) -> bool:
        """Whether the program compares objects of the union by `id`; each object is then read once, however it is reached."""
        return any(c.numbered for c in self.cases)


def holds_tensor(type: Type, datatypes: Mapping[str, DataType], within: frozenset[str] = frozenset()) -> bool:
    """Whether values of `type` may contain tensors. `within`: the unions that are being searched, so that recursion ends."""
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
