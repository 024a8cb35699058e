"""Self-attention over sentences of 5 to 50 words against a dense product, one thread. `scripts/benchmark attention` runs it.

The rate counts the operations of attention's products (four for each query, key and element) and is divided by that of a
product of 64 rows by 256 x 256 weights: a median over rounds in which both take turns, in time of this thread.
"""

from __future__ import annotations

import statistics
from math import prod

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from backends.acrobat.benchmarks.harness import KernelCase
from backends.acrobat.benchmarks.models import instr, param
from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.cpu.emit import emit
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.kernels.packing import aligned
from backends.acrobat.tuning.measure import ARGUMENTS, Loaded, clock

ROUNDS = 31
CALLS = 3
SHAPES = [(64,), (8, 64)]


class Sentences:
    """An attention kernel with the rows of `count` sentences. Query, key and value of a word lie side by side, as one product
    makes them."""

    def __init__(self, shape: tuple[int, ...], count: int, seed: int = 0) -> None:
        params = (param("q", Mode.GATHERED, *shape), param("ks", Mode.LIST, *shape), param("vs", Mode.LIST, *shape))
        body = instr("r", "list_attention", ("q", "ks", "vs"), shape, scale=shape[-1] ** -0.5)
        self.loaded = Loaded(emit(Kernel("attention", params, (body,), ("r",)), Mode.CONTIGUOUS, CpuTarget.detect()))
        rng = np.random.default_rng(seed)
        lengths = rng.integers(5, 51, count)
        size, rows = prod(shape), int(lengths.sum())
        self.flops = 4 * size * int((lengths**2).sum())
        words = rows * size + np.arange(rows) * 3 * size
        lists = [np.tile(words[end - n : end], n) for n, end in zip(lengths, np.cumsum(lengths), strict=True)]
        keys = np.concatenate(lists) + size
        starts = np.concatenate([[0], np.cumsum(np.repeat(lengths, lengths))])
        memory = aligned(rng.standard_normal(4 * rows * size).astype(np.float32))
        scratch = aligned(np.zeros(self.loaded.scratch_size + 1, np.float32))
        self.arrays = [memory, words, starts, keys, starts, keys + size, scratch]
        base, *tables, last = [array.ctypes.data for array in self.arrays]
        self.arguments = np.zeros((1, ARGUMENTS), np.int64)
        arguments = [base, 0, rows, 0, 1, *tables, 0, size, last]
        self.arguments[0, : len(arguments)] = arguments

    def seconds(self, calls: int) -> float:
        return float(clock().time_kernel(self.loaded.function, self.arguments.ctypes.data, 1, calls))


@pytest.mark.parametrize("count", [8, 64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_self_attention(benchmark: BenchmarkFixture, shape: tuple[int, ...], count: int) -> None:
    sentences = Sentences(shape, count)
    params = (param("x", Mode.GATHERED, 256), param("W", Mode.SHARED, 256, 256))
    dense = KernelCase(Kernel("dense", params, (instr("y", "linear", ("x", "W"), (256,)),), ("y",)), 64)
    dense.seconds(1)
    quotients, rates = [], []
    for _ in range(ROUNDS):
        rate = dense.flops / dense.seconds(dense.calls)
        rates.append(sentences.flops / sentences.seconds(CALLS))
        quotients.append(rates[-1] / rate)
    quotient = statistics.median(quotients)
    benchmark.name = f"{benchmark.name}: {statistics.median(rates) / 1e9:.1f} GFLOP/s, {quotient:.2f} of a dense product"
    benchmark.extra_info["of a dense product"] = round(quotient, 3)
    benchmark.pedantic(sentences.seconds, args=(CALLS,), rounds=5)
