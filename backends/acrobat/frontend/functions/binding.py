"""The arguments of a call of the model's own functions: bound to their parameters, and converted to the annotated types."""

from __future__ import annotations

import ast
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from backends.acrobat import library
from backends.acrobat.core.types import DataT, ListT
from backends.acrobat.frontend.evaluator.callables.nested import as_argument, as_captured
from backends.acrobat.frontend.evaluator.choices.nones import takes_none
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused, defaults_of
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.spreading import bound, is_spread
from backends.acrobat.frontend.evaluator.lists.named_iterators import as_parameter
from backends.acrobat.frontend.evaluator.rewriting.outputs import given_back
from backends.acrobat.frontend.evaluator.syntax.hidden_names import visible
from backends.acrobat.frontend.instances.annotations import AnnotationError
from backends.acrobat.frontend.kinds import is_container, is_unknown, type_of
from backends.acrobat.frontend.source import LIFTED, source_of
from backends.acrobat.frontend.types import UNKNOWN, Mismatch, contains_unknown
from backends.acrobat.frontend.values import Dyn, Special, Static, Value, is_empty

if TYPE_CHECKING:
    from backends.acrobat.frontend.functions.table import Functions


class BoundCall:
    """One call of a Python function. `names` and `values` are its parameters and their arguments; after those of the source,
    from number `own` on, come the values that the function takes besides (`carried`). `changed` are the numbers of those whose
    new values the function gives back beside its result."""

    def __init__(self, program: Functions, f: Frame, node: ast.AST, function: types.FunctionType) -> None:
        self.program, self.f, self.node, self.function = program, f, node, function
        self.definition, self.file = source_of(function)
        self.of_library = function.__module__.startswith(library.__name__)
        self.called = self._written_name() if self.of_library else visible(self.definition.name)
        self.given: set[str] = set()  # the parameters that the call has arguments for
        self.always = given_back(function)  # names that the function assigns to by `nonlocal`
        self.names: list[str] = []
        self.values: list[Value] = []
        self.as_given: tuple[Value, ...] = ()  # `values` of the source's parameters, as the caller has them
        self.changed: list[int] = []
        self.own = 0
        self.uses: dict[str, bool] = {}  # what it takes besides, with whether it changes that, as the call was begun

    def _written_name(self) -> str:
        """The name by which the source calls the function."""
        match self.node:
            case ast.Call(ast.Name(found) | ast.Attribute(attr=found)):
                return found
        return visible(self.definition.name)

    def _bind(self, args: Sequence[Value], kwargs: dict[str, Value]) -> None:
        """Bind the arguments to the parameters, also those to `*args` and `**kwargs`. Raises Refused."""
        a = self.definition.args
        places = [*a.posonlyargs, *a.args]
        self.before, self.places = self._before_written(args), len(args)
        defaults, own = defaults_of(self.definition, self.function), len(places) + len(a.kwonlyargs)
        call = CallArguments(self.called, args, kwargs, self.before)
        names, values = bound(self.f, a, call, defaults, lambda v: as_argument(self.f, v, self.function))
        apart = a.vararg is None and any(map(is_spread, args))  # then all parameters have arguments
        self.given = {*names[: len(places) if apart else min(len(args), own)], *kwargs}
        seen = LIFTED[self.function].sees if self.function in LIFTED else frozenset()
        for i, v in enumerate(values[:own]):
            of_around = names[i] in seen
            values[i] = as_captured(self.f, v, self.always) if of_around else as_argument(self.f, v, self.function)
        self.names, self.values = names, values
        if not self.of_library:
            for i, (name, v) in enumerate(zip(names, values, strict=True)):
                values[i] = as_parameter(self.f, self.function, self.definition, name, v, self._argument_node(i))
        self.as_given = tuple(values)

    def _before_written(self, args: Sequence[Value]) -> int:
        """How many arguments come before those that the call has in brackets: one, the object, in a method's call."""
        if isinstance(self.node, ast.Call) and not any(isinstance(x, ast.Starred) for x in self.node.args):
            return max(0, len(args) - len(self.node.args))
        return int("." in self.function.__qualname__.rpartition("<locals>.")[2])  # a function that a class defines

    def _argument_node(self, i: int) -> ast.expr | None:
        """The expression that the call has for parameter number `i`; None if it has none."""
        at = i - self.before
        if not isinstance(self.node, ast.Call):
            return None
        if i == 0 and at < 0 and self.function.__name__ == "__call__":
            return self.node.func
        if at < 0:
            match self.node.func:
                case ast.Attribute(owner) | ast.Call(ast.Name("getattr"), [owner, *_]) if i == 0:  # `getattr(self, name)(x)`
                    return owner
            return None
        stars = [k for k, x in enumerate(self.node.args) if isinstance(x, ast.Starred)]
        if stars and at >= stars[0]:  # of one tuple the arguments behind it tell how long it is
            longer = self.places - self.before - len(self.node.args)
            known = len(stars) == 1 and stars[0] + longer < at <= len(self.node.args) - 1 + longer
            return self.node.args[at - longer] if known else None
        if at < len(self.node.args):
            return self.node.args[at]
        return next((k.value for k in self.node.keywords if k.arg == self.names[i]), None)

    def _annotate(self) -> None:
        """Convert the arguments to the types that the parameters' annotations say. Raises Refused, AnnotationError."""
        annotated = self.program.hints(self.function)
        for i, name in enumerate(self.names):
            if name in annotated:
                self.values[i] = self._accept(self.values[i], annotated[name], name)

    def _accept(self, value: Value, annotation: Any, name: str) -> Value:
        """An argument, converted to the type that its parameter's annotation says. An optional stays one, whatever that says,
        if the function asks whether it is None. Raises Refused, AnnotationError."""
        datatypes = self.program.datatypes
        if isinstance(value, Special) or (
            isinstance(value, Static) and not isinstance(value.value, (int, float, type(None), tuple))
        ):
            return value
        try:
            annotated = datatypes.resolve(annotation)
        except AnnotationError:
            if not datatypes.sampled:
                raise
            return value  # it names no type of the language, and a sample has told the types
        if isinstance(value, Dyn) and isinstance(value.type, ListT) and contains_unknown(value.type):
            wanted = self.f.as_annotated(annotated, value.type)
            return self.f.coerce(value, wanted) if not contains_unknown(wanted) else value
        if contains_unknown(annotated):
            return value
        have = getattr(value, "type", None)
        annotated = self.f.as_annotated(annotated, have)
        may_be_none = isinstance(have, DataT) and have.name in datatypes.optionals and have != annotated
        if may_be_none and takes_none(self.definition, name):
            return value
        try:
            return self.f.coerce(value, annotated)
        except Mismatch as error:
            raise Refused(f"the argument `{name}` of `{visible(self.definition.name)}`: {error}") from error

    def _learn_from_other_calls(self) -> None:
        """Give an empty list or dictionary the type that other calls give this parameter, and note the types of this call's."""
        if self.of_library:
            return
        for i, v in enumerate(self.values):
            if i in self.changed or not is_container(v):
                continue
            earlier = self.program.passed.setdefault((self.function, self.names[i]), {})
            if not is_unknown(v):
                self.program.changed |= UNKNOWN in earlier  # a call before this one could use it
                earlier.pop(UNKNOWN, None)
                earlier[type_of(v)] = None
            elif is_empty(v) and UNKNOWN not in earlier and len(same := [t for t in earlier if _may_be_empty(t, v)]) == 1:
                self.values[i] = self.f.coerce(v, same[0])
            elif not earlier:
                earlier[UNKNOWN] = None


def _may_be_empty(t: Any, v: Value) -> bool:
    """Whether an empty list, set or dictionary may be one of type `t`: a list is no tuple, set or tensor of rows."""
    have = type_of(v)
    return not isinstance(t, ListT) or not isinstance(have, ListT) or (t.rows, t.kind) == (have.rows, have.kind)
