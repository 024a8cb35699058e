"""The state of compiling one function: the names in scope, what is known of variables, problems, bindings."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from backends.acrobat.core.span import Span
from backends.acrobat.errors import Problem
from backends.acrobat.frontend.builder import Builder
from backends.acrobat.frontend.evaluator.frame.claims import Claims, claims, tracked
from backends.acrobat.frontend.evaluator.frame.services import Heard, Key, ProgramServices
from backends.acrobat.frontend.evaluator.rewriting.result_flow import ResultFlow
from backends.acrobat.frontend.evaluator.syntax.hidden_names import CarriedName, is_below, visible
from backends.acrobat.frontend.evaluator.syntax.order import Moved
from backends.acrobat.frontend.evaluator.tables import CHANGED_BY_READING
from backends.acrobat.frontend.kinds import kind
from backends.acrobat.frontend.source import closure, span_of
from backends.acrobat.frontend.types import UnknownT
from backends.acrobat.frontend.values import Dyn, Value, held_in, unknown
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.renaming import Names

Env = dict[str, Value]

FACTS = (
    "displays",
    "sizes",
    "empties",
    "lengths",
    "at_most_one",
    "nonempty",
    "of_several_extents",
    "chosen_by_mask",
    "vectors",
    "lengths_of",
    "sources",
    "lengths_inside",
    "joined_parts",
    "new_lists",
    "added",
    "of_members",
    "read_from",
)
"""What a frame knows of variables, by their names."""


@dataclass(frozen=True)
class Turns:
    """What a generator changes that a loop walks over: the names, and what it does with values that functions take beside their
    parameters (`functions/carried.py`)."""

    changed: set[str]
    heard: Heard


@dataclass
class IsolatedTrial:
    """What a trial has shown: its first problem, and the names of which it has changed a list, object or tensor in place."""

    problem: Problem | None = None
    changed: set[str] = field(default_factory=set)


class FrameState:
    """What is known while one function is compiled for one set of argument types. A problem is noted, and compiling goes on."""

    def __init__(self, program: ProgramServices, file: str, namespace: dict[str, Any], what: str) -> None:
        self.program = program
        self.file = file
        self.namespace = namespace
        self.what = what  # the function's name, for messages
        self.key: Any = None  # the function, and the signature of the arguments it is compiled for
        self.definition: ast.FunctionDef | None = None  # the function's syntax tree
        self.function: FunctionType | None = None  # the function whose globals and closure are the namespace
        self.names = Names()
        self.builder = Builder(self.names)
        self.span = Span(file, 0)
        self.env: Env = {}
        self.weights: set[str] = set()  # parameters that are tensors of a module given as an argument
        self.held_at_first: set[n.Atom] = set()  # what functions and methods among the arguments hold
        self.poisoned: dict[str, tuple[str, str]] = {}  # names that cannot be used here: why, and what to do
        self.left_otherwise: dict[str, str] = {}  # names of another type where a loop was left early: what to say of it
        self.reported: set[tuple[str, str]] = set()  # names and reasons of problems that are noted already
        self.owned: Claims = set()  # names that alone refer to their list or object (`ownership`)
        self.callees: dict[ast.expr, Value] = {}  # call, or operator of objects -> the function that it calls
        self.new_lists: Claims = set()  # variables that hold a new list, made by a called function
        self.given_new: set[ast.AST] = set()  # calls whose results nothing else refers to, nor to anything inside of them
        self.new_tensors: set[ast.AST] = set()  # calls of the source's functions that give a tensor of the caller's own
        self.gives_name: dict[ast.AST, str] = {}  # call -> the name among its arguments whose tensor it gives, changed
        self.new_parts: dict[ast.AST, tuple[Any, ...]] = {}  # call -> how new each part is of the tuple that it gives
        self.made_alone: set[ast.AST] = set()  # calls of classes, whose objects have nothing in them that is seen elsewhere
        self.ended_claims: Claims = set()  # by the expression that is compiled: it made an object that shares a list
        self.made_apart: set[ast.AST] = set()  # the same, but for what is in attributes through which nothing is changed
        self.made_with_own_lists: set[ast.AST] = set()  # the same, but for the objects in the lists of these
        self.makes_default: dict[ast.AST, str] = {}  # expressions that make the default values of fields -> the fields
        self.keeping_nothing: set[ast.expr] = set()  # calls whose result has nothing in it that their operands have
        self.changed_in_place: set[str] = set()  # those names of which a list or object was changed, not only bound anew
        self.mutated: set[str] = set()  # names whose list, object or tensor was changed in place so far
        self.moves: list[Moved] = []  # all that has happened so far to the items of lists, also in trials
        self.changed_by: dict[ast.expr, set[str]] = {}  # call or item -> the names whose list or object it changed
        self.owned_arguments: Claims = set()  # entries of `owned` for the arguments of the call compiled now
        self.owned_before: Claims = set()  # `owned` from before the arguments of the call compiled now were compiled
        self.taken_at_once: set[ast.expr] = set()  # iterators of which all is taken where they are made (`laziness`)
        self.by_turns: dict[ast.expr, Turns] = {}  # calls of functions with `yield` that loops walk over (`loops/by_turns`)
        self.read_lazily: dict[ast.expr, set[Key]] = {}  # iterators -> the fields from which their elements are computed
        self.kept_iterators: list[tuple[set[Key], int, int]] = []  # the same of those with a name, and the lines that have it
        self.walked_by_kept: set[str] = set()  # variables of lists that iterators go through which objects keep
        self.iterators_named: dict[str, ast.expr] = {}  # names of iterators that are used once -> what they were made by
        self.claims_kept: Claims = set()  # what the call compiled now has left to the names that it was given
        self.owned_at_end: Claims = set()  # `owned` at the end of the last branch
        self.result: Any = UnknownT()  # the function's result type, as far as it is known
        self.beside_none = False  # whether what is asked for is the type of values beside which there may be None
        self.covering: set[tuple[Any, Any]] = set()  # pairs of types of which `covers` is being asked
        self.mixing: set[frozenset[Any]] = set()  # types of which a mixed union is being made
        self.each_type = False  # whether what is compiled now is compiled for each of several types of a value
        self.wrapping: set[tuple[Any, Any]] = set()  # pairs of mixed unions of which values of the one become ones of the other
        self.cases: tuple[str, ...] = ()  # the cases found so far in a `match`, the outermost value's first
        self.unassigned_in_arms: set[str] = set()  # names that only some arms assign of a statement that may leave its body
        self.unmatched: tuple[ast.AST, str] | None = None  # a `match`, and a case that none of its patterns matches
        self.displays: dict[str, tuple[Value, ...]] = {}  # list variable -> its elements, if known one by one
        self.sizes: dict[str, Any] = {}  # variable of a list or tuple -> how many elements it has, or the lists in it (`Size`)
        self.empties: set[str] = set()  # variables of empty lists
        self.lengths: dict[str, str] = {}  # variable with the extent of a list or ragged tensor -> a list that is as long
        self.at_most_one: set[str] = set()  # variables of lists that have one item at most, such as `xs[:1]`
        self.broadcast: tuple[int, ...] | None = None  # as `broadcasting` says
        self.nonempty: set[str] = set()  # variables of lists that must have an item, such as stacked ones
        self.of_several_extents: set[str] = set()  # variables of lists with the parts along several dimensions, joined
        self.chosen_by_mask: dict[str, tuple[str, Any]] = {}  # variable of `x[mask]`, of several dimensions -> the mask's, `x`
        self.vectors: dict[str, int] = {}  # variable of a list of floats of the instance -> the length of all in the sample
        self.lengths_of: dict[str, str] = {}  # list variable -> that of a list known to be as long
        self.sources: dict[str, Dyn] = {}  # variables in `lengths_of` -> their lists
        self.lengths_inside: dict[str, Dyn] = {}  # variable of a list of lists -> a list that is as long as each of these
        self.added: dict[str, tuple[Dyn, Dyn | None]] = {}  # variable of a set -> what was added, and then left out
        self.joined_parts: dict[str, tuple[str, int]] = {}  # variable of rows -> that of a list that has so many of them each
        self.of_members: dict[str, tuple[Value, dict[Any, Any]]] = {}  # variable -> the member whose attribute it is
        self.read_from: dict[
            str, tuple[str, Value]
        ] = {}  # variable -> the path that it was read from, and the value of its root
        self.unused_expression: ast.AST | None = None  # the expression compiled now, if it stands as a statement
        self.unrolled: dict[ast.stmt, bool] = {}  # loop over a constant range -> whether its body needs to know the round
        self.in_place: tuple[FunctionType, ...] = ()  # the called functions whose bodies are compiled here now
        self.catching: tuple[type, ...] = ()  # the classes of the exceptions that are caught around the code compiled now
        self.tried: ast.Call | None = None  # the call alone in its statement whose outcome tells which of these it raised
        self.tried_for: tuple[Any, ...] = ()  # what is caught there
        self.outcomes: set[ast.AST] = set()  # those of these calls that give an outcome
        # variable of a number that is an element of a tensor, a view in PyTorch -> the tensors' variables
        self.elements: dict[str, frozenset[str]] = {}
        self.parts: dict[str, str] = {}  # variable of a part of a tensor -> that of the tensor, where it is an attribute
        self.holders: dict[str, set[str]] = {}  # name that has such an element, or a list with one -> the tensors' names
        self.shown_in_result: dict[ast.AST, set[str]] = {}  # call -> the names of tensors that its result may be a part of
        self.users: dict[ast.expr, ast.expr] = {}  # operand, receiver or argument -> the expression that computes with it
        self.looked_up: set[ast.expr] = set()  # what stands before the brackets of an item
        self.views_as_sets: set[ast.AST] = set()  # `d.keys()` and the like where only what is in it counts, and not the order
        self.handed_on: set[ast.expr] = set()  # expressions whose value gets another name or place, as an argument does
        self.put_back: set[ast.expr] = set()  # items that get a value, after they were read
        self.flow = ResultFlow()  # what the model's result is made of, in functions that give it or a part of it
        self.gives_result = False  # whether what the function returns is the model's result, of a type that nothing else says
        self.gives_nothing = False  # whether the function gives None wherever it ends
        self.trials = 0  # how many trials are around the code compiled now
        self.cause: Problem | None = None  # the first problem of the last trial
        self.in_called: list[Problem] = []  # the problems in functions that the last trial has called
        self.gives_up = False  # whether nothing more of a trial is compiled where it has a `cause`

    def problem(self, node: ast.AST | Span, message: str, advice: str = "") -> Dyn:
        """Note a problem (in a trial, keep the first as `cause`); gives an unknown value, which causes no further problems."""
        span = node if isinstance(node, Span) else span_of(node, self.file)
        span = span if span.line else self.span  # of what has no place of its own the statement's
        if not self.trials:
            self.program.problem(Problem(span, message, advice))
        elif self.cause is None:
            self.cause = Problem(span, message, advice)
        return unknown()

    def call_with(self, function: Any, values: Sequence[Value], node: ast.AST | None = None) -> Value:
        """The result of a function, mostly one of `library/`, for compiled arguments. `node` is the place of problems. Raises
        Refused."""
        place = ast.Pass() if node is None else ast.copy_location(ast.Pass(), node)
        return self.program.call(self, place, function, values, {})

    @contextmanager
    def trial(self, goes_on: bool = False) -> Iterator[None]:
        """A context for finding types only: of what is compiled in it only the facts about called functions are kept. If it
        `goes_on`, tensors of the code around it may be changed in place in it, as where the same is compiled for good there."""
        names_taken, incomplete = set(self.names.taken), self.program.incomplete
        facts = {name: copy(getattr(self, name)) for name in FACTS}
        self.trials += 1
        if self.trials == 1:
            self.cause, self.in_called = None, []
        try:
            with self.branch(self.builder.trial() if goes_on else None):
                yield
        finally:
            self.trials -= 1
            self.names.taken, self.program.incomplete = names_taken, incomplete
            for name, known in facts.items():  # other values may get the names that were free before
                setattr(self, name, known)

    @contextmanager
    def broadcasting(self, operands: tuple[int, ...] | None) -> Iterator[None]:
        """While an operation is compiled in which only the operands with these numbers are broadcast, since it changes another
        one in place; None for all of them."""
        before, self.broadcast = self.broadcast, operands
        try:
            yield
        finally:
            self.broadcast = before

    @contextmanager
    def changes(self, counted: bool = True) -> Iterator[set[str]]:
        """A context that yields a set of the names whose list, object or tensor is changed in it; the set grows meanwhile.
        Unless `counted` is false, these changes also count in the contexts around it."""
        around, inside = self.mutated, set[str]()
        self.mutated = inside
        try:
            yield inside
        finally:
            self.mutated = around
            if counted:
                around |= inside

    @contextmanager
    def isolated_trial(self, gives_up: bool = False, goes_on: bool = False) -> Iterator[IsolatedTrial]:
        """A trial whose problems and changes are nothing to the code around it; `IsolatedTrial` has both when it has ended. If
        it `gives_up`, nothing more of it is compiled after the first problem. `goes_on`: see `trial`."""
        before = self.cause, self.gives_up
        self.cause, self.gives_up = None, self.gives_up or gives_up
        found = IsolatedTrial()
        try:
            with self.changes(counted=False) as found.changed, self.trial(goes_on):
                yield found
        finally:
            found.problem = self.cause
            self.cause, self.gives_up = before

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        before, self.span = self.span, span_of(node, self.file)
        try:
            yield
        except Exception as error:
            error.__dict__.setdefault("compiled_at", self.span)  # for a defect of the compiler: see `build_with_reads`
            raise
        finally:
            self.span = before

    def bind(self, expr: n.Expr, hint: str) -> Dyn:
        return held_in(self.builder.bind(expr, visible(hint)))  # type: ignore[return-value]

    @contextmanager
    def branch(self, chain: Builder | None = None) -> Iterator[Builder]:
        """A context that compiles a nested chain of lets, which is `chain` if one is given, in a copy of the scope;
        `owned_at_end` gets its `owned`."""
        outer, env, poisoned, owned = self.builder, dict(self.env), dict(self.poisoned), set(self.owned)
        self.builder = outer.inner() if chain is None else chain
        try:
            yield self.builder
        finally:
            self.owned_at_end = self.owned
            self.builder, self.env, self.poisoned, self.owned = outer, env, poisoned, owned

    def is_builtin(self, name: str) -> bool:
        """Whether a name stands for Python's own function of that name here."""
        return name not in self.env and name not in self.namespace

    def is_weight(self, atom: n.Atom) -> bool:
        """Whether a tensor is the same for all instances."""
        return isinstance(atom, n.Weight) or (isinstance(atom, n.Var) and atom.name in self.weights)

    def rebind(self, name: str, value: Value) -> None:
        """From here on `name` stands for `value`; what was known about its fields and its owner is forgotten."""
        for path in [k for k in self.env if is_below(k, name)]:
            del self.env[path]
        if self.program.carried.is_state(name):
            self.program.carried.learn_state(self, name, value)
        self.env[name] = value
        self.poisoned.pop(name, None)
        self.owned -= claims(name)

    def var(self, name: str, type: Any) -> n.Var:
        return n.Var(self.names.fresh(visible(name)), type, span=self.span)

    def keep(self, name: str, value: Value) -> None:
        """Give the dictionary of a field that the model writes on objects of the instance (`kept`) its new value."""
        self.rebind(name, value)
        self.owned |= claims(name)
        self.mutated.add(name)

    def shown(self, name: str) -> str:
        """A name as messages write it; a field for the dictionary of what is written to it."""
        if not isinstance(name, CarriedName):
            return f"`{visible(name)}`"
        if name in self.program.carried.objects:
            return f"an object of `{name.field}`"
        return f"the attribute `{name.field}`" if self.program.carried.is_state(name) else f"the field `{name.field}`"

    def changes_by_reading(self, value: Value) -> bool:
        """Whether a value may be another one after it was read: an iterator, and a dictionary that keeps what it gives for
        missing keys."""
        return kind(value) == "iterator" or any(rule(self, value) for rule in CHANGED_BY_READING)

    def written_anew(self, name: str, rest: str) -> str:
        """The assignment `name = name rest` as messages write it; an attribute of the module that is compiled as `self.x`."""
        written = f"self.{name.field}" if isinstance(name, CarriedName) else visible(name)
        return f"`{written} = {written} {rest}`"

    def kept_fields(self) -> Env:
        """The dictionaries of fields that the model writes on objects of the instance (`kept`), by name, as they are now."""
        return {name: self.env[name] for name in self.program.carried.types if name in self.env}

    def _owned_states(self) -> Claims:
        """The claims in `owned` on attributes of modules that the model assigns to (`state`), and on lists of objects
        (`referenced`): any function may use these."""
        return {c for x in self.program.carried.tracked for c in tracked(x) & self.owned}

    @contextmanager
    def in_function(self, function: FunctionType, file: str, env: Env) -> Iterator[None]:
        """A context for compiling a part of another function here: with its globals, closure and file, and the names `env`."""
        before = self.env, self.owned, self.poisoned, self.function, self.namespace, self.file
        env |= self.kept_fields()
        given = self._owned_states()
        self.env, self.owned, self.poisoned, self.function = env, set(given), {}, function
        self.namespace, self.file = function.__globals__ | closure(function), file
        try:
            yield
        finally:
            kept, lost = self.kept_fields(), given - self.owned
            self.env, self.owned, self.poisoned, self.function, self.namespace, self.file = before
            self.env |= kept
            self.owned -= lost
