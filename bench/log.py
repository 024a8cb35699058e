"""Handles what a backend writes: limits the size of its log, and makes single lines that are safe to print and store."""

from __future__ import annotations

import os
import re
import unicodedata
from pathlib import Path

LARGEST = 64 << 20  # bytes of a log that are kept
TAIL = 64 << 10  # so many of the last bytes are kept too
SLACK = 1 << 20  # how far a log may grow over both together before it is cut again
LONGEST = 300  # characters of a line
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)?")  # of terminals: colours, titles


def cap(log: Path, largest: int = LARGEST, tail: int = TAIL, slack: int = SLACK) -> None:
    """Cut a log that has grown too large: its first `largest` bytes stay, then come a note and its last `tail` bytes. A process
    that has it open for appending continues after them. It is cut only once it is larger than all three sizes together."""
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
    except OSError:  # a backend may have removed its log
        pass


def text_of(value: object) -> str:
    """The first 64 Ki characters of `str(value)`, or the name of its type where `str` raises."""
    try:
        return str(value)[: 1 << 16]
    except Exception:
        return f"{type(value).__name__} (its text cannot be made)"


def one_line(value: object, longest: int = LONGEST) -> str:
    """The first line that is not blank, without control characters, terminal escapes and unpaired surrogates, and cut."""
    for line in text_of(value).splitlines():
        short = " ".join(printable(line).split())
        if short:
            return short if len(short) <= longest else short[: longest - 3] + "..."
    return ""


def printable(text: str) -> str:
    """The text without terminal escapes, and with a blank for each control character and unpaired surrogate."""
    return "".join(c if not unicodedata.category(c).startswith("C") else " " for c in ESCAPES.sub("", text))


def end_of(log: Path, size: int = 8192) -> str:
    """The last `size` bytes of a log as text; empty where the backend has removed it."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - size))
            return file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""


def last_line(log: Path) -> str:
    """The line of the log that says what happened: the first one of Python's fault handler if it wrote any, else the last."""
    lines = [line.strip() for line in end_of(log).splitlines() if line.strip()]
    for line in lines:
        if line.startswith("Fatal Python error"):
            return one_line(line)
    return one_line(lines[-1], 200) if lines else ""
