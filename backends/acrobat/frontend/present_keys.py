"""Look-ups of keys that a dictionary has: `max(counts, key=lambda w: counts[w])`.

Looking up a key in a `defaultdict` may enter it, so a lambda that does so would change the dictionary. Here the lambda is given
nothing but keys of that dictionary. A look-up that is found to be such is marked, and enters nothing.
"""

from __future__ import annotations

import ast

from backends.acrobat.frontend.syntax_nodes import every_node

PRESENT = "present_key"
"""The attribute of a marked look-up."""
WALKS = ("list", "tuple", "set", "sorted", "reversed", "iter")
"""Python's own functions that give the elements of what they are given."""


def is_present(node: ast.AST) -> bool:
    """Whether an expression is a look-up of a key that is there."""
    return hasattr(node, PRESENT)


def mark_present_keys(tree: ast.AST) -> None:
    """Mark all such look-ups in a tree."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Name("max" | "min" | "sorted"), [walked], keywords):
                for keyword in keywords:
                    if keyword.arg == "key":
                        _mark(keyword.value, walked)
            case ast.Call(ast.Name("map" | "filter"), [function, walked], []):
                _mark(function, walked)


def _mark(function: ast.expr, walked: ast.expr) -> None:
    """Mark the look-ups of its parameter in a lambda that is given the elements of `walked`."""
    match function:
        case ast.Lambda(ast.arguments([], [parameter], None, [], [], None, []), body):
            whole = _dictionary(walked)
            found = [x for x in every_node(body) if _is_item(x, whole, parameter.arg)]
            named = [x for x in every_node(body) if isinstance(x, ast.expr) and ast.dump(x) == whole]
            others = any(isinstance(x, (ast.Lambda, ast.NamedExpr, ast.comprehension)) for x in every_node(body))
            if len(found) == len(named) and not others:
                for x in found:
                    setattr(x, PRESENT, True)


def _is_item(x: ast.AST, whole: str, key: str) -> bool:
    match x:
        case ast.Subscript(owner, ast.Name(name), ast.Load()):
            return name == key and ast.dump(owner) == whole
    return False


def _dictionary(walked: ast.expr) -> str:
    """What a walk gives keys of, if that is a name or an attribute: its syntax tree as a text. "" for other walks."""
    match walked:
        case ast.Name():
            return ast.dump(walked)
        case ast.Attribute(ast.Name()):
            return ast.dump(walked)
        case ast.Call(ast.Attribute(owner, "keys"), [], []):
            return _dictionary(owner)
        case ast.Call(ast.Name(function), [inner, *_]) if function in WALKS:
            return _dictionary(inner)
        case ast.GeneratorExp(ast.Name(name), [one]) | ast.ListComp(ast.Name(name), [one]) | ast.SetComp(ast.Name(name), [one]):
            return _dictionary(one.iter) if isinstance(one.target, ast.Name) and one.target.id == name else ""
    return ""
