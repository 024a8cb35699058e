"""The compilation of one function for one set of argument types: walking its syntax tree, scopes, bindings, coercions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from enum import Enum
from types import FunctionType
from typing import Any

from backends.acrobat.core.span import Span
from backends.acrobat.core.types import BOOL, FLOAT, INT, DataT, ListT, TupleT, Type
from backends.acrobat.errors import Problem
from backends.acrobat.frontend.builder import Builder
from backends.acrobat.frontend.evaluator.arguments import Refused
from backends.acrobat.frontend.evaluator.order import parts_of, read_too_early
from backends.acrobat.frontend.evaluator.services import ProgramServices
from backends.acrobat.frontend.evaluator.syntax import HIDDEN, claims, leaves, placed, root_of
from backends.acrobat.frontend.evaluator.tables import COERCIONS, COMPONENTS, EXPRESSIONS, LEAVING, STATEMENTS, Exits
from backends.acrobat.frontend.instances.annotations import AnnotationError
from backends.acrobat.frontend.source import closure, span_of
from backends.acrobat.frontend.types import (
    NEVER,
    NONE,
    SYMBOL,
    UNASSIGNED,
    HeldT,
    Mismatch,
    NeverT,
    UnknownT,
    contains_unknown,
    describe,
    is_unassigned,
    join_types,
)
from backends.acrobat.frontend.values import (
    NOTHING,
    Dyn,
    FilledPlaceholder,
    Held,
    Special,
    Static,
    TupleV,
    Value,
    guess,
    held_in,
    is_unknown,
    retyped,
    type_of,
    type_or_none,
    unknown,
    variable_of,
)
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.visitor import Names

Env = dict[str, Value]

REPEATED = (ast.IfExp, ast.BoolOp, ast.Compare)
"""Expressions whose parts are compiled several times, or for some instances only."""
ORDERED = (ast.Call, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.BinOp, ast.Subscript)
"""Expressions that may change a list or object, or have parts that do."""
OUTSIDE = {
    ast.With: "`with`",
    ast.Try: "`try`",
}
"""Statements that are not in the language, as messages name them."""
ADVICE = {
    ast.Try: "exceptions are not caught: test for what would raise one",
    ast.FunctionDef: "make it a method of the model, or a function of the file",
}
"""What to write in their place."""


FACTS = ("displays", "sizes", "empties", "lengths", "nonempty", "vectors", "lengths_of", "new_lists")
"""What a frame knows of variables, by their names."""


class Frame:
    """The state of compiling one function for one set of argument types. A problem is noted, and compiling goes on."""

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
        self.poisoned: dict[str, tuple[str, str]] = {}  # names that cannot be used here: why, and what to do
        self.reported: set[tuple[str, str]] = set()  # names and reasons of problems that are noted already
        self.owned: set[str] = set()  # names that alone refer to their list or object (`ownership`)
        self.callees: dict[ast.expr, Value] = {}  # call -> the function that it calls
        self.new_lists: set[str] = set()  # variables that hold a new list, made by a called function
        self.mutated: set[str] = set()  # names whose list, object or tensor was changed in place so far
        self.changed_by: dict[ast.expr, set[str]] = {}  # call or item -> the names whose list or object it changed
        self.owned_arguments: set[str] = set()  # entries of `owned` for the arguments of the call compiled now
        self.lists_kept: set[str] = set()  # names whose `spine` the call compiled now has left as it was
        self.owned_at_end: set[str] = set()  # `owned` at the end of the last branch
        self.result: Any = UnknownT()  # the function's result type, as far as it is known
        self.cases: tuple[str, ...] = ()  # the cases found so far in a `match`, the outermost value's first
        self.unmatched: tuple[ast.AST, str] | None = None  # a `match`, and a case that none of its patterns matches
        self.displays: dict[str, tuple[Value, ...]] = {}  # list variable -> its elements, if known one by one
        self.sizes: dict[str, int] = {}  # variable of a list -> how many elements it has, where that is known
        self.empties: set[str] = set()  # variables of empty lists
        self.lengths: set[str] = set()  # variables that hold the extent of a list or ragged tensor
        self.nonempty: set[str] = set()  # variables of lists that must have an item, such as stacked ones
        self.vectors: dict[str, int] = {}  # variable of a list of floats of the instance -> the length of all in the sample
        self.lengths_of: dict[str, str] = {}  # list variable -> that of a list known to be as long
        self.unused_expression: ast.AST | None = None  # the expression compiled now, if it stands as a statement
        self.unrolled: dict[ast.stmt, bool] = {}  # loop over a constant range -> whether its body needs to know the round
        self.trials = 0  # how many trials are around the code compiled now
        self.cause: Problem | None = None  # the first problem of the last trial

    # ---- walking the syntax tree

    def expression(self, node: ast.expr, hint: str = "") -> Value:
        """The value of `node`; a problem is noted and gives an unknown value. `hint` is a name for the value's variable."""
        with self.at(node):
            handler = EXPRESSIONS.get(type(node))
            if handler is None:
                return self.problem(node, "this expression is not in the language", "LANGUAGE.md lists what is")
            try:
                if type(node) in ORDERED:
                    return self._in_order(node, lambda: handler(self, node, hint))
                if type(node) not in REPEATED:
                    return handler(self, node, hint)
                return self.unchanging(node, lambda: handler(self, node, hint))
            except Refused as refused:
                return self.problem(node, refused.message, refused.advice)
            except (Mismatch, AnnotationError) as error:
                return self.problem(node, str(error))

    def _in_order(self, node: ast.expr, work: Callable[[], Value]) -> Value:
        """`work()`, in which changing a list or object that a part of `node` before has named is a problem."""
        before, self.mutated = self.mutated, set()
        value = work()
        early = read_too_early(parts_of(node), self.changed_by) if self.mutated else []
        self.changed_by[node] = set(self.mutated)
        self.mutated |= before
        if early:
            named = ast.unparse(parts_of(node)[early[0]])
            return self.problem(node, f"`{named}` is changed later in the same expression", "write that as a statement before")
        return value

    def unchanging(self, node: ast.AST, work: Callable[[], Value]) -> Value:
        """`work()`, in which changing a list is a problem: parts of `node` are compiled several times, or in a branch. A
        conditional expression or comprehension that does is compiled as statements from the next round on."""
        if isinstance(node, ast.IfExp) and self.is_step_by_step(node):
            return self._as_statement(node)
        before, self.mutated = self.mutated, set()
        value = work()
        changed, self.mutated = self.mutated & set(self.env), before | self.mutated
        if changed and isinstance(node, (ast.IfExp, ast.ListComp, ast.GeneratorExp)) and not self.is_step_by_step(node):
            self.program.step_by_step.add((self.file, node.lineno, node.col_offset))
            self.program.changed = self.program.incomplete = True
            return unknown()
        if changed:
            what = "a list or field is changed in an expression of which parts are computed several times, or not at all"
            return self.problem(node, f"{what}: {self.shown(min(changed))}", "write it as a statement: a loop, or an `if`")
        return value

    def is_step_by_step(self, node: ast.expr) -> bool:
        """Whether a conditional expression or comprehension is compiled as statements, because it changes a list or field."""
        return (self.file, node.lineno, node.col_offset) in self.program.step_by_step

    def _as_statement(self, node: ast.IfExp) -> Value:
        """The value of a conditional expression, of which one side alone is to have its effects: an `if` that assigns it."""
        name = f"{HIDDEN}either{node.lineno}_{node.col_offset}"
        arms = [ast.Assign([ast.Name(name, ast.Store())], side) for side in (node.body, node.orelse)]
        self.straight([placed(node, ast.If(node.test, [arms[0]], [arms[1]]))])
        return self.env.pop(name, unknown())

    def statement(self, s: ast.stmt) -> None:
        """Compile one statement that does not leave its body."""
        handler = STATEMENTS.get(type(s))
        if handler is None:
            what = OUTSIDE.get(type(s), f"`{type(s).__name__.lower()}`")
            self.problem(s, f"{what} is not in the language", ADVICE.get(type(s), "LANGUAGE.md lists the statements"))
            if isinstance(s, ast.Try) and not leaves(s):  # for the problems in it and the names that it assigns
                self.straight(s.body)
            return
        try:
            handler(self, s)
        except Refused as refused:
            self.problem(s, refused.message, refused.advice)
        except (Mismatch, AnnotationError) as error:
            self.problem(s, str(error))

    def straight(self, body: Sequence[ast.stmt]) -> None:
        """Compile a body that is not left early; what it assigns stays in scope."""
        for s in body:
            with self.at(s):
                self.statement(s)

    def value_of(self, body: Sequence[ast.stmt], exits: Exits) -> Value:
        """Compile a body that may be left early. Its value is that of the exit through which it is left."""
        for i, s in enumerate(body):
            with self.at(s):
                handler = LEAVING.get(type(s)) if leaves(s) else None
                if handler is not None:
                    try:
                        return handler(self, s, body[i + 1 :], exits)
                    except Refused as refused:
                        return self.problem(s, refused.message, refused.advice)
                    except (Mismatch, AnnotationError) as error:
                        return self.problem(s, str(error))
                self.statement(s)
                if leaves(s):  # by a statement outside the language, whose problem is noted
                    inner = s.body if isinstance(s, ast.Try) else []
                    return self.value_of([*inner, *body[i + 1 :]], exits) if inner else unknown()
        return exits.fall()

    def borrowed(self, node: ast.expr) -> Value:
        """As `expression`, for an operand to which the result keeps no reference: a name that owned its list still does."""
        name = root_of(node)
        kept = set() if name is None else claims(name) & self.owned
        if isinstance(node, ast.Attribute):  # of a module, it may be a variable of the instance
            kept |= self._owned_states()
        value = self.expression(node)
        self.owned |= kept
        return value

    def _owned_states(self) -> set[str]:
        """What `owned` has of attributes of modules that the model assigns to (`state`): any function may name these."""
        return {c for x in self.program.carried.attributes for c in claims(x) & self.owned}

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

    def keep(self, name: str, value: Value) -> None:
        """Give the dictionary of a field that the model writes on objects of the instance (`kept`) its new value."""
        self.rebind(name, value)
        self.owned |= claims(name)
        self.mutated.add(name)

    def shown(self, name: str) -> str:
        """A name as messages write it; a field for the dictionary of what is written to it."""
        field = name.lstrip(HIDDEN).partition("_of_")[0]
        if self.program.carried.is_state(name):
            return f"the attribute `{field}`"
        return f"the field `{field}`" if name in self.program.carried.types else f"`{name}`"

    def kept_fields(self) -> Env:
        """The dictionaries of fields that the model writes on objects of the instance (`kept`), by name, as they are now."""
        return {name: self.env[name] for name in self.program.carried.types if name in self.env}

    # ---- problems

    def problem(self, node: ast.AST | Span, message: str, advice: str = "") -> Dyn:
        """Note a problem (in a trial, keep the first as `cause`); gives an unknown value, which causes no further problems."""
        span = node if isinstance(node, Span) else span_of(node, self.file)
        if not self.trials:
            self.program.problem(Problem(span, message, advice))
        elif self.cause is None:
            self.cause = Problem(span, message, advice)
        return unknown()

    @contextmanager
    def trial(self) -> Iterator[None]:
        """A context for finding types only: of what is compiled in it only the facts about called functions are kept."""
        taken, incomplete = set(self.names.taken), self.program.incomplete
        facts = {name: copy(getattr(self, name)) for name in FACTS}
        self.trials += 1
        if self.trials == 1:
            self.cause = None
        try:
            with self.branch():
                yield
        finally:
            self.trials -= 1
            self.names.taken, self.program.incomplete = taken, incomplete
            for name, known in facts.items():  # other values may get the names that were free before
                setattr(self, name, known)

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        before, self.span = self.span, span_of(node, self.file)
        try:
            yield
        finally:
            self.span = before

    # ---- building

    def bind(self, expr: n.Expr, hint: str) -> Dyn:
        return held_in(self.builder.bind(expr, hint.lstrip(HIDDEN)))  # type: ignore[return-value]

    @contextmanager
    def branch(self) -> Iterator[Builder]:
        """A context that compiles a nested chain of lets in a copy of the scope; `owned_at_end` gets its `owned`."""
        outer, env, poisoned, owned = self.builder, dict(self.env), dict(self.poisoned), set(self.owned)
        self.builder = outer.inner()
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
        for path in [k for k in self.env if k.startswith(f"{HIDDEN}{name}.")]:
            del self.env[path]
        if self.program.carried.is_state(name):
            self.program.carried.learn_state(self, name, value)
        self.env[name] = value
        self.poisoned.pop(name, None)
        self.owned -= claims(name)

    def var(self, name: str, type: Any) -> n.Var:
        return n.Var(self.names.fresh(name.lstrip(HIDDEN)), type, span=self.span)

    def host(self, op: str, args: Sequence[Value], type: Type, hint: str = "") -> Dyn:
        """Bind the result, of this type, of a host operation. It is a placeholder if an argument or the type is unknown."""
        if any(is_unknown(a) for a in args) or contains_unknown(type):
            return guess(type)
        return self.bind(n.Host(op, tuple(self.atom(a) for a in args), type, span=self.span), hint or op.removeprefix("list."))

    # ---- atoms and coercions

    def atom(self, value: Value) -> n.Atom:
        """The value as an operand. Raises Mismatch if it cannot be one."""
        match value:
            case Dyn(n.Var(type=NeverT()) as atom):
                return replace(atom, type=INT)
            case Dyn(atom):
                return self.builder.now(atom)
            case Static(bool() as v):
                return n.Lit(v, BOOL, span=self.span)
            case Static(int() as v):
                if not -(2**63) <= v < 2**63:
                    raise Mismatch(f"the integer {v} does not fit into 64 bits")
                return n.Lit(v, INT, span=self.span)
            case Static(float() as v):
                return n.Lit(v, FLOAT, span=self.span)
            case Static(str() | Enum() as v):
                return n.Lit(self.program.symbols.number(v), SYMBOL, span=self.span)
            case TupleV(items):
                atoms = tuple(self.atom(v) for v in items)
                if any(contains_unknown(a.type) for a in atoms):
                    return unknown().atom
                return self.bind(n.Tuple(atoms, TupleT(tuple(a.type for a in atoms)), span=self.span), "tuple").atom
            case Static(tuple() as items):
                return self.atom(TupleV(tuple(Static(v) for v in items)))
            case Held("ids", TupleV(items)):
                atoms = tuple(self.atom(v) for v in items)
                return self.bind(n.ListOf(atoms, type_of(value), span=self.span), "ids").atom
            case Held() if type_or_none(value) is not None:
                return replace(self.atom(value.value), type=type_of(value))
            case Special() if value is NOTHING:
                return self.bind(n.Tuple((), UNASSIGNED, span=self.span), "unassigned").atom
            case Static(None):
                return self.bind(n.Tuple((), NONE, span=self.span), "none").atom
        type_of(value)
        raise AssertionError(value)

    def common(self, types: Sequence[Any], numbers: bool = False) -> Any:
        """The type that covers all of `types`; `numbers` as in `join_types`. Raises Mismatch."""
        types = [t for t in types if t is not NEVER] or types
        some = [t for t in types if t is not NONE]
        joined: Any = UnknownT()
        optional = next((t for t in some if isinstance(t, DataT) and t.name in self.program.datatypes.optionals), None)
        unassigned = next((t for t in some if is_unassigned(t)), None)
        if UNASSIGNED in types or unassigned is not None:
            held = [self.program.datatypes.optionals[t.name] if is_unassigned(t) else t for t in types if t is not UNASSIGNED]
            return self.program.datatypes.unassigned(self.common(held, numbers)) if held else UNASSIGNED
        if len(some) < len(types) or optional is not None:
            inner = self.common([self.program.datatypes.optionals[t.name] if t == optional else t for t in some])
            return self.program.datatypes.optional(inner)
        if (mixed := next((t for t in some if self.mixed(t)), None)) is not None and self.fit(some, mixed):
            return mixed
        if len(some) > 1 and all(isinstance(t, ListT) and t.rows is None and t.kind == some[0].kind for t in some):
            return replace(some[0], item=self.common([t.item for t in some], numbers))
        if len(some) > 1 and all(isinstance(t, TupleT) and len(t.items) == len(some[0].items) for t in some):
            return TupleT(tuple(self.common(items, numbers) for items in zip(*(t.items for t in some), strict=True)))
        for t in some:
            joined = join_types(joined, t, numbers)
        return joined

    def mixed(self, type: Any) -> dict[str, Any]:
        """The types of a mixed union by their words; empty for other types."""
        return self.program.datatypes.mixed.get(type.name, {}) if isinstance(type, DataT) else {}

    def fit(self, types: Sequence[Any], mixed: Any) -> bool:
        """Whether values of all types are values of a mixed union."""
        return all(isinstance(t, UnknownT) or t == mixed or self.word_of(t, mixed) is not None for t in types)

    def word_of(self, type: Any, mixed: Any) -> str | None:
        """Which type of a mixed union covers values of a type; None if none does."""
        for word, held in self.mixed(mixed).items():
            if word in ("tuple", "list") and isinstance(type, TupleT) and isinstance(held, ListT):
                if word == "tuple" and self.fit(type.items, held.item):
                    return word
                continue
            if word == "tuple" and isinstance(type, ListT) and "list" in self.mixed(mixed):
                continue
            try:
                if self.common([type, held]) == held:
                    return word
            except Mismatch:
                continue
        return None

    def coerce(self, value: Value, type: Any) -> Value:
        """`value` as one of `type`: fills in empty lists, wraps optionals, widens int to float. Raises Mismatch."""
        if isinstance(type, UnknownT) or (is_unknown(value) and not isinstance(getattr(value, "type", None), ListT)):
            return value
        have = type_of(value)
        if have == type:
            return value
        if have is NEVER:
            if contains_unknown(type):
                return value
            none = self.bind(n.ListOf((), ListT(type), span=self.span), "none")
            return self.host("list.get", [none, Dyn(self.atom(value))], type, "never")
        if isinstance(type, DataT) and type.name in self.program.datatypes.optionals:
            if have is UNASSIGNED if is_unassigned(type) else have is NONE:
                return self.bind(n.Construct("None", (), type, span=self.span), "none")
            inner = self.program.datatypes.optionals[type.name]
            return self.bind(n.Construct("Some", (self.atom(self.coerce(value, inner)),), type, span=self.span), "some")
        match value, type:
            case TupleV(items), TupleT(wanted) if len(items) == len(wanted):
                return TupleV(tuple(self.coerce(v, t) for v, t in zip(items, wanted, strict=True)))
            case Dyn(atom), TupleT(wanted) if isinstance(have, TupleT) and len(have.items) == len(wanted):
                parts = [self.bind(n.Field(atom, i, t, span=self.span), "field") for i, t in enumerate(have.items)]
                return TupleV(tuple(self.coerce(v, t) for v, t in zip(parts, wanted, strict=True)))
        if isinstance(value, Held) and isinstance(type, HeldT) and value.kind == type.kind:
            return Held(value.kind, self.coerce(value.value, type.inner))
        for rule in COERCIONS:
            found = rule(self, value, have, type)
            if found is not None:
                return found
        if isinstance(have, ListT) and isinstance(type, ListT) and (have.rows, have.kind) != (type.rows, type.kind):
            raise Mismatch(f"{describe(have)} where {describe(type)} is needed")
        if isinstance(have, ListT) and isinstance(type, ListT) and contains_unknown(have):
            if isinstance(value, Dyn) and isinstance(value.atom, FilledPlaceholder):
                self.learn(value.atom.span, type)
                return Dyn(FilledPlaceholder("", type, span=value.atom.span))
            if contains_unknown(type):
                return value
            made = self.bind(n.ListOf((), type, span=self.span), "empty")
            self.empties.add(variable_of(made))
            return made
        if have == INT and type == FLOAT:
            if isinstance(value, Dyn) and not isinstance(value.atom, n.Lit):
                return self.host("float", [value], FLOAT)
            return Static(float(self.atom(value).value))  # type: ignore[union-attr]
        if isinstance(have, ListT) and isinstance(type, ListT) and isinstance(value, Dyn):
            item = self.var("item", have.item)
            with self.branch() as b:
                body = b.finish(self.atom(self.coerce(Dyn(item), type.item)))
            return self.bind(n.Map(item, value.atom, body, type, span=self.span), "list")
        raise Mismatch(f"{describe(have)} where {describe(type)} is needed")

    def learnt(self, span: Span) -> Any:
        """The type of the list that is made at a place in the source, as far as earlier rounds have found it."""
        return self.program.learnt.get((self.key, span), UnknownT())

    def learn(self, span: Span, type: Any) -> None:
        """Note for the next round the type of the list made at `span`, whose element type was not known there."""
        self.program.incomplete = True
        if not contains_unknown(type) and self.learnt(span) != type:
            self.program.learnt[self.key, span] = type
            self.program.changed = True

    def not_yet(self, type: Any) -> Dyn:
        """A placeholder for a list with elements that is made here, and whose type is known in part only."""
        self.program.incomplete = True
        return Dyn(FilledPlaceholder("", type, span=self.span))

    def merge(self, branches: Sequence[tuple[Builder, Value]], where: ast.AST | Span) -> tuple[Any, list[n.Expr]]:
        """The common type of the branches' values and each branch as an expression of that type."""
        known = [v for _, v in branches]
        try:
            type = self.common([type_of(v) for v in known], numbers=True)
        except Mismatch:
            self.problem(where, f"the branches differ in type: {self.places(known)}", "give the same type on every path")
            return unknown().type, [b.finish(unknown().atom) for b, _ in branches]
        out = []
        for b, v in branches:
            outer, self.builder = self.builder, b
            try:
                atom: n.Expr = unknown().atom if contains_unknown(type) else self.atom(self.coerce(v, type))
            except Mismatch as error:
                self.problem(where, str(error))
                atom = unknown().atom
            finally:
                self.builder = outer
            out.append(b.finish(atom))
        return type, out

    # ---- small helpers

    def places(self, values: Sequence[Value]) -> str:
        """For messages: the types of `values` and the lines that they come from."""
        out: dict[str, None] = {}
        for v in values:
            t, line = type_or_none(v), self.line_of(v)
            what = type(v).__name__.lower() if t is None else "None" if t is NONE else describe(t)
            out[what + (f" (line {line})" if line else "")] = None
        return ", ".join(out)

    def line_of(self, value: Value) -> int:
        match value:
            case Dyn(atom):
                return atom.span.line
            case TupleV(items):
                return max((self.line_of(v) for v in items), default=0)
        return 0

    def display(self, value: Value) -> list[Value] | None:
        """The elements of a tuple, or of a list whose elements are known one by one; None for other values."""
        if isinstance(value, TupleV):
            return list(value.items)
        if isinstance(value, Dyn) and isinstance(value.atom, n.Var) and value.atom.name in self.displays:
            return list(self.displays[value.atom.name])
        if (
            isinstance(value, Dyn)
            and isinstance(value.type, ListT)
            and (size := self.sizes.get(variable_of(value))) is not None
        ):
            return [self.host("list.get", [value, Static(i)], value.type.item, "element") for i in range(size)]
        return None

    def static_list(self, value: Any) -> Any:
        """A constant tuple or list, or a list whose elements are known one by one, as TupleV; other values unchanged."""
        if isinstance(value, Static) and isinstance(value.value, (tuple, list)):
            return TupleV(tuple(self.program.wrap(v) for v in value.value))
        items = self.display(value) if isinstance(value, Dyn) else None
        return TupleV(tuple(items)) if items is not None else value

    def spread(self, args: Sequence[Any]) -> list[Any]:
        """The arguments of `f(a, b, c)` or of `f((a, b, c))`: PyTorch takes extents in both forms."""
        if len(args) == 1:
            whole = self.static_list(args[0])
            if isinstance(whole, TupleV):
                return list(whole.items)
        return list(args)

    def components(self, value: Value, count: int | None = None) -> list[Value] | None:
        """The components of a tuple, or `count` elements of a list; None for other values, and if there are not `count`."""
        match value:
            case TupleV(items):
                out = list(items)
            case Static(tuple() as items):
                out = [self.program.wrap(v) for v in items]
            case Dyn(atom) if isinstance(atom.type, ListT) and atom.type.rows is None and count is not None:
                return self._elements(value, count)
            case Dyn(atom) if isinstance(atom.type, ListT) and atom.type.rows == 0 and count is not None:
                return self._elements(retyped(value, ListT(atom.type.item)), count)
            case Dyn(atom) if isinstance(atom.type, DataT) and (parts := self._named(value)) is not None:
                out = parts
            case Dyn(atom) if isinstance(atom.type, TupleT):
                out = [
                    Static(None) if t == NONE else self.bind(n.Field(atom, i, t, span=self.span), "field")
                    for i, t in enumerate(atom.type.items)
                ]
            case _:
                return None
        return out if count is None or len(out) == count else None

    def _named(self, value: Dyn) -> list[Value] | None:
        for rule in COMPONENTS:
            found = rule(self, value)
            if found is not None:
                return list(found)
        return None

    def _elements(self, xs: Dyn, count: int) -> list[Value]:
        """The `count` elements of a list. As in Python, a list of another length is an error of the instance."""
        assert isinstance(xs.type, ListT)
        if self.sizes.get(variable_of(xs)) == count:
            return self.display(xs) or []
        size = self.host("list.len", [xs], INT, "size")
        wrong = self.host("int", [self.host("ne", [size, Static(count)], BOOL)], INT)
        outside = self.host("mul", [wrong, Static(2**40)], INT, "outside")
        at = [self.host("add", [outside, Static(i)], INT, "index") for i in range(count)]
        return [self.host("list.get", [xs, i], xs.type.item, "element") for i in at]

    def try_atom(self, value: Value, node: ast.AST) -> n.Atom:
        """As `atom`; a mismatch becomes a problem at `node`."""
        try:
            return self.atom(value)
        except Mismatch as error:
            return self.problem(node, str(error)).atom
