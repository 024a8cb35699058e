"""Whether the value of an expression gets a name or becomes a part of something, so that it is read later on; asked of elements
of tensors of ints, which are numbers in the program and views in PyTorch."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from functools import lru_cache
from types import FunctionType
from typing import Any

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.ownership.fresh import calls_own_function, gives_new_memory
from backends.acrobat.frontend.evaluator.ownership.ownership import class_called
from backends.acrobat.frontend.evaluator.ownership.tensor_changes import may_change, read_before_changes, statements_behind
from backends.acrobat.frontend.evaluator.syntax.hidden_names import is_hidden
from backends.acrobat.frontend.evaluator.syntax.reading import KEEPING_METHODS
from backends.acrobat.frontend.kinds import is_array, is_held_tensor
from backends.acrobat.frontend.source import source_of
from backends.acrobat.frontend.specials import Method
from backends.acrobat.frontend.syntax_nodes import children, every_node, mentions
from backends.acrobat.frontend.values import Static, Value

COLLECTING = frozenset(
    {"list", "tuple", "set", "sorted", "reversed", "max", "min", "next", "enumerate", "zip", "iter", "map", "filter", "dict"}
)
"""Functions of Python's that give their argument, or its elements, further."""
PUTTING = KEEPING_METHODS | {"extend", "extendleft", "update", "get", "pop", "fill", "push"}
"""Methods of lists, dictionaries and the like that may keep their arguments, or give them back."""
COMPUTING = frozenset({"math", "cmath", "random", "_random"})
"""Modules of Python's whose functions give nothing but new numbers."""
SAME = frozenset(
    {"contiguous", "cpu", "data", "detach", "expand", "expand_as", "flatten", "long", "mT", "narrow", "ravel", "requires_grad_"}
)
SAME |= {"reshape", "reshape_as", "select", "squeeze", "T", "t", "to", "type", "type_as", "unsqueeze", "view", "view_as"}
"""Methods and attributes of a tensor of ints, or of an element of one, that give the same memory."""


def is_tensor_of_numbers(value: Any) -> bool:
    """Whether the elements of a value are views of it in PyTorch: it is a tensor, in whatever form the program has it."""
    return is_array(value) or is_held_tensor(value)


@lru_cache(maxsize=64)
def parents_in(definition: ast.FunctionDef) -> dict[ast.AST, ast.AST]:
    """Each node of a function -> the one that it is a part of."""
    return {child: node for node in every_node(definition) for child in children(node)}


def is_kept(f: Frame, node: ast.expr, tensors: Mapping[str, Any] | frozenset[str] = frozenset()) -> bool:
    """Whether the value of an expression, an element of one of the `tensors`, gets a name or becomes a part of something, so
    that it is read later on. A name that is read no more when such a tensor changes does not count."""
    parents = parents_in(f.definition) if f.definition is not None else {}
    keeper, last, inside = _keeper(f, parents, node)
    match keeper:
        case None:
            return False
        case ast.Assign([ast.Name(name)]) if not inside and tensors:
            return not all(dead_at_changes(f, keeper, name, tensor) for tensor in tensors)
        case ast.Assign([ast.Subscript() as item], value) if value is last and not inside:
            return not is_tensor_of_numbers(f.env.get(root_of(item) or ""))
        case ast.Return():
            return False
    return True


def holder(f: Frame, node: ast.expr) -> str | None:
    """The name or attribute of what the value of an expression becomes a part of, or that it gets, as it is written; None if it
    has none."""
    parents = parents_in(f.definition) if f.definition is not None else {}
    keeper, *_ = _keeper(f, parents, node)
    match keeper:
        case ast.Assign([ast.expr() as target]) | ast.AnnAssign(target) | ast.NamedExpr(target) | ast.AugAssign(target):
            return written_place(target)
        case ast.Call(ast.Attribute(owner, name)) if name in PUTTING:
            return written_place(owner)
        case ast.Call():
            return holder(f, keeper)
    return None


def written_place(target: ast.expr) -> str:
    """The name or the attribute that has what is assigned to a target, or has the list or dictionary with it."""
    while isinstance(target, ast.Subscript):
        target = target.value
    return ast.unparse(target)


def _keeper(f: Frame | None, parents: Mapping[ast.AST, ast.AST], node: ast.AST) -> tuple[ast.AST | None, ast.AST, bool]:
    """What keeps the value of an expression: an assignment, a call, a `return`, or the like, or None. With it what it keeps,
    which may be a list or the like that has the value `inside`, and whether it is one. There is no frame for a function that
    is not being compiled."""
    inside = False
    while (around := parents.get(node)) is not None:
        match around:
            case ast.List() | ast.Tuple() | ast.Set() | ast.Dict() | ast.ListComp() | ast.SetComp() | ast.DictComp():
                inside = True
            case ast.GeneratorExp() | ast.Starred() | ast.BoolOp() | ast.keyword():
                pass
            case ast.IfExp(test):
                if test is node:
                    return None, node, inside
            case ast.BinOp():
                if not inside:
                    return None, node, inside
            case ast.UnaryOp(op):
                if not isinstance(op, ast.UAdd):
                    return None, node, inside
            case ast.Subscript(_, index):
                if node is index:
                    return None, node, inside
            case ast.Attribute(_, name):
                call = parents.get(around)
                is_method = isinstance(call, ast.Call) and call.func is around
                if not inside and name not in SAME:
                    return None, node, inside
                node = call if is_method and call is not None else around
                continue
            case ast.Call(function) if node is not function:
                inside_again = _given_on(f, around, node)
                if inside_again is None:
                    return None, node, inside
                if inside_again is False:
                    return around, node, inside
                inside |= isinstance(function, ast.Name) and function.id in ("list", "tuple", "set", "sorted", "dict")
            case ast.Compare() | ast.FormattedValue() | ast.JoinedStr() | ast.Assert() | ast.Expr() | ast.Raise() | ast.Slice():
                return None, node, inside
            case ast.comprehension(iter=iterated):
                if node is not iterated:
                    return None, node, inside
                return around, node, inside
            case ast.If() | ast.While():
                return None, node, inside
            case ast.Lambda() if _is_key(parents, around):
                return None, node, inside
            case ast.AugAssign():
                return around if inside else None, node, inside
            case _:
                return around, node, inside
        node = around
    return None, node, inside


