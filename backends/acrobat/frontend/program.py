"""Compiles the whole program, from `forward` on, in rounds until all types are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from backends.acrobat.core.span import Span
from backends.acrobat.core.types import DataT, ListT, TupleT
from backends.acrobat.errors import CompileError, InstanceError, Problem
from backends.acrobat.frontend.entry import Entry, annotation_of_instance, entry_of, taking_one_instance, types_of_parameters
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.functions.table import LIBRARY
from backends.acrobat.frontend.functions.trees import never_ends
from backends.acrobat.frontend.instances.annotations import AnnotationError
from backends.acrobat.frontend.instances.plain_types import plain
from backends.acrobat.frontend.model import FunctionsOfModel
from backends.acrobat.frontend.possible_numbers import possible_numbers
from backends.acrobat.frontend.types import UNKNOWN, Mismatch, contains_unknown
from backends.acrobat.frontend.values import Dyn, Placeholder, Value
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.visitor import binders, walk

ROUNDS = 12
"""The most rounds of compiling: enough to find the types of recursions through this many functions and fields. Real models need
two or three. A type that the last round still changes is an error that names it."""


class AttemptAgain(Exception):
    """An attempt has found constant objects that are referred to by numbers (`Datatypes.graphs`), dictionaries that are walked
    over or have lists and other values at one key, or generators whose values are computed one after the other, of which it did
    not know: values have other types for them, so that the next attempt begins with what was found."""


class NumbersAsTensors(CompileError):
    """The result may have a tensor in it where PyTorch has a number. The next attempt keeps numbers beside tensors."""


class ProgramBuilder(FunctionsOfModel):
    """Compiles in rounds. Each round uses the types of results and fields that the one before has found."""

    def build(self, hint: Any = None, sample: Sequence[Any] | None = None) -> n.Program:
        """The program; `hint` and `sample` are those of `frontend.build`. Raises CompileError."""
        entry = entry_of(self.root, sample, hint is None)
        if entry.completion is not None and sample is not None:
            sample = _completed(entry, sample)
        self.changing[entry.function] = ()  # `forward` is not allowed to change its instance
        self.datatypes.sampled, self.datatypes.arguments = sample is not None, len(entry.params)
        key, instance = self._in_rounds(entry, hint, sample)
        self._check_state(entry.span, key)
        for problem in (*self.sequences.problems(), *self.listed.problems()):
            self.problem(problem)
        if self.problems:
            self._name_unknown_fields(entry.span, instance)
            raise CompileError(self.problems)
        self._warn_of_unread()
        self._warn_of_prepared(entry.span.file, entry.completion.prepared if entry.completion is not None else ())
        if self.incomplete or self.functions[key] is None:
            self._explain(entry.span, instance, sample)
        self._refuse_kept(entry.span, key)
        reachable = self._reachable()
        for name in reachable:  # some may have been told in trials only
            for problem in self.found_in.get(self.names[name], ()):
                self.problem(problem)
        if self.closing and any(map(never_ends, reachable.values())):
            self._explain(entry.span, instance, sample)
        functions = taking_one_instance(reachable, instance) if len(entry.params) > 1 else reachable
        self._check_placeholders(functions)
        datatypes = self._datatypes(_types_in(functions))
        self._refuse_namesakes(entry.span, datatypes)
        if self.problems:
            raise CompileError(self.problems)
        self._refuse_numbers(entry.span, reachable)
        used = {w.name for f in functions.values() for w in walk(f.body) if isinstance(w, n.Weight)}
        program = n.Program(
            functions=functions,
            datatypes=self.datatypes.table(datatypes),
            weights={k: t for k, t in self.weights.items() if k in used},
            values={k: v for k, v in self.values.items() if k in used},
        )
        return replace(plain(program, self.symbols, self.observed, entry.completion), messages=self.messages)

    def _refuse_numbers(self, span: Span, functions: dict[str, n.Function]) -> None:
        """Raise NumbersAsTensors where parts of the result may be numbers in PyTorch that the program has as tensors."""
        unions = self._datatypes([functions["forward"].result])
        places = possible_numbers(functions, self.names, self.noted, unions)
        if places:
            self.datatypes.note_numbers_beside_tensors()
            what = "a part of the result is a number in PyTorch for some instances and a tensor for others, which begins here"
            advice = "begin with a tensor, as `torch.zeros(())`, or return `float(...)` of it"
            spans = dict.fromkeys(span if place.file.startswith(LIBRARY) else place for place in places)
            raise NumbersAsTensors([Problem(place, what, advice) for place in spans])

    def _in_rounds(self, entry: Entry, hint: Any, sample: Sequence[Any] | None) -> tuple[Any, Any]:
        """Compile round after round until no type changes. Gives the key of `forward`, and the type of an instance."""
        for _ in range(ROUNDS):
            self.reset()
            results, grown = dict(self.results), dict(self.grown)
            begun_with = self.datatypes.found_for_next_attempt
            instance = UNKNOWN  # stays so after an error, to find the other problems too
            types: list[Any] = [UNKNOWN] * len(entry.params)
            try:
                annotated = {", ".join(entry.params): hint}
                if hint is None:
                    annotated = annotation_of_instance(self.hints(entry.function), entry.params)
                instance = self._instance(annotated, entry.params, sample)
                types = types_of_parameters(instance, entry.params)
                self.datatypes.values_tell = True  # those that the model makes; what an instance has in it is known now
            except (AnnotationError, Refused) as error:
                self.problem(Problem(entry.span, str(error), getattr(error, "advice", "")))
            own = zip(entry.params, map(self.datatypes.is_copied, types), strict=True)
            self.copied[entry.function] = tuple(p for p, is_copied in own if is_copied)
            named: dict[str, Value] = {p: Dyn(n.Var(p, t)) for p, t in zip(entry.params, types, strict=True)}
            values: list[Value] = [*entry.owner, *(named | entry.others).values()]
            key = self.key(entry.function, values)
            self.key_names[key] = "forward"
            self.names["forward"] = key
            try:
                self.compile(key, entry.function, values)
                self._find_state()
                self._give_constants_out(key)
                self._give_masks_out(key)
            except (Refused, Mismatch, AnnotationError) as error:  # of what belongs to no statement or expression
                self.problem(Problem(entry.span, str(error), error.advice))
            if self.datatypes.found_for_next_attempt != begun_with:
                raise AttemptAgain
            # A function may be called for lists of several types in each round: what counts is what a round leaves.
            self.changed |= self.grown != grown
            self.changed |= self.seen_whole_now != self.seen_whole or self.returned_now != self.returned
            if not self.changed and not self.datatypes.changed:
                if self._begins_to_close() or self._finds_never_filled(key) or self._finds_only_none(key):
                    continue
                if not self._finds_circles(sample or ()):
                    break
        else:
            self._unsettled(entry.span, results, ROUNDS)
        return key, instance

    def _begins_to_close(self) -> bool:
        """Whether the types of trees that recursions make are to be closed from the next round on (`functions/trees.py`)."""
        open_ones = (key for key, result in self.results.items() if key[0] in self.recursive and contains_unknown(result))
        if self.closing or not self.closes or self.problems or not self.incomplete or not any(True for _ in open_ones):
            return False
        self.closing = True
        return True

    def _finds_never_filled(self, key: Any) -> bool:
        """Whether there are lists that nothing is ever put into. It is asked when a round has found no further type: the lists
        whose elements still have none never get any. From the next round on they have a type that fits everywhere."""
        if self.problems or self._is_complete(key):
            return False
        new = self.empties - self.filled - self.never_filled or self.empties - self.never_filled
        self.never_filled |= new
        return bool(new)

    def _finds_only_none(self, key: Any) -> bool:
        """Whether there are functions that give None whenever they are called for arguments of some types, as one that looks
        for the best of a list does for an empty one. It is asked as `_finds_never_filled` is; `forward` is not among them."""
        if self.problems or self._is_complete(key):
            return False
        new = {k for k in self.gave_none - self.only_none - {key} if self.results.get(k, UNKNOWN) is UNKNOWN}
        self.only_none |= new
        return self.carried.finds_only_none() or bool(new)

    def _is_complete(self, key: Any) -> bool:
        """Whether all types that the program needs are known."""
        if self.incomplete or self.functions[key] is None:
            return False
        return not any(isinstance(e, Placeholder) for f in self._reachable().values() for e in walk(f.body))

    def _find_state(self) -> None:
        """Have attributes of modules that are assigned to and also read be variables from the next round on."""
        for cls, name in self.stored:
            tables = (self.reads.attributes, self.reads.tensors, self.reads.constants)
            readers = {(c, x) for table in tables for c, x in table if x == name and issubclass(c, cls)}
            own = [m for m in self.module.modules() if isinstance(m, cls)]
            registered = any(name in part for m in own for part in (m._parameters, m._buffers, m._modules))
            if readers and not registered:
                if (cls, name) not in self.carried.state:
                    self.carried.state.add((cls, name))
                    self.changed = True
                for table in tables:  # what eager PyTorch leaves there, also a tensor, has no effect on the program
                    for reader in readers & table.keys():
                        del table[reader]

    def _instance(self, annotated: dict[str, Any], params: Sequence[str], sample: Sequence[Any] | None) -> Any:
        """The type of an instance: that of the annotations of `forward`'s parameters, or if these do not say all, that of the
        sample. `annotated` has the annotation of the whole instance under the parameters' names joined by commas."""
        name = ", ".join(params)
        if name not in annotated and sample is None:
            advice = (
                "annotate it with the instance's type, or give `compile` a few instances: `compile(model, sample=instances)`"
            )
            raise Refused(f"the parameter `{name}` of `forward` has no annotation", advice)
        if sample is not None:
            try:
                instance = self.datatypes.resolve(annotated[name]) if name in annotated else UNKNOWN
            except AnnotationError:
                instance = UNKNOWN
            types = [instance, *self._reached(instance).values()]
            has_dict = any(map(self.datatypes.has_dict, types))
            incomplete = any(map(contains_unknown, types)) or has_dict and self.datatypes.has_defaults(sample)
            if self.observed or incomplete or self.datatypes.are_more_derived(sample):
                instance = self.datatypes.observe(sample)
                self.observed = True
            return instance
        instance = self.datatypes.resolve(annotated[name])
        if contains_unknown(instance):
            raise Refused(
                f"the shape of the tensor that `{name}` is, or holds, is not known",
                "annotate it (`Annotated[Tensor, 128]`, `list[Annotated[Tensor, 128]]`), or give `compile` a few instances, "
                "which also tell extents that vary: `compile(model, sample=instances)`",
            )
        return instance

    def _reachable(self) -> dict[str, n.Function]:
        """The functions that `forward` reaches by calls. Others come from trials of loops, with types that were not final."""
        by_name = {f.name: f for f in self.functions.values() if f is not None}
        out: dict[str, n.Function] = {}
        pending = ["forward"]
        while pending:
            name = pending.pop()
            if name not in out:
                out[name] = by_name[name]
                pending += reversed([e.function for e in walk(by_name[name].body) if isinstance(e, n.Call)])
        return out

    def _datatypes(self, pending: list[Any]) -> dict[str, None]:
        """The names of the unions in these types, and in the types of the fields of these unions."""
        out: dict[str, None] = {}
        while pending:
            match pending.pop(0):
                case TupleT(items):
                    pending += items
                case ListT(item):
                    pending.append(item)
                case DataT(name) if name not in out:
                    out[name] = None
                    if name in self.datatypes.optionals:
                        pending.append(self.datatypes.optionals[name])
                    elif name in self.datatypes.mixed:
                        pending += self.datatypes.mixed[name].values()
                    else:
                        classes = self.datatypes.cases[name]
                        pending += [self.datatypes.fields[c, x] for c in classes for x in self.datatypes.field_names(c)]
        return out


def _completed(entry: Entry, sample: Sequence[Any]) -> list[Any]:
    """The instances of a sample with all arguments. Raises CompileError where one cannot be prepared."""
    assert entry.completion is not None
    try:
        return entry.completion.whole(sample)
    except InstanceError as error:
        what = str(error).replace(":", " of the sample:", 1)
        raise CompileError([Problem(entry.span, what, "leave this instance out")]) from error


def _types_in(functions: dict[str, n.Function]) -> list[Any]:
    """The types of the functions' values."""
    types: list[Any] = []
    for f in functions.values():
        types += [f.result, *(p.type for p in f.params)]
        for e in walk(f.body):
            types += [e.type, *(v.type for v in binders(e))]
    return types
