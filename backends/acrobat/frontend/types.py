"""Types that only the front end has, for values not fully known while a program is compiled; joining and naming of types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from backends.acrobat.core.types import BOOL, FLOAT, RANKS, DataT, ListT, ScalarT, TensorT, TupleT


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


@dataclass(frozen=True, slots=True)
class HeldT:
    """The type of a variable that holds a value with few uses, such as a mask: a `Held` of this kind in the source, a value of
    type `inner` in the finished program."""

    kind: str
    inner: Any


CONSTANT: Any = HeldT("constant", TupleT(()))
"""The type of a field that has one module or function in all objects of its class, which the table of datatypes knows. One that
has several holds an int beside them."""


def is_unassigned(type: Any) -> bool:
    """Whether a type is that of a name to which a value is assigned on some paths only."""
    return isinstance(type, DataT) and type.name.startswith("Unassigned_")


def is_either(type: Any) -> bool:
    """Whether a type is that of a name which is a list on one path and a tensor on another."""
    return isinstance(type, DataT) and type.name.startswith("Either_")


def has_met(type: Any) -> bool:
    """Whether tuples or lists of a type have values in them of several of Python's types that an earlier build has met."""
    match type:
        case TupleT(items):
            return any(has_met(t) or isinstance(t, DataT) and t.name.startswith("Met_") for t in items)
        case ListT(item):
            return has_met(TupleT((item,)))
    return False


SHARED = "SharedList"
"""What the names of the types of lists begin with that several names refer to while they are changed (`shared_lists`)."""


def is_shared(type: Any) -> bool:
    """Whether a type is that of lists, sets or dictionaries that several names refer to while they are changed."""
    return isinstance(type, DataT) and type.name.startswith(SHARED)


NESTED = "Constant_dict"
"""What the names of the types of constant dictionaries begin with that lead to each other (`constant_dicts`)."""


def is_nested_dict(type: Any) -> bool:
    """Whether a type is that of constant dictionaries that lead to each other, which the program has as numbers."""
    return isinstance(type, DataT) and type.name.startswith(NESTED)


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


def contains_held(type: Any) -> str:
    """The kind of a value with few uses that values of a type have in them, outside of objects; "" if there is none."""
    match type:
        case HeldT(kind):
            return kind
        case TupleT(items):
            return next(filter(None, map(contains_held, items)), "")
        case ListT(kind="iterator"):
            return "iterator"
        case ListT(item):
            return contains_held(item)
    return ""


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
    return isinstance(type, TupleT) or isinstance(type, ListT) and type.rows is None and type.kind in ("list", "tuple")


def is_varying_tuple(type: Any) -> bool:
    """Whether a type is that of tuples whose lengths vary: they are lists of the program."""
    return isinstance(type, ListT) and type.rows is None and type.kind == "tuple"


def is_tuple_type(type: Any) -> bool:
    """Whether a type is that of tuples, of one length or of several, which are not written as lists."""
    return isinstance(type, TupleT) and not type.listed or is_varying_tuple(type)


def without_tuples(type: Any) -> Any:
    """The type of a list, and of the lists in it, with lists in place of tuples whose lengths vary; other types unchanged."""
    if not isinstance(type, ListT) or type.rows is not None or type.kind not in ("list", "tuple"):
        return type
    return replace(type, item=without_tuples(type.item), kind="list")


def word_of_type(type: Any) -> str:
    """The word in `PYTHON_TYPES` for a type; "" for types without one."""
    match type:
        case ScalarT(kind):
            return kind
        case SymbolT():
            return "str"
        case TupleT():
            return "list" if type.listed else "tuple"
        case ListT(rows=None, kind=kind):
            return kind.partition(":")[0] if kind != "set" else ""
        case TensorT() | ListT():
            return "tensor"
        case DataT():
            return "" if is_shared(type) else "dict" if is_nested_dict(type) else "object"
    return ""


def kind_and_rank(type: Any) -> str:
    """The word in `RANKS` for a type of tensors, on the host or computed; "" for other types."""
    kind, inner = ("mask", type.inner) if isinstance(type, HeldT) and type.kind == "mask" else ("tensor", type)
    if isinstance(type, ScalarT):
        return ""
    if (shape := shape_of_ints(type)) is not None:
        kind = "ints"
    elif (shape := extents(inner)) is None:
        return ""
    elif innermost(inner) == BOOL:
        kind = "mask"
    word = f"{kind}{len(shape)}"
    return word if word in RANKS else ""


