"""Fields of objects of the instance, also those that some classes of a union have only; what objects are told apart by."""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence

from backends.acrobat.core.types import IDENTITY, INT, DataT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.choices.choice import among, fail, open_optional, optional
from backends.acrobat.frontend.evaluator.choices.each_type import for_each_type, is_one_of_several
from backends.acrobat.frontend.evaluator.choices.mixed import with_attribute
from backends.acrobat.frontend.evaluator.choices.nones import opened, present
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.attributes import attribute
from backends.acrobat.frontend.evaluator.objects.classes import (
    METHODS_OF_RECORDS,
    class_attribute,
    class_of,
    classes_here,
    number_of_class,
    records_of,
)
from backends.acrobat.frontend.evaluator.objects.constant_fields import as_constant, constant_field
from backends.acrobat.frontend.evaluator.ownership.ownership import note_list_seen_elsewhere
from backends.acrobat.frontend.evaluator.tables import ATTRIBUTES, COMPONENTS, FIELDS_READ, FUNCTIONS, handles
from backends.acrobat.frontend.instances.record_classes import RecordOf
from backends.acrobat.frontend.kinds import is_unknown, nothing_known, type_of, type_or_none, variable_of
from backends.acrobat.frontend.specials import Absent, AttributesByName, Method, OneOf
from backends.acrobat.frontend.types import NONE, contains_unknown, is_unassigned
from backends.acrobat.frontend.values import Dyn, Static, Value, guess, held_in, unknown
from backends.acrobat.ir import nodes as n


@handles(ATTRIBUTES, "object")
def field(f: Frame, node: ast.AST, value: Dyn, name: str) -> Value:
    assert isinstance(value.type, DataT)
    if optional(f, value) is not None:
        return attribute(f, node, opened(f, node, value), name)
    if is_one_of_several(f, value) and "object" not in f.mixed(value.type):
        of_python = [f.program.datatypes.class_in_mixed(value.type.name, word) for word in ("tensor", *f.mixed(value.type))]
        if any(callable(getattr(cls, name, None)) for cls in of_python):
            return Method(value, name)
        return for_each_type(f, node, [value], lambda one: attribute(f, node, one[0], name))
    if f.mixed(value.type):
        one = with_attribute(f, node, value, name)
        if type_or_none(one) == value.type:
            return f.problem(node, f"{describe(value.type)} has no attribute `{name}`")
        return attribute(f, node, one, name)
    if name == "__class__":
        return class_of(f, node, value)
    if name == "__dict__":
        return attributes_of(f, node, value)
    if (kept := _written_field(f, node, value, name)) is not None:
        return kept
    datatypes = f.program.datatypes
    classes = datatypes.cases[value.type.name]
    have = [c for c in classes if datatypes.has_field(c, name)]
    if not have and records_of(f, value) and name in METHODS_OF_RECORDS:
        return Method(value, name)
    if not have and (result := class_attribute(f, node, value, classes, name)) is not None:
        return result
    if any(hasattr(c, name) for c in classes if c not in have):
        return of_each_class(f, node, value, name)
    if not have:
        if records := records_of(f, value):
            keys = " or of ".join(", ".join(map(repr, datatypes.record_fields(cls))) for cls in records)
            return f.problem(node, f"this dictionary, of {keys}, has no key {name!r}")
        return f.problem(node, f"{value.type.name} has no field `{name}`")
    result = field_at_first(f, value, have, name)
    if isinstance(result, Dyn) and datatypes.may_be_missing(have, name) and optional(f, result) is not None:
        return unless_missing(f, node, result, classes, name)
    return result


def unless_missing(f: Frame, node: ast.AST, value: Dyn, classes: Sequence[type], name: str) -> Value:
    """The value of an attribute that objects of these classes may not have yet: there is None in its place, and reading it is
    an error of the instance."""
    message = f"AttributeError: {' or '.join(c.__name__ for c in classes)!r} object has no attribute {name!r}"
    return open_optional(f, node, value, lambda some: some, lambda: fail(f, message))


