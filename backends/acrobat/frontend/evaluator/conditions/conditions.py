"""Conditions and choices. Where a test says that a name is not None, or is of a class, the name has that type."""

from __future__ import annotations

import ast
import builtins
import itertools
from functools import partial
from typing import Any

from backends.acrobat.core.types import DataT, ListT
from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.choices.choice import Arm, choose, negation, open_optional, optional
from backends.acrobat.frontend.evaluator.choices.each_type import for_each_type
from backends.acrobat.frontend.evaluator.conditions.comparisons import are_of_other_types
from backends.acrobat.frontend.evaluator.conditions.narrowed_choices import lasting_path, narrowed_by_test
from backends.acrobat.frontend.evaluator.conditions.narrowing import of_class, of_types, path_of
from backends.acrobat.frontend.evaluator.conditions.truths import always_true, condition
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lists import as_list
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.rewriting.chosen_walks import ChosenWalk
from backends.acrobat.frontend.evaluator.syntax.bodies import tests_none
from backends.acrobat.frontend.evaluator.tables import EXPRESSIONS, handles
from backends.acrobat.frontend.kinds import is_iterator, known, nothing_known, type_or_none
from backends.acrobat.frontend.specials import Endless
from backends.acrobat.frontend.types import Mismatch
from backends.acrobat.frontend.values import Dyn, Held, Static, TupleV, Value, held_in

ITERATORS = (iter, map, filter, zip, enumerate, reversed)
"""Functions of Python's that give iterators, beside those of `itertools`."""
TESTED = (ast.Name, ast.Attribute, ast.Subscript)
"""Expressions whose class `isinstance` may test: they have no effects, and may be compiled twice."""


def truth(f: Frame, test: ast.expr) -> Value:
    """The truth value of the expression `test`, as a bool of the host."""
    match test:
        case ast.BoolOp(op, [first, *rest]):
            if not rest:
                return truth(f, first)
            others = ast.copy_location(ast.BoolOp(op, rest), test)
            there, absent = (lambda: truth(f, others)), (lambda: Static(isinstance(op, ast.Or)))
            arms = (there, absent) if isinstance(op, ast.And) else (absent, there)
            return f.with_effects(test, _as_choice(test, op, first, others), lambda: decide(f, test, first, *arms))
        case ast.UnaryOp(ast.Not(), operand):
            return negation(f, truth(f, operand))
        case ast.Call(ast.Name("isinstance"), [tested, _], []) if f.is_builtin("isinstance") and isinstance(tested, TESTED):
            value = f.borrowed(tested)
            if isinstance(value, Dyn) and isinstance(value.type, DataT):
                return decide(f, test, test, lambda: Static(True), lambda: Static(False))
        case ast.Compare(left, [_], [right]) if f.program.datatypes.exact and not isinstance(left, CompiledNode):
            operands = [f.borrowed(left), f.borrowed(right)]
            equality = isinstance(test.ops[0], (ast.Eq, ast.NotEq))

            def of_one_type(values: list[Value]) -> Value:
                if equality and values != operands and are_of_other_types(*values):
                    return Static(isinstance(test.ops[0], ast.NotEq))
                first, other = (ast.copy_location(CompiledNode(v), test) for v in values)
                return condition(f, f.borrowed(ast.copy_location(ast.Compare(first, test.ops, [other]), test)), test)

            def compared(values: list[Value]) -> Value:
                for i, v in enumerate(values if equality else ()):
                    if isinstance(v, Dyn) and optional(f, v) is not None:  # None is equal to None alone

                        def of_part(inner: Value, i: int = i) -> Value:
                            return compared([*values[:i], inner, *values[i + 1 :]])

                        return open_optional(f, test, v, of_part, partial(of_part, Static(None)))
                return for_each_type(f, test, values, of_one_type)

            return compared(operands)
    return condition(f, f.borrowed(test), test)


