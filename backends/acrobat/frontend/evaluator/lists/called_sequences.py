"""Notes of calls whether they give sequences that are no lists in Python, but lists of the program (`sequences_met.py`)."""

from __future__ import annotations

import ast

from backends.acrobat.core.types import ListT
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.iterator_sources import gives_iterator
from backends.acrobat.frontend.evaluator.lists.sequences_met import note_sequence
from backends.acrobat.frontend.evaluator.ownership.fresh import is_own_function
from backends.acrobat.frontend.kinds import type_or_none
from backends.acrobat.frontend.specials import OneOf, Partial
from backends.acrobat.frontend.types import SymbolT
from backends.acrobat.frontend.values import Value

LISTS = """
list sorted tolist splitlines copy deepcopy getattr get pop popleft setdefault next max min reduce nlargest nsmallest findall
heappop
"""
GIVE_LISTS = frozenset(LISTS.split())
"""Functions and methods, by name, that give lists of Python, or what was given to them."""


def note_call(f: Frame, node: ast.Call, callee: Value, result: Value) -> None:
    """Note what a call gives, unless it gives lists of Python."""
    if not _is_own(callee):
        match node.func, type_or_none(result):
            case ((ast.Name("split" | "rsplit") | ast.Attribute(attr="split" | "rsplit")), ListT(SymbolT())):
                return
            case ((ast.Name(name) | ast.Attribute(attr=name)), _) if name in GIVE_LISTS:
                return
    elif not gives_iterator(f, node):
        return
    note_sequence(f, node, result)


def _is_own(callee: Value) -> bool:
    """Whether all that may be called is defined by the source, or a module."""
    match callee:
        case OneOf(alternatives=several):
            return all(map(_is_own, several))
        case Partial(function=function):
            return _is_own(function)
    return is_own_function(callee)
