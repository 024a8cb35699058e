"""Loops over a generator of the model, as Python executes them: what the generator computes for a value comes right before the
round of the loop that takes it.

    for text in islice(self.refined(text), 5):       the body of `refined`, in which each `yield`
        if text in seen: break                       is replaced by the body of the loop

Of a loop over `enumerate`, `zip`, `islice`, `takewhile`, `filter`, `map` or a generator expression, what these do with a value
is written before the body of the loop. This is done for the calls that the evaluator names, since it knows which function they
call; elsewhere a generator is the list of all that it gives.
"""

from __future__ import annotations

import ast
import builtins
import itertools
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

from backends.acrobat.frontend.evaluator.rewriting.asked_generators import asks, steps_of, with_steps
from backends.acrobat.frontend.evaluator.rewriting.counting import makes_counter
from backends.acrobat.frontend.evaluator.rewriting.generator_bodies import Generator, at_call, free_names
from backends.acrobat.frontend.evaluator.rewriting.given_iterators import GIVEN, LoopBody, Walk, Walking
from backends.acrobat.frontend.evaluator.rewriting.loops_inside import has_own, own_level, walked
from backends.acrobat.frontend.evaluator.rewriting.own_variables import renamed
from backends.acrobat.frontend.evaluator.syntax.bodies import stored, with_bodies
from backends.acrobat.frontend.evaluator.syntax.own_nodes import own_nodes, own_nodes_of
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted, replaced, replaced_in
from backends.acrobat.frontend.syntax_nodes import (
    Place,
    all_parameters,
    bound_names,
    every_node,
    is_variable,
    mentions,
    names_in,
    place_of,
)


def with_lazy_loops(
    definition: ast.FunctionDef, space: Mapping[str, Any], around: Mapping[str, Any], generators: Mapping[Place, Generator]
) -> ast.FunctionDef:
    """A function in which the generators that calls at these places make stand around the bodies of the loops over them, as far
    as that is possible. `space` has the globals of its file, `around` what it uses from the functions around it."""
    if not _calls_one(definition, generators):
        return definition
    result, loops = copy(definition), _Loops(definition, space, around, generators)
    result.body = loops.body(loops.asked(definition.body))
    return result


def _calls_one(node: ast.AST, generators: Mapping[Place, Generator]) -> bool:
    return any(isinstance(x, ast.Call) and place_of(x) in generators for x in every_node(node))


