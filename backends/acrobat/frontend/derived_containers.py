"""Classes of the source that are derived from `dict` or `list`, or from a dictionary of `collections`, and add methods to it:

    class Chart(dict):
        def score(self, i, j):
            return self[i, j][1]

The program has what such a class makes as the list or dictionary that it is. The kind of its type names the class.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from functools import lru_cache
from types import FunctionType
from typing import Any, Generic

from backends.acrobat.frontend.changing_methods import LIST_CHANGES

CONTAINERS: dict[type, str] = {dict: "dict", OrderedDict: "dict", defaultdict: "dict", list: "list"}
"""The classes to which others add methods, with the kinds that their values have in the program."""
OF_PYTHON = (*CONTAINERS, Generic, object)
OWN = frozenset({"__init__", "__repr__", "__str__"})
"""Special methods that such a class may have: one that is called where the object is made, and those of texts."""


def container_of(cls: Any) -> type | None:
    """The class of Python's that a class of the source adds methods to; None for others."""
    if not isinstance(cls, type) or cls in CONTAINERS or not issubclass(cls, tuple(CONTAINERS)):
        return None
    return next(c for c in cls.__mro__ if c in CONTAINERS)


@lru_cache(1 << 10)
def replaced(cls: type) -> str:
    """A method that a class has in place of that of its container, or a special one that the container has not, either of which
    the program would not call; "" where it has none."""
    base = container_of(cls)
    for c in cls.__mro__:
        for name, attribute in vars(c).items() if c not in OF_PYTHON else ():
            is_function = callable(attribute) or isinstance(attribute, (property, staticmethod, classmethod))
            special = name.startswith("__") and name.endswith("__")
            taken = special or hasattr(base, name) or base is list and name in LIST_CHANGES  # as those of a deque
            if is_function and name not in OWN and taken:
                return name
    return ""


def own_init(cls: Any) -> FunctionType | None:
    """The `__init__` of the source that makes objects of a class; None where it is that of the container."""
    init = getattr(cls, "__init__", None)
    return init if isinstance(init, FunctionType) else None
