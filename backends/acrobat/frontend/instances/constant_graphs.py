"""Constant objects that refer to each other, as the nodes of a tree do which is an attribute of the model.

    node = self.root                                          node = 0
    while node.left is not None:                              while LEFT[node] >= 0:
        node = node.left if goes_left else node.right             node = LEFT[node] if goes_left else RIGHT[node]

The objects are known when the model is compiled, but which of them a name refers to is known at run time only. So they are
numbered, and a reference is a number; what the objects have in an attribute is a table. In the program each class has a
stand-in, a subclass with nothing of its own, which is a case with the number as its only field (`IDENTITY`).

Dictionaries that have dictionaries in them, `{"feature": 0, "left": {"leaf": 1}, "right": ...}`, are such objects too, with
entries in place of attributes. Those that lead to each other have a stand-in of their own. So are modules of the source that
have modules of their own class in them, as `self.left = Router(depth - 1)`, and those that stand in one place with such.
"""

from __future__ import annotations

import graphlib
import sys
import types
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Sequence, Set
from enum import Enum
from typing import Any

from torch import Tensor, nn

from backends.acrobat.frontend.instances.divided import is_plain, new_version
from backends.acrobat.frontend.instances.observed import attributes
from backends.acrobat.frontend.source import of_python

DICTIONARIES = (dict, OrderedDict, defaultdict)
PACKAGES_WITHOUT_NODES = ("torch", "numpy", "builtins")
"""Packages whose objects are no nodes."""


