"""The forms of tables, published values, and colours of systems."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from bench.report import paper, style
from bench.report.tables import (
    APART,
    FLAGGED,
    SAME,
    Line,
    Table,
    Value,
    comma_separated,
    latex,
    markdown,
    quantity,
    spelled,
    with_interval,
)


@pytest.fixture
def table() -> Table:
    body = [
        Line([Value("a_b & c|d"), with_interval(12.3456, 12.2, 12.5, ("x:s",), (FLAGGED,))]),
        Line([Value("50 % {y}"), with_interval(2.0, float("nan"), float("nan"), ("y:s", "z:s"), (APART, SAME))]),
        Line([Value("mean"), quantity(5.0)], total=True),
    ]
    return Table("name", "Title & more", ["what", "latency, ms"], body, ["A note."])


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (12.3456, "12.3"),
        (1234.5, "1,230"),
        (0.012345, "0.0123"),
        (9.999, "10.00"),
        (-3.14159, "-3.14"),
        (1e-9, "1.00e-09"),
    ],
)
def test_numbers_are_spelled_as_by_hand(number: float, text: str) -> None:
    assert spelled(number) == text


def test_markdown_has_marks_explained_and_bars_escaped(table: Table) -> None:
    text = markdown(table)
    assert "| a_b & c\\|d | 12.3 ±1.2%† |" in text and "| **mean** | **5.00** |" in text
    assert "| 50 % {y} | 2.00‡≈ |" in text and "- A note." in text
    for mark in (FLAGGED, APART, SAME):
        assert f"- {mark} " in text


def test_latex_is_booktabs_with_everything_escaped(table: Table) -> None:
    text = latex(table)
    assert "\\toprule" in text and "\\midrule" in text and "\\bottomrule" in text and "\\begin{tabular}{lr}" in text
    assert "a\\_b \\& c|d & 12.3 $\\pm$1.2\\%$\\dagger$ \\\\" in text and "50 \\% \\{y\\}" in text
    assert text.index("\\midrule", text.index("50")) < text.index("mean"), "a rule before the means"
    assert not [c for c in text if ord(c) > 126], "plain TeX, whatever the engine"


def test_csv_has_full_precision_and_the_rows(table: Table) -> None:
    head, first, second, _ = csv.reader(io.StringIO(comma_separated(table)))
    assert head == ["what", "latency, ms", "marks", "rows"]
    assert first[1] == "12.3456" and first[3] == "x:s" and second[3] == "y:s z:s" and "different sessions" in second[2]


def test_published_values_need_a_source_and_a_place_or_the_words_that_there_is_none(tmp_path: Path) -> None:
    good = {
        "what": "w",
        "value": 2,
        "unit": "times",
        "page": None,
        "table": None,
        "place": "abstract",
        "source": "u",
        "note": "not confirmed",
    }
    told = {"name": "n", "paper": "p", "values": [good]}
    path = tmp_path / "p.json"
    path.write_text(json.dumps(told))
    (value,) = paper.load(tmp_path)
    assert value.value == 2 and "not confirmed" in value.sentence and value.name == "p"
    for broken in ({"note": "from memory"}, {"source": ""}, {"value": "2"}):
        path.write_text(json.dumps(told | {"values": [good | broken]}))
        with pytest.raises(paper.InvalidPaper, match=r"p\.json: values\[0\]"):
            paper.load(tmp_path)
    path.write_text(json.dumps(told | {"values": [{"what": "w"}]}))
    with pytest.raises(paper.InvalidPaper, match="lacks value"):
        paper.load(tmp_path)


def test_the_published_values_of_the_project_are_whole() -> None:
    values = paper.load(Path(__file__).parents[3] / "results" / "paper")
    assert {(v.name, v.value) for v in values} >= {("acrobat", 8.5), ("cortex", 14.0), ("jitbatch", 6.25)}


def test_systems_keep_their_colours_and_no_two_share_one() -> None:
    names = ["ACRoBat", "ACRoBat, no load-time work", "DyNet", "something else"]
    found = style.palette(names)
    assert found["ACRoBat"] == style.SYSTEMS["acrobat"] and found["DyNet"] == style.SYSTEMS["dynet"]
    assert len(set(found.values())) == len(names)
