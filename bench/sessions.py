"""Which stored rows may stand, and which cells have to be measured again because their rivals are.

A ratio has an interval only where the two systems took turns in one session. So a group of cells is finished when one session
has measured all of it that can be measured, and as soon as one cell needs measuring its rivals are measured again with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.status import Status
from bench.store import Record

APART = frozenset({"none", "apart"})  # values of `rerun` that leave a row alone whatever happens to its rivals


def usable(row: Record, settings: Mapping[str, Any]) -> bool:
    """Was the row measured under these settings of `measure`? One of before rows told is not known to have been."""
    return row.get("measure_settings") == settings


def together(usable: Mapping[str, Sequence[Record]]) -> dict[str, Record]:
    """Of each cell the row that may stand. `usable`: the rows of each cell of a group by its id, oldest first.

    A cell may be in several groups, each measured in a session of its own: the newest row of the cell then belongs to one group
    alone. So a group stands on the newest session that has finished all of its cells which can be finished, other cells beside
    them or not; where there is no such session, on the newest rows."""
    newest = {cell_id: rows[-1] for cell_id, rows in usable.items() if rows}
    needed = [cell_id for cell_id, row in newest.items() if row["status"] == Status.OK]
    finished = [{row.get("session"): row for row in usable[cell_id] if row["status"] == Status.OK} for cell_id in needed]
    shared = set.intersection(*map(set, finished)) - {None} if finished else set()
    if not shared:
        return newest
    started = {session: max(str(rows[session].get("started")) for rows in finished) for session in shared}
    best = max(shared, key=lambda session: (started[session], session))
    return newest | {cell_id: rows[best] for cell_id, rows in zip(needed, finished, strict=True)}


def rivals(standing: Mapping[str, Record], todo: Sequence[str], known: Mapping[str, Record], rerun: str) -> set[str]:
    """The ids of the cells whose rows would stand, but have to be measured again. `standing`: those rows by id, `todo`: the ids
    of the cells that are measured anyway, `known`: the newest rows of the cells that have one.

    A cell that was unavailable is always asked again, which is no reason to measure the others: should it have become
    available, its row is of a session of its own, and the next command measures all of them together."""
    measured = {cell_id: row.get("session") for cell_id, row in standing.items() if row["status"] == Status.OK}
    if rerun in APART:
        return set()
    missing = [each for each in todo if each not in known or known[each]["status"] != Status.UNAVAILABLE]
    return set(measured) if missing or len(set(measured.values())) > 1 else set()
