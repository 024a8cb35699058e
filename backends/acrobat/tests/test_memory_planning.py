"""Memory planning: results are placed when batches are formed, so that batches read contiguous rows and copy less."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from backends.acrobat.options import Executor, Options
from backends.acrobat.tests.support import assert_same, draw, eager, edges, tiny


def pair(built: Any, name: str, **options: Any) -> Sequence[Any]:
    """The executable without planning and with it."""
    return [built(name, options=Options(memory_planning=plans, **options), policy_trials=100) for plans in (False, True)]


@pytest.mark.parametrize("executor", ["dataflow", "agenda", "learned"])
def test_the_same_batches_copy_less(built: Any, executor: Executor) -> None:
    """With a vendor's kernels, all operands that are not contiguous are copied. With planning nothing is copied within a cell,
    where all rows keep their order; only operands along the edges of the trees are."""
    counters = []
    for executable in pair(built, "treelstm", executor=executor, kernels="vendor"):
        for instances in (draw("treelstm", 6), edges("treelstm")):
            assert_same(executable(instances), eager(tiny("treelstm", torch.float64), instances))
            assert_same(executable(instances), eager(tiny("treelstm", torch.float64), instances))
        counters.append(executable.counters())
    scattered, planned = counters
    for same in ("nodes", "batches", "launches", "executions"):
        assert planned[same] == scattered[same], same
    assert 0 < 2 * planned["gathered_bytes"] < scattered["gathered_bytes"]


@pytest.mark.parametrize(("name", "executor"), [("drnn", "agenda"), ("dagrnn", "dataflow")])
def test_what_waits_and_what_is_handed_out_is_found_where_it_lies_now(
    built: Any, name: str, executor: Executor, codegen: str
) -> None:
    """Planning moves results after instances got their addresses. Instances read tensors that they wait for, record work on
    finished results, and return results, all by these addresses. With waves, memory of earlier ones is used again."""
    for executable in pair(built, name, executor=executor, codegen=codegen, wave=2):
        for instances in (draw(name, 6), edges(name), draw(name, 1)):
            want = eager(tiny(name, torch.float64), instances)
            for _ in range(2):
                assert_same(executable(instances), want)


def test_inline_depth_forms_no_batches_ahead(built: Any) -> None:
    counters = []
    for executable in pair(built, "treelstm", executor="inline", gather_fusion=False):
        executable(draw("treelstm", 6))
        counters.append(executable.counters())
    for same in ("gathered_bytes", "tensor_bytes", "batches"):
        assert counters[0][same] == counters[1][same]
