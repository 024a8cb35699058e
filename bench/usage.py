"""The text of `python -m bench --help`: what the command does, examples, and the options with their ranges."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from bench import registry
from bench.description import described
from bench.devices import DEVICES
from bench.options import options
from bench.targets import resolve

WIDTH = 80
HELP = ("--help", "-h")

INTRODUCTION = """\
python -m bench [-m] [OPTION=VALUE ...]

Measures how well systems batch dynamic deep-learning models: every system in
conf/backend runs the same instances of one workload, each output is checked
against a float64 run, and one table says how long it took and what the time
was spent on. What is measured is kept in results/ and not measured again.

Examples
  python -m bench workload=treelstm size=tiny measure=quick
      Does everything run here, and is it right? Nothing is kept.
  python -m bench workload=birnn backend=[pytorch,dynet] batch_size=8
      Two systems on one workload.
  python -m bench -m workload=treelstm,birnn batch_size=8,64 size=small,large
      A sweep (-m): every combination of the values. A second start goes on
      where the first one stopped; limit.wall_s=3600 ends it after an hour.
"""

OPTIONS: Sequence[tuple[str, str]] = (
    ("workload=NAME", "{workload}"),
    ("backend=[A,B]", "all of {backend}"),
    ("size=", "small, large; tiny is for tests"),
    ("batch_size=", "instances in a mini-batch, from 1 on; 64"),
    ("threads=", "1 to {threads} here, or all; 1"),
    ("device=", ", ".join(DEVICES)),
    ("seed=", "0 or more: makes the weights and the instances; 0"),
    ("measure=", "{measure}: how thoroughly (conf/measure)"),
    ("measure.NAME=", "a setting of it, as in measure.budget_s=30; above 0"),
    ("rerun=", "what is measured although it has a row: none, apart, stale, failed, all; stale"),
    ("lock=", "where others measure on this machine: wait, refuse, ignore; wait"),
    ("limit.wall_s=", "seconds, 0 or more: begin nothing new after them"),
    ("isolate.NAME=", "a cell's deadline_s (above 0), memory_gb (from 0.5 on), cpus (0-3)"),
    ("+isolate.env.NAME=", "an environment variable for the measured processes"),
    ("results_dir=", "where rows go; results"),
    ("systems=[A,B]", "of the chosen backends only these"),
    ("experiment=NAME", "a table or figure of the evaluation with its sweep: {experiment}"),
    ("hydra/launcher=", "joblib, submitit_local, submitit_slurm, ray: the jobs of a sweep elsewhere"),
)

CLOSING = """\
Looking only
  python -m bench --cfg job      the composed configuration
  python -m bench --hydra-help   Hydra's own options, as tab completion
  python -m bench.list           which backend runs which workload, or why not

Exit codes: 0 all well, 1 something failed, 2 refused, 3 something was wrong,
4 nothing measured, 5 cut by limit.wall_s, 70 a mistake of the harness.
"""


def asks_for_help(arguments: Sequence[str]) -> bool:
    """Whether the command line asks for this text instead of a measurement."""
    return any(argument in HELP for argument in arguments)


def text() -> str:
    """The help of the command line: all options, with the names that this installation knows."""
    names = {group: ", ".join(registry.names(group)) for group in ("workload", "backend", "measure", "experiment")}
    names["threads"] = str(len(os.sched_getaffinity(0)))
    lines = [INTRODUCTION, "Options"]
    for name, meaning in OPTIONS:
        lines += entry(name, meaning.format(**names))
    lines += ["", "Options of the backends and workloads (conf/backend, conf/workload say what each does)"]
    for group in ("backend", "workload"):
        for name in registry.names(group):
            lines += entry(*_own(group, name))
    return "\n".join([*lines, "", CLOSING.rstrip()])


def entry(name: str, meaning: str, indent: int = 22) -> Iterator[str]:
    """The lines of an option: its name, and beside it what it means, wrapped."""
    lines = textwrap.wrap(meaning, WIDTH - indent, break_on_hyphens=False, break_long_words=False) or [""]
    yield f"  {name.ljust(indent - 2)}{lines[0]}" if len(name) < indent - 2 else f"  {name}"
    yield from (" " * indent + line for line in (lines[1:] if len(name) < indent - 2 else lines))


def _own(group: str, name: str) -> tuple[str, str]:
    from omegaconf import OmegaConf

    prefix = f"backend.{name}." if group == "backend" else f"workload={name}"
    settings: Any = OmegaConf.load(registry.CONF / group / f"{name}.yaml")
    target = str(settings.get("_target_"))
    if group == "backend":
        backend = described(target)
        if backend.why:
            return prefix, f"unavailable: {backend.why}"
        own = backend.options
    else:
        try:
            own = options(resolve(target))
        except (ImportError, NameError) as error:
            return prefix, f"unavailable: {error}"
    return prefix, ", ".join(f"{key}={option.choices}" for key, option in own.items()) or "no options"
