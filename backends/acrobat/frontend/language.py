"""All that the language consists of: importing these files fills the tables of the evaluator."""

from __future__ import annotations

from backends.acrobat.frontend.evaluator import (
    attributes,
    builtins,
    calls,
    comprehensions,
    conditions,
    containers,
    expressions,
    failures,
    indexing,
    iterators,
    lists,
    markers,
    mathematics,
    mutation,
    nested,
    objects,
    operators,
    statements,
    sums,
)
from backends.acrobat.frontend.tensors import indexing as tensor_indexing
from backends.acrobat.frontend.tensors import (
    kinds,
    lifting,
    making,
    masks,
    modules,
    operations,
    parts,
    products,
    reductions,
    shapes,
)

PYTHON = (
    attributes,
    builtins,
    calls,
    comprehensions,
    conditions,
    containers,
    expressions,
    failures,
    indexing,
    iterators,
    lists,
    markers,
    mathematics,
    mutation,
    nested,
    objects,
    operators,
    statements,
    sums,
)
TORCH = (kinds, lifting, making, masks, modules, operations, parts, products, reductions, shapes, tensor_indexing)
