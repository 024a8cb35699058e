"""Properties of modules and of other objects that are known at compile time.

A property that only tells what a module is (`device`, a size) is read once, when the model is compiled, as any attribute. One
that reads an attribute which the model assigns to, directly or by way of methods and other properties, depends on what the
instance has done so far: it is a call of the property's function. One that changes its object is refused.
"""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Iterable

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend.changing_methods import CHANGING
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.rewriting.desugar import plainly
from backends.acrobat.frontend.source import source_of
from backends.acrobat.frontend.syntax_nodes import every_node


def getter_of(owner: object, name: str) -> types.FunctionType | None:
    """The user's function behind a property of an object; None for attributes of other kinds. Raises Refused for a property
    that assigns to attributes of the object each time it is read."""
    attribute = inspect.getattr_static(type(owner), name, None)
    getter = attribute.fget if isinstance(attribute, property) else None
    if not isinstance(getter, types.FunctionType) or _of_torch(getter):
        return None
    if assigns := _used(getter, type(owner))[1]:
        what = f"the property `{name}` changes `self.{min(assigns)}` each time it is read"
        raise Refused(what, "write a method, and call it in a statement of its own")
    return getter


def depends_on_instance(module: object, getter: types.FunctionType, stored: Iterable[tuple[type, str]]) -> bool:
    """Whether what a property of a module gives can change while an instance is run; `stored` are attributes that the model
    assigns to, as far as they are known."""
    reads, _ = _used(getter, type(module))
    methods = _assigned_by_methods(type(module))
    return bool(reads & (methods | {x for cls, x in stored if isinstance(module, cls)}))


def _of_torch(function: types.FunctionType) -> bool:
    return function.__module__.partition(".")[0] == "torch"


def _used(function: types.FunctionType, cls: type, visited: frozenset[str] = frozenset()) -> tuple[set[str], set[str]]:
    """The attributes of its object that a function of a class reads, and those that it assigns to or changes, also through the
    methods and properties that it uses."""
    reads, assigns = _attributes_used(function)
    for name in reads - visited:
        other = _function_of(cls, name)
        if other is not None:
            further = _used(other, cls, visited | {name})
            reads, assigns = reads | further[0], assigns | further[1]
    return reads, assigns


def _function_of(cls: type, name: str) -> types.FunctionType | None:
    """The user's function that a class has under a name, as a method or behind a property."""
    attribute = inspect.getattr_static(cls, name, None)
    attribute = attribute.fget if isinstance(attribute, property) else attribute
    return attribute if isinstance(attribute, types.FunctionType) and not _of_torch(attribute) else None


def _attributes_used(function: types.FunctionType) -> tuple[set[str], set[str]]:
    """The attributes of its first parameter that the source of a function reads, and those that it assigns to or changes."""
    try:
        definition = plainly(source_of(function)[0])
    except CompileError:  # there is no source: the call will tell
        return set(), set()
    me = definition.args.args[0].arg if definition.args.args else ""
    reads, assigns = set[str](), set[str]()
    for x in every_node(definition):
        match x:
            case ast.Attribute(ast.Name(owner), name, ast.Load()) if owner == me:
                reads.add(name)
            case ast.Attribute(ast.Name(owner), name) if owner == me:
                assigns.add(name)
            case ast.Call(ast.Attribute(ast.Attribute(ast.Name(owner), name), method)) if owner == me and method in CHANGING:
                assigns.add(name)
            case ast.Subscript(ast.Attribute(ast.Name(owner), name), ctx=ast.Store()) if owner == me:
                assigns.add(name)
    return reads, assigns


def _assigned_by_methods(cls: type) -> frozenset[str]:
    """The attributes that methods of a class, and assignments to its properties, assign to or change. Methods that a derived
    class overrides count (they may be called by `super()`); `__init__` and methods defined by PyTorch do not."""
    found = [x for base in cls.__mro__ for name, x in vars(base).items() if not name.startswith("__init")]
    setters = [x.fset for x in found if isinstance(x, property)]
    functions = [x for x in (*found, *setters) if isinstance(x, types.FunctionType) and not _of_torch(x)]
    return frozenset(x for function in functions for x in _attributes_used(function)[1])
