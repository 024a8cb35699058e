"""The values of expressions while they are compiled: values of the program (`Dyn`), and others that are known at compile
time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, ClassVar, TypeAlias, TypeGuard

from backends.acrobat.core.exact import exactly
from backends.acrobat.core.span import Span
from backends.acrobat.core.types import BOOL, FLOAT, INT, DataT, ListT, ScalarT, TensorT, TupleT, Type
from backends.acrobat.frontend.reads import Reads
from backends.acrobat.frontend.types import (
    NEVER,
    NONE,
    SYMBOL,
    UNASSIGNED,
    UNKNOWN,
    HeldT,
    Mismatch,
    UnknownT,
    contains_unknown,
    is_shared,
    without_tuples,
)
from backends.acrobat.ir import nodes as n

END = 2**62
"""The end of a slice that names no end: more than any length."""


@dataclass(frozen=True, slots=True)
class Dyn:
    """A value of the program, as the operand of the core IR that holds it."""

    atom: n.Atom

    @property
    def type(self) -> Type:
        return self.atom.type


@dataclass(frozen=True, slots=True)
class Static:
    """A Python object known at compile time: a function, a class, a string, None, a shape, ..."""

    value: Any

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Static):
            return NotImplemented
        if self.value is None or other.value is None:  # the `__eq__` of a user's class may not expect None
            return self.value is other.value
        return self.value is other.value or bool(exactly(self.value) == exactly(other.value))


@dataclass(frozen=True, slots=True)
class Fixed:
    """A number among the arguments of a function that is compiled for this number and has no parameter for it."""

    value: bool | int | float


@dataclass(frozen=True, slots=True)
class TupleV:
    """A tuple whose components are known one by one, each a value of any kind."""

    items: tuple[Value, ...]


class ListedV(TupleV):
    """A tuple that the source writes as a list, `[tokens, score, state]`: its elements have several types."""

    __slots__ = ()


class Special:
    """A value that has few uses and cannot be one of the program: a bound method, an iterator, a module. The kinds that belong
    to PyTorch are defined in `tensors`, beside the code that handles them."""

    __slots__ = ()
    unrolled: ClassVar[bool] = False
    """Whether a list with such a value in it is treated as a tuple: loops over it are unrolled."""
    chosen: ClassVar[bool] = False
    """Whether a choice of such values at run time is a value, of which the program keeps the number."""

    @property
    def constants(self) -> tuple[Static, ...]:
        """The numbers or strings of one type of which it is one, chosen at run time; none of other values."""
        return ()

    @property
    def refusal(self) -> str:
        """The message that says why it cannot be a value of the program."""
        raise NotImplementedError

    @property
    def python_object(self) -> Any:
        """The Python object that it stands for if the source may ask for its class, else None."""
        return None

    def has_attribute(self, reads: Reads, name: str) -> bool | None:
        """Whether it has an attribute, which is noted in `reads`; None where the source may not ask that."""
        return None

    def signature(self, of: Callable[[Value], Any]) -> Any:
        """The key of this argument: calls of a function with equal keys share one compiled function. `of` gives the key of a
        value inside this one. Raises Mismatch."""
        raise Mismatch(self.refusal)

    def operands(self, of: Callable[[Value], list[n.Atom]]) -> list[n.Atom]:
        """The operands that a call passes for this argument; `of` gives those of a value inside. Raises Mismatch."""
        raise Mismatch(self.refusal)

    def parameter(self, inner: Callable[[Value], Value], weight: Callable[[str, Type], n.Var]) -> Value:
        """The value that the called function has for this argument. `inner` gives that of a value inside; `weight` makes a
        parameter for a tensor of a module from its name in the module and its type. Raises Mismatch."""
        raise Mismatch(self.refusal)


@dataclass(frozen=True, slots=True)
class Held(Special):
    """A value with few uses. `kind` is a key of HELD."""

    kind: str
    value: Value

    @property
    def refusal(self) -> str:
        return HELD[self.kind]

    def signature(self, of: Callable[[Value], Any]) -> Any:
        return self.kind, of(self.value)

    def operands(self, of: Callable[[Value], list[n.Atom]]) -> list[n.Atom]:
        return of(self.value)

    def parameter(self, inner: Callable[[Value], Value], weight: Callable[[str, Type], n.Var]) -> Value:
        return Held(self.kind, inner(self.value))


class Nothing(Special):
    """The value of a name on a path that assigns nothing to it, where another path does."""

    __slots__ = ()

    refusal: ClassVar[str] = "this name has no value here"


NOTHING = Nothing()


Value: TypeAlias = Dyn | Static | Fixed | TupleV | Special

HELD = {
    "iterator": "an iterator is exhausted by its first use: write list(...) around it",
    "constant": "an object that keeps a module or a function is taken apart by the names of its attributes only",
    "spread": "a list whose length is known at run time only is given with `*` last, to a function of the model",
}
"""The kinds of `Held`, each with the message for uses that it does not have. `zip(...)` and the like are iterators."""
VARIABLES: set[str] = {"constant"}
"""The kinds of `Held` that a variable of the program may hold; its type is a `HeldT`."""


@dataclass(frozen=True, slots=True)
class Placeholder(n.Var):
    """Stands for a value that cannot be computed yet. It has no name. A later round compiles its function again without it."""


@dataclass(frozen=True, slots=True)
class EmptyPlaceholder(Placeholder):
    """Stands for a list, set or dictionary that is still empty, so that the type of its elements is not known."""


def unknown() -> Dyn:
    """A placeholder of which not even the type is known."""
    return Dyn(Placeholder("", UNKNOWN))


def guess(type: Any) -> Dyn:
    """A placeholder of a known type: types found with its help are right, but the function must be compiled again."""
    return held_in(Dyn(Placeholder("", type)))  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class FilledPlaceholder(Placeholder):
    """Stands for a list or dictionary with elements whose type is known in part only."""


def empty(type: Any, span: Span) -> Dyn:
    """A placeholder for an empty list, set or dictionary that the source makes at `span`."""
    return Dyn(EmptyPlaceholder("", type, span=span))


def is_placeholder(value: Value) -> bool:
    return isinstance(value, Dyn) and isinstance(value.atom, Placeholder)


def is_empty(value: Value) -> bool:
    """Whether nothing has been put into the list, set or dictionary so far."""
    return isinstance(value, Dyn) and isinstance(value.atom, EmptyPlaceholder)


def is_unknown(value: Value) -> bool:
    return isinstance(value, Dyn) and contains_unknown(value.type)


def type_or_none(value: Value) -> Any:
    """As `type_of`; None for what cannot be a value of the program."""
    try:
        return type_of(value)
    except Mismatch:
        return None


def is_iterator(value: Any) -> TypeGuard[Held]:
    """Whether a value is an iterator, which its first use exhausts."""
    return isinstance(value, Held) and value.kind == "iterator"


def type_inside(value: Any) -> Any:
    """As `type_or_none`; of an iterator the type of the list of what it gives."""
    return type_or_none(value.value if is_iterator(value) else value)


def known(value: Value) -> tuple[bool, Any]:
    """Whether the value is known at compile time, and then what it is."""
    if isinstance(value, Static):
        return True, value.value
    if isinstance(value, Dyn) and isinstance(value.atom, n.Lit):
        return True, value.atom.value
    return False, None


def held_atoms(value: Value) -> list[n.Atom]:
    """The operands of the program that a value is made of: those that a function holds, the components of a tuple."""
    match value:
        case Dyn(atom):
            return [atom]
        case TupleV(items):
            return [atom for v in items for atom in held_atoms(v)]
        case Special() if value is not NOTHING:
            return value.operands(held_atoms)
    return []


def variable_of(value: Any) -> str:
    """The name of the program's variable that holds a value; "" if none does."""
    return getattr(value.atom, "name", "") if isinstance(value, Dyn) else ""


