"""Types from sample instances: what stands at each place of the instances, and which extents of tensors vary.

A place is one way into an instance: the field of a class, the items of a list, a component of a tuple. All values seen at one
place are joined: several classes are a union, `None` beside something else an optional, several types of Python's own a mixed
union, and an extent of a tensor that was seen with two values is one that varies.

Tuples and lists can be trees: `("S", ("NP", "dogs"), "bark")`, `(label, [children])`. A place inside of another one that has
trees of the same form is then made the same place (`_fold`), so that there is one type for all levels.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from backends.acrobat.frontend.instances import key_sets


@dataclass(eq=False)
class Place:
    """What was seen at one place. `shape` has None for extents that vary; `classes` has the order in which they were seen."""

    kinds: set[str] = field(default_factory=set)
    shape: list[int | None] | None = None
    dtypes: set[torch.dtype] = field(default_factory=set)
    item: Place | None = None  # of a list or set
    items: list[Place] = field(default_factory=list)  # of a tuple
    lengths: set[int] = field(default_factory=set)  # of the lists
    key: Place | None = None  # of a dictionary
    value: Place | None = None
    trouble: str = ""  # why the place has no type, if it has none
    classes: dict[type, dict[str, Place]] = field(default_factory=dict)  # those seen, with the places of their fields
    sizes: set[int] = field(default_factory=set)  # of tuples; those of several lengths are seen as lists
    into: Place | None = None  # the place that this one has become a part of
    enums: bool = False  # whether members of Enums were seen
    recursive: bool = False  # whether it is also inside of itself
    deep: int = 0  # how many containers it is inside of, within the value of one field

    def representative(self) -> Place:
        """The place that stands for this one: itself, or the one that it has become a part of."""
        place = self
        while place.into is not None:
            place = place.into
        return place

    def take(self, other: Place) -> None:
        """Make `other` a part of this place: what was seen there counts as seen here."""
        one, other = self.representative(), other.representative()
        if one is other:
            return
        other.into = one
        one.kinds |= other.kinds
        one.dtypes |= other.dtypes
        one.lengths |= other.lengths
        one.sizes |= other.sizes
        one.trouble = one.trouble or other.trouble
        one.enums = one.enums or other.enums
        one.recursive = one.recursive or other.recursive
        one.classes |= other.classes
        if one.shape is not None and other.shape is not None and len(one.shape) != len(other.shape):
            one.trouble = one.trouble or "tensors of several ranks stand in one place"
        elif one.shape is not None and other.shape is not None:
            one.shape = [a if a == b else None for a, b in zip(one.shape, other.shape, strict=True)]
        one.shape = other.shape if one.shape is None else one.shape
        for name in ("item", "key", "value"):
            mine, others = getattr(one, name), getattr(other, name)
            if mine is not None and others is not None:
                mine.take(others)
            setattr(one, name, mine or others)
        for a, b in zip(one.items, other.items, strict=False):
            a.take(b)
        one.items = max(one.items, other.items, key=len)
        one.as_list()

    def as_list(self) -> None:
        """Make one place of those of a tuple's components, if tuples of several lengths were seen."""
        if len(self.sizes) > 1:
            self.item = self.item or Place()
            while self.items:
                self.item.take(self.items.pop())

    @property
    def types(self) -> set[str]:
        """The kinds of values that were seen here, None aside."""
        return self.kinds - {"none"}

    @property
    def inside(self) -> list[Place]:
        """The places of the items, components, keys and values, not those of fields."""
        parts = (self.item, self.key, self.value) if self.is_dict else (self.item,)
        return [p.representative() for p in (*self.items, *parts) if p is not None]

    @property
    def vector(self) -> int:
        """The length of the lists of floats that are at the place and nothing else, if it is the same of all; else 0."""
        of_floats = self.kinds == {"list"} and self.item is not None and {"float"} <= self.item.kinds <= {"float", "int"}
        return next(iter(self.lengths)) if of_floats and len(self.lengths) == 1 else 0

    @property
    def is_dict(self) -> bool:
        """Whether the place has dictionaries whose keys differ. Those with the same names as keys each time are records, and so
        are those with different names whose values differ in kind, or are tensors of several ranks or dtypes: they are a union
        of records."""
        several = self.kinds - {"none"} == {"class"} and len(self.classes) > 1
        if "dict" in self.kinds or not several or not all(issubclass(c, RecordOf) for c in self.classes):
            return "dict" in self.kinds
        if self.value is None or _of_one_kind(self.value, set()):
            return True
        by_name = [place for fields in self.classes.values() for place in fields.values()]
        return _is_one_kind(self.value) and not all(_of_one_kind(place, set()) for place in by_name)


