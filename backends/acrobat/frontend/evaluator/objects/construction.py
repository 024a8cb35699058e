"""Objects that the model makes: of dataclasses and records, copies with other fields, and what is common to all classes."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Collection, Mapping, Sequence
from itertools import takewhile
from typing import Any

from backends.acrobat.core.made_objects import computes_fields
from backends.acrobat.core.types import IDENTITY, DataT
from backends.acrobat.frontend.evaluator.choices.choice import fail
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.spreading import is_spread
from backends.acrobat.frontend.evaluator.lists.named_iterators import kept
from backends.acrobat.frontend.evaluator.objects.classes import by_class
from backends.acrobat.frontend.evaluator.objects.field_values import field_value, note_late
from backends.acrobat.frontend.evaluator.objects.fields import field, field_at_first
from backends.acrobat.frontend.evaluator.objects.referenced import Seen, enter_object, seen_inside_of, write_attribute
from backends.acrobat.frontend.evaluator.ownership.fresh import fresh_inside, lists_alone
from backends.acrobat.frontend.evaluator.ownership.ownership import changeable, is_handed_over, is_unchanged, note_assigned_to
from backends.acrobat.frontend.evaluator.syntax.reading import statement_around
from backends.acrobat.frontend.evaluator.tables import ATTRIBUTES_PUT, CALLS, FUNCTIONS, handles
from backends.acrobat.frontend.instances.annotations import default_of_field
from backends.acrobat.frontend.instances.divided import original
from backends.acrobat.frontend.instances.record_classes import RecordOf
from backends.acrobat.frontend.kinds import is_iterator, is_list, is_unknown, nothing_known, type_or_none
from backends.acrobat.frontend.source import span_of
from backends.acrobat.frontend.specials import OneOf
from backends.acrobat.frontend.syntax_nodes import every_node
from backends.acrobat.frontend.types import contains_unknown
from backends.acrobat.frontend.values import Dyn, Static, Value, guess, unknown
from backends.acrobat.ir import nodes as n


def construct(f: Frame, node: ast.AST, cls: type, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Compile the construction of a dataclass, or of a dictionary's record. Shapes of tensor fields come from the values."""
    datatypes = f.program.datatypes
    if not issubclass(cls, RecordOf):
        cls = datatypes.version_of(cls, (span_of(node, f.file), None))
    if keys := datatypes.records.telling_keys(cls):
        if any(nothing_known(kwargs[x]) for x in keys):
            f.program.incomplete = True
            return unknown()
        cls = datatypes.records.with_lists(cls, frozenset(x for x in keys if is_list(kwargs[x])))
    t = DataT(datatypes.union_of(cls))
    if issubclass(cls, RecordOf):
        names = datatypes.record_fields(cls)
        defaults: dict[str, Value] = {}
    else:
        names = [x.name for x in dataclasses.fields(cls) if x.init]  # type: ignore[arg-type]
        defaults = defaults_of_fields(f, node, cls, {*names[: len(args)], *kwargs})
    values = CallArguments(cls.__name__, args, kwargs).bind(*names, **defaults)
    fields = dict(zip(names, map(f.as_object, values), strict=True))
    constant = [x for x, v in zip(names, values, strict=True) if fields[x] is not v]
    iterators = _iterators_kept(f, node, names, fields)
    fields |= iterators
    refuse_changed(f, cls, constant)
    shared = [x for x in fields if x not in iterators and changeable(f, type_or_none(fields[x]))]
    written: dict[str, ast.expr] = {}
    if isinstance(node, ast.Call) and _is_call_of(f, node, cls) and not any(map(is_spread, args)):
        placed = list(takewhile(lambda a: not isinstance(a, ast.Starred), node.args))
        written = dict(zip(names, placed, strict=False)) | {k.arg: k.value for k in node.keywords if k.arg}
        spread = any(k.arg is None for k in node.keywords)  # something else refers to what these fields have
        elsewhere = {*constant, *names[len(placed) : len(args)], *(x for x in fields if spread and x not in written)}
        s = None if f.definition is None else statement_around(f.definition.body, node)
        new = {x for x in fields if x not in written or x in iterators or _is_of_object_alone(f, s, written[x])}
        alone = new.difference(elsewhere)
        shared = [x for x in shared if x not in alone]
        f.made_apart = f.made_apart | {node} if all(is_unchanged(f, t, x) for x in shared) else f.made_apart - {node}
    elif isinstance(node, ast.Dict) and None not in node.keys:
        written = dict(zip((str(k.value) for k in node.keys if isinstance(k, ast.Constant)), node.values, strict=True))
        shared = [x for x in shared if x in constant or not fresh_inside(f, written[x])]
    own_lists = all(x not in constant and x in written and lists_alone(f, written[x], fields[x]) for x in shared)
    return new_object(f, node, cls, t, fields, seen_inside_of(shared, own_lists))