def attributes_of(f: Frame, node: ast.AST, value: Value) -> Value:
    """`vars(value)` of an object that the model has made: its attributes, as they are now, by name."""
    if nothing_known(value):
        return unknown()
    datatypes = f.program.datatypes
    classes = datatypes.cases.get(value.type.name, ()) if isinstance(value, Dyn) and isinstance(value.type, DataT) else ()
    others = any(c in datatypes.seen or issubclass(c, RecordOf) or datatypes.graphs.is_stand_in(c) for c in classes)
    if len(classes) != 1 or others or datatypes.late.get(classes[0]):
        what = "the attributes of an object by name are known of objects of one class that the model makes, with all of them"
        return f.problem(node, what, "name the attributes")
    assert isinstance(value, Dyn)
    return AttributesByName(tuple((x, field(f, node, value, x)) for x in datatypes.attribute_names(classes[0])))


@handles(FUNCTIONS, vars)
def _vars(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    (x,) = CallArguments("vars", args, kwargs).bind("object")
    return attributes_of(f, node, x)


def _written_field(f: Frame, node: ast.AST, value: Dyn, name: str) -> Value | None:
    """The value of a field that the model writes on objects of the instance; None for other fields."""
    for rule in FIELDS_READ:
        if (result := rule(f, node, value, name)) is not None:
            return result
    return None


def field_at_first(f: Frame, value: Dyn, have: Sequence[type], name: str) -> Value:
    """A field that objects of the classes `have` of a union have. As in Python, one of another class is an error of the
    instance."""
    assert isinstance(value.type, DataT)
    datatypes = f.program.datatypes
    classes = datatypes.cases[value.type.name]
    types = [datatypes.field_type(c, name) for c in have]
    constants = [constant_field(f, c, name) for c in have]
    if len(have) == len(classes) and constants[0] is not None and all(x == constants[0] for x in constants):
        return constants[0]
    if all(t is NONE for t in types) and len(have) == len(classes):
        return Static(None)  # no object has anything else in this field
    t = f.common(types)
    for c in have:  # such as the list of children of leaves, which was always empty
        if c in datatypes.seen and contains_unknown(datatypes.field_type(c, name)) and not contains_unknown(t):
            datatypes.widen(c, name, t)
    arms = []
    for c in classes:
        fields = datatypes.field_names(c)
        if c not in have:
            variables = tuple(f.var(x, datatypes.field_type(c, x)) for x in fields)
            with f.branch() as b:
                of_dict = f"KeyError: {name!r}"
                never = fail(f, of_dict if issubclass(c, RecordOf) else f"AttributeError: a {c.__name__} has no `{name}`")
                body = b.finish(f.atom(never if contains_unknown(t) else f.coerce(never, t)))
            arms.append(n.Arm(c.__name__, variables, body))
            continue
        variables = tuple(f.var(x, datatypes.field_type(c, x)) for x in fields)
        at = fields.index(name)
        field_value: n.Expr = variables[at]
        if variables[at].type != t and not any(map(contains_unknown, (t, variables[at].type))):
            with f.branch() as b:
                field_value = b.finish(f.atom(f.coerce(held_in(Dyn(variables[at])), t)))
        arms.append(n.Arm(c.__name__, variables, field_value))
    if any(contains_unknown(v.type) for arm in arms for v in arm.vars):
        f.program.incomplete = True
        return guess(t)
    result = f.bind(n.Match(value.atom, tuple(arms), t, span=f.span), name)
    sizes = {datatypes.vector(c, name) for c in have}
    if len(sizes) == 1:
        f.vectors[variable_of(result)] = sizes.pop()
    return as_constant(f, list(have), name, result)


def of_each_class(f: Frame, node: ast.AST, value: Dyn, name: str) -> Value:
    """A method, property or constant that the classes of a union have each in their own way, or some of them only."""
    assert isinstance(value.type, DataT)
    datatypes = f.program.datatypes
    classes = datatypes.cases[value.type.name]

    if (kept := _written_field(f, node, value, name)) is not None:
        return kept

    def arm(cls: type) -> Value:
        if datatypes.has_field(cls, name):
            return field_at_first(f, value, [cls], name)
        result = class_attribute(f, node, value, (cls,), name)
        return Absent(f"AttributeError: a {cls.__name__} has no `{name}`") if result is None else result

    def attribute_or_failure(cls: type) -> Value:
        result = arm(cls)
        return fail(f, result.text) if isinstance(result, Absent) else result

    which = number_of_class(f, value, classes)
    with f.trial():
        values = [arm(c) for c in classes]
    if all(isinstance(x, (Method, Absent)) for x in values):
        return OneOf(which, tuple(values), value, tuple(classes))
    fields = [
        c
        for c, x in zip(classes, values, strict=True)
        if c in datatypes.seen and datatypes.has_field(c, name) and is_unknown(x)
    ]
    types = [type_of(x) for x in values if not isinstance(x, (Method, Absent))]
    if fields and not contains_unknown(t := f.common(types)):  # lists that were always empty in the sample
        for c in fields:
            datatypes.widen(c, name, t)
    return among(f, node, which, [functools.partial(attribute_or_failure, c) for c in classes])


def of_known_class(f: Frame, node: ast.AST, value: Value, cls: type, name: str, alike: Sequence[type] = ()) -> Value:
    """An attribute of an object of a known class. A field that was not read before is read from the next round of compiling on.
    If the class has no such attribute, this is a problem, or, if others of the classes `alike` that come here have it, an error
    of the instance, as in Python."""
    if isinstance(value, Dyn) and optional(f, value) is None and (kept := _written_field(f, node, value, name)) is not None:
        return kept
    if isinstance(value, Dyn) and f.program.datatypes.has_field(cls, name):
        return field_at_first(f, value, [cls], name)
    if isinstance(value, Dyn) and (result := class_attribute(f, node, value, (cls,), name)) is not None:
        return result
    if any(f.program.datatypes.has_field(c, name) or hasattr(c, name) for c in alike):
        return fail(f, f"AttributeError: a {cls.__name__} has no `{name}`")
    return f.problem(node, f"a `{cls.__name__}` has no `{name}`")


@handles(FUNCTIONS, id)
def _identity(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """`id(x)` of an object of the instance: a number that no other object of the instance has, and None has another one."""
    (x,) = CallArguments("id", args, kwargs).bind("object")
    of_none = Static(-1)
    if x == Static(None):
        return of_none
    if isinstance(x, Dyn) and optional(f, x) is not None and not is_unassigned(x.type):
        return open_optional(f, node, x, lambda some: identity(f, node, some), lambda: of_none)
    return identity(f, node, x)


def identity(f: Frame, node: ast.AST, x: Value) -> Value:
    """The number of an object, which no other one has: those of the instance are counted together, and those that the model
    makes by their classes."""
    x = present(f, node, x)
    if nothing_known(x):
        return unknown()
    note_list_seen_elsewhere(f, None, type_or_none(x))  # of a shared one it is known
    if not isinstance(x, Dyn) or not isinstance(x.type, DataT):
        return f.problem(node, "`id` is for objects of the instance here")
    classes = f.program.datatypes.cases[x.type.name]
    for cls in classes:
        f.program.datatypes.identify(cls)
    number = field(f, node, x, IDENTITY)
    first = f.program.datatypes.first_identity(x.type.name)
    if first == 0 or is_unknown(number):
        return number
    if len(classes) > 1 and f.program.datatypes.is_referenced(x.type.name):  # each class is counted by itself
        of_all = f.host("mul", [number, Static(len(classes))], INT)
        number = f.host("add", [of_all, number_of_class(f, x, classes)], INT, "identity")
    return f.host("add", [number, Static(first)], INT, "identity")


def parts_of_tuple(f: Frame, value: Value, count: int | None) -> list[Value] | None:
    """The components of a named tuple of `count` fields, where that is given; None for other values. One of another class of
    its union with more or fewer fields is an error of the instance."""
    classes = classes_here(f, value) if isinstance(value, Dyn) else ()
    if not classes or not all(issubclass(c, tuple) for c in classes):
        return None
    assert isinstance(value, Dyn) and isinstance(value.type, DataT)
    names = {c: list(c._fields) for c in classes}  # type: ignore[attr-defined]
    counts = {len(x) for x in names.values()} if count is None else {count}
    if len(counts) > 1 or not any(len(x) in counts for x in names.values()):
        return None
    (size,), node = counts, ast.Pass()
    if len(f.program.datatypes.cases[value.type.name]) == 1:
        return [field(f, node, value, name) for name in names[classes[0]]]

    def part(i: int, cls: type) -> Value:
        if len(names[cls]) != size:
            many = "too many values to unpack" if len(names[cls]) > size else "not enough values to unpack"
            return fail(f, f"ValueError: {many}, a {cls.__name__} where {size} are expected")
        return of_known_class(f, node, value, cls, names[cls][i])

    which = number_of_class(f, value, classes) if len(classes) > 1 else Static(0)
    return [among(f, node, which, [functools.partial(part, i, c) for c in classes]) for i in range(size)]


COMPONENTS.append(parts_of_tuple)
