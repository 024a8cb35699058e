"""The harness: composes cells, isolates and measures them, stores what happened. It knows contracts, not systems."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """`bench.run` and `bench.cells`, loaded when asked for: a cell's process does without what they need."""
    if name in ("run", "cells"):
        from bench import api

        return getattr(api, name)
    raise AttributeError(f"module 'bench' has no attribute '{name}'")
