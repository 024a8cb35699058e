"""What a turn consists of, and when the rounds of a group end."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pytest

from bench import clock, stats, turns
from bench.config import Measure
from bench.contract import Compiled
from bench.tests.fakes import Applied, Toy
from bench.worker import Session

MEASURE = Measure(turn_s=0.1, timed_passes=5, min_rounds=5, max_rounds=30, budget_s=10.0, relative_ci=0.01)


@pytest.mark.parametrize(
    ("run_s", "minibatches", "turn"),
    [
        (0.025, 5, turns.Turn(5, 1, 1, 1)),  # a pass fills the turn: a single run is enough to warm up
        (0.004, 5, turns.Turn(5, 5, 5, 5)),
        (0.0002, 5, turns.Turn(5, 5, 100, 5)),  # of many short passes only the last are timed
        (1e-8, 5, turns.Turn(5, 5, turns.MOST_PASSES, 5)),
        (0.07, 5, turns.Turn(4, 1, 1, 1)),  # a slow cell leaves mini-batches out
        (0.19, 5, turns.Turn(2, 1, 1, 1)),
        (0.22, 5, turns.Turn(2, 2, 0, 0)),  # one pass is the resumed and the steady one
        (9.0, 5, turns.Turn(2, 2, 0, 0)),
        (9.0, 1, turns.Turn(1, 1, 0, 0)),
        (0.07, 1, turns.Turn(1, 1, 2, 2)),
    ],
)
def test_what_a_turn_consists_of(run_s: float, minibatches: int, turn: turns.Turn) -> None:
    assert turns.plan(run_s, minibatches, MEASURE) == turn


def test_all_cells_have_the_same_order_and_rounds_differ() -> None:
    assert turns.order(0, 3, 5) == turns.order(0, 3, 5)
    assert {tuple(turns.order(0, number, 5)) for number in range(20)} != {tuple(turns.order(0, 0, 5))}
    assert sorted(turns.order(1, 2, 7)) == list(range(7))
    assert len({tuple(turns.order(seed, 0, 5)) for seed in range(20)}) > 1


@pytest.mark.parametrize("runs", [1, 2, 4])
def test_what_a_slow_cell_leaves_out_it_runs_in_other_rounds(runs: int) -> None:
    for cycle in range(3):
        ran = [minibatch for number in range(5) for minibatch in turns.order(0, 5 * cycle + number, 5)[:runs]]
        assert Counter(ran) == dict.fromkeys(range(5), runs)


def test_a_turn_runs_every_mini_batch_in_every_pass_and_keeps_the_last() -> None:
    toy = Toy()
    ran: list[int] = []

    class Noting(Applied):
        def run(self, minibatch: Any) -> Any:
            ran.append(next(i for i, each in enumerate(session.minibatches) if each[0] is minibatch[0]))
            return super().run(minibatch)

    class Writer:
        """Returns the mini-batches whose outputs are handed over to be verified."""

        def write(self, outputs: list[tuple[int, Any]]) -> list[int]:
            return [minibatch for minibatch, _ in outputs]

    session = Session(Writer())  # type: ignore[arg-type]
    compiled: Compiled = Noting(toy.params("tiny", 0)["layer.weight"])
    session.compiled = compiled
    instances = toy.instances("tiny", 0, 6)
    session.minibatches = [instances[0:2], instances[2:4], instances[4:6]]
    reply = session.turn(order=[2, 0, 1], first=3, steady=4, timed=2)
    assert ran == [2, 0, 1] * 5
    assert [each.resumed for each in session.fetches] == [True] + [False] * 8
    assert reply["sample_pass"] == [0, 0, 0, 3, 3, 3, 4, 4, 4]
    assert len(reply["samples_s"]) == 9 and reply["settled_s"] > 0
    assert reply["outputs"] == [2, 0, 1] * 3, "every sample is verified"
    row: dict[str, Any] = {"samples_s": [], "sample_minibatch": [], "sample_round": [], "sample_pass": []}
    turns.keep(row, 7, [2, 0, 1], 3, reply)
    assert row["sample_minibatch"] == [2, 0, 1] * 3
    assert row["sample_round"] == [7] * 9
    ran.clear()
    reply = session.turn(order=[2, 0, 1], first=1, steady=2, timed=1)
    assert ran == [2, *[2, 0, 1] * 2]
    assert reply["sample_pass"] == [0, 2, 2, 2]
    turns.keep(row, 8, [2, 0, 1], 1, reply)
    assert row["sample_minibatch"][9:] == [2, 2, 0, 1]
    session.turn(order=[2, 0, 1], first=3, steady=0, timed=0)
    assert [each.resumed for each in session.fetches[9:]] == [True, *[False] * 6], "none of the only pass, and of warming up"


def test_the_steady_number_is_that_of_a_loop_and_the_resumed_one_that_of_a_run_after_a_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By a clock that stands still except in runs, between turns, and where the harness collects garbage or hands outputs over.
    A run that begins when the one before it has ended takes a microsecond for each layer, any other one three times as long."""
    now, ended = [0], [-1]

    class Cools(Applied):
        def run(self, minibatch: Any) -> Any:
            now[0] += layers(minibatch) * (1_000 if now[0] == ended[0] else 3_000)
            ended[0] = now[0]
            return super().run(minibatch)

    class Writer:
        def write(self, outputs: list[tuple[int, Any]]) -> list[int]:
            now[0] += 1_000_000
            return []

    def layers(minibatch: Any) -> int:
        return sum(each.times for each in minibatch)

    def collect() -> None:
        now[0] += 1_000_000

    monkeypatch.setattr("bench.worker.clock.sample", partial(clock.sample, now=lambda: now[0]))
    monkeypatch.setattr("bench.worker.gc.collect", collect)
    toy = Toy()
    instances = toy.instances("tiny", 0, 6)
    session = Session(Writer())  # type: ignore[arg-type]
    session.compiled = model = Cools(toy.params("tiny", 0)["layer.weight"])
    session.minibatches = [instances[0:2], instances[2:4], instances[4:6]]
    row: dict[str, Any] = {"samples_s": [], "sample_minibatch": [], "sample_round": [], "sample_pass": []}
    for number in range(6):
        now[0] += 50_000_000
        order = turns.order(0, number, 3)
        turns.keep(row, number, order, 3, session.turn(order=order, first=3, steady=4, timed=3))
    seconds = np.reshape(row["samples_s"], (6, 12))
    work = 1e-6 * np.reshape([layers(session.minibatches[i]) for i in row["sample_minibatch"]], (6, 12))
    np.testing.assert_allclose(seconds / work, [[3.0] + [1.0] * 11] * 6)
    start = now[0] = ended[0]
    for minibatch in session.minibatches * 10:
        model.run(minibatch)
    found = stats.summary(stats.rounds_of(row))
    assert found.median == pytest.approx(1e-9 * (now[0] - start) / 30)
    assert found.resumed == pytest.approx(3 * found.median)


