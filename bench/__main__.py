"""`python -m bench workload=treelstm`: compose the cells, measure what is not finished, print the table."""

from __future__ import annotations

import sys
from pathlib import Path

import hydra
from omegaconf import DictConfig
from rich.console import Console

from bench import environment, machine, table
from bench.campaign import Campaign
from bench.compose import CONFIG, register
from bench.config import read
from bench.registry import ConfigError
from bench.report import curve
from bench.status import Exit


def main() -> None:
    campaign = Campaign()
    refused = []
    width = None if sys.stdout.isatty() else 200  # a file has no edge to fold at
    console = Console(width=width)

    @hydra.main(version_base=None, config_path="../conf", config_name=CONFIG)
    def job(composed: DictConfig) -> None:
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

    register()
    try:
        job()
    except SystemExit as ended:  # Hydra itself has refused the command line and said why
        if ended.code and not campaign.rows:
            sys.exit(Exit.CONFIG)
        raise
    except KeyboardInterrupt:
        print(f"interrupted: {campaign.summary()}; the same command goes on from here", file=sys.stderr)
        sys.exit(130)
    if asked_only():
        return
    if campaign.rows or not refused:
        print(campaign.summary(), file=sys.stderr)
    sys.exit(Exit.CONFIG if refused else campaign.exit())


def asked_only() -> bool:
    """Did the user only look (`--cfg job`, `--help`, `--info`)?"""
    return any(arg in ("--cfg", "-c", "--help", "-h", "--info", "-i", "--hydra-help") for arg in sys.argv[1:])


if __name__ == "__main__":
    main()