def _is_one_kind(place: Place) -> bool:
    """Whether the values at a place are of one of Python's types, or numbers, or tensors of one rank and dtype."""
    place = place.representative()
    return (len(place.types) < 2 or place.types == {"int", "float"}) and not place.trouble and len(place.dtypes) < 2


def _are_alike(places: Sequence[Place]) -> bool:
    """Whether what was seen at several places is of one kind in all of them, so that they can be made one place."""
    observed = [p for p in places if p.types]
    return all(_alike(observed[0], p, set()) and not p.trouble for p in observed)


def _of_one_kind(place: Place, visited: set[Place]) -> bool:
    """As `_is_one_kind`, for the values and what is in their lists, tuples and sets. `visited`: places that are being asked."""
    place = place.representative()
    if place in visited:
        return True
    visited.add(place)
    parts = [p for p in (*place.items, place.item) if p is not None]
    return _is_one_kind(place) and all(_of_one_kind(part, visited) for part in parts)


DEEPEST = 24
"""So many containers inside of each other it is noted of dictionaries whose keys are names what values they have altogether."""
CONTAINERS = {"tuple", "list"}
"""The types whose values can be trees by containing values of their own type."""


def _same_form(outer: Place, inner: Place, deep: int) -> bool:
    """Whether a place and one that is `deep` containers inside of it have trees of the same form, as far as was seen: where
    leaves are mixed with trees, such as strings with tuples, or where the parts of both are alike on all levels."""
    if not outer.types & inner.types & CONTAINERS:
        return False
    if len(outer.types) > 1:
        return True
    if len(inner.types) > 1:
        return _parts_alike(outer, inner)
    if "tuple" in outer.types:
        return outer.sizes == inner.sizes and _alike(outer, inner, set())
    below = inner.item.representative() if inner.item is not None else Place()
    return "list" in below.types and _alike(outer, inner, set())  # lists of lists of lists, of different depths


def _parts_alike(outer: Place, inner: Place) -> bool:
    """Whether everything that was seen in the parts of `outer` was also seen in the parts of `inner`."""
    pairs = [(outer.item, inner.item), *zip(outer.items, inner.items, strict=False)]
    return outer.types <= inner.types and all(
        a is None or b is not None and a.representative().types <= b.representative().types for a, b in pairs
    )


def _alike(a: Place, b: Place, assumed: set[tuple[Place, Place]]) -> bool:
    """Whether the values of two places have the same types on all levels, where both were seen. `assumed`: pairs that are being
    compared, so that comparing places that are inside of themselves ends."""
    a, b = a.representative(), b.representative()
    if a is b or (a, b) in assumed or not a.types or not b.types:
        return True
    if a.types != b.types or a.classes.keys() != b.classes.keys() or a.dtypes != b.dtypes:
        return False
    if len(a.shape or ()) != len(b.shape or ()):
        return False
    assumed.add((a, b))
    return len(a.inside) == len(b.inside) and all(_alike(x, y, assumed) for x, y in zip(a.inside, b.inside, strict=True))


class RecordOf:
    """The base of record classes. Each stands for the dictionaries with the keys `keys_of_record`, or for a class
    (`stand_in`). Its own attributes have long names, since each key is one too: `{"keys": ..., "values": ...}`."""

    __slots__ = ()
    keys_of_record: tuple[str, ...] = ()
    class_of_record: type | None = None
    """An ordinary class whose objects the model makes, in the place of a dictionary."""

    @classmethod
    def object_of_class(cls, fields: dict[str, Any]) -> Any:
        """The object of the ordinary class with these attributes."""
        assert cls.class_of_record is not None
        if issubclass(cls.class_of_record, tuple):  # a named tuple
            return cls.class_of_record(**fields)
        record: Any = object.__new__(cls.class_of_record)
        for name, value in fields.items():
            object.__setattr__(record, name, value)
        return record

    @classmethod
    def record_of_fields(cls, fields: dict[str, Any]) -> RecordOf:
        """The record with these values of its keys."""
        record = object.__new__(cls)
        for name, value in fields.items():
            setattr(record, name, value)
        return record


@cache
def _record_class(keys: tuple[str, ...]) -> type:
    """The class that stands for dictionaries with these keys in this order."""
    return type("dict_" + "_".join(keys), (RecordOf,), {"keys_of_record": keys, "__slots__": keys})


class Records:
    """The record classes of one program: one for each set of keys. Results have the keys in the order of the first dictionary
    with that set, which is one of the sample if there is such a dictionary, else the first that is compiled."""

    def __init__(self) -> None:
        self._classes: dict[frozenset[str], type] = {}

    def class_of(self, keys: Iterable[str]) -> type:
        """The class that stands for dictionaries with exactly these keys, the same one for the same keys in any order."""
        ordered = tuple(keys)
        return self._classes.setdefault(frozenset(ordered), _record_class(ordered))


