"""Calls of functions that are chosen at run time and change lists, objects or attributes: each arm of the choice gives the new
values beside its result, as the arms of an `if` do with the names that they assign."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from backends.acrobat.frontend.evaluator.choices.choice import Arm, among
from backends.acrobat.frontend.evaluator.frame.claims import Claims, claims
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.kinds import is_never, nothing_known
from backends.acrobat.frontend.values import Static, TupleV, Value, unknown


def among_calls(f: Frame, node: ast.AST, index: Value, arms: Sequence[Arm]) -> Value:
    """As `among`, of arms that may change what names of the function refer to: afterwards these stand for the new values."""
    changed, results = _trial_of_arms(f, arms)
    if not changed:
        return among(f, node, index, arms)
    claims_kept: list[Claims] = []

    def with_changes(arm: Arm) -> Value:
        f.claims_kept = set()
        value = arm()
        claims_kept.append(f.claims_kept)
        after = tuple(f.env[name] for name in changed)
        return value if is_never(value) else TupleV(after if nothing else (value, *after))

    nothing = all(v == Static(None) for v in results)  # the functions have no result
    result = among(f, node, index, [lambda arm=arm: with_changes(arm) for arm in arms])  # type: ignore[misc]
    f.claims_kept = set.intersection(*claims_kept)
    f.mutated.update(changed)
    if is_never(result):
        return result
    parts = f.components(result)
    if parts is None:
        return unknown()
    for name, value in zip(changed, parts if nothing else parts[1:], strict=True):
        if not nothing_known(value):
            still = claims(name) & f.owned
            f.rebind(name, value)
            f.owned |= still
    return Static(None) if nothing else parts[0]


def _trial_of_arms(f: Frame, arms: Sequence[Arm]) -> tuple[list[str], list[Value]]:
    """The names whose values some of the arms change, in a fixed order, and the arms' results, as far as they tell types."""
    results = []
    with f.changes(counted=False) as changed:
        for arm in arms:
            with f.trial():
                results.append(arm())
    return sorted(changed & set(f.env)), results
