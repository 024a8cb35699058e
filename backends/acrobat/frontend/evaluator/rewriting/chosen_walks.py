"""Loops over one of two iterables of different kinds, chosen at run time: `for t in itertools.count() if gold is None else
range(len(gold))`, `order = reversed(xs) if back else xs`.

The program walks over lists of one type. So each of the two becomes a list, where that is the same: nothing in the loop may
change what is walked over. A counter has no end, so the loop becomes a `while` with an index.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping, Sequence
from copy import copy, deepcopy
from typing import Any

from backends.acrobat.frontend.evaluator.rewriting.counting import makes_counter, start_and_step
from backends.acrobat.frontend.evaluator.syntax.bodies import placed, with_bodies
from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted, quoted_expression
from backends.acrobat.frontend.syntax_nodes import all_parameters, bound_names, children, every_node

NEW = frozenset({"range", "sorted", "list", "tuple"})
"""Functions of Python's that compute all that they give when they are called."""
LATER = frozenset({"reversed", "enumerate", "zip"})
"""Functions of Python's whose iterators show what their arguments are by then, and change nothing else."""
OF_TENSORS = frozenset({"unbind", "split", "chunk", "tolist"})
OF_DICTIONARIES = frozenset({"items", "keys", "values"})
"""Methods without arguments whose results show what the dictionary is by then."""
INNER = (ast.FunctionDef, ast.Lambda, ast.ClassDef)


def with_chosen_walks(definition: ast.FunctionDef, namespace: Mapping[str, Any]) -> ast.FunctionDef:
    """A function with its loops rewritten so that each walks over lists of one type. `namespace` has the values of the names
    from outside of it."""
    nodes = every_node(definition)
    if not any(isinstance(x, ast.IfExp) for x in nodes) or not any(isinstance(x, ast.For) for x in nodes):
        return definition
    result = copy(definition)
    result.body = _Walks(definition, namespace).body(definition.body)
    return result


class ChosenWalk(ast.IfExp):
    """A choice of two iterables that a loop walks over. If the choice is made at run time, the chosen one is walked over as a
    list of its elements."""

    def as_lists(self) -> ast.IfExp:
        """The choice between lists."""
        return ast.copy_location(ast.IfExp(self.test, _listed(self.body), _listed(self.orelse)), self)


