"""Tests of classes: where a test says that an object is of a class, its name stands for an object of that class."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from enum import Enum
from typing import Any

from backends.acrobat.core.types import BOOL, DataT
from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.choices.choice import Arm, choose, one_of, open_optional, optional
from backends.acrobat.frontend.evaluator.choices.known_classes import MAY_BE, is_instance, note_asked
from backends.acrobat.frontend.evaluator.choices.mixed import SEQUENCES, by_type, is_tree, not_taken, of_type
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.classes import alike_key, class_key, python_class, records_of
from backends.acrobat.frontend.evaluator.objects.constant_fields import as_constant, constant_field
from backends.acrobat.frontend.evaluator.syntax.hidden_names import attribute_path, fact_of
from backends.acrobat.frontend.kinds import type_of
from backends.acrobat.frontend.types import contains_unknown, is_shared
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value, held_in
from backends.acrobat.ir import nodes as n


def of_class(
    f: Frame, node: ast.AST, value: Dyn, path: str | None, classes: Value, then: Arm, orelse: Arm, exactly: bool = False
) -> Value:
    """`then() if isinstance(value, classes) else orelse()`, or of `type(value) is classes` with `exactly`. The arms know the
    class, also under `path`, the value's name."""
    whole = f.static_list(classes)
    parts = whole.items if isinstance(whole, TupleV) else (whole,)
    tested: Any = tuple(c.value for c in parts if isinstance(c, Static) and isinstance(c.value, type))
    if len(tested) < len(parts):
        return f.problem(node, "the classes of `isinstance` are known at compile time")
    if records_of(f, value) and any(c is not dict and issubclass(c, MAY_BE["dict"]) for c in tested) and dict not in tested:
        what = "a dictionary with names may be of `dict` or of a class derived from it in Python, which are not told apart here"
        return f.problem(node, what, "leave the question out where it is always the same")

    def is_wanted(cls: type) -> bool:
        cls = python_class(cls)
        return cls in tested if exactly else issubclass(cls, tested)

    if optional(f, value) is not None:

        def some(inner: Value) -> Value:
            if path is not None:
                f.env[path] = inner
            if isinstance(inner, Dyn) and isinstance(inner.type, DataT):
                return of_class(f, node, inner, path, classes, then, orelse, exactly)
            answer = is_instance(f, node, inner, tested, exactly)
            if answer is None:
                return f.problem(node, f"`isinstance` takes an object here, not {describe(type_of(inner))}")
            return (then if not isinstance(answer, Static) or answer.value else orelse)()

        return open_optional(f, node, value, some, then if is_wanted(type(None)) else orelse)
    if is_shared(value.type):
        answer = is_instance(f, node, opened(f, node, value), tested, exactly)
        if not isinstance(answer, Static):
            return f.problem(node, "`isinstance` does not tell a list that has several names from what else may stand here")
        return (then if answer.value else orelse)()
    assert isinstance(value.type, DataT)
    if f.mixed(value.type):
        return _of_python_type(f, node, value, path, classes, tested, then, orelse, exactly)
    known_class = f.env.get(class_key(path)) if path is not None else None
    if isinstance(known_class, Static):
        return (then if is_wanted(known_class.value) else orelse)()
    datatypes = f.program.datatypes
    members = datatypes.cases[value.type.name]
    if all(map(is_wanted, members)):
        return then()
    heads = [(c, tuple(f.var(x, datatypes.field_type(c, x)) for x in datatypes.field_names(c))) for c in members]

    def arm(cls: type, variables: tuple[n.Var, ...]) -> Arm:
        def body() -> Value:
            if path is not None:
                f.env[class_key(path)] = Static(cls)
                f.env[alike_key(path)] = Static(tuple(c for c in members if is_wanted(c) == is_wanted(cls)))
                for variable, name in zip(variables, datatypes.field_names(cls), strict=False):  # more may be read meanwhile
                    value = constant_field(f, cls, name) or as_constant(f, [cls], name, held_in(Dyn(variable)))
                    f.env[attribute_path(path, name)] = value
            return (then if is_wanted(cls) else orelse)()

        return body

    def build(type: Any, bodies: list[n.Expr]) -> n.Expr:
        arms = tuple(n.Arm(c.__name__, variables, body) for (c, variables), body in zip(heads, bodies, strict=True))
        return n.Match(value.atom, arms, type, span=f.span)

    if any(contains_unknown(v.type) for _, variables in heads for v in variables):
        f.program.incomplete = True
    return one_of(f, node, [arm(c, variables) for c, variables in heads], build)


