"""Compares PyTorch in every mode with the float64 answers."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

from backends.pytorch.backend import PyTorch
from backends.pytorch.cells import Traced, copied
from bench import facts
from bench.contract import Target, Unsupported
from bench.outputs import fingerprint, flatten
from bench.verify import Difference, Expected
from workloads.oracle import answers
from workloads.tests.conftest import NAMES, spec


def run(name: str, n: int = 6, **options: Any) -> list[Any]:
    workload = spec(name)
    compiled = PyTorch(Target(), **options).compile(workload, "tiny", 0, n)
    minibatch = compiled.place(workload.instances("tiny", 0, n))
    before = fingerprint(minibatch)
    compiled.run(minibatch)
    outputs = compiled.fetch(compiled.run(minibatch))
    assert fingerprint(minibatch) == before
    compiled.close()
    return outputs


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mode", ["eager", "script"])
@pytest.mark.parametrize("n", [1, 6])
def test_outputs_are_right(name: str, mode: str, n: int) -> None:
    Expected(answers(spec(name), "tiny", 0, spec(name).instances("tiny", 0, n))).check(
        flatten(run(name, n, mode=mode)), Difference()
    )


@pytest.mark.parametrize("name", ["treelstm", "stackrnn"])
def test_compiled_cells_are_right(name: str) -> None:
    Expected(answers(spec(name), "tiny", 0, spec(name).instances("tiny", 0, 3))).check(
        flatten(run(name, 3, mode="compile")), Difference()
    )


@pytest.mark.exhaustive
def test_cells_for_graphs_are_right() -> None:
    """On a CPU the same code runs without graphs; only a GPU can show that the graphs are right."""
    Expected(answers(spec("treelstm"), "tiny", 0, spec("treelstm").instances("tiny", 0, 3))).check(
        flatten(run("treelstm", 3, mode="graphs")), Difference()
    )


def test_what_a_graph_gives_is_copied() -> None:
    """The next run of a graph writes to the same memory, so results have to be copies."""
    of_the_graph = (torch.ones(2), [torch.ones(3)])
    kept = copied(of_the_graph)
    of_the_graph[0].zero_(), of_the_graph[1][0].zero_()
    assert type(kept) is tuple and bool(kept[0].all()) and bool(kept[1][0].all())
    assert PyTorch(Target("cpu"), mode="graphs").available() is not None


def test_float64() -> None:
    instances = spec("treelstm").instances("tiny", 0, 6)
    for output, (expected, *_) in zip(
        run("treelstm", dtype="float64"), answers(spec("treelstm"), "tiny", 0, instances), strict=True
    ):
        assert output.dtype == np.float64
        np.testing.assert_array_equal(output, expected)


def test_an_empty_sentence() -> None:
    compiled = PyTorch(Target()).compile(spec("birnn"), "tiny", 0, 2)
    empty, word = compiled.fetch(compiled.run(compiled.place([[], [3]])))
    assert empty == []
    assert len(word) == 1


def test_an_empty_minibatch() -> None:
    compiled = PyTorch(Target()).compile(spec("birnn"), "tiny", 0, 1)
    assert compiled.fetch(compiled.run([])) == []


def test_target_is_obeyed() -> None:
    PyTorch(Target(threads=2)).compile(spec("birnn"), "tiny", 0, 1)
    assert torch.get_num_threads() == 2
    PyTorch(Target(threads=1)).compile(spec("birnn"), "tiny", 0, 1)
    assert torch.get_num_threads() == 1


def test_cuda_is_available_or_says_why_not() -> None:
    assert PyTorch(Target()).available() is None
    reason = PyTorch(Target(device="cuda")).available()
    assert (reason is None) == torch.cuda.is_available()


@pytest.mark.parametrize("mode", ["script", "compile"])
def test_no_cells_no_mode(mode: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    workload = spec("birnn")
    monkeypatch.setattr(type(workload), "cells", ())
    with pytest.raises(Unsupported, match=f"mode={mode} takes straight-line tensor code only, and birnn names no `cells`"):
        PyTorch(Target(), mode=mode).compile(workload, "tiny", 0, 1)


def test_a_trace_for_each_submodule_and_length() -> None:
    """What a trace bakes in is part of its key."""
    one, two = torch.nn.Linear(2, 2).requires_grad_(False), torch.nn.Linear(2, 2).requires_grad_(False)

    def cell(module: torch.nn.Linear, xs: list[torch.Tensor]) -> torch.Tensor:
        return module(sum(xs, torch.zeros(2)))

    traced = Traced(cell)
    x, y = torch.randn(2, 2)
    for module in (one, two):
        for xs in ([x], [x, y], [y, x, x]):
            torch.testing.assert_close(traced(module, xs), cell(module, xs))
    assert len(traced.traces) == 6


def test_the_products_are_seen_on_what_their_library_is_told_to_use() -> None:
    """An environment variable limits MKL's instruction set: the observed one must follow it, whatever PyTorch's loops use."""
    if not torch.backends.mkl.is_available() or torch.backends.cpu.get_cpu_capability() != "AVX512":
        pytest.skip("needs MKL and a processor with AVX-512")
    program = "import torch; from backends.pytorch import libraries; print(libraries.describe(torch.float32))"
    environment = {**os.environ, "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
    child = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    printed = child.stdout
    if " on " not in printed:
        pytest.skip("one process may not look into another here")
    assert "its own loops AVX-512" in printed
    assert printed.strip().endswith("on AVX2")


@pytest.mark.parametrize("threads", [1, 2])
def test_facts_have_what_the_harness_checks(threads: int) -> None:
    compiled = PyTorch(Target(threads=threads)).compile(spec("treelstm"), "tiny", 0, 2)
    validated = facts.validated_facts(compiled.facts())
    assert validated["threads"] == threads == torch.get_num_threads()
    assert validated["load_time"] == ""
    assert validated["library"].startswith(f"PyTorch {torch.__version__}")
