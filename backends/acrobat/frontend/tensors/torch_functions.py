"""Calls of functions of PyTorch."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import torch
import torch.nn.functional as functional

from backends.acrobat import library
from backends.acrobat.frontend.evaluator.choices.each_type import take_several_types, with_one_type
from backends.acrobat.frontend.evaluator.conditions.comparisons import comparison
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, constant, each_as
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.spreading import is_spread, taken_apart
from backends.acrobat.frontend.evaluator.tables import ADDITIONS, FUNCTIONS, LIBRARY_RULES, NEED_VALUES, handles, lookup
from backends.acrobat.frontend.kinds import is_array, known, nothing_known
from backends.acrobat.frontend.refusals import refusal
from backends.acrobat.frontend.source import stripped
from backends.acrobat.frontend.specials import Method
from backends.acrobat.frontend.tensors.buffers import as_tensor
from backends.acrobat.frontend.tensors.in_place import in_place
from backends.acrobat.frontend.tensors.mask_operations import MASK_OPERATIONS, with_masks
from backends.acrobat.frontend.tensors.masks import is_mask, is_one_hot
from backends.acrobat.frontend.tensors.one_hot import ints_of, of_one_hot
from backends.acrobat.frontend.tensors.operations import call_operation, either
from backends.acrobat.frontend.tensors.values import of_torch
from backends.acrobat.frontend.types import Mismatch
from backends.acrobat.frontend.values import Held, Static, Value, unknown
from backends.acrobat.library import elementwise

ADDITIONS += [torch.add]


OF_FUNCTIONAL = {name for name in vars(functional) if name.endswith("_loss")}
OF_FUNCTIONAL |= {"kl_div", "binary_cross_entropy_with_logits", "instance_norm", "batch_norm"}
"""Functions of `torch.nn.functional` whose names in torch itself stand for others, which take other arguments."""
OF_SPECIAL = "digamma erf erfc exp2 expm1 log1p log_softmax logit logsumexp round sinc softmax xlogy"
"""Functions of `torch.special` that are those of torch."""
OTHER_NAMES = {"log_sigmoid": "logsigmoid"}
"""The names that functions of torch give themselves -> those by which the source finds them."""
OF_LINALG = {"linalg_norm": torch.linalg.norm, "vector_norm": torch.linalg.vector_norm}
"""Names of the library's for functions of `torch.linalg` whose own names stand for others in torch."""
OF_OTHER_MODULES: dict[str, Any] = {
    **OF_LINALG,
    **{name: getattr(torch.linalg, name) for name in ("cholesky", "det", "matrix_exp", "slogdet", "solve", "solve_triangular")},
    "inverse": torch.linalg.inv,
    "linalg_cross": torch.linalg.cross,
    "matmul": torch.linalg.matmul,
    "matrix_power": torch.linalg.matrix_power,
    "multi_dot": torch.linalg.multi_dot,
    "vecdot": torch.linalg.vecdot,
    "image_windows": functional.unfold,
    "lgamma": torch.special.gammaln,
    "sigmoid": torch.special.expit,
    **{name: getattr(torch.special, name) for name in OF_SPECIAL.split()},
}
"""Names of operations for functions that torch has in other places than others of their names."""


def torch_name(function: Any) -> str | None:
    """The name under which `call_operation` knows a function object of torch, or None."""
    for name, of_other in OF_OTHER_MODULES.items():
        if of_other is function:
            return name
    for module in (torch, functional, torch.Tensor, torch.nn.utils.rnn, torch.nn.Transformer, torch.distributions):
        name = str(getattr(function, "__name__", ""))
        name = OTHER_NAMES.get(name, name)
        if name and getattr(module, name, None) is function:
            return f"torch.{name}" if module is torch and name in OF_FUNCTIONAL else name
    return None


CHANGES_NOTHING = (elementwise.dropout, elementwise.dropout_in_training)
"""Functions that drop nothing here, also where they may change their tensor in place."""


def _before_inplace(function: Callable[..., Any]) -> int:
    """How many parameters a function of the library has before `inplace`."""
    parameters = [*inspect.signature(function).parameters]
    return parameters.index("inplace") if "inplace" in parameters else len(parameters)


OF_TWO = {"min", "max", "maximum", "minimum", "add", "sub", "mul", "div", "dot", "matmul", "mm", "mv", "bmm"}
"""Functions of two tensors. A list of run-time length that is given to them with `*` must have as many elements as make two;
other lengths are errors of the instance, for `max` and `min` too, which mean something else with one."""
OF_ONE = {"sin", "cos", "exp", "log", "neg", "sqrt", "tanh", "sigmoid", "relu", "floor", "square"}
"""Functions of one tensor beside those of the library, whose parameters tell it. Such a list must have one."""