class _Loops:
    """Rewrites the loops of a function."""

    def __init__(
        self,
        definition: ast.FunctionDef,
        space: Mapping[str, Any],
        around: Mapping[str, Any],
        generators: Mapping[Place, Generator],
    ) -> None:
        self.space, self.generators = space, generators
        self.local = bound_names(definition) | {*around}
        self.taken = self.local | {*names_in(definition)}
        self.functions = {(x.lineno, x.col_offset) for x in own_nodes_of(definition) if isinstance(x, ast.FunctionDef)}
        self.names = names_in(definition)
        self.parameters = all_parameters(definition)
        self.entered: list[ast.FunctionDef] = []
        self.rebound = frozenset(x for n in every_node(definition) if isinstance(n, ast.Nonlocal) for x in n.names)
        self.named: ast.expr | None = None
        self.arguments: list[ast.stmt] = []

    def fresh(self, name: str) -> str:
        """A name that the function does not have yet."""
        names = itertools.chain([name], (f"{name}_{i}" for i in itertools.count(2)))
        new = next(x for x in names if x not in self.taken)
        self.taken.add(new)
        self.local.add(new)
        return new

    def body(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for s in body:
            s = with_bodies(s, self.body)
            if not isinstance(s, ast.For):
                result.append(s)
                continue
            at = self._statement_making(result, s.iter)
            walk = self._loop(s, s.iter, []) if at is None else self._of_named(s, result[at], result[at + 1 :])
            if walk is None:
                result.append(s)
                continue
            if at is not None:
                result[at : at + 1] = walk[0]
            else:
                result += walk[0]
            result += walk[1]
        return result

    def asked(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The body of the function in which generators without an end that are asked by `next` are replaced by what they
        compute."""
        for node in [x for s in body for x in own_nodes(s)]:
            match node:
                case ast.Assign([ast.Name(name)], ast.Call() as call) if (
                    place_of(call) in self.generators
                    and any(asks(x, name) for s in body for x in every_node(s))
                    and len(mentions(body, name, ast.Store, ast.Del)) == 1
                    and name not in self.parameters
                ):
                    made = self._at_call(self.generators[place_of(call)], call, self.rebound | stored(body))
                    steps = None if made is None else steps_of(made[1])
                    if made is not None and steps is not None:
                        start = [*made[0], *steps.start]
                        body = with_steps(body, name, start, steps, self.fresh) or body
        return body

    def _statement_making(self, before: Sequence[ast.stmt], whole: ast.expr) -> int | None:
        """The index of the statement before a loop that gives a generator a name which stands in `whole`, if nothing else uses
        that name; None without such a statement."""
        names = {x for x in names_in(whole) if self.names.count(x) == 2 and x not in self.parameters}
        for at, s in enumerate(before):
            match s:
                case ast.Assign([ast.Name(name)], ast.Call() as value) if name in names and place_of(value) in self.generators:
                    return at
        return None

    def _of_named(self, s: ast.For, made: ast.stmt, meanwhile: Sequence[ast.stmt]) -> Walk | None:
        """As `_loop`, over a generator that a statement before the statements `meanwhile` gives a name: its arguments are
        computed there, and all else where the loop begins."""
        assert isinstance(made, ast.Assign) and isinstance(made.targets[0], ast.Name)
        self.named, self.arguments = made.value, []
        walk = self._loop(s, _in_place_of(made.targets[0].id, made.value, s.iter), meanwhile)
        self.named = None
        return walk and (self.arguments, [*walk[0], *walk[1]])

    def _loop(self, s: ast.For, whole: ast.expr, meanwhile: Sequence[ast.stmt]) -> Walk | None:
        """The statements that replace a loop over `whole`, which was made before the statements `meanwhile`; None if the loop
        stays as it is."""
        body, flag = s.body, ""
        if s.orelse and has_own(s.body, ast.Break):
            name = flag = self.fresh("left")
            body = own_level(s.body, lambda x: _noted(x, name) if isinstance(x, ast.Break) else [x])
        rebound = self.rebound | stored([s.target, *body, *meanwhile])
        walk = self.walk(whole, LoopBody(s.target, body, [], rebound))
        if walk is None or not flag:
            return walk and (walk[0], [*walk[1], *s.orelse])
        start, orelse = quoted(s, "flag = False", flag=flag), quoted(s, "if not flag: orelse", flag=flag, orelse=s.orelse)
        return walk[0], [*start, *walk[1], *orelse]

    # ---- what is walked over

    def walk(self, whole: ast.expr, rounds: LoopBody) -> Walk | None:
        """The loop over an expression with a generator in it; None for other expressions."""
        match whole:
            case ast.Call() if place_of(whole) in self.generators:
                return self._generator(self.generators[place_of(whole)], whole, rounds)
            case ast.GeneratorExp() if any(_calls_one(g.iter, self.generators) for g in whole.generators):
                return [], self._around(whole, self._as_loops(whole), rounds)
            case ast.Call(callee) if (given := self._given(callee)) is not None:
                return given(self, whole, rounds)
        return None

    def _given(self, callee: ast.expr) -> Callable[[Walking, ast.Call, LoopBody], Walk | None] | None:
        """What a loop over a call of a function of Python's does with the iterator that the function is given."""
        match callee:
            case ast.Name(name) if name not in self.local:
                function = self.space.get(name, getattr(builtins, name, None))
            case ast.Attribute(ast.Name(name), attribute) if name not in self.local and self.space.get(name) is itertools:
                function = getattr(itertools, attribute, None)
            case _:
                return None
        return next((by for each, by in GIVEN.items() if each is function), None)

    def makes_counter(self, node: ast.expr) -> bool:
        """Whether an expression is a call of `itertools.count`."""
        return makes_counter(node, self.space, self.local)

    def calls_generator(self, node: ast.expr) -> bool:
        """Whether a part of an expression calls a generator that may stand around a loop."""
        return _calls_one(node, self.generators)

    def _at_call(self, generator: Generator, call: ast.Call, rebound: frozenset[str]) -> Walk | None:
        """As `at_call`; None also where names of the generator mean something else in this function."""
        definition, function = generator.definition, generator.function
        if function is None:
            known = (definition.lineno, definition.col_offset) in self.functions
        else:
            alike = function.__globals__ is self.space and not function.__closure__
            known = alike and free_names(definition).isdisjoint(self.local)
        self.taken |= {*names_in(definition)}
        return at_call(generator, call, self.fresh, rebound) if known and definition not in self.entered else None

    def _generator(self, generator: Generator, call: ast.Call, rounds: LoopBody) -> Walk | None:
        is_named = call is self.named  # and nothing else in its body is
        made = self._at_call(generator, call, rounds.rebound)
        if made is None:
            return None
        self.entered.append(generator.definition)
        loop = self._around(call, replaced_in(made[1], self._each_yielded), rounds)
        self.entered.pop()
        if is_named:
            self.arguments, made = made[0], ([], [])
        return made[0], loop

    def _around(self, where: ast.expr, body: Sequence[ast.stmt], rounds: LoopBody) -> list[ast.stmt]:
        """The statements of a generator, in which the loops are rewritten too, with the rounds in them."""
        before, self.rebound = self.rebound, rounds.rebound
        inside = self.body(body)
        self.rebound = before
        return walked(where, inside, rounds.target, rounds.body, rounds.after, self.fresh)

    def _each_yielded(self, node: ast.AST) -> Any:
        """`yield from values` as a loop."""
        match node:
            case ast.Expr(ast.YieldFrom(values)):
                return quoted(node, "for value in values: yield value", value=self.fresh("value"), values=values)
        return node

    def _as_loops(self, node: ast.GeneratorExp) -> list[ast.stmt]:
        """A generator expression as loops with a `yield`, with new names for its variables."""
        names = {x: self.fresh(x) for x in sorted({*names_in([g.target for g in node.generators], ast.Store)})}
        inside = quoted(node.elt, "yield value", value=renamed(node.elt, names))
        for i, g in reversed([*enumerate(node.generators)]):
            for test in reversed(g.ifs):
                inside = quoted(test, "if test: inside", test=renamed(test, names), inside=inside)
            whole = renamed(g.iter, names) if i else g.iter
            inside = quoted(g.target, "for x in xs: inside", x=renamed(g.target, names), xs=whole, inside=inside)
        return inside


def _in_place_of(name: str, value: ast.expr, whole: ast.expr) -> ast.expr:
    """An expression with `value` in place of a name."""
    return replaced(whole, lambda x: value if is_variable(x, name) else x)  # type: ignore[no-any-return]


def _noted(s: ast.stmt, flag: str) -> list[ast.stmt]:
    """A `break`, which a flag tells."""
    return [*quoted(s, "flag = True", flag=flag), s]
