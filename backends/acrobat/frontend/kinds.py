"""Of what type and kind a value is while it is compiled, and the same value as one of another kind."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from enum import Enum
from typing import Any, TypeGuard

from backends.acrobat.core.types import BOOL, FLOAT, INT, LIST, TUPLE, DataT, ListKind, ListT, ScalarT, TensorT, TupleT
from backends.acrobat.frontend.types import (
    NEVER,
    NONE,
    SYMBOL,
    UNASSIGNED,
    HeldKind,
    HeldT,
    Mismatch,
    UnknownT,
    contains_unknown,
    is_nested_dict,
    is_shared,
    without_tuples,
)
from backends.acrobat.frontend.values import NOTHING, VARIABLES, Dyn, Held, ListedV, Nothing, Special, Static, TupleV, Value
from backends.acrobat.ir import nodes as n


def is_unknown(value: Value) -> bool:
    return isinstance(value, Dyn) and contains_unknown(value.type)


def in_python(value: Value) -> Any:
    """The constant, or the module, that a value is; None for others."""
    return value.value if isinstance(value, Static) else value.python_object if isinstance(value, Special) else None


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


def variables_in(value: Value) -> set[str]:
    """The names of the program's variables that a value is made of; none of what the program cannot have, such as a slice."""
    with suppress(Mismatch):
        return {atom.name for atom in held_atoms(value) if isinstance(atom, n.Var)}
    return set()


def is_number(value: Value) -> bool:
    return isinstance(type_or_none(value), ScalarT)


def is_list(value: Value) -> bool:
    """Whether the value is a list of Python's, not a ragged tensor, set or dictionary."""
    t = type_or_none(value)
    return isinstance(t, ListT) and t.rows is None and t.container == "list"


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


def as_kind(value: Any, kind: ListKind) -> Dyn:
    """The same list of the program seen as another kind of Python's: a tuple whose length varies as a list, say."""
    assert isinstance(value.type, ListT)
    return retyped(value, replace(value.type, kind=kind))


def plain_container(value: Value) -> Value:
    """A list or dictionary of a class of the source as one without that class, as which its parts, copies and sums with others
    are made; other values unchanged."""
    if not isinstance(value, Dyn) or not isinstance(value.type, ListT) or not value.type.kind.cls:
        return value
    return as_kind(value, replace(value.type.kind, cls=""))


def as_tuple(value: Value) -> Value:
    """A list of the program as a tuple whose length varies; other values unchanged."""
    return as_kind(value, TUPLE) if is_list(value) else value


def untupled(value: Value) -> Value:
    """A tuple whose length varies as a list; other values unchanged."""
    return as_kind(value, LIST) if kind(value) == "varying tuple" else value


def as_lists(value: Value) -> Value:
    """A list or tuple whose length varies as a list, and so are those in it; other values unchanged."""
    return retyped(value, without_tuples(value.type)) if isinstance(value, Dyn) else value


def is_tensor(value: Any) -> bool:
    return isinstance(value, Dyn) and isinstance(value.type, TensorT)


def is_array(value: Any) -> bool:
    """Whether the value is a tensor, of fixed shape or ragged."""
    return is_tensor(value) or is_ragged(value)


MUTABLE: frozenset[HeldKind] = frozenset({"mask", "ones", "index", "ids", "loose", "row"})
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


def is_range(value: Any) -> bool:
    """Whether a value is a range that is known at compile time."""
    return isinstance(value, Static) and isinstance(value.value, range)


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
        case ListT(container="tuple"):
            return "varying tuple"
        case ListT(container=container):
            return container
        case UnknownT():
            return "unknown"
        case DataT() if is_shared(value.type):
            return "shared"
        case DataT() if is_nested_dict(value.type):
            return "nested dict"
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