def _as_choice(test: ast.BoolOp, op: ast.boolop, first: ast.expr, others: ast.expr) -> ast.IfExp:
    """The truth of `first and others` or `first or others` as a conditional expression."""
    there = ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), others))
    absent = ast.Constant(isinstance(op, ast.Or))
    arms = (there, absent) if isinstance(op, ast.And) else (absent, there)
    choice = ast.copy_location(ast.IfExp(first, *arms), test)
    return ast.fix_missing_locations(choice)


def bool_value(f: Frame, node: ast.BoolOp, op: ast.boolop, values: list[ast.expr]) -> Value:
    """`a and b`, `a or b` as a value: one of the operands, not its truth."""
    first = f.expression(values[0])
    if len(values) == 1:
        return first
    rest = ast.copy_location(ast.BoolOp(op, values[1:]), node)
    if isinstance(op, ast.Or) and isinstance(first, Dyn) and optional(f, first) is not None:

        def some(inner: Value) -> Value:
            return choose(f, node, condition(f, inner, values[0]), lambda: inner, others)

        def others() -> Value:
            return bool_value(f, rest, op, values[1:])

        if not always_true(f, optional(f, first)):
            return open_optional(f, node, first, some, others)
        return open_optional(f, node, first, lambda inner: inner, others)
    cond = condition(f, first, values[0])
    if isinstance(op, ast.And):
        return choose(f, node, cond, lambda: bool_value(f, rest, op, values[1:]), lambda: first)
    return choose(f, node, cond, lambda: first, lambda: bool_value(f, rest, op, values[1:]))


def decide(f: Frame, node: ast.AST, test: ast.expr, then: Arm, orelse: Arm) -> Value:
    """`then() if test else orelse()`. Names and fields that `test` compares with None or classes are narrowed in the arms."""
    match test:
        case ast.UnaryOp(ast.Not(), operand):
            return decide(f, node, operand, orelse, then)
        case ast.BoolOp(op, [first, *rest]) if rest and tests_none(test):
            others = ast.copy_location(ast.BoolOp(op, rest), test) if len(rest) > 1 else rest[0]
            if isinstance(op, ast.And):
                return decide(f, node, first, lambda: decide(f, node, others, then, orelse), orelse)
            return decide(f, node, first, then, lambda: decide(f, node, others, then, orelse))
        case ast.Call(ast.Name("isinstance"), [tested, classes], []) if f.is_builtin("isinstance"):
            value = f.borrowed(tested)
            if isinstance(value, Dyn) and isinstance(value.type, DataT):
                return of_class(f, node, value, lasting_path(f, tested), f.borrowed(classes), then, orelse)
        case ast.Compare(
            ast.Call(ast.Name("type"), [tested], []), [ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq() as op], [cls]
        ) if f.is_builtin("type"):
            value, asked_class = f.borrowed(tested), f.borrowed(cls)
            if isinstance(value, Dyn) and isinstance(value.type, DataT) and isinstance(asked_class, Static):
                arms = (then, orelse) if isinstance(op, (ast.Is, ast.Eq)) else (orelse, then)
                return of_class(f, node, value, lasting_path(f, tested), asked_class, *arms, exactly=True)
        case ast.Compare(ast.Name() | ast.Attribute() as tested, [ast.Is() | ast.IsNot() as op], [ast.Constant(None)]):
            value = f.borrowed(tested)
            path = lasting_path(f, tested)
            if isinstance(value, Dyn) and optional(f, value) is not None and path is not None:

                def some(inner: Value) -> Value:
                    f.env[path] = inner
                    return (then if isinstance(op, ast.IsNot) else orelse)()

                hint = path.rpartition(".")[2]
                return open_optional(f, node, value, some, orelse if isinstance(op, ast.IsNot) else then, hint)
        case ast.Compare(left, [_], [right]):
            for asked in filter(None, map(_shape_asked, (left, right))):
                value, name = f.borrowed(asked), lasting_path(f, asked)
                if name is not None and isinstance(value, Dyn) and f.mixed(value.type):
                    answers = {word: _answer(f, test, name, t) for word, t in f.mixed(value.type).items()}
                    if None not in answers.values():
                        return of_types(f, node, value, name, answers, then, orelse)  # type: ignore[arg-type]
    then, orelse = narrowed_by_test(f, test, True, then), narrowed_by_test(f, test, False, orelse)
    return choose(f, node, truth(f, test), then, orelse)


