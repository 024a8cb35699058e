"""The names that a loop carries from round to round, and their types, which trial rounds of compiling its body find."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from backends.acrobat.core.types import DataT
from backends.acrobat.frontend.evaluator.changes.scope import assign, changed_in, lives
from backends.acrobat.frontend.evaluator.choices.choice import open_optional, optional
from backends.acrobat.frontend.evaluator.choices.empty_tuples import as_container, container_beside_empty_tuples
from backends.acrobat.frontend.evaluator.conditions.narrowing import of_class
from backends.acrobat.frontend.evaluator.frame.claims import claims
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.several_shapes import as_list_of_tensors, changes_in
from backends.acrobat.frontend.evaluator.lists.lengths import lengths_in, note_lengths_of
from backends.acrobat.frontend.evaluator.lists.sizes import size_of, sizes_in
from backends.acrobat.frontend.evaluator.loops.types_at_exits import Ways, type_at_ends
from backends.acrobat.frontend.evaluator.objects.classes import class_key
from backends.acrobat.frontend.evaluator.objects.constant_graphs import reference
from backends.acrobat.frontend.evaluator.syntax.bodies import assigned, leaves, stored
from backends.acrobat.frontend.evaluator.syntax.hidden_names import RETURNED
from backends.acrobat.frontend.evaluator.syntax.reading import begins_anew, first_use, is_last_use, is_own
from backends.acrobat.frontend.evaluator.tables import Exits
from backends.acrobat.frontend.instances.constant_graphs import DICTIONARIES
from backends.acrobat.frontend.kinds import (
    holds_constant_list,
    in_python,
    is_list,
    is_ragged,
    type_of,
    type_or_none,
    variable_of,
)
from backends.acrobat.frontend.source import span_of
from backends.acrobat.frontend.types import NONE, UNASSIGNED, Mismatch, contains_unknown, has_role, is_known_in_part
from backends.acrobat.frontend.values import NOTHING, Dyn, Static, TupleV, Value, held_in, is_empty

LoopStatement: TypeAlias = ast.For | ast.While


TRIALS = 8
"""Rounds of a loop, and one more for each name that it carries, after which the types of these names must have settled: types
only widen, from int to float, say, and in each round one name at least takes the type of another. What has not settled by then
is an error that names it."""


def enter_round(f: Frame, values: Mapping[str, Value], sizes: Mapping[str, int], alike: Mapping[str, Value]) -> None:
    """Bind the carried names to their values at the start of a round, or after the loop. Those in `sizes` are lists with this
    number of elements, those in `alike` tensors with the extents of these. A name that owned its list still does."""
    owned = f.owned & {x for name in values for x in claims(name)}
    f.builder.begun_with.update(map(variable_of, values.values()))
    for name, value in values.items():
        f.rebind(name, value)
        if name in sizes and variable_of(value):
            f.sizes[variable_of(value)] = sizes[name]
        if name in alike and isinstance(value, Dyn):
            note_lengths_of(f, value, alike[name])
    f.owned |= owned


def opened_by_test(f: Frame, s: ast.While, then: Callable[[], Value], orelse: Callable[[], Value], start: int = 0) -> Value:
    """`then()`, where each name that the test of the `while` loop compares with None, or whose class it asks for, is of the
    type that the test says; `orelse()` where it is not. Of a test with `and` the parts from `start` on count."""
    tests = s.test.values if isinstance(s.test, ast.BoolOp) and isinstance(s.test.op, ast.And) else [s.test]
    for k, test in enumerate(tests[start:], start):
        match test:
            case ast.Call(ast.Name("isinstance"), [ast.Name(name), classes], []) if f.is_builtin("isinstance"):
                value = f.env.get(name)
                if isinstance(value, Dyn) and isinstance(value.type, DataT) and class_key(name) not in f.env:
                    others = partial(opened_by_test, f, s, then, orelse, k + 1)
                    return of_class(f, s, value, name, f.borrowed(classes), others, orelse)
            case ast.Compare(ast.Name(name), [ast.IsNot()], [ast.Constant(None)]):
                value = f.env.get(name)
                if isinstance(value, Dyn) and optional(f, value) is not None:

                    def some(inner: Value, name: str = name) -> Value:
                        f.env[name] = inner
                        return opened_by_test(f, s, then, orelse)

                    return open_optional(f, s, value, some, orelse, name)
    return then()


@dataclass(frozen=True)
class Carried:
    """What a loop carries from round to round."""

    names: list[str]
    types: list[Any]
    untouched: list[str]
    """Empty lists that no round changes after all, as where `if self.trace: seen.append(h)` is never true."""
    sizes: dict[str, int]
    """Lists that have the same number of elements before the loop and after each round, with that number."""
    alike: dict[str, Value]
    """Tensors whose extents vary, and are the same before the loop and after each round, with their values before it."""
    differing: set[str]
    """Names that may be of another type where the loop is left early."""
    untyped: list[str]
    """Those of them that may be read after the loop."""
    ways: Ways
    """The ends of the rounds that were compiled last to find the types."""


def carried_names(f: Frame, s: LoopStatement, item: Any) -> Carried:
    """The names the loop carries from round to round, and their types: found by compiling the body until nothing changes.
    Where the loop was entered with the same types before, as in a trial of a loop around it, that begins with what was found
    then: types only widen in a round of compiling the program."""
    carried = _names(f, s)
    only_assigned_inside = _of_earlier_rounds(f, s, carried)
    f.env |= dict.fromkeys(only_assigned_inside, NOTHING)
    carried += only_assigned_inside
    f.env |= {name: as_list_of_tensors(f, f.env[name]) for name in carried if changes_in(s.body, name)}
    first = {name: f.env[name] for name in carried}
    types = {name: type_of(value) for name, value in first.items()}
    sizes = {
        name: size for name, value in first.items() if is_list(value) and isinstance(size := sizes_in(f, value), int) and size
    }
    alike = {name: value for name, value in first.items() if is_ragged(value)}
    trials = TRIALS + len(carried) + len(sizes) + len(alike)
    entered, place = (item, carried, sizes, {name: _as_known(v) for name, v in f.env.items()}), (f.key, span_of(s, f.file))
    entered_before, *settled = f.program.settled.get(place, (None,))
    if entered_before == entered:
        types, sizes = map(dict, settled)
    f.owned -= f.program.lost_in_rounds.get(place, set())
    begun_in_part = False  # whether rounds begin with what is known only in part of what a list or dictionary holds
    for _ in range(trials + 1):
        ways, differing = Ways(), set[str]()
        unfilled = [name for name, t in types.items() if is_empty(first[name]) and contains_unknown(t)]
        unfilled = [name for name in unfilled if not (begun_in_part and is_known_in_part(types[name]))]
        with f.changes() as changed, f.trial():
            starts = {name: first[name] if name in unfilled else _start(f, name, t) for name, t in types.items()}
            enter_round(f, starts, sizes, alike)
            round = partial(trial_round, f, s, ways, sizes_after := dict(sizes), alike_after := dict(alike))
            if isinstance(s, ast.For):
                assign(f, s.target, held_in(Dyn(f.var("item", item))))
                round()
            else:
                opened_by_test(f, s, round, lambda: Static(0))
        if missed := sorted((changed - set(carried)) & set(f.env)):
            f.problem(s, f"{f.shown(missed[0])} is changed in a loop in a way that is not followed", "assign it in the loop")
        f.owned &= f.owned_at_end
        before = dict(types)
        for name in before:
            if name == RETURNED:  # no round but one that the loop is left by gives it a value, of the function's result
                types[name] = f.program.datatypes.optional(f.result)
                continue
            known = (type_of(first[name]), types[name])  # a round that lacks types may have lost the None from before the loop
            try:
                types[name], differs = type_at_ends(f, name, known, ways)
                differing |= {name} if differs else set()
                if has_role(types[name], "Either") and not has_role(type_of(first[name]), "Either"):
                    raise Mismatch  # each round asks for the one or the other
            except Mismatch:
                if (container := container_beside_empty_tuples(f, name, [first[name], *ways.values(name)])) is not None:
                    first[name] = f.env[name] = as_container(f, first[name], container)
                    types[name] = container
                    continue
                del types[name], f.env[name]
                f.owned.discard(name)
                if name in only_assigned_inside:
                    continue  # each round reads what it has assigned itself
                why = f"does not keep its type in the loop: {f.places([first[name], *ways.values(name)])}"
                f.poisoned[name] = why, "give it the same type before the loop and after each round"
        if types == before and sizes == sizes_after and alike.keys() == alike_after.keys():
            if not begun_in_part and any(is_known_in_part(types[name]) for name in unfilled if name in types):
                begun_in_part = True  # what a round reads of it may tell the rest
                continue
            if types.keys() == first.keys() and not any(map(contains_unknown, types.values())):
                f.program.settled[place] = entered, types, sizes
            break
        sizes, alike = sizes_after, alike_after
    else:
        for name in [name for name in types if types[name] != before[name]][:1]:
            what = f"the types in this loop have not settled after {trials} rounds: the last changed that of {f.shown(name)}"
            f.problem(s, what, "annotate it, or give it the same type before the loop and after each round")
    untouched = [name for name in unfilled if name in types and all(env.get(name) == first[name] for env in ways.ends())]
    types = {name: t for name, t in types.items() if name not in untouched}
    untyped = [name for name in types if name in differing and not is_last_use(f.definition, s, name)]
    return Carried(list(types), list(types.values()), untouched, sizes, alike, differing, untyped, ways)


def _as_known(value: Value) -> Any:
    """What is known of a value at compile time: its type if the program computes it, else the value itself."""
    if isinstance(value, TupleV):
        return tuple(map(_as_known, value.items))
    return value.type if isinstance(value, Dyn) else value


def _names(f: Frame, s: LoopStatement) -> list[str]:
    """The names that a loop carries from round to round, or that are read after it."""
    own = set(assigned([s.target])) if isinstance(s, ast.For) else set()
    for name in stored(s.body):  # a module, a function: all rounds would be compiled with the one from before the loop
        if name in f.env and type_or_none(f.env[name]) is None:
            as_object = f.as_object(_as_node(f, f.env[name]))
            if type_or_none(as_object) is not None:
                f.rebind(name, as_object)
                continue
            del f.env[name]
            why = "holds something before this loop that is known at compile time only, and the loop assigns another value"
            advice = "give what the loop assigns a name of its own"
            if holds_constant_list(as_object):  # such as the nodes of a tree
                advice = "walk over objects of a class of your own, or over numbers that are indices of lists"
            f.poisoned[name] = why, advice
    carried = [x for x in changed_in(f, s.body) if x in f.env and x not in own and type_or_none(f.env[x]) is not None]
    carried = [x for x in carried if lives(f, s, x) or not begins_anew(s, x)]
    later = [x for x in dict.fromkeys((*own, *changed_in(f, s.body))) if x not in carried and x != RETURNED and lives(f, s, x)]
    for name in later:  # read after the loop, and assigned if there was a round
        if name in f.env and type_or_none(f.env[name]) is None and name not in own | stored(s.body):
            continue  # a module with a method named as one that changes a list
        if name not in f.env or type_or_none(f.env[name]) is None:
            if name in f.poisoned:
                continue
            f.env[name] = NOTHING
        carried.append(name)
    return carried


def _of_earlier_rounds(f: Frame, s: LoopStatement, carried: Sequence[str]) -> list[str]:
    """The names without a value before a loop that a round may read before it assigns them, as `if i > 0: step = x - last` and
    `last = x`, besides those that are `carried` anyway."""
    targets = set(assigned([s.target])) if isinstance(s, ast.For) else set()
    others = [x for x in stored(s.body) if x not in targets and x not in carried and x not in f.env and x not in f.poisoned]
    return sorted(x for x in others if is_own(f.definition, x) and first_use(s.body, x) is True)


def _as_node(f: Frame, value: Value) -> Value:
    """A constant dictionary, or a module of the source, as an object that the program refers to by a number; other values
    unchanged."""
    x = in_python(value)
    return reference(f, x) if type(x) in DICTIONARIES or f.program.datatypes.graphs.is_module(x) else value


def _start(f: Frame, name: str, type: Any) -> Value:
    """The value of a carried name at the start of a round, by its type."""
    if type is NONE:
        return Static(None)
    return NOTHING if type is UNASSIGNED else held_in(Dyn(f.var(name, type)))


def none_as_number(f: Frame, at: ast.AST, value: Value) -> Value:
    """The result of a function where the statement `at` returns a value. If the function returns nothing, this is a number that
    stands for None, for which the program has no type; callers do not use it."""
    if not f.gives_nothing:
        return value
    if isinstance(at, (ast.For, ast.While)) or type_or_none(value) is NONE:  # what leaves a loop was looked at inside of it
        return Static(0)
    return f.problem(at, f"`{f.what}` gives None elsewhere for arguments of these types")


def note_type_of_result(f: Frame, at: ast.AST, value: Value) -> None:
    """Note the type of what is returned at `at`, in a statement that is compiled to find types."""
    t = type_or_none(none_as_number(f, at, value))
    try:
        f.result = f.common([f.result, t], numbers=True) if t is not None else f.result
    except Mismatch:
        pass  # reported when the statement is compiled for good


def trial_round(f: Frame, s: LoopStatement, ways: Ways, sizes: dict[str, int], alike: dict[str, Value]) -> Value:
    """Compile a round to find types. At each end of the round the names in scope and their values are added to `ways`; lists
    whose number of elements is not as in `sizes` are removed from it, and tensors whose extents are not as in `alike` from
    that."""

    def end(found: list[dict[str, Value]] = ways.on) -> Value:
        found.append(dict(f.env))
        for name in [x for x, size in sizes.items() if size_of(f, f.env.get(x)) != size]:
            del sizes[name]
        for name in [x for x, value in alike.items() if lengths_in(f, f.env.get(x)) != lengths_in(f, value)]:
            del alike[name]
        return Static(0)

    def returns(at: ast.AST, value: Value) -> Value:
        note_type_of_result(f, at, value)
        return end(ways.out)

    if any(leaves(b) for b in s.body):
        return f.value_of(s.body, Exits(end, returns, partial(end, ways.out), end))
    f.straight(s.body)
    return end()
