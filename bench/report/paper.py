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


class Invalid(ValueError):
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
    """The values in all files of a folder; none if there is no such folder. Raises Invalid."""
    return [value for path in sorted(folder.glob("*.json")) for value in _file(path)]


def _file(path: Path) -> list[Published]:
    try:
        content = json.loads(path.read_bytes())
    except ValueError as error:
        raise Invalid(f"{path}: {error}") from error
    if not isinstance(content, dict) or not {"name", "paper", "values"} <= set(content):
        raise Invalid(f"{path}: needs the keys name, paper and values")
    return [_value(path, i, each, content) for i, each in enumerate(content["values"])]


def _value(path: Path, index: int, each: dict[str, Any], content: dict[str, Any]) -> Published:
    lacking = [key for key in NEEDED if key not in each]
    if lacking:
        raise Invalid(f"{path}: values[{index}] lacks {', '.join(lacking)}")
    if not isinstance(each["value"], int | float) or not each["source"]:
        raise Invalid(f"{path}: values[{index}] needs a number as value and a source")
    if (each["page"] is None or each["table"] is None) and UNCONFIRMED not in str(each["note"]):
        raise Invalid(f"{path}: values[{index}] has no page or table; its note must then say that they are {UNCONFIRMED}")
    places = [f"page {each['page']}" if each["page"] is not None else "", str(each["table"] or "")]
    source = ", ".join(part for part in places if part) or f"{each['place']}; page and table {UNCONFIRMED}"
    return Published(
        path.stem,
        content["paper"],
        each["what"],
        float(each["value"]),
        each["unit"],
        each.get("hardware"),
        source,
        each["source"],
    )


def table(values: Sequence[Published]) -> Table:
    published = Table("published", "Published values", ["paper", "what", "value", "unit", "where", "hardware", "source"])
    for each in values:
        shown = Value(f"{each.value:g}", each.value)
        words = [Value(text) for text in (each.unit, each.where, each.hardware or "", each.source)]
        published.lines.append(Line([Value(each.paper), Value(each.what), shown, *words]))
    published.notes.append("These numbers are the papers' own, from other machines; none of them was measured here.")
    return published
