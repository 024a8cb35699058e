"""`python -m bench.compare`: ratios, verdicts, exit codes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench.compare import Verdict, main
from bench.report.tests import synthetic
from bench.report.tests.synthetic import row
from bench.report.tests.test_entries import cell


def folder(path: Path, latencies: Mapping[str, float], session: str, **how: Any) -> str:
    return str(synthetic.write(path, [row(cell(name), ms, session, **how) for name, ms in latencies.items()]))


@pytest.fixture
def before(tmp_path: Path) -> str:
    return folder(tmp_path / "a", {"x": 10.0, "y": 20.0}, "s1")


@pytest.mark.parametrize(
    ("after", "code"),
    [
        ({"x": 10.0, "y": 20.0}, Verdict.SAME),
        ({"x": 10.2, "y": 20.0}, Verdict.SAME),  # less than the least difference
        ({"x": 5.0, "y": 20.0}, Verdict.BETTER),
        ({"x": 5.0, "y": 30.0}, Verdict.WORSE),
        ({"z": 1.0}, Verdict.NOTHING),
    ],
)
def test_each_verdict_has_its_exit_code(before: str, tmp_path: Path, after: Mapping[str, float], code: Verdict) -> None:
    assert main([before, folder(tmp_path / "b", after, "s2", seed=1)]) == code


@pytest.mark.parametrize(
    ("status", "code"), [("wrong", Verdict.WRONG), ("timeout", Verdict.WORSE), ("unavailable", Verdict.SAME)]
)
def test_what_finished_before_and_does_not_now(before: str, tmp_path: Path, status: str, code: Verdict) -> None:
    rows = [row(cell("x"), 10.0, "s2", seed=1), row(cell("y"), session="s2", status=status)]
    assert main([before, str(synthetic.write(tmp_path / "b", rows))]) == code


def test_the_codes_are_distinct_and_the_documented_ones() -> None:
    from bench import compare

    assert compare.__doc__ is not None and len({*Verdict}) == 6
    for name, code in (("better", 10), ("worse", 11), ("wrong", 12), ("nothing compared", 4), ("refused", 2)):
        assert f"{code} " in compare.__doc__ and name in compare.__doc__


def test_what_is_compared_is_told(before: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([before, folder(tmp_path / "b", {"x": 5.0, "z": 1.0}, "s2", seed=1)])
    out = capsys.readouterr().out
    assert "1 cells compared; 1 only in A, 1 only in B" in out
    assert "geometric mean of A / B over 1 cells: 2.0" in out and "different sessions" in out and "verdict: better" in out
    assert "different machines: a and b" in out


def test_rows_of_one_session_are_compared_round_by_round(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Noise that both rows share leaves the interval of their ratio narrow in one session, but not between sessions."""
    a = folder(tmp_path / "a", {"x": 10.0}, "s", noise=0.2)
    main([a, folder(tmp_path / "b", {"x": 9.0}, "s", noise=0.2)])
    assert "different sessions" not in capsys.readouterr().out
    assert main([a, folder(tmp_path / "b", {"x": 9.0}, "other", noise=0.2, seed=3)]) == Verdict.SAME


def test_a_commit_chooses_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row(cell("x"), 10.0, "s1", commit="aaa111"), row(cell("x"), 5.0, "s2", seed=1, commit="bbb222")]
    synthetic.write(tmp_path / "m", rows)
    assert main(["m@aaa", "m@bbb", "--results", str(tmp_path)]) == Verdict.BETTER
    assert main(["m@bbb", "m@aaa", "--results", str(tmp_path)]) == Verdict.WORSE
    assert main(["m@ccc", "m", "--results", str(tmp_path)]) == Verdict.REFUSED
    assert "there are: bbb222, aaa111" in capsys.readouterr().err


def test_results_that_are_not_there_are_refused_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nothing", "nowhere", "--results", str(tmp_path)]) == Verdict.REFUSED
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["a", "b", "--least", "0.5"]) == Verdict.REFUSED
