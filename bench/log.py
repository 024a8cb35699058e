"""What a backend writes: its log, kept to a size that fills no disk, and single lines that are safe to print and store."""

from __future__ import annotations

import os
import re
import unicodedata
from pathlib import Path

LARGEST = 64 << 20  # bytes of a log that are kept
TAIL = 64 << 10  # of what comes after them, the last so many bytes are kept too
SLACK = 1 << 20  # how far a log may grow over that before it is cut again
LONGEST = 300  # characters of a line
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)?")  # of terminals: colours, titles


def cap(log: Path, largest: int = LARGEST, tail: int = TAIL, slack: int = SLACK) -> None:
    """Cut a log that has grown over `largest` bytes: its beginning stays, then a note, then its end. Whoever has it open for
    appending goes on behind that."""
    try:
        size = log.stat().st_size
        if size <= largest + tail + slack:
            return
        with log.open("r+b") as file:
            file.seek(size - tail)
            end = file.read(tail)
            file.truncate(largest)
        note = f"\n[the log was over {largest} bytes: what came here was dropped by the harness]\n"
        descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(descriptor, note.encode() + end)
        finally:
            os.close(descriptor)
    except OSError:  # a backend may have removed its log; that is its own loss
        pass


def text_of(value: object) -> str:
    """Its first 64 Ki characters, also where making a string of it raises."""
    try:
        return str(value)[: 1 << 16]
    except Exception:
        return f"{type(value).__name__} (its text cannot be made)"


def one_line(value: object, longest: int = LONGEST) -> str:
    """The first line with something on it, without control characters, terminal escapes and halves of characters."""
    for line in text_of(value).splitlines():
        plain = ESCAPES.sub("", line)
        clean = "".join(c if not unicodedata.category(c).startswith("C") else " " for c in plain)
        short = " ".join(clean.split())
        if short:
            return short if len(short) <= longest else short[: longest - 3] + "..."
    return ""
