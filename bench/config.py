"""The schema of an invocation. Any key that is not in it is refused, also one that the command line adds with `+`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from bench import environment, registry, targets
from bench.cell import Cell, Part
from bench.contract import Target
from bench.devices import DEVICES
from bench.options import ConfigError
from bench.validate import check, named_processors

RERUN = ("none", "apart", "stale", "failed", "all")
LOCKS = ("wait", "refuse", "ignore")
MOST_INSTANCES = 1 << 24
LAST_SEED = (1 << 63) - 1


@dataclass
class Measure:
    """How a cell is measured (conf/measure/). `name` and `minibatches` belong to a cell's identity, the rest does not."""

    name: str = "default"
    stored: bool = True  # rows are appended to the results
    minibatches: int = 5  # distinct mini-batches; a pass runs each once
    turn_s: float = 0.1  # the steady passes of a turn last at least this long
    timed_passes: int = 5  # how many of the steady passes, the last ones, are timed and kept
    min_rounds: int = 5
    max_rounds: int = 30
    budget_s: float = 5.0  # time for the rounds of a group, times its number of cells
    relative_ci: float = 0.01  # half-width of every cell's interval, relative to its latency, at which a group ends
    warm_s: float = 1.0  # time for passes before the first round that are not timed; none where one pass would take longer
    pass_s: float = 15.0  # a cell whose pass would take longer is given fewer mini-batches (two at least)
    variants: bool = True  # measure every variant of a backend; if not, the first of each whose options are those of its file
    profile: bool = False  # run one more pass under the Python profiler, whose listing is written beside the log

    def settings(self) -> dict[str, Any]:
        """The settings that a row records: all that its numbers can depend on."""
        return {key: value for key, value in asdict(self).items() if key not in ("name", "stored", "variants")}

    def named(self) -> Measure:
        """These settings under a true name: where they differ from the file `conf/measure/<name>.yaml`, the name gets a star,
        as in `default*`."""
        path = registry.CONF / "measure" / f"{self.name}.yaml"
        if not path.is_file():
            return self
        preset_settings: Any = OmegaConf.to_container(OmegaConf.load(path))
        return self if Measure(**preset_settings).settings() == self.settings() else replace(self, name=f"{self.name}*")


def preset(name: str) -> Measure:
    """The settings in `conf/measure/<name>.yaml`. Raises ConfigError if there is no such file."""
    if name not in registry.names("measure"):
        raise ConfigError(f"measure={name}: no such file in conf/measure; there are: {', '.join(registry.names('measure'))}")
    settings: Any = OmegaConf.to_container(OmegaConf.load(registry.CONF / "measure" / f"{name}.yaml"))
    return Measure(**settings)


@dataclass
class Isolate:
    """Settings of the process that a cell runs in (conf/isolate/)."""

    deadline_s: float = 3600.0  # limit on the time that a cell works itself, preparing and measuring
    memory_gb: float | None = None  # default: nine tenths of what is free at the start
    cpus: Any = None  # pin to these processors, as in "0-3,8", 0 or [0,1]
    env: dict[str, Any] = field(default_factory=dict)  # environment variables for the measured processes; part of the cell


@dataclass
class Limit:
    """How long an invocation may take (`limit.wall_s=`)."""

    wall_s: float | None = None  # after so many seconds no cell is begun any more; the same command continues later


@dataclass
class Config:
    """What the files of `conf/` and the command line say together; docs/options.md explains each key."""

    workload: Any = None
    backend: Any = None
    size: str = "small"
    batch_size: int = 64
    threads: Any = 1
    device: str = "cpu"
    seed: int = 0
    measure: Measure = field(default_factory=Measure)
    isolate: Isolate = field(default_factory=Isolate)
    limit: Limit = field(default_factory=Limit)
    results_dir: str = "results"
    rerun: str = "stale"
    lock: str = "wait"  # what to do while another campaign is measuring on this machine: one of LOCKS
    systems: list[str] | None = None  # only these of the chosen backends; a name that is not among them is no error
    variants: dict[str, Any] = field(default_factory=dict)  # for a backend, a list of settings of its options: a cell for each
    report: Any = None  # in an experiment: how bench.report shows it


