"""Constructing objects of source classes that are derived from `dict`, `list` or a dictionary of `collections`: `Chart()`,
`Chart({...})`. The value is that list or dictionary, of a kind that names the class (`derived_containers`), so that everything
that works on lists and dictionaries works on it. It has no attributes of its own.

The `__init__` of such a class is compiled as a function that makes the list or dictionary where it calls that of the base,
fills it and returns it:

    def __init__(self, words):                def Chart(words):
        super().__init__()                        self = dict()
        for i, w in enumerate(words):             for i, w in enumerate(words):
            self[i, i + 1] = w                        self[i, i + 1] = w
                                                  return self
"""

from __future__ import annotations

import ast
import copy
from dataclasses import replace
from functools import lru_cache
from types import FunctionType
from typing import Any

from backends.acrobat.core.types import ListT
from backends.acrobat.frontend.derived_containers import container_of, own_init, replaced
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.syntax.own_nodes import own_nodes_of
from backends.acrobat.frontend.evaluator.tables import CALLS
from backends.acrobat.frontend.kinds import as_kind, is_container, is_unknown, nothing_known, type_of
from backends.acrobat.frontend.source import LIFTED, Lifted, source_of
from backends.acrobat.frontend.syntax_nodes import mentions
from backends.acrobat.frontend.values import Static, Value, unknown

BARE: dict[type, type] = {}
"""Classes that stand for one of the source as it is made without its `__init__`, with that one."""


def made_derived(f: Frame, node: ast.AST, cls: type, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """`cls(...)` of a class that adds methods to a list or dictionary. Raises Refused."""
    base = container_of(cls)
    assert base is not None
    if own := replaced(cls):
        what = f"`{cls.__name__}` is derived from `{base.__name__}` and has a `{own}` of its own, which is not followed"
        raise Refused(what, f"write a class with a `{base.__name__}` in an attribute")
    if own_init(cls) is not None:
        return f.program.call(f, node, _maker(cls), args, kwargs)
    value = CALLS[Static](f, node, Static(base), args, kwargs, hint)
    if nothing_known(value):
        return unknown()
    if not is_container(value):
        of = "elements of several types" if issubclass(base, list) else "a dictionary whose keys are names"
        raise Refused(f"a `{cls.__name__}` of {of} is not in the language", "make it empty, and put the values into it")
    t = type_of(value)
    assert isinstance(t, ListT)
    kind = replace(t.kind, cls=_name_of(f, BARE.get(cls, cls)))
    return f.empty(replace(t, kind=kind)) if is_unknown(value) else as_kind(value, kind)


def _name_of(f: Frame, cls: type) -> str:
    """The name of a class in kinds: that of the source, with a number where another class has it, too."""
    name, k = cls.__name__, 1
    while f.program.derived.setdefault(name, cls) is not cls:
        k += 1
        name = f"{cls.__name__} {k}"
    return name


@lru_cache(1 << 10)
def _maker(cls: type) -> FunctionType:
    """A function that makes what the `__init__` of a class does. Raises Refused."""
    init = own_init(cls)
    assert init is not None
    definition, file = source_of(init)
    bare = type(cls.__name__, (cls,), {"__init__": container_of(cls).__init__, "__module__": cls.__module__})  # type: ignore[misc]
    BARE[bare] = cls
    function = FunctionType(init.__code__, init.__globals__, cls.__name__, init.__defaults__, init.__closure__)
    function.__kwdefaults__, function.__annotations__ = init.__kwdefaults__, init.__annotations__
    LIFTED[function] = Lifted(_as_function(definition, cls, bare), file, None, ())
    return function


def _as_function(definition: ast.FunctionDef, cls: type, bare: type) -> ast.FunctionDef:
    """The definition of an `__init__` as that of a function that gives the list or dictionary."""
    made = copy.deepcopy(definition)
    if not made.args.args or made.args.posonlyargs or made.decorator_list:
        raise Refused(f"the `__init__` of `{cls.__name__}` is not followed", "write it with `self` and plain parameters")
    me = made.args.args[0].arg
    made.name, made.args.args, made.returns = cls.__name__, made.args.args[1:], None
    for x in own_nodes_of(made):
        if isinstance(x, ast.Return):
            x.value = ast.copy_location(ast.Name(me, ast.Load()), x)
    at = next((i for i, s in enumerate(made.body) if _call_of_base(s, cls, me) is not None), None)
    call = None if at is None else _call_of_base(made.body[at], cls, me)
    before, after = made.body[: at or 0], made.body if at is None else made.body[at + 1 :]
    if any(mentions(s, me) for s in before) or any(_call_of_base(x, cls, me) is not None for s in after for x in ast.walk(s)):
        what = f"the `__init__` of `{cls.__name__}` calls that of its base after it has used `{me}`, or more than once"
        raise Refused(what, "call it in the first statement")
    where = made.body[at or 0]
    begun = ast.Call(CompiledNode(Static(bare)), call.args if call else [], call.keywords if call else [])
    given = ast.Return(ast.Name(me, ast.Load()))
    made.body = [*before, ast.Assign([ast.Name(me, ast.Store())], begun), *after, given]
    for new, old in ((made.body[len(before)], where), (given, made.body[-2])):
        for x in ast.walk(new):
            if not hasattr(x, "lineno"):
                ast.copy_location(x, old)
    return made


def _call_of_base(s: ast.AST, cls: type, me: str) -> ast.Call | None:
    """The call of the base's `__init__` that a statement is, without the object among its arguments; None for others. Raises
    Refused where a class of the source is the base and has one."""
    match s:
        case ast.Expr(ast.Call(ast.Attribute(ast.Call(ast.Name("super")), "__init__") as function, args, keywords)):
            pass
        case ast.Expr(ast.Call(ast.Attribute(_, "__init__") as function, [ast.Name(name), *args], keywords)) if name == me:
            pass
        case _:
            return None
    inits: list[Any] = [c for c in cls.__mro__ if isinstance(vars(c).get("__init__"), FunctionType)]
    if len(inits) > 1:
        raise Refused(
            f"`{cls.__name__}` and a base of it have an `__init__`, of which one alone is followed", "write one of the two"
        )
    return ast.Call(function, args, keywords)
