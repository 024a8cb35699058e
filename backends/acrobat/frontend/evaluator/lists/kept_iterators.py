"""Lists that iterators go through which objects keep: `self.words = iter(words)`. The program has what the iterator still gives
as a list of its own, so that the other one must not change any more, under whatever name: here, or where a function that has
made such an object was called. `walked_of` has, by functions, the parameters over which an object keeps an iterator, with True
where it goes through a list inside of what the parameter is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.claims import claims, deep, spine
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.ownership.ownership import classes_of_type
from backends.acrobat.frontend.kinds import is_container, type_or_none, variable_of
from backends.acrobat.frontend.syntax_nodes import all_parameters, children
from backends.acrobat.frontend.values import Dyn, Value


def paths_read(source: ast.AST) -> Iterator[ast.expr]:
    """The names in an expression, and the items and attributes of names."""
    if isinstance(source, (ast.Name, ast.Attribute, ast.Subscript)) and root_of(source) is not None:
        yield source
        return
    for x in children(source):
        yield from paths_read(x)


def note_walked(f: Frame, path: ast.expr, inside: bool = False) -> None:
    """Note that an object keeps an iterator over the list that `path` names, a name or a part of what has one, or over one that
    is `inside` of it: no name alone refers to that list any more. Of a parameter the callers are told (`walked_of`)."""
    name = root_of(path)
    if name is None or name not in f.env:
        return
    inside = inside or not isinstance(path, ast.Name)
    if not inside:
        if not is_container(f.env[name]):
            return
        f.walked_by_kept |= {variable_of(f.env[name])} - {""}
        release(f)
    else:
        _note_field(f, path)
        f.owned -= {deep(name), spine(name)}
    if f.key is not None and f.definition is not None and name in all_parameters(f.definition):
        noted = f.program.walked_of.setdefault(f.key[0], set())
        if (entry := (name, inside)) not in noted:
            noted.add(entry)
            f.program.changed = True


def release(f: Frame) -> None:
    """Note for all names of lists that iterators go through which objects keep that they do not alone refer to these."""
    for name in [x for x, v in f.env.items() if isinstance(v, Dyn) and variable_of(v) in f.walked_by_kept]:
        f.owned -= claims(name)


def _note_field(f: Frame, path: ast.expr) -> None:
    """Note of an attribute of objects that an iterator which is kept goes through the list in it."""
    if not isinstance(path, ast.Attribute):
        return
    with f.trial():
        fields = {(cls, path.attr) for cls in classes_of_type(f, type_or_none(f.borrowed(path.value)))}
    if not fields <= f.program.walked_fields:
        f.program.walked_fields |= fields
        f.program.changed = True


def refuse_walked(f: Frame, owner: Value, name: str, what: str) -> None:
    """Raises Refused if the list in an attribute is to be changed, and an object keeps an iterator that may go through it."""
    if any((cls, name) in f.program.walked_fields for cls in classes_of_type(f, type_or_none(owner))):
        raise Refused(
            f"`{what}` changes a list that an iterator which an object keeps may go through", "keep a `list(...)` in it"
        )
