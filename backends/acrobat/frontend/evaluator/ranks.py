"""Tensors of several ranks in one place, as on the stack of an interpreter of programs, which holds attention over objects,
numbers and answers. What is computed from such a value is compiled once for each rank; as in Python, a rank that it does not
take is an error of the instance."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any

from backends.acrobat.core.types import RANKS, ListT
from backends.acrobat.frontend.evaluator.arguments import Refused
from backends.acrobat.frontend.evaluator.choice import fail
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.given import Given
from backends.acrobat.frontend.evaluator.lists import at
from backends.acrobat.frontend.evaluator.mixed import by_type, of_type
from backends.acrobat.frontend.evaluator.nones import opened
from backends.acrobat.frontend.instances.annotations import AnnotationError
from backends.acrobat.frontend.types import Mismatch
from backends.acrobat.frontend.values import Dyn, Static, Value, is_never, type_or_none, variable_of

Call = Callable[[list[Value], dict[str, Value]], Value]


GIVE_PAIRS = {"max", "min", "sort", "topk", "median", "kthvalue", "mode"}
"""Functions and methods of PyTorch's that give values and indices."""


def has_several_ranks(f: Frame, value: Value) -> bool:
    """Whether a value, if it is not None, is a tensor of one of several ranks."""
    return isinstance(value, Dyn) and _of_several_ranks(f, value.type)


def take_several_ranks(f: Frame, args: Sequence[Value], kwargs: Mapping[str, Value]) -> bool:
    """Whether some of the arguments of a call are tensors of several ranks, or lists of such."""
    return any(has_several_ranks(f, v) or _lists_several_ranks(f, v) for v in (*args, *kwargs.values()))


def with_one_rank(f: Frame, node: ast.AST, args: Sequence[Value], kwargs: Mapping[str, Value], call: Call) -> Value:
    """`call(args, kwargs)`, compiled `for_each_rank` of the arguments."""

    def of_one(values: list[Value]) -> Value:
        return call(values[: len(args)], dict(zip(kwargs, values[len(args) :], strict=True)))

    return for_each_rank(f, node, [*args, *kwargs.values()], of_one)


def part_for_each_rank(f: Frame, node: ast.Attribute | ast.Subscript) -> Value | None:
    """A part of the pair that a method or function gives, as in `x.max(dim=0).values`: the pairs for several ranks have no type
    in common, so that the part is taken for each. None for all other expressions."""
    call = node.value
    if not f.program.datatypes.has_ranks or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    operand, name = call.func.value, call.func.attr
    if name not in GIVE_PAIRS or isinstance(operand, Given):
        return None
    value, args = f.borrowed(operand), call.args
    of_method = not isinstance(value, Static)
    if not of_method:
        if not args or isinstance(args[0], (Given, ast.Starred)):
            return None
        value = f.borrowed(args[0])

    def of_one(values: list[Value]) -> Value:
        given = ast.copy_location(Given(values[0]), operand)
        func = ast.copy_location(ast.Attribute(given if of_method else operand, name, ast.Load()), operand)
        whole = copy(node)
        whole.value = ast.copy_location(ast.Call(func, args if of_method else [given, *args[1:]], call.keywords), call)
        return f.borrowed(whole)

    return for_each_rank(f, node, [value], of_one)


def for_each_rank(f: Frame, node: ast.AST, values: Sequence[Value], work: Callable[[list[Value]], Value]) -> Value:
    """`work(values)`, compiled once for each type that the first of the values with several ranks may have, and so on for the
    others. Of lists of such values the first element decides. A type for which `work` has a problem is an error of the
    instance; a problem that it has for all of them is one of the model."""
    i = next((i for i, v in enumerate(values) if has_several_ranks(f, v) or _lists_several_ranks(f, v)), None)
    if i is None:
        return work([*values])
    value = values[i]
    problems: list[tuple[str, str]] = []

    def again(inner: Value) -> Value:
        return for_each_rank(f, node, [*values[:i], inner, *values[i + 1 :]], work)

    def of_one_type(word: str, inner: Value) -> Value:
        alone = inner if has_several_ranks(f, value) else _all_of(f, node, value, word)
        return _attempt(f, partial(again, alone), problems)

    deciding = opened(f, node, value if has_several_ranks(f, value) else at(f, value, Static(0)))  # type: ignore[arg-type]
    assert isinstance(deciding, Dyn)
    found = by_type(f, node, deciding, of_one_type)
    return f.problem(node, *problems[-1]) if problems and is_never(found) else found


def _attempt(f: Frame, work: Callable[[], Value], problems: list[tuple[str, str]]) -> Value:
    """`work()`; where that has a problem, which is added to `problems`, the error of an instance."""
    before, f.cause = f.cause, None
    text = advice = ""
    try:
        with f.trial():
            work()
        if f.cause is not None:
            text, advice = f.cause.message, f.cause.advice
    except Refused as refused:
        text, advice = refused.message, refused.advice
    except (Mismatch, AnnotationError) as error:
        text = str(error)
    finally:
        f.cause = before
    if not text:
        return work()
    problems.append((text, advice))
    return fail(f, "TypeError: " + text.replace("{", "{{").replace("}", "}}"))


def _lists_several_ranks(f: Frame, value: Value) -> bool:
    """Whether a value is a list of tensors of several ranks."""
    t = type_or_none(value)
    return isinstance(t, ListT) and t.rows is None and _of_several_ranks(f, t.item)


def _of_several_ranks(f: Frame, type: Any) -> bool:
    """Whether values of a type that are not None are tensors of several ranks."""
    return any(word in RANKS for word in f.mixed(f.without_none(type)))


def _all_of(f: Frame, node: ast.AST, value: Value, word: str) -> Value:
    """A list of tensors of several ranks as one of tensors of a single rank, which all of them have."""
    assert isinstance(value, Dyn) and isinstance(value.type, ListT)
    known = f.display(value)
    plain = f.coerce(value, ListT(f.mixed(f.without_none(value.type.item))[word]))
    if known is not None:  # of a list that is written out the elements are still known one by one
        f.displays[variable_of(plain)] = tuple(of_type(f, node, opened(f, node, v), word) for v in known)
    return plain
