"""Which operations give new memory, and which a view: a name whose tensor has a view no longer owns it alone."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Set
from types import FunctionType

import torch
from torch import nn

from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.ownership.elements import named_by
from backends.acrobat.frontend.evaluator.ownership.ownership import seen_through_view
from backends.acrobat.frontend.evaluator.tables import AFTER_CALLS, GIVE_NEW, OWNERS, PARTED, VIEWED
from backends.acrobat.frontend.kinds import is_array, is_held_tensor, is_number, is_ragged, is_tensor, variable_of, variables_in
from backends.acrobat.frontend.specials import Method
from backends.acrobat.frontend.tensors.dtypes import dtype_of
from backends.acrobat.frontend.tensors.new_tensors import changes_operand, makes_new, note_new
from backends.acrobat.frontend.tensors.torch_functions import torch_name
from backends.acrobat.frontend.tensors.values import HostTensor, Module
from backends.acrobat.frontend.values import Held, Static, Value

OWNERS |= {"zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like", "clone", "cat", "stack"}
OWNERS |= {"new", "new_empty", "new_zeros", "new_ones", "new_full", "new_tensor"}
VIEWS = {"alpha_dropout", "as_tensor", "asarray", "atleast_1d", "atleast_2d", "bfloat16", "bool"}
VIEWS |= {"broadcast_tensors", "broadcast_to", "chunk", "contiguous", "cpu", "detach", "diagonal", "double"}
VIEWS |= {"dropout", "dropout1d", "dropout2d", "einsum", "expand", "expand_as", "feature_alpha_dropout", "flatten"}
VIEWS |= {"float", "half", "int", "long", "meshgrid", "moveaxis", "movedim", "narrow", "permute", "positive", "ravel"}
VIEWS |= {"reshape", "reshape_as", "select", "split", "squeeze", "swapaxes", "swapdims", "t", "tensor_split", "to"}
VIEWS |= {"adjoint", "atleast_3d", "channel_shuffle", "dropout3d", "hsplit", "pixel_shuffle", "pixel_unshuffle"}
VIEWS |= {"split_with_sizes", "vsplit"}
VIEWS |= {"transpose", "type", "type_as", "unbind", "unflatten", "unfold", "unsqueeze", "view", "view_as"}
"""Operations whose result may share memory with the operand."""
WHOLE = {"contiguous", "cpu", "detach", "flatten", "float", "moveaxis", "movedim", "narrow", "permute", "ravel", "reshape"}
WHOLE |= {"reshape_as", "select", "squeeze", "swapaxes", "swapdims", "t", "to", "transpose", "type_as", "unflatten"}
WHOLE |= {"unsqueeze", "view", "view_as"}
"""Those of `VIEWS` that give one tensor, in which no two elements are in one place, as they may be in that of `expand`."""

PARTING = {"chunk", "split", "split_with_sizes", "tensor_split", "unbind", "hsplit", "vsplit"}
"""Those of `VIEWS` that divide a tensor."""

COPIES = {"float", "to", "type_as"}
"""Those of them that may give a copy of a tensor of another dtype."""


OF_CASTS = {"float": torch.float32, "long": torch.int64, "bool": torch.bool}
"""The dtype of what a method gives, which is a copy of a tensor of another dtype."""


def _gives_new(callee: Value | None) -> bool:
    """Whether the result of a call shares no memory with its operands."""
    match callee:
        case Method(owner, "float" | "long" | "bool" as name, None) if dtype_of(owner) not in (None, OF_CASTS[name]):
            return True
        case Method(owner, name, None) if _is_tensor_of_any_form(owner):
            return name not in VIEWS and not name.endswith("_")
        case Static(value):
            known_as = torch_name(value)
            return known_as is not None and known_as not in VIEWS and not known_as.endswith("_")
        case Module(module=module):
            return makes_new(module)
    return False


def _is_tensor_of_any_form(value: Value) -> bool:
    return is_tensor(value) or is_ragged(value) or is_held_tensor(value) or isinstance(value, HostTensor)


def _gives_new_memory(f: Frame, source: ast.expr) -> bool:
    """Whether each tensor that an expression gives shares no memory with anything else: it makes new ones, or is a view of one
    that is made in it and has no name, as `self.linear(x).view(-1)`."""
    source = _viewed(f, source)
    match source:
        case ast.Call():
            callee = f.callees.get(source)
            return source in f.new_tensors or callee is not None and _makes(source, callee)
        case ast.BinOp(left, _, right) | ast.Compare(left, [_], [right]):
            return all(_is_tensor_or_number(f, e) for e in (left, right))
        case ast.UnaryOp(ast.USub() | ast.Invert(), operand):
            return _is_tensor_or_number(f, operand)
    return False


def _may_work_in_place(call: ast.Call, callee: Value | None) -> bool:
    """Whether a call may be told to put its result into an argument: `F.relu(x, inplace=True)`, `F.relu(x, True)`."""
    function = callee.value if isinstance(callee, Static) else None
    named = list(inspect.signature(function).parameters) if isinstance(function, FunctionType) else []
    by_position = "inplace" in named and len(call.args) > named.index("inplace")
    return by_position or any(k.arg in ("inplace", "out", None) for k in call.keywords)


def _is_tensor_or_number(f: Frame, source: ast.expr) -> bool:
    with f.trial():
        value = f.expression(source)
    return is_array(value) or is_number(value) or is_held_tensor(value)


def _viewed(f: Frame, source: ast.expr) -> ast.expr:
    """The expression of which `source` gives a view; `source` itself if that is none."""
    while True:
        match source:
            case ast.Subscript(owner) | ast.Attribute(owner, "T" | "mT"):
                source = owner
            case ast.Call(ast.Attribute(owner, _), _, keywords) if not any(k.arg is None for k in keywords):
                match f.callees.get(source):
                    case Method(tensor, name, None) if name in WHOLE and is_array(tensor):
                        source = owner
                    case Method(tensor, name, None) if name in WHOLE - COPIES and is_held_tensor(tensor):
                        source = owner
                    case Static(value) if torch_name(value) in WHOLE and source.args:
                        source = source.args[0]
                    case Module(module=module) if changes_operand(module) and len(source.args) == 1:
                        source = source.args[0]
                    case _:
                        return source
            case _:
                return source


def _name_shown(f: Frame, source: ast.expr) -> str | None:
    """The name of the tensor of which an expression gives a view; None for other expressions."""
    match _viewed(f, source):
        case ast.Name(name) as shown if shown is not source and is_array(f.env.get(name)):
            return name
    return None


def _parted(f: Frame, source: ast.expr) -> ast.expr | None:
    """The expression of a tensor of which a call gives parts that have no element in common, or of which that is a view; None
    for other expressions."""
    match source:
        case ast.Call(ast.Attribute(owner, _), _, keywords) if not any(k.arg is None for k in keywords):
            match f.callees.get(source):
                case Method(tensor, name, None) if name in PARTING and is_array(tensor):
                    return _viewed(f, owner)
                case Static(value) if torch_name(value) in PARTING and source.args:
                    return _viewed(f, source.args[0])
    return None


def _makes(node: ast.Call, callee: Value) -> bool:
    """Whether a call gives nothing but new tensors, whatever its arguments say."""
    return _gives_new(callee) and not _may_work_in_place(node, callee)


def _note_new(f: Frame, node: ast.Call, callee: Value, result: Value, bound: int, fresh: Set[str]) -> None:
    """After a call that makes a tensor: nothing else has its memory, and what had none but its own before still has."""
    if not _makes(node, callee):
        if _is_view(callee, node):  # also where a function of the library makes a new tensor for it
            made = {x for x in variables_in(result) if f.builder.has_bound(x, bound)}
            f.builder.fresh -= made
            f.new_lists -= made
            f.new_tensors.discard(node)
        if (is_array(result) or is_held_tensor(result)) and _variable(result) in f.new_lists:
            note_new(f, bound, _inner(result))
        return
    note_new(f, bound, result)
    if not isinstance(callee, Module) or not isinstance(
        callee.module, nn.Sequential
    ):  # such a one may have modules of the source
        f.builder.fresh |= fresh
    if not f.builder.has_bound(variable_of(result), bound):
        f.builder.fresh.discard(variable_of(result))  # such as `x.repeat(1)`, which is `x` here and a copy in PyTorch


def _forget_aliases(f: Frame, node: ast.Call, callee: Value, result: Value, bound: int, fresh: Set[str]) -> None:
    """After a call whose result may share memory with an argument: the argument's name no longer owns its tensor alone."""
    if _is_of_torch(callee) and _is_dropped(f, node):
        return  # `x.index_add_(...)` as a statement: nobody has its result
    if is_number(result) or callee == Static(range) or _makes(node, callee):
        return
    variable = _variable(result)
    named = variable != "" and any(variable in f.builder.all_current(variables_in(v)) for v in f.env.values())
    if not named and _gives_new(callee):
        return
    is_new = not named and variable in f.builder.fresh
    if is_new and not _is_view(callee, node) or (is_array(result) or is_held_tensor(result)) and _only_computed_with(f, node):
        return
    f.owned -= named_by(f, f.parts.get(variable, ""))
    owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    own = dtype_of(result)
    for a in (*owner, *node.args, *(k.value for k in node.keywords)):
        whole = f.env.get(root_of(a) or "")
        if own is None or whole is None or dtype_of(whole) == own:  # a view has the dtype of what it shows
            if is_new and (whole is None or not (is_tensor(whole) or is_ragged(whole))):
                continue
            if is_new:  # such as `x.expand(2, 4)`, which is a copy here only
                f.builder.fresh.discard(variable)
            is_array_or_view = variable or _is_view(callee, node)
            if whole is not None and is_array_or_view and variable not in (shown := f.builder.all_current(variables_in(whole))):
                f.builder.fresh -= shown
            seen_through_view(f, a)
    if isinstance(callee, Method) and not owner and _is_tensor_of_any_form(callee.owner):  # `f = x.view`, then `f(-1)`
        shown = f.builder.all_current(variables_in(callee.owner))
        f.owned -= {x for x, v in f.env.items() if f.builder.all_current(variables_in(v)) & shown}
        f.builder.fresh -= shown


