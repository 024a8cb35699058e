"""How much faster the models of the zoo are than eager PyTorch, at one batch size, and the table of it.

Both systems run the same mini-batches in turns, in one process, with one thread each; who is first changes from round to round.
A time is one mini-batch from Python's instances to results, by the wall clock. Before anything is timed the results of a whole
mini-batch are compared instance by instance.
"""

from __future__ import annotations

import csv
import gc
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch

from backends.acrobat import compile
from backends.acrobat.tests.zoo.case import Case
from backends.acrobat.tests.zoo.check import SAMPLE, assert_same

BATCH_SIZE = 64
ROUNDS = (5, 25)
"""The least and the largest number of rounds."""
SECONDS = 5.0
"""After so much time no further round begins, once the least number is done."""


@dataclass(frozen=True)
class Speed:
    """One row of the table; `why` is why there is nothing else in it."""

    model: str
    eager_ms: float = math.nan
    acrobat_ms: float = math.nan
    speed_up: float = math.nan
    low: float = math.nan
    high: float = math.nan
    rounds: int = 0
    compile_s: float = math.nan
    why: str = ""


def measure(case: Case, cache_folder: Path | None = None) -> Speed:
    """The medians over the rounds of both times and of their quotient, which lies between `low` and `high` in the middle half
    of the rounds. Raises CompileError where the compiler refuses the model, AssertionError where a result differs."""
    module = case.module()
    begin = time.perf_counter()
    executable = compile(module, sample=case.instances(SAMPLE, seed=99), cache_folder=cache_folder)
    compiling = time.perf_counter() - begin

    def eager(instances: Sequence[Any]) -> list[Any]:
        return [module(instance) for instance in instances]

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            for number, (mine, theirs) in enumerate(
                zip(executable(case.instances(BATCH_SIZE)), eager(case.instances(BATCH_SIZE)), strict=True)
            ):
                assert_same(mine, theirs, f"instance {number} of {BATCH_SIZE}")
            rounds = list(_rounds(case, eager, executable))
    finally:
        torch.set_num_threads(threads)
        executable.close()
    quotients = [e / a for e, a in rounds]
    low, _, high = statistics.quantiles(quotients, n=4)
    eager_ms, acrobat_ms = (1e3 * statistics.median(times) for times in zip(*rounds, strict=True))
    return Speed(case.name, eager_ms, acrobat_ms, statistics.median(quotients), low, high, len(rounds), compiling)


def _rounds(case: Case, *systems: Callable[[Sequence[Any]], Any]) -> list[tuple[float, ...]]:
    """The seconds of each system in each round. Instances are drawn anew for each run: models may write into them."""
    end = time.perf_counter() + SECONDS
    rounds: list[tuple[float, ...]] = []
    while len(rounds) < ROUNDS[0] or (len(rounds) < ROUNDS[1] and time.perf_counter() < end):
        seconds = [0.0] * len(systems)
        order = range(len(systems))
        for i in order if len(rounds) % 2 else reversed(order):
            instances = case.instances(BATCH_SIZE, seed=len(rounds) % 4)
            gc.collect()
            begin = time.perf_counter()
            systems[i](instances)
            seconds[i] = time.perf_counter() - begin
        rounds.append(tuple(seconds))
    return rounds


def write(rows: Sequence[Speed], folder: Path) -> tuple[Path, Path]:
    """The table as zoo.csv and, sorted by speed-up, as zoo.md in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    table, page = folder / "zoo.csv", folder / "zoo.md"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(field.name for field in fields(Speed))
        writer.writerows([_cell(getattr(row, field.name)) for field in fields(Speed)] for row in rows)
    page.write_text(text(rows))
    return table, page


def _cell(value: Any) -> Any:
    return ("" if math.isnan(value) else f"{value:.4g}") if isinstance(value, float) else value


def text(rows: Sequence[Speed]) -> str:
    """The table in Markdown."""
    done = sorted((row for row in rows if not row.why), key=lambda row: -row.speed_up)
    lines = [
        f"# The zoo against eager PyTorch, batch {BATCH_SIZE}, one thread",
        "",
        f"Made by `python -m backends.acrobat.tests.zoo --speed` with PyTorch {torch.__version__}. Times are medians of one",
        "mini-batch, the quotient is the median of the rounds' quotients, with its middle half.",
        "",
        "| model | eager ms | ACRoBat ms | times faster | middle half | rounds | compile s |",
        "| --- | ---: | ---: | ---: | --- | ---: | ---: |",
        *(
            f"| {r.model} | {r.eager_ms:.2f} | {r.acrobat_ms:.3f} | {r.speed_up:.1f} "
            f"| {r.low:.1f} to {r.high:.1f} | {r.rounds} | {r.compile_s:.1f} |"
            for r in done
        ),
    ]
    if done:
        lines += ["", f"Median of {len(done)} models: {statistics.median(r.speed_up for r in done):.1f} times faster."]
    if refused := [row for row in rows if row.why]:
        lines += ["", "Not measured:", "", *(f"- {row.model}: {row.why}" for row in refused)]
    return "\n".join([*lines, ""])
