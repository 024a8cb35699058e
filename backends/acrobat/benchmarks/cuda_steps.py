"""Where the time of a walk goes: `python -m backends.acrobat.benchmarks.cuda_steps treelstm drnn` runs a mini-batch of each
workload (small, 64 instances) on the CUDA device and reads the clock of its first multiprocessor after each step.

Steps up to a barrier of all blocks run side by side, so what is printed is the time from barrier to barrier, by the kernels
that ran in between: how often, the microseconds of all together and of each, and how many tiles they had at a median. The clock
is read when the multiprocessor has arrived at a barrier, so waiting there for others counts for the kernels behind it. Each
walk is waited for, so times of the host are longer than in a normal run. On the emulated device the program runs too, to see
that it does; its numbers then mean nothing.
"""

from __future__ import annotations

import argparse
import ctypes
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch

from backends.acrobat.benchmarks.cuda_estimate import TARGETS
from backends.acrobat.codegen.executable import Executable
from backends.acrobat.compiler import compile
from backends.acrobat.kernels.cuda.module import BUILT_IN
from workloads.spec import loaded
from workloads.tests.named import spec

FIELDS = 5
"""How many numbers the runtime keeps of a step: the walk, the kernel, tiles, whether a barrier follows, cycles."""


@dataclass(frozen=True, slots=True)
class Interval:
    """The steps from one barrier of all blocks to the next, or to the end of a walk."""

    kernels: tuple[str, ...]
    tiles: int
    cycles: int


def intervals(executable: Executable, instances: Sequence[Any]) -> list[Interval]:
    """The intervals of a mini-batch, in order, over all its walks. The executable is one for a CUDA device."""
    session = executable._first
    session._lib.acrobat_cuda_read_clocks(session.address())
    executable(instances)
    count = ctypes.c_int64()
    numbers = session._lib.acrobat_cuda_clocks(session.address(), ctypes.byref(count))
    names = [*BUILT_IN, *(symbol.removeprefix("k_").rpartition("_")[0] for symbol in executable.manifest["kernels"])]
    found: list[Interval] = []
    kernels: list[str] = []
    tiles = cycles = 0
    for i in range(count.value):
        walk, kernel, step_tiles, barrier, step_cycles = numbers[i * FIELDS : (i + 1) * FIELDS]
        kernels.append(names[kernel])
        tiles, cycles = tiles + step_tiles, cycles + step_cycles
        ends = i + 1 == count.value or numbers[(i + 1) * FIELDS] != walk
        if barrier or ends:
            found.append(Interval(tuple(dict.fromkeys(kernels)), tiles, cycles))
            kernels, tiles, cycles = [], 0, 0
    return found


def report(name: str, size: str, batch: int, rows: int) -> str:
    """The table of one workload: at most `rows` lines, the longest times first."""
    workload = spec(name)
    executable = compile(loaded(workload, size, 0), device="cuda")
    instances = workload.instances(size, 0, batch)
    with torch.inference_mode():
        for _ in range(3):
            executable(instances)
            executable.synchronize()
        device_ms = min(_device_ms(executable, instances) for _ in range(5))
        found = intervals(executable, instances)
    executable.close()
    by_kernels: dict[tuple[str, ...], list[Interval]] = defaultdict(list)
    for interval in found:
        by_kernels[interval.kernels].append(interval)
    total = sum(i.cycles for i in found)
    us_each = device_ms * 1e3 / max(total, 1)
    lines = [f"{name}: {device_ms:.3f} ms on the device, {total} cycles in {len(found)} intervals"]
    for kernels, group in sorted(by_kernels.items(), key=lambda item: -sum(i.cycles for i in item[1]))[:rows]:
        us, cycles = sum(i.cycles for i in group) * us_each, median(i.cycles for i in group)
        tiles = median(i.tiles for i in group)
        lines.append(
            f"  {us:9.1f} us {100 * us / (device_ms * 1e3):5.1f} %  {len(group):5d} x {us / len(group):7.2f} us "
            f"({cycles:8.0f} cycles), {tiles:6.0f} tiles: {' + '.join(kernels)}"
        )
    return "\n".join(lines)


def _device_ms(executable: Executable, instances: Sequence[Any]) -> float:
    executable(instances)
    executable.synchronize()
    return executable.counters()["kernel_ms"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", default=list(TARGETS))
    parser.add_argument("--size", default="small")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rows", type=int, default=12, help="the most lines for each workload")
    arguments = parser.parse_args()
    for name in arguments.workloads:
        print(report(name, arguments.size, arguments.batch, arguments.rows), flush=True)


if __name__ == "__main__":
    main()
