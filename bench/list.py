"""`python -m bench.list`: which backend runs which workload here, and why not where it does not.

Asks the backends themselves, each in a process of its own: can it run here, and does it compile the workload at its
smallest size. `python -m bench.list device=cuda` asks for another device.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from omegaconf import OmegaConf
from rich.console import Console
from rich.table import Table

from bench import registry
from bench.cell import Part
from bench.isolate import Child, Ended, free_memory
from bench.registry import ConfigError

DEADLINE_S = 600.0


def parts(group: str) -> dict[str, Part | str]:
    """The choices of a group, or why one is broken."""
    found: dict[str, Part | str] = {}
    for name in registry.names(group):
        settings = OmegaConf.to_container(OmegaConf.load(registry.CONF / group / f"{name}.yaml"))
        assert isinstance(settings, dict)
        target = str(settings.get("_target_"))
        try:
            registry.resolve(target)
            found[name] = registry.part(group, name, {str(key): value for key, value in settings.items()})
        except (ImportError, ConfigError) as error:
            found[name] = f"failed: {error}"
    return found


def survey(backend: Part, workloads: list[Part], device: str) -> dict[str, str | None]:
    """Per workload the reason for the hole, or None."""
    with tempfile.TemporaryDirectory() as folder:
        child = Child(Path(folder) / "log", 1, DEADLINE_S, free_memory(), limit_data=False)
        try:
            described = {"target": backend.target, "options": dict(backend.options)}
            asked = [{"name": w.name, "target": w.target, "options": dict(w.options)} for w in workloads]
            reasons: dict[str, str | None] = child.ask("survey", backend=described, workloads=asked, device=device)["reasons"]
            return reasons
        except Ended as ended:
            return {w.name: f"{ended.status}: {ended.why}" for w in workloads}
        finally:
            child.kill()


def matrix(device: str) -> tuple[list[str], dict[str, dict[str, str | None]]]:
    """The backends, and per workload what each says."""
    backends, workloads = parts("backend"), parts("workload")
    table: dict[str, dict[str, str | None]] = {name: {} for name in workloads}
    usable = {name: part for name, part in workloads.items() if isinstance(part, Part)}
    for name, backend in backends.items():
        found = survey(backend, list(usable.values()), device) if isinstance(backend, Part) else {}
        for workload, part in workloads.items():
            if isinstance(part, str):
                table[workload][name] = part
            else:
                table[workload][name] = backend if isinstance(backend, str) else found[part.name]
    return list(backends), table


def main() -> None:
    device = "cpu"
    for argument in sys.argv[1:]:
        key, _, value = argument.partition("=")
        if key != "device" or value not in ("cpu", "cuda"):
            sys.exit(f"error: '{argument}': only device=cpu or device=cuda")
        device = value
    backends, found = matrix(device)
    console = Console(width=None if sys.stdout.isatty() else 200)
    table = Table(title=f"workload x backend, {device}", title_justify="left", title_style="bold", header_style="bold")
    table.add_column("")
    for backend in backends:
        table.add_column(backend, justify="center")
    reasons: dict[str, list[str]] = {}
    for workload, row in found.items():
        marks = []
        for backend in backends:
            reason = row[backend]
            marks.append("yes" if reason is None else reason.partition(":")[0])
            if reason is not None:
                reasons.setdefault(f"{backend}: {reason}", []).append(workload)
        table.add_row(workload, *marks)
    console.print(table)
    for reason, where in reasons.items():
        only = "" if len(where) == len(found) else f" ({', '.join(where)})"
        console.print(reason + only, markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
