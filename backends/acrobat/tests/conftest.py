"""Builds shared by all tests of a session: a cache folder of its own, in which equal programs are built once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from backends.acrobat import compile
from backends.acrobat.tests.support import tiny


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("acrobat")


@pytest.fixture(scope="session")
def built(cache: Path) -> Any:
    """`built(name, **keywords)`: a new executable of the workload at size tiny, checked."""

    def build(name: str, **keywords: Any) -> Any:
        return compile(tiny(name), cache_folder=cache, **{"checked": True, **keywords})

    return build
