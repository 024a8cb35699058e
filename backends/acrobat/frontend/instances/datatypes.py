"""The table of a model's datatypes: the unions of its classes, and what their fields hold."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from enum import EnumType
from types import FunctionType
from typing import Any

from torch import nn

from backends.acrobat.core.types import DICT, FLOAT, IDENTITY, INT, Case, DataType, ListT, TupleT
from backends.acrobat.frontend.instances.annotations import AnnotationError
from backends.acrobat.frontend.instances.divided import original
from backends.acrobat.frontend.instances.joined import JoinedClasses
from backends.acrobat.frontend.instances.met_types import MetTypes
from backends.acrobat.frontend.instances.observed import Observer
from backends.acrobat.frontend.instances.places import Place
from backends.acrobat.frontend.instances.record_classes import RecordOf, stand_in
from backends.acrobat.frontend.instances.sample_strings import strings_in
from backends.acrobat.frontend.instances.unions import Unions
from backends.acrobat.frontend.types import UNKNOWN, contains_unknown

PLAIN = (tuple, str, bytes, int, float, complex, list, dict, set, frozenset)
"""Classes of values that `id` does not number, nor objects of classes derived from them."""


class Datatypes(Unions):
    """The unions of classes and the optionals of one program. Types of fields are refined in each round of compiling."""

    def __init__(self, root: nn.Module, joined: JoinedClasses | None = None) -> None:
        """`root` is the model; `joined` says what earlier attempts have met in one place."""
        super().__init__(root, joined)
        self.met = MetTypes(self._joined, self)
        self._sample: tuple[Sequence[Any], Observer] | None = None
        self.factories: dict[str, FunctionType] = {}  # what makes the values for missing keys of dictionaries of the sample
        self.refined: set[tuple[type, str]] = set()  # fields whose types come from values in the model
        self.given_out: set[tuple[type, str]] = set()  # fields of objects of the result that would be `Held`
        self.constants: dict[tuple[type, str], list[Any]] = {}  # (class, field) -> modules, functions there
        self.arguments = 1  # how many `forward` gets of an instance
        self.asked: dict[type, list[str]] = {}  # class in the sample -> the fields that the program reads
        self.numbered: set[type] = set()  # dataclasses read by their annotations whose objects are told apart by identity
        self.circular: set[type] = set()  # classes of the sample's objects that refer to each other in circles
        self._identities: dict[str, int] = {}  # union of numbered objects -> its place among those that `id` was asked for
        self.late: dict[type, list[str]] = {}  # those that objects may not have yet when `__init__` ends: None until then
        self.late_nones: set[tuple[type, str]] = set()  # those of them that None is assigned to, too
        self._enter_joined()

    # ---- types from a sample

    def strings_of_sample(self) -> frozenset[str]:
        """All strings that are in the sample's instances; none without a sample."""
        if self._sample is None:
            return frozenset()
        return strings_in(self._sample[0])

    @property
    def has_enums(self) -> bool:
        """Whether what is a string in the program may be a member of an Enum: the sample has such, or the model's source."""
        places = self._sample[1].places() if self._sample is not None else ()
        named = (x for m in self.modules for x in vars(sys.modules[m]).values())
        return any(place.enums for place in places) or any(isinstance(x, EnumType) and len(x) > 0 for x in named)

    def _observer(self, instances: Sequence[Any]) -> Observer:
        if self._sample is None or self._sample[0] is not instances:
            self._sample = instances, Observer(instances, self.records, self._joined.by_name, self.walked, self.arguments)
        return self._sample[1]

    def has_defaults(self, instances: Sequence[Any]) -> bool:
        """Whether dictionaries of a sample have values for missing keys, of which annotations do not tell."""
        return any(place.defaults - {None} for place in self._observer(instances).places())

    def are_more_derived(self, instances: Sequence[Any]) -> bool:
        """Whether objects of a sample are of classes derived from those of the annotations, which do not name them."""
        others = [c for c in self._observer(instances).fields if c not in self.of_class]
        return any(issubclass(c, tuple(self.of_class)) for c in others)

    def observe(self, instances: Sequence[Any]) -> Any:
        """The type of a sample's instances; their classes are entered with the fields seen. Raises AnnotationError."""
        observer = self._observer(instances)
        self.values_tell = True
        self.seen, self.factories = observer.fields, observer.factories
        self.start_round()
        for cls, name in [(c, x) for c, x in self.fields if c in self.seen and x not in self.asked.get(c, [])]:
            del self.fields[cls, name]  # entered for an annotation; the sample tells the type once the field is read
        together: dict[type, set[type]] = {cls: {cls} for cls in observer.fields}
        for place in observer.places():
            for cls in place.classes:
                joined = together[next(iter(place.classes))] | together[cls]
                for member in joined:
                    together[member] = joined
        for cls in observer.fields:
            if cls not in self.of_class:
                members = [c for c in observer.fields if c in together[cls]]
                self._add("_or_".join(c.__name__ for c in members), members)
        for cls, names in self.asked.items():
            for name in names:
                if name != IDENTITY and (cls, name) not in self.refined:
                    self.fields[cls, name] = self._field_seen(cls, name)  # `walked` may have grown
        return self.type_at(observer.root, "the instance")

    # ---- what the program asks of numbers and tensors

    def is_float_in_python(self) -> bool:
        """Whether a float of the program is one in Python too, and not an int in some instances; that the program asks for this
        is noted. Where it may be an int the next attempt tells the two apart."""
        self.asked_for_ints = True
        if self.ints_as_floats:
            self.met.mixtures.append(frozenset(("float", "int")))
        return not self.ints_as_floats

    def is_tensor_in_python(self) -> bool:
        """Whether a tensor of the program is one in Python too, and not a number in some instances; that the program asks for
        this is noted. Where it may be a number the next attempt tells the two apart."""
        self.asked_for_tensors = True
        if self.numbers_as_tensors:
            self.note_numbers_beside_tensors()
        return not self.numbers_as_tensors

    def note_numbers_beside_tensors(self) -> None:
        """Note for the next attempt that numbers and tensors were met in one place, and are to stay what they are."""
        self.met.mixtures += [frozenset(("float", "tensor")), frozenset(("int", "tensor"))]

    # ---- fields

    def field_names(self, cls: type) -> list[str]:
        """The fields of a class in order; of one known from a sample those that the program reads."""
        if cls in self.seen:
            return self.asked.setdefault(cls, [])
        if self.graphs.is_stand_in(cls):
            return [IDENTITY]
        if cls in self._joined.referenced:
            self.fields[cls, IDENTITY] = INT
            return [IDENTITY]
        if issubclass(cls, RecordOf):
            return list(cls.keys_of_record)
        if cls in self.made:
            return list(self.made[cls])
        written = [f.name for f in dataclasses.fields(cls)]  # type: ignore[arg-type]
        return [*written, IDENTITY] if cls in self.numbered else written

    def identify(self, cls: type) -> None:
        """Number the objects of a class, for `id(x)`. Raises AnnotationError for one that is only made by the model, and for
        tuples and other values of Python's own, also of derived classes."""
        if cls in self._joined.referenced or self.graphs.is_stand_in(cls):
            return
        if cls in self.made or issubclass(cls, RecordOf):
            self.met.note_changed_elsewhere(self.of_class[cls])  # of a number the next attempt knows
        if cls in self.made or issubclass(cls, (RecordOf, *PLAIN)):
            raise AnnotationError(f"`id` is for objects of the instances, not for a `{cls.__name__}`")
        self._number(cls)

    def first_identity(self, union: str) -> int:
        """Where the numbers begin that `id` gives for objects of a union: at 0 for those of the instance, and for each other
        union so far away that no two objects have one number."""
        if not self.is_referenced(union) and not self.is_constant(union):
            return 0
        return self._identities.setdefault(union, len(self._identities) + 1) << 40

    def tell_apart(self, classes: Set[type]) -> bool:
        """Have the objects of these classes of the sample, which refer to each other in circles, be read once each. False if
        they are already."""
        new = classes - self.circular
        self.circular |= new
        for cls in new:
            self._number(cls)
            self.has_field(cls, IDENTITY)
        return bool(new)

    def read_fields(self) -> dict[type, list[str]]:
        """The fields of each class of the instances that the program reads: of dataclasses known by their annotations all."""
        numbers = self._joined.referenced
        known = (c for c in self.of_class if c not in self.made and c not in numbers and not self.graphs.is_stand_in(c))
        return {c: list(self.asked.get(c, ()) if c in self.seen else self.field_names(c)) for c in known}

    def _number(self, cls: type) -> None:
        """Have the objects of a class of the instances be numbered, and read once each, however they are reached."""
        if cls in self.seen:
            self.seen[cls].setdefault(IDENTITY, Place(kinds={"int"}))
        elif cls not in self.numbered:
            self.numbered.add(cls)
            self.fields[cls, IDENTITY] = INT
            self.changed = True

    def forget_none(self, classes: Sequence[type], name: str) -> None:
        """Do not read a field of instances that is None in the whole sample. What the model writes to it lies in a dictionary
        of the program (`evaluator/changes/written_fields.py`)."""
        for c in classes:
            if name in self.asked.get(c, []) and contains_unknown(self.fields[c, name]):
                self.asked[c].remove(name)
                del self.fields[c, name]

    def has_field(self, cls: type, name: str) -> bool:
        """Whether objects of the class have that field. If the class is in the sample, the field is read from here on."""
        if cls in self.seen:
            if name not in self.seen[cls]:
                return False
            if name not in self.asked.setdefault(cls, []):
                self.fields[cls, name] = self._field_seen(cls, name)
                self.asked[cls].append(name)
                self.changed = True
            return True
        return name in self.field_names(cls)

    def _field_seen(self, cls: type, name: str) -> Any:
        """The type of a field of a class in the sample: of its annotation, if that is complete, else of the values seen."""
        if dataclasses.is_dataclass(cls):
            try:
                written = self.resolve(self.hints(cls)[name])
                if not contains_unknown(written):
                    if FLOAT in (written, self.optionals.get(getattr(written, "name", ""))) and self._has_ints(cls, name):
                        self.note_int_as_float()
                    return _as_seen(written, self.seen[cls][name])
            except (AnnotationError, KeyError):
                pass
        return self.type_at(self.seen[cls][name], f"`{cls.__name__}.{name}`")

    def _has_ints(self, cls: type, name: str) -> bool:
        """Whether ints were seen in a field of a class of the sample."""
        return "int" in self.seen[cls][name].representative().kinds

    def vector(self, cls: type, name: str) -> int:
        """The length of the lists of floats in a field, if all in the sample have the same one; else 0."""
        place = self.seen.get(cls, {}).get(name)
        return 0 if place is None else place.vector

    def field_type(self, cls: type, name: str) -> Any:
        return self.fields[cls, name]

    def widen(self, cls: type, name: str, t: Any) -> Any:
        """Set the type of a field to `t`, which covers all values that the model gives it. Gives `t`."""
        self.refined.add((cls, name))
        if t != self.fields.get((cls, name), UNKNOWN):
            self.fields[cls, name] = t
            self.changed = True
        return t

    def add_late(self, cls: type, name: str) -> None:
        """From the next round of compiling on, objects of an ordinary class that the model makes have one attribute more, which
        is None until it is assigned to."""
        self.late.setdefault(cls, [])
        if name not in self.late[cls]:
            self.late[cls].append(name)
            self.changed = True

    def may_be_missing(self, classes: Sequence[type], name: str) -> bool:
        """Whether None in that attribute says that the object does not have it yet."""
        return any(name in self.late.get(c, ()) and (c, name) not in self.late_nones for c in classes)

    def table(self, used: Mapping[str, None]) -> dict[str, DataType]:
        """The datatypes of the finished program: the unions and optionals with the names `used`."""
        out = {}
        for name in used:
            if name in self.mixed:
                inside = self.mixed[name].items()
                cases = [Case(f"of_{x}", (("value", t),), self.class_in_mixed(name, x), x) for x, t in inside]
                out[name] = DataType(name, tuple(cases))
            elif name in self.optionals:
                out[name] = DataType(name, (Case("None", ()), Case("Some", (("value", self.optionals[name]),))))
            else:
                out[name] = DataType(
                    name,
                    tuple(
                        Case(c.__name__, tuple((f, self.fields[c, f]) for f in self.field_names(c)), self._python_class(c))
                        for c in self.cases[name]
                    ),
                )
        return out

    def _python_class(self, cls: type) -> type:
        of_source = original(original(cls))  # also of a version for results of another version
        return stand_in(of_source, self.made[cls]) if cls in self.made else of_source


def _as_seen(t: Any, place: Place | None) -> Any:
    """The type that an annotation says, with dictionaries that have the values for missing keys that were seen."""
    place = place.representative() if place is not None else Place()
    match t:
        case ListT(TupleT((key, value)), kind=kind) if kind == DICT:
            return replace(t, item=TupleT((key, _as_seen(value, place.value))), kind=place.kind_of_dict)
        case ListT(item, rows=None):
            return replace(t, item=_as_seen(item, place.item))
        case TupleT(items) if len(items) == len(place.items):
            return replace(t, items=tuple(map(_as_seen, items, place.items)))
    return t
