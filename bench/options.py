"""The options of a workload or a backend: the parameters of its class's constructor, with their types and defaults."""

from __future__ import annotations

import difflib
import inspect
import types
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints


class ConfigError(Exception):
    """What the user asked for is not possible; the message says why."""


class Option(NamedTuple):
    """What is shown of an option: its `default`; its `choices`, the default first, as in "true|false"; whether it is a
    `number`, so that it can be an axis. The numbers in a Literal are names."""

    default: Any
    choices: str
    number: bool


def parameters(cls: type) -> dict[str, inspect.Parameter]:
    """The parameters of a class's constructor, except `self` and `target`."""
    declared = inspect.signature(inspect.getattr_static(cls, "__init__")).parameters.values()
    skip = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return {p.name: p for p in declared if p.name not in ("self", "target") and p.kind not in skip}


def options(cls: type) -> dict[str, Option]:
    """The options of a class by name. One without a default has None in its place."""
    hints = get_type_hints(inspect.getattr_static(cls, "__init__"))
    described = {}
    for name, parameter in parameters(cls).items():
        default = None if parameter.default is inspect.Parameter.empty else parameter.default
        hint = hints.get(name, Any)
        shown = _spell(default)
        choices = "|".join([shown, *(each for each in _choices(hint) if each != shown)])
        described[name] = Option(default, choices, any(each in (int, float) for each in _alternatives(hint)))
    return described


def conform(cls: type, chosen: Mapping[str, Any], section: str) -> dict[str, Any]:
    """`chosen` with the defaults of `cls.__init__` filled in. Raises ConfigError for an unknown name or a wrong type."""
    schema = parameters(cls)
    for key in chosen:
        if key not in schema:
            close = difflib.get_close_matches(str(key), schema, n=1)
            hint = f"; did you mean '{close[0]}'?" if close else f"; there are: {', '.join(schema) or 'none'}"
            raise ConfigError(f"{section} has no option '{key}'{hint}")
    try:
        hints = get_type_hints(inspect.getattr_static(cls, "__init__"))
    except Exception as error:
        raise ConfigError(f"{section}: the types of its options cannot be read: {type(error).__name__}: {error}") from error
    full = {}
    for key, parameter in schema.items():
        if key not in chosen and parameter.default is inspect.Parameter.empty:
            raise ConfigError(f"{section}.{key} needs a value")
        value = chosen.get(key, parameter.default)
        if not _fits(value, hints.get(key, Any)):
            annotation = hints[key]
            name = annotation.__name__ if isinstance(annotation, type) else str(annotation).replace("typing.", "")
            raise ConfigError(f"{section}.{key}={value!r} does not fit {name}")
        full[key] = value
    return full


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def _fits(value: Any, annotation: Any) -> bool:
    if annotation is Any:
        return True
    origin = get_origin(annotation)
    if origin is Literal:
        return any(value == choice and type(value) is type(choice) for choice in get_args(annotation))
    if origin in (Union, types.UnionType):
        return any(_fits(value, choice) for choice in get_args(annotation))
    if annotation is None or annotation is type(None):
        return value is None
    if annotation is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if annotation is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, origin or annotation)


def _choices(hint: Any) -> list[str]:
    """The values that an option of this type can have, as texts; for some types a word in their place."""
    if get_origin(hint) is Literal:
        return [_spell(each) for each in get_args(hint)]
    if hint is bool:
        return ["true", "false"]
    if hint is type(None):
        return ["null"]
    inner = _alternatives(hint)
    if len(inner) > 1:
        return list(dict.fromkeys(choice for each in inner for choice in _choices(each)))
    return [{int: "NUMBER", float: "NUMBER", str: "TEXT"}.get(hint, "...")]


def _spell(value: Any) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value) or "''"
