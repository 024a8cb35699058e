"""The rules of schedules: schedules that break them are refused, and those that the compiler makes keep them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.depth import static_depths
from backends.acrobat.analyses.facts import ScheduleFacts
from backends.acrobat.analyses.phases import phases
from backends.acrobat.core.types import UNIT
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.tests.reader import read_program
from backends.acrobat.ir.verifier import VerifyError
from backends.acrobat.options import Options
from backends.acrobat.passes import entry
from backends.acrobat.passes.tests.models import WORKLOADS, workload
from backends.acrobat.pipeline import facts_for, optimise, schedule_of
from backends.acrobat.schedule import nodes as s
from backends.acrobat.schedule.lower import lower
from backends.acrobat.schedule.tests.programs import Change, changed, scheduled
from backends.acrobat.schedule.verifier import verify_schedule
from backends.acrobat.tests.random_cases import case_of

STAGES = """\
def forward(xs: list[f32[4]]) -> f32[4]
  first: f32[4] = launch constant(@w)
  second: f32[4] = launch one(first)
  folded: (f32[4],) = fold x: f32[4] in xs with h: f32[4] = second
    inner: f32[4] = launch one(x)
    next: f32[4] = launch two(h, inner)
    (next,)
  last: f32[4] = folded[0]
  third: f32[4] = launch one(last)
  third
"""
FACTS = ScheduleFacts(
    static_depth={("forward", "first"): 0, ("forward", "second"): 1, ("forward", "inner"): 0},
    static_levels=2,
    phase={"first": 0, "second": 0, "folded": 0, "third": 1},
    phases=2,
)
RECURSIVE = """\
type Tree = Leaf(x: f32[4]) | Node(left: Tree, right: Tree)
def forward(tree: Tree) -> f32[4]
  match tree
    Leaf(x: f32[4])
      x
    Node(left: Tree, right: Tree)
      a: f32[4] = call forward(left)
      b: f32[4] = call forward(right)
      both: f32[4] = launch two(a, b)
      both
"""
WAITING = """\
def forward(xs: list[f32[4]]) -> float
  x: f32[4] = host list.get(xs, 0)
  y: f32[4] = host list.get(xs, 1)
  a: float = call read(x)
  b: float = call read(y)
  host add(a, b)
def read(x: f32[4]) -> float
  scored: f32[1] = launch score(x)
  item scored as float
