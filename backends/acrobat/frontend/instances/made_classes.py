"""How the classes that the front end makes itself are made again, by a process that finds a program with them on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from backends.acrobat.frontend.instances import shared
from backends.acrobat.frontend.instances.divided import new_version, original
from backends.acrobat.frontend.instances.listed import ListOfValues, made_class_of_list
from backends.acrobat.frontend.instances.record_classes import RecordOf, made_record_class


def remade(cls: Any) -> tuple[Callable[..., type], tuple[Any, ...]] | None:
    """A function that makes such a class, and its arguments; None for a class that the front end has not made."""
    if original(cls) is not cls:
        return new_version, (original(cls), cls.__name__)
    if issubclass(cls, RecordOf) and cls is not RecordOf:
        return made_record_class, (cls.__name__, cls.keys_of_record, cls.class_of_record)
    if issubclass(cls, ListOfValues) and cls is not ListOfValues:
        return made_class_of_list, (cls._fields,)
    return (shared.made_class, (cls.__name__,)) if shared.is_made(cls) else None
