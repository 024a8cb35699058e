"""The tables of the evaluator. A table maps a node of the syntax tree, an operation on a kind of value, or a function of Python
or of a library to its *handler*, the function that compiles it; `handles` enters a handler in a table.

The text under a table gives its handlers' arguments and result. `frame` is the `Frame` of the function that is compiled, `node`
or `statement` is where problems are reported, `hint` is a name for the result's variable. An argument "as written" is a syntax
tree, "what stands there" the present value of a place, a "host truth" a bool of the host. A *kind* of value is what
`kinds.kind` gives: "tensor", "list" and the like for values of the program, their class for other values.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from backends.acrobat.frontend.values import Value

Handler = TypeVar("Handler", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Exits:
    """How a body can end. Each function compiles what happens then and gives the value of the body. `returns` takes the
    statement that returns and the returned value; `breaks` and `continues` are None where no loop is around the body. `raises`
    takes the statement that raises what a `try` around the body catches, and what is kept of the exception."""

    fall: Callable[[], Value]
    returns: Callable[[ast.AST, Value], Value]
    breaks: Callable[[], Value] | None = None
    continues: Callable[[], Value] | None = None
    raises: Callable[[Any, Value], Value] | None = None


# ---- syntax

EXPRESSIONS: dict[type[ast.AST], Callable[..., Value]] = {}
"""(frame, node, hint) -> the value of an expression."""
STATEMENTS: dict[type[ast.AST], Callable[..., None]] = {}
"""(frame, statement): compiles one that does not leave its body."""
LEAVING: dict[type[ast.AST], Callable[..., Value]] = {}
"""(frame, statement, the statements after it, exits) -> the value of a body from a statement on that may leave it."""

# ---- operations on values, by kind

ATTRIBUTES: dict[Any, Callable[..., Value]] = {}
"""(frame, node, value, name) -> value.name"""
CALLS: dict[Any, Callable[..., Value]] = {}
"""(frame, node, value, args, kwargs, hint) -> value(...)"""
METHODS: dict[Any, Callable[..., Value | None]] = {}
"""(frame, node, method, args, kwargs) -> owner.name(...), by the kind of the owner; None for a method that it does not have."""
SUBSCRIPTS: dict[Any, Callable[..., Value]] = {}
"""(frame, node, value, index as written) -> value[index]"""
ITEMS_PUT: dict[Any, Callable[..., None]] = {}
"""(frame, statement, place, what stands there, indices as written, new item): place[indices] = item"""
ATTRIBUTES_PUT: dict[Any, Callable[..., None]] = {}
"""(frame, statement, place, what stands there, name, value): place.name = value"""
FIELDS_READ: list[Callable[..., Value | None]] = []
"""(frame, node, object, field) -> object.field where that is not simply read from the object; None for other fields."""
FIELDS_WRITTEN: list[Callable[..., bool]] = []
"""(frame, node, object, field, value): object.field = value of an object of the instance; False for others."""
ITERATION: dict[Any, Callable[..., Value]] = {}
"""(frame, value) -> what a loop over it runs over: a list of the program, or a tuple to unroll over. Raises Refused."""
LENGTHS: dict[Any, Callable[..., Value | None]] = {}
"""(frame, value) -> len(value); None if it has no length."""
TEXTS: dict[Any, Callable[..., Value | None]] = {}
"""(frame, value, name) -> what its method of this name, `__str__` or `__repr__`, gives; None if that is not in the language."""
TRUTHS: dict[Any, Callable[..., Value | None]] = {}
"""(frame, value, node) -> whether it counts as true, a host truth; None if it has no truth value."""
NUMBERS: dict[Any, Callable[..., Value]] = {}
"""(frame, value) -> the number that `int` and `float` read from it."""
INDICES: dict[Any, Callable[..., Value]] = {}
"""(frame, value) -> the int that it is as an index."""
BINARY: dict[Any, Callable[..., Value]] = {}
"""(frame, node, operator, its name, left, right) -> left operator right, where one operand is of the kind."""
UNARY: dict[Any, Callable[..., Value | None]] = {}
"""(frame, operator, value) -> operator value"""
COMPARED: dict[Any, Callable[..., tuple[Value, Value]]] = {}
"""(frame, left, right) -> the host values that are compared in their place, where one operand is of the kind."""
COMPARED_AS_WHOLES: list[Callable[..., Value | None]] = []
"""(frame, comparison, left, right) -> what it gives of values that are compared element by element; None for others."""
COMPARED_SETS: dict[Any, Callable[..., Value | None]] = {}
"""(frame, node, name of the comparison, left, right) -> what it gives of two values of the kind; None if nothing."""
SET_OPERANDS: list[Callable[..., Value]] = []
"""(frame, operand as written, its value) -> the operand of a comparison or of an operator that sets have: a constant set, or a
view of a dictionary, as a set of the program, and other values unchanged."""
EQUALITY: list[Callable[..., Value]] = []
"""(frame, node, left, right) -> left == right: the one way to compare any two values, for what comes before it in the order."""
AUGMENTED: dict[Any, Callable[..., None]] = {}
"""(frame, statement, name, value of the name, the new value as written): `name += ...` of a value that it changes."""
MEMBERSHIP: dict[Any, Callable[..., Value]] = {}
"""(frame, node, value, item) -> item in value"""

# ---- functions

FUNCTIONS: dict[Any, Callable[..., Value]] = {}
"""A function object of Python's or of a library -> (frame, node, args, kwargs, hint) -> its result."""
WRITTEN: dict[Any, Callable[..., Value | None]] = {}
"""A function that looks at its arguments as written -> (frame, call, function) -> its result; None where the call is a plain
one."""
LIBRARY_RULES: list[Callable[[Any], Callable[..., Value] | None]] = []
"""Each finds the handler, as in FUNCTIONS, of a function object that its library knows."""
BUILTINS: dict[str, Callable[..., Value | None]] = {}
"""A function of Python's own, by name -> (frame, node, args, hint) -> its result; None where it takes no such arguments."""

