"""Checks the ranges of settings before anything runs. A ConfigError names the setting that is wrong, in one line."""

from __future__ import annotations

import math
import os
from dataclasses import fields
from typing import Any

from bench.options import ConfigError

LEAST_MEMORY_GB = 0.5  # a process that has imported PyTorch and a workload uses a third of this
ZERO_ALLOWED = frozenset({"measure.warm_s", "limit.wall_s"})


def check(settings: Any, section: str) -> None:
    """Raise ConfigError unless all numbers of a section are finite and above zero (`ZERO_ALLOWED`: or zero), and min <= max."""
    for field in fields(settings):
        key, value = f"{section}.{field.name}", getattr(settings, field.name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if not math.isfinite(value) or value < 0 or (value == 0 and key not in ZERO_ALLOWED):
            least = "0 or more" if key in ZERO_ALLOWED else "above 0"
            raise ConfigError(f"{key}={value:g}: it must be a finite number {least}")
        if key == "isolate.memory_gb" and value < LEAST_MEMORY_GB:
            raise ConfigError(f"{key}={value:g}: no cell begins with less than {LEAST_MEMORY_GB:g}")
        largest = getattr(settings, field.name.replace("min_", "max_", 1), None) if field.name.startswith("min_") else None
        if largest is not None and value > largest:
            raise ConfigError(f"{key}={value:g} is above {section}.max_{field.name.removeprefix('min_')}={largest:g}")


def named_processors(cpus: Any) -> str | None:
    """`isolate.cpus` as a text like '0-3,8', also where the command line gives a number or a list of numbers. Raises
    ConfigError for a processor that this process may not use."""
    text = ",".join(map(str, cpus)) if isinstance(cpus, list) else None if cpus is None else str(cpus)
    processors(text)
    return text


def processors(text: str | None) -> list[int] | None:
    """The processors in `isolate.cpus`, as in '0-3,8'. Raises ConfigError for one that this process may not use."""
    if text is None:
        return None
    usable = sorted(os.sched_getaffinity(0))
    numbers_named: list[int] = []
    for item in text.split(","):
        first, dash, last = item.partition("-")
        try:
            numbers = range(int(first), (int(last) if dash else int(first)) + 1)
        except ValueError as error:
            raise ConfigError(f"isolate.cpus={text!r}: write it as in '0-3,8'") from error
        if not numbers:
            raise ConfigError(f"isolate.cpus={text!r}: there is nothing from {first} to {last}")
        for number in numbers:
            if number not in usable:
                raise ConfigError(f"isolate.cpus={text!r}: not processor {number}; usable are {', '.join(map(str, usable))}")
            numbers_named.append(number)
    return numbers_named
