"""Estimates the time of a mini-batch on an H200 without one: `python -m backends.acrobat.benchmarks.cuda_estimate`, followed by
names of workloads; without names, all workloads that have a target.

The launches of a mini-batch are taken from a run on the processor, which records and batches alike. Each is looked up as the
CUDA kernel that would run it, with its tiles. The times follow from `Constants` and from the same prediction of a tile's
cycles that chooses the tiles (`kernels/cuda/schedule.py`), which was fitted in part to times on an H100. All tiles of other
kernels, those of products of two row operands among them, count as equal. So this is a model of the device's time that shows
what dominates it; it is no measurement. The host's times are measured on this machine (`cuda_host.py`). `--registers` also
compiles the kernels with NVRTC and prints what the walker needs.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import ceil

import torch

from backends.acrobat.benchmarks.cuda_host import HostWork, measured
from backends.acrobat.codegen.cuda.units import chains
from backends.acrobat.codegen.devices import DEVICES
from backends.acrobat.codegen.module import collect_units
from backends.acrobat.compiler import compile
from backends.acrobat.frontend import build_with_reads
from backends.acrobat.kernels.cuda import gemm
from backends.acrobat.kernels.cuda.build import compiled
from backends.acrobat.kernels.cuda.emit import variants
from backends.acrobat.kernels.cuda.module import module_text, walk_shared
from backends.acrobat.kernels.cuda.schedule import gemm_cycles
from backends.acrobat.kernels.cuda.target import CudaTarget
from backends.acrobat.kernels.interface import CudaCode, Emitted, Variant
from backends.acrobat.kernels.plan import Gemm
from backends.acrobat.options import Options
from backends.acrobat.pipeline import optimise
from workloads.spec import loaded

H200 = CudaTarget("NVIDIA H200", "sm_90a", 132, 227 << 10, 50 << 20)
TARGETS = {"treelstm": 0.4, "mvrnn": 0.5, "birnn": 0.6, "drnn": 1.2, "nestedrnn": 7.0, "stackrnn": 7.0, "berxit": 25.0}
"""The milliseconds that a mini-batch of 64 small instances may take, end to end."""


@dataclass(frozen=True, slots=True)
class Constants:
    """As `kernels/cuda/constants.py` measured them on an H100; the start and the cycles of other kernels are assumed."""

    barrier_us: float = 0.99
    round_trip_us: float = 9.4
    """From the flag that the device sets, by way of the host, to the start of the next launch."""
    start_us: float = 10.0
    """The upload and the launch of the first execution."""
    clock_ghz: float = 1.98
    rowwise_cycles: float = 1000.0
    """The cycles of a tile without a product: its tables, operands and stores, one after the other."""


@dataclass(slots=True)
class DeviceWork:
    """What the device does for one mini-batch."""

    barriers: int = 0
    steps: int = 0
    tiles: int = 0
    flops: float = 0.0
    weights: float = 0.0
    """The bytes of weights that all tiles read."""
    barrier_us: float = 0.0
    tile_us: float = 0.0
    executions: int = 0
    by_kernel: dict[str, float] = field(default_factory=dict)
    """The microseconds of tiles between two barriers, by the name of the slowest kernel there."""

    @property
    def device_ms(self) -> float:
        return (self.barrier_us + self.tile_us) / 1e3

    def trips_ms(self, c: Constants) -> float:
        return (c.start_us + (self.executions - 1) * c.round_trip_us) / 1e3

    def total_ms(self, c: Constants, host: HostWork) -> float:
        """End to end. The host makes the results while the device runs the last execution, and else one of the two waits."""
        last = self.device_ms / self.executions
        return host.before_ms + self.trips_ms(c) + self.device_ms - last + max(last, host.results_ms)


@dataclass(frozen=True, slots=True)
class KernelOnDevice:
    """A kernel's variants for CUDA, its plan if it is a GEMM, and how many calls of its unit precede it (`chain`)."""

    made: tuple[Variant[CudaCode], ...]
    plan: Gemm | None
    chain: int

    def variant(self, rows: int) -> Emitted[CudaCode]:
        return [v.emitted for v in self.made if v.rows <= rows][-1]


def kernels_of(module: torch.nn.Module) -> dict[str, KernelOnDevice]:
    """The kernels of a module, by the symbols that they have in a schedule of the processor."""
    program, _ = build_with_reads(module)
    units = collect_units(optimise(program, Options().effective()), True)
    cpu = DEVICES["cpu"]
    target = cpu.target(Options())
    by_symbol: dict[str, KernelOnDevice] = {}
    for unit in units:
        for call, chain in zip(unit.calls, chains(unit), strict=True):
            request = call.request
            plan = gemm.plan_of(request.kernel)
            made = variants(request.kernel, request.out_mode, H200)
            by_symbol[cpu.symbol(request, target)] = KernelOnDevice(made, plan[0] if plan else None, chain)
    return by_symbol


