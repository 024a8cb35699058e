"""Objects of the instance, and dataclasses and records that the model makes: fields, methods and properties."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import types
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from backends.acrobat.core.types import BOOL, IDENTITY, INT, DataT
from backends.acrobat.frontend.evaluator import constants
from backends.acrobat.frontend.evaluator.arguments import CallArguments, defaults_of
from backends.acrobat.frontend.evaluator.attributes import attribute
from backends.acrobat.frontend.evaluator.choice import among, choose, fail, optional
from backends.acrobat.frontend.evaluator.desugar import plainly
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.mixed import by_type, with_attribute
from backends.acrobat.frontend.evaluator.nones import opened
from backends.acrobat.frontend.evaluator.syntax import HIDDEN
from backends.acrobat.frontend.evaluator.tables import (
    ATTRIBUTES,
    ATTRIBUTES_PUT,
    COMPONENTS,
    EXPRESSIONS,
    FIELDS_READ,
    FUNCTIONS,
    ITEMS_PUT,
    METHODS,
    handles,
)
from backends.acrobat.frontend.instances.observed import RecordOf
from backends.acrobat.frontend.source import source_of
from backends.acrobat.frontend.specials import Absent, Method, Narrowed, OneOf, Partial
from backends.acrobat.frontend.types import NONE, UNKNOWN, Mismatch, contains_unknown, describe
from backends.acrobat.frontend.values import (
    Dyn,
    Static,
    Value,
    guess,
    is_empty,
    is_unknown,
    known,
    nothing_known,
    type_of,
    unknown,
    variable_of,
)
from backends.acrobat.ir import nodes as n


def construct(f: Frame, node: ast.AST, cls: type, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Compile the construction of a dataclass, or of a dictionary's record. Shapes of tensor fields come from the values."""
    datatypes = f.program.datatypes
    t = DataT(datatypes.union_of(cls))
    if issubclass(cls, RecordOf):
        names = datatypes.record_fields(cls)
        defaults: dict[str, Value] = {}
    else:
        fields = [x for x in dataclasses.fields(cls) if x.init]  # type: ignore[arg-type]
        names = [x.name for x in fields]
        defaults = {x.name: Static(x.default) for x in fields if x.default is not dataclasses.MISSING}
        given = {*names[: len(args)], *kwargs}
        for x in fields:
            if x.default_factory is not dataclasses.MISSING and x.name not in given:
                defaults[x.name] = f.expression(ast.copy_location(_made_by(f, x.default_factory), node))
    values = CallArguments(cls.__name__, args, kwargs).bind(*names, **defaults)
    return made(f, node, cls, t, dict(zip(names, values, strict=True)))


def _made_by(f: Frame, factory: Any) -> ast.expr:
    """An expression that calls the `default_factory` of a field."""
    known: dict[Any, ast.expr] = {list: ast.List([], ast.Load()), dict: ast.Dict([], [])}
    return known[factory] if factory in known else ast.Call(Given(f.program.wrap(factory)), [], [])


class Given(ast.expr):
    """A syntax-tree node for an expression that has been compiled already, to `value`."""

    _fields = ()

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


@handles(EXPRESSIONS, Given)
def _given(f: Frame, node: Given, hint: str) -> Value:
    return node.value