@pytest.mark.parametrize("seconds", [[1.0, 2.0], [1.0, 2.0, float("nan")], [1.0, 2.0, 0.0], []])
def test_half_a_turn_is_refused(seconds: list[float]) -> None:
    row: dict[str, Any] = {"samples_s": [], "sample_minibatch": [], "sample_round": [], "sample_pass": []}
    with pytest.raises(ValueError, match="sample"):
        turns.keep(row, 0, [0, 1, 2], 3, {"samples_s": seconds, "sample_pass": [0] * len(seconds)})
    assert row["samples_s"] == []


def found(noise: float, rounds: int) -> stats.Rounds:
    steady = np.exp(np.random.default_rng(0).normal(0, noise, (rounds, 2)))
    number = np.arange(rounds)
    return stats.Rounds(number, np.arange(2), steady, steady[:, 0], 0 * number, steady.min(axis=0), steady.size)


def ends(noise: dict[str, float], spent_s: float = 0.0, late: bool = False, **settings: Any) -> tuple[int, str]:
    rule = turns.StopRule(Measure(**{"relative_ci": 0.01, "budget_s": 10.0, **settings}), len(noise))
    for rounds in range(1, 100):
        reason = rule.look({name: found(each, rounds) for name, each in noise.items()}, rounds, spent_s * rounds, late)
        if reason is not None:
            return rounds, reason
    raise AssertionError("no end")


def test_a_group_ends_when_every_interval_is_narrow_twice() -> None:
    assert ends({"a": 1e-4, "b": 1e-4}) == (15, "interval")


def test_one_wide_interval_keeps_all_going() -> None:
    assert ends({"a": 1e-4, "b": 0.2}) == (30, "rounds")


def test_the_budget_is_for_each_cell_and_never_ends_before_the_fewest_rounds() -> None:
    assert ends({"a": 0.2, "b": 0.2}, spent_s=2.0) == (10, "budget")
    assert ends({"a": 0.2, "b": 0.2}, spent_s=60.0) == (5, "budget")
    assert ends({"a": 0.2}, late=True) == (5, "limit")
