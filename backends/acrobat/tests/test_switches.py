"""Each switch off alone, and switches off together: what is computed stays the same.

ROWS is a covering array: any two switches take all four combinations of on and off in some row. All of
them run on each of three models; switches that leave a program as it is share its build.
"""

from __future__ import annotations

from dataclasses import fields
from itertools import combinations, product
from typing import Any

import pytest
import torch

from backends.acrobat.options import Options
from backends.acrobat.tests.support import assert_same, draw, eager, edges, tiny

SWITCHES = [f.name for f in fields(Options) if f.type == "bool"]


def covering() -> list[tuple[bool, ...]]:
    """Rows added greedily until every pair of switches has every combination."""
    wanted = {(i, j, a, b) for i, j in combinations(range(len(SWITCHES)), 2) for a, b in product((False, True), repeat=2)}
    rows = []
    while wanted:
        best = max(
            product((False, True), repeat=len(SWITCHES)),
            key=lambda row: sum((i, j, row[i], row[j]) in wanted for i, j in combinations(range(len(row)), 2)),
        )
        wanted -= {(i, j, best[i], best[j]) for i, j in combinations(range(len(best)), 2)}
        rows.append(best)
    return rows


ROWS = covering()
ALONE = [tuple(name != off for name in SWITCHES) for off in SWITCHES]


def switched(row: tuple[bool, ...]) -> Options:
    on: dict[str, Any] = dict(zip(SWITCHES, row, strict=True))
    return Options(**on)


def title(row: tuple[bool, ...]) -> str:
    return "-".join(name for name, on in zip(SWITCHES, row, strict=True) if not on) or "all on"


@pytest.mark.parametrize("row", dict.fromkeys([*ALONE, *ROWS]), ids=title)
@pytest.mark.parametrize("name", ["treelstm", "mvrnn", "birnn"])
def test_outputs_stay(built: Any, name: str, row: tuple[bool, ...]) -> None:
    executable = built(name, options=switched(row))
    instances = [*draw(name, 5), *edges(name)]
    want = eager(tiny(name, torch.float64), instances)
    assert_same(executable(instances), want)
    assert_same(executable(instances[:1]), want[:1])


def test_gathering_costs_bytes_only_when_it_is_asked_for(built: Any) -> None:
    instances = draw("treelstm", 5)
    fused, copied = built("treelstm"), built("treelstm", options=Options(gather_fusion=False))
    fused(instances)
    copied(instances)
    assert fused.counters()["gathered_bytes"] == 0 < copied.counters()["gathered_bytes"]
    assert fused.folder == copied.folder
