"""Trees of the same form in several places of an instance are of one type: a model keeps parts of both in one list."""

# mypy: ignore-errors
from __future__ import annotations

import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

TERMS = [
    (("f", "a", ("g", "b")), {"x": ("f", "b", ("h", "a", "c")), "y": "b"}),
    ("a", {"x": ("g", ("g", ("f", "a", "b")))}),
    (("g", ("f", "a", "c", "b")), {}),
]
PAIRS = [((("a", "b"), "a"), ["a", ["b", "c", "a"], [["a"]]]), ("c", ["b", ["a", ["c"]]]), (("a", ("b", "c")), ["a"])]


class Labels:
    def __init__(self, term):
        self.labels: list[str] = []
        self.shared: dict[str, int] = {}
        self.root = self.add(term)

    def add(self, term):
        if isinstance(term, str):
            if term not in self.shared:
                self.shared[term] = len(self.labels)
                self.labels.append(term)
            return self.shared[term]
        head, *rest = term
        self.labels.append(head)
        return len(self.labels) - 1 + sum(self.add(t) for t in rest)


def labelled(self, goal, facts):
    g = Labels(goal)
    return g.labels, g.root, {name: Labels(f).labels for name, f in facts.items()}


def in_one_list(self, instance):
    goal, facts = instance
    pending, words = [goal], []
    for fact in facts.values():
        pending.insert(0, fact)
    while pending:
        term = pending.pop()
        if isinstance(term, str):
            words.append(term)
        else:
            pending.extend(term[1:])
    return words, torch.ones(2) * len(words)


def of_other_forms(self, instance):
    pair, tree = instance

    def leaves(x):
        return x if isinstance(x, str) else "".join(leaves(y) for y in x)

    return leaves(pair), leaves(tree)


def test_an_object_made_of_each():
    agrees(with_forward(nn.Module(), labelled), TERMS, spread=True)


def test_both_in_one_list():
    agrees(with_forward(nn.Module(), in_one_list), TERMS)


def test_trees_of_other_forms_stay_apart():
    agrees(with_forward(nn.Module(), of_other_forms), PAIRS)


def test_natively(codegen, tmp_path):
    agrees_natively(with_forward(nn.Module(), in_one_list), TERMS, codegen, tmp_path)
