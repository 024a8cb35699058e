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
