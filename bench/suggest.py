"""Refuses names on the command line that do not exist, in one line; Hydra takes ten, and advises to add a `+`."""

from __future__ import annotations

import contextlib
import difflib
import io
import os
from collections.abc import Sequence
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from bench.config import Config, Isolate, Limit, Measure
from bench.registry import CONF

SECTIONS = {"measure": Measure, "isolate": Isolate, "limit": Limit}
LISTS = ("systems", "isolate.cpus")  # settings that may be a list
OPEN = ("isolate.env",)  # settings with whatever names below them
GROUPS = ("workload", "measure", "isolate", "experiment", "extent")  # one choice each; `backend` is a list of choices
SWEEPS = ("experiment", "extent")  # groups whose choices contain a sweep
COMPLETION = ("--shell-completion", "-sc")  # options after which the arguments are for Hydra alone
GRAMMAR = frozenset("[](){}'\"\\$=:*")
"""Characters with a meaning in Hydra's grammar of values. Values with one of them are left to Hydra."""
FOLDER = ("--config-dir", "-cd")  # options that name another folder with choices
ELSEWHERE = ("--config-path", "-cp", "--config-name", "-cn", "hydra.searchpath")  # these change all choices


def refusal(arguments: Sequence[str]) -> str | None:
    """Why the arguments are refused, with the nearest name there is, or None. What is not checked here is left to Hydra, and
    so is everything where HYDRA_FULL_ERROR=1 asks for its own account of an error."""
    if any(argument in COMPLETION for argument in arguments) or os.environ.get("HYDRA_FULL_ERROR") == "1":
        return None
    keys = [field.name for field in fields(Config)]
    choices_known = not any(argument.split("=")[0] in ELSEWHERE for argument in arguments)
    folders = [CONF, *_added(arguments)]
    for folder in folders:
        if not folder.is_dir():
            return f"--config-dir: there is no folder {folder}"
    multirun = any(argument in ("-m", "--multirun") or argument.partition("=")[0] in SWEEPS for argument in arguments)
    for argument in arguments:
        name, equals, value = argument.lstrip("+~").partition("=")
        if argument.startswith("-") or not equals:
            continue
        key, _, subkey = name.partition("@")[0].partition(".")
        if key.partition("/")[0] == "hydra":
            continue
        if key not in (*keys, *SWEEPS):
            return f"there is no '{key}' to set{_near(key, keys)}"
        if key in SECTIONS and subkey:
            existing = [field.name for field in fields(SECTIONS[key])]
            if subkey not in existing and f"{key}.{subkey.partition('.')[0]}" not in OPEN:
                return f"there is no '{key}.{subkey}' to set{_near(subkey, existing, key + '.')}"
        if "," in value and not GRAMMAR.intersection(value) and not multirun:
            if key == "backend" and not subkey:
                return f"backend={value}: write several as backend=[{value}]"
            full_key = f"{key}.{subkey}" if subkey else key
            as_list = (
                f"; a list is written as {full_key}=[{value}]" if full_key in LISTS or key in ("backend", "variants") else ""
            )
            return f"{full_key}={value}: several values are a sweep, with -m{as_list}"
        if key in ("backend", "workload") and subkey and choices_known:
            reason = _no_option(key, subkey, arguments, folders)
            if reason is not None:
                return reason
        if key == "systems" and not GRAMMAR.intersection(value) and value not in ("", "null"):
            return f"systems={value}: write a list, as in systems=[{value}]"
        if key == "backend" and not subkey and choices_known:
            chosen = unquoted(value).strip("[]").split(",")
        elif key in GROUPS and not subkey and choices_known:
            chosen = unquoted(value).split(",") if multirun else [unquoted(value)]
        else:
            continue
        existing = sorted(_files(key, folders))
        nothing = ("null",) if key in SWEEPS else ()
        for each in (choice.strip() for choice in chosen):
            if not GRAMMAR.intersection(each) and each not in (*existing, *nothing) and (each or not value):
                return f"{key}={value}: there is no '{each}'{_near(each, existing)}"
    return None


def malformed(arguments: Sequence[str]) -> str | None:
    """Why Hydra cannot read the arguments, or None: an option that does not exist, or a text that is no OPTION=VALUE."""
    from hydra._internal.utils import get_args_parser
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    if os.environ.get("HYDRA_FULL_ERROR") == "1":
        return None
    try:
        with contextlib.redirect_stderr(io.StringIO()) as said:
            parsed, unknown = get_args_parser().parse_known_args(list(arguments))
    except SystemExit:
        return f"{said.getvalue().strip().rpartition('error: ')[2]}; --help lists the options"
    if unknown:
        return f"there is no {unknown[0]}; --help lists the options"
    for argument in parsed.overrides:
        try:
            OverridesParser.create().parse_overrides([argument])
        except HydraException:
            return (
                f"{argument}: write OPTION=VALUE, a value with blanks or special letters in quotes of its own: \"OPTION='A B'\""
            )
    return None


def _added(arguments: Sequence[str]) -> list[Path]:
    """The folders with further choices that the arguments name."""
    pairs = [*pairwise(arguments), *(argument.partition("=")[::2] for argument in arguments)]
    return [Path(value) for option, value in pairs if option in FOLDER and value]


def _files(group: str, folders: Sequence[Path]) -> dict[str, Path]:
    """The files of a group of choices, by name."""
    return {path.stem: path for folder in folders for path in (folder / group).glob("*.yaml")}


def _no_option(group: str, path: str, arguments: Sequence[str], folders: Sequence[Path]) -> str | None:
    """Why there is no option `path` of a backend ("dynet.autobatch") or of the workload ("data") to set, or None."""
    files = _files(group, folders)
    chosen = [argument.partition("=")[2] for argument in arguments if argument.partition("=")[0] == group]
    if group == "backend":
        name, dot, path = path.partition(".")
        if name not in files:
            return f"there is no 'backend.{name}' to set{_near(name, sorted(files), 'backend.')}"
        alone = unquoted(chosen[0]).strip("[]").replace(" ", "").split(",") if len(chosen) == 1 else [name]
        if name not in alone and not any(GRAMMAR.intersection(each) for each in alone):
            return f"backend.{name}{dot}{path}: {name} is not among the chosen backends, backend={chosen[0]}"
        owners, prefix = [name], f"backend.{name}."
    else:
        experiment = any(argument.partition("=")[0] in SWEEPS for argument in arguments)
        values = [value for value in chosen for value in unquoted(value).split(",")]
        owners, prefix = sorted(files) if experiment or not values else values, "workload."
    existing = sorted({option for owner in owners if owner in files for option in _options(files[owner])})
    option = path.partition(".")[0]
    if option in ("", "_target_", *existing) or not existing:
        return None
    return f"there is no '{prefix}{option}' to set{_near(option, existing, prefix)}"


def _options(file: Path) -> list[str]:
    """The options in the file of a backend or workload."""
    settings: Any = OmegaConf.to_container(OmegaConf.load(file))
    return [str(key) for key in settings if key != "_target_"]


def unquoted(value: str) -> str:
    """A value without quotes around all of it."""
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value


def _near(name: str, existing: Sequence[str], prefix: str = "") -> str:
    close = difflib.get_close_matches(name, existing, n=1)
    return f"; did you mean '{prefix}{close[0]}'?" if close else f"; there are: {', '.join(existing)}"
