"""Removal of bindings, parameters, functions and weights that the program's result does not depend on. Other passes
end with it.

The language is pure, so a value that is not used need not be computed. Three kinds of bindings are kept although nothing uses
them: waits, because it is part of a model's meaning that an instance waits (simulated decisions do not read the number);
`phase` markers, because any marker decides where all phases of the model begin; and what may raise an error of the model's own,
because an assertion has no result.

Source: dead-code elimination, a standard pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from backends.acrobat.analyses.callgraph import call_graph
from backends.acrobat.analyses.phases import is_marker
from backends.acrobat.core.reach import reachable
from backends.acrobat.ir.nodes import Call, Expr, Function, Host, Item, Let, Program, Var, Weight
from backends.acrobat.ir.visitor import Binding, from_lets, lets, map_bodies, operands, walk


def remove_dead(program: Program) -> Program:
    """`program` without what its entry's result does not depend on; `program` itself if there is nothing. The entry keeps its
    parameters."""
    effects = _Effects(program)
    needed = {name: frozenset[int]() for name in program.functions}
    needed[program.entry] = frozenset(range(len(program.functions[program.entry].params)))
    while True:
        live = {name: _LiveBody(f, needed, effects) for name, f in program.functions.items()}
        now_needed = {
            name: needed[name] | {i for i, p in enumerate(f.params) if p.name in live[name].variables}
            for name, f in program.functions.items()
        }
        if now_needed == needed:
            break
        needed = now_needed
    called = reachable([program.entry], lambda name: live[name].callees)
    functions = {name: f for name, f in program.functions.items() if name in called}
    for name, f in functions.items():
        if live[name].body is not f.body or len(needed[name]) < len(f.params):
            params = tuple(p for i, p in enumerate(f.params) if i in needed[name])
            functions[name] = replace(f, params=params, body=live[name].body)
    if len(functions) < len(program.functions) or any(program.functions[name] is not f for name, f in functions.items()):
        program = replace(program, functions=functions)
    return _without_weights(program, set[str]().union(*(live[name].weights for name in functions)))


def _without_weights(program: Program, used: set[str]) -> Program:
    """`program` with the weights `used` and those they are derived from; itself if these are all."""
    for name, derived in reversed(list(program.derived.items())):
        if name in used:
            used.update(derived.args)
    if used.issuperset((*program.weights, *program.values)):
        return program
    return replace(
        program,
        weights={name: t for name, t in program.weights.items() if name in used},
        derived={name: d for name, d in program.derived.items() if name in used},
        values={name: v for name, v in program.values.items() if name in used},
    )


class _Effects:
    """Tells which values do more than give a result: they may wait, raise an error of the model's own, or are a marker."""

    def __init__(self, program: Program) -> None:
        self._program = program

    @cached_property
    def _functions(self) -> frozenset[str]:
        """The functions that may wait or raise an error, themselves or in what they call."""
        functions = self._program.functions
        own = {name for name, f in functions.items() if any(map(_has_effect, walk(f.body)))}
        return frozenset(name for name in functions if own and call_graph(self._program).reachable(name) & own)

    def of(self, value: Expr) -> bool:
        return is_marker(value) or any(
            _has_effect(node) or isinstance(node, Call) and node.function in self._functions for node in walk(value)
        )


def _has_effect(node: Expr) -> bool:
    return isinstance(node, Item) or isinstance(node, Host) and node.op == "fail"


class _LiveBody:
    """The body of a function without unused bindings and arguments, and the names of the variables, weights and functions that
    it uses. It is found backwards in one walk, since a variable is used only after it is bound.

    `needed`: by function, the positions of the parameters that it needs."""

    def __init__(self, function: Function, needed: Mapping[str, frozenset[int]], effects: _Effects) -> None:
        self._needed = needed
        self._effects = effects
        self.variables: set[str] = set()
        self.weights: set[str] = set()
        self.callees: set[str] = set()
        self.body = self._live_chain(function.body)

    def _live_chain(self, expr: Expr) -> Expr:
        bindings, tail = lets(expr)
        result = self._node(tail)
        live_bindings: list[Binding] = []
        same = result is tail
        for var, value in reversed(bindings):
            if var.name in self.variables or self._effects.of(value):
                live_value = self._live_chain(value) if isinstance(value, Let) else self._node(value)
                live_bindings.append((var, live_value))
                same = same and live_value is value
        if same and len(live_bindings) == len(bindings):
            return expr
        live_bindings.reverse()
        return from_lets(live_bindings, result)

    def _node(self, node: Expr) -> Expr:
        """`node`, which is no let, with live bodies and only the arguments that are needed."""
        if isinstance(node, Call):
            self.callees.add(node.function)
            if len(needed := self._needed[node.function]) < len(node.args):
                node = replace(node, args=tuple(a for i, a in enumerate(node.args) if i in needed))
        for atom in operands(node):
            if isinstance(atom, Var):
                self.variables.add(atom.name)
            elif isinstance(atom, Weight):
                self.weights.add(atom.name)
        return map_bodies(node, self._live_chain)
