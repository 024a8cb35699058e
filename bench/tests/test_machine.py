"""What a row says about the sources that it was measured with."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bench import machine


def test_changed_and_new_sources_mark_the_commit_and_new_rows_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True)

    source, rows = tmp_path / "bench" / "clock.py", tmp_path / "results" / "cells.jsonl"
    for path in (source, rows):
        path.parent.mkdir()
        path.write_text("one\n")
    git("init")
    git("add", ".")
    git("commit", "-m", "begun")
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    told = machine.commit.__wrapped__
    clean = told()
    assert len(clean) == 12
    rows.write_text("one\ntwo\n")
    assert told() == clean, "the harness itself has added a row"
    added = tmp_path / "backends" / "mine"
    added.mkdir(parents=True)
    (added / "backend.py").write_text("new\n")
    assert told() == clean + "+", "a plug-in that is not committed"
    (added / "backend.py").unlink()
    source.write_text("two\n")
    assert told() == clean + "+"
