"""What the analyses of a finished program hand to code generation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from backends.acrobat.analyses.alignment import Alignment


@dataclass(frozen=True, slots=True)
class Facts:
    """What the analyses found, as far as the code depends on it."""

    static_depth: Mapping[tuple[str, str], int] = field(default_factory=dict)  # (function, variable) -> depth
    static_levels: int = 0  # one more than the largest of them
    phase: Mapping[str, int] = field(default_factory=dict)  # variable of the entry function -> its phase
    phases: int = 1
    waits: frozenset[str] = frozenset()  # functions that may wait
    recursive: frozenset[str] = frozenset()
    alignment: Alignment = field(default_factory=Alignment)
