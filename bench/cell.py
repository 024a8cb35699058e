"""A cell: one backend with its options on one workload, size, batch size, thread count, device and seed.

Its id is a hash of the canonical configuration and of nothing else, so the same command always finds the same cell. A hash of
the sources that it ran is recorded separately and tells when a stored row is stale.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from bench import sources


@dataclass(frozen=True)
class Part:
    """A workload or a backend: an object of the class that `target` names, made with `options` (defaults filled in)."""

    name: str
    target: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def canonical_options(self) -> dict[str, Any]:
        """The options as a row records them: in place of the path of a data file (`data`) its name and a hash of its content,
        in place of a folder with a build of a library (`path`) a hash of its content."""
        options = dict(self.options)
        if options.get("data"):
            options["data"] = _name_and_hash(str(options["data"]))
        if options.get("path"):
            options["path"] = _build_hash(str(options["path"]))
        return options


@dataclass(frozen=True)
class Cell:
    """What one row is about (see above)."""

    workload: Part
    backend: Part
    size: str = "small"
    batch_size: int = 64
    threads: int = 1
    device: str = "cpu"
    seed: int = 0
    minibatches: int = 5  # how many distinct mini-batches, which decides how many instances are drawn
    env: Mapping[str, str] = field(default_factory=dict)  # environment variables that the user sets for its process
    measure: str = "default"  # name of the measuring settings: rows of different settings are not compared

    def canonical(self) -> dict[str, Any]:
        """The configuration as plain values, from which the id is made and which a row records."""
        return {
            "backend": self.backend.name,
            "options": self.backend.canonical_options(),
            "workload": self.workload.name,
            "workload_options": self.workload.canonical_options(),
            "size": self.size,
            "batch_size": self.batch_size,
            "threads": self.threads,
            "device": self.device,
            "seed": self.seed,
            "minibatches": self.minibatches,
            **({"env": dict(self.env)} if self.env else {}),
            "measure": self.measure,
        }

    @property
    def precision(self) -> str:
        """The precision that operands of products may be rounded to (option `precision`); "fp32" if there is no such option."""
        return str(self.backend.options.get("precision", "fp32"))

    @property
    def id(self) -> str:
        text = json.dumps(self.canonical(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def source(self) -> str:
        """A hash of the sources of everything that the cell runs, apart from the harness itself."""
        return sources.digest(
            [*sources.backend_files(self.backend.target, self.device), *sources.workload_files(self.workload.target)]
        )


@cache
def _name_and_hash(path: str) -> str:
    return f"{Path(path).name}:{hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12]}"


@cache
def _build_hash(path: str) -> str:
    """A hash of the libraries and Python modules directly in the folder; "missing" where there are none."""
    files = [p for p in sorted(Path(path).glob("*")) if p.is_file() and (p.suffix == ".py" or ".so" in p.suffixes)]
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:12] if files else "missing"
