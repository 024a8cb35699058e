"""Finds the class that a `_target_` of a configuration names, and the file of a module."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path


def resolve(target: str) -> type:
    """The class that a `_target_` names. Raises ImportError if there is none."""
    module, _, name = target.rpartition(".")
    try:
        resolved = getattr(importlib.import_module(module), name)
    except AttributeError as error:
        raise ImportError(f"{module} has no {name}") from error
    except ValueError as error:
        raise ImportError(f"'{target}' is not a dotted name") from error
    if not isinstance(resolved, type):
        raise ImportError(f"{target} is not a class")
    return resolved


def place(module: str) -> Path | None:
    """The file of a module, of a package its `__init__.py`; None if there is none."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin)
