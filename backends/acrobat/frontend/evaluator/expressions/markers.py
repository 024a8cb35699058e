"""The markers `phase` and `parallel`, which state something about the program and are the identity in Python."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from backends.acrobat import markers
from backends.acrobat.core.types import ListT, TupleT
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS, handles
from backends.acrobat.frontend.kinds import is_list, known, nothing_known, type_of
from backends.acrobat.frontend.source import span_of
from backends.acrobat.frontend.types import contains_unknown
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value, guess, unknown
from backends.acrobat.ir import nodes as n

PURE = "write `x = phase(x)`, with what the phase before has made: work that uses the new `x` is of the next phase"


def marker_of(f: Frame, node: ast.expr) -> Any:
    """`phase` or `parallel`, if the expression calls it; else None."""
    callee = f.borrowed(node.func) if isinstance(node, ast.Call) else None
    result = callee.value if isinstance(callee, Static) else None
    return result if result is markers.phase or result is markers.parallel else None


@handles(FUNCTIONS, markers.phase)
def _phase(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return _marked(f, node, markers.phase, args, kwargs)


@handles(FUNCTIONS, markers.parallel)
def _parallel(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return _marked(f, node, markers.parallel, args, kwargs)


def _marked(f: Frame, node: ast.Call, marker: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Compile a call of a marker. Each operand gets the span of its argument, which messages then name."""
    name = marker.__name__
    if kwargs:
        return f.problem(node, f"`{name}` takes no keyword arguments")
    if marker is markers.phase and not args:
        return f.problem(node, "`phase()` without a value begins no phase", PURE)
    if any(nothing_known(a) for a in args):
        return unknown()
    if (
        marker is markers.phase
        and len(args) == 1
        and (known(args[0])[0] or isinstance(args[0], Dyn) and f.is_weight(args[0].atom))
    ):
        return f.problem(node, "this is the same for all instances, and there from the start: no phase makes it", PURE)
    if marker is markers.parallel and (not args or len(args) == 1 and not is_list(args[0])):
        return f.problem(node, "`parallel` takes several values, or one list", "write `parallel(a, b)` or `parallel(xs)`")
    types = [type_of(a) for a in args]
    if any(map(contains_unknown, types)):
        return guess(types[0]) if len(args) == 1 else TupleV(tuple(map(guess, types)))
    atoms = tuple(replace(f.atom(a), span=span_of(written, f.file)) for a, written in zip(args, node.args, strict=True))
    if marker is markers.phase and len(args) > 1:
        atoms = (f.atom(TupleV(tuple(args))),)
    result = f.bind(n.Host(name, atoms, types[0] if len(args) == 1 else TupleT(tuple(types)), span=f.span), name)
    if len(args) == 1:
        return _written_out(f, result, args[0])
    parts = f.components(result)
    assert parts is not None
    return TupleV(tuple(_written_out(f, part, a) for part, a in zip(parts, args, strict=True)))  # type: ignore[arg-type]


def _written_out(f: Frame, result: Dyn, value: Value) -> Dyn:
    """The result of a marker: if the elements of the marked list are known one by one, so are those of the result."""
    items = f.display(value) if is_list(value) else None
    if items is not None and isinstance(result.atom, n.Var) and isinstance(result.type, ListT):
        t = result.type.item
        f.displays[result.atom.name] = tuple(f.host("list.get", [result, Static(i)], t, "element") for i in range(len(items)))
    return result
