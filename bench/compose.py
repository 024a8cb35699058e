"""Configurations from `conf/`, for the command line and for Python."""

from __future__ import annotations

from collections.abc import Sequence

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra

from bench.config import Config, read
from bench.registry import CONF, names

CONFIG = "config"


def register() -> None:
    """Make `every_backend`, which `config.yaml` starts from: whatever lies in `conf/backend`, so there is no list to keep."""
    ConfigStore.instance().store(name="every_backend", node={"defaults": [{"backend": names("backend")}]})


def compose(overrides: Sequence[str]) -> Config:
    """What `python -m bench <overrides>` would measure."""
    register()
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(CONF), version_base=None):
        return read(hydra_compose(CONFIG, list(overrides)))
