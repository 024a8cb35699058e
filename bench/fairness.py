"""What the table adds to the headline so that it is not misread: the ratio of variants that do all their work inside the clock,
and what each system ran on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench import columns
from bench.campaign import Row
from bench.columns import Column
from bench.facts import describe
from bench.record import label

NO_LOAD_TIME = "no load-time work"


def load_time(row: Row) -> str:
    """The names of the work that the backend did while loading and that other systems do inside the clock; empty if there is no
    such work, or none is known."""
    return str(row.record.get("ran", {}).get("load_time", ""))


def same_work(variants: Sequence[Column]) -> Mapping[str, Column]:
    """By backend the fastest variant that does all its work inside the clock; a backend without such a variant is left out."""
    return {c.name: c for c in columns.fastest_variants([c for c in variants if not load_time(c.row)])}


def differs(shown: Sequence[Column]) -> bool:
    """Whether any of the columns did work while loading that other systems do inside the clock."""
    return any(load_time(column.row) for column in shown)


def notes(variants: Sequence[Column], shown: Sequence[Column]) -> list[str]:
    """The lines below the table: what each system ran on, and what the ratio without load-time work compares."""
    lines = []
    for column in shown:
        ran = describe(column.row.record.get("ran", {}))
        if ran:
            threads = column.row.cell.threads
            lines.append(
                f"{column.name}: {ran}" + (f" of the {threads} asked for" if columns.ran_on_fewer(column.row) else "") + "."
            )
    if differs(shown):
        within = same_work(variants)
        at_load = [f"{c.name} ({load_time(c.row)})" for c in shown if load_time(c.row)]
        names = ", ".join(label(c.row.cell) for c in within.values())
        compares = f" '{NO_LOAD_TIME}' compares {names}." if within else ""
        lines.append(f"Done while loading, which others do inside the clock: {', '.join(at_load)}.{compares}")
        for column in shown:
            if column.name not in within:
                lines.append(
                    f"{column.name}: no variant without load-time work was measured "
                    f"(backend.{column.row.cell.backend.name}.tables=both)"
                )
    return lines
