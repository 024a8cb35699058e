"""How often launches are expected to run, by the loops and recursions around them."""

from __future__ import annotations

from backends.acrobat.analyses.importance import REPEATS, expected_runs
from backends.acrobat.frontend import build
from backends.acrobat.ir.nodes import Program
from backends.acrobat.options import Options
from backends.acrobat.pipeline import optimise
from workloads.nestedrnn.spec import Spec as NestedRNN
from workloads.treelstm.spec import Spec as TreeLSTM


def expected(program: Program) -> dict[str, float]:
    return {launch.unit.name: runs for launch, runs in expected_runs(program)}


def optimised(workload: TreeLSTM | NestedRNN) -> Program:
    return optimise(build(workload.model("tiny")), Options())


def test_a_recursion_counts_for_more_than_what_stands_beside_it() -> None:
    found = expected(optimised(TreeLSTM()))
    assert found["forward_linear"] == 1.0
    assert {runs for name, runs in found.items() if name.startswith("encode")} == {REPEATS}


def test_loops_within_loops_multiply() -> None:
    found = expected(optimised(NestedRNN()))
    assert max(found.values()) == REPEATS**2, "the inner loop stands in the outer one"
    assert len(set(found.values())) >= 2
