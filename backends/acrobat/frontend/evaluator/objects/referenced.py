"""Objects that are changed while several names refer to them: `parent.children.append(node)` of a parent that is on a stack,
`head.vec = v` of one that stands in a list.

The program is pure, so that a changed object would be another one under each of its names. Objects of such classes are
therefore represented by numbers. For each class the program has one list with the attributes, as tuples, of all objects that
the instance has made so far; an object is an index into it. Functions take this list and return it like fields that are written
on objects of the instance (`kept`, `functions/carried.py`):

    class Node: word, children          objects_of_Node = [(3, []), (5, []), (8, [0, 1])]
    node.children[0].word               objects_of_Node[objects_of_Node[node][1][0]][0]

Which classes these are was found by an earlier attempt that was refused for this reason (`MetTypes.note_changed_elsewhere`).
Claims (`ownership`) on the list mean what they mean for a variable: with `spine` nothing but the attributes refers to lists in
them, which is what allows `node.children.append(x)`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

from backends.acrobat.core.types import IDENTITY, INT, DataT, ListT, TupleT
from backends.acrobat.frontend.evaluator.choices.choice import among, fail
from backends.acrobat.frontend.evaluator.choices.nones import present
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.claims import Claims, claims, deep, spine, walked
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lists import with_item
from backends.acrobat.frontend.evaluator.objects.classes import by_class, number_of_class
from backends.acrobat.frontend.evaluator.objects.constant_fields import as_constant, constant_field
from backends.acrobat.frontend.evaluator.objects.field_values import field_value, note_late
from backends.acrobat.frontend.evaluator.objects.fields import field_at_first, unless_missing
from backends.acrobat.frontend.evaluator.ownership.ownership import changeable, objects_only
from backends.acrobat.frontend.evaluator.syntax.hidden_names import carried_name
from backends.acrobat.frontend.evaluator.tables import FIELDS_READ, FIELDS_WRITTEN
from backends.acrobat.frontend.instances.shared import ITEMS
from backends.acrobat.frontend.kinds import is_unknown, type_or_none
from backends.acrobat.frontend.types import NONE, contains_unknown, is_shared
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value, guess
from backends.acrobat.ir import nodes as n


def is_referenced(f: Frame, value: Value) -> bool:
    """Whether a value is a numbered object, or may be None beside such."""
    t = f.without_none(type_or_none(value))
    return isinstance(t, DataT) and f.program.datatypes.is_referenced(t.name)


def note_seen_elsewhere(f: Frame, value: Value) -> None:
    """Note that an object is changed while other names may refer to it."""
    t = f.without_none(type_or_none(value))
    if isinstance(t, DataT):
        f.program.datatypes.met.note_changed_elsewhere(t.name)


Seen: TypeAlias = Literal["nothing", "objects", "lists"]
"""What of the values of an object's attributes something else may refer to: only to objects in them, or to lists as well."""


def seen_inside_of(shared: Sequence[str], own_lists: bool) -> Seen:
    """What something else may refer to where the attributes `shared` have something to which it may, and whether that is no
    list."""
    return "nothing" if not shared else "objects" if own_lists else "lists"


def enter_object(f: Frame, cls: type, t: DataT, values: Sequence[Value], seen: Seen) -> Value:
    """A new object, of type `t`, with these values of all of its attributes, of which something else may refer to what `seen`
    says."""
    objects = _objects(f, cls, True)
    if objects is None or any(map(is_unknown, values)):
        f.program.incomplete = True
        return guess(t)
    number = f.host("list.len", [objects], INT, "number")
    entry = TupleV(tuple(values))
    after = f.host("list.append", [objects, Dyn(f.atom(entry))], objects.type, "objects")
    _replace_objects(f, cls, after, seen)
    return f.bind(n.Construct(cls.__name__, (f.atom(number),), t, span=f.span), cls.__name__.lower())


def read_attribute(f: Frame, node: ast.AST, owner: Dyn, name: str) -> Value | None:
    """The present value of `owner.name`; None for objects of other classes, and for what is no attribute of its own. Raises
    Refused."""
    classes, have = _with_attribute(f, owner, name)
    if not have:
        return None
    datatypes = f.program.datatypes
    if strange := [c for c in classes if c not in have and hasattr(c, name)]:
        what = f"`{name}` is an attribute of a `{have[0].__name__}`, and something of the class of a `{strange[0].__name__}`"
        raise Refused(what, "ask for the class before")

    def of(cls: type) -> Value:
        if cls not in have:
            return fail(f, f"AttributeError: a {cls.__name__} has no `{name}`")
        return attribute_of(f, owner, classes, cls, name)

    result = by_class(f, node, owner, classes, of)
    if changeable(f, type_or_none(result)):  # the reader may keep a reference; `Frame.borrowed` undoes this
        f.owned -= {claim for c in classes for claim in claims(name_of_objects(f, c))}
    if datatypes.may_be_missing(have, name) and isinstance(result, Dyn) and f.without_none(result.type) != result.type:
        return unless_missing(f, node, result, classes, name)
    return result


