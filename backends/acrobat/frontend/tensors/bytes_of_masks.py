"""`mask.byte()`, which older models write where a mask is one already: a tensor of bytes that are ones and zeros.

It is kept as the ones and zeros of the mask, in a `Held("bytes")`. As in PyTorch, `any` and `all` of bytes are bytes, and so it
serves as a test, as a mask that chooses parts of a tensor, and for what makes a tensor of another dtype of it.
"""

from __future__ import annotations

from typing import Any

from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.tables import handles
from backends.acrobat.frontend.kinds import is_unknown
from backends.acrobat.frontend.tensors.mask_operations import MASK_OPERATIONS
from backends.acrobat.frontend.tensors.masks import mask, plain, whole_of
from backends.acrobat.frontend.types import Mismatch
from backends.acrobat.frontend.values import HELD, VARIABLES, Held, Value

HELD["bytes"] = "a tensor of bytes serves as a test or an index here: write `.bool()`, `.long()` or `.float()` for another one"
VARIABLES.add("bytes")

AS_MASKS = ("float", "bool", "long", "sum", "dim", "size", "numel", "nonzero")
"""Operations of which a mask with the same elements gives the same."""


@handles(MASK_OPERATIONS, "byte")
def _bytes_of(f: Frame, call: CallArguments) -> Value:
    inner = plain(call.args[0])
    return inner if is_unknown(inner) else Held("bytes", inner)


def of_bytes(f: Frame, name: str, call: CallArguments) -> Value:
    """A method of a tensor of bytes. Raises Mismatch."""
    x: Any = call.args[0]
    ones = mask(x.value)
    given = CallArguments(name, [ones, *call.args[1:]], call.kwargs)
    if name in ("any", "all"):
        return _bytes_of(f, CallArguments("byte", [whole_of(f, MASK_OPERATIONS[name](f, given))], {}))
    if name not in AS_MASKS:
        raise Mismatch(HELD["bytes"])
    return MASK_OPERATIONS[name](f, given)
