"""Every workload, as a fixture."""

from __future__ import annotations

import pytest

from workloads.spec import ModelSpec
from workloads.tests.named import NAMES, spec

__all__ = ["DECIDING", "NAMES", "spec"]

DECIDING = ("berxit", "drnn", "nestedrnn", "stackrnn")


@pytest.fixture(params=NAMES)
def workload(request: pytest.FixtureRequest) -> ModelSpec:
    return spec(request.param)


@pytest.fixture(params=DECIDING)
def deciding(request: pytest.FixtureRequest) -> str:
    return str(request.param)
