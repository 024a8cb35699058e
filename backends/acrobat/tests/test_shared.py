"""Graphs with shared nodes: compiled code reads each node once, and computes values that the model memoises once."""

from __future__ import annotations

from pathlib import Path

import torch

from backends.acrobat import compile
from backends.acrobat.frontend.tests.objects.test_objects import SHARED
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.options import Codegen, Options

LEVELS = 40


def test_a_graph_takes_time_with_its_nodes(tmp_path: Path, codegen: Codegen) -> None:
    """Each level uses the one below twice, so the number of paths is 2 to the power of the number of levels."""
    module = load(tmp_path, SHARED, f"shared_{codegen}")
    model = module.Model().eval()

    ladder = module.ladder
    graphs = [ladder(0), ladder(LEVELS), ladder(2)]
    executable = compile(model, sample=[ladder(2), ladder(0)], options=Options(codegen=codegen), cache_folder=tmp_path)
    with torch.no_grad():
        for graph, (state, order) in zip(graphs, executable(graphs), strict=True):
            expected, expected_order = model(graph)
            torch.testing.assert_close(state, expected, rtol=1e-4, atol=1e-5)
            assert order == expected_order
    assert executable.counters()["nodes"] <= 8 * (LEVELS + 1 + 1 + 3)