"""
WAITS = ScheduleFacts(waits=frozenset({"forward", "read"}))


def violations(schedule: s.Schedule) -> str:
    with pytest.raises(VerifyError) as error:
        verify_schedule(schedule)
    return "\n".join(error.value.violations)


def with_facts(**facts: Any) -> str:
    return violations(scheduled(STAGES, replace(FACTS, **facts)))


def with_change(change: Change, text: str = STAGES, facts: ScheduleFacts = FACTS) -> str:
    return violations(changed(scheduled(text, facts), change))


def static(**depths: int) -> dict[tuple[str, str], int]:
    return {**FACTS.static_depth, **{("forward", name): depth for name, depth in depths.items()}}


def test_what_keeps_the_rules() -> None:
    verify_schedule(scheduled(STAGES, FACTS))
    verify_schedule(scheduled(STAGES, ScheduleFacts()))
    verify_schedule(scheduled(RECURSIVE, ScheduleFacts()))
    verify_schedule(scheduled(WAITING, WAITS))


class TestStaticDepths:
    def test_work_that_does_not_wait_for_static_work(self) -> None:
        text = with_facts(static_depth=static(second=0))
        assert text == "forward: second has the static depth 0, but its operands are there from 1 on"

    def test_work_after_counted_work(self) -> None:
        text = with_facts(static_depth=static(third=1))
        assert text == "forward: third has the static depth 1, but when its operands are there is only known at run time"

    def test_work_that_uses_its_own_result(self) -> None:
        text = with_facts(static_depth=static(next=1))
        assert text == "forward: next has the static depth 1, but its operands are there from 2 on"

    def test_counted_work_that_could_begin_among_static_work(self) -> None:
        assert with_facts(static_levels=1) == "forward: second has the static depth 1, but there are 1 static levels"


class TestCountedDepths:
    @pytest.mark.parametrize(
        ("at", "message"),
        [
            (s.Join((s.Start(), s.Of("h"))), "next has the depth max(start, h), which is not after its operand inner"),
            (s.Start(), "next has the depth start, which is not after its operand h"),
            (s.Join((s.Of("h"), s.Of("inner"))), "next is counted, but may begin among static work"),
        ],
    )
    def test_a_record(self, at: s.Depth, message: str) -> None:
        def change(x: s.Statement) -> list[s.Statement]:
            return [replace(x, at=at) if isinstance(x, s.Record) and x.var.name == "next" else x]

        assert f"forward: {message}" in with_change(change).splitlines()

    def test_a_value(self) -> None:
        def change(x: s.Statement) -> list[s.Statement]:
            return [replace(x, depth=s.READY) if isinstance(x, s.Assign) and x.var.name == "last" else x]

        assert (
            with_change(change, facts=ScheduleFacts()) == "forward: last has the depth 0, which is not after its operand folded"
        )

    def test_a_call(self) -> None:
        text = "def forward(x: f32[4]) -> f32[4]\n  y: f32[4] = launch one(x)\n  call f(y)\ndef f(x: f32[4]) -> f32[4]\n  x\n"

        def change(x: s.Statement) -> list[s.Statement]:
            return [replace(x, depth=s.Arguments()) if isinstance(x, s.CallFunction) else x]

        message = "forward: the call of f has the depth arguments, which is not after its operand y"
        assert with_change(change, text, ScheduleFacts()) == message

    def test_a_wait(self) -> None:
        def change(x: s.Statement) -> list[s.Statement]:
            return [replace(x, depth=s.READY) if isinstance(x, s.Wait) else x]

        message = "read: a wait has the depth 0, which is not after its operand scored"
        assert with_change(change, WAITING, WAITS) == message


class TestPhases:
    def test_that_are_not_counted(self) -> None:
        assert with_facts(phases=1) == "forward: enters phase 1 of 1 from phase 0"

    def test_that_are_entered_again(self) -> None:
        text = with_change(lambda x: [x, x] if isinstance(x, s.Enter) else [x])
        assert text == "forward: enters phase 1 of 2 from phase 1"

    def test_in_a_loop(self) -> None:
        text = with_change(lambda x: [s.Enter(1), x] if isinstance(x, s.Record) and x.var.name == "inner" else [x])
        assert text.startswith("forward: enters phase 1 of 2 from phase 0 where the instance does not end")

    def test_what_this_phase_computes_is_not_ready(self) -> None:
        text = with_change(lambda x: [] if isinstance(x, s.Enter) else [x])
        assert text.startswith("forward: last is taken to be ready in phase 0, which computes it")

    def test_what_an_earlier_phase_computed_has_no_depth_there(self) -> None:
        text = with_change(lambda x: [s.Enter(1), x] if isinstance(x, s.Assign) else [] if isinstance(x, s.Enter) else [x])
        assert text.startswith("forward: folded of phase 0 is used with its depth there in phase 1")

    def test_what_a_later_phase_computes(self) -> None:
        text = with_change(
            lambda x: (
                [x, s.Enter(0), s.Assign(n.Var("f", UNIT), n.Tuple((x.var,), UNIT), None)]
                if isinstance(x, s.Record) and x.var.name == "third"
                else [x]
            )
        )
        assert "forward: third of phase 1 is used with its depth there in phase 0" in text

    def test_an_entry_that_is_called(self) -> None:
        """An entry that calls itself runs once for each node of a tree; phases in it have given wrong results."""
        schedule = scheduled(RECURSIVE, ScheduleFacts(phases=2))
        message = "forward: calls the entry forward, which has 2 phases: an instance would go through them twice"
        assert violations(schedule).splitlines() == [message, message]
        program = schedule.program
        graph = CallGraph(program)
        assert phases(program, graph, static_depths(program, graph)).count == 1, "the analysis itself finds none there"

    def test_a_recursive_entry_gets_one_that_nothing_calls(self) -> None:
        program = optimise(read_program(RECURSIVE_MODEL), Options())
        assert not entry.is_called(program)
        assert facts_for(program, Options()).recursive == {"forward"} and program.entry == "entry"


class TestScope:
    def test_a_variable_that_is_used_before_it_is_bound(self) -> None:
        text = with_change(lambda x: [] if isinstance(x, s.Record) and x.var.name == "first" else [x], facts=ScheduleFacts())
        assert text == "forward: first is used where it is not bound"

    def test_a_variable_that_is_bound_twice(self) -> None:
        text = with_change(lambda x: [x, x] if isinstance(x, s.Record) and x.var.name == "third" else [x])
        assert text == "forward: third is bound twice"

    def test_a_branch_that_uses_what_it_does_not_capture(self) -> None:
        def change(x: s.Statement) -> list[s.Statement]:
            return [s.Fork(tuple(replace(b, captures=()) for b in x.branches)) if isinstance(x, s.Fork) else x]

        text = with_change(change, WAITING, WAITS)
        assert "forward: x is used where it is not bound" in text and "forward: y is used where it is not bound" in text


class TestWaits:
    def test_a_function_that_is_not_said_to(self) -> None:
        text = violations(scheduled(WAITING, ScheduleFacts()))
        assert text == "read: waits, but is not said to"

    def test_a_caller_that_is_not_said_to(self) -> None:
        text = violations(scheduled(WAITING, ScheduleFacts(waits=frozenset({"read"}))))
        assert "forward: waits, but is not said to" in text


@pytest.mark.parametrize("name", WORKLOADS)
def test_schedules_of_workloads(name: str) -> None:
    program, _ = workload(name)
    for options in (Options(), Options(coarsen=False, vertical=False)):
        assert schedule_of(optimise(program, options), options).functions


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31))
def test_schedules_of_random_programs(number: int) -> None:
    case = case_of(2 * number)  # even seeds draw programs, odd ones Python text
    schedule_of(optimise(case.sample.program, case.options), case.options)


def test_work_to_which_no_instance_comes() -> None:
    """The program never constructs the case `Never`. Its tensor is in a list that another arm fills with a weight."""
    program = read_program(NEVER_MADE)
    static = static_depths(program, CallGraph(program))
    assert ("forward", "total") in static.depths
    verify_schedule(lower(program, ScheduleFacts(static_depth=static.depths, static_levels=static.base)))


RECURSIVE_MODEL = """\
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
NEVER_MADE = """\
entry forward
type Made = Never(h: f32[4]) | Always()
weight w: f32[4]
kernel twice(x: gathered f32[4])
  y: f32[4] = add(x, x)
  return y
kernel sum(xs: list f32[4])
  y: f32[4] = list_sum(xs, nonempty=True)
  return y

def forward(n: int) -> f32[4]
  made: Made = new Made Always()
  h: list[f32[4]] = match made
    Never(x: f32[4])
      double: f32[4] = launch twice(x)
      one: list[f32[4]] = [double] as list[f32[4]]
      one
    Always()
      other: list[f32[4]] = [@w] as list[f32[4]]
      other
  total: f32[4] = launch sum(h)
  total
"""
