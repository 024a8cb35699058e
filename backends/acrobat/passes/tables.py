"""Tables: products of an embedding's rows with weights are computed once, at load, for all rows.

    x    = row(@E, word)                 derive "E*" = linear(E, "W[0:3]")           the embedding's share, for all words
    both = cat(x, h)                     x         = row(@E, word)
    y    = linear(both, @W, @b)          projected = lookup(x, @E, @"E*")            an address, no work
                                         product   = linear(h, @"W[3:8]", @b)        the product of the other part
                                         y         = add(product, projected)

If the row is the product's whole input, the lookup takes the place of the product. If a weight (an initial state) is a part of
the input, its share joins the bias. A row whose number is known when compiling is read as a row of the table by that number, so
that products which differ only in the number share a kernel. Tables of more than `MAX_ELEMENTS` elements are not made.

Source: our own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from backends.acrobat.analyses.callgraph import call_graph
from backends.acrobat.analyses.sources import table_rows
from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.core.types import INT, TensorT
from backends.acrobat.ir.make import make_op
from backends.acrobat.ir.nodes import Atom, Expr, Function, Lit, Program, Var, Weight
from backends.acrobat.ir.renaming import Names, names_of
from backends.acrobat.ir.visitor import Binding, rewrite_chains
from backends.acrobat.passes.dead import remove_dead
from backends.acrobat.passes.derivations import Derivations
from backends.acrobat.passes.normal import normalise
from backends.acrobat.passes.products import InputPart, Products, parts, product
from backends.acrobat.passes.variables import Variables

MAX_ELEMENTS = 1 << 26
"""Elements of the largest table that is made: 256 MiB."""


def projects(program: Program) -> bool:
    """Whether products are computed when the finished program is loaded: work that other systems do for each mini-batch."""
    return any(OPS[d.op].fusion is Fusion.PRODUCT for d in program.derived.values())


def run(program: Program) -> Program:
    """`program` (in normal form) with products of rows of weights, and shares of weights in products, computed at load."""
    rows = table_rows(program, call_graph(program))
    derivations = Derivations(program)
    functions = {name: normalise(_Projector(f, rows[name], derivations).function()) for name, f in program.functions.items()}
    return remove_dead(replace(program, functions=functions, weights=derivations.weights, derived=derivations.derived))


class _Projector:
    """Rewrites the products of one function. `rows`: the variables that are always rows of a table -> the table's name."""

    def __init__(self, function: Function, rows: Mapping[str, str], derivations: Derivations) -> None:
        self._function = function
        self._rows = rows
        self._derivations = derivations
        self._products = Products(Names(names_of(function)), derivations)
        self._variables = Variables(function)

    def function(self) -> Function:
        return replace(self._function, body=rewrite_chains(self._function.body, self._with_lookups))

    def _with_lookups(self, value: Expr, out: list[Binding]) -> Expr:
        """What takes the place of a value: something else only for a product. Further bindings go to `out`."""
        linear = product(value)
        if linear is None:
            return value
        row_parts: list[tuple[InputPart, Weight, Lit | None]] = []
        weight_parts: list[InputPart] = []
        other_parts: list[InputPart] = []
        for part in parts(linear, self._variables):
            table, number = self._row(part.atom)
            if table is not None and table.type.shape[0] * linear.type.shape[-1] <= MAX_ELEMENTS:  # type: ignore[union-attr]
                row_parts.append((part, table, number))
            elif isinstance(part.atom, Weight):
                weight_parts.append(part)
            else:
                other_parts.append(part)
        if not row_parts and not (weight_parts and other_parts):
            return linear  # no part is known, or all are weights: the latter is left to the pass `constants`
        bias = linear.args[2] if len(linear.args) > 2 else None
        assert bias is None or isinstance(bias, Weight)
        for part in weight_parts:
            assert isinstance(part.atom, Weight)
            share = self._derivations.derive(f"{part.atom.name}*", "linear", (part.atom, self._products.weight(linear, [part])))
            if share.type != TensorT(linear.type.shape[-1:]):  # type: ignore[union-attr]
                return linear  # the weight is a matrix: each of its rows has a share, which a bias cannot hold
            bias = self._derivations.sum_of(bias, share)
        terms: list[Atom] = []
        for part, table, number in row_parts:
            weights = [table, self._products.weight(linear, [part])]
            if bias and not other_parts:  # if a product is left, it adds the bias at no cost
                weights.append(bias)
                bias = None
            projected = self._derivations.derive(f"{table.name}*", "linear", weights)
            if number is not None:
                projected_row = make_op("row", (projected, number), span=linear.span)
            else:
                projected_row = make_op("lookup", (part.atom, table, projected), span=linear.span)
            terms.append(self._products.bind("projected", projected_row, out))
        if other_parts:
            product_of_others = self._products.of(linear, other_parts, bias, out)
            if not terms:
                return product_of_others
            terms.insert(0, self._products.bind("product", product_of_others, out))
        return terms[0] if len(terms) == 1 else self._products.sum(terms, linear.span, out)

    def _row(self, atom: Atom) -> tuple[Weight | None, Lit | None]:
        """(table, number of the row) if the atom is a row of a weight with two dimensions; the number is None if it is not
        known when compiling. (None, None) for any other atom."""
        if isinstance(atom, Weight):
            derived = self._derivations.derived.get(atom.name)
            if derived is None or derived.op != "index" or dict(derived.attrs)["dim"] != 0:
                return None, None
            name, number = derived.args[0], Lit(dict(derived.attrs)["i"], INT)
        else:
            table = self._rows.get(atom.name) if isinstance(atom, Var) else None
            if table is None or table not in self._derivations.weights:
                return None, None
            name, number = table, None
        t = self._derivations.weights[name]
        return (Weight(name, t), number) if len(t.shape) == 2 else (None, None)
