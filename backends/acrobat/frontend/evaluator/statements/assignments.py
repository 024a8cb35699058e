"""Statements that bind names, items and attributes: `=`, `+=`, annotated assignments, `del`."""

from __future__ import annotations

import ast
from contextlib import suppress

from backends.acrobat.core.types import BOOL, ListT
from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.changes.indices import in_source_order, is_moved, target_before
from backends.acrobat.frontend.evaluator.changes.mutation import place
from backends.acrobat.frontend.evaluator.changes.new_claims import divided, hand_over, own
from backends.acrobat.frontend.evaluator.changes.putting import ChangedPlace
from backends.acrobat.frontend.evaluator.changes.scope import assign, stored
from backends.acrobat.frontend.evaluator.changes.summed_entries import changes_part
from backends.acrobat.frontend.evaluator.changes.taken_out import claims_taken_out, takes_out
from backends.acrobat.frontend.evaluator.containers.any_order import with_places_in_any_order
from backends.acrobat.frontend.evaluator.containers.missing_keys import hand_on
from backends.acrobat.frontend.evaluator.containers.shared_lists import kind_inside, refuse_kept_iterator
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.claims import Claims, claims
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.derived_values import of_class_of
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.named_iterators import iterates, named, own_iterator
from backends.acrobat.frontend.evaluator.objects.referenced import claims_on_objects, named_part, shared_inside
from backends.acrobat.frontend.evaluator.ownership.elements import changes_element, is_element
from backends.acrobat.frontend.evaluator.ownership.fresh import fresh_inside, shown_by
from backends.acrobat.frontend.evaluator.ownership.keeping import is_tensor_of_numbers
from backends.acrobat.frontend.evaluator.ownership.ownership import changeable, note_list_seen_elsewhere, seen_inside
from backends.acrobat.frontend.evaluator.syntax.bodies import hint_of
from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.order import ListPath, Moved
from backends.acrobat.frontend.evaluator.syntax.own_nodes import operation_of
from backends.acrobat.frontend.evaluator.syntax.reading import is_kept
from backends.acrobat.frontend.evaluator.tables import AUGMENTED, STATEMENTS, handles
from backends.acrobat.frontend.instances.shared import holds_lists
from backends.acrobat.frontend.kinds import (
    is_array,
    is_container,
    is_held_tensor,
    is_iterator,
    is_list,
    is_number,
    is_unknown,
    kind,
    type_or_none,
    variable_of,
)
from backends.acrobat.frontend.syntax_nodes import every_node
from backends.acrobat.frontend.types import UNKNOWN, Mismatch, contains_unknown, is_never_filled
from backends.acrobat.frontend.values import Dyn, ListedV, Static, TupleV, Value, guess, is_empty, unknown

BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor)


@handles(STATEMENTS, ast.Assign)
def _assign(f: Frame, s: ast.Assign) -> None:
    s, owned = with_places_in_any_order(f, s), set(f.owned)
    if isinstance(s.targets[0], (ast.Tuple, ast.List)):
        f.taken_at_once.add(s.value)
    hand_on(f, s.value)
    v = f.expression(s.value, hint_of(s.targets[0]))
    match s.targets, s.value:
        case [ast.Tuple(targets)], ast.Tuple(sources) if len(targets) == len(sources) and iterates(f, s.value, v):
            for t, source, part in zip(targets, sources, f.components(v) or [], strict=True):
                _one_assigned(f, s, t, source, part)
            return
        case [ast.Tuple(targets)], ast.Call() if isinstance(v, TupleV) and _are_iterators(v) and len(targets) == len(v.items):
            for t, part in zip(targets, v.items, strict=True):  # `a, b = tee(xs)`
                _one_assigned(f, s, t, s.value, part)
            return
        case _ if isinstance(v, TupleV) and _are_iterators(v) and isinstance(s.value, ast.Call):
            raise Refused("iterators that are made together get a name each", "write `a, b = ...`")
        case [target], source if iterates(f, source, v):
            _one_assigned(f, s, target, source, v)
            return
    if all(isinstance(t, (ast.Tuple, ast.List)) for t in s.targets):
        _keep_whole(f, s.value, v, owned)
    match s.targets:
        case [ast.Subscript() as item] if is_array(whole := f.env.get(root_of(item) or "")) or is_held_tensor(whole):
            f.owned |= owned & {root_of(item)}  # a tensor keeps no reference to what is put into it
    shown, parts = shown_by(f, s.value), divided(f, s, owned)
    for target in s.targets:
        _assign_or_lose(f, target, v)
    if named_part(s.targets[0]) and len(s.targets) == 1 and fresh_inside(f, s.value, type_or_none(v)):
        f.owned |= claims_on_objects(f, s.targets[0]) & owned
    if len(s.targets) == 1:
        own(f, s.targets[0], s.value)
        hand_over(f, s, owned, shown)
        f.owned |= {name for name in parts if is_tensor_of_numbers(f.env.get(name))}
    if takes_out(f, s):
        f.owned |= claims_taken_out(f, s, owned)