class ConstantGraphs:
    """The constant objects of one program that are numbered, and which of their classes stand in one place."""

    def __init__(self) -> None:
        self.version = 0  # how often something was found that the program was not built with
        self.objects: list[Any] = []  # by number
        self.circular: set[type] = set()  # stand-ins of classes of objects that refer to each other in circles
        self.whole: set[type] = set()  # classes whose objects are values of the program with all that is in them instead
        self._numbers: dict[int, int] = {}  # by id
        self._called_for: dict[Any, dict[int, Any]] = {}  # function -> the objects among its arguments, by id
        self._takes_numbers: set[Any] = set()  # functions that take them as numbers
        self._asked: dict[int, tuple[Any, bool]] = {}  # by id, the object and what `leads_to_others` gives
        self._stand_ins: dict[type, type] = {}
        self._of_dictionaries: dict[int, type] = {}  # by id, the class that a dictionary counts as
        self._together: dict[type, list[type]] = {}  # class -> those that stand in one place with it, the same list for all

    def __contains__(self, x: Any) -> bool:
        return id(x) in self._numbers

    def knows(self, cls: type) -> bool:
        """Whether some objects of a class are numbered."""
        return cls in self._stand_ins

    def leads_to_others(self, x: Any) -> bool:
        """Whether an object leads to others of its class, or to itself."""
        if id(x) not in self._asked:
            if type(x) in DICTIONARIES:
                leads_on = any(type(y) in DICTIONARIES for y in _inside(x))
            elif isinstance(x, nn.Module):
                leads_on = self.is_module(x) and sum(type(m) is type(x) for m in x.modules()) > 1
            else:
                leads_on = any(type(z) is type(x) for y in _inside(x) for z in reached(y))
            self._asked[id(x)] = x, leads_on
        return self._asked[id(x)][1]

    def enter(self, x: Any) -> None:
        """Number an object and all those to which it leads. Their classes stand in one place if they do in an attribute."""
        found = module_nodes(x) if isinstance(x, nn.Module) else reached(x)
        self.version += 1
        of_dictionaries = new_version(dict, f"Constant_dict{len(self._stand_ins)}")
        for y in (y for y in found if y not in self):
            self._numbers[id(y)] = len(self.objects)
            self.objects.append(y)
            if type(y) in DICTIONARIES:
                self._of_dictionaries[id(y)] = of_dictionaries
            cls = self._class(y)
            if cls not in self._stand_ins:
                self._stand_ins[cls] = cls if cls is of_dictionaries else new_version(cls)
                self._together[cls] = [cls]
        places: dict[tuple[type, str], type] = {}
        for y in found:
            for name, value in attributes_or_entries(y).items():
                for z in nodes_in(value, _held_as_nodes(y)):
                    if z in self:
                        self.join(self._class(z), places.setdefault((self._class(y), name), self._class(z)))
        if in_circles(found):
            self.circular |= {self._stand_ins[self._class(y)] for y in found}

    def _class(self, x: Any) -> type:
        """The class that a numbered object counts as."""
        return self._of_dictionaries.get(id(x), type(x))

    def join(self, one: type, other: type) -> bool:
        """Have two classes stand in one place; False if they do already."""
        first, second = self._together[one], self._together[other]
        if first is second:
            return False
        self.version += 1
        first += second
        self._together |= dict.fromkeys(second, first)
        return True

    def take_whole(self, classes: Set[type]) -> bool:
        """Have objects of these classes be no numbers any more; False if they are none already."""
        new = not classes <= self.whole
        self.whole |= classes
        self.version += new
        return new

    def is_stand_in(self, cls: type) -> bool:
        return cls in self._stand_ins.values()

    def class_behind(self, stand_in: type) -> type:
        """The class that a stand-in stands for."""
        return next(cls for cls, other in self._stand_ins.items() if other is stand_in)

    def class_of(self, x: Any) -> type:
        """The stand-in of the class of a numbered object."""
        return self._stand_ins[self._class(x)]

    def number_of(self, x: Any) -> int:
        return self._numbers[id(x)]

    def unions(self) -> list[list[type]]:
        """The classes that stand in one place, as their stand-ins."""
        groups = {id(group): group for group in self._together.values()}
        return [[self._stand_ins[c] for c in group] for group in groups.values()]

    def leads_on(self, x: Any) -> bool:
        """Whether a constant is an object that is a number, or could be one, as it leads to others of its class."""
        if type(x) in DICTIONARIES or isinstance(x, nn.Module):
            return x in self or self.leads_to_others(x)
        return is_node(x) and type(x) not in self.whole and (self.knows(type(x)) or self.leads_to_others(x))

    def is_argument(self, function: Any, x: Any, most: int) -> bool:
        """Whether a function takes constant objects as numbers, as it does after it was called for more than `most` of them."""
        place = function.__code__.co_filename, function.__code__.co_firstlineno, function.__qualname__  # one in each attempt
        called = self._called_for.setdefault(place, {})
        called[id(x)] = x
        self.version += len(called) == most + 1 and place not in self._takes_numbers
        self._takes_numbers |= {place} if len(called) > most else set()
        return place in self._takes_numbers

    def has(self, stand_in: type, name: str) -> bool | None:
        """Whether the objects of a class have an attribute, or something of that name in the class; None if only some have."""
        found = {hasattr(type(x), name) or name in (attributes(x) or {}) for x in self.of(stand_in).values()}
        return found.pop() if len(found) == 1 else None

    def is_module(self, x: Any) -> bool:
        """Whether a constant is a module of the source, which may be numbered."""
        return isinstance(x, nn.Module) and _of_source(type(x)) and is_plain(type(x))

    def lists_nodes(self, x: Any) -> bool:
        """Whether a value is a list of modules that are numbered."""
        return isinstance(x, nn.ModuleList) and len(x) > 0 and all(m in self for m in x)

    def are_modules(self, stand_ins: Sequence[type]) -> bool:
        return bool(stand_ins) and all(issubclass(cls, nn.Module) for cls in stand_ins)

    def forward_of(self, stand_in: type) -> types.FunctionType | None:
        """What a call of a module runs; None for a class of modules that are not called."""
        forward: Any = getattr(stand_in, "forward", None)
        return forward if isinstance(forward, types.FunctionType) and forward is not nn.Module.forward else None

    def of(self, stand_in: type) -> dict[int, Any]:
        """The numbered objects of the class of a stand-in, by their numbers."""
        return {i: x for i, x in enumerate(self.objects) if self.class_of(x) is stand_in}


