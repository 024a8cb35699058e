"""Walks through sample instances and notes what stands at each place (`places.py`).

Tuples, lists and dictionaries can be trees: `("S", ("NP", "dogs"), "bark")`, `(label, [children])`, any JSON. A place inside of
another one that has trees of the same form is then made the same place (`_fold`), so that there is one type for all levels.
"""

from __future__ import annotations

import dataclasses
import datetime
import inspect
from collections.abc import Sequence, Set
from enum import Enum
from functools import cached_property
from types import FunctionType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from backends.acrobat.core.made_objects import computes_fields
from backends.acrobat.core.types import MissingKeys
from backends.acrobat.frontend.instances import key_sets
from backends.acrobat.frontend.instances.dates import CLASSES, fields_of_date
from backends.acrobat.frontend.instances.default_dicts import OTHER, missing_keys_of
from backends.acrobat.frontend.instances.places import CONTAINERS, Place, are_alike, same_form, same_trees
from backends.acrobat.frontend.instances.record_classes import RecordOf, Records, is_name

DEEPEST = 24
"""So many containers inside of each other it is noted of dictionaries whose keys are names what values they have altogether."""


class Observer:
    """Collects what sample instances hold: `root` is the place of the instances, `fields` has those of each class's fields.
    With `by_name` dictionaries with a few sets of names are told apart by these, whatever their values are; `walked` are the
    record classes of those that the program walks over. An instance of several `arguments` is the tuple of them, which is no
    tree, whatever the arguments are."""

    def __init__(
        self,
        instances: Sequence[Any],
        records: Records,
        by_name: bool = False,
        walked: Set[type] = frozenset(),
        arguments: int = 1,
    ) -> None:
        self.root = Place()
        self._arguments = arguments
        self._records = records
        self._walked = walked
        self.factories: dict[str, FunctionType] = {}  # functions that make what a `defaultdict` gives for missing keys
        self.fields: dict[type, dict[str, Place]] = {}
        self._seen: set[tuple[int, int]] = set()
        self._keep: list[Any] = []  # keeps objects alive while their ids are noted
        pending: list[tuple[Place, Any, str]] = [(self.root, x, f"instance {i}") for i, x in enumerate(instances)]
        while pending:
            pending += self._note(*pending.pop())
        for place in self.places() if by_name else ():
            place.by_name = len(place.classes) <= key_sets.MOST
        while self._fold():
            pass
        self._join_trees()
        while self._tell_by_names():
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

    def _tell_by_names(self) -> bool:
        """Have dictionaries be told apart by their names that have the names of such as are, elsewhere: on the lowest level of
        a tree all values may be of one kind. False if there are no more."""
        several = [p for p in self.places() if 1 < len(p.classes) <= key_sets.MOST and "dict" not in p.types]
        apart = {c for p in several if not p.is_dict for c in p.classes}
        found = [p for p in several if p.is_dict and not apart.isdisjoint(p.classes)]
        for place in found:
            place.by_name = True
        return bool(found)

    def _join_entries(self, records: Sequence[type]) -> None:
        """Have the tensors under one name in dictionaries with different names count as seen in each of them: which extents
        vary is known of all. So do dictionaries, if one of them is empty, which tells nothing of the others' names; and what is
        always None in some of them, of which the others tell what it may be."""
        for name in dict.fromkeys(x for cls in records for x in self.fields[cls]):
            entries = [p for cls in records if name in self.fields[cls] for p in [self.fields[cls][name].representative()]]
            told = next((p for p in entries if p.types), None)
            for p in dict.fromkeys(entries):
                if told is not None and not p.types and "none" in p.kinds:
                    told.take(p)
            entries = [p.representative() for p in entries]
            dicts = [p for p in entries if p.kinds - {"none"} == {"class"} and p.of_names]
            if any(self.fields[cls] == {} for p in dicts for cls in p.classes):
                for other in dicts[1:]:
                    dicts[0].take(other)
            tensors = [p for p in entries if p.types == {"tensor"} and not p.trouble]
            for p in tensors[1:]:
                if p.dtypes == tensors[0].dtypes and p.shapes.keys() == tensors[0].shapes.keys():
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
        if not added or not all(map(are_alike, by_key.values())):
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
            if not outer.types & CONTAINERS or outer is self.root and self._arguments > 1:
                continue
            visited, level = {outer}, [outer]
            while level:
                level = list(dict.fromkeys(p for place in level for p in place.inside if p not in visited))
                for inner in level:
                    if same_form(outer, inner):
                        outer.take(inner)
                        outer.recursive = True
                        return True
                visited.update(level)
        return False

    def _join_trees(self) -> None:
        """Make one place of those that have trees of the same form, wherever in the instances they are: a model has the same
        functions for the trees of several arguments, and keeps parts of both in one list."""
        found: list[Place] = []
        for place in self.places():
            if place.recursive and place is place.representative():
                other = next((p for p in found if same_trees(p, place)), None)
                if other is None:
                    found.append(place)
                else:
                    other.take(place)

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
            case Tensor() if value.layout != torch.strided:
                place.trouble = f"{path} is a sparse tensor, which an instance cannot have in it: give `x.to_dense()`"
            case Tensor():
                self._tensor(place, value, path)
            case nn.Module():
                what = "a module, which an instance cannot have in it: make it a part of the model, and choose it by a key"
                place.trouble = f"{path} is {what}"
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
                place.defaults.add(self._default(value))
                if place.defaults == {MissingKeys("dict", given=True)}:  # also a missing one, which has no names
                    place.value.kinds.add("dict")
                    place.value.defaults.add(None)
                    place.value.key, place.value.value = place.value.key or Place(), place.value.value or Place()
                are_names = place.defaults == {None} and all(map(is_name, value))
                if not are_names or self._is_new(place, value):
                    inside += [(place.key, k, f"a key of {path}") for k in value]
                    inside += [(place.value, v, f"{path}[{k!r}]") for k, v in value.items()]
                if not are_names:
                    place.kinds.add("dict")
                    return inside
                cls = self._records.class_of(value)
                place.walked = place.walked or cls in self._walked
                return inside + self._object(place, value, cls, value, path)
            case datetime.date() | datetime.timedelta() if (of_date := fields_of_date(value)) is not None:
                return self._object(place, value, CLASSES[type(value)], of_date, path)
            case _:
                fields = attributes(value)
                if fields is None:
                    what = f"a {type(value).__name__}, which an instance cannot have in it"
                    place.trouble = f"{path} is {_array(value) if isinstance(value, np.ndarray) else what}"
                    return []
                return self._object(place, value, type(value), fields, path)
        return []

    def _default(self, value: dict[Any, Any]) -> MissingKeys | None:
        """What a dictionary gives for missing keys. Functions that make that are kept by their places."""
        missing = missing_keys_of(value)
        function = getattr(value, "default_factory", None)
        if not isinstance(function, FunctionType) or missing is None or missing == OTHER:
            return missing
        return missing if self.factories.setdefault(missing.maker, function).__code__ is function.__code__ else OTHER

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
        place.note_shape(value.shape)

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
    """The fields of an object by name: of a dataclass, with what a `__post_init__` or an `__init__` of its own has set beside
    them, or of a named tuple; else its slots and attributes. None if it has neither."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if hasattr(value, f.name)}
        beside = getattr(value, "__dict__", {}) if computes_fields(type(value)) else {}
        return fields | {x: v for x, v in beside.items() if x not in fields and not _is_cached(type(value), x)}
    if isinstance(value, tuple):
        return dict(zip(value._fields, value, strict=True))  # type: ignore[attr-defined]
    slots = [s for c in type(value).__mro__ for s in _slots(c)]
    own = getattr(value, "__dict__", None)
    if own is None and not slots or isinstance(value, type):
        return None
    return {**{s: getattr(value, s) for s in slots if hasattr(value, s)}, **(own or {})}


def _is_cached(cls: type, name: str) -> bool:
    """Whether an attribute of an object is what a property of its class has given, which some objects have not asked for."""
    return isinstance(inspect.getattr_static(cls, name, None), cached_property)


def _slots(cls: type) -> tuple[str, ...]:
    named = cls.__dict__.get("__slots__", ())
    return tuple(s for s in ((named,) if isinstance(named, str) else named) if s not in ("__dict__", "__weakref__"))