def is_name(key: Any) -> bool:
    """Whether a key of a dictionary may be the name of a field of a record."""
    return isinstance(key, str) and key.isidentifier()


def stand_in(cls: type, keys: Sequence[str]) -> type:
    """The record class that stands in the compiled program for an ordinary class with the attributes `keys`."""
    return type(cls.__name__, (RecordOf,), {"keys_of_record": tuple(keys), "__slots__": tuple(keys), "class_of_record": cls})


class Observer:
    """Collects what sample instances hold: `root` is the place of the instances, `fields` has those of each class's fields."""

    def __init__(self, instances: Sequence[Any], records: Records) -> None:
        self.root = Place()
        self._records = records
        self.fields: dict[type, dict[str, Place]] = {}
        self._seen: set[tuple[int, int]] = set()
        self._keep: list[Any] = []  # keeps objects alive while their ids are noted
        pending: list[tuple[Place, Any, str]] = [(self.root, x, f"instance {i}") for i, x in enumerate(instances)]
        while pending:
            pending += self._note(*pending.pop())
        while self._fold():
            pass
        for place in self.places():
            self._join_entries([c for c in place.classes if issubclass(c, RecordOf)])
            self._add_records(place)

    def places(self) -> list[Place]:
        """All places of the sample, those of the instances and of fields first."""
        out: dict[Place, None] = {}
        pending = [
            self.root.representative(),
            *(p.representative() for fields in self.fields.values() for p in fields.values()),
        ]
        for place in pending:
            if place not in out:
                out[place] = None
                pending += place.inside
        return list(out)

    def _join_entries(self, records: Sequence[type]) -> None:
        """Have the tensors under one name in dictionaries with different names count as seen in each of them: which extents
        vary is known of all."""
        for name in dict.fromkeys(x for cls in records for x in self.fields[cls]):
            tensors = [p for cls in records if name in self.fields[cls] for p in [self.fields[cls][name].representative()]]
            tensors = [p for p in tensors if p.types == {"tensor"} and p.shape is not None and not p.trouble]
            for p in tensors[1:]:
                if p.dtypes == tensors[0].dtypes and len(p.shape or ()) == len(tensors[0].shape or ()):
                    tensors[0].take(p)

    def _add_records(self, place: Place) -> None:
        """Enter dictionaries with sets of keys that no instance of the sample has, but which those at this place make likely
        (`key_sets.missing`). Each key then has one type in all of them; nothing is entered where its values differ in kind."""
        records = [c for c in place.classes if issubclass(c, RecordOf)]
        if len(records) < 3 or len(records) < len(place.classes) or place.types != {"class"} or place.is_dict:
            return
        added = {self._records.class_of(sorted(s)): sorted(s) for s in key_sets.missing([c.keys_of_record for c in records])}
        by_key: dict[str, list[Place]] = {}
        for name, p in (x for c in (*records, *added) for x in self.fields.get(c, {}).items()):
            by_key.setdefault(name, []).append(p.representative())
        if not added or not all(map(_are_alike, by_key.values())):
            return
        for first, *others in by_key.values():
            for other in others:
                first.take(other)
        for cls, names in added.items():
            place.classes[cls] = self.fields.setdefault(cls, {x: by_key[x][0] for x in names})

    def _fold(self) -> bool:
        """Make one place of two of which one is inside of the other and both have trees of the same form; False if there are
        no such places."""
        for outer in self.places():
            if not outer.types & CONTAINERS:
                continue
            visited, level, deep = {outer}, [outer], 0
            while level:
                deep += 1
                level = list(dict.fromkeys(p for place in level for p in place.inside if p not in visited))
                for inner in level:
                    if _same_form(outer, inner, deep):
                        outer.take(inner)
                        outer.recursive = True
                        return True
                visited.update(level)
        return False

    def _note(self, place: Place, value: Any, path: str) -> list[tuple[Place, Any, str]]:
        """Note `value` at `place`. Gives the (place, value, path) of values inside of it, which are still to be noted."""
        place = place.representative()
        match value:
            case None:
                place.kinds.add("none")
            case bool() | np.bool_():
                place.kinds.add("bool")
            case Enum() | str() if not isinstance(value, int):
                place.kinds.add("symbol")
                place.enums = place.enums or isinstance(value, Enum)
            case int() | np.integer():
                place.kinds.add("int")
            case float() | np.floating():
                place.kinds.add("float")
            case Tensor():
                self._tensor(place, value, path)
            case list():
                place.kinds.add("list")
                place.lengths.add(len(value))
                place.item = place.item or Place(deep=place.deep + 1)
                return [(place.item, v, f"{path}[{i}]") for i, v in enumerate(value)]
            case set() | frozenset():
                place.kinds.add("set")
                place.item = place.item or Place()
                return [(place.item, v, f"an element of {path}") for v in value]
            case tuple() if not hasattr(value, "_fields"):
                place.kinds.add("tuple")
                place.sizes.add(len(value))
                place.as_list()
                if len(place.sizes) > 1 and place.item is not None:
                    return [(place.item, v, f"{path}[{i}]") for i, v in enumerate(value)]
                place.items = place.items or [Place(deep=place.deep + 1) for _ in value]
                return [(p, v, f"{path}[{i}]") for i, (p, v) in enumerate(zip(place.items, value, strict=True))]
            case dict():
                place.key, place.value = place.key or Place(), place.value or Place(deep=place.deep + 1)
                inside: list[tuple[Place, Any, str]] = []
                are_names = all(map(is_name, value))
                if not are_names or self._is_new(place, value):
                    inside += [(place.key, k, f"a key of {path}") for k in value]
                    inside += [(place.value, v, f"{path}[{k!r}]") for k, v in value.items()]
                if not are_names:
                    place.kinds.add("dict")
                    return inside
                return inside + self._object(place, value, self._records.class_of(value), value, path)
            case _:
                fields = attributes(value)
                if fields is None:
                    what = f"a {type(value).__name__}, which an instance cannot have in it"
                    place.trouble = f"{path} is {_array(value) if isinstance(value, np.ndarray) else what}"
                    return []
                return self._object(place, value, type(value), fields, path)
        return []

    def _is_new(self, place: Place, value: dict[str, Any]) -> bool:
        """Whether the values of a dictionary whose keys are names are still to be noted at a place. It may lead back to itself,
        each time at a place that is deeper inside: only so many levels are looked at."""
        key = (id(value), id(place))
        if key in self._seen or place.deep > DEEPEST:
            return False
        self._seen.add(key)
        self._keep.append((place, value))
        return True

    def _tensor(self, place: Place, value: Tensor, path: str) -> None:
        place.kinds.add("tensor")
        place.dtypes.add(value.dtype)
        if place.shape is None:
            place.shape = list(value.shape)
        elif len(place.shape) != value.ndim:
            place.trouble = f"{path} is a tensor of rank {value.ndim}, another one there has rank {len(place.shape)}"
        else:
            place.shape = [a if a == b else None for a, b in zip(place.shape, value.shape, strict=True)]

    def _object(
        self, place: Place, value: Any, cls: type, attributes: dict[str, Any], path: str
    ) -> list[tuple[Place, Any, str]]:
        place.kinds.add("class")
        known = place.classes[cls] = self.fields.setdefault(cls, {})
        if (id(value), id(cls)) in self._seen:
            return []
        self._seen.add((id(value), id(cls)))
        self._keep.append(value)
        for name in attributes:
            known.setdefault(name, Place())
        return [
            (known[name], v, f"{path}[{name!r}]" if isinstance(value, dict) else f"{path}.{name}")
            for name, v in attributes.items()
        ]


