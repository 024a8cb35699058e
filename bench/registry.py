"""From names to classes. A plug-in is one folder with a class and one YAML that names it; there is no other list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import description
from bench.cell import Part
from bench.contract import Target
from bench.options import ConfigError, conform
from bench.targets import resolve

CONF = Path(__file__).resolve().parent.parent / "conf"


def names(group: str) -> list[str]:
    """The choices of a config group: `backend`, `workload`, `measure`."""
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


def workload(name: str, settings: Mapping[str, Any]) -> Part:
    """A workload from its YAML with overrides. Raises ConfigError if they do not fit its class, ImportError without a class."""
    target, options = _split("workload", name, settings)
    return Part(name, target, conform(resolve(target), options, "workload"))


def backends(chosen: Sequence[tuple[str, Mapping[str, Any]]], on: Target) -> list[list[Part]]:
    """For each backend, given by its name and its YAML with overrides, all of its variants on this target. One that cannot be
    imported, made or asked has a single one, whose cell will fail with the reason. Raises ConfigError where options do not fit
    the class, or where the class refuses them by a ValueError."""
    split = [(name, *_split("backend", name, settings)) for name, settings in chosen]
    questions = [description.Question(name, target, options, on.device, on.threads) for name, target, options in split]
    variants = []
    for (name, target, options), answer in zip(split, description.ask(questions), strict=True):
        if answer.refused:
            raise ConfigError(answer.refused)
        variants.append([Part(name, target, each) for each in answer.variants or [answer.complete or options]])
    return variants


def _split(kind: str, name: str, settings: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The class that the settings name, and the options among them."""
    options = {str(key): value for key, value in settings.items()}
    target = options.pop("_target_", None)
    if not isinstance(target, str):
        raise ConfigError(f"{kind} '{name}' has no _target_")
    return target, options
