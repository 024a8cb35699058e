"""Comprehensions that make a dictionary from one whose keys are names and whose values are of several types:

    {name: value for name, value in result.items() if value is not None}

Each entry is compiled by itself. A condition that is known at run time only decides whether the dictionary has that key.
"""

from __future__ import annotations

import ast

from backends.acrobat.frontend.evaluator.changes.scope import assign, changed_in
from backends.acrobat.frontend.evaluator.conditions.conditions import decide
from backends.acrobat.frontend.evaluator.containers.records import by_keys, of_one_kind
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.classes import records_of
from backends.acrobat.frontend.evaluator.objects.construction import construct
from backends.acrobat.frontend.evaluator.objects.fields import field
from backends.acrobat.frontend.evaluator.ownership.ownership import seen_inside
from backends.acrobat.frontend.evaluator.syntax.bodies import assigned
from backends.acrobat.frontend.instances.record_classes import is_name
from backends.acrobat.frontend.kinds import known, nothing_known
from backends.acrobat.frontend.types import UNKNOWN
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value, unknown

MOST = 32
"""The most dictionaries with different keys that such a comprehension may make."""


def named_entries(f: Frame, node: ast.DictComp) -> Value | None:
    """The dictionary that a comprehension makes from the entries of a dictionary with names as keys; None for all other
    comprehensions. Raises Refused."""
    match node.generators:
        case [ast.comprehension(target, ast.Call(ast.Attribute(owner, "items"), [], []), ifs, 0)]:
            pass
        case _:
            return None
    with f.trial():
        whole = f.borrowed(owner)
    classes = records_of(f, whole)
    datatypes = f.program.datatypes
    types = [datatypes.field_type(c, x) for c in classes for x in datatypes.record_fields(c)]
    if not classes or any(map(datatypes.is_walked, classes)):
        return None
    if of_one_kind(f, types) if len(classes) == 1 else any(c in datatypes.seen for c in classes):
        return None  # a list of entries
    if len(classes) == 1 and UNKNOWN in types:
        f.program.incomplete = True
        return unknown()
    if changed_in(f, [node.key, node.value, *ifs]):
        raise Refused("a comprehension that changes something has values of several types here", "write a loop")
    whole = f.borrowed(owner)
    assert isinstance(whole, Dyn)
    seen_inside(f, owner)
    made = _MadeDictionaries(f, node, target, ifs)
    with f.branch() as b:
        for name in assigned([target]):
            f.env.pop(name, None)
        if len(classes) == 1:
            result = made.of([(x, field(f, node, whole, x)) for x in datatypes.record_fields(classes[0])])
        else:
            result = by_keys(f, node, whole, lambda _, entries: made.of(list(entries.items())))
    f.builder.bindings += b.bindings
    f.owned &= f.owned_at_end
    return result


class _MadeDictionaries:
    """The dictionaries that a comprehension may make, one for each set of keys; `number` counts those made so far."""

    def __init__(self, f: Frame, node: ast.DictComp, target: ast.expr, ifs: list[ast.expr]) -> None:
        self.f, self.node, self.target = f, node, target
        tests = ifs or [ast.copy_location(ast.Constant(True), node)]
        self.test = tests[0] if len(tests) == 1 else ast.copy_location(ast.BoolOp(ast.And(), tests), node)
        self.number = 0

    def of(self, entries: list[tuple[str, Value]], made: dict[str, Value] | None = None) -> Value:
        """The dictionary with the entries `made` and those that the comprehension makes from the remaining `entries`. Raises
        Refused."""
        f, before = self.f, made or {}
        if any(nothing_known(v) for _, v in entries):  # of a dictionary that a later round of compiling makes
            f.program.incomplete = True
            return unknown()
        if not entries:
            self.number += 1
            if self.number > MOST:
                raise Refused(
                    "a dictionary has one of too many sets of keys here", "keep None in the place of what is left out"
                )
            return construct(f, self.node, f.program.datatypes.records.class_of(before), [], before)
        (name, value), *rest = entries
        assign(f, self.target, TupleV((Static(name), value)))

        def with_entry() -> Value:
            key, item = known(f.expression(self.node.key))[1], f.expression(self.node.value)
            if not is_name(key):
                raise Refused("the keys of this dictionary are names that are known at compile time", "write them out")
            return self.of(rest, before | {key: item})

        return decide(f, self.node, self.test, with_entry, lambda: self.of(rest, before))
