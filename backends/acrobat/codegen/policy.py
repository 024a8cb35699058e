"""Learned batching policies: where they come from and where they are kept.

ED-Batch (Chen et al., "ED-Batch: Efficient Automatic Batching of Dynamic Neural Networks via Learned Finite State Machines",
ICML 2023) runs recorded work as a finite-state machine says: its state is a summary of which kinds of operations are ready,
and a table says for each state which kind runs next, all that is ready of it as one batch. Here a kind is a unit (a kernel or
static block), and each phase has states of its own.

*Learning* (`runtime/learning.cpp`; section 2 of that paper) is tabular Q-learning on the graphs of sample mini-batches:
n-step returns, undiscounted, with their constants (rate 0.4, ten steps, random choices from one half down to a twentieth of
the time, a look at the policy every 50 trials, and 1,000 trials at most; after five looks without a better policy it ends).
The reward of running unit t is -1, for the batch, plus the share that is ready of those operations of t that have no other
operation of t before them: where that share is 1, the choice is never wrong. The *lower bound* on the number of batches is
the sum over the units of how many of its operations lie on one path at most; who reaches it is done early.

Five *encodings* of states are tried. Three are the paper's: the set of ready units; this set and which unit has most
operations ready; the units in the order of how many they have ready. Two are ours: the set, or the order, and which unit has
the most urgent ready operation, from which the longest way leads to the end of the graph. (A policy that knows no lengths
lets the longest instance wait for others, and each time the mini-batch takes a batch more.) Those that name a unit or an
order begin with the table in which the unit runs that the state names first. The table that makes the fewest batches of the
samples is kept. In a *state that learning has not met* the unit runs whose operations have the lowest average depth, as in
DyNet's agenda; if no table makes fewer batches than the agenda does, the table is empty.

At run time a batch costs one look into a hash table, beside what the agenda costs.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace

from backends.acrobat.codegen.build import cached
from backends.acrobat.core.folders import cache_folder
from backends.acrobat.settings import Settings

ENCODINGS = ("set", "most", "sorted", "urgent", "urgent_sorted")
"""In the order of the runtime's `Encoding`."""
FILE = "policy.json"
FORMAT = 1
"""Of the file; part of each policy's key. What learns is part of it too: the build is named by a hash of the sources."""


@dataclass(frozen=True, slots=True)
class Learned:
    """A policy, and into how many batches the samples are cut."""

    encoding: int
    """The index of the encoding of states in `ENCODINGS`."""
    table: list[tuple[tuple[int, ...], int]]
    """A state (the phase, then units as the encoding orders them) and the unit that runs in it."""
    batches: int
    """By this policy."""
    agenda: int
    """By DyNet's agenda."""
    lower_bound: int
    trials: int
    """All that were made."""


def learned(lib: SimpleNamespace, session: int, build: Path, settings: Settings) -> Learned | None:
    """The policy for the graphs that the session keeps, from the cache or newly learned; None if there is no work in them.

    It is kept in the folder `policies` of the cache, named by what it depends on: the build, the graphs, the number of trials
    and the seed. Its file is verified by a hash, as that of a build, and a damaged one is made anew."""
    graphs: bytes = lib.acrobat_graphs(session)
    if lib.acrobat_lower_bound(session) == 0:
        return None
    described = repr((FORMAT, build.name, hashlib.sha256(graphs).hexdigest(), settings.policy_trials, settings.policy_seed))

    def make(folder: Path) -> None:
        encoding, table, *counts = lib.acrobat_learn(session, settings.policy_trials, settings.policy_seed)
        (folder / FILE).write_text(json.dumps(asdict(Learned(encoding, sorted(table), *counts))))

    folder = (settings.cache_folder or cache_folder()) / "policies"
    kept = json.loads((cached(hashlib.sha256(described.encode()).hexdigest()[:32], make, folder) / FILE).read_text())
    return Learned(**{**kept, "table": [(tuple(state), unit) for state, unit in kept["table"]]})
