"""Which rows make a curve, what is in it, and what is written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pytest

from bench.campaign import Row
from bench.cell import Cell, Part
from bench.report.curve import curves, draw
from bench.status import Status


class System:
    """A backend that consists of options only."""

    def __init__(
        self,
        target: Any,
        trials: int | Literal["curve"] = 0,
        guided: bool = True,
        strategy: Literal["best", 1, 2, 3] = "best",
        scale: float = 1.0,
    ) -> None: ...


def row(milliseconds: float, status: Status = Status.OK, name: str = "system", repeats: int = 6, **options: Any) -> Row:
    usual: Mapping[str, Any] = {"trials": 0, "guided": True, "strategy": "best", "scale": 1.0}
    backend = Part(name, f"{__name__}.System", {**usual, **options})
    cell = Cell(Part("toy", "bench.tests.fakes.Toy", {}), backend, "tiny", 4)
    seconds = [milliseconds / 1e3 * (1 + 0.01 * k) for k in range(repeats)]
    samples = {
        "samples_s": seconds,
        "sample_minibatch": [0] * repeats,
        "sample_round": [*range(repeats)],
        "sample_pass": [0] * repeats,
    }
    return Row(cell, {"status": status, **samples})


def test_points_are_by_the_number_and_lines_by_the_rest() -> None:
    rows = [row(10 - t / 8 - g, trials=t, guided=g) for t in (16, 0, 8) for g in (True, False)]
    (found,) = curves(rows).items()
    option, points = found
    assert option == "trials"
    guided = [p for p in points if p["line"] == "system, guided=True"]
    assert [p["trials"] for p in guided] == [0, 8, 16]
    assert [p["median_ms"] for p in guided] == pytest.approx([9 * 1.025, 8 * 1.025, 7 * 1.025])
    assert all(p["low_ms"] <= p["median_ms"] <= p["high_ms"] for p in points)
    assert len(points) == 6


def test_what_failed_is_no_point() -> None:
    rows = [row(1.0, trials=0), row(1.0, Status.FAILED, trials=8), row(2.0, trials=16), row(2.0, trials=32)]
    assert [p["trials"] for p in curves(rows)["trials"]] == [0, 16, 32]


@pytest.mark.parametrize(
    "rows",
    [
        [row(1.0)],
        [row(1.0, strategy=n) for n in (1, 2, 3)],
        [row(1.0, guided=g) for g in (True, False)],
        [row(1.0, name="a"), row(2.0, name="b", trials=8)],
        [row(1.0, trials=t) for t in (0, 64)],
        [row(1.0, Status.FAILED, trials=n) for n in (1, 2, 3)],
    ],
    ids=["one", "numbers that are names", "a switch", "two systems", "two values", "none measured"],
)
def test_other_variants_make_no_curve(rows: list[Row], tmp_path: Path) -> None:
    assert curves(rows) == {}
    assert draw(rows, tmp_path / "figures") == []
    assert not (tmp_path / "figures").exists()


def test_the_option_with_most_values_is_the_axis() -> None:
    rows = [row(1.0, trials=t, scale=s) for t in (0, 8, 16) for s in (1.0, 2.0)]
    assert {p["line"] for p in curves(rows)["trials"]} == {"system, scale=1.0", "system, scale=2.0"}


def test_figures_and_their_numbers_are_written(tmp_path: Path) -> None:
    rows = [row(10 - t / 8, trials=t, guided=g) for t in (0, 8) for g in (True, False)]
    rows.append(row(3.0, trials=16, guided=True, repeats=1))  # too few samples for an interval
    written = draw(rows, tmp_path / "figures")
    assert [p.name for p in written] == [f"toy-tiny-4-trials.{kind}" for kind in ("png", "pdf", "csv")]
    assert written[0].read_bytes()[:4] == b"\x89PNG" and written[1].read_bytes()[:4] == b"%PDF"
    frame = pd.read_csv(written[2])
    assert list(frame.columns) == ["backend", "trials", "line", "median_ms", "low_ms", "high_ms", "samples"]
    assert frame["low_ms"].isna().sum() == 1 and len(frame) == 5
    before = written[1].read_bytes()
    assert draw(rows, tmp_path / "figures")[1].read_bytes() == before, "equal numbers, equal files"
