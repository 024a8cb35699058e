"""A product with a weight, taken apart along its input: `linear(cat(x, h), W, b)` is `linear(x, W1) + linear(h, W2) + b`.

Source: our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from backends.acrobat.core.span import Span
from backends.acrobat.core.types import TensorT
from backends.acrobat.ir.make import make_op
from backends.acrobat.ir.nodes import Atom, Expr, Op, Var, Weight
from backends.acrobat.ir.renaming import Names
from backends.acrobat.ir.visitor import Binding
from backends.acrobat.passes.derivations import Derivations
from backends.acrobat.passes.variables import Variables


@dataclass(frozen=True, slots=True)
class InputPart:
    """One of the values that a product's input is concatenated from; its columns of the weight are `start` up to `stop`."""

    atom: Atom
    start: int
    stop: int


def product(value: Expr) -> Op | None:
    """The value if it is a `linear` of a variable with weights, else None. (A product of weights alone is constant work.)"""
    if not isinstance(value, Op) or value.op != "linear" or isinstance(value.args[0], Weight):
        return None
    return value if all(isinstance(a, Weight) for a in value.args[1:]) else None


def parts(linear: Op, variables: Variables) -> list[InputPart]:
    """The values that the input of `linear` is concatenated from; the input itself if it is no `cat` of columns."""
    x = linear.args[0]
    assert isinstance(x.type, TensorT)
    cat = variables.value(x)
    if not isinstance(cat, Op) or cat.op != "cat" or dict(cat.attrs)["dim"] != len(x.type.shape) - 1:
        return [InputPart(x, 0, x.type.shape[-1])]
    out, at = [], 0
    for atom in cat.args:
        assert isinstance(atom.type, TensorT)
        out.append(InputPart(atom, at, at + atom.type.shape[-1]))
        at = out[-1].stop
    return out


class Products:
    """Makes products of some parts of an input, with new names and derived weights."""

    def __init__(self, names: Names, derivations: Derivations) -> None:
        self.names = names
        self.derivations = derivations

    def bind(self, hint: str, value: Op, out: list[Binding]) -> Var:
        var = Var(self.names.fresh(hint), value.type, span=value.span)
        out.append((var, value))
        return var

    def weight(self, linear: Op, of: Sequence[InputPart]) -> Weight:
        """The columns of the weight that belong to some parts."""
        full_weight = linear.args[1]
        assert isinstance(full_weight, Weight)
        columns = [self.derivations.columns(full_weight, p.start, p.stop) for p in _adjacent(of)]
        if len(columns) == 1:
            return columns[0]
        return self.derivations.derive(f"{full_weight.name}[...]", "cat", columns, dim=1)

    def of(self, linear: Op, of: Sequence[InputPart], bias: Weight | None, out: list[Binding]) -> Op:
        """The product of some parts and a bias; the input's `cat`, if one is needed, goes to `out`."""
        x = of[0].atom
        if len(of) > 1:
            assert isinstance(x.type, TensorT)
            cat = make_op("cat", [p.atom for p in of], {"dim": len(x.type.shape) - 1}, linear.span)
            x = self.bind("cat", cat, out)
        args = (x, self.weight(linear, of)) if bias is None else (x, self.weight(linear, of), bias)
        return make_op("linear", args, span=linear.span)

    def in_two(
        self,
        linear: Op,
        fixed: Sequence[InputPart],
        others: Sequence[InputPart],
        hint: str,
        out: list[Binding],
        before: list[Binding] | None = None,
    ) -> Op:
        """The product as the sum of the product of the parts `others`, bound in `out`, and of that of the parts `fixed` and the
        bias, which is named `hint` and bound in `before`, by default in `out` too."""
        before = out if before is None else before
        bias = linear.args[2] if len(linear.args) > 2 else None
        assert bias is None or isinstance(bias, Weight)
        share = self.bind(hint, self.of(linear, fixed, bias, before), before)
        own = self.bind("product", self.of(linear, others, None, out), out)
        return self.sum((own, share), linear.span, out)

    def sum(self, terms: Sequence[Atom], span: Span, out: list[Binding]) -> Op:
        """The sum of two or more terms; all additions but the last go to `out`."""
        total = make_op("add", terms[:2], span=span)
        for term in terms[2:]:
            total = make_op("add", (self.bind("sum", total, out), term), span=span)
        return total


def _adjacent(of: Sequence[InputPart]) -> list[InputPart]:
    """The parts, with neighbours joined."""
    out: list[InputPart] = []
    for p in of:
        if out and out[-1].stop == p.start:
            out[-1] = replace(out[-1], stop=p.stop)
        else:
            out.append(p)
    return out
