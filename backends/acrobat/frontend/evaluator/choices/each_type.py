"""Tensors of several ranks, and numbers beside tensors, in one place: the stack of an interpreter of programs holds attention
over objects, numbers and answers. What is computed from such a value is compiled once for each type that it may have; as in
Python, one that is not taken there is an error of the instance."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from backends.acrobat.core.types import ListT, is_tensor_word
from backends.acrobat.frontend.evaluator.choices.choice import fail
from backends.acrobat.frontend.evaluator.choices.mixed import NUMBERS, by_type, of_type
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.frame.arguments import Refused, Unbound
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.several_shapes import written
from backends.acrobat.frontend.instances.annotations import AnnotationError
from backends.acrobat.frontend.kinds import is_never, type_of, type_or_none, variable_of
from backends.acrobat.frontend.types import Mismatch
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value

Call = Callable[[list[Value], dict[str, Value]], Value]


GIVE_PAIRS = {"max", "min", "sort", "topk", "median", "kthvalue", "mode"}
"""Functions and methods of PyTorch's that give values and indices."""


def is_one_of_several(f: Frame, value: Value) -> bool:
    """Whether a value, if it is not None, is of one of several types that one computes with: tensors by rank, and numbers."""
    return isinstance(value, Dyn) and _of_several_types(f, value.type)


def take_several_types(f: Frame, args: Sequence[Value], kwargs: Mapping[str, Value]) -> bool:
    """Whether some of the arguments of a call are each one of several types, or lists of such values."""
    values = (*args, *kwargs.values())
    return any(is_one_of_several(f, v) or _lists_several_types(f, v) or _has_one_of_several(f, v) for v in values)


def with_one_type(f: Frame, node: ast.AST, args: Sequence[Value], kwargs: Mapping[str, Value], call: Call) -> Value:
    """`call(args, kwargs)`, compiled `for_each_type` of the arguments."""

    def of_one(values: list[Value]) -> Value:
        return call(values[: len(args)], dict(zip(kwargs, values[len(args) :], strict=True)))

    return for_each_type(f, node, [*args, *kwargs.values()], of_one)


def part_for_each_type(f: Frame, node: ast.Attribute | ast.Subscript) -> Value | None:
    """A part of the pair that a method or function returns, as in `x.max(dim=0).values`, taken for each type of `x` by itself:
    the pairs of several types have no type in common. None for all other expressions."""
    call = node.value
    if not f.program.datatypes.exact or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    operand, name = call.func.value, call.func.attr
    if isinstance(node, ast.Attribute) and node.attr not in ("values", "indices"):
        return None
    if name not in GIVE_PAIRS or isinstance(operand, CompiledNode):
        return None
    value, args = f.borrowed(operand), call.args
    of_method = not isinstance(value, Static)
    if not of_method:
        if not args or isinstance(args[0], (CompiledNode, ast.Starred)):
            return None
        value = f.borrowed(args[0])

    def of_one(values: list[Value]) -> Value:
        operand_value = ast.copy_location(CompiledNode(values[0]), operand)
        func = ast.copy_location(ast.Attribute(operand_value if of_method else operand, name, ast.Load()), operand)
        whole = copy(node)
        whole.value = ast.copy_location(ast.Call(func, args if of_method else [operand_value, *args[1:]], call.keywords), call)
        return f.borrowed(whole)

    return for_each_type(f, node, [value], of_one)


