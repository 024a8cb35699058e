"""Functions of the model: each is compiled once for each set of argument types."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from backends.acrobat import library
from backends.acrobat.core.messages import Messages
from backends.acrobat.core.span import Span
from backends.acrobat.core.types import INT, DataT, ListT, TupleT, Type
from backends.acrobat.errors import CompileError, Problem
from backends.acrobat.frontend.evaluator.arguments import CallArguments, Refused, defaults_of
from backends.acrobat.frontend.evaluator.conditions import class_key
from backends.acrobat.frontend.evaluator.desugar import gives_nothing, is_generator, plainly
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.indexed import by_place
from backends.acrobat.frontend.evaluator.kept import empty_dictionary
from backends.acrobat.frontend.evaluator.lists import as_result
from backends.acrobat.frontend.evaluator.mutation import place
from backends.acrobat.frontend.evaluator.nested import kept
from backends.acrobat.frontend.evaluator.nones import needs_value, opened, takes_none
from backends.acrobat.frontend.evaluator.outputs import changed_parameters, given_back
from backends.acrobat.frontend.evaluator.ownership import fresh, fresh_inside
from backends.acrobat.frontend.evaluator.picking import naming_parameters, picked
from backends.acrobat.frontend.evaluator.sizes import LONGEST, size_of
from backends.acrobat.frontend.evaluator.state import as_variables
from backends.acrobat.frontend.evaluator.syntax import HIDDEN, deep, root_of
from backends.acrobat.frontend.evaluator.tables import Exits
from backends.acrobat.frontend.instances.annotations import AnnotationError, Datatypes, hints
from backends.acrobat.frontend.instances.boundary import Symbols
from backends.acrobat.frontend.instances.observed import RecordOf
from backends.acrobat.frontend.reads import Reads
from backends.acrobat.frontend.source import LIFTED, closure, decorated, source_of, span_of, stripped
from backends.acrobat.frontend.types import (
    NEVER,
    NONE,
    UNASSIGNED,
    UNKNOWN,
    Mismatch,
    contains_held,
    contains_unknown,
    is_unassigned,
    join_types,
)
from backends.acrobat.frontend.values import (
    HELD,
    NOTHING,
    Dyn,
    Fixed,
    Held,
    Keywords,
    Narrowed,
    Placeholder,
    Special,
    Static,
    TupleV,
    Value,
    guess,
    held_in,
    is_container,
    is_empty,
    is_list,
    is_placeholder,
    is_unknown,
    known,
    retyped,
    type_of,
    type_or_none,
    unknown,
    variable_of,
)
from backends.acrobat.ir import nodes as n

LIBRARY = str(Path(library.__file__ or "").parent)


VERSIONS = 64
"""The most versions of a function that are compiled for different constants: a recursion that counts up would have no end."""


@dataclass(slots=True)
class Asked:
    """A user's call for which a library function is compiled; `first` is the first problem found there: (message, advice)."""

    first: tuple[str, str] | None = None


def written(node: ast.AST, name: str) -> str:
    """The name by which a call names its function; `name` if the call has none."""
    match node:
        case ast.Call(ast.Name(found) | ast.Attribute(attr=found)):
            return found
    return name


