"""Lists and dictionaries of a class of the source (`derived_containers`)."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from backends.acrobat.core.types import ListT
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.kinds import as_kind, is_container, type_or_none
from backends.acrobat.frontend.values import Value


def derived_class(f: Frame, value: Any) -> type | None:
    """The class of the source of which a list or dictionary is; None for other values."""
    t = type_or_none(value)
    return f.program.derived.get(t.kind.cls) if isinstance(t, ListT) else None


def of_class_of(whole: Any, value: Value) -> Value:
    """A list or dictionary after a change in place, of the same derived class as before the change (`whole`)."""
    t = type_or_none(whole)
    is_one = isinstance(t, ListT) and bool(t.kind.cls) and is_container(value)
    return as_kind(value, t.kind) if is_one else value


def has_own_method(f: Frame, value: Any, name: str) -> bool:
    """Whether a list or dictionary is of a class of the source that has a method of this name."""
    return hasattr(derived_class(f, value), name)


def text_method(f: Frame, value: Any, name: str) -> FunctionType | None:
    """The function of the source that gives the text of a list or dictionary of a class of the source, as its method `name`,
    `__str__` or `__repr__`, does: a class without the first has the text of the second. None where Python's own gives it."""
    cls = derived_class(f, value)
    methods = [getattr(cls, x, None) for x in dict.fromkeys((name, "__repr__"))]
    return next((m for m in methods if isinstance(m, FunctionType)), None)
