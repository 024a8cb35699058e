"""Random models that give lists several names and change them are as in Python, or are refused."""

from __future__ import annotations

from pathlib import Path

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend.tests.random_names import source
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.tests.zoo.check import agrees

INSTANCES = [[], [3], [1, 2], [4, 4, 1, 0], [2, 7, 5, 3, 1, 0, 6]]
SEEDS = range(24)
REASONS = ("another name", "seen elsewhere", "walked over", "does not keep its type")


def test_as_in_python(tmp_path: Path) -> None:
    """Most of them compile: a compiler that refuses them all would agree, too."""
    refused = []
    for seed in SEEDS:
        model = load(tmp_path, source(seed), f"model{seed}").M()
        try:
            agrees(model, INSTANCES)
        except CompileError as error:
            refused.append(str(error))
    assert all(any(words in text for words in REASONS) for text in refused), refused
    assert len(refused) <= len(SEEDS) // 4, refused
