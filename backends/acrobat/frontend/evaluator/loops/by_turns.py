"""Loops over a generator that changes something: an attribute of the model, or a list that it is given.

    for proof in self.proofs(goal):      # `proofs` counts in `self.counter`
        best = max(best, proof.score)

Python runs the generator and the body of the loop by turns; the program runs the whole generator first. That is the same if
neither of the two uses what the other one changes, and the loop is not left early. Otherwise the next attempt has the loop in
the generator (`lazy_loops`), where the generator has a form that allows this. A generator that passes on the values of
another one by `yield from` does nothing of its own in between, so it is the loop over the inner generator that has to satisfy
this.
"""

from __future__ import annotations

import ast
import inspect
import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FunctionType

from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.frame_state import Turns
from backends.acrobat.frontend.evaluator.frame.services import Heard
from backends.acrobat.frontend.evaluator.lists.named_iterators import fields_read_lazily
from backends.acrobat.frontend.evaluator.loops.laziness import names_read
from backends.acrobat.frontend.evaluator.rewriting.generator_bodies import Generator, has_simple_form
from backends.acrobat.frontend.evaluator.syntax.bodies import ends, stored
from backends.acrobat.frontend.evaluator.syntax.own_nodes import is_generator, own_nodes_of
from backends.acrobat.frontend.source import source_of
from backends.acrobat.frontend.specials import Method, Nested
from backends.acrobat.frontend.syntax_nodes import every_node, place_of
from backends.acrobat.frontend.values import Static, Value


def becomes_lazy(f: Frame, call: ast.AST) -> bool:
    """Whether a call of a generator function is found to be one whose values Python computes one after the other, so that the
    next attempt puts the function's body around that of the loop over them (`lazy_loops`). False where that is known already,
    and has not been possible, or cannot be."""
    callee = generator_called(f, call) if isinstance(call, ast.Call) else None
    if not isinstance(call, ast.Call) or callee is None:
        return False
    generator: Generator | None
    match callee:
        case Nested(definition, file):
            generator = Generator(definition, None, False, False) if callee.env is None else None
        case Static(function):
            definition, file = source_of(function)
            generator = Generator(definition, function, False, False)
        case Method(owner, function=function):
            definition, file = source_of(function)
            generator = Generator(definition, function, True, getattr(owner, "python_object", None) is not None)
    if generator is None or file != f.file or not has_simple_form(definition):
        return False
    place, noted = (f.file, place_of(call)), f.program.datatypes.lazy
    before = noted.get(place, generator)
    if place in noted and (before is None or before.is_like(generator)):
        return False
    noted[place] = generator if before is generator else None
    f.program.changed = f.program.incomplete = True
    return True


def left_early(f: Frame, s: ast.For) -> bool:
    """Whether a loop that is left early, or takes some values only, walks over a generator which the next attempt puts around
    its body. Of a loop that takes some values only that is so if it cannot be seen that there is a last value."""
    calls = _calls_in(f, s)
    if not any(map(ends, s.body)):
        with f.trial():
            functions = [getattr(f.borrowed(x.func), "value", None) for x in calls]
        if not any(x is y for x in functions for y in (zip, itertools.islice, itertools.takewhile)):
            return False
        calls = [x for x in calls if _has_while(f, x)]
    return any(becomes_lazy(f, x) for x in calls)


def _has_while(f: Frame, call: ast.Call) -> bool:
    """Whether a call calls a generator function with a `while` loop."""
    match generator_called(f, call):
        case Nested(definition):
            pass
        case Static(function) | Method(function=function):
            definition = source_of(function)[0]
        case _:
            return False
    return any(isinstance(x, ast.While) for x in own_nodes_of(definition))


def _calls_in(f: Frame, s: ast.For | ast.While) -> list[ast.Call]:
    """The calls in what a loop walks over, also those that made an iterator which has a name."""
    inside = every_node(s.iter) if isinstance(s, ast.For) else []
    named = [f.iterators_named.get(x.id) for x in inside if isinstance(x, ast.Name)]
    return [x for x in (*inside, *named) if isinstance(x, ast.Call)]


def computed_at_once(f: Frame, s: ast.For, work: Callable[[], Value]) -> Value:
    """`work()`, which compiles what the loop `s` iterates. That may be a generator that changes something, for which `checked`
    then checks the body of the loop."""
    if not isinstance(s.iter, ast.Call) or any(map(ends, s.body)) or generator_called(f, s.iter) is None:
        return work()
    f.by_turns[s.iter] = Turns(set(), Heard())
    with f.changes() as changed, f.program.carried.heard() as heard:
        value = work()
    f.by_turns[s.iter] = Turns(changed & f.env.keys(), heard)
    return value


def generator_called(f: Frame, call: ast.Call) -> Value | None:
    """The generator function that a call calls; None for other calls."""
    with f.trial():
        callee = f.borrowed(call.func)
    match callee:
        case Nested(definition):
            return callee if is_generator(definition) else None
        case Static(FunctionType() as function) | Method(function=FunctionType() as function):
            return callee if function.__code__.co_flags & inspect.CO_GENERATOR else None
    return None


@contextmanager
def checked(f: Frame, s: ast.For | ast.While) -> Iterator[None]:
    """A context for the body of a loop that is not left by `return`. Raises Refused if the body reads or changes what the
    generator or iterator that it walks over changes, or changes what that reads: Python interleaves the two."""
    turns = f.by_turns.get(s.iter) if isinstance(s, ast.For) else None
    if turns is None:
        with fields_checked(f, s):
            yield
        return
    bound, read = stored(s.body), {x for b in s.body for x in names_read(f, b)}
    with fields_checked(f, s), f.changes() as changed, f.program.carried.heard() as body:
        yield
    objects = f.program.carried.types.keys() - f.program.carried.attributes
    met = (turns.changed - objects) & (read | body.touched | bound) | (turns.heard.touched - objects) & (changed | bound)
    met |= {name for name, _ in turns.heard.written & (body.read | body.written) | turns.heard.read & body.written}
    if met and not becomes_lazy(f, s.iter):  # type: ignore[union-attr]
        raise _both_use(f, min(met))


@contextmanager
def fields_checked(f: Frame, s: ast.For | ast.While) -> Iterator[Callable[[], None]]:
    """A context for the body of a loop. Raises Refused if the body assigns to fields of objects from which the iterator that it
    walks over computes its elements. Yields a function that ends the watching before the context ends."""
    read = fields_read_lazily(f, s.iter) if isinstance(s, ast.For) else set()
    with ExitStack() as stack:
        body = stack.enter_context(f.program.carried.heard())
        yield stack.close
    if (met := read & body.written) and not any(becomes_lazy(f, x) for x in _calls_in(f, s)):
        raise _both_use(f, min(met)[0])


def _both_use(f: Frame, name: str) -> Refused:
    what = f"an iterator and the loop that walks over it run by turns, and both use {f.shown(name)}"
    return Refused(what, "write `list(...)` around the iterator, if all of it may run first, or keep what they use apart")
