"""Compiled workloads under AddressSanitizer and UndefinedBehaviorSanitizer: `scripts/sanitize [--kernels ...] [workload ...]`.

Each workload's generated code and runtime are built with both sanitizers and run in a process of its own, on drawn and edge
instances, one mini-batch after the other on one executable, with malformed instances and an exhausted arena in between; results
are compared with eager float64. TVM's kernels are machine code that the sanitizers do not see: `--kernels reference` puts the
plain C++ emitter in their place. `--kernels cuda` runs the workload on the emulated CUDA device, whose kernels they do see.
Leaks are not looked for here: to these tools Python itself leaks.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from backends.acrobat.core.folders import cache_folder
from backends.acrobat.core.toolchain import BuildError, compiler
from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels import reference
from backends.acrobat.kernels.cpu.emit import variants
from backends.acrobat.kernels.cpu.schedule import KernelSchedule
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.kernels.interface import CpuCode, Emitted, Schedules, Variant, flops
from backends.acrobat.kernels.packing import PLAIN
from backends.acrobat.options import Kernels

FLAGS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g", "-O1")
# Coroutines resume each other by tail calls; as ordinary calls, a long chain of waits would overflow the stack.
TAIL_CALLS = ("-foptimize-sibling-calls",)
ROOT = Path(__file__).resolve().parents[3]
FOUND = 99
"""The exit code of a process in which a sanitizer found an error."""


def emit_reference(
    kernel: Kernel, out_mode: Mode, target: CpuTarget, schedules: Schedules = (), kernels: Kernels = "generated"
) -> tuple[Variant, ...]:
    """Emits a kernel with the plain C++ emitter and compiles it with the sanitizers. It has no schedules to choose from."""
    with tempfile.TemporaryDirectory(prefix="acrobat-reference-") as folder:
        source, compiled = Path(folder, "kernel.cpp"), Path(folder, "kernel.o")
        source.write_text(f"#include <cmath>\n#include <cstdint>\n#include <cstring>\n{reference.source(kernel, out_mode)}\n")
        subprocess.run([compiler(), "-std=c++20", "-fPIC", *FLAGS, "-c", "-o", str(compiled), str(source)], check=True)
        code = compiled.read_bytes()
    packs = {p.name: PLAIN for p in kernel.params if p.mode is Mode.SHARED}
    name = reference.symbol(kernel, out_mode)
    emitted = Emitted(
        symbol=name,
        kernel=name,
        schedule=KernelSchedule.default(kernel, target),
        packs=packs,
        flops_per_row=flops(kernel),
        code=CpuCode(code, 1, reference.scratch_size(kernel), reference.declaration(kernel, out_mode)),
    )
    return (Variant(0, emitted),)


KERNELS = {"tvm": variants, "reference": emit_reference}


@cache
def unavailable() -> str | None:
    """Why this machine cannot build sanitized code, or None if it can."""
    try:
        name = compiler()
    except BuildError as error:
        return str(error)
    if "clang" in Path(name).name:
        return f"{name} is not g++, whose sanitizers these are; name one in CXX"
    for library in ("libasan.so", "libubsan.so", "libstdc++.so"):
        if not library_path(library).is_absolute():
            return f"{name} has no {library}; install the sanitizers of this compiler (libasan and libubsan)"
    return None


def library_path(name: str) -> Path:
    return Path(subprocess.run([compiler(), f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip())


def preloaded() -> list[Path]:
    """The libraries to load before Python: the sanitizer, and the C++ library, whose exceptions it intercepts."""
    return [library_path("libasan.so"), library_path("libstdc++.so")]


def options() -> dict[str, str]:
    """The environment of a sanitized program."""
    return {
        **os.environ,
        "ASAN_OPTIONS": f"detect_leaks=0:exitcode={FOUND}:allocator_may_return_null=1:quarantine_size_mb=16",
        "UBSAN_OPTIONS": f"print_stacktrace=1:exitcode={FOUND}",
    }


def environment() -> dict[str, str]:
    """The environment of a Python process that loads sanitized code."""
    return {
        **options(),
        "LD_PRELOAD": ":".join(map(str, preloaded())),
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }


def sanitized(module: Any, folder: Path, kernels: str = "tvm", **keywords: Any) -> Any:
    """The executable of `module`, built with the sanitizers. Call it only in a process with `environment()`."""
    from backends.acrobat import compile

    return compile(module, cache_folder=folder, flags=(*FLAGS, *TAIL_CALLS), emit=KERNELS[kernels], **keywords)


def build(module: Any, folder: Path, kernels: str = "tvm") -> Path:
    """Makes the build that `sanitized` loads, without loading it; gives its folder."""
    from backends.acrobat.builds import Build
    from backends.acrobat.compiler import ensure_built
    from backends.acrobat.frontend import build as build_program
    from backends.acrobat.options import Options
    from backends.acrobat.pipeline import optimise

    program = optimise(build_program(module), Options())
    made = Build(program, Options(), CpuTarget.detect(), flags=(*FLAGS, *TAIL_CALLS), emit=KERNELS[kernels])
    return ensure_built(made, folder)


def exercise(name: str, folder: Path, kernels: str) -> None:
    """Runs one workload in all ways. Raises AssertionError for a wrong result; sanitizers end the process if they find one."""
    import pytest
    import torch

    from backends.acrobat.errors import InstanceError, ResourceError
    from backends.acrobat.options import Options
    from backends.acrobat.tests.support import assert_same, draw, eager, edges, tiny
    from workloads.structures import map_tensors

    model = tiny(name, torch.float64)
    batches = [draw(name, 3), edges(name), draw(name, 1, seed=1), [], draw(name, 24, seed=2), edges(name)[:2]]
    wanted = [eager(model, batch) for batch in batches]
    good = batches[2]
    tensors: list[torch.Tensor] = []

    def shrink(t: torch.Tensor) -> torch.Tensor:
        tensors.append(t)
        return t[..., :1]

    thin = map_tensors(shrink, good[0])
    malformed = [None, object(), 10**30, "text", *([thin] if tensors else [])]
    many = edges(name) + draw(name, 12, seed=3)
    while len(many) < 20_000:
        many += many

    for threads in (1, 2):
        for checked in (False, True):
            for gather_fusion in (True, False):
                executable = sanitized(
                    tiny(name),
                    folder,
                    kernels,
                    threads=threads,
                    checked=checked,
                    options=Options(gather_fusion=gather_fusion, wave=1 if checked else 64),
                )
                for batch, want in zip(batches, wanted, strict=True):
                    assert_same(executable(batch), want, name)
                    for instance in malformed:
                        with pytest.raises(InstanceError):
                            executable([*good, instance])
                executable.close()
        at_once = Options(wave=0)  # with waves, the smaller workloads would fit into the memory
        executable = sanitized(tiny(name), folder, kernels, threads=threads, memory_limit=2 << 20, options=at_once)
        for batch, want in list(zip(batches, wanted, strict=True))[:3]:
            assert_same(executable(batch), want, name)
            with pytest.raises(ResourceError):
                executable(many)


def exercise_cuda(name: str, folder: Path) -> None:
    """Runs one workload on the emulated device with its ways of running. Raises AssertionError for a wrong result."""
    import torch

    from backends.acrobat import compile
    from backends.acrobat.options import Options
    from backends.acrobat.runtime.cuda.tests.emulated import emulated
    from backends.acrobat.tests.support import assert_same, draw, eager, edges, tiny

    model = tiny(name, torch.float64)
    batches = [draw(name, 3), edges(name), draw(name, 1, seed=1), [], draw(name, 24, seed=2), edges(name)[:2]]
    wanted = [eager(model, batch) for batch in batches]
    ways = (Options(), Options(launch="launches"), Options(gather_fusion=False), Options(executor="dataflow"), Options(wave=1))
    with emulated():
        for options in ways:
            executable = compile(
                tiny(name), device="cuda", cache_folder=folder, flags=(*FLAGS, *TAIL_CALLS), checked=True, options=options
            )
            for _ in range(3):
                for batch, want in zip(batches, wanted, strict=True):
                    assert_same(executable(batch), want, name)
            executable.close()


def check(name: str, folder: Path, kernels: str = "tvm") -> subprocess.CompletedProcess[str]:
    """Builds one workload and runs it in a process of its own; its exit code is 0 if nothing was found."""
    from backends.acrobat.tests.support import tiny

    if kernels != "cuda":
        build(tiny(name), folder, kernels)
    return run("-m", "backends.acrobat.tests.sanitize", "--exercise", str(folder), "--kernels", kernels, name)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs Python with these arguments under the sanitizers."""
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment(), capture_output=True, text=True)


