"""The depth rule and the phase rule: facts that break them are refused, those of the analyses are not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.depth import static_depths
from backends.acrobat.analyses.phases import phases
from backends.acrobat.analyses.soundness import check_facts
from backends.acrobat.ir.nodes import Program
from backends.acrobat.ir.reader import read_program
from backends.acrobat.ir.verifier import VerifyError
from backends.acrobat.options import Options
from backends.acrobat.passes import entry
from backends.acrobat.passes.tests.models import WORKLOADS, workload
from backends.acrobat.pipeline import facts_for, optimise
from backends.acrobat.tests.random_cases import case_of

STAGES = """\
entry forward
weight w: f32[4]

def forward(xs: list[f32[4]]) -> f32[4]
  first: f32[4] = tanh(@w)
  second: f32[4] = add(first, @w)
  folded: (f32[4],) = fold x: f32[4] in xs with h: f32[4] = second
    inner: f32[4] = relu(x)
    next: f32[4] = add(h, inner)
    (next,)
  last: f32[4] = folded[0]
  third: f32[4] = tanh(last)
  third
"""
DEPTHS = {("forward", "first"): 0, ("forward", "second"): 1, ("forward", "inner"): 0}
PHASES = {"first": 0, "second": 0, "folded": 0, "third": 1}
RECURSIVE = """\
entry forward
type Tree = Leaf(label: int) | Node(left: Tree, right: Tree)
weight e: f32[7, 4]
weight u: f32[4, 4]

def forward(tree: Tree) -> f32[4]
  match tree
    Leaf(label: int)
      row(@e, label)
    Node(left: Tree, right: Tree)
      a: f32[4] = call forward(left)
      b: f32[4] = call forward(right)
      both: f32[4] = add(a, b)
      product: f32[4] = linear(both, @u)
      tanh(product)
"""


def violations(program: Program, **changed: Any) -> str:
    facts: dict[str, Any] = {"static_depth": DEPTHS, "static_levels": 2, "phase": PHASES, "phases": 2, **changed}
    with pytest.raises(VerifyError) as error:
        check_facts(program, **facts)
    return "\n".join(error.value.violations)


class TestWhatIsRefused:
    @pytest.fixture
    def program(self) -> Program:
        return read_program(STAGES)

    def test_facts_that_hold(self, program: Program) -> None:
        check_facts(program, DEPTHS, 2, PHASES, 2)
        check_facts(program, {}, 0, {}, 1)

    def test_static_work_that_does_not_wait_for_static_work(self, program: Program) -> None:
        text = violations(program, static_depth={**DEPTHS, ("forward", "second"): 0})
        assert text == "forward: second has the static depth 0, but its operands are there from 1 on"

    def test_static_work_after_counted_work(self, program: Program) -> None:
        text = violations(program, static_depth={**DEPTHS, ("forward", "third"): 1})
        assert text == "forward: third has the static depth 1, but when its operands are there is only known at run time"

    def test_static_work_that_uses_its_own_result(self, program: Program) -> None:
        text = violations(program, static_depth={**DEPTHS, ("forward", "next"): 1})
        assert text == "forward: next has the static depth 1, but its operands are there from 2 on"

    def test_counted_work_that_could_begin_among_static_work(self, program: Program) -> None:
        assert "second has the static depth 1, but there are 1 static levels" in violations(program, static_levels=1)

    def test_a_static_depth_of_nothing(self, program: Program) -> None:
        assert "no work of this name" in violations(program, static_depth={**DEPTHS, ("forward", "nothing"): 0})

    def test_a_binding_in_an_earlier_phase_than_what_it_uses(self, program: Program) -> None:
        text = violations(program, phase={**PHASES, "folded": 1, "third": 0})
        assert text == "the entry: third has phase 0, but uses what phase 1 computes"

    def test_phases_that_are_not_counted(self, program: Program) -> None:
        assert "third has phase 1 of 1" in violations(program, phases=1)

    def test_a_phase_inside_a_loop(self, program: Program) -> None:
        assert "inner has phase 1, but is bound neither" in violations(program, phase={**PHASES, "inner": 1})


class TestRecursiveEntry:
    """The entry's phases, taken between the stages of a function that runs once for each node (it gave wrong numbers)."""

    def test_phases_are_refused_and_one_phase_is_not(self) -> None:
        program = read_program(RECURSIVE)
        graph = CallGraph(program)
        static = static_depths(program, graph)
        found = {"a": 0, "b": 0, "both": 1, "product": 1}
        with pytest.raises(VerifyError, match="forward calls the entry forward, which has 2 phases"):
            check_facts(program, static.depths, static.base, found, 2)
        check_facts(program, static.depths, static.base, {}, 1)
        assert phases(program, graph, static).count == 1, "the analysis itself finds none there"

    def test_it_gets_an_entry_that_nothing_calls(self) -> None:
        program = optimise(read_program(RECURSIVE), Options())
        assert not entry.is_called(program)
        facts = facts_for(program, Options())
        assert facts.recursive == {"forward"} and program.entry == "entry"


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_facts_about_workloads_hold(name: str) -> None:
    program, _ = workload(name)
    for options in (Options(), Options(coarsen=False, vertical=False)):
        facts_for(optimise(program, options), options)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_the_facts_about_random_programs_hold(seed: int) -> None:
    case = case_of(seed)
    facts_for(optimise(case.sample.program, case.options), case.options)


def test_work_to_which_no_instance_comes() -> None:
    """A case that nothing makes: its tensor reaches a product in a list that the program also fills otherwise."""
    program = read_program(NEVER_MADE)
    graph = CallGraph(program)
    static = static_depths(program, graph)
    assert ("forward", "total") in static.depths
    check_facts(program, static.depths, static.base, {}, 1)


NEVER_MADE = """\
entry forward
type Made = Never(h: f32[4]) | Always()
weight w: f32[4]

def forward(n: int) -> f32[4]
  made: Made = new Made Always()
  h: list[f32[4]] = match made
    Never(h: f32[4])
      twice: f32[4] = add(h, h)
      one: list[f32[4]] = [twice] as list[f32[4]]
      one
    Always()
      other: list[f32[4]] = [@w] as list[f32[4]]
      other
  total: f32[4] = list_sum(h, nonempty=True)
  total
"""
