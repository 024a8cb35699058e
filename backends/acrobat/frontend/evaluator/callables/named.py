"""Attributes whose names are made at run time: `getattr(self, f"visit_{node.kind}")`.

The attributes that can be meant are those of the object whose names agree with what the source says of the name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from backends.acrobat.frontend.evaluator.choices.choice import choose, is_function, mapped_choice
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.constants import contains, position
from backends.acrobat.frontend.evaluator.ownership.ownership import classes_of_type
from backends.acrobat.frontend.kinds import in_python, known, type_or_none
from backends.acrobat.frontend.specials import Absent, OneOf
from backends.acrobat.frontend.syntax_nodes import every_node, mentions
from backends.acrobat.frontend.types import SYMBOL
from backends.acrobat.frontend.values import Dyn, Static, Value

ANY = ".*"
"""The pattern of a part of a name that is known at run time only."""
BASE_CLASS_PACKAGES = ("torch", "builtins")
"""The packages whose classes have methods that such a name does not mean."""


def is_name_of_run_time(value: Value) -> bool:
    """Whether a value is a string that is known at run time only."""
    return isinstance(value, Dyn) and type_or_none(value) == SYMBOL


def named(
    f: Frame, node: ast.Call, owner: Value, name: Value, attribute: Callable[[Value, str], Value], *default: Value
) -> Value:
    """`getattr(owner, name)`, or with a default. `attribute(owner, name)` gives an attribute. Raises Refused."""
    names = [] if default else _named_in_sample(f, owner, node.args[1])
    missing = "an attribute is named {0!r} here, which is none of the names that the sample has"
    if not names:
        names = _candidates(f, owner, node.args[1])
        it = _with_attributes(f, owner)
        cls = it if in_python(owner) is None else type(it)
        missing = f"AttributeError: {cls.__name__!r} object has no attribute {{0!r}}"

    def chosen() -> Value:
        which = OneOf(position(f, node, name, names, missing), tuple(map(Static, names)))
        data = _not_callable(f, node, owner, names, attribute)

        def one(each: Value) -> Value:
            x = str(known(each)[1])
            return data[x] if x in data else attribute(owner, x)

        return mapped_choice(f, node, which, one)

    return choose(f, node, contains(f, name, list(names)), chosen, lambda: default[0]) if default else chosen()


def _not_callable(
    f: Frame, node: ast.Call, owner: Value, names: list[str], attribute: Callable[[Value, str], Value]
) -> dict[str, Absent]:
    """Those of the attributes with such names that cannot be called, if the program calls the chosen one: `edge_types` beside
    the modules `edge_next` and `edge_child`. Choosing one of these is an error of the instance. None may be compared with, and
    is not among them."""
    if not _is_called(f, node):
        return {}
    with f.trial():
        values = {name: attribute(owner, name) for name in names}
    data = {name: v for name, v in values.items() if not is_function(v) and v != Static(None)}
    if all(name in data or v == Static(None) for name, v in values.items()):
        return {}
    it = in_python(owner)
    return {name: Absent(f"TypeError: {type(getattr(it, name)).__name__!r} object is not callable") for name in data}


def _is_called(f: Frame, node: ast.Call) -> bool:
    """Whether the value of an expression is called: where it stands, or under a name that it is assigned to."""
    nodes = every_node(f.definition) if f.definition is not None else []
    names = {t.id for s in nodes if isinstance(s, ast.Assign) and s.value is node for t in s.targets if isinstance(t, ast.Name)}
    callees = [x.func for x in nodes if isinstance(x, ast.Call)]
    return any(x is node or isinstance(x, ast.Name) and x.id in names for x in callees)


def has_named(f: Frame, node: ast.Call, owner: Value, name: Value) -> Value:
    """`hasattr(owner, name)`. Raises Refused."""
    return contains(f, name, list(_candidates(f, owner, node.args[1])))


def _candidates(f: Frame, owner: Value, written: ast.expr) -> list[str]:
    """The attributes of an object that can have the name that is written here. Raises Refused."""
    pattern = _pattern(f, written)
    if not pattern.replace(ANY, ""):
        what = "an attribute whose name is known at run time only cannot be found by it"
        raise Refused(what, 'keep modules in a ModuleDict, or begin all names alike: `getattr(self, f"visit_{name}")`')
    it = _with_attributes(f, owner)
    names = [] if it is None else [x for x in dir(it) if re.fullmatch(pattern, x) and not _of_library(it, x)]
    if not names:
        raise Refused("no attribute has a name like this one")
    return names


def _named_in_sample(f: Frame, owner: Value, written: ast.expr) -> list[str]:
    """The attributes of an object whose names occur as strings in the sample, for a name of which the source says nothing; []
    for others."""
    if _pattern(f, written).replace(ANY, ""):
        return []
    it = _with_attributes(f, owner)
    return sorted(x for x in f.program.datatypes.strings_of_sample() if hasattr(it, x) and not _of_library(it, x))


def _with_attributes(f: Frame, owner: Value) -> Any:
    """What has the attributes of a value: the constant or module that it is; of an object that the model makes its class, which
    has the methods. None for others."""
    classes = classes_of_type(f, type_or_none(owner))
    return classes[0] if in_python(owner) is None and len(classes) == 1 else in_python(owner)


def _of_library(it: Any, name: str) -> bool:
    """Whether an attribute of an object, or of a class, comes from a class that the model's source does not define."""
    home = next((c for c in (it if isinstance(it, type) else type(it)).__mro__ if name in vars(c)), None)
    return home is not None and home.__module__.partition(".")[0] in BASE_CLASS_PACKAGES


def _pattern(f: Frame, node: ast.expr) -> str:
    """A regular expression that matches all strings which the expression `node` can give."""
    definition = f.definition
    match node:
        case ast.Subscript(table):
            with f.trial():
                entries = known(f.borrowed(table))[1]
            texts = entries.values() if isinstance(entries, dict) else entries
            if isinstance(entries, (dict, list, tuple)) and texts and all(isinstance(x, str) for x in texts):
                return f"(?:{'|'.join(map(re.escape, texts))})"
        case ast.Constant(str() as text):
            return re.escape(text)
        case ast.JoinedStr(values):
            return "".join(_pattern(f, v) for v in values)
        case ast.BinOp(left, ast.Add(), right):
            return _pattern(f, left) + _pattern(f, right)
        case ast.Name(name) if definition is not None:
            bound = mentions(definition, name, ast.Store)
            match [x for x in every_node(definition) if isinstance(x, ast.Assign) and bound == x.targets]:
                case [ast.Assign(value=value)]:
                    return _pattern(f, value)
    return ANY
