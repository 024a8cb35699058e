"""The interpreted host program does what the compiled one does: results, launches, waits, errors."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch

from backends.acrobat import compile
from backends.acrobat.errors import InstanceError, ResourceError
from backends.acrobat.options import Options
from backends.acrobat.tests.models import Accounts, Endless, Figures, Judged, Linked, Twig
from backends.acrobat.tests.support import SOME, assert_same, draw, eager, edges, tiny
from backends.acrobat.tests.test_errors import CELL, MALFORMED, cell
from workloads.treelstm.model import Leaf, Node

VM = Options(codegen="vm")
COUNTS = ("nodes", "batches", "launches", "waits", "executions", "product_flops", "tensor_bytes")


@pytest.mark.parametrize("name", SOME)
class TestWorkload:
    def test_results_are_eagers(self, built: Any, name: str) -> None:
        executable = built(name, options=VM)
        instances = [*draw(name, 6), *edges(name)]
        want = eager(tiny(name, torch.float64), instances)
        for _ in range(2):
            assert_same(executable(instances), want)
        assert_same(executable(instances[:1]), want[:1])
        assert executable([]) == []

    def test_launches_and_waits_are_those_of_compiled_code(self, built: Any, name: str) -> None:
        compiled, interpreted = built(name), built(name, options=VM)
        assert compiled.folder != interpreted.folder
        for instances in (draw(name, 6), edges(name)):
            schedule = compiled.schedule(instances)
            assert schedule
            assert interpreted.schedule(instances) == schedule
            want, got = compiled.counters(), interpreted.counters()
            assert {k: got[k] for k in COUNTS} == {k: want[k] for k in COUNTS}


def test_schedules_with_fewer_optimisations(built: Any) -> None:
    """Without static blocks and with one phase; all depths are counted at run time."""
    switches: dict[str, Any] = {"hoist": False, "phases": False, "coarsen": False}
    instances = [*draw("birnn", 4), *edges("birnn")]
    schedule = built("birnn", options=Options(**switches)).schedule(instances)
    assert built("birnn", options=Options(codegen="vm", **switches)).schedule(instances) == schedule


def test_host_numbers_and_lists(cache: Path) -> None:
    model = Accounts()
    executable = compile(model, cache_folder=cache, options=VM)
    figures = [
        Figures([3, -4, 7], [1.5, -2.25, 3.0], (5, True)),
        Figures([2], [0.0, 1.0], (-9, False)),
        Figures([6, -2, 5, -3], [2.0, 2.0], (-3, True)),
    ]
    assert_same(executable(figures), [model(f) for f in figures])
    with pytest.raises(InstanceError, match=r"instance 1: integer (division|modulo) by zero"):
        executable([figures[0], Figures([0], [0.0, 1.0], (1, True))])


class TestErrors:
    @pytest.fixture(scope="class")
    def linked(self, cache: Path) -> Any:
        """The executables of compiled and of interpreted host code."""
        model = Linked()
        return [compile(model, cache_folder=cache, checked=True, options=options) for options in (Options(), VM)]

    @pytest.mark.parametrize("case", MALFORMED)
    def test_what_does_not_fit_is_named_in_the_same_words(self, linked: Any, case: str) -> None:
        messages = []
        for executable in linked:
            with pytest.raises(InstanceError) as error:
                executable([CELL, MALFORMED[case][0], CELL])
            messages.append(str(error.value))
        assert messages[0] == messages[1]
        compiled, interpreted = linked
        assert_equal(interpreted([CELL, cell()]), compiled([CELL, cell()]))

    def test_branches_that_fail_let_the_others_go_on(self, judged: Any) -> None:
        """An index in the middle instance is out of range, while its other branches and the other instances wait."""
        wrong = Twig(0, [Twig(1, []), Twig(2, [Twig(9, []), Twig(8, [])]), Twig(3, [])])
        messages = []
        for executable in judged:
            with pytest.raises(InstanceError, match="instance 1: index 9 is out of range") as error:
                executable([TWIG, wrong, TWIG])
            messages.append(str(error.value))
        assert messages[0] == messages[1]
        compiled, interpreted = judged
        assert_equal(interpreted([TWIG]), compiled([TWIG]))


def assert_equal(got: Any, want: Any) -> None:
    assert len(got) == len(want)
    assert all(torch.equal(g, w) for g, w in zip(got, want, strict=True))


@pytest.fixture(scope="module")
def judged(cache: Path) -> Any:
    """The executables of compiled and of interpreted host code."""
    model = Judged()
    return [compile(model, cache_folder=cache, checked=True, options=options) for options in (Options(), VM)]


TWIG = Twig(0, [Twig(1, []), Twig(2, [Twig(3, []), Twig(4, [])]), Twig(3, [])])


class TestDepth:
    def test_a_chain_of_5000_levels(self, built: Any) -> None:
        tree: Any = Leaf(1)
        for i in range(5000):
            tree = Node([tree]) if i % 2 else Node([tree, Leaf(i % 100)])
        compiled, interpreted = built("treelstm"), built("treelstm", options=VM)
        assert_equal(interpreted([tree]), compiled([tree]))

    def test_a_chain_of_5000_branches_that_wait(self, judged: Any) -> None:
        twig = Twig(0, [])
        for i in range(5000):
            twig = Twig(i % 5, [twig])
        compiled, interpreted = judged
        assert_equal(interpreted([TWIG, twig]), compiled([TWIG, twig]))
        assert interpreted.counters()["waits"] == compiled.counters()["waits"] == 5001 + 6

    def test_recursion_without_an_end(self, cache: Path) -> None:
        model = Endless()
        executable = compile(model, cache_folder=cache, checked=True, options=VM)
        want = eager(copy.deepcopy(model).double(), [0, 4])
        with pytest.raises(ResourceError, match=r"instance 1: .*down is nested too deeply.*recursion may not end"):
            executable([4, 3])
        assert_same(executable([0, 4]), want)
