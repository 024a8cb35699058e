"""The table of a model's datatypes: which union each class belongs to and what its fields hold."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from enum import EnumType
from itertools import pairwise
from types import FunctionType
from typing import Any

from torch import nn

from backends.acrobat.core.span import Span
from backends.acrobat.core.types import FLOAT, IDENTITY, INT, RANKS, Case, DataT, DataType, ListT, TupleT
from backends.acrobat.frontend.instances.annotations import AnnotationError, check_dataclass, line_of_class, unions_in
from backends.acrobat.frontend.instances.constant_graphs import reached
from backends.acrobat.frontend.instances.divided import Key, original
from backends.acrobat.frontend.instances.fixed_shapes import FixedShapes
from backends.acrobat.frontend.instances.joined import JoinedClasses
from backends.acrobat.frontend.instances.made_trees import Pair, form_of, is_open, leaf_and_node
from backends.acrobat.frontend.instances.observed import Observer
from backends.acrobat.frontend.instances.places import Place
from backends.acrobat.frontend.instances.record_classes import RecordOf, stand_in
from backends.acrobat.frontend.instances.sample_strings import strings_in
from backends.acrobat.frontend.instances.shared import NO_ELEMENTS, Choice, Noted, Site
from backends.acrobat.frontend.instances.written_types import WrittenTypes
from backends.acrobat.frontend.types import SHOWN, UNKNOWN, contains_unknown


class Datatypes(WrittenTypes):
    """The unions of dataclasses and the optionals of one program. Types of fields are refined in each round of compiling."""

    def __init__(self, root: nn.Module, joined: JoinedClasses | None = None) -> None:
        super().__init__(root)
        self._joined = joined or JoinedClasses()
        self.records = self._joined.records
        self.walked = self._joined.walked
        self.endless = self._joined.endless
        self.apart: list[tuple[str, str]] = []  # unions of which values were met in one place in this round of compiling
        self.trees_apart: list[Pair] = []  # likewise numbers or strings, and tuples or lists of such
        self.mixtures_apart: list[frozenset[str]] = []  # likewise the words of several of PYTHON_TYPES
        self.shapes = FixedShapes()
        self.cases: dict[str, tuple[type, ...]] = {}  # union -> classes
        self.wrong: dict[type, AnnotationError] = {}  # class -> the error of each use of it
        self._sample: tuple[Sequence[Any], Observer] | None = None
        self.fields: dict[tuple[type, str], Any] = {}  # (class, field) -> type
        self.factories: dict[str, FunctionType] = {}  # what makes the values for missing keys of dictionaries of the sample
        self.refined: set[tuple[type, str]] = set()  # fields whose types come from values in the model
        self.given_out: set[tuple[type, str]] = set()  # fields of objects of the result that would be `Held`
        self.constants: dict[tuple[type, str], list[Any]] = {}  # (class, field) -> modules, functions there
        self.asked: dict[type, list[str]] = {}  # class in the sample -> the fields that the program reads
        self.seen: dict[type, dict[str, Place]] = {}  # class in the sample -> what was seen in its fields
        self.numbered: set[type] = set()  # dataclasses read by their annotations whose objects are told apart by identity
        self.circular: set[type] = set()  # classes of the sample's objects that refer to each other in circles
        self.made: dict[type, tuple[str, ...]] = {}  # ordinary class that only the model makes -> attributes
        self.graphs = self._joined.graphs  # constant objects that are referred to by numbers
        self.late: dict[type, list[str]] = {}  # those that objects may not have yet when `__init__` ends: None until then
        self.late_nones: set[tuple[type, str]] = set()  # those of them that None is assigned to, too
        self.lists_seen_elsewhere: list[Noted] = []  # lists that are changed while other names may refer to them
        self.lists_made: dict[Site, Any] = {}  # where the source makes lists, sets and dictionaries, of which types
        self.made_for: dict[str, set[Site]] = {}  # those of them that make what attributes of this name get
        self.made_at: dict[Span, Site] = {}  # the same places, by the position at which problems are reported
        self.given_by_name = False  # whether a dictionary without known names is given to a call with `**`
        self.seen_elsewhere: set[type] = set()  # classes whose objects are changed while other names may refer to them
        classes = {c for m in root.modules() for c in type(m).__mro__ if not c.__module__.startswith(("torch.", "builtins"))}
        self.modules = sorted({c.__module__ for c in classes if c.__module__ in sys.modules})
        self._unresolved: set[type] = set()  # dataclasses in `joined` whose annotations were not read so far
        for union in self._joined.unions:
            self._enter(union)
        self._enter_graphs()

    # ---- registering

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
        while name in self.cases:
            name += "_"
        self.cases[name] = tuple(classes)
        self.of_class |= dict.fromkeys(classes, name)
        return name

    def version_of(self, cls: type, key: Key) -> type:
        """The version of an ordinary class for an object that the model makes; `key` says where, and with which constants."""
        return cls if cls in self.seen else self._joined.division.version(cls, key)

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
            SHOWN[self._add(cls.__name__, (version,))] = _shown(cls)
            self.fields |= {(version, x): UNKNOWN for x in names}
        return version, self.of_class[version] if version in self.of_class else self.union_of(version)

    def met(self) -> list[tuple[tuple[type, ...], tuple[type, ...]]]:
        """The unions of which values were met in one place in the last round, in pairs."""
        return [(self.cases[one], self.cases[other]) for one, other in self.apart]

    def note_apart(self, types: Sequence[Any]) -> None:
        """Note that values of these types were met in one place."""
        self._constants_apart([t.name for t in types if isinstance(t, DataT)])
        names = list(dict.fromkeys(t.name for t in types if isinstance(t, DataT) and self._only_made(t.name)))
        self.apart += pairwise(names)
        if (pair := leaf_and_node(types)) is not None and is_open(pair):
            self.trees_apart.append(pair)
        words = frozenset(word.partition("_")[0] for word in self.by_word(types))
        if len(words) > 1 and "" not in words:
            self.mixtures_apart.append(words)

    def made_trees(self, types: Sequence[Any]) -> list[DataT]:
        """The trees whose leaves and nodes values of these types may be, if an earlier build has met such in one place."""
        if not self._joined.trees or (pair := leaf_and_node(types)) is None:
            return []
        leaf, node = pair
        return [self.tree_over(leaf, t) for old, t in self._joined.trees if old == leaf and form_of(t) == form_of(node)]

    @property
    def has_mixtures(self) -> bool:
        """Whether an earlier build has met values of several of Python's types in one place."""
        return bool(self._joined.mixtures)

    @property
    def exact(self) -> bool:
        """Whether numbers and tensors keep their types where they meet, as earlier builds have met them in one place."""
        return self._joined.exact and bool(self._joined.mixtures)

    @property
    def tells_numbers_apart(self) -> bool:
        return self.exact and self.may_mix({"int", "float"})

    def is_float_in_python(self) -> bool:
        """Whether a float of the program is one in Python too, and not an int in some instances; that the program asks for this
        is noted. Where it may be an int the next build tells the two apart."""
        self.asked_for_ints = True
        if self.ints_as_floats:
            self.mixtures_apart.append(frozenset(("float", "int")))
        return not self.ints_as_floats

    def is_tensor_in_python(self) -> bool:
        """Whether a tensor of the program is one in Python too, and not a number in some instances; that the program asks for
        this is noted. Where it may be a number the next build tells the two apart."""
        self.asked_for_tensors = True
        if self.numbers_as_tensors:
            self.mixtures_apart += [frozenset(("float", "tensor")), frozenset(("int", "tensor"))]
        return not self.numbers_as_tensors

    def may_mix(self, words: Set[str]) -> bool:
        """Whether an earlier build has met values of all these of PYTHON_TYPES in one place."""
        plain = {word.partition("_")[0] for word in words}
        if len(plain) < len(words):  # shapes of which `may_differ` has said that they may stand in one place
            ranks = plain.intersection(RANKS)
            plain = plain - ranks | {"tensor"} if len(ranks) == 1 else plain
        return len(plain) == 1 < len(words) or any(plain <= mixture for mixture in self._joined.mixtures)

    def may_differ(self, shapes: Set[str]) -> bool:
        return self.exact and len(shapes) > 1 and any(shapes <= mixture for mixture in self._joined.mixtures)

    def _only_made(self, union: str) -> bool:
        """Whether a union is one of classes whose objects the model makes, and the instance does not have."""
        classes = self.cases.get(union, ())
        if any(map(self.graphs.is_stand_in, classes)):
            return False
        return bool(classes) and not any(c in self.seen or issubclass(c, RecordOf) and c.class_of_record for c in classes)

    def joined(
        self,
        trees: bool = True,
        by_name: bool = False,
        mixtures: bool = False,
        references: bool = False,
        shared: Choice | None = None,
        shapes: bool = False,
    ) -> JoinedClasses:
        """The unions that this program began with, joined with those that were met in one place in the last round, and with
        `trees` also those of numbers or strings and tuples, with `by_name` dictionaries told apart by their names if one is
        given with `**`, with `mixtures` those of different types of Python's, with `references` the classes whose objects are
        numbers, with `shared` the lists that are, with `shapes` shapes that would be joined to one whose extents vary, where
        types are kept exactly. The same object if there were none."""
        unions = self._joined.joined(self.met(), self.made)
        if by_name and self.given_by_name and not unions.by_name:
            unions = replace(unions, by_name=True)
        unions = unions.with_mixtures([*self.mixtures_apart, *self.shapes.broadcast]) if mixtures else unions
        unions = unions.with_referenced(self.seen_elsewhere) if references else unions
        unions = unions.with_shapes(self.shapes.joined()) if shapes and unions.exact else unions
        unions = unions if shared is None else unions.with_shared(self.lists_seen_elsewhere, self.lists_made, shared)
        return unions.with_trees(self.trees_apart) if trees else unions

    # ---- objects that are referred to by numbers

    def note_seen_elsewhere(self, union: str) -> None:
        """Note that objects of a union are changed while other names may refer to them. If they are ones that the model makes,
        of ordinary classes or dataclasses, or dictionaries whose keys are names, an object is a number for the next build
        (`evaluator/objects/referenced.py`)."""
        classes = self.cases.get(union, ())
        if self._only_made(union) and all(map(_may_be_referenced, classes)):
            self.seen_elsewhere |= {*classes}

    @property
    def has_shared(self) -> bool:
        """Whether some lists are shared ones."""
        return bool(self._joined.shared)

    def note_elements(self, span: Span, type: Any) -> None:
        """Note the type of a list made at a place where that of its elements was not known."""
        if span in self.made_at and isinstance(type, ListT) and type.item not in NO_ELEMENTS:
            self.lists_made[self.made_at[span]] = type

    def shared_class(self, site: Site, span: Span, type: Any) -> type | None:
        """The class of the shared lists that are made at a place, of which the values have that type; None where the lists are
        plain ones."""
        if type.item not in NO_ELEMENTS or site not in self.lists_made:
            self.lists_made[site] = type
        self.made_at[span] = site
        return next((g.cls for g in self._joined.shared if site in g.sites), None)

    @property
    def has_references(self) -> bool:
        """Whether objects of some classes are numbers."""
        return bool(self._joined.referenced) or self.has_shared

    def is_referenced(self, union: str) -> bool:
        """Whether the objects of a union are numbers in the program, so that several names may refer to one that is changed."""
        return any(c in self._joined.referenced for c in self.cases.get(union, ()))

    # ---- constant objects that are referred to by numbers

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
        """Have the objects of a class be values of the program with all that is in them, from the next build on, in the place
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

    def _constants_apart(self, unions: Sequence[str]) -> None:
        """Note that objects of these unions were met in one place. Constant ones stand in one place from the next build on;
        beside such that the model makes, or the instance has, they are no numbers any more."""
        numbered = [u for u in dict.fromkeys(unions) if self.is_constant(u)]
        classes = [self.graphs.class_behind(self.cases[u][0]) for u in numbered]
        if [pair for pair in pairwise(classes) if self.graphs.join(*pair)]:
            self._enter_graphs()
        if numbered and any(u in self.cases and u not in numbered for u in unions):
            for stand_in in (c for u in numbered for c in self.cases[u]):
                self.given_whole(stand_in)

    def attribute_names(self, cls: type) -> list[str]:
        """The attributes of a class in order, also of one whose objects are numbers."""
        if cls in self.made:
            return list(self.made[cls])
        if cls not in self._joined.referenced:
            return self.field_names(cls)
        return list(cls.keys_of_record) if issubclass(cls, RecordOf) else [f.name for f in dataclasses.fields(cls)]  # type: ignore[arg-type]

    def _enter(self, classes: tuple[type, ...]) -> None:
        """Enter a union of classes that the model makes."""
        name = self._add("_or_".join(c.__name__ for c in classes), classes)
        SHOWN[name] = " or ".join(_shown(c) for c in classes)
        attributes = self._joined.attributes
        self.made |= {c: attributes[c] for c in classes if c in attributes}
        self._unresolved |= {c for c in classes if c not in attributes and not issubclass(c, RecordOf)}
        self.fields |= {(c, x): UNKNOWN for c in classes for x in self.attribute_names(c)}

    def _resolve_fields(self, cls: type) -> None:
        """Find what the annotations of a dataclass say, which was entered when nothing was known of the instance."""
        self._unresolved.discard(cls)
        hinted = self.hints(cls)
        for name in self.attribute_names(cls):
            self.fields[cls, name] = self.resolve(hinted[name])
        self.changed = True

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

    def record_fields(self, cls: type) -> list[str]:
        """All keys of a record class, in order. If the sample has such dictionaries, all entries are read from here on."""
        if cls in self.seen:
            for key in self.seen[cls]:
                self.has_field(cls, key)
        return list(cls.keys_of_record)  # type: ignore[attr-defined]

    def _register(self, cls: type, written: Sequence[type]) -> None:
        """Enter the union of `cls` and `written`: unions that have a class in common are joined. Raises AnnotationError."""
        if issubclass(cls, RecordOf):
            SHOWN[self._add(cls.__name__, (cls,))] = _shown(cls)
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
                self.fields[member, f.name] = self.resolve(hinted[f.name])

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
            self._sample = instances, Observer(instances, self.records, self._joined.by_name)
        return self._sample[1]

    def has_defaults(self, instances: Sequence[Any]) -> bool:
        """Whether dictionaries of a sample have values for missing keys, of which annotations do not tell."""
        return any(place.defaults - {""} for place in self._observer(instances).places())

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

    def _python_class(self, cls: type) -> type:
        return stand_in(original(cls), self.made[cls]) if cls in self.made else original(cls)

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
        """Number the objects of a class, for `id(x)`. Raises AnnotationError for one that has slots or is only made by the
        model."""
        if cls in self._joined.referenced or self.graphs.is_stand_in(cls):
            return
        if cls in self.made or issubclass(cls, RecordOf):
            self.note_seen_elsewhere(self.of_class[cls])  # of a number the next build knows
        if cls in self.made or not cls.__dictoffset__ or issubclass(cls, RecordOf):
            raise AnnotationError(f"`id` is for objects of the instances that have no slots, not for a `{cls.__name__}`")
        self._number(cls)

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
        of the program (`evaluator/changes/kept.py`)."""
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

    def table(self, used: Mapping[str, None]) -> dict[str, DataType]:
        """The datatypes of the finished program: the unions and optionals with the names `used`."""
        out = {}
        for name in used:
            if name in self.mixed:
                cases = [Case(f"of_{x}", (("value", t),), self.class_in_mixed(name, x)) for x, t in self.mixed[name].items()]
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


def _as_seen(t: Any, place: Place | None) -> Any:
    """The type that an annotation says, with dictionaries that have the values for missing keys that were seen."""
    place = place.representative() if place is not None else Place()
    match t:
        case ListT(TupleT((key, value)), kind="dict"):
            return replace(t, item=TupleT((key, _as_seen(value, place.value))), kind=place.kind_of_dict)
        case ListT(item, rows=None):
            return replace(t, item=_as_seen(item, place.item))
        case TupleT(items) if len(items) == len(place.items):
            return replace(t, items=tuple(map(_as_seen, items, place.items)))
    return t


def _may_be_referenced(cls: type) -> bool:
    """Whether objects of a class may be changed: no tuples or frozen dataclasses."""
    frozen = dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
    return not frozen and not issubclass(cls, tuple)


def _shown(cls: type) -> str:
    """A class as messages name it: that of dictionaries by their keys."""
    return f"a dict of {', '.join(cls.keys_of_record)}" if issubclass(cls, RecordOf) else cls.__name__
