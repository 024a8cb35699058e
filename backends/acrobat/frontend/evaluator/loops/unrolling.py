"""What a `for` loop iterates, and which loops over constants are unrolled because their body needs to know the round."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from backends.acrobat.core.types import INT, ListT, TensorT, TupleT
from backends.acrobat.errors import Problem
from backends.acrobat.frontend.changing_methods import changes_owner, root_of
from backends.acrobat.frontend.evaluator.callables import nested
from backends.acrobat.frontend.evaluator.callables.picking import UNROLLED, picks_modules
from backends.acrobat.frontend.evaluator.changes.scope import assign, changed_in
from backends.acrobat.frontend.evaluator.containers.walked_sets import has_known_order
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.claims import Claims, walked
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.loops.by_turns import becomes_lazy, computed_at_once, generator_called
from backends.acrobat.frontend.evaluator.loops.laziness import changed_while_walked
from backends.acrobat.frontend.evaluator.loops.rearranging import only_gets_entries, seen_by_nested
from backends.acrobat.frontend.evaluator.loops.types_at_exits import Ways
from backends.acrobat.frontend.evaluator.loops.unordered import in_any_order, is_set, without_list
from backends.acrobat.frontend.evaluator.loops.variables import trial_round
from backends.acrobat.frontend.evaluator.objects.classes import records_of
from backends.acrobat.frontend.evaluator.objects.referenced import lists_reached, named_part, shared_reached
from backends.acrobat.frontend.evaluator.ownership.ownership import holds_parts, seen_inside, seen_through_view
from backends.acrobat.frontend.evaluator.syntax.bodies import assigned
from backends.acrobat.frontend.kinds import is_container, is_ragged, is_unknown, known, type_of, type_or_none
from backends.acrobat.frontend.specials import Nested
from backends.acrobat.frontend.syntax_nodes import every_node, mentions, names_in
from backends.acrobat.frontend.tensor_types import extents
from backends.acrobat.frontend.types import Mismatch
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value, held_in, is_empty, unknown


def iterated(f: Frame, s: ast.For) -> Value:
    """What the `for` loop `s` iterates: a list of the program, or a tuple to unroll the loop over. Raises Refused."""
    whole = without_list(f, s.iter)
    value = computed_at_once(f, s, lambda: f.borrowed(whole))
    changed = assigned(s.body)
    for name in _running_over(s.iter):
        if name in changed and not _may_be_changed(f, s, name):
            f.owned.discard(name)  # the body may not change the list: Python's loop would notice
    for call in (x for x in every_node(s.iter) if isinstance(x, ast.Call) and x not in f.taken_at_once):
        fed = [name for name in _seen_by_generator(f, call) if name in changed or name in changed_in(f, s.body)]
        if fed and becomes_lazy(f, call):
            return unknown()
        if fed:
            raise Refused(f"`{fed[0]}` is changed while a generator that sees it is walked over", "write `list(...)` around it")
    if met := changed_while_walked(f, s):
        what = f"{f.shown(min(met))} is changed while an iterator that reads it is walked over"
        raise Refused(what, "write `list(...)` around the iterator, or a loop")
    _refuse_changed_entries(f, s)
    if isinstance(whole, (ast.Name, ast.Subscript, ast.Attribute)) and holds_parts(f, value) and not is_empty(value):
        seen_inside(f, whole, getattr(type_or_none(value), "item", None))  # the loop's variable refers to a part
    seen_through_view(f, s.iter)
    if is_set(value):
        try:
            return in_any_order(f, s, whole, value)
        except Refused:
            if not has_known_order(f, value):
                raise
    if (
        isinstance(value, Static)
        and isinstance(value.value, range)
        and (picks_modules(f, s.target, s.body) or _cuts_blocks(s, value.value) or _needs_rounds(f, s, value.value, INT))
    ):
        return TupleV(tuple(map(Static, value.value)))
    each = iterable(f, value)
    if is_ragged(value) and isinstance(each, Dyn) and not is_unknown(each):
        count = (extents(type_of(value)) or (None,))[0] or 0
        if _needs_rounds(f, s, range(count), type_of(each).item):
            parts = [
                ast.copy_location(ast.Subscript(CompiledNode(value), ast.Constant(i), ast.Load()), s.iter) for i in range(count)
            ]
            return TupleV(tuple(map(f.expression, parts)))
    return each


def _refuse_changed_entries(f: Frame, s: ast.For) -> None:
    """Raises Refused for a loop over the keys of a record (a dictionary whose keys are names) whose body may assign to an entry
    other than the current one: Python's loop would see the change. (If all values are of one type, the dictionary is a list of
    the program.)"""
    match s.target, s.iter:
        case _, ast.Call(ast.Attribute(owner, "items" | "keys" | "values" as what), [], []):
            key = s.target.elts[0] if isinstance(s.target, ast.Tuple) and what == "items" else s.target
            key = key if what != "values" else ast.Constant(None)
        case key, ast.Name() | ast.Attribute() | ast.Subscript() as owner:
            pass
        case _:
            return
    with f.trial():
        is_record = bool(records_of(f, f.borrowed(owner)))
    if not is_record:
        return
    text, own = ast.unparse(owner), ast.unparse(ast.Subscript(owner, key, ast.Load()))
    inside = [x for b in s.body for x in every_node(b)]
    stored = [x for x in inside if isinstance(x, (ast.Attribute, ast.Subscript, ast.Name)) and not isinstance(x.ctx, ast.Load)]
    other = [x for x in stored if ast.unparse(getattr(x, "value", x)) == text and ast.unparse(x) != own]
    bound_anew = isinstance(key, ast.Name) and any(isinstance(x, ast.Name) and x.id == key.id for x in stored)
    of_calls = any(isinstance(x, ast.Call) and _may_change(f, x, text) for x in inside)
    if other and not all(isinstance(x, ast.Name) for x in other) or bound_anew or of_calls:
        raise Refused(f"`{text}` is changed in a loop that walks over it", "walk over `list(...)` of it, and assign afterwards")


def _may_change(f: Frame, call: ast.Call, text: str) -> bool:
    """Whether a call may change what the expression `text` is: by a method, or by a function of the model that is given it, or
    that sees its name."""
    if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == text:
        return changes_owner(call.func.attr)
    with f.trial():
        callee = f.borrowed(call.func)
    if isinstance(callee, Nested) and nested.may_change(f, callee, text):
        return True
    of_python = isinstance(callee, Static) and not isinstance(callee.value, FunctionType)
    if of_python or text not in map(ast.unparse, (*call.args, *(k.value for k in call.keywords))):
        return False
    return text in changed_in(f, [call]) if text.isidentifier() else True


def _may_be_changed(f: Frame, s: ast.For, name: str) -> bool:
    """Whether the changes that the body of the loop `s` makes to `name`, the list or dictionary that it walks over, are
    allowed."""
    return _changes_own_item(f, s, name) or only_gets_entries(f, s, name)


def _changes_own_item(f: Frame, s: ast.For, name: str) -> bool:
    """Whether the loop `for i, x in enumerate(name)` changes nothing of the list but `name[i]`, an item that was reached
    already, so that Python's loop does not notice. It may read `len(name)`, and other items if these cannot be changed in
    place."""
    match s.target, s.iter:
        case ast.Tuple([ast.Name(at), _]), ast.Call(ast.Name("enumerate"), [ast.Name(whole)], []) if whole == name:
            pass
        case _:
            return False
    inside = [x for b in s.body for x in every_node(b)]
    if {at, name} & {*names_in(s.body, ast.Store, ast.Del)} or seen_by_nested(f, s.body, name):
        return False
    plain = not holds_parts(f, f.env.get(name))
    allowed = 0
    for x in inside:
        match x:
            case ast.Subscript(ast.Name(whole), ast.Name(index), ast.Store() | ast.Load()) if (whole, index) == (name, at):
                allowed += 1
            case ast.Subscript(ast.Name(whole), ctx=ast.Load()) if whole == name and plain:
                allowed += 1
            case ast.Call(ast.Name("len"), [ast.Name(whole)], []) if whole == name:
                allowed += 1
    return f.is_builtin("enumerate") and allowed == len(mentions(s.body, name))


@contextmanager
def walking_over(f: Frame, s: ast.For | ast.While) -> Iterator[Claims]:
    """A context for the body of a loop, in which the lists that it walks over cannot be changed, nor by functions that it
    calls: Python's loop would notice. Yields what it has added to `Frame.owned` for this."""
    added: Claims = set()
    if isinstance(s, ast.For):
        names = [x for x in _running_over(s.iter) if is_container(f.env.get(x, unknown())) and not _may_be_changed(f, s, x)]
        reached = [x for path in _named_parts(s.iter) for x in lists_reached(f, path)]
        added |= {walked(x) for x in (*names, *reached, *shared_reached(f, s.iter))} - f.owned
    f.owned |= added
    try:
        yield added
    finally:
        f.owned -= added