def join_types(a: Any, b: Any, numbers: bool = False) -> Any:
    """The type that holds the values of both. With `numbers` set, a number and a float32 tensor have the type of the tensor, as
    in `total = 0` before a loop that adds tensors: the number becomes a tensor filled with it. Two tensors that differ in one
    extent are then one whose extent varies, as the keys that a decoder has cached so far. Raises Mismatch."""
    match a, b:
        case (UnknownT(), t) | (t, UnknownT()) | (NeverT(), t) | (t, NeverT()):
            return t
        case (ListT(rows=int()), TensorT()) | (TensorT(), ListT(rows=int())) if _covers(a, b) or _covers(b, a):
            return a if isinstance(a, ListT) else b
        case (TupleT(x), TupleT(y)) if len(x) == len(y) and a.listed == b.listed:
            return TupleT(tuple(join_types(s, t, numbers) for s, t in zip(x, y, strict=True)), listed=a.listed)
        case ListT(x), ListT(y) if (a.rows, a.kind, a.units) == (b.rows, b.kind, b.units):
            return replace(a, item=join_types(x, y, numbers), extent=a.extent if a.extent == b.extent else None)
        case _ if a != b and (together := _ints_together(a, b)) is not None:
            return together
        case (ScalarT("int" | "float"), TensorT(dtype="float32")) | (TensorT(dtype="float32"), ScalarT("int" | "float")) if (
            numbers
        ):
            return a if isinstance(a, TensorT) else b
        case TensorT(x, "float32"), TensorT(y, "float32") if numbers and (k := _differing(x, y)) is not None:
            return ListT(TensorT((*x[:k], *x[k + 1 :])), rows=k)
        case _ if numbers and a != b and (shape := _shape_of_both(a, b)) is not None:
            return ragged_type(shape)
        case HeldT(), HeldT() if a.kind == b.kind:
            return HeldT(a.kind, join_types(a.inner, b.inner))
        case (HeldT("mask", inner), ListT() as bools) | (ListT() as bools, HeldT("mask", inner)) if is_bools(bools):
            return HeldT("mask", join_types(inner, _as_floats(bools), numbers=True))
        case ScalarT("int"), ScalarT("float"):
            return FLOAT
        case ScalarT("float"), ScalarT("int"):
            return FLOAT
    if a == b and getattr(a, "listed", None) == getattr(b, "listed", None):
        return a
    raise Mismatch(f"{describe(a)} here, {describe(b)} there")


def has_dict(type: Any) -> bool:
    """Whether values of a type are dictionaries, or have such in them outside of objects."""
    match type:
        case ListT(item, rows=None):
            return type.kind.startswith("dict") or has_dict(item)
        case TupleT(items):
            return any(map(has_dict, items))
    return False


def extents(type: Any) -> tuple[int | None, ...] | None:
    """The extents of a tensor type, with None for one that varies between instances; None for other types."""
    match type:
        case TensorT(shape):
            return shape
        case ListT(ScalarT(), int(), units=-1):
            return ()
        case ListT(item, int() as k):
            inner = (1,) * (k + type.units) if isinstance(item, ScalarT) else extents(item)
            return None if inner is None else (*inner[:k], type.extent, *inner[k:])
    return None


def ragged_type(shape: Sequence[int | None]) -> Any:
    """The type of a tensor with these extents, None for one that varies between instances."""
    if None not in shape:
        return TensorT(tuple(e for e in shape if e is not None))
    k = list(shape).index(None)
    return ListT(ragged_type([*shape[:k], *shape[k + 1 :]]), rows=k)


def _shape_of_both(a: Any, b: Any) -> list[int | None] | None:
    """The extents of tensors of floats of which one at least is ragged, as those that differ vary; None for other types, and
    where the ranks differ."""
    shapes = [extents(t) for t in (a, b) if innermost(t) == TensorT(getattr(innermost(t), "shape", ()))]
    if len(shapes) < 2 or None in shapes or len(shapes[0] or ()) != len(shapes[1] or ()) or not (is_rows(a) or is_rows(b)):
        return None
    return [x if x == y else None for x, y in zip(shapes[0] or (), shapes[1] or (), strict=True)]


def is_rows(type: Any) -> bool:
    """Whether a type is that of ragged tensors."""
    return isinstance(type, ListT) and type.rows is not None


def _differing(a: tuple[int, ...], b: tuple[int, ...]) -> int | None:
    """The one dimension in which two shapes differ; None where they differ in rank, or in more dimensions."""
    dimensions = [k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y]
    return dimensions[0] if len(a) == len(b) and len(dimensions) == 1 else None


def is_bools(type: Any) -> bool:
    """Whether a type is that of tensors of bools that the host has, beside which a mask is another form of the same."""
    return is_rows(type) and innermost(type) == BOOL


def _as_floats(type: Any) -> Any:
    """The type of the ones and zeros that stand for a tensor of bools in a mask."""
    if isinstance(type.item, ScalarT):
        return ListT(TensorT((1,) * (type.rows + type.units)), type.rows)
    return ListT(_as_floats(type.item), type.rows)