def _is_of_object_alone(f: Frame, s: ast.stmt | None, written: ast.expr) -> bool:
    """Whether nothing but the new object refers to any changeable part of the value of a field that is `written` in the
    statement `s`: it is new, or is or displays names that alone refer to their values, which nothing reads afterwards."""
    match written:
        case ast.Name() if s is not None and is_handed_over(f, s, written, f.owned_before):
            return True
        case ast.List(elements) | ast.Tuple(elements) | ast.Set(elements) | ast.Dict(values=elements) if s is not None:
            if all(_is_of_object_alone(f, s, e) for e in elements):
                return True
    return fresh_inside(f, written)


def _iterators_kept(f: Frame, node: ast.AST, names: Sequence[str], values: Mapping[str, Value]) -> dict[str, Value]:
    """The iterators that are made in the call or display `node` for fields of the new object, as the fields have them."""
    match node:
        case ast.Call(_, args, keywords) if not any(isinstance(a, ast.Starred) for a in args):
            written = dict(zip(names, args, strict=False)) | {k.arg: k.value for k in keywords if k.arg}
        case ast.Dict(keys, entries):
            written = {str(k.value): v for k, v in zip(keys, entries, strict=True) if isinstance(k, ast.Constant)}
        case _:
            return {}
    made = {x: e for x, e in written.items() if _makes_iterator(f, e) and x in values}
    return {x: kept(f, node, e, values[x]) for x, e in made.items() if is_iterator(values[x])}


def _makes_iterator(f: Frame, e: ast.expr) -> bool:
    """Whether an expression makes an iterator of which no element is computed from anything but what it goes through."""
    match e:
        case ast.Call(ast.Name("iter" | "enumerate" | "zip" | "reversed" as name)) if f.is_builtin(name):
            return not any(isinstance(x, (ast.Lambda, ast.GeneratorExp)) for x in every_node(e))
    return False


def _is_call_of(f: Frame, node: ast.Call, cls: type) -> bool:
    """Whether the values of the fields are the arguments of the call `node` that makes the object. In `map(cls, xs)` and with a
    `partial` they are not."""
    callee = f.callees.get(node)
    called = callee.alternatives if isinstance(callee, OneOf) else (callee,)
    return issubclass(cls, RecordOf) or all(isinstance(c, Static) and dataclasses.is_dataclass(c.value) for c in called)


def defaults_of_fields(f: Frame, node: ast.AST, cls: type, present: Collection[str]) -> dict[str, Value]:
    """The default values of a dataclass's fields, but for those in `present` that a `default_factory` would have to make."""
    defaults: dict[str, Value] = {}
    for x in dataclasses.fields(cls):
        if x.default is not dataclasses.MISSING:
            defaults[x.name] = Static(x.default)
        elif x.default_factory is not dataclasses.MISSING and x.name not in present:
            defaults[x.name] = _default(f, node, cls, x)
    return defaults


def refuse_changed(f: Frame, cls: type, constant: Sequence[str]) -> None:
    """Raises Refused if the program changes something inside a field whose value is an object of the source: in Python the
    change would still be there in the next call."""
    if changed := [x for x in constant if (cls, x) in f.program.changed_fields]:
        what = f"`{changed[0]}` of a `{cls.__name__}` has an object here that was made outside of the model, and is changed"
        raise Refused(what, "make a new object here")


def _default(f: Frame, node: ast.AST, cls: type, x: dataclasses.Field[Any]) -> Value:
    """The value that the `default_factory` of a field makes for the call `node`. Its place is that of the field in the class,
    so that the lists of two fields are distinguished, and those of one field are not."""
    made = _made_by(f, x.default_factory)
    written = default_of_field(cls, x.name)
    if written is None:
        return f.expression(ast.copy_location(made, node))
    before = f.file
    f.file, place = written
    f.makes_default[made] = x.name
    try:
        return f.expression(ast.copy_location(made, place))
    finally:
        f.file = before


def _made_by(f: Frame, factory: Any) -> ast.expr:
    """An expression that calls the `default_factory` of a field."""
    known: dict[Any, ast.expr] = {list: ast.List([], ast.Load()), dict: ast.Dict([], [])}
    return known[factory] if factory in known else ast.Call(CompiledNode(f.program.wrap(factory)), [], [])


@handles(ATTRIBUTES_PUT, "object")
def put_attribute(f: Frame, s: ast.AST, where: object, whole: Dyn, name: str, value: Value) -> None:
    """Compile `x.name = value`: the place `where`, which alone refers to the object, gets an object with the new value."""
    assert isinstance(whole.type, DataT)
    if write_attribute(f, s, whole, name, value):
        return
    datatypes = f.program.datatypes
    classes = datatypes.cases.get(whole.type.name, ())
    note_assigned_to(f, classes)
    have = [c for c in classes if datatypes.has_field(c, name)]
    if not have:
        _put_first(f, s, classes, name)
        return
    for cls in have:
        if getattr(getattr(cls, "__dataclass_params__", None), "frozen", False):
            f.problem(s, f"a `{cls.__name__}` is frozen: its attributes are not assigned to", "use dataclasses.replace")
            return
    staged = f.as_object(value)
    if staged is not value:
        for cls in have:
            refuse_changed(f, cls, [name])

    def changed(cls: type) -> Value:
        if cls not in have:
            what = f"a `{cls.__name__}` gets its attribute `{name}` in `__init__` in the language, and nowhere else"
            return fail(f, f"AttributeError: {what}")
        return _with_attribute(f, s, whole, cls, name, staged)

    where.put(by_class(f, s, whole, classes, changed))  # type: ignore[attr-defined]


