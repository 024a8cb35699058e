"""Trees that a recursion of the model makes of a label beside a word, or beside the list of the parts: what is in the lists is
found by several builds, and the function may change something else, too."""

# mypy: ignore-errors

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, agrees_unless_refused, with_forward


def bracketed(tokens):
    """The tree of `( 3 ( 2 good ) ( 1 film ) )`: pairs of a label and a word, or of a label and the list of the parts. The
    place in the text is a name of the function around it."""
    at = 0

    def node():
        nonlocal at
        label = int(tokens[at + 1])
        at += 2
        if tokens[at] != "(":
            word = tokens[at]
            at += 2
            return label, word
        parts = []
        while tokens[at] == "(":
            parts.append(node())
        at += 1
        return label, parts

    return node()


def bracketed_from(tokens, at):
    """The same, with labels that are strings and the place in what it gives."""
    label = tokens[at + 1]
    at += 2
    if tokens[at] != "(":
        return (label, tokens[at]), at + 2
    parts = []
    while tokens[at] == "(":
        part, at = bracketed_from(tokens, at)
        parts.append(part)
    return (label, parts), at + 1


def bracketed_numbers(tokens):
    """The same of a list of which it takes what it has read, with a third part and numbers as leaves."""
    tokens.pop(0)
    label = tokens.pop(0)
    if tokens[0] != "(":
        leaf = len(tokens.pop(0))
        tokens.pop(0)
        return label, 1.5, leaf
    parts = []
    while tokens[0] != ")":
        parts.append(bracketed_numbers(tokens))
    tokens.pop(0)
    return label, 0.5 * len(parts), parts


def labels_and_words(tree, found):
    label, body = tree
    if isinstance(body, str):
        found.append(f"{label} {body}")
        return 1
    found.append(f"{label}")
    return 1 + max(labels_and_words(part, found) for part in body)


def leaves_of(tree):
    label, _, body = tree
    return [label] * body if isinstance(body, int) else [x for part in body for x in leaves_of(part)]


def by_a_place_outside(self, text):
    found = []
    depth = labels_and_words(bracketed(text.split()), found)
    return found, depth, torch.ones(2) * len(found)


def by_a_place_given_back(self, text):
    tree, end = bracketed_from(text.split(), 0)
    return labels_and_words(tree, []), tree, end


def by_what_is_left(self, text):
    tokens = text.split()
    tree = bracketed_numbers(tokens)
    return leaves_of(tree), tree[1], tree, len(tokens)


TEXTS = ["( 3 ( 2 a ) ( 4 ( 0 bcd ) ( 1 ef ) ) )", "( 1 a )", "( 3 ( 2 ab ) )", "( 0 ( 1 ( 2 ( 3 abc ) ) ) ( 1 d ) )"]


@pytest.mark.parametrize("function", [by_a_place_outside, by_a_place_given_back, by_what_is_left], ids=lambda f: f.__name__)
def test_as_in_python(function: Any) -> None:
    agrees(with_forward(nn.Module(), function), TEXTS)


def test_natively(codegen: Any, tmp_path: Path) -> None:
    def forward(self, text):
        tree = bracketed(text.split())
        return tree, labels_and_words(tree, [])

    agrees_natively(with_forward(nn.Module(), forward), TEXTS, codegen, tmp_path)


SENTENCES = [["a"], ["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d"]]


def beside_lists(self, words):
    """Lists of strings to any depth, and pairs of a number and a string or a list of such pairs."""

    def nested(i):
        return words[i] if i == len(words) - 1 else [words[i], nested(i + 1)]

    def numbered(i):
        return (i, words[i]) if i == len(words) - 1 else (i, [numbered(i + 1), numbered(i + 1)])

    return nested(0), numbered(0)


def test_two_kinds_of_trees_over_strings_are_right_or_refused() -> None:
    agrees_unless_refused(with_forward(nn.Module(), beside_lists), SENTENCES, "differ in type|the result of")


def of_tensors(self, words):
    def tree(i):
        return (i, torch.ones(2) * i) if i == len(words) - 1 else (i, [tree(i + 1), tree(i + 1)])

    return tree(0)


def test_tensors_as_leaves_are_refused() -> None:
    with pytest.raises(CompileError, match="differ in type"):
        build(with_forward(nn.Module(), of_tensors), sample=SENTENCES)