def _are_iterators(value: TupleV) -> bool:
    return bool(value.items) and all(map(is_iterator, value.items))


def _one_assigned(f: Frame, s: ast.Assign | ast.AnnAssign, target: ast.expr, source: ast.expr, value: Value) -> None:
    """Assign the value of `source` to one target of a statement that assigns iterators, or lists that stand for such."""
    refuse_kept_iterator(f, source)
    v = named(f, s, target, source, value)
    if v is not None:
        _assign_or_lose(f, target, v)
        own(f, target, source)
        own_iterator(f, target, v)


def _keep_whole(f: Frame, source: ast.expr, value: Value, owned: Claims) -> None:
    """Keep the claims (`ownership`) on a list that `h, c = state` takes apart: the new names refer to its elements, not to the
    list. `owned` is `Frame.owned` from before the list was read."""
    name = root_of(source)
    if name is None or not (is_list(value) or isinstance(value, TupleV)):
        return
    f.owned |= claims(name) & owned
    of_elements = value.type.item if isinstance(value, Dyn) and isinstance(value.type, ListT) else type_or_none(value)
    if of_elements is None or changeable(f, of_elements) or contains_unknown(of_elements):
        seen_inside(f, source, of_elements)


@handles(STATEMENTS, ast.AnnAssign)
def _annotated(f: Frame, s: ast.AnnAssign) -> None:
    if s.value is None:
        return
    hand_on(f, s.value)
    v = f.expression(s.value, hint_of(s.target))
    if iterates(f, s.value, v):
        _one_assigned(f, s, s.target, s.value, v)
        return
    annotated = f.program.annotation(f, s.annotation)
    is_new = is_empty(v) or is_never_filled(type_or_none(v))
    may_hold_shared = f.program.datatypes.has_shared and holds_lists(annotated)
    if is_new and (may_hold_shared or f.program.datatypes.has_dict(getattr(annotated, "item", None))):
        annotated = UNKNOWN  # the values that are put in tell whether these are shared ones, and which kind of dictionary
    if not contains_unknown(annotated) and (not is_unknown(v) or is_list(v)):
        with suppress(Mismatch):  # `best: list[float] = [None] * n`: Python does not look at it either
            v = f.coerce(v, f.as_annotated(annotated, type_or_none(v)))
    _assign_or_lose(f, s.target, v)
    own(f, s.target, s.value)


@handles(STATEMENTS, ast.AugAssign)
def _aug_assign(f: Frame, s: ast.AugAssign) -> None:
    with f.broadcasting((1,)):
        _changed_by_operator(f, s)


