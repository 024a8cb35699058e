"""What Python asks objects for by their special methods: `__len__`, `__call__`, `__iter__`, `__contains__`, `__str__`."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from types import FunctionType
from typing import Any

from backends.acrobat.core.types import FLOAT, INT, DataT
from backends.acrobat.frontend.evaluator.choices.choice import fail
from backends.acrobat.frontend.evaluator.containers.records import as_dict, has_key, walked
from backends.acrobat.frontend.evaluator.expressions.callees import called
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.objects import constants
from backends.acrobat.frontend.evaluator.objects.attributes import attribute
from backends.acrobat.frontend.evaluator.objects.classes import (
    by_class,
    classes_here,
    is_written,
    names_in_class,
    number_of_class,
    record_of,
    records_of,
    special_method,
)
from backends.acrobat.frontend.evaluator.tables import CALLS, ITERATION, LENGTHS, MEMBERSHIP, TEXTS, handles
from backends.acrobat.frontend.instances.annotations import line_of_class
from backends.acrobat.frontend.instances.dates import CLASSES
from backends.acrobat.frontend.instances.divided import original
from backends.acrobat.frontend.kinds import known, type_or_none
from backends.acrobat.frontend.source import LIFTED, Lifted
from backends.acrobat.frontend.specials import Narrowed
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value
from backends.acrobat.ir import nodes as n


def special(f: Frame, node: ast.AST, value: Dyn, name: str, args: list[Value], missing: str = "") -> Value | None:
    """The result of an object's special method, such as `__len__`; None if there is no such method (`special_method`)."""
    method = special_method(f, node, value, name, missing)
    if method is not None and isinstance(node, ast.expr):
        f.callees.setdefault(node, method)
    return None if method is None else called(f, node, method, args, {})


@handles(LENGTHS, "object")
def _length(f: Frame, value: Dyn) -> Value | None:
    classes = classes_here(f, value)
    named = [(c, x) for c in classes if (x := names_in_class(c)) is not None]
    sizes = [len(x) for c, x in named if not is_written(getattr(c, "__len__", None))]
    if sizes and len(sizes) == len(classes):
        alike = len({*sizes}) == 1
        return Static(sizes[0]) if alike else number_of_class(f, value, classes, [n.Lit(size, INT) for size in sizes])
    return special(f, ast.Pass(), value, "__len__", [], "object of type {} has no len()")


@handles(TEXTS, "object")
def _text(f: Frame, value: Dyn, name: str) -> Value | None:
    """The text of an object by the `__str__` of its class, or by the `__repr__` of a class without one."""
    assert isinstance(value.type, DataT)
    classes = f.program.datatypes.cases.get(value.type.name, ())
    if name == "__str__" and all(_is_of_object(c, name) for c in classes):
        name = "__repr__"
    generated = [c for c in classes if _generated_repr(c)] if name == "__repr__" else []
    datatypes = f.program.datatypes
    if any("__repr__" not in vars(original(c)) for c in generated):  # the text has the name of a class derived from it
        return None
    if any(datatypes.is_referenced(value.type.name) or c in datatypes.circular | datatypes.graphs.circular for c in generated):
        return None  # the text of an object that has itself in it ends with dots
    for cls in generated:
        _write_repr(f, cls)
    if not all(is_written(inspect.getattr_static(c, name)) and _is_formatted_by_str(c) for c in classes):
        return None
    node = ast.Pass()
    return called(f, node, attribute(f, node, value, name), [], {})


def _generated_repr(cls: type) -> FunctionType | None:
    """The `__repr__` of a class that Python has generated for a dataclass; None where the class has another one."""
    function: Any = inspect.getattr_static(cls, "__repr__")
    code = getattr(inspect.unwrap(function), "__code__", None)
    return function if isinstance(function, FunctionType) and getattr(code, "co_filename", "") == "<string>" else None


