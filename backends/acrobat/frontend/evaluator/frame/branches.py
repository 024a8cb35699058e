"""The values of the branches of a choice as one value."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from backends.acrobat.core.span import Span
from backends.acrobat.frontend.builder import Builder
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.frame.coercion import CoercingFrame
from backends.acrobat.frontend.evaluator.frame.several_shapes import all_like
from backends.acrobat.frontend.kinds import is_array, type_of, type_or_none
from backends.acrobat.frontend.types import NONE, Mismatch, contains_unknown
from backends.acrobat.frontend.values import Dyn, Held, TupleV, Value, unknown
from backends.acrobat.ir import nodes as n


class MergingFrame(CoercingFrame):
    """A frame that merges the values of branches."""

    def merge(
        self, branches: Sequence[tuple[Builder, Value]], where: ast.AST | Span, apart: bool = False
    ) -> tuple[Any, list[n.Expr]]:
        """The common type of the branches' values, each branch as an expression of it; with `apart` ints beside floats
        stay ints, and in a part of the model's result numbers stay numbers beside tensors."""
        try:
            beside_tensors = any(is_array(v) or isinstance(v, Held) for _, v in branches)
            branches = [(b, self._staged_in(b, v, beside_tensors)) for b, v in branches]
            values = all_like(self, [v for _, v in branches])
            branches = [(b, v) for (b, _), v in zip(branches, values, strict=True)]
            types = [type_of(v) for v in values]
            kept = self.program.datatypes.numbers_apart(types) if apart else None
            if where in self.flow.parts and (found := self.program.datatypes.number_or_tensor(types)):
                kept = self.program.datatypes.either({word: self.common(its) for word, its in found.items()}, "Result")
            type = self.common(types, numbers=True) if kept is None else kept
        except Mismatch as error:
            places = self.places([v for _, v in branches])
            self.problem(where, f"the branches differ in type: {places}", error.advice or "give the same type on every path")
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

    def _staged_in(self, branch: Builder, value: Value, beside_tensors: bool) -> Value:
        outer, self.builder = self.builder, branch
        try:
            return self.staged(self.whole_tensor(value) if beside_tensors else value)
        finally:
            self.builder = outer

    def places(self, values: Sequence[Value]) -> str:
        """For messages: the types of `values` and the lines that they come from."""
        out: dict[str, None] = {}
        for v in values:
            t, line = type_or_none(v), self.line_of(v)
            what = type(v).__name__.lower() if t is None else "None" if t is NONE else describe(t)
            out[what + (f" (line {line})" if line else "")] = None
        return ", ".join(out)

    def line_of(self, value: Value) -> int:
        match value:
            case Dyn(atom):
                return atom.span.line
            case TupleV(items):
                return max((self.line_of(v) for v in items), default=0)
        return 0