# ---- rules that the evaluator applies, most of them for tensors

COERCIONS: list[Callable[..., Value | None]] = []
"""(frame, value, its type, wanted type) -> the value as one of that type; None where the rule does not apply."""
STAGED: list[Callable[..., Value | None]] = []
"""(frame, constant or special value) -> it as a value of the program; None where the rule does not apply."""
NUMBERED: list[Callable[..., Value | None]] = []
"""(frame, constant) -> the constant object as a number, to which the program refers; None for other constants."""
COMPONENTS: list[Callable[..., Any]] = []
"""(frame, value, count or None) -> the components of a value that is a tuple with `count` names; None for others."""
CHANGED_BY_READING: list[Callable[..., bool]] = []
"""(frame, value) -> whether the value may be another one after it was read."""
RESULTS: list[Callable[..., Value | None]] = []
"""(frame, value) -> the value as the model's result has it; None where the rule does not apply."""
WHOLE_TENSORS: list[Callable[..., Value | None]] = []
"""(frame, value) -> a number of the program that is a tensor in Python as a tensor; None for other values."""
SHARED_READ: list[Callable[..., Value]] = []
"""(frame, node, list that several names refer to) -> what is in it now, as a list of the program."""
MADE: list[Callable[..., Value]] = []
"""(frame, node, value) -> what an expression that makes a list, set or dictionary gives in place of the value."""
AFTER_CALLS: list[Callable[..., None]] = []
"""(frame, call, callee, result, number of the builder's bindings before it, `Builder.fresh` before it): what a call changes in
what is known about its arguments."""
NEED_VALUES: list[Callable[[Any], bool]] = []
"""callee -> whether None among the arguments of its calls is an error, as it is in PyTorch's functions."""
GIVE_NEW: list[Callable[..., bool]] = []
"""(frame, expression) -> whether each tensor that it gives shares no memory with anything else."""
VIEWED: list[Callable[..., str | None]] = []
"""(frame, expression) -> the name of the tensor of which it gives a view, no element of it twice; None for others."""
PARTED: list[Callable[..., Any]] = []
"""(frame, expression) -> the expression of the tensor of which it gives parts that share no element; None for others."""
OWNERS: set[str] = set()
"""Functions and methods that give a tensor which nothing else can see, by name."""
ADDITIONS: list[Any] = []
"""Functions that add their two arguments."""
CHANGE_FIRST: set[Any] = set()
"""Functions that change the list which is their first argument."""
PAIRS: dict[str, int] = {}
"""Names that the components of a pair have."""


def handles(table: dict[Any, Any], *keys: Any) -> Callable[[Handler], Handler]:
    """A decorator that enters a handler in a table under these keys. A key has one handler only."""

    def add(handler: Handler) -> Handler:
        for key in keys:
            assert key not in table, f"there are two handlers for {key}"
            table[key] = handler
        return handler

    return add


def lookup(table: dict[Any, Any], key: Any) -> Any:
    """The entry of `key` in `table`; None if there is none, also where the key cannot be hashed."""
    try:
        return table.get(key)
    except TypeError:
        return None
