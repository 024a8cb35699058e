"""All models of the zoo: importing a family adds its models to the list."""

from __future__ import annotations

from backends.acrobat.tests.zoo import (
    decoders,
    drafts,
    exits,
    grammars,
    graphs,
    memories,
    mixtures,
    parsers,
    sequences,
    styles,
    trees,
    tutorials,
    visitors,
)
from backends.acrobat.tests.zoo.case import CASES

FAMILIES = (
    trees,
    sequences,
    decoders,
    graphs,
    memories,
    parsers,
    exits,
    mixtures,
    tutorials,
    grammars,
    visitors,
    drafts,
    styles,
)

__all__ = ["CASES", "FAMILIES"]
