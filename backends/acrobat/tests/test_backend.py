"""ACRoBat's options behind the harness's contract."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_type_hints

import pytest

from backends.acrobat import compiler
from backends.acrobat.backend import CURVE, Acrobat
from backends.acrobat.codegen import build
from backends.acrobat.options import Options
from bench import api
from bench.contract import Target
from bench.options import ConfigError, parameters
from workloads.tests.conftest import spec


def cells(*overrides: str) -> list[Any]:
    return api.cells("workload=treelstm", "size=tiny", "backend=[acrobat]", *overrides)


@pytest.mark.parametrize("untuned", [False, True])
def test_the_curve_is_a_cell_for_each_number_of_trials_and_each_guide(untuned: bool) -> None:
    found = cells("backend.acrobat.tune=curve", "backend.acrobat.coarsen=false", f"backend.acrobat.untuned={untuned}")
    points = [(c.backend.options["tune"], c.backend.options["guide"]) for c in found if c.backend.options["untuned"] == untuned]
    assert sorted(points) == sorted((trials, guide) for trials in CURVE for guide in ("profile", "static", "even"))
    others = [c.backend.options["tune"] for c in found if c.backend.options["untuned"] != untuned]
    assert others == ([0] if untuned else []), "beside the untuned ones stand the default schedules"
    assert all(c.backend.options["coarsen"] is False for c in found)
    assert len({c.id for c in found}) == len(found)


@pytest.mark.parametrize(
    ("overrides", "tables"),
    [((), [True, False]), (("backend.acrobat.tables=true",), [True]), (("backend.acrobat.tables=false",), [False])],
)
def test_both_is_a_cell_with_tables_and_one_without(overrides: tuple[str, ...], tables: list[bool]) -> None:
    found = cells(*overrides)
    assert [c.backend.options["tables"] for c in found] == tables
    assert [Acrobat(Target(), **c.backend.options).options.tables for c in found] == tables
    assert len({c.id for c in found}) == len(found)


@pytest.mark.parametrize("series", ["ablation=alone", "ablation=cumulative", "tune=curve"])
def test_a_series_of_cells_has_tables_where_both_are_asked_for(series: str) -> None:
    """`tables=both` means `true` in a series: each setting is one cell, not one with tables and one without."""
    given, series_only = cells(f"backend.acrobat.{series}", "backend.acrobat.tables=true"), cells(f"backend.acrobat.{series}")
    assert [c.id for c in series_only] == [c.id for c in given]
    assert len({c.id for c in given}) == len(given)
    assert all(isinstance(c.backend.options["tables"], bool) for c in given)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("backend.acrobat.tables=some",), "does not fit"),
        (("backend.acrobat.tune=-1",), "backend.acrobat: tune=-1: the number of schedules"),
        (("backend.acrobat.tune=best",), "does not fit"),
        (("backend.acrobat.tune=1.5",), "does not fit"),
        (("backend.acrobat.untuned=1",), "does not fit bool"),
        (("backend.acrobat.guide=luck",), "does not fit"),
        (("backend.acrobat.untuned=true", "backend.acrobat.kernels=vendor"), "no schedules to try"),
        (("backend.acrobat.policy_trials=-1",), "policy_trials=-1: how often"),
        (("backend.acrobat.isa=avx",), "does not fit"),
        (("backend.acrobat.tune=curve", "backend.acrobat.ablation=alone"), "one at a time"),
        (("backend.acrobat.tune=4", "backend.acrobat.kernels=vendor"), "no schedules to try"),
    ],
)
def test_options_refused(overrides: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        cells(*overrides)


@pytest.mark.parametrize(("tune", "guide", "sampled"), [(0, "profile", False), (4, "profile", True), (4, "static", False)])
def test_the_profile_is_of_other_instances(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tune: int, guide: Any, sampled: bool
) -> None:
    seen: dict[str, Any] = {}

    def compile(module: Any, **options: Any) -> Any:
        seen.update(options)
        return SimpleNamespace(executor="inline")

    monkeypatch.setattr(compiler, "compile", compile)
    workload = spec("treelstm")
    Acrobat(Target(), tune=tune, guide=guide).compile(workload, "tiny", 3, 5)
    assert seen["tune"] == tune
    if not sampled:
        assert seen["sample"] is None
        return
    assert len(seen["sample"]) == 5
    assert seen["sample"] != workload.instances("tiny", 3, 5)


def test_every_option_is_a_keyword_of_the_backend() -> None:
    own = parameters(Acrobat)
    hints, wanted = get_type_hints(vars(Acrobat)["__init__"]), get_type_hints(Options)
    derived = [f for f in fields(Options) if f.name != "tables"]  # which can also be both
    assert [(own[f.name].default, hints[f.name]) for f in derived] == [(f.default, wanted[f.name]) for f in derived]
    assert {f.name for f in fields(Options)} | {
        "step",
        "checked",
        "ablation",
        "tune",
        "guide",
        "untuned",
        "policy_trials",
    } == own.keys()
    others: dict[str, Any] = {
        "wave": 9,
        "kernels": "vendor",
        "codegen": "vm",
        "executor": "agenda",
        "isa": "avx2",
        "launch": "launches",
        "precision": "tf32",
    }
    for f in derived:
        changed: dict[str, Any] = {f.name: not f.default if isinstance(f.default, bool) else others[f.name]}
        assert getattr(Acrobat(Target(), **changed).options, f.name) == changed[f.name] != f.default
    with pytest.raises(TypeError, match="hoits"):
        Acrobat(Target(), hoits=False)


def test_without_a_compiler_it_is_there_for_what_the_cache_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "nonexistent")
    monkeypatch.setenv("ACROBAT_CACHE", str(tmp_path))
    assert "no C++ compiler: nonexistent" in str(Acrobat(Target()).available())
    build.cached("key", lambda folder: None)
    assert Acrobat(Target()).available() is None
