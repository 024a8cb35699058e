"""Functions that give functions: `def scorer(self, words): ...; def score(i, j): ...; return score`. The program has no value
for what these give, so their body is compiled where they are called, and the caller knows which function it has."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from backends.acrobat.frontend.evaluator.callables.nested import each_inside, for_good
from backends.acrobat.frontend.evaluator.choices.choice import is_function
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.claims import claims, deep
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.classes import class_key
from backends.acrobat.frontend.evaluator.ownership.ownership import changeable
from backends.acrobat.frontend.evaluator.syntax.raised import classes_of
from backends.acrobat.frontend.evaluator.tables import Exits
from backends.acrobat.frontend.functions.binding import BoundCall
from backends.acrobat.frontend.functions.definitions import as_compiled
from backends.acrobat.frontend.functions.outcomes import escapes_of
from backends.acrobat.frontend.functions.signatures import owner_of
from backends.acrobat.frontend.kinds import held_atoms, is_array, type_or_none
from backends.acrobat.frontend.source import LIFTED
from backends.acrobat.frontend.specials import FunctionTable, Narrowed, Partial
from backends.acrobat.frontend.syntax_nodes import names_in
from backends.acrobat.frontend.types import UNKNOWN
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value, unknown


def holds_function(value: Value) -> bool:
    """Whether a value is a function, a method or a module, or has one in it, for which the program has no value."""
    match value:
        case TupleV(items):
            return any(map(holds_function, items))
        case Partial() | FunctionTable():
            return True
    return type_or_none(value) is None and is_function(value)


def compiled_in_place(call: BoundCall) -> Value:
    """What a call of a function that gives functions gives. Raises Refused."""
    f = call.f
    if call.function in f.in_place:
        what = f"`{call.called}` gives a function, and calls itself"
        raise Refused(what, "write a function that takes what this one keeps as arguments")
    result = _body(call, lambda at, value: _with_functions_fixed(f, value))
    _forget_claims(call, result)
    return result


def _body(call: BoundCall, returns: Callable[[ast.AST, Value], Value]) -> Value:
    """The value of a called function's body, compiled in the frame of the caller."""
    program, f = call.program, call.f
    if call.function in LIFTED and LIFTED[call.function].changes:
        what = f"`{call.called}` is given a function that changes what it sees, and gives a function"
        raise Refused(what, "keep what is changed in an object of a class, with methods that change it")
    owner = owner_of(call.values)
    attributes = {} if owner is None else program.carried.attributes_of(owner)
    definition = as_compiled(program, call.function, owner, attributes)
    uses = {*names_in(definition)}.intersection(attributes.values())
    for x in uses:
        program.carried.touches(x, True)
    if not uses <= f.env.keys():
        program.incomplete = True
        return unknown()
    with _inside(call, definition):
        at_top, before = f.builder, f.kept_fields()

        def ends(at: ast.AST, value: Value) -> Value:
            if f.builder is not at_top:
                _refuse_changes(call, before)
            return returns(at, value)

        return f.value_of(definition.body, Exits(lambda: ends(definition, Static(None)), ends))


def _refuse_changes(call: BoundCall, before: dict[str, Value]) -> None:
    """Raises Refused if the called function, in a branch that it ends in, has changed an attribute or field since `before`."""
    changed = [x for x, v in call.f.kept_fields().items() if before.get(x) is not v]
    if changed:
        what = f"`{call.called}` changes {call.f.shown(changed[0])} in a branch in which it ends"
        raise Refused(what, "have the branch give a value, and change it behind the branch")


@contextmanager
def _inside(call: BoundCall, definition: ast.FunctionDef) -> Iterator[None]:
    """A context for compiling the body of a called function in the frame of the caller."""
    f, function = call.f, call.function
    env: dict[str, Any] = {}
    for name, v in zip(call.names, call.values, strict=True):
        env[name] = v.value if isinstance(v, Narrowed) else v
        if isinstance(v, Narrowed):
            env[class_key(name)] = Static(v.cls)
    outer = LIFTED[function].outer if function in LIFTED else function
    before = f.definition, f.result, f.in_place, f.catching
    f.definition, f.result, f.in_place = definition, UNKNOWN, (*f.in_place, function)
    if (escapes := escapes_of(function)) is not None:
        f.catching = classes_of(escapes.caught)
    changed = set[str]()
    try:
        with (
            f.changes(counted=False) as changed,
            f.in_function(outer if isinstance(outer, FunctionType) else function, call.file, env),
        ):
            yield
    finally:
        f.definition, f.result, f.in_place, f.catching = before
        f.mutated |= changed.intersection(call.program.carried.types)  # other names are those of the called function


def _with_functions_fixed(f: Frame, value: Value) -> Value:
    """A returned value, with the functions in it as they are when the function around them has ended. Raises Refused."""
    return each_inside(value, lambda v: for_good(f, v))


def _forget_claims(call: BoundCall, found: Value) -> None:
    """Note that the function that was given may refer to what the arguments, and attributes of modules, are or have in them."""
    f = call.f
    atoms = [a for a in held_atoms(found) if changeable(f, a.type) or is_array(Dyn(a))]
    if not atoms:
        return
    f.new_lists -= {c for a in atoms for name in [getattr(a, "name", "")] for c in (name, deep(name))}
    if isinstance(call.node, ast.Call):
        named = {*names_in(call.node)} | call.program.carried.tracked
        f.owned -= {c for name in named for c in claims(name)}
    else:
        f.owned.clear()
    f.new_parts.pop(call.node, None)
    f.claims_kept = set()
