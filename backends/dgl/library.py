"""Importing DGL beside a PyTorch that is newer than it."""

from __future__ import annotations

import importlib
import os
import sys
import types
from typing import Any

GRAPHBOLT = "dgl.graphbolt"


def load() -> Any:
    """The module `dgl`. Raises ImportError.

    `dgl.graphbolt` looks for a library that was built for the very release of PyTorch, so an empty module takes its place while
    DGL is imported. If the environment names no framework, DGL writes a file into the user's home, so a variable is set during
    the import."""
    if "dgl" in sys.modules:
        return sys.modules["dgl"]
    backend_is_named, graphbolt = "DGLBACKEND" in os.environ, sys.modules.get(GRAPHBOLT)
    os.environ.setdefault("DGLBACKEND", "pytorch")
    sys.modules.setdefault(GRAPHBOLT, types.ModuleType(GRAPHBOLT))
    try:
        return importlib.import_module("dgl")
    finally:
        if not backend_is_named:
            del os.environ["DGLBACKEND"]
        if graphbolt is None:
            del sys.modules[GRAPHBOLT]
