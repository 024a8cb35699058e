"""The compilation of one function for one set of arguments."""

from __future__ import annotations

import ast
import types
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from backends.acrobat.core.types import INT, DataT, TupleT
from backends.acrobat.errors import Problem
from backends.acrobat.frontend.evaluator.changes.state import check_cleared
from backends.acrobat.frontend.evaluator.frame.claims import claims
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.several_shapes import with_shapes
from backends.acrobat.frontend.evaluator.lists.iterator_sources import gives_iterator
from backends.acrobat.frontend.evaluator.lists.lengths import lengths_in
from backends.acrobat.frontend.evaluator.lists.lists import as_list
from backends.acrobat.frontend.evaluator.lists.sizes import Size, common_size, sizes_in
from backends.acrobat.frontend.evaluator.loops.variables import none_as_number
from backends.acrobat.frontend.evaluator.objects.classes import class_key
from backends.acrobat.frontend.evaluator.rewriting.outputs import changed_values, given_back
from backends.acrobat.frontend.evaluator.rewriting.result_flow import flow_of_result
from backends.acrobat.frontend.evaluator.syntax.hidden_names import visible
from backends.acrobat.frontend.evaluator.syntax.own_nodes import gives_nothing
from backends.acrobat.frontend.evaluator.syntax.raised import classes_of
from backends.acrobat.frontend.evaluator.tables import Exits
from backends.acrobat.frontend.functions.definitions import as_compiled
from backends.acrobat.frontend.functions.factories import holds_function
from backends.acrobat.frontend.functions.given_up import own_given_up
from backends.acrobat.frontend.functions.newness import (
    NEW,
    SHARED,
    Newness,
    is_new_tensor,
    newness,
    newness_inside,
    without_lent,
)
from backends.acrobat.frontend.functions.outcomes import escapes_of
from backends.acrobat.frontend.functions.results import of_model
from backends.acrobat.frontend.functions.signatures import class_of, owner_of, parameter
from backends.acrobat.frontend.functions.trees import closed
from backends.acrobat.frontend.instances.annotations import AnnotationError
from backends.acrobat.frontend.joined_types import join_types
from backends.acrobat.frontend.kinds import (
    held_atoms,
    is_container,
    is_iterator,
    is_list,
    is_unknown,
    type_of,
    type_or_none,
)
from backends.acrobat.frontend.remembered import cache_of
from backends.acrobat.frontend.source import LIFTED, closure, source_of, span_of
from backends.acrobat.frontend.specials import Narrowed
from backends.acrobat.frontend.syntax_nodes import names_in, parameter_names
from backends.acrobat.frontend.types import NEVER, NONE, UNKNOWN, Mismatch, contains_held, contains_unknown
from backends.acrobat.frontend.values import HELD, ListedV, Special, Static, Value, is_placeholder, unknown
from backends.acrobat.ir import nodes as n

if TYPE_CHECKING:
    from backends.acrobat.frontend.functions.table import Functions