def main() -> int:
    from backends.acrobat.tests.support import NAMES

    kinds = sorted([*KERNELS, "cuda"])
    parser = argparse.ArgumentParser(prog="scripts/sanitize", description=__doc__.split("\n\n")[0])
    parser.add_argument("workloads", nargs="*", metavar="workload", help=f"of {', '.join(NAMES)}; all by default")
    parser.add_argument("--kernels", choices=kinds, default="tvm", help="which kernels; TVM's are not instrumented")
    parser.add_argument("--exercise", type=Path, metavar="FOLDER", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if unknown := set(chosen.workloads) - set(NAMES):
        parser.error(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    if reason := unavailable():
        print(f"error: {reason}", file=sys.stderr)
        return 2
    if chosen.exercise:
        for name in chosen.workloads:
            if chosen.kernels == "cuda":
                exercise_cuda(name, chosen.exercise)
            else:
                exercise(name, chosen.exercise, chosen.kernels)
        return 0
    failed = 0
    for name in chosen.workloads or NAMES:
        began = time.monotonic()
        result = check(name, cache_folder() / "sanitized", chosen.kernels)
        failed += result.returncode != 0
        print(f"{name:12}{'ok' if result.returncode == 0 else 'FAILED'}  {time.monotonic() - began:.0f} s", flush=True)
        if result.returncode != 0:
            print(result.stdout[-4000:] + result.stderr[-12000:], flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
