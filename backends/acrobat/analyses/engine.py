"""The abstract interpreter that the forward analyses share: it runs a program on lattice values until nothing changes any more.

- State: (context, function, variable) -> value and (context, function) -> result.
- A context is the call site through which the function's component of the call graph was entered (one call site is
  remembered); calls inside a component, recursion, stay in their context, so what holds in a context holds throughout the
  recursion.
- A value is a tuple of lattice elements, its leaves (`lattice.py`).
- Both branches of an `If`, all arms of a `Match` and every number of iterations are joined; conditions are ignored. The body
  of a `Map` is run once on the one value of the elements.
- A work list of (context, function) pairs is run until it is empty, so the result is a fixpoint. A lattice of unbounded height
  must widen values that keep rising in a recursion or a loop.

Source: abstract interpretation (Cousot and Cousot, POPL 1977). The paper's taint analysis distinguishes contexts, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeAlias, TypeVar

from backends.acrobat.analyses.callgraph import CallGraph, CallSite
from backends.acrobat.analyses.lattice import Lattice, Layout, V, Value
from backends.acrobat.core.types import DataT, ListT, ScalarT, TupleT, Type
from backends.acrobat.ir import nodes as n

Context: TypeAlias = CallSite | None
"""The call site through which a component was entered; None for the component of the entry function."""
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Solution(Generic[V]):
    """The values of all variables and functions' results, by context. Functions that the entry does not reach have none."""

    lattice: Lattice[V]
    layout: Layout
    variables: Mapping[tuple[Context, str, str], Value[V]]
    results: Mapping[tuple[Context, str], Value[V]]

    def at(self, context: Context, function: str, name: str) -> Value[V]:
        return self.variables[context, function, name]

    def values_in(self, function: str) -> Mapping[str, Value[V]]:
        """The variables of a function, joined over all contexts."""
        return self._values_by_function.get(function, {})

    @cached_property
    def _values_by_function(self) -> dict[str, dict[str, Value[V]]]:
        out: defaultdict[str, dict[str, Value[V]]] = defaultdict(dict)
        for (_, function, name), value in self.variables.items():
            other = out[function].get(name)
            out[function][name] = value if other is None else _join(self.lattice, other, value)
        return dict(out)


def analyse(program: n.Program, lattice: Lattice[V], graph: CallGraph, contexts: bool = True) -> Solution[V]:
    """Runs `lattice` over `program` from its entry. Without `contexts`, a function's call sites are joined from the start."""
    run = _Fixpoint(program, lattice, graph, contexts)
    run.run()
    return Solution(lattice, run.layout, run.variables, run.results)


def _join(lattice: Lattice[V], a: Value[V], b: Value[V]) -> Value[V]:
    return a if a == b else tuple(map(lattice.join, a, b))


