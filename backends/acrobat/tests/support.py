"""What the end-to-end tests share: the workloads that they run, and the functions of `samples.py`."""

from __future__ import annotations

import pytest

from backends.acrobat.tests.samples import PAPER, assert_same, comb, draw, eager, edges, tiny
from workloads.tests.named import NAMES

__all__ = [
    "LONG",
    "MOST",
    "NAMES",
    "PAPER",
    "SOME",
    "assert_same",
    "comb",
    "draw",
    "eager",
    "edges",
    "exhaustive",
    "tiny",
]

exhaustive = pytest.mark.exhaustive
SOME = [name if name in PAPER else pytest.param(name, marks=exhaustive) for name in NAMES]
"""All workloads, for tests that need another build of each: those that are not the paper's only run in `scripts/exhaustive`."""


LONG = ("beam", "crf", "ragged", "seq2seq")
"""Workloads whose programs are several times as long as those of others, and take as much longer to compile."""
MOST = [pytest.param(name, marks=exhaustive) if name in LONG else name for name in NAMES]
"""All workloads, for tests that need a special build of each: the long ones only run in `scripts/exhaustive`."""
