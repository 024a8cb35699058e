"""A fingerprint of all that the program of a model may depend on, equal in two processes only if all of that is equal.

The walk begins with the model and its sample and goes on to whatever these lead to: attributes, classes with all that is in
them, functions with their source, and of the global names each function sees those that its source has. What belongs to Python,
to PyTorch, to numpy or to this compiler counts by its name: their versions are part of keys already. Of weights and of the
sample's floats the values do not count, of other tensors they do.

The walk is the same for equal models. So an object has the same number in each process, by which what is kept on disk can
refer to it (`translated.py`).
"""

from __future__ import annotations

import collections
import functools
import hashlib
import linecache
import logging
import operator
import re
import sys
import types
import typing
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from functools import cache
from pathlib import PurePath
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from backends.acrobat.frontend.source import closure, every_code, of_python
from backends.acrobat.frontend.tensors.parameters import digest, is_weight, named_tensors, tie_key
from backends.acrobat.memory import unusable

VERSIONED_PACKAGES = ("torch", "numpy", "builtins")
"""Packages whose versions are parts of keys."""
COMPILER = __name__.rpartition(".")[0]
SCALARS = (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented), range, slice)
"""Types of values that `repr` tells entirely."""
BY_REPR = (torch.dtype, torch.device, torch.layout, torch.memory_format, re.Pattern, PurePath, np.dtype, np.generic)
"""Types of objects that `repr` tells entirely, and that have no parts."""
SEQUENCES = (tuple, list, collections.deque)
DESCRIPTORS = (
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.ClassMethodDescriptorType,
    types.MethodWrapperType,
)
PARTS: dict[type, tuple[str, ...]] = {
    property: ("fget", "fset", "fdel"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    functools.cached_property: ("func",),
    functools.partial: ("func", "args", "keywords"),
    functools.partialmethod: ("func", "args", "keywords"),
    functools._lru_cache_wrapper: ("__wrapped__",),
    types.MethodType: ("__func__", "__self__"),
    types.UnionType: ("__args__",),
    types.GenericAlias: ("__origin__", "__args__"),
}
"""Attributes that tell objects of these types entirely."""
OF_CLASSES = frozenset({"__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "_abc_impl"})
"""Entries of a class's namespace that mean nothing, or that are noted apart."""
BY_ANY_NAME = frozenset({"getattr", "globals", "vars", "__dict__", "eval", "exec", "import_module"})
"""Words of a source that may look names up which do not stand in it."""
MOST = 50_000
"""The most objects that a fingerprint looks at, numbers and strings aside: more would take longer than the front end."""
WORD = re.compile(r"[A-Za-z_]\w*")


class NoFingerprint(Exception):
    """Raised for a model that leads to something of which it is not known what a program may depend on in it."""


class Fingerprint:
    """The fingerprint of a module with a sample (`hash`), and what the walk has met, by number (`objects`)."""

    def __init__(self, module: nn.Module, sample: Sequence[Any] | None) -> None:
        """Raises NoFingerprint."""
        self.objects: list[Any] = []
        self.numbers: dict[int, int] = {}
        """By id. The objects are alive as long as this is, so no other object gets the id of one."""
        self.globals_of: dict[types.FunctionType, frozenset[str]] = {}
        """The names that count of what each function can see, but for its closure."""
        self.attributes_of: dict[types.ModuleType, set[str]] = {}
        """The attributes that count of each of Python's modules, where these are no libraries."""
        self._slots: Callable[[type], list[str]] = cache(_slots)  # for this walk alone: classes may be changed before the next
        self._hash = hashlib.sha256()
        self._weights = {id(t) for _, t in named_tensors(module) if is_weight(t)}
        self._ties: dict[Any, int] = {}
        self._float_values = any(type(x) is tuple for x in sample or ())  # see `entry._taken_apart`
        self._in_sample = False
        self._walk(module)
        self._in_sample = True
        self._walk(list(sample) if sample is not None else None)

    @property
    def hash(self) -> str:
        return self._hash.hexdigest()

    def number(self, x: Any) -> int | None:
        """The number of an object that the walk has met; None for others, and for scalars."""
        return self.numbers.get(id(x))

    def _walk(self, root: Any) -> None:
        pending = [root]
        while pending:
            pending += reversed(self._noted(pending.pop()))

    def _note(self, *words: Any) -> None:
        self._hash.update(repr(words).encode(errors="surrogatepass"))

    def _noted(self, x: Any) -> list[Any]:
        """Adds an object to the hash, with how many parts it has, and gives these."""
        kind = type(x)
        if kind in SCALARS:
            self._note(kind.__name__, x)
            return []
        if (number := self.numbers.get(id(x))) is not None:
            self._note("again", number)
            return []
        if len(self.objects) == MOST:
            raise NoFingerprint(f"more than {MOST} objects")
        self.numbers[id(x)] = len(self.objects)
        self.objects.append(x)
        words, parts = self._described(x)
        self._note(*words, len(parts))
        return parts

    def _described(self, x: Any) -> tuple[tuple[Any, ...], list[Any]]:
        """What is noted of an object, and its parts. Raises NoFingerprint."""
        kind = type(x)
        match x:
            case type():
                return self._class(x)
            case types.FunctionType():
                return self._function(x)
            case types.BuiltinFunctionType():
                owner = x.__self__
                return ("builtin", x.__module__, x.__qualname__), [] if isinstance(owner, types.ModuleType) else [owner]
            case types.ModuleType():
                return ("module", x.__name__), []
            case Tensor():
                return self._tensor(x)
            case np.ndarray() if not x.dtype.hasobject:
                return ("array", str(x.dtype), x.shape, hashlib.sha256(x.tobytes()).hexdigest()), []
            case Enum():
                return ("member", x.name), [kind]
            case typing.TypeVar() | typing.ForwardRef():
                return (kind.__name__, repr(x)), []
            case logging.Logger():
                return ("logger", x.name), []
            case weakref.ref():
                return ("weakref",), [x()]
            case types.MappingProxyType():
                return ("view",), [dict(x)]
        if kind in PARTS:
            return (kind.__name__,), [getattr(x, name) for name in PARTS[kind]]
        if isinstance(x, BY_REPR):
            return (kind.__name__, repr(x)), []
        if isinstance(x, DESCRIPTORS):
            return (kind.__name__, x.__qualname__), []
        if isinstance(x, (operator.itemgetter, operator.attrgetter, operator.methodcaller)):
            return ("operator", kind.__name__), list(x.__reduce__())
        if kind.__module__ == "typing":
            parts = [getattr(x, name, ()) for name in ("__origin__", "__args__", "__metadata__")]
            return ("typing", repr(x)), parts
        return self._object(x)

    def _object(self, x: Any) -> tuple[tuple[Any, ...], list[Any]]:
        """An object of a container's class or of one that Python code defines: its class, elements and attributes."""
        kind, elements, is_container = type(x), list[Any](), True
        if isinstance(x, SEQUENCES):
            elements = list(x)
        elif isinstance(x, dict):
            items = collections.OrderedDict.items(x) if isinstance(x, collections.OrderedDict) else dict.items(x)
            elements = [y for pair in items for y in pair]
        elif isinstance(x, (set, frozenset)):
            elements = sorted(x, key=repr)
            if not all(type(y) in SCALARS for y in elements):
                raise NoFingerprint(f"a {kind.__name__} of objects, which have no order")
        else:
            is_container = False
        attributes = self._attributes(x)
        if not is_container and kind is not object and self._has_more(kind, attributes):
            raise NoFingerprint(f"a {kind.__module__}.{kind.__qualname__}")
        parts = [kind, *attributes.values()]
        if isinstance(x, collections.defaultdict):
            parts.append(x.default_factory)
        if isinstance(x, nn.Module):  # what a call runs, where something other than torch has set it in a class of torch
            parts += [kind.forward, kind.__call__, kind._call_impl]
        if all(type(y) in SCALARS for y in elements):
            return ("object", elements, tuple(attributes)), parts
        return ("object", len(elements), tuple(attributes)), [*parts, *elements]

    def _attributes(self, x: Any) -> dict[str, Any]:
        """The attributes of an object, those in slots too."""
        slots = {name: getattr(x, name) for name in self._slots(type(x)) if hasattr(x, name)}
        return {**slots, **getattr(x, "__dict__", {})}

    def _has_more(self, cls: type, attributes: dict[str, Any]) -> bool:
        """Whether objects of a class have something in them that no attribute tells, as iterators, dates and locks do."""
        in_c = cls.__basicsize__ > _Plain.__basicsize__ + len(self._slots(cls)) * tuple.__itemsize__
        return in_c or not attributes and not any("__weakref__" in vars(c) for c in cls.__mro__)

    def _tensor(self, t: Tensor) -> tuple[tuple[Any, ...], list[Any]]:
        tie = self._ties.setdefault(tie_key(t), len(self._ties))
        of_any_value = id(t) in self._weights or self._in_sample and t.is_floating_point() and not self._float_values
        what = ("tensor", str(t.dtype), tuple(t.shape), str(t.device), unusable(t), t.is_inference(), tie)
        return (*what, "" if of_any_value else digest(t)), [type(t)]

    def _class(self, cls: type) -> tuple[tuple[Any, ...], list[Any]]:
        if of_library(cls.__module__):
            return ("class", cls.__module__, cls.__qualname__), []
        own = {name: value for name, value in vars(cls).items() if name not in OF_CLASSES}
        module = sys.modules.get(cls.__module__)
        text = _text_of(getattr(module, "__file__", None) or "")
        hints = WORD.findall(repr(list(own.get("__annotations__", {}).values())))
        seen = {word: vars(module)[word] for word in sorted({*hints}) if module is not None and word in vars(module)}
        words = ("class", cls.__module__, cls.__qualname__, text, tuple(own), tuple(seen))
        return words, [type(cls), *cls.__bases__, *own.values(), *seen.values()]

    def _function(self, f: types.FunctionType) -> tuple[tuple[Any, ...], list[Any]]:
        inside = closure(f)
        parts = [f.__defaults__, f.__kwdefaults__, *inside.values(), f.__dict__]
        home = f.__globals__.get("__name__") or ""
        if of_library(home):
            return ("function", home, f.__qualname__, f.__code__.co_firstlineno), parts if inside else []
        code = f.__code__
        names, any_name = _names(code)
        seen = {name: f.__globals__[name] for name in sorted(names) if name in f.__globals__}
        self.globals_of[f] = frozenset(seen)
        words = ("function", home, f.__qualname__, code.co_filename, code.co_firstlineno, _text_of(code.co_filename))
        attributes: list[str] = []
        for name, value in seen.items():
            if isinstance(value, types.ModuleType):
                if any_name and not of_library(value.__name__):
                    raise NoFingerprint(f"{f.__qualname__} looks up names that do not stand in it")
                attributes += [f"{name}.{x}" for x in self._look_up(value, names, parts)]
        parts += [f.__annotations__, *seen.values()]
        return (*words, _of_code(code), tuple(inside), tuple(seen), tuple(attributes)), parts

    def _look_up(self, module: types.ModuleType, names: Iterable[str], parts: list[Any]) -> Iterator[str]:
        """The attributes of one of Python's modules among some names, of which those are added to the parts which libraries do
        not have by themselves; the same for modules among them."""
        pending, met = [(module, "")], {id(module)}
        while pending:
            m, path = pending.pop()
            for name in sorted(n for n in names if n in vars(m)):
                value = vars(m)[name]
                if isinstance(value, types.ModuleType):
                    if id(value) not in met:
                        met.add(id(value))
                        pending.append((value, f"{path}{name}."))
                    continue
                if of_library(m.__name__) and of_library(getattr(value, "__module__", None) or m.__name__):
                    continue
                self.attributes_of.setdefault(m, set()).add(name)
                parts.append(value)
                yield path + name


@cache
def of_library(module: str) -> bool:
    """Whether a module of this name belongs to Python, PyTorch, numpy or this compiler, its tests aside."""
    root = module.partition(".")[0]
    if module.startswith(f"{COMPILER}."):
        return "tests" not in module.split(".")
    file = getattr(sys.modules.get(root), "__file__", None)
    return root in VERSIONED_PACKAGES or root in sys.stdlib_module_names and (file is None or of_python(file))


def _slots(cls: type) -> list[str]:
    """The names of the slots that objects of a class have."""
    return [name for c in cls.__mro__ for name, value in vars(c).items() if isinstance(value, types.MemberDescriptorType)]


class _Plain:
    """Has nothing but attributes."""


def _text_of(file: str) -> str:
    """A hash of a file's text as it is now; "" where there is none."""
    linecache.checkcache(file)
    lines = linecache.getlines(file)
    return hashlib.sha256("".join(lines).encode(errors="surrogatepass")).hexdigest() if lines else ""


def _names(code: types.CodeType) -> tuple[set[str], bool]:
    """The words of a function's source and the names in its code, and whether it may look up others."""
    found, lines = set[str](), [code.co_firstlineno]
    for c in every_code([code]):
        found.update(c.co_names)
        lines += [line for _, _, line in c.co_lines() if line is not None]
    text = linecache.getlines(code.co_filename)[min(lines) - 1 : max(lines)]
    for line in text:
        found.update(WORD.findall(line))
    return found, bool(found & BY_ANY_NAME)


def _of_code(code: types.CodeType) -> str:
    """A hash of what a function in memory does, which may not be what stands in its file."""
    told: list[Any] = []
    for c in every_code([code]):
        constants = [sorted(map(repr, x)) if isinstance(x, frozenset) else x for x in c.co_consts]
        told += [c.co_code, c.co_names, c.co_varnames, c.co_freevars]
        told += [x for x in constants if not isinstance(x, types.CodeType)]
    return hashlib.sha256(repr(told).encode(errors="surrogatepass")).hexdigest()
