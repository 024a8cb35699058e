"""How the compiled `forward` takes an instance: which of its parameters the instance gives, and what the others are."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

import torch
from torch import nn

from backends.acrobat.core.span import Span
from backends.acrobat.core.types import TupleT
from backends.acrobat.errors import CompileError, Problem
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.frame.arguments import Refused, defaults_of
from backends.acrobat.frontend.functions.signatures import fixed
from backends.acrobat.frontend.instances.arguments import Completion, LeftOut, arguments_of
from backends.acrobat.frontend.instances.prepared import prepared_parts, taking
from backends.acrobat.frontend.source import decorated, source_of, span_of, stripped
from backends.acrobat.frontend.specials import Keywords
from backends.acrobat.frontend.tensors.forwards import forward_of, globally_hooked, hooked, no_function
from backends.acrobat.frontend.tensors.values import Module
from backends.acrobat.frontend.values import Static, TupleV, Value
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.visitor import map_children, walk


@dataclass(frozen=True)
class Entry:
    """The model's `forward`: its function and line, the module if it is a method, the parameters that an instance gives, and
    the values of the others, in the order in which the compiled function takes them. `completion`: what an instance does not
    give of the first, if anything."""

    function: FunctionType
    span: Span
    owner: list[Value]
    params: list[str]
    others: dict[str, Value]
    completion: Completion | None


def entry_of(root: Module, sample: Sequence[Any] | None, sampled: bool = True) -> Entry:
    """The `forward` of the model `root`. `sampled` says whether the types of its arguments may come from the sample. Raises
    CompileError for one that cannot be compiled."""
    module = root.module
    unstripped, bound = forward_of(module)
    if unstripped is None:
        raise CompileError([Problem(Span("<model>", 0), no_function(module), "set a function that `def` makes")])
    function = stripped(unstripped)
    if type(module).forward is nn.Module.forward and function is nn.Module.forward:
        what = f"`{type(module).__name__}` has no `forward`"
        raise CompileError([Problem(Span("<model>", 0), what, "define it: it computes the result for one instance")])
    definition, file = source_of(function)
    span = span_of(definition, file)
    try:
        params, others, left_out = _parameters(definition, function, bound, module, sample)
    except Refused as refused:
        raise CompileError([Problem(span, refused.message, refused.advice)]) from None
    if strange := decorated(function):
        raise CompileError([Problem(span, strange, "write what it does into the function")])
    if hooked(module):
        raise CompileError([Problem(span, "the model has forward hooks", "remove them: only `forward` is compiled")])
    if globally_hooked():
        message = "hooks for all modules are registered with torch (`register_module_forward_hook` or the like)"
        raise CompileError([Problem(span, message, "remove them: only `forward` is compiled")])
    if not params:
        advice = "give it the instance as its argument"
        if definition.args.vararg is not None:  # of a wrapper that a decorator has made, most often
            advice = f"name the instance among its parameters, before `*{definition.args.vararg.arg}`"
        raise CompileError([Problem(span, "`forward` takes one instance here, not 0 arguments", advice)])
    owner: list[Value] = [root] if bound else []
    function, taken, completion = _completed(definition, file, function, bound, params, left_out, sample if sampled else None)
    return Entry(function, span, owner, taken, others, completion)


def _completed(
    definition: ast.FunctionDef,
    file: str,
    function: FunctionType,
    bound: bool,
    params: list[str],
    left_out: LeftOut | None,
    sample: Sequence[Any] | None,
) -> tuple[FunctionType, list[str], Completion | None]:
    """The function that takes whole instances, its parameters that these give, and what makes an instance whole."""
    completion = Completion(tuple(params), left_out)
    instances = [x if len(params) > 1 else (x,) for x in completion.whole(sample or ())]
    if instances and all(type(x) is tuple and len(x) == len(params) for x in instances):
        strings = [p for p, *values in zip(params, *instances, strict=True) if all(type(x) in (str, bytes) for x in values)]
        if found := prepared_parts(definition, function, params, strings):
            function, names = taking(function, definition, file, found, bound)
            return function, [*names, *params], replace(completion, prepared=tuple(found.values()))
    return function, params, None if left_out is None else completion


def _parameters(
    definition: ast.FunctionDef, function: FunctionType, bound: bool, module: nn.Module, sample: Sequence[Any] | None
) -> tuple[list[str], dict[str, Value], LeftOut | None]:
    """The parameters of `forward` that an instance gives, the values that the others have, in the order in which the compiled
    function takes them, and which of the first an instance may leave out. An instance gives the parameters that have no default
    value, or else the first one; if the instances of the sample are tuples that PyTorch takes as several arguments only, it
    gives so many, and if they are several numbers of arguments as many as the longest has."""
    written = definition.args
    places = [a.arg for a in (*written.posonlyargs, *written.args)][int(bound) :]
    defaults = defaults_of(definition, function)
    unplaced = [a.arg for a in written.kwonlyargs if a.arg not in defaults]
    if unplaced:
        what = f"`forward` takes `{unplaced[0]}` by name only, and an instance is given by position"
        raise Refused(what, "write the parameter before the `*`, or leave the `*` out")
    required = [p for p in places if p not in defaults] or places[:1]
    left_out = None if written.kwonlyargs else _left_out(module, sample or (), places, defaults)
    count = len(sample[0]) if sample and type(sample[0]) is tuple else 0
    if left_out is not None:
        required = places[: left_out.count]
    elif len(required) < count <= len(places) and not written.kwonlyargs and _taken_apart(module, sample or (), count):
        required = places[:count]
    others: dict[str, Value] = {
        a: fixed(defaults[a]) for a in (*places, *(a.arg for a in written.kwonlyargs)) if a not in required
    }
    others |= {written.vararg.arg: TupleV(())} if written.vararg else {}
    others |= {written.kwarg.arg: Keywords(())} if written.kwarg else {}
    return required, others, left_out


def _left_out(module: nn.Module, sample: Sequence[Any], places: Sequence[str], defaults: Mapping[str, Any]) -> LeftOut | None:
    """The parameters that instances of the sample leave out, where these give several numbers of arguments, by position; None
    where they do not, where eager PyTorch does not take them so, or where a default value is no plain one."""
    firsts = {len(arguments_of(x)): x for x in reversed(sample)}  # the first instance of each number of arguments
    missing = places[min(firsts, default=0) : max(firsts, default=0)]
    if len(firsts) < 2 or max(firsts) > len(places) or any(p not in defaults for p in places[min(firsts) :]):
        return None
    values = tuple(defaults[p].value for p in missing if isinstance(defaults[p], Static))
    if len(values) < len(missing) or not all(v is None or type(v) in (bool, int, float, str) or v == () for v in values):
        return None
    given = [[x[i] for x in sample if type(x) is tuple and len(x) > i] for i in range(min(firsts), max(firsts))]
    values = tuple([] if v == () and all(type(x) is list for x in xs) else v for v, xs in zip(values, given, strict=True))
    taken = all(_runs(module, arguments_of(x)) for x in firsts.values())
    taken = taken and any(type(x) is tuple and not _runs(module, (x,)) for x in sample)
    return LeftOut(max(firsts), values) if taken else None


def _taken_apart(module: nn.Module, sample: Sequence[Any], count: int) -> bool:
    """Whether the instances of a sample, tuples of `count`, are the arguments of `module(*instance)`: eager PyTorch, tried on a
    copy of the model, cannot take the first one whole, and can take it apart."""
    if any(type(x) is not tuple or len(x) != count for x in sample):
        return False
    return not _runs(module, (sample[0],)) and _runs(module, sample[0])


def _runs(module: nn.Module, arguments: tuple[Any, ...]) -> bool:
    """Whether eager PyTorch takes these arguments, tried on copies of the model and of them."""
    try:
        with torch.no_grad():
            copy.deepcopy(module)(*copy.deepcopy(arguments))
    except Exception:  # whatever the model raises
        return False
    return True


def annotation_of_instance(annotated: Mapping[str, Any], params: Sequence[str]) -> dict[str, Any]:
    """The annotation of an instance under the parameters' names joined by commas, of several parameters a tuple of their
    annotations. Empty if an annotation is missing."""
    if any(p not in annotated for p in params):
        return {}
    types = tuple(annotated[p] for p in params)
    return {", ".join(params): types[0] if len(types) == 1 else tuple[types]}  # type: ignore[valid-type]


def types_of_parameters(instance: Any, params: Sequence[str]) -> list[Any]:
    """The types of `forward`'s parameters, of which an instance gives all. Raises Refused."""
    if len(params) == 1:
        return [instance]
    if not isinstance(instance, TupleT) or len(instance.items) != len(params):
        raise Refused(
            f"`forward` takes {len(params)} arguments, so an instance is a tuple of {len(params)}, not {describe(instance)}",
            "give tuples in the order of the parameters",
        )
    return list(instance.items)