class FunctionBody:
    """One function that is compiled for these arguments: enters its code in `functions` and the type of its result in `results`
    of the table. `gives_back` are the names whose values at the end are given beside the result."""

    def __init__(self, program: Functions, key: Any, function: types.FunctionType, values: Sequence[Value]) -> None:
        self.program, self.key, self.function = program, key, function
        self.definition, file = source_of(function)
        self.span = span_of(self.definition, file)
        self.owner = owner_of(values)
        self.attributes = {} if self.owner is None else program.carried.attributes_of(self.owner)
        namespace = function.__globals__ | closure(function)
        f = self.f = Frame(program, file, namespace, visible(self.definition.name))
        f.definition = as_compiled(program, function, self.owner, self.attributes)
        f.key = key
        if (escapes := escapes_of(function)) is not None:
            f.catching = classes_of(escapes.caught)
        f.function = LIFTED[function].outer if function in LIFTED else function
        self.is_forward = key == program.names.get("forward")
        self.gives_part = program.gives_part(function)
        if self.gives_part:
            f.flow = flow_of_result(f.definition, namespace)
        self.params: list[n.Var] = []
        # The model's own `forward` always gives something.
        nothing = gives_nothing(self.definition) and function is not program.entered[0] or key in program.only_none
        self.gives_nothing = f.gives_nothing = nothing
        self.sizes: list[Size] = []  # of the lists that each `return` gives
        self.lengths: list[tuple[str, str]] = []  # the lists that are as long as these
        self.carried: dict[str, bool] = {}
        self.gives_back: list[str] = []
        self.wanted: Any = UNKNOWN
        self.newness: Newness | None = None  # of what is returned so far
        self._bind(values)
        self._own()
        # Compiled to find types only: the type of an argument is not known yet.
        self.speculative = any(is_unknown(v) for v in f.env.values() if is_container(v))

    def compile(self) -> None:
        """Compile the body, and note the type of what it gives."""
        program, f = self.program, self.f
        program.functions[self.key] = None
        program.incomplete |= self.speculative
        self._find_wanted()
        if self.key not in program.newness_known:  # nothing but what the returns say is against it
            program.newness.pop(self.key, None)
        assert f.definition is not None
        value = f.value_of(f.definition.body, Exits(self._falls, self._returns))
        self._note_size()
        self._end_ownership()
        uses = program.carried.used_by(self.function)
        if any(uses[x] is not changes for x, changes in self.carried.items()):
            return  # it gives back more than was known when it was begun: the next round has a result of another type
        if not self._note_result(value) or self.speculative:
            return
        result = program.results.get(self.key, UNKNOWN)
        if contains_unknown(result) or is_placeholder(value):
            program.incomplete = True
            return
        try:
            value = f.coerce(value, result)
        except Mismatch as error:
            program.problem(Problem(self.span, f"the result of `{self.f.what}`: {error}", error.advice))
            return
        body = f.builder.finish(f.try_atom(value, self.definition))
        type = INT if result is NEVER else result
        program.functions[self.key] = n.Function(program.name_of(self.key), tuple(self.params), type, body, span=self.span)

    # ---- before

    def _bind(self, values: Sequence[Value]) -> None:
        """Give the parameters their values, and the names of what the function takes besides."""
        f, carried = self.f, self.program.carried
        written = self.definition.args
        starred = [x for x in (written.vararg, written.kwarg) if x is not None]
        arguments = [*written.posonlyargs, *written.args, *written.kwonlyargs, *starred]
        if len(values) > len(arguments):
            self.carried = carried.used_by(self.function)
        if self.attributes:
            assert f.definition is not None
            used = {*names_in(f.definition)}
            for variable in used.intersection(self.attributes.values()):
                carried.touches(variable, True)  # from the next round on the callers hand it over
        for a, v in zip(arguments, values, strict=False):
            value = parameter(f, v, a.arg, self.params)
            if isinstance(value, Narrowed):
                f.env[class_key(a.arg)] = Static(value.cls)
                value = value.value
            f.env[a.arg] = value
            f.held_at_first |= set(held_atoms(value) if isinstance(value, Special) else ())
        for x, v in zip(self.carried, values[len(arguments) :], strict=True):
            f.env[x] = parameter(f, v, visible(x), self.params)
        if len(self.program.entered) == 1:  # no other function calls this one
            f.env |= carried.at_first(f)
            f.owned |= {c for x in carried.tracked for c in claims(x)}

    def _own(self) -> None:
        """Find which parameters' values are given back, and which lists and objects the function alone refers to."""
        f, program = self.f, self.program
        always = given_back(self.function)
        cls = class_of(self.owner)
        changed = changed_values(self.function, cls, program.changing, lambda p: f.changes_by_reading(f.env.get(p, unknown())))
        changeable = {p for p in changed if program.may_change(self.function, cls, p, f.env[p])}
        self.gives_back = [p for p in changed if p in changeable or p in always]
        f.owned |= changeable.union(*self.key[2:])
        own_given_up(f, self.definition, frozenset().union(*self.key[2:]))
        f.owned |= {c for x in self.carried if not program.carried.may_be_seen(f, x) for c in claims(x)}
        self.gives_back += [x for x, changes in self.carried.items() if changes]

    def _find_wanted(self) -> None:
        """Find the type of the result, as far as the annotation and the rounds before say."""
        try:
            annotation = self.program.hints(self.function).get("return", type(None))
            if annotation is not type(None):
                self.wanted = self.program.datatypes.resolve(annotation)
        except AnnotationError as error:
            if not self.program.datatypes.sampled:
                self.program.problem(Problem(self.span, str(error)))
        before = self.program.results.get(self.key, UNKNOWN)
        if self.gives_back and isinstance(before, TupleT):
            before = before.items[0]
        self.wanted = self.f.as_annotated(self.wanted, before)
        try:
            self.f.result = join_types(self.wanted, before)
        except Mismatch:
            self.f.result = self.wanted
        self.f.gives_result = self.gives_part and contains_unknown(self.wanted)

    # ---- ends of the body

    def _returns(self, at: ast.AST, value: Value) -> Value:
        """What the compiled function gives where the source returns `value`."""
        f, program = self.f, self.program
        self._note_ownership(at, value)
        owned = {c for x in (*self.carried, *self.gives_back) for c in claims(x) & f.owned}
        if program.still_owned.setdefault(self.key, owned) != owned:
            program.changed |= not program.still_owned[self.key] <= owned
            program.still_owned[self.key] &= owned
        changed = f.changed_in_place & {*self.gives_back}
        if not changed <= program.changed_by.setdefault(self.key, set()):
            program.changed_by[self.key] |= changed
            program.changed = True
        named = {*parameter_names(self.definition), *self.gives_back}
        shared = program.datatypes.has_shared
        moves = {m for m in f.moves if shared or m.path.attribute or m.path.root in named}
        if not moves <= program.moves.setdefault(self.key, set()):
            program.moves[self.key] |= moves
            program.changed = True
        value = self._returned(at, value)
        self.sizes.append(sizes_in(f, value))
        self.lengths.append(lengths_in(f, value))
        if not self.gives_back:
            return value
        for p in self.gives_back:
            t = type_or_none(f.env[p])
            if t is not None and (not contains_unknown(t) or contains_unknown(program.grown.get((self.function, p), t))):
                program.grown[self.function, p] = t
        after = (program.carried.handed_on(f, p) if p in self.carried else f.env[p] for p in self.gives_back)
        return ListedV((value, *after))  # of one length, whatever the value is: it is joined part by part

    def _note_ownership(self, at: ast.AST, value: Value) -> None:
        """Note whether what is returned is new, so that the caller alone refers to it."""
        joined = NEW if value == Static(None) else SHARED
        if isinstance(at, ast.Return) and at.value is not None:
            joined = without_lent(self.f, newness(self.f, at.value, value, self.gives_back), type_or_none(value))
            joined = NEW if is_new_tensor(self.f, value, self.gives_back) else joined
        elif isinstance(at, (ast.For, ast.While, ast.If)):
            joined = newness_inside(self.f, at, type_or_none(value))
        self.newness = joined if self.newness is None else self.newness.and_also(joined)

    def _end_ownership(self) -> None:
        """Have the calls know whether the function gives something new. Those that it makes of itself took it as the round
        before had found it: if that was wrong, another round follows."""
        program = self.program
        newness = SHARED if cache_of(self.definition) else self.newness or NEW
        if program.newness_taken.get(self.key, newness) != newness:
            program.changed |= not program.incomplete
        program.newness[self.key] = newness

    def _without_iterator(self, at: ast.AST, value: Value) -> Value:
        """A value that is returned: of an iterator the list of what it gives, as it is one for the callers by what is noted."""
        is_result = is_iterator(value) and not self.is_forward
        if (is_result or isinstance(at, ast.Return) and gives_iterator(self.f, at.value)) and (
            self.function not in self.program.gives_iterators
        ):
            self.program.gives_iterators.add(self.function)
            self.program.changed = True
        return as_list(self.f, at, value.value) if is_iterator(value) and is_result else value

    def _returned(self, at: ast.AST, value: Value) -> Value:
        """A value that is returned, as one of the type that the annotation says."""
        value = self._without_iterator(at, value)
        value = value if self.is_forward or self.program.asked is not None else with_shapes(self.f, value)
        if holds_function(value) and not self.is_forward:
            self.program.gives_functions.add(self.function)
            self.program.changed = self.program.incomplete = True
            return unknown()
        if self.gives_nothing:
            return none_as_number(self.f, at, value)
        try:
            if self.is_forward:
                check_cleared(self.f, at, value)
                value = of_model(self.f, at, value)
            if self.gives_part and not self.is_forward:
                value = self.f.whole_tensor(value)
            value = self.f.staged(value)
            if self.is_forward and (kind := contains_held(type_of(value))):
                raise Mismatch(HELD[kind])
            if contains_unknown(self.wanted) and not (is_list(value) and is_unknown(value)):
                return value
            self.wanted = self.f.as_annotated(self.wanted, type_of(value))
            return self.f.coerce(value, self.wanted)
        except Mismatch as error:
            return self.f.problem(at, f"the result of `{self.f.what}`: {error}")

    def _falls(self) -> Value:
        """What the compiled function gives where the source ends without `return`."""
        f = self.f
        if self.gives_nothing:
            return self._returns(self.definition, Static(None))
        if f.unmatched is not None:
            statement, case = f.unmatched
            return f.problem(statement, f"this `match` has no case for {case}", "add one, or `case _:`")
        optionals = self.program.datatypes.optionals
        if contains_unknown(self.wanted) or isinstance(self.wanted, DataT) and self.wanted.name in optionals:
            return self._returns(self.definition, Static(None))
        last = span_of(self.definition.body[-1], f.file)
        return f.problem(last, f"`{self.f.what}` can end here without `return`", "return a value on every path")

    # ---- after

    def _note_size(self) -> None:
        """Note how many elements the returned lists have, as far as all returns agree."""
        program = self.program
        size = reduce(common_size, self.sizes) if self.sizes else 0
        if program.sizes.setdefault(self.key, size) != size:  # a recursion has used another one
            program.changed |= program.sizes[self.key] != 0
            program.sizes[self.key] = 0
        names = [p.name for p in self.params]
        found = [{each[i] for each in self.lengths} for i in range(2)]
        lengths = [names.index(min(x)) if len(x) == 1 and x <= {*names} else None for x in found]
        before = program.lengths.setdefault(self.key, lengths)
        if before != lengths:
            both = [x if x == y else None for x, y in zip(before, lengths, strict=True)]
            program.changed |= both != before
            program.lengths[self.key] = both

    def _note_result(self, value: Value) -> bool:
        """Note the type of the result; False if it does not agree with what was found before, which is a problem."""
        program = self.program
        old = program.results.get(self.key, UNKNOWN)
        new = type_of(value)
        if new is NONE:
            program.gave_none.add(self.key)
        try:
            result = self._joined(old, UNKNOWN if new is NONE else new)
        except Mismatch as error:
            program.problem(Problem(self.span, f"the result of `{self.f.what}`: {error}"))
            return False
        if program.closing and self.function in program.recursive and contains_unknown(result):
            if self.gives_back and isinstance(result, TupleT):
                result = replace(result, items=(closed(program.datatypes, result.items[0]), *result.items[1:]))
            else:
                result = closed(program.datatypes, result)
        if result != old:
            program.results[self.key] = result
            program.changed = True
        return True

    def _joined(self, old: Any, new: Any) -> Any:
        """The type of the result that covers the one of earlier rounds and the one that was found now. Raises Mismatch."""
        try:
            return join_types(old, new, numbers=True)
        except Mismatch:
            pass
        return self.f.common([old, new], numbers=True)
