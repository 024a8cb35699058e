"""What mini-batches that a system has never seen say about its samples."""

from __future__ import annotations

from typing import Any

import pytest

from bench import fresh

MS = 1_000_000


def reply(first: list[tuple[float, float]], again: list[tuple[float, float]]) -> dict[str, Any]:
    """Of two new mini-batches the wall and the processor time of the first run and of two more, in ms; those before took 1."""
    known = [[[MS, MS]] * 3] * 2
    runs = [[[int(wall * MS), int(cpu * MS)] for wall, cpu in each] for each in (first, again)]
    return {"known": known, "first": runs[0], "again": [runs[1]] * 2}


@pytest.mark.parametrize(
    ("first", "again", "batch_size", "beyond_doubt"),
    [
        ([(1.0, 1.0)] * 2, [(1.0, 1.0)] * 2, 8, False),
        ([(30.0, 30.0)] * 2, [(30.0, 30.0)] * 2, 8, True),
        ([(30.0, 30.0)] * 2, [(30.0, 30.0)] * 2, 7, False),  # small ones differ much
        ([(30.0, 30.0)] * 2, [(10.0, 10.0)] * 2, 8, False),
        ([(30.0, 30.0)] * 2, [(1.0, 1.0)] * 2, 8, False),  # compiled for a new shape
        ([(90.0, 2.0)] * 2, [(90.0, 2.0)] * 2, 8, False),  # others have the machine
        ([(30.0, 30.0), (1.0, 1.0)], [(30.0, 30.0), (1.0, 1.0)], 8, False),  # one mini-batch is large
    ],
)
def test_beyond_doubt(
    first: list[tuple[float, float]], again: list[tuple[float, float]], batch_size: int, beyond_doubt: bool
) -> None:
    assert (fresh.overwhelming(reply(first, again), batch_size) is not None) is beyond_doubt


def test_flags() -> None:
    assert fresh.judge(reply([(1.0, 1.0)] * 2, [(1.0, 1.0)] * 2))[1] == []
    assert "the first time" in fresh.judge(reply([(9.0, 9.0)] * 2, [(1.0, 1.0)] * 2))[1][0]
    assert "9.0 times" in fresh.judge(reply([(9.0, 9.0)] * 2, [(9.0, 9.0)] * 2))[1][0]
