"""What the table shows for made-up rows, and what it leaves out."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from bench import breakdown, columns, table
from bench.campaign import Row
from bench.cell import Cell, Part
from bench.status import Status


def row(
    name: str,
    seconds: float,
    session: str = "s1",
    *,
    rounds: int = 12,
    minibatches: int = 3,
    resumed: float = 1.5,
    noise: float = 0.01,
    seed: int = 0,
    earlier: bool = False,
    hours: float = 0.0,
    phases: dict[str, float] | None = None,
    **options: Any,
) -> Row:
    """A row whose steady latency is `seconds`."""
    random = np.random.default_rng(seed)
    samples = []
    for r in range(rounds):
        for p in range(3):
            for m in range(minibatches):
                samples.append((seconds * (resumed if p == 0 else 1.0) * np.exp(random.normal(0, noise)), m, r, p))
    columns_ = [list(each) for each in zip(*samples, strict=True)]
    cell = Cell(
        Part("toy", "bench.tests.fakes.Toy", {}),
        Part(name, "bench.tests.fakes.Honest", {"label": 0, "pace": "own", **options}),
        "tiny",
        4,
    )
    record = {
        **dict(zip(("samples_s", "sample_minibatch", "sample_round", "sample_pass"), columns_, strict=True)),
        "status": Status.OK, "session": session, "stop": "rounds", "flags": [], "breakdown": phases or {}, "counters": {},
        "started": (datetime.now(UTC) - timedelta(hours=hours)).isoformat(timespec="seconds"),
        "verified": {"n": 12, "max_rel": 1e-7, "max_abs": 1e-7}, "memory": {"peak_rss_bytes": 2**28},
        "cold": {"load_s": 1.0, "compile_s": 2.0, "first_s": 0.1}, "ran": {},
    }  # fmt: skip
    return Row(cell, record, earlier=earlier)


def shown(rows: Sequence[Row], width: int = 80) -> str:
    console = Console(width=width, file=io.StringIO())
    table.show(rows, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def line(text: str, name: str) -> list[str]:
    """The cells of the first line that begins with `name`."""
    found = next(each for each in text.splitlines() if each.strip().startswith(name))
    return re.split(r"\s{2,}", found.strip().removeprefix(name).strip())


def test_latency_and_ratio_agree_and_both_kinds_are_told() -> None:
    text = shown([row("dynet", 0.024, resumed=1.2), row("acrobat", 0.004, seed=1, resumed=3.0)])
    assert [float(each) for each in line(text, "latency ms, steady")] == pytest.approx([24, 4], rel=0.02)
    assert [float(each) for each in line(text, "latency ms, resumed")] == pytest.approx([28.8, 12], rel=0.03)
    assert [float(each) for each in line(text, "times faster than dynet")] == pytest.approx([1, 6], rel=0.02)
    assert float(line(text, "resumed")[1]) == pytest.approx(2.4, rel=0.03)
    assert "significant" not in text, "six times is"
    assert "not measured together" not in text


def test_six_systems_fit_eighty_columns() -> None:
    names = ("acrobat", "dynet", "pytorch", "cortex", "jitbatch", "handbatched")
    rows = [row(name, 0.01 * (i + 1), seed=i) for i, name in enumerate(names)]
    text = shown(rows)
    body = text.splitlines()
    assert max(len(each) for each in body) <= 80
    assert all(len(line(text, name)) == 6 for name in ("latency ms, steady", "instances / s, steady", "compile s"))
    assert len(line(text, "95 % interval")) == 6
    assert "…" not in text


@pytest.mark.parametrize("count", [8, 10])
def test_more_systems_fit_eighty_columns_in_several_tables(count: int) -> None:
    names = ("acrobat", "dynet", "pytorch", "cortex", "jitbatch", "handbatched", "dgl", "torchfold", "other", "another")[:count]
    rows = [row(name, 12.3456 * (i + 1), seed=i, tables=False) for i, name in enumerate(names)]
    text = shown(rows)
    assert max(len(each) for each in text.splitlines()) <= 80
    assert "…" not in text
    overview = [each.split() for each in text.partition("latency")[0].splitlines() if each.strip().startswith(names)][:count]
    assert [each[0] for each in overview] == list(names), "a line for each, the fastest first"
    assert [float(each) for each in overview[0][-2:]] == pytest.approx([count, 2], rel=0.02), "than the slowest, than dynet"
    assert text.count("latency ms, steady") >= 2
    assert sum(len(each.split()) - 3 for each in text.splitlines() if "latency ms, steady" in each) == count


def test_a_log_can_be_opened_from_where_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = row("dynet", 0.024)
    failed.record |= {"status": Status.FAILED, "why": "no such thing", "log": "machine/logs/a.log"}
    monkeypatch.chdir(tmp_path)
    console = Console(width=80, file=io.StringIO())
    table.show([failed], console, Path("results"))
    table.show([failed], console, Path("/elsewhere/results"))
    assert isinstance(console.file, io.StringIO)
    said = console.file.getvalue()
    assert "log: results/machine/logs/a.log" in said and "log: /elsewhere/results/machine/logs/a.log" in said


def test_variants_that_are_the_same_program_are_said_to_be() -> None:
    one, other = row("honest", 0.010), row("honest", 0.010, pace="slow")
    other.record |= {"samples_s": one.record["samples_s"], "same_as": one.cell.id}
    text = shown([one, other, row("dynet", 0.02, seed=2)], width=200)
    assert "honest is the same program as honest pace=slow here." in text
    assert "fastest of its variants" not in text


def test_rows_of_other_sessions_have_a_ratio_without_an_interval_and_their_age() -> None:
    text = shown([row("dynet", 0.024, "old", earlier=True, hours=11.2), row("acrobat", 0.004, seed=1)])
    assert "11 h ago" in text
    assert float(line(text, "times faster than dynet")[1]) == pytest.approx(6, rel=0.02)
    after = text[text.index("times faster than dynet") :].splitlines()[1]
    assert after.split() == ["95", "%", "interval", "apart"]
    assert "acrobat and dynet were not measured together" in text.replace("\n", " ")


def test_a_stale_row_enters_no_ratio() -> None:
    old = row("dynet", 0.024, earlier=True, hours=30.0)
    old.changed = ["sources"]
    text = shown([old, row("acrobat", 0.004, seed=1), row("pytorch", 0.1, seed=2)])
    assert "stale" in text
    assert "times faster than dynet" not in text
    assert len(line(text, "times faster than pytorch")) == 2


def test_equal_systems_are_said_not_to_differ() -> None:
    text = shown([row("dynet", 0.010), row("acrobat", 0.010, seed=1)])
    assert line(text, "significant") == ["no"]


def test_few_rounds_have_no_interval() -> None:
    text = shown([row("dynet", 0.020, rounds=4), row("acrobat", 0.010, rounds=4, seed=1)])
    assert line(text, "95 % interval") == ["too few", "too few"]


def test_fewer_mini_batches_are_marked() -> None:
    text = shown([row("dynet", 0.020, minibatches=2), row("acrobat", 0.010, seed=1)])
    assert line(text, "mini-batches") == ["2", "3"]
    assert "different mini-batches" in text.replace("\n", " ")
    assert "mini-batches" not in shown([row("dynet", 0.020), row("acrobat", 0.010, seed=1)])


def test_the_choice_among_equal_variants_is_said_to_favour() -> None:
    rows = [row("honest", 0.010), row("honest", 0.010, seed=3, pace="slow"), row("dynet", 0.02, seed=2)]
    text = shown(rows, width=200)
    assert "is the fastest of its variants" in text
    assert "not significantly faster than honest" in text
    clear = [row("honest", 0.010), row("honest", 0.015, seed=3, pace="slow"), row("dynet", 0.02, seed=2)]
    assert "not significantly faster" not in shown(clear, width=200)


def test_phases_and_the_rest_make_up_the_latency() -> None:
    text = shown([row("acrobat", 0.010, phases={"kernel": 6.0, "schedule": 1.0})])
    assert float(line(text, "rest ms")[0]) == pytest.approx(3.0, abs=0.1)


def test_times_of_a_turn_are_averaged_over_mini_batches_as_latencies_are() -> None:
    counters = [{"kernel_ms": t, "batches": b} for t, b in ((1.0, 4), (9.0, 8), (1.0, 4), (9.0, 8), (1.0, 4), (11.0, 8))]
    runs = list(zip([0, 1] * 3, counters, strict=True))
    assert breakdown.over_minibatches(runs) == {"kernel_ms": 5.0, "batches": 6.0}
    assert breakdown.over_minibatches(runs[:-1])["kernel_ms"] == 5.0, (
        "a mini-batch counts as much as another that ran more often"
    )


@pytest.mark.parametrize(
    ("hours", "text"), [(0, "just now"), (0.5, "30 min ago"), (11.2, "11 h ago"), (30, "30 h ago"), (100, "4 days ago")]
)
def test_age(hours: float, text: str) -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    assert columns.age((now - timedelta(hours=hours)).isoformat(), now) == text
