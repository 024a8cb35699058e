"""The report as one self-contained HTML file: tables that can be sorted, inline figures, a light and a dark theme.

Every number is in an element with `data-rows`, the references of the rows of `cells.jsonl` that it was made from; the appendix
of the page lists these rows with the command that measures each.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import jinja2
from markupsafe import Markup

from bench.report import figures, overview
from bench.report.entries import Entry, Results
from bench.report.experiments import Experiment
from bench.report.figures import Figure
from bench.report.paper import Published
from bench.report.paper import table as published_table
from bench.report.section import Section
from bench.report.tables import Line, Table, Value, quantity


def render(
    results: Results, experiments: Sequence[Experiment], sections: Sequence[Section], published: Sequence[Published]
) -> str:
    """The text of the HTML file. `sections` are those of `experiments`; all rows are from `results`."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals["svg"] = _svg
    used = _rows_behind(sections, overview.support(results), overview.failures(results))
    return environment.get_template("page.html").render(
        machine_name=results.folder.name,
        summary=overview.summary(results),
        headline=overview.headline(experiments),
        support=overview.support(results),
        machine=overview.machine(results),
        failures=overview.failures(results),
        published=published_table(published) if published else None,
        beside={p.name: [v.sentence for v in published if v.name == p.name] for p in published},
        sections=sections,
        ignored=results.ignored,
        rows=_rows([results.by_ref[ref] for ref in used if ref in results.by_ref]),
    )


def _svg(figure: Figure) -> Markup:
    return Markup(figures.inline(figure.write("svg"), f"svg-{figure.name}-{figure.kind}"))


def _rows_behind(sections: Sequence[Section], *tables: Table) -> list[str]:
    refs = [ref for section in sections for ref in section.rows] + [ref for table in tables for ref in table.rows]
    return list(dict.fromkeys(refs))


def _rows(entries: Sequence[Entry]) -> Table:
    """The appendix of the page: a line for each row that one of its numbers was made from."""
    heads = ["row", "system", "cell", "status", "latency, ms", "rounds", "verified", "commit", "started", "flags", "command"]
    table = Table("rows", "The rows behind the numbers", heads)
    for entry in entries:
        record, own = entry.record, (entry.ref,)
        latency = quantity(entry.summary.median * 1e3, own) if entry.ok else Value("", None, own)
        rounds = quantity(float(entry.summary.rounds), own) if entry.ok else Value("", None, own)
        values = [
            Value(entry.ref, None, own),
            Value(entry.label),
            Value(overview.cell(entry)),
            Value(str(record["status"])),
            latency,
            rounds,
        ]
        values += [quantity(float(record["verified"].get("n", 0)), own, digits=6), Value(str(record.get("commit") or ""))]
        values += [Value(str(record["started"])), Value("; ".join(entry.flags)), Value(overview.command(entry))]
        table.lines.append(Line(values))
    return table
