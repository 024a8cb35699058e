"""Random well-typed programs with instances, for tests of everything that takes a program.

`samples()` draws unions of dataclasses and for each a function that recurs over it (mutually if the unions contain each other),
a countdown, helpers that take weights as arguments, and a `forward` that calls all these, with maps, folds, bounded loops,
branches and matches in between. In some programs `forward` itself recurs over a union. Every program ends on every instance,
after work that is bounded by the instance's size.

Results can be compared between float32 and float64: elements of tensors that are passed to functions, kept in structures or
returned lie in [-1, 1], no operation amplifies errors much, and no decision depends on a rounded number. So `argmax` does not
occur, and with `waits=True` numbers read from tensors are compared only with numbers that are far away.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod, sqrt
from typing import Any, TypeAlias

import numpy as np
import torch
from hypothesis import strategies as st

from backends.acrobat.core.host import infer_host
from backends.acrobat.core.types import BOOL, FLOAT, INT, Case, DataT, DataType, ListT, ScalarT, TensorT, TupleT, Type
from backends.acrobat.ir.make import make_op
from backends.acrobat.ir.nodes import (
    Arm,
    Atom,
    Call,
    Construct,
    Expr,
    Field,
    Fold,
    Function,
    Host,
    If,
    Item,
    ListOf,
    Lit,
    Loop,
    Map,
    Match,
    Program,
    Tuple,
    Var,
    Weight,
)
from backends.acrobat.ir.renaming import Names
from backends.acrobat.ir.visitor import Binding, free_vars, from_lets

LARGE = 8.0
"""A tensor whose elements may be larger than this goes through `tanh` first."""
ELEMENTS = 64
ROWS = 5
EDGES = (0.1, 0.5, -0.3, 0.7, 1 / 3)
"""Numbers that elements of weights are compared with. Most lie between two adjacent numbers of float32."""


@dataclass(frozen=True, slots=True)
class Sample:
    program: Program
    instances: tuple[Any, ...]


Choose: TypeAlias = Callable[[int], int]
"""Chooses one of several options: `choose(n)` is in [0, n), and 0 tends to be the simplest option."""


def sample(choose: Choose, waits: bool = False, instances: int = 3, rounds: bool = True, small: bool = False) -> Sample:
    """A program with its weights and `instances` instances; equal choices give an equal sample. `waits`: the program may branch
    on numbers read from tensors. `rounds`: it may compare these with numbers rounded to float32, which PyTorch does not do in
    float64. `small`: it has about a third as many operations."""
    maker = _Maker(choose, waits, rounds, small)
    program = maker.program()
    entry = program.functions["forward"].params[0].type
    return Sample(program, tuple(maker.instance(entry, 3) for _ in range(instances)))


@st.composite
def samples(draw: st.DrawFn, waits: bool = False, instances: int = 3) -> Sample:
    """`sample` with choices that hypothesis draws."""
    return sample(lambda options: draw(st.integers(0, options - 1)), waits, instances)


def programs(waits: bool = False) -> st.SearchStrategy[Program]:
    return samples(waits, 0).map(lambda s: s.program)


@dataclass
class _Scope:
    """A body under construction: its bindings, what it may use, and `bounds` on the absolute values of tensors' elements."""

    names: Names
    callees: tuple[Function, ...]
    depth: int
    vars: list[Var] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    bounds: dict[str, float] = field(default_factory=dict)

    def inner(self) -> _Scope:
        return _Scope(self.names, self.callees, self.depth - 1, list(self.vars), [], dict(self.bounds))

    def of(self, fits: Callable[[Type], bool]) -> list[Var]:
        """Variables whose type fits, the latest first."""
        return [v for v in reversed(self.vars) if fits(v.type)]

    def variable(self, hint: str, t: Type) -> Var:
        """A new variable that a node other than a let binds."""
        var = Var(self.names.fresh(hint), t)
        self.vars.append(var)
        return var

    def bind(self, hint: str, value: Expr, bound: float = 1.0) -> Var:
        var = self.variable(hint, value.type)
        self.bounds[var.name] = bound
        self.bindings.append((var, value))
        return var

    def op(self, name: str, args: Sequence[Atom], bound: float = 1.0, **attrs: Any) -> Var:
        return self.bind(name, make_op(name, args, attrs), bound)

    def host(self, name: str, *args: Atom) -> Var:
        return self.bind(name.removeprefix("list."), Host(name, args, infer_host(name, [a.type for a in args])))

    def bound(self, atom: Atom) -> float:
        return self.bounds.get(atom.name, 1.0) if isinstance(atom, Var) else 1.0

    def small(self, atom: Atom, most: float = 1.0) -> Atom:
        """The atom, or its `tanh` if it may be large."""
        return self.op("tanh", [atom]) if isinstance(atom.type, TensorT) and self.bound(atom) > most else atom


