"""Which class an object is of, and what its classes have besides fields: methods, properties, constants."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import types
from collections.abc import Callable, Sequence

from backends.acrobat.core.types import INT, DataT
from backends.acrobat.frontend.evaluator.choices.choice import among
from backends.acrobat.frontend.evaluator.choices.mixed import by_type
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.syntax.hidden_names import fact_of
from backends.acrobat.frontend.instances.dates import CLASSES
from backends.acrobat.frontend.instances.divided import original
from backends.acrobat.frontend.instances.record_classes import RecordOf
from backends.acrobat.frontend.source import static_attribute
from backends.acrobat.frontend.specials import Absent, Method, Narrowed, OneOf, Partial
from backends.acrobat.frontend.types import contains_unknown
from backends.acrobat.frontend.values import Dyn, Static, Value, guess
from backends.acrobat.ir import nodes as n
from backends.acrobat.library import words


def class_key(path: str) -> str:
    """The key of `Frame.env` under which the class is kept that a name or field is known to be of."""
    return fact_of(path, "class")


def alike_key(path: str) -> str:
    """The key of `Frame.env` for all classes of an object that one arm of a test handles together, `class_key` being the key
    for the class that it is compiled for."""
    return fact_of(path, "alike")


def classes_here(f: Frame, value: Dyn) -> tuple[type, ...]:
    """The classes that an object may be of: those of its union, or the one that a test around says of a name of it."""
    classes = f.program.datatypes.cases.get(getattr(value.type, "name", ""), ())
    names = [x for x, v in f.env.items() if isinstance(v, Dyn) and v.atom == value.atom] if len(classes) > 1 else []
    told = [f.env.get(class_key(x)) for x in names]
    return next(((x.value,) for x in told if isinstance(x, Static)), classes)


def is_written(method: object) -> bool:
    """Whether a method is one of the source, and not one that Python makes, as that of a dataclass."""
    return isinstance(method, types.FunctionType) and not method.__code__.co_filename.startswith("<")


def setter_of(cls: type, name: str) -> types.FunctionType | None:
    """The function of the source that an assignment to a property of a class calls; None for other attributes."""
    attribute = inspect.getattr_static(cls, name, None)
    setter = attribute.fset if isinstance(attribute, property) else None
    return setter if isinstance(setter, types.FunctionType) else None


def item_setter_of(cls: type) -> types.FunctionType | None:
    """The function of the source that an assignment to an item of an object of a class calls; None for other classes."""
    method = inspect.getattr_static(cls, "__setitem__", None)
    return method if isinstance(method, types.FunctionType) else None


def class_of(f: Frame, node: ast.AST, value: Dyn) -> Value:
    """`type(value)` of an object: a class, or one of those of its union, chosen at run time."""
    value = opened(f, node, value)  # type: ignore[assignment]
    assert isinstance(value.type, DataT)
    if f.mixed(value.type):
        return _class_of_mixed(f, node, value)
    classes = f.program.datatypes.cases[value.type.name]
    seen = _as_in_python(classes)
    return seen[0] if len(seen) == 1 else OneOf(number_of_class(f, value, classes), tuple(seen), value, tuple(classes))


def python_class(cls: type) -> type:
    """The class that objects of a class of the program have in Python."""
    return dict if issubclass(cls, RecordOf) and cls.class_of_record is None else original(cls)


def _as_in_python(classes: Sequence[type]) -> list[Static]:
    return [Static(python_class(c)) for c in classes]


def _class_of_mixed(f: Frame, node: ast.AST, value: Dyn) -> Value:
    """`type(value)` of a mixed value: one of Python's classes, or of those of its objects."""
    assert isinstance(value.type, DataT)
    union, datatypes = value.type.name, f.program.datatypes
    its, first = list[Static](), dict[str, int]()
    for word, t in f.mixed(value.type).items():
        first[word] = len(its)
        its += [Static(datatypes.class_in_mixed(union, word))] if word != "object" else _as_in_python(datatypes.cases[t.name])

    def number(word: str, inner: Value) -> Value:
        start = Dyn(n.Lit(first[word], INT))
        if word != "object":
            return start
        classes = datatypes.cases[inner.type.name]  # type: ignore[union-attr]
        return start if len(classes) == 1 else f.host("add", [number_of_class(f, inner, classes), start], INT)  # type: ignore[arg-type]

    which = by_type(f, node, value, number)
    return OneOf(which, tuple(its), value, tuple(x.value for x in its))  # type: ignore[arg-type]


def number_of_class(f: Frame, value: Dyn, classes: Sequence[type], numbers: Sequence[n.Lit] | None = None) -> Dyn:
    """Which of the classes of its union an object is of, counted from 0; or the one of `numbers` that stands for its class."""
    datatypes = f.program.datatypes
    heads = [tuple(f.var(x, datatypes.field_type(c, x)) for x in datatypes.field_names(c)) for c in classes]
    numbers = numbers or [n.Lit(i, INT) for i in range(len(classes))]
    if any(contains_unknown(v.type) for variables in heads for v in variables):
        f.program.incomplete = True
        return guess(numbers[0].type)
    arms = [n.Arm(c.__name__, variables, each) for c, variables, each in zip(classes, heads, numbers, strict=True)]
    return f.bind(n.Match(value.atom, tuple(arms), numbers[0].type, span=f.span), "class")