class _Walks:
    """Rewrites the loops of a function."""

    def __init__(self, definition: ast.FunctionDef, namespace: Mapping[str, Any]) -> None:
        self.namespace = namespace
        nodes = every_node(definition)
        self.names = [x for x in nodes if isinstance(x, ast.Name)]
        self.local, self.arguments = bound_names(definition), all_parameters(definition)
        inner = (x for n in nodes if n is not definition and isinstance(n, INNER) for x in every_node(n))
        self.seen_inside = {x.id for x in inner if isinstance(x, ast.Name)}

    def body(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for s in body:
            s = with_bodies(s, self.body)
            match s:
                case ast.For(iter=ast.IfExp() as choice) if new := self._loop(s, choice):
                    result += new
                case ast.For(iter=ast.Name(name)) if (made := self._statement_naming(result, name)) is not None and (
                    new := self._loop(s, result[made].value)  # type: ignore[attr-defined]
                ):
                    del result[made]
                    result += new
                case _:
                    result.append(s)
        return result

    def _statement_naming(self, before: Sequence[ast.stmt], name: str) -> int | None:
        """The index of the statement before a loop that binds its iterable to `name`, if nothing else uses that name, and no
        statement in between uses a name that this statement reads; None if there is no such statement."""
        if sum(x.id == name for x in self.names) != 2 or name in self.arguments:
            return None
        for at in range(len(before) - 1, -1, -1):
            match before[at]:
                case ast.Assign([ast.Name(target)], ast.IfExp() as choice) if target == name:
                    read = {x.id for x in every_node(choice) if isinstance(x, ast.Name)}
                    since = {x.id for s in before[at + 1 :] for x in every_node(s) if isinstance(x, ast.Name)}
                    return at if read.isdisjoint(since) else None
        return None

    def _loop(self, s: ast.For, choice: ast.IfExp) -> list[ast.stmt]:
        """The statements that replace a loop over one of two iterables; none if it stays as it is."""
        arms = [choice.body, choice.orelse]
        endless = [makes_counter(arm, self.namespace, self.local) for arm in arms]
        finite = [arm for arm, has_no_end in zip(arms, endless, strict=True) if not has_no_end]
        if not all(self._stays(arm, s) for arm in finite):
            return []
        if len(finite) == 1:
            return self._counted(s, choice, endless[0]) if _has_no_effects(choice.test) else []
        if len(finite) == 2 and not all(isinstance(arm, (ast.Name, ast.ListComp)) for arm in arms):
            new = copy(s)
            new.iter = ast.copy_location(ChosenWalk(choice.test, *arms), choice)
            return [placed(s, new)]
        return []

    def _counted(self, s: ast.For, choice: ast.IfExp, first: bool) -> list[ast.stmt]:
        """A loop over a counter, the `first` arm of a choice or else the second, or over an iterable that ends."""
        counter, walked = (choice.body, choice.orelse) if first else (choice.orelse, choice.body)
        names = {what: hidden(what, s) for what in ("endless", "start", "step", "items", "at")}

        def chosen(if_endless: ast.expr, otherwise: ast.expr) -> ast.expr:
            arms = (if_endless, otherwise) if first else (otherwise, if_endless)
            return ast.IfExp(deepcopy(choice.test), *arms)

        start, step = start_and_step(counter)
        statements = quoted(
            s,
            """
endless = is_endless
start = from_there
step = by_so_much
items = walked
at = 0
while endless or at < len(items):
    target = start + at * step if endless else items[at]
    at = at + 1
    body
""",
            is_endless=chosen(ast.Constant(True), ast.Constant(False)),
            from_there=chosen(start, ast.Constant(0)),
            by_so_much=chosen(step, ast.Constant(1)),
            walked=chosen(ast.List([], ast.Load()), _listed(walked)),
            target=s.target,
            body=s.body,
            **names,
        )
        statements[-1].orelse = s.orelse  # type: ignore[attr-defined]
        return statements

    def _stays(self, arm: ast.expr, s: ast.For) -> bool:
        """Whether all elements of an iterable may be computed before the loop `s` begins."""
        walked = self._names_walked(arm)
        if walked is None or walked & self.seen_inside:
            return False
        parents = {child: x for part in (s.target, *s.body) for x in every_node(part) for child in children(x)}
        for x in (x for part in (s.target, *s.body) for x in every_node(part)):
            if not isinstance(x, ast.Name) or x.id not in walked:
                continue
            match parents.get(x):
                case ast.Subscript(value=whole, ctx=ast.Load()) if whole is x:
                    continue
                case ast.Call(ast.Name("len"), [only], []) if only is x and self._is_builtin("len"):
                    continue
            return False
        return True

    def _names_walked(self, arm: ast.expr) -> set[str] | None:
        """The names that are read while an iterable is walked over; None if these are not known."""
        match arm:
            case ast.Name(name):
                return {name}
            case ast.List() | ast.Tuple() | ast.ListComp():
                return set()
            case ast.Call(ast.Attribute(attr=method)) if method in OF_TENSORS:
                return set()
            case ast.Call(ast.Attribute(ast.Name(name), method), []) if method in OF_DICTIONARIES:
                return {name}
            case ast.Call(ast.Name(function)) if function in NEW and self._is_builtin(function):
                return set()
            case ast.Call(ast.Name(function), args, keywords) if function in LATER and self._is_builtin(function):
                plain = all(isinstance(k.value, ast.Constant) for k in keywords)
                parts = [set() if i and function == "enumerate" else self._names_walked(a) for i, a in enumerate(args)]
                return {name for part in parts for name in part or ()} if plain and None not in parts else None
        return None

    def _is_builtin(self, name: str) -> bool:
        """Whether a name stands for Python's own function of that name."""
        own = getattr(builtins, name)
        return name not in self.local and self.namespace.get(name, own) is own


def _has_no_effects(test: ast.expr) -> bool:
    """Whether a test may be computed more than once."""
    calls = (x for x in every_node(test) if isinstance(x, (ast.Call, ast.NamedExpr)))
    return all(isinstance(x, ast.Call) and isinstance(x.func, ast.Name) and x.func.id in ("len", "isinstance") for x in calls)


def _listed(arm: ast.expr) -> ast.expr:
    """`list(arm)`, or the arm itself where that is a new list."""
    if isinstance(arm, (ast.List, ast.ListComp)):
        return arm
    return quoted_expression(arm, "list(arm)", arm=arm)
