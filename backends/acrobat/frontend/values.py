"""The values of expressions while they are compiled: values of the program (`Dyn`), and others that are known at compile
time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, TypeAlias

from backends.acrobat.core.exact import exactly
from backends.acrobat.core.span import Span
from backends.acrobat.core.types import Type
from backends.acrobat.frontend.reads import Reads
from backends.acrobat.frontend.types import UNKNOWN, HeldKind, HeldT, Mismatch
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
    passed: ClassVar[bool] = False
    """Whether it may be an argument of a compiled function: the values in its fields are passed."""
    unkeyed: ClassVar[frozenset[str]] = frozenset()
    """The fields that follow from the others, in which equal arguments may differ."""
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
        keyed = (within(x, of) for name, x in self._fields() if name not in self.unkeyed)
        return (type(self).__name__, *(tuple(x.items()) if isinstance(x, dict) else x for x in keyed))

    def operands(self, of: Callable[[Value], list[n.Atom]]) -> list[n.Atom]:
        """The operands that a call passes for this argument; `of` gives those of a value inside. Raises Mismatch."""
        found: list[n.Atom] = []
        for _, x in self._fields():
            within(x, lambda inner: found.extend(of(inner)))
        return found

    def parameter(self, inner: Callable[[Value], Value], weight: Callable[[str, Type], n.Var]) -> Value:
        """The value that the called function has for this argument. `inner` gives that of a value inside; `weight` makes a
        parameter for a tensor of a module from its name in the module and its type. Raises Mismatch."""
        return replace(self, **{name: within(x, inner) for name, x in self._fields()})  # type: ignore[type-var]

    def _fields(self) -> list[tuple[str, Any]]:
        """The fields of a value that may be an argument, by name. Raises Mismatch for other values."""
        if not self.passed:
            raise Mismatch(self.refusal)
        return [(x.name, getattr(self, x.name)) for x in fields(self)]  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Held(Special):
    """A value with few uses. `kind` is a key of HELD."""

    passed = True
    kind: HeldKind
    value: Value

    @property
    def refusal(self) -> str:
        return HELD[self.kind]


def within(x: Any, work: Callable[[Value], Any]) -> Any:
    """A field of a value, with `work` applied to the values in it."""
    if isinstance(x, (Dyn, Static, Fixed, TupleV, Special)):
        return work(x)
    if isinstance(x, tuple):
        return tuple(within(y, work) for y in x)
    return {k: within(y, work) for k, y in x.items()} if isinstance(x, dict) else x


class Nothing(Special):
    """The value of a name on a path that assigns nothing to it, where another path does."""

    __slots__ = ()

    refusal: ClassVar[str] = "this name has no value here"


NOTHING = Nothing()


Value: TypeAlias = Dyn | Static | Fixed | TupleV | Special

HELD: dict[HeldKind, str] = {
    "iterator": "an iterator is exhausted by its first use: write list(...) around it",
    "constant": "an object that keeps a module or a function is taken apart by the names of its attributes only",
    "spread": "a list whose length is known at run time only is given with `*` last, to a function of the model",
}
"""The kinds of `Held`, each with the message for uses that it does not have. `zip(...)` and the like are iterators."""
VARIABLES: set[HeldKind] = {"constant"}
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


def held_in(value: Dyn) -> Value:
    """What a variable holds: the value with few uses in a variable of a type `HeldT`, any other variable's value as it is."""
    match value.type:
        case HeldT(kind, inner):
            return Held(kind, held_in(Dyn(replace(value.atom, type=inner))))
    return value
