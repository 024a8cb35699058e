"""What was seen at one place of the sample's instances, and whether two places have values of the same form.

A place is one way into an instance: the field of a class, the items of a list, a component of a tuple. All values seen at one
place are joined: several classes are a union, `None` beside something else an optional, several types of Python's own a mixed
union, and an extent of a tensor that was seen with two values is one that varies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from backends.acrobat.core.types import ListKind, MissingKeys
from backends.acrobat.frontend.instances.default_dicts import OTHER
from backends.acrobat.frontend.instances.record_classes import RecordOf


@dataclass(eq=False)
class Place:
    """What was seen at one place. `shapes` has those of tensors by their rank, with None for extents that vary; `classes` has
    the order in which they were seen."""

    kinds: set[str] = field(default_factory=set)
    shapes: dict[int, list[int | None]] = field(default_factory=dict)
    dtypes: set[torch.dtype] = field(default_factory=set)
    item: Place | None = None  # of a list or set
    items: list[Place] = field(default_factory=list)  # of a tuple
    lengths: set[int] = field(default_factory=set)  # of the lists
    key: Place | None = None  # of a dictionary
    value: Place | None = None
    defaults: set[MissingKeys | None] = field(
        default_factory=set
    )  # what the dictionaries give for missing keys (`default_dicts`)
    trouble: str = ""  # why the place has no type, if it has none
    classes: dict[type, dict[str, Place]] = field(default_factory=dict)  # those seen, with the places of their fields
    sizes: set[int] = field(default_factory=set)  # of tuples; those of several lengths are seen as lists
    into: Place | None = None  # the place that this one has become a part of
    enums: bool = False  # whether members of Enums were seen
    by_name: bool = False  # whether dictionaries with different names are told apart by these, whatever their values are
    walked: bool = False  # whether dictionaries with names were seen that the program walks over
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
        one.defaults |= other.defaults
        one.sizes |= other.sizes
        one.trouble = one.trouble or other.trouble
        one.enums = one.enums or other.enums
        one.recursive = one.recursive or other.recursive
        one.walked = one.walked or other.walked
        one.classes |= other.classes
        for shape in other.shapes.values():
            one.note_shape(shape)
        for name in ("item", "key", "value"):
            mine, others = getattr(one, name), getattr(other, name)
            if mine is not None and others is not None:
                mine.take(others)
            setattr(one, name, mine or others)
        for a, b in zip(one.items, other.items, strict=False):
            a.take(b)
        one.items = max(one.items, other.items, key=len)
        one.as_list()

    def note_shape(self, shape: Sequence[int | None]) -> None:
        """Note the shape of a tensor: the extents in which those of one rank differ vary."""
        before = self.shapes.get(len(shape), shape)
        self.shapes[len(shape)] = [a if a == b else None for a, b in zip(before, shape, strict=True)]

    def as_list(self) -> None:
        """Make one place of those of a tuple's components, if tuples of several lengths were seen."""
        if len(self.sizes) > 1:
            self.item = self.item or Place()
            while self.items:
                self.item.take(self.items.pop())

    @property
    def types(self) -> set[str]:
        """The kinds of values that were seen here, None aside."""
        kinds = self.kinds - {"none"}
        return kinds - {"class"} | {"dict"} if self.of_names and (self.walked or "dict" in kinds) else kinds

    @property
    def of_names(self) -> bool:
        """Whether the objects at the place are all dictionaries with names as keys."""
        return bool(self.classes) and all(issubclass(c, RecordOf) for c in self.classes)

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
    def kind_of_dict(self) -> ListKind:
        """The kind of the type of the dictionaries at the place, which says what all of them give for missing keys."""
        missing = next(iter(self.defaults)) if len(self.defaults) == 1 else OTHER if self.defaults else None
        return ListKind("dict", missing=missing)

    @property
    def is_dict(self) -> bool:
        """Whether the place has dictionaries whose keys differ. Those with the same names as keys each time are records, and so
        are those with different names whose values differ in kind, or are tensors of several ranks or dtypes: they are a union
        of records."""
        if "dict" in self.types:
            return True
        if self.types != {"class"} or len(self.classes) < 2 or not self.of_names or self.by_name:
            return False
        if self.value is None or _of_one_kind(self.value, set()):
            return True
        by_name = [place for fields in self.classes.values() for place in fields.values()]
        return _is_one_kind(self.value) and not all(_of_one_kind(place, set()) for place in by_name)


def _is_one_kind(place: Place) -> bool:
    """Whether the values at a place are of one of Python's types, or numbers, or tensors of one rank and dtype."""
    place = place.representative()
    return (
        (len(place.types) < 2 or place.types == {"int", "float"})
        and not place.trouble
        and len(place.dtypes) < 2 > len(place.shapes)
    )


def are_alike(places: Sequence[Place]) -> bool:
    """Whether what was seen at several places is of one kind in all of them, so that they can be made one place."""
    observed = [p for p in places if p.types]
    return all(_alike(observed[0], p, set(), by_name=True) and not p.trouble for p in observed)


