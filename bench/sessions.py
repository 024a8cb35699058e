"""Which stored rows are used, and which cells are measured again because others of their group are.

A ratio has an interval only where the two systems took turns in one session. So a group of cells is finished when one session
has measured all of its cells that can be measured; as soon as one cell needs measuring, the others are measured again with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from bench.status import Status
from bench.store import Record

APART = frozenset({"none", "apart"})  # values of `rerun` with which no cell is measured because of another one


def usable(row: Record, settings: Mapping[str, Any]) -> bool:
    """Whether the row was measured under these settings of `measure`. An old row that does not record them counts as no."""
    return row.get("measure_settings") == settings


class InSession(Protocol):
    """Something that was measured in a session; an old row names none (None)."""

    @property
    def session(self) -> str | None: ...


def in_one(a: InSession, b: InSession) -> bool:
    """Whether two rows were measured in one session. One that names no session was measured together with no other."""
    return a.session is not None and a.session == b.session


def together(usable: Mapping[str, Sequence[Record]]) -> dict[str, Record]:
    """The row to use for each cell, by id. `usable`: the rows of each cell of a group by its id, oldest first.

    A cell may be in several groups, each measured in a session of its own, and its newest row belongs to only one of them. So
    the rows are those of the newest session that has a row with status `ok` for each cell that can be finished (also if it
    measured other cells too); where there is no such session, the newest row of each cell."""
    newest = {cell_id: rows[-1] for cell_id, rows in usable.items() if rows}
    needed = [cell_id for cell_id, row in newest.items() if row["status"] == Status.OK]
    finished = [{row.get("session"): row for row in usable[cell_id] if row["status"] == Status.OK} for cell_id in needed]
    shared = set.intersection(*map(set, finished)) - {None} if finished else set()
    if not shared:
        return newest
    started = {session: max(str(rows[session].get("started")) for rows in finished) for session in shared}
    best = max(shared, key=lambda session: (started[session], session))
    return newest | {cell_id: rows[best] for cell_id, rows in zip(needed, finished, strict=True)}


def rivals(standing: Mapping[str, Record], todo: Sequence[str], latest_rows: Mapping[str, Record], rerun: str) -> set[str]:
    """The ids of the cells that have a usable row but are to be measured again, together with others. `standing`: the usable
    rows by cell id; `todo`: the ids of the cells that are measured anyway; `latest_rows`: the row of each cell that has one.

    A cell that was unavailable is always tried again, which alone is no reason to measure the others, unless what kept it from
    running was outside of it. Should it have become
    available, its new row has a session of its own, and the next command measures all of them together."""
    measured = {cell_id: row.get("session") for cell_id, row in standing.items() if row["status"] == Status.OK}
    if rerun in APART:
        return set()
    missing = [each for each in todo if each not in latest_rows or not _waits_for_a_package(latest_rows[each])]
    return set(measured) if missing or len(set(measured.values())) > 1 else set()


def _waits_for_a_package(row: Record) -> bool:
    return bool(row["status"] == Status.UNAVAILABLE and not row.get("again"))
