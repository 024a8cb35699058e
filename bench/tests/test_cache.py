"""The folder for what the harness need not compute again."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from bench import cache


def test_a_user_without_a_home_has_a_folder_in_the_temporary_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    for name in ("BENCH_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    folder = cache.cache_folder()
    assert folder.parent == Path(tempfile.gettempdir()) and str(os.getuid()) in folder.name
    assert cache.folders() == [folder]
