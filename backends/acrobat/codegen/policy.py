"""Learned batching policies: how they are learned and where they are kept.

ED-Batch (Chen et al., "ED-Batch: Efficient Automatic Batching of Dynamic Neural Networks via Learned Finite State Machines",
ICML 2023) runs recorded work by a finite-state machine. Its state summarises which kinds of operations are ready, and a table
says for each state which kind runs next, with all of its ready operations in one batch. Here a kind is a unit (a kernel or
static block), and each phase has states of its own.

*Learning* (`runtime/learning.cpp`; section 2 of that paper) is tabular Q-learning on the graphs of sample mini-batches, with
undiscounted n-step returns and the paper's constants: rate 0.4, ten steps, a probability of random choices that falls from 0.5
to 0.05, an evaluation of the policy every 50 trials, at most 1,000 trials. It ends after five evaluations without a better
policy. The reward for running unit t is -1 for the batch, plus a share: of the operations of t that depend on no other
operation of t that has not run, how many are ready. A choice with the share 1 is optimal. The *lower bound* on the number of
batches is the sum over the units of the most operations of the unit on one path; a policy that reaches it ends learning early.

Five *encodings* of states are tried. Three are the paper's: the set of ready units; that set and the unit with the most ready
operations; the ready units sorted by their number of ready operations. Two are ours: the set, or the sorted units, together
with the unit that has the most urgent ready operation, the one with the longest path to the end of the graph. (A policy that
ignores path lengths delays the longest instance, and each delay costs the mini-batch one more batch.) For all but the plain
set, the first table to be tried always runs the unit that the state names first. The table with the fewest batches for the
samples is kept. In a *state that was never met while learning*, the agenda chooses: the unit whose operations have the lowest
average depth runs. If no table makes fewer batches than the agenda, the table is empty.

At run time, a choice costs one look-up in a hash table more than the agenda's.
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
"""The encodings of states, in the order of the runtime's `Encoding`."""
FILE = "policy.json"
FORMAT = 1
"""The format of the file, a part of each policy's key. (By the build's name, the code that learns is a part of the key too.)"""


@dataclass(frozen=True, slots=True)
class LearnedPolicy:
    """A learned policy, and the number of batches that the sample mini-batches take."""

    encoding: int
    """The index of the encoding of states in `ENCODINGS`."""
    table: list[tuple[tuple[int, ...], int]]
    """A state (the phase, then units as the encoding orders them) and the unit that runs in it."""
    batches: int
    """The number of batches of the samples by this policy."""
    agenda: int
    """The number of batches of the samples by DyNet's agenda."""
    lower_bound: int
    trials: int
    """How many trials were made, for all encodings together."""


def learned_policy(lib: SimpleNamespace, session: int, build: Path, settings: Settings) -> LearnedPolicy | None:
    """The policy for the graphs that the session has kept, from the cache or newly learned; None if the graphs have no work.

    It is kept in the folder `policies` of the cache under a hash of what it depends on: the build, the graphs, the number of
    trials and the seed. A damaged file is noticed by its hash, as in a build, and made anew."""
    graphs: bytes = lib.acrobat_graphs(session)
    if lib.acrobat_lower_bound(session) == 0:
        return None
    described = repr((FORMAT, build.name, hashlib.sha256(graphs).hexdigest(), settings.policy_trials, settings.policy_seed))

    def make(folder: Path) -> None:
        encoding, table, *counts = lib.acrobat_learn(session, settings.policy_trials, settings.policy_seed)
        (folder / FILE).write_text(json.dumps(asdict(LearnedPolicy(encoding, sorted(table), *counts))))

    folder = (settings.cache_folder or cache_folder()) / "policies"
    stored = json.loads((cached(hashlib.sha256(described.encode()).hexdigest()[:32], make, folder) / FILE).read_text())
    return LearnedPolicy(**{**stored, "table": [(tuple(state), unit) for state, unit in stored["table"]]})
