"""Objects of the instance, and dataclasses and records that the model makes: fields, methods and properties."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import types
from collections.abc import Sequence

from backends.acrobat.core.types import IDENTITY, DataT
from backends.acrobat.frontend.evaluator.arguments import CallArguments
from backends.acrobat.frontend.evaluator.choice import optional
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.syntax import HIDDEN
from backends.acrobat.frontend.evaluator.tables import ATTRIBUTES, FUNCTIONS, handles
from backends.acrobat.frontend.instances.observed import RecordOf
from backends.acrobat.frontend.source import source_of
from backends.acrobat.frontend.types import Mismatch, contains_unknown, describe
from backends.acrobat.frontend.values import Dyn, Method, Static, Value, guess, nothing_known, type_of, unknown
from backends.acrobat.ir import nodes as n


def construct(f: Frame, node: ast.AST, cls: type, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A dataclass. The shapes of its tensor fields are learnt here."""
    datatypes = f.program.datatypes
    t = DataT(datatypes.union_of(cls))
    if issubclass(cls, RecordOf):
        names, defaults = datatypes.record_fields(cls), {}
    else:
        fields = [x for x in dataclasses.fields(cls) if x.init]  # type: ignore[arg-type]
        names = [x.name for x in fields]
        defaults = {x.name: Static(x.default) for x in fields if x.default is not dataclasses.MISSING}
    values = CallArguments(cls.__name__, args, kwargs).bind(*names, **defaults)
    return made(f, node, cls, t, dict(zip(names, values, strict=True)))


def instantiate(f: Frame, node: ast.AST, cls: type, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """An object of an ordinary class: what its `__init__` gives to attributes, one after the other."""
    init = cls.__init__  # type: ignore[misc]
    if not isinstance(init, types.FunctionType):
        return f.problem(node, f"objects of `{cls.__name__}` are not made in the language", "write a dataclass")
    definition, file = source_of(init)
    parameters = [a.arg for a in (*definition.args.args, *definition.args.kwonlyargs)]
    if definition.args.vararg or definition.args.kwarg or definition.decorator_list:
        return f.problem(node, f"`{cls.__name__}.__init__` has parameters that are not in the language")
    me, *names = parameters
    written = zip(reversed(definition.args.args), reversed(init.__defaults__ or ()), strict=False)
    defaults = {x.arg: Static(v) for x, v in written}
    defaults |= {k: Static(v) for k, v in (init.__kwdefaults__ or {}).items()}
    values = CallArguments(cls.__name__, args, kwargs).bind(*names, **defaults)
    held: dict[str, Value] = {}
    with f.elsewhere(init, file, dict(zip(names, values, strict=True))):
        for s in definition.body:
            match s:
                case ast.Expr(ast.Constant()) | ast.Pass():
                    continue
                case ast.Assign([ast.Attribute(ast.Name(owner), name)], value) if owner == me:
                    pass
                case ast.AnnAssign(ast.Attribute(ast.Name(owner), name), _, ast.expr() as value) if owner == me:
                    pass
                case _:
                    return f.problem(
                        s, f"`{cls.__name__}.__init__` does more than give attributes their values", "compute them before"
                    )
            held[name] = f.env[f"{HIDDEN}{me}.{name}"] = f.expression(value, name)
    datatypes = f.program.datatypes
    t = DataT(datatypes.union_of_made(cls, list(held)))
    if missing := [x for x in datatypes.field_names(cls) if x not in held]:
        return f.problem(node, f"a `{cls.__name__}` that is made here has no `{missing[0]}`")
    return made(f, node, cls, t, {x: held[x] for x in datatypes.field_names(cls)})


def made(f: Frame, node: ast.AST, cls: type, t: DataT, held: dict[str, Value]) -> Value:
    """An object of `cls`, a case of `t`, with these values in its fields, whose types are learnt here."""
    datatypes = f.program.datatypes
    atoms = []
    for x, v in held.items():
        if nothing_known(v):
            atoms.append(unknown().atom)
            continue
        wanted = datatypes.field_type(cls, x)
        try:
            have = type_of(v)
            if contains_unknown(wanted) and not contains_unknown(have):
                wanted = datatypes.refine(cls, x, have)
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
        advice = "give it a name and test that first: `if x is not None:`; or take it apart with `match`"
        return f.problem(node, f"this may be None, which has no attribute `{name}`", advice)
    datatypes = f.program.datatypes
    classes = datatypes.cases[value.type.name]
    have = [c for c in classes if datatypes.has_field(c, name)]
    if not have and (found := class_attribute(f, node, value, classes, name)) is not None:
        return found
    if not have:
        return f.problem(node, f"{value.type.name} has no field `{name}`")
    if len(have) < len(classes):
        lack = next(c for c in classes if c not in have).__name__
        return f.problem(node, f"this may be a `{lack}`, which has no field `{name}`", "take it apart with `match`")
    t = f.common([datatypes.field_type(c, name) for c in classes])
    arms = []
    for c in classes:
        fields = datatypes.field_names(c)
        variables = tuple(f.var(x, datatypes.field_type(c, x)) for x in fields)
        at = fields.index(name)
        if variables[at].type != t and not contains_unknown(t):
            raise Mismatch(f"`{name}` is {describe(variables[at].type)} in {c.__name__}, {describe(t)} elsewhere")
        arms.append(n.Arm(c.__name__, variables, variables[at]))
    if any(contains_unknown(v.type) for arm in arms for v in arm.vars):
        f.program.incomplete = True
        return guess(t)
    return f.bind(n.Match(value.atom, tuple(arms), t, span=f.span), name)


def of_known_class(f: Frame, node: ast.AST, value: Value, cls: type, name: str) -> Value:
    """An attribute of an object whose class is known: a field that nothing has read so far is read from the next round on."""
    if isinstance(value, Dyn) and f.program.datatypes.has_field(cls, name):
        f.program.incomplete = True
        return guess(f.program.datatypes.field_type(cls, name))
    if isinstance(value, Dyn) and (found := class_attribute(f, node, value, (cls,), name)) is not None:
        return found
    return f.problem(node, f"a `{cls.__name__}` has no `{name}`")


def class_attribute(f: Frame, node: ast.AST, value: Dyn, classes: Sequence[type], name: str) -> Value | None:
    """A method, property or constant of the class of an instance's object, the same in all classes of the union; None if they
    have none."""
    found = [inspect.getattr_static(c, name, None) for c in classes]
    if found[0] is None or any(x is not found[0] for x in found):
        return None
    match found[0]:
        case property(fget=types.FunctionType() as getter):
            return f.program.call(f, node, getter, [value], {})
        case functools.cached_property(func=types.FunctionType() as getter):
            return f.program.call(f, node, getter, [value], {})
        case types.FunctionType() as method:
            return Method(value, name, method)
        case staticmethod(__func__=types.FunctionType() as function):
            return Static(function)
        case int() | float() | str() | bool() | tuple():
            return Static(found[0])
    return None


@handles(FUNCTIONS, id)
def _identity(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """`id(x)` of an object of the instance: a number that it alone has."""
    (x,) = CallArguments("id", args, kwargs).bind("object")
    if nothing_known(x):
        return unknown()
    if not isinstance(x, Dyn) or not isinstance(x.type, DataT) or optional(f, x) is not None:
        return f.problem(node, "`id` is for objects of the instance here")
    for cls in f.program.datatypes.cases[x.type.name]:
        f.program.datatypes.identify(cls)
    return field(f, node, x, IDENTITY)
