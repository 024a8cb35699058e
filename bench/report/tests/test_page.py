"""The report as a whole: every number can be traced to rows, holes are named, and the page works in a browser."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from bench import stats
from bench.report import __main__ as report
from bench.report import entries, experiments, overview, views
from bench.report.tests import synthetic

SHOWN = ("fair", "vm", "tuning", "properties", "roofline", "breakdown", "energy")
LARGEST = 5_000_000  # bytes
CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with made-up results of one workload of each kind, and their report."""
    root = tmp_path_factory.mktemp("results")
    _, kept = synthetic.everything(SHOWN, lambda c: c.workload.name in ("treelstm", "birnn", "nestedrnn") and c.size == "small")
    gone = {"status": "oom", "why": "no memory <left>", "samples_s": []}
    kept = [r | gone if (r["workload"], r["backend"], r["batch_size"]) == ("birnn", "dynet", 8) else r for r in kept]
    for row in kept:
        if row["backend"] == "acrobat" and row["batch_size"] == 64:
            row["flags"] = ["other processes used 1.5 cores"]
    made = synthetic.write(root / "made-up", kept)
    assert report.main(["made-up", "--results", str(root), "--only", *SHOWN]) == 0
    return made


class Numbers(HTMLParser):
    """Reads the cells of the page's tables that have references: for each its table, column, number, references and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[dict[str, Any]] = []
        self.heads: dict[str, list[str]] = {}
        self.table = self.inside = ""
        self.column, self.span = -1, 1
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "table":
            self.table = str(given.get("id")).removeprefix("table-")
            self.heads[self.table] = []
        if tag == "tr":
            self.column, self.span = -1, 1
        if tag == "td":
            self.column += self.span
            self.span = int(given.get("colspan") or 1)
            if "data-rows" in given:
                number = None if given.get("data-value") is None else float(str(given["data-value"]))
                rows = str(given["data-rows"]).split()
                self.found.append({"table": self.table, "column": self.column, "rows": rows, "text": "", "number": number})
        self.inside = tag

    def handle_data(self, data: str) -> None:
        if self.inside == "th":
            self.heads[self.table].append(data)
        elif self.inside == "td" and self.found:
            self.found[-1]["text"] += data

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return (folder / "report.html").read_text()


def test_ten_numbers_at_random_trace_to_rows(folder: Path, page: str) -> None:
    """Latencies and ratios on the page are equal to those computed here from the raw samples of the rows that they name."""
    rows = {entries.reference(r): r for r in map(json.loads, (folder / "cells.jsonl").read_text().splitlines())}
    numbers = Numbers(page)
    ours = [n for n in numbers.found if n["table"] in ("fair", "vm", "breakdown") and n["number"] is not None]
    names = r"(latency|DyNet|ahead of time|bytecode|equal|allowed), ms$"
    latencies = [n for n in ours if len(n["rows"]) == 1 and re.search(names, head(numbers, n))]
    ratios = [n for n in ours if len(n["rows"]) == 2 and "times faster" in head(numbers, n)]
    assert len(latencies) > 10 and len(ratios) > 10
    chosen = random.Random()
    for each in chosen.sample(latencies, 5):
        record = rows[each["rows"][0]]
        assert each["number"] == pytest.approx(stats.summary(stats.rounds_of(record)).median * 1e3), each
    for each in chosen.sample(ratios, 5):
        a, b = (stats.rounds_of(rows[ref]) for ref in each["rows"])
        found = stats.ratio(a, b)
        assert found is not None and each["number"] == pytest.approx(found.value), each
    assert {ref for n in numbers.found for ref in n["rows"]} <= set(rows), "no number names a row that there is not"
    assert all(n["rows"] for n in ours)


def head(numbers: Numbers, each: dict[str, Any]) -> str:
    return numbers.heads[each["table"]][each["column"]]


def test_every_number_of_a_comparison_names_its_rows(page: str) -> None:
    """Every number in a table names its rows, except those that are settings, such as the batch size."""
    cells = re.findall(r'<table class="sortable" id="table-(fair|vm|roofline|tuning)">(.*?)</table>', page, re.DOTALL)
    assert len(cells) == 4
    for name, body in cells:
        bare = re.findall(r'<td class="n" data-value="([^"]*)">', body)
        assert {float(value) for value in bare} <= {8.0, 64.0, 0.0, 16.0, 32.0, 128.0}, name


def test_what_failed_is_flagged_or_missing_is_said(folder: Path, page: str) -> None:
    table = (folder / "tables" / "fair.md").read_text()
    assert "| oom |" in table and "DyNet: oom: no memory <left> (birnn)" in table
    assert "5 left out" not in table and "(1 left out)" in table, "a mean is over the cells that all have finished"
    assert "†" in table and "something was noticed" in table
    assert "no memory &lt;left&gt;" in page and "backend=[dynet]" in page
    missing = (folder / "missing.md").read_text()
    assert "large" in missing and "`python -m bench experiment=breakdown workload=birnn size=large" in missing
    assert "the machine tells no energy" in missing


def test_a_table_is_there_in_every_form_and_a_figure_too(folder: Path) -> None:
    for name in ("fair", "vm", "breakdown", "tuning", "roofline"):
        assert {p.suffix for p in (folder / "tables").glob(f"{name}.*")} == {".md", ".tex", ".csv"}
        assert {p.suffix for p in (folder / "figures").glob(f"{name}.*")} == {".pdf", ".png", ".csv"}
    assert (folder / "figures" / "fair.png").read_bytes()[:4] == b"\x89PNG"
    assert (folder / "figures" / "fair.pdf").read_bytes()[:4] == b"%PDF"
    lines = (folder / "figures" / "tuning.csv").read_text().splitlines()
    # Two workloads, each with three ways to guide tuning at six numbers of trials, and with the default schedules.
    assert lines[0] == "panel,x,hue,y,low,high,rows" and len(lines) == 1 + 2 * (3 * 6 + 1)


def test_the_same_rows_give_the_same_files(folder: Path, tmp_path: Path) -> None:
    assert report.main(["made-up", "--results", str(folder.parent), "--only", "vm", "--out", str(tmp_path)]) == 0
    for name in ("figures/vm.pdf", "figures/vm.png", "figures/vm.csv", "tables/vm.tex"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name


def test_every_experiment_of_the_project_can_be_shown() -> None:
    """Also without any row, no experiment raises an error, and each section lists what is missing."""
    empty = entries.Results(Path("made-up"), machine=synthetic.MACHINE)
    found = experiments.read(empty)
    assert len(found) >= 19
    for experiment in found:
        section = views.show(experiment)
        assert section.holes and not section.tables and not section.figures, experiment.name
        assert experiment.report.get("title") and experiment.report.get("text"), experiment.name


def test_the_headline_is_about_the_compiler_and_not_about_what_stands_beside_it() -> None:
    results, _ = synthetic.everything(["dynet"], lambda c: c.workload.name == "birnn")
    sentences = overview.headline(experiments.read(results, names=["dynet"]))
    assert [sentence.text.partition(":")[0] for sentence in sentences] == ["ACRoBat", "ACRoBat, no load-time work"]


def test_an_experiment_at_another_size() -> None:
    empty = entries.Results(Path("made-up"), machine=synthetic.MACHINE)
    (found,) = experiments.read(empty, names=["executors"], overrides=["size=tiny", "workload=lattice,dagrnn"])
    assert [(group.key["workload"], group.key["size"]) for group in found.groups] == [("lattice", "tiny"), ("dagrnn", "tiny")]
    assert found.command == "python -m bench experiment=executors size=tiny workload=lattice,dagrnn"
    report._check("default", ["size=tiny", "workload=lattice,dagrnn"], empty)
    (refused,) = experiments.read(empty, names=["executors"], overrides=["sise=tiny"])
    assert "sise" in str(refused.refused)


def test_results_without_a_usable_row_are_said_to_be_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    synthetic.write(tmp_path / "old", [{"id": "1", "status": "ok"}])
    assert report.main(["old", "--results", str(tmp_path), "--only", "vm"]) == 4
    told = capsys.readouterr()
    assert "not used: 1 rows" in told.err and "There is no usable row" in told.out
    assert report.main(["none", "--results", str(tmp_path)]) == 2
    assert report.main(["old", "--results", str(tmp_path), "--only", "nothing"]) == 2
    assert "machines with results: old" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--measure", "nothing"], "--measure nothing: no row was measured under these settings; there are: default"),
        (["--given", "size"], "--given size: write OPTION=VALUE"),
        (["--given", "sise=tiny"], "--given sise=tiny: there is no 'sise' to set; did you mean 'size'?"),
        (["--given", "size=huge"], "--given size=huge: size=huge: one of tiny, small, large"),
    ],
)
def test_a_misspelt_argument_leaves_the_report_as_it_is(
    arguments: list[str], why: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert report.main(["made-up", "--results", str(folder.parent), "--only", "fair", *arguments]) == 2
    assert capsys.readouterr().err == f"error: {why}\n"
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_the_page_needs_nothing_else(page: str) -> None:
    assert len(page.encode()) < LARGEST
    assert not re.search(r"""(?:src|href)=["'](?!#|data:)""", page), "nothing is loaded from elsewhere"
    assert "@import" not in page and not re.search(r"url\((?!#|[\"']?#)", page)
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids)), "names of elements are unique, also across figures"


