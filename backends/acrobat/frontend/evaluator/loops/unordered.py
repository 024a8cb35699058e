"""Loops over sets for which the order makes no difference, as in `for t in banned: scores[t] = low`: they walk over the
elements in the order in which the program has them. What the syntax does not tell is found by compiling a round in a trial: the
types of what is changed, and that nothing else is changed."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from backends.acrobat.core.types import BOOL, INT, ListT, TupleT
from backends.acrobat.frontend.evaluator.changes.scope import assign
from backends.acrobat.frontend.evaluator.changes.state import variable_assigned
from backends.acrobat.frontend.evaluator.containers import any_order, containers
from backends.acrobat.frontend.evaluator.containers.any_order import AnyOrder
from backends.acrobat.frontend.evaluator.containers.walked_sets import has_known_order
from backends.acrobat.frontend.evaluator.frame.claims import deep
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.named_iterators import holds_iterator
from backends.acrobat.frontend.evaluator.lists.walking import no_order
from backends.acrobat.frontend.evaluator.loops.types_at_exits import Ways
from backends.acrobat.frontend.evaluator.loops.variables import trial_round
from backends.acrobat.frontend.evaluator.ownership.ownership import holds_parts
from backends.acrobat.frontend.evaluator.syntax.commuting import EXTREMES, Change, Changes, How, changes
from backends.acrobat.frontend.evaluator.syntax.reading import is_last_use
from backends.acrobat.frontend.kinds import (
    is_array,
    is_container,
    is_held_tensor,
    is_list,
    is_number,
    is_plain,
    is_unknown,
    kind,
    nothing_known,
    type_of,
    type_or_none,
)
from backends.acrobat.frontend.specials import Nested
from backends.acrobat.frontend.syntax_nodes import every_node, mentions, names_in
from backends.acrobat.frontend.types import UNKNOWN, is_iterator_type
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value, held_in, unknown
from backends.acrobat.library import sets

INTS: tuple[How, ...] = ("sum", "product", "or", "and", "xor", *EXTREMES.values())
"""Changes whose order does not show of ints. (That of floats does, in the last digits, and of NaN.)"""
OF_SETS: tuple[How, ...] = ("or", "and", "xor", "sum", "put in", "taken out", "kept", "removed")
ITEMS: tuple[How, ...] = ("item", "own item")
UNCHANGING = ("len", "sum", "any", "all")
"""Functions that neither change what they are given nor give a part of it."""
IN_PLACE: tuple[How, ...] = (*ITEMS, "put in", "taken out", "kept", "removed", "key taken out")


def without_list(f: Frame, walked: ast.expr) -> ast.expr:
    """What a loop walks over, the set itself where that is `list(...)` or `tuple(...)` of a set."""
    match walked:
        case ast.Call(ast.Name("list" | "tuple" as function), [inner], []) if f.is_builtin(function):
            with f.trial():
                return inner if is_set(f.borrowed(inner)) else walked
    return walked


def is_set(value: Value) -> bool:
    return isinstance(value, Static) and isinstance(value.value, (set, frozenset)) or kind(value) == "set"


def entries_in_any_order(f: Frame, node: ast.DictComp, pairs: ast.ListComp) -> ast.ListComp:
    """For a dictionary comprehension `node`, written as a comprehension of `pairs`: `pairs` itself, or, if it walks over a set,
    a comprehension that walks over the list of its elements. Raises Refused if the order may show."""
    first, *rest = pairs.generators
    generators = [ast.comprehension(first.target, without_list(f, first.iter), first.ifs, first.is_async), *rest]
    listed = any_order.in_any_order(f, ast.copy_location(ast.ListComp(pairs.elt, generators), pairs))
    if listed.generators is generators:
        return pairs
    bound = [x for g in generators for x in names_in(g.target)]
    of_sets = [g.target for g in listed.generators if isinstance(g.iter, AnyOrder)]
    whole = not any(isinstance(x, (ast.Starred, ast.Attribute, ast.Subscript)) for t in of_sets for x in every_node(t))
    tells_elements = whole and len({*bound}) == len(bound) and {*names_in(of_sets)} <= _parts(node.key)
    if not tells_elements and {*bound} & {*names_in(node.value)} or any_order.shows_order(f, node):
        if _in_known_order(f, listed):
            return pairs
        raise no_order()  # of equal keys the last one counts
    return listed


def _in_known_order(f: Frame, listed: ast.ListComp) -> bool:
    """Whether the order is known of all sets over which a comprehension walks in any order."""
    with f.trial():
        return all(has_known_order(f, f.borrowed(g.iter.whole)) for g in listed.generators if isinstance(g.iter, AnyOrder))


def _parts(key: ast.expr) -> set[str]:
    """The variables of which a key consists, alone or as parts of a tuple."""
    return {x for e in key.elts for x in _parts(e)} if isinstance(key, ast.Tuple) else {*names_in(key)} & {ast.unparse(key)}


def in_any_order(f: Frame, s: ast.For, walked: ast.expr, value: Value) -> Value:
    """The elements of the set that a loop walks over, as a list, or one by one where they are known. Raises Refused where their
    order may show."""
    found = changes(s, lambda name: is_last_use(f.definition, s, name))
    walks_itself = walked is s.iter and not isinstance(walked, ast.BinOp)  # over the set that the rounds may change
    changed = {c.name for c in found.found} if found is not None else set()
    if found is None or walks_itself and {*names_in(walked)} & changed or not _changes_are_unseen(f, s, found):
        raise no_order()
    if isinstance(value, Static):
        elements: Value = TupleV(tuple(map(f.program.wrap, sorted(value.value, key=repr))))
    else:
        elements = containers.in_any_order(f, s, value)
    if is_unknown(elements) or elements == TupleV(()):
        return elements
    first = elements.items[0] if isinstance(elements, TupleV) else held_in(Dyn(f.var("item", type_of(elements).item)))
    after = _after_round(f, s, first)
    if after is not None and not _commute(f, s, found, first, after):
        raise no_order()
    if any(c.how == "own item" and not _is_dictionary(f.env.get(c.name)) for c in found.found):
        elements = _from_start(f, s, elements)
    return elements


def _is_dictionary(value: Any) -> bool:
    return value is not None and kind(value) == "dict"


def _from_start(f: Frame, s: ast.For, elements: Value) -> Value:
    """The elements, checked to be non-negative: as indices they are those of different items."""
    if isinstance(elements, TupleV):
        if all(isinstance(v, Static) and isinstance(v.value, int) and v.value >= 0 for v in elements.items):
            return elements
        raise no_order()
    return f.program.call(f, s, sets.from_start, [elements], {})


def _after_round(f: Frame, s: ast.For, item: Value) -> tuple[Ways, set[str]] | None:
    """The names at the ends of one round, and those that it has changed in place; None where it cannot be compiled yet."""
    ways = Ways()
    with f.isolated_trial() as trial:
        assign(f, s.target, item)
        trial_round(f, s, ways, {}, {})
    if (failed := trial.problem) is not None:  # told where the loop itself is compiled, or again here
        f.problem(failed.span, failed.message, failed.advice)
        return None
    return ways, trial.changed


def _changes_are_unseen(f: Frame, s: ast.For, found: Changes) -> bool:
    """Whether nothing that the rounds read shows their own changes, neither another name for the same value nor a function."""
    changed = [c for c in found.found if c.how in IN_PLACE]
    names = {c.name for c in changed}
    read = {x for x in names_in(s.body, ast.Load) if x in f.env} - {c.name for c in found.found} - found.local
    read -= {*names_in(s.target)}
    if any(holds_iterator(f.env[x]) or is_iterator_type(type_or_none(f.env[x])) for x in read):
        return False
    callees = _callees(f, s, found)
    if any(_seen_by_functions(f, c.name) for c in found.found) and not all(map(_is_of_python, callees)):
        return False
    if all(_is_alone(f, x) for x in names):
        return True
    attributes = [x for b in s.body for x in every_node(b) if isinstance(x, ast.Attribute)]
    harmless = [is_plain(v) or nothing_known(v) or _is_of_python(v) or _is_module(v) for v in (f.env[x] for x in read)]
    return (
        len(names) == 1
        and all(harmless)
        and all(map(_is_of_python, callees))
        and not any(variable_assigned(f, x) for x in attributes)
    )


def _callees(f: Frame, s: ast.For, found: Changes) -> list[Value]:
    """What the rounds call, except the methods by which they make their changes."""
    statements = [c.node for c in found.found if isinstance(c.node, (ast.Expr, ast.Assign))]
    own = {id(x.value.func) for x in statements if isinstance(x.value, ast.Call)}
    calls = [x.func for b in s.body for x in every_node(b) if isinstance(x, ast.Call) and id(x.func) not in own]
    varying = {*found.local, *names_in(s.target)}
    with f.trial():
        return [unknown() if varying & {*names_in(x)} else f.borrowed(x) for x in calls]


def _seen_by_functions(f: Frame, name: str) -> bool:
    """Whether a function that a round calls may read a name of this function: as an attribute of the model, or as a nested
    function."""
    inner = [x for b in f.definition.body for x in every_node(b) if isinstance(x, (ast.FunctionDef, ast.Lambda))]  # type: ignore[union-attr]
    return f.program.carried.is_state(name) or any(mentions(x, name) for x in inner)


def _is_of_python(value: Value) -> bool:
    """Whether a value is a constant that is no function of the model."""
    return isinstance(value, Static) and not hasattr(value.value, "__code__") and not hasattr(value.value, "__func__")


def _is_module(value: Any) -> bool:
    return getattr(value, "python_object", None) is not None and not isinstance(value, Nested)


def _is_alone(f: Frame, name: str) -> bool:
    """Whether a name alone refers to its value, and to what is in it."""
    value = f.env.get(name)
    alone = value is not None and name in f.owned and kind(value) != "shared"
    return alone and (deep(name) in f.owned or not holds_parts(f, value))


def _commute(f: Frame, s: ast.For, found: Changes, item: Value, after: tuple[Ways, set[str]]) -> bool:
    """Whether a round changes only what the syntax shows, and in ways whose order makes no difference."""
    ways, changed = after
    allowed = {c.name for c in found.found} | found.local
    allowed |= {x for x in changed & set(f.env) - allowed if _only_gets_missing_keys(f, s, found, x)}
    numbers = all(is_number(v) or nothing_known(v) for x in found.numbers for v in ways.values(x))
    return (
        changed & set(f.env) <= allowed
        and numbers
        and all(_is_in_any_order(f, c, item, ways.values(c.name)) for c in found.found)
    )


def _only_gets_missing_keys(f: Frame, s: ast.For, found: Changes, name: str) -> bool:
    """Whether all that the rounds do to a name is to look up keys in a `defaultdict`, which enters missing ones: all rounds do
    so, nothing changes an entry, and nothing shows the order of the keys or which a round has entered."""
    inside = [x for b in s.body for x in every_node(b)]
    if kind(f.env[name]) != "dict" or any(isinstance(x, (ast.Break, ast.Return)) for x in inside):
        return False
    uses: Sequence[ast.AST] = inside if not holds_parts(f, f.env[name]) else _unchanging_uses(f, found, inside)
    looked_up = [x.value for x in uses if isinstance(x, ast.Subscript) and isinstance(x.ctx, ast.Load)]
    return (
        all(any(x is y for y in looked_up) for x in mentions(s.body, name))
        and not any_order.order_is_seen(f, name)
        and name in f.owned
        and (not _seen_by_functions(f, name) or all(map(_is_of_python, _callees(f, s, found))))
    )


def _unchanging_uses(f: Frame, found: Changes, inside: Sequence[ast.AST]) -> list[ast.expr]:
    """The arguments of functions of Python that leave them as they are, and of the methods by which a loop changes sets."""
    by_methods = [c.node.value for c in found.found if isinstance(c.node, ast.Expr) and c.how in OF_SETS]
    calls = [x for x in inside if isinstance(x, ast.Call)]
    of_python = [x for x in calls if isinstance(x.func, ast.Name) and x.func.id in UNCHANGING and f.is_builtin(x.func.id)]
    return [a for x in (*by_methods, *of_python) if isinstance(x, ast.Call) for a in x.args]


def _is_in_any_order(f: Frame, change: Change, item: Value, values: Sequence[Value]) -> bool:
    for v in values:
        t, is_set = type_or_none(v), kind(v) == "set"
        match change.how:
            case _ if nothing_known(v) or change.how == "same":
                continue
            case "any" | "all":
                right = t == BOOL
            case "item" | "own item":
                right = _items_in_any_order(f, change, item, v)
            case "key taken out":
                right = kind(v) == "dict"
            case how:
                right = how in INTS and t in (INT, BOOL) or is_set and how in OF_SETS or how == "removed" and is_list(v)
        if not right:
            return False
    return True


def _items_in_any_order(f: Frame, change: Change, item: Value, whole: Value) -> bool:
    """Whether items may be changed in any order: all get the same change, or each is changed in one round only."""
    own = change.how == "own item"
    if change.by_method and not _holds_containers(whole):
        return False
    if kind(whole) == "dict":  # it keeps its keys in the order in which they were put in
        return not any_order.order_is_seen(f, change.name)
    if is_array(whole) or is_held_tensor(whole):
        return not own or type_or_none(item) == INT
    slices = any(isinstance(x, ast.Slice) for x in every_node(change.node)) if change.node is not None else True
    is_plain_list = is_container(whole) and not slices
    return is_plain_list and (not own or type_or_none(item) == INT)


def _holds_containers(whole: Value) -> bool:
    """Whether the items of a list, or the values of a dictionary, are lists, sets and dictionaries, each with this one name."""
    item = getattr(type_or_none(whole), "item", UNKNOWN)
    if kind(whole) == "dict" and isinstance(item, TupleT):
        item = item.items[1]
    return item == UNKNOWN or isinstance(item, ListT) and item.rows is None
