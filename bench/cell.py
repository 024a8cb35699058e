"""A cell: one backend with its options on one workload, size, batch size, thread count, device and seed.

Its id is a hash of the canonical configuration and of nothing else, so the same command finds the same cell on any day;
the hash of the sources it ran is recorded apart and tells when a stored row is stale.
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
    """A workload or a backend: the class `target` names, built with `options` (defaults filled in)."""

    name: str
    target: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def canonical_options(self) -> dict[str, Any]:
        """Options as recorded: a data file by name and content, not by where it lies, and a folder with a build of a library
        (`path`) by its content."""
        options = dict(self.options)
        if options.get("data"):
            options["data"] = _name_and_hash(str(options["data"]))
        if options.get("path"):
            options["path"] = _build_hash(str(options["path"]))
        return options


@dataclass(frozen=True)
class Cell:
    workload: Part
    backend: Part
    size: str = "small"
    batch_size: int = 64
    threads: int = 1
    device: str = "cpu"
    seed: int = 0
    minibatches: int = 5  # distinct mini-batches, hence how many instances
    env: Mapping[str, str] = field(default_factory=dict)  # environment variables given to its process on purpose
    measure: str = "default"  # name of the measuring settings: rows of different ones are not compared

    def canonical(self) -> dict[str, Any]:
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
        """What the operands of products may be rounded to, for backends with that option; float32 for others."""
        return str(self.backend.options.get("precision", "fp32"))

    @property
    def id(self) -> str:
        text = json.dumps(self.canonical(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def source(self) -> str:
        """Hash of everything the cell runs apart from the harness itself."""
        return sources.digest(
            [*sources.backend_files(self.backend.target, self.device), *sources.workload_files(self.workload.target)]
        )


@cache
def _name_and_hash(path: str) -> str:
    return f"{Path(path).name}:{hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12]}"


@cache
def _build_hash(path: str) -> str:
    """Of the libraries and Python modules that lie in the folder itself; "missing" where there are none."""
    files = [p for p in sorted(Path(path).glob("*")) if p.is_file() and (p.suffix == ".py" or ".so" in p.suffixes)]
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:12] if files else "missing"
