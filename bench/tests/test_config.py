"""Wrong configurations are refused with a message, and with an exit code of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

from bench import environment, options, registry
from bench.__main__ import asked_only, in_order
from bench.compose import compose
from bench.config import cells
from bench.options import ConfigError, conform
from bench.status import Exit, exit_code
from bench.suggest import malformed, refusal
from bench.targets import resolve
from bench.tests.conftest import CONF

Bench = Callable[..., "subprocess.CompletedProcess[str]"]


class Options:
    def __init__(
        self, target: Any, autobatch: Literal["best"] | int = "best", scale: float = 1.0, name: str | None = None
    ) -> None:
        """Options like those of a backend."""


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("+batchsize=8", "batchsize"),
        ("+measure.minsamples=8", "minsamples"),
        ("+limit.wall=8", "wall"),
        ("batch_size=many", "batch_size"),
        ("batch_size=0", "at least 1"),
        ("seed=-1", "at least 0"),
        ("lock=maybe", "wait, refuse, ignore"),
        ("measure.minibatches=0", "measure.minibatches=0: it must be a finite number above 0"),
        ("measure.min_rounds=0", "measure.min_rounds=0"),
        ("measure.min_rounds=31", "measure.min_rounds=31 is above measure.max_rounds=30"),
        ("measure.budget_s=0", "measure.budget_s=0"),
        ("measure.budget_s=nan", "measure.budget_s=nan"),
        ("measure.warm_s=-1", "0 or more"),
        ("measure.relative_ci=inf", "finite"),
        ("isolate.deadline_s=-1", "isolate.deadline_s=-1: it must be a finite number above 0"),
        ("isolate.memory_gb=0", "isolate.memory_gb=0"),
        ("isolate.memory_gb=0.0001", "isolate.memory_gb=0.0001: no cell begins with less than 0.5"),
        ("isolate.cpus=4096", "not processor 4096; usable are 0"),
        ("isolate.cpus=1-0", "there is nothing from 1 to 0"),
        ("isolate.cpus=''", "0-3,8"),
        ("limit.wall_s=-1", "limit.wall_s=-1"),
        ("rerun=maybe", "none, apart, stale, failed, all"),
        ("device=tpu", "cpu, cuda"),
        ("isolate.cpus=a-b", "0-3,8"),
        ("isolate.cpus=0-99999999999", "not processor "),
        ("isolate.cpus=[0,4096]", "not processor 4096"),
        ("seed=99999999999999999999", "seed=.* at most"),
        ("batch_size=99999999999999999999", "batch_size=.* at most"),
        ("measure.minibatches=1000000000000", "all instances are in memory at once"),
        ("measure.name=../../etc/passwd", "a name of letters"),
        ("threads=true", "threads=True: 'all' or 1 to"),
        ("results_dir=''", "results_dir is empty"),
        ("backend.pytorch=3", "backend.pytorch=3: its options are set one by one"),
        ("backend.pytorch=null", "backend.pytorch=None: its options are set one by one"),
    ],
)
def test_refused(override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        cells(compose(["backend=[pytorch]", override]))


@pytest.mark.parametrize(("given", "means"), [("0", "0"), ("[0]", "0"), ("'0-0'", "0-0"), ("null", None)])
def test_processors_are_a_number_a_list_or_a_range(given: str, means: str | None) -> None:
    assert compose(["backend=[pytorch]", f"isolate.cpus={given}"]).isolate.cpus == means


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"autobach": 2}, "did you mean 'autobatch'"),
        ({"zzz": 2}, "there are: autobatch, scale, name"),
        ({"autobatch": "worst"}, "autobatch='worst' does not fit"),
        ({"autobatch": True}, "does not fit"),
        ({"scale": "x"}, "does not fit float"),
        ({"name": 3}, "does not fit"),
    ],
)
def test_options_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        conform(Options, options, "backend.x")


def test_options_complete() -> None:
    assert conform(Options, {"scale": 2}, "x") == {"autobatch": "best", "scale": 2, "name": None}


@pytest.mark.parametrize(
    "arguments",
    [
        ["+backend.honest.lable=1"],
        ["backend.honest.lable=1"],
        ["+lable=1"],
        ["sizes=tiny"],
        ["size=huge"],
        ["threads=1000"],
        ["workload.data=nowhere.txt"],
        ["workload.data=."],
        ["backend=[nobody]"],
        ["-m", "+backend.honest.lable=1,2"],
    ],
)
def test_the_command_refuses(arguments: Sequence[str], bench: Bench) -> None:
    done = bench("backend=[honest]", "measure=quick", *arguments)
    assert done.returncode == Exit.CONFIG, done.stderr
    word = arguments[-1].lstrip("+").partition("=")[0].rpartition(".")[2]
    assert word in done.stderr or "nobody" in done.stderr


@pytest.mark.parametrize(
    ("workload", "content", "why"),
    [
        ("ragged", "word " * 201, ":1: a sentence of 201 words; the model has 200 positions"),
        ("treelstm", "(1 (2 b)\n", ":1:9: 1 '(' not closed"),
    ],
)
def test_a_data_file_that_does_not_fit_is_refused_in_one_line(workload: str, content: str, why: str, tmp_path: Path) -> None:
    data, results = tmp_path / "data.txt", tmp_path / "results"
    data.write_text(content)
    settings = ["size=tiny", "backend=[pytorch,handbatched]", f"workload.data={data}", f"results_dir={results}"]
    done = subprocess.run(
        [sys.executable, "-m", "bench", f"workload={workload}", *settings],
        capture_output=True,
        text=True,
        check=False,
        env={name: value for name, value in os.environ.items() if not environment.tunes(name)},
    )
    assert done.returncode == Exit.CONFIG, done.stderr
    assert done.stderr == f"error: workload {workload}: {data}{why}\n"
    assert not list(tmp_path.rglob("cells.jsonl"))


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["wrokload=treelstm"], "there is no 'wrokload' to set; did you mean 'workload'?"),
        (["+wrokload=treelstm"], "did you mean 'workload'?"),
        (["measure.min_ronds=3"], "there is no 'measure.min_ronds' to set; did you mean 'measure.min_rounds'?"),
        (["workload=treelstn"], "workload=treelstn: there is no 'treelstn'; did you mean 'treelstm'?"),
        (["-m", "workload=treelstm,birn"], "there is no 'birn'; did you mean 'birnn'?"),
        (["backend=[pytorch,dinet]"], "there is no 'dinet'; did you mean 'dynet'?"),
        (["backend=pytorch,dynet"], "write several as backend=[pytorch,dynet]"),
        (["measure=fast"], "there are: default,"),
        (["workload=../../etc"], "workload=../../etc: there is no '../../etc'; there are: "),
        (["workload='../etc'"], "there is no '../etc'"),
        (["workload="], "workload=: there is no ''"),
        (["backend=a/b"], "there is no 'a/b'"),
        (
            ["isolate.cpus=a,b"],
            "isolate.cpus=a,b: several values are a sweep, with -m; a list is written as isolate.cpus=[a,b]",
        ),
        (["batch_size=8,64"], "batch_size=8,64: several values are a sweep, with -m"),
        (["systems=pytorch,dynet"], "a list is written as systems=[pytorch,dynet]"),
        (["workload=birnn,treelstm"], "workload=birnn,treelstm: several values are a sweep, with -m"),
        (["workload=null"], "workload=null: there is no 'null'"),
        (["measure=null"], "measure=null: there is no 'null'"),
        (["backend.dynet.autobach=1"], "there is no 'backend.dynet.autobach' to set; did you mean 'backend.dynet.autobatch'?"),
        (["+backend.dynet.autobach=1"], "did you mean 'backend.dynet.autobatch'?"),
        (["backend.dynt.autobatch=1"], "there is no 'backend.dynt' to set; did you mean 'backend.dynet'?"),
        (
            ["backend=[pytorch]", "backend.dynet.mem=9"],
            "backend.dynet.mem: dynet is not among the chosen backends, backend=[pytorch]",
        ),
        (["workload=treelstm", "workload.dta=x"], "there is no 'workload.dta' to set; did you mean 'workload.data'?"),
        (["workload=treelstm", "workload.decisions=real"], "there is no 'workload.decisions' to set; there are: data"),
        (["systems=dynet"], "systems=dynet: write a list, as in systems=[dynet]"),
        (["--config-dir", str(CONF), "workload=toi"], "workload=toi: there is no 'toi'; did you mean 'toy'?"),
        (
            [f"--config-dir={CONF}", "backend.cheat.hwo=x"],
            "there is no 'backend.cheat.hwo' to set; did you mean 'backend.cheat.how'?",
        ),
        (["-cd", "nowhere", "workload=toy"], "--config-dir: there is no folder nowhere"),
    ],
)
def test_names_that_do_not_exist_are_refused_with_the_nearest(arguments: Sequence[str], why: str) -> None:
    assert why in (refusal(arguments) or "")


def test_a_number_is_not_advised_to_be_a_list() -> None:
    assert refusal(["batch_size=8,64"]) == "batch_size=8,64: several values are a sweep, with -m"


@pytest.mark.parametrize(
    ("argument", "why"),
    [
        ("batch_size", "batch_size: write OPTION=VALUE"),
        ("backend=[pytorch", "backend=[pytorch: write OPTION=VALUE"),
        ("workload.data=ünï dir/x", "a value with blanks or special letters in quotes of its own: \"OPTION='A B'\""),
        ("--foo", "there is no --foo; --help lists the options"),
        ("--cfg=nothing", "invalid choice: 'nothing'"),
    ],
)
def test_what_hydra_cannot_read_is_refused_in_one_line(argument: str, why: str) -> None:
    reason = malformed(["workload=treelstm", argument]) or ""
    assert why in reason
    assert "\n" not in reason


@pytest.mark.parametrize("line", ["", "-m seed=1,2", "--cfg job", "workload.data='ünï dir/x'", "+isolate.env.A=1", "~limit"])
def test_what_hydra_can_read_is_not_refused(line: str) -> None:
    assert malformed([line] if "'" in line else line.split()) is None


def test_hydra_gives_its_own_account_where_it_is_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")
    assert refusal(["workload=../../etc"]) is None


def test_what_exists_is_not_refused() -> None:
    fine = [
        "workload=treelstm",
        "backend=pytorch",
        "backend=[pytorch,dynet]",
        "+backend.acrobat.tune=3",
        "hydra.verbose=true",
        "hydra/launcher=joblib",
    ]
    fine += [
        "measure=quick",
        "measure.budget_s=3",
        "workload.data='a,b'",
        "isolate.cpus=[0,1]",
        "backend=[]",
        "--cfg",
        "job",
        "~limit",
        "experiment=null",
        "+isolate.env.MKL_CBWR=AVX2",
        "backend.dynet.autobatch=1",
        "backend.dynet._target_=elsewhere.DyNet",
        "workload.decisions=real",
        "systems=[dynet]",
        "-m",
    ]
    for argument in fine:
        assert refusal([argument]) is None
    assert refusal(["-m", "workload=treelstm,nestedrnn", "workload.decisions=real"]) is None
    assert refusal(["-m", "backend=[pytorch],[dynet]", "backend.dynet.mem=9"]) is None
    assert refusal(["-m", "backend=[pytorch],[dynet]", "batch_size=8,64", "workload=treelstm,birnn"]) is None
    assert refusal(["--config-dir", str(CONF), "workload=toy", "backend=[cheat,pytorch]", "backend.cheat.how=x"]) is None
    assert refusal(["--config-name", "elsewhere", "workload=toy"]) is None


@pytest.mark.parametrize(
    ("given", "ordered"),
    [
        ("seed=1,2 -m size=tiny", "-m seed=1,2 size=tiny"),
        ("workload=crf --cfg job size=tiny", "--cfg job workload=crf size=tiny"),
        ("-m seed=1,2 size=tiny", "-m seed=1,2 size=tiny"),
        ("seed=1,2 -m", "seed=1,2 -m"),
        ("seed=1 --cfg=job", "seed=1 --cfg=job"),
        ("seed=1 --nothing", "seed=1 --nothing"),
    ],
)
def test_options_of_hydra_may_stand_anywhere(given: str, ordered: str) -> None:
    assert in_order(given.split()) == ordered.split()
    assert malformed(ordered.split()) is None or "--nothing" in given


@pytest.mark.parametrize("looking", ["--cfg=job", "-cjob", "--cfg job", "-c job", "--help", "-h", "--info", "--info=all", "-i"])
def test_looking_is_looking(looking: str) -> None:
    assert asked_only(["workload=treelstm", *looking.split()])


@pytest.mark.parametrize("looking", ["--cfg=job", "-cjob"])
def test_looking_measures_nothing(looking: str, bench: Bench, tmp_path: Path) -> None:
    done = bench("backend=[honest]", looking)
    assert done.returncode == 0, done.stderr
    assert "workload:\n" in done.stdout and "size: tiny\n" in done.stdout
    assert not done.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("measuring", ["", "-m", "--config-dir cfg", "size=--help"])
def test_measuring_is_not_looking(measuring: str) -> None:
    assert not asked_only(["workload=treelstm", *measuring.split()])


def test_every_choice_on_disk_is_whole() -> None:
    """Each YAML names a class and lists exactly the options of its constructor, with their defaults."""
    from omegaconf import OmegaConf

    seen = 0
    for group in ("backend", "workload"):
        for name in registry.names(group):
            settings: Any = OmegaConf.to_container(OmegaConf.load(registry.CONF / group / f"{name}.yaml"))
            cls = resolve(settings.pop("_target_"))
            defaults = {key: parameter.default for key, parameter in options.parameters(cls).items()}
            assert settings == defaults, f"conf/{group}/{name}.yaml"
            assert getattr(cls, "name", None) == name
            seen += 1
    assert seen


def test_exit_codes() -> None:
    assert exit_code(["ok", "unsupported", "unavailable"], cut=False) == Exit.OK
    assert exit_code(["ok", "failed"], cut=True) == Exit.FAILED
    assert exit_code(["failed", "wrong", "ok"], cut=False) == Exit.WRONG
    assert exit_code(["ok"], cut=True) == Exit.CUT
    assert exit_code([], cut=False) == exit_code(["unavailable"], cut=False) == Exit.NOTHING
