"""`python -m bench.list`: which backend runs which workload here, and why not where it does not.

What runs and earlier lists have found out is known (support.py), also from before the sources changed, which a line below the
table then says. What is not known the backends are asked, each in a process of its own: can it run here, and does it compile
the workload at its smallest size. `python -m bench.list device=cuda` asks for another device, `fresh=true` asks everything
again.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from rich.console import Console
from rich.table import Table

from bench import registry, support
from bench.cell import Part
from bench.contract import Target
from bench.description import described
from bench.devices import DEVICES
from bench.family import adopting
from bench.isolate import Child, Ended
from bench.memory import free_memory
from bench.options import ConfigError
from bench.outcome import explain
from bench.status import Exit

DEADLINE_S = 600.0


def parts(group: str, device: str) -> dict[str, Part | str]:
    """The backends or workloads of a group of `conf/`, by name: of a backend the first of the variants that a run measures; for
    one that cannot be loaded the reason as a text."""
    by_name: dict[str, Part | str] = {}
    for name in registry.names(group):
        settings: Any = OmegaConf.to_container(OmegaConf.load(registry.CONF / group / f"{name}.yaml"))
        try:
            if group == "workload":
                by_name[name] = registry.workload(name, settings)
            elif why := described(str(settings.get("_target_"))).why:
                by_name[name] = f"failed: {why}"
            else:
                by_name[name] = registry.backends([(name, settings)], Target(device, 1))[0][0]
        except (ImportError, ConfigError) as error:
            by_name[name] = f"failed: {error}"
    return by_name


def survey(backend: Part, workloads: list[Part], device: str) -> dict[str, str | None]:
    """For each workload the reason why the backend cannot run it, or None if it can; found out in a child process."""
    with adopting(), contextlib.ExitStack() as stack:
        try:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            child = Child(Path(folder) / "log", 1, DEADLINE_S, free_memory(), limit_data=False)
        except OSError as error:
            return {w.name: f"failed: {explain(error)}" for w in workloads}
        try:
            asked = {"target": backend.target, "options": dict(backend.options)}
            workload_descriptions = [{"name": w.name, "target": w.target, "options": dict(w.options)} for w in workloads]
            reply = child.ask("survey", backend=asked, workloads=workload_descriptions, device=device)
            reasons: dict[str, str | None] = reply["reasons"]
            return reasons
        except Ended as ended:
            return {w.name: f"{ended.status}: {ended.why}" for w in workloads}
        finally:
            child.kill()


def matrix(device: str, fresh: bool = False) -> tuple[list[str], dict[str, dict[str, str | None]], list[str]]:
    """The names of the backends; for each workload, by backend, the reason why it cannot run or None; the backends for which
    some of that was found before their sources changed. `fresh`: ask again what is known."""
    backends, workloads = parts("backend", device), parts("workload", device)
    table: dict[str, dict[str, str | None]] = {name: {} for name in workloads}
    index = support.Index()
    earlier: list[str] = []
    for name, backend in backends.items():
        if isinstance(backend, str):
            for workload in workloads:
                table[workload][name] = backend
            continue
        loadable = {w: part for w, part in workloads.items() if isinstance(part, Part)}
        keys = {w: support.key(backend, part, device) for w, part in loadable.items()}
        before = {w: support.question(backend, part, device) for w, part in loadable.items()}
        unknown = [part for w, part in loadable.items() if fresh or not (keys[w] in index or before[w] in index)]
        if unknown:
            print(f"asking {name} for {', '.join(part.name for part in unknown)}", file=sys.stderr)
        answers = survey(backend, unknown, device) if unknown else {}
        for workload, part in workloads.items():
            if isinstance(part, str):
                table[workload][name] = part
            elif part.name in answers:
                table[workload][name] = answers[part.name]
                index.learn(keys[workload], answers[part.name], before[workload])
            elif keys[workload] in index:
                table[workload][name] = index.reason(keys[workload])
            else:
                table[workload][name] = index.reason(before[workload])
                earlier.append(name)
    index.keep()
    return list(backends), table, list(dict.fromkeys(earlier))


def main() -> None:
    settings = {"device": "cpu", "fresh": "false"}
    for argument in sys.argv[1:]:
        key, _, value = argument.partition("=")
        if argument in ("--help", "-h"):
            print(__doc__)
            return
        if value not in {"device": tuple(DEVICES), "fresh": ("true", "false")}.get(key, ()):
            devices = " or ".join(f"device={name}" for name in DEVICES)
            print(f"error: '{argument}': only {devices}, and fresh=true", file=sys.stderr)
            sys.exit(Exit.CONFIG)
        settings[key] = value
    device = settings["device"]
    backends, rows, earlier = matrix(device, settings["fresh"] == "true")
    console = Console(width=None if sys.stdout.isatty() else 200)
    table = Table(title=f"workload x backend, {device}", title_justify="left", title_style="bold", header_style="bold")
    table.add_column("")
    for backend in backends:
        table.add_column(backend, justify="center")
    reasons: dict[str, list[str]] = {}
    for workload, row in rows.items():
        marks = []
        for backend in backends:
            reason = row[backend]
            marks.append("yes" if reason is None else reason.partition(":")[0])
            if reason is not None:
                reasons.setdefault(f"{backend}: {reason}", []).append(workload)
        table.add_row(workload, *marks)
    console.print(table)
    for reason, names in reasons.items():
        suffix = "" if len(names) == len(rows) else f" ({', '.join(names)})"
        console.print(reason + suffix, markup=False, highlight=False, soft_wrap=True)
    if earlier:
        note = f"found before sources or software changed: {', '.join(earlier)}; fresh=true asks again"
        console.print(note, markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
