"""What a Hydra job does: measure the cells of one configuration and show their table.

It is a function of a module, so that launchers can run it in other processes and on other machines (`hydra/launcher=joblib`,
`submitit_local`, `submitit_slurm`, `ray`). Such a job appends its rows to the same results; each machine measures only one job
at a time, because a campaign holds the machine's lock. The result of a job is an `Outcome`. A job in another process writes it
to a file in `logs` of the results, and `Merge` collects these files at the end of the sweep.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
import uuid
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig
from rich.console import Console

from bench import environment, machine, table
from bench.campaign import Campaign, Row
from bench.cell import Cell, Part
from bench.config import read
from bench.files import put
from bench.options import ConfigError
from bench.report import curve
from bench.shown import openable

WIDTH = 80  # of tables in a file
SWEEP = "BENCH_SWEEP"  # names the sweep that a job belongs to and the process that has started it, as in "1a2b3c:4711"


@dataclass
class Outcome:
    """The result of one job. `refused` and `crashed` say why not all of its cells, or none, could be measured."""

    rows: list[Row] = field(default_factory=list)
    cut: bool = False
    unkept: int = 0
    refused: str | None = None
    crashed: str | None = None


@dataclass
class Sweep:
    """The results of all jobs of this command."""

    campaign: Campaign = field(default_factory=Campaign)
    refused: list[str] = field(default_factory=list)
    crashed: list[str] = field(default_factory=list)
    said: set[str] = field(default_factory=set)  # messages that were printed once for all jobs

    def add(self, outcome: Outcome) -> None:
        """Add the result of a job that ran in another process."""
        self.campaign.rows += outcome.rows
        self.campaign.cut = self.campaign.cut or outcome.cut
        self.campaign.unkept += outcome.unkept
        self._end(outcome)

    def _end(self, outcome: Outcome) -> None:
        self.refused += [outcome.refused] if outcome.refused else []
        self.crashed += [outcome.crashed] if outcome.crashed else []

    def run(self, composed: DictConfig) -> Outcome:
        """Run one job in this process. Errors are printed and recorded, so later jobs run; only interruptions are raised."""
        before, unkept = len(self.campaign.rows), self.campaign.unkept
        outcome = Outcome()
        try:
            self._measure(composed)
        except ConfigError as error:
            outcome.refused = str(error)
            print(f"error: {error}", file=sys.stderr)
        except KeyboardInterrupt:
            table.show(self.campaign.rows[before:], console(), Path(str(composed.results_dir)))
            raise
        except Exception as error:
            outcome.crashed = type(error).__name__
            traceback.print_exc()
            print(f"error of the harness: {type(error).__name__}; the lines above say where", file=sys.stderr)
        outcome.rows, outcome.cut = self.campaign.rows[before:], self.campaign.cut
        outcome.unkept = self.campaign.unkept - unkept
        self._end(outcome)
        return outcome

    def _measure(self, composed: DictConfig) -> None:
        config = read(composed)
        left_out = ", ".join(environment.withheld_variables(config.isolate.env))
        self._say(left_out and f"not passed on to what is measured, because it tunes libraries: {left_out} (isolate.env)")
        rows = self.campaign.run(config)
        show(rows, Path(config.results_dir))
        if config.measure.stored:
            folder = Path(config.results_dir).resolve() / machine.name() / "figures"
            try:
                written = curve.draw(rows, folder)
            except OSError as error:  # as where the disk is full; the rows are kept
                print(f"no figure could be written to {folder}: {error}", file=sys.stderr)
            else:
                for path in written:
                    console().print(f"written: {openable(path)}", markup=False, highlight=False, soft_wrap=True)

    def _say(self, text: str) -> None:
        """Print a message to standard error, once for all jobs of a sweep."""
        if text and text not in self.said:
            self.said.add(text)
            print(text, file=sys.stderr)


SWEEPING = Sweep()


def job(composed: DictConfig) -> None:
    """Run one job. Hydra calls this in the process of the command, or in another one, which writes the outcome to a file."""
    name, _, started_by = os.environ.get(SWEEP, "").partition(":")
    if not name or started_by == str(os.getpid()):
        SWEEPING.run(composed)
        return
    outcome = Sweep().run(composed)
    put(_outcomes(composed) / f"{name}-{uuid.uuid4().hex}.outcome", json.dumps(asdict(outcome)).encode())


class Merge(Callback):
    """A callback of Hydra: at the end of a sweep it shows and counts the outcomes of jobs that ran in other processes."""

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        name = os.environ.get(SWEEP, "").partition(":")[0]
        for path in sorted(_outcomes(config).glob(f"{name}-*.outcome")) if name else ():
            try:
                outcome = _read(path)
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                outcome = Outcome(crashed=f"{path.name}: {type(error).__name__}")
                print(f"error of the harness: the outcome of a job cannot be read: {outcome.crashed}", file=sys.stderr)
            path.unlink()
            show(outcome.rows, Path(config.results_dir))
            SWEEPING.add(outcome)


def _read(path: Path) -> Outcome:
    """The outcome that a job has written as JSON."""
    written = json.loads(path.read_bytes())
    rows = []
    for row in written.pop("rows"):
        cell = row.pop("cell")
        workload, backend = (Part(**cell.pop(part)) for part in ("workload", "backend"))
        rows.append(Row(Cell(workload, backend, **cell), **row))
    return Outcome(rows, **written)


def show(rows: list[Row], results: Path) -> None:
    table.show(rows, console(), results)


def console() -> Console:
    return Console(width=None if sys.stdout.isatty() else WIDTH)


def _outcomes(config: DictConfig) -> Path:
    return Path(str(config.results_dir)).resolve() / "logs"
