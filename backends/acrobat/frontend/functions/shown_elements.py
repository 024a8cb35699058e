"""Calls of the model's own functions whose result may be an element of a tensor of ints that they have seen, which is a number
in the program and a view in PyTorch."""

from __future__ import annotations

from backends.acrobat.core.types import ScalarT
from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.ownership.keeping import is_tensor_of_numbers
from backends.acrobat.frontend.functions.changes import ChangingCall
from backends.acrobat.frontend.functions.newness import Newness
from backends.acrobat.frontend.kinds import is_number, type_or_none
from backends.acrobat.frontend.values import Value


def note_shown(call: ChangingCall, result: Value, new: Newness) -> None:
    """Note of a number that a call gives, or of a tuple with such, that it may be an element of tensors among the arguments,
    or of those that the function takes besides. `new` says how new the result is."""
    shown = call.f.shown_in_result[call.node] = set()
    parts = zip(new.parts, getattr(type_or_none(result), "items", ()), strict=False)
    if (new.whole or not is_number(result)) and all(part.whole or not isinstance(t, ScalarT) for part, t in parts):
        return
    for i, value in enumerate(call.values):
        written = call._argument_node(i) if i < call.own else None
        name = call.names[i] if i >= call.own else root_of(written) if written is not None else None
        if name is not None and is_tensor_of_numbers(call.f.env.get(name)) and not is_number(value):
            shown.add(name)
