"""Turns Python instances into the values that the reference interpreter computes with."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn

import numpy as np

from backends.acrobat.core.types import DataT, ListT, ScalarT, TensorT, TupleT, Type
from backends.acrobat.errors import InstanceError
from backends.acrobat.ir.nodes import Program

Path = tuple[Any, ...]
"""Where a value is in an instance: (path of the structure around it, ".field" or "[i]"); () is the instance itself."""


@dataclass(frozen=True, slots=True)
class Data:
    """A value of a union. If its case has no Python class, instances and results contain it as it is."""

    case: str
    args: tuple[Any, ...]


def read_instance(program: Program, instance: Any) -> Any:
    """An instance as the value of the program's parameter. Raises InstanceError."""
    (param,) = program.functions[program.entry].params
    given = instance if program.boundary is None else program.boundary.inward(instance)
    return InstanceReader(program).read(given, param.type, ())


class InstanceReader:
    """Turns a Python instance into the program's values. Raises InstanceError with the path to a value that does not fit."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.being_read: set[int] = set()  # ids of the structures that are being read, to find one that contains itself
        self.shared_objects: dict[tuple[int, str], tuple[Any, Data]] = {}  # by id and type; they stay alive here

    def read(self, o: Any, t: Type, path: Path) -> Any:
        match t:
            case TensorT(shape, dtype):
                return self.tensor(o, shape, dtype, path)
            case ScalarT(kind):
                return self.scalar(o, kind, path)
            case TupleT(items):
                if not isinstance(o, tuple) or len(o) != len(items):
                    _mismatch(o, f"a tuple of {len(items)} elements", path)
                return tuple([self.read(v, i, (path, f"[{k}]")) for k, (v, i) in enumerate(zip(o, items, strict=True))])
        if isinstance(t, DataT) and (id(o), t.name) in self.shared_objects:
            return self.shared_objects[id(o), t.name][1]
        if isinstance(t, DataT) and self.program.datatypes[t.name].shared:
            return self.shared(o, t.name, path)
        if id(o) in self.being_read:
            raise InstanceError(f"{_path(path)}: a structure may not contain itself")
        self.being_read.add(id(o))
        match t:
            case ListT(item):
                if not isinstance(o, (list, tuple)):
                    _mismatch(o, "a list", path)
                value: Any = [self.read(v, item, (path, f"[{k}]")) for k, v in enumerate(o)]
            case DataT(name):
                value = self.data(o, name, path)
        self.being_read.discard(id(o))
        return value

    def shared(self, o: Any, name: str, path: Path) -> Data:
        """An object that is read once, however it is reached: what is in it may lead back to it."""
        value = Data("", ())
        self.shared_objects[id(o), name] = (o, value)
        found = self.data(o, name, path)
        object.__setattr__(value, "case", found.case)
        object.__setattr__(value, "args", found.args)
        return value

    def data(self, o: Any, name: str, path: Path) -> Data:
        datatype = self.program.datatypes[name]
        if datatype.optional:
            if o is None:
                return Data("None", ())
            self.being_read.discard(id(o))  # the value inside is this same Python object
            return Data("Some", (self.read(o, datatype.case("Some").fields[0][1], path),))
        for same in (lambda cls: type(o) is cls, lambda cls: isinstance(o, cls)) if not datatype.mixed else ():
            for case in datatype.cases:
                if case.cls and same(case.cls):
                    if isinstance(o, datetime) and o.tzinfo is not None:
                        raise InstanceError(f"{_path(path)}: a datetime with a time zone: instances have times without one")
                    return Data(case.name, tuple([self.read(getattr(o, f), t, (path, f".{f}")) for f, t in case.fields]))
        if isinstance(o, Data) and o.case in {c.name for c in datatype.cases}:
            fields = datatype.case(o.case).fields
            return Data(o.case, tuple([self.read(v, t, (path, f".{f}")) for v, (f, t) in zip(o.args, fields, strict=True)]))
        return _mismatch(o, " or ".join(f"a {c.name}" for c in datatype.cases), path)

    def tensor(self, o: Any, shape: tuple[int, ...], dtype: str, path: Path) -> np.ndarray:
        array = np.asarray(o.detach().cpu() if hasattr(o, "detach") else o)
        if array.dtype.kind not in ("f" if dtype == "float32" else "iu"):
            _mismatch(o, f"a tensor of {dtype}", path)
        if array.shape != shape:
            raise InstanceError(f"{_path(path)}: expected a tensor of shape {shape}, got one of shape {array.shape}")
        return array.astype(np.float64 if dtype == "float32" else np.int64)

    def scalar(self, o: Any, kind: str, path: Path) -> Any:
        match kind:
            case "bool":
                return o if isinstance(o, bool) else _mismatch(o, "a bool", path)
            case "float":
                return float(o) if isinstance(o, (int, float)) else _mismatch(o, "a float", path)
        if not hasattr(o, "__index__"):
            _mismatch(o, "an int", path)
        value = operator.index(o)
        return value if -(2**63) <= value < 2**63 else _mismatch(o, "an int of 64 bits", path)


def _mismatch(o: Any, expected: str, path: Path) -> NoReturn:
    raise InstanceError(f"{_path(path)}: expected {expected}, got {type(o).__name__}")


def _path(path: Path) -> str:
    parts = []
    while path:
        path, part = path
        parts.append(part)
    return "instance" + "".join(reversed(parts))