def _named_parts(node: ast.expr) -> list[ast.expr]:
    """The attributes, and items with a written key, that a loop over `node` runs over."""
    match node:
        case ast.Call(ast.Name("zip" | "enumerate" | "reversed"), args):
            return [x for a in args for x in _named_parts(a)]
    return [node] if named_part(node) else []


def _seen_by_generator(f: Frame, call: ast.Call) -> list[str]:
    """The names whose values a generator function called by `call` receives or captures; [] for calls of other functions."""
    callee = generator_called(f, call)
    if callee is None:
        return []
    names = nested.captured(f, callee) if isinstance(callee, Nested) and callee.env is None else []
    receiver = [call.func.value] if isinstance(call.func, ast.Attribute) else []
    arguments = [*call.args, *(k.value for k in call.keywords), *receiver]
    return names + [name for name in map(root_of, arguments) if name is not None and name != "self"]


def _running_over(node: ast.expr) -> list[str]:
    match node:
        case ast.Name(name):
            return [name]
        case ast.Call(ast.Name("zip" | "enumerate" | "reversed"), args):
            return [name for a in args for name in _running_over(a)]
    return []


def _cuts_blocks(s: ast.For, rounds: range) -> bool:
    """Whether the body takes slices whose bounds depend on the number of the round, as in `x[h * d : (h + 1) * d]`: these have
    fixed extents if that number is known."""

    def by_round(bounds: Sequence[ast.expr | None]) -> bool:
        names = [{*names_in(b)} if b is not None else set[str]() for b in bounds]
        return len(bounds) == 2 and all(isinstance(s.target, ast.Name) and s.target.id in targets for targets in names)

    slices = [
        (x.lower, x.upper) if isinstance(x, ast.Slice) else x.args
        for b in s.body
        for x in every_node(b)
        if isinstance(x, ast.Slice) or isinstance(x, ast.Call) and isinstance(x.func, ast.Name) and x.func.id == "slice"
    ]
    return 0 < len(rounds) <= UNROLLED and any(map(by_round, slices))


