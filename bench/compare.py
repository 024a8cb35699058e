"""`python -m bench.compare A B`: is B faster or slower than A, cell by cell?

A and B are results: a folder with a `cells.jsonl`, the name of a machine in `results/`, or either with `@<commit>` for the rows
that were measured at this commit (`@<commit>` alone: of this machine). Cells are compared that are the same configuration; of
each the newest row counts.

    python -m bench.compare amd-epyc-8c-0a1b2c intel-xeon-2c-305369
    python -m bench.compare @50989d17 @bbf56169
    python -m bench.compare /tmp/before/my-machine results/my-machine --least 1.02

A ratio above 1 means that B is faster. Rows of one session are compared round by round. Rows of different sessions have an
interval from the rounds of each, which knows nothing of what changed on the machine between the sessions; so a ratio counts as
a difference only if its interval excludes 1 and it is at least `--least` (5 % by default).

Exit codes:
    0   compared, and no cell is better or worse
    10  better: some cell is faster and none is slower
    11  worse: some cell is slower, or has finished in A and failed in B for another reason than a wrong output
    12  wrong: some cell has a wrong output in B
    4   nothing compared: no cell has finished in both
    2   refused: A or B is not there, for the reason it prints
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import machine, stats
from bench.report import entries
from bench.report.aggregate import Comparison, compare, geometric_mean
from bench.report.entries import Entry, Results
from bench.report.overview import cell
from bench.report.tables import spelled
from bench.sessions import in_one
from bench.stats import Ratio
from bench.status import UNSUCCESSFUL, Status

LEAST = 1.05


class Verdict(IntEnum):
    """The exit code of a comparison."""

    SAME = 0
    REFUSED = 2
    NOTHING = 4
    BETTER = 10
    WORSE = 11
    WRONG = 12


@dataclass(frozen=True)
class Pair:
    """The rows of one cell in A and in B. `comparison` compares them; it is None where one of them has no samples."""

    a: Entry
    b: Entry
    comparison: Comparison | None

    def verdict(self, least: float) -> Verdict:
        if self.b.record["status"] == Status.WRONG:
            return Verdict.WRONG
        if self.comparison is None:
            lost = self.a.ok and self.b.record["status"] in UNSUCCESSFUL
            return Verdict.WORSE if lost else Verdict.NOTHING
        ratio = self.comparison.ratio
        if not ratio.significant or max(ratio.value, 1 / ratio.value) < least:
            return Verdict.SAME
        return Verdict.BETTER if ratio.value > 1 else Verdict.WORSE


def pairs(a: Results, b: Results) -> list[Pair]:
    """The newest rows of each cell of which both have rows."""
    shared = [key for key in a.by_identity if key in b.by_identity]
    return [_pair(a.by_identity[key][-1], b.by_identity[key][-1]) for key in shared]


def verdict(compared: Sequence[Pair], least: float = LEAST) -> Verdict:
    """The verdict over all cells: the first of wrong, worse, better and same that some cell has."""
    verdicts = {pair.verdict(least) for pair in compared}
    for candidate in (Verdict.WRONG, Verdict.WORSE, Verdict.BETTER, Verdict.SAME):
        if candidate in verdicts:
            return candidate
    return Verdict.NOTHING


def _pair(a: Entry, b: Entry) -> Pair:
    comparison = compare(a, b)
    if comparison is not None and not in_one(a, b):
        comparison = Comparison(a, b, _ratio_of_sessions(a, b, comparison.ratio.value), together=False)
    return Pair(a, b, comparison)


def _ratio_of_sessions(a: Entry, b: Entry, value: float) -> Ratio:
    """The ratio `value` of two sessions, with the half-widths of both latencies' intervals added as independent errors."""
    widths = [math.log(s.high / s.low) / 2 for s in (a.summary, b.summary)]
    half = math.hypot(*widths)
    return stats.Ratio(value, value * math.exp(-half), value * math.exp(half))


