"""Calls of the model's own functions: the compiled function for the arguments, and what it gives."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from backends.acrobat.core.types import INT, TupleT
from backends.acrobat.errors import CompileError, Problem
from backends.acrobat.frontend.evaluator.callables.picking import naming_parameters, picked
from backends.acrobat.frontend.evaluator.choices.nones import needs_value, present
from backends.acrobat.frontend.evaluator.choices.returned import as_plain
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.claims import claims, deep, each_claim
from backends.acrobat.frontend.evaluator.frame.joined_tuples import of_any_length
from backends.acrobat.frontend.evaluator.frame.several_shapes import with_shapes
from backends.acrobat.frontend.evaluator.lists.kept_iterators import note_walked, paths_read
from backends.acrobat.frontend.evaluator.lists.lengths import note_lengths
from backends.acrobat.frontend.evaluator.loops.by_turns import becomes_lazy
from backends.acrobat.frontend.evaluator.syntax.bodies import has_no_end
from backends.acrobat.frontend.evaluator.syntax.hidden_names import visible
from backends.acrobat.frontend.evaluator.syntax.own_nodes import gives_nothing, is_generator
from backends.acrobat.frontend.functions.changes import ChangingCall
from backends.acrobat.frontend.functions.factories import compiled_in_place
from backends.acrobat.frontend.functions.given_up import given_up
from backends.acrobat.frontend.functions.kept_results import check_kept, refuse_kept
from backends.acrobat.frontend.functions.limited import without_end
from backends.acrobat.frontend.functions.newness import entirely_new
from backends.acrobat.frontend.functions.outcomes import outcome_of
from backends.acrobat.frontend.functions.shown_elements import note_shown
from backends.acrobat.frontend.functions.signatures import fixed, operands
from backends.acrobat.frontend.functions.sizing import sizing_parameters, with_sizes
from backends.acrobat.frontend.instances.annotations import AnnotationError
from backends.acrobat.frontend.kinds import (
    is_container,
    is_held_tensor,
    is_unknown,
    retyped,
    type_of,
    type_or_none,
    variable_of,
)
from backends.acrobat.frontend.remembered import cache_of
from backends.acrobat.frontend.source import span_of
from backends.acrobat.frontend.specials import Narrowed
from backends.acrobat.frontend.types import NEVER, UNKNOWN, Mismatch, contains_unknown
from backends.acrobat.frontend.values import Dyn, Held, Placeholder, Special, Static, TupleV, Value, guess, held_in, unknown
from backends.acrobat.ir import nodes as n

DEEPEST = 80
"""The most calls of a function that are compiled one inside of the other, each for arguments of other types.
More than `table.VERSIONS`, which is how many there may be for other constants."""


MANY = 64
"""A function is compiled for at most so many objects of a tree of the model, or the like, each by itself."""
LONGER = 6
"""After so many calls inside of each other, each with a longer tuple than the one before, its length is taken to vary."""


class FunctionCall(ChangingCall):
    """A call, with the compiled function that it calls and what that gives."""

    def value(self, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
        """What the call gives; the function is compiled first where it was not yet. Raises Refused."""
        if (outcome := outcome_of(self, args, kwargs)) is not None:
            return outcome
        self._bind(args, kwargs)
        self.values = [self._of_any_length(name, self._of_many(v)) for name, v in zip(self.names, self.values, strict=True)]
        try:
            self._annotate()
        except AnnotationError as error:
            self.program.problem(Problem(span_of(self.definition, self.file), str(error)))
            return unknown()
        for i, v in enumerate(self.values):  # None is an error at once: then it is compiled for what there is otherwise
            if isinstance(v, Dyn) and not self.f.mixed(v.type) and needs_value(self.definition, self.names[i]):
                self.values[i] = present(self.f, self.node, v, f"`{self.names[i]}` of `{self.called}` needs a value")
        first = self.values[0] if self.values else None
        narrowed = any(isinstance(v, Narrowed) for v in self.values)  # what that class has is known in a function only
        part = (
            picked(self.definition) if isinstance(first, Special) and not narrowed and not cache_of(self.definition) else None
        )
        if part is not None:
            with self.f.in_function(self.function, self.file, dict(zip(self.names, self.values, strict=True))):
                return self.f.expression(part)
        if cache_of(self.definition) and self.function in self.program.gives_functions:
            refuse_kept(self, "gives functions")
        if cache_of(self.definition) and self.function in self.program.entered:
            refuse_kept(self, "calls itself, which takes long without them")
        if self.function in self.program.gives_functions:
            return compiled_in_place(self)
        self._note_giving()
        self._find_changed()
        self._learn_from_other_calls()
        if not self._add_carried():
            self.program.incomplete = True
            return unknown()
        unsure = [v for i, v in enumerate(self.values) if i not in self.changed and is_unknown(v)]
        if unsure and (self.of_library or not all(map(is_container, unsure))):
            # Of lists it is compiled as for empty ones, which is how a recursion ends: the result's type follows.
            return unknown()
        self._refuse_seen_twice()
        at_once = self.node in self.f.taken_at_once or self.node in self.f.by_turns
        changes = self.changed and is_generator(self.definition) and not at_once
        if (changes or has_no_end(self.definition)) and becomes_lazy(self.f, self.node):
            return unknown()
        if changes:
            changed = self.f.shown(self.names[self.changed[0]])
            what = f"the generator `{visible(self.definition.name)}` changes {changed} while it is walked over"
            raise Refused(what, "write `list(...)` around the call, or build a list, and return it")
        if has_no_end(self.definition):
            return without_end(self, args, kwargs)
        key = self._compiled()
        for cls in self.program.raised.get(self.function, set()).copy():
            if not issubclass(cls, self.f.catching):
                self.program.raises(cls)
        return self._result(key, bool(unsure))

    def _is_of_result(self) -> bool:
        """Whether the call's result is a part of the model's, or is computed with for one."""
        return (self.node.func if isinstance(self.node, ast.Call) else self.node) in self.f.flow.calls

    def _note_giving(self) -> None:
        """Note of a function that it gives a part of the model's result."""
        program, function = self.program, self.function
        outside = self.of_library or is_generator(self.definition) or cache_of(self.definition)
        if self._is_of_result() and not outside and not program.gives_part(function):
            program.giving.add(function)
            program.changed |= any(key[0] is function for key in program.functions)  # it was compiled as one that does not

    def _add_carried(self) -> bool:
        """Add the values that the function takes besides. False if the caller does not have them before the next round."""
        self.own = len(self.values)
        uses = self.uses = self.program.carried.used_by(self.function)
        for x, changes in uses.items():
            self.program.carried.touches(x, changes)
        for key, writes in self.program.carried.fields_of(self.function):
            self.f.note_field(key, writes)
        if any(x not in self.f.env for x in uses):
            return False
        self.changed += [self.own + i for i, changes in enumerate(uses.values()) if changes]
        self.names += uses
        self.values += [self.program.carried.handed_on(self.f, x) for x in uses]
        return True

    def _is_outdated(self) -> bool:
        """Whether compiling the function has found that it takes or gives more besides than this call hands over. The calls of
        the next round do."""
        return self.program.carried.used_by(self.function) != self.uses

    # ---- the compiled function

    def _compiled(self) -> Any:
        """The key of the function for these arguments, compiled now if it was not yet."""
        program, function = self.program, self.function
        if not self.of_library:
            self.values = [v if i in self.changed else with_shapes(self.f, v) for i, v in enumerate(self.values)]
        if self.of_library:  # PyTorch's flags and dimensions decide what is compiled
            self.values = [fixed(v) for v in self.values]
        elif named := naming_parameters(function):
            self.values = [fixed(v) if name in named else v for name, v in zip(self.names, self.values, strict=True)]
        elif sizing := sizing_parameters(function) - {self.names[i] for i in self.changed}:
            earlier = program.sized.setdefault(function, set())
            self.values = with_sizes(self.names, self.values, sizing, earlier, function in program.entered)
        lent = {c for x in self.names[self.own :] for c in self._owned_of(x)}
        alone = given_up(self)
        depends = (frozenset(self._owned_inside() | lent | alone),) if self.changed or lent or alone else ()
        if function in program.versions and (all_fixed := program.version(function, self.values, depends)) is not None:
            self.values = all_fixed
        key = (*program.key(function, self.values), *depends)
        if function in program.entered:
            program.recursive.add(function)
        if key not in program.functions and not self.of_library and self._note_tuples():
            program.changed = program.incomplete = True
            return key
        if key not in program.functions:
            if program.entered.count(function) > DEEPEST:  # nothing else is told: other problems follow from this one
                what = f"each call of `{self.called}` inside of the one before has arguments of another type, without an end"
                raise CompileError([Problem(self.f.span, what, "keep what grows with the calls in a list")])
            key = self._compile_apart(key, depends)
        self._note(program.found_in.get(key, ()))
        if not self.of_library:
            for x, changes in program.carried.used_by(function).items():
                program.carried.touches(x, changes)  # as the function does that calls it
            for key_of_field, writes in program.carried.fields_of(function):
                self.f.note_field(key_of_field, writes)
        return key

    def _compile_apart(self, key: Any, depends: tuple[Any, ...]) -> Any:
        """Compile the function, with what is wrong in it kept in `found_in` for its calls; gives the key."""
        program, function = self.program, self.function
        asked, problems, program.problems = program.asked, program.problems, []
        try:
            with program.in_file(self.f, self.node, self.file):
                if self.of_library:
                    program.on_behalf(self.called, key, lambda: program.compile(key, function, self.values))
                else:
                    program.asked = None
                    key = self._compile(key, depends)
            program.found_in[key] = program.problems
        finally:
            program.asked, program.problems = asked, problems
        return key

    def _note(self, problems: Sequence[Problem]) -> None:
        """Note the problems of the compiled function. In a trial the types of its arguments may not be final: a call that is
        compiled for good notes them, or a loop that cannot be compiled."""
        asked, self.program.asked = self.program.asked, None
        for problem in problems:
            if self.f.trials:
                self.f.in_called.append(problem)
                self.f.cause = self.f.cause or problem
            else:
                self.program.problem(problem)
        self.program.asked = asked

    def _compile(self, key: Any, depends: tuple[Any, ...]) -> Any:
        """Compile the function for the arguments' types, or for their values where it needs these; gives the key."""
        program, function = self.program, self.function
        incomplete = program.incomplete
        program.compile(key, function, self.values)
        if not program.problems or function in program.versions or function in program.entered or self._is_outdated():
            return key
        program.versions[function] = set()
        if (all_fixed := program.version(function, self.values, depends)) is None:
            return key
        program.found_in[key], program.problems = program.problems, []  # for calls without constants
        program.incomplete, self.values = incomplete, all_fixed
        key = (*program.key(function, self.values), *depends)
        program.compile(key, function, self.values)
        return key

    def _of_many(self, value: Value) -> Value:
        """The argument. Constant objects that lead to each other are numbers where the function is called for `MANY` of them,
        instead of being compiled for each."""
        graphs = self.program.datatypes.graphs
        if not isinstance(value, Static) or not graphs.leads_on(value.value):
            return value
        return self.f.as_number(value) if graphs.is_argument(self.function, value.value, MANY) else value

    def _of_any_length(self, name: str, value: Value) -> Value:
        """The argument for a parameter. A tuple to which each call of a recursion adds something becomes one of varying
        length."""
        noted = self.program.lengthened.get((self.function, name))
        have = type_or_none(value)
        if noted is None or not isinstance(have, TupleT) or have.listed:
            return value
        try:
            t = of_any_length(self.f, have)
            return self.f.coerce(value, self.f.common([t, noted]) if contains_unknown(t) else t)
        except Mismatch:
            return value  # these calls have no end, which is told

    def _note_tuples(self) -> bool:
        """Note how long the tuples among the arguments are. True if calls inside of each other have made one of them longer
        `LONGER` times in a row: from the next round on its length varies."""
        program, function = self.program, self.function
        inside, is_recursive = function in program.entered, False
        for name, value in zip(self.names, self.values, strict=True):
            if type(value) is TupleV and (function, name) not in program.lengthened:
                before, times = program.tuples.get((function, name), (0, 0))
                times = times + 1 if inside and len(value.items) > before else 0
                program.tuples[function, name] = len(value.items), times
                if times >= LONGER:
                    program.lengthened[function, name] = type_of(value)
                    is_recursive = True
        return is_recursive

    # ---- its result

    def _result(self, key: Any, unsure: bool) -> Value:
        """What the call of a compiled function gives; `unsure` if the types of some arguments are not known yet."""
        program, f = self.program, self.f
        f.new_parts.pop(self.node, None)
        if key in program.refused:
            return f.problem(self.node, *program.refused[key])
        result = program.results.get(key, UNKNOWN)
        if self._is_outdated():
            result = UNKNOWN
        program.incomplete |= key in program.partial
        if any(is_unknown(self.values[i]) for i in self.changed):  # it was compiled to find the type of the list only
            program.incomplete = True
            self._give_back({i: guess(program.grown.get((self.function, self.names[i]), UNKNOWN)) for i in self.changed})
            return guess(result.items[0]) if isinstance(result, TupleT) and not contains_unknown(result.items[0]) else unknown()
        if contains_unknown(result) or unsure:
            program.incomplete = True
            if contains_unknown(result):
                return unknown()
            only = result.items[0] if self.changed and isinstance(result, TupleT) else result
            return self._sized(key, Dyn(Placeholder(f.names.fresh("later"), only)))
        atoms = tuple(atom for v in self.values for atom in operands(f, v))
        if result is NEVER:  # the function always raises an error
            call = n.Call(program.name_of(key), atoms, INT, span=f.span)
            return retyped(f.bind(call, self.definition.name), NEVER)
        outputs = f.bind(n.Call(program.name_of(key), atoms, result, span=f.span), self.definition.name)
        parts = [outputs] if not self.changed else f.components(outputs)
        assert parts
        first, *changed = parts
        if program.gives_part(self.function) and not self._is_of_result():
            first = as_plain(f, first)
        check_kept(self, program.kept_keys, type_or_none(first))
        self._sized(key, first)
        same, inside = (None if i is None else Dyn(atoms[i]) for i in program.lengths.get(key, (None, None)))
        if isinstance(first, Dyn):
            note_lengths(f, first, same, inside)
        new = program.newness.get(key) or entirely_new(type_or_none(first))
        if self.function in program.entered:
            program.newness_taken[key] = new
        whole = first.value if isinstance(first, Held) and is_held_tensor(first) else first
        if new.whole and (name := variable_of(whole)):
            f.new_lists |= {name, deep(name)} if new.inside else {name}
        f.new_parts[self.node] = tuple(replace(part, given=self._name_given(part.given)) for part in new.parts)
        f.gives_name[self.node] = self._name_given(new.given)
        if not self.of_library:
            note_shown(self, first, new)
        self._note_changed_in_place(program.changed_by.get(key, set()))
        self._note_moves(program.moves.get(key, set()))
        self._give_back(dict(zip(self.changed, changed, strict=True)))
        still = program.still_owned.get(key)
        given = [(name, self._argument_node(i)) for i, name in enumerate(self.names[: self.own])]
        for name, is_inside in program.walked_of.get(self.function, ()):
            for path in [p for x, w in given if x == name and w is not None for p in paths_read(w)]:
                note_walked(f, path, is_inside)
        for name, w in given:
            if isinstance(w, ast.Name):
                kept_here = zip(each_claim(w.id), each_claim(name), strict=True)
                f.claims_kept |= {one for one, other in kept_here if still is None or other in still}
        for x in program.carried.tracked.intersection(self.names[self.own :]):
            kept = program.still_owned.get(key, claims(x))
            f.owned = f.owned - claims(x) | claims(x) & kept
            f.ended_claims |= claims(x) - kept
        return Static(None) if gives_nothing(self.definition) or key in program.only_none else first

    def _sized(self, key: Any, result: Value) -> Value:
        """The result of the call. How many elements it has, or the lists in it have, is noted where that is known."""
        size = self.program.sizes.get(key, 0)
        if isinstance(result, Dyn) and size:
            self.f.sizes[variable_of(result)] = size
        return held_in(result) if isinstance(result, Dyn) else result
