"""Items of dictionaries, also of those that enter a missing key when it is looked up."""

from __future__ import annotations

import ast

from backends.acrobat.frontend.evaluator.changes.putting import give
from backends.acrobat.frontend.evaluator.choices.choice import fail, fails_always
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.containers import containers
from backends.acrobat.frontend.evaluator.containers.missing_keys import would_show
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.referenced import write_attribute
from backends.acrobat.frontend.evaluator.ownership.ownership import note_list_seen_elsewhere
from backends.acrobat.frontend.evaluator.tables import SUBSCRIPTS, handles
from backends.acrobat.frontend.instances.shared import ITEMS
from backends.acrobat.frontend.kinds import is_unknown, nothing_known, type_of
from backends.acrobat.frontend.present_keys import is_present
from backends.acrobat.frontend.values import Dyn, Static, Value


@handles(SUBSCRIPTS, "dict")
def _of_dict(f: Frame, node: ast.AST, value: Dyn, index: ast.expr) -> Value:
    if isinstance(index, ast.Slice):
        return fails_always(f, node, TypeError("unhashable type: 'slice'"), "a dictionary has no slices")
    key = Static(index.value) if isinstance(index, ast.Constant) and isinstance(index.value, str) else f.borrowed(index)
    if is_present(node):
        return containers.look_up(f, node, value, key, lambda: fail(f, "KeyError: a key that was there is missing"))
    if would_show(f, node, value):
        missing = (
            "KeyError: looking up a missing key in this defaultdict enters it, which the program can notice: write `.get(...)`"
        )
        return containers.look_up(f, node, value, key, lambda: fail(f, missing))
    result = containers.look_up(f, node, value, key)
    name = containers.entered_by_lookup(f, node)
    if name is None and containers.keeps_default(f, value):
        note_list_seen_elsewhere(f, node.value if isinstance(node, ast.Subscript) else None, value.type)
        message = "looking up in a defaultdict puts the key into it, which may be seen elsewhere"
        return f.problem(node, message, "write `.get(key, default)`")
    if name is not None:
        after = containers.put(f, node, value, key, result)
        give(f, name, f.not_yet(type_of(after)) if is_unknown(after) and not nothing_known(after) else after)
    return result


def of_shared_dict(f: Frame, node: ast.AST, value: Dyn, index: ast.expr) -> Value | None:
    """An item of a shared `defaultdict`, which has the key from then on; None for other shared lists and dictionaries."""
    whole = opened(f, node, value)
    if not containers.enters_missing_keys(whole) or isinstance(index, ast.Slice):
        return None
    key = f.borrowed(index)
    if is_present(node):
        return containers.look_up(f, node, whole, key, lambda: fail(f, "KeyError: a key that was there is missing"))  # type: ignore[arg-type]
    result = containers.look_up(f, node, whole, key)  # type: ignore[arg-type]
    if nothing_known(key) or is_unknown(result):
        f.program.incomplete = True
        return result
    write_attribute(f, node, value, ITEMS, containers.put(f, node, whole, key, result), still=True)
    return result