def for_each_type(f: Frame, node: ast.AST, values: Sequence[Value], work: Callable[[list[Value]], Value]) -> Value:
    """`work(values)`, compiled once for each combination of the types that the values may have; an int for some of them and a
    float for others stay so. For lists of such values the first element decides, except for short ones that are written out. A
    combination for which `work` has a problem is an error of the instance; a problem that it has for all combinations is one of
    the model."""
    if not take_several_types(f, values, {}):
        return work([*values])
    values = [_taken_apart(f, v) for v in values]
    problems: list[tuple[str, str]] = []

    def with_values(values: Sequence[Value]) -> Value:
        written = next((v for v in values if _has_one_of_several(f, v)), None)
        if isinstance(written, TupleV):
            return with_element(values, written)
        several = next((v for v in values if is_one_of_several(f, v) or _lists_several_types(f, v)), None)
        if several is None:
            before, f.each_type = f.each_type, True
            try:
                return _in_isolation(f, lambda: work([*values]), problems)
            finally:
                f.each_type = before
        is_list = not is_one_of_several(f, several)

        def of_one_type(word: str, inner: Value) -> Value:
            one = _all_of(f, node, several, word) if is_list else inner
            return with_values([one if v == several else v for v in values])

        first = f.host("list.get", [several, Static(0)], type_of(several).item, "row") if is_list else several
        deciding = opened(f, node, first)
        assert isinstance(deciding, Dyn)
        return by_type(f, node, deciding, of_one_type, apart=True)

    def with_element(values: Sequence[Value], written: TupleV) -> Value:
        """`with_values`, once for each type that the first element of several types in the list `written` may have."""
        element = next(v for v in written.items if is_one_of_several(f, v))

        def of_one_type(word: str, inner: Value) -> Value:
            items = tuple(inner if v == element else v for v in written.items)
            return with_values([replace(v, items=items) if v is written else v for v in values])

        deciding = opened(f, node, element)
        assert isinstance(deciding, Dyn)
        return by_type(f, node, deciding, of_one_type)

    result = with_values(values)
    return f.problem(node, *problems[-1]) if problems and is_never(result) else result


def for_types_that_take(f: Frame, node: ast.AST, value: Dyn, work: Callable[[Value], Value]) -> Value:
    """`work(value)` of a mixed value, compiled for each type that it may have, with problems as in `for_each_type`."""
    problems: list[tuple[str, str]] = []
    result = by_type(f, node, value, lambda _, inner: _in_isolation(f, lambda: work(inner), problems), apart=True)
    return f.problem(node, *problems[-1]) if problems and is_never(result) else result


def _in_isolation(f: Frame, work: Callable[[], Value], problems: list[tuple[str, str]]) -> Value:
    """`work()` as an isolated trial first. If that has a problem, it is added to `problems`, and the result is an error of the
    instance."""
    text = advice = ""
    try:
        with f.isolated_trial() as found:
            work()
        if found.problem is not None:
            text, advice = found.problem.message, found.problem.advice
    except Unbound:
        raise  # whatever the types are: the caller knows whether another function is called for other instances
    except Refused as refused:
        text, advice = refused.message, refused.advice
    except (Mismatch, AnnotationError) as error:
        text = str(error)
    if not text:
        return work()
    problems.append((text, advice))
    return fail(f, "TypeError: " + text.replace("{", "{{").replace("}", "}}"))


def _has_one_of_several(f: Frame, value: Value) -> bool:
    """Whether a value is a written list or tuple with an element that is one of several types."""
    return isinstance(value, TupleV) and any(is_one_of_several(f, v) for v in value.items)


def _lists_several_types(f: Frame, value: Value) -> bool:
    """Whether a value is a list of values that are each one of several types."""
    t = type_or_none(value)
    return isinstance(t, ListT) and t.rows is None and _of_several_types(f, t.item)


APART = 2
"""Of a list that is written out with so many elements of several types at most each has a type of its own."""


def _taken_apart(f: Frame, value: Value) -> Value:
    """A written list of others and a few values of several types, `[1.0, x]`, as its elements; other values unchanged."""
    items = f.display(value) if _lists_several_types(f, value) else None
    if items is None:
        return value
    several = sum(is_one_of_several(f, v) for v in items)
    return written(f, items) if several <= APART and several < len(items) else value


def _of_several_types(f: Frame, type: Any) -> bool:
    """Whether a type is a mixed union, or an optional one, with several types that one computes with."""
    return sum(word in NUMBERS or is_tensor_word(word) for word in f.mixed(f.without_none(type))) > 1


def _all_of(f: Frame, node: ast.AST, value: Value, word: str) -> Value:
    """A list of values of several types as one of values of a single type, which all of them have."""
    assert isinstance(value, Dyn) and isinstance(value.type, ListT)
    known = f.display(value)
    plain = f.coerce(value, replace(value.type, item=f.mixed(f.without_none(value.type.item))[word]))
    if known is not None:  # of a list that is written out the elements are still known one by one
        f.displays[variable_of(plain)] = tuple(of_type(f, node, opened(f, node, v), word) for v in known)
    return plain
