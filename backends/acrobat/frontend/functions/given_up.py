"""Tensors that a call gives up: the function that is called alone has them, and so may change them in place, as the layer
`nn.ReLU(inplace=True)` at the beginning of a block's `forward` does with its argument."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

from backends.acrobat.frontend.changing_methods import changes_owner
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.rewriting.desugar import plainly
from backends.acrobat.frontend.evaluator.syntax.reading import live_after, statement_around
from backends.acrobat.frontend.functions.binding import BoundCall
from backends.acrobat.frontend.functions.signatures import owner_of
from backends.acrobat.frontend.kinds import is_array, variable_of, variables_in
from backends.acrobat.frontend.source import source_of, static_attribute, stripped
from backends.acrobat.frontend.syntax_nodes import every_node, is_variable, mentions, parameter_names


def given_up(call: BoundCall) -> frozenset[str]:
    """The parameters of which the function may change the tensor in place as a whole, and to which nothing else refers: it was
    made for the call, or under a name that is not read any more."""
    if call.of_library:
        return frozenset()
    found = set()
    for i, name in enumerate(call.names[: call.own]):
        if is_array(call.as_given[i]) and name not in [call.names[k] for k in call.changed] and _is_alone(call, i):
            if changes_tensor(call.function, owner_of(call.values), name, set()):
                found.add(name)
    return frozenset(found)


def own_given_up(f: Frame, definition: ast.FunctionDef, names: frozenset[Any]) -> None:
    """Have the function that is compiled change the tensors of those of its parameters that are among `names`."""
    for p in parameter_names(definition):
        if p in names and is_array(f.env.get(p)):
            f.builder.fresh.add(variable_of(f.env[p]))


def _is_alone(call: BoundCall, i: int) -> bool:
    """Whether nothing refers to argument number `i`, a tensor, once the function is called."""
    f, written = call.f, call._argument_node(i)
    variable = variable_of(call.as_given[i])
    current = f.builder.all_current({variable})
    names = [x for x, v in f.env.items() if f.builder.all_current(variables_in(v)) & current]
    others = [v for k, v in enumerate(call.as_given) if k != i]
    if not variable or any(f.builder.all_current(variables_in(v)) & current for v in others):
        return False
    if not names:
        return bool(current & (f.builder.fresh | f.new_lists))  # as a function of the source gives it, or an operation
    if names != [getattr(written, "id", "")] or not (names[0] in f.owned_arguments or current & f.builder.fresh):
        return False
    definition, name = f.definition, names[0]
    s = None if definition is None else statement_around(definition.body, call.node)
    if s is None or definition is None or len(mentions(s, name, ast.Load)) != 1:
        return False
    inside = (
        x for b in definition.body for x in every_node(b) if isinstance(x, (ast.FunctionDef, ast.Lambda, ast.GeneratorExp))
    )
    if any(mentions(x, name) for x in inside):  # what these see is read later on
        return False
    anew = isinstance(s, ast.Assign) and len(s.targets) == 1 and is_variable(s.targets[0], name)
    return anew or not live_after(definition.body, s, name)


def changes_tensor(function: FunctionType, owner: Any, name: str, seen: set[Any]) -> bool:
    """Whether a function of the source may change the tensor of its parameter `name` in place, judged by what it does with the
    name: an operator or a method that changes it, a layer that works in place, or another function that it is given to. `owner`
    is the object whose method the function is, or None."""
    function = stripped(function)
    if (function, name) in seen:
        return False
    seen.add((function, name))
    for x in every_node(plainly(source_of(function)[0])):
        match x:
            case ast.AugAssign(ast.Name(target)) if target == name:
                return True
            case ast.Call(ast.Attribute(ast.Name(target), method)) if target == name and _is_in_place(method):
                return True
            case ast.Call(callee, arguments, keywords) if any(is_variable(a, name) for a in arguments):
                at = next(k for k, a in enumerate(arguments) if is_variable(a, name))
                if any(k.arg == "inplace" for k in keywords) or _changes_argument(function, owner, callee, at, seen):
                    return True
    return False


def _is_in_place(method: str) -> bool:
    return method.endswith("_") and changes_owner(method)


def _changes_argument(function: FunctionType, owner: Any, callee: ast.expr, at: int, seen: set[Any]) -> bool:
    """Whether what `callee` names in a function may change its argument number `at`, a tensor."""
    match callee:
        case ast.Attribute(ast.Name(me), attribute) if owner is not None and me == function.__code__.co_varnames[0]:
            target = static_attribute(type(owner), attribute)
            if isinstance(target, FunctionType):
                return _of_parameter(target, owner, at + 1, seen)
            return _layer_changes(getattr(owner, attribute, None), seen)
        case ast.Attribute(_, last):
            return _is_in_place(last)
        case ast.Name(last):
            target = function.__globals__.get(last)
            own = isinstance(target, FunctionType) and not target.__module__.startswith("torch")
            return _of_parameter(target, None, at, seen) if own else _is_in_place(last)  # type: ignore[arg-type]
    return False


def _of_parameter(function: FunctionType, owner: Any, at: int, seen: set[Any]) -> bool:
    names = parameter_names(source_of(stripped(function))[0])
    return at < len(names) and changes_tensor(function, owner, names[at], seen)


def _layer_changes(layer: Any, seen: set[Any]) -> bool:
    """Whether a module may change its argument in place: it is told to, or its first layer or its `forward` may."""
    if getattr(layer, "inplace", False) is True:
        return True
    forward = getattr(type(layer), "forward", None)
    if not isinstance(forward, FunctionType):
        return False
    if not forward.__module__.startswith("torch."):
        return _of_parameter(forward, layer, 1, seen)
    first = next(iter(getattr(layer, "_modules", {}).values()), None) if type(layer).__name__ == "Sequential" else None
    return first is not None and _layer_changes(first, seen)