def results_named(text: str, root: Path) -> Results:
    """The results that `text` names. Raises FileNotFoundError or ValueError with what is there instead."""
    folder_name, _, commit = text.partition("@")
    folder = root / (folder_name or machine.name())
    if folder_name and not (folder / "cells.jsonl").is_file():
        folder = Path(folder_name) if Path(folder_name).is_dir() else Path(folder_name).parent
    if not (folder / "cells.jsonl").is_file():
        machines = sorted(path.parent.name for path in root.glob("*/cells.jsonl"))
        raise FileNotFoundError(
            f"{text}: there is no {folder / 'cells.jsonl'}; machines in {root}: {', '.join(machines) or 'none'}"
        )
    results = entries.load(folder)
    if commit:
        of_commit = [entry for entry in results.entries if str(entry.record.get("commit")).startswith(commit)]
        if not of_commit:
            commits = dict.fromkeys(str(entry.record.get("commit")) for entry in reversed(results.entries))
            raise ValueError(
                f"{text}: no usable row of {folder.name} is of that commit; there are: {', '.join(commits) or 'none'}"
            )
        results = Results(folder, of_commit, results.ignored, results.machine)
    return results


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("a", metavar="A", help="results to compare with")
    parser.add_argument("b", metavar="B", help="results to judge")
    parser.add_argument("--results", default="results", help="the folder of all machines (default: %(default)s)")
    parser.add_argument("--least", type=float, default=LEAST, help="a smaller ratio is no difference (default: %(default)s)")
    options = parser.parse_args(arguments)
    try:
        if options.least < 1:
            raise ValueError(f"--least {options.least}: a ratio of 1 or more")
        a, b = (results_named(text, Path(options.results)) for text in (options.a, options.b))
    except (FileNotFoundError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return Verdict.REFUSED
    compared = pairs(a, b)
    _show(compared, a, b, options.least)
    return verdict(compared, options.least)


def _show(compared: Sequence[Pair], a: Results, b: Results, least: float) -> None:
    console = Console(width=None if sys.stdout.isatty() else 200, highlight=False)
    names = {Verdict.SAME: "same", Verdict.BETTER: "faster", Verdict.WORSE: "slower", Verdict.WRONG: "wrong"}
    table = Table(header_style="bold")
    for head in ("system", "cell", "A, ms", "B, ms", "A / B", "95 % interval", ""):
        table.add_column(head, justify="left" if head in ("system", "cell", "") else "right")
    for pair in compared:
        shown = [spelled(e.summary.median * 1e3) if e.ok else str(e.record["status"]) for e in (pair.a, pair.b)]
        ratio = pair.comparison.ratio if pair.comparison is not None else None
        times = "" if ratio is None else spelled(ratio.value)
        interval = f"{spelled(ratio.low)} to {spelled(ratio.high)}" if ratio is not None and ratio.has_interval else ""
        table.add_row(pair.a.label, cell(pair.a), *shown, times, interval, names.get(pair.verdict(least), "not compared"))
    if compared:
        console.print(table)
    comparisons = [pair.comparison for pair in compared if pair.comparison is not None]
    mean = geometric_mean([pair.comparison for pair in compared])
    only_in = [len([key for key in x.by_identity if key not in y.by_identity]) for x, y in ((a, b), (b, a))]
    print(
        f"{len(comparisons)} cells compared; {only_in[0]} only in A, {only_in[1]} only in B; "
        f"{len(compared) - len(comparisons)} not finished in both"
    )
    for name, results in (("A", a), ("B", b)):
        for reason, count in results.ignored.items():
            print(f"{name}: {count} rows not used: {reason}")
    if mean is not None:
        interval = f", 95 % interval {spelled(mean.low)} to {spelled(mean.high)}" if mean.has_interval else ""
        remark = "; no significant difference" if mean.has_interval and not mean.significant else ""
        print(f"geometric mean of A / B over {mean.count} cells: {spelled(mean.value)}{interval}{remark}")
        if mean.apart:
            print(f"{mean.apart} of them are of different sessions: what changed on the machine in between is in the ratio")
        if a.folder.name != b.folder.name:
            print(f"different machines: {a.folder.name} and {b.folder.name}")
    print(f"verdict: {verdict(compared, least).name.lower()}")


if __name__ == "__main__":
    sys.exit(main())