def _put_first(f: Frame, s: ast.AST, classes: Sequence[type], name: str) -> None:
    """Note that an attribute is assigned to that the objects do not have when they are made."""
    datatypes = f.program.datatypes
    for cls in classes:
        if datatypes.graphs.is_stand_in(cls):
            what = (
                f"`{name}` of a `{cls.__name__}` that was made outside of `forward` is changed, and the next call would see it"
            )
            f.problem(s, what, "keep what is computed in a dictionary, or in an object that `forward` makes")
            return
        if isinstance(inspect.getattr_static(cls, name, None), property):
            what = f"the property `{name}` is not assigned to here: the classes of the object have several, or it has no setter"
            f.problem(s, what, "write a method that changes the object")
            return
    if len(classes) == 1 and classes[0] in datatypes.made:
        datatypes.add_late(classes[0], name)
        return
    shown = " or ".join(c.__name__ for c in classes)
    f.problem(s, f"a `{shown}` gets its attribute `{name}` here first", "give it one in `__init__`")


def _with_attribute(f: Frame, s: ast.AST, whole: Dyn, cls: type, name: str, value: Value) -> Value:
    """The object `whole`, of the class `cls`, with another value in one attribute."""
    assert isinstance(whole.type, DataT)
    note_late(f, cls, name, value)
    fields = {x: value if x == name else field_at_first(f, whole, [cls], x) for x in f.program.datatypes.field_names(cls)}
    return new_object(f, s, cls, whole.type, fields)


def new_object(f: Frame, node: ast.AST, cls: type, t: DataT, fields: dict[str, Value], seen: Seen = "lists") -> Value:
    """An object of `cls`, a case of `t`, with these values in its fields. The fields' types are widened to cover the values.
    Something else may refer to what `seen` says of them."""
    datatypes = f.program.datatypes
    if datatypes.is_constant(t.name):
        what = f"a `{cls.__name__}` is made here from one that was made outside of `forward`, which the program has as a number"
        raise Refused(what, "make it with its class, `C(...)`")
    has_identity = cls in datatypes.seen or cls in datatypes.numbered
    if has_identity and datatypes.has_field(cls, IDENTITY) and IDENTITY not in fields:
        what = f"objects of the instance's class `{cls.__name__}` are told apart by identity, and this makes a new one"
        return f.problem(node, what, "make objects of another class")
    for x in fields:
        datatypes.has_field(cls, x)  # of a class of the sample: a field that is given a value is one that is read
    names = datatypes.attribute_names(cls)
    values = [field_value(f, node, cls, x, fields[x]) for x in sorted(fields, key=names.index)]
    if datatypes.is_referenced(t.name):
        return enter_object(f, cls, t, values, seen)
    atoms = [unknown().atom if is_unknown(v) else f.atom(v) for v in values]
    if any(contains_unknown(a.type) for a in atoms):
        f.program.incomplete = True
        return guess(t)
    return f.bind(n.Construct(cls.__name__, tuple(atoms), t, span=f.span), cls.__name__.lower())


@handles(FUNCTIONS, dataclasses.replace)
def _replace(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """`dataclasses.replace`: an object with other values in some of its fields."""
    (x,) = CallArguments("replace", args, {}).bind("obj")
    if nothing_known(x):
        return unknown()
    classes = f.program.datatypes.cases.get(x.type.name, ()) if isinstance(x, Dyn) and isinstance(x.type, DataT) else ()
    if len(classes) != 1 or not (dataclasses.is_dataclass(classes[0]) or hasattr(classes[0], "_fields")):
        return f.problem(node, "`replace` takes a dataclass, of one class, here")
    names = list(getattr(classes[0], "_fields", ())) or [y.name for y in dataclasses.fields(classes[0])]
    if strange := [k for k in kwargs if k not in names]:
        return f.problem(node, f"{classes[0].__name__} has no field `{strange[0]}`")
    if computes_fields(classes[0]):  # as Python does
        given = [y.name for y in dataclasses.fields(classes[0]) if y.init]
        fields = {y: kwargs[y] if y in kwargs else field(f, node, x, y) for y in given}
        return CALLS[Static](f, node, Static(original(classes[0])), [], fields, "")
    fields = {y: kwargs[y] if y in kwargs else field(f, node, x, y) for y in names}
    datatypes, cls, t = f.program.datatypes, classes[0], x.type
    if datatypes.is_of_instance(cls) and dataclasses.is_dataclass(cls):
        cls = datatypes.version_of(cls, (span_of(node, f.file), None))
        t = t if cls is classes[0] else DataT(datatypes.union_of(cls))
    return new_object(f, node, cls, t, fields)
