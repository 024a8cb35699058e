"""`python -m bench workload=treelstm`: compose the cells, measure what is not finished, print the table."""

from __future__ import annotations

import contextlib
import io
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import hydra
from hydra._internal.utils import get_args_parser
from omegaconf import DictConfig
from rich.console import Console

from bench import environment, machine, table
from bench.campaign import Campaign
from bench.compose import CONFIG, register
from bench.config import read
from bench.registry import ConfigError
from bench.report import curve
from bench.status import Exit
from bench.suggest import refusal


class Terminated(KeyboardInterrupt):
    """SIGTERM: as an interruption from the keyboard, but the exit code says which it was."""


def main() -> None:
    why = refusal(sys.argv[1:])
    if why is not None:
        print(f"error: {why}", file=sys.stderr)
        sys.exit(Exit.CONFIG)
    looking = asked_only(sys.argv[1:])
    campaign = Campaign()
    refused = []
    crashed = []
    width = None if sys.stdout.isatty() else 200  # a file has no edge to fold at
    console = Console(width=width)

    @hydra.main(version_base=None, config_path="../conf", config_name=CONFIG)
    def job(composed: DictConfig) -> None:
        before = len(campaign.rows)
        try:
            config = read(composed)
            left_out = ", ".join(environment.cleared(config.isolate.env))
            if left_out and not campaign.rows:  # once for all jobs of a sweep
                print(
                    f"not passed on to what is measured, because it tunes libraries: {left_out} (isolate.env)", file=sys.stderr
                )
            rows = campaign.run(config)
            table.show(rows, console)
            if config.measure.stored:
                for path in curve.draw(rows, Path(config.results_dir).resolve() / machine.name() / "figures"):
                    console.print(f"written: {path}", markup=False, highlight=False, soft_wrap=True)
        except ConfigError as error:
            refused.append(error)
            print(f"error: {error}", file=sys.stderr)
        except KeyboardInterrupt:
            table.show(campaign.rows[before:], console)
            raise
        except Exception as error:  # the next job of a sweep may do better
            crashed.append(error)
            traceback.print_exc()
            print(f"error of the harness: {type(error).__name__}; the lines above say where", file=sys.stderr)

    register()
    signal.signal(signal.SIGTERM, _terminate)
    try:
        job()
    except SystemExit as ended:  # Hydra itself has refused the command line and said why
        if ended.code and not campaign.rows:
            sys.exit(Exit.CONFIG)
        raise
    except KeyboardInterrupt as interrupt:
        print(f"interrupted: {campaign.summary()}; the same command goes on from here", file=sys.stderr)
        sys.exit(128 + (signal.SIGTERM if isinstance(interrupt, Terminated) else signal.SIGINT))
    if looking:
        return
    if campaign.rows or not refused:
        print(campaign.summary(), file=sys.stderr)
    sys.exit(Exit.CRASHED if crashed else Exit.CONFIG if refused else campaign.exit())


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated


def asked_only(arguments: Sequence[str]) -> bool:
    """Did the user only look (`--cfg job`, `-cjob`, `--help`, `--info`)? Hydra's own parser knows all the ways to say so."""
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            asked = get_args_parser().parse_known_args(list(arguments))[0]
    except SystemExit:  # it will say why itself, in its turn
        return False
    return bool(asked.cfg or asked.help or asked.hydra_help or asked.info)


if __name__ == "__main__":
    main()
