"""The syntax tree of a function as it is compiled: rewritten into fewer forms, with variables for the attributes of its object
that the model assigns to."""

from __future__ import annotations

import ast
import builtins
import copy
import types
from collections import deque
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from backends.acrobat.errors import Problem
from backends.acrobat.frontend.evaluator.changes.state import as_variables
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode, counter_object
from backends.acrobat.frontend.evaluator.objects.instantiation import without_init
from backends.acrobat.frontend.evaluator.rewriting.bare_objects import with_bare_objects
from backends.acrobat.frontend.evaluator.rewriting.chosen_walks import with_chosen_walks
from backends.acrobat.frontend.evaluator.rewriting.class_tests import with_class_tests
from backends.acrobat.frontend.evaluator.rewriting.counting import with_counters
from backends.acrobat.frontend.evaluator.rewriting.desugar import plainly
from backends.acrobat.frontend.evaluator.rewriting.dict_calls import with_displays
from backends.acrobat.frontend.evaluator.rewriting.growing_walks import taken_for_lists
from backends.acrobat.frontend.evaluator.rewriting.indexed import by_place
from backends.acrobat.frontend.evaluator.rewriting.iterators_or_none import taken_for_iterators
from backends.acrobat.frontend.evaluator.rewriting.lazy_loops import with_lazy_loops
from backends.acrobat.frontend.evaluator.rewriting.limits import taken_for_deques
from backends.acrobat.frontend.evaluator.rewriting.named_attributes import taken_for_setattr
from backends.acrobat.frontend.evaluator.rewriting.numbers_given import with_numbers_given
from backends.acrobat.frontend.evaluator.syntax.quoting import copied, quoted
from backends.acrobat.frontend.functions.exceptions import with_ways_out
from backends.acrobat.frontend.functions.outcomes import escapes_of
from backends.acrobat.frontend.functions.signatures import class_of
from backends.acrobat.frontend.source import closure, source_of, span_of
from backends.acrobat.frontend.syntax_nodes import bound_names, every_node
from backends.acrobat.frontend.values import Static

if TYPE_CHECKING:
    from backends.acrobat.frontend.functions.table import Functions


def as_compiled(program: Functions, function: types.FunctionType, owner: Any, attributes: Mapping[str, str]) -> ast.FunctionDef:
    """The tree of a function, a method of `owner` or else None, the same in all rounds: lambdas in it are parts of keys.
    `attributes` has the variables' names for attributes of the owner."""
    cls = class_of(owner)
    written, file = source_of(function)
    escapes = escapes_of(function)
    tried = escapes is not None or any(isinstance(x, (ast.Try, ast.With)) for x in every_node(written))
    raising = program.raising_in(file) if tried else frozenset()
    followed = program.followed_in(file) if tried else frozenset()
    gives_part = program.gives_part(function)
    generators = program.lazy_in(file)
    own = program.copied.get(function, ())
    key = (function, cls, tuple(attributes.items()), raising, followed, gives_part, frozenset(generators), own)
    if key not in program.definitions:
        namespace = function.__globals__ | closure(function)
        lazy = with_lazy_loops(written, function.__globals__, closure(function), generators)
        walks = with_chosen_walks(plainly(lazy), namespace)
        note = partial(program.reads.note_global, function)
        tests = with_class_tests(walks, namespace, note)
        tests = _with_copies(tests, own) if own else tests
        tests = with_bare_objects(tests, _made_bare)
        plain = with_displays(with_counters(tests, namespace, counter_object), namespace)
        result = by_place(plain, function, cls, program.changing)
        result = with_numbers_given(result, namespace) if gives_part else result
        result = with_ways_out(result, namespace, raising, followed, escapes, note) if tried else result
        program.definitions[key] = as_variables(result, attributes) if attributes else result
    for called in _taken_for_pythons(written):
        if _means_another(called, written, function.__globals__ | closure(function)):
            what = f"`{ast.unparse(called)}` is not Python's own here, and is used as that is"
            program.problem(Problem(span_of(called, file), what, "give it another name"))
    return program.definitions[key]


def _with_copies(definition: ast.FunctionDef, names: Sequence[str]) -> ast.FunctionDef:
    """A function that copies these arguments at first."""
    result = copied(definition)
    deepcopy = CompiledNode(Static(copy.deepcopy))
    first = [s for x in names for s in quoted(result.body[0], "x = deepcopy(x)", x=x, deepcopy=deepcopy)]
    result.body = [*first, *result.body]
    return result


def _made_bare(cls: ast.expr, attributes: dict[str, ast.expr]) -> ast.expr:
    """The expression that makes an object of a class with these attributes and without its `__init__`."""
    return ast.Call(CompiledNode(Static(without_init)), [cls], [ast.keyword(x, value) for x, value in attributes.items()])


PYTHONS = (None, deque, iter, next, list, sorted, enumerate, setattr)
"""What the rewriting takes names in calls for; None is what is not known."""


@lru_cache(4096)  # asked for each time that the function is compiled
def _taken_for_pythons(definition: ast.FunctionDef) -> tuple[ast.expr, ...]:
    """What a function calls of which the form alone says that it is one of Python's own functions."""
    finding = (taken_for_deques, taken_for_iterators, taken_for_lists, taken_for_setattr)
    return tuple(called for find in finding for called in find(definition))


def _means_another(called: ast.expr, definition: ast.FunctionDef, namespace: Mapping[str, Any]) -> bool:
    """Whether what a function calls is known to be none of Python's own functions that the rewriting takes it for."""
    match called:
        case ast.Name(name):
            value = namespace.get(name, getattr(builtins, name, None))
        case ast.Attribute(ast.Name(name), attribute):
            value = getattr(namespace.get(name), attribute, None)
        case _:
            return False
    return name in bound_names(definition) or not any(value is x for x in PYTHONS)
