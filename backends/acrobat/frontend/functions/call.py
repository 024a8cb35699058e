"""Calls of the model's own functions: binding the arguments, finding the compiled function, and using what it gives."""

from __future__ import annotations

import ast
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from backends.acrobat import library
from backends.acrobat.core.types import INT, DataT, ListT, TupleT
from backends.acrobat.errors import CompileError, Problem
from backends.acrobat.frontend.evaluator.arguments import CallArguments, Refused, defaults_of
from backends.acrobat.frontend.evaluator.desugar import gives_nothing, is_generator
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.mutation import place
from backends.acrobat.frontend.evaluator.nested import kept
from backends.acrobat.frontend.evaluator.nones import needs_value, opened, takes_none
from backends.acrobat.frontend.evaluator.outputs import changed_parameters, given_back
from backends.acrobat.frontend.evaluator.ownership import changeable, fresh
from backends.acrobat.frontend.evaluator.picking import naming_parameters, picked
from backends.acrobat.frontend.evaluator.sizes import LONGEST
from backends.acrobat.frontend.evaluator.spreading import is_spread, taken_apart
from backends.acrobat.frontend.evaluator.state import root_in_scope
from backends.acrobat.frontend.evaluator.syntax import claims, deep, root_of, spine
from backends.acrobat.frontend.functions.signatures import class_of, fixed, operands, owner_of
from backends.acrobat.frontend.instances.annotations import AnnotationError, hints
from backends.acrobat.frontend.instances.observed import RecordOf
from backends.acrobat.frontend.source import LIFTED, source_of, span_of
from backends.acrobat.frontend.specials import Keywords
from backends.acrobat.frontend.types import NEVER, UNKNOWN, Mismatch, contains_unknown
from backends.acrobat.frontend.values import (
    HELD,
    NOTHING,
    Dyn,
    EmptyPlaceholder,
    Held,
    Placeholder,
    Special,
    Static,
    TupleV,
    Value,
    guess,
    held_in,
    is_array,
    is_container,
    is_empty,
    is_list,
    is_unknown,
    retyped,
    type_of,
    type_or_none,
    unknown,
    variable_of,
)
from backends.acrobat.ir import nodes as n

if TYPE_CHECKING:
    from backends.acrobat.frontend.functions.table import Functions

DEEPEST = 80
"""The most calls of a function that are compiled one inside of the other, each for arguments of other types.
More than `table.VERSIONS`, which is how many there may be for other constants."""


