"""Outputs stay the same for every workload with each switch off alone, and with several switches off together.

ROWS is a covering array: any two switches take all four combinations of on and off in some row. Interpreted host code and the
agenda are columns of it too. Settings that give the same program share a build.

The finished programs of each workload are run by the reference interpreter under all settings, which costs little. Compiled
code, where each build takes seconds, is run for every row on some workloads, for every workload on some rows, and with each
switch off alone that code generation or the runtime reads; `scripts/exhaustive` runs the rest.
"""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import combinations, islice
from typing import Any

import pytest
import torch

from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.printer import print_program
from backends.acrobat.options import CHOICES, SWITCHES, Options
from backends.acrobat.passes.tests.test_meaning import assert_same as same_meaning
from backends.acrobat.pipeline import optimise
from backends.acrobat.tests.support import LONG, MOST, NAMES, assert_same, draw, eager, edges, exhaustive, tiny

OTHERS = {"aot": {"codegen": "vm"}, "depth": {"executor": "agenda"}}
COLUMNS = [*SWITCHES, *OTHERS]
"""The columns of the covering array: the switches, and `aot` and `depth`, which are off if `OTHERS` replaces them."""


def covering() -> list[tuple[bool, ...]]:
    """Kleitman and Spencer's construction: in one row all columns are off; each column is on in 4 of the other 7 rows, a
    different set for each column. Two different sets of 4 of 7 intersect, and neither contains the other."""
    columns = list(islice(combinations(range(7), 4), len(COLUMNS)))
    assert len(columns) == len(COLUMNS), "eight rows cover thirty-five switches"
    return [(False,) * len(columns), *(tuple(row in column for column in columns) for row in range(7))]


ROWS = covering()
ALONE = [tuple(name != off for name in COLUMNS) for off in COLUMNS]
OF_PASSES = {
    *("specialise", "tables", "invariants", "constant_work", "fold_sums", "horizontal", "vertical", "coarsen"),
}
"""Switches that only passes read."""
FAST = ("-O1", "-foptimize-sibling-calls")


def switched(row: tuple[bool, ...]) -> Options:
    on = dict(zip(COLUMNS, row, strict=True))
    changes: dict[str, Any] = {name: on[name] for name in SWITCHES}
    for name, instead in OTHERS.items():
        changes |= {} if on[name] else instead
    return replace(Options(), **changes)


@pytest.mark.parametrize(
    ("name", "wrong", "values"),
    [
        ("executor", "x", "auto, inline, dataflow, agenda, learned"),
        ("codegen", "jit", "aot, vm"),
        ("kernels", "vendr", "generated, vendor"),
        ("launch", "many", "walk, launches"),
        ("precision", "fp16", "fp32, tf32, bf16"),
        ("isa", "sse2", "native, avx2, avx512"),
    ],
)
def test_a_value_that_an_option_does_not_have_is_refused(name: str, wrong: str, values: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}='{wrong}': .* one of {values}$"):
        replace(Options(), **{name: wrong})  # type: ignore[arg-type]


def test_all_options_of_a_few_values_are_checked() -> None:
    assert {f.name for f in fields(Options)} == {*CHOICES} | {f.name for f in fields(Options) if f.type in ("bool", "int")}


def title(row: tuple[bool, ...]) -> str:
    return "-".join(name for name, on in zip(COLUMNS, row, strict=True) if not on) or "all on"


def test_any_two_switches_take_all_four_combinations() -> None:
    for i, j in combinations(range(len(COLUMNS)), 2):
        assert {(row[i], row[j]) for row in ROWS} == {(a, b) for a in (False, True) for b in (False, True)}


def check(executable: Any, name: str) -> None:
    instances = [*draw(name, 5), *edges(name)]
    want = eager(tiny(name, torch.float64), instances)
    assert_same(executable(instances), want)
    assert_same(executable(instances[:1]), want[:1])


@pytest.mark.parametrize("name", MOST)
def test_programs_keep_their_meaning(name: str) -> None:
    program, instances = build(tiny(name)), draw(name, 2)
    want = [Interpreter(program).run(instance) for instance in instances]
    seen: set[str] = set()
    for row in [*ROWS, *(row for row, off in zip(ALONE, COLUMNS, strict=True) if off in OF_PASSES)]:
        finished = optimise(program, switched(row))
        text = print_program(finished)
        if text not in seen:
            seen.add(text)
            for instance, answer in zip(instances, want, strict=True):
                same_meaning(Interpreter(finished).run(instance), answer)
    assert len(seen) > 2, "the switches change the program"


def some_rows() -> list[Any]:
    """Each row with each workload. All but three rows of each workload, others for each, and the long workloads are marked for
    `scripts/exhaustive`."""
    every = [(i, j) for i in range(len(NAMES)) for j in range(len(ROWS))]
    kept = [(i, j) for i, j in every if (j - i) % len(ROWS) < 3 and NAMES[i] not in LONG]
    assert min(sum(row == j for _, row in kept) for j in range(len(ROWS))) >= 3
    return [
        pytest.param(NAMES[i], ROWS[j], id=f"{NAMES[i]}, {title(ROWS[j])}", marks=() if (i, j) in kept else exhaustive)
        for i, j in every
    ]


@pytest.mark.parametrize(("name", "row"), some_rows())
def test_outputs_stay(built: Any, name: str, row: tuple[bool, ...]) -> None:
    check(built(name, options=switched(row), flags=FAST), name)


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=title(row), marks=exhaustive if off in OF_PASSES else ())
        for row, off in zip(ALONE, COLUMNS, strict=True)
    ],
)
@pytest.mark.parametrize("name", ["treelstm", "birnn", "drnn"])
def test_outputs_stay_with_one_off(built: Any, name: str, row: tuple[bool, ...]) -> None:
    check(built(name, options=switched(row), flags=FAST), name)


def test_gathering_costs_bytes_only_when_it_is_asked_for(built: Any) -> None:
    instances = draw("treelstm", 5)
    fused, copied = built("treelstm"), built("treelstm", options=Options(gather_fusion=False))
    fused(instances)
    copied(instances)
    assert fused.counters()["gathered_bytes"] == 0 < copied.counters()["gathered_bytes"]
    assert fused.folder == copied.folder
