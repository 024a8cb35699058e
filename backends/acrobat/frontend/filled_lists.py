"""Which loops of a program are sure to have a round, since their lists have an item: what such a loop adds up is never the
number that it began with.

A list has an item where the source says so (`[x, *others]`), where something was appended to it, where it was made of one that
has an item, and behind a test: `if not xs: return None`. This is followed through the finished program, into functions and out
of them: at first every list is taken to have an item, and then it is found, round after round, where one may be empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from backends.acrobat.core.host import HOST
from backends.acrobat.core.types import BOOL
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.visitor import lets

Filled = frozenset[tuple[int, ...]]
"""The parts of a value that are lists which have an item, each as the indices of tuples that lead to it."""
NONE: Filled = frozenset()
ITSELF: Filled = frozenset([()])
Test = tuple[frozenset[str], frozenset[str]]
"""The lists that have an item if a bool is true, and those if it is not."""

COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge"}
NEVER_EMPTIER = {"list.reverse", "list.concat", "enumerate", "phase", "list.append", "list.order"}
"""The operations that give a list with an item if one of their operands is one."""


def filled_folds(functions: Mapping[str, n.Function]) -> set[int]:
    """The ids of the folds whose lists always have an item. `forward` is among the functions."""
    whole = _Whole(functions)
    while whole.changed:
        whole.changed = False
        whole.folds.clear()
        for name in functions:
            if name in whole.params:
                whole.give(name, _Lists(whole, functions[name]).result)
    return whole.folds


class _Whole:
    """What is known of all functions. It becomes less in each round; None stands for a value that was not computed so far."""

    def __init__(self, functions: Mapping[str, n.Function]) -> None:
        self.params: dict[str, list[Filled]] = {"forward": [NONE for _ in functions["forward"].params]}
        self.results: dict[str, Filled | None] = {}
        self.folds: set[int] = set()
        self.changed = True

    def give(self, function: str, result: Filled | None) -> None:
        before = self.results.get(function)
        self.results[function] = _either(before, result)
        self.changed |= self.results[function] != before

    def call(self, function: str, args: list[Filled]) -> Filled | None:
        before = self.params.get(function)
        self.params[function] = args if before is None else [a & b for a, b in zip(args, before, strict=True)]
        self.changed |= self.params[function] != before
        return self.results.get(function)


class _Lists:
    """What is known of one function's values. None stands for one that is never computed, as behind an error."""

    def __init__(self, whole: _Whole, function: n.Function) -> None:
        self.whole = whole
        self.env = dict(zip((p.name for p in function.params), whole.params[function.name], strict=True))
        self.known: frozenset[str] = frozenset()  # lists that have an item as far as tests have told
        self.as_long: dict[str, str] = {}  # list -> the one of which it has the length
        self.sizes: dict[str, str] = {}  # int -> the list of which it is the length
        self.tests: dict[str, Test] = {}
        self.result = self.value(function.body)

    def of(self, atom: n.Atom) -> Filled:
        if not isinstance(atom, n.Var):
            return NONE
        found, origin = self.env.get(atom.name, NONE), self._origin(atom)
        return found | ITSELF if origin in self.known or () in self.env.get(origin, NONE) else found

    def value(self, expr: n.Expr) -> Filled | None:
        bindings, tail = lets(expr)
        for var, bound in bindings:
            found = self._computed(bound)
            if found is None:
                return None
            self.env[var.name] = found
            self._note(var.name, bound)
        return self._computed(tail)

    def within(self, expr: n.Expr, known: Iterable[str] = ()) -> Filled | None:
        """The value of an expression that is computed only where these lists have an item."""
        before = self.known
        self.known = before.union(known)
        found = self.value(expr)
        self.known = before
        return found

    def _computed(self, expr: n.Expr) -> Filled | None:
        match expr:
            case n.Var():
                return self.of(expr)
            case n.ListOf(items):
                return ITSELF if items else NONE
            case n.Tuple(items):
                return _parts(map(self.of, items))
            case n.Field(of, index):
                return _part(self.of(of), index)
            case n.Host("fail"):
                return None
            case n.Host():
                return self._host(expr)
            case n.Call(function, args):
                return self.whole.call(function, [self.of(a) for a in args])
            case n.If():
                yes, no = self._test(expr.cond)
                then, orelse = self.within(expr.then, yes), self.within(expr.orelse, no)
                if then is None or orelse is None:  # an error: what follows is computed only after the other arm
                    self.known = self.known.union(no if then is None else yes)
                return _either(then, orelse)
            case n.Match(arms=arms):
                found: Filled | None = None
                for arm in arms:
                    found = _either(found, self.within(arm.body))
                return found
            case n.Map(iterable=iterable, body=body):
                self.within(body)
                return self.of(iterable) & ITSELF
            case n.Fold() | n.Loop():
                return self._repeated(expr)
        return NONE

    def _host(self, e: n.Host) -> Filled:
        if e.op == "list.get" and isinstance(e.args[0], n.Var):
            self.known |= {self._origin(e.args[0])}
        if e.op == "parallel" and len(e.args) > 1:
            return _parts(map(self.of, e.args))
        if e.op == "range":
            bounds = [a.value for a in e.args if isinstance(a, n.Lit)]
            return ITSELF if len(bounds) == len(e.args) and len(range(*map(int, bounds))) > 0 else NONE
        of_args = [() in self.of(a) for a in e.args]
        filled = any(of_args) or e.op == "list.append" if e.op in NEVER_EMPTIER else e.op == "zip" and all(of_args)
        return ITSELF if filled else NONE

    def _repeated(self, e: n.Fold | n.Loop) -> Filled | None:
        one_round = isinstance(e, n.Fold) and () in self.of(e.iterable)
        current = _parts(map(self.of, e.init))
        while True:
            for i, var in enumerate(e.vars):
                self.env[var.name] = _part(current, i)
            if isinstance(e, n.Loop):
                self.within(e.cond)
            last = self.within(e.body)
            before, current = current, current if last is None else current & last
            if before == current:
                break
        (self.whole.folds.add if one_round else self.whole.folds.discard)(id(e))  # an outer loop's later round may know less
        return last if one_round else current

    def _note(self, name: str, e: n.Expr) -> None:
        """Note what a variable says of the lengths of lists."""
        match e:
            case n.Map(iterable=n.Var() as of):
                self.as_long[name] = self._origin(of)
            case n.Host("list.reverse" | "enumerate" | "phase", (n.Var() as of,)):
                self.as_long[name] = self._origin(of)
            case n.Host("range", (n.Lit(value=0), n.Var() as size, n.Lit(value=1))) if size.name in self.sizes:
                self.as_long[name] = self.sizes[size.name]
            case n.Host("list.len", (n.Var() as of,)):
                self.sizes[name] = self._origin(of)
            case n.Host("not", (of,)):
                yes, no = self._test(of)
                self.tests[name] = no, yes
            case n.Host(op, args) if op in COMPARISONS:
                self._note_comparison(name, op, args)
            case n.If(cond, then, orelse, type) if type == BOOL:  # such as `cond and then`, and `cond or orelse`
                arms = [(self._test(cond)[i], arm, self._test(arm)) for i, arm in enumerate((then, orelse))]
                self.tests[name] = _where(arms, True), _where(arms, False)

    def _note_comparison(self, name: str, op: str, args: Sequence[n.Atom]) -> None:
        """Note what the comparison of a length with a written number says: a list has an item where the answer is not the one
        for the length 0."""
        lists = frozenset(self.sizes[a.name] for a in args if isinstance(a, n.Var) and a.name in self.sizes)
        if len(lists) == 1 and any(isinstance(a, n.Lit) for a in args):
            of_none = HOST[op].evaluate(*(a.value if isinstance(a, n.Lit) else 0 for a in args))
            self.tests[name] = (frozenset(), lists) if of_none else (lists, frozenset())

    def _test(self, expr: n.Expr) -> Test:
        return self.tests.get(getattr(lets(expr)[1], "name", ""), (frozenset(), frozenset()))

    def _origin(self, var: n.Var) -> str:
        return self.as_long.get(var.name, var.name)


def _where(arms: Sequence[tuple[frozenset[str], n.Expr, Test]], answer: bool) -> frozenset[str]:
    """The lists that have an item where a choice gives that answer, by any arm that may give it. `arms` are the lists that have
    one where an arm is taken, the arm, and what its value tells."""
    found = [known | test[not answer] for known, arm, test in arms if not isinstance(arm, n.Lit) or arm.value == answer]
    return frozenset.intersection(*found) if found else frozenset()


def _part(of: Filled, index: int) -> Filled:
    return frozenset(way[1:] for way in of if way[:1] == (index,))


def _parts(parts: Iterable[Filled]) -> Filled:
    return frozenset((i, *way) for i, part in enumerate(parts) for way in part)


def _either(one: Filled | None, other: Filled | None) -> Filled | None:
    return one & other if one is not None and other is not None else other if one is None else one
