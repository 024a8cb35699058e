"""Conversion between Python's values and the program's, where they differ: the program has ragged tensors as lists of rows,
strings as numbers, dictionaries as records or lists of pairs.

`Boundary` knows the types of both sides. Its conversions define the meaning, and the interpreter uses them; generated code
reads and builds Python's objects itself (`codegen/outside.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from backends.acrobat.core.made_objects import object_of
from backends.acrobat.core.types import IDENTITY, LIST, Case, DataT, DataType, ListT, ScalarT, TupleT
from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend.instances.arguments import Completion
from backends.acrobat.frontend.instances.default_dicts import fits, read_as
from backends.acrobat.frontend.instances.record_classes import RecordOf
from backends.acrobat.frontend.tensor_types import extents
from backends.acrobat.frontend.types import NoneT, SymbolT
from backends.acrobat.ir.instances import Data


class Symbols:
    """Numbers for strings and members of Enums: those of the source first, then those of instances as they first come."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.numbers: dict[Any, int] = {}
        self.of_source = 0

    def of_the_source(self) -> list[Any]:
        """The strings and members of Enums that the source names, by number."""
        return self.values[: self.of_source]

    def value(self, number: int) -> Any:
        return self.values[number]

    def number(self, value: Any) -> int:
        if value not in self.numbers:
            self.numbers[value] = len(self.values)
            self.values.append(value)
        return self.numbers[value]


