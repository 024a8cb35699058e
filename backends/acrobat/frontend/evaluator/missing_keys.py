"""Looking up a missing key in a `defaultdict` that is a part of something else: `graph.near[k]`, `counts[a][b]`.

Python enters the key. The program does not, which nobody can see where all that is done with such dictionaries is looking up
and assigning entries. Where something walks over one, or asks how long it is, a missing key is an error of the instance.
(`containers.entered_by_lookup` has dictionaries under a name of their own.)
"""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Any

from backends.acrobat.core.types import ListT, TupleT
from backends.acrobat.frontend.evaluator.containers import enters_missing_keys, has_uses_beyond_lookup
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.given import Given
from backends.acrobat.frontend.values import Value, type_or_none


def note_seen_whole(f: Frame, node: ast.Attribute | ast.Subscript, value: Value) -> None:
    """Note of an expression, whose value this is, that it stands for more than the look-up of an entry: that may show whether a
    dictionary, or one inside of it, has a key."""
    if not _enters_keys_inside(type_or_none(value)) or node in f.looked_up:
        return
    if f.definition is not None and node in _before_brackets(f.definition):
        return
    if (kept_in := _kept_in(node)) and kept_in not in f.program.seen_whole:
        f.program.seen_whole.add(kept_in)
        f.program.changed = True


def would_show(f: Frame, node: ast.AST, whole: Value) -> bool:
    """Whether the program could notice that the look-up `node`, in the dictionary `whole`, has entered a missing key."""
    if not isinstance(node, ast.Subscript) or node in f.put_back or not enters_missing_keys(whole):
        return False
    return isinstance(node.value, (ast.Attribute, ast.Subscript)) and _is_seen_whole(f, node.value)


@lru_cache(1024)
def _before_brackets(definition: ast.FunctionDef) -> frozenset[ast.expr]:
    """What stands before the brackets of an item, anywhere in a function."""
    return frozenset(x.value for x in ast.walk(definition) if isinstance(x, ast.Subscript))


def _is_seen_whole(f: Frame, node: ast.expr) -> bool:
    """Whether something sees the dictionary that an expression is, or one around it, as a whole."""
    match node:
        case ast.Name(name):
            return name in f.env and has_uses_beyond_lookup(f, name)
        case ast.Subscript(owner):
            return _kept_in(node) in f.program.seen_whole or _is_seen_whole(f, owner)
        case ast.Attribute():
            return _kept_in(node) in f.program.seen_whole
    return False


def _kept_in(node: ast.expr) -> str:
    """Where a dictionary is kept, the same for all expressions that may show one: an attribute of any object, or an item of a
    name or of such an attribute; "" where it is something else."""
    match node:
        case ast.Attribute(Given()) | ast.Subscript(Given()):
            return ""
        case ast.Attribute(attr=name):
            return f".{name}"
        case ast.Subscript(ast.Name(name)):
            return f"{name}[]"
        case ast.Subscript(owner) if around := _kept_in(owner):
            return f"{around}[]"
    return ""


def _enters_keys_inside(t: Any) -> bool:
    """Whether values of a type are, or have in them, dictionaries into which a look-up enters a missing key."""
    match t:
        case ListT(item, kind=kind):
            return kind.startswith("dict:") and kind != "dict:count" or _enters_keys_inside(item)
        case TupleT(items):
            return any(map(_enters_keys_inside, items))
    return False
