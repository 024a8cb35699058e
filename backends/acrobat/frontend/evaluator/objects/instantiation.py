"""Making objects of named tuples, of ordinary classes, and of dataclasses that compute fields."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import types
from collections.abc import Hashable, Sequence
from enum import Enum
from functools import cache, partial
from typing import Any

from backends.acrobat.core.made_objects import computes_fields, has_generated_init
from backends.acrobat.core.types import DataT
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.classes import is_written
from backends.acrobat.frontend.evaluator.objects.construction import construct, defaults_of_fields, new_object
from backends.acrobat.frontend.evaluator.objects.initialisation import Initialisation
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS, handles
from backends.acrobat.frontend.instances.annotations import line_of_class
from backends.acrobat.frontend.source import LIFTED, Lifted, is_installed, span_of
from backends.acrobat.frontend.values import Special, Static, Value, unknown
from backends.acrobat.library import CLASSES


def instantiate(f: Frame, node: ast.AST, cls: type, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Compile the construction of a named tuple, or of a class whose `__init__` gives the attributes values."""
    datatypes = f.program.datatypes
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        names = list(cls._fields)
        defaults: dict[str, Any] = inspect.getattr_static(cls, "_field_defaults")
        values = CallArguments(cls.__name__, args, kwargs).bind(*names, **{k: Static(v) for k, v in defaults.items()})
        return new_object(
            f, node, cls, DataT(datatypes.union_of_made(cls, names)), dict(zip(names, map(f.as_object, values), strict=True))
        )
    init = cls.__init__  # type: ignore[misc]
    _refuse_own_making(cls)
    if init is object.__init__ or getattr(init, "__module__", "") == "typing":  # a Protocol's asks for the first of the others
        init = _gives_no_attributes
    if not isinstance(init, types.FunctionType):
        return f.problem(node, f"objects of `{cls.__name__}` are not made in the language", "write a dataclass")
    if dataclasses.is_dataclass(cls) and has_generated_init(cls):
        args, kwargs = _in_order_of_fields(f, node, cls, args, kwargs, init), {}
    elif not dataclasses.is_dataclass(cls):
        constants = tuple(map(_constant, (*args, *(v for _, v in sorted(kwargs.items())))))
        cls = datatypes.version_of(cls, (span_of(node, f.file), constants))
    making = Initialisation(f, node, cls)
    if not making.run(init, cls.__name__, args, kwargs):
        return unknown()
    return making.finished() if making.made is None else making.made


OF_SOURCE = 1 << 9
"""The flag of Python's for classes that a `class` statement has made (`Py_TPFLAGS_HEAPTYPE`)."""


def has_no_init(cls: type) -> bool:
    """Whether a class of the source gives its objects no attributes when they are made."""
    return cls.__init__ is object.__init__ and is_of_source(cls)  # type: ignore[misc]


def is_of_source(cls: type) -> bool:
    """Whether a `class` statement has made a class of objects with attributes."""
    return bool(cls.__flags__ & OF_SOURCE) and not issubclass(cls, (tuple, BaseException, dict, list, Enum))


def _gives_no_attributes(self: object) -> None:
    """The `__init__` of a class that has none."""


def _refuse_own_making(cls: type) -> None:
    """Raises Refused for a class that defines how its objects are made (`__new__`) or how attributes are assigned
    (`__setattr__`)."""
    own = {x: inspect.getattr_static(cls, x) for x in ("__new__", "__setattr__")}
    methods = {x: getattr(v, "__func__", v) for x, v in own.items()}
    written = [x for x, v in methods.items() if is_written(v) and not is_installed(v.__code__.co_filename)]
    if issubclass(cls, BaseException):
        written = []
    if written:
        what = f"`{cls.__name__}` has a `{written[0]}`, which is not compiled"
        raise Refused(what, "write a function that makes the object, or a method that gives the value")


def _made_instead(cls: type, f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return instantiate(f, node, cls, args, kwargs)


FUNCTIONS |= {theirs: partial(_made_instead, ours) for theirs, ours in CLASSES.items()}
"""Classes of Python's and of PyTorch's of which objects of the library's classes take the place."""


def _constant(value: Value) -> Hashable:
    """The constant that an argument of a constructor stands for, a module, a function or an int; None for other values. Objects
    that are made with other constants may have attributes of other types."""
    match value:
        case Special(python_object=held) if held is not None:
            return id(held)
        case Static(v) if type(v) is int or isinstance(v, types.FunctionType):
            return v
    return None


def _in_order_of_fields(
    f: Frame, node: ast.AST, cls: type, args: list[Value], kwargs: dict[str, Value], init: types.FunctionType
) -> list[Value]:
    """The arguments for the `__init__` that Python has generated for a dataclass, as `source_of` finds it written out."""
    fields = dataclasses.fields(cls)
    parameters = [x.name for x in fields if x.init]
    defaults = defaults_of_fields(f, node, cls, {*parameters[: len(args)], *kwargs})
    bound = CallArguments(cls.__name__, args, kwargs).bind(*parameters, **{x: defaults[x] for x in parameters if x in defaults})
    values = defaults | dict(zip(parameters, bound, strict=True))
    names = [x.name for x in fields if x.name in values]
    _write_init(cls, init, names, ["    self.__post_init__()"] if hasattr(cls, "__post_init__") else [])
    return [values[x] for x in names]


def _write_init(cls: type, init: types.FunctionType, names: Sequence[str], more: Sequence[str] = ()) -> None:
    """Write `init` out as an `__init__` that takes attributes by these names, with `more` at its end."""
    if init not in LIFTED:
        text = [f"def __init__(self, {', '.join(names)}):", *(f"    self.{x} = {x}" for x in names), *more]
        definition = ast.increment_lineno(ast.parse("\n".join(text)).body[0], line_of_class(cls) - 1)
        assert isinstance(definition, ast.FunctionDef)
        LIFTED[init] = Lifted(definition, inspect.getsourcefile(cls) or "<unknown>", None, ())


def without_init(cls: type, **attributes: Any) -> Any:
    """An object that gets these attributes, and no others, without the `__init__` of its class."""
    made: Any = object.__new__(cls)
    vars(made).update(attributes)
    return made


@handles(FUNCTIONS, without_init)
def _bare(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    if len(args) != 1 or not isinstance(args[0], Static) or not isinstance(cls := args[0].value, type) or not is_of_source(cls):
        raise Refused("`object.__new__` takes a class of the source here", "write a function that makes the object")
    if dataclasses.is_dataclass(cls) and not computes_fields(cls):
        return construct(f, node, cls, [], kwargs)
    init = _init_of_attributes(cls, tuple(kwargs))
    cls = f.program.datatypes.version_of(cls, (span_of(node, f.file), None))
    making = Initialisation(f, node, cls)
    return making.finished() if making.run(init, cls.__name__, [], kwargs) else unknown()


@cache
def _init_of_attributes(cls: type, names: tuple[str, ...]) -> types.FunctionType:
    """An `__init__` for a class that takes these attributes."""

    init = types.FunctionType(_gives_no_attributes.__code__, {}, "__init__")
    _write_init(cls, init, names)
    return init
