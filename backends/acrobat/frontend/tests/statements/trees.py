"""Trees for the tests of this folder."""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass
class Tree:
    word: int
    children: list[Tree] = field(default_factory=list)


def random_tree(rng: random.Random, depth: int) -> Tree:
    """A tree of words below 10 with at most `depth` levels below its root."""
    return Tree(rng.randrange(10), [random_tree(rng, depth - 1) for _ in range(rng.randrange(3))] if depth else [])
