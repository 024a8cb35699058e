"""The workloads' models and a few of their instances, as programs of the core IR."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from backends.acrobat.frontend import build
from backends.acrobat.ir.nodes import Program
from workloads.spec import ModelSpec, loaded

WORKLOADS = ("treelstm", "mvrnn", "birnn", "drnn", "berxit", "stackrnn", "nestedrnn")


@cache
def workload(name: str) -> tuple[Program, tuple[Any, ...]]:
    """The smallest size of a workload, with seven instances."""
    spec: ModelSpec = import_module(f"workloads.{name}.spec").Spec()
    return build(loaded(spec, "tiny", 0)), tuple(spec.instances("tiny", 0, 7))