def _is_key(parents: Mapping[ast.AST, ast.AST], function: ast.Lambda) -> bool:
    """Whether a lambda tells a sum or an order: Python asks for its value, and does not keep it."""
    given = parents.get(function)
    return isinstance(given, ast.keyword) and given.arg == "key"


def _given_on(f: Frame | None, call: ast.Call, argument: ast.AST) -> bool | None:
    """What a call does with an argument: True if its result is that, or has it in it; False if the call keeps it, None if it
    only computes with it."""
    match call.func:
        case ast.Name(name) if hasattr(builtins, name) and (f is None or f.is_builtin(name)):
            return True if name in COLLECTING else None
        case ast.Attribute(attr=name) if name in PUTTING:
            return False
        case ast.Attribute(ast.Name("torch" | "F"), name) if f is None:
            return True if name in SAME | {"as_tensor", "asarray"} else None
    if f is None:
        return False
    callee = _callee(f, call)
    match callee:
        case Method(function=FunctionType() as function) | Static(FunctionType() as function) if calls_own(f, call, callee):
            return hands_on(function, _parameter(function, call, argument, isinstance(callee, Method)))
        case Static(value) if not isinstance(value, type) and getattr(value, "__module__", "") in COMPUTING:
            return None
        case Method(function=None):
            return None
    module = getattr(callee, "python_object", None)
    if isinstance(forward := getattr(type(module), "forward", None), FunctionType) and calls_own(f, call, Static(forward)):
        return hands_on(forward, _parameter(forward, call, argument, True))
    if class_called(f, call) is None and makes_new(f, call, callee):
        return None
    return False


def _callee(f: Frame, call: ast.Call) -> Value:
    if (callee := f.callees.get(call)) is None:
        with f.trial():
            callee = f.borrowed(call.func)
    return callee


def calls_own(f: Frame, call: ast.Call, callee: Value) -> bool:
    """Whether a call, which may be compiled later, calls a function of the source."""
    return _with_callee(f, call, callee, calls_own_function)


def makes_new(f: Frame, call: ast.Call, callee: Value | None) -> bool:
    """Whether a call that is compiled later gives new memory. `callee` is what it calls, if that is known."""
    callee = _callee(f, call) if callee is None else callee
    return callee in (Static(float), Static(int), Static(bool)) or _with_callee(f, call, callee, gives_new_memory)


def _with_callee(f: Frame, call: ast.Call, callee: Value, question: Any) -> bool:
    """What a question about a call says if it calls that."""
    before = f.callees.get(call)
    f.callees[call] = callee
    try:
        return bool(question(f, call))
    finally:
        if before is None:
            del f.callees[call]
        else:
            f.callees[call] = before


def _parameter(function: FunctionType, call: ast.Call, argument: ast.AST, is_bound: bool) -> str | None:
    """The parameter of a function that an argument of a call is given for; None if that is not plain to see."""
    if isinstance(argument, ast.keyword):
        return argument.arg
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    if argument not in call.args or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    at = [a is argument for a in call.args].index(True) + is_bound
    return names[at] if at < len(names) else None


@lru_cache(maxsize=1024)
def hands_on(function: FunctionType, parameter: str | None) -> bool | None:
    """What a function of the source does with the value of a parameter, a number: True if it may give it back, False if it may
    keep it otherwise, None if it only computes with it."""
    try:
        definition = source_of(function)[0]
    except CompileError:
        return False
    if parameter is None or any(isinstance(x, (ast.Yield, ast.YieldFrom, ast.FunctionDef)) for x in _inner(definition)):
        return False
    parents = parents_in(definition)
    keepers = [_keeper(None, parents, x)[0] for x in mentions(definition.body, parameter, ast.Load)]
    if any(not isinstance(keeper, (ast.Return, type(None))) for keeper in keepers):
        return False
    return True if any(isinstance(keeper, ast.Return) for keeper in keepers) else None


def _inner(definition: ast.FunctionDef) -> list[ast.AST]:
    return [x for s in definition.body for x in every_node(s)]


def _changed_inside(definition: ast.FunctionDef, tensor: str) -> bool:
    """Whether a function inside of another one may change a tensor of that."""
    return any(isinstance(x, (ast.FunctionDef, ast.Lambda)) and may_change(x, tensor) for x in _inner(definition))


def dead_at_changes(f: Frame, s: ast.stmt, name: str, tensor: str) -> bool:
    """Whether a name that the statement `s` gives a view of a tensor is certainly read no more once the tensor is changed
    under its own name, and gets no further names itself. False where that is not plain to see."""
    later = statements_behind(f, s)
    if later is None or f.definition is None or is_hidden(tensor) or _changed_inside(f.definition, tensor):
        return False  # functions may change what attributes have
    parents = parents_in(f.definition)
    for x in (x for one in later for x in mentions(one, name, ast.Load)):
        keeper, last, inside = _keeper(f, parents, x)
        match keeper:
            case None | ast.Return():
                pass
            case ast.Assign([ast.Subscript() as item], value) if value is last and not inside:
                if not is_tensor_of_numbers(f.env.get(root_of(item) or "")):
                    return False
            case _:
                return False
    return read_before_changes(f.definition.body, s, later, name, tensor)