def taking_one_instance(functions: dict[str, n.Function], instance: TupleT) -> dict[str, n.Function]:
    """The functions, of which `forward` takes the instance as one tuple in place of its components. A `forward` that is also
    called elsewhere stays as it is under another name, and is called by one that takes the tuple."""
    forward = functions["forward"]
    again = any(isinstance(e, n.Call) and e.function == "forward" for f in functions.values() for e in walk(f.body))
    whole = n.Var("instance.", instance)
    body: n.Expr = forward.body
    if again:
        inner = "forward.inner"

        def renamed(e: n.Expr) -> n.Expr:
            e = map_children(e, renamed)
            return replace(e, function=inner) if isinstance(e, n.Call) and e.function == "forward" else e

        functions = {name: replace(f, body=renamed(f.body)) for name, f in functions.items()}
        functions[inner] = replace(functions["forward"], name=inner)
        parts = tuple(n.Var(f"{p.name}.part", p.type) for p in forward.params)
        result = n.Var("result.", forward.result)
        body = n.Let(result, n.Call(inner, parts, forward.result, span=forward.span), result, span=forward.span)
    else:
        parts = forward.params
    for i, part in reversed(list(enumerate(parts))):
        body = n.Let(part, n.Field(whole, i, part.type, span=forward.span), body, span=forward.span)
    return {**functions, "forward": replace(forward, params=(whole,), body=body)}
