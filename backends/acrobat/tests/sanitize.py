"""Compiled workloads under the compiler's sanitizers: `scripts/sanitize [--thread] [--kernels ...] [workload ...]`.

Each workload's generated code and runtime are built with AddressSanitizer and UndefinedBehaviorSanitizer and run in a process
of its own, on drawn and edge instances, one mini-batch after the other on one executable, with malformed instances and an
exhausted arena in between; results are compared with eager float64. TVM's kernels are machine code that the sanitizers do not
see: `--kernels reference` puts the plain C++ emitter in their place. `--kernels cuda` runs the workload on the emulated CUDA
device, whose kernels they do see. Leaks are not looked for here: to these tools Python itself leaks.

With `--thread` it is ThreadSanitizer, and mini-batches run on two threads. Kernels are then of the plain emitter by default,
since a race is only found if both accesses are seen; TVM's are shared out among threads by columns too, not by rows alone.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from backends.acrobat.core.folders import cache_folder
from backends.acrobat.kernels.cpu.emit import variants
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.tests.sanitizers import ADDRESS, ROOT, THREAD, Sanitizer, emit_reference

# Coroutines resume each other by tail calls; as ordinary calls, a long chain of waits would overflow the stack.
TAIL_CALLS = ("-foptimize-sibling-calls",)
ROUNDS = 2
"""How often each mini-batch runs under ThreadSanitizer: the first time, memory is new."""


def how(sanitizer: Sanitizer, kernels: str) -> dict[str, Any]:
    """The keyword arguments of `compile` and `Build` for code with the sanitizer; `kernels` is `tvm` or `reference`."""
    return {"flags": (*sanitizer.flags, *TAIL_CALLS), "emit": variants if kernels == "tvm" else emit_reference(sanitizer)}


def build(module: Any, folder: Path, kernels: str, sanitizer: Sanitizer) -> Path:
    """Makes the build that `compile` loads in a process with the sanitizer, without loading it; gives its folder."""
    from backends.acrobat.builds import Build
    from backends.acrobat.compiler import ensure_built
    from backends.acrobat.frontend import build as build_program
    from backends.acrobat.options import Options
    from backends.acrobat.pipeline import optimise

    program = optimise(build_program(module), Options())
    return ensure_built(Build(program, Options(), CpuTarget.detect(), **how(sanitizer, kernels)), folder)


def exercise(name: str, folder: Path, kernels: str) -> None:
    """Runs one workload in all ways. Raises AssertionError for a wrong result; sanitizers end the process if they find one."""
    import pytest
    import torch

    from backends.acrobat import compile
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
    sanitized = {"cache_folder": folder, **how(ADDRESS, kernels)}
    while len(many) < 20_000:
        many += many

    for threads in (1, 2):
        for checked in (False, True):
            for gather_fusion in (True, False):
                options = Options(gather_fusion=gather_fusion, wave=1 if checked else 64)
                executable = compile(tiny(name), threads=threads, checked=checked, options=options, **sanitized)
                for batch, want in zip(batches, wanted, strict=True):
                    assert_same(executable(batch), want, name)
                    for instance in malformed:
                        with pytest.raises(InstanceError):
                            executable([*good, instance])
                executable.close()
        at_once = Options(wave=0)  # with waves, the smaller workloads would fit into the memory
        executable = compile(tiny(name), threads=threads, memory_limit=2 << 20, options=at_once, **sanitized)
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
            flags = (*ADDRESS.flags, *TAIL_CALLS)
            executable = compile(tiny(name), device="cuda", cache_folder=folder, flags=flags, checked=True, options=options)
            for _ in range(3):
                for batch, want in zip(batches, wanted, strict=True):
                    assert_same(executable(batch), want, name)
            executable.close()


def exercise_threads(name: str, folder: Path, kernels: str) -> None:
    """Runs one workload with two threads that share the work of each mini-batch, first from one thread of Python and then from
    two at once. Raises AssertionError for a wrong result; ThreadSanitizer ends the process if it finds a race."""
    import torch

    from backends.acrobat import compile
    from backends.acrobat.options import Options
    from backends.acrobat.tests.support import assert_same, draw, eager, edges, tiny

    torch.set_num_threads(1)
    model = tiny(name, torch.float64)
    batches = [draw(name, 24, seed=2), edges(name), draw(name, 3), [], draw(name, 90, seed=4)]
    wanted = [eager(model, batch) for batch in batches]
    failures: list[BaseException] = []

    def run_all() -> None:
        try:
            for _ in range(ROUNDS):
                for batch, want in zip(batches, wanted, strict=True):
                    assert_same(executable(batch), want, name)
        except BaseException as error:
            failures.append(error)

    for options in (Options(), Options(gather_fusion=False, wave=1), Options(executor="dataflow", merge_steps=False)):
        executable = compile(tiny(name), threads=2, options=options, cache_folder=folder, **how(THREAD, kernels))
        for callers in (1, 2):
            threads = [threading.Thread(target=run_all) for _ in range(callers)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            if failures:
                raise failures[0]
        executable.close()


def check(name: str, folder: Path, kernels: str = "tvm", sanitizer: Sanitizer = ADDRESS) -> subprocess.CompletedProcess[str]:
    """Builds one workload and runs it in a process of its own; its exit code is 0 if nothing was found."""
    from backends.acrobat.tests.support import tiny

    if kernels != "cuda":
        build(tiny(name), folder, kernels, sanitizer)
    thread = ["--thread"] if sanitizer is THREAD else []
    return run(
        "-m",
        "backends.acrobat.tests.sanitize",
        *thread,
        "--exercise",
        str(folder),
        "--kernels",
        kernels,
        name,
        sanitizer=sanitizer,
    )


def run(*arguments: str, sanitizer: Sanitizer = ADDRESS) -> subprocess.CompletedProcess[str]:
    """Runs Python with these arguments under the sanitizer."""
    environment = sanitizer.python_environment()
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True)


def main() -> int:
    from backends.acrobat.tests.support import NAMES

    parser = argparse.ArgumentParser(prog="scripts/sanitize", description=__doc__.split("\n\n")[0])
    parser.add_argument("workloads", nargs="*", metavar="workload", help=f"of {', '.join(NAMES)}; all by default")
    parser.add_argument("--thread", action="store_true", help="look for races of two threads, not for errors of memory")
    parser.add_argument(
        "--kernels",
        choices=["cuda", "reference", "tvm"],
        help="TVM's, which are not instrumented, plain ones (the default with --thread), or the emulated CUDA device's",
    )
    parser.add_argument("--exercise", type=Path, metavar="FOLDER", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if unknown := set(chosen.workloads) - set(NAMES):
        parser.error(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    if chosen.thread and chosen.kernels == "cuda":
        parser.error("the emulated CUDA device takes one thread: leave out --thread or --kernels cuda")
    sanitizer = THREAD if chosen.thread else ADDRESS
    kernels = chosen.kernels or ("reference" if chosen.thread else "tvm")
    if reason := sanitizer.unavailable():
        print(f"error: {reason}", file=sys.stderr)
        return 2
    if chosen.exercise:
        for name in chosen.workloads:
            if kernels == "cuda":
                exercise_cuda(name, chosen.exercise)
            else:
                (exercise_threads if chosen.thread else exercise)(name, chosen.exercise, kernels)
        return 0
    failed = 0
    for name in chosen.workloads or NAMES:
        began = time.monotonic()
        result = check(name, cache_folder() / "sanitized", kernels, sanitizer)
        failed += result.returncode != 0
        print(f"{name:12}{'ok' if result.returncode == 0 else 'FAILED'}  {time.monotonic() - began:.0f} s", flush=True)
        if result.returncode != 0:
            print(result.stdout[-4000:] + result.stderr[-12000:], flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
