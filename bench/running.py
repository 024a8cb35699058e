"""A cell that is being timed: what is noted of it from its first turn to its row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bench.elapsed import Told
from bench.prepare import Prepared


@dataclass
class Running(Prepared):
    """A cell that is being timed."""

    idle_since: float = 0.0  # when its last turn ended, by the clock of `monotonic`
    told: Told = field(default_factory=Told)  # of its turns
    counters: list[tuple[int, dict[str, Any]]] = field(default_factory=list)  # of a mini-batch in a turn
    joules: float | None = None  # the energy used in all turns
    instances: int = 0  # how many were run in the turns whose energy is known
    instructions: dict[str, int] | None = None  # how often each instruction set was seen, where it was passes for
    twins: list[Running] = field(default_factory=list)  # variants with the same program, which get a copy of this cell's row
