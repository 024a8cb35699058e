"""Comprehensions. Their elements are computed independently of each other, by a map; with conditions or several `for`s a loop
first collects the values of the targets."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from backends.acrobat.core.types import DICT, INT, ListT
from backends.acrobat.frontend.evaluator.callables.picking import UNROLLED, picks_modules
from backends.acrobat.frontend.evaluator.changes.scope import assign, changed_in
from backends.acrobat.frontend.evaluator.containers import containers
from backends.acrobat.frontend.evaluator.containers.any_order import in_any_order, list_in_any_order
from backends.acrobat.frontend.evaluator.containers.walked_sets import note_made
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import dict_of
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lists import empty_list, list_of
from backends.acrobat.frontend.evaluator.lists.sequences_met import note_sequence
from backends.acrobat.frontend.evaluator.lists.sizes import LONGEST, size_of
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.loops.each_class import classes_walked
from backends.acrobat.frontend.evaluator.loops.laziness import generated
from backends.acrobat.frontend.evaluator.loops.named_entries import named_entries
from backends.acrobat.frontend.evaluator.loops.short_zips import is_short_zip
from backends.acrobat.frontend.evaluator.loops.some_modules import walks_over_some
from backends.acrobat.frontend.evaluator.loops.unordered import entries_in_any_order
from backends.acrobat.frontend.evaluator.ownership.ownership import holds_parts, seen_inside, seen_through_view
from backends.acrobat.frontend.evaluator.rewriting.desugar import statements
from backends.acrobat.frontend.evaluator.syntax.bodies import assigned, hint_of
from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted
from backends.acrobat.frontend.evaluator.tables import EXPRESSIONS, handles
from backends.acrobat.frontend.kinds import is_list, is_unknown, known, nothing_known, type_of, type_or_none, variable_of
from backends.acrobat.frontend.syntax_nodes import every_node, mentions, names_in
from backends.acrobat.frontend.types import UNKNOWN, Mismatch, contains_unknown
from backends.acrobat.frontend.values import (
    Dyn,
    FilledPlaceholder,
    Held,
    Special,
    Static,
    TupleV,
    Value,
    guess,
    held_in,
    unknown,
)
from backends.acrobat.ir import nodes as n


def _name_of(node: ast.ListComp | ast.GeneratorExp) -> str:
    """The name of the list to which the loops that stand for a comprehension append. Nested ones have lists of their own."""
    return hidden("kept", node)


def comprehension(f: Frame, node: ast.ListComp | ast.GeneratorExp, hint: str = "") -> Value:
    """Compile a list comprehension, or a generator expression as a list."""
    node = list_in_any_order(f, node)
    first, *rest = node.generators
    if first.is_async:
        return f.problem(node, "this expression is not in the language")
    if (
        not rest
        and isinstance(node, ast.ListComp)
        and isinstance(first.iter, ast.GeneratorExp)
        and _looks_at_items(first, node.elt)
    ):
        f.taken_at_once.add(first.iter)
    if not rest and not first.ifs and changed_in(f, [node.elt]) and _changes(f, first, node.elt):
        return _one_by_one(f, node)
    if f.is_step_by_step(node) or (rest or first.ifs) and _walks_over_constants(f, node) or _is_apart(f, first.iter):
        return _one_by_one(f, node)
    value = f.unchanging(node, lambda: _independent(f, node, hint))
    if holds_parts(f, value):
        for g in node.generators:
            seen_inside(f, g.iter)
    return value


def _looks_at_items(generator: ast.comprehension, element: ast.expr) -> bool:
    """Whether the conditions and the element of a comprehension are computed from what it walks over only, and call nothing, so
    that it makes no difference whether the next item is there already."""
    inside = [x for part in (element, *generator.ifs) for x in every_node(part)]
    names = {x.id for x in inside if isinstance(x, ast.Name)}
    return names <= set(names_in(generator.target)) and not any(isinstance(x, ast.Call) for x in inside)


def _is_apart(f: Frame, node: ast.expr) -> bool:
    """Whether a loop over `node` is compiled in a form of its own."""
    return walks_over_some(f, node) or is_short_zip(f, node) or len(classes_walked(f, node)) > 1


def _independent(f: Frame, node: ast.ListComp | ast.GeneratorExp, hint: str) -> Value:
    """Compile a comprehension as a map over a list of the program, or unrolled over a tuple."""
    first, *rest = node.generators
    fixed: int = 0  # how many elements it has, if that is known
    in_conditions = assigned([i for g in node.generators for i in g.ifs])
    for name in in_conditions:  # `:=` in a condition: its last value is not available afterwards
        f.env.pop(name, None)
        f.poisoned[name] = "is assigned in a comprehension", "assign it in a loop"
    if rest or first.ifs:
        names = assigned([*(g.target for g in node.generators), *(i for g in node.generators for i in g.ifs)])
        target: ast.expr = _tuple(node, names, ast.Store())
        xs = _collected(f, node)
    else:
        target, whole = first.target, f.borrowed(first.iter)
        fixed = size_of(f, whole) or 0
        if (
            isinstance(whole, Static)
            and isinstance(whole.value, range)
            and (picks_modules(f, target, [node.elt]) or _needs_rounds(f, node, target, len(whole.value)))
        ):
            whole = TupleV(tuple(map(Static, whole.value)))
        xs = iterable(f, whole)
        seen_through_view(f, first.iter)
    element = getattr(f.learnt(f.span), "item", UNKNOWN)
    if isinstance(xs, TupleV):
        return list_of(f, node, [_element(f, target, item, node.elt) for item in xs.items], hint)
    if is_unknown(xs):
        if isinstance(xs, Dyn) and isinstance(xs.atom, FilledPlaceholder):  # its place in the source is that of another list
            return f.not_yet(xs.type)
        return xs if is_list(xs) else unknown()
    assert isinstance(xs, Dyn)
    assert isinstance(xs.type, ListT)
    var = f.var(hint_of(target) if hint_of(target) not in ("", "_") else "item", xs.type.item)
    with f.branch() as b:
        assign(f, target, held_in(Dyn(var)))
        value = f.staged(f.expression(node.elt))
        value = f.coerce(value, _widened(f, element, type_of(value)))
        t = type_of(value)
        if contains_unknown(t):
            return f.not_yet(ListT(t))
        body = b.finish(f.atom(value))
    f.owned &= f.owned_at_end
    result = f.bind(n.Map(var, xs.atom, body, ListT(t), span=f.span), hint or "list")
    if 0 < fixed <= LONGEST:
        f.sizes[variable_of(result)] = fixed
    return result


def _widened(f: Frame, learnt: Any, found: Any) -> Any:
    """The type of the elements according to an earlier round of compiling, covering also what this one has found of them."""
    try:
        return f.common([learnt, found])
    except Mismatch:
        return learnt


def _needs_rounds(f: Frame, node: ast.ListComp | ast.GeneratorExp, target: ast.expr, count: int) -> bool:
    """Whether an element can be compiled only if the number `target` is known at compile time, because it is the dimension of
    an operation, say. Found by compiling it in a trial for a number that is not known."""
    name = hint_of(target)
    if not 0 < count <= UNROLLED or not mentions(node.elt, name):
        return False
    with f.isolated_trial() as trial:
        assign(f, target, Dyn(f.var(name, INT)))
        f.expression(node.elt)
    return trial.problem is not None


def _changes(f: Frame, generator: ast.comprehension, elt: ast.expr) -> bool:
    """Whether computing an element changes a list of this function, so that elements must be computed in order."""
    with f.changes(counted=False) as changed, f.trial():
        xs = iterable(f, f.borrowed(generator.iter))
        item = xs.items[0] if isinstance(xs, TupleV) and xs.items else guess(getattr(type_or_none(xs), "item", UNKNOWN))
        assign(f, generator.target, item)
        f.expression(elt)
        return bool(changed & set(f.env))


def _walks_over_constants(f: Frame, node: ast.ListComp | ast.GeneratorExp) -> bool:
    """Whether one of the `for`s takes values that can be known at compile time only, such as the dictionaries of a constant
    list: the elements that the conditions keep cannot be collected in a list of the program."""
    targets = {*assigned([g.target for g in node.generators])}
    for g in node.generators:
        if any(isinstance(x, ast.Name) and x.id in targets for x in every_node(g.iter)) or changed_in(f, [g.iter]):
            continue
        with f.trial():
            xs = iterable(f, f.borrowed(g.iter))
            if isinstance(xs, TupleV) and any(_is_constant_only(f, item) for item in xs.items):
                return True
    return False


def _is_constant_only(f: Frame, item: Value) -> bool:
    """Whether a value is, or has in it, a module, a dictionary or a set that is known at compile time."""
    if isinstance(item, Special) and item.unrolled:
        return True
    parts = item.items if isinstance(item, TupleV) else item.value if isinstance(item, Static) else ()
    if isinstance(parts, tuple):
        return any(_is_constant_only(f, v if isinstance(item, TupleV) else Static(v)) for v in parts)
    return isinstance(parts, (dict, set, frozenset))


def _one_by_one(f: Frame, node: ast.ListComp | ast.GeneratorExp) -> Value:
    """Compile a comprehension as a loop that computes and appends its elements in order."""
    name = _name_of(node)
    targets = assigned([g.target for g in node.generators])
    hidden = {x: f.env.pop(x) for x in targets if x in f.env}
    f.env[name] = empty_list(f)
    f.owned.add(name)
    f.straight(_appending(node, name, node.elt))
    kept = f.env.pop(name)
    f.owned.discard(name)
    for target in targets:
        f.env.pop(target, None)
        f.poisoned.pop(target, None)
    f.env |= hidden
    return kept


def _appending(node: ast.ListComp | ast.GeneratorExp, name: str, elt: ast.expr) -> list[ast.stmt]:
    """The loops of a comprehension, which append `elt` to the list `name` for each element that the conditions keep."""
    body = quoted(node, "name.append(elt)", name=name, elt=elt)
    for g in reversed(node.generators):
        for test in reversed(g.ifs):
            body = quoted(node, "if test: body", test=test, body=body)
        body = quoted(node, "for target in iterable: body", target=g.target, iterable=g.iter, body=body)
    return body


def _element(f: Frame, target: ast.expr, item: Value, elt: ast.expr) -> Value:
    """One element of a comprehension that is unrolled."""
    with f.branch() as b:
        assign(f, target, item)
        value = f.expression(elt)
    f.builder.bindings += b.bindings
    f.owned &= f.owned_at_end
    return value


def _collected(f: Frame, node: ast.ListComp | ast.GeneratorExp) -> Value:
    """The list of the targets' values, one item for each element that the conditions keep, made by nested loops."""
    names = assigned([*(g.target for g in node.generators), *(i for g in node.generators for i in g.ifs)])
    kept_as = _name_of(node)
    with f.branch() as b:
        for name in names:
            f.env.pop(name, None)
        f.env[kept_as] = empty_list(f)
        f.owned.add(kept_as)
        f.straight(statements(_appending(node, kept_as, _tuple(node, names, ast.Load()))))
        kept = f.env[kept_as]
    f.builder.bindings += b.bindings
    f.owned &= f.owned_at_end
    return kept