class FunctionCall:
    """One call of a Python function. `names` and `values` are its parameters and their arguments; after those of the source,
    from number `own` on, come the values that the function takes besides (`carried`). `changed` are the numbers of those whose
    new values the function gives back beside its result."""

    def __init__(self, program: Functions, f: Frame, node: ast.AST, function: types.FunctionType) -> None:
        self.program, self.f, self.node, self.function = program, f, node, function
        self.definition, self.file = source_of(function)
        self.of_library = function.__module__.startswith(library.__name__)
        self.called = self._written_name() if self.of_library else self.definition.name
        self.given: set[str] = set()  # the parameters that the call has arguments for
        self.always = given_back(function)  # names that the function assigns to by `nonlocal`
        self.names: list[str] = []
        self.values: list[Value] = []
        self.as_given: tuple[Value, ...] = ()  # `values` of the source's parameters, as the caller has them
        self.changed: list[int] = []
        self.own = 0

    def value(self, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
        """What the call gives; the function is compiled first where it was not yet. Raises Refused."""
        self._bind(args, kwargs)
        try:
            self._annotate()
        except AnnotationError as error:
            self.program.problem(Problem(span_of(self.definition, self.file), str(error)))
            return unknown()
        for i, v in enumerate(self.values):  # None is an error at once: then it is compiled for what there is otherwise
            if isinstance(v, Dyn) and not self.f.mixed(v.type) and needs_value(self.definition, self.names[i]):
                self.values[i] = opened(self.f, self.node, v, f"`{self.names[i]}` of `{self.called}` needs a value")
        part = picked(self.definition) if isinstance(self.values[0] if self.values else None, Special) else None
        if part is not None:
            with self.f.in_function(self.function, self.file, dict(zip(self.names, self.values, strict=True))):
                return self.f.expression(part)
        self._find_changed()
        self._learn_from_other_calls()
        if not self._add_carried():
            self.program.incomplete = True
            return unknown()
        unsure = [v for i, v in enumerate(self.values) if i not in self.changed and is_unknown(v)]
        if unsure and (self.of_library or not all(map(is_container, unsure))):
            # Of lists it is compiled as for empty ones, which is how a recursion ends: the result's type follows.
            return unknown()
        self._refuse_seen_twice()
        if self.changed and is_generator(self.definition):
            name = self.definition.name
            what = f"the generator `{name}` changes a list that it is given, or sees, while it is walked over"
            raise Refused(what, "build a list, and return it")
        return self._result(self._compiled(), bool(unsure))

    def _written_name(self) -> str:
        """The name by which the source calls the function."""
        match self.node:
            case ast.Call(ast.Name(found) | ast.Attribute(attr=found)):
                return found
        return self.definition.name

    # ---- arguments

    def _bind(self, args: Sequence[Value], kwargs: dict[str, Value]) -> None:
        """Bind the arguments to the parameters, also those to `*args` and `**kwargs`. Raises Refused."""
        a = self.definition.args
        places = [*a.posonlyargs, *a.args]
        names = [x.arg for x in (*places, *a.kwonlyargs)]
        self.before = self._before_written(args)
        defaults = defaults_of(self.definition, self.function)
        if a.vararg is None:
            args = taken_apart(self.f, args, [x.arg for x in places], kwargs, defaults)
        self.given = {*names[: len(args)], *kwargs}
        rest, others = list(args[len(places) :]), {k: v for k, v in kwargs.items() if k not in names}
        if a.vararg or a.kwarg:
            args = args[: len(places)] if a.vararg else args
            kwargs = {k: v for k, v in kwargs.items() if k in names} if a.kwarg else kwargs
        if any(map(is_spread, (*args, *rest[:-1]))) or len(args) < len(places) and any(map(is_spread, rest)):
            raise Refused(HELD["spread"], "take the list apart first")
        values = CallArguments(self.called, args, kwargs, self.before).bind(*names, **defaults)
        lifted = self.function in LIFTED
        values = [kept(self.f, v) if not lifted or i < len(places) else v for i, v in enumerate(values)]
        if a.vararg:
            listed = rest[0].value if len(rest) == 1 and isinstance(rest[0], Held) and rest[0].kind == "spread" else None
            if listed is None and any(map(is_spread, rest)):
                raise Refused(HELD["spread"], "give all of it as one list")
            names.append(a.vararg.arg)
            values.append(listed if listed is not None else TupleV(tuple(kept(self.f, v) for v in rest)))
        if a.kwarg:
            names.append(a.kwarg.arg)
            values.append(Keywords(tuple((k, kept(self.f, v)) for k, v in others.items())))
        self.names, self.values, self.as_given = names, values, tuple(values)

    def _before_written(self, args: Sequence[Value]) -> int:
        """How many arguments come before those that the call has in brackets: one, the object, in a method's call."""
        if isinstance(self.node, ast.Call) and not any(isinstance(x, ast.Starred) for x in self.node.args):
            return max(0, len(args) - len(self.node.args))
        return int("." in self.function.__qualname__.rpartition("<locals>.")[2])  # a function that a class defines

    def _annotate(self) -> None:
        """Convert the arguments to the types that the parameters' annotations say. Raises Refused, AnnotationError."""
        annotated = hints(self.function)
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
            wanted = datatypes.resolve(annotation)
        except AnnotationError:
            if not datatypes.seen:
                raise
            return value  # it names no type of the language, and a sample has told the types
        if isinstance(value, Dyn) and isinstance(value.type, ListT) and contains_unknown(value.type):
            return self.f.coerce(value, wanted) if not contains_unknown(wanted) else value
        if contains_unknown(wanted):
            return value
        have = getattr(value, "type", None)
        may_be_none = isinstance(have, DataT) and have.name in datatypes.optionals and have != wanted
        if may_be_none and takes_none(self.definition, name):
            return value
        try:
            return self.f.coerce(value, wanted)
        except Mismatch as error:
            raise Refused(f"the argument `{name}` of `{self.definition.name}`: {error}") from error

    def _learn_from_other_calls(self) -> None:
        """Give an empty list or dictionary the type that other calls give this parameter, and note the types of this call's."""
        if self.of_library:
            return
        for i, v in enumerate(self.values):
            if i in self.changed or not is_container(v):
                continue
            seen = self.program.passed.setdefault((self.function, self.names[i]), {})
            if not is_unknown(v):
                self.program.changed |= UNKNOWN in seen  # a call before this one could use it
                seen.pop(UNKNOWN, None)
                seen[type_of(v)] = None
            elif is_empty(v) and len(seen) == 1 and UNKNOWN not in seen:
                self.values[i] = self.f.coerce(v, next(iter(seen)))
            elif not seen:
                seen[UNKNOWN] = None

    def _add_carried(self) -> bool:
        """Add the values that the function takes besides. False if the caller does not have them before the next round."""
        self.own = len(self.values)
        uses = {} if self.of_library else self.program.carried.used_by(self.function)
        for x, changes in uses.items():
            self.program.carried.touches(x, changes)
        if any(x not in self.f.env for x in uses):
            return False
        self.changed += [self.own + i for i, changes in enumerate(uses.values()) if changes]
        self.names += uses
        self.values += [self.program.carried.handed_on(self.f, x) for x in uses]
        return True

    # ---- what the function changes

    def _find_changed(self) -> None:
        """Find the parameters whose lists or objects the function changes."""
        changes = changed_parameters(self.function, class_of(owner_of(self.values)), self.program.changing)
        self.changed = [i for i in map(self.names.index, changes) if self._is_given_back(i)]
        for i in self.changed:
            self._keep_beside(i)
        self.changed = [i for i in self.changed if self._is_given_back(i)]
        for i in self.changed:
            known_type = self.program.grown.get((self.function, self.names[i]))
            if known_type is not None and is_unknown(self.values[i]):
                self.values[i] = self.f.coerce(self.values[i], known_type)

    def _refuse_seen_twice(self) -> None:
        """Raises Refused if the function changes a list, object or tensor that another argument is, too, or has in it."""
        for i in self.changed:
            changed = self._passed(i)
            if not isinstance(changed, Dyn) or not (is_empty(changed) or self._sees_changes(i)):
                continue
            for j in range(len(self.values)):
                written = self._written(j) if j < self.own else None
                if j == i or written is not None and fresh(self.f, written, self.values[j]):
                    continue
                if any(_same(atom, changed.atom) for atom in _inside(self._passed(j))):
                    which, other = (self.f.shown(self.names[x]) for x in (i, j))
                    what = f"`{self.called}` changes {which}, which it sees under another name, too: {other}"
                    raise Refused(what, "give it a copy there, or leave one of the two out")

    def _passed(self, i: int) -> Value:
        """The value for parameter number `i`, as the caller has it."""
        return self.as_given[i] if i < self.own else self.f.env[self.names[i]]

    def _is_given_back(self, i: int) -> bool:
        return self.names[i] in self.always or self.program.can_change(self.values[i])

    def _keep_beside(self, i: int) -> None:
        """Note of an argument that the function changes if it is an object of the instance, which other objects may refer to:
        from here on the values of its fields are kept beside it (`evaluator/kept.py`)."""
        t = type_or_none(self.values[i])
        if self.names[i] in self.always or not isinstance(t, DataT) or not self._of_sample(t.name):
            return
        if not self._is_alone(i):
            self.program.carried.unions.add(t.name)
            self.program.changed = self.program.incomplete = True

    def _of_sample(self, union: str) -> bool:
        """Whether all classes of a union are ordinary ones, of the sample."""
        datatypes = self.program.datatypes
        classes = datatypes.cases.get(union, ())
        return bool(classes) and all(c in datatypes.seen and not issubclass(c, (RecordOf, tuple)) for c in classes)

    def _is_alone(self, i: int) -> bool:
        """Whether nothing but the expression that the call has for parameter number `i` refers to its value."""
        written = self._written(i)
        name = None if written is None else root_of(written)
        owned = self.f.owned_arguments
        return name in owned and (isinstance(written, ast.Name) or deep(str(name)) in owned)

    def _owned_inside(self) -> set[str]:
        """What the callee's `Frame.owned` has of the inside of the parameters that it changes."""
        found: set[str] = set()
        for i in self.changed:
            written = self._written(i) if i < self.own else None
            name = None if written is None else root_of(written)
            if name is not None and deep(name) in self.f.owned_arguments:
                found |= {deep(self.names[i]), spine(self.names[i])}
            elif isinstance(written, ast.Name) and spine(written.id) in self.f.owned_arguments:
                found.add(spine(self.names[i]))
        return found

    def _owned_of(self, name: str) -> set[str]:
        """What `Frame.owned` has of a list or object that is an attribute of a module; all, where a later round finds that."""
        f = self.f
        if name in self.program.carried.attributes and is_unknown(f.env[name]) and not is_empty(f.env[name]):
            return claims(name)
        if not self.program.carried.may_be_seen(f, name):
            return set()
        lost: set[str] = set()
        for i in range(self.own):
            written = self._written(i)
            if written is not None and root_in_scope(f, written) == name and self._sees_changes(i):
                lost |= claims(name)
        return claims(name) & f.owned - lost

    def _sees_changes(self, i: int) -> bool:
        """Whether argument number `i` may show a change of what it, or a part of it, also is elsewhere."""
        return changeable(self.f, type_or_none(self._passed(i))) or is_array(self._passed(i))

    def _written(self, i: int) -> ast.expr | None:
        """The expression that the call has for parameter number `i`; None if it has none."""
        at = i - self.before
        if not isinstance(self.node, ast.Call):
            return None
        if i == 0 and at < 0 and self.function.__name__ == "__call__":
            return self.node.func
        if at < 0:
            return self.node.func.value if i == 0 and isinstance(self.node.func, ast.Attribute) else None
        if at < len(self.node.args):
            starred = any(isinstance(x, ast.Starred) for x in self.node.args[: at + 1])
            return None if starred else self.node.args[at]
        return next((k.value for k in self.node.keywords if k.arg == self.names[i]), None)

    # ---- the compiled function

    def _compiled(self) -> Any:
        """The key of the function for these arguments, compiled now if it was not yet."""
        program, function = self.program, self.function
        if self.of_library:  # PyTorch's flags and dimensions decide what is compiled
            self.values = [fixed(v) for v in self.values]
        elif named := naming_parameters(function):
            self.values = [fixed(v) if name in named else v for name, v in zip(self.names, self.values, strict=True)]
        lent = {c for x in self.names[self.own :] for c in self._owned_of(x)}
        depends = (frozenset(self._owned_inside() | lent),) if self.changed or lent else ()
        if function in program.versions and (all_fixed := program.version(function, self.values, depends)) is not None:
            self.values = all_fixed
        key = (*program.key(function, self.values), *depends)
        if function in program.entered:
            program.recursive.add(function)
        if key not in program.functions:
            if program.entered.count(function) > DEEPEST:  # nothing else is told: other problems follow from this one
                what = f"each call of `{self.called}` inside of the one before has arguments of another type, without an end"
                raise CompileError([Problem(self.f.span, what, "keep what grows with the calls in a list")])
            if self.of_library:
                program.on_behalf(self.called, key, lambda: program.compile(key, function, self.values))
            else:
                asked, program.asked = program.asked, None
                key = self._compile(key, depends)
                program.asked = asked
        if not self.of_library:
            for x, changes in program.carried.used_by(function).items():
                program.carried.touches(x, changes)  # as the function does that calls it
        return key

    def _compile(self, key: Any, depends: tuple[Any, ...]) -> Any:
        """Compile the function for the arguments' types, or for their values where it needs these; gives the key."""
        program, function = self.program, self.function
        noted, incomplete = len(program.problems), program.incomplete
        program.compile(key, function, self.values)
        if len(program.problems) == noted or function in program.versions or function in program.entered:
            return key
        program.versions[function] = set()
        if (all_fixed := program.version(function, self.values, depends)) is None:
            return key
        del program.problems[noted:]
        program.incomplete, self.values = incomplete, all_fixed
        key = (*program.key(function, self.values), *depends)
        program.compile(key, function, self.values)
        return key

    # ---- its result

    def _result(self, key: Any, unsure: bool) -> Value:
        """What the call of a compiled function gives; `unsure` if the types of some arguments are not known yet."""
        program, f = self.program, self.f
        if key in program.refused:
            return f.problem(self.node, *program.refused[key])
        result = program.results.get(key, UNKNOWN)
        program.incomplete |= key in program.partial
        if any(is_unknown(self.values[i]) for i in self.changed):  # it was compiled to find the type of the list only
            program.incomplete = True
            self._give_back({i: guess(program.grown.get((self.function, self.names[i]), UNKNOWN)) for i in self.changed})
            return guess(result.items[0]) if isinstance(result, TupleT) and not contains_unknown(result.items[0]) else unknown()
        if contains_unknown(result) or unsure:
            program.incomplete = True
            if contains_unknown(result):
                return unknown()
            return self._sized(key, Dyn(Placeholder(f.names.fresh("later"), result)))
        atoms = tuple(atom for v in self.values for atom in operands(f, v))
        if result is NEVER:  # the function always raises an error
            call = n.Call(program.name_of(key), atoms, INT, span=f.span)
            return retyped(f.bind(call, self.definition.name), NEVER)
        made = f.bind(n.Call(program.name_of(key), atoms, result, span=f.span), self.definition.name)
        first, *new = [made] if not self.changed else f.components(made) or []
        self._sized(key, first)
        if program.gives_new.get(key) and isinstance(first, Dyn):
            name = getattr(first.atom, "name", "")
            f.new_lists |= {name, deep(name)} if program.gives_deep.get(key) else {name}
        self._give_back(dict(zip(self.changed, new, strict=True)))
        still = program.still_owned.get(key)
        given = [(name, self._written(i)) for i, name in enumerate(self.names[: self.own])]
        f.lists_kept |= {w.id for name, w in given if isinstance(w, ast.Name) and (still is None or spine(name) in still)}
        for x in program.carried.attributes.intersection(self.names[self.own :]):
            f.owned = f.owned - claims(x) | claims(x) & program.still_owned.get(key, claims(x))
        return Static(None) if gives_nothing(self.definition) else first

    def _sized(self, key: Any, result: Value) -> Value:
        """The result of the call. How many elements it has is noted, if it is a list of which that is known."""
        size = self.program.sizes.get(key, 0)
        if isinstance(result, Dyn) and is_list(result) and 0 < size <= LONGEST:
            self.f.sizes[variable_of(result)] = size
        return held_in(result) if isinstance(result, Dyn) else result

    def _give_back(self, new: dict[int, Value]) -> None:
        """Give the caller's names the values that the function has changed, by the number of the parameter. Raises Refused if
        something else may hold the list or object."""
        for i, value in new.items():
            if i >= self.own:  # its name is the same in all functions
                self.f.keep(self.names[i], value)
        for i, value in new.items():
            if i < self.own:
                self._give_back_one(i, value)

    def _give_back_one(self, i: int, value: Value) -> None:
        f = self.f
        if not isinstance(self.node, ast.Call):
            raise Refused("a function that changes a list it is given is called by name here")
        written = self._written(i)
        name = None if written is None else root_of(written)
        if written is None or name is None:
            if written is not None and isinstance(written, ast.Call) and not fresh(f, written, None):
                raise Refused("this call changes what another call gives", "give that a name first")
            if written is None and self.names[i] in self.given:
                what = f"`{self.called}` changes what `{self.names[i]}` is given here, of which the call does not have the name"
                raise Refused(what, "call the function by its name, with the list or object among its arguments")
            return  # the list was made for this call and has no name here
        whole = isinstance(written, ast.Name)
        if self.names[i] not in self.always and (
            name not in f.owned_arguments or not whole and deep(name) not in f.owned_arguments
        ):
            what = f"this call changes a list or an object that may be seen under another name than `{ast.unparse(written)}`"
            raise Refused(what, f"give it a list of its own: `{name} = list({name})`" if whole else "make a copy first")
        if isinstance(value, Dyn) and value.type == UNKNOWN:
            return
        if whole:
            still = claims(name) & f.owned_arguments
            f.rebind(name, value)
            f.owned |= still
            f.mutated.add(name)
            return
        f.owned |= claims(name)
        found = place(f, self.node, written, "this call")
        if found is not None:
            found[0].put(value)


def _inside(value: Value) -> list[n.Atom]:
    """The values of the program that a value is made of."""
    match value:
        case Dyn(atom):
            return [atom]
        case TupleV(items):
            return [atom for v in items for atom in _inside(v)]
        case Special() if value is not NOTHING:
            return value.operands(_inside)
    return []


def _same(one: n.Atom, other: n.Atom) -> bool:
    """Whether two values of the program are the same list, object or tensor; of an empty list the place in the source tells."""
    if isinstance(one, EmptyPlaceholder) or isinstance(other, EmptyPlaceholder):
        return isinstance(one, EmptyPlaceholder) and isinstance(other, EmptyPlaceholder) and one.span == other.span
    return isinstance(one, n.Var) and bool(one.name) and one == other
