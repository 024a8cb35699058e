"""From names to classes. A plug-in is one folder with a class and one YAML that names it; there is no other list."""

from __future__ import annotations

import difflib
import inspect
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from bench.cell import Part
from bench.targets import resolve

CONF = Path(__file__).resolve().parent.parent / "conf"


class ConfigError(Exception):
    """What the user asked for is not possible; the message says why."""


def names(group: str) -> list[str]:
    """The choices of a config group: `backend`, `workload`, `measure`."""
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


def part(kind: str, name: str, settings: Mapping[str, Any]) -> Part:
    """A workload or backend from its YAML with overrides. Raises ConfigError if they do not fit its class's parameters."""
    options = dict(settings)
    target = options.pop("_target_", None)
    if not isinstance(target, str):
        raise ConfigError(f"{kind} '{name}' has no _target_")
    try:
        cls = resolve(target)
    except ImportError:
        return Part(name, target, options)  # its cell will fail, with the reason
    return Part(name, target, conform(cls, options, section=f"{kind}.{name}" if kind == "backend" else kind))


def conform(cls: type, options: Mapping[str, Any], section: str) -> dict[str, Any]:
    """`options` with the defaults of `cls.__init__` filled in. Raises ConfigError for an unknown name or a wrong type."""
    schema = parameters(cls)
    for key in options:
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
        if key not in options and parameter.default is inspect.Parameter.empty:
            raise ConfigError(f"{section}.{key} needs a value")
        value = options.get(key, parameter.default)
        if not _fits(value, hints.get(key, Any)):
            raise ConfigError(f"{section}.{key}={value!r} does not fit {_spell(hints[key])}")
        full[key] = value
    return full


def parameters(cls: type) -> dict[str, inspect.Parameter]:
    """The options of a workload or backend class: the parameters of its constructor, except `self` and `target`."""
    declared = inspect.signature(inspect.getattr_static(cls, "__init__")).parameters.values()
    skip = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return {p.name: p for p in declared if p.name not in ("self", "target") and p.kind not in skip}


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


def _spell(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation).replace("typing.", "")