class _Maker:
    def __init__(self, choose: Choose, waits: bool, rounds: bool, small: bool) -> None:
        self.choose, self.waits, self.rounds, self.small = choose, waits, rounds, small
        self.random = np.random.default_rng(choose(2**16))
        self.d = self.pick([2, 3, 4])
        self.vector, self.matrix = TensorT((self.d,)), TensorT((self.d, self.d))
        self.weights: dict[str, TensorT] = {}
        self.values: dict[str, np.ndarray] = {}
        self.datatypes: dict[str, DataType] = {}
        self.functions: list[Function] = []
        self.walks: dict[str, Function] = {}

    # ---- choices

    def pick(self, options: Sequence[Any]) -> Any:
        return options[self.choose(len(options))]

    def upto(self, most: int) -> int:
        return self.choose(most + 1)

    def often(self) -> bool:
        return self.upto(3) > 0

    def some_type(self) -> Type:
        v = self.vector
        types = [v, self.matrix, INT, TupleT((v, v)), ListT(v), TupleT((v, INT)), BOOL, *map(DataT, self.datatypes)]
        chosen: Type = self.pick(types)
        return chosen

    # ---- the whole

    def program(self) -> Program:
        self.types()
        for i in range(self.upto(1 if self.small else 2)):
            self.helper(f"helper{i}")
        unions = [name for name in self.datatypes if name != "Maybe"]
        if unions and self.upto(2) == 2:
            if self.often():
                self.countdown()
            self.walk(unions, self.pick(unions))
        else:
            self.walk(unions)
            if self.often():
                self.countdown()
            self.forward()
        functions = {f.name: f for f in self.functions}
        return Program(functions, self.datatypes, self.weights, values=self.values)

    def types(self) -> None:
        names = [f"D{i}" for i in range(self.pick([0, 1, 1] if self.small else [0, 1, 2, 2]))]
        plain: list[Type] = [INT, self.vector, BOOL, FLOAT, TupleT((INT, self.vector)), ListT(INT), ListT(self.vector)]
        if self.often():
            inner = self.pick([INT, self.vector, *map(DataT, names)])
            self.datatypes["Maybe"] = DataType("Maybe", (Case("None", ()), Case("Some", (("value", inner),))))
        rich: list[Type] = [
            *map(DataT, names),
            *(ListT(DataT(n)) for n in names),
            *([DataT("Maybe")] if self.datatypes else []),
        ]
        for name in names:
            cases = tuple(
                self.case(f"{name}{letter}", plain if letter == "A" else plain + 3 * rich)
                for letter in "ABC"[: self.pick([1, 2, 3, 3])]
            )
            self.datatypes[name] = DataType(name, cases)

    def case(self, name: str, types: Sequence[Type]) -> Case:
        least = 0 if name.endswith("A") else 1
        fields = tuple((f"f{i}", self.pick(types)) for i in range(least + self.upto(3 - least)))
        cls = dataclasses.make_dataclass(name, [(f, object) for f, _ in fields], frozen=True)
        return Case(name, fields, cls)

    def scope(self, params: Sequence[Var], depth: int = 2) -> _Scope:
        return _Scope(Names(p.name for p in params), tuple(self.functions), depth, list(params))

    def helper(self, name: str) -> None:
        """A function of tensors; for some of them (`w0`, `w1`) callers mostly pass weights."""
        params = [Var("x", self.vector)]
        params += [Var(f"w{i}", self.pick([self.matrix, self.vector])) for i in range(self.upto(2))]
        if self.upto(1):
            params.append(Var("n", INT))
        result = self.some_type()
        scope = self.scope(params)
        self.weighted(scope)
        self.functions.append(Function(name, tuple(params), result, self.body(scope, result, 4)))

    def walk(self, unions: Sequence[str], entry: str = "") -> None:
        """A function for each union, which recurs over its parts. The one for the union `entry` is named `forward`."""
        for name in unions:
            extra: tuple[Var, ...] = ()
            if name != entry:
                extra = tuple(Var(f"a{i}", self.pick([self.vector, INT, self.matrix])) for i in range(self.upto(2)))
            result = self.pick([self.vector, TupleT((self.vector, self.vector)), INT, ListT(self.vector), DataT(name)])
            called = "forward" if name == entry else f"walk_{name}"
            self.walks[name] = Function(called, (Var("tree", DataT(name)), *extra), result, Lit(0, INT))
        finished = []
        for name in unions:
            header = self.walks[name]
            scope = self.scope(header.params)
            arms = []
            for case in self.datatypes[name].cases:
                arm = scope.inner()
                variables = tuple(arm.variable(f, t) for f, t in case.fields)
                for v in variables:
                    if self.often():
                        self.embedded(arm, v)
                    self.recur(arm, v)
                self.weighted(arm)
                arms.append(Arm(case.name, variables, self.body(arm, header.result, 3)))
            match = Match(header.params[0], tuple(arms), header.result)
            finished.append(dataclasses.replace(header, body=from_lets(scope.bindings, match)))
        self.functions += finished

    def weighted(self, scope: _Scope) -> None:
        """Products with the matrices that the function is called with."""
        for w in [v for v in scope.vars if v.type == self.matrix]:
            x = scope.small(self.make(scope, self.vector))
            scope.op("linear", [x, w], self.d + 1.0)

    def embedded(self, scope: _Scope, part: Var) -> None:
        """Makes a vector from a part of the instance, so that later tensor work depends on the instance."""
        table = self.weight(TensorT((ROWS, self.d)))
        if part.type == INT:
            scope.op("row", [table, scope.host("mod", part, Lit(ROWS, INT))])
        elif part.type == ListT(INT):
            inside = scope.inner()
            word = inside.variable("word", INT)
            row = inside.op("row", [table, inside.host("mod", word, Lit(ROWS, INT))])
            self.summed(scope, scope.bind("rows", Map(word, part, from_lets(inside.bindings, row), ListT(self.vector))))
        elif part.type == ListT(self.vector):
            self.summed(scope, part)

    def recur(self, scope: _Scope, part: Var) -> None:
        """Recurs over one part of the value that a walk was called with: a union, an optional union, or each union in a list.
        It does so only once for each part, so that the work grows linearly with the instance's size."""
        match part.type:
            case DataT(name) if name in self.walks:
                scope.bind("walked", self.called(scope, self.walks[name], part))
            case DataT("Maybe"):
                inner = self.datatypes["Maybe"].case("Some").fields[0][1]
                if isinstance(inner, DataT) and inner.name in self.walks:
                    callee = self.walks[inner.name]
                    none, some = scope.inner(), scope.inner()
                    value = some.variable("value", inner)
                    found = from_lets(some.bindings, self.called(some, callee, value))
                    missing = self.body(none, callee.result, 1)
                    arms = (Arm("None", (), missing), Arm("Some", (value,), found))
                    scope.bind("walked", Match(part, arms, callee.result))
            case ListT(DataT(name)) if name in self.walks:
                inside = scope.inner()
                child = inside.variable("child", DataT(name))
                call = self.called(inside, self.walks[name], child)
                walked = scope.bind("walked", Map(child, part, from_lets(inside.bindings, call), ListT(call.type)))
                if call.type == self.vector and self.often():
                    self.summed(scope, walked)

    def countdown(self) -> None:
        """A function that calls itself with a number that is smaller by one."""
        n, h = Var("n", INT), Var("h", self.vector)
        params = (n, h, Var("w", self.matrix)) if self.upto(1) else (n, h)
        scope = self.scope(params)
        done = scope.host("le", n, Lit(0, INT))
        more = scope.inner()
        less = more.host("sub", n, Lit(1, INT))
        self.weighted(more)
        self.steps(more, 3)
        state = self.joined(more) or self.make(more, self.vector)
        header = Function("countdown", params, self.vector, h)
        again = self.called(more, header, less, more.small(state))
        stop = scope.inner()
        body = If(done, self.body(stop, self.vector, 1), from_lets(more.bindings, again), self.vector)
        self.functions.append(Function("countdown", params, self.vector, from_lets(scope.bindings, body)))

    def forward(self) -> None:
        unions = [DataT(name) for name in self.datatypes]
        entry = self.pick([*unions, *map(ListT, unions), TupleT((INT, ListT(self.vector))), ListT(INT), *unions])
        param = Var("instance", entry)
        scope = self.scope([param])
        parts = [param]
        if isinstance(entry, TupleT):
            parts = [scope.bind("part", Field(param, i, t)) for i, t in enumerate(entry.items)]
        for part in parts:
            self.embedded(scope, part)
            self.recur(scope, part)
        for callee in scope.callees:
            if not callee.name.startswith("walk"):
                for _ in range(self.upto(2)):
                    self.call_of(scope, callee)
        for kind in (self.loop, self.folded, self.mapped):
            if self.upto(2) == 2:
                kind(scope)
        result = self.pick([self.vector, TupleT((self.vector, INT)), ListT(self.vector), self.some_type()])
        self.functions.append(Function("forward", (param,), result, self.body(scope, result, 8)))

    # ---- bodies

    def body(self, scope: _Scope, t: Type, fuel: int) -> Expr:
        """Some steps, at most `fuel`, then a value of type `t`, which may be the last step itself or a branch."""
        self.steps(scope, fuel)
        total = self.joined(scope)
        if scope.depth > 0 and self.upto(4) == 4:
            cond = self.make(scope, BOOL)
            then, orelse = (self.body(scope.inner(), t, 1) for _ in range(2))
            return from_lets(scope.bindings, If(cond, then, orelse, t))
        result: Expr = scope.small(self.make(scope, t)) if total is None else self.holding(scope, total, t)
        if scope.bindings and scope.bindings[-1][0] == result and self.often():
            _, result = scope.bindings.pop()
        return from_lets(scope.bindings, result)

    def joined(self, scope: _Scope) -> Atom | None:
        """The sum of the vectors that nothing uses yet: a pass would remove unused work before it is tested."""
        used = {name for _, value in scope.bindings for name in free_vars(value)}
        idle = [var for var, _ in scope.bindings if var.type == self.vector and var.name not in used]
        total: Atom | None = None
        for var in idle:
            x = scope.small(var)
            total = x if total is None else scope.op("tanh", [scope.op("add", [total, x], 2.0)])
        return total

    def holding(self, scope: _Scope, x: Atom, t: Type) -> Atom:
        """A value of type `t` that contains the vector `x`, if values of the type can."""
        match t:
            case self.vector:
                return x
            case ListT(self.vector):
                return scope.host("list.append", self.make(scope, t), x)
            case TupleT(items) if self.vector in items:
                return scope.bind("pair", Tuple(tuple(self.holding(scope, x, i) for i in items), t))
        return scope.small(self.make(scope, t))

    def steps(self, scope: _Scope, fuel: int) -> None:
        if self.small:
            fuel = (fuel + 1) // 2
        for _ in range(fuel // 3 + self.upto(fuel - fuel // 3)):
            kinds = [*(6 * [self.tensor]), self.numbers, self.numbers, self.tuples, self.lists]
            if scope.depth > 0:
                kinds += [self.branch, self.loop, self.mapped, self.folded, self.taken_apart]
                kinds += 3 * [self.call] if scope.callees else []
                kinds += 2 * [self.wait] if self.waits else []
            self.pick(kinds)(scope)

    def make(self, scope: _Scope, t: Type) -> Atom:
        """A value of type `t`: mostly an existing variable, if there is one."""
        there = scope.of(lambda other: other == t)
        if there and self.often():
            chosen: Var = self.pick(there)
            return chosen
        match t:
            case TensorT():
                return self.fresh_tensor(scope, t)
            case ScalarT("int"):
                return Lit(self.upto(7), INT)
            case ScalarT("bool"):
                return scope.host(self.pick(["lt", "ge", "eq", "ne"]), self.make(scope, INT), self.make(scope, INT))
            case ScalarT():
                return Lit(self.upto(8) / 4 - 1, FLOAT)
            case TupleT(items):
                return scope.bind("pair", Tuple(tuple(scope.small(self.make(scope, i)) for i in items), t))
            case ListT(item):
                elements = tuple(scope.small(self.make(scope, item)) for _ in range(self.upto(2)))
                return scope.bind("xs", ListOf(elements, t))
            case DataT(name):
                case = self.datatypes[name].cases[0]
                args = tuple(scope.small(self.make(scope, f)) for _, f in case.fields)
                return scope.bind("made", Construct(case.name, args, t))
        raise AssertionError(t)

    def fresh_tensor(self, scope: _Scope, t: TensorT) -> Atom:
        kinds = ["weight", "full"]
        if t == self.vector:
            kinds += ["row"] * 3
        if t.shape == ():
            kinds += ["scalar"] * 2
        match self.pick(kinds):
            case "row":
                return scope.op("row", [self.weight(TensorT((ROWS, self.d))), self.index(scope, ROWS)])
            case "scalar":
                return scope.op("scalar", [self.make(scope, self.pick([INT, FLOAT]))], 16.0)
            case "weight":
                return self.weight(t)
        return scope.op("full", [], shape=t.shape, value=self.upto(4) / 4 - 0.5)

    def weight(self, t: TensorT) -> Weight:
        """A new weight, or one that is used elsewhere too."""
        known = [name for name, other in self.weights.items() if other == t]
        if known and self.upto(1):
            return Weight(self.pick(known), t)
        name = f"w.{len(self.weights)}"
        self.weights[name] = t
        scale = 1 / sqrt(t.shape[-1]) if t.shape else 1.0
        self.values[name] = self.random.uniform(-scale, scale, t.shape).astype(np.float32)
        return Weight(name, t)

    def index(self, scope: _Scope, size: int) -> Atom:
        """An int in [0, size)."""
        n = self.make(scope, INT)
        return Lit(n.value % size, INT) if isinstance(n, Lit) else scope.host("mod", n, Lit(size, INT))

    # ---- steps

    def tensor(self, scope: _Scope) -> None:
        """One operation on an existing tensor, if there is one."""
        there = scope.of(lambda t: isinstance(t, TensorT) and t.dtype == "float32")
        x = self.pick(there) if there else self.make(scope, self.vector)
        x = scope.small(x, LARGE)
        assert isinstance(x.type, TensorT)
        rank = len(x.type.shape)
        kinds = [self.unary, self.binary, self.binary, self.safe]
        if rank:
            kinds += [self.linear, self.linear, self.linear, self.matmul, self.reduction, self.move, self.move, self.along]
        self.pick(kinds)(scope, x, x.type.shape, scope.bound(x))

    def unary(self, scope: _Scope, x: Atom, shape: tuple[int, ...], bound: float) -> None:
        name = self.pick(["tanh", "sigmoid", "relu", "neg", "gelu", "sin", "cos"])
        scope.op(name, [x], 1.0 if name in ("tanh", "sigmoid", "sin", "cos") else bound)

    def binary(self, scope: _Scope, x: Atom, shape: tuple[int, ...], bound: float) -> None:
        others = [
            lambda: self.make(scope, TensorT(shape)),
            lambda: Lit(self.upto(8) / 4 - 1, FLOAT),
            lambda: Lit(self.upto(2), INT),
        ]
        if shape:
            others += [lambda: self.make(scope, TensorT(shape[1:])), lambda: self.make(scope, TensorT((1,)))]
        y = self.pick(others)()
        y = scope.small(y, LARGE)
        name = self.pick(["add", "mul", "sub", "maximum", "minimum"])
        other = float(abs(y.value)) if isinstance(y, Lit) else scope.bound(y)
        size = {"add": bound + other, "sub": bound + other, "mul": bound * other}.get(name, max(bound, other))
        scope.op(name, [y, x] if self.upto(2) == 2 else [x, y], size)

    def safe(self, scope: _Scope, x: Atom, shape: tuple[int, ...], bound: float) -> None:
        """Operations that need an argument in their domain."""
        kind = self.pick(["exp", "sqrt", "log", "div"])
        if kind == "exp":
            scope.op("exp", [scope.small(x)], 3.0)
            return
        square = scope.op("mul", [x, x], bound**2)
        positive = scope.op("add", [square, Lit(1.0, FLOAT)], bound**2 + 1)
        if kind == "div":
            y = self.make(scope, TensorT(shape))
            scope.op("div", [y, positive], scope.bound(y))
        else:
            scope.op(kind, [positive], bound + 1)

    def linear(self, scope: _Scope, x: Atom, shape: tuple[int, ...], bound: float) -> None:
        k = shape[-1]
        n = self.pick([m for m in (self.d, 2 * self.d, 1) if prod(shape[:-1]) * m <= ELEMENTS])
        w: Atom = self.weight(TensorT((n, k)))
        own = [v for v in scope.of(lambda t: t == w.type) if scope.bound(v) <= 1]
        if own and self.upto(2) == 2:
            w = self.pick(own)
        bias = [self.weight(TensorT((n,)))] if self.upto(1) else []
        product = scope.op("linear", [x, w, *bias], bound * k + 1)
        if self.upto(3) == 3:  # as in most networks: nothing else uses the product
            scope.vars.remove(product)
            scope.op("relu", [product], bound * k + 1)

    def matmul(self, scope: _Scope, x: Atom, shape: tuple[int, ...], bound: float) -> None:
        k = shape[-1]
        y = self.make(scope, TensorT(self.pick([(k,), (k, k), (k, 2)])))
        y = scope.small(y)
        scope.op("matmul", [x, y], bound * k)

    def reduction(self, scope: _Scope, x: Atom, shape: tuple[int, ...], bound: float) -> None:
        name, dim = self.pick(["sum", "mean", "max"]), self.upto(len(shape) - 1)
        scope.op(name, [x], bound * (shape[dim] if name == "sum" else 1), dim=dim, keepdim=bool(self.upto(1)))

    def along(self, scope: _Scope, x: Atom, shape: tuple[int, ...], bound: float) -> None:
        if self.upto(1):
            scope.op("softmax", [x], 1.0, dim=self.upto(len(shape) - 1))
        else:
            last = TensorT(shape[-1:])
            scope.op("layer_norm", [x, self.weight(last), self.weight(last)], sqrt(shape[-1]) + 1, eps=0.1)

    def move(self, scope: _Scope, x: Atom, shape: tuple[int, ...], bound: float) -> None:
        dim = self.upto(len(shape) - 1)
        rooms = ["slice", "index", "reshape", "permute"] + (["cat", "stack"] if 2 * prod(shape) <= ELEMENTS else [])
        match self.pick(rooms):
            case "slice":
                start = self.upto(shape[dim] - 1)
                scope.op("slice", [x], bound, dim=dim, start=start, stop=start + 1 + self.upto(shape[dim] - start - 1))
            case "index":
                scope.op("index", [x], bound, dim=dim, i=self.upto(shape[dim] - 1))
            case "reshape":
                n = prod(shape)
                scope.op("reshape", [x], bound, shape=self.pick([(n,), (1, n), (n, 1)] + ([(2, n // 2)] if n % 2 == 0 else [])))
            case "permute":
                left = list(range(len(shape)))
                dims = tuple(left.pop(self.upto(len(left) - 1)) for _ in shape)
                scope.op("permute", [x], bound, dims=dims)
            case name:
                y = self.make(scope, TensorT(shape))
                scope.op(name, [x, y], max(bound, scope.bound(y)), dim=dim)

    def numbers(self, scope: _Scope) -> None:
        a, b = self.make(scope, INT), self.make(scope, INT)
        match self.pick(["int", "int", "int", "bool", "float", "float", "float", "shift", "signed"]):
            case "int":
                name = self.pick(["add", "sub", "mul", "min", "max", "bitand", "bitxor", "bitor"])
                scope.host("bitand", scope.host(name, a, b), Lit(15, INT))
            case "signed":
                difference = scope.host("sub", a, b)
                divisor = Lit(self.pick([2, 3, -2]), INT)
                name = self.pick(["neg", "abs", "floordiv", "mod"])
                scope.host(name, difference, *([divisor] if name in ("floordiv", "mod") else []))
            case "bool":
                c = scope.host(self.pick(["lt", "le", "gt", "ge", "eq", "ne"]), a, b)
                if self.upto(1):
                    scope.host("not", c)
            case "float":
                self.floats(scope)
            case "shift":
                wide = scope.host("shl", a, Lit(self.upto(3), INT))
                scope.host("bitand", scope.host("shr", wide, Lit(1, INT)), Lit(15, INT))

    def floats(self, scope: _Scope) -> None:
        """Arithmetic of host floats, which gives the same float64 everywhere, so that decisions may depend on it."""
        x = self.make(scope, FLOAT)
        y = self.make(scope, self.pick([FLOAT, INT]))
        name = self.pick(["add", "sub", "mul", "min", "max", "neg", "abs", "div", "floordiv", "mod"])
        if name in ("neg", "abs"):
            value = scope.host(name, x)
        elif name in ("div", "floordiv", "mod"):
            divisor: Lit = self.pick([Lit(f, FLOAT) for f in (0.1, 0.5, -0.7, 2.5)] + [Lit(3, INT), Lit(-2, INT)])
            value = scope.host(name, self.pick([x, y]) if divisor.type == FLOAT else x, divisor)
        else:
            if name in ("min", "max") and y.type == INT:
                y = scope.host("float", y)  # Python returns one of the two unchanged, an int or a float
            value = scope.host(name, *self.pick([(x, y), (y, x)]))
        small = scope.host("mod", value, Lit(8.0, FLOAT))  # keeps chains of such steps from growing
        match self.pick(["float", "int", "bool"]):
            case "int":
                scope.host("int", small)
            case "bool":
                compare = self.pick(["lt", "le", "gt", "ge", "eq", "ne"])
                scope.host(compare, *self.pick([(small, y), (y, small), (value, Lit(0.5, FLOAT))]))

    def tuples(self, scope: _Scope) -> None:
        there = scope.of(lambda t: isinstance(t, TupleT))
        if there and self.often():
            pair = self.pick(there)
            i = self.upto(len(pair.type.items) - 1)
            scope.bind("part", Field(pair, i, pair.type.items[i]))
        else:
            items = tuple(scope.small(self.make(scope, self.some_type())) for _ in range(1 + self.upto(2)))
            scope.bind("pair", Tuple(items, TupleT(tuple(a.type for a in items))))

    def lists(self, scope: _Scope) -> None:
        xs = self.list_(scope)
        assert isinstance(xs.type, ListT)
        kinds = ["len", "reverse", "slice", "append", "get", "concat", "enumerate", "zip", "range"]
        if isinstance(xs.type.item, TensorT):
            kinds += ["sum"] * 3
        if xs.type.item == INT:
            kinds += ["order"] * 2
        match self.pick(kinds):
            case "sum":
                self.summed(scope, xs)
            case "slice":
                start = self.upto(2)
                scope.host("list.slice", xs, Lit(start, INT), Lit(start + self.upto(2), INT))
            case "append":
                scope.host("list.append", xs, scope.small(self.make(scope, xs.type.item)))
            case "get":
                longer = scope.host("list.append", xs, scope.small(self.make(scope, xs.type.item)))
                scope.host("list.get", longer, Lit(self.pick([0, -1]), INT))
            case "concat":
                scope.host("list.concat", xs, self.make(scope, xs.type))
            case "zip":
                scope.host("zip", xs, self.list_(scope))
            case "range":
                stop = scope.host("bitand", self.make(scope, INT), Lit(3, INT))
                scope.host("range", Lit(0, INT), stop, Lit(1 + self.upto(1), INT))
            case "enumerate":
                scope.host("enumerate", xs)
            case "order":
                scope.host("list.order", xs, Lit(bool(self.upto(1)), BOOL))
            case name:
                scope.host(f"list.{name}", xs)

    def summed(self, scope: _Scope, xs: Atom) -> None:
        """The sum, maximum or minimum of a list of tensors, or attention over it. An item is appended first if an empty list
        would be an error."""
        assert isinstance(xs.type, ListT)
        vectors = isinstance(xs.type.item, TensorT) and len(xs.type.item.shape) == 1
        name = self.pick(["list_sum", "list_sum", "list_max", "list_min", *(["list_attention"] if vectors else [])])
        nonempty = name != "list_sum" or bool(self.upto(1))
        if nonempty:
            xs = scope.host("list.append", xs, scope.small(self.make(scope, xs.type.item)))
        if name == "list_attention":
            assert isinstance(xs.type, ListT)
            query = scope.op("tanh", [self.make(scope, xs.type.item)], 1.0)
            scope.op(name, [query, xs, xs], 2 * LARGE, scale=0.25)
        else:
            scope.op(name, [xs], 2 * LARGE, nonempty=nonempty)

    def list_(self, scope: _Scope) -> Atom:
        there: list[Atom] = [*scope.of(lambda t: isinstance(t, ListT))]
        if there and self.often():
            chosen: Atom = self.pick(there)
            return chosen
        return self.make(scope, ListT(self.pick([self.vector, INT])))

    def branch(self, scope: _Scope) -> None:
        self.branched(scope, self.make(scope, BOOL))

    def branched(self, scope: _Scope, cond: Atom) -> None:
        t = self.some_type()
        scope.bind("chosen", If(cond, self.body(scope.inner(), t, 2), self.body(scope.inner(), t, 2), t))

    def taken_apart(self, scope: _Scope) -> None:
        there = scope.of(lambda t: isinstance(t, DataT))
        if not there:
            return
        value = self.pick(there)
        t, arms = self.some_type(), []
        for case in self.datatypes[value.type.name].cases:
            inner = scope.inner()
            variables = tuple(inner.variable(f, ft) for f, ft in case.fields)
            arms.append(Arm(case.name, variables, self.body(inner, t, 2)))
        scope.bind("matched", Match(value, tuple(arms), t))

    def mapped(self, scope: _Scope) -> None:
        xs = self.list_(scope)
        assert isinstance(xs.type, ListT)
        inner = scope.inner()
        var = inner.variable("each", xs.type.item)
        body = self.body(inner, self.pick([self.vector, TupleT((self.vector, self.vector)), self.some_type()]), 3)
        mapped = scope.bind("mapped", Map(var, xs, body, ListT(body.type)))
        if body.type == self.vector and self.upto(1):
            self.summed(scope, mapped)

    def folded(self, scope: _Scope) -> None:
        xs = self.list_(scope)
        assert isinstance(xs.type, ListT)
        types, init = self.carried(scope)
        inner = scope.inner()
        var = inner.variable("each", xs.type.item)
        variables = tuple(inner.variable("state", t) for t in types)
        body = self.body(inner, TupleT(types), 3)
        self.opened(scope, scope.bind("folded", Fold(var, xs, variables, init, body, TupleT(types))))

    def loop(self, scope: _Scope) -> None:
        stop = scope.host("bitand", self.make(scope, INT), Lit(3, INT))
        types, init = self.carried(scope)
        inner = scope.inner()
        i = inner.variable("i", INT)
        variables = tuple(inner.variable("state", t) for t in types)
        test = inner.inner()
        cond = from_lets(test.bindings, Host("lt", (i, stop), BOOL))
        self.steps(inner, 3)
        after = inner.host("add", i, Lit(1, INT))
        total = self.joined(inner)
        state = tuple(inner.small(self.make(inner, t)) if total is None else self.holding(inner, total, t) for t in types)
        t = TupleT((INT, *types))
        body = from_lets(inner.bindings, Tuple((after, *state), t))
        self.opened(scope, scope.bind("looped", Loop((i, *variables), (Lit(0, INT), *init), cond, body, t)))

    def carried(self, scope: _Scope) -> tuple[tuple[Type, ...], tuple[Atom, ...]]:
        types = tuple(
            self.pick([self.vector, self.vector, INT, ListT(self.vector), self.matrix]) for _ in range(1 + self.upto(1))
        )
        return types, tuple(scope.small(self.make(scope, t)) for t in types)

    def opened(self, scope: _Scope, value: Var) -> None:
        assert isinstance(value.type, TupleT)
        for i, t in enumerate(value.type.items):
            scope.bind("last", Field(value, i, t))

    def call(self, scope: _Scope) -> None:
        self.call_of(scope, self.pick(scope.callees))

    def call_of(self, scope: _Scope, callee: Function) -> None:
        args: list[Atom] = []
        if callee.name == "countdown":
            args.append(scope.host("bitand", self.make(scope, INT), Lit(3, INT)))
        scope.bind("called", self.called(scope, callee, *args))

    def called(self, scope: _Scope, callee: Function, *args: Atom) -> Call:
        """A call with `args` and values for the other parameters; most matrices among them are weights."""
        rest = callee.params[len(args) :]
        more: list[Atom] = []
        for p in rest:
            own = [v for v in scope.vars if v == p]
            if own and self.often():  # most recursions pass on their own parameter
                more.append(own[0])
            else:
                more.append(self.weight(p.type) if p.type == self.matrix and self.often() else self.make(scope, p.type))
        return Call(callee.name, (*args, *(scope.small(a) for a in more)), callee.result)

    def wait(self, scope: _Scope) -> None:
        """Branch on a number in [-1/2, 1/2] that is compared with one of -1, 1, 3, ..., and go on with the number itself."""
        if self.upto(3) == 3:
            self.edge(scope)
            return
        there = scope.of(lambda t: isinstance(t, TensorT))
        x = scope.small(self.pick(there) if there else self.make(scope, self.vector), LARGE)
        assert isinstance(x.type, TensorT)
        flat = scope.op("reshape", [x], scope.bound(x), shape=(x.type.size,))
        form = self.upto(2)
        whole = form == 2  # all elements are read at once
        one = flat if whole else scope.op("mean", [flat], scope.bound(x), dim=0, keepdim=bool(form))
        half = scope.op("mul", [scope.op("tanh", [one]), Lit(0.5, FLOAT)])
        number = scope.bind("number", Item(half, ListT(FLOAT) if whole else FLOAT))
        scope.vars.pop()  # it is rounded: no other decision may depend on it
        if whole:
            number = scope.host("list.get", number, Lit(-1, INT))
            scope.vars.pop()
        if self.upto(1):
            scope.op("scalar", [number])
        twice = scope.host("mul", self.make(scope, INT), Lit(2, INT))
        self.branched(scope, scope.host("gt", number, scope.host("sub", twice, Lit(1, INT))))

    def edge(self, scope: _Scope) -> None:
        """Branch on an element of a weight, which is exact, compared with a Python number that is equal or adjacent to it in
        float32. The number is compared unrounded, or rounded to float32 as torch does it for a tensor."""
        near = EDGES[self.upto(len(EDGES) - 1)]
        name = f"w.edge.{len(self.weights)}"
        single = np.float32(near)
        self.values[name] = np.array([single, np.nextafter(single, np.float32(2)), np.nextafter(single, np.float32(-2))])
        self.weights[name] = TensorT((3,))
        at = self.upto(2)
        if at == 0:  # the second highest of all elements
            numbers = scope.bind("numbers", Item(Weight(name, self.weights[name]), ListT(FLOAT)))
            second = scope.host("list.get", scope.host("list.top", numbers, Lit(2, INT)), Lit(1, INT))
            number = scope.host("list.get", numbers, second)
        else:
            element = scope.op("index", [Weight(name, self.weights[name])], 1.0, dim=0, i=at)
            number = scope.bind("number", Item(element, FLOAT))
        other: Atom = Lit(near, FLOAT)
        if self.rounds and self.upto(1):
            other = scope.host("float32", other)
        compare = self.pick(["lt", "le", "gt", "ge", "eq", "ne"])
        self.branched(scope, scope.host(compare, *self.pick([(number, other), (other, number)])))

    # ---- instances

    def instance(self, t: Type, depth: int) -> Any:
        match t:
            case TensorT(shape):
                return torch.from_numpy(self.random.uniform(-1, 1, shape).astype(np.float32))
            case ScalarT("int"):
                return self.upto(7)
            case ScalarT("bool"):
                return bool(self.upto(1))
            case ScalarT():
                return self.upto(8) / 4 - 1
            case TupleT(items):
                return tuple(self.instance(i, depth) for i in items)
            case ListT(item):
                most = 3 if depth > 0 or not isinstance(item, DataT) else 0
                return [self.instance(item, depth) for _ in range(self.upto(most))]
            case DataT(name):
                cases = self.datatypes[name].cases
                case = cases[0] if depth <= 0 else self.pick(cases[::-1])
                args = [self.instance(f, depth - 1) for _, f in case.fields]
                if name == "Maybe":
                    return args[0] if args else None
                return case.cls(*args)
        raise AssertionError(t)
