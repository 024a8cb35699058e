"""The `__init__` of an object that the model makes, compiled where the object is made.

Its attributes are variables of the caller until the object is complete, in `__init__`s of base classes and in the methods that
it calls too. An attribute that some path through `__init__` gives no value, or that only a method which is called later assigns
to, is None until then. From the first statement of `__init__` on that uses the object itself, as `while self.step():` does, the
object is there, and its attributes are as of every other object.
"""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from backends.acrobat.core.types import IDENTITY, DataT
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused, defaults_of
from backends.acrobat.frontend.evaluator.frame.claims import each_claim, spine
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode, counter_object
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.spreading import bound
from backends.acrobat.frontend.evaluator.lists.kept_iterators import note_walked, paths_read, release
from backends.acrobat.frontend.evaluator.lists.named_iterators import as_parameter
from backends.acrobat.frontend.evaluator.objects.classes import setter_of
from backends.acrobat.frontend.evaluator.objects.construction import new_object, refuse_changed
from backends.acrobat.frontend.evaluator.objects.referenced import is_referenced, note_seen_elsewhere, seen_inside_of
from backends.acrobat.frontend.evaluator.ownership.ownership import changeable, is_unchanged, objects_only
from backends.acrobat.frontend.evaluator.rewriting.counting import with_counters
from backends.acrobat.frontend.evaluator.rewriting.desugar import plainly
from backends.acrobat.frontend.evaluator.syntax.hidden_names import attribute_path
from backends.acrobat.frontend.evaluator.syntax.quoting import attributes_as_names
from backends.acrobat.frontend.kinds import nothing_known, type_or_none, variable_of
from backends.acrobat.frontend.source import closure, source_of
from backends.acrobat.frontend.specials import Keywords
from backends.acrobat.frontend.syntax_nodes import every_node, mentions
from backends.acrobat.frontend.values import Static, Value, unknown

CLAIMS = len(each_claim(""))