def by_class(f: Frame, node: ast.AST, value: Dyn, classes: Sequence[type], work: Callable[[type], Value]) -> Value:
    """`work(cls)` for the one of these classes that an object is of."""
    which = number_of_class(f, value, classes) if len(classes) > 1 else Static(0)
    return among(f, node, which, [functools.partial(work, c) for c in classes])


def names_in_class(cls: type) -> tuple[str, ...] | None:
    """The names of what an object of a class holds that is a tuple or a dictionary in Python; None for other classes."""
    if issubclass(cls, tuple):
        return tuple(cls._fields)  # type: ignore[attr-defined]
    return cls.keys_of_record if issubclass(cls, RecordOf) else None


METHODS_OF_RECORDS = ("copy", "get", "items", "keys", "pop", "values")


def record_of(f: Frame, value: Value) -> type | None:
    """The record class of a value that is a dictionary in Python, with the same keys always; None for other values."""
    classes = records_of(f, value)
    return classes[0] if len(classes) == 1 else None


def records_of(f: Frame, value: Value) -> tuple[type, ...]:
    """The record classes of a value that is a dictionary in Python, one for each set of keys; none for other values."""
    if not isinstance(value, Dyn) or not isinstance(value.type, DataT):
        return ()
    classes = f.program.datatypes.cases.get(value.type.name, ())
    return classes if all(issubclass(c, RecordOf) and c.class_of_record is None for c in classes) else ()


def owner_of(f: Frame, value: Dyn, classes: Sequence[type]) -> Value:
    """An object as an argument, where it is known to be of one of `classes`."""
    every = f.program.datatypes.cases.get(getattr(value.type, "name", ""), ())
    return Narrowed(value, classes[0]) if len(classes) == 1 < len(every) else value


def special_method(f: Frame, node: ast.AST, value: Dyn, name: str, missing: str = "") -> Value | None:
    """The special method `name` of an object, ready to be called with its other arguments, chosen by its class if its classes
    have several. An object of a class without the method is an error of the instance with the text `missing`. None if no class
    has such a method in the source, if one has a method of another kind, or if one has none and there is no text."""
    classes = classes_here(f, value)
    found = [class_attribute(f, node, value, (c,), name) for c in classes]
    methods = [x for x in found if isinstance(x, Method)]
    others = [c for c, x in zip(classes, found, strict=True) if not isinstance(x, Method)]
    if not methods or others and (not missing or any(inspect.getattr_static(c, name, None) is not None for c in others)):
        return None
    if not others and all(x == methods[0] for x in methods):
        owner = owner_of(f, value, classes)
        return methods[0] if owner == value else Partial(Static(methods[0].function), (owner,), ())
    texts = [Absent("TypeError: " + missing.format(repr(original(c).__name__))) for c in classes]
    either = tuple(x if isinstance(x, Method) else text for x, text in zip(found, texts, strict=True))
    return OneOf(number_of_class(f, value, classes), either, value, classes)


def class_attribute(f: Frame, node: ast.AST, value: Dyn, classes: Sequence[type], name: str) -> Value | None:
    """A method, property or constant that all `classes` of an object's union have in common; None if there is none."""
    if name == "_replace" and all(hasattr(c, "_fields") for c in classes):
        return Partial(Static(dataclasses.replace), (value,), ())
    if name == "_asdict" and all(hasattr(c, "_fields") for c in classes):
        return Partial(Static(words.fields_by_name), (value,), ())
    attributes = [static_attribute(c, name, dataclasses.MISSING) for c in classes]
    if any(x is not attributes[0] for x in attributes):
        return None
    owner = owner_of(f, value, classes)
    match attributes[0]:
        case property(fget=types.FunctionType() as getter):
            return f.program.call(f, node, getter, [owner], {})
        case functools.cached_property(func=types.FunctionType() as getter):
            return f.program.call(f, node, getter, [owner], {})
        case types.FunctionType() as method:
            return Method(value, name, method)
        case staticmethod(__func__=types.FunctionType() as function):
            return Static(function)
        case classmethod(__func__=types.FunctionType() as function):
            return Partial(Static(function), (Static(original(classes[0])),), ()) if len(classes) == 1 else None
        case None | int() | float() | str() | bool() | tuple():
            return Static(attributes[0])
        case dict() | list():
            f.program.reads.note_object(original(classes[0]), name, attributes[0])
            return Static(attributes[0])
        case found if original(classes[0]) in CLASSES and found is not dataclasses.MISSING and not name.startswith("__"):
            what = f"`{name}` of a `{original(classes[0]).__name__}` is not in the language"
            raise Refused(what, "compute it from the year, the month and the day")
    return None
