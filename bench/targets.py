"""Finds the class that a `_target_` of a configuration names, and the file of a module."""

from __future__ import annotations

import importlib
import importlib.util
from importlib.machinery import all_suffixes
from pathlib import Path
from types import ModuleType


def resolve(target: str) -> type:
    """The class that a `_target_` names. Raises ImportError if there is none, or if its module raises anything."""
    module, _, name = target.rpartition(".")
    try:
        resolved = getattr(_imported(module), name)
    except AttributeError as error:
        raise ImportError(f"{module} has no {name}") from error
    except ValueError as error:
        raise ImportError(f"'{target}' is not a dotted name") from error
    if not isinstance(resolved, type):
        raise ImportError(f"{target} is not a class")
    return resolved


def _imported(module: str) -> ModuleType:
    if not module:
        raise ValueError("no module")
    try:
        return importlib.import_module(module)
    except ImportError:
        raise
    except (Exception, SystemExit) as error:
        raise ImportError(f"importing {module} raises {type(error).__name__}: {error}") from error


def place(module: str) -> Path | None:
    """The file of a module, of a package its `__init__.py`; None if there is none. Nothing is imported, neither the module nor
    the packages that it lies in, as `importlib.util.find_spec` would do."""
    package, *inner = module.split(".")
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if not inner:
        return None if spec.origin is None else Path(spec.origin)
    for folder in spec.submodule_search_locations or ():
        path = Path(folder, *inner)
        for file in (path / "__init__.py", *(path.with_name(path.name + suffix) for suffix in all_suffixes())):
            if file.is_file():
                return file
    return None
