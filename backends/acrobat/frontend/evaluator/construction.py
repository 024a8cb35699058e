"""Objects that the model makes: of dataclasses, named tuples and ordinary classes, and copies with other fields."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import types
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from backends.acrobat.core.types import IDENTITY, DataT
from backends.acrobat.frontend.evaluator.arguments import CallArguments, defaults_of
from backends.acrobat.frontend.evaluator.choice import optional
from backends.acrobat.frontend.evaluator.desugar import plainly
from backends.acrobat.frontend.evaluator.fields import field
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.given import Given
from backends.acrobat.frontend.evaluator.syntax import HIDDEN
from backends.acrobat.frontend.evaluator.tables import ATTRIBUTES_PUT, FUNCTIONS, handles
from backends.acrobat.frontend.instances.observed import RecordOf
from backends.acrobat.frontend.source import source_of
from backends.acrobat.frontend.types import NONE, UNKNOWN, Mismatch, contains_unknown
from backends.acrobat.frontend.values import Dyn, Static, Value, guess, nothing_known, type_of, unknown
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
    return new_object(f, node, cls, t, dict(zip(names, values, strict=True)))


def _made_by(f: Frame, factory: Any) -> ast.expr:
    """An expression that calls the `default_factory` of a field."""
    known: dict[Any, ast.expr] = {list: ast.List([], ast.Load()), dict: ast.Dict([], [])}
    return known[factory] if factory in known else ast.Call(Given(f.program.wrap(factory)), [], [])


def instantiate(f: Frame, node: ast.AST, cls: type, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Compile the construction of a named tuple, or of an ordinary class, whose `__init__` gives the attributes values."""
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        names = list(cls._fields)
        given: dict[str, Any] = inspect.getattr_static(cls, "_field_defaults")
        values = CallArguments(cls.__name__, args, kwargs).bind(*names, **{k: Static(v) for k, v in given.items()})
        t = DataT(f.program.datatypes.union_of_made(cls, names))
        return new_object(f, node, cls, t, dict(zip(names, values, strict=True)))
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
    return new_object(f, node, cls, t, {x: held[x] for x in datatypes.field_names(cls)})


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
    changed = new_object(f, s, cls, whole.type, held)
    where.put(changed)  # type: ignore[attr-defined]


def new_object(f: Frame, node: ast.AST, cls: type, t: DataT, held: dict[str, Value]) -> Value:
    """An object of `cls`, a case of `t`, with these values in its fields. The fields' types are widened to cover the values."""
    datatypes = f.program.datatypes
    if cls in datatypes.seen and datatypes.has_field(cls, IDENTITY) and IDENTITY not in held:
        what = f"objects of the instance's class `{cls.__name__}` are told apart by identity, and this makes a new one"
        return f.problem(node, what, "make objects of another class")
    for x in held:
        datatypes.has_field(cls, x)  # of a class of the sample: a field that is given a value is one that is read
    held = {x: held[x] for x in sorted(held, key=datatypes.field_names(cls).index)}
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
    return new_object(f, node, classes[0], x.type, held)  # type: ignore[arg-type, union-attr]
