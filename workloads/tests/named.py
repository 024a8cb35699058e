"""All workloads by name, for tests and for programs that run where there is no pytest."""

from __future__ import annotations

import importlib
from pathlib import Path

from workloads.spec import ModelSpec

ROOT = Path(__file__).resolve().parents[1]
NAMES = sorted(path.parent.name for path in ROOT.glob("*/spec.py"))


def spec(name: str, **options: str) -> ModelSpec:
    named_spec: ModelSpec = importlib.import_module(f"workloads.{name}.spec").Spec(**options)
    return named_spec