def _needs_rounds(f: Frame, s: ast.For, rounds: range, item: Any) -> bool:
    """Whether the body cannot be compiled for a round that is known at run time only, of a loop over `rounds`, or over items of
    type `item` with so many: it may name an attribute by the round, change the shape of a tensor, or add a tensor whose extent
    varies to a number. Found by compiling it for such a round, in a trial."""
    if not 0 < len(rounds) <= UNROLLED or not isinstance(s.target, ast.Name):
        return False
    if s not in f.unrolled:
        before = {x: type_or_none(f.env[x]) for x in changed_in(f, s.body) if x in f.env}
        # A number that each round changes, as `size *= 2` does, is not known in the loop.
        numbers = {x: t for x, t in before.items() if isinstance(known(f.env[x])[1], (int, float))}
        problem, ways = _tried(f, s, item, numbers)
        after = None if problem is not None else _types_at_ends(f, s, ways)
        joined = None if after is None else _joined(f, before, after)
        if after is not None and joined is not None:
            # The shape of a tensor changes, or the length of a tuple. Where the round does not say what to, it is not known in
            # the next one however that is compiled, as of a beam that begins with one row and keeps those that go on.
            changing = [x for x, t in before.items() if isinstance(t, (TensorT, TupleT)) and isinstance(joined[x], ListT)]
            if changing:
                later = numbers | {x: joined[x] for x in changing}
                result = all(any(isinstance(t, ListT) for t in after[x]) for x in changing)
                again = _after_round(f, s, item, later) if result else None
                settled = None if again is None else _joined(f, joined, again)
                joined = None if settled is None or any(settled[x] != joined[x] for x in changing) else joined
        if problem is not None and item == INT:
            # What is outside the language in the first round, too, is told sooner if the loop is not unrolled.
            f.unrolled[s] = _tried(f, s, INT, {}, Static(rounds[0]))[0] != problem
        else:
            f.unrolled[s] = joined is None
    return f.unrolled[s]


def _tried(
    f: Frame, s: ast.For, item: Any, types: Mapping[str, Any], known_item: Static | None = None
) -> tuple[Problem | None, Ways]:
    """The first problem of a round, compiled in a trial, which begins with variables of these `types` and an item of the type
    `item` that is known at run time only, or with `known_item`; and what the names are at its ends."""
    assert isinstance(s.target, ast.Name)
    ways = Ways()
    with f.isolated_trial(gives_up=True, goes_on=known_item is not None) as trial:
        assign(f, s.target, known_item or held_in(Dyn(f.var(s.target.id, item))))
        for x, t in types.items():
            f.rebind(x, held_in(Dyn(f.var(x, t))))
        trial_round(f, s, ways, {}, {})
    return trial.problem, ways


def _after_round(f: Frame, s: ast.For, item: Any, types: Mapping[str, Any]) -> dict[str, list[Any]] | None:
    """The types that names have at the ends of a round of which the number is not known, and which begins with variables of
    these `types`; None where the body cannot be compiled so."""
    problem, ways = _tried(f, s, item, types)
    return None if problem is not None else _types_at_ends(f, s, ways)


def _types_at_ends(f: Frame, s: ast.For, ways: Ways) -> dict[str, list[Any]] | None:
    """The types that the names which the body changes have at the ends of a round; None if some are functions."""
    try:
        return {x: [type_of(v) for v in ways.values(x)] for x in changed_in(f, s.body) if x in f.env}
    except Mismatch:
        return None


def _joined(f: Frame, before: Mapping[str, Any], after: Mapping[str, Sequence[Any]]) -> dict[str, Any] | None:
    """The types that cover those before a round and those after it; None where a name has none."""
    try:
        return {x: f.common([t, *after[x]], numbers=True) for x, t in before.items()}
    except Mismatch:
        return None
