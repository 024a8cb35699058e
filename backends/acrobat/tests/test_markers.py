"""The annotations `phase` and `parallel` change no result, and phases begin where `phase` says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat import compile, parallel, phase
from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.phases import marked_phases
from backends.acrobat.frontend import build
from backends.acrobat.ir.nodes import Weight
from backends.acrobat.ir.visitor import lets, walk
from backends.acrobat.options import Options
from backends.acrobat.passes import inline
from backends.acrobat.passes.inline import LARGE
from backends.acrobat.pipeline import facts_for, optimise
from backends.acrobat.tests import marked
from backends.acrobat.tests.support import assert_same, eager

Schedule = list[tuple[int, int, str, int]]

SENTENCES = [[1, 2, 3], [4], [], [5, 6, 7, 8, 9], [10, 11, 12], [13, 14]]
PAIRS = [marked.Pair([1], [2, 3, 4]), marked.Pair([5, 6, 7], [8]), marked.Pair([9, 10], [11, 12])]
LOW = marked.Node([marked.Leaf(1), marked.Leaf(2)])
TREES = [marked.Leaf(3), LOW, marked.Node([LOW, marked.Leaf(4)]), marked.Node([LOW, marked.Node([LOW]), marked.Leaf(5)])]


def model(kind: type[nn.Module]) -> nn.Module:
    torch.manual_seed(3)
    return kind()


def schedule(kind: type[nn.Module], instances: list[Any], cache: Path, **switches: Any) -> Schedule:
    """The launches of a model. Checks its outputs against eager PyTorch, and that the interpreter has the same launches."""
    executable = compile(model(kind), cache_folder=cache, checked=True, options=Options(**switches))
    assert_same(executable(instances), eager(model(kind).double(), instances))
    found = executable.schedule(instances)
    interpreted = compile(model(kind), cache_folder=cache, checked=True, options=Options(codegen="vm", **switches))
    assert interpreted.schedule(instances) == found
    return found


def rows(launches: Schedule) -> dict[int, list[list[int]]]:
    """Phase -> the rows of each depth's launches, in order."""
    out: dict[int, dict[int, list[int]]] = {}
    for p, depth, _, n in launches:
        out.setdefault(p, {}).setdefault(depth, []).append(n)
    return {p: [levels[d] for d in sorted(levels)] for p, levels in sorted(out.items())}


def test_in_python_they_are_identities() -> None:
    x, xs = torch.zeros(2), [torch.ones(1)]
    for value in (x, xs, (x, 1), marked.Leaf(3), None):
        assert phase(value) is value
    assert phase(x, xs, 3) == (x, xs, 3)
    assert parallel(x, xs) == (x, xs)
    assert parallel(xs) is xs
    with pytest.raises(TypeError, match=r"x = phase\(x\)"):
        phase()  # type: ignore[call-overload]
    for wrong in ((), (x,), ((x, x),)):
        with pytest.raises(TypeError, match="several values, or one list"):
            parallel(*wrong)


def test_they_load_neither_torch_nor_the_compiler() -> None:
    code = "import sys; from backends.acrobat import phase, parallel; print({'torch', 'tvm', 'numpy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_a_marker_at_the_boundary_that_is_found_changes_nothing(cache: Path) -> None:
    found = schedule(marked.BiRNN, SENTENCES, cache)
    assert schedule(marked.MarkedBiRNN, SENTENCES, cache) == found
    assert {p for p, *_ in found} == {0, 1}


def test_nor_do_markers_in_and_after_a_recursion(cache: Path) -> None:
    found = schedule(marked.Trees, TREES, cache)
    assert schedule(marked.MarkedTrees, TREES, cache) == found
    assert [n for p, _, _, n in found if p == 1] == [len(TREES)]


def test_markers_override_the_boundaries_that_are_found(cache: Path) -> None:
    """Each pair has four words, so without a boundary between the loops each of the four steps of the cell takes all pairs."""
    steps = [len(launches) for launches in rows(schedule(marked.TwoLoops, PAIRS, cache)).values()]
    assert steps == [3, 3, 1]
    alive = [[3], [2], [1]]

    def widths(kind: type[nn.Module]) -> dict[int, list[list[int]]]:
        # A step is a block of two kernels, the sum and the cell, with equal numbers of rows.
        return {p: [sorted(set(level)) for level in levels] for p, levels in rows(schedule(kind, PAIRS, cache)).items()}

    assert widths(marked.TwoLoops) == {0: alive, 1: alive, 2: [[3]]}
    assert widths(marked.OneBoundary) == {0: [[3]] * 4, 1: [[3]]}
    # Answers end at different depths, and the classifier of each runs beside the steps of longer ones.
    assert widths(marked.EarlyBoundary) == {0: alive, 1: [[3], [1, 2], [1], [1]]}


def test_without_phases_markers_are_ignored(cache: Path) -> None:
    found = schedule(marked.TwoLoops, PAIRS, cache, phases=False)
    assert {p for p, *_ in found} == {0}
    assert schedule(marked.OneBoundary, PAIRS, cache, phases=False) == found
    assert schedule(marked.EarlyBoundary, PAIRS, cache, phases=False) == found