def _changed_by_operator(f: Frame, s: ast.AugAssign) -> None:
    if not isinstance(s.target, ast.Name) and not is_tensor_of_numbers(f.env.get(root_of(s.target) or "")):
        if changes_element(f, s):
            sign, written = ast.unparse(s).removeprefix(ast.unparse(s.target)).split()[0], ast.unparse(s.target)
            what = f"`{sign}` changes the tensor in place of which `{written}` may be an element"
            f.problem(s, what, f"write `{written} = {written} {sign[:-1]} ...`, or put a number there, by `int(...)`")
            return
    target_in_order = in_source_order(f, s.target)
    if isinstance(target_in_order, (ast.Subscript, ast.Attribute)):
        target_in_order = target_before(f, target_in_order, s.value)
    if target_in_order is not s.target:
        s = ast.copy_location(ast.AugAssign(target_in_order, s.op, s.value), s)  # type: ignore[arg-type]
    match s.target:
        case ast.Name(name):
            _augmented(f, s, name, operation_of(s))
        case ast.Subscript() as target:
            read: ast.expr = ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
            if any(isinstance(x, ast.Call) for x in every_node(target.slice)):
                at = ast.copy_location(ast.Name(hidden("target", s), ast.Load()), target)
                f.env[at.id] = f.expression(target.slice)  # the index is computed once
                read = ast.copy_location(ast.Subscript(target.value, at, ast.Load()), target)
                target = ast.copy_location(ast.Subscript(target.value, at, ast.Store()), target)
            f.put_back |= _items_on(read)
            if not is_tensor_of_numbers(f.env.get(root_of(target) or "")):
                with f.trial():
                    before = f.borrowed(read)
                if changes_part(f, s, target, before):
                    return
                if is_container(before) or _is_shared(f, target, before):
                    place_and_value = place(f, s, read, "+=")
                    if place_and_value is not None:
                        _put_joined(f, s, read, *place_and_value)
                    return
            assign(f, target, f.expression(ast.copy_location(ast.BinOp(read, s.op, s.value), s)))
        case ast.Attribute(owner, name) as target if stored(f, target, owner, name):
            f.expression(s.value)
        case ast.Attribute() as target:
            read = ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
            before = f.borrowed(read)
            if _is_shared(f, target, before) or changeable(f, type_or_none(before)):
                place_and_value = place(f, s, read, "+=")
                if place_and_value is not None:
                    _put_joined(f, s, read, *place_and_value)
                return
            if changes_part(f, s, target, before):
                return
            assign(f, target, f.expression(ast.copy_location(ast.BinOp(read, s.op, s.value), s)))
        case _:
            f.problem(s, "only names can be assigned to: the language is pure", "build a new value, or a new list")


def _is_shared(f: Frame, target: ast.expr, before: Value) -> bool:
    """Whether what an augmented assignment changes is a shared list (`shared_lists`). Raises Refused for a mixed value that may
    be such a list: the values of its other types get a new value instead."""
    if f.mixed(f.without_none(type_or_none(before))) and shared_inside(f, type_or_none(before)):
        what = f"`{ast.unparse(target)}` may be a list that has several names, which an operator changes, or something else"
        raise Refused(what, "ask for its class before, with `isinstance`")
    return bool(kind_inside(f, before))


def _put_joined(f: Frame, s: ast.AugAssign, read: ast.expr, where: ChangedPlace, whole: Value) -> None:
    """Assign the result of an operator to the place that `read` names, whose value before was `whole`."""
    before = len(f.moves)
    with f.changes() as changed:
        joined = _operated(f, s, ast.copy_location(ast.BinOp(CompiledNode(whole), s.op, s.value), s))
    if root_of(read) in changed or is_moved(f, read, changed, f.moves[before:]):
        f.problem(s, "what is added here changes what it is added to", "give it a name first")
    where.put(joined)


def _items_on(path: ast.expr) -> set[ast.expr]:
    """The items on a path such as `d[k].near[i]`, and the path itself if it is one: assigning to the path enters all of these
    keys."""
    items: set[ast.expr] = set()
    while isinstance(path, (ast.Subscript, ast.Attribute)):
        items |= {path} if isinstance(path, ast.Subscript) else set()
        path = path.value
    return items


def _assign_or_lose(f: Frame, target: ast.expr, value: Value) -> None:
    """Assign `value`. If that raises Mismatch, the names become unknown first, so that no further problems follow from them."""
    try:
        assign(f, target, value)
    except Mismatch:
        assign(f, target, unknown())
        raise


