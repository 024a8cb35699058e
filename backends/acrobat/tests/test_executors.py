"""Inline depth, dataflow depth, the agenda and learned policies compute the same in different batches."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from backends.acrobat.options import Executor, Options
from backends.acrobat.tests.support import MOST, assert_same, draw, eager, edges, tiny

OTHERS: list[Executor] = ["dataflow", "agenda", "learned"]


@pytest.mark.parametrize("executor", OTHERS)
@pytest.mark.parametrize("name", MOST)
def test_outputs_are_eagers(built: Any, name: str, executor: Executor) -> None:
    executable = built(name, options=Options(executor=executor), policy_trials=100)
    model = tiny(name, torch.float64)
    for instances in (draw(name, 6), edges(name), draw(name, 1)):
        want = eager(model, instances)
        for _ in range(2):
            assert_same(executable(instances), want)


@pytest.mark.parametrize("executor", OTHERS)
@pytest.mark.parametrize("name", MOST)
def test_the_same_work_in_other_batches(built: Any, name: str, executor: Executor) -> None:
    instances = draw(name, 6)
    counters = []
    for each in ("inline", executor):
        executable = built(name, options=Options(executor=each), policy_trials=100)
        executable(instances)
        counters.append(executable.counters())
    inline, other = counters
    for same in ("nodes", "waits", "executions", "product_flops", "tensor_bytes"):
        assert other[same] == inline[same], same
    assert 0 < other["batches"] <= other["nodes"]


def rows(executable: Any, instances: list[Any], kernel: str) -> list[int]:
    return [n for _, _, name, n in executable.schedule(instances) if kernel in name]


class TestNestedRNN:
    """Its inner loops have different lengths (reference schedule A6), so by depth alone the work after them does not batch."""

    def batches(self, built: Any, **options: Any) -> float:
        executable = built("nestedrnn", options=Options(**options))
        executable(draw("nestedrnn", 6))
        return float(executable.counters()["batches"])

    def test_depth_spreads_and_agenda_gathers(self, built: Any) -> None:
        spread = self.batches(built, ghosts=False)
        assert self.batches(built, executor="dataflow") == spread
        assert self.batches(built, executor="agenda") < spread

    def test_segments_gather_as_the_agenda_does(self, built: Any) -> None:
        assert self.batches(built) == self.batches(built, executor="agenda")

    def test_every_round_of_the_outer_loop_is_one_batch_of_all_that_still_run(self, built: Any) -> None:
        instances = draw("nestedrnn", 6)
        executable = built("nestedrnn")
        nodes = [len(x) for x in executable(instances)]
        emits = rows(executable, instances, "emit")
        assert emits == [sum(n > i for n in nodes) for i in range(max(nodes))]


def test_the_agenda_waits_for_units_that_lie_higher(built: Any) -> None:
    """Without phases, depth runs the tagger's classifier right after each sentence. The agenda runs it last, as one batch,
    because its average depth is the largest."""
    sentences = [[1], [1, 2, 3], [1, 2, 3, 4, 5, 6]]
    depth = built("birnn", options=Options(phases=False))
    agenda = built("birnn", options=Options(phases=False, executor="agenda"))
    assert sorted(rows(depth, sentences, "classify") or rows(depth, sentences, "argmax")) == [1, 3, 6]
    assert (rows(agenda, sentences, "classify") or rows(agenda, sentences, "argmax")) == [10]


def test_the_compiler_takes_dataflow_where_inline_depth_keeps_work_apart(built: Any) -> None:
    """In a grid every cell depends on its upper and its left neighbour, so dataflow makes one batch of cells for each
    anti-diagonal, and inline depth, with one depth for a whole row, one for each cell of the largest grid. The work before and
    after the cells takes equally many batches."""
    grids = [[[1] * 4] * 5, [[2] * 3] * 4]
    batches = {}
    for executor in ("auto", "dataflow", "inline"):
        executable = built("dagrnn", options=Options(executor=executor))
        executable(grids)
        batches[executor] = executable.counters()["batches"]
        assert executable.executor == ("dataflow" if executor == "auto" else executor)
    others = batches["auto"] - (4 + 5 - 1)
    assert batches == {"auto": 8 + others, "dataflow": 8 + others, "inline": 20 + others}
    assert built("birnn").executor == "inline"