def test_branches_in_which_the_model_ends_have_phases_of_their_own(cache: Path) -> None:
    sentences = [[i] for i in range(12)] + SENTENCES
    module = model(marked.Exits)
    states = [module.last(module.start, module.words(s)) for s in sentences]  # type: ignore[operator]
    going_on = sum(bool((s[0] + s[1]).item() <= 0) for s in states)
    assert 0 < going_on < len(sentences)
    found = schedule(marked.Exits, sentences, cache)
    assert {p for p, *_ in found} == {0, 1}
    assert sum(n for p, _, _, n in found if p == 1) == going_on
    assert len([n for p, _, _, n in found if p == 1]) <= 2  # one launch for each of the two ends


def test_what_a_phase_has_made_is_used_in_it_by_the_branches_after(cache: Path) -> None:
    found = schedule(marked.LateBranches, SENTENCES, cache)
    long, short = sum(len(s) > 2 for s in SENTENCES), sum(len(s) == 2 for s in SENTENCES)
    widths = rows(found)
    assert [set(level) for level in widths[1]] == [{sum(map(len, SENTENCES))}, {long, short}]
    assert widths[2] == [[long]]


OFF = [[], ["coarsen"], ["vertical", "coarsen"], ["horizontal"], ["fold_sums"], ["hoist"], ["specialise"]]


@pytest.mark.parametrize("off", OFF, ids="-".join)
def test_no_pass_takes_work_across_a_boundary(off: list[str]) -> None:
    """In `Sideways` only the classifier's product and the work that depends on it may come after the marker."""
    switches: dict[str, Any] = dict.fromkeys(off, False)
    options = Options(tables=False, **switches)
    program = optimise(build(model(marked.Sideways)), options)
    facts = facts_for(program, options)
    used: dict[int, set[str]] = {0: set(), 1: set()}
    for var, value in lets(program.functions["forward"].body)[0]:
        if var.name in facts.phase:
            used[facts.phase[var.name]] |= {node.name for node in walk(value) if isinstance(node, Weight)}
    assert {name for name in used[0] if "start" not in name} == {
        f"{layer}.{kind}" for layer in ("first", "second") for kind in ("weight", "bias")
    }
    assert used[1] == {"classifier.weight", "classifier.bias"}
    assert facts.phase["doubled"] == 0


def test_work_beside_a_boundary_runs_before_it(cache: Path) -> None:
    found = schedule(marked.Sideways, SENTENCES, cache)
    assert sum(n for p, _, kernel, n in found if p == 0 and kernel.endswith("_mul")) == sum(map(len, SENTENCES))
    assert {n for p, _, kernel, n in found if p == 1 and not kernel.endswith("_mul")} == {len(SENTENCES)}


def test_a_marker_whose_result_is_not_used_still_says_that_there_are_no_other_boundaries() -> None:
    class Unused(marked.Cells):
        def forward(self, sentence: list[int]) -> torch.Tensor:
            state = self.last(self.start, self.words(sentence))
            _ = phase(state)
            return self.classifier(state)

    facts = facts_for(optimise(build(Unused()), Options()), Options())
    assert facts.phases == 1


class Twice(marked.Cells):
    """A model with a helper, `stage`, that is too large to be inlined at both its calls unless it has a marker."""

    boundary = True

    def forward(self, sentence: list[int]) -> torch.Tensor:
        x = self.stage(self.first, self.last(self.start, self.words(sentence)))
        return self.stage(self.second, x)

    def stage(self, cell: nn.Linear, x: torch.Tensor) -> torch.Tensor:
        if self.boundary:
            x = phase(x)
        return self.four(cell, self.four(cell, self.four(cell, x)))

    def four(self, cell: nn.Linear, x: torch.Tensor) -> torch.Tensor:
        return self.step(cell, self.step(cell, self.step(cell, self.step(cell, x))))

    def step(self, cell: nn.Linear, x: torch.Tensor) -> torch.Tensor:
        a, b, c, d = torch.tanh(cell(x)), torch.sigmoid(cell(x * x)), torch.relu(cell(x + x)), cell(x - x * x)
        return a * b + c * d + torch.exp(-d) * (a - b) * (c - d)


@pytest.mark.parametrize("specialise", [True, False])
def test_helpers_with_markers_are_inlined_however_large_and_often_called(specialise: bool) -> None:
    program = build(Twice())
    options = Options(specialise=specialise)
    inlined = inline.run(program, weights=specialise)
    assert set(inlined.functions) == {"forward"}
    assert len(marked_phases(inlined, CallGraph(inlined))) > 2 * LARGE
    assert facts_for(optimise(program, options), options).phases == 3
    without = Twice()
    without.boundary = False
    assert "Twice.stage" in inline.run(build(without), weights=specialise).functions


def test_they_keep_what_is_known_of_a_list() -> None:
    class WrittenOut(marked.Cells):
        def forward(self, sentence: list[int]) -> torch.Tensor:
            x = self.last(self.start, self.words(sentence))
            cells = parallel([cell(x) for cell in (self.first, self.second)])
            return torch.cat(phase(cells))

    program = optimise(build(WrittenOut()), Options())
    assert facts_for(program, Options()).phases == 2