def is_number(value: Value) -> bool:
    return isinstance(type_or_none(value), ScalarT)


def is_list(value: Value) -> bool:
    """Whether the value is a list of Python's, not a ragged tensor, set or dictionary."""
    t = type_or_none(value)
    return isinstance(t, ListT) and t.rows is None and t.kind == "list"


def is_plain(value: Value) -> bool:
    """Whether a value is a number or a string, which nothing changes."""
    t = type_or_none(value)
    return isinstance(t, ScalarT) or t == SYMBOL


def is_string(value: Value) -> bool:
    """Whether a value is a string: one that is known, or one of the program."""
    return isinstance(known(value)[1], str) or kind(value) == "string"


def holds_constant_list(value: Value) -> bool:
    """Whether a value is a list, set or dictionary that is known at compile time, or a tuple with one in it."""
    match value:
        case Static(tuple() as items):
            return any(holds_constant_list(Static(v)) for v in items)
        case TupleV(items):
            return any(map(holds_constant_list, items))
    return isinstance(value, Static) and isinstance(value.value, (list, set, dict))


def is_container(value: Value) -> bool:
    """Whether the value is a list, set or dictionary of Python's."""
    t = type_or_none(value)
    return isinstance(t, ListT) and t.rows is None


def is_ragged(value: Any) -> bool:
    """Whether the value is a tensor with an extent that varies between instances."""
    return isinstance(value, Dyn) and isinstance(value.type, ListT) and value.type.rows is not None