def read(composed: DictConfig) -> Config:
    """The checked configuration. Merging it into the schema rejects unknown keys and wrong types. Raises ConfigError."""
    try:
        config = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(Config), composed))
    except OmegaConfBaseException as error:
        raise ConfigError(str(error).splitlines()[0] + (f" ({error.full_key})" if error.full_key else "")) from error
    assert isinstance(config, Config)
    choice("rerun", config.rerun, RERUN)
    choice("device", config.device, tuple(DEVICES))
    choice("lock", config.lock, LOCKS)
    for key, value, least, most in (("batch_size", config.batch_size, 1, MOST_INSTANCES), ("seed", config.seed, 0, LAST_SEED)):
        if not least <= value <= most:
            raise ConfigError(f"{key}={value} must be at least {least} and at most {most}")
    config.isolate.cpus = named_processors(config.isolate.cpus)
    for section in ("measure", "isolate", "limit"):
        check(getattr(config, section), section)
    if config.batch_size * config.measure.minibatches > MOST_INSTANCES:
        product = f"batch_size={config.batch_size} times measure.minibatches={config.measure.minibatches}"
        raise ConfigError(f"{product}: all instances are in memory at once, so there may be {MOST_INSTANCES} at most")
    if not re.fullmatch(r"[\w.-]+", config.measure.name):
        raise ConfigError(f"measure.name={config.measure.name!r}: a name of letters, digits, dots and dashes")
    if not config.results_dir:
        raise ConfigError("results_dir is empty; the folder in which the command runs is results_dir=.")
    _environment(config.isolate)
    if not isinstance(config.backend, dict) or not config.backend:
        raise ConfigError(f"no backend chosen; there are: {', '.join(registry.names('backend'))}")
    for name, settings in config.backend.items():
        if not isinstance(settings, dict):
            raise ConfigError(f"backend.{name}={settings}: its options are set one by one, as in backend.{name}.OPTION=VALUE")
    _systems(config)
    return config


def _systems(config: Config) -> None:
    """Keep in `config.backend` only the backends that `config.systems` names, and check `config.variants`."""
    if config.systems is not None:
        chosen = {name: settings for name, settings in config.backend.items() if name in config.systems}
        if not chosen:
            raise ConfigError(f"none of systems=[{','.join(config.systems)}] is among the backends {', '.join(config.backend)}")
        config.backend = chosen
    backend_names = {*registry.names("backend"), *config.backend, *(config.systems or ())}
    for name, settings in config.variants.items():
        if name not in backend_names:
            raise ConfigError(f"variants.{name}: there is no such backend; there are: {', '.join(sorted(backend_names))}")
        if not isinstance(settings, list) or not settings or not all(isinstance(each, dict) for each in settings):
            raise ConfigError(
                f"variants.{name}={settings}: a list of options, as in variants.{name}=[{{option: 1}},{{option: 2}}]"
            )


def cells(config: Config, processors: int | None = None) -> list[Cell]:
    """One cell for each backend and variant, all on the same instances. `processors`: how many processors the machine has, by
    default those that this process may use."""
    workload = _workload(config)
    threads = _threads(config.threads, processors)
    measure = config.measure.named().name
    by_id: dict[str, Cell] = {}
    chosen = [(n, {**s, **each}) for n, s in config.backend.items() for each in config.variants.get(n, [{}])]
    for (name, settings), parts in zip(chosen, registry.backends(chosen, Target(config.device, threads)), strict=True):
        cell = Cell(
            workload=workload,
            backend=parts[0],
            size=config.size,
            batch_size=config.batch_size,
            threads=threads,
            device=config.device,
            seed=config.seed,
            minibatches=config.measure.minibatches,
            env=_environment(config.isolate),
            measure=measure,
        )
        for part in parts if config.measure.variants or _is_chosen(name, settings) else parts[:1]:
            variant = replace(cell, backend=part)
            by_id.setdefault(variant.id, variant)
    return list(by_id.values())


def _is_chosen(name: str, settings: Mapping[str, Any]) -> bool:
    """Whether the user has set an option of the backend, so that it is not just its file in conf/backend."""
    path = registry.CONF / "backend" / f"{name}.yaml"
    return not path.is_file() or OmegaConf.to_container(OmegaConf.load(path)) != settings


def _environment(isolate: Isolate) -> dict[str, str]:
    try:
        return environment.validated_variables(isolate.env)
    except ValueError as error:
        raise ConfigError(str(error)) from error


def _workload(config: Config) -> Part:
    settings = dict(config.workload or {})
    target = str(settings.get("_target_", ""))
    try:
        cls = targets.resolve(target)
    except ImportError as error:
        raise ConfigError(f"the workload cannot be loaded: {error}") from error
    part = registry.workload(str(getattr(cls, "name", target)), settings)
    data_file = part.options.get("data")
    if data_file is not None and not Path(data_file).is_file():
        raise ConfigError(f"workload.data={data_file}: {'not a file' if Path(data_file).exists() else 'no such file'}")
    try:
        workload = cls(**part.options)
        choice("size", config.size, tuple(workload.sizes))
        if hasattr(workload, "check"):
            workload.check(config.size)
    except (ValueError, OSError) as error:
        raise ConfigError(f"workload {part.name}: {error}") from error
    return part


def _threads(value: Any, processors: int | None) -> int:
    available = len(os.sched_getaffinity(0)) if processors is None else processors
    if value == "all":
        return available
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= available:
        return value
    raise ConfigError(f"threads={value}: 'all' or 1 to {available}")


def choice(key: str, value: str, choices: Sequence[str]) -> None:
    """Raises ConfigError if `value`, given for `key`, is none of the `choices`."""
    if value not in choices:
        raise ConfigError(f"{key}={value}: one of {', '.join(choices)}")
