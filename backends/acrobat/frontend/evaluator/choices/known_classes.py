"""Whether values of one type of the program are of a class in Python, as far as that is known at compile time."""

from __future__ import annotations

import ast
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator, Sequence
from functools import partial
from types import GeneratorType, UnionType
from typing import Any, get_args, get_origin

from backends.acrobat.core.types import ScalarT, TupleT
from backends.acrobat.frontend.derived_containers import container_of
from backends.acrobat.frontend.evaluator.choices.mixed import word_of
from backends.acrobat.frontend.evaluator.frame.derived_values import derived_class
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.instances.annotations import AnnotationError, hints
from backends.acrobat.frontend.kinds import is_array, is_held_tensor, kind, type_or_none
from backends.acrobat.frontend.source import span_of
from backends.acrobat.frontend.syntax_nodes import every_node
from backends.acrobat.frontend.types import SYMBOL, UNKNOWN
from backends.acrobat.frontend.values import Static, TupleV, Value
from backends.acrobat.library import __name__ as LIBRARY

NUMBERS: dict[str, type] = {"int": int, "float": float, "bool": bool}


MAY_BE: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "tuple": (tuple, list),
    "list": (list, tuple, range, deque, GeneratorType, type({}.keys())),
    "dict": (dict, Counter, defaultdict, OrderedDict),
}
"""The word in `PYTHON_TYPES` for a type of the program -> what its values may be in Python."""


def is_instance(f: Frame, node: ast.AST, value: Value, classes: Sequence[type], exactly: bool = False) -> Value | None:
    """Whether a value of one type is an instance of one of `classes`, or with `exactly` of one of these themselves; None where
    that is not known. Problems are noted as by `is_of_classes`."""
    takes = partial(_takes, classes, exactly)
    if isinstance(type_or_none(value), ScalarT):
        return is_of_classes(f, node, value, classes, exactly)
    if kind(value) == "varying tuple":
        return Static(takes(tuple))
    if is_array(value) or is_held_tensor(value):
        found = takes(f.program.datatypes.class_in_mixed("", "tensor"))
        if any(takes(number) != found for number in (int, float)) and not f.program.datatypes.is_tensor_in_python():
            what = "a number is a tensor where tensors are in its place, so that `isinstance` does not tell them apart here"
            return f.problem(node, what, "keep numbers and tensors in fields or names of their own")
        return Static(found)
    if (cls := derived_class(f, value)) is not None:
        return Static(takes(cls))
    if any(container_of(cls) is not None for cls in classes) and kind(value) in ("dict", "list"):
        return None  # the instance may have one of that class there
    answers = {takes(c) for c in _possible_classes(f, value)}
    if len(answers) == 1 and not asks_for_tuples(tuple(classes)):
        return Static(answers.pop())
    if not all(isinstance(cls, type) for cls in classes):
        return None
    t = type_or_none(value)
    if kind(value) == "list":
        note_asked(f, node, t)
        return Static(takes(list))
    if isinstance(t, TupleT) and not t.listed and not asks_for_tuples(tuple(classes)):
        f.program.listed.asked.setdefault(span_of(node, f.file), set()).add(t)
        return Static(takes(tuple))
    return None


def note_asked(f: Frame, node: ast.AST, type: Any) -> None:
    """Note that the source asks whether a list of the program is one in Python."""
    f.program.sequences.asked.setdefault(span_of(node, f.file), set()).add(getattr(type, "item", UNKNOWN))