FIELDS_READ.append(lambda f, node, owner, name, default=None: read_attribute(f, node, owner, name))


def write_attribute(f: Frame, node: ast.AST, owner: Dyn, name: str, value: Value, still: bool = False) -> bool:
    """Compile `owner.name = value`. False for objects of other classes, and for attributes that they do not have. `still`:
    nothing else refers to the value, provided that nothing else referred to the one before."""
    classes, have = _with_attribute(f, owner, name)
    if not have:
        return False
    for cls in have:
        f.note_field((name_of_objects(f, cls), name), True)
    seen: Seen = "lists" if not still and changeable(f, type_or_none(value)) else "nothing"
    before = {c: _objects(f, c, True) for c in have}
    values = {}
    for cls in have:
        note_late(f, cls, name, value)
        values[cls] = field_value(f, node, cls, name, f.as_object(value))
    if any(v is None or is_unknown(v) for v in (*before.values(), *values.values())):
        f.program.incomplete = True
        return True
    number = field_at_first(f, owner, classes, IDENTITY)
    which = number_of_class(f, owner, classes) if len(classes) > 1 else Static(0)

    def after(of: type, cls: type) -> Value:
        if cls not in have:
            return fail(f, f"AttributeError: a `{cls.__name__}` gets `{name}` in `__init__` in the language, and nowhere else")
        whole = before[of]
        assert whole is not None
        return _replaced(f, whole, number, of, name, values[of]) if of is cls else whole

    for cls in have:
        _replace_objects(f, cls, among(f, node, which, [partial(after, cls, c) for c in classes]), seen)
    return True


def _write(f: Frame, node: ast.AST, owner: Value, name: str, value: Value) -> bool:
    """`owner.name = value`, where the owner may also be None: as in Python that is an error of the instance."""
    if not is_referenced(f, owner):
        return False
    whole = present(f, node, owner)
    return isinstance(whole, Dyn) and write_attribute(f, node, whole, name, value)


FIELDS_WRITTEN.append(_write)


def may_change_inside(f: Frame, owner: Dyn, name: str, value: Value, inside: bool) -> str:
    """Why a list that is an attribute of an object may not be changed in place; "" if it may be, because nothing but the
    attribute refers to it and no loop walks over it. `inside`: something in the list is changed. Objects that are put into the
    list or taken out may be seen elsewhere, since their numbers stay the same."""
    classes, _ = _with_attribute(f, owner, name)
    item = getattr(type_or_none(value), "item", None)
    if changeable(f, item) and (inside or not objects_only(f, item)):
        return "has lists or objects in it that may be seen elsewhere"
    if any(spine(name_of_objects(f, c)) not in f.owned for c in classes):
        return "may be seen under another name"
    if any(walked(name_of_objects(f, c)) in f.owned for c in classes):
        return "is walked over, or another one of its class is"
    return ""


def walked_over(f: Frame, owner: Dyn) -> str:
    """Why a shared list (`shared_lists`) may not be changed here; "" if it may be, because no loop around walks over one of its
    class."""
    classes, _ = _with_attribute(f, owner, ITEMS)
    return (
        "is walked over, or another one of its type is"
        if any(walked(name_of_objects(f, c)) in f.owned for c in classes)
        else ""
    )


def shared_reached(f: Frame, node: ast.expr) -> set[str]:
    """The lists of objects that hold the shared lists (`shared_lists`) which a loop over `node` walks over."""
    if not f.program.datatypes.has_shared:
        return set()
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return {x for a in node.args for x in shared_reached(f, a)}
    with f.trial():
        shared = shared_inside(f, type_or_none(f.borrowed(node)))
    return {name_of_objects(f, c) for t in shared for c in f.program.datatypes.cases[t.name]}


def shared_inside(f: Frame, t: Any) -> list[DataT]:
    """The types of shared lists (`shared_lists`) that a value of a type may be, which may also be None, or of several types."""
    inner = f.without_none(t)
    return [x for x in (inner, *f.mixed(inner).values()) if is_shared(x)]


def lists_reached(f: Frame, node: ast.expr) -> set[str]:
    """The lists of objects that are read to compute an expression with items and attributes."""
    names: set[str] = set()
    while f.program.datatypes.has_references and isinstance(node, (ast.Attribute, ast.Subscript)):
        if part := named_part(node):
            names |= {name_of_objects(f, c) for c in _numbered_classes(f, part[0])}
        node = node.value
    return names


