"""How the objects of classes of the source are made that are in results: by a call, or without their `__init__`.

A result has the attributes of an object. The `__init__` of an ordinary class takes other values, from which it computes
them, and so does that of a dataclass with a `__post_init__`: there each attribute is set by itself."""

from __future__ import annotations

import dataclasses
from typing import Any


def computes_fields(cls: Any) -> bool:
    """Whether a class is a dataclass whose fields are not just its arguments: by an `__init__` of its own, a `__post_init__` or
    fields with `init=False`."""
    if not dataclasses.is_dataclass(cls):
        return False
    return not has_generated_init(cls) or hasattr(cls, "__post_init__") or any(not f.init for f in dataclasses.fields(cls))


def has_generated_init(cls: Any) -> bool:
    """Whether Python has generated the `__init__` of a dataclass."""
    return getattr(getattr(cls.__init__, "__code__", None), "co_filename", "") == "<string>"


def is_made_by_attributes(cls: Any) -> bool:
    """Whether the objects of a class get their attributes one by one, and not by a call."""
    if cls.__new__ is not object.__new__ or hasattr(cls, "record_of_fields"):
        return False
    return computes_fields(cls) if dataclasses.is_dataclass(cls) else cls.__init__ is not object.__init__


def with_attributes(cls: type, fields: dict[str, Any]) -> Any:
    """The object of a class with these attributes, made without its `__init__`."""
    made: Any = object.__new__(cls)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


def object_of(cls: type, fields: dict[str, Any]) -> Any:
    """The object of a class with these attributes, as a result has it."""
    return with_attributes(cls, fields) if is_made_by_attributes(cls) else cls(**fields)