def _spread_over(name: str, args: Sequence[Value]) -> list[str]:
    """The parameters of a function of torch that a list of run-time length, given with `*`, is for; [] where there is none, or
    where the number of its arguments is not the same in all calls."""
    if name in OF_TWO or name in OF_ONE:
        return ["input", "other"] if name in OF_TWO else ["input"]
    if name == "einsum" and args and isinstance(known(args[0])[1], str):
        return ["equation", *known(args[0])[1].partition("->")[0].split(",")]
    parameters = inspect.signature(library.FUNCTIONS[name]).parameters.values() if name in library.FUNCTIONS else ()
    fixed = all(p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)
    return [p.name for p in parameters] if fixed else []


def _of_torch(function: Any) -> Callable[..., Value] | None:
    """The handler of a function object of torch; None for a function that torch does not define."""
    plain = torch_name(function)
    if plain is None:
        return _no_operation if isinstance(function, FunctionType) and of_torch(stripped(function)) else None

    def work(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
        name = library.name_for(plain, kwargs)
        if any(map(is_spread, args)) and (places := _spread_over(name, args)):
            args = taken_apart(f, args, places, kwargs, ())
            if take_several_types(f, args, kwargs):
                return with_one_type(f, node, args, kwargs, lambda one, named: work(f, node, one, named, hint))
        args, kwargs = each_as(f, as_tensor, args, kwargs)
        if any(map(is_one_hot, (*args, *kwargs.values()))):
            if (result := of_one_hot(f, name, args, kwargs)) is not None:
                return result
            args, kwargs = each_as(f, ints_of, args, kwargs)
        if name in library.FUNCTIONS and not (name in MASK_OPERATIONS and args and is_mask(args[0])):
            function = library.FUNCTIONS[name]
            before = _before_inplace(function)
            if known(kwargs.get("inplace", [*args[before:], Static(False)][0]))[1] is True and function not in CHANGES_NOTHING:
                given, named = args[1:before], kwargs | {"inplace": Static(False)}
                return in_place(f, args[0], lambda x: f.program.call(f, node, function, [x, *given], named), node)
            return f.program.call(f, node, function, args, kwargs)
        if args and name.endswith("_") and name[:-1] in library.FUNCTIONS:
            function = library.FUNCTIONS[name[:-1]]
            return in_place(f, args[0], lambda x: f.program.call(f, node, function, [x, *args[1:]], kwargs), node)
        if any(is_mask(a) for a in (*args, *kwargs.values())):
            return with_masks(f, name, CallArguments(name, args, kwargs))
        if args and isinstance(args[0], Held):
            raise Mismatch(args[0].refusal)
        return call_operation(f, name, CallArguments(name, args, kwargs), node)

    return work


def _no_operation(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    written = ast.unparse(node.func)
    what = f"`{written}` is not an operation of the language"
    return f.problem(node, *refusal(written, what, "LANGUAGE.md lists the operations"))


LIBRARY_RULES.append(_of_torch)


def _scripted(function: Any) -> Callable[..., Value] | None:
    """What compiles a function that `torch.jit.script` has made of one of Python's; None for other objects."""
    inner = getattr(function, "_torchdynamo_inline", None) if isinstance(function, torch.jit.ScriptFunction) else None
    if inner is None:
        return None

    def work(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
        return f.program.call(f, node, inner, args, kwargs)

    return work


LIBRARY_RULES.append(_scripted)


def _needs_values(callee: Value) -> bool:
    match callee:
        case Static(value):
            of_torch = str(getattr(value, "__module__", None) or "").startswith("torch")
            return torch_name(value) is not None or of_torch and lookup(FUNCTIONS, value) is not None
        case Method(owner, function=None):
            return is_array(owner)
    return False


NEED_VALUES.append(_needs_values)


@handles(FUNCTIONS, torch.finfo)
def _limits(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    (dtype,) = CallArguments("finfo", args, kwargs).bind("type")
    return Static(torch.finfo(constant(dtype, "the dtype")))


@handles(FUNCTIONS, torch.is_tensor)
def _is_tensor(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    (x,) = CallArguments("is_tensor", args, kwargs).bind("obj")
    return unknown() if nothing_known(x) else Static(is_array(x) or is_mask(x) or is_one_hot(x))


COMPARING = {"eq": ast.Eq, "ne": ast.NotEq, "not_equal": ast.NotEq, "lt": ast.Lt, "less": ast.Lt, "le": ast.LtE}
COMPARING |= {"less_equal": ast.LtE, "gt": ast.Gt, "greater": ast.Gt, "ge": ast.GtE, "greater_equal": ast.GtE}


@either(*COMPARING)
def _compared(f: Frame, call: CallArguments) -> Value:
    """`torch.eq` and the like: the comparison of Python's operator."""
    a, b = call.bind("input", "other")
    result: Value = comparison(f, ast.Pass(), COMPARING[call.name](), a, b)
    return result