def _of_python_type(
    f: Frame,
    node: ast.AST,
    value: Dyn,
    path: str | None,
    classes: Value,
    tested: tuple[type, ...],
    then: Arm,
    orelse: Arm,
    exactly: bool,
) -> Value:
    """`of_class` of a mixed value. In the arms its name stands for the value as one of the type that it has there. An arm that
    several types take is compiled once, and the value stays mixed in it."""
    assert isinstance(value.type, DataT)
    union = value.type.name
    by_word = {word: f.program.datatypes.class_in_mixed(union, word) for word in f.mixed(value.type)}
    takes = {word: cls in tested if exactly else issubclass(cls, tested) for word, cls in by_word.items() if word != "object"}

    if "list" in takes and any((c in tested if exactly else issubclass(c, tested)) != takes["list"] for c in MAY_BE["list"]):
        note_asked(f, node, f.mixed(value.type)["list"])

    def alone(word: str, inner: Value) -> Value:
        if path is not None:
            f.env[path] = inner
        if word != "object":
            return (then if takes[word] else orelse)()
        return of_class(f, node, inner, path, classes, then, orelse, exactly)  # type: ignore[arg-type]

    if "object" in by_word or sum(takes.values()) < 2 and len(takes) - sum(takes.values()) < 2:
        return by_type(f, node, value, alone)
    return of_types(f, node, value, path, takes, then, orelse)


def of_types(f: Frame, node: ast.AST, value: Dyn, path: str | None, takes: dict[str, bool], then: Arm, orelse: Arm) -> Value:
    """`then()` for the types of a mixed value for which `takes` says so, by their words, and `orelse()` for the others. In each
    arm `path`, the name of the value, stands for what it is there, as far as that is one type."""
    if len(set(takes.values())) == 1:
        return then() if takes[next(iter(takes))] else orelse()
    inside = by_type(f, node, value, lambda word, _: Dyn(n.Lit(takes[word], BOOL)))

    def side(arm: Arm, of_wanted: bool) -> Arm:
        words = [word for word, there in takes.items() if there == of_wanted]

        def body() -> Value:
            if path is not None and len(words) == 1:
                f.env[path] = of_type(f, node, value, *words)
            elif path is not None and {*words} == {*SEQUENCES} and not is_tree(f, value.type):
                f.env[path] = _one_of(f, node, value, words)
            return arm()

        return body

    return choose(f, node, inside, side(then, True), side(orelse, False))


def _one_of(f: Frame, node: ast.AST, value: Dyn, words: Sequence[str]) -> Value:
    """A mixed value that is known to be of one of several of its types."""
    types = f.mixed(value.type)
    fewer = f.program.datatypes.either({word: types[word] for word in types if word in words}, "Met")
    return by_type(f, node, value, lambda w, inner: f.coerce(inner, fewer) if w in words else not_taken(f, node, w))


def told_key(path: str) -> str:
    """The key of `Frame.env` that holds the constants which a name or field is known to be one of, and the value that the name
    had when this was found."""
    return fact_of(path, "among")


def told_constants(f: Frame, node: ast.expr) -> tuple[Any, ...]:
    """The strings or members of Enums that a name or field may be here, according to the tests around; none if no test says so.
    For the name of a member, `op.name`, these are the names of those that `op` may be."""
    path, root = path_of(node), root_of(node)
    told = f.env.get(told_key(path)) if path is not None else None
    if not isinstance(told, TupleV) or told.items[0] != f.env.get(str(root)):
        members = told_constants(f, node.value) if isinstance(node, ast.Attribute) and node.attr == "name" else ()
        return tuple(x.name for x in members) if all(isinstance(x, Enum) for x in members) else ()
    return tuple(v.value for v in told.items[1:] if isinstance(v, Static))


def path_of(node: ast.expr) -> str | None:
    """The key of `Frame.env` for a name, or for a field `name.a.b`; None for other expressions."""
    match node:
        case ast.Name(name):
            return name
        case ast.Attribute(owner, name):
            path = path_of(owner)
            return path and attribute_path(path, name)
    return None


# ---- the expressions that choose
