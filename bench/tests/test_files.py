"""A file is written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench.files import put


def test_a_file_that_cannot_be_written_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path / "folder" / "file", b"before")

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "chmod", full)
    with pytest.raises(OSError, match="No space left"):
        put(path, b"after")
    assert path.read_bytes() == b"before"
    assert list(path.parent.iterdir()) == [path]
