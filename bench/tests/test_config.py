"""What cannot be asked for is refused, in words, and with an exit code of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from typing import Any, Literal

import pytest

from bench import registry
from bench.compose import compose
from bench.registry import ConfigError, conform, resolve
from bench.status import Exit, exit_code

Bench = Callable[..., "subprocess.CompletedProcess[str]"]


class Options:
    def __init__(
        self, target: Any, autobatch: Literal["best"] | int = "best", scale: float = 1.0, name: str | None = None
    ) -> None:
        """As a backend's."""


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("+batchsize=8", "batchsize"),
        ("+measure.minsamples=8", "minsamples"),
        ("+limit.wall=8", "wall"),
        ("batch_size=many", "batch_size"),
        ("batch_size=0", "at least 1"),
        ("rerun=maybe", "none, failed, stale, all"),
        ("device=tpu", "cpu, cuda"),
        ("isolate.cpus=a-b", "0-3,8"),
    ],
)
def test_refused(override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        compose(["backend=[pytorch]", override])


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
        ["backend=[nobody]"],
        ["-m", "+backend.honest.lable=1,2"],
    ],
)
def test_the_command_refuses(arguments: Sequence[str], bench: Bench) -> None:
    done = bench("backend=[honest]", "measure=quick", *arguments)
    assert done.returncode == Exit.CONFIG, done.stderr
    word = arguments[-1].lstrip("+").partition("=")[0].rpartition(".")[2]
    assert word in done.stderr or "nobody" in done.stderr


def test_every_choice_on_disk_is_whole() -> None:
    """Each YAML names a class, lists the options of its constructor and no others, and agrees with its defaults."""
    from omegaconf import OmegaConf

    seen = 0
    for group in ("backend", "workload"):
        for name in registry.names(group):
            settings: Any = OmegaConf.to_container(OmegaConf.load(registry.CONF / group / f"{name}.yaml"))
            try:
                cls = resolve(settings.pop("_target_"))
            except ImportError:
                continue
            defaults = {key: parameter.default for key, parameter in registry.parameters(cls).items()}
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
