"""Operators and comparisons of objects, by the special methods of their classes: `a + b` by `__add__`, `a < b` by `__lt__`; and
`==` and `<` of dataclasses, for which Python writes these methods, field by field."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from functools import partial
from types import FunctionType

from backends.acrobat.core.types import BOOL
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.changes.container_methods import change
from backends.acrobat.frontend.evaluator.choices.choice import negation
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.conditions.conditions import truth
from backends.acrobat.frontend.evaluator.conditions.narrowing import of_class
from backends.acrobat.frontend.evaluator.containers.records import updated
from backends.acrobat.frontend.evaluator.expressions.special_methods import special
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.classes import record_of, records_of
from backends.acrobat.frontend.evaluator.objects.fields import field
from backends.acrobat.frontend.evaluator.scalars.operators import OPERATORS
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted_expression
from backends.acrobat.frontend.evaluator.tables import AUGMENTED, BINARY, COMPARED_SETS, FUNCTIONS, UNARY, handles
from backends.acrobat.frontend.instances.dates import CLASSES
from backends.acrobat.frontend.kinds import is_object, is_unknown, kind, type_of, type_or_none
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value, unknown
from backends.acrobat.library import comparing, words

WORDS = {name: name for name in ("add", "sub", "mul", "floordiv", "mod", "pow", "matmul")} | {
    "div": "truediv",
    "bitand": "and",
    "bitor": "or",
    "bitxor": "xor",
    "shl": "lshift",
    "shr": "rshift",
}
"""Name of a binary operator -> what stands in the names of its special methods."""
SIGNS = {ast.USub: "__neg__", ast.UAdd: "__pos__", ast.Invert: "__invert__"}
TURNED = {"eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
"""Name of a comparison -> the one that `b` is asked for where the class of `a` has no method for it."""
BY_FIELDS = {"eq": comparing.equal, "lt": comparing.less, "le": comparing.not_greater}


@handles(BINARY, "object")
def _binary(f: Frame, node: ast.AST, op: ast.operator, name: str, a: Value, b: Value) -> Value:
    a, b = (f.as_object(x) if type(getattr(x, "value", None)) in CLASSES else opened(f, node, x) for x in (a, b))
    if name == "bitor" and (records_of(f, a) or records_of(f, b)):
        return updated(f, node, a, b)
    ways = [(a, f"__{WORDS[name]}__", b), (b, f"__r{WORDS[name]}__", a)]
    if _overrides(f, b, a, ways[1][1]):
        ways.reverse()
    for owner, method, other in ways:
        result = special(f, node, owner, method, [other]) if is_object(owner) else None  # type: ignore[arg-type]
        if result is not None:
            return result
    if "dict" in (kind(a), kind(b)):
        return BINARY["dict"](f, node, op, name, a, b)
    return f.problem(node, f"this operator does not take {describe(type_of(a))} and {describe(type_of(b))}")


def _overrides(f: Frame, b: Value, a: Value, method: str) -> bool:
    """Whether Python asks `b` first: its class is derived from that of `a` and has a method of its own."""
    pairs = [(x, y) for x in _classes(f, a) for y in _classes(f, b) if y is not x and issubclass(y, x)]
    return any(getattr(y, method, None) is not getattr(x, method, None) for x, y in pairs)


def _classes(f: Frame, value: Value) -> tuple[type, ...]:
    return f.program.datatypes.cases.get(value.type.name, ()) if is_object(value) else ()  # type: ignore[union-attr]


@handles(UNARY, "object")
def _unary(f: Frame, op: ast.unaryop, a: Dyn) -> Value | None:
    return special(f, ast.Pass(), a, SIGNS[type(op)], []) if type(op) in SIGNS else None


@handles(AUGMENTED, "object")
def _augmented(f: Frame, s: ast.AugAssign, name: str, before: Dyn, whole: ast.BinOp) -> None:
    """`name += x` of an object: `name = name + x`, unless its class has a method that changes the object itself."""
    if isinstance(s.op, ast.BitOr) and records_of(f, before):
        change(f, s, whole.left, "update", [s.value])
        return
    method = f"__i{WORDS[OPERATORS[type(s.op)][0]]}__"
    for cls in _classes(f, before):
        if isinstance(getattr(cls, method, None), FunctionType):
            what = f"`{method}` of `{cls.__name__}` changes an object under all of its names"
            raise Refused(what, "call a method of another name, or write the operator without `=`")
    f.straight([ast.copy_location(ast.Assign([s.target], whole), s)])


@handles(COMPARED_SETS, "object")
def _compared(f: Frame, node: ast.AST, name: str, a: Dyn, b: Dyn) -> Value | None:
    """A comparison of two objects; None where their classes have no method for it."""
    if name == "ne" and not _has_method(f, a, "__ne__"):
        same = _compared(f, node, "eq", a, b)
        if same is None or is_unknown(same):
            return same
        if type_or_none(same) != BOOL:
            raise Refused("`__eq__` gives no bool, so that `!=` has no meaning here", "give it one: `return bool(...)`")
        return negation(f, same)
    if a.type == b.type and _by_fields(f, a, name):
        circular = f.program.datatypes.circular | f.program.datatypes.graphs.circular
        if any(c in circular for c in _classes(f, a)):
            what = f"{describe(a.type)} is compared field by field, and its fields lead back to it"
            raise Refused(what, "write `is`, or `@dataclass(eq=False)`, or compare one of the fields")
        turned = name in ("gt", "ge")
        work = BY_FIELDS[TURNED[name] if turned else name] if len(_classes(f, a)) == 1 else comparing.equal_of_several
        return f.call_with(work, [b, a] if turned else [a, b], node)
    ways = [(a, name, b), (b, TURNED[name], a)]
    if _overrides(f, b, a, f"__{TURNED[name]}__"):
        ways.reverse()
    for owner, method, other in ways:
        result = special(f, node, owner, f"__{method}__", [other]) if not _by_fields(f, owner, method) else None
        if result is not None:
            return result
    return None


def _has_method(f: Frame, value: Dyn, method: str) -> bool:
    return any(isinstance(getattr(c, method, None), FunctionType) for c in _classes(f, value))


def _by_fields(f: Frame, value: Dyn, name: str) -> bool:
    """Whether Python compares two such objects field by field: dictionaries, and dataclasses for which it has written the
    comparison `name`. Those of several classes are compared by `==` only."""
    if record_of(f, value) is not None:
        return name == "eq"
    classes = _classes(f, value)
    if not classes or len(classes) > 1 and name != "eq":
        return False
    methods = [dataclasses.is_dataclass(c) and inspect.getattr_static(c, f"__{name}__", None) for c in classes]
    return all(isinstance(m, FunctionType) and m.__code__.co_filename == "<string>" for m in methods)


@handles(FUNCTIONS, words.fields_of)
def _fields_of(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    (value,) = args
    if is_unknown(value):
        return unknown()
    assert isinstance(value, Dyn)
    (cls,) = _classes(f, value)
    compared = f.program.datatypes.record_fields(cls) if record_of(f, value) is not None else []
    compared = compared or [x.name for x in dataclasses.fields(cls) if x.compare]
    return TupleV(tuple(field(f, node, value, name) for name in compared))


@handles(FUNCTIONS, words.equal_objects)
def _equal_objects(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """In `comparing.equal_of_several`, which has the names `one` and `other` for the two."""
    one, other = args
    if is_unknown(one) or is_unknown(other):
        return unknown()
    assert isinstance(one, Dyn) and isinstance(other, Dyn)
    classes = _classes(f, one)

    def alike(cls: type) -> Value:
        names = [x.name for x in dataclasses.fields(cls) if x.compare]  # type: ignore[arg-type]
        text = " and ".join(f"one.{x} == other.{x}" for x in names) or "True"
        return truth(f, quoted_expression(node, text))  # type: ignore[arg-type]

    def of_one_from(k: int) -> Value:
        cls = Static(classes[k])
        both = partial(of_class, f, node, other, "other", cls, partial(alike, classes[k]), lambda: Static(False))
        if k == len(classes) - 1:
            return both()
        return of_class(f, node, one, "one", cls, both, partial(of_one_from, k + 1))

    return of_one_from(0)
