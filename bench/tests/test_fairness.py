"""The second ratio, without load-time work, and what the table says each system ran on."""

from __future__ import annotations

import re
from typing import Any

from bench.campaign import Row
from bench.tests.test_table import row, shown


def with_facts(made: Row, **ran: Any) -> Row:
    made.record["ran"] = ran
    return made


def rows() -> list[Row]:
    """Acrobat takes 1 ms with tables and 2 without, DyNet 4 without and 3 with."""
    return [
        with_facts(row("acrobat", 0.001, seed=1, label=1), library="kernels", threads=1, load_time="tables"),
        with_facts(row("acrobat", 0.002, seed=2, label=2), library="kernels", threads=1, load_time=""),
        with_facts(row("dynet", 0.004, seed=3), instructions_seen={"avx2": 48}, library="Eigen", threads=1, load_time=""),
        with_facts(row("dynet", 0.003, seed=4, label=4), library="Eigen", threads=1, load_time="tables"),
    ]


def numbers(text: str, line: str) -> list[float]:
    """The numbers in the first line of the table that begins with `line`."""
    found = next(each for each in text.splitlines() if each.strip().startswith(line))
    return [float(number) for number in re.findall(r"\d+\.\d+", found.replace(line, "", 1))]


def test_two_ratios_one_of_them_without_load_time_work() -> None:
    text = shown(rows(), 120)
    anything = numbers(text, "times faster than dynet")
    assert 2.9 < max(anything) < 3.1
    assert min(anything) == 1.0
    without = numbers(text, "no load-time work")
    assert 1.95 < max(without) < 2.05
    assert min(without) == 1.0
    assert "Done while loading, which others do inside the clock: acrobat (tables), dynet (tables)." in text
    assert "'no load-time work' compares acrobat label=2, dynet." in text


def test_one_ratio_where_nothing_was_done_while_loading() -> None:
    text = shown([each for each in rows() if not each.record["ran"]["load_time"]], 120)
    assert "load-time" not in text
    assert "Done while loading" not in text


def test_a_backend_without_such_a_variant_has_no_second_ratio() -> None:
    text = shown([rows()[0], rows()[2]], 120)
    assert len(numbers(text, "no load-time work")) == 1
    assert "acrobat: no variant without load-time work was measured (backend.acrobat.tables=both)" in text


def test_nothing_is_compared_where_every_system_did_work_while_loading() -> None:
    text = shown([rows()[0]], 120)
    assert "Done while loading, which others do inside the clock: acrobat (tables).\n" in text
    assert "compares" not in text


def test_what_ran_is_a_line_for_each_system() -> None:
    text = shown([rows()[1], rows()[2]], 120)
    assert "dynet: AVX2, Eigen, 1 thread." in text
    assert "acrobat: kernels, 1 thread." in text


def test_fewer_threads_than_asked_for_stand_in_the_head() -> None:
    asked = [with_facts(row("dynet", 0.004), threads=1), with_facts(row("acrobat", 0.001), threads=2)]
    for each in asked:
        object.__setattr__(each.cell, "threads", 2)
    text = shown(asked, 120)
    head = text[: text.index("latency")]
    assert head.count("(1 thread)") == 1
    assert "dynet: 1 thread of the 2 asked for." in text
    assert "(1 thread)" not in shown([rows()[1], rows()[2]], 120)


def test_rows_that_know_nothing_are_shown_as_they_are() -> None:
    bare = [row("dynet", 0.004), row("acrobat", 0.001)]
    for each in bare:
        del each.record["ran"]
    text = shown(bare, 120)
    assert "load-time" not in text
    assert "thread)" not in text