CHECKS = """<script>
const trouble = window.trouble;
const out = {};
const figures = [...document.querySelectorAll("figure svg")];
out.figures = figures.length;
const drawn = (s) => { const b = s.getBoundingClientRect(); return b.width > 50 && b.height > 50; };
out.drawn = figures.filter((s) => drawn(s) && s.querySelectorAll("path").length > 5).length;
const th = [...document.querySelectorAll("#table-vm th")].find((h) => h.textContent.includes("bytecode, ms"));
const lines = () => [...document.querySelectorAll("#table-vm tbody tr:not(.total)")];
const values = () => lines().map((r) => parseFloat(r.cells[th.cellIndex].dataset.value));
th.click(); out.ascending = values(); th.click(); out.descending = values();
out.last = document.querySelector("#table-vm tbody tr:last-child").className;
const ground = () => getComputedStyle(document.body).backgroundColor;
const ink = () => getComputedStyle(document.querySelector("figure svg text")).fill;
document.documentElement.dataset.theme = "light"; out.light = ground(); out.ink = ink();
document.getElementById("theme").click(); out.dark = ground(); out.darkink = ink();
document.querySelector("#table-vm td[data-rows]").click();
out.origin = document.querySelector("#origin").open && document.querySelectorAll("#origin li code").length;
document.querySelector("#origin").close();
out.wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
out.requests = performance.getEntriesByType("resource").map((r) => r.name).filter((n) => !n.startsWith("data:"));
out.trouble = trouble;
const pre = document.createElement("pre");
pre.id = "outcome"; pre.textContent = JSON.stringify(out); document.body.append(pre);
</script>"""
CATCH = '<script>window.trouble = []; addEventListener("error", (e) => trouble.push(e.message));</script>'


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium (Debian: apt-get install chromium)")
@pytest.mark.parametrize("size", ["1280,900", "390,844"], ids=["wide", "phone"])
def test_the_page_in_a_browser(page: str, tmp_path: Path, size: str) -> None:
    """The page opens without errors and requests, every figure is drawn, tables sort and keep means below, text has contrast in
    both themes, a click on a number shows its rows, and only tables scroll sideways."""
    checked = tmp_path / "page.html"
    checked.write_text(page.replace("<head>", f"<head>{CATCH}", 1).replace("</body>", f"{CHECKS}</body>"))
    out = browse(tmp_path, f"--window-size={size}", "--dump-dom", checked.as_uri())
    told = re.search(r'<pre id="outcome">(.*?)</pre>', out, re.DOTALL)
    assert told is not None, out[-2000:]
    found = json.loads(told.group(1).replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&"))
    assert found["trouble"] == [] and found["requests"] == []
    assert found["figures"] == found["drawn"] >= 5
    assert found["ascending"] == sorted(found["ascending"]) and found["descending"] == sorted(found["descending"], reverse=True)
    assert len(set(found["ascending"])) > 2 and found["last"] == "total"
    assert found["light"] != found["dark"]
    assert contrast(found["ink"], found["light"]) > 7 and contrast(found["darkink"], found["dark"]) > 7
    assert found["origin"] >= 1
    assert found["wide"] <= 0, "the page itself does not scroll sideways"


def browse(scratch: Path, *arguments: str) -> str:
    assert CHROMIUM is not None
    quiet = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
    ]
    quiet += [
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
        f"--user-data-dir={scratch / 'profile'}",
    ]
    return subprocess.run([CHROMIUM, *quiet, *arguments], capture_output=True, text=True, check=True, timeout=300).stdout


def contrast(a: str, b: str) -> float:
    """The contrast of two colours `rgb(r, g, b)` as WCAG 2 defines it, from 1 to 21; for text it demands 7 at most."""

    def luminance(colour: str) -> float:
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)