class Functions:
    """The functions compiled so far. Each round uses the types of results and fields that the one before has found."""

    def __init__(self, datatypes: Datatypes) -> None:
        self.datatypes = datatypes
        self.results: dict[Any, Any] = {}  # function key -> result type found so far
        self.problems: list[Problem] = []
        self.asked: Asked | None = None  # the user's call that the library is compiled for
        self.reads = Reads()
        self.changing: dict[Any, tuple[str, ...]] = {}  # function -> the parameters whose lists it changes
        self.gives_new: dict[Any, bool] = {}  # function key -> whether nothing else holds the list that it returns
        self.gives_deep: dict[Any, bool] = {}  # function key -> the same for all that is inside of its result
        self.versions: dict[Any, set[Any]] = {}  # function that needs constants for its numbers -> the keys of its versions
        self.stored: dict[tuple[type, str], Span] = {}  # attributes of modules that the model assigns to -> where
        self.step_by_step: set[tuple[str, int, int]] = set()  # expressions that change lists, by file, line and column
        self.kept: dict[str, Any] = {}  # dictionary of a field that the model writes on the instance's objects -> its type
        self.states: set[str] = set()  # those of `kept` that are attributes of modules, not dictionaries
        self.kept_fields: set[str] = set()  # the names of these fields
        self.kept_unions: set[str] = set()  # the unions of these objects
        # attributes of modules that the model assigns to and reads, as (class, name)
        self.state: set[tuple[type, str]] = set()
        self.touched: dict[Any, dict[str, bool]] = {}  # function -> such dictionaries that it uses, and whether it changes them
        self.entered: list[Any] = []  # the functions that are being compiled, from `forward` on
        self.definitions: dict[Any, ast.FunctionDef] = {}  # (function, class, attributes that are variables) -> syntax tree
        self.sizes: dict[Any, int] = {}  # function key -> how many elements the list that it returns always has, or 0
        self.factories: dict[str, Value] = {}  # functions that make the values for missing keys of a `defaultdict`, by place
        self.learnt: dict[Any, Any] = {}  # (function key, place in the source) -> the type of a list that is made there
        self.passed: dict[Any, dict[Any, None]] = {}  # (function, parameter) -> the types of the lists that calls give it
        self.grown: dict[Any, Any] = {}  # (function, parameter) -> the type of the list that it changes
        symbols = self.symbols = Symbols()
        # Executables keep `messages`, which must not refer to `self`: it would keep the module alive.
        self.messages = Messages(lambda number: symbols.values[number])
        self.reset()

    def reset(self) -> None:
        """Begin a round. Problems of the round before are dropped: they may come from types that were not complete then."""
        self.problems = []
        self.functions: dict[Any, n.Function | None] = {}
        self.refused: dict[Any, tuple[str, str]] = {}  # key of a library function -> the problem of its calls
        self.names: dict[str, Any] = {}
        self.key_names: dict[Any, str] = {}
        self.partial: set[Any] = set()  # keys of functions that lack types in this round
        self.incomplete = False  # whether the function that is compiled now lacks types
        self.lost: Problem | None = None  # a loop that could not be compiled in this round
        self.changed = False
        self.datatypes.changed = False

    def problem(self, problem: Problem) -> None:
        """Note a problem. Of those found in the library the first is reported, at the user's call; others follow from it."""
        asked = self.asked
        if asked is not None and problem.span.file.startswith(LIBRARY):
            asked.first = asked.first or (problem.message, problem.advice)
            return
        if problem not in self.problems:
            self.problems.append(problem)

    def _on_behalf(self, name: str, key: Any, work: Callable[[], None]) -> None:
        """Run `work`, which compiles the library function with this key for a call in the user's source. A problem found there
        is kept in `refused`, for this call and each other call with the same key; its text names the function as `name`."""
        if self.asked is not None:
            work()
            return
        self.asked = asked = Asked()
        try:
            work()
        finally:
            self.asked = None
        if asked.first is not None:
            message, advice = asked.first
            self.refused[key] = (message if name in message else f"`{name}`: {message}", advice)

    def wrap(self, value: Any) -> Value:
        """The value of a global or closure variable of the source."""
        raise NotImplementedError

    def tensor_name(self, t: Any, name: str) -> str:
        """The first name of a parameter or buffer in the model; `name` for a tensor that is not part of the model."""
        raise NotImplementedError

    def annotation(self, f: Frame, node: ast.expr) -> Any:
        try:
            value = eval(compile(ast.Expression(node), f.file, "eval"), dict(f.namespace))
        except Exception as error:
            raise AnnotationError(f"the annotation cannot be evaluated: {error}") from error
        return self.datatypes.resolve(value)

    # ---- fields that the model writes on objects of the instance (`evaluator/kept.py`)

    def keeps(self, name: str, union: str, field: str, classes: Sequence[type]) -> None:
        """Note that the function that is compiled writes a field of objects of a union's classes."""
        self.touches(name, True)
        if name not in self.kept:
            self.changed = True
            self.kept_unions.add(union)
            self.kept[name] = UNKNOWN
            self.kept_fields.add(field)
            self.datatypes.forget_none(classes, field)

    def touches(self, name: str, writes: bool) -> None:
        """Note that the function that is compiled reads the dictionary of such a field, or changes it."""
        uses = self.touched.setdefault(self.entered[-1], {})
        if uses.get(name) is not True and uses.get(name) is not writes:
            uses[name] = writes
            self.changed = True

    def is_kept(self, field: str) -> bool:
        """Whether the model writes a field of this name on objects of the instance."""
        return field in self.kept_fields

    def writes(self) -> list[str]:
        """The dictionaries of such fields that the function that is compiled changes."""
        return [name for name, changes in self.touched.get(self.entered[-1], {}).items() if changes]

    # ---- attributes of modules that the model assigns to and reads (`evaluator/state.py`)

    def state_of(self, module: Any, name: str) -> str:
        """The name in functions' scopes of an attribute of a module that the model assigns to and reads; "" for others."""
        if not any((cls, name) in self.state for cls in type(module).__mro__):
            return ""
        path = self.path_of(module)
        variable = f"{HIDDEN}{name}_of_{path.replace('.', '_') or 'model'}"
        self.kept.setdefault(variable, UNKNOWN)
        self.states.add(variable)
        return variable

    def is_state(self, variable: str) -> bool:
        """Whether a name in functions' scopes is that of such an attribute."""
        return variable in self.states

    def path_of(self, module: Any) -> str:
        """The name of a module in the model."""
        raise NotImplementedError

    def attributes_of(self, module: Any) -> dict[str, str]:
        """The attributes of a module that the model assigns to and reads, with their names in functions' scopes."""
        names = {name for cls, name in self.state if isinstance(module, cls)}
        return {name: self.state_of(module, name) for name in sorted(names)}

    def learn_state(self, f: Frame, variable: str, value: Value) -> None:
        """Note the type of a value that is assigned to such an attribute."""
        t = type_or_none(value)
        if t is None or contains_unknown(t) or t in (UNASSIGNED, NEVER):
            return
        t = self.datatypes.optionals[t.name] if is_unassigned(t) else t
        together = f.common([self.kept[variable], t], numbers=True)
        if together != self.kept[variable]:
            self.kept[variable] = together
            self.changed = True

    def handed_on(self, f: Frame, variable: str) -> Value:
        """The value of a kept field or of such an attribute, as functions take and give it: an attribute may have none yet."""
        value = f.env[variable]
        if variable not in self.states:
            return value
        t = self.datatypes.unassigned(self.kept[variable])
        if contains_unknown(t):
            return value if is_container(value) else guess(t)
        return guess(t) if is_unknown(value) and not is_empty(value) else f.coerce(value, t)

    # ---- calls

    def call(self, f: Frame, node: ast.AST, function: Any, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
        """The value of a call of a Python function, which is compiled first where it was not yet. Raises Refused."""
        function = stripped(function)
        if not isinstance(function, types.FunctionType):
            return f.problem(node, f"a {type(function).__name__} cannot be compiled", "write a method or a function")
        definition, file = source_of(function)
        a = definition.args
        if strange := decorated(definition):
            return f.problem(node, strange, "write what it does into the function")
        places = [*a.posonlyargs, *a.args]
        names = [x.arg for x in (*places, *a.kwonlyargs)]
        defaults = defaults_of(definition, function)
        implicit = int("self" in names[:1])
        of_library = function.__module__.startswith(library.__name__)
        called = written(node, definition.name) if of_library else definition.name
        rest, others = list(args[len(places) :]), {k: v for k, v in kwargs.items() if k not in names}
        if a.vararg or a.kwarg:
            args = args[: len(places)] if a.vararg else args
            kwargs = {k: v for k, v in kwargs.items() if k in names} if a.kwarg else kwargs
        if (
            any(isinstance(v, Held) and v.kind == "spread" for v in (*args, *rest[:-1]))
            or len(args) < len(places)
            and any(isinstance(v, Held) and v.kind == "spread" for v in rest)
        ):
            raise Refused(HELD["spread"], "take the list apart first")
        values = CallArguments(called, args, kwargs, implicit).bind(*names, **defaults)
        values = [kept(f, v) if function not in LIFTED or i < len(places) else v for i, v in enumerate(values)]
        if a.vararg:
            listed = rest[0].value if len(rest) == 1 and isinstance(rest[0], Held) and rest[0].kind == "spread" else None
            if listed is None and any(isinstance(v, Held) and v.kind == "spread" for v in rest):
                raise Refused(HELD["spread"], "give all of it as one list")
            names.append(a.vararg.arg)
            values.append(listed if listed is not None else TupleV(tuple(kept(f, v) for v in rest)))
        if a.kwarg:
            names.append(a.kwarg.arg)
            values.append(Keywords(tuple((k, kept(f, v)) for k, v in others.items())))
        try:
            annotated = hints(function)
            for i, name in enumerate(names):
                if name in annotated:
                    asks = takes_none(definition, name)
                    values[i] = self._accept(f, values[i], annotated[name], definition.name, name, asks)
        except AnnotationError as error:
            self.problem(Problem(span_of(definition, file), str(error)))
            return unknown()
        for i, v in enumerate(values):  # None is an error at once: then the function is compiled for what there is otherwise
            if isinstance(v, Dyn) and not f.mixed(v.type) and needs_value(definition, names[i]):
                values[i] = opened(f, node, v, f"`{names[i]}` of `{called}` needs a value")
        owner = _owner(values)
        part = picked(definition) if isinstance(values[0] if values else None, Special) else None
        if part is not None:
            with f.in_function(function, file, dict(zip(names, values, strict=True))):
                return f.expression(part)
        inout = [names.index(name) for name in changed_parameters(function, owner, self.changing)]
        always = given_back(function)
        inout = [i for i in inout if self._can_change(values[i]) or names[i] in always]
        self._keep_seen(f, node, implicit, names, [i for i in inout if names[i] not in always], values)
        inout = [i for i in inout if self._can_change(values[i]) or names[i] in always]
        for i in inout:
            known_type = self.grown.get((function, names[i]))
            if known_type is not None and is_unknown(values[i]):
                values[i] = f.coerce(values[i], known_type)
        for i, v in enumerate(values):  # an empty list or dictionary has the type that other calls give this parameter
            if not of_library and i not in inout and is_container(v):
                seen = self.passed.setdefault((function, names[i]), {})
                if not is_unknown(v):
                    self.changed |= UNKNOWN in seen  # a call before this one could use it
                    seen.pop(UNKNOWN, None)
                    seen[type_of(v)] = None
                elif is_empty(v) and len(seen) == 1 and UNKNOWN not in seen:
                    values[i] = f.coerce(v, next(iter(seen)))
                elif not seen:
                    seen[UNKNOWN] = None
        fields = {} if of_library else dict(self.touched.get(function, {}))
        for x, changes in fields.items():
            self.touches(x, changes)
        if any(x not in f.env for x in fields):  # the caller has them from the next round on
            self.incomplete = True
            return unknown()
        own = len(values)
        inout += [own + i for i, changes in enumerate(fields.values()) if changes]
        names, values = [*names, *fields], [*values, *(self.handed_on(f, x) for x in fields)]
        unsure = [v for i, v in enumerate(values) if i not in inout and is_unknown(v)]
        if unsure and (of_library or not all(map(is_container, unsure))):
            return (
                unknown()
            )  # of lists it is compiled as for empty ones, which is how a recursion ends: the result's type follows
        if of_library:  # PyTorch's flags and dimensions decide what is compiled
            values = [fixed(v) for v in values]
        elif named := naming_parameters(function):
            values = [fixed(v) if name in named else v for name, v in zip(names, values, strict=True)]
        if inout and is_generator(definition):
            what = f"the generator `{definition.name}` changes a list that it is given, or sees, while it is walked over"
            raise Refused(what, "build a list, and return it")
        depends = () if not inout else (self._deep_for(f, node, implicit, names, [i for i in inout if i < own]),)
        if function in self.versions and (all_fixed := self._version(function, values, depends)) is not None:
            values = all_fixed
        key = (*self.key(function, values), *depends)
        if key not in self.functions:
            if of_library:
                self._on_behalf(called, key, lambda: self.compile(key, function, values))
            else:
                asked, self.asked = self.asked, None
                noted, incomplete = len(self.problems), self.incomplete
                self.compile(key, function, values)
                if len(self.problems) > noted and function not in self.versions and function not in self.entered:
                    self.versions[function] = set()
                    if (all_fixed := self._version(function, values, depends)) is not None:
                        del self.problems[noted:]
                        self.incomplete, values = incomplete, all_fixed
                        key = (*self.key(function, values), *depends)
                        self.compile(key, function, values)
                self.asked = asked
        for x, changes in self.touched.get(function, {}).items() if not of_library else ():
            self.touches(x, changes)  # as the function does that calls it
        if key in self.refused:
            return f.problem(node, *self.refused[key])
        result = self.results.get(key, UNKNOWN)
        self.incomplete |= key in self.partial
        if any(is_unknown(values[i]) for i in inout):  # it was compiled to find the type of the list only
            self.incomplete = True
            self._give_back(
                f,
                node,
                implicit,
                names,
                {i: guess(self.grown.get((function, names[i]), UNKNOWN)) for i in inout},
                {names.index(x) for x in always},
                own,
            )
            return guess(result.items[0]) if isinstance(result, TupleT) and not contains_unknown(result.items[0]) else unknown()
        if contains_unknown(result) or unsure:
            self.incomplete = True
            if contains_unknown(result):
                return unknown()
            return self._sized(f, key, Dyn(Placeholder(f.names.fresh("later"), result)))
        if result is NEVER:  # the function always raises an error
            atoms = [atom for v in values for atom in self._flatten(f, v)]
            return retyped(f.bind(n.Call(self._name(key), tuple(atoms), INT, span=f.span), definition.name), NEVER)
        atoms = [atom for v in values for atom in self._flatten(f, v)]
        made = f.bind(n.Call(self._name(key), tuple(atoms), result, span=f.span), definition.name)
        first, *lists = [made] if not inout else f.components(made) or []
        self._sized(f, key, first)
        if self.gives_new.get(key) and isinstance(first, Dyn):
            f.new_lists.add(getattr(first.atom, "name", ""))
            if self.gives_deep.get(key):
                f.new_lists.add(deep(getattr(first.atom, "name", "")))
        if not inout:
            return Static(None) if gives_nothing(definition) else made
        self._give_back(f, node, implicit, names, dict(zip(inout, lists, strict=True)), {names.index(x) for x in always}, own)
        return Static(None) if gives_nothing(definition) else first

    def _sized(self, f: Frame, key: Any, result: Value) -> Value:
        """The result of a call. How many elements it has is noted, if it is a list of which that is known."""
        if isinstance(result, Dyn) and is_list(result) and 0 < self.sizes.get(key, 0) <= LONGEST:
            f.sizes[variable_of(result)] = self.sizes[key]
        return held_in(result) if isinstance(result, Dyn) else result

    def _as_compiled(
        self, function: types.FunctionType, definition: ast.FunctionDef, owner: type | None, attributes: dict[str, str]
    ) -> ast.FunctionDef:
        """The syntax tree that is compiled for a function, the same in all rounds: lambdas in it are parts of keys."""
        key = (function, owner, tuple(attributes.items()))
        if key not in self.definitions:
            made = by_place(plainly(definition), function, owner, self.changing)
            self.definitions[key] = as_variables(made, attributes) if attributes else made
        return self.definitions[key]

    def _version(self, function: Any, values: Sequence[Value], depends: tuple[Any, ...]) -> list[Value] | None:
        """The arguments with those numbers that are known at compile time as constants, for a function that cannot be compiled
        for numbers known at run time only. None if there are none, or if the function has `VERSIONS` versions already."""
        constants = [fixed(v) for v in values]
        if not any(isinstance(v, Fixed) for v in constants):
            return None
        key, versions = (*self.key(function, constants), *depends), self.versions[function]
        if key not in versions and len(versions) == VERSIONS:
            return None
        versions.add(key)
        return constants

    def _can_change(self, value: Value) -> bool:
        """Whether a value may be changed in place: a list, set or dictionary, or an object of one class."""
        union = value.type.name if isinstance(value, Dyn) and isinstance(value.type, DataT) else ""
        return is_container(value) or union in self.datatypes.cases and union not in self.kept_unions

    def _keep_seen(
        self, f: Frame, node: ast.AST, implicit: int, names: Sequence[str], inout: Sequence[int], values: Sequence[Value]
    ) -> None:
        """Note of arguments that a function changes those that are objects of the instance, which other objects may refer to:
        from here on the values of their fields are kept beside them (`evaluator/kept.py`)."""
        for i in inout:
            t = type_or_none(values[i])
            if isinstance(t, DataT) and self._of_sample(t.name) and not self._alone(f, node, implicit, names, i):
                self.kept_unions.add(t.name)
                self.changed = self.incomplete = True

    def _alone(self, f: Frame, node: ast.AST, implicit: int, names: Sequence[str], i: int) -> bool:
        """Whether nothing but the expression that a call has for parameter number `i` refers to its value."""
        written = self._written(node, i - self._offset(node, implicit), names[i])
        name = None if written is None else root_of(written)
        return name in f.owned_arguments and (isinstance(written, ast.Name) or deep(str(name)) in f.owned_arguments)

    def _of_sample(self, union: str) -> bool:
        """Whether all classes of a union are ordinary ones, of the sample."""
        classes = self.datatypes.cases.get(union, ())
        return bool(classes) and all(c in self.datatypes.seen and not issubclass(c, (RecordOf, tuple)) for c in classes)

    def _written(self, node: ast.AST, at: int, name: str) -> ast.expr | None:
        """The expression that a call has for parameter `name`, argument number `at`; -1 is the object of a method's call."""
        if not isinstance(node, ast.Call):
            return None
        if at < 0:
            return node.func.value if isinstance(node.func, ast.Attribute) else None
        if at < len(node.args):
            return node.args[at]
        return next((k.value for k in node.keywords if k.arg == name), None)

    def _deep_for(self, f: Frame, node: ast.AST, implicit: int, names: Sequence[str], inout: Sequence[int]) -> frozenset[str]:
        """The parameters among `inout` whose list or object has one name only, and whose inside is held by nothing else."""
        offset = self._offset(node, implicit)
        found = set()
        for i in inout:
            written = self._written(node, i - offset, names[i])
            name = None if written is None else root_of(written)
            if name is not None and deep(name) in f.owned_arguments:
                found.add(names[i])
        return frozenset(found)

    def _offset(self, node: ast.AST, implicit: int) -> int:
        """How many parameters come before those for which the call has arguments: one for `self` in a method's call."""
        return implicit if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else 0

    def _give_back(
        self, f: Frame, node: ast.AST, implicit: int, names: Sequence[str], lists: dict[int, Value], always: set[int], own: int
    ) -> None:
        """Give the caller's names the lists that the callee has changed, by the index of the parameter. The parameters in
        `always` are names that the callee assigns to by `nonlocal`; those from number `own` on are dictionaries of fields,
        whose names are the same in all functions. Raises Refused if something else may hold the list."""
        for i in [i for i in lists if i >= own]:
            f.keep(names[i], lists.pop(i))
        if not lists:
            return
        if not isinstance(node, ast.Call):
            raise Refused("a function that changes a list it is given is called by name here")
        offset = self._offset(node, implicit)
        for i, value in lists.items():
            written = self._written(node, i - offset, names[i])
            name = None if written is None else root_of(written)
            if written is None or name is None:
                if written is not None and isinstance(written, ast.Call) and not fresh(f, written, None):
                    raise Refused("this call changes what another call gives", "give that a name first")
                continue  # the list was made for this call and has no name here
            whole = isinstance(written, ast.Name)
            if i not in always and (name not in f.owned_arguments or not whole and deep(name) not in f.owned_arguments):
                what = (
                    f"this call changes a list or an object that may be seen under another name than `{ast.unparse(written)}`"
                )
                raise Refused(what, f"give it a list of its own: `{name} = list({name})`" if whole else "make a copy first")
            if isinstance(value, Dyn) and value.type == UNKNOWN:
                continue
            if whole:
                kept = {name, deep(name)} & f.owned_arguments
                f.rebind(name, value)
                f.owned |= kept
                f.mutated.add(name)
                continue
            f.owned |= {name, deep(name)}
            found = place(f, node, written, "this call")
            if found is not None:
                found[0].put(value)

    def _accept(self, f: Frame, value: Value, annotation: Any, function: str, name: str, asks: bool) -> Value:
        """An argument, converted to the type that the parameter's annotation says. An optional stays one, whatever that says,
        if the function `asks` whether it is None. Raises Refused, AnnotationError."""
        if isinstance(value, Special) or (
            isinstance(value, Static) and not isinstance(value.value, (int, float, type(None), tuple))
        ):
            return value
        try:
            wanted = self.datatypes.resolve(annotation)
        except AnnotationError:
            if not self.datatypes.seen:
                raise
            return value  # it names no type of the language, and a sample has told the types
        if isinstance(value, Dyn) and isinstance(value.type, ListT) and contains_unknown(value.type):
            return f.coerce(value, wanted) if not contains_unknown(wanted) else value
        if contains_unknown(wanted):
            return value
        have = getattr(value, "type", None)
        if asks and isinstance(have, DataT) and have.name in self.datatypes.optionals and have != wanted:
            return value
        try:
            return f.coerce(value, wanted)
        except Mismatch as error:
            raise Refused(f"the argument `{name}` of `{function}`: {error}") from error

    def key(self, function: Any, values: Sequence[Value]) -> Any:
        return (function, tuple(self._signature(v) for v in values))

    def _signature(self, value: Value) -> Any:
        """The key of an argument: calls of a function with equal keys share one compiled function. Raises Mismatch."""
        match value:
            case Fixed(v):
                return ("fixed", type(v), v)
            case Dyn():
                return value.type
            case TupleV(items):
                return ("tuple", *(self._signature(v) for v in items))
            case Static(v):
                # Numbers become parameters, so that a loop's counter does not make a function per value.
                if isinstance(v, (bool, int, float)):
                    return type_of(value)
                return "static", type(v), v if isinstance(v, Hashable) else id(v)
            case Special():
                key = value.signature(self._signature)
                module = value.python_object
                if self.state and isinstance(module, nn.Module) and any(map(self.attributes_of, module.modules())):
                    return key, id(module)  # functions are not shared by modules with attributes of their own
                return key

    def _flatten(self, f: Frame, value: Value) -> list[n.Atom]:
        """The operands that a call passes for an argument, one for each parameter that `_parameter` makes."""
        match value:
            case Fixed():
                return []
            case TupleV(items):
                return [a for v in items for a in self._flatten(f, v)]
            case Static(v) if not isinstance(v, (bool, int, float)):
                return []
            case Special():
                return value.operands(partial(self._flatten, f))
        return [f.atom(value)]

    def _parameter(self, f: Frame, value: Value, name: str, params: list[n.Var]) -> Value:
        """The value that the called function has for an argument; the parameters that hold it are added to `params`."""

        def weight(tensor: str, type: Type) -> n.Var:
            params.append(n.Var(f.names.fresh(f"{name}.{tensor}"), type))
            f.weights.add(params[-1].name)
            return params[-1]

        match value:
            case Fixed(v):
                return Static(v)
            case TupleV(items):
                return TupleV(tuple(self._parameter(f, v, f"{name}_{i}", params) for i, v in enumerate(items)))
            case Static(v) if not isinstance(v, (bool, int, float)):
                return value
            case Special():
                return value.parameter(lambda inner: self._parameter(f, inner, name, params), weight)
        params.append(n.Var(f.names.fresh(name), type_of(value)))
        return Dyn(params[-1])

    def _name(self, key: Any) -> str:
        if key not in self.key_names:
            base = key[0].__qualname__.split("<locals>.")[-1]
            name, k = base, 1
            while name in self.names:
                k += 1
                name = f"{base}_{k}"
            self.names[name] = key
            self.key_names[key] = name
        return self.key_names[key]

    # ---- functions

    def compile(self, key: Any, function: types.FunctionType, values: Sequence[Value]) -> None:
        """Compile a function for these arguments: enters its code in `functions` and the type of its result in `results`."""
        outer, self.incomplete = self.incomplete, False
        self.entered.append(function)
        self._compile_body(key, function, values)
        self.entered.pop()
        if self.incomplete:
            self.partial.add(key)
        self.incomplete |= outer

    def _compile_body(self, key: Any, function: types.FunctionType, values: Sequence[Value]) -> None:
        self.functions[key] = None
        definition, file = source_of(function)
        span = span_of(definition, file)
        f = Frame(self, file, function.__globals__ | closure(function), definition.name)
        owner = _owner_module(values)
        attributes = {} if owner is None else self.attributes_of(owner)
        f.definition = self._as_compiled(function, definition, _owner(values), attributes)
        f.key = key
        f.function = LIFTED[function].outer if function in LIFTED else function
        params: list[n.Var] = []
        written = definition.args
        starred = [x for x in (written.vararg, written.kwarg) if x is not None]
        arguments = [*written.posonlyargs, *written.args, *written.kwonlyargs, *starred]
        fields = dict(self.touched.get(function, {})) if len(values) > len(arguments) else {}
        used = {x.id for x in ast.walk(f.definition) if isinstance(x, ast.Name)} if attributes else set()
        for variable in used.intersection(attributes.values()):
            self.touches(variable, True)  # from the next round on the callers hand it over
        for a, v in zip(arguments, values, strict=False):
            given = self._parameter(f, v, a.arg, params)
            if isinstance(given, Narrowed):
                f.env[class_key(a.arg)] = Static(given.cls)
                given = given.value
            f.env[a.arg] = given
        for x, v in zip(fields, values[len(arguments) :], strict=True):
            f.env[x] = self._parameter(f, v, x.lstrip(HIDDEN), params)
        if len(self.entered) == 1:
            f.env |= {x: NOTHING if x in self.states else empty_dictionary(f, t) for x, t in self.kept.items()}
        always = given_back(function)
        changed = changed_parameters(function, _owner(values), self.changing)
        inout = [p for p in changed if self._can_change(f.env[p]) or p in always]
        f.owned |= {p for p in inout if self._can_change(f.env[p])}
        f.owned |= {deep(p) for p in inout if key[2:] and p in key[2]}
        f.owned |= {y for x in fields for y in (x, deep(x))}
        inout += [x for x, changes in fields.items() if changes]
        speculative = any(is_unknown(v) for v in f.env.values() if is_container(v))
        self.incomplete |= speculative
        try:
            annotated = hints(function)
            wanted = (
                self.datatypes.resolve(annotated["return"])
                if annotated.get("return", type(None)) is not type(None)
                else UNKNOWN
            )
        except AnnotationError as error:
            if not self.datatypes.seen:
                self.problem(Problem(span, str(error)))
            wanted = UNKNOWN

        before = self.results.get(key, UNKNOWN)
        if inout and isinstance(before, TupleT):
            before = before.items[0]
        try:
            f.result = join_types(wanted, before)
        except Mismatch:
            f.result = wanted

        self.gives_new[key] = True
        self.gives_deep.pop(key, None)
        sizes: set[int] = set()  # of the lists that are returned; 0 where that is not known
        nothing = gives_nothing(definition)

        def returns(at: ast.AST, value: Value) -> Value:
            match at:
                case ast.Return(ast.List() | ast.ListComp() | ast.BinOp() | ast.Call() as made) if fresh(f, made, value):
                    deeply = fresh_inside(f, made, type_or_none(value))
                case ast.Return(ast.Name(name)) if name in f.owned and name not in inout:
                    deeply = deep(name) in f.owned
                case _:
                    self.gives_new[key] = deeply = False
            self.gives_deep[key] = self.gives_deep.get(key, True) and deeply
            value = returned(at, value)
            sizes.add((size_of(f, value) or 0) if is_list(value) else 0)
            if not inout:
                return value
            for p in inout:
                t = type_or_none(f.env[p])
                if t is not None and not contains_unknown(t) and self.grown.get((function, p)) != t:
                    self.grown[function, p] = t
                    self.changed = True
            return TupleV((value, *(self.handed_on(f, p) if p in fields else f.env[p] for p in inout)))

        def returned(at: ast.AST, value: Value) -> Value:
            if nothing and function is not self.entered[0]:
                return Static(0)  # stands for None, which the program has no type for; callers do not use it
            try:
                value = as_result(f, value) if key == self.names.get("forward") else value
                if key == self.names.get("forward") and (kind := contains_held(type_of(value))):
                    raise Mismatch(HELD[kind])
                if contains_unknown(wanted) and not (is_list(value) and is_unknown(value)):
                    return value
                return f.coerce(value, wanted)
            except Mismatch as error:
                return f.problem(at, f"the result of `{definition.name}`: {error}")

        def falls() -> Value:
            if nothing and function is not self.entered[0]:
                return returns(definition, Static(None))
            if f.unmatched is not None:
                statement, case = f.unmatched
                return f.problem(statement, f"this `match` has no case for {case}", "add one, or `case _:`")
            return f.problem(
                span_of(definition.body[-1], file),
                f"`{definition.name}` can end here without `return`",
                "return a value on every path",
            )

        try:
            value = f.value_of(f.definition.body, Exits(falls, returns))
        except CompileError:
            raise
        except Exception as error:
            error.add_note(f"while compiling `{definition.name}`, {file}:{f.span.line}")
            raise
        size = sizes.pop() if len(sizes) == 1 else 0
        if self.sizes.setdefault(key, size) != size:  # a recursion has used another one
            self.changed |= self.sizes[key] != 0
            self.sizes[key] = 0
        old = self.results.get(key, UNKNOWN)
        try:
            found = type_of(value)
            if found is NONE:
                found = UNKNOWN
            result = join_types(old, found, numbers=True)
        except Mismatch as error:
            self.problem(Problem(span, f"the result of `{definition.name}`: {error}"))
            return
        if result != old:
            self.results[key] = result
            self.changed = True
        if speculative:
            return
        if contains_unknown(result) or is_placeholder(value):
            self.incomplete = True
            return
        body = f.builder.finish(f.try_atom(f.coerce(value, result), definition))
        self.functions[key] = n.Function(self._name(key), tuple(params), INT if result is NEVER else result, body, span=span)


def fixed(value: Value) -> Value:
    """An argument, as for a library function: as a constant if it is a number, or a tuple of numbers, known at compile time."""
    if isinstance(known(value)[1], (bool, int, float)):
        return Fixed(known(value)[1])
    if isinstance(value, TupleV) and value.items and all(isinstance(known(v)[1], (bool, int, float)) for v in value.items):
        return Static(tuple(known(v)[1] for v in value.items))
    return value


def _owner_module(values: Sequence[Value]) -> Any:
    """The first argument, if that is a module: the method belongs to it."""
    owner = values[0].python_object if values and isinstance(values[0], Special) else None
    return owner if isinstance(owner, nn.Module) else None


def _owner(values: Sequence[Value]) -> Any:
    """The class of the first argument, if that is a module: the method belongs to it."""
    return type(values[0].python_object) if values and isinstance(values[0], Special) else None