class Boundary:
    """Converts instances into the program's values, and results back. `instance` and `result` are their types in the front end,
    `datatypes` its unions; `observed` says that the types come from a sample, `completion` what makes an instance whole, if
    anything is missing."""

    def __init__(
        self,
        instance: Any,
        result: Any,
        datatypes: Mapping[str, DataType],
        symbols: Symbols,
        observed: bool = False,
        completion: Completion | None = None,
    ) -> None:
        self.instance, self.result, self.datatypes, self.symbols = instance, result, datatypes, symbols
        self.observed, self.completion = observed, completion
        self._plain: dict[Any, bool] = {}
        self._numbered: dict[int, Any] = {}  # by number, the objects of this instance that have one
        self._made: dict[tuple[int, str], Any] = {}  # (id, union) of an object of this instance -> its conversion

    def same(self, t: Any) -> bool:
        """Whether values of a type need no conversion. A recursive type needs none unless a type inside of it does."""
        if t not in self._plain:
            self._plain[t] = True
            pending, visited = [t], {t}
            while pending:
                inside = self._inside(pending.pop())
                if inside is None:
                    self._plain[t] = False
                    break
                pending += [x for x in inside if x not in visited]
                visited |= set(inside)
        return self._plain[t]

    def _inside(self, t: Any) -> list[Any] | None:
        """The types directly inside of a type; None if its own values need a conversion."""
        match t:
            case ListT(rows=int()) | SymbolT() | NoneT():
                return None
            case ListT(kind=kind) if kind != LIST:
                return None
            case ListT(item):
                return [item]
            case TupleT(items):
                return list(items)
            case DataT(name):
                cases = self.datatypes[name].cases
                if self.datatypes[name].mixed:
                    return None
                if any(isinstance(c.cls, type) and issubclass(c.cls, RecordOf) for c in cases):
                    return None
                if self.datatypes[name].shared:
                    return None
                return [x for c in cases for _, x in c.fields]
        return []

    # ---- in

    def inward(self, value: Any) -> Any:
        """An instance as the program reads it. Raises InstanceError with the path to what does not fit."""
        self._made.clear()
        self._numbered.clear()
        whole = value if self.completion is None else self.completion.whole([value])[0]
        return self._in(self.instance, whole, "instance")

    def _in(self, t: Any, value: Any, path: str) -> Any:
        if self.same(t):
            return value
        match t:
            case SymbolT():
                return self.symbols.number(value)
            case ListT(item, int() as k):
                return self._rows(t, item, k, value, path)
            case ListT(item, container="dict", kind=kind):
                if not isinstance(value, dict):
                    raise InstanceError(f"{path}: expected a dict, got {type(value).__name__}")
                if not fits(value, kind):
                    raise InstanceError(f"{path}: expected a defaultdict({read_as(kind)}), got a dict of other missing values")
                return [self._in(item, pair, f"{path}[{pair[0]!r}]") for pair in value.items()]
            case ListT(item, container="set"):
                if not isinstance(value, (set, frozenset)):
                    raise InstanceError(f"{path}: expected a set, got {type(value).__name__}")
                return [self._in(item, v, f"{path}{{{v!r}}}") for v in value]
            case ListT(item, container="tuple"):
                if not isinstance(value, tuple):
                    raise InstanceError(f"{path}: expected a tuple, got {type(value).__name__}")
                return [self._in(item, v, f"{path}[{i}]") for i, v in enumerate(value)]
            case ListT(item):
                if not isinstance(value, (list, tuple)):
                    raise InstanceError(f"{path}: expected a list, got {type(value).__name__}")
                return [self._in(item, v, f"{path}[{i}]") for i, v in enumerate(value)]
            case TupleT(items):
                if not isinstance(value, tuple) or len(value) != len(items):
                    raise InstanceError(f"{path}: expected a tuple of {len(items)} elements, got {type(value).__name__}")
                return tuple([self._in(x, v, f"{path}[{i}]") for i, (x, v) in enumerate(zip(items, value, strict=True))])
            case DataT(name):
                return self._object(self.datatypes[name], value, path)
        return value

    def _rows(self, t: Any, item: Any, k: int, value: Any, path: str) -> Any:
        expected = extents(t)
        assert expected is not None
        if not isinstance(value, (Tensor, np.ndarray)):
            raise InstanceError(f"{path}: expected a tensor, got {type(value).__name__}")
        if len(expected) != value.ndim or any(w is not None and w != e for w, e in zip(expected, value.shape, strict=True)):
            shape = ", ".join("n" if e is None else str(e) for e in expected)
            raise InstanceError(f"{path}: expected a tensor of shape ({shape}), got one of shape {tuple(value.shape)}")
        if isinstance(item, ScalarT):
            return value.reshape(-1).tolist()
        parts = value.unbind(k) if isinstance(value, Tensor) else [np.take(value, i, k) for i in range(value.shape[k])]
        return [self._in(item, part, path) for part in parts]

    def _object(self, data: DataType, value: Any, path: str) -> Any:
        if data.optional:
            return None if value is None else self._in(data.case("Some").fields[0][1], value, path)
        if data.mixed:
            return self._mixed(data, value, path)
        for case in sorted(data.cases, key=lambda c: type(value) is not c.cls):  # the very class before a base of it
            if data.shared and _is_of(case.cls, value):
                return self._shared_object(data, case, value, path)
            if isinstance(value, dict) and issubclass(case.cls, RecordOf):
                if value.keys() != set(case.cls.keys_of_record):
                    continue
                return case.cls.record_of_fields({f: self._in(t, value[f], f"{path}[{f!r}]") for f, t in case.fields})
            if isinstance(value, tuple) and isinstance(value, case.cls):  # a named tuple
                return case.cls(**{f: self._in(t, getattr(value, f), f"{path}.{f}") for f, t in case.fields})
            if isinstance(value, case.cls):
                result = _without_init(case.cls)
                for name, t in case.fields:
                    if not hasattr(value, name):
                        raise InstanceError(f"{path}: a {type(value).__name__} without its field `{name}`")
                    object.__setattr__(result, name, self._in(t, getattr(value, name), f"{path}.{name}"))
                return result
        expected = " or ".join(
            f"a dict of {', '.join(sorted(c.cls.keys_of_record))}" if issubclass(c.cls, RecordOf) else c.name
            for c in data.cases
        )
        raise InstanceError(f"{path}: expected {expected}, got {type(value).__name__}: add such an instance to the sample")

    def _shared_object(self, data: DataType, case: Case, value: Any, path: str) -> Data:
        """An object of which the program has the number. It is there before its fields are read, which may lead back to it."""
        if (id(value), data.name) in self._made:
            return self._made[id(value), data.name]  # type: ignore[no-any-return]
        result = self._made[id(value), data.name] = Data(case.name, ())
        number, is_dict, args = len(self._made), isinstance(value, dict), list[Any]()
        self._numbered[number] = value
        for name, t in case.fields:
            if name != IDENTITY and not is_dict and not hasattr(value, name):
                raise InstanceError(f"{path}: a {type(value).__name__} without its field `{name}`")
            part = f"{path}[{name!r}]" if is_dict else f"{path}.{name}"
            held = number if name == IDENTITY else value[name] if is_dict else getattr(value, name)
            args.append(held if name == IDENTITY else self._in(t, held, part))
        object.__setattr__(result, "args", tuple(args))
        return result

    def _mixed(self, data: DataType, value: Any, path: str) -> Data:
        """A value of a mixed union, as the case for its type: for the very type if there is one, else for a base of it."""
        for same in (lambda cls: type(value) is cls, lambda cls: isinstance(value, cls)):
            for case in data.cases:
                if same(case.cls) and case.rank in (None, getattr(value, "ndim", None)):
                    return Data(case.name, (self._in(case.fields[0][1], value, path),))
        expected = " or ".join(c.word for c in data.cases)
        raise InstanceError(f"{path}: expected {expected}, got {type(value).__name__}: add such an instance to the sample")

    # ---- out

    def outward(self, value: Any) -> Any:
        """A result as eager PyTorch gives it."""
        return self._out(self.result, value)

    def _out(self, t: Any, value: Any) -> Any:
        if self.same(t):
            return value
        match t:
            case NoneT():
                return None
            case SymbolT():
                return self.symbols.values[value]
            case ListT(item, int() as k):
                if isinstance(item, ScalarT):
                    dtype = {"int": torch.int64, "bool": torch.bool, "float": torch.float32}[item.kind]
                    return torch.tensor(value, dtype=dtype).reshape([-1 if e is None else e for e in extents(t) or ()])
                rows = [self._out(item, v) for v in value]
                if not rows:
                    return torch.zeros([e or 0 for e in extents(t) or ()])
                return np.stack(rows, k) if isinstance(rows[0], np.ndarray) else torch.stack(rows, k)
            case ListT(item, container="dict"):
                return dict(self._out(item, v) for v in value)
            case ListT(item, container="set"):
                return {self._out(item, v) for v in value}
            case ListT(item, container="tuple"):
                return tuple([self._out(item, v) for v in value])
            case ListT(item):
                return [self._out(item, v) for v in value]
            case TupleT(items):
                return tuple([self._out(x, v) for x, v in zip(items, value, strict=True)])
            case DataT(name):
                data = self.datatypes[name]
                if data.optional:
                    return None if value is None else self._out(data.case("Some").fields[0][1], value)
                if isinstance(value, Data) and data.case(value.case).numbered:
                    at = [f for f, _ in data.case(value.case).fields].index(IDENTITY)
                    return self._numbered[value.args[at]]  # the instance's own object, as in Python
                if data.mixed:
                    return self._out(data.case(value.case).fields[0][1], value.args[0])
                case = next((c for c in data.cases if type(value) is c.cls), None) or next(
                    c for c in data.cases if isinstance(value, c.cls)
                )
                fields = {f: self._out(x, getattr(value, f)) for f, x in case.fields}
                if issubclass(case.cls, RecordOf):
                    if case.cls.class_of_record is None:
                        return {key: fields[key] for key in case.cls.keys_of_record}
                    return case.cls.object_of_class(fields)
                return object_of(case.cls, fields)
        return value


def _without_init(cls: Any) -> Any:
    """An object of a class without any fields."""
    try:
        return object.__new__(cls)
    except TypeError:  # of a class whose objects Python makes otherwise, as those of `ast`
        return cls.__new__(cls)


def _is_of(cls: Any, value: Any) -> bool:
    """Whether a value is an object of a class, or a dictionary with the keys of a record class."""
    if isinstance(cls, type) and issubclass(cls, RecordOf):
        return isinstance(value, dict) and value.keys() == set(cls.keys_of_record)
    return isinstance(value, cls)
