"""Loops over the fields of an object that is of one of several classes: `for x in fields(record)` of dataclasses, `for name in
node._fields` of nodes of syntax trees and named tuples. What they walk over, and what `getattr(record, x.name)` is, depends on
the class, so there is a loop for each, which is unrolled."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence

from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted
from backends.acrobat.frontend.kinds import type_or_none
from backends.acrobat.frontend.values import Static, TupleV


def for_each_class(f: Frame, s: ast.For | ast.While) -> ast.If | None:
    """The loop as tests of the class with a loop over the fields of each; None for other loops."""
    classes = classes_walked(f, s.iter) if isinstance(s, ast.For) else ()
    if len(classes) < 2:
        return None
    assert isinstance(s, ast.For) and isinstance(s.iter, (ast.Call, ast.Attribute))
    other: list[ast.stmt] = []
    for cls in reversed(classes):
        names = cls._fields if isinstance(s.iter, ast.Attribute) else dataclasses.fields(cls)  # type: ignore[arg-type,attr-defined]
        walked = CompiledNode(TupleV(tuple(map(Static, names))))
        loop = quoted(s, "for target in whole: body", target=s.target, whole=walked, body=s.body)
        text = "if type(value) is cls:\n    loop\nelse:\n    other"
        value = s.iter.value if isinstance(s.iter, ast.Attribute) else s.iter.args[0]
        other = quoted(s, text, value=value, cls=CompiledNode(Static(cls)), loop=loop, other=other) if other else loop
    (test,) = other
    assert isinstance(test, ast.If)
    return test


def classes_walked(f: Frame, node: ast.expr) -> Sequence[type]:
    """The classes of which an object may be whose fields an expression gives, as `fields(record)` and `node._fields` do; none
    for others."""
    match node:
        case ast.Call(ast.Name() | ast.Attribute() as callee, [ast.Name() | ast.Attribute() as value], []):
            with f.trial():
                if f.borrowed(callee) != Static(dataclasses.fields):
                    return ()
                classes = f.program.datatypes.classes_of(type_or_none(f.borrowed(value)))
            return classes if all(map(dataclasses.is_dataclass, classes)) else ()
        case ast.Attribute(ast.Name() | ast.Attribute() as value, "_fields"):
            with f.trial():
                classes = f.program.datatypes.classes_of(type_or_none(f.borrowed(value)))
            return classes if all(issubclass(c, (ast.AST, tuple)) for c in classes) else ()
    return ()
