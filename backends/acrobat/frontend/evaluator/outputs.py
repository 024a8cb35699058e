"""Parameters whose lists or objects a function changes: the compiled function gives the new ones beside its result.

The source says which they are: those on which a method that changes lists is called, to an item or attribute of which a value
is assigned, or which are passed to such a parameter of another function.
"""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Sequence
from typing import Any

from backends.acrobat.frontend.evaluator.desugar import own_nodes, plainly
from backends.acrobat.frontend.evaluator.syntax import CHANGING, root_of
from backends.acrobat.frontend.source import LIFTED, source_of, stripped


def changed_parameters(function: types.FunctionType, owner: type | None, known: dict[Any, tuple[str, ...]]) -> tuple[str, ...]:
    """The names of the parameters whose lists or objects `function` changes, in order. `owner` is the class of the object whose
    method it is, or None; `known` is a cache of results, by function."""
    function = stripped(function)
    if function in known:
        return known[function]
    known[function] = ()  # ends a recursion, which changes what its own body changes
    definition = plainly(source_of(function)[0])
    parameters = [a.arg for a in (*definition.args.args, *definition.args.kwonlyargs)]
    rebound = {
        name.id
        for s in ast.walk(definition)
        if isinstance(s, (ast.Assign, ast.AnnAssign, ast.For))
        for target in (s.targets if isinstance(s, ast.Assign) else [s.target])
        for name in ast.walk(target)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
    kept = nonlocals(definition)
    rebound -= kept
    found: set[str] = set(kept)
    others = LIFTED[function].others if function in LIFTED else ()
    for other in others:
        found |= nonlocals(other)
    found |= changed_roots(function, owner, (definition, *map(plainly, others)), known)
    known[function] = tuple(p for p in parameters if p in found - rebound)
    return known[function]


def changed_roots(
    function: types.FunctionType, owner: type | None, nodes: Sequence[ast.AST], known: dict[Any, tuple[str, ...]]
) -> set[str]:
    """The names of `function` whose lists or objects, or parts of them, some of its nodes change; other parameters are those of
    `changed_parameters`."""
    found: set[str] = set()
    for node in (x for d in nodes for x in ast.walk(d)):
        match node:
            case ast.Subscript() | ast.Attribute() if isinstance(node.ctx, ast.Store):
                found.add(str(root_of(node)))
            case ast.Call(ast.Attribute(path, method)) if method in CHANGING:
                found.add(str(root_of(path)))
            case ast.Call(callee, args, keywords):
                for target, bound in _resolved(function, owner, callee):
                    inner = changed_parameters(target, owner, known)
                    names = [a.arg for a in source_of(target)[0].args.args]
                    if bound:
                        path = callee.value  # type: ignore[attr-defined]
                        found |= {str(root_of(path))} if names[:1] and names[0] in inner else set()
                        names = names[1:]
                    found |= {str(root_of(a)) for a, p in zip(args, names, strict=False) if p in inner}
                    found |= {str(root_of(k.value)) for k in keywords if k.arg in inner}
    return found


def nonlocals(definition: ast.FunctionDef) -> set[str]:
    """The names that a function declares `nonlocal`, functions inside of it aside."""
    return {name for s in definition.body for x in own_nodes(s) if isinstance(x, ast.Nonlocal) for name in x.names}


def given_back(function: types.FunctionType) -> set[str]:
    """The names that a nested function, or one that it calls, declares `nonlocal`: their values always become results."""
    if function not in LIFTED:
        return set()
    return set().union(*map(nonlocals, (LIFTED[function].definition, *LIFTED[function].others)))


def _first_parameter(function: types.FunctionType) -> str:
    """The name of the first parameter, which is the object in a method."""
    return function.__code__.co_varnames[0] if function.__code__.co_argcount else ""


def _resolved(function: types.FunctionType, owner: type | None, callee: ast.expr) -> list[tuple[types.FunctionType, bool]]:
    """The functions that a call may mean, judged by the name, and whether each is a method: a global of the file, a method of
    the same object, or the methods of that name of all classes among the file's globals."""
    found: list[tuple[Any, bool]] = []
    match callee:
        case ast.Name(name):
            found = [(function.__globals__.get(name), False)]
        case ast.Attribute(ast.Name(me), name) if owner is not None and me == _first_parameter(function):
            found = [(inspect.getattr_static(owner, name, None), True)]
        case ast.Attribute(_, name):
            classes = [v for v in function.__globals__.values() if isinstance(v, type) and name in dir(v)]
            found = [(inspect.getattr_static(c, name), True) for c in classes]
    found = [(t.__func__, False) if isinstance(t, staticmethod) else (t, bound) for t, bound in found]
    return [
        (t, bound)
        for t, bound in found
        if isinstance(t, types.FunctionType)
        and not t.__module__.startswith(LIBRARIES)
        and t.__code__.co_filename.endswith(".py")
    ]


LIBRARIES = ("torch", "collections", "enum", "typing", "dataclasses", "abc")
"""Modules whose functions change nothing that a model gives them."""