def is_instance_as_annotated(f: Frame, tested: ast.expr, classes: Sequence[type]) -> Static | None:
    """Whether a list of the program is an instance of one of `classes`, by the annotation of the parameter that it is: a union
    such as `Tensor | list[Tensor]`, whose members the source tells apart by it. None where the annotation does not say that, or
    the name may have another value."""
    if not isinstance(tested, ast.Name) or f.definition is None or not _is_as_given(f, f.definition, tested):
        return None
    try:
        members = get_args(hints(f.function).get(tested.id))
    except AnnotationError:
        return None
    origins = [get_origin(m) or m for m in members]
    if not all(isinstance(m, type) for m in origins):
        return None
    possible = [c for c in MAY_BE["list"] if issubclass(c, tuple(origins))]
    answers = {issubclass(c, tuple(classes)) for c in possible}
    return Static(answers.pop()) if len(answers) == 1 and len(possible) < len(MAY_BE["list"]) else None


REPEATED = (ast.For, ast.While, ast.Lambda, ast.FunctionDef)


def _is_as_given(f: Frame, definition: ast.FunctionDef, tested: ast.Name) -> bool:
    """Whether a name is that of a parameter to which nothing is assigned before the place where it is `tested`."""
    if f.function is None or definition.name != f.function.__name__:
        return False
    every = [x for s in definition.body for x in every_node(s)]
    stored = [x for x in every if isinstance(x, ast.Name) and x.id == tested.id and not isinstance(x.ctx, ast.Load)]
    written = [t for s in every if isinstance(s, ast.Assign) for t in s.targets if t in stored]
    first = all((x.lineno, x.col_offset) > (tested.lineno, tested.col_offset) for x in stored)
    again = any(isinstance(x, REPEATED) and tested in every_node(x) for x in every)
    named_again = any(isinstance(x, ast.arg) and x.arg == tested.id for x in every)
    return tested in every and len(written) == len(stored) and first and not again and not named_again


def _possible_classes(f: Frame, value: Value) -> tuple[type, ...]:
    """The classes of which one is that of a value in Python; none where that is not known."""
    word = word_of(value) or ("tuple" if isinstance(value, TupleV) else "")
    if word == "str" and f.program.datatypes.has_enums:
        return ()
    return MAY_BE.get(word, ())


def asks_for_tuples(classes: Any) -> bool:
    """Whether one of the classes is derived from tuple or list, as that of a tensor's shape: a tuple of the program may be an
    instance of it. (Named tuples are objects.)"""
    every = (cls for cls in several(classes) if cls not in MAY_BE["tuple"] and not hasattr(cls, "_fields"))
    return any(issubclass(cls, MAY_BE["tuple"]) for cls in every)


def several(classes: Any) -> Iterator[type]:
    """The classes that `isinstance` is given: one, several in a tuple, or a union."""
    every = classes if isinstance(classes, tuple) else get_args(classes) if isinstance(classes, UnionType) else None
    if every is None:
        yield classes
    else:
        for each in every:
            yield from several(each)


def _takes(classes: Sequence[type], exactly: bool, cls: type) -> bool:
    """Whether objects of `cls` are instances of one of `classes`, or with `exactly` of one of these themselves."""
    return cls in classes if exactly else issubclass(cls, tuple(classes))


def is_of_classes(f: Frame, node: ast.AST, value: Value, classes: Sequence[type], exactly: bool = False) -> Static | None:
    """Whether a number or a string is an instance of one of `classes`, or with `exactly` of one of these themselves; None for
    other values. A problem is noted where a float of the program may be an int in Python, which the classes tell apart; not in
    the library, which asks what a number is in the program."""
    takes = partial(_takes, classes, exactly)
    match type_or_none(value):
        case ScalarT(kind):
            found = takes(NUMBERS[kind])
            asks_python = (
                kind == "float" and takes(int) != found and not getattr(f.function, "__module__", "").startswith(LIBRARY)
            )
            if asks_python and not f.program.datatypes.is_float_in_python():
                what = "an int is a float where floats are in its place, so that `isinstance` does not tell them apart here"
                f.problem(node, what, "keep numbers of the two types in fields or names of their own")
            return Static(found)
        case t if t is SYMBOL and not f.program.datatypes.has_enums:
            return Static(takes(str))
    return None
