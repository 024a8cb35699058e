"""The names that the arms of a statement assign, and the values that they have behind it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from backends.acrobat.core.types import TupleT
from backends.acrobat.frontend.evaluator.callables.arms import NamedFunctions
from backends.acrobat.frontend.evaluator.changes.scope import changed_in, lives
from backends.acrobat.frontend.evaluator.choices.choice import are_functions
from backends.acrobat.frontend.evaluator.choices.empty_tuples import as_container, container_beside_empty_tuples
from backends.acrobat.frontend.evaluator.choices.mixed import list_or_tensor
from backends.acrobat.frontend.evaluator.choices.returned import together
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lists import as_list
from backends.acrobat.frontend.evaluator.syntax.reading import first_use, is_last_use
from backends.acrobat.frontend.evaluator.syntax.uses import SEVERAL, after, handed_on, uses
from backends.acrobat.frontend.kinds import is_iterator, is_list, is_staged, is_unknown, kind, type_or_none, variable_of
from backends.acrobat.frontend.kinds import known as is_known
from backends.acrobat.frontend.types import Mismatch, is_known_in_part
from backends.acrobat.frontend.values import NOTHING, Dyn, Held, Special, Static, TupleV, Value, unknown

Body = Sequence[ast.stmt]


def merging(
    f: Frame,
    s: ast.stmt,
    branch: Callable[[Callable[[Body], Value]], Value],
    alike: bool = False,
    also: Sequence[str] = (),
) -> bool:
    """Compile a statement by `branch(arm)`, where `arm` compiles one of its bodies, and merge the names that the bodies assign,
    and the hidden ones in `also`, which `branch` assigns. With `alike` nothing is compiled if more is known of a name at the
    end of an arm than after the statement. Returns whether it was compiled."""
    names = [*dict.fromkeys((*changed_in(f, [s]), *also))]
    before = dict(f.env)
    # A name stays usable if its values at the ends of all arms can be merged (NOTHING where it has none); others are poisoned.
    at_ends: list[dict[str, Value]] = []
    all_at_ends: list[dict[str, Value]] = []
    known: set[str] = set()  # variables of the ends of which more is known than their types

    def probe(body: Body) -> Value:
        f.straight(body)
        _list_iterators(f, s, names)
        at_ends.append({name: f.env[name] for name in names if name in f.env})
        all_at_ends.append(dict(f.env))
        known.update(f.displays, f.sizes, f.empties, f.added)
        return Static(0)

    with f.changes(counted=False) as changed, f.trial(goes_on=True):
        trial_value = branch(probe)
    if alike and not _are_alike(f, s, all_at_ends, known):
        return False
    if missed := sorted((changed - set(names)) & set(before)):
        f.problem(s, f"{f.shown(missed[0])} is changed in a branch in a way that is not followed", "assign it in the branch")
    f.mutated |= changed
    merge = _Merge(f, s, before)
    if is_unknown(trial_value) and not at_ends:  # the arms are not known in this round
        merge.fixed = dict.fromkeys(names, unknown())
    for name in names:
        merge.add(name, [env.get(name) for env in at_ends])

    def arm(body: Body) -> Value:
        f.straight(body)
        _list_iterators(f, s, names)
        return TupleV(tuple(map(merge.at_end, merge.live)))

    value = branch(arm)
    for name in names:
        f.env.pop(name, None)
        f.poisoned.pop(name, None)
    merge.bind(value)
    return True


def _list_iterators(f: Frame, s: ast.stmt, names: Sequence[str]) -> None:
    """At the end of an arm of `s`, replace iterators whose names are used once after `s` by lists of their items: another arm
    may assign a list or an iterator of another kind. Iterators that are assigned to another name or passed to a function stay
    iterators, since they may be used again there."""
    if f.definition is None:
        return
    for name in names:
        value = f.env.get(name)
        if is_iterator(value) and isinstance(value, Held) and not isinstance(value.value, Special):
            rest = after(f.definition.body, s)
            if uses(rest, name) < SEVERAL:
                items = as_list(f, s, value.value)
                f.env[name] = Held("iterator", items) if handed_on(rest, name) else items


def _are_alike(f: Frame, s: ast.stmt, ends: Sequence[Mapping[str, Value]], known: Set[str]) -> bool:
    """Whether the values of the names that may be read later have the same type at all `ends` of the arms of `s`, and no more
    than that is known of them. `known` are variables of which more is known."""
    for name in {x: None for end in ends for x in end}:
        values = [end.get(name, NOTHING) for end in ends]
        last = is_last_use(f.definition, s, name) and first_use([s], name) is not True
        if last or all(v == values[0] for v in values):
            continue
        if not all(isinstance(v, Dyn) and not is_known(v)[0] and variable_of(v) not in known for v in values):
            return False
        if is_unknown(values[0]) or any(type_or_none(v) != type_or_none(values[0]) for v in values):
            return False
    return True


class _Merge:
    """The merging of the names that the arms of a statement assign. `before` has the values before the statement."""

    def __init__(self, f: Frame, s: ast.stmt, before: Mapping[str, Value]) -> None:
        self.f = f
        self.s = s
        self.before = before
        self.live: list[str] = []  # names whose values are components of the statement's value
        self.fixed: dict[str, Value] = {}  # names that have one value, known at compile time, on all paths
        self.poisoned: dict[str, tuple[str, str]] = {}
        self.functions: dict[str, NamedFunctions] = {}
        # names that are lists on some paths and tensors on others, or numbers and tensors in what is returned, with their types
        self.either: dict[str, Any] = {}
        self.iterators: set[str] = set()  # names that are used once, and are iterators on some paths at least

    def add(self, name: str, values: Sequence[Value | None]) -> None:
        """Decides what becomes of a name with these values at the ends of the arms, None if it has none."""
        f, before = self.f, self.before.get(name)
        some = [v for v in values if v is not None]
        if not some:
            return
        if len(some) < len(values):
            if len(values) < 2 or not _read_later(f, self.s, name) or not all(map(_is_of_program, some)):
                self.poisoned[name] = "is assigned on some paths only", "assign it on every path, or before"
                return
            some = [v if v is not None else NOTHING for v in values]
        same = all(v == some[0] for v in some)
        if are_functions(some) and not (same and some[0] == before):
            self.functions[name] = NamedFunctions(set(f.names.taken), f.builder)
        elif same and (some[0] == before or not is_staged(some[0])):
            self.fixed[name] = some[0]
            return
        else:
            try:
                if any(map(is_iterator, some)) and all(map(_is_walked, some)):
                    self.iterators.add(name)  # it is used once, so that a list may be taken for an iterator
                    some = [as_list(f, self.s, v.value if is_iterator(v) else v) for v in some]
                types = [f.type_when_staged(v) for v in some]
                common = f.common(types, numbers=True)
                if name in f.flow.names and (apart := together(f, types, common)) != common:
                    self.either[name] = apart
            except Mismatch as error:
                apart = list_or_tensor(f, some) or container_beside_empty_tuples(f, name, some)
                self.either[name] = apart if lives(f, self.s, name) else None
                if self.either[name] is None:
                    what, advice = f"differs in type between paths: {f.places(some)}", "give it the same type on every path"
                    if any(is_iterator(v) or kind(v) == "iterator" for v in some):
                        what, advice = "is an iterator on some paths only", "write list(...) where it is made"
                    self.poisoned[name] = what, error.advice or advice
                    return
        self.live.append(name)

    def at_end(self, name: str) -> Value:
        """The value of a live name at the end of the arm that has just been compiled."""
        f = self.f
        if name in self.functions:
            return self.functions[name].number(f, f.env.get(name))
        value = f.env.get(name, NOTHING if name not in f.poisoned else unknown())
        if name in self.iterators:
            return as_list(f, self.s, value.value if is_iterator(value) else value)
        return value if self.either.get(name) is None else as_container(f, value, self.either[name])

    def bind(self, value: Value) -> None:
        """Gives all names the values that they have after the statement, whose value is the tuple of the live ones."""
        f, live = self.f, self.live
        f.poisoned |= self.poisoned
        f.env |= self.fixed
        parts = f.components(value, len(live)) if not is_unknown(value) or isinstance(type_or_none(value), TupleT) else None
        for i, name in enumerate(live):
            functions = self.functions.get(name)
            if functions is not None and functions.lost:
                f.poisoned[name] = "is a function that uses what only its branch has computed", "give it that as an argument"
            elif parts is None or is_unknown(parts[i]):
                t = None if parts is None else type_or_none(parts[i])
                f.env[name] = f.not_yet(t) if is_known_in_part(t) else unknown()
            else:
                f.env[name] = parts[i] if functions is None else functions.chosen(parts[i])
            if name in self.iterators and name not in f.poisoned:
                f.env[name] = Held("iterator", f.env[name])


def _is_walked(value: Value) -> bool:
    """Whether a value is a list, a tuple, or an iterator that the program has as one of these."""
    return is_iterator(value) and not isinstance(value.value, Special) or is_list(value) or isinstance(value, TupleV)


def _is_of_program(value: Value) -> bool:
    """Whether a value is one of the program, or a number or string that may become one."""
    is_one, constant = is_known(value)
    return is_staged(value) or is_one and isinstance(constant, (int, float, str))


def _read_later(f: Frame, s: ast.stmt, name: str) -> bool:
    """Whether a name may be read after a statement, or in the next round of one that is a loop, before it is assigned."""
    return lives(f, s, name) or isinstance(s, ast.For) and first_use([s], name) is True
