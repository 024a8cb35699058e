"""The holes that the contract test expects: what each backend cannot run.

A key is a workload, or a workload and the options of one of the backend's variants, as in `nestedrnn autobatch=3`. The value is
the reason that the backend must give in its `Unsupported`, or a part of it. The test fails for a hole that is not listed, and
for a listed one that the backend can run. A backend that is not installed is no hole: its tests are skipped if a module that it
names in its class attribute `optional` cannot be found.
"""

from __future__ import annotations

from collections.abc import Mapping

DEADLOCK = "DyNet crashes: with autobatch=3 signatures can all wait for one another"

DECIDED = "its control flow depends on values of tensors"

DECIDING = ("beam", "berxit", "drnn", "nestedrnn", "seq2seq", "stackrnn")
"""The workloads whose control flow waits for tensors."""

HOLES: Mapping[str, Mapping[str, str]] = {
    "cortex": {
        **dict.fromkeys(DECIDING, DECIDED),
        **{name: f"no recursion is written for {name}" for name in ("crf", "lattice", "ragged")},
    },
    "dynet": {
        "mvrnn autobatch=3": DEADLOCK,
        "nestedrnn autobatch=3": DEADLOCK,
        "dagrnn autobatch=3": DEADLOCK,
        "lattice autobatch=3": DEADLOCK,
    },
    "dgl": {
        **dict.fromkeys(DECIDING, "not known before tensors are computed"),
        "ragged": "an edge for every pair of words",
    },
    "torchfold": {
        **dict.fromkeys(DECIDING, "control flow waits for tensors"),
        "ragged": "results of one shape",
    },
    "jitbatch": {
        **{
            f"{name} granularity=subtree": "recursive calls over structures"
            for name in ("beam", "berxit", "birnn", "crf", "dagrnn", "lattice", "nestedrnn", "ragged", "seq2seq", "stackrnn")
        },
        "drnn granularity=subtree": "grow waits for tensors' values",
    },
}

PREPARES: Mapping[str, tuple[str, object]] = {"handbatched": ("library", "onednn"), "jitbatch": ("cache", True)}
"""Backends with the setting under which honest ones are slow in new mini-batches, each time the cell is measured: oneDNN
prepares the products of each number of rows once, and just-in-time batching keeps the analysis of each structure."""