def _variable(value: Value) -> str:
    """The name of the program's variable that holds a tensor, also in another form, such as a mask; "" if none does."""
    return variable_of(_inner(value))


def _inner(value: Value) -> Value:
    return value.value if isinstance(value, Held) and is_held_tensor(value) else value


def _is_of_torch(callee: Value) -> bool:
    """Whether a call is one of PyTorch's, which keeps no tensor but in its result."""
    match callee:
        case Method(function=None):
            return callee.name.endswith("_")
        case Static(value):
            return torch_name(value) is not None
        case Module(module=module):
            return changes_operand(module)
    return False


def _is_dropped(f: Frame, node: ast.expr) -> bool:
    """Whether nobody has the result of a call: it stands as a statement, or in one as `x.add_(1).mul_(2)`, whose methods all
    change the same tensor."""
    while node is not f.unused_expression:
        match f.users.get(node):
            case ast.Call(ast.Attribute(receiver, name)) as call if receiver is node and name.endswith("_"):
                node = call
            case _:
                return False
    return True


def _only_computed_with(f: Frame, view: ast.expr) -> bool:
    """Whether nothing keeps the tensor that an expression gives, as in `x.view(-1) * 2` and `x.t()[0].sum()`: an operation
    makes a new tensor of it at once, or of a view of it."""
    match f.users.get(view):
        case ast.BinOp() | ast.UnaryOp() | ast.Compare():
            return True
        case ast.Subscript() as item:
            return _only_computed_with(f, item)
        case ast.Call(ast.Attribute(receiver, name)) as call if receiver is view:
            return _only_computed_with(f, call) if name in VIEWS else not name.endswith("_")
        case ast.Call() as call:
            callee = f.callees.get(call)
            return callee is not None and _makes(call, callee)
    return False


def _is_view(callee: Value, node: ast.Call) -> bool:
    """Whether a call of an operation of PyTorch gives a view, also where the program makes a new tensor for it."""
    match callee:
        case Method(owner, name, None) if is_tensor(owner) or is_ragged(owner):
            return name in VIEWS
        case Static(value):
            known_as = torch_name(value)
            of_several = known_as == "einsum" and len(node.args) > 2  # it gives a product of them
            return known_as in VIEWS and not of_several
    return False


AFTER_CALLS += [_note_new, _forget_aliases]
GIVE_NEW.append(_gives_new_memory)
VIEWED.append(_name_shown)
PARTED.append(_parted)
