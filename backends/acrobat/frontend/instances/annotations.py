"""What the model's annotations say, and which unions of dataclasses its modules name."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
import textwrap
import types
import typing
from functools import lru_cache
from typing import Any, Union, get_args, get_origin

from backends.acrobat.core.made_objects import computes_fields


class AnnotationError(ValueError):
    """An annotation the language does not have; the message says what to write."""

    advice = ""


def hints(owner: Any, values_tell: bool = False) -> dict[str, Any]:
    """The evaluated annotations of a function or dataclass, with `Annotated` kept. One that cannot be evaluated, such as the
    name of what is imported for type checkers only, is Any if `values_tell` the types. Raises AnnotationError."""
    try:
        return typing.get_type_hints(owner, include_extras=True)
    except Exception as error:
        if values_tell:
            return _hints_one_by_one(owner)
        raise AnnotationError(f"the annotations of `{owner.__qualname__}` cannot be evaluated: {error}") from error


def _hints_one_by_one(owner: Any) -> dict[str, Any]:
    """The annotations of a function or class, and of the classes above it; Any for those that cannot be evaluated."""
    found: dict[str, Any] = {}
    for o in reversed(owner.__mro__) if isinstance(owner, type) else [owner]:
        names = vars(sys.modules[o.__module__]) if isinstance(o, type) else o.__globals__
        for name, written in inspect.get_annotations(o).items():
            alone = types.SimpleNamespace(__annotations__={name: written})
            try:
                found |= typing.get_type_hints(alone, names, include_extras=True)
            except Exception:  # whatever evaluating it raises
                found[name] = Any
    return found


def union_members(t: Any) -> tuple[Any, ...] | None:
    """The members of a union type; None for other types."""
    return get_args(t) if get_origin(t) in (Union, types.UnionType) else None


def check_dataclass(cls: type) -> None:
    """Raises AnnotationError unless `cls` is a dataclass whose objects consist of just the values given for its fields."""
    if not dataclasses.is_dataclass(cls):
        raise AnnotationError(f"`{cls.__name__}` is not a dataclass: structures of the model are frozen dataclasses")
    if computes_fields(cls):
        raise AnnotationError(f"`{cls.__name__}` computes fields when it is made: give a sample, which shows what they hold")


def line_of_class(cls: type) -> int:
    """The line of its file on which a class begins; 0 if it has none."""
    try:
        return inspect.getsourcelines(cls)[1]
    except (OSError, TypeError):
        return 0


@lru_cache(1 << 10)
def default_of_field(cls: type, name: str) -> tuple[str, ast.expr] | None:
    """The expression that gives a field of a dataclass its default value, as it is written, with its file; None if there is no
    source, or no such expression."""
    owner = next((c for c in cls.__mro__ if name in inspect.get_annotations(c)), cls)
    try:
        lines, first = inspect.getsourcelines(owner)
        (written,) = ast.parse(textwrap.dedent("".join(lines))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    for s in getattr(written, "body", ()):
        match s:
            case ast.AnnAssign(ast.Name(id), value=ast.expr() as value) if id == name:
                indent = len(lines[0]) - len(lines[0].lstrip())
                value.col_offset += indent
                value.end_col_offset = (value.end_col_offset or 0) + indent
                return inspect.getsourcefile(owner) or "<unknown>", ast.increment_lineno(value, first - 1)
    return None


def unions_in(module: types.ModuleType) -> list[tuple[frozenset[type], str]]:
    """The unions of dataclasses that a module names, and (with the name "") those written out in its annotations."""
    unions = [(frozenset(u), name) for name, value in vars(module).items() for u in _unions_inside(value)[:1]]
    for owner in list(vars(module).values()):
        if getattr(owner, "__module__", None) != module.__name__:
            continue
        for o in [owner, *vars(owner).values()] if isinstance(owner, type) else [owner]:
            if not (isinstance(o, type) and dataclasses.is_dataclass(o) or isinstance(o, types.FunctionType)):
                continue
            try:
                unions += [(frozenset(u), "") for t in hints(o).values() for u in _unions_inside(t)]
            except AnnotationError:  # reported where the annotation is used
                continue
    return unions


def _unions_inside(t: Any) -> list[tuple[type, ...]]:
    """The unions of dataclasses in an annotation."""
    unions = []
    if members := union_members(t):
        classes = tuple(m for m in members if m is not type(None))
        if len(classes) > 1 and all(isinstance(m, type) and dataclasses.is_dataclass(m) for m in classes):
            unions.append(classes)
    for inner in get_args(t):
        if inner is not t:
            unions += _unions_inside(inner)
    return unions
