"""The switches of the Cortex compiler."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Options:
    """Switches of optimisations. Sections are those of Fegade et al. (MLSys 2021)."""

    batching: bool = True
    """Nodes of one height run together (section 4.1); without it every node runs alone."""
    specialise: bool = True
    """Leaves have a separate loop nest (section 4.1); without it one nest checks for every node whether it is a leaf."""
    propagate: bool = True
    """Operations on constants are simplified, above all on the zeros for missing children and words (section 4.3)."""
    hoist: bool = True
    """Products that do not use a child's state are computed before the loop, for all nodes at once (section 4.3)."""
    fusion: bool = True
    """Operators of a wavefront become few kernels: products of one operand become one, element-wise operators follow in it."""
    dense: bool = True
    """Intermediates are indexed by their place in the wavefront, so that all wavefronts share their memory (section 5.1)."""
    refactor: bool = False
    """Products of children's states move into the children (section 4.1, recursive refactoring)."""
    unroll: bool = False
    """Two wavefronts of trees run as one, parents right after their own children (section 4.1)."""
    persist: bool = True
    """Weights are packed once, when the model is loaded, not in each mini-batch (section 4.2, model persistence)."""


SWITCHES = tuple(f.name for f in fields(Options))