def _covers(ragged: Any, dense: Any) -> bool:
    """Whether a dense float32 type is a special case of a ragged tensor's: all extents that are fixed in both agree."""
    wide, narrow = extents(ragged), extents(dense)
    return (
        isinstance(ragged, ListT)
        and isinstance(dense, TensorT)
        and dense.dtype == "float32"
        and wide is not None
        and narrow is not None
        and len(wide) == len(narrow)
        and all(w is None or w == e for w, e in zip(wide, narrow, strict=True))
    )


def innermost(type: Any) -> Any:
    """The type of what is in a list, and in the lists in it."""
    while isinstance(type, ListT):
        type = type.item
    return type


def shape_of_ints(type: Any) -> tuple[int | None, ...] | None:
    """The extents of a tensor of ints, on the host or computed; an int that is an element of one has none. None for others."""
    match type:
        case HeldT("index") | ScalarT("int"):
            return ()
        case TensorT(shape, "int64"):
            return shape
        case ListT(rows=int()):
            return extents(type) if innermost(type) == ScalarT("int") else None
    return None


def ints_of_shape(shape: tuple[int | None, ...]) -> Any:
    """The type of a tensor of ints, as the host has it: a list of all where one dimension at most is wider than 1."""
    wider = [d for d, e in enumerate(shape) if e != 1] or [len(shape) - 1]
    if not shape:
        return ScalarT("int")
    if len(wider) > 1:
        return ListT(ints_of_shape(shape[1:]), 0, extent=shape[0])
    return ListT(ScalarT("int"), wider[0], extent=shape[wider[0]], units=len(shape) - 1 - wider[0])


def _ints_together(a: Any, b: Any) -> Any:
    """The type of tensors of ints that are the one or the other, None where there is none. Of one element each, their ranks may
    differ: a decoder begins with `torch.tensor([[START]])`, and goes on with an int that it has computed."""
    shapes = [shape_of_ints(t) for t in (a, b) if t != LOOSE]
    if None in shapes:
        return None
    if len(shapes) == 2 and len(shapes[0]) == len(shapes[1]):  # type: ignore[arg-type]
        return ints_of_shape(tuple(x if x == y else None for x, y in zip(*shapes, strict=True)))  # type: ignore[arg-type]
    return LOOSE if all(e == 1 for shape in shapes for e in shape or ()) else None


LOOSE: Any = HeldT("loose", ScalarT("int"))
"""The type of tensors of one int each whose ranks differ."""

SHOWN: dict[str, str] = {}
"""The compiler's name of a union that has none in the source, an optional or a dictionary -> its name in messages."""


def describe(type: Any) -> str:
    """The name of a type in messages, in words of the source."""
    match type:
        case ListT(rows=int()):
            if extents(type) is None:
                return "a tensor"
            shape = ", ".join("n" if e is None else str(e) for e in extents(type) or ())
            numbers = {ScalarT("int"): " of ints", ScalarT("bool"): " of bools"}.get(innermost(type), "")
            return f"a tensor of shape ({shape}){numbers}" + (
                ", whose extent n varies" if None in (extents(type) or ()) else ""
            )
        case SymbolT():
            return "a string"
        case HeldT("constant"):
            return "a module or function"
        case HeldT(kind, inner):
            return f"a {'tensor of an int' if kind == 'index' else kind} ({describe(inner)})"
        case NeverT():
            return "a value that is never there"
        case TensorT(shape, dtype):
            return f"a tensor of shape {shape}" + ("" if dtype == "float32" else f" and dtype {dtype}")
        case ScalarT(kind):
            return f"{'an' if kind == 'int' else 'a'} {kind}"
        case TupleT(items):
            what = "list" if type.listed else "tuple"
            return f"a {what} of {len(items)} ({', '.join(map(describe, items))})" if items else f"an empty {what}"
        case ListT(item, kind="tuple"):
            return f"a tuple of {plural(item)}"
        case ListT(kind=kind) if kind.startswith("dict:"):
            return "a Counter" if kind == "dict:count" else "a defaultdict"
        case ListT(kind=kind) if kind != "list":
            return f"{'an' if kind == 'iterator' else 'a'} {kind.partition(':')[0]}"
        case ListT(UnknownT()):
            return "an empty list"
        case ListT(item):
            return f"a list of {plural(item)}"
        case DataT(name):
            return SHOWN.get(name, name)
    return "a value of unknown type"


def plural(type: Any) -> str:
    """The name of a type in messages about several values of it."""
    match type:
        case TensorT():
            return describe(type).replace("a tensor", "tensors", 1)
        case ScalarT(kind):
            return f"{kind}s"
        case TupleT() | ListT():
            return describe(type).replace("a tuple", "tuples", 1).replace("a list", "lists", 1)
    return describe(type)
