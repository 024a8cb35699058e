"""Parsers that give a tree and the place where it ends: the tree may be a leaf or a node, the place is always a number."""

# mypy: ignore-errors

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


def of_numbers(tokens, at):
    if tokens[at] != "[":
        return int(tokens[at]), at + 1
    op, at = tokens[at + 1], at + 2
    args = []
    while tokens[at] != "]":
        arg, at = of_numbers(tokens, at)
        args.append(arg)
    return (op, args), at + 1


def of_strings(tokens, at):
    if tokens[at] != "[":
        return tokens[at], at + 1
    op, at = tokens[at + 1], at + 2
    args = []
    while tokens[at] != "]":
        arg, at = of_strings(tokens, at)
        args.append(arg)
    return (op, args), at + 1


def with_lengths(tokens, at):
    """Of each part it also keeps how many tokens it has; the place comes first."""
    if tokens[at] != "[":
        return at + 1, int(tokens[at])
    op, at = tokens[at + 1], at + 2
    args = []
    while tokens[at] != "]":
        begin = at
        at, arg = with_lengths(tokens, at)
        args.append((at - begin, arg))
    return at + 1, (args, op)


def two_trees(tokens, at):
    """The tree and its mirror image, with strings as leaves."""
    if tokens[at] != "[":
        return int(tokens[at]), tokens[at], at + 1
    op, at = tokens[at + 1], at + 2
    args, mirrored = [], []
    while tokens[at] != "]":
        arg, other, at = two_trees(tokens, at)
        args.append(arg)
        mirrored.insert(0, other)
    return (op, args), (len(mirrored), mirrored), at + 1


def none_at_the_end(tokens, at):
    """Where the text ends too early there is None in place of a tree."""
    if at >= len(tokens):
        return None, at
    if tokens[at] != "[":
        return int(tokens[at]), at + 1
    op, at = tokens[at + 1], at + 2
    args = []
    while at <= len(tokens) and (at == len(tokens) or tokens[at] != "]"):
        arg, at = none_at_the_end(tokens, at)
        args.append(arg)
        if arg is None:
            break
    return (op, args), at + 1


def nothing_found(tokens, at):
    """At the end of the text it gives None in place of both."""
    if at >= len(tokens):
        return None
    if tokens[at] != "[":
        return int(tokens[at]), at + 1
    op, at = tokens[at + 1], at + 2
    args = []
    while at < len(tokens) and tokens[at] != "]":
        found = nothing_found(tokens, at)
        if found is None:
            break
        args.append(found[0])
        at = found[1]
    return (op, args), at + 1


def place_in_a_list(tokens, at):
    """The place is a list's element; where the text ends too early there is None in place of a tree."""
    if at[0] >= len(tokens):
        return None
    token = tokens[at[0]]
    at[0] += 1
    if token != "[":
        return int(token)
    op = tokens[at[0]]
    at[0] += 1
    args = []
    while at[0] < len(tokens) and tokens[at[0]] != "]":
        args.append(place_in_a_list(tokens, at))
    at[0] += 1
    return op, args


def operand(tokens, at):
    """What `product` and `operand` read of `2 * [ 3 + 1 ]`: a loop puts the tree so far into the next one."""
    if tokens[at] != "[":
        return int(tokens[at]), at + 1
    tree, at = product(tokens, at + 1)
    return tree, at + 1


def product(tokens, at):
    tree, at = operand(tokens, at)
    while at < len(tokens) and tokens[at] in "*+":
        op = tokens[at]
        other, at = operand(tokens, at + 1)
        tree = (op, tree, other)
    return tree, at


def total(tree):
    return tree if isinstance(tree, int) else sum(total(arg) for arg in tree[1])


def numbers(self, text):
    tree, end = of_numbers(text.split(), 0)
    return total(tree), tree, end


def strings(self, text):
    return of_strings(text.split(), 0)


def lengths(self, text):
    return with_lengths(text.split(), 0)


def trees(self, text):
    tree, mirror, end = two_trees(text.split(), 0)
    return total(tree), tree, mirror, end


def missing(self, text):
    tree, end = none_at_the_end(text.split(), 0)
    return tree, tree is None, end


def found(self, text):
    found = nothing_found(text.split(), 0)
    return (-1, 0, 0) if found is None else (found[1], found[0], total(found[0]))


def listed(self, text):
    at = [0]
    tree = place_in_a_list(text.split(), at)
    return tree, at[0]


def infix(self, text):
    tree, end = product(text.split(), 0)
    return tree, isinstance(tree, int), end


TEXTS = ["[ + 1 2 ]", "[ + 3 [ * 1 ] ]", "5", "[ * [ + [ * 2 3 4 ] ] [ + 5 ] 6 ]"]
CUT_OFF = [*TEXTS, "", "[ +", "[ + 1", "[ * [ + 2 3 ]"]


@pytest.mark.parametrize("function", [numbers, strings, lengths, trees], ids=lambda f: f.__name__)
def test_as_in_python(function: Any) -> None:
    agrees(with_forward(nn.Module(), function), TEXTS)


def test_operators_between_operands() -> None:
    agrees(with_forward(nn.Module(), infix), ["1", "1 + 2", "1 * 2 + 3", "2 * [ 3 + 1 ]", "[ 1 + [ 2 * 3 + 4 ] ] * 5"])


@pytest.mark.parametrize("function", [missing, found, listed], ids=lambda f: f.__name__)
def test_texts_that_end_too_early(function: Any) -> None:
    agrees(with_forward(nn.Module(), function), CUT_OFF)


def test_natively(codegen: Any, tmp_path: Path) -> None:
    def forward(self, text):
        return *trees(self, text), missing(self, text)

    agrees_natively(with_forward(nn.Module(), forward), TEXTS, codegen, tmp_path)
