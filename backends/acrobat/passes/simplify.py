"""Small rewrites that leave less work, or the same work in a form that later passes recognise:

- normal form: no copies, fields of known tuples or arms of known cases;
- an item of a list that is written out is the item itself, and its sum an addition;
- a computation that was made before is not made again;
- a map over the list of another map, if the list has no other use, is one map with that; so are, where that is asked for, a map
  over a zip and the maps that make its lists, if all of them go over one list;
- the addition of a bias to a product goes into the product;
- a view that shows a tensor as it is, is the tensor;
- the comparison of a list's length with itself is a literal;
- an int of the host, or a comparison of one as in `ids == 3`, is not read from a tensor that the instance waits for.

What is then unused is removed.

Source: standard rewrites: common subexpressions, map fusion, algebraic identities.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from backends.acrobat.analyses.callgraph import call_graph
from backends.acrobat.analyses.phases import marked_phases
from backends.acrobat.core.types import BOOL, INT, ListT, TensorT
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.make import make_op
from backends.acrobat.ir.renaming import Names, names_of, substitute
from backends.acrobat.ir.visitor import Binding, flat, from_lets, lets, map_bodies, operands, walk, with_operands, works
from backends.acrobat.ir.work import is_view
from backends.acrobat.passes.dead import remove_dead
from backends.acrobat.passes.host_numbers import as_float, compared, whole_number
from backends.acrobat.passes.normal import normalise
from backends.acrobat.passes.up_to_names import up_to_names
from backends.acrobat.passes.variables import Variables

MAX_LENGTH = 1 << 62
"""Longer than any list: a slice that stops here or later goes to the end."""


def run(program: n.Program, zips: bool = False) -> n.Program:
    """`program` in normal form, simplified until nothing changes any more. This ends, because each rewrite lowers the numbers
    of (loops, sums over lists, numbers read from tensors, bindings) in lexicographic order, or makes a node read a variable
    that is bound earlier. With `zips`, a map over a zip of one list and of maps over it becomes one map over the list."""
    while True:
        normal = replace(program, functions={name: normalise(f) for name, f in program.functions.items()})
        phases = marked_phases(normal, call_graph(normal))
        functions = {
            name: _Simplifier(f, phases if name == program.entry else {}, zips).function()
            for name, f in normal.functions.items()
        }
        new = remove_dead(replace(program, functions=functions))
        if _as_before(new, program):
            return program
        program = new


def join_zipped(program: n.Program) -> n.Program:
    """`program` with maps over zips of one list joined, and then simplified; the same program if it has no zips. It is a pass
    of its own behind `segments`, which looks for such zips."""
    maps = (node for f in program.functions.values() for node in walk(f.body) if isinstance(node, n.Host) and node.op == "zip")
    return run(program, zips=True) if any(True for _ in maps) else program


def _as_before(new: n.Program, old: n.Program) -> bool:
    """Whether nothing was simplified. (`==` would recurse along let chains, which may be longer than the stack allows.)"""
    return (new.functions.keys(), new.weights, new.derived) == (old.functions.keys(), old.weights, old.derived) and all(
        f.params == old.functions[name].params and flat(f.body) == flat(old.functions[name].body)
        for name, f in new.functions.items()
    )


class _Simplifier:
    """One round of rewrites over a function in normal form."""

    def __init__(self, function: n.Function, phases: Mapping[str, int], zips: bool = False) -> None:
        self._function = function
        self._phases = phases
        self._joins_zipped = zips
        self._names = Names(names_of(function))
        self._variables = Variables(function)
        self._copies: dict[str, n.Atom] = {}  # variable -> the atom that it was found to be equal to
        self._available: defaultdict[object, list[n.Var]] = defaultdict(list)  # the variables in scope, by the value they hold
        self._absorbed: set[str] = set()  # variables whose computation has moved into their only use

    def function(self) -> n.Function:
        return replace(self._function, body=self._simplified_chain(self._function.body))

    def _simplified_chain(self, expr: n.Expr) -> n.Expr:
        """The chain with simpler values. Of equal values one is computed, and a copy gives way to what it is a copy of."""
        bindings, tail = lets(expr)
        out: list[Binding] = []
        new_keys: list[object] = []
        for var, value in bindings:
            value = self._simplified(var, self._copied(value))
            if isinstance(value, n.Item) and (holds := compared(value, self._variables)) is not None:
                truth = n.Var(self._names.fresh("holds"), BOOL, span=value.span)
                out.append((truth, holds))
                self._variables.bind(truth, holds)
                value = as_float(truth)
            if not isinstance(value, n.Var | n.Lit | n.Weight):
                value = map_bodies(value, self._simplified_chain)
                if self._may_be_shared(value):
                    key: object = type(value), up_to_names(value)
                    earlier = [v for v in self._available[key] if v.name not in self._absorbed]
                    if earlier:
                        value = earlier[0]
                    else:
                        self._available[key].append(var)
                        new_keys.append(key)
            if isinstance(value, n.Var | n.Lit | n.Weight):
                self._copies[var.name] = value
                self._variables.use(value, self._variables.uses(var))
                continue
            out.append((var, value))
            self._variables.bind(var, value)
        tail = map_bodies(self._copied(tail), self._simplified_chain)
        for key in new_keys:  # the variables of this chain are in scope no longer
            self._available[key].pop()
        return from_lets(out, tail)

    def _copied(self, value: n.Expr) -> n.Expr:
        """The node with operands that are copies replaced by their originals. Its bodies are visited later."""
        if isinstance(value, n.Var):
            return self._copies.get(value.name, value)
        args = [self._copies.get(a.name, a) if isinstance(a, n.Var) else a for a in operands(value)]
        return value if isinstance(value, n.Lit | n.Weight) else with_operands(value, args)

    @staticmethod
    def _may_be_shared(value: n.Expr) -> bool:
        """Whether a second computation of the value may be left out. Branches, loops and calls with work must not be shared:
        the two uses would then have one depth."""
        return not isinstance(value, n.If | n.Match | n.Fold | n.Loop) and (isinstance(value, n.Op) or not works(value))

    def _only_use(self, atom: n.Atom, by: n.Var) -> n.Expr | None:
        """The definition of a variable whose only use is the computation of `by`, if that is computed as often as the variable
        (not in each round of a loop, say); else None."""
        if not isinstance(atom, n.Var) or self._variables.uses(atom) != 1:
            return None
        return self._variables.value(atom) if self._variables.equally_often(atom, by) else None

    def _absorb(self, atom: n.Atom) -> None:
        """Notes that the computation of a variable has moved into its only use."""
        if isinstance(atom, n.Var):
            self._absorbed.add(atom.name)

    def _simplified(self, var: n.Var, value: n.Expr) -> n.Expr:
        """A simpler node or an atom that has the same value, or else the node itself."""
        match value:
            case n.Host("list.get", (xs, n.Lit(int(index)))):
                source = self._variables.value(xs)
                if isinstance(source, n.ListOf) and -len(source.items) <= index < len(source.items):
                    return source.items[index]
                if (
                    isinstance(source, n.Host)
                    and source.op == "range"
                    and source.args == (n.Lit(0, INT), n.Lit(1, INT), n.Lit(1, INT))
                ):
                    return n.Lit(0, INT) if index == 0 else value
            case n.Host("list.len", (xs,)):
                source = self._variables.value(xs)
                if isinstance(source, n.Map):
                    return replace(value, args=(source.iterable,))
            case n.Host("sub", (a, b)) if a == b and a.type == INT:
                return n.Lit(0, INT)
            case n.Host("mul", (n.Lit(0), b) | (b, n.Lit(0))) if b.type == INT and value.type == INT:
                return n.Lit(0, INT)
            case n.Host("list.slice", (xs, n.Lit(0), n.Lit(int(end)))) if end >= MAX_LENGTH:
                return xs
            case n.Op("reshape" | "index" | "slice" | "permute"):
                return self._viewed(value)
            case n.Item():
                return whole_number(value, self._variables) or value
            case n.Op("list_sum", (xs,)):
                return self._sum_of_few(value, xs)
            case n.Op("add", (a, b)):
                return self._biased(var, a, b) or self._biased(var, b, a) or value
            case n.Map(item, xs, body) if body == item:
                return xs
            case n.Map():
                return (self._zipped(var, value) if self._joins_zipped else None) or self._mapped_twice(var, value)
        return value

    def _viewed(self, value: n.Op) -> n.Expr:
        """The tensor of which `value` shows all, through one view or several, if it has the same shape; else `value`."""
        view: n.Expr | None = value
        while isinstance(view, n.Op) and is_view(view):
            (source,) = view.args
            source_type, part = source.type, view.type
            if not isinstance(source_type, TensorT) or not isinstance(part, TensorT) or source_type.size != part.size:
                break
            if source_type == value.type:
                return source
            view = self._variables.value(source)
        return value

    def _sum_of_few(self, value: n.Op, xs: n.Atom) -> n.Expr:
        source = self._variables.value(xs)
        if not isinstance(source, n.ListOf) or not 1 <= len(source.items) <= 2:
            return value
        return source.items[0] if len(source.items) == 1 else replace(make_op("add", source.items), span=value.span)

    def _in_other_phases(self, var: n.Var, operand: n.Atom) -> bool:
        """Whether markers put a variable and its operand in different phases."""
        return isinstance(operand, n.Var) and self._phases.get(var.name) != self._phases.get(operand.name)

    def _biased(self, var: n.Var, product: n.Atom, bias: n.Atom) -> n.Expr | None:
        """The sum of a product and a bias, `linear(x, W) + b`, as one product with a bias; None if the operands are no such."""
        linear = self._only_use(product, var)
        if not isinstance(linear, n.Op) or linear.op != "linear" or len(linear.args) != 2 or not isinstance(bias, n.Weight):
            return None
        if self._in_other_phases(var, product):
            return None
        weight = linear.args[1].type
        if not isinstance(weight, TensorT) or bias.type != TensorT(weight.shape[:1]):
            return None
        self._absorb(product)
        return replace(make_op("linear", (*linear.args, bias)), span=linear.span)

    def _mapped_twice(self, var: n.Var, value: n.Map) -> n.Expr:
        """`[g(y) for y in [f(x) for x in xs]]` as `[g(f(x)) for x in xs]`. Conditions: f has no calls and no control flow, so
        its depth is the same for all x; and markers do not put f and g into different phases."""
        inner = self._only_use(value.iterable, var)
        if not isinstance(inner, n.Map) or not _straight(inner.body) or self._in_other_phases(var, value.iterable):
            return value
        bindings, tail = lets(inner.body)
        if isinstance(tail, n.Tuple):
            tail_var = n.Var(self._names.fresh(value.var.name), tail.type, span=tail.span)
            bindings, tail = [*bindings, (tail_var, tail)], tail_var
        if not isinstance(tail, n.Var | n.Lit | n.Weight):
            return value
        self._absorb(value.iterable)
        return replace(inner, body=from_lets(bindings, substitute(value.body, {value.var.name: tail})), type=value.type)

    def _zipped(self, var: n.Var, value: n.Map) -> n.Map | None:
        """`[g(x, y) for x, y in zip(xs, [f(x) for x in xs])]` as `[g(x, f(x)) for x in xs]`, for any number of lists that are
        `xs` or maps over it; None for other loops. Conditions: those of `_mapped_twice`, and g, too, has no control flow."""
        zipped = self._only_use(value.iterable, var)
        if (
            not isinstance(zipped, n.Host)
            or zipped.op != "zip"
            or not _straight(value.body)
            or self._in_other_phases(var, value.iterable)
        ):
            return None
        inner = [self._joinable(xs, var) for xs in zipped.args]
        sources = [[xs] if loop is None else [xs, loop.iterable] for xs, loop in zip(zipped.args, inner, strict=True)]
        common = next((xs for xs in sources[0] if all(xs in each for each in sources)), None)
        if not isinstance(common, n.Var) or not isinstance(common.type, ListT):
            return None
        item = n.Var(self._names.fresh(value.var.name), common.type.item, span=value.var.span)
        bindings: list[Binding] = []
        items: list[n.Atom] = []
        for xs, loop in zip(zipped.args, inner, strict=True):
            if xs == common or loop is None:
                items.append(item)
                continue
            own, tail = lets(substitute(loop.body, {loop.var.name: item}))
            bindings += own
            if isinstance(tail, n.Tuple):
                bindings.append((n.Var(self._names.fresh(value.var.name), tail.type, span=tail.span), tail))
                tail = bindings[-1][0]
            assert isinstance(tail, n.Var | n.Lit | n.Weight)
            items.append(tail)
            self._absorb(xs)
        self._absorb(value.iterable)
        together = n.Var(self._names.fresh(value.var.name), value.var.type, span=value.var.span)
        bindings.append((together, n.Tuple(tuple(items), together.type, span=value.span)))
        return replace(
            value, var=item, iterable=common, body=from_lets(bindings, substitute(value.body, {value.var.name: together}))
        )

    def _joinable(self, xs: n.Atom, var: n.Var) -> n.Map | None:
        """The map that makes the list `xs`, if it may move into the computation of `var`, the only use of the list."""
        loop = self._only_use(xs, var)
        if not isinstance(loop, n.Map) or not _straight(loop.body) or self._in_other_phases(var, xs):
            return None
        return loop if isinstance(lets(loop.body)[1], n.Tuple | n.Var | n.Lit | n.Weight) else None


def _straight(body: n.Expr) -> bool:
    """Whether a body has no control flow but maps and calls nothing."""
    bindings, tail = lets(body)
    nodes = [tail, *(value for _, value in bindings)]
    return all(
        isinstance(e, n.Op | n.Host | n.Field | n.Tuple | n.ListOf | n.Var | n.Lit | n.Weight)
        or (isinstance(e, n.Map) and _straight(e.body))
        for e in nodes
    )
