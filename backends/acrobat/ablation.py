"""The steps of the cumulative ablation: settings of the backend, from no optimisation to all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from backends.acrobat.options import SWITCHES

ALWAYS = ("specialise",)
"""Switches that are on in every step of the cumulative ablation. Without `specialise` some weights are operands of each row,
and explicit gather copies them for every row, which is no realistic start."""


CUMULATIVE: Mapping[str, Sequence[str]] = {
    "unfused, vendor": (),
    "unfused, generated": (),
    "fusion": ("vertical",),
    "coarsening": ("coarsen",),
    "static scheduling": ("merge_steps",),
    "inline depth": ("hoist",),
    "phases and ghosts": ("phases", "ghosts", "defer"),
    "gather fusion": ("gather_fusion",),
    "sums of lists": ("fold_sums",),
    "horizontal fusion": ("horizontal",),
    "constant work": ("constant_work", "invariants", "tables"),
    "tuned": (),
}
"""The steps of the cumulative ablation and the switches that each adds (in the order of the paper's ablation figure, then of
our own). The first step runs a vendor's kernels, all others generated ones, whose effect alone the second shows. Before "inline
depth" the executor is `dataflow`, from then on `auto`. The last step tries `TRIALS` schedules of kernels, guided by a
profile."""


TRIALS = 64


def steps() -> list[dict[str, Any]]:
    """The options of each step of the cumulative ablation: its switches and those of all steps before are on."""
    rows: list[dict[str, Any]] = []
    settings: dict[str, Any]
    switched_on = set(ALWAYS)
    for step, switches in CUMULATIVE.items():
        switched_on.update(switches)
        settings = {"kernels": "generated" if rows else "vendor", "executor": "auto" if "hoist" in switched_on else "dataflow"}
        settings |= {"tune": TRIALS if step == "tuned" else 0}
        rows.append({"ablation": "none", "step": step, **settings, **{switch: switch in switched_on for switch in SWITCHES}})
    return rows
