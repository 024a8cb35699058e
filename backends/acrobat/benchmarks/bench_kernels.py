"""Kernels of the workloads as fractions of the FMA peak, in one thread. `scripts/benchmark kernels` runs it.

A fraction counts the operations of matrix products only. It is the median over rounds that each measure the peak as well, in
time of this thread.
"""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from backends.acrobat.benchmarks import models
from backends.acrobat.benchmarks.harness import KernelCase
from backends.acrobat.core.units import Kernel

RECURRENT = {
    f"{make.__name__} {h}": make(h) for h in (256, 512) for make in (models.leaf, models.compose, models.forget, models.birnn)
}
SMALL = {
    "classifier 5": models.classifier(256, 5),
    "classifier 16": models.classifier(512, 16),
    "head": models.head(256),
    "sum of list": models.sum_of_list(256),
    **{f"{make.__name__} {h}": make(h) for h in (64, 128) for make in (models.matrix_vector, models.matrices)},
}
ATTENTION = {
    "queries, keys, values": models.queries_keys_values(128, 12, 64),
    "scores": models.scores(128, 12, 64),
    "softmax": models.softmax(128, 12),
    "context": models.context(128, 12, 64),
    "attended": models.attended(128, 12, 64),
    "layer norm": models.layer_norm(128, 768),
}


def cases() -> list:
    out = []
    for kernels, batches in ((RECURRENT, (1, 8, 64, 512)), (SMALL, (1, 8, 64, 512)), (ATTENTION, (1, 4))):
        out += [pytest.param(k, rows, id=f"{name}, {rows} rows") for name, k in kernels.items() for rows in batches]
    return out


@pytest.mark.parametrize(("kernel", "rows"), cases())
def test_kernel(benchmark: BenchmarkFixture, kernel: Kernel, rows: int) -> None:
    case = KernelCase(kernel, rows)
    fraction, microseconds = case.fraction()
    rate = case.flops / microseconds / 1e3
    benchmark.name = f"{benchmark.name}: {rate:.1f} GFLOP/s, {fraction:.2f} of peak, {microseconds:.2f} us"
    benchmark.extra_info["GFLOP/s"] = round(rate, 1)
    benchmark.extra_info["fraction of FMA peak"] = round(fraction, 3)
    benchmark.extra_info["microseconds a call"] = round(microseconds, 2)
    benchmark.pedantic(case.seconds, args=(case.calls,), rounds=5)
