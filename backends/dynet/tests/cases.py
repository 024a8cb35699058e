"""Mini-batches to run: each workload's own, and those at the edges."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import torch

from workloads.mvrnn import model as mv
from workloads.simtree.model import Pair
from workloads.stackrnn.model import Sentence
from workloads.tests.conftest import DECIDING, NAMES, spec
from workloads.treelstm import model as tree

# The workloads that multiply words with weights.
TABLES = ("treelstm", "simtree", "birnn", "stackrnn", "treegru", "treernn", "dagrnn")


@dataclass
class Case:
    workload: str
    instances: list[Any]
    options: dict[str, str] = field(default_factory=dict)
    tables: bool = False


def cases() -> dict[str, Case]:
    found = {name: Case(name, spec(name).instances("tiny", 0, 6)) for name in NAMES}
    found |= {f"{name}, one": Case(name, spec(name).instances("tiny", 1, 1)) for name in NAMES}
    found |= {f"{name}, none": Case(name, []) for name in NAMES}
    for name in DECIDING:
        found[f"{name}, real decisions"] = Case(name, spec(name).instances("tiny", 2, 5), {"decisions": "real"})
    leaves: list[tree.Tree] = [tree.Leaf(word) for word in range(60)]
    chain = reduce(lambda below, leaf: tree.Node([below, leaf]), leaves)
    fan = tree.Node([tree.Node(leaves[:1]), tree.Node(leaves[1:4]), *leaves[4:9]])
    found["treelstm, a leaf, any number of children, a long chain"] = Case("treelstm", [leaves[5], fan, chain, leaves[7]])
    found["simtree, two leaves, a leaf and a chain"] = Case("simtree", [Pair(leaves[5], leaves[5]), Pair(chain, leaves[7])])
    ends: list[mv.Tree] = [mv.Leaf(word) for word in range(40)]
    comb = reduce(lambda below, leaf: mv.Node(leaf, below), ends)
    found["mvrnn, a leaf, a long chain"] = Case("mvrnn", [ends[3], comb, mv.Node(ends[1], ends[1])])
    found["birnn, no words, one, many"] = Case("birnn", [[], [3], list(range(90)), [], [4, 4]])
    found["birnn, many sentences"] = Case("birnn", spec("birnn").instances("tiny", 3, 40))
    found["birnn, no words at all"] = Case("birnn", [[], []])
    found["dagrnn, a cell, a row, a column, a large grid"] = Case(
        "dagrnn", [[[3]], [[1, 2, 3]], [[4], [5]], [[i * j % 100 for i in range(12)] for j in range(9)]]
    )
    words = [Sentence([], 1), Sentence([7], 2), Sentence([1, 2], 3), Sentence(list(range(50)), 4)]
    found["stackrnn, no words, one, many"] = Case("stackrnn", words)
    found["stackrnn, no words at all"] = Case("stackrnn", words[:1])
    for name in [n for n, case in found.items() if case.workload in TABLES]:
        found[f"{name}, tables"] = replace(found[name], tables=True)
    return found


def instances_double(instance: torch.Tensor) -> torch.Tensor:
    return instance.double() if instance.is_floating_point() else instance
