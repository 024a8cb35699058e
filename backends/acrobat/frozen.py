"""Notices changes of a module after it was compiled, and takes over new weights.

The compiled program has weights, attributes, globals and the like as constants. `Frozen.watched` lists all of them for the
runtime (`runtime/python/guard.h`), which compares them by identity at the start of each call. Only if an object is another one
than before, `Frozen.difference` compares values and says what has changed.
"""

from __future__ import annotations

import gc
import inspect
import types
import weakref
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import singledispatchmethod
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from backends.acrobat.core.unwritten import Source
from backends.acrobat.frontend.reads import MISSING, Reads, looked_up
from backends.acrobat.frontend.tensors.parameters import digest, is_weight, named_tensors, plain_tensors, tie_key, values_of
from backends.acrobat.ir.nodes import Program
from backends.acrobat.memory import unusable
from backends.acrobat.passes.constants import evaluate_derived

ELEMENTS = 8
"""The number of elements that are compared of a weight that is not small."""
SMALL = 1 << 10
"""The most bytes of a small weight, of which all elements are compared."""
LISTS = (nn.ModuleList, nn.Sequential, nn.ParameterList)
"""Modules whose length is part of the program."""


class Frozen:
    """All that one compiled program depends on. It keeps no reference to the module, so that the module can be deleted."""

    def __init__(self, module: nn.Module, reads: Reads, program: Program) -> None:
        """`program` is the front end's result, whose weights are those of `module` as it is now."""
        self.reads = reads
        self.used = frozenset(program.values)
        self.state = dict(self._state(module))
        self.note_weights(module)

    def finish(self, program: Program) -> None:
        """Keeps how `program`, the result of all passes, derives weights, and which parameters it uses."""
        self.program = replace(program, functions={}, values={})
        self.names = tuple(program.values)

    # ---- comparing

    def _state(self, module: nn.Module) -> Iterator[tuple[str, Any]]:
        """All that the program depends on, except the values of weights: pairs of a description and a value to compare."""
        yield "the class of the model", type(module)
        yield "the hooks for all modules", sum(map(len, _hooks_for_all()))
        for path, m in module.named_modules(remove_duplicate=False):
            dot = f"{path}." if path else ""
            if path:
                yield f"the class of `{path}`", type(m)
            if isinstance(m, LISTS):
                yield f"the length of `{path}`", len(m)
            yield f"the hooks of `{path or 'the model'}`", len(m._forward_hooks) + len(m._forward_pre_hooks)
            for cls, name in self.reads.attributes:
                if cls is type(m):
                    yield f"`{dot}{name}`", _plain(_attribute(m, name))
            for cls, name in self.reads.constants:
                if cls is type(m):
                    constant = getattr(m, name, None)
                    yield f"the constant `{dot}{name}`", digest(constant) if isinstance(constant, Tensor) else None
        first: dict[Any, str] = {}
        for name, t in named_tensors(module):
            canonical = first.setdefault(tie_key(t), name) if is_weight(t) else name
            if canonical in self.used:
                yield f"the dtype of `{name}`", unusable(t) or t.dtype
                yield f"the shape of `{name}`", tuple(t.shape)
            if canonical in self.used and canonical != name:
                yield f"the weight that `{name}` is tied to", canonical
        for function, name in self.reads.names:
            reader = f"`{name}`, which `{function.__qualname__}` uses,"
            yield reader, _plain(looked_up(function, name))
        counts: Counter[str] = Counter()
        for owner, name, _ in self.reads.objects:
            what = f"`{getattr(owner, '__name__', type(owner).__name__)}.{name}`"
            counts[what] += 1
            which = f" of object {counts[what]} of its class" if counts[what] > 1 else ""
            yield what + which, _plain(getattr(owner, name, MISSING))

    def difference(self, module: nn.Module) -> str:
        """A difference between `module` and the module that was compiled, values of weights aside; "" if there is none."""
        state = dict(self._state(module))
        for name in (*self.state, *state):
            if name not in state:
                return f"{name} is not there"
            if name not in self.state:
                return f"{name} is new"
            if not _equal(self.state[name], state[name]):
                return f"{name} was {_shown(self.state[name])} when it was compiled and is {_shown(state[name])}"
        return ""

    # ---- weights

    def note_weights(self, module: nn.Module) -> None:
        """Notes the weights of `module`, which the executable has just taken over."""
        self.noted = {name: _identity(t) for name, t in self._used_tensors(module)}

    def changed_weight(self, module: nn.Module) -> str:
        """A weight that has changed since `note_weights`, and how; "" if there is none."""
        for name, t in self._used_tensors(module):
            before, now = self.noted[name], _identity(t)
            if before[0]() is not t:
                return f"`{name}` is another tensor than it was"
            if before[1] != now[1]:
                return f"`{name}` lies elsewhere in memory than it did"
            if before[2] != now[2]:
                return f"`{name}` was changed in place"
            if before[3] != now[3]:
                return f"values of `{name}` were changed"
        return ""

    def _used_tensors(self, module: nn.Module) -> Iterator[tuple[str, Tensor]]:
        first: dict[Any, str] = {}
        for name, t in named_tensors(module):
            if is_weight(t) and first.setdefault(tie_key(t), name) in self.used:
                yield name, t

    def weights(self, module: nn.Module) -> Mapping[str, Source]:
        """The values of all weights of the program, computed from the parameters that `module` has now."""
        tensors = dict(named_tensors(module))
        values = {name: values_of(tensors[name]) for name in self.names}
        return {**values, **evaluate_derived(replace(self.program, values=values))}

    # ---- for the runtime

    def watched(self, module: nn.Module) -> tuple[Any, ...]:
        """What `runtime/python/guard.h` compares, as it is now: parts of modules, namespaces, closures, attributes, and what is
        in lists, dictionaries and sets."""
        used = {id(t) for _, t in self._used_tensors(module)}
        containers: list[tuple[Any, Any]] = [(hooks, ()) for hooks in _hooks_for_all()]
        gets: list[tuple[Any, str, Any]] = []
        modules = []
        for m in module.modules():
            attributes = []
            for cls, name in self.reads.attributes:
                if cls is not type(m) or name in m._modules:
                    continue
                saved = vars(m).get(name, MISSING)
                if saved is MISSING and _computed(type(m), name):
                    gets.append((weakref.ref(m), name, getattr(m, name, MISSING)))
                    continue
                attributes.append((name, weakref.ref(saved) if isinstance(saved, types.MethodType) else saved))
                _containers_in(_attribute(m, name) if saved is MISSING else saved, containers)
            if (type(m), "forward") not in self.reads.attributes:
                attributes.append(("forward", vars(m).get("forward", MISSING)))
            children = tuple((k, weakref.ref(c)) for k, c in m._modules.items() if c is not None)
            constants = {name for cls, name in self.reads.constants if cls is type(m)}
            tensors = tuple(
                (kind, k, weakref.ref(t))
                for kind, own in (("_parameters", m._parameters), ("_buffers", m._buffers), (None, plain_tensors(m)))
                for k, t in own.items()
                if t is not None and (id(t) in used or k in constants)
            )
            modules.append((weakref.ref(m), type(m), tuple(attributes), children, tensors, isinstance(m, LISTS)))
        slots, cells = [], []
        for (function, name), value in self.reads.names.items():
            if name in function.__code__.co_freevars:
                cells.append((function.__closure__[function.__code__.co_freevars.index(name)], value))  # type: ignore[index]
            elif name in function.__globals__:
                slots.append((function.__globals__, name, function.__globals__[name]))
            _containers_in(value, containers)
        for owner, name, _ in self.reads.objects:
            value = getattr(owner, name, MISSING)
            if isinstance(owner, types.ModuleType) and name in vars(owner):
                slots.append((vars(owner), name, value))
            else:
                gets.append((owner, name, value))
            _containers_in(value, containers)
        return tuple(modules), tuple(slots), tuple(cells), tuple(containers), tuple(gets)


