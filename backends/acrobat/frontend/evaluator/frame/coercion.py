"""Values as operands of the program, and as values of a wanted type."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

from backends.acrobat.core.span import Span
from backends.acrobat.core.types import BOOL, FLOAT, INT, DataT, ListKind, ListT, TupleT, Type
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.frame.covering import CoveringFrame
from backends.acrobat.frontend.evaluator.frame.several_shapes import is_listed_tensors
from backends.acrobat.frontend.evaluator.tables import COERCIONS, NUMBERED, STAGED, WHOLE_TENSORS
from backends.acrobat.frontend.kinds import is_range, is_unknown, type_of, type_or_none, variable_of
from backends.acrobat.frontend.specials import OneOf
from backends.acrobat.frontend.types import (
    NEVER,
    NONE,
    SYMBOL,
    UNASSIGNED,
    HeldT,
    Mismatch,
    NeverT,
    UnknownT,
    contains_unknown,
    is_never_filled,
    is_shared,
    is_unassigned,
    without_elements,
)
from backends.acrobat.frontend.values import (
    NOTHING,
    Dyn,
    FilledPlaceholder,
    Held,
    ListedV,
    Special,
    Static,
    TupleV,
    Value,
    empty,
    guess,
    held_in,
    is_empty,
    unknown,
)
from backends.acrobat.ir import nodes as n


class CoercingFrame(CoveringFrame):
    """A frame that makes operands and host operations of values, and converts values to wanted types."""

    def host(self, op: str, args: Sequence[Value], type: Type, hint: str = "") -> Dyn:
        """Bind the result, of this type, of a host operation. It is a placeholder if an argument or the type is unknown."""
        if any(is_unknown(a) for a in args) or contains_unknown(type):
            return guess(type)
        result = self.bind(n.Host(op, tuple(map(self.atom, args)), type, span=self.span), hint or op.removeprefix("list."))
        if op == "range" and args[2] == Static(1) and (size := self._added(args[0], args[1])) in self.lengths:
            self.lengths_of[variable_of(result)] = self.lengths[size]
        return result

    def _added(self, start: Value, stop: Value) -> str:
        """The variable of the int that is added to `start` for `stop`, such as `n` of `arange(past, past + n)`; "" where none
        is known."""
        if start == Static(0):
            return variable_of(stop)
        parts = self.builder.sums.get(variable_of(stop), ())
        others = [a for i, a in enumerate(parts) if isinstance(start, Dyn) and parts[1 - i] == start.atom]
        return getattr(others[0], "name", "") if others else ""

    def atom(self, value: Value) -> n.Atom:
        """The value as an operand. Raises Mismatch if it cannot be one."""
        match value:
            case Dyn(n.Var(type=NeverT()) as atom):
                return replace(atom, type=INT)
            case Dyn(atom):
                return self.builder.current(atom)
            case Static(bool() as v):
                return n.Lit(v, BOOL, span=self.span)
            case Static(int() as v):
                if not -(2**63) <= v < 2**63:
                    raise Mismatch(f"the integer {v} does not fit into 64 bits")
                return n.Lit(int(v), INT, span=self.span)  # of a member of an IntEnum
            case Static(float() as v):
                return n.Lit(v, FLOAT, span=self.span)
            case Static(str() | Enum() as v):
                return n.Lit(self.program.symbols.number(v), SYMBOL, span=self.span)
            case TupleV(items):
                atoms = tuple(self.atom(v) for v in items)
                if any(contains_unknown(a.type) for a in atoms):
                    return unknown().atom
                t = TupleT(tuple(a.type for a in atoms), listed=isinstance(value, ListedV))
                return self.bind(n.Tuple(atoms, t, span=self.span), "tuple").atom
            case Static(tuple() as items):
                return self.atom(TupleV(tuple(Static(v) for v in items)))
            case Held("ids", TupleV(items)):
                atoms = tuple(self.atom(v) for v in items)
                return self.bind(n.ListOf(atoms, type_of(value), span=self.span), "ids").atom
            case Held() if type_or_none(value) is not None:
                return replace(self.atom(value.value), type=type_of(value))
            case Special() if value is NOTHING:
                return self.bind(n.Tuple((), UNASSIGNED, span=self.span), "unassigned").atom
            case Static(None):
                return self.bind(n.Tuple((), NONE, span=self.span), "none").atom
            case OneOf() if value.constants:
                whole = ListT(type_of(value))
                constants = self.bind(n.ListOf(tuple(map(self.atom, value.constants)), whole, span=self.span), "constants")
                return self.host("list.get", [constants, value.index], whole.item, "constant").atom
        type_of(value)
        raise AssertionError(value)

    def try_atom(self, value: Value, node: ast.AST) -> n.Atom:
        """As `atom`; a mismatch becomes a problem at `node`."""
        try:
            return self.atom(value)
        except Mismatch as error:
            return self.problem(node, str(error)).atom

    def as_annotated(self, wanted: Any, have: Any) -> Any:
        """The type that an annotation says for a value of the type `have`: a `Dict` in it stands for a defaultdict or Counter
        if the value is one."""
        match wanted, have:
            case ListT(rows=None), DataT() if is_shared(have):
                return have
            case ListT(rows=None), TupleT() if contains_unknown(wanted) and is_listed_tensors(have):
                return have
            case DataT(), DataT() if self.program.datatypes.is_version(have, wanted):
                return have
            case ListT(rows=None), ListT(rows=None) if wanted.kind in (have.kind, ListKind(have.container)):
                return replace(wanted, item=self.as_annotated(wanted.item, have.item), kind=have.kind)
            case TupleT(items), TupleT(there) if len(items) == len(there):
                return replace(wanted, items=tuple(map(self.as_annotated, items, there)))
            case DataT(name), _ if have is not NONE and name in self.program.datatypes.optionals:
                inner = self.program.datatypes.optionals[name]
                found = self.as_annotated(inner, self.without_none(have))
                return wanted if found == inner or is_unassigned(wanted) else self.program.datatypes.optional(found)
        return wanted

    def coerce(self, value: Value, type: Any) -> Value:
        """`value` as one of `type`: fills in empty lists, wraps optionals, widens int to float. Raises Mismatch."""
        if isinstance(type, UnknownT) or (is_unknown(value) and not isinstance(getattr(value, "type", None), ListT)):
            return value
        value = self._as_one_value(value)
        if type_or_none(value) is None:
            value = self.staged(value) if is_range(value) else self.as_object(value)
        have = type_of(value)
        if have == type:
            return value
        if have is NEVER:
            if contains_unknown(type):
                return value
            none = self.bind(n.ListOf((), ListT(type), span=self.span), "none")
            return self.host("list.get", [none, Dyn(self.atom(value))], type, "never")
        if isinstance(type, DataT) and type.name in self.program.datatypes.optionals:
            if have is UNASSIGNED if is_unassigned(type) else have is NONE:
                return self.bind(n.Construct("None", (), type, span=self.span), "none")
            inner = self.program.datatypes.optionals[type.name]
            if have != inner and self.without_none(have) != have and is_unassigned(have) == is_unassigned(type):
                return self._as_optional(value, self.without_none(have), type)
            return self.bind(n.Construct("Some", (self.atom(self.coerce(value, inner)),), type, span=self.span), "some")
        match value, type:
            case TupleV(items), TupleT(wanted) if len(items) == len(wanted):
                return replace(value, items=tuple(self.coerce(v, t) for v, t in zip(items, wanted, strict=True)))
            case Static(tuple() as constants), TupleT(wanted) if len(constants) == len(wanted):
                return self.coerce(TupleV(tuple(map(self.program.wrap, constants))), type)
            case Dyn(atom), TupleT(wanted) if isinstance(have, TupleT) and len(have.items) == len(wanted):
                parts = [self.bind(n.Field(atom, i, t, span=self.span), "field") for i, t in enumerate(have.items)]
                kind = ListedV if have.listed else TupleV
                return kind(tuple(self.coerce(v, t) for v, t in zip(parts, wanted, strict=True)))
        if isinstance(value, Held) and isinstance(type, HeldT) and value.kind == type.kind:
            return Held(value.kind, self.coerce(value.value, type.inner))
        for rule in COERCIONS:
            result = rule(self, value, have, type)
            if result is not None:
                return result
        if isinstance(have, ListT) and isinstance(type, ListT) and (have.rows, have.kind) != (type.rows, type.kind):
            raise Mismatch(f"{describe(have)} where {describe(type)} is needed")
        if isinstance(have, ListT) and isinstance(type, ListT) and (contains_unknown(have) or is_never_filled(have)):
            if isinstance(value, Dyn) and isinstance(value.atom, FilledPlaceholder):
                self.learn(value.atom.span, type)
                return Dyn(FilledPlaceholder("", type, span=value.atom.span))
            if contains_unknown(type):
                return value
            if is_empty(value):
                self.program.filled.add(value.atom.span)  # type: ignore[union-attr]
                if type.container == "dict":  # two places of dictionaries whose types differ make no shared ones of one class
                    self.program.datatypes.met.lists.note_elements(value.atom.span, type)  # type: ignore[union-attr]
            return self.empty(type)
        if have == INT and type == FLOAT:
            self.program.datatypes.note_int_as_float()
            if isinstance(value, Dyn) and not isinstance(value.atom, n.Lit):
                return self.host("float", [value], FLOAT)
            return Static(float(self.atom(value).value))  # type: ignore[union-attr]
        if isinstance(have, ListT) and isinstance(type, ListT) and isinstance(value, Dyn):
            item = self.var("item", have.item)
            with self.branch() as b:
                body = b.finish(self.atom(self.coerce(Dyn(item), type.item)))
            return self.bind(n.Map(item, value.atom, body, type, span=self.span), "list")
        self.program.datatypes.met.note([have, type])
        raise Mismatch(f"{describe(have)} where {describe(type)} is needed")

    def _as_one_value(self, value: Value) -> Value:
        """One of several constants that is chosen at run time as a value of the program; other values unchanged."""
        return Dyn(self.atom(value)) if isinstance(value, OneOf) and value.constants else value

    def _as_optional(self, value: Value, have: Any, type: Any) -> Value:
        """A value that is None (or not assigned) or of the type `have` as one of another such type. Raises Mismatch."""
        some = self.var("value", have)
        none = n.Construct("None", (), type, span=self.span)
        with self.branch() as b:
            body = b.finish(self.atom(self.coerce(held_in(Dyn(some)), type)))
        with self.branch() as b:
            nothing = b.finish(self.atom(self.bind(none, "none")))
        arms = (n.Arm("None", (), nothing), n.Arm("Some", (some,), body))
        return self.bind(n.Match(self.atom(value), arms, type, span=self.span), "optional")

    def staged(self, value: Value) -> Value:
        """A constant list or object of the source as one of the program, also where it is inside of a tuple; other values
        unchanged. Raises Mismatch if items have no common type."""
        value = self._as_one_value(self.as_object(value))
        match value:
            case Static(list() as items):
                parts = [self.staged(self.program.wrap(v)) for v in items]
                type = self.common([type_of(v) for v in parts], numbers=True)
                if contains_unknown(type):
                    return self.not_yet(ListT(type)) if items else self.empty(ListT(type))
                atoms = tuple(self.atom(self.coerce(v, type)) for v in parts)
                return self.bind(n.ListOf(atoms, ListT(type), span=self.span), "constant")
            case Static(range() as numbers):
                bounds = [Static(x) for x in (numbers.start, numbers.stop, numbers.step)]
                return self.host("range", bounds, ListT(INT))
            case Static(tuple() as items):
                return self.staged(TupleV(tuple(self.program.wrap(v) for v in items)))
            case TupleV(items):
                return replace(value, items=tuple(map(self.staged, items)))
        return value

    def as_object(self, value: Value) -> Value:
        """A constant object of the source as one of the program; other values unchanged. Raises Mismatch as `staged`."""
        if isinstance(value, (Static, Special)):
            for rule in STAGED:
                if (result := rule(self, value)) is not None:
                    return result
        return self.as_number(value) if isinstance(value, Special) else value

    def type_when_staged(self, value: Value) -> Any:
        """The type of a value; for a constant object, its type as a value of the program. Raises Mismatch."""
        if type_or_none(value) is not None:
            return type_of(value)
        if is_range(value):
            return ListT(INT)
        with self.trial():
            return type_of(self.as_object(self.as_number(value)))

    def whole_tensor(self, value: Value) -> Value:
        """A number of the program that is a tensor in Python as a tensor, also inside of a tuple; other values unchanged."""
        if isinstance(value, TupleV):
            return replace(value, items=tuple(map(self.whole_tensor, value.items)))
        return next((result for rule in WHOLE_TENSORS if (result := rule(self, value)) is not None), value)

    def as_number(self, value: Value) -> Value:
        """A constant object that the program refers to by a number, as that number, also inside of a tuple; other values
        unchanged."""
        if isinstance(value, TupleV):
            return replace(value, items=tuple(map(self.as_number, value.items)))
        if isinstance(value, Special) and value.python_object is not None:  # a module
            value_in_python = Static(value.python_object)
            found = (rule(self, value_in_python) for rule in NUMBERED)
            return next((result for result in found if result is not None), value)
        found = (rule(self, value) for rule in NUMBERED if isinstance(value, (Static, OneOf)))
        return next((result for result in found if result is not None), value)

    def empty(self, type: Any) -> Dyn:
        """A new empty list, set or dictionary: a placeholder as long as the type of its elements is not known. If no round of
        compiling finds that type, nothing is ever put into it."""
        if contains_unknown(type):
            if self.span not in self.program.never_filled:
                self.program.empties.add(self.span)
                return empty(type, self.span)
            type = without_elements(type)
        new = self.bind(n.ListOf((), type, span=self.span), "empty")
        self.empties.add(variable_of(new))
        return new

    def learnt(self, span: Span) -> Any:
        """The type of the list that is made at a place in the source, as far as earlier rounds of compiling have found it."""
        return self.program.learnt.get((self.key, span), UnknownT())

    def learn(self, span: Span, type: Any) -> None:
        """Note for the next round of compiling the type of the list made at `span`, whose element type was not known there."""
        self.program.datatypes.met.lists.note_elements(span, type)
        self.program.incomplete = True
        if not contains_unknown(type) and self.learnt(span) != type:
            self.program.learnt[self.key, span] = type
            self.program.changed = True

    def not_yet(self, type: Any) -> Dyn:
        """A placeholder for a list with elements that is made here, and whose type is known in part only."""
        self.program.incomplete = True
        return Dyn(FilledPlaceholder("", type, span=self.span))
