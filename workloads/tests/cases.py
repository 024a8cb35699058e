"""Mini-batches that every system has to get right, ordinary ones and edge cases of each workload, with the right answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, reduce
from pathlib import Path
from typing import Any

import torch

from bench.outputs import fingerprint, flatten
from bench.verify import Difference, Expected
from workloads.lattice.model import Lattice, Word
from workloads.mvrnn import model as mv
from workloads.simtree.model import Pair
from workloads.spec import loaded
from workloads.stackrnn.model import Sentence
from workloads.structures import arrays, map_tensors
from workloads.tests.conftest import DECIDING, NAMES, spec
from workloads.treefc import model as fc
from workloads.treegru import model as gru
from workloads.treelstm import model as tree
from workloads.treernn import model as rnn


@dataclass(frozen=True)
class Case:
    workload: str
    instances: list[Any]
    options: dict[str, str] = field(default_factory=dict)


@cache
def cases() -> dict[str, Case]:
    """All cases by name. The first case of a workload has the name of the workload."""
    named = {name: Case(name, spec(name).instances("tiny", 0, 6)) for name in NAMES}
    named |= {f"{name}, one": Case(name, spec(name).instances("tiny", 1, 1)) for name in NAMES}
    named |= {f"{name}, all equal": Case(name, spec(name).instances("tiny", 1, 1) * 4) for name in NAMES}
    named |= {f"{name}, none": Case(name, []) for name in NAMES}
    for name in DECIDING:
        named[f"{name}, real decisions"] = Case(name, spec(name).instances("tiny", 2, 5), {"decisions": "real"})
    leaves: list[tree.Tree] = [tree.Leaf(word) for word in range(60)]
    chain = reduce(lambda below, leaf: tree.Node([below, leaf]), leaves)
    fan = tree.Node([tree.Node(leaves[:1]), tree.Node(leaves[1:4]), *leaves[4:9]])
    named["treelstm, a leaf alone"] = Case("treelstm", [leaves[5]])
    named["treelstm, a leaf, any number of children, a long chain"] = Case("treelstm", [leaves[5], fan, chain, leaves[7]])
    named["simtree, two leaves, a leaf and a chain"] = Case("simtree", [Pair(leaves[5], leaves[5]), Pair(chain, leaves[7])])
    ends: list[mv.Tree] = [mv.Leaf(word) for word in range(40)]
    comb = reduce(lambda below, leaf: mv.Node(leaf, below), ends)
    named["mvrnn, a leaf alone"] = Case("mvrnn", [ends[3]])
    named["mvrnn, a leaf, a long chain"] = Case("mvrnn", [ends[3], comb, mv.Node(ends[1], ends[1])])
    combs: dict[str, Any] = {"treegru": gru.Leaf(0), "treefc": fc.Leaf(0), "treernn": rnn.Leaf(0)}
    for word in range(40):
        combs["treegru"] = gru.Node(combs["treegru"], gru.Leaf(word))
        combs["treefc"] = fc.Node(fc.Leaf(word), combs["treefc"])
        combs["treernn"] = rnn.Node(7, rnn.Leaf(word), combs["treernn"])
    for name, leaf in (("treegru", gru.Leaf(3)), ("treefc", fc.Leaf(3)), ("treernn", rnn.Leaf(3))):
        named[f"{name}, a leaf, a long chain"] = Case(name, [leaf, combs[name], leaf])
    named["birnn, no words, one, many"] = Case("birnn", [[], [3], list(range(90)), [], [4, 4]])
    named["birnn, many sentences"] = Case("birnn", spec("birnn").instances("tiny", 3, 40))
    named["birnn, no words at all"] = Case("birnn", [[], []])
    named["dagrnn, a cell, a row, a column, a large grid"] = Case(
        "dagrnn", [[[3]], [[1, 2, 3]], [[4], [5]], [[i * j % 100 for i in range(12)] for j in range(9)]]
    )
    none, nested = (
        Lattice([5], [[]]),
        Lattice([5, 6, 7, 8], [[], [Word(1, 0)], [Word(2, 1), Word(3, 0)], [Word(4, 0), Word(2, 1)]]),
    )
    named["lattice, one character, words within words, long ones without words"] = Case(
        "lattice", [none, nested, Lattice(list(range(50)), [[] for _ in range(50)]), none]
    )
    named["crf, no words, one, many"] = Case("crf", [[], [3], list(range(90)), [], [4, 4]])
    named["crf, no words at all"] = Case("crf", [[], []])
    for name in ("seq2seq", "beam", "ragged"):
        named[f"{name}, one word, many"] = Case(name, [[3], list(range(70)), [5, 6], [3], [4, 4]])
    named["ragged, as many words as hidden units"] = Case("ragged", [list(range(16)), list(range(3, 19)), [7]])
    words = [Sentence([], 1), Sentence([7], 2), Sentence([1, 2], 3), Sentence(list(range(50)), 4)]
    named["stackrnn, no words, one, many"] = Case("stackrnn", words)
    named["stackrnn, no words at all"] = Case("stackrnn", words[:1])
    return named


def cases_with_programs(test: str) -> tuple[list[str], dict[str, Case]]:
    """The workloads for which the backend whose test is the file `test` has a program, and their cases by name."""
    programs = [name for name in NAMES if (Path(test).parents[1] / f"{name}.py").exists()]
    return programs, {name: case for name, case in cases().items() if case.workload in programs}


@cache
def expected(name: str) -> Expected:
    """What the workload's own model answers in float64 to the case of that name, with the parameters of seed 0."""
    case = cases()[name]
    workload = spec(case.workload, **case.options)
    model = loaded(workload, "tiny", 0, torch.float64)
    answers = []
    for instance in case.instances:
        instance = map_tensors(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor, instance)
        scores = workload.scores(model, instance)
        answers.append((arrays(model(instance)), None if scores is None else arrays(scores)))
    return Expected(answers)


def assert_right(name: str, model: Any) -> None:
    """Run the case of that name on a compiled model: its outputs have to be right, and the instances stay as they are."""
    case = cases()[name]
    before = fingerprint(case.instances)
    outputs = model.run(case.instances)
    if case.instances:
        expected(name).check(flatten(model.fetch(outputs)), Difference())
    else:
        assert outputs == []
    assert fingerprint(case.instances) == before
