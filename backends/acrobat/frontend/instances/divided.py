"""Versions of ordinary classes, so that not all objects of one class have the same types in their attributes.

    words, numbers = Stack(), Stack()           # a stack of tensors, a stack of ints
    reader, writer = Memory(self.small), Memory(self.large)
    target = Node(START)                        # where nodes of another tree are the instance

An attribute has one type in all objects of a class. Where an attempt ends with problems in a class whose objects are made in
several places, or with several modules or sizes, or that the instance has too, the next one has a version of the class for each
of these. Versions that are
met in one place become one version again. A version is a subclass with nothing of its own: methods are found, and classes asked
for, as they are of the class.
"""

from __future__ import annotations

import types
import weakref
from abc import ABCMeta
from collections.abc import Collection, Hashable, Sequence

from backends.acrobat import library
from backends.acrobat.core.span import Span
from backends.acrobat.errors import Problem
from backends.acrobat.frontend.instances.dates import OF_PYTHON

_ORIGINALS: weakref.WeakKeyDictionary[type, type] = weakref.WeakKeyDictionary()

Key = tuple[Span, Hashable]
"""Where an object is made, and the constants that it is made with."""
OF_INSTANCE: Key = (Span("", 0), None)
"""The key of the objects of the instance."""


_ORIGINALS.update(OF_PYTHON)


def original(cls: type) -> type:
    """The class of which another one is a version, or which it has the place of; other classes as they are."""
    return _ORIGINALS.get(cls, cls)


class Division:
    """The classes that have versions, and the version of each key."""

    def __init__(self) -> None:
        self.made: dict[type, set[Key]] = {}  # ordinary class that the model makes -> the keys of the objects
        self.unlike: set[type] = set()  # those of the instance in which an attribute is None that the model gives values
        self.changed: set[type] = set()  # those of the instance of which objects are changed that may have several names
        self.joins = False  # whether the last `join` has made one version of several
        self._classes: set[type] = set()
        self._results: dict[type, type] = {}  # class -> its version for objects of the result
        self._versions: dict[tuple[type, Key], type] = {}

    @property
    def is_begun(self) -> bool:
        """Whether there are classes that are divided."""
        return bool(self._classes)

    def version(self, cls: type, key: Key, of_instance: bool = False) -> type:
        """The version of a class for the objects with that key; a class that is not divided as it is. `of_instance`: the
        instance has objects of it too, which are of the class itself."""
        self.made.setdefault(cls, {OF_INSTANCE} if of_instance else set()).add(key)
        if cls in self._classes and (cls, key) not in self._versions:
            self._versions[cls, key] = new_version(cls)
        return self._versions.get((cls, key), cls)

    def is_divided(self, cls: type) -> bool:
        """Whether objects of a class are of versions of it."""
        return cls in self._classes

    def version_in_results(self, cls: type) -> type:
        """The version of a class for objects of the result."""
        if cls not in self._results:
            self._results[cls] = new_version(cls)
        return self._results[cls]

    def divide(self, problems: Sequence[Problem]) -> bool:
        """Divide the classes that may mend one of the problems, which is in the class or where an object of it is made, with
        others. False if there are none beside those that are divided already."""
        result = {
            cls
            for cls, keys in self.made.items()
            if len(keys) > 1
            and is_plain(cls)
            and (cls in self.unlike | self.changed or any(_concerns(p.span, cls, keys) for p in problems))
        }
        more = not result <= self._classes
        self._classes |= result
        return more

    def join(self, pairs: Sequence[tuple[Collection[type], Collection[type]]]) -> bool:
        """Make one version of those of one class that are in both parts of a pair; False if there are none."""
        before = dict(self._versions)
        for some, others in pairs:
            for one, other in ((a, b) for a in some for b in others if a is not b and original(a) is original(b)):
                whole, part = (one, other) if other in _ORIGINALS else (other, one)
                self._versions = {key: whole if version is part else version for key, version in self._versions.items()}
        self.joins = self._versions != before
        return self.joins


def are_versions(some: Collection[type], others: Collection[type]) -> bool:
    """Whether there are different versions of one class in two unions."""
    return any(a is not b and original(a) is original(b) for a in some for b in others)


def is_plain(cls: type) -> bool:
    """Whether a subclass of a class may be made without any effect."""
    hooks = [c for c in cls.__mro__ if c is not object and "__init_subclass__" in vars(c)]
    return type(cls) in (type, ABCMeta) and not hooks and not hasattr(cls, "__final__")


def _concerns(span: Span, cls: type, keys: Collection[Key]) -> bool:
    """Whether a place in the source may be in a method of a class, or is where an object of it is made. Problems in the classes
    of the library are told where the model calls them."""
    if cls.__module__.startswith(f"{library.__name__}."):
        return True
    methods = [x.__code__ for c in cls.__mro__ for x in vars(c).values() if isinstance(x, types.FunctionType)]
    inside = any(m.co_filename == span.file and span.line in range(m.co_firstlineno, _last_line(m) + 1) for m in methods)
    return inside or any((place.file, place.line) == (span.file, span.line) for place, _ in keys)


def _last_line(code: types.CodeType) -> int:
    inner = [_last_line(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    return max([line for _, _, line in code.co_lines() if line is not None] + inner, default=code.co_firstlineno)


def new_version(cls: type, name: str = "") -> type:
    """A version of a class: a subclass with nothing of its own, with the same name or another one."""
    own = {"__slots__": (), "__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    version = type(cls)(name or cls.__name__, (cls,), own)
    _ORIGINALS[version] = cls
    return version
