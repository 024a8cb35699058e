"""What dictionaries of the sample give for missing keys, in the words that the kinds of their types have (`dict:list`)."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Mapping
from types import FunctionType
from typing import Any

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
GIVEN = "given "
"""What stands before the word of a `defaultdict` of an instance: those that the model makes are of other kinds."""
OTHER = "other"
"""The word of dictionaries of which it is not known what they give for missing keys. Looking one up is an error."""
OF_CLASSES = {"counts": "Counter"}
"""The names of classes that have another word."""


def word_of(value: Mapping[Any, Any]) -> str:
    """What a dictionary gives for a missing key: "" if that is an error, "count" for a `Counter`, else the word of the class or
    function that makes it. Functions are named by their places, which `runtime/python/objects.cpp` does alike."""
    if type(value) in (dict, OrderedDict):
        return ""
    if type(value) is Counter:
        return "count"
    factory = getattr(value, "default_factory", None)
    if factory is None:
        return OTHER if hasattr(type(value), "__missing__") and not hasattr(value, "default_factory") else ""
    if isinstance(factory, type):
        return GIVEN + DEFAULTS[factory] if factory in DEFAULTS and factory not in (deque, OrderedDict) else OTHER
    if isinstance(factory, FunctionType) and not factory.__closure__ and not factory.__code__.co_argcount:
        return f"{factory.__module__}.{factory.__qualname__}:{factory.__code__.co_firstlineno}"
    return OTHER


def read_as(kind: str) -> str:
    """What has to make the values for missing keys of a dictionary that is read from an instance, by the kind of its type: the
    name of a class or function, "Counter()" for a `Counter`, "" if that does not matter."""
    word = kind.partition(":")[2].removeprefix(GIVEN)
    return "" if word == OTHER else "Counter()" if word == "count" else OF_CLASSES.get(word, word)


def fits(value: Mapping[Any, Any], kind: str) -> bool:
    """Whether a dictionary of an instance gives what the kind of its type says for missing keys."""
    return not read_as(kind) or word_of(value) == kind.partition(":")[2]
