"""The parts of the page that belong to no experiment: the headline, what runs, what failed and why, the machine, commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from bench import registry
from bench.report.aggregate import geometric_mean
from bench.report.entries import Entry, Results, defaults, refs
from bench.report.experiments import Experiment
from bench.report.section import columns
from bench.report.tables import Line, Table, Value, spelled
from bench.report.views.comparison import spots
from bench.status import Status

HEADLINE = "fair"
"""The experiment whose means are the headline, because it has the fair comparisons too."""
SUBJECT = "acrobat"
"""The backend that the headline is about."""


def headline(experiments: Sequence[Experiment]) -> list[Value]:
    """A sentence for each column of `SUBJECT` in the experiment `fair`, or in the experiment `dynet` if `fair` has no rows."""
    for name in (HEADLINE, "dynet"):
        for experiment in experiments:
            if experiment.name == name:
                sentences = _sentences(experiment)
                if sentences:
                    return sentences
    return []


def _sentences(experiment: Experiment) -> list[Value]:
    places = spots(experiment)
    conditions = columns(experiment)
    reference, *others = conditions
    sentences = []
    for name in others:
        if conditions[name].get("backend") != SUBJECT:
            continue
        mean = geometric_mean([spot.ratio(reference, name) for spot in places])
        if mean is None:
            continue
        interval = f" (95 % interval {spelled(mean.low)} to {spelled(mean.high)})" if mean.has_interval else ""
        note = "" if mean.significant or not mean.has_interval else ", no significant difference"
        omitted = f", {mean.left_out} cells left out" if mean.left_out else ""
        subject = name if name.startswith("ACRoBat") else f"ACRoBat, {name}"
        cells = f"{mean.count} cell" + "s" * (mean.count != 1)
        text = f"{subject}: {spelled(mean.value)} times faster than {reference}{interval}{note}"
        text += f", geometric mean of {cells}{omitted}"
        sentences.append(Value(text, mean.value, mean.rows))
    return sentences


def support(results: Results) -> Table:
    """A table of workloads by backends: `yes` where a row has finished, else the status of the newest row."""
    backends = sorted({*registry.names("backend"), *(entry.backend for entry in results.entries)})
    workloads = sorted({*registry.names("workload"), *(str(entry.record["workload"]) for entry in results.entries)})
    table = Table("support", "What runs here", ["workload", *backends])
    reasons: dict[str, list[str]] = {}
    for workload in workloads:
        values = [Value(workload)]
        for backend in backends:
            rows = [e for e in results.entries if e.backend == backend and e.record["workload"] == workload]
            finished = [entry for entry in rows if entry.ok]
            if finished:
                values.append(Value("yes", None, (finished[-1].ref,)))
            elif rows:
                newest = rows[-1]
                values.append(Value(str(newest.record["status"]), None, (newest.ref,)))
                reasons.setdefault(f"{backend}: {newest.record['status']}: {newest.record['why']}", []).append(workload)
            else:
                values.append(Value("not measured"))
        table.lines.append(Line(values))
    table.notes = [f"{text} ({', '.join(names)})" for text, names in reasons.items()]
    return table


def failures(results: Results) -> Table:
    """A table of the cells whose newest row has not finished, ordered by status."""
    table = Table("failures", "What has not worked, and why", ["system", "cell", "status", "reason", "command"])
    newest = [rows[-1] for rows in results.by_identity.values() if rows and not rows[-1].ok]
    for entry in sorted(newest, key=lambda e: (str(e.record["status"]), e.label, str(e.record["workload"]))):
        record = entry.record
        texts = [entry.label, cell(entry), str(record["status"]), str(record["why"] or ""), command(entry)]
        table.lines.append(Line([Value(text, None, refs([entry])) for text in texts]))
    return table


def cell(entry: Entry) -> str:
    """The cell of a row in words: workload, size, batch, threads, device."""
    r = entry.record
    return (
        f"{r['workload']} {r['size']}, batch {r['batch_size']}, {r['threads']} thread{'s' * (r['threads'] != 1)}, {r['device']}"
    )


def command(entry: Entry) -> str:
    """The command line that measures just this cell."""
    record = entry.record
    by_default = defaults(entry.backend)
    parts = ["python -m bench", f"workload={record['workload']}", f"backend=[{entry.backend}]", f"size={record['size']}"]
    parts += [f"batch_size={record['batch_size']}", f"threads={record['threads']}"]
    parts += [f"device={record['device']}"] if record["device"] != "cpu" else []
    parts += [f"seed={record['seed']}"] if record["seed"] else []
    parts += [f"measure={record['measure']}"] if record["measure"] != "default" else []
    for name, value in entry.options.items():
        if by_default.get(name) != value:
            parts.append(f"backend.{entry.backend}.{name}={_spell(value)}")
    parts += [f"'+isolate.env.{name}={value}'" for name, value in (record.get("env") or {}).items()]
    return " ".join(parts)


def _spell(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = str(value)
    return text if re.fullmatch(r"[\w./+-]+", text) else shlex.quote(f'"{text}"')


def machine(results: Results) -> Table:
    """A table of the hardware, and of the software environments that usable rows name."""
    hardware = results.machine.get("hardware", {})
    table = Table("machine", "The machine", ["what", "value"])
    for key, value in hardware.items():
        if key != "flags":
            table.lines.append(Line([Value(key.replace("_", " ")), Value(str(value))]))
    vectors = [
        flag for flag in ("avx2", "fma", "avx512f", "avx512_vnni", "amx_tile") if flag in str(hardware.get("flags", "")).split()
    ]
    table.lines.append(Line([Value("vector instructions"), Value(" ".join(vectors))]))
    for name, environment in results.machine.get("environments", {}).items():
        if any(entry.record.get("environment") == name for entry in results.entries):
            packages = ", ".join(f"{k} {v}" for k, v in environment.get("packages", {}).items())
            software = ", ".join(f"{k} {v}" for k, v in environment.items() if k != "packages" and v is not None)
            table.lines.append(Line([Value(f"software {name}"), Value(f"{software}; {packages}")]))
    return table


def summary(results: Results) -> str:
    """A sentence on the number of rows, when they were measured and of which commits."""
    rows = results.entries
    if not rows:
        return "There is no usable row."
    finished = sum(entry.ok for entry in rows)
    sessions = len({entry.session for entry in rows if entry.session is not None})
    commits = sorted({str(entry.record.get("commit")) for entry in rows})
    days = sorted(str(entry.record["started"])[:10] for entry in rows)
    days_ = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    wrong = sum(entry.record["status"] == Status.WRONG for entry in rows)
    text = f"{len(rows)} rows of {sessions} session{'s' * (sessions != 1)}, measured {days_}, commits {', '.join(commits)}; "
    return text + f"{finished} have finished with every output right" + (f", {wrong} were wrong" if wrong else "") + "."
