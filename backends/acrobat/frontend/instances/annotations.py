"""Types from annotations, and the table of the model's dataclasses: which union each belongs to and what its fields hold."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Annotated, Any, Union, get_args, get_origin

import torch
from torch import Tensor, nn

from backends.acrobat.core.types import (
    BOOL,
    FLOAT,
    IDENTITY,
    INT,
    PYTHON_TYPES,
    Case,
    DataT,
    DataType,
    ListT,
    TensorT,
    TupleT,
    Type,
)
from backends.acrobat.frontend.instances.observed import Observer, Place, RecordOf, stand_in
from backends.acrobat.frontend.types import SHOWN, SYMBOL, UNKNOWN, contains_unknown, describe

SHORT = 4
"""The longest extent of a tensor of ints with several dimensions that is fixed where all instances of a sample have it."""


KINDS = {"str": "symbol", "object": "class"}
"""The words of `PYTHON_TYPES` that places in a sample have other words for (`Place.kinds`)."""
TYPES: dict[str, tuple[str, type]] = {
    "bool": ("a bool", bool),
    "int": ("an int", int),
    "float": ("a float", float),
    "str": ("a string", str),
    "tensor": ("a tensor", Tensor),
    "tuple": ("a tuple", tuple),
    "list": ("a list", list),
    "dict": ("a dict", dict),
    "object": ("an object", object),
}
"""Of each of `PYTHON_TYPES` its words in messages, and the class."""


class AnnotationError(ValueError):
    """An annotation the language does not have; the message says what to write."""


def hints(owner: Any) -> dict[str, Any]:
    """The evaluated annotations of a function or dataclass, with `Annotated` kept. Raises AnnotationError."""
    try:
        return typing.get_type_hints(owner, include_extras=True)
    except Exception as error:
        raise AnnotationError(f"the annotations of `{owner.__qualname__}` cannot be evaluated: {error}") from error


def union_members(t: Any) -> tuple[Any, ...] | None:
    """The members of a union type; None for other types."""
    return get_args(t) if get_origin(t) in (Union, types.UnionType) else None


class Datatypes:
    """The unions of dataclasses and the optionals of one program. Types of fields are refined in each round of compiling."""

    def __init__(self, root: nn.Module) -> None:
        self.root = root
        self.cases: dict[str, tuple[type, ...]] = {}  # union -> classes
        self.of_class: dict[type, str] = {}  # class -> union
        self.wrong: dict[type, AnnotationError] = {}  # class -> the error of each use of it
        self.optionals: dict[str, Type] = {}  # optional -> type of what it may hold
        self.mixed: dict[str, dict[str, Any]] = {}  # mixed union -> of PYTHON_TYPES those that it has, and their types here
        self._enums: set[str] = set()  # mixed unions whose strings are members of Enums
        self._mixed_at: dict[Place, str] = {}  # place in the sample -> its mixed union
        self._settled: set[str] = set()  # mixed unions whose types are those of this round of compiling
        self._sample: tuple[Sequence[Any], Observer] | None = None
        self.fields: dict[tuple[type, str], Any] = {}  # (class, field) -> type
        self.changed = False  # whether a field's type was changed in this round of compiling
        self.refined: set[tuple[type, str]] = set()  # fields whose types come from values in the model
        self.asked: dict[type, list[str]] = {}  # class in the sample -> the fields that the program reads
        self.seen: dict[type, dict[str, Place]] = {}  # class in the sample -> what was seen in its fields
        self.walked: set[type] = set()  # record classes of dictionaries that the program walks over
        self.made: dict[type, tuple[str, ...]] = {}  # ordinary class that only the model makes -> attributes
        classes = {c for m in root.modules() for c in type(m).__mro__ if not c.__module__.startswith(("torch.", "builtins"))}
        self.modules = sorted({c.__module__ for c in classes if c.__module__ in sys.modules})

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
        name = self.of_class[cls]
        if strange := [m.__name__ for m in written if m not in self.cases[name]]:
            raise AnnotationError(
                f"the union of {', '.join(m.__name__ for m in written)} is met after {name}, which lacks {', '.join(strange)}: "
                "name it where its classes are defined"
            )
        return name

    def union_of_made(self, cls: type, names: Sequence[str]) -> str:
        """The name of the union of an ordinary class, whose objects the model makes with the attributes `names`."""
        if cls not in self.of_class:
            name = cls.__name__
            while name in self.cases:
                name += "_"
            self.cases[name] = (cls,)
            self.of_class[cls] = name
            self.made[cls] = tuple(names)
            self.fields |= {(cls, x): UNKNOWN for x in names}
        elif cls in self.seen:
            for x in names:
                if not self.has_field(cls, x):
                    raise AnnotationError(f"a `{cls.__name__}` of the sample has no `{x}`, those that the model makes have")
        return self.of_class[cls]

    def note_walked(self, cls: type) -> None:
        """Note that the program walks over dictionaries of this record class: they are lists of entries, in Python's order."""
        if cls not in self.walked:
            self.walked.add(cls)
            self.changed = True

    def is_walked(self, cls: type) -> bool:
        return cls in self.walked

    def record_fields(self, cls: type) -> list[str]:
        """All keys of a record class. If the sample has such dictionaries, all their entries are read from here on."""
        if cls in self.seen:
            for key in self.seen[cls]:
                self.has_field(cls, key)
            return self.field_names(cls)
        return list(cls.keys_of_record)  # type: ignore[attr-defined]

    def _register(self, cls: type, written: Sequence[type]) -> None:
        """Enter the union of `cls` and `written`: unions that have a class in common are joined. Raises AnnotationError."""
        if issubclass(cls, RecordOf):
            self.cases[cls.__name__] = (cls,)
            self.of_class[cls] = cls.__name__
            SHOWN[cls.__name__] = f"a dict of {', '.join(cls.keys_of_record)}"
            self.fields |= {(cls, key): UNKNOWN for key in cls.keys_of_record}
            return
        together = {cls, *written}
        name = ""
        while True:
            named = {*self.modules, *(c.__module__ for c in together)} & set(sys.modules)  # `exec`ed classes may have none
            unions = [u for m in named for u in _unions_in(sys.modules[m])]
            more = together.union(*(members for members, _ in unions if together & members))
            if more == together:
                break
            together = more
        for c in together:
            _check(c)
            if c in self.of_class:
                raise AnnotationError(
                    f"`{c.__name__}` is met alone before its union is: name the union where its classes are defined"
                )
        ordered = sorted(together, key=lambda c: (c.__module__ != cls.__module__, c.__module__, _line(c)))
        name = next((n for members, n in unions if n and members == together), "_or_".join(c.__name__ for c in ordered))
        while name in self.cases:
            name += "_"
        self.cases[name] = tuple(ordered)
        for member in ordered:
            self.of_class[member] = name
        for member in ordered:
            hinted = hints(member)
            for f in dataclasses.fields(member):
                self.fields[member, f.name] = self.resolve(hinted[f.name])

    # ---- types from a sample

    def observe(self, instances: Sequence[Any]) -> Any:
        """The type of a sample's instances; their classes are entered with the fields seen. Raises AnnotationError."""
        if self._sample is None or self._sample[0] is not instances:
            self._sample = instances, Observer(instances)
        observer = self._sample[1]
        self.seen = observer.fields
        self._settled.clear()
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
                members = tuple(c for c in observer.fields if c in together[cls])
                name = "_or_".join(c.__name__ for c in members)
                while name in self.cases:
                    name += "_"
                self.cases[name] = members
                self.of_class |= dict.fromkeys(members, name)
        for cls, names in self.asked.items():
            for name in names:
                if name != IDENTITY and (cls, name) not in self.refined:
                    self.fields[cls, name] = self._field_seen(cls, name)  # `walked` may have grown
        return self.type_at(observer.root, "the instance")

    def type_at(self, place: Place, what: str) -> Any:
        """The type of what was seen at a place of a sample; `what` names the place in errors. Raises AnnotationError."""
        place = place.found()
        if place.trouble:
            raise AnnotationError(place.trouble)
        kinds = place.types
        if place.is_dict or kinds == {"class"} and self.walked.intersection(place.classes):
            kinds = (kinds - {"class"}) | {"dict"}
        if kinds == {"int", "float"}:
            kinds = {"float"}
        if len(kinds) > 1 or place.recursive:
            inner = self._mixed_type_at(place, kinds, what)
        else:
            inner = self._plain_type_at(place, next(iter(kinds), ""), what)
        return self.optional(inner) if "none" in place.kinds and kinds else inner

    def _mixed_type_at(self, place: Place, kinds: set[str], what: str) -> Any:
        """The type of a place that has values of several of Python's types, or has trees in tuples or lists."""
        if place not in self._mixed_at:
            words = [x for x in PYTHON_TYPES if KINDS.get(x, x) in kinds]
            shown = [TYPES[x][0] for x in words]
            name = "Mixed_" + "_".join(words)
            while name in self.mixed:
                name += "_"
            self._mixed_at[place], self.mixed[name] = name, {}
            self._enums |= {name} if place.enums else set()
            SHOWN[name] = " or ".join(shown) if len(shown) > 1 else f"{shown[0]} with others of its kind in it"
        name = self._mixed_at[place]
        if name not in self._settled:
            self._settled.add(name)  # entered before they are found: a tree's type has itself in it
            found = {x: self._plain_type_at(place, KINDS.get(x, x), what) for x in PYTHON_TYPES if KINDS.get(x, x) in kinds}
            self.changed = self.changed or found != self.mixed[name]
            self.mixed[name] = found
        return DataT(name)

    def class_in_mixed(self, name: str, word: str) -> type:
        """The class of the values of a mixed union for one of `PYTHON_TYPES`."""
        return Enum if word == "str" and name in self._enums else TYPES[word][1]

    def _plain_type_at(self, place: Place, kind: str, what: str) -> Any:
        match kind:
            case "int" | "bool" | "float":
                return {"int": INT, "bool": BOOL, "float": FLOAT}[kind]
            case "symbol":
                return SYMBOL
            case "tensor":
                return self._tensor_at(place, what)
            case "list":
                assert place.item is not None
                return ListT(self.type_at(place.item, f"an element of {what}"))
            case "tuple":
                if len(place.sizes) > 1 and place.item is not None:
                    return ListT(self.type_at(place.item, f"an element of {what}"))
                return TupleT(tuple(self.type_at(p, f"element {i} of {what}") for i, p in enumerate(place.items)))
            case "dict":
                assert place.key is not None
                assert place.value is not None
                pair = TupleT((self.type_at(place.key, f"a key of {what}"), self.type_at(place.value, f"a value of {what}")))
                return ListT(pair, kind="dict")
            case "class":
                return DataT(self.of_class[next(iter(place.classes))])
        return UNKNOWN  # nothing was seen: a list that was always empty, a field that was always None

    def _tensor_at(self, place: Place, what: str) -> Any:
        assert place.shape is not None
        if len(place.dtypes) > 1:
            raise AnnotationError(f"{what} is a tensor of several dtypes in the sample")
        (dtype,) = place.dtypes
        shape = list(place.shape)
        if dtype in (torch.int64, torch.int32, torch.bool) and shape:
            wider = [d for d, e in enumerate(shape) if e != 1] or [len(shape) - 1]
            if len(wider) == 1:  # one sentence of ints, which may have dimensions of extent 1 around it
                units = len(shape) - 1 - wider[0]
                one = 1 if len(shape) > 1 and shape[wider[0]] == 1 else None
                return ListT(BOOL if dtype == torch.bool else INT, rows=wider[0], extent=one, units=units)
            numbers: Any = BOOL if dtype == torch.bool else INT
            for extent in reversed(shape):  # extents count as varying, but for short ones, such as those of edges (2, n)
                numbers = ListT(numbers, rows=0, extent=extent if extent is not None and extent <= SHORT else None)
            return numbers
        if dtype != torch.float32:
            raise AnnotationError(f"{what} is a tensor of {dtype} and shape {tuple(shape)}: give float32, or a list of ints")
        return ragged_type(shape)

    # ---- resolving

    def resolve(self, t: Any) -> Any:
        """The type an annotation stands for; tensors without a shape are UNKNOWN. Raises AnnotationError."""
        if t is Tensor or t is nn.Parameter:
            return UNKNOWN
        if t is int or t is bool or t is float:
            return {int: INT, bool: BOOL, float: FLOAT}[t]
        if t is str:
            return SYMBOL
        if t is list:
            return ListT(UNKNOWN)
        if t in (dict, tuple, set, Any, object):
            return UNKNOWN
        origin = get_origin(t)
        if origin is dict:
            return ListT(TupleT(tuple(map(self.resolve, get_args(t)))), kind="dict")
        if origin is set:
            return ListT(self.resolve(get_args(t)[0]), kind="set")
        if origin is Annotated:
            base, *extent = get_args(t)
            if base is Tensor:
                return TensorT(tuple(self._extent(e) for e in extent))
            return self.resolve(base)
        if origin is list:
            return ListT(self.resolve(get_args(t)[0]))
        if origin is tuple:
            items = get_args(t)
            if Ellipsis in items:
                if contains_unknown(self.resolve(items[0])):
                    return UNKNOWN  # tensors, of a number that the values tell
                raise AnnotationError("tuples of variable length are lists here: write list[...]")
            return TupleT(tuple(self.resolve(i) for i in items))
        if members := union_members(t):
            rest = tuple(m for m in members if m is not type(None))
            if len(rest) < len(members):
                inner = functools.reduce(operator.or_, rest)
                return self.optional(self.resolve(inner))
            if self._sample is not None and not all(map(dataclasses.is_dataclass, members)):
                return UNKNOWN
            if all(isinstance(m, type) and dataclasses.is_dataclass(m) for m in members):
                return DataT(self.union_of(members[0], members))
            if any(m in (str, int, float, bool, tuple, list, dict, Tensor) or get_origin(m) is not None for m in members):
                return UNKNOWN  # a mixed union, which the values tell
            raise AnnotationError(f"the union {t} is not one of dataclasses")
        if isinstance(t, type) and dataclasses.is_dataclass(t):
            return DataT(self.union_of(t))
        if self._sample is not None and getattr(t, "__module__", "") != "builtins":
            return UNKNOWN  # an ordinary class, say: values tell what it is
        raise AnnotationError(
            f"`{getattr(t, '__name__', t)}` is not a type of the language: "
            "use Tensor, int, bool, float, list, tuple or dataclasses"
        )

    def optional(self, inner: Any) -> Any:
        """The type of a value of type `inner` or None; unknown as long as `inner` is not known entirely."""
        if contains_unknown(inner):
            return UNKNOWN
        name = "Optional_" + "".join(c if c.isalnum() else "_" for c in repr(inner))
        self.optionals[name] = inner
        SHOWN[name] = f"{describe(inner)} or None"
        return DataT(name)

    def unassigned(self, inner: Any) -> Any:
        """The type of a name to which a value of a type is assigned on some paths only."""
        if contains_unknown(inner):
            return UNKNOWN
        name = "Unassigned_" + "".join(c if c.isalnum() else "_" for c in repr(inner))
        self.optionals[name] = inner
        return DataT(name)

    def _python_class(self, cls: type) -> type:
        return stand_in(cls, self.made[cls]) if cls in self.made else cls

    def _extent(self, e: Any) -> int:
        value = getattr(self.root, e, None) if isinstance(e, str) else e
        if not isinstance(value, int):
            raise AnnotationError(
                f"the extent {e!r} is neither an int nor the name of an int attribute of {type(self.root).__name__}"
            )
        return value

    # ---- fields

    def field_names(self, cls: type) -> list[str]:
        """The fields of a class in order; of one known from a sample those that the program reads."""
        if cls in self.seen:
            return self.asked.setdefault(cls, [])
        if issubclass(cls, RecordOf):
            return list(cls.keys_of_record)
        if cls in self.made:
            return list(self.made[cls])
        return [f.name for f in dataclasses.fields(cls)]  # type: ignore[arg-type]

    def identify(self, cls: type) -> None:
        """Number the objects of a class, for `id(x)`. Raises AnnotationError for one that has slots or is not in the sample."""
        if cls not in self.seen or not cls.__dictoffset__ or issubclass(cls, RecordOf):
            raise AnnotationError(f"`id` is for objects of the sample that have no slots, not for a `{cls.__name__}`")
        self.seen[cls].setdefault(IDENTITY, Place(kinds={"int"}))

    def forget_none(self, classes: Sequence[type], name: str) -> None:
        """Do not read a field that is None in the whole sample: the model keeps what it writes there elsewhere."""
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
                written = self.resolve(hints(cls)[name])
                if not contains_unknown(written):
                    return written
            except (AnnotationError, KeyError):
                pass
        return self.type_at(self.seen[cls][name], f"`{cls.__name__}.{name}`")

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


