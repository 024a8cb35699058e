"""Compiled models for the tests, whose builds lie in a separate cache folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from backends.cortex.backend import Compiled, Cortex
from bench.contract import Target
from workloads.tests.conftest import spec


@pytest.fixture(scope="session", autouse=True)
def builds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One cache folder for all processes of a test run, so that they share builds."""
    base = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ACROBAT_CACHE", str((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cortex"))
        yield


@pytest.fixture
def compiled() -> Iterator[Any]:
    """`compiled(workload, threads=1, **switches)`: a model at size tiny, with the parameters of seed 0."""
    compiled_models: list[Compiled] = []

    def compile(workload: str, threads: int = 1, **switches: Any) -> Compiled:
        compiled_models.append(Cortex(Target(threads=threads), **switches).compile(spec(workload), "tiny", 0, 8))
        return compiled_models[-1]

    yield compile
    for model in compiled_models:
        model.close()
