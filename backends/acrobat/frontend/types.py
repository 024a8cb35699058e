"""Types that only the front end has, for values not fully known while a program is compiled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from backends.acrobat.core.types import LIST, TUPLE, Container, DataT, ListKind, ListT, ScalarT, TensorT, TupleT


@dataclass(frozen=True, slots=True)
class UnknownT:
    """A type that is not known yet (a recursion whose base case was not seen so far) or not worth knowing (after an error)."""


UNKNOWN: Any = UnknownT()


@dataclass(frozen=True, slots=True)
class SymbolT:
    """The type of a string or a member of an Enum. A finished program has ints in their place (`boundary.Symbols`)."""


SYMBOL: Any = SymbolT()


@dataclass(frozen=True, slots=True)
class NoneT:
    """The type of `None` as long as it is not known to which optional type it belongs."""


NONE: Any = NoneT()


@dataclass(frozen=True, slots=True)
class NeverT:
    """The type of an expression that never has a value, since evaluating it always raises an error."""


NEVER: Any = NeverT()


@dataclass(frozen=True, slots=True)
class UnassignedT:
    """The type of a name on a path that assigns nothing to it, as long as its type on other paths is not known."""


UNASSIGNED: Any = UnassignedT()


HeldKind = Literal[
    "bytes", "constant", "extreme", "ids", "index", "iterator", "loose", "mask", "ones", "packed", "row", "spread"
]
"""The kinds of values with few uses (`HELD` in values.py says what each is refused with)."""


@dataclass(frozen=True, slots=True)
class HeldT:
    """The type of a variable that holds a value with few uses, such as a mask: a `Held` of this kind in the source, a value of
    type `inner` in the finished program."""

    kind: HeldKind
    inner: Any


CONSTANT: Any = HeldT("constant", TupleT(()))
"""The type of a field that has one module or function in all objects of its class, which the table of datatypes knows. One that
has several holds an int beside them."""


Role = Literal["Optional", "Unassigned", "Either", "Met", "Result", "Numbers", "SharedList", "Constant_dict"]
"""What a union that the compiler adds is for: a value or None, a name that has a value on some paths only, a name that is a
list on one path and a tensor on another, values of several of Python's types that an earlier attempt has met in one place,
parts of results, ints beside floats, lists, sets or dictionaries that several names refer to while they are changed
(`shared_lists`), and constant dictionaries that lead to each other (`constant_dicts`). Its name begins with that word."""


MADE_NAMES = tuple(f"{word}_" for word in (*get_args(Role), "Made", "Mixed", "Tree"))
"""How the names of unions begin that the compiler adds. Those of the source's classes never do (`Unions._add`)."""


class UnionName(str):
    """The name of a union that the compiler adds, with its role. It is a string since types refer to unions by strings."""

    role: Role
    container: Container
    """Whether shared values are lists, sets or dictionaries."""


def union_name(name: str, role: Role, container: Container = "list") -> UnionName:
    result = UnionName(name)
    result.role, result.container = role, container
    return result


def has_role(type: Any, role: Role) -> bool:
    """Whether a type is a union that the compiler has added for a purpose."""
    return isinstance(type, DataT) and isinstance(type.name, UnionName) and type.name.role == role


def is_unassigned(type: Any) -> bool:
    """Whether a type is that of a name to which a value is assigned on some paths only."""
    return has_role(type, "Unassigned")


def has_met(type: Any) -> bool:
    """Whether tuples or lists of a type have values in them of several of Python's types that an earlier attempt has met."""
    match type:
        case TupleT(items):
            return any(has_met(t) or has_role(t, "Met") for t in items)
        case ListT(item):
            return has_met(TupleT((item,)))
    return False


def is_shared(type: Any) -> bool:
    """Whether a type is that of lists, sets or dictionaries that several names refer to while they are changed."""
    return has_role(type, "SharedList")


def container_of_shared(type: DataT) -> Container:
    """Whether shared values of a type are lists, sets or dictionaries."""
    assert isinstance(type.name, UnionName)
    return type.name.container


