"""The cache folder of a test run, which all its tests share, so that equal programs are built once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from backends.acrobat import compile
from backends.acrobat.tests.support import tiny


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all processes of a test run, so that each finds what the others have built."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "acrobat"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def built(cache: Path) -> Any:
    """`built(name, **keywords)` compiles the workload at size tiny, in checked mode unless the keywords say otherwise."""

    def build(name: str, **keywords: Any) -> Any:
        return compile(tiny(name), cache_folder=cache, **{"checked": True, **keywords})

    return build
