"""Which operations give new memory, and which a view: a name whose tensor has a view no longer owns it alone."""

from __future__ import annotations

import ast

import torch
from torch import nn

from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.ownership.ownership import seen_through_view
from backends.acrobat.frontend.evaluator.tables import AFTER_CALLS, GIVE_NEW, OWNERS
from backends.acrobat.frontend.kinds import is_number, is_ragged, is_tensor
from backends.acrobat.frontend.specials import Method
from backends.acrobat.frontend.tensors.dtypes import dtype_of
from backends.acrobat.frontend.tensors.torch_functions import torch_name
from backends.acrobat.frontend.tensors.values import Module
from backends.acrobat.frontend.values import Dyn, Static, Value

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


OF_CASTS = {"float": torch.float32, "long": torch.int64, "bool": torch.bool}
"""The dtype of what a method gives, which is a copy of a tensor of another dtype."""


def _gives_new(callee: Value) -> bool:
    """Whether the result of a call shares no memory with its operands."""
    match callee:
        case Method(owner, "float" | "long" | "bool" as name, None) if dtype_of(owner) not in (None, OF_CASTS[name]):
            return True
        case Method(owner, name, None) if is_tensor(owner) or is_ragged(owner):
            return name not in VIEWS and not name.endswith("_")
        case Static(value):
            known_as = torch_name(value)
            return known_as is not None and known_as not in VIEWS and not known_as.endswith("_")
        case Module(module=nn.Linear() | nn.LayerNorm() | nn.Softmax() | nn.Embedding() | nn.LSTMCell() | nn.GRUCell()):
            return True
    return False


def _forget_aliases(f: Frame, node: ast.Call, callee: Value, result: Value) -> None:
    """After a call whose result may share memory with an argument: the argument's name no longer owns its tensor alone."""
    if node is f.unused_expression and isinstance(callee, Method) and callee.name.endswith("_"):
        return  # `x.index_add_(...)` as a statement: nobody has its result
    variable = result.atom if isinstance(result, Dyn) else None
    named = any(f.builder.now(v.atom) == variable for v in f.env.values() if isinstance(v, Dyn))
    if named and _gives_new(callee) and not any(k.arg == "inplace" for k in node.keywords):
        f.builder.fresh.discard(getattr(variable, "name", ""))  # such as `x.repeat(1)`, which is `x` here and a copy in PyTorch
    if is_number(result) or not named and _gives_new(callee):
        return
    is_new = not named and getattr(variable, "name", "") in f.builder.fresh
    if is_new and not _is_view(callee, node):
        return
    owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    own = dtype_of(result)
    for a in (*owner, *node.args, *(k.value for k in node.keywords)):
        whole = f.env.get(root_of(a) or "")
        if own is None or whole is None or dtype_of(whole) == own:  # a view has the dtype of what it shows
            if is_new and (whole is None or not (is_tensor(whole) or is_ragged(whole))):
                continue
            if is_new:  # such as `x.expand(2, 4)`, which is a copy here only
                f.builder.fresh.discard(getattr(variable, "name", ""))
            seen_through_view(f, a)


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


AFTER_CALLS.append(_forget_aliases)
GIVE_NEW.append(_gives_new)
