"""Logs stay small, and lines from them are safe to print."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.log import cap, one_line


def test_the_beginning_and_the_end_of_a_log_stay(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("ab", buffering=0) as writer:
        for _ in range(3):
            writer.write(b"first " + b"." * 5000 + b" last\n")
            cap(log, largest=1000, tail=100, slack=50)
            assert log.stat().st_size < 1300
        writer.write(b"goes on\n")
    text = log.read_text()
    assert text.startswith("first ...")
    assert "over 1000 bytes" in text
    assert text.endswith(" last\ngoes on\n")


def test_a_small_log_is_left_alone(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("short")
    cap(log, largest=1000, tail=100, slack=50)
    cap(tmp_path / "removed", largest=1000)
    assert log.read_text() == "short"


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("plain", "plain"),
        ("\n \n two\nlines", "two"),
        ("\x1b[1;31mred\x1b[0m\x00 and \x1b]0;title\x07 bell\x07", "red and bell"),
        ("half \udcff a character", "half a character"),
        ("right \u202eto left", "right to left"),
        ("x" * 400, "x" * 297 + "..."),
        ("", ""),
        (Mute(), "Mute (its text cannot be made)"),
    ],
)
def test_one_line(value: object, line: str) -> None:
    assert one_line(value) == line
