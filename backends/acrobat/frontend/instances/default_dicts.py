"""What dictionaries of the sample give for missing keys, as the kinds of their types say it."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Mapping
from types import FunctionType
from typing import Any

from backends.acrobat.core.types import COUNTER, ListKind, MissingKeys

DEFAULTS: dict[Any, str] = {
    int: "int",
    float: "float",
    bool: "bool",
    str: "str",
    list: "list",
    deque: "list",
    set: "set",
    dict: "dict",
    OrderedDict: "dict",
    Counter: "counts",
}
"""What a `defaultdict` makes for missing keys, by the class that it is given: `containers.default_of` makes it."""
OTHER = MissingKeys("other")
"""Of dictionaries of which it is not known what they give for missing keys. Looking one up is an error."""
OF_CLASSES = {"counts": "Counter"}
"""The names of classes that have another word."""


def missing_keys_of(value: Mapping[Any, Any]) -> MissingKeys | None:
    """What a dictionary gives for a missing key; None if that is an error. Functions are named by their places, which
    `runtime/python/objects.cpp` does alike."""
    if type(value) in (dict, OrderedDict):
        return None
    if type(value) is Counter:
        return COUNTER.missing
    factory = getattr(value, "default_factory", None)
    if factory is None:
        return OTHER if hasattr(type(value), "__missing__") and not hasattr(value, "default_factory") else None
    if isinstance(factory, type):
        known = factory in DEFAULTS and factory not in (deque, OrderedDict)
        return MissingKeys(DEFAULTS[factory], given=True) if known else OTHER
    if isinstance(factory, FunctionType) and not factory.__closure__ and not factory.__code__.co_argcount:
        return MissingKeys(f"{factory.__module__}.{factory.__qualname__}:{factory.__code__.co_firstlineno}")
    return OTHER


def read_as(kind: ListKind) -> str:
    """What has to make the values for missing keys of a dictionary that is read from an instance, by the kind of its type: the
    name of a class or function, "Counter()" for a `Counter`, "" if that does not matter."""
    if kind.missing is None or kind.missing == OTHER:
        return ""
    return "Counter()" if kind == COUNTER else OF_CLASSES.get(kind.missing.maker, kind.missing.maker)


def fits(value: Mapping[Any, Any], kind: ListKind) -> bool:
    """Whether a dictionary of an instance gives what the kind of its type says for missing keys."""
    return not read_as(kind) or missing_keys_of(value) == kind.missing