def work_of(launches: Iterable[tuple[int, int, str, str, int]], kernels: dict[str, KernelOnDevice], c: Constants) -> DeviceWork:
    """Launches are (phase, depth, name, symbol, rows). Those of one level and `chain` share a barrier and the device."""
    work = DeviceWork()
    for _, level in groupby(launches, key=lambda launch: launch[:2]):
        by_chain: dict[int, list[tuple[str, KernelOnDevice, int]]] = {}
        for _, _, name, symbol, rows in level:
            by_chain.setdefault(kernels[symbol].chain, []).append((name, kernels[symbol], rows))
        for calls in by_chain.values():
            work.barriers += 1
            work.barrier_us += c.barrier_us
            longest = busy = 0.0
            slowest = calls[0][0]
            for name, kernel, rows in calls:
                emitted = kernel.variant(rows)
                tiles = emitted.code.tiles(rows)
                waves = ceil(tiles / H200.sms)
                tile_cycles = c.rowwise_cycles
                if kernel.plan is not None:
                    tile_cycles = gemm_cycles(emitted.schedule, kernel.plan, rows * kernel.plan.rows, H200) / max(waves, 1)
                    columns = kernel.plan.epilogue.gates * kernel.plan.epilogue.units
                    work.weights += 4.0 * kernel.plan.depth * columns * ceil(tiles / emitted.code.tile_columns)
                work.steps += 1
                work.tiles += tiles
                work.flops += float(emitted.flops_per_row) * rows
                busy += tiles * tile_cycles
                if waves * tile_cycles > longest:
                    longest, slowest = waves * tile_cycles, name
            took = max(longest, busy / H200.sms) / c.clock_ghz / 1e3
            work.tile_us += took
            work.by_kernel[slowest] = work.by_kernel.get(slowest, 0.0) + took
    return work


def registers(kernels: dict[str, KernelOnDevice]) -> str:
    emitted = list({v.emitted.symbol: v.emitted for k in kernels.values() for v in k.made}.values())
    usage = compiled(module_text(emitted, ("walk",)), H200.arch).usage["walk"]
    return f"{usage.registers} registers, {usage.spilled} bytes spilled, {walk_shared(emitted) / 1024:.0f} KiB shared"


HEAD = (
    *("workload", "executions", "steps", "barriers", "tiles a step", "GFLOP", "weights read, MB", "uploaded, KB"),
    *("host: read, ms", "record, ms", "plan, ms", "results, ms"),
    *("device: barriers, ms", "tiles, ms", "trips, ms", "estimate, ms", "target, ms", "most of the tiles' time"),
)


def row(name: str, batch_size: int, c: Constants) -> tuple[list[str], dict[str, KernelOnDevice]]:
    workload = importlib.import_module(f"workloads.{name}.spec").Spec()
    module = loaded(workload, "small", 0)
    instances = workload.instances("small", 0, batch_size)
    kernels = kernels_of(module)
    executable = compile(module, options=Options(wave=0))
    with torch.inference_mode():
        launches = executable._launches(instances)
    work = work_of(launches, kernels, c)
    work.executions = int(executable.counters()["executions"])
    executable.close()
    host = measured(module, instances, H200)
    most = max(work.by_kernel, key=work.by_kernel.__getitem__)
    cells = [
        name,
        *map(str, (work.executions, work.steps, work.barriers, round(work.tiles / work.steps))),
        *(f"{work.flops / 1e9:.2f}", f"{work.weights / 1e6:.0f}", f"{host.uploaded / 1e3:.0f}"),
        *(f"{x:.2f}" for x in (host.read_ms, host.record_ms, host.plan_ms, host.results_ms)),
        *(f"{x:.2f}" for x in (work.barrier_us / 1e3, work.tile_us / 1e3, work.trips_ms(c), work.total_ms(c, host))),
        *(f"{TARGETS[name]:g}" if name in TARGETS else "", f"{most} ({work.by_kernel[most] / work.tile_us:.0%})"),
    ]
    return cells, kernels


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="An estimate of the time of mini-batches on an H200; no measurement.")
    parser.add_argument("workloads", nargs="*", default=list(TARGETS))
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--registers", action="store_true", help="compile the kernels by NVRTC, 2 to 15 seconds each")
    chosen = parser.parse_args(arguments)
    print(f"| {' | '.join(HEAD)} |\n|{' --- |' * len(HEAD)}")
    for name in chosen.workloads:
        cells, kernels = row(name, chosen.batch_size, Constants())
        print(f"| {' | '.join(cells)} |" + (f" {registers(kernels)}" if chosen.registers else ""), flush=True)


if __name__ == "__main__":
    main()
