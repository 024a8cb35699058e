"""What is wrong with a program after the last round of compiling, told at its place in the source."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

from torch import Tensor

from backends.acrobat import library
from backends.acrobat.core.span import Span
from backends.acrobat.core.types import DataT, ListT, TupleT
from backends.acrobat.errors import CompileError, Problem
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.functions.table import Functions
from backends.acrobat.frontend.instances.cycles import cycle
from backends.acrobat.frontend.instances.datatypes import Datatypes
from backends.acrobat.frontend.instances.divided import original
from backends.acrobat.frontend.instances.observed import attributes
from backends.acrobat.frontend.instances.prepared import Prepared
from backends.acrobat.frontend.instances.record_classes import RecordOf
from backends.acrobat.frontend.source import source_of, span_of
from backends.acrobat.frontend.types import CONSTANT, UNKNOWN, HeldT, contains_held, contains_unknown
from backends.acrobat.frontend.values import HELD, Placeholder
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.visitor import walk


def always_empty(sample: Sequence[Any]) -> list[str]:
    """Where the instances of a sample have lists, and none that has an element."""
    filled: dict[str, bool] = {}
    pending, seen = [("the instance", x) for x in sample], set[int]()
    while pending:
        where, value = pending.pop()
        if id(value) in seen:
            continue
        match value:
            case str() | int() | float() | Tensor() | Enum():
                continue
            case list() | tuple() if not hasattr(value, "_fields"):
                filled[where] = filled.get(where, isinstance(value, tuple)) or bool(value)
                pending += [(f"an element of {where}", x) for x in value]
            case dict():
                pending += [(f"{where}[{k!r}]", x) for k, x in value.items()]
            case _:
                seen.add(id(value))
                pending += [(f"`{type(value).__name__}.{k}`", x) for k, x in (attributes(value) or {}).items()]
    return [where for where, some in filled.items() if not some]


class DiagnosedFunctions(Functions):
    """The compiled functions, with the checks of what they have become."""

    def __init__(self, datatypes: Datatypes) -> None:
        super().__init__(datatypes)
        self.observed = False  # whether the instance's type was read off a sample

    def _refuse_kept(self, span: Span, key: Any) -> None:
        """Note a problem where an object in the result keeps a module or a function, or indices, which no program computes."""
        for (cls, name), t in self._reached(self.results[key]).items():
            if self.datatypes.is_referenced(self.datatypes.of_class[cls]):
                what = f"a `{cls.__name__}` of the result is changed while several names refer to it"
                self.problem(Problem(span, what, "return its attributes, one by one"))
            if self.datatypes.graphs.is_stand_in(cls):
                leads = "to other dictionaries" if issubclass(cls, dict) else "back to itself"
                shown = original(cls).__name__
                what = f"the result has a `{shown}` in it that was made outside of `forward`, and leads {leads}"
                self.problem(Problem(span, what, "return what is needed of it, such as its attributes one by one"))
            if cls.__module__.startswith(library.__name__) and original(cls) is cls:
                self.problem(Problem(span, f"the result has a `{cls.__name__}` of Python's own in it", "return what it holds"))
            if isinstance(t, HeldT) and t.kind == CONSTANT.kind:
                what = f"a `{cls.__name__}` of the result has a module or a function in `{name}`"
                self.problem(Problem(span, what, "return the other attributes, one by one"))
            elif kind := contains_held(t):
                self.problem(Problem(span, f"`{name}` of the result: {HELD[kind]}", "leave it out"))

    def _refuse_namesakes(self, span: Span, unions: Iterable[str]) -> None:
        """Note a problem where classes of one name are met in one place: the program could not tell one from another."""
        for classes in (self.datatypes.cases.get(union, ()) for union in unions):
            names = [c.__name__ for c in classes]
            for name in {x: None for x in names if names.count(x) > 1}:
                modules = ", ".join(c.__module__ for c in classes if c.__name__ == name)
                what = f"objects of several classes that are called `{name}` stand in one place; they are of {modules}"
                self.problem(Problem(span, what, "give the classes different names"))

    def _check_state(self, span: Span, key: Any) -> None:
        """Note a problem for objects in the result whose fields the model assigns to, and for attributes of the model that it
        assigns to and reads, and that are no variables. `key` is that of `forward`."""
        given_out = {self.datatypes.of_class[c] for c, _ in self._reached(self.results.get(key, UNKNOWN))} & self.carried.unions
        if given_out:
            what = f"the result has objects in it whose fields the model assigns to: {min(given_out)}"
            self.problem(Problem(span, what, "objects of the instance stay as they are: return what was assigned"))
        for (cls, name), where in self.stored.items():
            if (cls, name) not in self.carried.state and any(
                issubclass(c, cls) and x == name for c, x in (*self.reads.attributes, *self.reads.tensors)
            ):
                what = f"`{name}` of the model is assigned to here, and also read, and it is a parameter, a buffer or a module"
                self.problem(Problem(where, what, "keep what is computed in a variable, or an attribute with another name"))

    def _finds_circles(self, sample: Sequence[Any]) -> bool:
        """Whether objects of the sample, of classes of which this was not known, refer to each other in circles by the fields
        that the program reads. From the next round on these objects are numbered, and each is read once."""
        datatypes, new = self.datatypes, False
        while fields := cycle(sample, datatypes.read_fields(), datatypes.records, datatypes.circular):
            new |= datatypes.tell_apart({cls for cls, _ in fields})
        return new

    def _give_constants_out(self, key: Any) -> None:
        """Have constant objects in the result, which is that of the function with this key, be values of the program with all
        that is in them and no numbers, where that is possible."""
        for cls in {c for c, _ in self._reached(self.results.get(key, UNKNOWN)) if self.datatypes.graphs.is_stand_in(c)}:
            self.datatypes.given_whole(cls)

    def _give_masks_out(self, key: Any) -> None:
        """Have masks and tensors of one int in objects and dictionaries of the result, which is that of the function with this
        key, be there what they are as results, from the next round on."""
        for (cls, name), t in self._reached(self.results.get(key, UNKNOWN)).items():
            if contains_held(t) in ("index", "mask", "ones") and (cls, name) not in self.datatypes.given_out:
                self.datatypes.given_out.add((cls, name))
                self.datatypes.widen(cls, name, UNKNOWN)

    def _name_unknown_fields(self, span: Span, instance: Any) -> None:
        """Note a problem for each field of an instance's objects whose type is not known."""
        for cls, name in self._reached(instance):
            type = self.datatypes.fields.get((cls, name))  # None if its annotation is wrong
            if type is not None and contains_unknown(type) and (cls, name) not in self.datatypes.refined:
                self.problem(self._unknown_field(span, cls, name))

    def _warn_of_unread(self) -> None:
        """Warn of attributes that the model assigns to and nothing reads: the compiled program does not assign to them."""
        for (cls, name), where in self.stored.items():
            if (cls, name) not in self.carried.state:
                line = f"{where.file}:{where.line}"
                message = f"{line}: the compiled program does not assign to `{name}` of the model, which nothing reads"
                self.reads.warnings.append(message)
                warnings.warn(message, stacklevel=3)

    def _warn_of_prepared(self, file: str, prepared: Iterable[Prepared]) -> None:
        """Warn of what Python computes before the mini-batch, one instance after the other."""
        for p in prepared:
            message = f"{file}: `{p.written}` is computed by Python for each instance, before the mini-batch"
            self.reads.warnings.append(message)
            warnings.warn(message, stacklevel=3)

    def _check_placeholders(self, functions: Mapping[str, n.Function]) -> None:
        """Note a problem for each list whose type was not found."""
        for f in functions.values():
            for v in (e for e in walk(f.body) if isinstance(e, Placeholder)):
                message = "the type of this list's elements cannot be found"
                self.problem(Problem(v.span if v.span.line else f.span, message, "annotate it: `xs: list[int] = []`"))

    def _reached(self, instance: Any) -> dict[tuple[type, str], Any]:
        """The fields, as (class, name), of all classes whose objects may be in an instance, and their types as far as known."""
        out: dict[tuple[type, str], Any] = {}
        pending, mixed = [instance], set[str]()
        while pending:
            match pending.pop():
                case TupleT(items):
                    pending += items
                case ListT(item):
                    pending.append(item)
                case DataT(name) if name in self.datatypes.optionals:
                    pending.append(self.datatypes.optionals[name])
                case DataT(name) if name in self.datatypes.mixed:
                    pending += self.datatypes.mixed[name].values() if name not in mixed else ()
                    mixed.add(name)
                case DataT(name):
                    for c in self.datatypes.cases[name]:
                        new = [(c, x) for x in self.datatypes.field_names(c) if (c, x) not in out]
                        types = [self.datatypes.fields.get(field, UNKNOWN) for field in new]
                        out |= zip(new, types, strict=True)
                        pending += types
        return out

    def _unknown_field(self, span: Span, cls: type, name: str) -> Problem:
        seen_at = self.datatypes.seen.get(cls, {}).get(name)
        if issubclass(cls, RecordOf) and seen_at is not None and seen_at.representative().kinds == {"none"}:
            what = f"{name!r} is None in all dictionaries of the sample that have it"
            return Problem(span, what, "give the sample an instance in which it has a value")
        if issubclass(cls, RecordOf):
            what = f"the type of {name!r} in {describe(DataT(self.datatypes.of_class[cls]))} cannot be found"
            return Problem(span, what, "give it a value whose type is seen: `xs: list[int] = []`, a number, a tensor")
        places = self.datatypes.seen.get(cls, {})
        if name in places and places[name].representative().kinds == {"none"}:
            self.datatypes.note_unlike(cls)
            what = f"`{cls.__name__}.{name}` is None in all instances of the sample"
            return Problem(
                span, what, "objects of the instance are not changed: return what is computed, or keep it in a dictionary"
            )
        advice = f"annotate it, as in `{name}: Annotated[Tensor, 256]` or `{name}: list[Annotated[Tensor, 256]]`"
        return Problem(span, f"the shape of `{cls.__name__}.{name}` is not known", advice)

    def _unsettled(self, span: Span, before: Mapping[Any, Any], rounds: int) -> None:
        """Note a problem for each type that the last of the `rounds` has changed; `before` has the results' types before it."""
        late = f"changed in each of {rounds} rounds of compiling"
        for key in [key for key, result in self.results.items() if result != before.get(key)]:
            definition, file = source_of(key[0])
            message = f"the type of the result of `{key[0].__qualname__}` has {late}"
            self.problem(Problem(span_of(definition, file), message, "have all of its calls give one type"))
        if self.datatypes.changed:
            self.problem(Problem(span, f"the types of fields have {late}", "annotate the fields of the model's classes"))

    def _explain(self, span: Span, instance: Any, sample: Sequence[Any] | None) -> None:
        """Raise a CompileError that names what has no known type: lists of the sample that are all empty, fields, otherwise a
        loop or the last function's result."""
        out: list[Problem] = []
        lost = self.lost
        unknown = {f"{c.__name__}.{x}" for (c, x), t in self._reached(instance).items() if contains_unknown(t)}
        if self.observed and (unknown or contains_unknown(instance)):
            for what in always_empty(sample or ()):
                of_object = "`" in what and what.split("`")[1] not in unknown
                advice = "give the sample an instance in which it has an element"
                out += [] if of_object else [Problem(span, f"{what} is empty in all instances of the sample", advice)]
            if out:
                raise CompileError(out)
        for (cls, name), t in self.datatypes.fields.items():
            if contains_unknown(t):
                out.append(self._unknown_field(span, cls, name))
        for variable in sorted(x for x in self.carried.attributes if self.carried.types[x] is UNKNOWN):
            module, name = self.carried.place_of(variable)
            if where := next((at for (cls, x), at in self.stored.items() if x == name and isinstance(module, cls)), None):
                what = f"the attribute `{name}` has no value that an instance gives it before it is read"
                advice = "assign it first in each call, or return it and give it with the next instance"
                out.append(Problem(where, what, advice))
        for key, f in self.functions.items():
            if f is None and self.lost is None:
                definition, file = source_of(key[0])
                message = f"the type of the result of `{key[0].__qualname__}` cannot be found"
                advice = "a recursion needs a case that ends without it"
                if key in self.gave_none and self.results.get(key, UNKNOWN) is UNKNOWN:
                    message, advice = f"`{key[0].__qualname__}` always gives None", "return what the model computes"
                lost = Problem(span_of(definition, file), message, advice)
        if lost is not None and not out:
            out.append(lost)
        raise CompileError(
            out or [Problem(span, "the types of this model cannot be found", "annotate tensor fields with their shapes")]
        )
