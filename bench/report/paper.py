"""Published values, read from `results/paper/*.json` and shown beside ours. Each has its page and table in the paper, or a note
that these are not confirmed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.report.tables import Line, Table, Value

UNCONFIRMED = "not confirmed"
NEEDED = ("what", "value", "unit", "page", "table", "place", "source", "note")


class InvalidPaper(ValueError):
    """A file of published values lacks something; the message names file and key."""


@dataclass(frozen=True)
class Published:
    """One published value."""

    name: str  # the name of its file
    paper: str
    what: str
    value: float
    unit: str
    hardware: str | None
    where: str  # page and table, or what is known of the place
    source: str

    @property
    def sentence(self) -> str:
        hardware = f", {self.hardware}" if self.hardware else ""
        return f"Published: {self.what}: {self.value:g} {self.unit} ({self.paper}; {self.where}{hardware})."


def load(folder: Path) -> list[Published]:
    """The values in all files of a folder; none if there is no such folder. Raises InvalidPaper."""
    return [value for path in sorted(folder.glob("*.json")) for value in _file(path)]


def _file(path: Path) -> list[Published]:
    try:
        content = json.loads(path.read_bytes())
    except ValueError as error:
        raise InvalidPaper(f"{path}: {error}") from error
    if not isinstance(content, dict) or not {"name", "paper", "values"} <= set(content):
        raise InvalidPaper(f"{path}: needs the keys name, paper and values")
    return [_value(path, i, entry, content) for i, entry in enumerate(content["values"])]


def _value(path: Path, index: int, entry: dict[str, Any], content: dict[str, Any]) -> Published:
    lacking = [key for key in NEEDED if key not in entry]
    if lacking:
        raise InvalidPaper(f"{path}: values[{index}] lacks {', '.join(lacking)}")
    if not isinstance(entry["value"], int | float) or not entry["source"]:
        raise InvalidPaper(f"{path}: values[{index}] needs a number as value and a source")
    if (entry["page"] is None or entry["table"] is None) and UNCONFIRMED not in str(entry["note"]):
        raise InvalidPaper(f"{path}: values[{index}] has no page or table; its note must then say that they are {UNCONFIRMED}")
    places = [f"page {entry['page']}" if entry["page"] is not None else "", str(entry["table"] or "")]
    source = ", ".join(part for part in places if part) or f"{entry['place']}; page and table {UNCONFIRMED}"
    return Published(
        path.stem,
        content["paper"],
        entry["what"],
        float(entry["value"]),
        entry["unit"],
        entry.get("hardware"),
        source,
        entry["source"],
    )


def table(values: Sequence[Published]) -> Table:
    published = Table("published", "Published values", ["paper", "what", "value", "unit", "where", "hardware", "source"])
    for entry in values:
        shown = Value(f"{entry.value:g}", entry.value)
        words = [Value(text) for text in (entry.unit, entry.where, entry.hardware or "", entry.source)]
        published.lines.append(Line([Value(entry.paper), Value(entry.what), shown, *words]))
    published.notes.append("These numbers are the papers' own, from other machines; none of them was measured here.")
    return published