def _identity(t: Tensor) -> tuple[weakref.ref[Tensor], int, int, bytes]:
    """What is compared of a weight: the object, its address, its version, and its elements or some spread over it. These are at
    least those that `WatchedTensor` compares, so that each change that it notices is found here."""
    flat = t.detach().resolve_neg().reshape(-1) if t.numel() * t.element_size() <= SMALL else None
    if flat is None:
        at = [i * (t.numel() - 1) // (ELEMENTS - 1) for i in range(ELEMENTS)]
        indices = np.unravel_index(at, tuple(t.shape))
        flat = t.detach()[tuple(torch.from_numpy(i) for i in indices)].resolve_neg()
    version = -1 if t.is_inference() else t._version
    return weakref.ref(t), t.data_ptr(), version, flat.cpu().numpy().tobytes()


def _computed(cls: type, name: str) -> bool:
    """Whether reading the attribute runs code: that of a property or another descriptor, or of `__getattr__`."""
    for c in cls.__mro__:
        if name in vars(c):
            return hasattr(vars(c)[name], "__get__") and not isinstance(vars(c)[name], METHODS)
    return True


METHODS = (types.FunctionType, staticmethod, singledispatchmethod)
"""What is under the name of a method in a class."""


def _attribute(module: Any, name: str) -> Any:
    """An attribute of a module. Of a method that dispatches by class, what the class has: reading it makes a new function."""
    in_class = inspect.getattr_static(type(module), name, None)
    if isinstance(in_class, singledispatchmethod) and name not in vars(module):
        return in_class
    return getattr(module, name, MISSING)


def _hooks_for_all() -> list[Any]:
    """The hooks that torch runs at each call of any module."""
    names = ("_global_forward_hooks", "_global_forward_pre_hooks")
    return [hooks for name in names if (hooks := getattr(nn.modules.module, name, None)) is not None]


def _containers_in(value: Any, containers: list[tuple[Any, Any]]) -> None:
    """Adds each list, dictionary and set within `value` with its present elements, since it may be changed in place: those of
    a list in a tuple, of a dictionary the keys and values by turns, in the order in which Python keeps them."""
    if isinstance(value, types.MappingProxyType):  # of what is registered with a function that dispatches by class
        (value,) = gc.get_referents(value)
    if isinstance(value, list):
        containers.append((value, tuple(value)))
    elif isinstance(value, dict):
        items = OrderedDict.items(value) if isinstance(value, OrderedDict) else dict.items(value)
        containers.append((value, tuple(x for pair in items for x in pair)))
    elif isinstance(value, set):
        containers.append((value, frozenset(value)))
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    for v in inside:
        if isinstance(v, (list, tuple, dict, set)):
            _containers_in(v, containers)


def _plain(value: Any) -> Any:
    """What is compared of `value`. Later changes of lists, dictionaries, sets or modules in `value` do not affect it."""
    if isinstance(value, types.MethodType):
        return value.__func__
    if isinstance(value, nn.Module):
        return type(value)  # its attributes are compared one by one
    if isinstance(value, (list, tuple)):
        return type(value).__name__, tuple(map(_plain, value))
    if isinstance(value, (dict, types.MappingProxyType)):
        return _Contents((k, _plain(v)) for k, v in value.items())
    return _Contents((frozenset(value),)) if isinstance(value, set) else value


class _Contents(tuple[Any, ...]):
    """What was in a dictionary, as pairs in its order, or in a set, as a frozenset alone, when it was looked at."""

    __slots__ = ()

    def __repr__(self) -> str:
        if len(self) == 1 and isinstance(self[0], frozenset):
            return repr(set(self[0]))
        return repr({k: _readable(v) for k, v in self})


def _equal(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, float):
        return bool(a.hex() == b.hex())  # tells -0.0 from 0.0, and takes two NaNs for equal
    try:
        return bool(a == b)
    except Exception:
        return False


def _shown(value: Any) -> str:
    if value is MISSING:
        return "not there"
    value = _readable(value)
    if isinstance(value, (type, types.FunctionType)):
        return value.__qualname__
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _readable(value: Any) -> Any:
    """The list or tuple of which `_plain` has taken the contents; other values unchanged."""
    if isinstance(value, tuple) and len(value) == 2 and value[0] in ("list", "tuple"):
        return list(value[1]) if value[0] == "list" else value[1]
    return value
