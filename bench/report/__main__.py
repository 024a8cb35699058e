"""`python -m bench.report`: the tables and figures of the evaluation and one HTML page, from the rows that lie in the results.

    python -m bench.report                       this machine's results in results/
    python -m bench.report amd-epyc-8c-0a1b2c    another machine's
    python -m bench.report --only dynet fair     some experiments
    python -m bench.report --given size=tiny     their cells at another size

It measures nothing. What the experiments of conf/experiment want and no row has is named: on standard output, on the page and
in `missing.md`. Exit codes: 0 written; 2 refused, for the reason it prints; 4 nothing to report, because no row can be used.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench import machine, registry
from bench.report import entries, experiments, figures, overview, page, paper, views
from bench.report.write import write
from bench.status import Exit
from bench.suggest import refusal


def main(arguments: Sequence[str] | None = None) -> int:
    options = _arguments(arguments)
    root = Path(options.results)
    try:
        folder = _folder(root, options.machine)
        results = entries.load(folder)
        names = _names(options.only)
        _check(options.measure, options.given, results)
        experiments_read = experiments.read(results, options.measure, names, options.given)
        if options.given and all(experiment.refused for experiment in experiments_read):
            raise ValueError(f"--given {' '.join(options.given)}: {experiments_read[0].refused}")
        published = paper.load(root / "paper")
    except (FileNotFoundError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return Exit.CONFIG
    for reason, count in results.ignored.items():
        print(f"not used: {count} rows of {folder / 'cells.jsonl'}: {reason}", file=sys.stderr)
    sections = [views.show(experiment) for experiment in experiments_read]
    figures.draw([figure for section in sections for figure in section.figures])
    others = [overview.support(results), overview.failures(results)] + ([paper.table(published)] if published else [])
    target = Path(options.out) if options.out else folder
    write(target, sections, others, page.render(results, experiments_read, sections, published))
    drawn = sum(bool(section.tables) for section in sections)
    for section in sections:
        cells = sum(len(group.missing) for group in section.experiment.groups)
        if section.holes:
            text = f"{cells} cells not measured ({section.experiment.command})" if cells else section.holes[0].what
            others_ = [hole.what for hole in section.holes if not hole.command]
            print(f"missing: {section.experiment.name}: {'; '.join(dict.fromkeys([text, *others_]))}")
    print(overview.summary(results))
    print(f"{drawn} of {len(sections)} experiments have rows; written: {target / 'report.html'}, tables/, figures/, missing.md")
    return Exit.OK if results.entries else Exit.NOTHING


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.report", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("machine", nargs="?", help="the folder of a machine in the results; this machine's by default")
    parser.add_argument("--results", default="results", help="the folder of all machines (default: %(default)s)")
    parser.add_argument(
        "--measure", default="default", help="take the rows measured under these settings (default: %(default)s)"
    )
    parser.add_argument("--only", nargs="+", metavar="EXPERIMENT", help="these experiments; all of conf/experiment by default")
    parser.add_argument(
        "--given", nargs="+", metavar="OPTION=VALUE", default=[], help="what `python -m bench experiment=...` was given too"
    )
    parser.add_argument("--out", help="where to write; the folder of the machine by default")
    return parser.parse_args(arguments)


def _folder(root: Path, name: str | None) -> Path:
    """The folder of the results to report. Raises FileNotFoundError that names the machines with results."""
    chosen = root / (name or machine.name())
    if (chosen / "cells.jsonl").is_file():
        return chosen
    machines = sorted(path.parent.name for path in root.glob("*/cells.jsonl"))
    if name is None:
        hint = f"name a machine: {', '.join(machines)}" if machines else "measure first: python -m bench experiment=fair"
        raise FileNotFoundError(f"{chosen}: nothing has been measured on this machine; {hint}")
    raise FileNotFoundError(f"{chosen}: no cells.jsonl there; machines with results: {', '.join(machines) or 'none'}")


def _check(measure: str, given: Sequence[str], results: entries.Results) -> None:
    """Raises ValueError for what would only make an empty report, in place of the one that is there."""
    measured = sorted({str(entry.record["measure"]) for entry in results.entries})
    if measured and measure not in measured:
        raise ValueError(f"--measure {measure}: no row was measured under these settings; there are: {', '.join(measured)}")
    for each in given:
        if "=" not in each:
            raise ValueError(f"--given {each}: write OPTION=VALUE")
    reason = refusal(["-m", *given])  # an experiment is a sweep
    if reason is not None:
        raise ValueError(f"--given {' '.join(given)}: {reason}")


def _names(chosen: Sequence[str] | None) -> list[str] | None:
    existing = registry.names("experiment")
    for name in chosen or ():
        if name not in existing:
            raise ValueError(f"--only {name}: no such experiment; there are: {', '.join(existing)}")
    return list(chosen) if chosen else None


if __name__ == "__main__":
    sys.exit(main())