def named_part(node: ast.AST) -> tuple[ast.expr, str] | None:
    """The owner and the name of an attribute, `node.x`, or of an item with a written key, `node["x"]`; None for others."""
    match node:
        case ast.Attribute(owner, name) | ast.Subscript(owner, ast.Constant(str(name))):
            return owner, name
    return None


def claims_on_objects(f: Frame, node: ast.expr) -> Claims:
    """The claims on lists of objects that still hold after a named part of one gets a value that nothing else refers to."""
    return {claim for name in lists_reached(f, node) for claim in claims(name)}


def name_of_objects(f: Frame, cls: type) -> str:
    """The name, in functions' scopes, of the list of all objects of a class: no other class, and no attribute, has it."""
    union = f.program.datatypes.of_class[cls]
    name = union if len(f.program.datatypes.cases[union]) == 1 else f"{cls.__name__}_of_{union}"
    return carried_name("objects", cls.__name__, union, f"objects_of_{name}")


def _with_attribute(f: Frame, owner: Dyn, name: str) -> tuple[Sequence[type], list[type]]:
    """The classes of a numbered object, and those of them that have an attribute; none for other objects."""
    assert isinstance(owner.type, DataT)
    datatypes = f.program.datatypes
    if name == IDENTITY or not datatypes.is_referenced(owner.type.name):
        return (), []
    classes = datatypes.cases[owner.type.name]
    return classes, [c for c in classes if name in datatypes.attribute_names(c)]


def _objects(f: Frame, cls: type, writes: bool) -> Dyn | None:
    """The list of all objects of a class that were made so far; None as long as its type, or it itself, is not known here."""
    datatypes, carried = f.program.datatypes, f.program.carried
    attributes = [datatypes.field_type(cls, x) for x in datatypes.attribute_names(cls)]
    type: Any = ListT(TupleT(tuple(attributes)))
    carried.holds_objects(name_of_objects(f, cls), type, writes)
    whole = f.env.get(name_of_objects(f, cls))
    if whole is None or contains_unknown(type) or is_unknown(whole):
        f.program.incomplete = True
        return None
    result = f.coerce(whole, type)
    assert isinstance(result, Dyn)
    return result


def attribute_of(f: Frame, owner: Dyn, classes: Sequence[type], cls: type, name: str) -> Value:
    """The present value of an attribute of an object that is known to be of class `cls`."""
    datatypes = f.program.datatypes
    objects = _objects(f, cls, False)
    f.note_field((name_of_objects(f, cls), name), False)
    if (constant := constant_field(f, cls, name)) is not None:
        return constant
    t = datatypes.field_type(cls, name)
    if t is NONE:
        return Static(None)  # no object has anything else in this attribute
    if objects is None or contains_unknown(t):
        return guess(t)
    number = field_at_first(f, owner, classes, IDENTITY)
    entry = f.host("list.get", [objects, number], objects.type.item, "attributes")  # type: ignore[union-attr]
    at = datatypes.attribute_names(cls).index(name)
    return as_constant(f, [cls], name, f.bind(n.Field(f.atom(entry), at, t, span=f.span), name))


def _replaced(f: Frame, objects: Dyn, number: Value, cls: type, name: str, value: Value) -> Value:
    """The list of objects in which the object at an index has a new value in an attribute."""
    t = objects.type
    assert isinstance(t, ListT)
    entry = f.host("list.get", [objects, number], t.item, "attributes")
    parts = list(f.components(entry) or [])
    parts[f.program.datatypes.attribute_names(cls).index(name)] = value
    return with_item(f, objects, number, TupleV(tuple(parts)))


def _replace_objects(f: Frame, cls: type, objects: Value, seen: Seen) -> None:
    """Replace the list of all objects of a class from here on. Claims on it still hold, but for those that end because
    something else may refer to what `seen` says of a new value in it."""
    name = name_of_objects(f, cls)
    ended: Claims = set() if seen == "nothing" else {deep(name)} if seen == "objects" else claims(name)
    kept = claims(name) & f.owned - ended
    f.keep(name, objects)
    f.owned -= claims(name) - kept
    f.ended_claims |= ended


def _numbered_classes(f: Frame, node: ast.expr) -> Sequence[type]:
    """The classes of the object that an expression gives, if they are classes of numbered objects."""
    with f.trial():
        t = f.without_none(type_or_none(f.borrowed(node)))
    is_number = isinstance(t, DataT) and f.program.datatypes.is_referenced(t.name)
    return f.program.datatypes.cases[t.name] if is_number else ()
