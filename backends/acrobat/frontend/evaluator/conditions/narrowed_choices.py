"""What tests tell about a choice of the model's modules or functions. Tests of strings and of members of Enums, `name == "add"`
and `op is Op.ADD`, tell which constants a name or a field may be in an arm, and which it is not. A module or function that is
looked up by it, before or in the arm, is then one of the corresponding ones; the same holds for a look-up by the member's name.
Tests of classes, `isinstance(block, Reducer)`, tell it of the tested name."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import Any, TypeAlias

from backends.acrobat.core.types import INT
from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.callables.nested import names_seen_in
from backends.acrobat.frontend.evaluator.choices.choice import Arm, among
from backends.acrobat.frontend.evaluator.choices.mixed import mixed
from backends.acrobat.frontend.evaluator.conditions.narrowing import path_of, told_key
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.constants import LARGEST, position
from backends.acrobat.frontend.evaluator.objects.constants import constants as list_of_constants
from backends.acrobat.frontend.evaluator.objects.referenced import lists_reached, named_part
from backends.acrobat.frontend.evaluator.syntax.hidden_names import is_hidden, root_of_path
from backends.acrobat.frontend.kinds import in_python, is_object, type_or_none, variable_of
from backends.acrobat.frontend.specials import OneOf
from backends.acrobat.frontend.types import SYMBOL
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value

Told: TypeAlias = dict[str, tuple[Any, ...]]
"""Names and fields, as `path_of` gives them, with constants."""


def narrowed_by_test(f: Frame, test: ast.expr, holds: bool, arm: Arm) -> Arm:
    """The arm that is taken if a test holds, or does not hold, compiled with what the test tells about names and fields."""
    one_of, excluded = _constants_told(f, test, holds), _constants_excluded(f, test, holds)
    tested = _classes_told(f, test, holds)
    if not one_of and not excluded and not tested:
        return arm

    def body() -> Value:
        for path, words in one_of.items():
            f.env[told_key(path)] = TupleV((f.env[root_of_path(path)], *map(Static, words)))
        for path in {**one_of, **excluded}:
            _choose_among_fewer(f, path, one_of.get(path), excluded.get(path, ()))
        for name, classes, is_one in tested:
            chosen = f.env[name]
            if isinstance(chosen, OneOf):
                objects = [in_python(v) for v in chosen.alternatives]
                _choose(f, name, chosen, [i for i, x in enumerate(objects) if isinstance(x, classes) == is_one])
        return arm()

    return body


def of_narrowed(f: Frame, node: ast.AST, name: ast.expr, strings: Sequence[Any], make: Callable[[Any], Value]) -> Value:
    """The value of a name or field that is one of the constants `strings` (`told_constants`), as `make` makes it from the
    constant."""
    if len(strings) == 1:
        return make(strings[0])
    return among(f, node, position(f, node, f.borrowed(name), [*strings]), [partial(make, k) for k in strings])


def _choose_among_fewer(f: Frame, path: str, one_of: Sequence[Any] | None, excluded: Sequence[Any]) -> None:
    """After a test on the value at `path`: names whose values that value, or an attribute of it, has chosen keep only the
    alternatives whose keys passed. These are among `one_of` (None: any) and not in `excluded`."""
    for name, chosen in [*f.env.items()]:
        if not isinstance(chosen, OneOf) or chosen.key is None:
            continue
        value, of_each = f.of_members.get(variable_of(chosen.key), (None, {}))
        if _is_at(f, path, chosen.key):
            left = [k for k in chosen.keys if (one_of is None or k in one_of) and k not in excluded]
        elif value is not None and _is_at(f, path, value):
            left = [k for m, k in of_each.items() if (one_of is None or m in one_of) and m not in excluded]
        else:
            continue
        _choose(f, name, chosen, [i for i, k in enumerate(chosen.keys) if k in left])


def _is_at(f: Frame, path: str, value: Value) -> bool:
    """Whether a value is that of a name, or was read from a field of what the name at the root of `path` still stands for."""
    return value == f.env.get(path) or f.read_from.get(variable_of(value)) == (path, f.env.get(root_of_path(path)))


def _choose(f: Frame, name: str, chosen: OneOf, places: Sequence[int]) -> None:
    """Keep only the alternatives at `places` of the choice that `name` stands for."""
    count = len(chosen.alternatives)
    if not 0 < len(places) < count or chosen.about is not None or any(name in names_seen_in(v) for v in f.env.values()):
        return  # a lambda sees the name as it is
    if len(places) == 1:
        f.env[name] = chosen.alternatives[places[0]]
        return
    new_places = list_of_constants(f, [Static(places.index(i) if i in places else 0) for i in range(count)])
    index = f.host("list.get", [new_places, chosen.index], INT, "which")
    keys = tuple(chosen.keys[i] for i in places) if chosen.keys else ()
    f.env[name] = replace(chosen, index=index, alternatives=tuple(chosen.alternatives[i] for i in places), keys=keys)


def _classes_told(f: Frame, test: ast.expr, holds: bool) -> list[tuple[str, tuple[type, ...], bool]]:
    """The isinstance tests known to hold or to fail if `test` does (`holds`), for names that stand for one of several modules
    or constants: the name, the classes, and whether the value is an instance of one of them."""
    match test:
        case ast.UnaryOp(ast.Not(), operand):
            return _classes_told(f, operand, not holds)
        case ast.BoolOp(op, values) if isinstance(op, ast.And) == holds:
            return [each for v in values for each in _classes_told(f, v, holds)]
        case ast.Call(ast.Name("isinstance") as function, [ast.Name(name), classes], []):
            chosen = f.env.get(name)
            if not isinstance(chosen, OneOf) or f.borrowed(function) != Static(isinstance):
                return []
            if any(in_python(v) is None for v in chosen.alternatives):
                return []
            whole = f.static_list(f.borrowed(classes))
            parts = whole.items if isinstance(whole, TupleV) else (whole,)
            tested = tuple(c.value for c in parts if isinstance(c, Static) and isinstance(c.value, type))
            return [(name, tested, holds)] if len(tested) == len(parts) else []
    return []


def _constants_excluded(f: Frame, test: ast.expr, holds: bool) -> Told:
    """The constants that a name or a field is known not to be if `test` holds, or does not hold."""
    match test:
        case ast.UnaryOp(ast.Not(), operand):
            return _constants_excluded(f, operand, not holds)
        case ast.BoolOp(op, values) if isinstance(op, ast.And) == holds:
            parts = [_constants_excluded(f, v, holds) for v in values]
            return {path: tuple(k for part in parts for k in part.get(path, ())) for part in parts for path in part}
        case ast.Compare():
            return _constants_told(f, test, not holds)
    return {}


def _constants_told(f: Frame, test: ast.expr, holds: bool) -> Told:
    """The strings or members of Enums one of which a name or a field is known to be if `test` holds, or does not hold, as in
    `name == "add"`, `name in ("add", "sub")` and `op is Op.ADD`."""
    match test:
        case ast.UnaryOp(ast.Not(), operand):
            return _constants_told(f, operand, not holds)
        case ast.BoolOp(op, values):
            parts = [_constants_told(f, v, holds) for v in values]
            if isinstance(op, ast.And) == holds:
                return {path: constants for part in parts for path, constants in part.items()}
            paths = set.intersection(*(set(part) for part in parts))
            return {path: tuple(dict.fromkeys(x for part in parts for x in part[path])) for path in paths}
        case ast.Compare(ast.Name() | ast.Attribute() as left, [op], [right]):
            if not isinstance(op, (ast.Eq, ast.In, ast.Is) if holds else (ast.NotEq, ast.NotIn, ast.IsNot)):
                return {}
            constants = _constants_written(f, right, isinstance(op, (ast.In, ast.NotIn)))
            if isinstance(op, (ast.Is, ast.IsNot)) and not all(map(_is_member, constants)):
                return {}
            path = lasting_path(f, left) if constants else None
            name = str(root_of(left))
            root = f.env.get(name)
            if is_hidden(name) or not isinstance(root, Dyn):  # an attribute of the model has a hidden name
                return {}
            if isinstance(left, ast.Attribute) and (f.program.carried.types or not is_object(root)):
                return {}  # it may get another value by another name
            with f.trial():  # the test may not get as far: `if node and node.kind == "leaf"`
                value = f.borrowed(left)
            return {path: constants} if path is not None and (type_or_none(value) == SYMBOL or "str" in mixed(f, value)) else {}
    return {}


def _constants_written(f: Frame, node: ast.expr, several: bool) -> tuple[Any, ...]:
    """The string or member of an Enum that an expression names, or with `several` those that it lists as a list, tuple, set or
    dictionary, if the expression shows it without being computed; none for others."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        parts = [_constants_written(f, e, False) for e in node.elts] if several else []
        return tuple(x for part in parts for x in part) if all(parts) else ()
    if isinstance(node, ast.Constant):
        return (node.value,) if isinstance(node.value, str) and not several else ()
    if not isinstance(node, (ast.Name, ast.Attribute)) or not several and isinstance(f.env.get(str(root_of(node))), Dyn):
        return ()
    with f.trial():
        value = f.borrowed(node)
    constant = value.value if isinstance(value, Static) else None
    if not several:
        return (constant,) if type(constant) is str or _is_member(constant) else ()
    found: Any = constant if isinstance(constant, (tuple, list, dict)) else ()
    if isinstance(constant, (set, frozenset)) and len(constant) <= LARGEST:
        found = sorted(constant, key=repr)  # an order that is the same in each process
    return tuple(found) if all(isinstance(x, str) for x in found) or all(map(_is_member, found)) else ()


def _is_member(x: Any) -> bool:
    """Whether a constant is a member of an Enum that equals nothing else."""
    return isinstance(x, Enum) and not isinstance(x, (str, int, float))


def lasting_path(f: Frame, node: ast.expr) -> str | None:
    """As `path_of`; None for attributes of numbered objects, which may be changed under other names."""
    return None if named_part(node) and lists_reached(f, node) else path_of(node)
