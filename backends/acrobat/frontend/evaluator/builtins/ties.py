"""The least element of a set by a key that is equal for several, where it does not show which of them it is:

    pair = min(pairs, key=lambda p: ranks.get(p, float("inf")))
    if pair not in ranks:
        break

Of all that are not in the dictionary any may be the least, since the test that follows is all that asks for it.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence

from backends.acrobat.core.types import INT, TupleT
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.kinds import in_python, known, type_or_none
from backends.acrobat.frontend.syntax_nodes import every_node, mentions

LEAVING = (ast.Break, ast.Continue, ast.Return, ast.Raise)


def default_of_ties(f: Frame, node: ast.AST) -> float | None:
    """The key that all elements which are not in the dictionary have, if `node` is such a call of `min`; None for all other
    calls."""
    match node:
        case ast.Call(
            keywords=[ast.keyword("key", ast.Lambda(arguments, ast.Call(ast.Attribute(ranks, "get"), [item, default])))]
        ):
            parameters = [a.arg for a in arguments.args]
            is_lookup = isinstance(item, ast.Name) and [item.id] == parameters and not mentions(ranks, item.id)
            if f.definition is None or not is_lookup or not _is_only_tested(f.definition, node, ranks):
                return None
            with f.trial():
                dictionary, number = f.borrowed(ranks), known(f.expression(default))[1]
            if not isinstance(number, (int, float)) or math.isnan(number):
                return None
            constant = in_python(dictionary)
            if isinstance(constant, dict):
                return None if number in constant.values() else float(number)
            entry = getattr(type_or_none(dictionary), "item", None)
            of_ints = isinstance(entry, TupleT) and entry.items[1:] == (INT,)
            return number if of_ints and number == math.inf else None
    return None


def _is_only_tested(definition: ast.FunctionDef, node: ast.Call, ranks: ast.expr) -> bool:
    """Whether the result of a call is named, the next statement leaves if it is not in the dictionary `ranks`, and nothing else
    reads the name before that."""
    for around in every_node(definition):
        for name in ("body", "orelse", "finalbody"):
            body = getattr(around, name, None)
            for i, s in enumerate(body if isinstance(body, list) else ()):
                if isinstance(s, ast.Assign) and s.value is node:
                    return _leaves_without(definition, body[i:], ranks)  # type: ignore[index]
    return False


def _leaves_without(definition: ast.FunctionDef, body: Sequence[ast.stmt], ranks: ast.expr) -> bool:
    match body:
        case [ast.Assign([ast.Name(name)]), ast.If(ast.Compare(ast.Name(tested), [ast.NotIn()], [where]), inside, []), *rest]:
            read = len(mentions(definition, name, ast.Load))
            later = 1 + len(mentions(rest, name, ast.Load))
            same = tested == name and ast.dump(where) == ast.dump(ranks)
            return same and isinstance(inside[-1], LEAVING) and read == later
    return False
