"""The index of which backend runs which workload, where what is known is not asked again, and the list that shows it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from bench import list as matrix
from bench import support
from bench.cell import Part
from bench.status import Exit
from bench.tests.conftest import cell


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    return tmp_path / "cache"


def test_what_a_run_learns_the_list_knows(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {"backend": {"cheat": cell("refuses").backend}, "workload": {"toy": cell().workload}}
    monkeypatch.setattr(matrix, "parts", lambda group, device: parts[group])
    asked: list[str] = []

    def survey(backend: Part, workloads: list[Part], device: str) -> dict[str, str | None]:
        asked.extend(each.name for each in workloads)
        return {each.name: "unsupported: asked" for each in workloads}

    monkeypatch.setattr(matrix, "survey", survey)
    index = support.Index()
    support.learn(index, cell("refuses"), "unsupported", "only square things")
    index.keep()
    assert matrix.matrix("cpu")[1] == {"toy": {"cheat": "unsupported: only square things"}}
    assert asked == []
    assert matrix.matrix("cpu", fresh=True)[1] == {"toy": {"cheat": "unsupported: asked"}}
    assert asked == ["toy"]
    assert matrix.matrix("cpu")[1] == {"toy": {"cheat": "unsupported: asked"}} and asked == ["toy"]
    assert matrix.matrix("cuda")[1]["toy"]["cheat"] and asked == ["toy", "toy"], "another device is another question"


def test_a_change_of_sources_is_not_asked_about_but_told(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {"backend": {"cheat": cell("refuses").backend}, "workload": {"toy": cell().workload}}
    monkeypatch.setattr(matrix, "parts", lambda group, device: parts[group])
    said: dict[str, str | None] = {}

    def survey(backend: Part, workloads: list[Part], device: str) -> dict[str, str | None]:
        return {each.name: said[each.name] for each in workloads}

    monkeypatch.setattr(matrix, "survey", survey)
    versions = iter(range(100))

    def change() -> None:
        version = str(next(versions))
        monkeypatch.setattr(support, "software", lambda cell: {"torch": version})

    for reason in (None, "unsupported: too square"):
        change()
        said["toy"] = reason
        assert matrix.matrix("cpu", fresh=True)[1:] == ({"toy": {"cheat": reason}}, [])
        said["toy"] = "unsupported: asked"
        assert matrix.matrix("cpu")[1:] == ({"toy": {"cheat": reason}}, [])
        change()
        assert matrix.matrix("cpu")[1:] == ({"toy": {"cheat": reason}}, ["cheat"])
    assert matrix.matrix("cpu", fresh=True)[1:] == ({"toy": {"cheat": "unsupported: asked"}}, [])
    (cache / "support.json").unlink()
    said["toy"] = "unavailable: not installed"
    assert matrix.matrix("cpu")[1:] == ({"toy": {"cheat": "unavailable: not installed"}}, [])
    change()
    said["toy"] = None
    assert matrix.matrix("cpu")[1:] == ({"toy": {"cheat": None}}, []), "it may have been installed by now"


def test_other_sources_options_and_software_are_other_questions(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = cell()
    known = support.key(made.backend, made.workload, "cpu")
    assert support.key(made.backend, made.workload, "cpu") == known
    assert support.key(replace(made.backend, options={"how": "refuses", "note": ""}), made.workload, "cpu") != known
    monkeypatch.setattr(support, "software", lambda cell: {"torch": "9.9"})
    assert support.key(made.backend, made.workload, "cpu") != known


def test_failures_are_asked_again_and_a_damaged_index_is_an_empty_one(cache: Path) -> None:
    index = support.Index()
    for name, reason in (("a", None), ("b", "failed: once"), ("c", "unavailable: not installed")):
        index.learn(name, reason)
    index.keep()
    again = support.Index()
    assert "a" in again and "b" not in again and again.reason("c") == "unavailable: not installed"
    (cache / "support.json").write_text("{")
    assert "a" not in support.Index()


class Known:
    """In place of `matrix.matrix`: notes what is asked, and knows of three workloads what three backends can do."""

    def __init__(self, earlier: list[str]) -> None:
        self.earlier = earlier
        self.asked: list[tuple[str, bool]] = []

    def __call__(self, device: str, fresh: bool = False) -> tuple[list[str], dict[str, dict[str, str | None]], list[str]]:
        self.asked.append((device, fresh))
        square = "unsupported: only square things"
        rows: dict[str, dict[str, str | None]] = {
            "toy": {"able": None, "square": square, "gone": "unavailable: not installed"},
            "tower": {"able": None, "square": square, "gone": "unavailable: not installed"},
            "brick": {"able": None, "square": None, "gone": "unavailable: not installed"},
        }
        return ["able", "square", "gone"], rows, self.earlier


def listed(monkeypatch: pytest.MonkeyPatch, earlier: list[str], *arguments: str) -> Known:
    known = Known(earlier)
    monkeypatch.setattr(matrix, "matrix", known)
    monkeypatch.setattr("sys.argv", ["bench.list", *arguments])
    matrix.main()
    return known


def test_the_list_is_a_table_with_the_reasons_below(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert listed(monkeypatch, []).asked == [("cpu", False)]
    lines = capsys.readouterr().out.splitlines()
    rows = {words[0]: words[1:] for line in lines if len(words := re.findall(r"\w+", line)) == 4}
    assert rows["toy"] == rows["tower"] == ["yes", "unsupported", "unavailable"]
    assert rows["brick"] == ["yes", "yes", "unavailable"]
    assert lines[0].strip() == "workload x backend, cpu"
    assert lines[-2:] == ["square: unsupported: only square things (toy, tower)", "gone: unavailable: not installed"]


def test_the_list_tells_what_was_found_earlier(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(monkeypatch, ["able", "square"], "device=cuda", "fresh=true").asked == [("cuda", True)]
    told = capsys.readouterr().out
    assert "workload x backend, cuda" in told
    assert told.endswith("found before sources or software changed: able, square; fresh=true asks again\n")


@pytest.mark.parametrize("argument", ["device=tpu", "devise=cpu", "fresh=yes", "fresh", "workload=toy"])
def test_an_argument_that_the_list_does_not_have_is_refused(
    argument: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        listed(monkeypatch, [], argument)
    assert ended.value.code == Exit.CONFIG
    told = capsys.readouterr()
    assert told.err == f"error: '{argument}': only device=cpu or device=cuda, and fresh=true\n" and not told.out


def test_the_list_explains_itself_and_asks_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(monkeypatch, [], "--help").asked == []
    assert "fresh=true" in capsys.readouterr().out


def test_a_place_that_cannot_be_written_to_falls_back(cache: Path, tmp_path: Path) -> None:
    cache.write_text("a file where the folder should be")
    index = support.Index()
    index.learn("a", None)
    index.keep()
    assert "a" in support.Index()
    assert list((tmp_path / "temporary").rglob("support.json"))
