"""Functions that raise what their callers catch: the versions of them that give an outcome (`exceptions`), and their calls."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, update_wrapper
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING

from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.syntax.bodies import placed
from backends.acrobat.frontend.evaluator.syntax.own_nodes import gives_nothing, is_generator
from backends.acrobat.frontend.evaluator.syntax.quoting import copied
from backends.acrobat.frontend.evaluator.syntax.raised import Caught, Escapes, classes_of
from backends.acrobat.frontend.functions.kept_results import refuse_kept
from backends.acrobat.frontend.remembered import cache_of
from backends.acrobat.frontend.source import LIFTED, Lifted, source_of
from backends.acrobat.frontend.specials import Method, OneOf
from backends.acrobat.frontend.syntax_nodes import place_of
from backends.acrobat.frontend.values import NOTHING, Static, TupleV, Value, unknown

if TYPE_CHECKING:
    from backends.acrobat.frontend.functions.call import FunctionCall


@cache
def with_outcome(function: FunctionType, caught: tuple[Caught, ...]) -> FunctionType:
    """The version of a function whose exceptions are `caught` where it is called."""
    written, file = source_of(function)
    escapes = Escapes(caught, gives_nothing(written))
    definition = copied(written)
    definition.returns = None
    last = placed(definition.body[-1], ast.Return(None))
    definition.body = [_Returns(escapes).visit(s) for s in (*definition.body, last)]
    parts = function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    made = FunctionType(*parts)
    update_wrapper(made, function)
    del made.__wrapped__  # type: ignore[attr-defined]
    made.__kwdefaults__ = function.__kwdefaults__
    made.__annotations__ = {name: t for name, t in function.__annotations__.items() if name != "return"}
    lifted = LIFTED.get(function) or Lifted(definition, file, function, ())
    LIFTED[made] = replace(lifted, definition=definition, escapes=escapes)
    return made


def escapes_of(function: FunctionType) -> Escapes | None:
    """What the callers of a function catch, of one that gives an outcome."""
    return LIFTED[function].escapes if function in LIFTED else None


class _Returns(ast.NodeTransformer):
    """Has each `return` give an outcome."""

    def __init__(self, escapes: Escapes) -> None:
        self.escapes = escapes

    def visit_Return(self, node: ast.Return) -> ast.AST:
        nothing = self.escapes.gives_nothing or node.value is None
        return returned(node, self.escapes, 0, ast.Constant(None) if nothing else node.value)  # type: ignore[arg-type]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node


def returned(at: ast.stmt, escapes: Escapes, which: int, value: ast.expr) -> ast.stmt:
    """The `return` of a result (`which` is 0) or of an exception. Of a function that gives nothing the result is a number."""
    parts: list[ast.expr] = [CompiledNode(NOTHING) for _ in range(len(escapes.caught) + 1)]
    parts[which] = value
    if escapes.gives_nothing:
        parts[0] = ast.Constant(0)
    return placed(at, ast.Return(ast.Tuple([ast.Constant(which), *parts], ast.Load())))


# ---- their calls


def outcome_of(call: FunctionCall, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
    """What a call gives of a function that raises what is caught around it; None for other calls. Raises Refused."""
    f, program = call.f, call.program
    raised = [c for c in program.raised.get(call.function, ()) if issubclass(c, f.catching) and not call.of_library]
    if escapes_of(call.function) is not None:
        return None
    if not raised:
        return _of_others(call, args, kwargs)
    if cache_of(call.definition):
        refuse_kept(call, "raises what is caught")
    if is_generator(call.definition):
        what = f"the generator `{call.called}` raises an exception that is caught, after some of its elements were used"
        raise Refused(what, "build a list, and return it")
    tried = f.tried
    if tried is not None and _is_called_by(call, tried) and all(issubclass(c, classes_of(f.tried_for)) for c in raised):
        version = with_outcome(call.function, f.tried_for)
        f.outcomes.add(tried)
        result = type(call)(program, f, call.node, version).value(args, kwargs)
        parts = f.components(result)
        if parts is None:
            return result
        escapes = escapes_of(version)
        assert escapes is not None
        return TupleV((parts[0], Static(None) if escapes.gives_nothing else parts[1], *parts[2:]))
    place = (f.file, place_of(call.node)) if isinstance(call.node, ast.Call) else None
    if place is not None and place not in program.raising:
        program.raising.add(place)
        program.changed = program.incomplete = True
        return unknown()
    what = f"`{call.called}` raises an exception that is caught, in a part of a statement in which that is not followed"
    raise Refused(what, "give the result of the call a name, in a statement of its own")


def _of_others(call: FunctionCall, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
    """The outcome of a call that raises nothing of what is caught, of one of several functions that is chosen at run time."""
    f, tried = call.f, call.f.tried
    if tried is None or not isinstance(f.callees.get(tried), OneOf) or not _is_called_by(call, tried):
        return None
    f.outcomes.add(tried)
    f.tried = None
    try:
        result = type(call)(call.program, f, call.node, call.function).value(args, kwargs)
    finally:
        f.tried = tried
    return TupleV((Static(0), result, *(NOTHING for _ in f.tried_for)))


def _is_called_by(call: FunctionCall, tried: ast.Call) -> bool:
    """Whether it is the function itself that a call in the source calls, and no other one that calls it, such as `map`."""
    if not isinstance(call.node, ast.Call) or place_of(call.node) != place_of(tried) or call.of_library:
        return False
    match call.f.callees.get(tried):
        case None | Method(function=None):
            return False
        case Static(callee):
            return not isinstance(callee, (type, BuiltinFunctionType))
    return True