class Initialisation:
    """An object that is being made: the attributes `held` so far; which of the claims of `each_claim`, by
    number, `Frame.owned` has of each (`owned`); and all attributes that are `written` anywhere."""

    def __init__(self, f: Frame, node: ast.AST, cls: type) -> None:
        self.f, self.node, self.cls = f, node, cls
        self.held: dict[str, Value] = {x: Static(None) for x in f.program.datatypes.late.get(cls, ())}
        self.owned: dict[str, set[int]] = {}
        self.written: dict[str, None] = {}
        self.running: list[ast.AST] = []  # the methods that `_uses_itself` is looking into
        self.made: Value | None = None  # the object, where `__init__` uses it itself
        self.walked = set(f.walked_by_kept)  # variables of lists that iterators of other objects go through

    def finished(self) -> Value:
        """The object, with the attributes that are held."""
        f, node, cls, datatypes = self.f, self.node, self.cls, self.f.program.datatypes
        if walked := f.walked_by_kept - self.walked:
            self._note_walked(walked)
        if missing := [x for x in self.written if x not in self.held]:
            for x in missing:
                datatypes.add_late(cls, x)
            return unknown()
        self.stage()
        t = DataT(datatypes.union_of_made(cls, list(self.held)))
        names = [x for x in datatypes.attribute_names(cls) if x != IDENTITY]
        if missing := [x for x in names if x not in self.held]:
            return f.problem(node, f"a `{cls.__name__}` that is made here has no `{missing[0]}`")
        shared = self.shared()
        apart = all(is_unchanged(f, t, x) for x in shared)
        own_lists = all(self.has_own_lists(x) or is_unchanged(f, t, x) for x in shared)
        self._note_claims(not shared, apart, own_lists)
        seen = seen_inside_of(shared, all(map(self.has_own_lists, shared)))
        return new_object(f, node, cls, t, {x: self.held[x] for x in names}, seen)

    def _note_walked(self, walked: set[str]) -> None:
        """Note that the object keeps iterators over the lists of the variables `walked`, which its arguments may be."""
        release(self.f)
        if isinstance(self.node, ast.Call):
            for a in (*self.node.args, *(k.value for k in self.node.keywords)):
                is_name = isinstance(a, ast.Name)
                if not is_name or variable_of(self.f.env.get(a.id, unknown())) in walked:  # type: ignore[attr-defined]
                    for path in paths_read(a):
                        note_walked(self.f, path)

    def _note_claims(self, alone: bool, apart: bool, own_lists: bool) -> None:
        """Note the claims on the new object, as `Frame` notes them of the results of calls."""
        f, call = self.f, {self.node}
        f.made_alone = f.made_alone | call if alone else f.made_alone - call
        f.made_apart = f.made_apart | call if apart else f.made_apart - call
        f.made_with_own_lists = f.made_with_own_lists | call if own_lists else f.made_with_own_lists - call

    def run(self, function: types.FunctionType, name: str, args: list[Value], kwargs: dict[str, Value]) -> bool:
        """Compile an `__init__`, or a method that it calls, here. False, with a problem noted, if that is not possible."""
        definition, file = source_of(function)
        if definition.decorator_list and setter_of(self.cls, function.__name__) is not function:
            shown = f"{self.cls.__name__}.{function.__name__}"
            self.f.problem(self.node, f"`{shown}` has decorators, which are not in the language here")
            return False
        call = CallArguments(name, [unknown(), *args], kwargs, 1)  # the object comes first
        (me, *names), (_, *values) = bound(self.f, definition.args, call, defaults_of(definition, function))
        values = [as_parameter(self.f, function, definition, x, v, None) for x, v in zip(names, values, strict=True)]
        body = with_counters(plainly(definition), function.__globals__ | closure(function), counter_object).body
        if function.__name__ != "__init__":
            body = _without_result(body)
        own = self._given_in(body, me)
        self.written |= dict.fromkeys(own)
        program, inner = self.f.program, dict(zip(names, values, strict=True))
        with program.in_file(self.f, self.node, file), self.f.in_function(function, file, inner):
            self._enter(me)
            for i, s in enumerate(self._with_setter(me, x) for x in body):
                if name == self.cls.__name__ and self._uses_itself(function, me, s, {*own, *self.held}):
                    self._leave(me, own)
                    return self._rest(me, [self._of_base(function, me, x) for x in body[i:]])
                if not self._statement(function, me, own, s):
                    self._leave(me, own)
                    return False
            self._leave(me, own)
        return True

    def _uses_itself(self, function: types.FunctionType, me: str, s: ast.stmt, known: set[str]) -> bool:
        """Whether a statement of a method, or a method that it calls, uses the object in another way than by attributes in
        `known`, those that exist or are assigned to. What methods assign to is added to these."""
        match s:
            case ast.Expr(ast.Call(ast.Attribute(ast.Call(ast.Name("super")), name), args, keywords)):
                called = self._of_bases(function, name)
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(owner), name), args, keywords)) if owner == me:
                called = self._called(name)
            case _:
                return bool(mentions(attributes_as_names(s, me, {x: _variable(me, x) for x in known}), me))
        if not isinstance(called, types.FunctionType):
            return False
        definition, _ = source_of(called)
        decorated = definition.decorator_list and setter_of(self.cls, name) is not called
        if definition in self.running or not definition.args.args or decorated:
            return False
        inner = definition.args.args[0].arg
        body = _without_result(plainly(definition).body)
        known |= {*self._given_in(body, inner)}
        self.running.append(definition)
        within = [self._with_setter(inner, x) for x in body]
        found = any(self._uses_itself(called, inner, x, known) for x in within)
        self.running.pop()
        given = [ast.Expr(x) for x in (*args, *(k.value for k in keywords))]
        return found or any(mentions(attributes_as_names(x, me, {a: a for a in known}), me) for x in given)

    def _given_in(self, body: Sequence[ast.stmt], me: str) -> list[str]:
        """The attributes that a body assigns to, but for those that are properties."""
        return [x for x in _in_order(body, me) if setter_of(self.cls, x) is None]

    def _with_setter(self, me: str, s: ast.stmt) -> ast.stmt:
        """A statement that assigns to a property of the object as a call of the property's function."""
        match s:
            case ast.Assign([ast.Attribute(ast.Name(owner), x) as target], value) if owner == me and setter_of(self.cls, x):
                return ast.copy_location(ast.Expr(ast.copy_location(ast.Call(target, [value], []), s)), s)
        return s

    def _of_base(self, function: types.FunctionType, me: str, s: ast.stmt) -> ast.stmt:
        """A statement that calls `super().name(...)`, with that replaced by a call of the base's function with the object as an
        argument."""
        match s:
            case ast.Expr(ast.Call(ast.Attribute(ast.Call(ast.Name("super")), name) as written, args, keywords) as call):
                if isinstance(called := self._of_bases(function, name), types.FunctionType):
                    owner = ast.copy_location(ast.Name(me, ast.Load()), written)
                    made = ast.Call(CompiledNode(Static(called)), [owner, *args], keywords)
                    return ast.copy_location(ast.Expr(ast.copy_location(made, call)), s)
        return s

    def _called(self, name: str) -> Any:
        """What the class has under a name: of a property the function that an assignment calls."""
        return setter_of(self.cls, name) or inspect.getattr_static(self.cls, name, None)

    def _rest(self, me: str, body: Sequence[ast.stmt]) -> bool:
        """Make the object from its attributes so far, and compile the rest of its `__init__` with it. If that is not possible,
        returns False, after noting a problem or an attribute to which the next round of compiling gives a value."""
        f = self.f
        made = self.finished()
        if nothing_known(made):
            return False
        if any(isinstance(x, ast.Name) and x.id == me and isinstance(x.ctx, ast.Store) for s in body for x in every_node(s)):
            f.problem(body[0], f"`{me}` is assigned to in an `__init__`", "take another name")
            return False
        for name in self.held:  # as a test notes what it tells of an attribute: from here on the object has them
            f.env.pop(_variable(me, name), None)
        inside = self.node in f.made_alone | f.made_apart
        known = (True, inside, inside or self.node in f.made_with_own_lists)
        f.env[me] = made
        f.owned |= {claim for claim, holds in zip(each_claim(me), known, strict=True) if holds}
        with f.changes(counted=False) as changed:
            f.straight(body)
        f.mutated |= changed & f.kept_fields().keys()  # the caller has other names
        self.made = f.env[me]
        self._note_claims(False, False, False)  # the methods may have put into it what they were given
        if me not in f.owned and not is_referenced(f, self.made):
            note_seen_elsewhere(f, self.made)
            what = f"`__init__` of `{self.cls.__name__}` puts the object, which is not complete, where others see it"
            f.problem(body[0], what, "do that after the object has been made")
            return False
        return True

    def stage(self) -> None:
        """Turn constant objects among the attributes into objects of the program. The source refers to these, too. Raises
        Refused."""
        staged = {x: self.f.as_object(v) for x, v in self.held.items()}
        constant = [x for x, v in self.held.items() if staged[x] is not v]
        refuse_changed(self.f, self.cls, constant)
        for name in constant:
            self.held[name] = staged[name]
            self.owned.pop(name, None)

    def shared(self) -> list[str]:
        """The attributes whose values, or changeable parts of them, something else may refer to."""
        changed = [x for x, v in self.held.items() if changeable(self.f, type_or_none(v))]
        return [x for x in changed if len(self.owned.get(x, ())) < CLAIMS]

    def has_own_lists(self, name: str) -> bool:
        """Whether nothing else refers to the lists that an attribute is, or has in it outside of objects."""
        if objects_only(self.f, type_or_none(self.held[name])):
            return True
        claims = each_claim(name)
        return {claims.index(name), claims.index(spine(name))} <= self.owned.get(name, set())

    def _enter(self, me: str) -> None:
        """Have the attributes as variables of the function that is compiled, whose name for the object is `me`."""
        for name, value in self.held.items():
            variable = _variable(me, name)
            self.f.env[variable] = value
            self.f.owned |= {claim for i, claim in enumerate(each_claim(variable)) if i in self.owned.get(name, ())}

    def _leave(self, me: str, own: Sequence[str]) -> None:
        """Take the attributes over from the variables of the function."""
        for name in dict.fromkeys([*self.held, *own]):
            variable = _variable(me, name)
            if variable in self.f.env:
                self.held[name] = self.f.env[variable]
            self.owned[name] = {i for i, claim in enumerate(each_claim(variable)) if claim in self.f.owned}

    def _statement(self, function: types.FunctionType, me: str, own: Sequence[str], s: ast.stmt) -> bool:
        """Compile a statement of an `__init__`, or of a method that it calls. False, with a problem noted, if it cannot be."""
        if isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant):
            return True
        rewritten = _with_variables(s, me, tuple(dict.fromkeys((*own, *self.held))))
        match rewritten:
            case ast.Expr(ast.Call(ast.Attribute(ast.Call(ast.Name("super")), name), args, keywords)):
                called = self._of_bases(function, name)
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(owner), name), args, keywords)) if owner == me:
                called = self._called(name)
            case _:
                if mentions(rewritten, me):
                    what = f"`{function.__name__}` uses `{me}` itself before a `{self.cls.__name__}` is complete"
                    self.f.problem(
                        s, what, f"call its methods in statements of their own, or when it is made: {ast.unparse(s)}"
                    )
                    return False
                self.f.straight([rewritten])
                return True
        if called is object.__init__ or called is None and name == "__init__":
            return True
        if called is Exception.__init__:  # of what an exception's text is made of nothing is kept
            for a in args:
                if not _has_no_effect(a):
                    self.f.expression(a)
            return True
        if not isinstance(called, types.FunctionType):
            self.f.problem(s, f"`{name}` of `{self.cls.__name__}` is not called in `__init__`", "write it as a plain method")
            return False
        values = [v for a in args for v in self._argument_values(a)]
        named = {name: v for k in keywords for name, v in self._keyword_values(k)}
        self._leave(me, own)
        done = self.run(called, called.__name__, values, named)
        self._enter(me)
        return done

    def _argument_values(self, argument: ast.expr) -> Sequence[Value]:
        """The values of an argument of such a call, several for `*args`. Raises Refused."""
        if not isinstance(argument, ast.Starred):
            return [self.f.expression(argument)]
        value = self.f.expression(argument.value)
        parts = [unknown()] if nothing_known(value) else self.f.components(value)
        if parts is None:
            raise Refused("a list of run-time length is given with `*` to the `__init__` of a base here", "give the list")
        return parts

    def _keyword_values(self, keyword: ast.keyword) -> Sequence[tuple[str, Value]]:
        """The names and values of a named argument of such a call, several for `**kwargs`. Raises Refused."""
        value = self.f.expression(keyword.value)
        if keyword.arg is not None:
            return [(keyword.arg, value)]
        if not isinstance(value, Keywords):
            raise Refused("`**` is for the named arguments that a function was given, in an `__init__`", "write the names")
        return value.entries

    def _of_bases(self, function: types.FunctionType, name: str) -> Any:
        """What `super().name` is inside of a method of the class or of a base."""
        mro = self.cls.__mro__
        owner = next((c for c in mro if vars(c).get(function.__name__) is function), self.cls)
        return next((vars(c)[name] for c in mro[mro.index(owner) + 1 :] if name in vars(c)), None)


