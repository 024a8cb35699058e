"""Remarks that several rows have in common."""

from __future__ import annotations

from bench.campaign import Row
from bench.remarks import merged
from bench.tests.test_table import row, shown


def variants() -> list[Row]:
    return [*(row("dynet", 0.004, autobatch=n) for n in (1, 2, 3)), row("pytorch", 0.008)]


def test_the_same_of_all_variants_is_said_once_by_the_name_of_the_backend() -> None:
    rows = variants()
    assert merged([(each, "not installed") for each in rows[:3]], rows) == ["dynet (all variants): not installed"]
    assert merged([(each, "not installed") for each in rows], rows) == ["dynet (all variants), pytorch: not installed"]


def test_some_of_the_variants_are_named() -> None:
    rows = variants()
    (said,) = merged([(each, "crashed") for each in rows[:2]], rows)
    assert said == "dynet autobatch=1, dynet autobatch=2: crashed"


def test_numbers_that_differ_are_a_range() -> None:
    rows = variants()
    texts = ("other processes used 1.8 cores", "other processes used 0.25 cores", "other processes used 1.8 cores")
    (said,) = merged(list(zip(rows[: len(texts)], texts, strict=True)), rows)
    assert said == "dynet (all variants): other processes used 0.25 to 1.8 cores"


def test_names_dates_and_paths_are_no_numbers() -> None:
    rows = variants()
    texts = ("failed: no libdynet.so.2  log: m/logs/12ab-1.log", "failed: no libdynet.so.3  log: m/logs/34cd-2.log")
    assert len(merged(list(zip(rows[: len(texts)], texts, strict=True)), rows)) == 2
    dates = ("measured earlier, 2026-01-02T10:00:00+00:00", "measured earlier, 2026-01-03T10:00:00+00:00")
    assert len(merged(list(zip(rows[: len(dates)], dates, strict=True)), rows)) == 2


def test_different_things_stay_apart() -> None:
    rows = variants()
    assert merged([(rows[0], "a"), (rows[3], "b"), (rows[0], "b")], rows) == [
        "dynet autobatch=1: a",
        "pytorch, dynet autobatch=1: b",
    ]


def test_in_the_table() -> None:
    rows = variants()
    for i, each in enumerate(rows):
        each.record["flags"] = [f"the clock moved by {3 + i} %"]
    text = shown(rows, 200)
    assert text.count("the clock moved") == 1
    assert "dynet (all variants), pytorch: the clock moved by 3 to 6 %" in text