def _array(value: np.ndarray) -> str:
    """What a numpy array is, which an instance cannot have in it, and what to give instead."""
    if value.dtype.kind not in "biuf":
        return f"a numpy array of {value.dtype}: give a list, as `tolist()` makes it"
    tensor = "torch.from_numpy(...)"
    right = value.dtype in (np.bool_, np.int32, np.int64, np.float32)
    tensor += "" if right else ".float()" if value.dtype.kind == "f" else ".long()"
    return f"a numpy array of {value.dtype}: make tensors of arrays where the instances are made, with `{tensor}`"


def attributes(value: Any) -> dict[str, Any] | None:
    """The fields of an object by name: of a dataclass or named tuple, else its slots and attributes. None if it has neither."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if hasattr(value, f.name)}
    if isinstance(value, tuple):
        return dict(zip(value._fields, value, strict=True))  # type: ignore[attr-defined]
    slots = [s for c in type(value).__mro__ for s in _slots(c)]
    own = getattr(value, "__dict__", None)
    if own is None and not slots or isinstance(value, type):
        return None
    return {**{s: getattr(value, s) for s in slots if hasattr(value, s)}, **(own or {})}


def _slots(cls: type) -> tuple[str, ...]:
    named = cls.__dict__.get("__slots__", ())
    return tuple(s for s in ((named,) if isinstance(named, str) else named) if s not in ("__dict__", "__weakref__"))