def is_node(x: Any) -> bool:
    """Whether a constant is an object with attributes of a class that the source defines, and not one of its functions, modules
    or the like."""
    cls = type(x)
    if isinstance(x, (type, Enum, Tensor, nn.Module, tuple, list, dict, set, str, int, float, types.ModuleType)) or callable(x):
        return False
    return is_plain(cls) and _of_source(cls) and attributes(x) is not None


def _of_source(cls: type) -> bool:
    """Whether a class and those that it extends are written in Python, none of them in Python's own library."""
    written = (c for c in cls.__mro__[:-1] if c is not nn.Module)
    own = [c.__module__ for c in written if c.__module__ not in ("typing", "abc", "collections.abc")]
    files = [getattr(sys.modules.get(module), "__file__", None) or "" for module in own]
    return bool(own) and not any(map(of_python, files)) and not any(m.partition(".")[0] in PACKAGES_WITHOUT_NODES for m in own)


def attributes_or_entries(x: Any) -> dict[Any, Any]:
    """The attributes of an object, or the entries of a dictionary."""
    if isinstance(x, nn.Module):
        own = {name: value for name, value in vars(x).items() if not name.startswith("_")}
        return {**own, **x._parameters, **x._buffers, **x._modules}
    return x if type(x) in DICTIONARIES else attributes(x) or {}


def module_nodes(x: nn.Module) -> list[nn.Module]:
    """The modules in a module, and itself, that are of its class or of classes that stand in one place with it."""
    every = [m for m in x.modules() if _of_source(type(m))]
    places: dict[tuple[type, str], set[type]] = {}
    for m in every:
        for name, value in m._modules.items():
            inside = [*value] if isinstance(value, nn.ModuleList) else [value]
            places.setdefault((type(m), name), set()).update(type(y) for y in inside if _of_source(type(y)))
    found, before = {type(x)}, set[type]()
    while found != before:
        before = set(found)
        found = found.union(*(there for (cls, _), there in places.items() if cls in before and there & before))
    return [m for m in every if type(m) in found]


def _inside(x: Any) -> Iterator[Any]:
    """The objects to which the attributes of an object, or the entries of a dictionary, lead directly."""
    return (y for value in attributes_or_entries(x).values() for y in nodes_in(value, _held_as_nodes(x)))


def _held_as_nodes(x: Any) -> tuple[type, ...]:
    """The types besides those of plain objects whose values are nodes where an object, a dictionary or a module has them."""
    return DICTIONARIES if type(x) in DICTIONARIES else (nn.Module,) if isinstance(x, nn.Module) else ()


def nodes_in(value: Any, others: tuple[type, ...] = ()) -> Iterator[Any]:
    """The objects in the value of an attribute: itself, and those in lists, tuples, sets and dictionaries. With `others` values
    of these types are objects too, and in place of what is in them."""
    if isinstance(value, (list, tuple, set, frozenset, nn.ModuleList)):
        for v in value:
            yield from nodes_in(v, others)
    elif isinstance(value, others):
        yield value
    elif isinstance(value, dict):
        for k, v in value.items():
            yield from nodes_in(k, others)
            yield from nodes_in(v, others)
    elif is_node(value):
        yield value


def reached(x: Any) -> list[Any]:
    """An object and all those to which its attributes lead, each once."""
    found, pending = {id(x): x}, [x]
    while pending:
        new = {id(y): y for y in _inside(pending.pop()) if id(y) not in found}
        found |= new
        pending += new.values()
    return list(found.values())


def in_circles(found: Sequence[Any]) -> bool:
    """Whether some objects refer to each other in circles."""
    graph = {id(y): {id(z) for z in _inside(y)} for y in found}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError:
        return True
    return False
