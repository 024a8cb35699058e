"""Ghost operators, segments and deferred work make batches wider; models may have deep and many waits."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.options import Options
from backends.acrobat.tests.models import DeepWaits, LongTails, Unequal, WideWaits
from backends.acrobat.tests.support import assert_same, draw

TAILED = [[1] * waits + [0] * 6 for waits in range(1, 6)]
SEQUENCES = [[1, 1, 1, 1], [10, 1, 10, 1], [1, 10, 10, 10], [10, 10, 10, 10], [1, 1, 10, 1]]


def answers(module: nn.Module, instances: list[Any]) -> list[Any]:
    double = copy.deepcopy(module).double()
    with torch.inference_mode():
        return [double(x) for x in instances]


class TestUnequalBranches:
    def schedules(self, **options: Any) -> tuple[list[list[int]], Any]:
        torch.manual_seed(0)
        module = Unequal()
        executable = compile(module, options=Options(coarsen=False, **options), checked=True)
        want = answers(module, SEQUENCES)
        assert_same(executable(SEQUENCES), want)
        levels: dict[int, list[int]] = {}
        for _, depth, _, n in executable.schedule(SEQUENCES):
            levels.setdefault(depth, []).append(n)
        return [levels[d] for d in sorted(levels)], executable

    def test_every_step_ends_with_one_batch_of_all(self) -> None:
        """The long arm has three levels. The short arm's only level is padded to the last of them; then all five are mixed."""
        levels, _ = self.schedules()
        high = [sum(s[i] > 9 for s in SEQUENCES) for i in range(4)]
        assert levels == [rows for n in high for rows in ([n], [n], [5], [5])]

    def test_the_interpreter_pads_too(self) -> None:
        assert self.schedules(codegen="vm")[0] == self.schedules()[0]

    def test_without_ghosts_they_drift_apart(self) -> None:
        _, with_ghosts = self.schedules()
        _, without = self.schedules(ghosts=False)
        assert without.counters()["batches"] > 1.5 * with_ghosts.counters()["batches"]
        assert without.counters()["nodes"] == with_ghosts.counters()["nodes"]


class TestDeferredWork:
    """Each instance waits several times and then records a tail of six steps that it does not wait for."""

    def run(self, **options: Any) -> tuple[list[int], Any]:
        torch.manual_seed(0)
        module = LongTails()
        executable = compile(module, options=Options(**options), checked=True)
        want = answers(module, TAILED)
        assert_same(executable(TAILED), want)
        assert_same(executable(TAILED[::-1]), want[::-1])
        schedule = executable.schedule(TAILED)
        return [n for _, _, kernel, n in schedule if kernel == schedule[-1][2]], executable.counters()

    def test_tails_meet(self) -> None:
        """A round has two levels, a step and a score, so tails begin two levels apart, and three of them overlap at a time."""
        tails, deferred = self.run()
        assert tails == [1, 1, 2, 2, 3, 3, 3, 3, 3, 3, 2, 2, 1, 1]
        alone, at_once = self.run(defer=False)
        assert alone == [1] * 30
        assert deferred["batches"] == at_once["batches"] - len(alone) + len(tails)
        for counter in ("nodes", "waits", "executions"):
            assert deferred[counter] == at_once[counter]

    def test_tails_longer_than_all_rounds(self) -> None:
        """The runtime has to remove finished levels from its tables several times."""
        torch.manual_seed(0)
        module = LongTails()
        deferring, at_once = (compile(module, options=Options(defer=defer), checked=True) for defer in (True, False))
        instances = [[1] * 150, [1] + [0] * 700, [1] * 40 + [0] * 90 + [1] * 40, [0] * 500, [1, 0] * 100]
        want = answers(module, instances)
        assert_same(deferring(instances), want)
        assert_same(at_once(instances), want)
        assert deferring.counters()["batches"] < 0.75 * at_once.counters()["batches"]

    def test_the_interpreter_defers_too(self) -> None:
        tails, counters = self.run()
        interpreted, same = self.run(codegen="vm")
        assert interpreted == tails
        assert same["batches"] == counters["batches"]


def test_phases_widen_the_taggers_classifier(built: Any) -> None:
    sentences = [[1] * n for n in (3, 1, 4, 1, 5, 9, 2, 6)]

    def widths(phases: bool) -> list[int]:
        schedule = built("birnn", options=Options(phases=phases)).schedule(sentences)
        last = schedule[-1][2]
        return [n for _, _, kernel, n in schedule if kernel == last]

    assert widths(True) == [sum(map(len, sentences))]
    assert sorted(widths(False)) == sorted({n: n * [len(s) for s in sentences].count(n) for n in map(len, sentences)}.values())


@pytest.mark.parametrize("threads", [1, 2])
def test_five_thousand_waiting_calls(threads: int) -> None:
    torch.manual_seed(0)
    module = DeepWaits()
    executable = compile(module, threads=threads)
    instances = [5000, 3, 0, 4999]
    got = executable(instances)
    counters = executable.counters()
    assert counters["executions"] == 5000 + 1
    assert counters["waits"] == sum(instances)
    small = [3, 0]
    assert_same(executable(small), answers(module, small))
    assert [count for _, count in got][1:3] == [count for _, count in executable(small)]
    assert 0 <= got[3][1] <= got[0][1] <= 5000


def test_ten_thousand_waiting_children() -> None:
    torch.manual_seed(0)
    module = WideWaits()
    executable = compile(module)
    numbers = [[i % 7 - 3 for i in range(10_000)], [], [2]]
    got = executable(numbers)
    counters = executable.counters()
    assert counters["executions"] == 3 and counters["waits"] == 2 * 10_001
    of_one = [executable([[n]])[0][0] for n in range(-3, 4)]
    assert got == [[of_one[i % 7] for i in range(10_000)], [], [of_one[5]]]


def test_waiting_children_wait_together(built: Any) -> None:
    """The mini-batch takes as many executions as the instance that takes the most alone."""
    instances = draw("drnn", 6)
    executable = built("drnn")
    alone = []
    for instance in instances:
        executable([instance])
        alone.append(executable.counters()["executions"])
    executable(instances)
    assert executable.counters()["executions"] == max(alone)
