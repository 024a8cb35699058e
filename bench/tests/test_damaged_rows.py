"""A stored row with any one value damaged is measured again, or can be judged and shown: it never ends the command."""

from __future__ import annotations

import copy
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import bench
from bench import record, table
from bench.campaign import Row, _roomier, to_be_measured
from bench.config import Config
from bench.software import changes
from bench.store import Record
from bench.tests.conftest import QUICK, STRICT, cell

DROPPED = object()
PATH = tuple[Any, ...]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Record:
    return bench.run(cell(), QUICK, STRICT, tmp_path_factory.mktemp("results"))


def paths(value: Any, path: PATH = ()) -> Iterator[PATH]:
    """The places of a row: all keys, and the first element of each list."""
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from paths(value[key], (*path, key))
    elif isinstance(value, list) and value:
        yield from paths(value[0], (*path, 0))


def damaged(row: Record, path: PATH, value: Any) -> Record:
    made = copy.deepcopy(row)
    inner: Any = made
    for key in path[:-1]:
        inner = inner[key]
    if value is DROPPED:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return made


@pytest.mark.parametrize(
    "value", ["x", None, [1], -1, 10**400, DROPPED], ids=["text", "null", "list", "negative", "huge", "dropped"]
)
def test_no_damaged_value_ends_the_command(value: Any, sound: Record) -> None:
    assert record.whole(sound)
    shown = 0
    for path in paths(sound):
        row = damaged(sound, path, value)
        if path == ("id",) or not record.whole(row):  # the store itself skips lines without an id
            continue
        try:
            to_be_measured(row, changes(row["software"], {"torch": "2"}), "stale", _roomier(row, Config()))
            table.show([Row(cell(), row, earlier=True)], Console(file=io.StringIO(), width=100), Path("results"))
        except Exception as error:
            raise AssertionError(f"{path} = {value!r}") from error
        shown += 1
    assert shown, "the damage that matters to nobody is not refused"