def retyped(value: Dyn, type: Any) -> Dyn:
    """The same variable with another type, such as a list seen as a ragged tensor. Nothing is computed."""
    assert isinstance(value.atom, n.Var)
    return Dyn(replace(value.atom, type=type))


def as_kind(value: Any, kind: str) -> Dyn:
    """The same list of the program seen as another kind of Python's: a tuple whose length varies as a list, say."""
    assert isinstance(value.type, ListT)
    return retyped(value, replace(value.type, kind=kind))


def as_tuple(value: Value) -> Value:
    """A list of the program as a tuple whose length varies; other values unchanged."""
    return as_kind(value, "tuple") if is_list(value) else value


def untupled(value: Value) -> Value:
    """A tuple whose length varies as a list; other values unchanged."""
    return as_kind(value, "list") if kind(value) == "varying tuple" else value


def as_lists(value: Value) -> Value:
    """A list or tuple whose length varies as a list, and so are those in it; other values unchanged."""
    return retyped(value, without_tuples(value.type)) if isinstance(value, Dyn) else value


def held_in(value: Dyn) -> Value:
    """What a variable holds: the value with few uses in a variable of a type `HeldT`, any other variable's value as it is."""
    match value.type:
        case HeldT(kind, inner):
            return Held(kind, held_in(Dyn(replace(value.atom, type=inner))))
    return value


def is_tensor(value: Any) -> bool:
    return isinstance(value, Dyn) and isinstance(value.type, TensorT)


def is_array(value: Any) -> bool:
    """Whether the value is a tensor, of fixed shape or ragged."""
    return is_tensor(value) or is_ragged(value)


MUTABLE = frozenset({"mask", "index", "ids", "loose", "row"})
"""The kinds of `Held` that are tensors of PyTorch's, which `+=` and `&=` change under all their names."""


def is_held_tensor(value: Any) -> bool:
    """Whether the value is a tensor that the program has in another form, such as a mask."""
    return isinstance(value, Held) and value.kind in MUTABLE


def is_staged(value: Value) -> bool:
    """Whether a value is one of the program, or a tuple with one in it: a single branch may have bound its variables."""
    if isinstance(value, TupleV):
        return any(map(is_staged, value.items))
    if isinstance(value, Held):
        return is_staged(value.value)
    return isinstance(value, Dyn) or isinstance(value, Special) and bool(value.constants)


def is_never(value: Any) -> bool:
    """Whether the value does not exist, since computing it always raises an error."""
    return isinstance(value, Dyn) and value.type is NEVER


def is_object(value: Any) -> bool:
    """Whether the value is an object of a class, or of one of several, or None."""
    return isinstance(value, Dyn) and isinstance(value.type, DataT)


def nothing_known(value: Value) -> bool:
    """Whether nothing is known of a value, not even that it is a list, set or dictionary."""
    return is_unknown(value) and not is_container(value)


def kind(value: Value) -> Any:
    """The key of a value in `evaluator/tables.py`: a word for the type of a value of the program, the class of any other."""
    if not isinstance(value, Dyn):
        return TupleV if isinstance(value, TupleV) else type(value)
    match value.type:
        case ListT(rows=int()):
            return "ragged"
        case ListT(kind="tuple"):
            return "varying tuple"
        case ListT(kind=what):
            return what.partition(":")[0]
        case UnknownT():
            return "unknown"
        case DataT() if is_shared(value.type):
            return "shared"
    return KINDS.get(type(value.type), "other")


KINDS: dict[type, str] = {
    TensorT: "tensor",
    TupleT: "tuple",
    DataT: "object",
    ScalarT: "number",
    type(SYMBOL): "string",
    type(NEVER): "never",
}


def type_of(value: Value) -> Any:
    """The type the value has as a value of the program. Raises Mismatch if it cannot be one."""
    match value:
        case Dyn():
            return value.type
        case TupleV(items):
            return TupleT(tuple(type_of(v) for v in items), listed=isinstance(value, ListedV))
        case Static(tuple() as items):
            return TupleT(tuple(type_of(Static(v)) for v in items))
        case Static(bool()):
            return BOOL
        case Static(int()):
            return INT
        case Static(float()):
            return FLOAT
        case Static(None):
            return NONE
        case Static(str() | Enum()):
            return SYMBOL
        case Static(v):
            raise Mismatch(f"`{getattr(v, '__name__', v)}` cannot be kept in a variable of the compiled program")
        case Nothing():
            return UNASSIGNED
        case Held(kind, inner) if kind in VARIABLES:
            return HeldT(kind, type_of(inner))
        case Held("ids", TupleV(items)):
            return ListT(INT, 0, extent=len(items))
        case Special() if value.constants:
            return type_of(value.constants[0])
        case Special():
            raise Mismatch(value.refusal)
