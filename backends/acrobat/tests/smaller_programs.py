"""Shrinks programs that show a defect: removes instances, results and bindings as long as the defect remains.

The value of a binding is replaced by a plain value of its type, an earlier variable, or one arm of its branch; what is unused
then is removed. Runs of bindings are tried together first, so that a large program takes few attempts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import count

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.core.types import BOOL, INT, DataT, ListT, ScalarT, TensorT, TupleT, Type
from backends.acrobat.ir.make import make_op
from backends.acrobat.ir.nodes import Atom, Construct, Expr, If, ListOf, Lit, Loop, Match, Op, Program, Tuple, Var, Weight
from backends.acrobat.ir.renaming import substitute
from backends.acrobat.ir.tests.programs import Sample
from backends.acrobat.ir.verifier import VerifyError, verify
from backends.acrobat.ir.visitor import Binding, binders, bodies, free_vars, from_lets, lets, map_bodies, with_bodies
from backends.acrobat.passes.dead import remove_dead

Fails = Callable[[Sample], bool]
Rewrite = Callable[[Expr, Sequence[Var], Program], Expr | None]
"""Gives the expression that replaces a value, from the value, the variables in scope and the program; None to leave it."""
WIDTHS = (64, 16, 4, 1)
NUMBERS = count()
"""Numbers for names that occur in no program yet."""


def smaller(sample: Sample, fails: Fails, attempts: int) -> Sample:
    """The smallest sample found for which `fails` is true, after at most `attempts` calls of it."""
    search = _Search(sample, fails, attempts)
    while search.attempts > 0:
        before = search.best
        search.instances()
        search.results()
        for rewrite in REWRITES:
            search.bindings(rewrite)
        if search.best is before:
            break
    return search.best


class _Search:
    def __init__(self, best: Sample, fails: Fails, attempts: int) -> None:
        self.best, self.fails, self.attempts = best, fails, attempts

    def better(self, other: Sample) -> bool:
        if self.attempts <= 0:
            return False
        self.attempts -= 1
        if not self.fails(other):
            return False
        self.best = other
        return True

    def program(self, program: Program) -> bool:
        """Whether the changed program is well formed and fails; it then becomes the best one."""
        program = _tidy(program)
        try:
            verify(program)
        except VerifyError:
            return False
        return self.better(replace(self.best, program=program))

    def instances(self) -> None:
        at = 0
        while at < len(self.best.instances) and len(self.best.instances) > 1:
            left = self.best.instances[:at] + self.best.instances[at + 1 :]
            at += not self.better(replace(self.best, instances=left))

    def results(self) -> None:
        """Removes components of the tuple that the entry returns."""
        for width in WIDTHS:
            at = 0
            while True:
                program = self.best.program
                entry = program.functions[program.entry]
                bindings, tail = lets(entry.body)
                if not isinstance(tail, Tuple) or at >= len(tail.items):
                    break
                items = tail.items[:at] + tail.items[at + width :]
                result = TupleT(tuple(i.type for i in items))
                entry = replace(entry, result=result, body=from_lets(bindings, replace(tail, items=items, type=result)))
                if not self.program(replace(program, functions={**program.functions, entry.name: entry})):
                    at += width

    def bindings(self, rewrite: Rewrite) -> None:
        for width in WIDTHS:
            at = 0
            while True:
                sites = _Sites(self.best.program, rewrite, range(at, at + width))
                program = sites.run()
                if at >= sites.count:
                    break
                if not self.program(program):
                    at += width


class _Sites:
    """Rewrites a program at the sites whose numbers are in `chosen`. A site is a value that `rewrite` can replace; sites are
    numbered in the order of the walk, and `count` is their number after `run`."""

    def __init__(self, program: Program, rewrite: Rewrite, chosen: Collection[int]) -> None:
        self.before, self.rewrite, self.chosen, self.count = program, rewrite, chosen, 0

    def run(self) -> Program:
        recursive = CallGraph(self.before).recursive
        functions = {}
        for name, f in reversed(list(self.before.functions.items())):  # callers first, so that whole callees become unused
            counts = name in recursive and not any(isinstance(p.type, DataT) for p in f.params)
            functions[name] = replace(f, body=self.body(f.body, f.params, counts))
        return replace(self.before, functions={name: functions[name] for name in self.before.functions})

    def body(self, expr: Expr, scope: Sequence[Var], counts: bool) -> Expr:
        """The rewritten body. `counts`: it belongs to a loop or recursion with a counter, which must still end; then ints,
        bools and the body's result are not rewritten."""
        bindings, tail = lets(expr)
        scope = list(scope)
        done: list[Binding] = []
        for var, value in bindings:
            done += self.value(var, value, scope, counts)
            scope.append(var)
        if counts:
            return from_lets(done, tail)
        *before, (_, end) = self.value(Var("", tail.type), tail, scope, False)
        return from_lets(done + before, end)

    def value(self, var: Var, value: Expr, scope: Sequence[Var], counts: bool) -> list[Binding]:
        new = None if counts and value.type in (INT, BOOL) else self.rewrite(value, scope, self.before)
        if new is not None:
            self.count += 1
            if self.count - 1 in self.chosen:
                bindings, tail = lets(new)
                return [*bindings, (var, tail)]
        if isinstance(value, Match):
            arms = [replace(a, body=self.body(a.body, [*scope, *a.vars], counts)) for a in value.arms]
            return [(var, replace(value, arms=tuple(arms)))]
        if isinstance(value, Loop):
            return [(var, replace(value, body=self.body(value.body, [*scope, *value.vars], True)))]
        inner = [self.body(body, [*scope, *binders(value)], counts) for body in bodies(value)]
        return [(var, with_bodies(value, inner))]


