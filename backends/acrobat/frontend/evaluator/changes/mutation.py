"""The rule for all changes in place, and the places that may be changed: names, and items and attributes of them.

The program is pure: a change binds the name to a new value. That is right where nothing else refers to the old value, which
`Frame.owned` says of a name; elsewhere the change is refused at its line.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from backends.acrobat.core.types import DataT, ListT, TensorT, TupleT
from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.changes.indices import changes_something, named_index
from backends.acrobat.frontend.evaluator.changes.putting import ChangedPlace, give, put_attribute, put_into
from backends.acrobat.frontend.evaluator.changes.state import settle
from backends.acrobat.frontend.evaluator.choices.choice import optional
from backends.acrobat.frontend.evaluator.choices.nones import opened, present
from backends.acrobat.frontend.evaluator.frame.arguments import Refused, constant
from backends.acrobat.frontend.evaluator.frame.claims import deep, spine, walked
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.derived_values import derived_class, of_class_of
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.kept_iterators import refuse_walked
from backends.acrobat.frontend.evaluator.objects.classes import records_of
from backends.acrobat.frontend.evaluator.objects.referenced import (
    is_referenced,
    may_change_inside,
    named_part,
    note_seen_elsewhere,
    read_attribute,
    shared_inside,
    walked_over,
    write_attribute,
)
from backends.acrobat.frontend.evaluator.ownership.ownership import note_changed, note_list_seen_elsewhere
from backends.acrobat.frontend.evaluator.syntax.order import Moved, path_of
from backends.acrobat.frontend.instances.shared import ITEMS
from backends.acrobat.frontend.kinds import (
    is_array,
    is_held_tensor,
    is_unknown,
    kind,
    nothing_known,
    plain_container,
    type_or_none,
)
from backends.acrobat.frontend.types import is_shared
from backends.acrobat.frontend.values import NOTHING, Dyn, Static, TupleV, Value, guess, unknown

COPIES = "build a new value, or make copies first"


def place(
    f: Frame, s: ast.AST, node: ast.expr, what: str, how: str | None = "", inside: bool = False
) -> tuple[ChangedPlace, Value] | None:
    """The place that `node` names, and its present value. None if something else may refer to that value, for which a problem
    is noted, or if the value is not known yet. `what` names the change in messages. `how` says what becomes of the items, as in
    `Moved`; None: they stay. `inside`: a part of the value is changed. A list or dictionary of a derived class is changed as a
    plain one, and gets its class again when it is put back."""
    found = _place(f, s, node, what, how, inside)
    if found is None or derived_class(f, found[1]) is None:
        return found
    where, value = found
    return ChangedPlace(lambda v: where.put(of_class_of(value, v))), value if is_unknown(value) else plain_container(value)


def _place(f: Frame, s: ast.AST, node: ast.expr, what: str, how: str | None, inside: bool) -> tuple[ChangedPlace, Value] | None:
    """As `place`, with the value as it is."""
    if how is not None and not inside and (path := path_of(node)).root:
        f.moves.append(Moved(path.item(), how))
    if f.program.datatypes.has_references and (found := _of_referenced(f, s, node, what, inside)) is not None:
        return found if found[1] is not NOTHING else None
    match node:
        case ast.Name(name):
            settle(f, node)
            if name not in f.env and name not in f.poisoned and name in f.namespace:
                what = f"`{what}` changes `{name}`, which is outside of the function and a constant of the compiled program"
                f.problem(s, what, "keep it in a variable, and give it to the functions that change it")
                return None
            value = f.env.get(name, unknown())
            if nothing_known(value):
                return None
            if not _is_only_name(f, s, name, value, what):
                return None
            if optional(f, value) is not None:
                value = present(f, node, value)
                give(f, name, value)
            return ChangedPlace(lambda v: give(f, name, v)), value
        case ast.Subscript(owner, index) if not isinstance(index, ast.Slice):
            around = _place_around(f, s, node, owner, what)
            if around is None:
                return None
            outer, whole = around
            if isinstance(index, ast.Tuple) and kind(whole) != "dict":  # of a dictionary a tuple is one key
                f.problem(s, *_no_place(what))
                return None
            if kind(whole) in ("tuple", TupleV) and isinstance(index, (ast.Constant, ast.UnaryOp)):
                return _component(f, s, node, outer, whole, what)
            if kind(whole) not in ("list", "dict", "object"):
                f.problem(s, f"`{what}` of a part of {describe(type_or_none(whole))} is not in the language")
                return None
            if changes_something(f, index):  # the call around has compiled it before
                what = f"`{ast.unparse(index)}` changes a list or an object, and is an index here"
                f.problem(s, what, "give it a name first")
                return None
            if not isinstance(index, ast.Constant):
                index = named_index(f, node, index)
            inner = opened(
                f, node, f.expression(ast.copy_location(ast.Subscript(CompiledNode(whole), index, ast.Load()), node))
            )
            if not _deep(f, s, node, what, kind(whole) in ("list", "dict") and kind(inner) in ("list", "dict")):
                note_seen_elsewhere(f, inner)
                note_list_seen_elsewhere(f, node, type_or_none(inner))
                return None
            if nothing_known(inner) or refuse_tensor(f, s, inner):
                return None
            return ChangedPlace(lambda v: put_into(f, s, outer, whole, [index], v)), inner
        case ast.Attribute(owner, attr):
            around = _place_around(f, s, node, owner, what)
            if around is None:
                return None
            outer, whole = around
            note_changed(f, type_or_none(whole), attr)
            refuse_walked(f, whole, attr, what)
            inner = opened(f, node, f.expression(ast.copy_location(ast.Attribute(CompiledNode(whole), attr, ast.Load()), node)))
            if not _deep(f, s, node, what, isinstance(owner, ast.Name) and kind(inner) in ("list", "dict")):
                note_seen_elsewhere(f, whole)
                note_list_seen_elsewhere(f, node, type_or_none(inner))
                return None
            if nothing_known(inner) or refuse_tensor(f, s, inner):
                return None
            return ChangedPlace(lambda v: put_attribute(f, s, outer, whole, attr, v)), inner
    f.problem(s, *_no_place(what))
    return None


def _place_around(f: Frame, s: ast.AST, node: ast.expr, owner: ast.expr, what: str) -> tuple[ChangedPlace, Value] | None:
    """The place of `owner`, of which `node` is a part, as `place`. If there is none, lists in `node` count as seen elsewhere
    from here on."""
    around = place(f, s, owner, what, inside=True)
    if around is None:
        with f.trial():
            part = f.without_none(type_or_none(f.borrowed(node)))
        note_list_seen_elsewhere(f, node, part)
    return around


def _no_place(what: str) -> tuple[str, str]:
    """The message for a change of what has no name, and what to write instead."""
    return f"`{what}` is for a list with a name of its own", "change a variable, and build the structure from it"


def _of_referenced(f: Frame, s: ast.AST, node: ast.expr, what: str, inside: bool) -> tuple[ChangedPlace, Value] | None:
    """The place of a numbered object, whose number stays the same, or of one of its attributes, with its present value, which
    is NOTHING if a problem was noted. None for other places."""
    part = named_part(node)
    with f.trial():
        whole = f.borrowed(node)
        owner = whole if part is None else f.borrowed(part[0])
        if isinstance(node, ast.Subscript) and part is not None and not records_of(f, opened(f, node, owner)):
            part, owner = None, whole
    shared = shared_inside(f, type_or_none(whole))
    if not shared and not is_referenced(f, whole) and not is_referenced(f, owner):
        return None
    path = node if part is None else part[0]
    if isinstance(node, ast.Subscript) and part and (nothing_known(whole) or whole == Static(None)):
        f.program.incomplete = True  # a later round tells what it may be
        return ChangedPlace(lambda v: None), NOTHING
    if changes_something(f, path):
        raise Refused(
            f"`{ast.unparse(path)}` changes a list or an object, and something of what it gives", "give it a name first"
        )
    if shared:
        return _of_shared(f, s, node, what, inside)
    if is_referenced(f, whole):
        value = opened(f, node, f.borrowed(node))
        return ChangedPlace(lambda v: _with_entries_of(f, s, value, v)), value
    assert part is not None
    owner, name = opened(f, node, f.borrowed(part[0])), part[1]
    assert isinstance(owner, Dyn)
    refuse_walked(f, owner, name, what)
    inner = opened(f, node, f.borrowed(_with_owner(node, owner)))
    why = may_change_inside(f, owner, name, inner, inside)
    if why or refuse_tensor(f, s, inner):
        if why:
            f.problem(s, f"`{what}` changes what `{ast.unparse(node)}` has, which {why}", "assign a new list to the attribute")
            note_seen_elsewhere(f, inner)
            note_list_seen_elsewhere(f, node, type_or_none(inner))
        return ChangedPlace(lambda v: None), NOTHING

    def put(value: Value) -> None:
        write_attribute(f, s, owner, name, value, still=True)

    return ChangedPlace(put), inner


def _with_owner(node: ast.expr, owner: Value) -> ast.expr:
    """The attribute or item `node` of `owner`."""
    if isinstance(node, ast.Subscript):
        return ast.copy_location(ast.Subscript(CompiledNode(owner), node.slice, ast.Load()), node)
    assert isinstance(node, ast.Attribute)
    return ast.copy_location(ast.Attribute(CompiledNode(owner), node.attr, ast.Load()), node)


def _with_entries_of(f: Frame, s: ast.AST, owner: Value, new: Value) -> None:
    """Copies the entries of a dictionary into a numbered one with the same keys. (Objects of classes get each attribute when it
    is assigned to.)"""
    classes = records_of(f, owner)
    if not classes or nothing_known(new):
        return
    if type_or_none(new) != type_or_none(owner):
        what = "this dict gets other keys than it was made with, while other names may refer to it"
        f.problem(s, what, "give it all of its keys where it is made, with None as the values of some")
        return
    if len(classes) > 1:
        what = "this dict, which has one of several sets of keys, is changed as a whole while other names may refer to it"
        f.problem(s, what, "assign to its keys one by one")
        return
    assert isinstance(owner, Dyn) and isinstance(new, Dyn)
    for name in f.program.datatypes.record_fields(classes[0]):
        if (value := read_attribute(f, s, new, name)) is not None:
            write_attribute(f, s, owner, name, value)


def _of_shared(f: Frame, s: ast.AST, node: ast.expr, what: str, inside: bool) -> tuple[ChangedPlace, Value]:
    """The place of the items of a shared list (`shared_lists`), with what is in it now."""
    value = f.borrowed(node)
    if nothing_known(value):
        f.program.incomplete = True  # a later round tells what it may be
        return ChangedPlace(lambda v: None), NOTHING
    words = [word for word, t in f.mixed(f.without_none(type_or_none(value))).items() if is_shared(t)]
    if len(words) > 1:
        raise Refused(
            f"`{ast.unparse(node)}`, which has several names, is a list or a dictionary here", "ask for its class before"
        )
    owner = present(f, node, value, types=words)
    assert isinstance(owner, Dyn)
    items = opened(f, node, owner)
    if inside:  # of a list in it, to which other names may refer
        t = getattr(type_or_none(items), "item", None)
        for part in t.items if isinstance(t, TupleT) else (t,):
            note_list_seen_elsewhere(f, ast.Subscript(node, ast.Constant(0), ast.Load()), part)
            note_seen_elsewhere(f, guess(part))
        f.problem(s, f"`{what}` changes a part of `{ast.unparse(node)}` that may be seen elsewhere", "make copies first")
        return ChangedPlace(lambda v: None), NOTHING
    if why := walked_over(f, owner):
        f.problem(s, f"`{what}` changes `{ast.unparse(node)}`, which {why}", "walk over a copy: `list(...)`")
        return ChangedPlace(lambda v: None), NOTHING

    def put(value: Value) -> None:
        write_attribute(f, s, owner, ITEMS, value, still=True)

    return ChangedPlace(put), items


def _component(
    f: Frame, s: ast.AST, node: ast.Subscript, outer: ChangedPlace, whole: Value, what: str
) -> tuple[ChangedPlace, Value] | None:
    """The place of a component of a tuple that `outer` holds, such as `pairs[k][0]`: what the component holds is changed, and
    the tuple made again with it. None as for `place`."""
    parts, at = f.components(whole) or [], constant(f.expression(node.slice), "an index")
    if not isinstance(at, int) or not -len(parts) <= at < len(parts):
        raise Refused(f"a tuple of {len(parts)} has no item {at!r}")
    at %= len(parts)
    if nothing_known(parts[at]) or not _deep(f, s, node, what, kind(parts[at]) in ("list", "dict")):
        return None
    if refuse_tensor(f, s, parts[at]):
        return None

    def put(value: Value) -> None:
        items = (*parts[:at], value, *parts[at + 1 :])
        outer.put(replace(whole, items=items) if isinstance(whole, TupleV) else TupleV(items))

    return ChangedPlace(put), parts[at]


def _is_only_name(f: Frame, s: ast.AST, name: str, value: Value, what: str) -> bool:
    """Whether `name` alone refers to its value, and no loop walks over it; a problem is noted if not."""
    if walked(name) in f.owned:
        f.problem(s, f"`{what}` changes {f.shown(name)}, which a loop around it walks over", "walk over a copy: `list(...)`")
        return False
    if name in f.owned:
        return True
    if getattr(value, "python_object", None) is not None:
        advice = "keep it in a variable and return it; a list or dictionary may also be cleared or made anew first in each call"
        f.problem(s, "an attribute of the model is not assigned to in the language", advice)
        return False
    if isinstance(value, Static) and not isinstance(value.value, (bool, int, float, str, tuple)):
        advice = "keep what changes in a variable, or in an object that `forward` makes"
        f.problem(s, f"`{what}` changes what was made outside of `forward`, and is a constant of the compiled program", advice)
        return False
    if not isinstance(type_or_none(value), (ListT, TensorT, DataT)):
        f.problem(s, f"`{what}` is for lists, not {describe(type_or_none(value))}")
    elif isinstance(type_or_none(value), DataT):
        note_seen_elsewhere(f, value)
        advice = "make a new object with the new value, or keep the values in a list or a dictionary beside the objects"
        f.problem(s, f"`{what}` changes an object that may be seen under another name than {f.shown(name)}", advice)
    elif is_array(value):
        advice = "make a tensor of its own first, with `.clone()`"
        f.problem(s, f"`{what}` changes a tensor that may be seen under another name than {f.shown(name)}", advice)
    elif f.program.carried.is_state(name):
        note_list_seen_elsewhere(f, ast.Name(name, ast.Load()), type_or_none(value))
        advice = "assign a copy to the attribute first, with `list(...)`"
        f.problem(s, f"`{what}` changes a list that may be seen under another name than {f.shown(name)}", advice)
    else:
        note_list_seen_elsewhere(f, ast.Name(name, ast.Load()), type_or_none(value))
        advice = f"make a list of its own first: `{name} = list({name})`"
        f.problem(s, f"`{what}` changes a list that may be seen under another name than `{name}`", advice)
    return False


def _deep(f: Frame, s: ast.AST, node: ast.expr, what: str, of_list: bool = False) -> bool:
    """Whether nothing but the name at the root of `node` refers to parts of its value, or, for a part that is `of_list`, to the
    lists among them. Notes a problem if something may."""
    name = root_of(node)
    if name is not None and (deep(name) in f.owned or of_list and spine(name) in f.owned):
        return True
    shown = ast.unparse(node) if name is None else f.shown(name)
    f.problem(s, f"`{what}` changes a part of {shown} that may be seen elsewhere", COPIES)
    return False


def refuse_tensor(f: Frame, s: ast.AST, part: Value, advice: str = "put a new tensor in its place") -> bool:
    """Notes a problem if the part of a list or object that is to be changed is a tensor, which may be seen under other names.
    Returns whether it is."""
    is_memory = is_array(part) or is_held_tensor(part)
    if is_memory:
        f.problem(s, "this changes a tensor in place that may be seen under other names", advice)
    return is_memory


# ---- items
