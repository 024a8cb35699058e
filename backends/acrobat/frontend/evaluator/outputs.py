"""Lists that a function is given and changes: the compiled function gives them back beside its result.

Which parameters these are is read off the source: one whose name has a method that changes lists called on it, or an item
assigned to, or which is handed on to such a parameter of another function.
"""

from __future__ import annotations

import ast
import types
from typing import Any

from backends.acrobat.frontend.evaluator.syntax import CHANGING
from backends.acrobat.frontend.source import source_of, stripped


def changed_parameters(function: types.FunctionType, owner: Any, known: dict[Any, tuple[str, ...]]) -> tuple[str, ...]:
    """The names of the parameters whose lists `function` changes, in order. `owner` is the object whose method it is, or None;
    `known` keeps what was found, by function."""
    function = stripped(function)
    if function in known:
        return known[function]
    known[function] = ()  # what a recursion hands on to itself is found by its own changes
    definition, _ = source_of(function)
    parameters = [a.arg for a in (*definition.args.args, *definition.args.kwonlyargs)]
    rebound = {
        name.id
        for s in ast.walk(definition)
        if isinstance(s, (ast.Assign, ast.AnnAssign, ast.For))
        for target in (s.targets if isinstance(s, ast.Assign) else [s.target])
        for name in ast.walk(target)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
    found: set[str] = set()
    for node in ast.walk(definition):
        match node:
            case ast.Call(ast.Attribute(ast.Name(name), method)) if method in CHANGING:
                found.add(name)
            case ast.Subscript(value=ast.Name(name), ctx=ast.Store()):
                found.add(name)
            case ast.Call(callee, args, keywords):
                target = _resolved(function, owner, definition, callee)
                if target is None:
                    continue
                inner = changed_parameters(target, owner, known)
                names = [a.arg for a in source_of(target)[0].args.args]
                names = names[1:] if names[:1] == ["self"] else names
                found |= {a.id for a, p in zip(args, names, strict=False) if p in inner and isinstance(a, ast.Name)}
                found |= {k.value.id for k in keywords if k.arg in inner and isinstance(k.value, ast.Name)}
    known[function] = tuple(p for p in parameters if p in found - rebound and p != "self")
    return known[function]


def _resolved(
    function: types.FunctionType, owner: Any, definition: ast.FunctionDef, callee: ast.expr
) -> types.FunctionType | None:
    """The function that a call means, where its name tells: a method of the same object, or a function of the same file."""
    target: Any = None
    match callee:
        case ast.Name(name):
            target = function.__globals__.get(name)
        case ast.Attribute(ast.Name("self"), name) if owner is not None:
            target = getattr(type(owner), name, None)
    return target if isinstance(target, types.FunctionType) and not target.__module__.startswith("torch.") else None
