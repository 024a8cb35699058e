"""Writes the report's files: tables in three forms, figures in two with their numbers, the page, and the list of holes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.files import put
from bench.report import tables
from bench.report.section import Section
from bench.report.tables import Table


def write(folder: Path, sections: Sequence[Section], others: Sequence[Table], page: str) -> list[Path]:
    """Write `tables/<name>.md .tex .csv`, `figures/<name>.pdf .png .csv`, `report.html` and `missing.md` to `folder`, and
    return the paths. Files of tables and figures that these sections had in an earlier report, but no longer, are removed."""
    written = []
    for table in [*others, *(table for section in sections for table in section.tables)]:
        path = folder / "tables" / table.name
        for suffix, render in (("md", tables.markdown), ("tex", tables.latex), ("csv", tables.comma_separated)):
            written.append(put(path.with_name(f"{path.name}.{suffix}"), render(table).encode()))
    for section in sections:
        for figure in section.figures:
            path = folder / "figures" / figure.name
            written.append(put(path.with_name(f"{path.name}.pdf"), figure.write("pdf")))
            written.append(put(path.with_name(f"{path.name}.png"), figure.write("png")))
            written.append(put(path.with_name(f"{path.name}.csv"), figure.csv().encode()))
    written.append(put(folder / "missing.md", missing(sections).encode()))
    written.append(put(folder / "report.html", page.encode()))
    names = {section.experiment.name for section in sections}
    for old in [*(folder / "tables").glob("*"), *(folder / "figures").glob("*")]:
        if old.stem.removesuffix("-counts") in names and old not in written:
            old.unlink()
    return written


def missing(sections: Sequence[Section]) -> str:
    """The text of `missing.md`: the holes of all sections, with the commands that measure them."""
    lines = ["# What is missing", "", "What the experiments want and no row has. `scripts/reproduce` measures it.", ""]
    for section in sections:
        if section.holes:
            lines += [f"## {section.experiment.title}", ""]
            lines += [f"- {hole.what}" + (f"  \n  `{hole.command}`" if hole.command else "") for hole in section.holes]
            lines.append("")
    return "\n".join(lines)
