"""The types that annotations of the model stand for."""

from __future__ import annotations

import dataclasses
import functools
import operator
from abc import ABC, abstractmethod
from collections import abc
from collections.abc import Sequence
from enum import Enum
from typing import Annotated, Any, get_args, get_origin

from torch import Tensor, nn

from backends.acrobat.core.made_objects import computes_fields
from backends.acrobat.core.types import BOOL, DICT, FLOAT, INT, SET, TUPLE, DataT, ListT, TensorT, TupleT
from backends.acrobat.frontend.instances.annotations import AnnotationError, hints, union_members
from backends.acrobat.frontend.instances.dates import CLASSES
from backends.acrobat.frontend.instances.sample_types import SampleTypes
from backends.acrobat.frontend.types import SYMBOL, UNKNOWN, contains_unknown

ABSTRACT = frozenset(
    (abc.Collection, abc.Generator, abc.Iterable, abc.Iterator, abc.Mapping, abc.MutableSequence, abc.Sequence)
)
"""Annotations that say what may be done with a value and not what it is."""


class WrittenTypes(SampleTypes, ABC):
    """Resolves annotations. Those that leave something open are UNKNOWN, wholly or in part: values tell the rest."""

    def __init__(self, root: nn.Module) -> None:
        """`root` is the model, whose attributes may name the extents of tensors."""
        super().__init__()
        self.root = root
        self.values_tell = False  # whether values tell the types that annotations leave open
        self.sampled = False  # whether a sample is given, so that values tell all that annotations do not

    def hints(self, owner: Any) -> dict[str, Any]:
        """The evaluated annotations of a function or dataclass. Raises AnnotationError."""
        return hints(owner, self.sampled)

    @abstractmethod
    def union_of(self, cls: type, written: Sequence[type] = ()) -> str:
        """The name of the union that a dataclass belongs to; `written` are the classes of the union in the annotation."""

    @abstractmethod
    def unions_of_derived(self, cls: type) -> set[str]:
        """The names of the unions that objects of the sample are in whose classes are derived from a class."""

    @abstractmethod
    def is_divided(self, cls: type) -> bool:
        """Whether objects of a class of the instance that the model makes are of versions of it (`divided.py`)."""

    def resolve(self, t: Any) -> Any:
        """The type an annotation stands for; tensors without a shape are UNKNOWN. Raises AnnotationError."""
        if t is Tensor or t is nn.Parameter:
            return UNKNOWN
        if t is int or t is bool or t is float:
            return {int: INT, bool: BOOL, float: FLOAT}[t]
        if t is str:
            return SYMBOL
        if isinstance(t, type) and issubclass(t, Enum):  # members are strings in the program, of an IntEnum ints
            return INT if issubclass(t, int) else SYMBOL
        if t is list:
            return ListT(UNKNOWN)
        if t in (dict, tuple, set, frozenset, Any, object):
            return UNKNOWN
        origin = get_origin(t)
        if origin in (list, dict, tuple, set, frozenset) and not get_args(t) and t != tuple[()]:
            return self.resolve(origin)  # `typing.Dict` and the like, which say as little as `dict`
        if (origin or t) in ABSTRACT:
            return UNKNOWN  # values tell what they are
        if origin is dict:
            return ListT(TupleT(tuple(map(self.resolve, get_args(t)))), kind=DICT)
        if origin in (set, frozenset):
            return ListT(self.resolve(get_args(t)[0]), kind=SET)
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
                if self.values_tell or contains_unknown(self.resolve(items[0])):
                    return UNKNOWN  # tensors, of a number that the values tell
                return ListT(self.resolve(items[0]), kind=TUPLE)
            return TupleT(tuple(self.resolve(i) for i in items))
        if members := union_members(t):
            return self._of_union(t, members)
        if t in CLASSES:
            t = CLASSES[t]
        if self._is_dataclass(t):
            if self.values_tell and self.is_divided(t):
                return UNKNOWN
            unions = self.unions_of_derived(t) if self.values_tell else set()
            return DataT(unions.pop()) if len(unions) == 1 else UNKNOWN if unions else DataT(self.union_of(t))
        if self.values_tell and (self.sampled or getattr(t, "__module__", "") != "builtins"):
            return UNKNOWN  # an ordinary class, say, or `range`: values tell what it is
        raise AnnotationError(
            f"`{getattr(t, '__name__', t)}` is not a type of the language: "
            "use Tensor, int, bool, float, list, tuple or dataclasses"
        )

    def _of_union(self, t: Any, members: Sequence[Any]) -> Any:
        """The type that a union stands for, of which these are the members."""
        rest = tuple(m for m in members if m is not type(None))
        if len(rest) < len(members):
            inner = functools.reduce(operator.or_, rest)
            return self.optional(self.resolve(inner))
        if self.values_tell and (not all(map(self._is_dataclass, members)) or any(map(self.is_divided, members))):
            return UNKNOWN
        if all(map(self._is_dataclass, members)):
            return DataT(self.union_of(members[0], members))
        if any(m in (str, int, float, bool, tuple, list, dict, Tensor) or get_origin(m) is not None for m in members):
            return UNKNOWN  # a mixed union, which the values tell
        raise AnnotationError(f"the union {t} is not one of dataclasses")

    def _is_dataclass(self, t: Any) -> bool:
        """Whether `t` is a dataclass; one that computes fields is an ordinary class where the model makes the objects."""
        if not isinstance(t, type) or not dataclasses.is_dataclass(t):
            return False
        return not self.values_tell or t in self.of_class or not computes_fields(t)

    def _extent(self, e: Any) -> int:
        value = getattr(self.root, e, None) if isinstance(e, str) else e
        if not isinstance(value, int):
            raise AnnotationError(
                f"the extent {e!r} is neither an int nor the name of an int attribute of {type(self.root).__name__}"
            )
        return value