def _write_repr(f: Frame, cls: type) -> None:
    """Have `source_of` find the `__repr__` that Python has generated for a dataclass as source text. Raises Refused if the text
    would show a float of the program that is an int in Python."""
    function, named = _generated_repr(cls), original(cls)
    assert function is not None
    names = [x.name for x in dataclasses.fields(cls) if x.repr]
    if any(f.program.datatypes.fields.get((cls, x)) == FLOAT for x in names) and not f.program.datatypes.is_float_in_python():
        what = "an int is a float where floats are in its place, which the text of an object shows"
        raise Refused(what, "keep numbers of the two types in fields of their own")
    if function not in LIFTED:
        shown = ", ".join(f"{x}={{self.{x}!r}}" for x in names)
        text = f"def __repr__(self):\n    return f{named.__qualname__ + '(' + shown + ')'!r}"
        definition = ast.increment_lineno(ast.parse(text).body[0], line_of_class(named) - 1)
        assert isinstance(definition, ast.FunctionDef)
        lifted = Lifted(definition, inspect.getsourcefile(named) or "<unknown>", None, ())
        LIFTED[function] = LIFTED[inspect.unwrap(function)] = lifted


def _is_formatted_by_str(cls: type) -> bool:
    """Whether what an f-string shows of an object of a class is the text that `str` gives."""
    return _is_of_object(cls, "__format__") or original(cls) in CLASSES


def _is_of_object(cls: type, name: str) -> bool:
    """Whether a class inherits a special method from `object`."""
    return inspect.getattr_static(cls, name) is vars(object)[name]


@handles(CALLS, "object")
def _called_object(f: Frame, node: ast.AST, callee: Dyn, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    assert isinstance(callee.type, DataT)
    classes = f.program.datatypes.cases.get(callee.type.name, ())
    if f.program.datatypes.graphs.are_modules(classes):
        return by_class(f, node, callee, classes, lambda cls: _called_module(f, node, callee, cls, args, kwargs))
    result = special(f, node, callee, "__call__", args, "{} object is not callable") if not kwargs else None
    return f.problem(node, "this object cannot be called") if result is None else result


def _called_module(f: Frame, node: ast.AST, callee: Dyn, cls: type, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A call of one of several modules of a class, to which the program refers by a number."""
    function = f.program.datatypes.graphs.forward_of(cls)
    if function is None:
        return fail(f, f"NotImplementedError: a {cls.__name__} has no `forward`")
    assert isinstance(callee.type, DataT)
    several = len(f.program.datatypes.cases[callee.type.name]) > 1
    return f.program.call(f, node, function, [Narrowed(callee, cls) if several else callee, *args], kwargs)


@handles(ITERATION, "object")
def _iterated(f: Frame, value: Dyn) -> Value:
    if records_of(f, value):
        return walked(f, ast.Pass(), value)
    if (components := f.components(value)) is not None:  # a named tuple
        return TupleV(tuple(components))
    found = special(f, ast.Pass(), value, "__iter__", [], "{} object is not iterable")
    if found is None:
        raise Refused("only lists, ranges, tuples and module lists can be iterated over")
    if type_or_none(found) == value.type:
        raise Refused("an object that is its own iterator is not iterated over", "write `__iter__` with `yield`")
    return iterable(f, found)


@handles(MEMBERSHIP, "object")
def _contained(f: Frame, node: ast.AST, value: Dyn, item: Value) -> Value:
    if (record := record_of(f, value)) is not None:
        keys = list(record.keys_of_record)  # type: ignore[attr-defined]
        is_known, name = known(item)
        return Static(name in keys) if is_known else constants.contains(f, item, keys)
    if records := records_of(f, value):
        return has_key(f, value, str(known(item)[1])) if known(item)[0] else as_dict(f, *records)
    result = special(f, node, value, "__contains__", [item])
    return f.problem(node, "`in` of this object is not in the language") if result is None else result
