"""The stored rows of one machine as the report uses them: which of them are usable, and the statistics of each."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from bench import registry, stats
from bench.description import described
from bench.facts import instruction_set
from bench.record import whole
from bench.status import Status
from bench.store import Record, Store

IDENTITY = ("backend", "options", "workload", "workload_options", "size", "batch_size", "threads", "device", "seed")
"""The keys that say which cell a row is of, besides the settings it was measured under."""
OLDER = "written by an earlier version of the harness, which kept less"
DAMAGED = "not whole"


@dataclass(frozen=True, eq=False)
class Entry:
    """A usable row, compared by identity. `ref` is a lasting unique name, because a session measures a cell only once."""

    record: Record

    @cached_property
    def ref(self) -> str:
        return reference(self.record)

    @property
    def ok(self) -> bool:
        return bool(self.record["status"] == Status.OK)

    @property
    def backend(self) -> str:
        return str(self.record["backend"])

    @property
    def options(self) -> Mapping[str, Any]:
        options: Mapping[str, Any] = self.record["options"]
        return options

    @property
    def session(self) -> str | None:
        return self.record.get("session")

    @cached_property
    def rounds(self) -> stats.Rounds:
        """The samples by round; only for a row that is `ok`."""
        return stats.rounds_of(self.record)

    @cached_property
    def summary(self) -> stats.Summary:
        return stats.summary(self.rounds)

    @property
    def load_time(self) -> str:
        """The names of the work that the backend did while loading and others do inside the clock; empty if there is none."""
        return str(self.record.get("ran", {}).get("load_time", ""))

    @property
    def instruction_set(self) -> str:
        return instruction_set(self.record.get("ran", {}))

    @property
    def flags(self) -> list[str]:
        return [str(flag) for flag in self.record["flags"]]

    @cached_property
    def label(self) -> str:
        """The name of the backend, and those of its options that differ from their defaults."""
        by_default = defaults(self.backend)
        changed = [f"{k}={v}" for k, v in self.options.items() if k in by_default and by_default[k] != v and k != "step"]
        return " ".join([self.backend, *changed])


@dataclass
class Results:
    """The content of one machine's folder. `ignored`: the number of rows that cannot be used, by reason."""

    folder: Path
    entries: list[Entry] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    machine: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def by_identity(self) -> Mapping[str, list[Entry]]:
        """All rows of a cell, oldest first, by the cell's identity."""
        rows: dict[str, list[Entry]] = {}
        for entry in self.entries:
            rows.setdefault(identity(entry.record), []).append(entry)
        return rows

    @cached_property
    def by_ref(self) -> Mapping[str, Entry]:
        return {entry.ref: entry for entry in self.entries}


def reference(record: Mapping[str, Any]) -> str:
    """`<id of the cell>:<session>`; for a row without a session, the time at which it was begun in place of the session."""
    return f"{record['id']}:{record.get('session') or record['started']}"


def load(folder: Path) -> Results:
    """Read the results in `folder`. A row that cannot be used is counted with the reason, and never breaks the report. Raises
    FileNotFoundError if the folder has no `cells.jsonl`."""
    store = Store(folder.parent, folder.name)
    if not store.path.is_file():
        raise FileNotFoundError(f"{store.path}: no such file; name a folder of results, which has a cells.jsonl")
    results = Results(folder)
    for record in store:
        reason = unusable(record)
        if reason is None:
            results.entries.append(Entry(record))
        else:
            results.ignored[reason] += 1
    try:
        described = json.loads((folder / "machine.json").read_bytes())
        results.machine = described if isinstance(described, dict) else {}
    except (OSError, ValueError):
        results.machine = {}
    return results


def unusable(record: Mapping[str, Any]) -> str | None:
    """Why a row cannot be used; None if it can."""
    if "software" not in record or "measure_settings" not in record or "limits" not in record:
        return OLDER
    if not all(key in record for key in (*IDENTITY, "session", "cold", "why", "minibatches", "measure")):
        return DAMAGED
    try:
        return None if whole(dict(record)) else DAMAGED
    except (TypeError, KeyError):
        return DAMAGED


def identity(record: Mapping[str, Any]) -> str:
    """A hash of the configuration that a row was measured for, by which rows are matched with cells. An option that the row
    does not name was added later; it counts as having its default, so that a new option does not make older rows useless."""
    by_default = defaults(str(record["backend"]))
    parts = {key: record[key] for key in IDENTITY}
    parts["options"] = {**by_default, **record["options"]}
    parts["env"] = record.get("env") or {}
    parts["measure"] = record["measure"]
    parts["minibatches"] = record["minibatches"]
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def defaults(backend: str) -> Mapping[str, Any]:
    """The options of a backend with their defaults; empty for one that is not installed."""
    path = registry.CONF / "backend" / f"{backend}.yaml"
    if not path.is_file():
        return {}
    settings: Any = OmegaConf.to_container(OmegaConf.load(path))
    return {name: option.default for name, option in described(str(settings.get("_target_"))).options.items()}


def refs(entries: Iterable[Entry]) -> tuple[str, ...]:
    """The references of the rows, each once, in their order."""
    return tuple(dict.fromkeys(entry.ref for entry in entries))
