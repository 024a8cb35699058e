"""Taking entries out of dictionaries whose keys are names."""

from __future__ import annotations

import ast
from typing import Any

from backends.acrobat.frontend.evaluator.changes.mutation import place
from backends.acrobat.frontend.evaluator.changes.putting import give
from backends.acrobat.frontend.evaluator.containers.containers import empty_of_kind
from backends.acrobat.frontend.evaluator.containers.records import as_dict, by_keys
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.classes import records_of
from backends.acrobat.frontend.evaluator.objects.construction import construct
from backends.acrobat.frontend.kinds import known, nothing_known
from backends.acrobat.frontend.values import Dyn, Value, unknown


def popped(f: Frame, node: ast.Call, owner: ast.expr, whole: Dyn) -> Value:
    """`owner.pop(name)` or `owner.pop(name, default)` of the dictionary `whole`: its value, which is then another dictionary
    without that name. Under a key that is known at run time only, it is a list of entries from the next round of compiling
    on."""
    if not 1 <= len(node.args) <= 2 or node.keywords:
        return f.problem(node, "`pop` of a dictionary takes a key, and a default by position")
    key = f.expression(node.args[0])
    if nothing_known(key):
        return unknown()
    classes, (is_known, name) = records_of(f, whole), known(key)
    if not is_known:
        return as_dict(f, *classes)
    at = place(f, node, owner, "pop")
    if at is None:
        return unknown()
    read: ast.expr = ast.Subscript(CompiledNode(whole), CompiledNode(key), ast.Load())
    if len(node.args) == 2:
        read = ast.Call(ast.Attribute(CompiledNode(whole), "get", ast.Load()), [CompiledNode(key), node.args[1]], [])
    value = f.expression(ast.fix_missing_locations(ast.copy_location(read, node)))

    def rest(cls: type, fields: dict[str, Value]) -> Value:
        left = {x: v for x, v in fields.items() if x != name}
        if not left:
            return empty_of_kind(f, "dict")
        smaller: Any = f.program.datatypes.records.class_of(list(left))
        return as_dict(f, cls) if f.program.datatypes.is_walked(smaller) else construct(f, node, smaller, [], left)

    give(f, at[0], by_keys(f, node, whole, rest))
    return value
