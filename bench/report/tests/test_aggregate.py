"""Ratios, geometric means and their significance."""

from __future__ import annotations

import math

import pytest

from bench import stats
from bench.report.aggregate import compare, fastest, geometric_mean
from bench.report.entries import Entry
from bench.report.tests.synthetic import row
from bench.report.tests.test_entries import cell


def entry(name: str, latency_ms: float, session: str = "s", **how: object) -> Entry:
    return Entry(row(cell(name), latency_ms, session, **how))  # type: ignore[arg-type]


def test_within_a_session_the_ratio_is_that_of_the_rounds_with_its_interval() -> None:
    a, b = entry("a", 20.0), entry("b", 10.0)
    found = compare(a, b)
    assert found is not None and found.together and found.verdict == "faster"
    assert found.ratio == stats.ratio(a.rounds, b.rounds)
    assert found.ratio.low < 2.0 < found.ratio.high and found.rows == (a.ref, b.ref)
    back = compare(b, a)
    assert back is not None and back.verdict == "slower"


def test_of_different_sessions_there_is_a_ratio_without_an_interval_and_it_is_said() -> None:
    found = compare(entry("a", 20.0), entry("b", 10.0, "other"))
    assert found is not None and found.verdict == "different sessions"
    assert found.ratio.value == pytest.approx(2.0, rel=0.02) and not found.ratio.has_interval


def test_no_significant_difference_is_said() -> None:
    found = compare(entry("a", 10.0, noise=0.05), entry("b", 10.0, noise=0.05))
    assert found is not None and found.verdict == "no significant difference"
    few = compare(entry("a", 10.0, rounds=3), entry("b", 5.0, rounds=3))
    assert few is not None and few.verdict == "too few rounds"


def test_what_has_not_finished_has_no_ratio_and_is_not_the_fastest() -> None:
    failed = entry("a", 1.0, status="failed")
    assert compare(failed, entry("b", 2.0)) is None and compare(entry("b", 2.0), failed) is None
    assert fastest([failed]) is None
    slow, quick = entry("b", 2.0), entry("c", 1.0)
    assert fastest([slow, failed, quick]) is quick and fastest([quick, slow]) is quick


def test_a_geometric_mean_is_over_what_all_have_finished_and_counts_the_rest() -> None:
    ratios = [compare(entry(f"a{t}", t), entry("b", 1.0)) for t in (2.0, 8.0)]
    mean = geometric_mean([*ratios, None])
    assert mean is not None and mean.value == pytest.approx(4.0, rel=0.02)
    assert (mean.count, mean.left_out, mean.apart) == (2, 1, 0) and mean.significant
    assert mean.low < mean.value < mean.high and len(mean.rows) == 3, "the rows of b are one"
    widths = [math.log(r.ratio.high / r.ratio.low) for r in ratios if r is not None]
    assert math.log(mean.high / mean.low) == pytest.approx(math.hypot(*widths) / 2, rel=0.01)
    assert geometric_mean([None, None]) is None


def test_a_mean_with_a_ratio_of_different_sessions_has_no_interval() -> None:
    mean = geometric_mean([compare(entry("a", 2.0), entry("b", 1.0)), compare(entry("a", 2.0), entry("b", 1.0, "other"))])
    assert mean is not None and mean.apart == 1 and not mean.has_interval and not mean.significant