def is_nested_dict(type: Any) -> bool:
    """Whether a type is that of constant dictionaries that lead to each other, which the program has as numbers."""
    return has_role(type, "Constant_dict")


class Mismatch(Exception):
    """Two values that must have one type have different ones, or a value has no type in the program. `advice` says what to
    write instead, where that is known."""

    advice = ""


def contains_unknown(type: Any) -> bool:
    match type:
        case UnknownT():
            return True
        case TupleT(items):
            return any(contains_unknown(t) for t in items)
        case ListT(item):
            return contains_unknown(item)
        case HeldT(_, inner):
            return contains_unknown(inner)
    return False


def is_known_in_part(type: Any) -> bool:
    """Whether it is known of a list or dictionary that its elements are tuples, or pairs of a key and a value, and of some of
    their parts, but not of all, of which types these are."""
    item = type.item if isinstance(type, ListT) else None
    while isinstance(item, ListT):
        item = item.item
    return isinstance(item, TupleT) and contains_unknown(item) and any(not isinstance(t, UnknownT) for t in item.items)


def contains_held(type: Any) -> HeldKind | None:
    """The kind of a value with few uses that values of a type have in them, outside of objects; None if there is none."""
    match type:
        case HeldT(kind):
            return kind
        case TupleT(items):
            return next(filter(None, map(contains_held, items)), None)
        case ListT(container="iterator"):
            return "iterator"
        case ListT(item):
            return contains_held(item)
    return None


def is_iterator_type(type: Any) -> bool:
    """Whether a type is that of iterators."""
    of_list = isinstance(type, ListT) and type.container == "iterator"
    return of_list or isinstance(type, HeldT) and type.kind == "iterator"


def without_elements(type: Any) -> Any:
    """The type of a list, set or dictionary that nothing is ever put into, for one whose elements have no known type."""
    inside = (NEVER, NEVER) if isinstance(type.item, TupleT) else ()
    return replace(type, item=TupleT(inside) if inside else NEVER)


def is_never_filled(type: Any) -> bool:
    """Whether a type is that of lists, sets or dictionaries that nothing is ever put into."""
    return isinstance(type, ListT) and type.rows is None and type.item in (NEVER, TupleT((NEVER, NEVER)))


def is_leaf(type: Any) -> bool:
    """Whether values of a type may be leaves of trees that the model makes: numbers and strings."""
    return isinstance(type, (ScalarT, SymbolT))


def is_node(type: Any) -> bool:
    """Whether values of a type may have trees below them in trees that the model makes: tuples and lists."""
    return isinstance(type, TupleT) or isinstance(type, ListT) and type.rows is None and type.kind in (LIST, TUPLE)


def is_varying_tuple(type: Any) -> bool:
    """Whether a type is that of tuples whose lengths vary: they are lists of the program."""
    return isinstance(type, ListT) and type.rows is None and type.container == "tuple"


def is_tuple_type(type: Any) -> bool:
    """Whether a type is that of tuples, of one length or of several, which are not written as lists."""
    return isinstance(type, TupleT) and not type.listed or is_varying_tuple(type)


def without_tuples(type: Any) -> Any:
    """The type of a list, and of the lists in it, with lists in place of tuples whose lengths vary; other types unchanged."""
    if not isinstance(type, ListT) or type.rows is not None or type.kind not in (LIST, TUPLE):
        return type
    return replace(type, item=without_tuples(type.item), kind=LIST)


OF_ONE_BOOL = HeldT("mask", TensorT(()))
"""The type of a tensor of one bool without dimensions."""


def word_of_type(type: Any) -> str:
    """The word in `PYTHON_TYPES` for a type; "" for types without one."""
    match type:
        case ScalarT(kind):
            return kind
        case SymbolT():
            return "str"
        case TupleT():
            return "list" if type.listed else "tuple"
        case ListT(rows=None, container=container):
            return container if container != "set" else ""
        case DataT() if is_shared(type):
            return word_of_type(ListT(UNKNOWN, kind=ListKind(container_of_shared(type))))
        case TensorT() | ListT():
            return "tensor"
        case DataT():
            return "dict" if is_nested_dict(type) else "object"
    return ""
