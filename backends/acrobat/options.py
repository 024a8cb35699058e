"""The switches of the compiler: each is an axis of the ablation, reachable as `backend.acrobat.<switch>=...`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Options:
    specialise: bool = True
    """Parameter reuse: clone functions per weight set, so that each weight is shared by the batch (paper: taint analysis)."""
    constant_work: bool = True
    """Operations on weights alone are done once, at load."""
    fold_sums: bool = True
    """A sum over a list is one reduction, not a chain of additions."""
    horizontal: bool = True
    """Sibling products (gates; q, k, v) are one product with packed weights."""
    vertical: bool = True
    """Element-wise work joins the product or reduction that feeds it; off: one kernel for each operation."""
    coarsen: bool = True
    """Straight lines of kernels are recorded and scheduled as one unit (paper: static blocks)."""
    gather_fusion: bool = True
    """Kernels read scattered operands in place; off: operands are first copied into contiguous memory."""
    hoist: bool = True
    """Operations that depend on no recursive result run at a static depth, before all others."""
    phases: bool = True
    """Stages of `forward` are phases: the next stage starts when every instance has recorded the one before."""
    codegen: Literal["aot", "vm"] = "aot"
    """How the host program runs: compiled ahead of time, or as bytecode that a native loop interprets (paper: AOT compilation
    against the Relay VM). Kernels are compiled either way."""