def _shape_asked(node: ast.expr) -> ast.expr | None:
    """The name or field whose shape an expression asks for, as `x.size(1)`, `x.shape[-1]` and `len(x.shape)` do; else None."""
    match node:
        case ast.Call(ast.Name("len"), [inner], []) | ast.Subscript(inner):
            return _shape_asked(inner)
        case ast.Call(ast.Attribute(asked, "size" | "dim" | "ndimension" | "numel" | "nelement")):
            return asked if path_of(asked) is not None else None
        case ast.Attribute(asked, "shape" | "ndim"):
            return asked if path_of(asked) is not None else None
    return None


def _answer(f: Frame, test: ast.expr, path: str, type: Any) -> bool | None:
    """Whether a test holds if the value of the name `path` has a given type; None if the type does not decide it, or the test
    does not take that type."""
    try:
        with f.isolated_trial() as found:
            f.env[path] = held_in(Dyn(f.var("value", type)))
            is_known, holds = known(truth(f, test))
    except (Refused, Mismatch):
        return None
    return bool(holds) if is_known and found.problem is None else None


@handles(EXPRESSIONS, ast.BoolOp)
def _bool_op(f: Frame, node: ast.BoolOp, hint: str) -> Value:
    return bool_value(f, node, node.op, node.values)


@handles(EXPRESSIONS, ChosenWalk)
def _one_of_two_walks(f: Frame, node: ChosenWalk, hint: str) -> Value:
    with f.trial():
        is_known = isinstance(truth(f, node.test), Static)
    as_written = ast.copy_location(ast.IfExp(node.test, node.body, node.orelse), node)
    return f.expression(as_written if is_known else node.as_lists(), hint)


@handles(EXPRESSIONS, ast.IfExp)
def _if_else(f: Frame, node: ast.IfExp, hint: str) -> Value:
    if _may_be_iterator(f, node.body) or _may_be_iterator(f, node.orelse):
        return _of_iterators(f, node)
    return decide(f, node, node.test, lambda: f.expression(node.body), lambda: f.expression(node.orelse))


def _may_be_iterator(f: Frame, node: ast.expr) -> bool:
    """Whether an expression is a generator expression, or a call of one of Python's functions that give iterators."""
    root = root_of(node.func) if isinstance(node, ast.Call) else None
    if root is None or root in f.env:
        return isinstance(node, ast.GeneratorExp)
    named = f.namespace.get(root, getattr(builtins, root, None))
    return named is itertools or getattr(named, "__module__", "") == itertools.__name__ or any(named is x for x in ITERATORS)


def _is_walked(f: Frame, value: Value) -> bool:
    """Whether a value is a list, a tuple or an iterator that ends. A list may be None where the test does not say so."""
    if is_iterator(value):
        return not isinstance(value.value, Endless)
    return isinstance(value, TupleV) or isinstance(f.without_none(type_or_none(value)), ListT)


def _of_iterators(f: Frame, node: ast.IfExp) -> Value:
    """A conditional expression that may give an iterator. It becomes an iterator if one side is an iterator and the other a
    list or an iterator. If the test is known at compile time, it is the side that the test chooses."""
    given: dict[ast.expr, Value] = {}

    def items(arm: ast.expr) -> Value:
        value = given[arm] = f.expression(arm)
        return as_list(f, arm, iterable(f, value)) if all_walked else value

    with f.trial():
        values = [f.expression(arm) for arm in (node.body, node.orelse)]
    all_walked = any(map(is_iterator, values)) and all(_is_walked(f, v) for v in values)
    result = decide(f, node, node.test, lambda: items(node.body), lambda: items(node.orelse))
    if len(given) == 1:
        return next(iter(given.values()))
    return Held("iterator", result) if all_walked and not nothing_known(result) else result