def _plain(value: Expr, scope: Sequence[Var], program: Program) -> Expr | None:
    """Rewrites to the plainest value of the type."""
    bindings: list[Binding] = []
    plain = _plainest(value.type, program, bindings)
    same = type(plain) is type(value) and not isinstance(value, ListOf | Op)
    return None if plain is None or plain == value or same else from_lets(bindings, plain)


def _plainest(t: Type, program: Program, bindings: list[Binding]) -> Expr | None:
    """The plainest value of a type; its parts are added to `bindings`. None if the type has none, such as some unions."""

    def parts(types: Sequence[Type]) -> tuple[Var, ...] | None:
        out = []
        for part in types:
            value = _plainest(part, program, bindings)
            if value is None:
                return None
            out.append(Var(f"plain_{next(NUMBERS)}", part))
            bindings.append((out[-1], value))
        return tuple(out)

    match t:
        case TensorT(shape, "float32"):
            return make_op("full", [], {"shape": shape, "value": 0.5})
        case ScalarT(kind):
            return Lit({"int": 0, "bool": False, "float": 0.5}[kind], t)
        case ListT():
            return ListOf((), t)
        case TupleT(types):
            items = parts(types)
            return None if items is None else Tuple(items, t)
        case DataT(name):
            first = program.datatypes[name].cases[0]
            fields = [f for _, f in first.fields]
            args = None if any(isinstance(f, DataT) for f in fields) else parts(fields)
            return None if args is None else Construct(first.name, args, t)
    return None


def _earlier(value: Expr, scope: Sequence[Var], program: Program) -> Expr | None:
    """Rewrites to the first variable of the type in scope."""
    found = next((v for v in scope if v.type == value.type), None)
    return None if isinstance(value, Var) else found


def _then(value: Expr, scope: Sequence[Var], program: Program) -> Expr | None:
    return value.then if isinstance(value, If) else None


def _orelse(value: Expr, scope: Sequence[Var], program: Program) -> Expr | None:
    return value.orelse if isinstance(value, If) else None


def _arm(value: Expr, scope: Sequence[Var], program: Program) -> Expr | None:
    """Rewrites to the first arm of a match that uses no variable of its case."""
    if not isinstance(value, Match):
        return None
    return next((a.body for a in value.arms if not free_vars(a.body) & {v.name for v in a.vars}), None)


REWRITES: tuple[Rewrite, ...] = (_plain, _earlier, _then, _orelse, _arm)


def _tidy(program: Program) -> Program:
    """The program without variables that are other names of atoms, and without unused bindings."""
    functions = {name: replace(f, body=_renamed(f.body)) for name, f in program.functions.items()}
    return remove_dead(replace(program, functions=functions))


def _renamed(expr: Expr) -> Expr:
    bindings, tail = lets(expr)
    kept: list[Binding] = []
    same: dict[str, Atom] = {}
    for var, value in bindings:
        value = substitute(map_bodies(value, _renamed), same)
        if isinstance(value, (Var, Lit, Weight)):
            same[var.name] = value
        else:
            kept.append((var, value))
    return from_lets(kept, substitute(map_bodies(tail, _renamed), same))