def ragged_type(shape: Sequence[int | None]) -> Any:
    """The type of a tensor with these extents, None for one that varies between instances."""
    if None not in shape:
        return TensorT(tuple(e for e in shape if e is not None))
    k = list(shape).index(None)
    return ListT(ragged_type([*shape[:k], *shape[k + 1 :]]), rows=k)


def _check(cls: type) -> None:
    """Raises AnnotationError unless `cls` is a dataclass whose objects consist of just the values given for its fields."""
    if not dataclasses.is_dataclass(cls):
        raise AnnotationError(f"`{cls.__name__}` is not a dataclass: structures of the model are frozen dataclasses")
    if hasattr(cls, "__post_init__") or any(not f.init for f in dataclasses.fields(cls)):
        raise AnnotationError(f"`{cls.__name__}` computes fields when it is made: leave __post_init__ and init=False out")


def _line(cls: type) -> int:
    try:
        return inspect.getsourcelines(cls)[1]
    except (OSError, TypeError):
        return 0


def _unions_in(module: types.ModuleType) -> list[tuple[frozenset[type], str]]:
    """The unions of dataclasses that a module names, and (with the name "") those written out in its annotations."""
    found = [(frozenset(u), name) for name, value in vars(module).items() for u in _unions_inside(value)[:1]]
    for owner in list(vars(module).values()):
        if getattr(owner, "__module__", None) != module.__name__:
            continue
        for o in [owner, *vars(owner).values()] if isinstance(owner, type) else [owner]:
            if not (dataclasses.is_dataclass(o) or isinstance(o, types.FunctionType)):
                continue
            try:
                found += [(frozenset(u), "") for t in hints(o).values() for u in _unions_inside(t)]
            except AnnotationError:  # reported where the annotation is used
                continue
    return found


def _unions_inside(t: Any) -> list[tuple[type, ...]]:
    """The unions of dataclasses in an annotation."""
    found = []
    if members := union_members(t):
        classes = tuple(m for m in members if m is not type(None))
        if len(classes) > 1 and all(isinstance(m, type) and dataclasses.is_dataclass(m) for m in classes):
            found.append(classes)
    for inner in get_args(t):
        if inner is not t:
            found += _unions_inside(inner)
    return found
