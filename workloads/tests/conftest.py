"""Every workload, as a fixture."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from workloads.spec import ModelSpec

ROOT = Path(__file__).resolve().parents[1]
NAMES = sorted(path.parent.name for path in ROOT.glob("*/spec.py"))
DECIDING = ("berxit", "drnn", "nestedrnn", "stackrnn")


def spec(name: str, **options: str) -> ModelSpec:
    made: ModelSpec = importlib.import_module(f"workloads.{name}.spec").Spec(**options)
    return made


@pytest.fixture(params=NAMES)
def workload(request: pytest.FixtureRequest) -> ModelSpec:
    return spec(request.param)


@pytest.fixture(params=DECIDING)
def deciding(request: pytest.FixtureRequest) -> str:
    return str(request.param)
