"""Parameters that decide how long tensors are, as `dim` of `torch.zeros(n, dim)`: where a call gives such a parameter a number
that is known at compile time, the function is compiled for that number. So the tensor has a fixed extent there.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Sequence

from backends.acrobat.frontend.evaluator.callables.picking import names_behind
from backends.acrobat.frontend.functions.signatures import fixed, has_fixed
from backends.acrobat.frontend.kinds import known
from backends.acrobat.frontend.source import source_of, stripped
from backends.acrobat.frontend.syntax_nodes import every_node, parameter_names
from backends.acrobat.frontend.values import Value

MAKERS = frozenset({"zeros", "ones", "empty", "full", "new_zeros", "new_ones", "new_empty", "new_full", "arange"})
"""Names of functions and methods that make a tensor of a shape, or of numbers between bounds, that they are given."""
FIRST_ONLY = frozenset({"full", "new_full"})
"""Those of which the first argument alone is the shape."""


def sizing_parameters(function: object) -> set[str]:
    """The parameters of a function of the source of which it makes extents of new tensors, directly or through other names."""
    if not isinstance(function, types.FunctionType) or not MAKERS.intersection(function.__code__.co_names):
        return set()
    definition, _ = source_of(stripped(function))
    extents: list[ast.expr] = []
    for node in every_node(definition):
        match node:
            case ast.Call(ast.Attribute(_, name) | ast.Name(name), args) if name in MAKERS:
                extents += args[:1] if name in FIRST_ONLY else args
    parts = [e for x in extents for e in (x.elts if isinstance(x, (ast.Tuple, ast.List)) else [x])]
    named = {x.id for x in parts if isinstance(x, ast.Name)}
    return names_behind(definition.body, named) & {*parameter_names(definition)}


def with_sizes(
    names: Sequence[str], values: Sequence[Value], sizing: set[str], earlier: set[tuple[object, ...]], inside: bool
) -> list[Value]:
    """The arguments, of which those for the parameters `sizing` are constants where they are known at compile time. `earlier`
    has the constants of earlier calls. A call from inside of the function (`inside`) with other constants is compiled for
    numbers known at run time only, or a recursion that counts would have no end. A 1 is no constant: a sequence that grows
    begins so, and comparisons of a tensor of one element give a bool."""
    sized = [fixed(v) if name in sizing and known(v) != (True, 1) else v for name, v in zip(names, values, strict=True)]
    key = tuple((name, v) for name, v in zip(names, sized, strict=True) if name in sizing and has_fixed(v))
    if inside and key not in earlier:
        return list(values)
    earlier.add(key)
    return sized