def _of_one_kind(place: Place, visited: set[Place]) -> bool:
    """As `_is_one_kind`, for the values and what is in their lists, tuples and sets; of dictionaries with several sets of names
    also for all their values, or for those of each name. `visited`: places that are being asked."""
    place = place.representative()
    if place in visited:
        return True
    visited.add(place)
    if not _is_one_kind(place):
        return False
    if place.types == {"class"} and len(place.classes) > 1 and place.of_names and place.value is not None:
        by_name = [p for fields in place.classes.values() for p in fields.values()]
        asked = {*visited}
        if not _of_one_kind(place.value, {*visited}) and not all(_of_one_kind(p, asked) for p in by_name):
            return False
    parts = [p for p in (*place.items, place.item) if p is not None]
    return all(_of_one_kind(part, visited) for part in parts)


CONTAINERS = {"tuple", "list", "dict"}
"""The types whose values can be trees by containing values of their own type."""


def same_form(outer: Place, inner: Place) -> bool:
    """Whether a place and one inside of it have trees of the same form, as far as was seen: where leaves are mixed with trees,
    such as strings with tuples, or where the parts of both are alike on all levels."""
    if not outer.types & inner.types & CONTAINERS:
        return False
    if len(outer.types) > 1:
        return True
    if len(inner.types) > 1:
        return _parts_alike(outer, inner)
    if "tuple" in outer.types:
        return outer.sizes == inner.sizes and _alike(outer, inner, set())
    below = inner.value if "dict" in inner.types else inner.item
    deeper = below is not None and outer.types <= below.representative().types  # lists of lists of lists, of different depths
    return deeper and _alike(outer, inner, set())


def same_trees(one: Place, other: Place) -> bool:
    """Whether two places have trees of the same form, so that they can be made one and nothing that is known of either is lost:
    on all levels the same types, lengths of tuples where these do not vary, shapes of tensors, and values for missing keys."""
    return _alike(one, other, set()) and all(_as_exact(a, b) for a, b in _pairs(one, other))


def _as_exact(a: Place, b: Place) -> bool:
    """Whether as much is known of the values of one of two alike places as of those of the other."""
    varying = len(a.sizes) > 1 < len(b.sizes)
    return (
        a.kinds == b.kinds
        and (varying or a.sizes == b.sizes)
        and (a.shapes, a.defaults, a.enums, a.vector, a.by_name) == (b.shapes, b.defaults, b.enums, b.vector, b.by_name)
        and not a.trouble
        and not b.trouble
    )


def _pairs(one: Place, other: Place) -> list[tuple[Place, Place]]:
    """Two places, and the pairs of places inside of them."""
    found = [(one.representative(), other.representative())]
    for a, b in found:
        found += [x for x in zip(a.inside, b.inside, strict=False) if x not in found and x[0] is not x[1]]
    return found


def _parts_alike(outer: Place, inner: Place) -> bool:
    """Whether everything that was seen in the parts of `outer` was also seen in the parts of `inner`."""
    of_tuple = inner.items or [inner.item] * len(outer.items) if inner.item is not None else inner.items
    pairs = [(outer.item, inner.item), (outer.value, inner.value), *zip(outer.items, of_tuple, strict=False)]
    return outer.types <= inner.types and all(
        a is None or b is not None and a.representative().types <= b.representative().types for a, b in pairs
    )


def _alike_by_name(a: Place, b: Place, assumed: set[tuple[Place, Place]]) -> bool:
    """Whether two places have dictionaries whose keys are names, in other sets of these, and the values of each name have the
    same types on all levels."""
    if a.types != {"class"} or not all(issubclass(c, RecordOf) and c.class_of_record is None for c in (*a.classes, *b.classes)):
        return False
    values = [(name, p) for fields in a.classes.values() for name, p in fields.items()]
    others = [(name, p) for fields in b.classes.values() for name, p in fields.items()]
    return all(_alike(p, q, assumed, by_name=True) for name, p in values for other, q in others if name == other)


def _alike(a: Place, b: Place, assumed: set[tuple[Place, Place]], by_name: bool = False) -> bool:
    """Whether the values of two places have the same types on all levels, where both were seen. `assumed`: pairs that are being
    compared, so that comparing places that are inside of themselves ends. `by_name`: dictionaries whose keys are names may have
    other sets of these."""
    a, b = a.representative(), b.representative()
    if a is b or (a, b) in assumed or not a.types or not b.types:
        return True
    if a.types != b.types or a.dtypes != b.dtypes:
        return False
    if "class" in a.types and a.classes.keys() != b.classes.keys():
        assumed.add((a, b))
        return by_name and _alike_by_name(a, b, assumed)
    if a.shapes.keys() != b.shapes.keys():
        return False
    assumed.add((a, b))
    return len(a.inside) == len(b.inside) and all(
        _alike(x, y, assumed, by_name) for x, y in zip(a.inside, b.inside, strict=True)
    )
