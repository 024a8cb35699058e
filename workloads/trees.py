"""Binary constituency trees: a reader of the Stanford Sentiment Treebank's brackets and a generator with its statistics.

The treebank (Socher et al. 2013) has 19.2 leaves, 37.4 nodes and 10.9 levels to a tree on average, and at most 56 leaves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from workloads.spec import ModelSpec
from workloads.text import DataError, Shuffled, check_words, draw_words, lines, word_id


@dataclass(frozen=True)
class Lengths:
    """How long generated sentences are, in words: normal with `mean` and standard deviation `spread`, cut to [least, most]."""

    mean: float
    spread: float
    least: int
    most: int


TREEBANK = Lengths(mean=19.2, spread=9.1, least=2, most=56)
SKEW, FROM_RIGHT = 4.3, 0.3
"""How unevenly a span splits (`bracket`; larger is less even), and how often its smaller part is the right one. With this skew
the levels of generated trees have the treebank's mean and spread; in 7 of 10 of the treebank's spans of eight words or more the
smaller part is the left one."""

Leaf = Callable[[int], Any]
Node = Callable[[list[Any]], Any]
LABELS = 5
"""Sentiment classes of the treebank, 0 to 4."""
MAX_LEVELS = 250
"""The most levels that a tree may have: eager PyTorch evaluates it by Python's recursion, which reaches about 300 levels."""
TOKEN = re.compile(r"[()]|[^()\s]+")


def take(
    data: str | Shuffled | None,
    random: np.random.Generator,
    vocabulary: int,
    leaf: Leaf,
    node: Node,
    n: int,
    lengths: Lengths = TREEBANK,
) -> list[Any]:
    """`n` trees of the file `data`; if it is None, generated trees over sentences of such `lengths`. `leaf` makes a leaf from a
    word id, `node` an inner node from its two subtrees, as in all functions below."""
    if data is None:
        return list(islice(generate(random, vocabulary, leaf, node, lengths), n))
    return read(data, vocabulary, leaf, node, n)


def read(path: str | Path | Shuffled, vocabulary: int, leaf: Leaf, node: Node, n: int) -> list[Any]:
    """The first `n` trees of the file, one a line, beginning again if it has fewer. Labels are dropped. In a line such as
    `(3 (2 good) (2 film))` every bracket has a label, then a word or two trees. Raises DataError."""
    trees = [parse(line, f"{path}:{number}", vocabulary, leaf, node, source=path) for number, line in lines(path)[:n]]
    return list(islice(cycle(trees), n))


def check(path: str | Path, pairs: bool = False) -> None:
    """Read the whole file. Raises DataError with the place of brackets that do not match, of a node that has neither a word nor
    two trees, of a label that is a number but no class, of a tree too large or too deep for a sentence, and, with `pairs`, of a
    last tree without a partner."""
    entries = lines(path)
    if pairs and len(entries) % 2:
        raise DataError(f"{path}:{entries[-1][0]}: the last of {len(entries)} trees has no partner: every two lines are a pair")
    for number, line in entries:
        where = f"{path}:{number}"
        words = TOKEN.finditer(line)
        check_words(((match.group(), match.start()) for match in words if match.group() not in "()"), where)
        levels = parse(line, where, 1, lambda word: 1, lambda children: 1 + max(children), labels=LABELS)
        if levels > MAX_LEVELS:
            raise DataError(f"{where}:1: a tree of {levels} levels; {MAX_LEVELS} are the most")


def parse(
    line: str, where: str, vocabulary: int, leaf: Leaf, node: Node, labels: int | None = None, source: object = None
) -> Any:
    """The tree of one line, built without recursion. Labels that are numbers must be below `labels`, unless it is None. `where`
    names the line in the DataErrors raised; `source` is the file, which may give its words other ids (`word_id`)."""

    def fail(position: int, why: str) -> DataError:
        return DataError(f"{where}:{position + 1}: {why}")

    tree: Any = None
    parts: list[list[Any]] = []
    tokens = [(match.group(), match.start()) for match in TOKEN.finditer(line)]
    for (token, start), (following, _) in zip(tokens, [*tokens[1:], ("", len(line))], strict=True):
        if not parts and (token != "(" or tree is not None):
            raise fail(start, f"{token!r} outside of a tree" if tree is not None else f"a tree starts with '(', not {token!r}")
        if token == "(":
            if following in ("(", ")", ""):
                raise fail(start, "a label must follow '('")
            if labels is not None and following.isdecimal() and int(following) >= labels:
                raise fail(start + 1, f"the label {following} is none of the {labels} classes, 0 to {labels - 1}")
            parts.append([])
        elif token == ")":
            label, *children = parts.pop()
            match children:
                case [str(word)]:
                    built = leaf(word_id(word, vocabulary, source))
                case [left, right] if not isinstance(left, str) and not isinstance(right, str):
                    built = node([left, right])
                case _:
                    raise fail(
                        start, f"the node {label!r} closed here has {len(children)} parts; it needs one word or two trees"
                    )
            if parts:
                parts[-1].append(built)
            else:
                tree = built
        else:
            parts[-1].append(token)
    if parts:
        raise fail(len(line.rstrip()), f"{len(parts)} '(' not closed")
    return tree


def generate(
    random: np.random.Generator, vocabulary: int, leaf: Leaf, node: Node, lengths: Lengths = TREEBANK
) -> Iterator[Any]:
    """Endlessly many random trees; their words follow Zipf's law."""
    while True:
        leaves = int(np.clip(np.rint(random.normal(lengths.mean, lengths.spread)), lengths.least, lengths.most))
        yield bracket(random, [leaf(word) for word in draw_words(random, leaves, vocabulary)], node)


def bracket(random: np.random.Generator, leaves: Sequence[Any], node: Node) -> Any:
    """A random binary tree over `leaves`, in their order. Most spans split off one word or a few at one end."""
    if len(leaves) == 1:
        return leaves[0]
    split = 1 + int((len(leaves) - 1) * random.random() ** SKEW)
    if random.random() < FROM_RIGHT:
        split = len(leaves) - split
    return node([bracket(random, leaves[:split], node), bracket(random, leaves[split:], node)])


class TreeSpec(ModelSpec):
    """A workload whose instances are trees, or pairs of them, from the file `data` or generated if it is None."""

    pairs = False

    def __init__(self, data: str | None = None) -> None:
        self.data = data

    def check(self, size: str) -> None:
        if self.data is not None:
            check(self.data, self.pairs)
