"""Configurations from `conf/`, for the command line and for Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from omegaconf import OmegaConf, open_dict

from bench.config import Config, read
from bench.options import ConfigError
from bench.registry import CONF, names

CONFIG = "config"


def register() -> None:
    """Register the configuration `every_backend`, which `config.yaml` starts from: every file in `conf/backend`."""
    ConfigStore.instance().store(name="every_backend", node={"defaults": [{"backend": names("backend")}]})


def compose(overrides: Sequence[str]) -> Config:
    """The configuration that `python -m bench <overrides>` measures; for an experiment, what all jobs of its sweep share."""
    return sweep(overrides)[0]


def jobs(overrides: Sequence[str]) -> list[list[str]]:
    """The overrides of each job of `python -m bench <overrides>`: one job, or those of an experiment's sweep."""
    return sweep(overrides)[1]


def sweep(overrides: Sequence[str]) -> tuple[Config, list[list[str]]]:
    """What `compose` and `jobs` return. An experiment (`conf/experiment`) has a sweep, whose values for a key are replaced by
    those in `overrides`. Raises ConfigError for several values of a key where there is no sweep."""
    register()
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(CONF), version_base=None):
        parser = OverridesParser.create(config_loader=GlobalHydra.instance().config_loader())
        single = [each.input_line or "" for each in parser.parse_overrides(list(overrides)) if not each.is_sweep_override()]
        composed = hydra_compose(CONFIG, single, return_hydra_config=True)
        swept: Any = OmegaConf.to_container(composed.hydra.sweeper.params or OmegaConf.create({}))
        job_overrides = [list(overrides)]
        if composed.hydra.mode == RunMode.MULTIRUN:
            parsed = parser.parse_overrides([*(f"{key}={value}" for key, value in swept.items()), *overrides])
            (batch,) = BasicSweeper.split_arguments(parsed, None)
            job_overrides = [list(job) for job in batch]
        elif len(single) < len(overrides):
            raise ConfigError(f"{' '.join(overrides)}: several values of a key are a sweep, which this is not; give one")
        with open_dict(composed):
            del composed["hydra"]
        return read(composed), job_overrides
