"""One row of the results: how it begins, whether a stored one can be used, and what its cell is called."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from bench import breakdown, environment, facts, machine
from bench.cell import Cell
from bench.description import described
from bench.software import software
from bench.status import Status
from bench.store import Record

KINDS: dict[str, type | tuple[type, ...]] = {
    "id": str,
    "status": str,
    "backend": str,
    "options": dict,
    "workload": str,
    "size": str,
    "session": (str, type(None)),
    "source": str,
    "started": str,
    "software": dict,
    "again": bool,
    "limits": dict,
    "cold": dict,
    "samples_s": list,
    "sample_minibatch": list,
    "sample_round": list,
    "sample_pass": list,
    "breakdown": dict,
    "counters": dict,
    "memory": dict,
    "clocks": dict,
    "verified": dict,
    "flags": list,
    "measure_settings": dict,
}
"""The keys without which a stored row cannot be shown or judged, and the types of their values."""
NUMBERS = ("limits", "cold", "verified", "memory", "breakdown")  # keys of a row whose parts are all numbers
OBSERVED = "instructions_seen"  # the part of `ran` that the harness adds to the backend's facts
SAMPLES = ("samples_s", "sample_minibatch", "sample_round", "sample_pass")


def begin(cell: Cell) -> Record:
    """A new row for `cell`, with what is known before anything has run."""
    return {
        "id": cell.id,
        "source": cell.source,
        "status": None,
        "why": None,
        **cell.canonical(),
        "machine": machine.name(),
        "environment": machine.environment()[0],
        "commit": machine.commit(),
        "tuning_variables": environment.performance(cell.threads, cell.env),
        "software": software(cell),
        "again": False,
        "limits": {"deadline_s": 0.0, "memory_bytes": 0},
        "session": None,
        "measure_settings": {},
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "cold": {},
        "samples_s": [],
        "sample_minibatch": [],
        "sample_round": [],
        "sample_pass": [],
        "stop": None,
        "breakdown": {},
        "counters": {},
        "memory": {},
        "ran": {},
        "energy_j": None,
        "energy_instances": None,
        "peak": None,
        "clocks": {},
        "verified": {"n": 0},
        "flags": [],
        "log": None,
        "emulated": False,
    }


def whole(row: Record) -> bool:
    """Whether a stored row can be used. A damaged row, or one of an older harness that stored less, cannot: its cell is
    measured again."""
    if not all(isinstance(row.get(key), kind) for key, kind in KINDS.items()) or row["status"] not in set(Status):
        return False
    if row.get("emulated"):  # `Store.append` refuses such rows, so this one was added by hand
        return False
    if not {"deadline_s", "memory_bytes"} <= set(row["limits"]) or not _is_date(row["started"]):
        return False
    if not all(isinstance(text, str) for text in (*row["software"].values(), *row["flags"])):
        return False
    if not all(map(_number, (value for key in NUMBERS for value in row[key].values()))) or not _shown(row):
        return False
    if row["status"] != Status.OK:
        return True
    columns = [row[key] for key in SAMPLES]
    whole_numbers = all(
        type(value) is int and value >= 0 and breakdown.is_usable(value) for column in columns[1:] for value in column
    )
    parts = {"load_s", "compile_s", "first_s"} <= set(row["cold"]) and {"n", "max_abs", "max_rel"} <= set(row["verified"])
    rest = parts and "peak_rss_bytes" in row["memory"] and "stop" in row
    return (
        bool(columns[0])
        and len({len(each) for each in columns}) == 1
        and all(map(_positive, columns[0]))
        and whole_numbers
        and rest
    )


def _shown(row: Record) -> bool:
    """Whether those counters and facts that tables show are of the types that the contract says."""
    counters, ran = row["counters"], row.get("ran", {})
    if not all(counters.get(key) is None or _number(counters[key]) for key in breakdown.NUMBERS):
        return False
    if not isinstance(counters.get("unbatched") or {}, dict) or not isinstance(ran, dict):
        return False
    stated, seen = ({k: v for k, v in ran.items() if (k == OBSERVED) == chosen} for chosen in (False, True))
    try:
        facts.validated_facts(stated)
    except facts.InvalidFacts:
        return False
    return all(isinstance(counts, dict) and all(map(_number, counts.values())) for counts in seen.values())


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and breakdown.is_usable(value)


def _positive(seconds: Any) -> bool:
    """Whether a stored value is a time that a run can have taken."""
    return _number(seconds) and seconds > 0.0


def _is_date(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def title(cell: Cell, with_backend: bool = True) -> str:
    """A cell in a few words, for the user: workload, size, batch size, threads, device, seed and options that are set."""
    options = ", ".join(f"{k}={v}" for k, v in cell.workload.canonical_options().items() if v is not None)
    threads = "1 thread" if cell.threads == 1 else f"{cell.threads} threads"
    text = f"{cell.workload.name} {cell.size}, batch {cell.batch_size}, {threads}, {cell.device}, seed {cell.seed}"
    text += f" ({options})" if options else ""
    return f"{label(cell)}: {text}" if with_backend else text


def label(cell: Cell) -> str:
    """The name of the backend, and those of its options that differ from their defaults."""
    defaults = default_options(cell)
    changed = [f"{k}={v}" for k, v in cell.backend.options.items() if defaults.get(k) != v]
    return " ".join([cell.backend.name, *changed])


def default_options(cell: Cell) -> dict[str, Any]:
    """The defaults of all options of the cell's backend; the cell's own where the backend cannot be imported."""
    backend = described(cell.backend.target)
    return dict(cell.backend.options) if backend.why else {name: each.default for name, each in backend.options.items()}