def instantiate(f: Frame, node: ast.AST, cls: type, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Compile the construction of a named tuple, or of an ordinary class, whose `__init__` gives the attributes values."""
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        names = list(cls._fields)
        given: dict[str, Any] = inspect.getattr_static(cls, "_field_defaults")
        values = CallArguments(cls.__name__, args, kwargs).bind(*names, **{k: Static(v) for k, v in given.items()})
        t = DataT(f.program.datatypes.union_of_made(cls, names))
        return made(f, node, cls, t, dict(zip(names, values, strict=True)))
    init = cls.__init__  # type: ignore[misc]
    if not isinstance(init, types.FunctionType):
        return f.problem(node, f"objects of `{cls.__name__}` are not made in the language", "write a dataclass")
    definition, _ = source_of(init)
    parameters = [a.arg for a in (*definition.args.args, *definition.args.kwonlyargs)]
    if definition.args.vararg or definition.args.kwarg or definition.decorator_list:
        return f.problem(node, f"`{cls.__name__}.__init__` has parameters that are not in the language")
    me, *names = parameters
    values = CallArguments(cls.__name__, args, kwargs).bind(*names, **defaults_of(definition, init))
    held: dict[str, Value] = {}
    if not _initialise(f, node, cls, init, me, dict(zip(names, values, strict=True)), held):
        return unknown()
    datatypes = f.program.datatypes
    t = DataT(datatypes.union_of_made(cls, list(held)))
    if missing := [x for x in datatypes.field_names(cls) if x not in held]:
        return f.problem(node, f"a `{cls.__name__}` that is made here has no `{missing[0]}`")
    return made(f, node, cls, t, {x: held[x] for x in datatypes.field_names(cls)})


def _initialise(
    f: Frame, node: ast.AST, cls: type, init: types.FunctionType, me: str, values: dict[str, Value], held: dict[str, Value]
) -> bool:
    """Compile an `__init__` here, putting its attributes into `held`. False, with a problem noted, if that is not possible."""
    definition, file = source_of(init)
    written = _in_order(definition.body, me)
    rewritten = _Attributes(me, {*written, *held})
    env = {**values, **{f"{HIDDEN}{me}.{x}": v for x, v in held.items()}}
    with f.in_function(init, file, env):
        for s in plainly(definition).body:
            match s:
                case ast.Expr(ast.Constant()):
                    continue
                case ast.Expr(ast.Call(ast.Attribute(ast.Call(ast.Name("super")), "__init__"), args, keywords)):
                    if not _base(f, node, cls, init, args, keywords, held, me):
                        return False
                    f.env |= {f"{HIDDEN}{me}.{x}": v for x, v in held.items()}
                    rewritten = _Attributes(me, rewritten.names | set(held))
                    continue
            f.straight([rewritten.visit(deepcopy(s))])
        for name in dict.fromkeys([*held, *written]):
            key = f"{HIDDEN}{me}.{name}"
            if key not in f.env:
                f.problem(node, f"`{cls.__name__}.__init__` gives `{name}` no value on some paths", "give it one on every path")
                return False
            held[name] = f.env[key]
    return True


def _base(
    f: Frame,
    node: ast.AST,
    cls: type,
    init: types.FunctionType,
    args: Sequence[ast.expr],
    keywords: Sequence[ast.keyword],
    held: dict[str, Value],
    me: str,
) -> bool:
    """Compile `super().__init__(...)` inside of an `__init__`. False as in `_initialise`."""
    owner = next((c for c in cls.__mro__ if vars(c).get("__init__") is init), cls)
    later = cls.__mro__[cls.__mro__.index(owner) + 1 :]
    base = next((vars(c)["__init__"] for c in later if "__init__" in vars(c)), None)
    if base is object.__init__ or base is None:
        return True
    if not isinstance(base, types.FunctionType):
        f.problem(node, f"objects of `{cls.__name__}` are not made in the language", "write a dataclass")
        return False
    definition, _ = source_of(base)
    own, *names = [a.arg for a in (*definition.args.args, *definition.args.kwonlyargs)]
    given = [f.expression(a) for a in args]
    named = {k.arg: f.expression(k.value) for k in keywords if k.arg}
    values = CallArguments(owner.__name__, given, named).bind(*names, **defaults_of(definition, base))
    return _initialise(f, node, cls, base, own, dict(zip(names, values, strict=True)), held)


class _Attributes(ast.NodeTransformer):
    """Replaces the attributes `names` of the object that an `__init__` makes by variables with hidden names."""

    def __init__(self, me: str, names: set[str]) -> None:
        self.me, self.names = me, names

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == self.me and node.attr in self.names:
            return ast.copy_location(ast.Name(f"{HIDDEN}{self.me}.{node.attr}", node.ctx), node)
        return node


def _in_order(body: Sequence[ast.stmt], me: str) -> list[str]:
    """The attributes that an `__init__` assigns to, in the order in which they are written."""
    found = [
        (x.lineno, x.col_offset, x.attr)
        for s in body
        for x in ast.walk(s)
        if isinstance(x, ast.Attribute) and isinstance(x.ctx, ast.Store) and isinstance(x.value, ast.Name) and x.value.id == me
    ]
    return list(dict.fromkeys(name for _, _, name in sorted(found)))


@handles(ITEMS_PUT, "object")
def _put_entry(f: Frame, s: ast.AST, where: Any, whole: Dyn, entries: Sequence[ast.expr], value: Value) -> None:
    """`d["name"] = value` of a dictionary whose keys are names written in the source."""
    assert isinstance(whole.type, DataT)
    classes = f.program.datatypes.cases.get(whole.type.name, ())
    if len(classes) != 1 or not issubclass(classes[0], RecordOf) or len(entries) != 1 or isinstance(entries[0], ast.Slice):
        f.problem(s, f"an item of {describe(whole.type)} cannot be assigned to")
        return
    key = f.expression(entries[0])
    names = f.program.datatypes.record_fields(classes[0])
    is_known, name = known(key)
    if is_known and name not in names:
        f.problem(
            s,
            f"this dict has no key {name!r}, and gets no new ones in the language",
            "begin with an empty dict, or with that key",
        )
        return
    if nothing_known(key):
        return
    held = {x: field(f, s, whole, x) for x in names}
    if is_known:
        held[name] = value
    else:
        for x in names:
            if not nothing_known(held[x]):
                same = f.host("eq", [key, Static(x)], BOOL, "same")
                held[x] = choose(f, s, same, lambda: value, lambda x=x: held[x])  # type: ignore[misc]
    changed = made(f, s, classes[0], whole.type, held)
    where.put(changed)


@handles(ATTRIBUTES_PUT, "object")
def put_attribute(f: Frame, s: ast.AST, where: object, whole: Dyn, name: str, value: Value) -> None:
    """Compile `x.name = value`: the place `where`, which alone refers to the object, gets one with the new value."""
    assert isinstance(whole.type, DataT)
    datatypes = f.program.datatypes
    classes = datatypes.cases.get(whole.type.name, ())
    if len(classes) != 1:
        f.problem(s, f"an attribute of one of several classes, {whole.type.name}, is not assigned to", "make a new object")
        return
    (cls,) = classes
    if getattr(getattr(cls, "__dataclass_params__", None), "frozen", False):
        f.problem(s, f"a `{cls.__name__}` is frozen: its attributes are not assigned to", "use dataclasses.replace")
        return
    if not datatypes.has_field(cls, name):
        if isinstance(inspect.getattr_static(cls, name, None), property):
            f.problem(s, f"the property `{name}` is not assigned to in the language")
            return
        f.problem(s, f"a `{cls.__name__}` gets its attribute `{name}` here first", "give it one in `__init__`")
        return
    held = {x: value if x == name else field(f, s, whole, x) for x in datatypes.field_names(cls)}
    changed = made(f, s, cls, whole.type, held)
    where.put(changed)  # type: ignore[attr-defined]


def made(f: Frame, node: ast.AST, cls: type, t: DataT, held: dict[str, Value]) -> Value:
    """An object of `cls`, a case of `t`, with these values in its fields. The fields' types are widened to cover the values."""
    datatypes = f.program.datatypes
    if cls in datatypes.seen and datatypes.has_field(cls, IDENTITY) and IDENTITY not in held:
        what = f"objects of the instance's class `{cls.__name__}` are told apart by identity, and this makes a new one"
        return f.problem(node, what, "make objects of another class")
    atoms = []
    for x, v in held.items():
        if nothing_known(v):
            atoms.append(unknown().atom)
            continue
        wanted = datatypes.field_type(cls, x)
        try:
            have = type_of(v)
            open = cls in datatypes.made or contains_unknown(wanted)
            if (cls, x) in datatypes.refined:  # by the model's values: beside None it may have others
                open |= NONE in (wanted, have) or optional(f, guess(wanted)) is not None
            if cls not in datatypes.seen and open and wanted != have:
                both = [wanted, have] if wanted != UNKNOWN else [have]
                wanted = datatypes.widen(cls, x, NONE if both == [NONE] else f.common(both, numbers=True))
            atoms.append(unknown().atom if contains_unknown(wanted) else f.atom(f.coerce(v, wanted)))
        except Mismatch as error:
            f.problem(node, f"the field `{x}` of {cls.__name__}: {error}", "a field has one type, and one shape, everywhere")
            atoms.append(unknown().atom)
    if any(contains_unknown(a.type) for a in atoms):
        f.program.incomplete = True
        return guess(t)
    return f.bind(n.Construct(cls.__name__, tuple(atoms), t, span=f.span), cls.__name__.lower())


@handles(ATTRIBUTES, "object")
def field(f: Frame, node: ast.AST, value: Dyn, name: str) -> Value:
    assert isinstance(value.type, DataT)
    if optional(f, value) is not None:
        return attribute(f, node, opened(f, node, value), name)
    if f.mixed(value.type):
        return attribute(f, node, with_attribute(f, node, value, name), name)
    if name == "__class__":
        return class_of(f, node, value)
    if (kept := _kept(f, node, value, name)) is not None:
        return kept
    datatypes = f.program.datatypes
    classes = datatypes.cases[value.type.name]
    have = [c for c in classes if datatypes.has_field(c, name)]
    if not have and records_of(f, value) and name in METHODS_OF_RECORDS:
        return Method(value, name)
    if not have and (found := class_attribute(f, node, value, classes, name)) is not None:
        return found
    if not have and any(hasattr(c, name) for c in classes) or len(have) < len(classes) and _is_method(classes, name):
        return of_each_class(f, node, value, name)
    if not have:
        return f.problem(node, f"{value.type.name} has no field `{name}`")
    return field_at_first(f, value, have, name)


def _kept(f: Frame, node: ast.AST, value: Dyn, name: str) -> Value | None:
    """The value of a field that the model writes on objects of the instance; None for other fields."""
    for rule in FIELDS_READ:
        if (found := rule(f, node, value, name)) is not None:
            return found
    return None


def field_at_first(f: Frame, value: Dyn, have: Sequence[type], name: str) -> Value:
    """A field that objects of the classes `have` of a union have. As in Python, one of another class is an error of the
    instance."""
    assert isinstance(value.type, DataT)
    datatypes = f.program.datatypes
    classes = datatypes.cases[value.type.name]
    types = [datatypes.field_type(c, name) for c in have]
    if all(t is NONE for t in types) and len(have) == len(classes):
        return Static(None)  # no object has anything else in this field
    t = f.common(types)
    for c in have:  # such as the list of children of leaves, which was always empty
        if c in datatypes.seen and contains_unknown(datatypes.field_type(c, name)) and not contains_unknown(t):
            datatypes.widen(c, name, t)
    arms = []
    for c in classes:
        fields = datatypes.field_names(c)
        if c not in have:
            variables = tuple(f.var(x, datatypes.field_type(c, x)) for x in fields)
            with f.branch() as b:
                of_dict = f"KeyError: {name!r}"
                never = fail(f, of_dict if issubclass(c, RecordOf) else f"AttributeError: a {c.__name__} has no `{name}`")
                body = b.finish(f.atom(never if contains_unknown(t) else f.coerce(never, t)))
            arms.append(n.Arm(c.__name__, variables, body))
            continue
        variables = tuple(f.var(x, datatypes.field_type(c, x)) for x in fields)
        at = fields.index(name)
        if variables[at].type != t and not contains_unknown(t):
            raise Mismatch(f"`{name}` is {describe(variables[at].type)} in {c.__name__}, {describe(t)} elsewhere")
        arms.append(n.Arm(c.__name__, variables, variables[at]))
    if any(contains_unknown(v.type) for arm in arms for v in arm.vars):
        f.program.incomplete = True
        return guess(t)
    found = f.bind(n.Match(value.atom, tuple(arms), t, span=f.span), name)
    sizes = {datatypes.vector(c, name) for c in have}
    if len(sizes) == 1:
        f.vectors[variable_of(found)] = sizes.pop()
    return found


def _is_method(classes: Sequence[type], name: str) -> bool:
    """Whether one of the classes has a method or a property of that name."""
    return any(callable(getattr(c, name, None)) or isinstance(getattr(c, name, None), property) for c in classes)


def class_of(f: Frame, node: ast.AST, value: Dyn) -> Value:
    """`type(value)` of an object: a class, or one of those of its union, chosen at run time."""
    value = opened(f, node, value)  # type: ignore[assignment]
    assert isinstance(value.type, DataT)
    if types := f.mixed(value.type):
        its = [Static(f.program.datatypes.class_in_mixed(value.type.name, word)) for word in types]
        which = by_type(f, node, value, lambda word, _: Dyn(n.Lit(list(types).index(word), INT)))
        return OneOf(which, tuple(its))  # type: ignore[arg-type]
    classes = f.program.datatypes.cases[value.type.name]
    seen = [Static(dict if issubclass(c, RecordOf) else c) for c in classes]
    return seen[0] if len(seen) == 1 else OneOf(number_of_class(f, value, classes), tuple(seen), value, tuple(classes))


def number_of_class(f: Frame, value: Dyn, classes: Sequence[type], numbers: Sequence[n.Lit] | None = None) -> Dyn:
    """Which of the classes of its union an object is of, counted from 0; or the one of `numbers` that stands for its class."""
    datatypes = f.program.datatypes
    heads = [tuple(f.var(x, datatypes.field_type(c, x)) for x in datatypes.field_names(c)) for c in classes]
    numbers = numbers or [n.Lit(i, INT) for i in range(len(classes))]
    if any(contains_unknown(v.type) for variables in heads for v in variables):
        f.program.incomplete = True
        return guess(numbers[0].type)
    arms = [n.Arm(c.__name__, variables, each) for c, variables, each in zip(classes, heads, numbers, strict=True)]
    return f.bind(n.Match(value.atom, tuple(arms), numbers[0].type, span=f.span), "class")


def of_each_class(f: Frame, node: ast.AST, value: Dyn, name: str) -> Value:
    """A method, property or constant that the classes of a union have each in their own way, or some of them only."""
    assert isinstance(value.type, DataT)
    datatypes = f.program.datatypes
    classes = datatypes.cases[value.type.name]

    if (kept := _kept(f, node, value, name)) is not None:
        return kept

    def arm(cls: type) -> Value:
        if datatypes.has_field(cls, name):
            return field_at_first(f, value, [cls], name)
        found = class_attribute(f, node, value, (cls,), name)
        return Absent(f"AttributeError: a {cls.__name__} has no `{name}`") if found is None else found

    def got(cls: type) -> Value:
        found = arm(cls)
        return fail(f, found.text) if isinstance(found, Absent) else found

    which = number_of_class(f, value, classes)
    with f.trial():
        found = [arm(c) for c in classes]
    if all(isinstance(x, (Method, Absent)) for x in found):
        return OneOf(which, tuple(found), value, tuple(classes))
    fields = [
        c for c, x in zip(classes, found, strict=True) if c in datatypes.seen and datatypes.has_field(c, name) and is_unknown(x)
    ]
    types = [type_of(x) for x in found if not isinstance(x, (Method, Absent))]
    if fields and not contains_unknown(t := f.common(types)):  # lists that were always empty in the sample
        for c in fields:
            datatypes.widen(c, name, t)
    return among(f, node, which, [functools.partial(got, c) for c in classes])


# ---- dictionaries whose keys are names: the same always, or a few sets of them

METHODS_OF_RECORDS = ("get", "items", "keys", "values")


def record_of(f: Frame, value: Value) -> type | None:
    """The record class of a value that is a dictionary in Python, with the same keys always; None for other values."""
    classes = records_of(f, value)
    return classes[0] if len(classes) == 1 else None


def records_of(f: Frame, value: Value) -> tuple[type, ...]:
    """The record classes of a value that is a dictionary in Python, one for each set of keys; none for other values."""
    if not isinstance(value, Dyn) or not isinstance(value.type, DataT):
        return ()
    classes = f.program.datatypes.cases.get(value.type.name, ())
    return classes if all(issubclass(c, RecordOf) and c.class_of_record is None for c in classes) else ()


def as_dict(f: Frame, cls: type) -> Value:
    """Have dictionaries with these keys be lists of entries from the next round on, in the order that Python has them in."""
    f.program.datatypes.note_walked(cls)
    f.program.incomplete = True
    return unknown()


@handles(METHODS, "object")
def _method_of_record(f: Frame, node: ast.AST, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    cls = record_of(f, method.owner)
    if (
        method.name == "get"
        and len(records_of(f, method.owner)) > 1
        and not kwargs
        and len(args) in (1, 2)
        and known(args[0])[0]
    ):
        return _got_of_several(f, method.owner, str(known(args[0])[1]), args[1] if len(args) == 2 else Static(None))
    if cls is None or kwargs:
        return None
    keys = list(cls.keys_of_record)  # type: ignore[attr-defined]
    match method.name, args:
        case "get", [key, *default] if len(default) < 2:
            otherwise = default[0] if default else Static(None)
            is_known, name = known(key)
            if is_known:
                return field(f, node, method.owner, name) if name in keys else otherwise
            if nothing_known(key):
                return unknown()
            found = constants.contains(f, key, keys)
            return choose(
                f,
                node,
                found,
                lambda: constants.chosen(f, node, keys, key, lambda k: field(f, node, method.owner, k)),
                lambda: otherwise,
            )
        case "items" | "keys" | "values", []:
            return as_dict(f, cls)
    return None


def of_known_class(f: Frame, node: ast.AST, value: Value, cls: type, name: str) -> Value:
    """An attribute of an object of a known class. A field that was not read before is read from the next round on."""
    if isinstance(value, Dyn) and optional(f, value) is None and (kept := _kept(f, node, value, name)) is not None:
        return kept
    if isinstance(value, Dyn) and f.program.datatypes.has_field(cls, name):
        return field_at_first(f, value, [cls], name)
    if isinstance(value, Dyn) and (found := class_attribute(f, node, value, (cls,), name)) is not None:
        return found
    return f.problem(node, f"a `{cls.__name__}` has no `{name}`")


def class_attribute(f: Frame, node: ast.AST, value: Dyn, classes: Sequence[type], name: str) -> Value | None:
    """A method, property or constant that all `classes` of an object's union have in common; None if there is none."""
    if name == "_replace" and all(hasattr(c, "_fields") for c in classes):
        return Partial(Static(dataclasses.replace), (value,), ())
    found = [inspect.getattr_static(c, name, None) for c in classes]
    if found[0] is None or any(x is not found[0] for x in found):
        return None
    assert isinstance(value.type, DataT)
    alone = len(classes) == 1 < len(f.program.datatypes.cases.get(value.type.name, ()))
    owner: Value = Narrowed(value, classes[0]) if alone else value
    match found[0]:
        case property(fget=types.FunctionType() as getter):
            return f.program.call(f, node, getter, [owner], {})
        case functools.cached_property(func=types.FunctionType() as getter):
            return f.program.call(f, node, getter, [owner], {})
        case types.FunctionType() as method:
            return Method(value, name, method)
        case staticmethod(__func__=types.FunctionType() as function):
            return Static(function)
        case classmethod(__func__=types.FunctionType() as function):
            return Partial(Static(function), (Static(classes[0]),), ()) if len(classes) == 1 else None
        case int() | float() | str() | bool() | tuple():
            return Static(found[0])
        case dict() | list():
            f.program.reads.note_object(classes[0], name, found[0])
            return Static(found[0])
    return None


@handles(FUNCTIONS, id)
def _identity(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """`id(x)` of an object of the instance: a number that no other object of the instance has."""
    (x,) = CallArguments("id", args, kwargs).bind("object")
    return identity(f, node, x)


def identity(f: Frame, node: ast.AST, x: Value) -> Value:
    """The number of an object of the instance, which no other one has."""
    if nothing_known(x):
        return unknown()
    if not isinstance(x, Dyn) or not isinstance(x.type, DataT) or optional(f, x) is not None:
        return f.problem(node, "`id` is for objects of the instance here")
    for cls in f.program.datatypes.cases[x.type.name]:
        f.program.datatypes.identify(cls)
    return field(f, node, x, IDENTITY)


def parts_of_tuple(f: Frame, value: Value) -> list[Value] | None:
    """The components of a named tuple; None for other values."""
    if not isinstance(value, Dyn) or not isinstance(value.type, DataT):
        return None
    classes = f.program.datatypes.cases.get(value.type.name, ())
    if len(classes) != 1 or not issubclass(classes[0], tuple):
        return None
    return [field(f, ast.Pass(), value, name) for name in classes[0]._fields]  # type: ignore[attr-defined]


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
    held = {y: kwargs[y] if y in kwargs else field(f, node, x, y) for y in names}
    return made(f, node, classes[0], x.type, held)  # type: ignore[arg-type, union-attr]


COMPONENTS.append(parts_of_tuple)


def _got_of_several(f: Frame, value: Dyn, name: str, otherwise: Value) -> Value:
    """`value.get(name, otherwise)` of a union of records, of which some may have the key."""
    assert isinstance(value.type, DataT)
    datatypes = f.program.datatypes
    classes = datatypes.cases[value.type.name]
    have = [c for c in classes if datatypes.has_field(c, name)]
    if not have:
        return otherwise
    there = has_key(f, value, name)
    if is_unknown(there):
        return unknown()

    def default() -> Value:
        t = f.common([datatypes.field_type(c, name) for c in have])
        return otherwise if contains_unknown(t) or not is_empty(otherwise) else f.coerce(otherwise, t)

    return choose(f, ast.Pass(), there, lambda: field_at_first(f, value, have, name), default)


def has_key(f: Frame, value: Dyn, name: str) -> Value:
    """Whether a dictionary that is one of several records has the key `name`."""
    assert isinstance(value.type, DataT)
    classes = f.program.datatypes.cases[value.type.name]
    have = [name in c.keys_of_record for c in classes]  # type: ignore[attr-defined]
    return Static(have[0]) if len({*have}) == 1 else number_of_class(f, value, classes, [n.Lit(h, BOOL) for h in have])