class _Fixpoint(Generic[V]):
    """A run of the engine. `pending`: the (context, function) pairs that have to be run, perhaps again; `task`: the one that is
    being run; `readers`: for each pair those that use its result; `rises`: how often each leaf of a variable has changed."""

    def __init__(self, program: n.Program, lattice: Lattice[V], graph: CallGraph, contexts: bool) -> None:
        self.program, self.lattice, self.graph, self.sensitive = program, lattice, graph, contexts
        self.layout = Layout(program.datatypes)
        self.variables: dict[tuple[Context, str, str], Value[V]] = {}
        self.results: dict[tuple[Context, str], Value[V]] = {}
        self.readers: defaultdict[tuple[Context, str], dict[tuple[Context, str], None]] = defaultdict(dict)  # sets, in order
        self.pending: dict[tuple[Context, str], None] = {}
        self.rises: defaultdict[tuple[Hashable, int], int] = defaultdict(int)
        self.task: tuple[Context, str] = (None, program.entry)

    def run(self) -> None:
        entry = self.program.functions[self.program.entry]
        self.enter(self.task, [(self.lattice.instance(),) * self.layout.size(p.type) for p in entry.params])
        while self.pending:
            self.task, _ = self.pending.popitem()
            function = self.program.functions[self.task[1]]
            value = self.expr(function.body)
            if self.join_into(self.results, self.task, value, function.result, self.widens(function.name)):
                self.pending.update(self.readers[self.task])

    def enter(self, task: tuple[Context, str], args: Sequence[Value[V]]) -> None:
        """Joins a call's arguments into the parameters of its target, which is put on the work list if they rose."""
        function = self.program.functions[task[1]]
        risen = task not in self.results
        if risen:
            self.results[task] = (self.lattice.bottom,) * self.layout.size(function.result)
        for param, arg in zip(function.params, args, strict=True):
            risen |= self.join_into(self.variables, (*task, param.name), arg, param.type, self.widens(function.name))
        if risen:
            self.pending[task] = None

    def widens(self, function: str) -> bool:
        """Whether the function's result may come back as its argument; if call sites are joined, it may also in `f(f(x))`."""
        return function in self.graph.recursive or not self.sensitive

    def join_into(self, state: dict[K, Value[V]], key: K, value: Value[V], t: Type, widen: bool) -> bool:
        """Joins `value` into the state at `key` and returns whether that changed it. `widen`: values may rise here for ever."""
        old = state.get(key)
        if old is None:
            old = state[key] = (self.lattice.bottom,) * self.layout.size(t)
        new = _join(self.lattice, old, value)
        if new == old:
            return False
        if widen:
            leaves = list(new)
            for i, (was, now) in enumerate(zip(old, new, strict=True)):
                if was != now:
                    self.rises[key, i] += 1
                    leaves[i] = self.lattice.widen(now, self.rises[key, i])
            new = tuple(leaves)
        state[key] = new
        return new != old

    def bind(self, var: n.Var, value: Value[V], widen: bool = False) -> bool:
        return self.join_into(self.variables, (*self.task, var.name), value, var.type, widen)

    def atom(self, atom: n.Atom) -> Value[V]:
        match atom:
            case n.Var(name):
                return self.variables[(*self.task, name)]
            case n.Lit():
                return (self.lattice.literal(atom),)
        return (self.lattice.weight(atom),)

    def expr(self, expr: n.Expr, name: str | None = None) -> Value[V]:
        """The value of an expression. `name` is the variable that it is bound to, if any."""
        while isinstance(expr, n.Let):
            self.bind(expr.var, self.expr(expr.value, expr.var.name))
            expr = expr.body
        match expr:
            case n.Var() | n.Lit() | n.Weight():
                return self.atom(expr)
            case n.Op(args=args) | n.Launch(args=args):
                place = None if name is None else (self.task[1], name)
                leaf = self.lattice.work(expr, [self.atom(a) for a in args], place)
                return (leaf,) * self.layout.size(expr.type)
            case n.Host():
                return self.host(expr)
            case n.Item(tensor):
                return (self.lattice.item(expr, self.atom(tensor)[0]),) * self.layout.size(expr.type)
            case n.Tuple(items):
                return tuple(leaf for item in items for leaf in self.atom(item))
            case n.Field(value, index):
                assert isinstance(value.type, TupleT)
                return self.layout.split(self.atom(value), value.type.items)[index]
            case n.ListOf(items):
                return self.join_of(expr.type, [self.atom(item) for item in items])
            case n.Construct(case, args):
                assert isinstance(expr.type, DataT)
                return self.layout.construct(self.lattice, expr.type.name, case, [self.atom(a) for a in args])
            case n.Call():
                return self.call(expr)
            case n.If(_, then, orelse):
                return self.join_of(expr.type, [self.expr(then), self.expr(orelse)])
            case n.Match(scrutinee, arms):
                assert isinstance(scrutinee.type, DataT)
                values = []
                for arm in arms:
                    for index, var in enumerate(arm.vars):
                        self.bind(var, self.layout.field(self.atom(scrutinee), scrutinee.type.name, arm.case, index))
                    values.append(self.expr(arm.body))
                return self.join_of(expr.type, values)
            case n.Map(var, iterable, body):
                self.bind(var, self.atom(iterable))
                return self.expr(body)
            case n.Fold(var, iterable, carried, init, body):
                self.bind(var, self.atom(iterable))
                return self.loop(carried, init, [body])
            case n.Loop(carried, init, cond, body):
                return self.loop(carried, init, [cond, body])
        raise TypeError(f"no expression: {expr}")

    def join_of(self, t: Type, values: Sequence[Value[V]]) -> Value[V]:
        out: Value[V] = (self.lattice.bottom,) * self.layout.size(t)
        for value in values:
            out = _join(self.lattice, out, value)
        return out

    def loop(self, carried: Sequence[n.Var], init: Sequence[n.Atom], parts: Sequence[n.Expr]) -> Value[V]:
        """The value of a loop. Each round evaluates `parts`; the last gives the next values of the carried variables."""
        for var, atom in zip(carried, init, strict=True):
            self.bind(var, self.atom(atom), widen=True)
        risen = True
        while risen:
            *_, value = map(self.expr, parts)
            nexts = self.layout.split(value, [var.type for var in carried])
            rises = [self.bind(var, new, widen=True) for var, new in zip(carried, nexts, strict=True)]
            risen = any(rises)
        return tuple(leaf for var in carried for leaf in self.atom(var))

    def call(self, call: n.Call) -> Value[V]:
        context, caller = self.task
        if not self.sensitive:
            context = None
        elif self.graph.component[caller] != self.graph.component[call.function]:
            context = self.graph.site(caller, call)
        target = (context, call.function)
        self.readers[target][self.task] = None
        self.enter(target, [self.atom(a) for a in call.args])
        return self.results[target]

    def host(self, node: n.Host) -> Value[V]:
        """The facts of a host operation's result: a list has those of its items, a number those that the lattice gives it."""
        args = [self.atom(a) for a in node.args]
        match node.op:
            case "list.get" | "list.slice" | "list.reverse":
                return args[0]
            case "list.concat" | "list.append":
                return _join(self.lattice, args[0], args[1])
            case "zip" | "phase" | "parallel":
                return tuple(leaf for arg in args for leaf in arg)
            case "enumerate":
                return (self.lattice.host(node, ()), *args[0])
        assert isinstance(node.type, ScalarT) or node.type == ListT(ScalarT("int")), node.op
        return (self.lattice.host(node, [leaf for arg in args for leaf in arg]),)
