"""The compilation of one function for one set of argument types: names in scope, bindings under construction, coercions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from backends.acrobat.errors import Problem
from backends.acrobat.frontend.source import span_of
from backends.acrobat.frontend.tensors import Tensors
from backends.acrobat.frontend.values import (
    NONE,
    Builder,
    Dyn,
    Mismatch,
    Module,
    Static,
    TupleV,
    UnknownT,
    Value,
    contains_unknown,
    describe,
    is_unknown,
    join_types,
    type_of,
    unknown,
)
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.types import BOOL, FLOAT, INT, DataT, ListT, ScalarT, TupleT, Type
from backends.acrobat.ir.visitor import Names

if TYPE_CHECKING:
    from backends.acrobat.frontend.program import ProgramBuilder

Env = dict[str, Value]


class Poison:
    """Marks a name that is bound on some paths only."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


class Frame:
    def __init__(self, program: ProgramBuilder, file: str, namespace: dict[str, Any], what: str) -> None:
        self.program = program
        self.file = file
        self.namespace = namespace
        self.what = what  # the function's name, for messages
        self.names = Names()
        self.builder = Builder(self.names)
        self.span = n.Span(file, 0)
        self.env: Env = {}
        self.poisoned: dict[str, str] = {}
        self.tensors = Tensors(self)
        self.displays: dict[str, tuple[Value, ...]] = {}  # list variables whose elements are known one by one

    # ---- problems

    def problem(self, node: ast.AST | n.Span, message: str, advice: str = "") -> Dyn:
        """Note what is wrong and go on with a value that silences what follows from it."""
        span = node if isinstance(node, n.Span) else span_of(node, self.file)
        self.program.problem(Problem(span, message, advice))
        return unknown()

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        before, self.span = self.span, span_of(node, self.file)
        try:
            yield
        finally:
            self.span = before

    # ---- building

    def bind(self, expr: n.Expr, hint: str) -> Dyn:
        return self.builder.bind(expr, hint)

    @contextmanager
    def branch(self) -> Iterator[Builder]:
        """A nested chain of lets with the scope as it is now."""
        outer, env, poisoned = self.builder, dict(self.env), dict(self.poisoned)
        self.builder = outer.inner()
        try:
            yield self.builder
        finally:
            self.builder, self.env, self.poisoned = outer, env, poisoned

    def host(self, op: str, args: Sequence[Value], type: Type, hint: str = "") -> Dyn:
        if any(is_unknown(a) for a in args) or contains_unknown(type):
            return unknown()
        return self.bind(n.Host(op, tuple(self.atom(a) for a in args), type, span=self.span), hint or op.removeprefix("list."))

    # ---- atoms and coercions

    def atom(self, value: Value) -> n.Atom:
        """The value as an operand. Raises Mismatch if it cannot be one."""
        match value:
            case Dyn(atom):
                return atom
            case Static(bool() as v):
                return n.Lit(v, BOOL, span=self.span)
            case Static(int() as v):
                if not -(2**63) <= v < 2**63:
                    raise Mismatch(f"the integer {v} does not fit into 64 bits")
                return n.Lit(v, INT, span=self.span)
            case Static(float() as v):
                return n.Lit(v, FLOAT, span=self.span)
            case TupleV(items):
                atoms = tuple(self.atom(v) for v in items)
                if any(contains_unknown(a.type) for a in atoms):
                    return unknown().atom
                return self.bind(n.Tuple(atoms, TupleT(tuple(a.type for a in atoms)), span=self.span), "tuple").atom
            case Static(tuple() as items):
                return self.atom(TupleV(tuple(Static(v) for v in items)))
        type_of(value)
        raise Mismatch("`None` needs an annotation here that says what it may be instead")

    def common(self, types: Sequence[Any]) -> Any:
        """The type that covers all of `types`. Raises Mismatch."""
        some = [t for t in types if t is not NONE]
        joined: Any = UnknownT()
        optional = next((t for t in some if isinstance(t, DataT) and t.name in self.program.datatypes.optionals), None)
        if len(some) < len(types) or optional is not None:
            inner: Any = UnknownT()
            for t in some:
                inner = join_types(inner, self.program.datatypes.optionals[t.name] if t == optional else t)
            return self.program.datatypes.optional(inner)
        for t in some:
            joined = join_types(joined, t)
        return joined

    def coerce(self, value: Value, type: Any) -> Value:
        """`value` as one of `type`: fills in empty lists, wraps optionals, widens int to float. Raises Mismatch."""
        if isinstance(type, UnknownT) or (is_unknown(value) and not isinstance(getattr(value, "type", None), ListT)):
            return value
        have = type_of(value)
        if have == type:
            return value
        if isinstance(type, DataT) and type.name in self.program.datatypes.optionals:
            if have is NONE:
                return self.bind(n.Construct("None", (), type, span=self.span), "none")
            inner = self.program.datatypes.optionals[type.name]
            return self.bind(n.Construct("Some", (self.atom(self.coerce(value, inner)),), type, span=self.span), "some")
        match value, type:
            case TupleV(items), TupleT(wanted) if len(items) == len(wanted):
                return TupleV(tuple(self.coerce(v, t) for v, t in zip(items, wanted, strict=True)))
            case Dyn(atom), TupleT(wanted) if isinstance(have, TupleT) and len(have.items) == len(wanted):
                parts = [self.bind(n.Field(atom, i, t, span=self.span), "field") for i, t in enumerate(have.items)]
                return TupleV(tuple(self.coerce(v, t) for v, t in zip(parts, wanted, strict=True)))
        if isinstance(have, ListT) and isinstance(type, ListT) and contains_unknown(have):
            if contains_unknown(type):
                return value
            return self.bind(n.ListOf((), type, span=self.span), "empty")
        if have == INT and type == FLOAT:
            if isinstance(value, Dyn) and not isinstance(value.atom, n.Lit):
                return self.host("float", [value], FLOAT)
            return Static(float(self.atom(value).value))  # type: ignore[union-attr]
        joined = join_types(have, type)
        if joined != type:
            raise Mismatch(f"{describe(have)} where {describe(type)} is needed")
        return value

    def merge(self, branches: Sequence[tuple[Builder, Value]], where: ast.AST | n.Span) -> tuple[Any, list[n.Expr]]:
        """The common type of the branches' values and each branch as an expression of that type."""
        known = [v for _, v in branches]
        try:
            type = self.common([type_of(v) for v in known])
        except Mismatch as error:
            self.problem(where, f"the branches give values of different types: {error}", "give the same type on every path")
            return unknown().type, [b.finish(unknown().atom) for b, _ in branches]
        out = []
        for b, v in branches:
            outer, self.builder = self.builder, b
            try:
                atom: n.Expr = unknown().atom if contains_unknown(type) else self.atom(self.coerce(v, type))
            except Mismatch as error:
                self.problem(where, str(error))
                atom = unknown().atom
            finally:
                self.builder = outer
            out.append(b.finish(atom))
        return type, out

    def condition(self, value: Value, node: ast.AST) -> Value:
        """The value as a host truth: numbers and tensors of one element are compared with zero (a tensor waits)."""
        match value:
            case Static(v):
                return Static(bool(v))
            case TupleV(items):
                return Static(bool(items))
            case Module():
                return Static(True)
        if not isinstance(value, Dyn) or (is_unknown(value) and not isinstance(value.type, ListT)):
            return unknown()
        match value.type:
            case ScalarT("bool"):
                return Static(value.atom.value) if isinstance(value.atom, n.Lit) else value
            case ScalarT(kind):
                if isinstance(value.atom, n.Lit):
                    return Static(bool(value.atom.value))
                zero = Static(0 if kind == "int" else 0.0)
                return self.host("ne", [value, zero], BOOL, "truth")
            case ListT():
                size = self.host("list.len", [value], INT, "size")
                return self.host("gt", [size, Static(0)], BOOL, "truth")
            case DataT(name) if name in self.program.datatypes.optionals:
                return self.is_none(value, negate=True)
        if self.is_tensor(value):
            item = self.tensors.item(value, "value")
            return self.condition(item, node)
        return self.problem(node, f"{describe(value.type)} has no truth value here")

    def is_none(self, value: Dyn, negate: bool = False) -> Dyn:
        inner = self.program.datatypes.optionals[value.type.name]  # type: ignore[union-attr]
        some = n.Var(self.names.fresh("value"), inner)
        arms = (n.Arm("None", (), n.Lit(not negate, BOOL)), n.Arm("Some", (some,), n.Lit(negate, BOOL)))
        return self.bind(n.Match(value.atom, arms, BOOL, span=self.span), "is_none")

    # ---- small helpers

    @staticmethod
    def is_tensor(value: Value) -> bool:
        from backends.acrobat.frontend.tensors import is_tensor

        return is_tensor(value)

    def display(self, value: Value) -> list[Value] | None:
        """The elements of a list written out in this function, or None."""
        if isinstance(value, TupleV):
            return list(value.items)
        if isinstance(value, Dyn) and isinstance(value.atom, n.Var) and value.atom.name in self.displays:
            return list(self.displays[value.atom.name])
        return None

    def static_list(self, value: Any) -> Any:
        """A tuple or list display as TupleV; other values unchanged."""
        if isinstance(value, Static) and isinstance(value.value, (tuple, list)):
            return TupleV(tuple(Static(v) for v in value.value))
        items = self.display(value) if isinstance(value, Dyn) else None
        return TupleV(tuple(items)) if items is not None else value

    def spread(self, args: Sequence[Any]) -> list[Any]:
        """The extents of `f(a, b, c)` or `f((a, b, c))`."""
        if len(args) == 1:
            whole = self.static_list(args[0])
            if isinstance(whole, TupleV):
                return list(whole.items)
        return list(args)

    def components(self, value: Value, count: int | None = None) -> list[Value] | None:
        """The components of a tuple value, or None if it is not one (of `count` components)."""
        match value:
            case TupleV(items):
                out = list(items)
            case Static(tuple() as items):
                out = [Static(v) for v in items]
            case Dyn(atom) if isinstance(atom.type, TupleT):
                out = [self.bind(n.Field(atom, i, t, span=self.span), "field") for i, t in enumerate(atom.type.items)]
            case _:
                return None
        return out if count is None or len(out) == count else None

    def try_atom(self, value: Value, node: ast.AST) -> n.Atom:
        """As `atom`; a mismatch becomes a problem at `node`."""
        try:
            return self.atom(value)
        except Mismatch as error:
            return self.problem(node, str(error)).atom


Emit = Callable[[], Value]
__all__ = ["Env", "Frame", "Module", "Poison"]
