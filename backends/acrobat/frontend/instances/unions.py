"""The unions of a model's classes: which classes are one union, which of them only the model makes, and which are numbers."""

from __future__ import annotations

import dataclasses
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence, Set
from itertools import pairwise
from typing import Any

from torch import nn

from backends.acrobat.core.types import IDENTITY, INT, RANKS, DataT, without_shape
from backends.acrobat.frontend.described import SHOWN
from backends.acrobat.frontend.instances.annotations import AnnotationError, check_dataclass, line_of_class, unions_in
from backends.acrobat.frontend.instances.constant_graphs import reached
from backends.acrobat.frontend.instances.divided import Key, original
from backends.acrobat.frontend.instances.joined import JoinedClasses
from backends.acrobat.frontend.instances.made_trees import form_of, leaf_and_node
from backends.acrobat.frontend.instances.places import Place
from backends.acrobat.frontend.instances.record_classes import RecordOf
from backends.acrobat.frontend.instances.shared import holds_lists
from backends.acrobat.frontend.instances.written_types import WrittenTypes
from backends.acrobat.frontend.types import MADE_NAMES, UNKNOWN, union_name, word_of_type


class Unions(WrittenTypes, ABC):
    """The unions of one program's classes. An attempt that was refused has found some of them, with which the next one
    begins."""

    def __init__(self, root: nn.Module, joined: JoinedClasses | None = None) -> None:
        """`root` is the model; `joined` says what earlier attempts have met in one place."""
        super().__init__(root)
        self._joined = joined or JoinedClasses()
        self.records = self._joined.records
        self.walked = self._joined.walked
        self.copied = self._joined.copied  # classes of which `forward` changes copies of its arguments
        self.named_dicts = self._joined.named_dicts
        self.endless = self._joined.endless
        self.lazy = self._joined.lazy
        self.graphs = self._joined.graphs  # constant objects that are referred to by numbers
        self.wrong: dict[type, AnnotationError] = {}  # class -> the error of each use of it
        self.fields: dict[tuple[type, str], Any] = {}  # (class, field) -> type
        self.seen: dict[type, dict[str, Place]] = {}  # class in the sample -> what was seen in its fields
        self.made: dict[type, tuple[str, ...]] = {}  # ordinary class that only the model makes -> attributes
        classes = {c for m in root.modules() for c in type(m).__mro__ if not c.__module__.startswith(("torch.", "builtins"))}
        self.modules = sorted({c.__module__ for c in classes if c.__module__ in sys.modules})
        self._unresolved: set[type] = set()  # dataclasses in `joined` whose annotations were not read so far

    @property
    def found_for_next_attempt(self) -> tuple[int, ...]:
        """How much has been found so far that the next attempt begins with, whether or not this one ends with problems."""
        several = [*self.lazy.values()].count(None)
        return self.graphs.version, len(self.walked), self.records.telling_key_count, len(self.lazy), several

    def note_walked(self, cls: type) -> None:
        """Note that the program walks over dictionaries of this record class: they are lists of entries, in Python's order."""
        if not self.is_walked(cls):
            self.walked.add(self.records.plain(cls))
            self.changed = True

    def is_walked(self, cls: type) -> bool:
        """Whether dictionaries of this record class are lists of entries."""
        return self.records.plain(cls) in self.walked

    @abstractmethod
    def has_field(self, cls: type, name: str) -> bool:
        """Whether objects of the class have that field. If the class is in the sample, the field is read from here on."""

    @abstractmethod
    def field_names(self, cls: type) -> list[str]:
        """The fields of a class in order; of one known from a sample those that the program reads."""

    # ---- registering

    def _enter_joined(self) -> None:
        """Enter the unions that earlier attempts have found."""
        for union in self._joined.unions:
            self._enter(union)
        self._enter_graphs()

    def union_of(self, cls: type, written: Sequence[type] = ()) -> str:
        """The name of the union of `cls` and `written`; a dataclass in no union is one by itself. Raises AnnotationError."""
        if cls in self.wrong:
            raise self.wrong[cls]
        if cls not in self.of_class:
            try:
                self._register(cls, written)
            except AnnotationError as error:
                self.wrong[cls] = error
                raise
        if cls in self._unresolved:
            self._resolve_fields(cls)
        name = self.of_class[cls]
        if strange := [m.__name__ for m in written if m not in self.cases[name]]:
            raise AnnotationError(
                f"the union of {', '.join(m.__name__ for m in written)} is met after {name}, which lacks {', '.join(strange)}: "
                "name it where its classes are defined"
            )
        return name

    def unions_of_derived(self, cls: type) -> set[str]:
        derived = [c for c in self.seen if issubclass(c, cls)]
        return {self.of_class[c] for c in derived if c in self.of_class} if any(c is not cls for c in derived) else set()

    def union_of_made(self, cls: type, names: Sequence[str]) -> str:
        """The name of the union of an ordinary class, whose objects the model makes with the attributes `names`."""
        if cls not in self.of_class:
            self._add(cls.__name__, (cls,))
            self.made[cls] = tuple(names)
            self.fields |= {(cls, x): UNKNOWN for x in names}
        elif cls in self.made and self.made[cls] != tuple(names):
            self.fields |= {(cls, x): UNKNOWN for x in names if x not in self.made[cls]}
            self.made[cls] = tuple(names)
            self.changed = True
        elif cls in self.seen:
            for x in names:
                if not self.has_field(cls, x):
                    raise AnnotationError(f"a `{cls.__name__}` of the sample has no `{x}`, those that the model makes have")
        return self.of_class[cls]

    def _add(self, name: str, classes: Sequence[type]) -> str:
        """Enter a union of these classes by a name, or by one like it where another union has that. Gives the name."""
        name = self._name_of_classes(name, classes)
        self.cases[name] = tuple(classes)
        self.of_class |= dict.fromkeys(classes, name)
        return name

    def _name_of_classes(self, wanted: str, classes: Sequence[type]) -> str:
        """The name of a union of classes. A class of the source may be called as a union is that the compiler adds, whether
        before or later: its name is another one."""
        name = self.unused_name(wanted)
        if original(original(classes[0])) is dict:  # also that of a version for results
            return union_name(name, "Constant_dict")
        for container in (g.container for g in self._joined.shared if g.cls is original(classes[0])):
            return union_name(name, "SharedList", container)
        if wanted.startswith(MADE_NAMES):
            name = self.unused_name(f"class_{wanted}")
        if name != wanted:
            SHOWN[name] = wanted
        return name

    def _enter(self, classes: tuple[type, ...]) -> None:
        """Enter a union of classes that the model makes."""
        name = self._add("_or_".join(c.__name__ for c in classes), classes)
        SHOWN[name] = " or ".join(shown_class(c) for c in classes)
        attributes = self._joined.attributes
        self.made |= {c: attributes[c] for c in classes if c in attributes}
        self._unresolved |= {c for c in classes if c not in attributes and not issubclass(c, RecordOf)}
        self.fields |= {(c, x): UNKNOWN for c in classes for x in self.attribute_names(c)}

    def _resolve_fields(self, cls: type) -> None:
        """Find what the annotations of a dataclass say, which was entered when nothing was known of the instance."""
        self._unresolved.discard(cls)
        hinted = self.hints(cls)
        for name in self.attribute_names(cls):
            self.fields[cls, name] = self._as_written(cls, hinted[name])
        self.changed = True

    def _as_written(self, cls: type, hint: Any) -> Any:
        """The type that the annotation of a field says. Of lists in lists, whose objects only the model makes, the values tell
        which are shared ones."""
        t = self.resolve(hint)
        return UNKNOWN if self.has_shared and cls not in self.seen and holds_lists(t) else t

    def _register(self, cls: type, written: Sequence[type]) -> None:
        """Enter the union of `cls` and `written`: unions that have a class in common are joined. Raises AnnotationError."""
        if issubclass(cls, RecordOf):
            SHOWN[self._add(cls.__name__, (cls,))] = shown_class(cls)
            self.fields |= {(cls, key): UNKNOWN for key in cls.keys_of_record}
            return
        together = {cls, *written}
        name = ""
        while True:
            named = {*self.modules, *(c.__module__ for c in together)} & set(sys.modules)  # `exec`ed classes may have none
            unions = [u for m in named for u in unions_in(sys.modules[m])]
            more = together.union(*(members for members, _ in unions if together & members))
            if more == together:
                break
            together = more
        for c in together:
            check_dataclass(c)
            if c in self.of_class:
                raise AnnotationError(
                    f"`{c.__name__}` is met alone before its union is: name the union where its classes are defined"
                )
        ordered = sorted(together, key=lambda c: (c.__module__ != cls.__module__, c.__module__, line_of_class(c)))
        name = next((n for members, n in unions if n and members == together), "_or_".join(c.__name__ for c in ordered))
        self._add(name, ordered)
        for member in ordered:
            hinted = self.hints(member)
            for f in dataclasses.fields(member):
                self.fields[member, f.name] = self._as_written(member, hinted[f.name])

    def attribute_names(self, cls: type) -> list[str]:
        """The attributes of a class in order, also of one whose objects are numbers."""
        if cls in self.made:
            return list(self.made[cls])
        if cls not in self._joined.referenced:
            return self.field_names(cls)
        return list(cls.keys_of_record) if issubclass(cls, RecordOf) else [f.name for f in dataclasses.fields(cls)]  # type: ignore[arg-type]

    def record_fields(self, cls: type) -> list[str]:
        """All keys of a record class, in order. If the sample has such dictionaries, all entries are read from here on."""
        if cls in self.seen:
            for key in self.seen[cls]:
                self.has_field(cls, key)
        return list(cls.keys_of_record)  # type: ignore[attr-defined]

    # ---- versions of one class

    def version_of(self, cls: type, key: Key) -> type:
        """The version of a class for an object that the model makes; `key` says where, and with which constants. Of dataclasses
        only those that the instance has too are divided."""
        of_instance = self.is_of_instance(cls)
        if dataclasses.is_dataclass(cls) and not of_instance:
            return cls
        return self._joined.division.version(cls, key, of_instance)

    def note_unlike(self, cls: type) -> None:
        """Note that an attribute is None in all of the instance's objects of a class, while the model reads it."""
        self._joined.division.unlike.add(cls)

    def is_divided(self, cls: type) -> bool:
        """Whether objects of a class of the instance that the model makes are of versions of it (`divided.py`)."""
        return self.is_of_instance(cls) and self._joined.division.is_divided(cls)

    def is_of_instance(self, cls: type) -> bool:
        """Whether the instance may have objects of a class, as the sample shows."""
        return cls in self.seen

    def is_copied(self, t: Any) -> bool:
        """Whether `forward` changes a copy of an argument of this type."""
        return isinstance(t, DataT) and not self.copied.isdisjoint(self.cases.get(t.name, ()))

    def is_version(self, one: DataT, other: DataT) -> bool:
        """Whether a type is that of objects of a version of the one class of another type."""
        classes, others = self.cases.get(one.name, ()), self.cases.get(other.name, ())
        return len(classes) == len(others) == 1 and classes != others and original(classes[0]) is others[0]

    def version_in_results(self, cls: type, names: Sequence[str]) -> tuple[type, str]:
        """The version of a class, of which the attributes are `names`, for objects of the result that have lists and objects in
        place of such that are numbers; and the union that it is in."""
        version = self._joined.division.version_in_results(cls)
        if cls in self.made:
            return version, self.union_of_made(version, names)
        if issubclass(cls, RecordOf) and version not in self.of_class:
            SHOWN[self._add(cls.__name__, (version,))] = shown_class(cls)
            self.fields |= {(version, x): UNKNOWN for x in names}
        return version, self.of_class[version] if version in self.of_class else self.union_of(version)

    # ---- what earlier attempts have met in one place

    def made_trees(self, types: Sequence[Any], none: bool = False) -> list[DataT]:
        """The trees whose leaves and nodes values of these types may be, if an earlier attempt has met such in one place; with
        `none` there may be None in place of each of them."""
        if not self._joined.trees or (pair := leaf_and_node(types)) is None:
            return []
        leaf, node = pair
        form = word_of_type if self._joined.knows_more(leaf, node) else form_of
        return [self.tree_over(leaf, t, none) for old, t in self._joined.trees if old == leaf and form(t) == form(node)]

    @property
    def has_mixtures(self) -> bool:
        """Whether an earlier attempt has met values of several of Python's types in one place."""
        return bool(self._joined.mixtures)

    @property
    def exact(self) -> bool:
        """Whether numbers and tensors keep their types where they meet, as earlier attempts have met them in one place."""
        return self._joined.exact and bool(self._joined.mixtures)

    @property
    def tells_numbers_apart(self) -> bool:
        return self.exact and self.may_mix({"int", "float"})

    def may_mix(self, words: Set[str]) -> bool:
        """Whether an earlier attempt has met values of all these of PYTHON_TYPES in one place."""
        plain = without_shape(words)
        if len(plain) < len(words):  # shapes of which `may_differ` has said that they may stand in one place
            ranks = plain.intersection(RANKS)
            plain = plain - ranks | {"tensor"} if len(ranks) == 1 else plain
        return len(plain) == 1 < len(words) or any(plain <= mixture for mixture in self._joined.mixtures)

    def may_differ(self, shapes: Set[str]) -> bool:
        return self.exact and len(shapes) > 1 and any(shapes <= mixture for mixture in self._joined.mixtures)

    # ---- objects that are referred to by numbers

    def is_only_made(self, union: str) -> bool:
        """Whether a union is one of classes whose objects the model makes, and the instance does not have."""
        classes = self.cases.get(union, ())
        if any(map(self.graphs.is_stand_in, classes)):
            return False
        return bool(classes) and not any(c in self.seen or issubclass(c, RecordOf) and c.class_of_record for c in classes)

    @property
    def has_shared(self) -> bool:
        """Whether some lists are shared ones."""
        return bool(self._joined.shared)

    @property
    def has_references(self) -> bool:
        """Whether objects of some classes are numbers."""
        return bool(self._joined.referenced) or self.has_shared

    def is_referenced(self, union: str) -> bool:
        """Whether the objects of a union are numbers in the program, so that several names may refer to one that is changed."""
        return any(c in self._joined.referenced for c in self.cases.get(union, ()))

    def refer_to(self, x: Any) -> tuple[type, str]:
        """The stand-in of the class of a constant object, which is numbered, and the union that it is in."""
        if x not in self.graphs:
            self.graphs.enter(x)
            self._enter_graphs()
        cls = self.graphs.class_of(x)
        return cls, self.of_class[cls]

    def is_constant(self, union: str) -> bool:
        """Whether the objects of a union are constant ones, which are referred to by numbers."""
        return any(map(self.graphs.is_stand_in, self.cases.get(union, ())))

    def given_whole(self, stand_in: type) -> bool:
        """Have the objects of a class be values of the program with all that is in them, from the next attempt on, in the place
        of numbers. False where that is not possible, as some are inside of themselves."""
        inside = {original(type(y)) for x in self.graphs.of(stand_in).values() for y in reached(x)}
        return stand_in not in self.graphs.circular and not issubclass(stand_in, dict) and self.graphs.take_whole(inside)

    def _enter_graphs(self) -> None:
        """Enter the unions of constant objects, of which there are new ones, or some that were found to stand in one place."""
        for members in self.graphs.unions():
            if self.cases.get(self.of_class.get(members[0], "")) != tuple(members):
                name = self._add("_or_".join(c.__name__ for c in members), members)
                SHOWN[name] = " or ".join(dict.fromkeys(original(c).__name__ for c in members))
                self.fields |= {(c, IDENTITY): INT for c in members}

    def note_constants_apart(self, unions: Sequence[str]) -> None:
        """Note that objects of these unions were met in one place. Constant ones stand in one place from the next attempt on;
        beside such that the model makes, or the instance has, they are no numbers any more."""
        numbered = [u for u in dict.fromkeys(unions) if self.is_constant(u)]
        classes = [self.graphs.class_behind(self.cases[u][0]) for u in numbered]
        if [pair for pair in pairwise(classes) if self.graphs.join(*pair)]:
            self._enter_graphs()
        if numbered and any(u in self.cases and u not in numbered for u in unions):
            for stand_in in (c for u in numbered for c in self.cases[u]):
                self.given_whole(stand_in)


def shown_class(cls: type) -> str:
    """A class as messages name it: that of dictionaries by their keys."""
    return f"a dict of {', '.join(cls.keys_of_record)}" if issubclass(cls, RecordOf) else cls.__name__
