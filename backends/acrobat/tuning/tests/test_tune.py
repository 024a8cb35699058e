"""Tuning through `compile`: results stay right, measurements are used again, and each variant runs for its range of rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat import compiler
from backends.acrobat.benchmarks.models import instr, param
from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.cpu.emit import emit
from backends.acrobat.kernels.cpu.schedule import KernelSchedule, grid
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.kernels.cpu.tests.support import HERE
from backends.acrobat.kernels.cpu.tests.test_gemm import plain
from backends.acrobat.kernels.interface import Emitted, Variant
from backends.acrobat.options import Options
from backends.acrobat.tuning import measure, tune
from backends.acrobat.tuning.comparison import ScheduleWrong
from backends.acrobat.tuning.measure import Bench, calls_of
from backends.acrobat.tuning.search import Timing
from backends.acrobat.tuning.tune import largest_extent

compile = partial(compiler.compile, options=Options(tables=False))
"""Without tables, so that words are projected by a kernel, which can be tuned."""


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(9, 20)
        self.layer = nn.Linear(20, 64)
        self.step = nn.Linear(64, 64)
        self.first = nn.Parameter(torch.zeros(64))


class Words(Layers):
    """One kernel, which is launched once for all words of a mini-batch."""

    def forward(self, words: list[int]) -> list[Tensor]:
        return [torch.tanh(self.layer(self.table.weight[word])) for word in words]


class Chain(Layers):
    """A kernel with a row for each word of a mini-batch, and one launched for each position with a row for each instance."""

    def forward(self, words: list[int]) -> Tensor:
        h = self.first + 0.0
        for word in words:
            h = torch.sigmoid(self.step(h)) * torch.tanh(self.layer(self.table.weight[word]))
        return h


class Ending(Layers):
    """A product in a loop, and one after it."""

    def forward(self, words: list[int]) -> Tensor:
        h = self.first + 0.0
        for word in words:
            h = torch.sigmoid(self.step(h + float(word)))
        return torch.tanh(self.step(h))


class Twice(Layers):
    """Two kernels that use the same weight."""

    def forward(self, words: list[int]) -> list[tuple[Tensor, Tensor]]:
        return [
            (
                torch.tanh(self.layer(self.table.weight[w])),
                torch.sigmoid(self.layer(self.table.weight[w + 1])),
            )
            for w in words
        ]


def words(*lengths: int) -> list[list[int]]:
    return [[(i + j) % 9 for j in range(n)] for i, n in enumerate(lengths)]


def compare(executable: Any, model: nn.Module, instances: Sequence[list[int]]) -> None:
    with torch.inference_mode():
        for got, instance in zip(executable(instances), instances, strict=True):
            torch.testing.assert_close(got, model(instance), rtol=1e-4, atol=1e-5)


class Counting(Bench):
    """Counts measurements and times nothing: tiles of 1 to 3 rows are said to be fast for few rows, those of 6 for many."""

    made: ClassVar[list[tuple[str, tuple[int, ...]]]] = []
    measured = 0

    def __init__(
        self, kernel: Kernel, out_mode: Mode, target: CpuTarget, extents: Sequence[int], start: KernelSchedule | None = None
    ) -> None:
        self.extents = extents
        Counting.made.append((kernel.name, tuple(extents)))

    def baseline(self) -> dict[int, float]:
        return {rows: 1e-6 * rows for rows in self.extents}

    def measure(self, schedule: KernelSchedule) -> dict[int, Timing]:
        Counting.measured += 1
        few, many = schedule.rows <= 3, schedule.rows == 6
        return {rows: Timing(1e-6 * rows, 0.5 if (few if rows <= 4 else many) else 1.1) for rows in self.extents}


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> type[Counting]:
    monkeypatch.setattr(tune, "Bench", Counting)
    Counting.made, Counting.measured = [], 0
    return Counting


def test_a_tuned_model_is_right_and_tuned_once(tmp_path: Path, counting: type[Counting]) -> None:
    model, sample = Chain(), words(1, 2, 2, 3, 5, 9)
    executable = compile(model, tune=200, sample=sample, cache_folder=tmp_path, checked=True)
    schedules = [k["schedule"] for k in executable.manifest["kernels"].values()]
    assert any(s["rows"] == 6 for s in schedules) and any(s["rows"] <= 3 for s in schedules)
    assert "if (rows < " in executable.source.read_text()
    for lengths in ((1,), (2, 3), (3, 3, 3, 3), (4,) * 7, (2, 5, 1, 9, 3) * 4):
        compare(executable, model, words(*lengths))
    measured, made = counting.measured, list(counting.made)
    assert 0 < measured <= 200
    for trials in (200, 20, 1):
        again = compile(model, tune=trials, sample=sample, cache_folder=tmp_path)
        assert (again.folder == executable.folder) >= (trials == 200)
    assert (counting.measured, counting.made) == (measured, made), "no more than before: nothing new is measured"
    assert compile(model, cache_folder=tmp_path).folder != executable.folder


def test_trials_are_bounded_and_go_to_the_rows_that_occur(tmp_path: Path, counting: type[Counting]) -> None:
    model = Chain()
    compile(model, tune=5, sample=words(1, 2, 3), cache_folder=tmp_path)
    assert counting.measured == 5
    seen = dict(counting.made)
    untuned = compile(model, cache_folder=tmp_path)
    profile = untuned.profile(words(1, 2, 3))
    assert sorted(tuple(sorted(rows)) for rows in profile.values()) == sorted(seen.values())
    launches = untuned.schedule(words(1, 2, 3))
    assert sum(sum(counts.values()) for counts in profile.values()) == len(launches)
    assert {len(entry) for entry in launches} == {4}


def test_without_a_profile_all_kernels_are_tried_at_the_estimate(tmp_path: Path, counting: type[Counting]) -> None:
    compile(Chain(), tune=6, cache_folder=tmp_path)
    assert counting.measured == 6
    assert {extents for _, extents in counting.made} == {(tune.ESTIMATE,)}
    assert len({name for name, _ in counting.made}) == 2
    text = compile(Chain(), tune=400, cache_folder=tmp_path).source.read_text()
    assert "if (rows < " not in text, "one schedule serves all rows"


def test_static_weights_put_trials_into_loops(tmp_path: Path, counting: type[Counting]) -> None:
    """One product stands in the loop, the other after it. By static weights the first gets five times as many trials."""
    compile(Ending(), tune=12, guide="static", cache_folder=tmp_path)
    assert {extents for _, extents in counting.made} == {(tune.ESTIMATE,)}
    static = {json.loads(f.read_text())["schedules"].__len__() for f in (tmp_path / "tuning").iterdir()}
    assert static == {2, 10}


def test_untuned_kernels_are_plain_loops_and_tuning_finds_what_there_is(tmp_path: Path, counting: type[Counting]) -> None:
    model = Words()
    plain_loops = compile(model, untuned=True, cache_folder=tmp_path)
    (kernel,) = plain_loops.manifest["kernels"].values()
    assert (kernel["schedule"]["rows"], kernel["schedule"]["panels"]) == (1, 1)
    assert counting.measured == 0
    compare(plain_loops, model, words(1, 2, 7, 30))
    (usual,) = compile(model, cache_folder=tmp_path).manifest["kernels"].values()
    assert usual["schedule"]["rows"] > 1
    found = compile(model, untuned=True, tune=400, cache_folder=tmp_path)
    (tuned,) = found.manifest["kernels"].values()
    assert tuned["schedule"]["rows"] == 6, "what the measurements say is best"
    compare(found, model, words(1, 2, 7, 30))


def test_a_corrupt_file_is_measured_again(tmp_path: Path, counting: type[Counting]) -> None:
    compile(Words(), tune=3, cache_folder=tmp_path)
    (file,) = (tmp_path / "tuning").iterdir()
    file.write_text('{"format": 1')
    with pytest.warns(UserWarning, match=str(file)):
        compile(Words(), tune=3, cache_folder=tmp_path)
    assert counting.measured == 6
    assert len(json.loads(file.read_text())["schedules"]) == 3


def with_activation(kernel: Kernel, op: str) -> Kernel:
    return replace(kernel, body=tuple(replace(i, op=op) if i.op == "tanh" else i for i in kernel.body))


def test_the_variant_is_chosen_by_rows(tmp_path: Path) -> None:
    """Each variant computes another function, so that results show which one ran."""

    def variants(kernel: Kernel, out_mode: Mode, target: CpuTarget, *_: Any) -> tuple[Variant, ...]:
        made = emit(kernel, out_mode, target)
        found = [Variant(0, made)]
        for rows, op in ((3, "sigmoid"), (6, "relu")):
            # This target packs weights in another way, so each variant must be given the weights in its own packing.
            other: Emitted = emit(with_activation(kernel, op), out_mode, CpuTarget("x86-64-v3", 8))
            found.append(Variant(rows, other))
        return tuple(found)

    model = Words()
    executable = compile(model, cache_folder=tmp_path, emit=variants)
    assert len(executable.manifest["packed"]) == (4 if HERE.lanes == 16 else 2)
    for rows in (1, 2, 3, 5, 6, 7, 70):
        want = torch.tanh if rows < 3 else torch.sigmoid if rows < 6 else torch.relu
        ((instance),) = words(rows)
        with torch.inference_mode():
            for got, word in zip(executable([instance])[0], instance, strict=True):
                torch.testing.assert_close(got, want(model.layer(model.table.weight[word])), rtol=1e-4, atol=1e-5)


def test_equal_packings_are_one(tmp_path: Path) -> None:
    model = Twice()
    executable = compile(model, cache_folder=tmp_path)
    packed = [json.dumps(p, sort_keys=True) for p in executable.manifest["packed"]]
    assert len(packed) == len(set(packed))
    with torch.inference_mode():
        for got, want in zip(executable([[1, 4]])[0], model([1, 4]), strict=True):
            torch.testing.assert_close(got, want)


def test_a_profile_is_taken_with_the_policy_that_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Loaded(Exception):
        pass

    def load(program: Any, folder: Path, settings: Any) -> Any:
        assert (settings.policy_trials, settings.policy_seed, settings.cache_folder) == (3, 5, tmp_path)
        raise Loaded

    monkeypatch.setattr(compiler, "load", load)
    asked: dict[str, Any] = {"options": Options(executor="learned"), "policy_trials": 3, "policy_seed": 5}
    with pytest.raises(Loaded):
        compiler.compile(Words(), tune=1, sample=[[1]], cache_folder=tmp_path, **asked)


def test_turns_go_round_all_copies_where_that_is_soon_done() -> None:
    assert calls_of(1e-6, 64) == 300
    assert calls_of(20e-6, 64) == 64
    assert calls_of(1e-3, 64) == 3
    assert calls_of(1.0, 64) == calls_of(1.0, 1) == 1


@pytest.mark.parametrize(("shape", "largest"), [((256,), 128), ((128, 768), 6), ((1024, 1024), 1)], ids=str)
def test_long_calls_are_measured_at_few_rows(shape: tuple[int, ...], largest: int) -> None:
    width = shape[-1]
    weight, x = param("w", Mode.SHARED, width, width), param("x", Mode.GATHERED, *shape)
    kernel = Kernel("product", (weight, x), (instr("r", "linear", ("x", "w"), shape),), ("r",))
    assert largest_extent(kernel) == largest


def test_measuring_finds_quotients_and_checks_results(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = plain(16, 20)
    monkeypatch.setattr(measure, "TURN_S", 1e-6)
    monkeypatch.setattr(measure, "WEIGHT_CACHES", 0)
    bench = Bench(kernel, Mode.GATHERED, HERE, (1, 9))
    assert bench.baseline().keys() == {1, 9} and min(bench.baseline().values()) > 0
    candidates = grid(kernel, HERE, {1: 1.0, 9: 1.0})
    timings = bench.measure(candidates[0])
    assert timings.keys() == {1, 9} and min(t.ratio for t in timings.values()) > 0
    without = replace(kernel, body=tuple(replace(i, args=i.args[:2]) for i in kernel.body))
    wrong = emit(without, Mode.GATHERED, HERE)
    monkeypatch.setattr(measure, "emit", lambda *_: replace(wrong, packs=emit(kernel, Mode.GATHERED, HERE).packs))
    with pytest.raises(ScheduleWrong, match=r"test: KernelSchedule.*other results"):
        bench.measure(candidates[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tune": -1}, "tune=-1"),
        ({"tune": "curve"}, "tune='curve'"),
        ({"tune": True}, "tune=True"),
        ({"tune": 1.5}, "tune=1.5"),
        ({"tune": 4, "sample": []}, "no instance to profile"),
        ({"tune": 4, "options": Options(kernels="vendor")}, "no schedules to try"),
        ({"untuned": True, "options": Options(kernels="vendor")}, "no schedules to try"),
        ({"tune": 4, "guide": "profile"}, "needs a sample"),
        ({"tune": 4, "guide": "luck"}, "guide='luck'"),
    ],
)
def test_what_cannot_be_tuned_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compile(Words(), **options)
