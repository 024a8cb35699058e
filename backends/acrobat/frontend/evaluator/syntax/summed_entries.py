"""Dictionaries whose entries a function sums up before it uses them: between `totals = defaultdict(int)` and the last of its
`totals[k] += x` it does nothing else to them."""

from __future__ import annotations

import ast

from backends.acrobat.frontend.evaluator.syntax.reading import way_to
from backends.acrobat.frontend.syntax_nodes import all_parameters, every_node, mentions


def made_of_numbers(definition: ast.FunctionDef | None, name: str) -> ast.Call | None:
    """The call `defaultdict(int)` or `defaultdict(float)` that makes the only dictionary which a name of a function ever stands
    for, if all that is done to it before its last `name[key] += value` are such statements; None for other names.

    The first of these gives an entry the sum of 0 and the value, a new tensor, and no name refers to it before the last one. So
    it makes no difference whether `+=` changes that tensor or makes another one."""
    if definition is None or name in all_parameters(definition) or len(mentions(definition, name, ast.Store)) != 1:
        return None
    for x in every_node(definition):
        match x:
            case ast.Global(names) | ast.Nonlocal(names) if name in names:
                return None
            case ast.Assign([ast.Name(target)], ast.Call(_, [ast.Name("int" | "float")], []) as made) if target == name:
                way = way_to(definition.body, x)
                return made if way and _is_summed_up_first([*way[-1][0][way[-1][1] + 1 :]], definition, name) else None
    return None


def _is_summed_up_first(following: list[ast.stmt], definition: ast.FunctionDef, name: str) -> bool:
    """Whether all uses of a name are in the statements `following` the one that makes it, first those of sums alone."""
    counts = [(len(mentions(s, name)), _sums(s, name)) for s in following]
    last = max((i for i, (_, sums) in enumerate(counts) if sums), default=-1)
    whole = sum(uses for uses, _ in counts) + 1 == len(mentions(definition, name))
    functions = [x for s in following[: last + 1] for x in every_node(s) if isinstance(x, (ast.FunctionDef, ast.Lambda))]
    return whole and not mentions(functions, name) and all(uses == sums for uses, sums in counts[: last + 1])


def _sums(s: ast.stmt, name: str) -> int:
    """How many statements `name[key] += value` there are in a statement."""
    changed = [x.target for x in every_node(s) if isinstance(x, ast.AugAssign)]
    return sum(isinstance(t, ast.Subscript) and isinstance(t.value, ast.Name) and t.value.id == name for t in changed)