def _augmented(f: Frame, s: ast.AugAssign, name: str, sum: ast.BinOp) -> None:
    before = f.env.get(name)
    if before is not None and _is_shared(f, s.target, before):
        place_and_value = place(f, s, sum.left, "an assignment with an operator")
        if place_and_value is not None:
            place_and_value[0].put(
                _operated(f, s, ast.copy_location(ast.BinOp(CompiledNode(place_and_value[1]), s.op, s.value), s))
            )
        return
    if is_number(before) and is_element(f, name):  # type: ignore[arg-type]
        sign = ast.unparse(sum).removeprefix(f"{name} ").partition(" ")[0]
        what = f"`{sign}=` changes the tensor in place of which {f.shown(name)} is an element"
        f.problem(s, what, f"write {f.written_anew(name, f'{sign} ...')}, or assign to the item of the tensor")
        return
    if before is not None and name not in f.owned and is_array(guess(f.without_none(type_or_none(before)))) > is_array(before):
        f.problem(
            s,
            "this changes a tensor in place that may be seen under other names",
            f"write {f.written_anew(name, '...')}",
        )
        return
    if before is not None and kind(before) in AUGMENTED:
        AUGMENTED[kind(before)](f, s, name, before, sum)
        return
    is_bool = isinstance(before, Dyn) and before.type == BOOL
    if is_bool and isinstance(s.op, BITWISE) and f.definition is not None and is_kept(f.definition, name):
        advice = f"write {f.written_anew(name, '...')}, which makes a new one"
        f.problem(s, "this may change a tensor of one bool in place that is seen elsewhere too", advice)
        return
    # The program has lists of tensors of several shapes, and of functions, as tuples.
    was_list = isinstance(before, TupleV) and not _is_tuple(s.value)
    if before is not None and (was_list or is_container(before) and kind(before) != "varying tuple") and name not in f.owned:
        sign = ast.unparse(sum).removeprefix(f"{name} ").partition(" ")[0]
        what = "list" if was_list else kind(before)
        note_list_seen_elsewhere(f, sum.left, type_or_none(before))
        text = f"`{sign}=` changes a {what} that may be seen under another name than {f.shown(name)}"
        f.problem(s, text, f"write {f.written_anew(name, f'{sign} ...')}")
        return
    if before is not None and kind(before) == "list" and isinstance(s.op, ast.Add) and _is_walked(f, s.value):
        sum = ast.copy_location(ast.BinOp(sum.left, s.op, _listed(s.value)), s)
    if before is not None and is_container(before):
        f.changed_in_place.add(name)
        f.moves.append(Moved(ListPath(name).item(), "+" if kind(before) == "list" else ""))
    assign(f, s.target, of_class_of(before, _operated(f, s, sum, name)))
    own(f, s.target, sum)


def _operated(f: Frame, s: ast.AugAssign, whole: ast.BinOp, hint: str = "") -> Value:
    """The result of an operator that changes a list, set or dictionary in place: `whole`, if it makes a new one."""
    result = f.expression(whole, hint)
    if isinstance(s.op, ast.Sub):
        f.added.pop(variable_of(result), None)  # Python walks over a set from which it has taken elements in another order
    return result


def _is_walked(f: Frame, added: ast.expr) -> bool:
    """Whether `xs += added` is a list to which the items of a range, tuple or dictionary are added, for which `xs + added`
    would be an error."""
    with f.trial():
        value = f.borrowed(added)
    is_tuple = isinstance(value, TupleV) and not isinstance(value, ListedV)
    return kind(value) == "dict" or is_tuple or isinstance(value, Static) and isinstance(value.value, (range, tuple, dict))


def _listed(whole: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(CompiledNode(Static(list)), [whole], []), whole)


def _is_tuple(node: ast.expr) -> bool:
    """Whether an expression is visibly a tuple."""
    match node:
        case ast.Tuple() | ast.Attribute(attr="shape") | ast.Call(ast.Name("tuple") | ast.Attribute(attr="size")):
            return True
        case ast.BinOp(left, ast.Add() | ast.Mult(), right):
            return _is_tuple(left) or _is_tuple(right)
        case ast.Subscript(value, ast.Slice()):
            return _is_tuple(value)
    return False


@handles(STATEMENTS, ast.Delete)
def _delete(f: Frame, s: ast.Delete) -> None:
    for target in s.targets:
        if not isinstance(target, ast.Name):
            f.problem(s, "`del` of this is not in the language", "build a new value without it")
            return
        f.rebind(target.id, unknown())
        del f.env[target.id]
        f.poisoned[target.id] = "was deleted", "use it before `del`"