@lru_cache(4096)
def _with_variables(s: ast.stmt, me: str, attributes: tuple[str, ...]) -> ast.stmt:
    """A statement with variables in place of these attributes, the same in all rounds: functions in it are parts of keys."""
    return attributes_as_names(s, me, {x: _variable(me, x) for x in attributes})  # type: ignore[no-any-return]


def _variable(me: str, name: str) -> str:
    """The variable for an attribute of the object that a function calls `me`."""
    return attribute_path(me, name)


def _without_result(body: list[ast.stmt]) -> list[ast.stmt]:
    """The body of a method of which the result is not used."""
    ends = body and isinstance(body[-1], ast.Return) and _has_no_effect(body[-1].value)
    return body[:-1] if ends else body


def _has_no_effect(value: ast.expr | None) -> bool:
    """Whether an expression surely changes nothing, so that leaving it out changes nothing either."""
    calls = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)
    return value is None or not any(isinstance(x, calls) for x in every_node(value))


def _in_order(body: Sequence[ast.stmt], me: str) -> list[str]:
    """The attributes that an `__init__` assigns to, in the order in which they are written."""
    result = [
        (x.lineno, x.col_offset, x.attr)
        for s in body
        for x in every_node(s)
        if isinstance(x, ast.Attribute) and isinstance(x.ctx, ast.Store) and isinstance(x.value, ast.Name) and x.value.id == me
    ]
    return list(dict.fromkeys(name for _, _, name in sorted(result)))