def _tuple(node: ast.AST, names: list[str], ctx: ast.expr_context) -> ast.expr:
    parts: list[ast.expr] = [ast.copy_location(ast.Name(name, ctx), node) for name in names]
    return parts[0] if len(parts) == 1 else ast.copy_location(ast.Tuple(parts, ctx), node)


# ---- the expressions


@handles(EXPRESSIONS, ast.ListComp)
def _list(f: Frame, node: ast.ListComp, hint: str) -> Value:
    return comprehension(f, node, hint)


@handles(EXPRESSIONS, ast.GeneratorExp)
def _generator(f: Frame, node: ast.GeneratorExp, hint: str) -> Value:
    value = generated(f, node, lambda: Held("iterator", comprehension(f, node, hint)))
    note_sequence(f, node, value)
    return value


@handles(EXPRESSIONS, ast.DictComp)
def _dict(f: Frame, node: ast.DictComp, hint: str) -> Value:
    if (named := named_entries(f, node)) is not None:
        return named
    pair = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node)
    written = ast.copy_location(ast.ListComp(pair, node.generators), node)
    pairs = comprehension(f, entries_in_any_order(f, node, written), hint)
    if isinstance(pairs, TupleV) and (record := _with_names(f, node, pairs.items)) is not None:
        return record
    if not nothing_known(pairs) and contains_unknown(type_of(pairs)):
        return f.not_yet(replace(type_of(pairs), kind=DICT))
    return containers.dict_of_pairs(f, node, pairs)


def _with_names(f: Frame, node: ast.DictComp, pairs: Sequence[Value]) -> Value | None:
    """The dictionary of pairs whose values are of several types, if the keys are strings known at compile time: like a display,
    its values may differ in type."""
    parts = [f.components(pair) for pair in pairs]
    if not parts or not all(part and isinstance(known(part[0])[1], str) for part in parts):
        return None
    return dict_of(f, node, {known(key)[1]: value for key, value in parts})  # type: ignore[misc]


@handles(EXPRESSIONS, ast.SetComp)
def _set(f: Frame, node: ast.SetComp, hint: str) -> Value:
    written = ast.copy_location(ast.ListComp(node.elt, node.generators), node)
    listed = in_any_order(f, written)
    made = containers.set_of(f, node, comprehension(f, listed, hint))
    return note_made(f, made, Static(None)) if listed is written else made
