"""The harness: it composes cells, measures each in a process of its own and stores one row for each. It imports no system."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """Load `bench.run` and `bench.cells` on first use: a cell's process imports this package without what they need."""
    if name in ("run", "cells"):
        from bench import api

        return getattr(api, name)
    raise AttributeError(f"module 'bench' has no attribute '{name}'")
