"""What the host does for a mini-batch on a CUDA device, measured without one.

A model is compiled for the emulated device, made to look like a given one. Then a module that computes nothing takes the
place of its kernels, so what is left is the host's work: reading the instances, recording, planning, writing what is
uploaded, handing it to the driver, and making the results. Only the driver itself is another one: what its calls cost is not
in these times, nor is the time during which the host waits for the device. Decisions must not follow from computed values, as
those of the workloads do not by default.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from backends.acrobat.codegen.build import cached
from backends.acrobat.codegen.cuda.device import IMAGE
from backends.acrobat.codegen.executable import Executable
from backends.acrobat.compiler import compile
from backends.acrobat.core.toolchain import compiler, compiler_version
from backends.acrobat.kernels.cuda.target import MULTIPROCESSORS, SECOND_LEVEL, SHARED_MEMORY, CudaTarget
from backends.acrobat.runtime.cuda.tests.emulated import SOURCE as DRIVER
from backends.acrobat.runtime.cuda.tests.emulated import emulated

SILENT = DRIVER.with_name("silent.cpp")
STEPS = SILENT.parents[1] / "steps.h"
RUNS = 30


@dataclass(frozen=True, slots=True)
class HostWork:
    """What one mini-batch takes of the host, and what it gives to the driver. Each of the times is the least of all runs, which
    says most where other processes disturb some of them."""

    read_ms: float
    """Reading the instances from Python objects."""
    record_ms: float
    plan_ms: float
    """Planning, tables and arguments included, and requesting uploads and launches."""
    results_ms: float
    """Collecting results and making Python objects of them, while the device may still be computing."""
    uploaded: int
    """Bytes."""
    executions: int
    steps: int
    barriers: int

    @property
    def before_ms(self) -> float:
        """The time that passes before the device has its first work."""
        return self.read_ms + self.record_ms + self.plan_ms


def measured(module: nn.Module, instances: Sequence[Any], target: CudaTarget, runs: int = RUNS) -> HostWork:
    """The host's work for this mini-batch on a device like `target`. Raises BuildError without a C++ compiler."""
    with emulated() as driver:
        for number, value in (
            (MULTIPROCESSORS, target.sms),
            (SHARED_MEMORY, target.shared),
            (SECOND_LEVEL, target.second_level),
        ):
            driver.attribute(number, value)
        driver.leave_open()
        built = compile(module, device="cuda")
        with tempfile.TemporaryDirectory(prefix="acrobat-silent-") as folder:
            executable = _silent(built, Path(folder))
            measurements = []
            with torch.inference_mode():
                for _ in range(runs + 2):
                    executable(instances)
                    measurements.append(executable.counters())
            executable.close()
        built.close()
    last = measurements[-1]
    read, record, plan, results = (
        min(counters[name] for counters in measurements[2:])
        for name in ("ingest_ms", "construct_ms", "schedule_ms", "fetch_ms")
    )
    uploaded, executions, steps, barriers = (int(last[name]) for name in ("uploaded_bytes", "executions", "steps", "barriers"))
    return HostWork(read, record, plan, results, uploaded, executions, steps, barriers)


def _silent(executable: Executable, folder: Path) -> Executable:
    """An executable of the same build whose kernels compute nothing; `folder` is an empty one for its files."""
    for path in executable.folder.iterdir():
        if path.is_file() and path.name != IMAGE:
            (folder / path.name).symlink_to(path)
    shutil.copy(_module(), folder / IMAGE)
    build = executable._build
    return Executable(folder, executable._weights, build.classes, build.settings, build.boundary, build.messages)


def _module() -> Path:
    key = hashlib.sha256(repr((SILENT.read_text(), STEPS.read_text(), compiler_version(compiler()))).encode()).hexdigest()[:24]

    def make(folder: Path) -> None:
        command = [compiler(), "-std=c++20", "-O1", "-fPIC", "-shared", str(SILENT), "-o", str(folder / "silent.so")]
        subprocess.run(command, check=True)

    return cached(f"cuda-silent-{key}", make) / "silent.so"
