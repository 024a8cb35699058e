"""Trees of tuples with numbers or strings as leaves that loops build: `tree = (tree, word)`."""

# mypy: ignore-errors

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_idioms import module
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

LISTS = [[3, 1, 2], [5], [1, 2, 3, 4], [2, 1]]


class EasyFirst(nn.Module):
    """Joins the two neighbours with the highest score until one is left."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(9, 4)
        self.join = nn.Linear(8, 4)
        self.score = nn.Linear(4, 1)

    def forward(self, words):
        nodes = [(h, w) for h, w in zip(self.table(torch.tensor(words)), words, strict=True)]
        while len(nodes) > 1:
            above = [torch.tanh(self.join(torch.cat([a[0], b[0]]))) for a, b in itertools.pairwise(nodes)]
            i = torch.stack([self.score(h)[0] for h in above]).argmax().item()
            bracket = (nodes[i][1], nodes[i + 1][1])
            nodes = [*nodes[:i], (above[i], bracket), *nodes[i + 2 :]]
        return nodes[0], nodes[0][1] == words[0]


def chained(words):
    tree = words[0]
    for w in words[1:]:
        tree = (tree, w)
    return tree


def stacked(words):
    """Strings, with a label, which is a string too."""
    stack = []
    for w in words:
        stack.append(f"w{w}")
        while len(stack) > 1 and w % 2 == 1:
            right = stack.pop()
            left = stack.pop()
            stack.append(("S", left, right))
    return stack


def depth(tree):
    if isinstance(tree, int):
        return 0
    left, right = tree
    return 1 + max(depth(left), depth(right))


def leaves(tree):
    return [tree] if not isinstance(tree, tuple) else leaves(tree[0]) + leaves(tree[1])


def read_again(words):
    nodes = list(words)
    while len(nodes) > 1:
        nodes[0:2] = [(nodes[1], nodes[0])]
    tree = nodes[0]
    return depth(tree), leaves(tree), tree == (2, (1, 3)), tree == 5, isinstance(tree, tuple), tree


def pairs_of_pairs(words):
    """Two trees at once, one of them beside a number."""
    left, right = words[0], words[0]
    for i, w in enumerate(words):
        left, right = (left, i), (w, right)
        if i % 2 == 1:
            right = i
    return [(left, 1), (right, 2)]


def compared(words):
    """Trees whose depth is known at run time only; of two of one depth the last words tell them apart, or none."""
    tree, turned = chained(words), chained(words[::-1])
    return tree == turned, tree != turned, tree == chained(list(words)), tree < (chained([w + 1 for w in words]))


@pytest.mark.parametrize("function", [chained, stacked, read_again, pairs_of_pairs, compared])
def test_as_in_python(function: Any) -> None:
    interpreter = Interpreter(build(module(function), sample=LISTS))
    for words in LISTS:
        assert interpreter.run(list(words)) == function(list(words))


def test_states_beside_trees() -> None:
    agrees(EasyFirst(), LISTS)


def test_in_generated_code(codegen: Any, tmp_path: Any) -> None:
    agrees_natively(EasyFirst().eval(), LISTS, codegen, tmp_path)


def added(words):
    tree = words[0]
    for w in words[1:]:
        tree = (tree, w)
    return tree + 1


def test_a_tuple_in_the_place_of_a_number() -> None:
    interpreter = Interpreter(build(module(added), sample=LISTS))
    assert interpreter.run([4]) == 5
    with pytest.raises(InstanceError, match="does not take a tuple"):
        interpreter.run([4, 2])


def of_two_lengths(words):
    tree = words[0]
    for w in words[1:]:
        tree = (tree, w) if w > 1 else (tree, w, w)
    return tree


def taken_off_a_stack(words):
    """What is taken off is put back as a pair, before anything is known of the stack."""
    stack = []
    for w in words:
        if w < 0:
            right = stack.pop()
            left = stack.pop()
            stack.append((left, right))
        else:
            stack.append(w)
    return stack


def test_pairs_of_what_a_stack_has() -> None:
    agrees(module(taken_off_a_stack), [[1, 2, -1], [1, 2, -1, 3, -1], [4, 5, 6, -1, -1], [7]])


def test_pairs_and_triples_in_one_tree() -> None:
    agrees(module(of_two_lengths), [[1], [1, 1], [2, 1], [3, 2, 1, 4], [1, 1, 2, 1, 3]])


def beside_a_tensor(self, x):
    y = 1
    if x[0] > 0:
        y = (1, 2)
    return x @ y


def widened(words):
    """An int would become a float, as one place in the trees has the one or the other."""
    tree = words[0]
    for w in words[1:]:
        tree = ((tree, w), 1.5)
    return tree


def test_refused_as_before() -> None:
    with pytest.raises(CompileError, match="does not keep its type in the loop"):
        build(module(widened), sample=LISTS)
    with pytest.raises(CompileError, match=r"`y` differs in type between paths: a tuple of 2 \(an int, an int\), an int"):
        build(with_forward(nn.Module(), beside_a_tensor), sample=[torch.ones(4)])
